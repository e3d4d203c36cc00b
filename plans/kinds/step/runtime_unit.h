// Who takes a pod's libtpuFlags and runtimeEnv: the unit tpu-runtime, which is restarted after a
// change, or the programs that podctl starts there. On one host it is always the programs, on
// several it is the image's matter: those with TensorFlow for pods have the unit, those for JAX and
// PyTorch have not. Where the image's name does not tell, the restart finds out on the workers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plans/kinds/pod/record.h"
#include "state/state.h"

namespace podctl {

// By the image's name; nullopt: it does not tell.
std::optional<bool> ImageHasRuntimeUnit(std::string_view runtime_version);

// Begins the digest of a restart that found no unit on that worker: the record says so, and the
// step is not run again for the same value.
inline constexpr std::string_view kNoUnitMark = "no-unit:";

// Whether what podctl starts on the pod is to find PodRecord::exec_env in its environment.
bool ProgramsTakeFlags(const State& state, const std::string& pod, const PodRecord& record);

}  // namespace podctl
