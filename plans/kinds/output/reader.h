// Reads an entry of `outputs`.
#pragma once

#include "plans/engine/kind.h"
#include "plans/kinds/output/spec.h"
#include "plans/spec/shape.h"

namespace podctl {

// The table of an output that is a map.
const Shape& OutputShape();

// `NAME: TEXT`, or `NAME: {value: TEXT, sensitive: true, description: TEXT}`. What is wrong is
// reported, and the rest read all the same.
OutputSpec ReadOutput(const YamlEntry& entry, const Section& section);

}  // namespace podctl
