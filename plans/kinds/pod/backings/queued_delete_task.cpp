#include <fmt/format.h>

#include <utility>

#include "plans/kinds/pod/backings/queued.h"
#include "plans/kinds/pod/journal.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/tasks.h"
#include "providers/base/text.h"
#include "providers/gcp/queued_resource.h"
#include "providers/slices.h"

namespace podctl {
namespace {

using gcp::QueuedPhase;

// Deletes a pod through its queued resource: with its nodes where there are any, never while it is
// being suspended, and again where a delete did not take. Looks until neither the queued resource
// nor a node is there.
class QueuedDeleteTask final : public Task {
 public:
  QueuedDeleteTask(Address address, bool forget, TaskContext& context)
      : address_(std::move(address)), forget_(forget), context_(context), wait_(context) {}

  Need Begin() override {
    const PodRecord* record = PodJournal(context_).Find(address_);
    if (record == nullptr) return Done();
    if (forget_) return Gone();
    name_ = QueuedNameOf(*record);
    node_ = NameOf(*record);
    version_ = record->api_version;
    wait_.Speak(version_);
    if (context_.provider.queued() == nullptr) {
      return Failed(MakeError(ErrorCode::kUnimplemented, "this service has no queued resources"));
    }
    clock_.Start(context_.clock);
    const bool deletes =
        record->pending() && record->pending()->kind == PendingAction::Kind::kDelete;
    if (deletes && !record->pending()->operation.empty()) {
      phase_ = Phase::kWait;
      return wait_.GoOn(record->pending()->operation);
    }
    return Look();
  }

  Need OnReply(Reply reply) override {
    switch (phase_) {
      case Phase::kLook:
        return OnLooked(std::get<Result<Value>>(reply));
      case Phase::kSend:
        return OnSent(std::get<Result<Operation>>(reply));
      case Phase::kWait:
        return OnWaited(wait_.Take(std::move(reply)));
      case Phase::kNode:
        return OnNode(std::get<Result<Value>>(reply));
    }
    return Done();
  }

  Need OnWake() override { return phase_ == Phase::kWait ? wait_.Look() : Look(); }
  std::string Id() const override { return name_.Resource(); }
  std::string Status() const override { return state_; }

 private:
  enum class Phase { kLook, kSend, kWait, kNode };
  static constexpr int kMaxSends = 5;

  Need Look() {
    phase_ = Phase::kLook;
    return LookAtQueued(context_.provider.Speaking(version_), name_);
  }

  Need OnLooked(const Result<Value>& queued) {
    if (!queued) {
      if (queued.error().code != ErrorCode::kNotFound) return Failed(queued.error());
      state_.clear();
      return ReadNode();
    }
    const std::string state = gcp::QueuedState(*queued);
    if (state != state_) {
      state_ = state;
      NoteQueuedState(address_, state, context_);
      if (state == "SUSPENDING") {
        context_.note(address_, fmt::format("its queued resource {} is SUSPENDING, and is deleted "
                                            "when that is over",
                                            name_.id));
      }
    }
    if (gcp::PhaseOf(state) == QueuedPhase::kGoing) return Pause();
    return Send(state);
  }

  Need Pause() {
    if (clock_.Read(context_.clock) > context_.operation_timeout) {
      return Failed(MakeError(ErrorCode::kDeadlineExceeded,
                              fmt::format("the queued resource {} is still {} after {}", name_.id,
                                          state_, FormatDuration(context_.operation_timeout)),
                              "The next `podctl apply` goes on from there."));
    }
    return Sleep(pace_.Next());
  }

  // Without nodes there is nothing to force; what the service refuses then, it is forced to.
  Need Send(const std::string& state) {
    phase_ = Phase::kSend;
    if (++sends_ > kMaxSends) {
      PodJournal(context_).Withdraw(address_);
      return Failed(refused_.value_or(
          MakeError(ErrorCode::kAborted, fmt::format("{} was deleted {} times, and is still there",
                                                     name_.Resource(), kMaxSends))));
    }
    const bool idle = state == "ACCEPTED" || state == "WAITING_FOR_RESOURCES" ||
                      state == "FAILED" || state == "SUSPENDED";
    const bool force = !idle || refused_;
    // A new id each time: with the old one the service would answer what it answered then.
    const std::string id = context_.random.Uuid();
    PodJournal(context_).BeginDelete(address_, {}, id);
    return CallFor(
        [queue = context_.provider.Speaking(version_).queued(), name = name_, force, id](
            StepObserver&, std::stop_token stop) {
          return Reply(queue->Delete(name, force, id, std::move(stop)));
        },
        true);
  }

  Need OnSent(const Result<Operation>& sent) {
    if (sent) {
      refused_.reset();
      PodJournal(context_).OperationStarted(address_, sent->name);
      phase_ = Phase::kWait;
      return OnWaited(wait_.Follow(*sent));
    }
    const Error& error = sent.error();
    switch (error.code) {
      case ErrorCode::kNotFound:
      case ErrorCode::kReplyLost:
        return Look();
      case ErrorCode::kCancelled:
        return Failed(error);  // the intent stays: the next run looks
      case ErrorCode::kAborted:
      case ErrorCode::kFailedPrecondition:
      case ErrorCode::kUnavailable:
      case ErrorCode::kInternal:
        // Another operation is under way, or it has nodes by now: look, then try again.
        refused_ = error;
        phase_ = Phase::kLook;
        return Sleep(pace_.Next());
      default:
        PodJournal(context_).Withdraw(address_);
        return Failed(error);
    }
  }

  Need OnWaited(Need need) {
    if (!OperationWait::Over(need)) return need;
    if (!wait_.operation().error.empty()) refused_ = wait_.operation().error.front();
    return Look();
  }

  Need ReadNode() {
    phase_ = Phase::kNode;
    return LookAtNode(context_.provider.Speaking(version_), node_);
  }

  Need OnNode(const Result<Value>& node) {
    if (!node) {
      return node.error().code == ErrorCode::kNotFound ? Gone() : Failed(node.error());
    }
    state_ = NodeState(*node);
    if (state_ == "DELETING" || clock_.Read(context_.clock) < kNodePatience) return Pause();
    if (++sends_ > kMaxSends) {
      return Failed(MakeError(ErrorCode::kAborted,
                              fmt::format("the queued resource {} is gone, but its node {} is "
                                          "still there",
                                          name_.id, node_.node)));
    }
    phase_ = Phase::kSend;
    PodJournal(context_).BeginDelete(address_);
    return CallFor(
        [&provider = context_.provider.Speaking(version_), name = node_](StepObserver&,
                                                                         std::stop_token stop) {
          return Reply(provider.DeleteNode(name, {}, std::move(stop)));
        },
        true);
  }

  Need Gone() {
    PodJournal(context_).PodGone(address_);
    return Done();
  }

  // Its nodes go with a queued resource, but the service may show them a little longer.
  static constexpr std::chrono::minutes kNodePatience{2};

  const Address address_;
  const bool forget_;
  TaskContext& context_;
  OperationWait wait_;
  PollPace pace_{context_.random};
  Stopwatch clock_;
  QueuedName name_;
  NodeName node_;
  ApiVersion version_ = ApiVersion::kV2;
  Phase phase_ = Phase::kLook;
  std::string state_;             // as last seen
  std::optional<Error> refused_;  // the service's last reason not to delete
  int sends_ = 0;
};

}  // namespace

std::unique_ptr<Task> MakeQueuedDeleteTask(const Address& address, bool forget,
                                           TaskContext& context) {
  return std::make_unique<QueuedDeleteTask>(address, forget, context);
}

}  // namespace podctl
