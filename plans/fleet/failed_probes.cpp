#include "plans/fleet/failed_probes.h"

#include <fmt/format.h>

#include <algorithm>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/value.h"
#include "providers/workers/pod_verdict.h"

namespace podctl {
namespace {

constexpr std::int64_t kMostFailures = 1'000'000;
constexpr std::int64_t kMostProbedWorkers = 100'000;

std::map<int, int> ReadFailures(const Value& document, const std::string& uid) {
  std::map<int, int> failures;
  if (!document["format_version"].AsString().starts_with("1.")) return failures;
  if (document["uid"].AsString() != uid) return failures;
  for (const Value& entry : document["workers"].AsList()) {
    const std::int64_t worker = entry["worker"].AsInt();
    const std::int64_t count = entry["failures"].AsInt();
    const bool sound =
        worker >= 0 && worker < kMostProbedWorkers && count > 0 && count < kMostFailures;
    if (sound) failures[static_cast<int>(worker)] = static_cast<int>(count);
  }
  return failures;
}

}  // namespace

std::map<int, int> FailedProbes::Count(const std::string& uid, const std::map<int, bool>& failed) {
  const auto text = file_.Load();
  const auto document = text ? ParseJson(*text) : Result<Value>(text.error());
  std::map<int, int> failures = document ? ReadFailures(*document, uid) : std::map<int, int>{};
  for (const auto& [worker, fails] : failed) {
    if (fails) {
      ++failures[worker];
    } else {
      failures.erase(worker);
    }
  }
  Value::List list;
  for (const auto& [worker, count] : failures) {
    list.emplace_back(Value::Map{{"worker", worker}, {"failures", count}});
  }
  file_.Save(
      ToJson(Value::Map{{"format_version", "1.0"}, {"uid", uid}, {"workers", std::move(list)}}) +
      "\n");
  return failures;
}

void CountFailures(FailedProbes probes, const std::string& uid, DoctorReport* report) {
  // While something is told of the node itself, its workers' troubles are that.
  const bool node_ails = std::any_of(
      report->findings.begin(), report->findings.end(),
      [](const workers::Finding& finding) { return finding.code.starts_with("node-"); });
  if (!report->probe || node_ails) return;
  std::map<int, bool> failed;
  for (const DoctorReport::Worker& worker : report->workers) {
    failed[worker.index] =
        std::any_of(worker.findings.begin(), worker.findings.end(), workers::SpeaksAgainstMachine);
  }
  const std::map<int, int> counts = probes.Count(uid, failed);
  for (DoctorReport::Worker& worker : report->workers) {
    const auto count = counts.find(worker.index);
    if (count == counts.end()) continue;
    report->probe->failures.insert(*count);
    if (count->second < kFailuresToReplace) continue;
    worker.findings.push_back({"fails-again",
                               fmt::format("its probe has failed {} times in a row", count->second),
                               "", "podctl apply --replace pod.{pod}"});
  }
}

}  // namespace podctl
