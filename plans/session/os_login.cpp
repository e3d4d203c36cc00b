#include "plans/session/os_login.h"

#include <fmt/format.h>

#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "providers/gcp/os_login.h"

namespace podctl {
namespace {

// What the spec says of the node's metadata; nullopt: nothing, or a reference.
std::optional<bool> SaidBySpec(const PodSpec& pod) {
  const auto entry = pod.metadata.find(gcp::kOsLoginKey);
  if (entry == pod.metadata.end()) return std::nullopt;
  return gcp::TurnsOsLoginOn(entry->second.text);
}

std::optional<bool> SaidByNode(const PodSpec& pod, const Observation& observation) {
  const NodeName name = NameOf(pod);
  if (PodsIn(observation).remembered.contains(name)) return std::nullopt;
  const Value* node = PodsIn(observation).Find(name);
  const Value* said = node == nullptr ? nullptr : (*node)["metadata"].Find(gcp::kOsLoginKey);
  if (said == nullptr) return std::nullopt;
  return gcp::TurnsOsLoginOn(said->AsString());
}

}  // namespace

Result<void> UseOsLogin(OsLogin& login, const State& known, const Observation& observation,
                        bool will_enter, Spec* spec) {
  for (PodSpec* each : EditPods(spec)) {
    PodSpec& pod = *each;
    std::optional<bool> on = SaidBySpec(pod);
    if (!on) on = SaidByNode(pod, observation);
    const PodRecord* record = Pods(known).Get(PodAddress(pod.name));
    const bool has_record = record != nullptr;
    if (!on && PodsIn(observation).remembered.contains(NameOf(pod))) {
      on = has_record && record->ssh.os_login_user.has_value();
    }
    // A plan that makes no pod needs no word of the project: what held at the last apply will do.
    if (!on && has_record && !will_enter) on = record->ssh.os_login_user.has_value();
    if (!on) on = login.IsOnIn(pod.project);
    if (!*on) continue;
    auto user = login.User(pod.project, pod.ssh.identity_file, false);
    const bool nobody = user && user->empty() && !pod.publish_ssh_key;
    if (will_enter && nobody) user = login.NoUser(pod.project);
    if (user) {
      pod.ssh.os_login_user = *user;
    } else if (will_enter && pod.ssh.user.empty()) {
      Error error = user.error();
      error.message = fmt::format("pod {} is entered by OS Login: {}", pod.name, error.message);
      return error;
    } else {
      pod.ssh.os_login_user = "";
    }
  }
  return {};
}

Result<void> EnterPlanned(OsLogin& login, Plan* plan) {
  for (Change& change : plan->changes) {
    const PodChange* pod = AsPod(change);
    if (pod == nullptr || !pod->wanted.ssh.os_login_user) continue;
    PodSpec& wanted = change.payload.Edit<PodChange>()->wanted;
    auto user = login.User(wanted.project, wanted.ssh.identity_file, wanted.publish_ssh_key);
    if (user && user->empty()) user = login.NoUser(wanted.project);
    if (user) {
      wanted.ssh.os_login_user = *user;
    } else if (wanted.ssh.user.empty()) {
      return user.error();
    }
  }
  return {};
}

std::optional<NotAsMyself> EnterAsMyself(OsLogin& login, PodRecord* record) {
  if (!record->ssh.os_login_user || !record->ssh.user.empty()) return std::nullopt;
  auto user = login.User(record->project, record->ssh.identity_file,
                         !record->ssh.withhold_key.value_or(false));
  if (!user) return NotAsMyself{user.error(), false, *record->ssh.os_login_user};
  if (user->empty()) return NotAsMyself{login.NoUser(record->project), true, ""};
  record->ssh.os_login_user = *user;
  return std::nullopt;
}

}  // namespace podctl
