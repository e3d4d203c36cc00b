// What a spec says of a pod: typed, with `defaults` merged under it, and references to other things
// still in place as `${pod.other.path}`.
//
// Template text: a string in `PodSpec::node`, in metadata and in a step's env or script may hold
// references; a literal `${` in it stands as `$${`. RenderText (references.h) turns it into plain
// text.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/spec.h"
#include "plans/spec/spec.h"
#include "providers/base/api_version.h"
#include "providers/base/diagnostic.h"
#include "providers/base/value.h"
#include "state/address.h"

namespace podctl {

struct MetadataEntry {
  std::string text;  // template text; of a secret empty until it is read (plans/session/secrets.h)
  bool sensitive = false;
  SourcePlace place;
  // The version of a secret that `text` is taken from, as the spec names it, or, once it was read,
  // by its number (providers/secrets.h). What is read is always sensitive.
  std::optional<std::string> secret = {};
};

// A local port that leads to one of the workers while `podctl tunnel` runs.
struct TunnelSpec {
  std::string name;  // may be empty
  int worker = 0;    // through all slices
  int remote = 0;    // the port on the worker
  int local = 0;     // 0: any free one
  std::string open;  // what answers there, for --open: "jupyter", "http", or "": never opened
  SourcePlace place;
};

struct LifecycleSpec {
  bool prevent_destroy = false;
  bool create_before_destroy = false;
  std::vector<std::string> ignore_changes;  // dotted paths: "labels.team"
  // "pod.other", "pod.other.runtimeVersion", "bootstrap.other.jupyter": a planned change of one of
  // these replaces this pod.
  std::vector<std::string> replace_triggered_by;
};

// A pod that is asked for through a queued resource, from which its node or nodes come.
struct QueuedSpec {
  std::string id;  // of the queued resource; empty: the pod's node id
  // On what terms, as the spec says it, with durations in seconds: spot, guaranteed,
  // reservationName, queueingPolicy (providers/gcp/queued_resource.h has the table).
  Value terms;
  int slices = 1;  // 2 or more: a multislice, whose nodes are <node id>-0, -1, …
};

// What is done where a zone has no room for the pod's node (a stock-out, or a full reservation).
struct CapacitySpec {
  std::chrono::milliseconds retry{0};  // how long the zones are tried, again and again; 0: once
  std::vector<std::string> zones;      // in their turn; the pod's own, as the spec has it, first

  friend bool operator==(const CapacitySpec&, const CapacitySpec&) = default;
};

// What `podctl watch` does with a pod that nobody uses.
struct IdleSpec {
  enum class Then { kReport, kStop, kDelete };
  std::chrono::milliseconds after{0};
  Then then = Then::kReport;

  friend bool operator==(const IdleSpec&, const IdleSpec&) = default;
};

struct PodSpec {
  std::string name;  // its address is pod.<name>
  std::string project;
  std::string zone;
  std::string node_id;
  bool node_id_given = false;  // `nodeId` is written in the spec; else the state's node id stands
  // The spec's node id, where createBeforeDestroy has chosen another as `node_id`; else empty.
  // Never set by the loader (ChooseNode in plans/kinds/pod/plan.cpp).
  std::string wanted_node_id;
  Value node;  // what the spec sets of the Node resource, JSON names; never `metadata`
  std::optional<ApiVersion> api_version;     // nullopt: v2
  std::optional<std::string> desired_state;  // "READY" or "STOPPED"; nullopt: as it happens to be
  // Every metadata entry the spec names, with `tensorflow-env-vars` composed from libtpuFlags and
  // runtimeEnv.
  std::map<std::string, MetadataEntry> metadata;
  // Lines of `ssh-keys` (plans/kinds/pod/published_keys.h). The team's are those of
  // ssh.publishKeys.
  std::vector<std::string> team_keys;
  // Those of whoever runs podctl, any of which will do, the first to be added: filled in by the
  // caller of the planner, never by the loader.
  std::vector<std::string> own_keys;
  // The same of whoever applies a plan that was saved; never saved with it.
  std::vector<std::string> applier_keys;
  std::map<std::string, std::string> runtime_env;  // LIBTPU_INIT_ARGS and runtimeEnv; template text
  SshSettings ssh;
  bool publish_ssh_key = true;
  bool check_ready = true;  // a new node's workers are connected to, and looked over
  // true: they have to reach each other, too, and to be alike. With check_ready alone.
  std::optional<bool> probe_ready = std::nullopt;
  std::vector<StepSpec> bootstrap;
  std::vector<TunnelSpec> tunnels;  // of no interest to a plan
  LifecycleSpec lifecycle;
  std::optional<QueuedSpec> queued;
  // How long is waited for capacity, for the node to be made, and for its workers; nullopt: the
  // usual time.
  std::optional<std::chrono::milliseconds> queue_timeout;
  std::optional<std::chrono::milliseconds> create_timeout;
  std::optional<std::chrono::milliseconds> boot_timeout;
  // When it has more than one zone, the pod may live in any of them: `zone` above is settled by the
  // state (ChooseNode in plans/kinds/pod/plan.cpp).
  std::optional<CapacitySpec> capacity;
  bool recreate_when_lost = false;  // onPreemption: recreate; for `podctl watch`
  // Of no interest to a plan: `podctl watch` reads them from the spec.
  std::optional<std::chrono::milliseconds> ttl;  // since it was made
  std::optional<IdleSpec> idle;
  std::vector<Address> depends_on;  // things, written or implied by references
  SourcePlace place;                // of the pod's key
  // Of the values of these two, which a zone may not have; line 0: a plan that was saved.
  SourcePlace type_place;
  SourcePlace version_place;
};

// Of a Declared whose kind is the pods'.
inline const PodSpec& WantedPod(const Declared& declared) {
  return *declared.wanted.As<PodSpec>();
}

// Those that a spec declares, in the order of the files. Lent by it.
std::vector<const PodSpec*> DeclaredPods(const Spec& spec);
// nullptr where it declares none of that name.
const PodSpec* FindDeclaredPod(const Spec& spec, std::string_view name);
// To be changed: what else shares the spec's pods sees nothing of it.
std::vector<PodSpec*> EditPods(Spec* spec);

}  // namespace podctl
