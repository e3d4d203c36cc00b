#include "plans/session/os_login.h"

#include <fmt/format.h>

#include <chrono>

#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/spec.h"
#include "providers/gcp/gcloud_config.h"
#include "providers/gcp/os_login.h"
#include "providers/http/url.h"

namespace podctl {
namespace {

// What the spec says of the node's metadata; nullopt: nothing, or a reference.
std::optional<bool> SaidBySpec(const PodSpec& pod) {
  const auto entry = pod.metadata.find(gcp::kOsLoginKey);
  if (entry == pod.metadata.end()) return std::nullopt;
  return gcp::TurnsOsLoginOn(entry->second.text);
}

std::optional<bool> SaidByNode(const NodeName& name, const PodSurvey& survey) {
  const Value* node = survey.Find(name);
  const Value* said = node == nullptr ? nullptr : (*node)["metadata"].Find(gcp::kOsLoginKey);
  if (said == nullptr) return std::nullopt;
  return gcp::TurnsOsLoginOn(said->AsString());
}

}  // namespace

Result<void> UseOsLogin(OsLogin& login, const State& known, const Observation& observation,
                        bool will_log_in, Spec* spec) {
  const PodSurvey& survey = PodsIn(observation);
  for (PodSpec* each : EditPods(spec)) {
    PodSpec& pod = *each;
    std::optional<bool> on = SaidBySpec(pod);
    const NodeName name = NameOf(pod);
    const bool remembered = !on && survey.remembered.contains(name);
    if (!on && !remembered) on = SaidByNode(name, survey);
    const PodRecord* record = on ? nullptr : Pods(known).Get(PodAddress(pod.name));
    const bool has_record = record != nullptr;
    if (!on && remembered) on = has_record && record->ssh.os_login_user.has_value();
    // A plan that makes no pod needs no word of the project: what held at the last apply will do.
    if (!on && has_record && !will_log_in) on = record->ssh.os_login_user.has_value();
    if (!on) on = login.IsOnIn(pod.project);
    if (!*on) continue;
    auto user = login.User(pod.project, pod.ssh.identity_file, false);
    const bool nobody = user && user->empty() && !pod.publish_ssh_key;
    if (will_log_in && nobody) user = login.NoUser(pod.project);
    if (user) {
      pod.ssh.os_login_user = *user;
    } else if (will_log_in && pod.ssh.user.empty()) {
      Error error = user.error();
      error.message = fmt::format("pod {} is entered by OS Login: {}", pod.name, error.message);
      return error;
    } else {
      pod.ssh.os_login_user = "";
    }
  }
  return {};
}

Result<void> LogInForPlan(OsLogin& login, Plan* plan) {
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

std::optional<NotAsCaller> LogInAsCaller(OsLogin& login, PodRecord* record) {
  if (!record->ssh.os_login_user || !record->ssh.user.empty()) return std::nullopt;
  auto user = login.User(record->project, record->ssh.identity_file,
                         !record->ssh.withhold_key.value_or(false));
  if (!user) return NotAsCaller{user.error(), false, *record->ssh.os_login_user};
  if (user->empty()) return NotAsCaller{login.NoUser(record->project), true, ""};
  record->ssh.os_login_user = *user;
  return std::nullopt;
}

namespace {

constexpr std::chrono::hours kKeyLife{24};
constexpr std::chrono::hours kKeyMustLast{12};

}  // namespace

bool GoogleLogin::IsOnIn(const std::string& project) {
  if (const auto found = projects_.find(project); found != projects_.end()) return found->second;
  bool on = false;
  if (doors_.compute) {
    const auto said = gcp::ProjectOsLogin(**doors_.compute, project, doors_.stop);
    on = said && said->value_or(false);
  }
  return projects_[project] = on;
}

// As `podctl auth status` finds it; before a server of this machine, which takes any credentials,
// nobody else's servers are asked if gcloud's settings tell.
Result<std::string> GoogleLogin::Email() {
  if (email_) return *email_;
  std::string account = doors_.environment.Get("CLOUDSDK_CORE_ACCOUNT").value_or("");
  if (account.empty()) {
    account = gcp::ReadGcloudConfig(doors_.environment, doors_.files).account.value_or("");
  }
  const auto endpoint = http::ParseUrl(doors_.endpoint);
  const bool local = endpoint && http::IsLoopback(*endpoint);
  if (!local || account.empty()) {
    const auto status = doors_.credentials.Status(doors_.stop);
    if (!status.account.empty()) account = status.account;
  }
  if (!account.empty()) {
    email_ = account;
  } else {
    email_ = MakeError(ErrorCode::kUnauthenticated,
                       "nobody tells whose credentials these are, which OS Login goes by",
                       "`podctl auth status` shows what is found; CLOUDSDK_CORE_ACCOUNT names "
                       "the e-mail.");
  }
  return *email_;
}

Result<std::string> GoogleLogin::User(const std::string& project, const std::string& identity_file,
                                      bool import) {
  const std::string which = fmt::format("{}\n{}\n{}", project, identity_file, import);
  const auto known = users_.find(which);
  if (known != users_.end()) return known->second;
  return users_.emplace(which, AskUser(project, identity_file, import)).first->second;
}

// Who has never published a key is not known there.
Error GoogleLogin::NoUser(const std::string& project) {
  const auto email = Email();
  return MakeError(ErrorCode::kFailedPrecondition,
                   fmt::format("OS Login has no user name for {} in {}",
                               email ? *email : "these credentials", project),
                   "Publish a key (`gcloud compute os-login ssh-keys add --key-file=KEY.pub`), or "
                   "let podctl do it: leave out `ssh: {publishKey: false}`.");
}

Result<std::string> GoogleLogin::AskUser(const std::string& project,
                                         const std::string& identity_file, bool import) {
  const auto email = Email();
  if (!email) return email.error();
  if (!doors_.os_login) return doors_.os_login.error();
  gcp::RestClient& client = **doors_.os_login;
  auto profile = gcp::GetLoginProfile(client, *email, project, doors_.stop);
  const bool none = !profile && profile.error().code == ErrorCode::kNotFound;
  if (!profile && !none) return profile.error();
  if (none) profile = gcp::LoginProfile();
  if (!import) return profile->user;
  auto keys = doors_.keyring.For(identity_file);
  if (!keys) return keys.error();
  const std::string key = (*keys)->PublicKeyLine();
  const auto now = doors_.clock.Now();
  if (!profile->user.empty() && profile->Holds(key, now + kKeyMustLast)) return profile->user;
  profile = gcp::ImportSshPublicKey(client, *email, project, key, now + kKeyLife, doors_.stop);
  if (!profile) return profile.error();
  if (!profile->user.empty()) return profile->user;
  return MakeError(ErrorCode::kFailedPrecondition,
                   fmt::format("OS Login has no user name for {} in {}", *email, project),
                   "It wants the role roles/compute.osLogin there, or osAdminLogin for sudo.");
}

}  // namespace podctl
