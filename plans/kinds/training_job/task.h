// Submits a training job, cancels one, or one after the other.
#pragma once

#include <memory>

#include "plans/engine/task.h"

namespace podctl {

std::unique_ptr<Task> MakeTrainingTask(const Change& change, TaskContext& context);

}  // namespace podctl
