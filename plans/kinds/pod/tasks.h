// The tasks that change a Cloud TPU node, for the backings whose pods are some (each in a file of
// its name: create_task, patch_task, delete_task, power_task, capacity_task), and what tasks of
// pods are composed of.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plans/engine/task.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/spec.h"
#include "providers/gcp/refusal.h"

namespace podctl {

enum class CreateKind {
  kNew,
  kResume,        // begun by an earlier run: wait for it
  kBeforeDelete,  // for a pod that has a node, which is deposed
  kAwait,         // something else makes it: wait for it, send nothing
};
// In the pod's zone only, whatever its `capacity` says. `refusal` may be nullptr; else it is lent
// for the task's life, and told why the service made no node.
std::unique_ptr<Task> MakeCreateTask(const PodSpec& pod, CreateKind kind, TaskContext& context,
                                     gcp::Refusal* refusal);
// In the zones of the pod's `capacity` in turn, as long as it says.
std::unique_ptr<Task> MakeCapacityTask(const PodSpec& pod, CreateKind kind, TaskContext& context);
// `fields`: Node field paths, as PodChange has them.
std::unique_ptr<Task> MakePatchTask(const PodSpec& pod, std::vector<std::string> fields,
                                    TaskContext& context);
// Starts or stops the node of a pod that is in the state.
std::unique_ptr<Task> MakePowerTask(const PodSpec& pod, Power power, TaskContext& context);
// One after the other; a failure ends it.
std::unique_ptr<Task> MakeSequence(std::vector<std::unique_ptr<Task>> tasks);
// Of a pod or of its deposed node. `forget`: nothing is sent, only the state forgets it.
std::unique_ptr<Task> MakeDeleteTask(const Address& address, bool forget, TaskContext& context);

// Asks the workers of a pod, of whose record a copy is taken, for what they tell of themselves.
Call AskingWorkers(TaskContext& context, const PodRecord& record);

}  // namespace podctl
