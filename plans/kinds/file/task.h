// Writes a file, removes one, or one after the other.
#pragma once

#include <memory>

#include "plans/engine/task.h"
#include "providers/os/file_system.h"

namespace podctl {

std::unique_ptr<Task> MakeFileTask(const Change& change, FileSystem& files, TaskContext& context);

}  // namespace podctl
