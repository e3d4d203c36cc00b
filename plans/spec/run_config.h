// `runConfig` of an estimator job: the fields of TensorFlow's TPUConfig and RunConfig that are
// plain values, by the names that the API has for them (tf.compat.v1.estimator.tpu.TPUConfig and
// RunConfig, TensorFlow 1.15 and 2.x). Those that are objects of a program (session_config,
// train_distribute) are known by name, to say so.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plans/spec/value_reader.h"
#include "providers/base/value.h"

namespace podctl {

// In the order of the spec; what is wrong was reported and is left out.
std::vector<std::pair<std::string, Value>> ReadRunConfig(ValueReader& reader, const YamlNode& node,
                                                         const Slot& slot);

}  // namespace podctl
