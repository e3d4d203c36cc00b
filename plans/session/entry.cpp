#include "plans/session/entry.h"

#include <algorithm>
#include <variant>

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
        const auto* keep = std::get_if<Keep>(&change.action);
        return keep != nullptr && keep->pod.ssh.os_login_user == "";
      });
  return nameless ? EnterPlanned(*doors.login(), plan) : Result<void>();
}

}  // namespace podctl
