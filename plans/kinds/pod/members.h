// What a saved plan holds of pods (plans/engine/plan_file/archive.h).
#pragma once

#include "plans/engine/plan_file/archive.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "providers/provider.h"

namespace podctl {

template <>
struct plan_file::Words<ApiVersion> {
  static constexpr const char* kAll[] = {"v2", "v2alpha1"};
};
template <>
struct plan_file::Words<Power> {
  static constexpr const char* kAll[] = {"start", "stop"};
};

template <typename A, plan_file::Of<NodeName> S>
void Members(A& archive, S& name) {
  auto& [project, zone, node, slices] = name;
  archive("project", project);
  archive("zone", zone);
  archive("node", node);
  static_cast<void>(slices);  // the pod and its record know
}

template <typename A, plan_file::Of<MetadataEntry> S>
void Members(A& archive, S& entry) {
  auto& [text, sensitive, place] = entry;
  archive("text", text);
  archive("sensitive", sensitive);
  archive("place", place);
}

template <typename A, plan_file::Of<StepFile> S>
void Members(A& archive, S& step_file) {
  auto& [source, destination] = step_file;
  archive("source", source);
  archive("destination", destination);
}

template <typename A, plan_file::Of<StepSpec> S>
void Members(A& archive, S& step) {
  auto& [name, workers, workers_by_slice, run, xrt_version, env, sensitive, files, files_digest,
         timeout, place] = step;
  archive("name", name);
  archive("workers", workers);
  archive("workers_by_slice", workers_by_slice);
  archive("run", run);
  archive("xrt_version", xrt_version);
  archive("env", env);
  archive("sensitive", sensitive);
  archive("files", files);
  archive("files_digest", files_digest);
  archive("timeout_ms", timeout);
  archive("place", place);
}

template <typename A, plan_file::Of<LifecycleSpec> S>
void Members(A& archive, S& lifecycle) {
  auto& [prevent_destroy, create_before_destroy, ignore_changes, replace_triggered_by] = lifecycle;
  archive("prevent_destroy", prevent_destroy);
  archive("create_before_destroy", create_before_destroy);
  archive("ignore_changes", ignore_changes);
  archive("replace_triggered_by", replace_triggered_by);
}

template <typename A, plan_file::Of<SshSettings> S>
void Members(A& archive, S& ssh) {
  auto& [user, port, identity_file, internal_address, strict_host_keys, transport, proxy_jump, iap,
         external_address, os_login_user, withhold_key] = ssh;
  archive("user", user);
  archive("port", port);
  archive("identity_file", identity_file);
  archive("internal_address", internal_address);
  archive("strict_host_keys", strict_host_keys);
  archive("transport", transport);
  archive("proxy_jump", proxy_jump);
  archive("iap", iap);
  archive("external_address", external_address);
  archive("os_login_user", os_login_user);
  archive("withhold_key", withhold_key);
}

template <typename A, plan_file::Of<QueuedSpec> S>
void Members(A& archive, S& queued) {
  auto& [id, terms, slices] = queued;
  archive("id", id);
  archive("terms", terms);
  archive("slices", slices);
}

template <typename A, plan_file::Of<CapacitySpec> S>
void Members(A& archive, S& capacity) {
  auto& [retry, zones] = capacity;
  archive("retry_ms", retry);
  archive("zones", zones);
}

template <typename A, plan_file::Of<PodSpec> S>
void Members(A& archive, S& pod) {
  auto& [name, project, zone, node_id, node_id_given, wanted_node_id, node, api_version,
         desired_state, metadata, team_keys, own_keys, applier_keys, runtime_env, ssh,
         publish_ssh_key, check_ready, bootstrap, tunnels, lifecycle, queued, queue_timeout,
         create_timeout, boot_timeout, capacity, recreate_when_lost, depends_on, place] = pod;
  archive("name", name);
  archive("project", project);
  archive("zone", zone);
  archive("node_id", node_id);
  archive("node_id_given", node_id_given);
  archive("wanted_node_id", wanted_node_id);
  archive("node", node);
  archive("api_version", api_version);
  archive("desired_state", desired_state);
  archive("metadata", metadata);
  archive("team_keys", team_keys);
  archive("own_keys", own_keys);
  static_cast<void>(applier_keys);  // who applies it adds them
  archive("runtime_env", runtime_env);
  archive("ssh", ssh);
  archive("publish_ssh_key", publish_ssh_key);
  archive("check_ready", check_ready);
  archive("bootstrap", bootstrap);
  static_cast<void>(tunnels);  // `podctl tunnel` reads the spec
  archive("lifecycle", lifecycle);
  archive("queued", queued);
  archive("queue_timeout_ms", queue_timeout);
  archive("create_timeout_ms", create_timeout);
  archive("boot_timeout_ms", boot_timeout);
  archive("capacity", capacity);
  archive("recreate_when_lost", recreate_when_lost);
  archive("depends_on", depends_on);
  archive("place", place);
}

template <typename A, plan_file::Of<PodChange> S>
void Members(A& archive, S& change) {
  auto& [wanted, node, fields, power, lost, node_state] = change;
  archive("wanted", wanted);
  archive("node", node);
  archive("fields", fields);
  archive("power", power);
  archive("lost", lost);
  archive("node_state", node_state);
}

}  // namespace podctl
