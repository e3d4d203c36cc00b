// The tasks that run a bootstrap step on the workers of a pod, and that prove the workers usable.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "plans/engine/task.h"
#include "plans/kinds/step/change.h"
#include "state/address.h"

namespace podctl {

std::unique_ptr<Task> MakeStepTask(const Address& address, const StepChange& run,
                                   TaskContext& context);
// That the workers of a pod, which is in the state, can be used.
// `limit`: how long they may take to boot; nullopt: the usual time. `probes`: as Step has it.
std::unique_ptr<Task> MakeReadinessTask(const std::string& pod,
                                        std::optional<std::chrono::milliseconds> limit,
                                        std::optional<bool> probes, TaskContext& context);

}  // namespace podctl
