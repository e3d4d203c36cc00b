// Reads the `bootstrap` steps of a pod.
#pragma once

#include <vector>

#include "plans/kinds/step/spec.h"
#include "plans/spec/shape.h"
#include "plans/spec/value_reader.h"
#include "providers/os/file_system.h"

namespace podctl {

// The table of what it reads.
const Shape& BootstrapShape();

std::vector<StepSpec> ReadSteps(ValueReader& reader, FileSystem& files, const YamlEntry& bootstrap,
                                const Slot& slot);

}  // namespace podctl
