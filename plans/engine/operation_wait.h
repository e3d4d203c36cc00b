// Parts of tasks: waiting for a long-running operation of the service, and for how long.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "plans/engine/task.h"

namespace podctl {

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
