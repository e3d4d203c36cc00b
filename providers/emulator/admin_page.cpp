#include "providers/emulator/admin_page.h"

#include <fmt/format.h>

namespace podctl::emulator {
namespace {

constexpr std::size_t kMaxLines = 200;  // of each list; the API lists them all

constexpr std::string_view kVerbs = R"(
What can be done (POST; an id that two zones have needs the full name):

  curl -X POST $E/emulator/nodes/NODE:preempt      a spot node is taken back
  curl -X POST $E/emulator/nodes/NODE:terminate    any node is
  curl -X POST $E/emulator/nodes/NODE:break        health UNHEALTHY_TENSORFLOW
  curl -X POST $E/emulator/nodes/NODE:maintain     health UNHEALTHY_MAINTENANCE
  curl -X POST $E/emulator/nodes/NODE:repair       REPAIRING, its workers are off
  curl -X POST $E/emulator/nodes/NODE:heal         READY and HEALTHY again
  curl -X POST $E/emulator/queuedResources/QR:suspend
  curl -X POST $E/emulator/queuedResources/QR:fail
  curl -X POST $E/emulator/customJobs/JOB:fail     or succeed; JOB is its number or display name
  curl $E/emulator/capacity --json '{"v3-32": 0}'
  curl $E/emulator/clock --json '{"advance": "6h"}'
  curl $E/emulator/faults --json '{"method": "POST", "path": "/nodes", "status": 503}'
  curl $E/emulator/faults    curl $E/emulator/requests
)";

std::string LimitRows(const Value& limits) {
  std::string text;
  for (const auto& [kind, rules] : limits.AsMap()) {
    for (const auto& [rule, count] : rules.AsMap()) {
      text += fmt::format("  {} {}={}\n", kind, rule, count.AsInt());
    }
  }
  return text.empty() ? "  none\n" : text;
}

std::string Nodes(const Value& nodes) {
  std::string text;
  std::size_t lines = 0;
  for (const Value& node : nodes.AsList()) {
    if (++lines > kMaxLines) return text + "  …\n";
    text += fmt::format("  {:<60} {:<12} {} {}\n", node["name"].AsString(),
                        node["acceleratorType"].AsString(), node["state"].AsString(),
                        node["health"].AsString());
  }
  return text.empty() ? "  none\n" : text;
}

std::string Queue(const Value& queue) {
  std::string text;
  std::size_t lines = 0;
  for (const Value& queued : queue.AsList()) {
    if (++lines > kMaxLines) return text + "  …\n";
    const std::int64_t nodes = queued["nodes"].AsInt();
    text += fmt::format("  {:<60} {:<12} {}\n", queued["name"].AsString(),
                        fmt::format("{} {}", nodes, nodes == 1 ? "node" : "nodes"),
                        queued["state"].AsString());
  }
  return text.empty() ? "  none\n" : text;
}

}  // namespace

std::string AdminPage(const Value& overview) {
  return fmt::format(
      "The Cloud TPU emulator of podctl. Its time is {}.\n\nNodes\n{}\nQueued resources\n{}\n"
      "Limits\n{}{}",
      overview["time"].AsString(), Nodes(overview["nodes"]), Queue(overview["queuedResources"]),
      LimitRows(overview["limits"]), kVerbs);
}

}  // namespace podctl::emulator
