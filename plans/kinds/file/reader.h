// Reads an entry of `files`.
#pragma once

#include "plans/engine/kind.h"
#include "plans/kinds/file/spec.h"
#include "plans/spec/shape.h"

namespace podctl {

// The table of what it reads.
const Shape& FileShape();

// What is wrong is reported, and the rest read all the same.
FileSpec ReadFile(const YamlEntry& entry, const Section& section);

}  // namespace podctl
