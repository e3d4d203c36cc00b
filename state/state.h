// What podctl remembers between runs: which pods it made, what it wrote to them, what each worker
// has had applied, and what was begun but not yet known to be finished.
//
// A plain value: no files, no locks (store.h), no JSON (state_json.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/api_version.h"
#include "providers/base/value.h"
#include "state/address.h"

namespace podctl {

class Random;  // providers/os/clock.h

// An intent written down before the request is sent, and removed once the result is known.
struct PendingAction {
  enum class Kind { kCreate, kPatch, kDelete };
  Kind kind = Kind::kCreate;
  std::string operation;  // "projects/…/operations/…"; empty until the service has answered
  std::string begun_at;   // RFC 3339
  std::uint64_t run = 0;  // serial of the state when this was begun, to tell runs apart
  // By which the service knows a repeat of the request; empty where the method takes none.
  std::string request_id = {};

  friend bool operator==(const PendingAction&, const PendingAction&) = default;
};

// How workers of a pod are reached; kept so that exec and destroy need no spec.
struct SshSettings {
  std::string user;  // empty: the local user's name
  int port = 22;
  std::string identity_file;
  bool internal_address = false;  // the internal address, even where there is an external one
  bool strict_host_keys = false;  // refuse a worker whose key the API does not show
  std::optional<std::string> transport = std::nullopt;  // "openssh": through the program ssh

  std::optional<std::string> proxy_jump = std::nullopt;  // "[user@]host[:port]", as `ssh -J` has it
  std::optional<bool> iap = std::nullopt;                // true: through gcloud's IAP tunnel
  std::optional<bool> external_address = std::nullopt;   // true: never the internal one
  // Set: OS Login decides who is let in, and this is the name that it gave to who applied last;
  // perhaps empty. `user` goes before it.
  std::optional<std::string> os_login_user = std::nullopt;
  std::optional<bool> withhold_key = std::nullopt;  // true: nobody's public key is published

  friend bool operator==(const SshSettings&, const SshSettings&) = default;
};

// A node that was replaced by one made before it was deleted, and that is still to be deleted.
struct DeposedNode {
  std::string node_id;  // in the record's project and zone
  std::string uid;
  std::optional<PendingAction> pending;

  friend bool operator==(const DeposedNode&, const DeposedNode&) = default;
};

// The queued resource that a pod's node or nodes come from; in the record's project and zone.
struct QueuedRecord {
  std::string id;
  Value terms;        // as the spec set them (QueuedSpec::terms)
  int slices = 1;     // nodes that were asked for; 2 or more: a multislice
  std::string state;  // as last seen, "WAITING_FOR_RESOURCES"; empty: never seen

  friend bool operator==(const QueuedRecord&, const QueuedRecord&) = default;
};

// A pod whose node was lost (preempted, terminated, gone) and is made anew for that, or was.
struct Recovery {
  std::string because;  // "PREEMPTED", "SUSPENDED", "gone"
  std::string since;    // RFC 3339, when that was found
  std::string done;     // when the new node worked and its steps had run; empty: not yet
  int times = 1;        // how often it was lost, this one included

