// What is between declared things: references that must lead somewhere, and an order that must
// exist.
#pragma once

#include <vector>

#include "plans/engine/kind.h"
#include "plans/spec/value_reader.h"

namespace podctl {

// Checks every reference and writes Declared::builds_on, each thing once, in the order in which
// they are referred to. A circle is one error that names it. `references`: of each of `declared`,
// in the same order.
void ResolveReferences(const std::vector<std::vector<FoundReference>>& references, Kinds kinds,
                       ValueReader& reader, std::vector<Declared>* declared);

}  // namespace podctl
