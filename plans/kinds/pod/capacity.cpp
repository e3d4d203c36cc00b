#include "plans/kinds/pod/capacity.h"

#include <fmt/format.h>

#include <utility>

#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "providers/base/text.h"

namespace podctl {

void ExplainMissing(const PodSpec& pod, const PodRecord& record, Change* change) {
  if (record.exists() && BackingOf(pod).TermsOf(pod).spot) {
    change->payload.Edit<PodChange>()->lost = "gone";
    change->reason = "its node is gone: preempted, or deleted outside of podctl";
  } else if (IsRecovering(record)) {
    change->reason = "it was " + RecoveryStory(*record.recovery());
  } else if (!record.capacity_since().empty()) {
    change->reason = fmt::format("capacity for it is sought since {}", record.capacity_since());
  }
}

void GoOnRecovering(const PodRecord& record, Change* change) {
  if (!Makes(*change) || !IsRecovering(record)) return;
  change->payload.Edit<PodChange>()->lost = record.recovery()->because;
}

void AddCapacity(const PodSpec& pod, std::vector<AttributeChange>* attributes) {
  const auto add = [&](const char* path, Value value) {
    AttributeChange change;
    change.path = path;
    change.after = std::move(value);
    attributes->push_back(std::move(change));
  };
  if (!pod.capacity) return;
  if (pod.capacity->retry.count() > 0) {
    add("capacity.retry", FormatDuration(pod.capacity->retry));
  }
  const std::vector<std::string>& zones = pod.capacity->zones;
  if (zones.size() > 1) add("capacity.zones", Value::List(zones.begin(), zones.end()));
}

}  // namespace podctl
