// Giving what is in a state another address: for `moved` in a spec and for `podctl state mv`.
// Pure; knows no spec and no API. The nodes themselves keep their names.
#pragma once

#include "providers/base/error.h"
#include "state/state.h"

namespace podctl {

// `pod.a` to `pod.b`: the record, its bootstrap steps, and what others say they depend on. Or
// `bootstrap.a.x` to `bootstrap.a.y`: one step, within its pod.
// kNotFound when `from` is not in the state, kAlreadyExists when `to` is (or a step that would move
// with its pod is), kInvalidArgument for addresses that do not go together. On error nothing is
// changed.
Result<void> MoveAddress(State& state, const Address& from, const Address& to);

}  // namespace podctl
