#include "providers/workers/pod_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "providers/base/digest.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/value.h"
#include "providers/workers/shell.h"

namespace podctl::workers {
namespace {

constexpr std::string_view kPodProbeFirstLine = "podctl-pod-probe 1";
constexpr std::string_view kClockMark = "podctl-pod-probe clock ";
constexpr std::size_t kMostPodProbeLines = 500;
constexpr std::size_t kLongestWords = 300;
constexpr std::size_t kMostNames = 32;  // of packages, and of drivers
constexpr int kLastPodProbePort = 65535;
// Beside those of gangs (gang.cpp), below what Linux gives away (from 32768); a block for each run.
constexpr int kFirstProbePort = 30000;
constexpr int kProbePortBlocks = 500;
constexpr int kProbePorts = 4;              // that a worker may be called at
constexpr int kPortsOfBlock = 5;            // the last one is the collective's
constexpr std::chrono::seconds kSlack{30};  // for facts, the end of processes, and a busy machine

int FirstProbePort(const std::string& run) {
  constexpr std::size_t kDigits = 8;
  const std::string digest = Sha256Hex(run).substr(0, kDigits);
  return kFirstProbePort +
         kPortsOfBlock * static_cast<int>(std::stoul(digest, nullptr, 16) % kProbePortBlocks);
}

std::string WithProgram(const Value& config) {
  const std::string_view program = kPodProbeProgram;
  return fmt::format("{}\n{}{}\n", program.size(), program, ToJson(config));
}

Value ConfigOf(const PodProbe& probe, std::size_t place, std::string_view mode) {
  const auto total = mode == "collective" ? LongestCollective(probe) : LongestNeighbours(probe);
  return Value::Map{{"mode", mode},
                    {"me", static_cast<std::int64_t>(place)},
                    {"address", probe.members[place].address},
                    {"python", probe.python},
                    {"watched", probe.watched},
                    {"total", total.count()}};
}

std::string Words(std::string_view text) {
  return VisibleControls(TrimBlanks(text.substr(0, kLongestWords)));
}

bool IsHost(std::string_view host) {
  constexpr std::size_t kLongestHost = 253;
  return !host.empty() && host.size() <= kLongestHost && host.front() != '-' &&
         std::all_of(host.begin(), host.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':';
         });
}

// A number with a sign.
bool ReadOffset(std::string_view word, std::int64_t* number) {
  const bool negative = word.starts_with('-');
  if (negative) word.remove_prefix(1);
  if (!ReadSeconds(word, number)) return false;
  if (negative) *number = -*number;
  return true;
}

bool ReadMilliseconds(std::string_view word, std::chrono::milliseconds* span) {
  std::int64_t count = 0;
  if (!ReadSeconds(word, &count)) return false;
  *span = std::chrono::milliseconds(count);
  return true;
}

// What may stand in a command, and is no flag there.
bool IsPlainWord(std::string_view word, std::string_view more) {
  constexpr std::size_t kLongestWord = 100;
  return !word.empty() && word.size() <= kLongestWord &&
         std::isalnum(static_cast<unsigned char>(word.front())) != 0 &&
         std::all_of(word.begin(), word.end(), [&](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                  more.find(c) != std::string_view::npos;
         });
}

// "NAME VERSION"; `more`: the characters that a version may have besides letters and digits.
bool TakeVersion(std::string_view rest, std::string_view more,
                 std::map<std::string, std::string>* versions) {
  const std::string_view name = TakeWord(&rest);
  if (!IsPlainWord(name, "._-") || !IsPlainWord(rest, more)) return false;
  if (versions->size() >= kMostNames) return false;
  versions->emplace(name, rest);
  return true;
}

bool TakeEgress(std::string_view rest, PodProbeAnswer* answer) {
  PodProbeAnswer::Egress egress;
  egress.target.host = std::string(TakeWord(&rest));
  if (!IsHost(egress.target.host) || !ReadNumber(TakeWord(&rest), &egress.target.port)) {
    return false;
  }
  const std::string_view how = TakeWord(&rest);
  egress.proxied = how == "proxy";
  if (how == "failed") egress.why = Words(rest);
  const bool read = how == "proxy" || (how == "failed" && !egress.why.empty()) ||
                    (how == "ok" && ReadMilliseconds(rest, &egress.took));
  if (read) answer->egress.push_back(std::move(egress));
  return read;
}

bool ReadPlace(std::string_view word, std::size_t members, std::size_t* place) {
  return ReadNumber(word, place) && *place < members;
}

bool TakePeer(std::string_view rest, std::size_t members, PodProbeAnswer* answer) {
  PodProbeAnswer::Peer peer;
  if (!ReadPlace(TakeWord(&rest), members, &peer.place)) return false;
  const std::string_view how = TakeWord(&rest);
  if (how == "failed") {
    peer.why = Words(rest);
    if (peer.why.empty()) return false;
  } else {
    std::int64_t way = 0;
    if (how != "ok" || !ReadNumber(TakeWord(&rest), &peer.port) || peer.port > kLastPodProbePort ||
        !ReadOffset(TakeWord(&rest), &peer.offset_ms) || !ReadSeconds(TakeWord(&rest), &way) ||
        !ReadNumber(rest, &peer.kbits)) {
      return false;
    }
    peer.way = std::chrono::microseconds(way);
  }
  answer->peers.push_back(std::move(peer));
  return true;
}

bool TakeText(std::string_view rest, std::string* text) {
  *text = Words(rest);
  return !text->empty();
}

bool TakeFact(std::string_view line, std::size_t members, PodProbeAnswer* answer) {
  std::string_view rest = line;
  const std::string_view key = TakeWord(&rest);
  if (key == "kernel") return TakeText(rest, &answer->kernel);
  if (key == "python") return TakeText(rest, &answer->python);
  if (key == "no-python") return TakeText(rest, &answer->no_python);
  if (key == "no-port") return TakeText(rest, &answer->no_port);
  if (key == "package") return TakeVersion(rest, ".+!_-", &answer->packages);
  if (key == "driver") return TakeVersion(rest, ".+!_-:~ ", &answer->drivers);
  if (key == "accel") return ReadNumber(rest, &answer->accel);
  if (key == "vfio") return ReadNumber(rest, &answer->vfio.emplace(0));
  if (key == "egress") return TakeEgress(rest, answer);
  if (key == "peer") return TakePeer(rest, members, answer);
  if (key == "came") return ReadPlace(rest, members, &answer->came.emplace_back(0));
  answer->google = answer->google || key == "google";
  return key == "google" && rest.empty();
}

Error BrokenProbe(std::string_view why) {
  return MakeError(ErrorCode::kDataLoss,
                   fmt::format("its answer to the pod's probe cannot be read: {}", why));
}

// Calls `take` with each line between the first one and the last.
template <typename Take>
std::optional<Error> ReadLines(const std::vector<std::string>& lines, const Take& take) {
  auto line = std::find(lines.begin(), lines.end(), kPodProbeFirstLine);
  if (line == lines.end()) return BrokenProbe("it has no beginning");
  if (static_cast<std::size_t>(lines.end() - line) > kMostPodProbeLines) {
    return BrokenProbe("it is too long");
  }
  while (++line != lines.end()) {
    if (*line == "end") return std::nullopt;
    if (!take(std::string_view(*line))) {
      return BrokenProbe(fmt::format("`{}`", VisibleControls(line->substr(0, kLongestWords))));
    }
  }
  return BrokenProbe("it has no end");
}

bool TakeStage(std::string_view rest, CollectiveAnswer* answer) {
  using Stage = CollectiveAnswer::Stage;
  static const std::map<std::string_view, Stage> kStages = {{"import", Stage::kImport},
                                                            {"join", Stage::kJoin},
                                                            {"devices", Stage::kDevices},
                                                            {"sum", Stage::kSum},
                                                            {"done", Stage::kDone}};
  const auto stage = kStages.find(TakeWord(&rest));
  if (stage == kStages.end() || stage->second <= answer->stage) return false;
  answer->stage = stage->second;
  if (!ReadMilliseconds(TakeWord(&rest), &answer->after)) return false;
  if (answer->stage != Stage::kDone) return rest.empty();
  if (!ReadNumber(TakeWord(&rest), &answer->processes) ||
      !ReadNumber(TakeWord(&rest), &answer->devices) ||
      !ReadNumber(TakeWord(&rest), &answer->local)) {
    return false;
  }
  answer->platform = Words(TakeWord(&rest));
  return !answer->platform.empty() && ReadOffset(rest, &answer->sum);
}

bool TakeProgress(std::string_view line, CollectiveAnswer* answer) {
  std::string_view rest = line;
  const std::string_view key = TakeWord(&rest);
  if (key == "stage") return TakeStage(rest, answer);
  if (key == "left") return ReadNumber(rest, &answer->left);
  if (key == "waited") return ReadMilliseconds(rest, &answer->after);
  return key == "failed" && ReadMilliseconds(TakeWord(&rest), &answer->after) &&
         TakeText(rest, &answer->why);
}

}  // namespace

