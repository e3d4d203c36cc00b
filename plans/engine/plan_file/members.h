// What each struct of a saved plan consists of, for archive.h: the only list of names in the file.
//
// Every function takes its struct apart with a structured binding, which no longer compiles when a
// member is added: whoever adds one decides here what it is called in the file, and whether an old
// file without it can still be understood (if not, kPlanFormatVersion goes up).
#pragma once

#include "plans/engine/change.h"
#include "plans/engine/kind.h"
#include "plans/engine/plan_file.h"
#include "plans/engine/plan_file/archive.h"
#include "plans/engine/plan_file/places.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/change.h"
#include "plans/kinds/step/record.h"

namespace podctl {

template <>
struct plan_file::Words<Step::Kind> {
  static constexpr const char* kAll[] = {"script", "restart-runtime", "readiness", "request-xrt"};
};
template <>
struct plan_file::Words<Drift::Kind> {
  static constexpr const char* kAll[] = {"changed",   "vanished", "terminal",
                                         "repairing", "stopped",  "unhealthy"};
};
template <>
struct plan_file::Words<PlanMode> {
  static constexpr const char* kAll[] = {"normal", "destroy", "refresh-only"};
};
template <>
struct plan_file::Words<ApiVersion> {
  static constexpr const char* kAll[] = {"v2", "v2alpha1"};
};
template <>
struct plan_file::Words<Power> {
  static constexpr const char* kAll[] = {"start", "stop"};
};
template <>
struct plan_file::Words<ReasonCode> {
  static constexpr const char* kAll[] = {"none",       "cannot-update", "tainted",
                                         "by-request", "by-triggers",   "no-configuration"};
};
template <>
struct plan_file::Words<Verb> {
  static constexpr const char* kAll[] = {
      "keep",   "create", "update", "delete-then-create", "create-then-delete",
      "delete", "forget", "run"};
};

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

template <typename A, plan_file::Of<Step> S>
void Members(A& archive, S& step) {
  auto& [kind, script, env, files, timeout, mark] = step;
  archive("kind", kind);
  archive("script", script);
  archive("env", env);
  archive("files", files);
  archive("timeout_ms", timeout);
  static_cast<void>(mark);  // who runs it knows the state and the address
}

template <typename A, plan_file::Of<AttributeChange> S>
void Members(A& archive, S& change) {
  auto& [path, before, after, known, sensitive, forces_replacement] = change;
  archive("path", path);
  archive("before", before);
  archive("after", after);
  archive("known", known);
  archive("sensitive", sensitive);
  archive("forces_replacement", forces_replacement);
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

template <typename A, plan_file::Of<StepChange> S>
void Members(A& archive, S& run) {
  auto& [step, files_digest, workers, selected, expected_workers, sensitive, workers_by_slice,
         per_slice, node] = run;
  archive("step", step);
  archive("files_digest", files_digest);
  archive("workers", workers);
  archive("selected", selected);
  archive("workers_by_slice", workers_by_slice);
  archive("per_slice", per_slice);
  archive("expected_workers", expected_workers);
  archive("sensitive", sensitive);
  archive("node", node);
}

template <typename A, plan_file::Of<NodeName> S>
void Members(A& archive, S& name) {
  auto& [project, zone, node, slices] = name;
  archive("project", project);
  archive("zone", zone);
  archive("node", node);
  static_cast<void>(slices);  // the pod and its record know
}

namespace plan_file {

// A payload of the kind that `T` is of, under that kind's name.
template <typename T, typename A, typename P>
void PayloadMember(A& archive, std::string_view kind, const Address& address, P& payload) {
  if (address.kind != kind) return;
  if constexpr (std::is_const_v<P>) {
    if (const T* value = payload.template As<T>()) archive(std::string(kind).c_str(), *value);
  } else {
    T value;
    archive(std::string(kind).c_str(), value);
    payload = std::move(value);
  }
}

// A payload of a kind that has a room: written by it, and read as the plain value, which
// OpenPayloads hands to it.
template <typename A, typename P>
void KindMember(A& archive, const std::string& kind, P& payload) {
  if constexpr (std::is_const_v<P>) {
    archive(kind.c_str(), payload.kind()->WritePayload(payload));
  } else {
    Value value;
    archive(kind.c_str(), value);
    payload = std::move(value);
  }
}

}  // namespace plan_file

template <typename A, plan_file::Of<Change> S>
void Members(A& archive, S& change) {
  auto& [address, previous_address, verb, begun, attributes, reason_code, reason, waits_for, place,
         payload] = change;
  archive("address", address);
  archive("previous_address", previous_address);
  archive("verb", verb);
  archive("begun", begun);
  archive("attributes", attributes);
  archive("reason_code", reason_code);
  archive("reason", reason);
  archive("waits_for", waits_for);
  archive("place", place);
  plan_file::PayloadMember<PodChange>(archive, kPodKind, address, payload);
  plan_file::PayloadMember<StepChange>(archive, kStepKind, address, payload);
  if (address.kind != kPodKind && address.kind != kStepKind) {
    plan_file::KindMember(archive, address.kind, payload);
  }
}

template <typename A, plan_file::Of<Drift> S>
void Members(A& archive, S& drift) {
  auto& [kind, address, sentence, attributes] = drift;
  archive("kind", kind);
  archive("address", address);
  archive("sentence", sentence);
  archive("attributes", attributes);
}

template <typename A, plan_file::Of<Plan> S>
void Members(A& archive, S& plan) {
  auto& [mode, targets, refreshed, changes, drift, lineage, serial] = plan;
  archive("mode", mode);
  archive("targets", targets);
  archive("refreshed", refreshed);
  archive("changes", changes);
  archive("drift", drift);
  archive("lineage", lineage);
  archive("serial", serial);
}

template <typename A, plan_file::Of<SavedStake> S>
void Members(A& archive, S& saved) {
  auto& [address, stake] = saved;
  archive("address", address);
  archive("stake", stake);
}

template <typename A, plan_file::Of<SavedNode> S>
void Members(A& archive, S& node) {
  auto& [name, address, there, uid, fields, metadata] = node;
  archive("name", name);
  archive("address", address);
  archive("there", there);
  archive("uid", uid);
  archive("fields", fields);
  archive("metadata", metadata);
}

}  // namespace podctl
