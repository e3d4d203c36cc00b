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
#include "state/record.h"

namespace podctl {

class Random;  // providers/os/clock.h

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

// The queued resource that a pod's node or nodes come from, its record's auxiliary object; in the
// record's project and zone.
struct QueuedRecord {
  std::string id;     // its locator
  Value terms;        // as the spec set them (QueuedSpec::terms)
  int slices = 1;     // nodes that were asked for; 2 or more: a multislice
  std::string state;  // as last seen, "WAITING_FOR_RESOURCES"; empty: never seen

  friend bool operator==(const QueuedRecord&, const QueuedRecord&) = default;
};

// The current object is its node, with the node id as locator; so are those deposed, in the same
// project and zone.
struct PodRecord : Record {
  std::string project;
  std::string zone;
  // The node id of the spec, where `createBeforeDestroy` had to choose another; else empty.
  std::string wanted_node_id;
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
  std::optional<QueuedRecord> queued;  // with an auxiliary object, and only then

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
// Its object's locator is what the service calls it, "projects/…/customJobs/123"; empty while that
// has not been heard. The request_id of its creation is the label by which a job is found whose
// creation nobody heard of.
struct TrainingRecord : Record {
  std::string project;
  std::string region;
  Value applied;      // the body that was sent, without podctl's own label
  std::string state;  // as last seen, "JOB_STATE_RUNNING"; empty: never seen
  std::string error;  // why it failed, in the service's words; else empty

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
