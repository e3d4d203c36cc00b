// A plan as data: what would be done, to which address, why, and in which order.
//
// No pointers to clients and no callbacks: a Plan can be printed, compared, saved and replayed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plans/spec/spec.h"
#include "providers/base/diagnostic.h"
#include "providers/base/value.h"
#include "providers/bootstrap/step_runner.h"
#include "providers/provider.h"
#include "state/state.h"

namespace podctl {

// One line of a plan under an address.
struct AttributeChange {
  std::string path;             // "labels.team", "metadata.tensorflow-env-vars"
  std::optional<Value> before;  // nullopt: absent
  std::optional<Value> after;   // nullopt: absent, or not known yet
  bool known = true;            // false: (known after apply)
  bool sensitive = false;       // values are never shown
  bool forces_replacement = false;
};

// Nothing to send; the state's bookkeeping (ssh, dependsOn, preventDestroy) follows the spec.
struct Keep {
  PodSpec pod;
};
struct Create {
  PodSpec pod;
  // The creation was begun by an earlier run: wait for it, send nothing.
  bool resume = false;
};
enum class Power { kStart, kStop };
struct Patch {
  PodSpec pod;
  std::vector<std::string> fields;  // Node field paths, sorted: "labels", "metadata", …
  // The node is started before its fields are changed, or stopped after.
  std::optional<Power> power = {};
};
// Delete, then create under the same name; the node id is free again only after the delete.
// With `create_first` (createBeforeDestroy) the new node has another id and comes first; the old
// one is deposed, and deleted by a Delete of its own in the same plan.
struct Replace {
  PodSpec pod;
  bool create_first = false;
};
struct Delete {
  // The node is gone already, or was never made: only the state forgets it.
  bool forget = false;
  // The change's node is a deposed one of the pod; the pod itself lives on.
  bool deposed = false;
};
struct RunStep {
  // Template text in script and env. For kRestartRuntime env holds one entry, the
  // `tensorflow-env-vars` that the runtime must have read when it started.
  Step step;
  std::string files_digest;
  std::optional<std::vector<int>> workers;   // nullopt: all, known once the pod exists
  std::optional<std::vector<int>> selected;  // the workers the spec names; nullopt: all
  std::size_t expected_workers = 0;          // how many will run, as far as known; 0: unknown
  bool sensitive = false;                    // script and env are never shown
  // In place of `workers` and `selected`, where the spec names slices and the pod is not there yet.
  std::string workers_by_slice = {};
  int per_slice = 0;  // workers of each slice of a multislice that is there, else 0
};
using Action = std::variant<Keep, Create, Patch, Replace, Delete, RunStep>;

// Why an action was chosen, in the words of terraform's plan JSON (`action_reason`); kNone where
// the action speaks for itself.
enum class ReasonCode {
  kNone,
  kCannotUpdate,     // replace_because_cannot_update
  kTainted,          // replace_because_tainted: preempted, terminated, being deleted
  kByRequest,        // replace_by_request: --replace
  kByTriggers,       // replace_by_triggers: lifecycle.replaceTriggeredBy
  kNoConfiguration,  // delete_because_no_resource_config
};

struct Change {
  Address address;           // no two changes of a plan have the same
  Address previous_address;  // what the state called it; empty: the same
  std::string pod;           // "research"
  NodeName node;
  Action action;
  std::vector<AttributeChange> attributes;  // sorted by path
  ReasonCode reason_code = ReasonCode::kNone;
  std::string reason;              // a clause: "acceleratorType cannot be changed in place"
  std::vector<Address> waits_for;  // changes in this plan
  // How the service took the pod's node away, for which it is made anew ("PREEMPTED", "SUSPENDED",
  // "gone"); empty: it did not.
  std::string lost;
  // Of kTainted: the state of the node that is of no more use; nullopt: its queued resource is not.
  std::optional<std::string> node_state = {};
  SourcePlace place;  // of the pod or step in the spec; may be empty
  // Of a training job: what it is. Its `pod`, its `node` and the pod of its action are empty.
  std::optional<TrainingJobSpec> training = {};
};

// What is otherwise than podctl left it.
struct Drift {
  enum class Kind { kChanged, kVanished, kTerminal, kRepairing, kStopped, kUnhealthy };
  Kind kind = Kind::kChanged;
  Address address;
  std::string sentence;                     // "is PREEMPTED"
  std::vector<AttributeChange> attributes;  // for kChanged
};

struct PlanCounts {
  std::size_t add = 0;
  std::size_t change = 0;
  std::size_t destroy = 0;
  std::size_t steps = 0;
  std::size_t step_workers = 0;  // workers on which steps will run, each once
  bool step_workers_known = true;
};

enum class PlanMode { kNormal, kDestroy, kRefreshOnly };

struct Plan {
  PlanMode mode = PlanMode::kNormal;
  std::vector<std::string> targets;  // --target; empty: everything
  bool refreshed = true;             // false: --refresh=false, made from the state alone
  std::vector<Change> changes;  // every managed address, Keep included, in the order of execution
  std::vector<Drift> drift;
  std::string lineage;
  std::uint64_t serial = 0;

  PlanCounts Counts() const;
  // Nothing but Keep, and nothing that moved; of a refresh-only plan also: nothing has drifted.
  bool Empty() const;
};

bool IsKeep(const Change& change);
// "create", "update", "replace", "delete", "run", "no-op": one word, as in terraform's JSON events.
std::string_view ActionWord(const Action& action);

}  // namespace podctl
