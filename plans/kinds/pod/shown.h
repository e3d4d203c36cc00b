// What a pod looks like as a resource of terraform's JSON. Pure.
#pragma once

#include <string>
#include <string_view>
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
// That a pod which is added may be one that is destroyed, under another name: where one of each
// fits, by place and accelerator, and no other does. Else "".
std::string MoveHint(const Plan& plan);

// The lines of a change or of drift as people read them: in place of the one of the metadata entry
// `tensorflow-env-vars` a line for each flag and variable that is otherwise, by the spec's own
// names, sorted by path. The entry stays one line where it is sensitive or not known yet, where a
// side cannot be taken apart, and where both say the same in other words.
std::vector<AttributeChange> WithFlagsApart(const std::vector<AttributeChange>& attributes);
// Whether it is that entry, and its two sides say the same in another order or other quotes.
bool SaysTheSame(const AttributeChange& attribute);
// Of a path that `WithFlagsApart` gives: "libtpuFlags.a".
bool IsFlagPath(std::string_view path);
// "libtpuFlags.a changes", "libtpuFlags.a and 2 more change", for what follows from it; names the
// entry where it stays one line. "": it does not change.
std::string FlagsThatChange(const std::vector<AttributeChange>& attributes);

// ---- What of a pod's change a plan does not show, although its apply goes by it: where the node
// is, how its workers are reached, how long is waited, what its programs get as their environment.
// Pure.

// As Kind::ParticularsOf. Of a pod that stays as it is: nothing, unless what is remembered of it
// beside its node is changed.
std::vector<Particular> ParticularsOfPod(const Change& change, const AnyRecord* prior);

}  // namespace podctl
