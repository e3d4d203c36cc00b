// Declared in tasks.h.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plans/kinds/pod/journal.h"
#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/pod/tasks.h"
#include "plans/kinds/pod/unknown_fate.h"

namespace podctl {
namespace {

// Starts or stops a node. Its state tells what is left to do, so a run that ended in the middle, or
// did not hear the answer, goes on from what it finds.
class PowerTask final : public Task {
 public:
  PowerTask(PodSpec pod, Power power, TaskContext& context)
      : address_(PodAddress(pod.name)),
        pod_(std::move(pod)),
        power_(power),
        context_(context),
        wait_(context) {}

  Need Begin() override {
    const PodRecord* record = PodJournal(context_).Find(address_);
    if (record == nullptr) {
      return Failed(MakeError(ErrorCode::kInternal, "the pod is not in the state"));
    }
    name_ = NameOf(*record);
    version_ = pod_.api_version.value_or(ApiVersion::kV2);
    wait_.Speak(version_);
    since_ = context_.clock.Steady();
    if (record->pending() && !record->pending()->operation.empty()) {
      phase_ = Phase::kWait;
      return wait_.GoOn(record->pending()->operation);
    }
    return Read();
  }

  Need OnReply(Reply reply) override {
    switch (phase_) {
      case Phase::kRead:
        return OnRead(std::get<Result<Value>>(reply));
      case Phase::kSend:
        return OnSent(std::get<Result<Operation>>(reply));
      case Phase::kWait:
        return OnWaited(wait_.Take(std::move(reply)));
    }
    return Done();
  }

  Need OnWake() override { return phase_ == Phase::kWait ? wait_.Look() : Read(); }
  std::string Id() const override { return name_.Resource(); }

 private:
  enum class Phase { kRead, kSend, kWait };

  const char* Verb() const { return power_ == Power::kStop ? "stop" : "start"; }
  const char* Goal() const { return power_ == Power::kStop ? "STOPPED" : "READY"; }
  const char* Origin() const { return power_ == Power::kStop ? "READY" : "STOPPED"; }

  Need Read() {
    phase_ = Phase::kRead;
    return LookAtNode(Cloud(), name_);
  }

  Need OnRead(const Result<Value>& node) {
    if (!node) {
      const ErrorCode code = node.error().code;
      const bool passes = code == ErrorCode::kUnavailable || code == ErrorCode::kReplyLost;
      return passes ? Pause() : Failed(node.error());
    }
    const PodRecord* record = PodJournal(context_).Find(address_);
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

  Need Send() {
    phase_ = Phase::kSend;
    sent_ = true;
    PodJournal(context_).BeginPatch(address_);
    return CallFor(
        [&provider = Cloud(), name = name_, power = power_](StepObserver&, std::stop_token stop) {
          return Reply(power == Power::kStop ? provider.StopNode(name, std::move(stop))
                                             : provider.StartNode(name, std::move(stop)));
        },
        true);
  }

  Need OnSent(const Result<Operation>& sent) {
    if (sent) {
      PodJournal(context_).OperationStarted(address_, sent->name);
      phase_ = Phase::kWait;
      return OnWaited(wait_.Follow(*sent));
    }
    switch (sent.error().code) {
      case ErrorCode::kCancelled:
        return Failed(sent.error());  // the intent stays: the next run looks
      case ErrorCode::kReplyLost:
        sent_ = false;
        return Read();
      case ErrorCode::kAborted:  // another operation on this node
        sent_ = false;
        phase_ = Phase::kRead;
        return Pause();
      case ErrorCode::kFailedPrecondition:
      case ErrorCode::kInvalidArgument:
        // Perhaps because somebody else was faster; else the node's state says that it was not.
        refused_ = sent.error();
        return Read();
      default:
        return GiveUp(sent.error());
    }
  }

  Need OnWaited(Need need) {
    if (!OperationWait::Over(need)) return need;
    if (!wait_.operation().error.empty()) return GiveUp(wait_.operation().error.front());
    return Read();
  }

  Need Pause() {
    if (context_.clock.Steady() - since_ > context_.operation_timeout) {
      return Failed(MakeError(ErrorCode::kDeadlineExceeded,
                              fmt::format("the node does not become {}", Goal()),
                              "The next `podctl apply` goes on waiting for it."));
    }
    phase_ = Phase::kRead;
    return Sleep(pace_.Next());
  }

  Need GiveUp(Error error) {
    PodJournal(context_).Withdraw(address_);
    error.message = fmt::format("cannot {} the node: {}", Verb(), error.message);
    return Failed(std::move(error));
  }

  Need Reached(const Value& node) {
    PodJournal(context_).NodeFound(address_, node);
    PodJournal(context_).Withdraw(address_);  // nothing is outstanding
    PodJournal(context_).Publish(PodAddress(pod_.name), node);
    return Done();
  }

  Provider& Cloud() const { return context_.provider.Speaking(version_); }

  const Address address_;
  const PodSpec pod_;
  const Power power_;
  TaskContext& context_;
  OperationWait wait_;
  PollPace pace_{context_.random};
  NodeName name_;
  ApiVersion version_ = ApiVersion::kV2;
  Clock::SteadyTime since_{};
  Phase phase_ = Phase::kRead;
  bool sent_ = false;             // and heard: the node has to move
  std::optional<Error> refused_;  // the service's reason
};

class Sequence final : public Task {
 public:
  explicit Sequence(std::vector<std::unique_ptr<Task>> tasks) : tasks_(std::move(tasks)) {}

  Need Begin() override { return Next(Now().Begin()); }
  Need OnReply(Reply reply) override { return Next(Now().OnReply(std::move(reply))); }
  Need OnWake() override { return Next(Now().OnWake()); }
  void OnApplied(int worker, const HostKeyText& learned_host_key) override {
    Now().OnApplied(worker, learned_host_key);
  }
  std::string Id() const override { return tasks_.back()->Id(); }
  std::string Status() const override { return tasks_[at_]->Status(); }

 private:
  Task& Now() { return *tasks_[at_]; }

  Need Next(Need need) {
    while (need.kind == Need::Kind::kDone && need.result && at_ + 1 < tasks_.size()) {
      ++at_;
      need = Now().Begin();
    }
    return need;
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
