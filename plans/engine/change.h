// A plan as data: what would be done, to which address, why, and in which order.
//
// It holds no clients and no callbacks, only a pointer to its kind in each payload, so a Plan can
// be printed, saved and replayed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plans/engine/payload.h"
#include "plans/engine/plan_cost.h"
#include "providers/base/diagnostic.h"
#include "providers/base/value.h"
#include "state/address.h"

namespace podctl {

// One line of a plan under an address.
struct AttributeChange {
  std::string path;                  // "labels.team", "metadata.tensorflow-env-vars"
  std::optional<Value> before = {};  // nullopt: absent
  std::optional<Value> after = {};   // nullopt: absent, or not known yet
  bool known = true;                 // false: (known after apply)
  bool sensitive = false;            // values are never shown
  bool forces_replacement = false;
  // Where a value that is not shown comes from, so that a reader knows what changes:
  // "version 3 -> 4".
  std::optional<std::string> origin = {};
};

// What is done to the thing at an address.
enum class Verb {
  kKeep,  // nothing is sent; the state's bookkeeping may follow the spec
  kCreate,
  kUpdate,            // in place
  kDeleteThenCreate,  // the old one goes first, and the new one may have its name
  kCreateThenDelete,  // the new one comes first; the old one goes by a kDelete of its own
  kDelete,
  kForget,  // it is gone already, or was never made: only the state forgets it
  kRun,     // what a step is there for
};

// Why a verb was chosen, in the words of terraform's plan JSON (`action_reason`); kNone where it
// speaks for itself.
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
  Verb verb = Verb::kKeep;
  // Of kCreate: an earlier run began it, and nothing is sent: it is waited for.
  bool begun = false;
  std::vector<AttributeChange> attributes;  // sorted by path
  ReasonCode reason_code = ReasonCode::kNone;
  std::string reason;              // a clause: "acceleratorType cannot be changed in place"
  std::vector<Address> waits_for;  // changes in this plan
  SourcePlace place;               // in the spec; may be empty
  Payload payload;                 // what its kind says besides: PodChange, FileSpec, …
};

// What differs from how podctl left it.
struct Drift {
  enum class Kind { kChanged, kVanished, kTerminal, kRepairing, kStopped, kUnhealthy };
  Kind kind = Kind::kChanged;
  Address address;
  std::string sentence;                     // "is PREEMPTED"
  std::vector<AttributeChange> attributes;  // for kChanged
};

// As terraform counts them: a replacement is one added and one destroyed, and values (IsValue,
// kind.h) are not counted.
struct PlanCounts {
  std::size_t add = 0;
  std::size_t change = 0;
  std::size_t destroy = 0;
  std::size_t steps = 0;

  void Add(Verb verb);
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
  std::optional<PlanCost> cost = {};  // nullopt: the spec names no prices

  PlanCounts Counts() const;
  // Nothing but Keep, and nothing that moved; of a refresh-only plan also: nothing has drifted.
  bool Empty() const;
};

bool IsKeep(const Change& change);
bool IsReplace(const Change& change);  // in either order
bool IsDelete(const Change& change);   // nothing takes its place: kDelete, kForget
bool Makes(const Change& change);      // a new one: kCreate, and both replacements
bool LivesOn(const Change& change);    // what was there stays: kKeep, kUpdate
// "create", "update", "replace", "delete", "run", "no-op": one word, as in terraform's JSON events.
std::string_view WordOf(Verb verb);

}  // namespace podctl
