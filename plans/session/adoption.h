// What exists in the cloud and can be imported into a state, and how: shared by `import` of one pod
// and of a whole project.
#pragma once

#include <optional>
#include <string>

#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/session/plan.h"
#include "plans/session/state_edit.h"
#include "plans/spec/references.h"
#include "plans/spec/spec_writer.h"
#include "providers/base/value.h"
#include "providers/os/clock.h"
#include "providers/provider.h"
#include "state/state.h"

namespace podctl {

// A node, the nodes of a multislice as one, or a request that still waits for its node.
struct Found {
  NodeName name;
  Value node;
  std::optional<QueuedRecord> queued;  // what it came from
  bool waits = false;                  // there is no node yet: `node` is what was asked for
};

// Of a queued resource as the service shows it.
QueuedRecord QueuedRecordOf(const Value& queued);
// The id of the node that it is to make, or the prefix of a multislice; "" where it says neither.
std::string NodeToBe(const Value& queued);

// The lines of a spec that describe it, as DraftOf, with the terms of its queued resource.
PodDraft DraftOfFound(const std::string& pod, const Found& found);
// Where `pod` differs from it, as DifferingPaths.
std::vector<std::string> Differences(const PodSpec& pod, const Found& found,
                                     const ReferenceLookup& lookup);

// Who has it in the state.
struct ManagedAs {
  Address address;
  bool deposed = false;  // it was replaced, and the next apply deletes it
};
std::optional<ManagedAs> FindManaged(const State& state, const Found& found);
// The lineage that its label names, if it is another than that of `state`: podctl made it with that
// other state. "" for none.
std::string OtherLineage(const State& state, const Found& found);

// Nodes that references of pods are read from, each asked for once. All is lent.
ReferenceLookup NodesOf(const State& state, Provider& provider, std::stop_token stop);

// Puts it into the state as `pod`, which gets the keys of who runs podctl, and saves that.
Result<void> AdoptFound(const PlanDoors& doors, Provider& provider, Clock& clock,
                        const Found& found, PodSpec* pod, StateEdit* edit);

}  // namespace podctl
