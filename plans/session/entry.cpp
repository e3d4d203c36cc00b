#include "plans/session/entry.h"

#include <algorithm>

#include "plans/kinds/pod/change.h"

namespace podctl {

std::optional<NoWayIn> PrepareToEnter(const EntryDoors& doors, Plan* plan) {
  KeyLines keys = doors.Keys();
  if (auto published = PublishPlanned(keys, plan); !published) {
    return NoWayIn{published.error(), true};
  }
  if (auto entered = EnterPlanned(*doors.login(), plan); !entered) return NoWayIn{entered.error()};
  return std::nullopt;
}

Result<void> NameOsLoginUsers(const EntryDoors& doors, Plan* plan) {
  const bool nameless =
      std::any_of(plan->changes.begin(), plan->changes.end(), [](const Change& change) {
        const PodChange* pod = AsPod(change);
        return pod != nullptr && IsKeep(change) && pod->wanted.ssh.os_login_user == "";
      });
  return nameless ? EnterPlanned(*doors.login(), plan) : Result<void>();
}

}  // namespace podctl
