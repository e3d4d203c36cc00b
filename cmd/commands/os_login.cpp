#include "cmd/commands/os_login.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>
#include <variant>

#include "cmd/commands/plan_run.h"
#include "providers/gcp/credentials/credentials.h"
#include "providers/gcp/gcloud_config.h"
#include "providers/gcp/os_login.h"
#include "providers/gcp/rest_client.h"
#include "providers/http/url.h"

namespace podctl {
namespace {

constexpr std::chrono::hours kKeyLife{24};
constexpr std::chrono::hours kKeyMustLast{12};

// What the spec says of the node's metadata; nullopt: nothing, or a reference.
std::optional<bool> SaidBySpec(const PodSpec& pod) {
  const auto entry = pod.metadata.find(gcp::kOsLoginKey);
  if (entry == pod.metadata.end()) return std::nullopt;
  return gcp::TurnsOsLoginOn(entry->second.text);
}

std::optional<bool> SaidByNode(const PodSpec& pod, const Observation& observation) {
  const NodeName name = NameOf(pod);
  if (observation.remembered.contains(name)) return std::nullopt;
  const Value* node = observation.Find(name);
  const Value* said = node == nullptr ? nullptr : (*node)["metadata"].Find(gcp::kOsLoginKey);
  if (said == nullptr) return std::nullopt;
  return gcp::TurnsOsLoginOn(said->AsString());
}

}  // namespace

bool OsLogin::IsOnIn(const std::string& project) {
  if (const auto found = projects_.find(project); found != projects_.end()) return found->second;
  bool on = false;
  if (auto compute = wiring_.compute()) {
    const auto said = gcp::ProjectOsLogin(**compute, project, wiring_.interrupt().drain());
    on = said && said->value_or(false);
  }
  return projects_[project] = on;
}

// As `podctl auth status` finds it; before a server of this machine, which takes any credentials,
// nobody else's servers are asked if gcloud's settings tell.
Result<std::string> OsLogin::Email() {
  if (email_) return *email_;
  std::string account = wiring_.environment().Get("CLOUDSDK_CORE_ACCOUNT").value_or("");
  if (account.empty()) {
    account = gcp::ReadGcloudConfig(wiring_.environment(), wiring_.files()).account.value_or("");
  }
  const auto endpoint = http::ParseUrl(wiring_.endpoint());
  const bool local = endpoint && http::IsLoopback(*endpoint);
  if (!local || account.empty()) {
    const auto status = wiring_.credentials().Status(wiring_.interrupt().drain());
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

Result<std::string> OsLogin::User(const std::string& project, const std::string& identity_file,
                                  bool import) {
  const std::string which = fmt::format("{}\n{}\n{}", project, identity_file, import);
  const auto known = users_.find(which);
  if (known != users_.end()) return known->second;
  return users_.emplace(which, AskUser(project, identity_file, import)).first->second;
}

// Who has never published a key is not known there.
Error OsLogin::NoUser(const std::string& project) {
  const auto email = Email();
  return MakeError(ErrorCode::kFailedPrecondition,
                   fmt::format("OS Login has no user name for {} in {}",
                               email ? *email : "these credentials", project),
                   "Publish a key (`gcloud compute os-login ssh-keys add --key-file=KEY.pub`), or "
                   "let podctl do it: leave out `ssh: {publishKey: false}`.");
}

Result<std::string> OsLogin::AskUser(const std::string& project, const std::string& identity_file,
                                     bool import) {
  const auto email = Email();
  if (!email) return email.error();
  auto client = wiring_.os_login();
  if (!client) return client.error();
  const std::stop_token stop = wiring_.interrupt().drain();
  auto profile = gcp::GetLoginProfile(**client, *email, project, stop);
  const bool none = !profile && profile.error().code == ErrorCode::kNotFound;
  if (!profile && !none) return profile.error();
  if (none) profile = gcp::LoginProfile();
  if (!import) return profile->user;
  auto keys = wiring_.keyring().For(identity_file);
  if (!keys) return keys.error();
  const std::string key = (*keys)->PublicKeyLine();
  const auto now = wiring_.clock().Now();
  if (!profile->user.empty() && profile->Holds(key, now + kKeyMustLast)) return profile->user;
  profile = gcp::ImportSshPublicKey(**client, *email, project, key, now + kKeyLife, stop);
  if (!profile) return profile.error();
  if (!profile->user.empty()) return profile->user;
  return MakeError(ErrorCode::kFailedPrecondition,
                   fmt::format("OS Login has no user name for {} in {}", *email, project),
                   "It wants the role roles/compute.osLogin there, or osAdminLogin for sudo.");
}

Result<void> UseOsLogin(OsLogin& login, const State& known, const Observation& observation,
                        bool will_enter, Spec* spec) {
  for (PodSpec& pod : spec->pods) {
    std::optional<bool> on = SaidBySpec(pod);
    if (!on) on = SaidByNode(pod, observation);
    const auto record = known.pods.find(PodAddress(pod.name));
    const bool has_record = record != known.pods.end();
    if (!on && observation.remembered.contains(NameOf(pod))) {
      on = has_record && record->second.ssh.os_login_user.has_value();
    }
    // A plan that makes no pod needs no word of the project: what held at the last apply will do.
    if (!on && has_record && !will_enter) on = record->second.ssh.os_login_user.has_value();
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
  Result<void> done;
  for (Change& change : plan->changes) {
    std::visit(
        [&](auto& action) {
          if constexpr (requires { action.pod.ssh; }) {
            SshSettings& ssh = action.pod.ssh;
            if (!done || !ssh.os_login_user) return;
            auto user =
                login.User(action.pod.project, ssh.identity_file, action.pod.publish_ssh_key);
            if (user && user->empty()) user = login.NoUser(action.pod.project);
            if (user) {
              ssh.os_login_user = *user;
            } else if (ssh.user.empty()) {
              done = user.error();
            }
          }
        },
        change.action);
  }
  return done;
}

void EnterAsMyself(Wiring& wiring, PodRecord* record) {
  if (!record->ssh.os_login_user || !record->ssh.user.empty()) return;
  OsLogin login(wiring);
  auto user = login.User(record->project, record->ssh.identity_file,
                         !record->ssh.withhold_key.value_or(false));
  if (user && user->empty()) {
    wiring.streams().err << login.NoUser(record->project).message
                         << ", and the spec says `publishKey: false`.\n";
  } else if (user) {
    record->ssh.os_login_user = *user;
  } else {
    wiring.streams().err << fmt::format(
        "OS Login could not be asked ({}); entering as {}.\n", user.error().message,
        record->ssh.os_login_user->empty() ? "the local user" : *record->ssh.os_login_user);
  }
}

}  // namespace podctl
