#include "plans/session/affected_jobs.h"

#include <fmt/format.h>

#include <map>
#include <string_view>

#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"

namespace podctl {
namespace {

// What becomes of the pod itself; "" for its steps, and for what is only bookkeeping.
std::string_view FateOf(const Change& change) {
  if (AsPod(change) == nullptr) return "";
  if (change.verb == Verb::kCreate) return "is created";
  if (IsReplace(change)) return "is replaced";
  if (change.verb == Verb::kUpdate) return "is changed";
  return IsDelete(change) && change.address.deposed.empty() ? "is destroyed" : "";
}

}  // namespace

std::vector<std::string> JobsAffected(const Spec& spec, const Plan& plan) {
  std::map<std::string, std::string_view> fates;  // by the pod's name
  for (const Change& change : plan.changes) {
    if (const std::string_view fate = FateOf(change); !fate.empty()) {
      fates[PodNameOf(change.address)] = fate;
    }
  }
  std::vector<std::string> lines;
  for (const JobSpec& job : spec.jobs) {
    const auto fate = fates.find(job.pod);
    if (fate == fates.end()) continue;
    const bool starts =
        job.autostart && (fate->second == "is created" || fate->second == "is replaced");
    lines.push_back(fmt::format("{} runs on {}, which {}{}", job.name, PodAddress(job.pod),
                                fate->second, starts ? "; it is started then" : ""));
  }
  return lines;
}

}  // namespace podctl
