// Reads the `bootstrap` steps of a pod.
#pragma once

#include <vector>

#include "plans/kinds/step/spec.h"
#include "plans/spec/value_reader.h"
#include "providers/os/file_system.h"

namespace podctl {

std::vector<StepSpec> ReadSteps(ValueReader& reader, FileSystem& files, const YamlEntry& bootstrap,
                                const Slot& slot);

}  // namespace podctl
