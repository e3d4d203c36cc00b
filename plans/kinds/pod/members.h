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

template <>
struct plan_file::Words<IdleSpec::Then> {
  static constexpr const char* kAll[] = {"report", "stop", "delete"};
};

template <typename A, plan_file::Of<NodeName> S>
void Members(A& archive, S& name) {
  auto& [project, zone, node, slices] = name;
  PODCTL_SAVE(archive, project, zone, node);
  static_cast<void>(slices);  // the pod and its record know
}

PODCTL_MEMBERS(MetadataEntry, text, sensitive, place, secret)
PODCTL_MEMBERS(StepFile, source, destination)
PODCTL_MEMBERS(StepSpec, name, workers, workers_by_slice, run, xrt_version, env, sensitive, files,
               files_digest, timeout, place)
PODCTL_MEMBERS(LifecycleSpec, prevent_destroy, create_before_destroy, ignore_changes,
               replace_triggered_by)
PODCTL_MEMBERS(SshSettings, user, port, identity_file, internal_address, strict_host_keys,
               transport, proxy_jump, iap, external_address, os_login_user, withhold_key)
PODCTL_MEMBERS(QueuedSpec, id, terms, slices)
PODCTL_MEMBERS(CapacitySpec, retry, zones)
PODCTL_MEMBERS(IdleSpec, after, then)

template <typename A, plan_file::Of<PodSpec> S>
void Members(A& archive, S& pod) {
  auto& [name, project, zone, node_id, node_id_given, wanted_node_id, node, api_version,
         desired_state, metadata, team_keys, own_keys, applier_keys, runtime_env, ssh,
         publish_ssh_key, check_ready, probe_ready, bootstrap, tunnels, lifecycle, queued,
         queue_timeout, create_timeout, boot_timeout, capacity, recreate_when_lost, ttl, idle,
         depends_on, place, type_place, version_place] = pod;
  PODCTL_SAVE(archive, name, project, zone, node_id, node_id_given, wanted_node_id, node,
              api_version, desired_state, metadata, team_keys, own_keys, runtime_env, ssh,
              publish_ssh_key, check_ready, probe_ready, bootstrap, lifecycle, queued,
              queue_timeout, create_timeout, boot_timeout, capacity, recreate_when_lost, ttl, idle,
              depends_on, place);
  static_cast<void>(applier_keys);  // who applies it adds them
  static_cast<void>(tunnels);       // `podctl tunnel` reads the spec
  static_cast<void>(type_place);    // it was held against what the zone has when it was made
  static_cast<void>(version_place);
}

PODCTL_MEMBERS(PodChange, wanted, node, fields, power, lost, node_state)

}  // namespace podctl
