#include "plans/engine/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "providers/base/text.h"

namespace podctl {

ReferenceLookup TaskContext::Lookup() const {
  return [this](const Address& of) -> const Value* {
    const auto it = published.find(of);
    return it == published.end() ? nullptr : &it->second;
  };
}

std::chrono::milliseconds PollBackoff::Next() {
  constexpr double kFirst = 1;
  constexpr double kGrowth = 1.4;
  constexpr double kLongest = 15;
  seconds_ = seconds_ == 0 ? kFirst : std::min(kLongest, seconds_ * kGrowth);
  const double jittered = seconds_ * (0.9 + 0.2 * random_->Uniform());
  return std::chrono::milliseconds(static_cast<std::int64_t>(jittered * 1000));
}

NextAction Done() {
  return NextAction{};
}

NextAction Failed(Error error) {
  NextAction next_action;
  next_action.result = std::move(error);
  return next_action;
}

NextAction Later() {
  NextAction next_action;
  next_action.kind = NextAction::Kind::kLater;
  return next_action;
}

NextAction AskingTask::OnReply(Reply reply) {
  if (part_ != nullptr) return OnPart(part_->OnReply(std::move(reply)));
  return std::exchange(on_reply_, nullptr)(reply);
}

NextAction AskingTask::OnWake() {
  return part_ != nullptr ? OnPart(part_->OnWake()) : std::exchange(on_wake_, nullptr)();
}

std::string AskingTask::Status() const {
  return part_ != nullptr ? part_->Status() : std::string();
}

NextAction AskingTask::AskThen(Call call, bool acts,
                               std::function<NextAction(const Reply& reply)> take) {
  on_reply_ = std::move(take);
  NextAction next_action;
  next_action.kind = NextAction::Kind::kCall;
  next_action.acts = acts;
  next_action.call = std::move(call);
  return next_action;
}

NextAction AskingTask::AwaitEnd(Task& part, std::function<NextAction(NextAction end)> then) {
  part_ = &part;
  on_end_ = std::move(then);
  return OnPart(part.Begin());
}

NextAction AskingTask::AwaitEnd(std::unique_ptr<Task> part,
                                std::function<NextAction(NextAction end)> then) {
  own_part_ = std::move(part);
  return AwaitEnd(*own_part_, std::move(then));
}

NextAction AskingTask::OnPart(NextAction next_action) {
  if (next_action.kind != NextAction::Kind::kDone) return next_action;
  part_ = nullptr;
  const auto then = std::exchange(on_end_, nullptr);
  return then ? then(std::move(next_action)) : std::move(next_action);
}

bool Passes(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kReplyLost ||
         error.code == ErrorCode::kInternal || error.code == ErrorCode::kDeadlineExceeded;
}

namespace {

// What one look and the pause before it can take. Where more time went by, this process was stopped
// (Ctrl-Z, a suspended machine), and that is not held against the operation.
constexpr std::chrono::minutes kMostBetweenLooks{5};

}  // namespace

void Stopwatch::Start(Clock& clock) {
  waited_ = {};
  looked_at_ = clock.Steady();
}

std::chrono::milliseconds Stopwatch::Read(Clock& clock) {
  const Clock::SteadyTime now = clock.Steady();
  waited_ += std::min<Clock::SteadyTime::duration>(now - std::exchange(looked_at_, now),
                                                   kMostBetweenLooks);
  return std::chrono::duration_cast<std::chrono::milliseconds>(waited_);
}

OperationWait& OperationWait::For(Operation operation, bool earlier) {
  operation_ = std::move(operation);
  earlier_ = earlier;
  return *this;
}

NextAction OperationWait::Begin() {
  pace_ = PollBackoff(context_.random);
  watch_.Start(context_.clock);
  NextAction next_action = operation_.done ? Done() : Pause();
  return earlier_ ? Look() : std::move(next_action);
}

NextAction OperationWait::Look() {
  return Ask(CallOf(*provider_, &Provider::GetOperation, operation_.name),
             &OperationWait::OnLooked);
}

NextAction OperationWait::Pause() {
  if (watch_.Read(context_.clock) > limit_) {
    return Failed(
        MakeError(ErrorCode::kDeadlineExceeded,
                  fmt::format("the operation {} is still running after {}", operation_.name,
                              FormatDuration(limit_)),
                  "It is written down in the state; the next `podctl apply` takes it up."));
  }
  return SleepThen(pace_.Next(), &OperationWait::Look);
}

NextAction OperationWait::OnLooked(const Result<Operation>& looked) {
  trouble_.clear();
  if (looked) {
    operation_.done = looked->done;
    operation_.error = looked->error;
    operation_.response = looked->response;
    return operation_.done ? Done() : Pause();
  }
  // The service forgets finished operations after a while; the node itself tells the rest.
  if (looked.error().code == ErrorCode::kNotFound) {
    operation_.done = true;
    return Done();
  }
  // A look that fails says nothing about the operation: only what will not pass ends the wait.
  const ErrorCode code = looked.error().code;
  const bool passes = Passes(looked.error()) || code == ErrorCode::kUnknown ||
                      code == ErrorCode::kResourceExhausted || code == ErrorCode::kAborted;
  if (!passes) return Failed(looked.error());
  trouble_ = fmt::format("{}; trying again", looked.error().message);
  return Pause();
}

}  // namespace podctl
