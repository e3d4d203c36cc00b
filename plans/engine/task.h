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

// Called on a thread of the pool. `observer` is for steps only.
using Call = std::function<Reply(StepObserver& observer, std::stop_token stop)>;

struct Need {
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
  virtual Need Begin() = 0;
  virtual Need OnReply(Reply reply) = 0;
  virtual Need OnWake() = 0;
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
class PollPace {
 public:
  explicit PollPace(Random& random) : random_(&random) {}
  std::chrono::milliseconds Next();

 private:
  Random* random_;
  double seconds_ = 0;
};

Need Done();
Need Failed(Error error);
Need CallFor(Call call, bool acts);
Need Sleep(std::chrono::milliseconds duration);
Need Later();

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
