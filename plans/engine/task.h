// One change being carried out: a small state machine that asks for calls and for time.
//
// A task runs on the executor's loop only. It never blocks: it says what it needs next, and is
// resumed with the reply. Everything it must not forget it notes in the journal first.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "plans/engine/change.h"
#include "plans/engine/journal.h"
#include "plans/spec/references.h"
#include "providers/bootstrap/step_runner.h"
#include "providers/os/clock.h"
#include "providers/provider.h"

namespace podctl {

using Reply = std::variant<Result<Operation>, Result<Value>, Result<std::vector<WorkerAttributes>>,
                           Result<std::vector<Operation>>, std::vector<StepOutcome>>;

// Called on a thread of the pool, a step on one of its own. May block; on `stop` it is to return
// soon. `observer` is for steps only.
using Call = std::function<Reply(StepObserver& observer, std::stop_token stop)>;

struct NextAction {
  enum class Kind {
    kCall,   // an API call
    kStep,   // a call that may take long, on a thread of its own
    kSleep,  // wake me after `sleep`
    kDone,   // finished; `result` tells how
    kLater,  // begun, and left to a later run on purpose; the state knows
  };
  Kind kind = Kind::kDone;
  // The journal must be on disk before this call is made.
  bool acts = false;
  Call call;
  std::size_t workers = 0;  // of kStep: on how many it runs
  std::chrono::milliseconds sleep{0};
  Result<void> result;
  std::vector<std::string> last_lines;  // with a failed step: what the workers said last
};

struct TaskContext {
  Provider& provider;
  StepRunner& steps;
  Journal& journal;
  Clock& clock;
  Random& random;
  // What references are read from: a pod's node as last seen, and what other things publish.
  std::map<Address, Value>& published;
  std::function<void(const Address& address, const std::string& text)> note;
  std::chrono::milliseconds operation_timeout;
  bool wait_for_capacity = true;  // false: a queued request is left in the queue

  ReferenceLookup Lookup() const;
};

class Task {
 public:
  virtual ~Task() = default;
  virtual NextAction Begin() = 0;
  virtual NextAction OnReply(Reply reply) = 0;
  virtual NextAction OnWake() = 0;
  // On how many workers it runs, as far as that is known; 0: on none.
  virtual std::size_t Workers() const { return 0; }
  // A step took on one worker, while others are still at it.
  virtual void OnApplied(int /*worker*/, const HostKeyText& /*learned_host_key*/) {}
  // What is waited for at the moment, in a word or two; empty: nothing worth telling.
  virtual std::string Status() const { return {}; }
  // What the service calls the thing, once done; for the message of completion.
  virtual std::string Id() const { return {}; }
};

// Growing pauses between two looks at an operation: 1 s, then ×1.4 with up to 20 % jitter, at most
// 15 s, as gcloud does but for its higher cap (command_lib of its SDK).
class PollBackoff {
 public:
  explicit PollBackoff(Random& random) : random_(&random) {}
  std::chrono::milliseconds Next();

 private:
  Random* random_;
  double seconds_ = 0;
};

NextAction Done();
NextAction Failed(Error error);
NextAction Later();
// A look that fails so says nothing about what was looked at.
bool Passes(const Error& error);

// A call of `method` of `door`, which is lent, with copies of `args`.
template <typename Door, typename Method, typename... Args>
Call CallOf(Door& door, Method method, Args... args) {
  return [&door, method, ... args = std::move(args)](StepObserver&, std::stop_token stop) -> Reply {
    return (door.*method)(args..., std::move(stop));
  };
}

// A task that says with all that it asks for which of its functions goes on from there.
class AskingTask : public Task {
 public:
  NextAction OnReply(Reply reply) final;
  NextAction OnWake() final;
  std::string Status() const override;  // of the part that is at work

 protected:
  // `take` gets the answer, which is of the type that it takes.
  template <typename Self, typename Answer>
  // NOLINTNEXTLINE(performance-unnecessary-value-param): it is moved, which clang 14 does not see.
  NextAction Ask(Call call, NextAction (Self::*take)(const Answer&), bool acts = false) {
    return AskThen(std::move(call), acts,
                   [self = static_cast<Self*>(this), take](const Reply& reply) {
                     return (self->*take)(std::get<Answer>(reply));
                   });
  }
  // The same of a call that changes the world.
  template <typename Self, typename Answer>
  NextAction Act(Call call, NextAction (Self::*take)(const Answer&)) {
    return Ask(std::move(call), take, true);
  }
  NextAction AskThen(Call call, bool acts, std::function<NextAction(const Reply& reply)> take);
  template <typename Self>
  NextAction SleepThen(std::chrono::milliseconds duration, NextAction (Self::*then)()) {
    on_wake_ = [self = static_cast<Self*>(this), then] { return (self->*then)(); };
    NextAction next_action;
    next_action.kind = NextAction::Kind::kSleep;
    next_action.sleep = duration;
    return next_action;
  }
  // Has `part`, which is lent, do its work. Where it fails, so does this task, in its words.
  template <typename Self>
  NextAction Await(Task& part, NextAction (Self::*then)()) {
    return AwaitEnd(part, [self = static_cast<Self*>(this), then](NextAction end) {
      return end.result ? (self->*then)() : std::move(end);
    });
  }
  template <typename Self>
  NextAction Await(std::unique_ptr<Task> part, NextAction (Self::*then)()) {
    own_part_ = std::move(part);
    return Await(*own_part_, then);
  }
  // `then` gets what `part` ended with; nullptr: so does this task. Until then that is asked, and
  // woken, in place of this task.
  NextAction AwaitEnd(Task& part, std::function<NextAction(NextAction end)> then = nullptr);
  NextAction AwaitEnd(std::unique_ptr<Task> part,
                      std::function<NextAction(NextAction end)> then = nullptr);

 private:
  NextAction OnPart(NextAction next_action);

  std::function<NextAction(const Reply& reply)> on_reply_;
  std::function<NextAction()> on_wake_;
  Task* part_ = nullptr;
  std::unique_ptr<Task> own_part_;
  std::function<NextAction(NextAction end)> on_end_;
};

// ---- Parts of tasks: waiting for a long-running operation of the service, and for how long.

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

// Waiting for one long-running operation, as a part of a task: it is done when the operation is
// over, which may have failed itself.
class OperationWait final : public AskingTask {
 public:
  // `limit`: how long is waited; nullopt: as long as the run says.
  explicit OperationWait(TaskContext& context,
                         std::optional<std::chrono::milliseconds> limit = std::nullopt)
      : context_(context),
        provider_(&context.provider),
        limit_(limit.value_or(context.operation_timeout)),
        pace_(context.random) {}

  // In which version of the API operations are asked for: that in which they were begun.
  void UseVersion(ApiVersion version) { provider_ = &context_.provider.InVersion(version); }
  // What is waited for: begun just now, or by an earlier run, so that it is looked at first.
  OperationWait& For(Operation operation, bool earlier = false);
  NextAction Begin() override;
  // Why the last look told nothing: "cannot reach the API: …; trying again".
  std::string Status() const override { return trouble_; }

  bool watching() const { return !operation_.name.empty(); }
  const Operation& operation() const { return operation_; }

 private:
  NextAction Look();
  NextAction OnLooked(const Result<Operation>& looked);
  NextAction Pause();  // until the next look; fails when the wait has taken too long

  TaskContext& context_;
  Provider* provider_;
  const std::chrono::milliseconds limit_;
  PollBackoff pace_;
  Operation operation_;
  bool earlier_ = false;
  std::string trouble_;
  Stopwatch watch_;
};

}  // namespace podctl
