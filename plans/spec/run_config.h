// `runConfig` of an estimator job: the fields of TensorFlow's TPUConfig and RunConfig that are
// plain values, by the names that the API has for them (tf.compat.v1.estimator.tpu.TPUConfig and
// RunConfig, TensorFlow 1.15 and 2.x). Those that are objects of a program (session_config,
// train_distribute) are known by name, to say so.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plans/spec/value_reader.h"
#include "providers/base/value.h"

namespace podctl {

// Whether it is a field of TPUConfig, else one of RunConfig, which holds the former.
bool IsTpuConfigField(std::string_view name);

// The one key of `runConfig` that is podctl's own: `flags: false` leaves the fields to the files.
inline constexpr std::string_view kRunConfigFlags = "flags";

// The table of what it reads.
const Shape& RunConfigShape();

// In the order of the spec, kRunConfigFlags among them; what is wrong was reported and is left out.
// Words of InputPipelineConfig come as TensorFlow's numbers for them.
std::vector<std::pair<std::string, Value>> ReadRunConfig(ValueReader& reader, const YamlNode& node,
                                                         const Slot& slot);

}  // namespace podctl