std::optional<EgressTarget> ParseEgressTarget(std::string_view text) {
  EgressTarget target;
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
  } else if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon);
    if (host.find(':') != std::string_view::npos) return std::nullopt;
  }
  if (!port.empty()) {
    if (port.front() != ':' || !ReadNumber(port.substr(1), &target.port)) return std::nullopt;
    if (target.port < 1 || target.port > kLastPodProbePort) return std::nullopt;
  }
  if (!IsHost(host)) return std::nullopt;
  target.host = std::string(host);
  return target;
}

std::vector<EgressTarget> UsualEgress() {
  return {{"storage.googleapis.com"}, {"pypi.org"}};
}

std::string TargetName(const EgressTarget& target) {
  const bool is_ipv6 = target.host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", target.host, target.port)
                 : fmt::format("{}:{}", target.host, target.port);
}

std::vector<std::size_t> CallsOf(std::size_t place, std::size_t members) {
  std::vector<std::size_t> calls;
  for (std::size_t far = 1; far < members; far *= 2) calls.push_back((place + far) % members);
  return calls;
}

std::string PodProbeCommand() {
  // Isolated, so that nothing in the home folder is taken for a part of the library.
  return InPlainShell(
      "command -v python3 >/dev/null || { echo 'python3 is not there' >&2; exit 1; }\n"
      "exec python3 -I -c 'import sys; i = sys.stdin.buffer; "
      "exec(compile(i.read(int(i.readline())), \"podctl\", \"exec\"))'");
}

