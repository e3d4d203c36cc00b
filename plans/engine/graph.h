// The order of things: dependencies between those of a kind, and between the changes of a plan.
// Pure.
#pragma once

#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/kind.h"
#include "plans/engine/payload.h"

namespace podctl {

// Sorts them so that each comes after those it builds on, and otherwise keeps the given order. The
// loader refuses cycles; if there is one all the same, its things come last, in the given order.
// What is pointed to is lent.
std::vector<const Declared*> InDependencyOrder(std::vector<const Declared*> things);

// Removes waits for addresses that this plan does not change, and waits of a delete for a change
// that waits for it (a pod that is replaced while its former dependency goes).
void DropIdleWaits(Plan* plan);

// Removes waits that others of the same change imply, but for that of a part for its whole, and of
// the end of a deposed object for its successor: a pod's thousandth step need not name the 999
// before it in a file.
void DropImpliedWaits(Kinds kinds, Plan* plan);

// A change that waits for itself, directly or through others; nullptr: there is none.
const Change* FindCircle(const Plan& plan);

}  // namespace podctl
