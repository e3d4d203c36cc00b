#include "providers/workers/gang.h"

#include <fmt/format.h>

#include <algorithm>

#include "providers/base/digest.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/value.h"
#include "providers/workers/shell.h"

namespace podctl::workers {
namespace {

// Between those of the frameworks (2222 to 8482, 29500) and those that Linux gives away (from
// 32768), a block for each run.
constexpr int kFirstPort = 21000;
constexpr int kPortBlocks = 2000;
constexpr int kPorts = 4;
constexpr std::size_t kLongestGangText = 200;
constexpr std::size_t kMostWaiting = 50;

int FirstPort(const std::string& run) {
  constexpr std::size_t kDigits = 8;
  const std::string digest = Sha256Hex(run).substr(0, kDigits);
  return kFirstPort + kPorts * static_cast<int>(std::stoul(digest, nullptr, 16) % kPortBlocks);
}

}  // namespace

const char* const kNeedsPython = R"sh(
has_python() {
  python3 -I -c "import sys, asyncio, ssl; sys.exit(sys.version_info < (3, 7))" \
    </dev/null 2>/dev/null ||
    { echo "python3 (3.7 or later, with its module ssl), by which the workers of a job watch over each other, is not there" >&2
      return 1; }
}
)sh";

std::string GangConfig(const Gang& gang, std::size_t me, const std::string& job,
                       const std::string& run, std::chrono::seconds grace,
                       const std::string& container) {
  Value::List workers;
  for (const Gang::Member& member : gang.members) {
    workers.push_back(Value::List{member.worker, member.address});
  }
  Value::List ports;
  for (int port = 0; port < kPorts; ++port) ports.push_back(FirstPort(run) + port);
  Value::List on;
  for (const std::string& reason : gang.on) on.push_back(reason);
  const auto seconds = [](std::chrono::seconds span) { return Value(span.count()); };
  Value logs;
  if (gang.logs) {
    logs = Value::Map{{"bucket", gang.logs->bucket}, {"prefix", gang.logs->prefix}};
  }
  return ToJson(
      Value::Map{{"job", job},
                 {"run", run},
                 {"me", static_cast<std::int64_t>(me)},
                 {"workers", std::move(workers)},
                 {"ports", std::move(ports)},
                 {"first", gang.first},
                 {"restart", Value::Map{{"attempts", gang.restarts},
                                        {"on", std::move(on)},
                                        {"backoff", Value::List{seconds(gang.first_pause),
                                                                seconds(gang.longest_pause)}}}},
                 {"grace", seconds(grace)},
                 {"container", container},
                 {"silence", seconds(gang.silence)},
                 {"assembly", seconds(std::max(gang.assembly, gang.silence))},
                 {"beat", static_cast<double>(gang.beat.count()) / 1000},
                 {"hang", seconds(gang.hang)},
                 {"logs", std::move(logs)}});
}

bool ReadGangLine(std::string_view line, GangNews* news) {
  const std::string_view kind = TakeWord(&line);
  if (kind == "attempt") {
    return ReadNumber(TakeWord(&line), &news->attempt) && ReadNumber(line, &news->attempts);
  }
  if (kind == "first") {
    GangNews::First first;
    std::int64_t after = 0;
    if (!ReadNumber(TakeWord(&line), &first.attempt)) return false;
    if (const std::string_view worker = TakeWord(&line); worker == "-") {
      first.worker.reset();
    } else if (!ReadNumber(worker, &*first.worker)) {
      return false;
    }
    if (!ReadSeconds(TakeWord(&line), &after)) return false;
    first.after = std::chrono::milliseconds(after);
    first.reason = VisibleControls(TakeWord(&line).substr(0, kLongestGangText));
    first.cause = VisibleControls(line.substr(0, kLongestGangText));
    news->first = std::move(first);
    return true;
  }
  if (kind == "attached") return news->attached = true;
  if (kind != "waiting") return false;
  std::vector<int> waiting;
  while (!line.empty() && waiting.size() < kMostWaiting) {
    const std::size_t comma = line.find(',');
    if (!ReadNumber(line.substr(0, comma), &waiting.emplace_back())) return false;
    line.remove_prefix(comma == std::string_view::npos ? line.size() : comma + 1);
  }
  news->waiting = std::move(waiting);
  return true;
}

}  // namespace podctl::workers
