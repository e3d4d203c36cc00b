// Reads `moved`: things that have another name from now on, and stay what they are.
#pragma once

#include <vector>

#include "plans/engine/kind.h"
#include "plans/spec/spec.h"
#include "plans/spec/value_reader.h"

namespace podctl {

// `lists`: of each file. The moves in the order of the files, checked against what the spec
// declares: nothing moves twice or away while it is still in the spec, and each chain of moves ends
// at something in the spec. What is not so, and entries of another form, are reported and left out.
// The table of what it reads, with names of those kinds that may have another.
Shape MovesShape(Kinds kinds);

std::vector<MovedSpec> ReadMoves(const std::vector<YamlNodePtr>& lists,
                                 const std::vector<Declared>& declared, Kinds kinds,
                                 ValueReader& reader);

}  // namespace podctl
