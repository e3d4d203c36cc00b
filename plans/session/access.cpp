#include "plans/session/access.h"

#include <fmt/format.h>

#include <algorithm>

#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/spec.h"
#include "providers/base/ssh_key_lines.h"
#include "providers/os/this_process.h"

namespace podctl {
namespace {

bool Publishes(const PodSpec& pod) {
  return pod.publish_ssh_key && !pod.metadata.contains(kSshKeys);
}

// Into the pods of a plan that is about to be applied, perhaps somebody else's: who applies it must
// reach what it makes, so for new pods a key is made where there is none.
Result<void> PublishPlanned(KeyLines& lines, Plan* plan) {
  for (Change& change : plan->changes) {
    const PodChange* pod = AsPod(change);
    if (pod == nullptr || IsDelete(change) || !Publishes(pod->wanted)) continue;
    auto own = lines.For(pod->wanted.ssh, Makes(change));
    if (!own) return own.error();
    change.payload.Edit<PodChange>()->wanted.applier_keys = *std::move(own);
  }
  return {};
}

}  // namespace

bool AwaitsKey(const PodSpec& pod) {
  return Publishes(pod) && pod.own_keys.empty() && pod.ssh.identity_file.empty() &&
         !pod.ssh.os_login_user;
}

std::optional<std::string> NoKeyNote(ssh::Keyring& keyring, const PodSpec& pod) {
  if (!pod.ssh.identity_file.empty()) return std::nullopt;
  const auto keys = keyring.For({});
  if (keys || keys.error().code != ErrorCode::kNotFound) return std::nullopt;
  const bool published = Publishes(pod) && !pod.ssh.os_login_user;
  return fmt::format(
      "There is no SSH key to log in to workers with: make one with `ssh-keygen -t ed25519`{}.",
      published ? ", and the next `podctl apply` publishes it" : "");
}

std::optional<NoAccess> PrepareAccess(const AccessDoors& doors, Plan* plan) {
  KeyLines keys = doors.Keys();
  if (auto published = PublishPlanned(keys, plan); !published) {
    return NoAccess{published.error(), true};
  }
  if (auto entered = LogInForPlan(*doors.login(), plan); !entered) return NoAccess{entered.error()};
  return std::nullopt;
}

Result<void> NameOsLoginUsers(const AccessDoors& doors, Plan* plan) {
  const bool nameless =
      std::any_of(plan->changes.begin(), plan->changes.end(), [](const Change& change) {
        const PodChange* pod = AsPod(change);
        return pod != nullptr && IsKeep(change) && pod->wanted.ssh.os_login_user == "";
      });
  return nameless ? LogInForPlan(*doors.login(), plan) : Result<void>();
}

Result<std::vector<std::string>> KeyLines::For(const SshSettings& ssh, bool make) {
  std::vector<std::string>& lines = lines_[{ssh.user, ssh.identity_file}];
  if (!lines.empty() || (!make && without_key_.contains(ssh.identity_file))) return lines;
  auto keys = keyring_.For(ssh.identity_file);
  if (!keys && make && ssh.identity_file.empty() && keys.error().code == ErrorCode::kNotFound) {
    keys = ssh::Identities::LoadOrMake(environment_, files_);
    if (keys) on_made_();
  }
  if (!keys && make) return keys.error();
  if (!keys) {
    without_key_.insert(ssh.identity_file);
    return lines;
  }
  const std::string user = ssh.user.empty() ? UserName() : ssh.user;
  for (const std::string& key : (*keys)->PublicKeyLines()) {
    lines.push_back(fmt::format("{}:{} {}", user, key, user));
  }
  return lines;
}

void PublishKeys(KeyLines& lines, Spec* spec) {
  for (PodSpec* pod : EditPods(spec)) {
    if (!Publishes(*pod)) continue;
    if (auto own = lines.For(pod->ssh, false)) pod->own_keys = *own;
  }
}

}  // namespace podctl
