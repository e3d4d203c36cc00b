// What a pod looks like as a resource of terraform's JSON. Pure.
#pragma once

#include <vector>

#include "plans/engine/kind.h"
#include "plans/kinds/pod/record.h"

namespace podctl {

// Of what the state remembers.
ShownObject ObjectOf(const PodRecord& record);
// A change's two sides; `state` is the plan's prior one.
ShownSides SidesOfPod(const Change& change, const State& state);
// The pod as the spec has it, and its steps.
std::vector<Configured> ConfiguredPod(const Change& change);

// ---- How changes of pods are told. Pure.

ChangeWords WordsOfPod(const Change& change);

// ---- What of a pod's change a plan does not show, although its apply goes by it: where the node
// is, how its workers are reached, how long is waited, what its programs get as their environment.
// Pure.

// As Kind::ParticularsOf. Of a pod that stays as it is: nothing, unless what is remembered of it
// beside its node is changed.
std::vector<Particular> ParticularsOfPod(const Change& change, const AnyRecord* prior);

}  // namespace podctl
