// `moved` of a spec carried out on a state, before anything is asked or compared: what the state
// knows under one name goes by another, and the thing itself is left alone. Pure.
#pragma once

#include <map>

#include "plans/engine/kind.h"
#include "plans/spec/spec.h"
#include "providers/base/diagnostic.h"
#include "state/address.h"
#include "state/state.h"

namespace podctl {

// Moves what the state has, and follows chains of moves to their end. The result: the address now
// -> what `state` called it before. Where both names are in the state an error says what to do.
std::map<Address, Address> MoveThings(const Spec& spec, Kinds kinds, State* state,
                                      Diagnostics& diagnostics);

}  // namespace podctl
