// What is remembered of a pod: what was written to its node, what was last seen of it, and how its
// workers are reached.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/api_version.h"
#include "providers/base/value.h"
#include "state/address.h"
#include "state/record.h"
#include "state/state.h"

namespace podctl {

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

// What a job copied to the workers, so that a later start can copy the same.
struct CopiedCode {
  std::string digest;  // of its content: SHA-256 in hex
  std::string commit;  // that was checked out there, in hex; empty: there was none

  friend bool operator==(const CopiedCode&, const CopiedCode&) = default;
};

// A job that is to come back when the pod does (`restart` of the spec). It is written before the
// start, and is there until the job's end was seen.
struct WantedJob {
  std::string start;      // by which its run is known on the workers: the end of the run's name
  std::string uid;        // of the node that it is started on; may be empty
  bool begins = false;    // nobody has seen the start succeed yet
  int attempt = 1;        // the last that is known of
  std::string since;      // when `start` was written, RFC 3339
  std::string by;         // who started it first: "alice@laptop"
  std::string workers;    // in place of the job's own selection; may be empty
  std::vector<std::string> arguments;  // behind the command and its flags
  std::vector<CopiedCode> code;        // for each entry of `sync`

  friend bool operator==(const WantedJob&, const WantedJob&) = default;
};

// The current object is its node, with the node id as locator; so are those deposed, in the same
// project and zone.
struct PodRecord : Record {
  static constexpr std::string_view kKind = "pod";
  static const RecordCodec& Codec();

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
  // Of those that were read from a secret, its version: "projects/p/secrets/s/versions/3".
  std::map<std::string, std::string> secrets;
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
  std::map<std::string, WantedJob> jobs;  // by name

  friend bool operator==(const PodRecord&, const PodRecord&) = default;
};

inline constexpr int kMostQueuedSlices = 9999;      // of a QueuedRecord
inline constexpr int kMostAttemptsOfJobs = 1 << 20;  // of a WantedJob

inline constexpr std::string_view kPodKind = PodRecord::kKind;
bool IsSensitive(const PodRecord& record, const std::string& key);  // of its metadata
Address PodAddress(const std::string& pod);                         // `pod.research`

inline RecordsOf<PodRecord> Pods(const State& state) {
  return RecordsOf<PodRecord>(state);
}
inline EditableRecordsOf<PodRecord> Pods(State& state) {
  return EditableRecordsOf<PodRecord>(state);
}

}  // namespace podctl
