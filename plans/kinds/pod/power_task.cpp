// Declared in tasks.h.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/pod_task.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/pod/unaccounted_nodes.h"

namespace podctl {
namespace {

// Starts or stops a node. Its state tells what is left to do, so a run that ended in the middle, or
// did not hear the answer, goes on from what it finds.
class PowerTask final : public PodTask {
 public:
  PowerTask(const PodSpec& pod, Power power, TaskContext& context)
      : PodTask(pod, context), power_(power) {}

  NextAction Begin() override {
    const PodRecord* record = Record();
    if (record == nullptr) return Failed(NotInState());
    name_ = NameOf(*record);
    since_ = context_.clock.Steady();
    if (record->pending() && !record->pending()->operation.empty()) {
      return GoOn(record->pending()->operation, &PowerTask::OnOver);
    }
    return Read();
  }

 private:
  const char* Verb() const { return power_ == Power::kStop ? "stop" : "start"; }
  const char* Goal() const { return power_ == Power::kStop ? "STOPPED" : "READY"; }
  const char* Origin() const { return power_ == Power::kStop ? "READY" : "STOPPED"; }

  NextAction Read() { return LookAtNode(&PowerTask::OnRead); }

  NextAction OnRead(const Result<Value>& node) {
    if (!node) {
      const ErrorCode code = node.error().code;
      const bool passes = code == ErrorCode::kUnavailable || code == ErrorCode::kReplyLost;
      return passes ? Pause() : Failed(node.error());
    }
    const PodRecord* record = Record();
    if (record != nullptr &&
        IsOfAnotherState(*node, record->uid(), context_.journal.state().lineage)) {
      return GiveUp(NotOurs(name_));
    }
    const std::string state = NodeState(*node);
    if (state == Goal()) return Reached(*node);
    if (state == Origin()) {
      if (refused_) return GiveUp(*refused_);
      return sent_ ? Pause() : Send();
    }
    if (!IsTerminalState(state) && state != "DELETING") return Pause();
    return GiveUp(MakeError(ErrorCode::kFailedPrecondition,
                            fmt::format("the node is {} instead of {}", state, Goal()),
                            "Run `podctl plan` to see what is to be done about it."));
  }

  NextAction Send() {
    sent_ = true;
    journal_.BeginPatch(address_);
    const auto method = power_ == Power::kStop ? &Provider::StopNode : &Provider::StartNode;
    return Operate(CallOf(Cloud(), method, name_), &PowerTask::OnRefused, &PowerTask::OnOver);
  }

  NextAction OnRefused(const Error& error) {
    switch (error.code) {
      case ErrorCode::kCancelled:
        return Failed(error);  // the intent stays: the next run looks
      case ErrorCode::kReplyLost:
        sent_ = false;
        return Read();
      case ErrorCode::kAborted:  // another operation on this node
        sent_ = false;
        return Pause();
      case ErrorCode::kFailedPrecondition:
      case ErrorCode::kInvalidArgument:
        // Perhaps because somebody else was faster; else the node's state says that it was not.
        refused_ = error;
        return Read();
      default:
        return GiveUp(error);
    }
  }

  NextAction OnOver() {
    const std::vector<Error>& error = wait_.operation().error;
    return error.empty() ? Read() : GiveUp(error.front());
  }

  NextAction Pause() {
    if (context_.clock.Steady() - since_ > context_.operation_timeout) {
      return Failed(MakeError(ErrorCode::kDeadlineExceeded,
                              fmt::format("the node does not become {}", Goal()),
                              "The next `podctl apply` goes on waiting for it."));
    }
    return SleepThen(pace_.Next(), &PowerTask::Read);
  }

  NextAction GiveUp(Error error) {
    error.message = fmt::format("cannot {} the node: {}", Verb(), error.message);
    return Withdrawn(std::move(error));
  }

  NextAction Reached(const Value& node) {
    journal_.NodeFound(address_, node);
    journal_.Withdraw(address_);  // nothing is outstanding
    journal_.Publish(address_, node);
    return Done();
  }

  const Power power_;
  Clock::SteadyTime since_{};
  bool sent_ = false;             // and heard: the node has to move
  std::optional<Error> refused_;  // the service's reason
};

class Sequence final : public AskingTask {
 public:
  explicit Sequence(std::vector<std::unique_ptr<Task>> tasks) : tasks_(std::move(tasks)) {}

  NextAction Begin() override { return Await(*tasks_[at_], &Sequence::Next); }
  void OnApplied(int worker, const HostKeyText& learned_host_key) override {
    tasks_[at_]->OnApplied(worker, learned_host_key);
  }
  std::string Id() const override { return tasks_.back()->Id(); }
  std::string Status() const override { return tasks_[at_]->Status(); }

 private:
  NextAction Next() {
    if (at_ + 1 == tasks_.size()) return Done();
    ++at_;
    return Begin();
  }

  std::vector<std::unique_ptr<Task>> tasks_;
  std::size_t at_ = 0;
};

}  // namespace

std::unique_ptr<Task> MakePowerTask(const PodSpec& pod, Power power, TaskContext& context) {
  return std::make_unique<PowerTask>(pod, power, context);
}

std::unique_ptr<Task> MakeSequence(std::vector<std::unique_ptr<Task>> tasks) {
  return std::make_unique<Sequence>(std::move(tasks));
}

}  // namespace podctl
