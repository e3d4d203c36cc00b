#include "plans/kinds/pod/particulars.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "plans/kinds/pod/bookkeeping.h"
#include "plans/kinds/pod/change.h"
#include "plans/spec/references.h"
#include "plans/spec/runtime_flags.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr const char* kHidden = "(sensitive value)";

const Value* Nowhere(const Address& /*of*/) {
  return nullptr;
}

bool HasReferences(const std::string& text) {
  return !FindReferences(text).empty();
}

class Particulars {
 public:
  explicit Particulars(const PodSpec& pod) : pod_(pod) {}

  std::vector<Particular> Take() {
    Text("project", pod_.project);
    Text("apiVersion", pod_.api_version ? std::string(ApiVersionName(*pod_.api_version)) : "");
    Text("desiredState", pod_.desired_state.value_or(""));
    AddTemplates("", pod_.node);
    AddMetadata();
    AddRuntime();
    AddSsh();
    AddLifecycle();
    AddWaits();
    return std::move(all_);
  }

 private:
  void Text(const char* path, const std::string& text) {
    if (!text.empty()) all_.push_back({path, text});
  }
  void Flag(const char* path, bool is_so, const char* word) {
    if (is_so) all_.push_back({path, word});
  }
  void List(const char* path, const std::vector<std::string>& items) {
    Text(path, Join(items, ", "));
  }
  void Wait(const char* path, const std::optional<std::chrono::milliseconds>& wait) {
    if (wait) all_.push_back({path, FormatDuration(*wait)});
  }

  // What references stand in is shown as known after apply.
  void AddTemplates(const std::string& path, const Value& value) {
    if (value.is_string() && HasReferences(value.AsString())) {
      all_.push_back({path, value.AsString()});
    }
    for (std::size_t i = 0; i < value.AsList().size(); ++i) {
      AddTemplates(fmt::format("{}[{}]", path, i), value.AsList()[i]);
    }
    for (const auto& [key, member] : value.AsMap()) {
      AddTemplates(path.empty() ? key : path + "." + key, member);
    }
  }

  void AddMetadata() {
    for (const auto& [key, entry] : pod_.metadata) {
      if (entry.sensitive || !HasReferences(entry.text)) continue;
      all_.push_back({"metadata." + key, entry.text});
    }
  }

  // They are shown as the metadata entry that is made of them, where it is.
  void AddRuntime() {
    const auto entry = pod_.metadata.find(kRuntimeVariablesKey);
    const bool hidden = entry != pod_.metadata.end() && entry->second.sensitive;
    const bool shown = entry != pod_.metadata.end() &&
                       entry->second.text == ComposeRuntimeVariables(pod_.runtime_env);
    if (shown) return;
    for (const auto& [name, text] : pod_.runtime_env) {
      all_.push_back({"runtimeEnv." + name, hidden ? kHidden : text});
    }
  }

  void AddSsh() {
    const SshSettings& ssh = pod_.ssh;
    Text("ssh.user", ssh.user);
    if (ssh.port != SshSettings().port) Text("ssh.port", std::to_string(ssh.port));
    Text("ssh.identityFile", ssh.identity_file);
    Flag("ssh.address", ssh.internal_address, "internal");
    Flag("ssh.address", ssh.external_address.value_or(false), "external");
    Flag("ssh.hostKeys", ssh.strict_host_keys, "strict");
    Text("ssh.transport", ssh.transport.value_or(""));
    Text("ssh.proxyJump", ssh.proxy_jump.value_or(""));
    Flag("ssh.iap", ssh.iap.value_or(false), "true");
    Flag("ssh.publishKey", !pod_.publish_ssh_key, "false");
    Flag("ssh.check", !pod_.check_ready, "false");
    Text("ssh: name for OS Login", ssh.os_login_user.value_or(""));
  }

  void AddLifecycle() {
    const LifecycleSpec& lifecycle = pod_.lifecycle;
    Flag("lifecycle.preventDestroy", lifecycle.prevent_destroy, "true");
    Flag("lifecycle.createBeforeDestroy", lifecycle.create_before_destroy, "true");
    List("lifecycle.ignoreChanges", lifecycle.ignore_changes);
    List("lifecycle.replaceTriggeredBy", lifecycle.replace_triggered_by);
    Flag("onPreemption", pod_.recreate_when_lost, "recreate");
  }

  void AddWaits() {
    Wait("timeouts.queue", pod_.queue_timeout);
    Wait("timeouts.create", pod_.create_timeout);
    Wait("timeouts.boot", pod_.boot_timeout);
    if (pod_.capacity) {
      List("capacity.zones", pod_.capacity->zones);
      if (pod_.capacity->retry.count() > 0) Wait("capacity.retry", pod_.capacity->retry);
    }
  }

  const PodSpec& pod_;
  std::vector<Particular> all_;
};

// What NotePod would write of a pod that stays as it is.
bool ChangesBookkeeping(const PodSpec& pod, const AnyRecord* prior) {
  if (prior == nullptr) return true;
  const PodRecord& before = prior->As<PodRecord>();
  PodRecord after = before;
  TakeBookkeeping(pod, Nowhere, &after);
  // References may be read from what the plan does not hold.
  after.exec_env.insert(before.exec_env.begin(), before.exec_env.end());
  return !(after == before);
}

}  // namespace

std::vector<Particular> ParticularsOfPod(const Change& change, const AnyRecord* prior) {
  const PodSpec& pod = AsPod(change)->wanted;
  if (IsDelete(change) || (IsKeep(change) && !ChangesBookkeeping(pod, prior))) return {};
  return Particulars(pod).Take();
}

}  // namespace podctl