  friend bool operator==(const Recovery&, const Recovery&) = default;
};

struct PodRecord {
  std::string project;
  std::string zone;
  std::string node_id;
  // The node id of the spec, where `createBeforeDestroy` had to choose another; else empty.
  std::string wanted_node_id;
  // The service's own number for this node (Node.id): tells a re-created node from the old one.
  std::string uid;
  ApiVersion api_version = ApiVersion::kV2;  // in which the node is spoken of
  // Node fields as the spec set them when last applied (without metadata): what podctl owns.
  Value applied;
  // Metadata keys podctl wrote, with their values; a sensitive one is kept as a keyed digest
  // ("hmac-sha256:…"), so that a change is seen but the value is not.
  std::map<std::string, std::string> metadata;
  std::vector<std::string> sensitive_keys;
  // Lines of the node's `ssh-keys` that podctl put there, or found it needed: of the spec's team,
  // and of each who has applied.
  std::vector<std::string> team_keys;
  std::vector<std::string> own_keys;
  // Read-only facts of the node as last seen: state, health, networkEndpoints, acceleratorType …
  Value observed;
  std::map<int, std::vector<std::string>> host_keys;  // worker -> known_hosts style keys
  std::string host_keys_source;                       // "guestAttributes" or "firstUse"
  std::map<int, std::string> vm_names;                // worker -> its VM's name; where IAP needs it
  SshSettings ssh;
  std::map<std::string, std::string> exec_env;  // for what exec starts on a single-host node
  std::vector<Address> depends_on;              // for the order of deletes
  bool prevent_destroy = false;
  // Why the node must be replaced although it is as the spec wants it ("pod.other was replaced");
  // kept until it is, so that an interrupted run does not lose it. Empty: it need not.
  std::string replace_because;
  std::vector<DeposedNode> deposed;
  std::optional<QueuedRecord> queued;
  std::optional<PendingAction> pending;
  // Since when a zone with room for the node is sought (RFC 3339); empty: none is. The record's
  // zone is the one tried last, or next.
  std::string capacity_since;
  std::optional<Recovery> recovery;
  // false while only a pending create stands here, or a wish (IsSought): no node is known to exist.
  bool exists = false;

  friend bool operator==(const PodRecord&, const PodRecord&) = default;
};

struct StepWorkerRecord {
  std::string digest;  // of the step as applied on this worker
  std::string uid;     // of the node it was applied on
  std::string applied_at;

  friend bool operator==(const StepWorkerRecord&, const StepWorkerRecord&) = default;
};

struct StepRecord {
  Address pod;
  std::map<int, StepWorkerRecord> workers;

  friend bool operator==(const StepRecord&, const StepRecord&) = default;
};

// A training job that podctl submitted to Vertex AI.
struct TrainingRecord {
  std::string project;
  std::string region;
  // What the service calls it, "projects/…/customJobs/123"; empty while that has not been heard.
  std::string job;
  Value applied;      // the body that was sent, without podctl's own label
  std::string state;  // as last seen, "JOB_STATE_RUNNING"; empty: never seen
  std::string error;  // why it failed, in the service's words; else empty
  // Its request_id is the label by which a job is found whose creation nobody heard of.
  std::optional<PendingAction> pending;

  friend bool operator==(const TrainingRecord&, const TrainingRecord&) = default;
};

struct State {
  std::string lineage;       // a UUID, made with the first save
  std::uint64_t serial = 0;  // +1 with each save that changes something
  std::string digest_key;    // hex; keys the digests of sensitive values of this lineage
  std::map<Address, PodRecord> pods;
  std::map<Address, StepRecord> steps;
  std::map<Address, TrainingRecord> training_jobs;

  friend bool operator==(const State&, const State&) = default;
};

// What a run starts from when StateStore::Load found none: lineage and digest_key are set, so that
// digests of sensitive values can be made before the first save.
State NewState(Random& random);
// A fresh key for State::digest_key: 64 hex digits that hold 244 random bits.
std::string NewDigestKey(Random& random);

// There may be no node, but one is to be made: the record is kept for that.
bool IsSought(const PodRecord& record);
bool IsRecovering(const PodRecord& record);

// "found PREEMPTED at 2026-11-22T04:12:03Z, made anew by 2026-11-22T04:20:41Z".
std::string RecoveryStory(const Recovery& recovery);
// The pods that are not as usual, and how: "research: PREEMPTED, being deleted"; "" for none.
std::string Remarks(const State& state);

inline constexpr std::string_view kPodKind = "pod";
inline constexpr std::string_view kStepKind = "bootstrap";
inline constexpr std::string_view kTrainingKind = "trainingJob";

// `pod.research`, `bootstrap.research.jupyter` and `trainingJob.mnist`.
Address PodAddress(const std::string& pod);
Address StepAddress(const std::string& pod, const std::string& step);
Address TrainingAddress(const std::string& job);

}  // namespace podctl
