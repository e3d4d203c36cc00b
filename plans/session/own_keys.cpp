#include "plans/session/own_keys.h"

#include <fmt/format.h>

#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "providers/base/ssh_key_lines.h"
#include "providers/os/this_process.h"

namespace podctl {
namespace {

bool Publishes(const PodSpec& pod) {
  return pod.publish_ssh_key && !pod.metadata.contains(kSshKeys);
}

}  // namespace

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

}  // namespace podctl