std::string NeighboursInput(const PodProbe& probe, std::size_t place) {
  Value config = ConfigOf(probe, place, "neighbours");
  const std::size_t count = probe.neighbours ? probe.members.size() : 0;
  Value::List calls;
  Value::List callers;
  for (const std::size_t called : CallsOf(place, count)) {
    calls.push_back(Value::List{static_cast<std::int64_t>(called), probe.members[called].address});
    // As far behind it as the other one is before it.
    callers.push_back(static_cast<std::int64_t>((2 * place + count - called) % count));
  }
  Value::List ports;
  for (int i = 0; i < kProbePorts; ++i) ports.push_back(FirstProbePort(probe.run) + i);
  Value::List egress;
  for (const EgressTarget& target : probe.egress) {
    egress.push_back(Value::List{target.host, target.port});
  }
  config.Set("calls", std::move(calls));
  config.Set("callers", std::move(callers));
  config.Set("ports", std::move(ports));
  config.Set("secret", probe.secret);
  config.Set("patience", probe.patience.count());
  config.Set("egress", std::move(egress));
  return WithProgram(config);
}

std::string CollectiveInput(const PodProbe& probe, std::size_t place) {
  Value config = ConfigOf(probe, place, "collective");
  Value env = Value::EmptyMap();
  for (const auto& [name, value] : probe.members[place].env) env.Set(name, value);
  config.Set("env", std::move(env));
  config.Set("coordinator",
             TargetName({probe.members.front().address, FirstProbePort(probe.run) + kProbePorts}));
  config.Set("count", static_cast<std::int64_t>(probe.members.size()));
  config.Set("seconds", probe.collective.count());
  return WithProgram(config);
}

std::chrono::seconds LongestNeighbours(const PodProbe& probe) {
  return probe.patience + kSlack + kSlack;
}

std::chrono::seconds LongestCollective(const PodProbe& probe) {
  return probe.collective + kSlack + kSlack;
}

std::optional<std::int64_t> ReadProbeClock(std::string_view line) {
  std::int64_t clock = 0;
  if (!line.starts_with(kClockMark)) return std::nullopt;
  line.remove_prefix(kClockMark.size());
  if (!ReadNumber(line, &clock) || clock / 1000 > kMostSeconds) return std::nullopt;
  return clock;
}

Result<PodProbeAnswer> ParsePodProbe(const std::vector<std::string>& lines, std::size_t members) {
  PodProbeAnswer answer;
  const auto broken =
      ReadLines(lines, [&](std::string_view line) { return TakeFact(line, members, &answer); });
  if (broken) return *broken;
  if (answer.kernel.empty()) return BrokenProbe("it lacks a part");
  return answer;
}

Result<CollectiveAnswer> ParseCollective(const std::vector<std::string>& lines) {
  CollectiveAnswer answer;
  const auto broken =
      ReadLines(lines, [&](std::string_view line) { return TakeProgress(line, &answer); });
  if (broken) return *broken;
  return answer;
}

}  // namespace podctl::workers
