// The tasks that change a node (create, patch, delete, replace).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plans/execute/task.h"
#include "plans/pod_change.h"
#include "plans/step_change.h"
#include "providers/gcp/refusal.h"

namespace podctl {

enum class CreateKind {
  kNew,
  kResume,        // begun by an earlier run: wait for it
  kBeforeDelete,  // for a pod that has a node, which is deposed
  kFromQueue,     // its queued resource makes it: wait for it, send nothing
};
std::unique_ptr<Task> MakeCreateTask(const PodSpec& pod, CreateKind kind, TaskContext& context);
// In the pod's zone only, whatever its `capacity` says. `refusal` may be nullptr; else it is lent
// for the task's life, and told why the service made no node.
std::unique_ptr<Task> MakePlainCreateTask(const PodSpec& pod, CreateKind kind, TaskContext& context,
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
std::unique_ptr<Task> MakeStepTask(const Address& address, const StepChange& run,
                                   TaskContext& context);
// The same for a pod with a queued resource; `resume`: it is there already.
std::unique_ptr<Task> MakeQueuedCreateTask(const PodSpec& pod, bool resume, TaskContext& context);
std::unique_ptr<Task> MakeQueuedDeleteTask(const Address& address, bool forget,
                                           TaskContext& context);
// That the workers of a pod, which is in the state, can be used.
// `limit`: how long they may take to boot; nullopt: the usual time.
std::unique_ptr<Task> MakeReadinessTask(const std::string& pod,
                                        std::optional<std::chrono::milliseconds> limit,
                                        TaskContext& context);

// How long something has been waited for, without the time that this process was stopped (Ctrl-Z, a
// suspended machine), which is not held against it.
class Stopwatch {
 public:
  void Start(Clock& clock);
  // What went by since the last call counts, but for what no pause between two looks can take.
  std::chrono::milliseconds Read(Clock& clock);

 private:
  Clock::SteadyTime::duration waited_{};
  Clock::SteadyTime looked_at_{};
};

// Waiting for one long-running operation, as a part of a task. A task hands on what these say until
// it is kDone without an error, which means that the operation is over: it may have failed itself.
class OperationWait {
 public:
  // `limit`: how long is waited; nullopt: as long as the run says.
  explicit OperationWait(TaskContext& context,
                         std::optional<std::chrono::milliseconds> limit = std::nullopt)
      : context_(context),
        provider_(&context.provider),
        limit_(limit.value_or(context.operation_timeout)),
        pace_(context.random) {}

  // In which version of the API operations are asked for: that in which they were begun.
  void Speak(ApiVersion version) { provider_ = &context_.provider.Speaking(version); }
  // What was just begun: Pause, or kDone when it is over already.
  Need Follow(Operation operation);
  // What an earlier run began: a look.
  Need GoOn(const std::string& operation);
  bool watching() const { return !operation_.name.empty(); }
  bool done() const { return operation_.done; }
  const Operation& operation() const { return operation_; }
  // Whether `need`, which one of these said, means that it is over.
  static bool Over(const Need& need) {
    return need.kind == Need::Kind::kDone && static_cast<bool>(need.result);
  }
  Need Look() const;       // ask the service
  Need Take(Reply reply);  // of Look: Pause again, or kDone

 private:
  Need Pause();  // until the next look; fails when the wait has taken too long

  TaskContext& context_;
  Provider* provider_;
  const std::chrono::milliseconds limit_;
  PollPace pace_;
  Operation operation_;
  Stopwatch watch_;
};

}  // namespace podctl
