// Declared in queued.h.
#include <fmt/format.h>

#include <utility>

#include "plans/kinds/pod/backings/queued.h"
#include "plans/kinds/pod/diff.h"
#include "plans/kinds/pod/journal.h"
#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/refused.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/pod/tasks.h"
#include "providers/base/text.h"
#include "providers/gcp/queued_resource.h"
#include "providers/slices.h"

namespace podctl {
namespace {

using gcp::QueuedPhase;

// A request that nobody limits must end some day.
constexpr std::chrono::hours kQueueLimit{6};

// Asks for a pod through a queued resource, waits in the queue, and hands on to the task that waits
// for a node.
//
// The request's id is made before it is sent and stands in the state, so whoever does not hear the
// answer, this run or a later one, asks again with the same id and never gets two.
class QueuedCreateTask final : public Task {
 public:
  QueuedCreateTask(const PodSpec& pod, bool resume, TaskContext& context)
      : address_(PodAddress(pod.name)),
        pod_(pod),
        name_(QueuedNameOf(pod)),
        version_(pod.api_version.value_or(ApiVersion::kV2)),
        resume_(resume),
        context_(context),
        wait_(context) {
    wait_.Speak(version_);
  }

  Need Begin() override {
    if (context_.provider.queued() == nullptr) {
      return Failed(MakeError(ErrorCode::kUnimplemented, "this service has no queued resources"));
    }
    std::vector<std::string> unknown;
    const Value node = CreateBody(pod_, context_.Lookup(), &unknown);
    if (!unknown.empty()) {
      return Failed(MakeError(
          ErrorCode::kFailedPrecondition,
          fmt::format("{} refers to something that is not known", fmt::join(unknown, ", ")),
          "Is the path of the reference right?"));
    }
    body_ = gcp::QueuedBody(pod_.queued->terms, NameOf(pod_),
                            WithLineage(node, context_.journal.state().lineage),
                            pod_.queued->slices, version_);
    const PodRecord* record = PodJournal(context_).Find(address_);
    const bool begun = record != nullptr && record->pending() && record->queued &&
                       record->pending()->kind == PendingAction::Kind::kCreate &&
                       QueuedNameOf(*record) == name_;
    if (begun) request_id_ = record->pending()->request_id;
    if (!begun && !resume_) return Send();
    maybe_ours_ = true;
    if (begun && !record->pending()->operation.empty()) {
      phase_ = Phase::kAccept;
      return wait_.GoOn(record->pending()->operation);
    }
    return Look();
  }

  Need OnReply(Reply reply) override {
    switch (phase_) {
      case Phase::kSend:
        return OnSent(std::get<Result<Operation>>(reply));
      case Phase::kAccept:
        return OnWaited(wait_.Take(std::move(reply)));
      case Phase::kQueue:
        return OnLooked(std::get<Result<Value>>(reply));
      case Phase::kNode:
        return node_->OnReply(std::move(reply));
    }
    return Done();
  }

  Need OnWake() override {
    if (phase_ == Phase::kNode) return node_->OnWake();
    return phase_ == Phase::kAccept ? wait_.Look() : Look();
  }
  void OnApplied(int worker, const HostKeyText& learned_host_key) override {
    if (node_) node_->OnApplied(worker, learned_host_key);
  }
  std::string Id() const override { return node_ ? node_->Id() : name_.Resource(); }
  std::string Status() const override { return phase_ == Phase::kNode ? "" : state_; }

 private:
  enum class Phase { kSend, kAccept, kQueue, kNode };
  static constexpr int kMaxSends = 3;

  Need Send() {
    phase_ = Phase::kSend;
    if (++sends_ > kMaxSends) {
      PodJournal(context_).Withdraw(address_);
      return Failed(MakeError(ErrorCode::kUnavailable,
                              fmt::format("the request was sent {} times, each answer was lost and "
                                          "no queued resource appeared",
                                          kMaxSends)));
    }
    if (request_id_.empty()) request_id_ = context_.random.Uuid();
    PodJournal(context_).BeginCreate(pod_, request_id_);
    return CallFor(
        [queue = context_.provider.Speaking(version_).queued(), name = name_, body = body_,
         id = request_id_](StepObserver&, std::stop_token stop) {
          return Reply(queue->Create(name, body, id, std::move(stop)));
        },
        true);
  }

  Need OnSent(const Result<Operation>& sent) {
    if (sent) {
      PodJournal(context_).OperationStarted(address_, sent->name);
      phase_ = Phase::kAccept;
      return OnWaited(wait_.Follow(*sent));
    }
    const Error& error = sent.error();
    switch (error.code) {
      case ErrorCode::kReplyLost:
      case ErrorCode::kUnavailable:
      case ErrorCode::kInternal:
      case ErrorCode::kUnknown:
      case ErrorCode::kDeadlineExceeded:
        maybe_ours_ = true;
        return Look();
      case ErrorCode::kCancelled:
        return Failed(error);  // the intent stays
      case ErrorCode::kAlreadyExists:
        if (maybe_ours_) return Look();
        PodJournal(context_).Withdraw(address_);
        return Failed(
            MakeError(error.code, error.message,
                      "podctl did not make that queued resource and leaves it alone. Give the pod "
                      "another `queuedResource.id`, or delete the queued resource first."));
      default:
        PodJournal(context_).Withdraw(address_);
        return Failed(InPodsWords(error, RefusalOf(error, gcp::RefusedBy::kAnswer, pod_), pod_));
    }
  }

  // Also where it was refused: the look tells, since an earlier request may have arrived.
  Need OnWaited(Need need) { return OperationWait::Over(need) ? Look() : std::move(need); }

  Need Look() {
    phase_ = Phase::kQueue;
    return LookAtQueued(context_.provider.Speaking(version_), name_);
  }

  Need OnLooked(const Result<Value>& queued) {
    if (!queued) return OnNoAnswer(queued.error());
    const std::string state = gcp::QueuedState(*queued);
    const QueuedPhase phase = gcp::PhaseOf(state);
    if (state != state_) {
      state_ = state;
      NoteQueuedState(address_, state, context_);
      if (phase == QueuedPhase::kQueued || phase == QueuedPhase::kProvisioning) {
        context_.note(address_, fmt::format("its queued resource {} is {}", name_.id, state));
      }
    }
    if (!clock_ || phase != phase_of_clock_) {
      phase_of_clock_ = phase;
      clock_.emplace().Start(context_.clock);
    }
    switch (phase) {
      case QueuedPhase::kQueued:
        return Wait(pod_.queue_timeout.value_or(kQueueLimit), "queue",
                    fmt::format("there was no capacity within {{}}: the queued resource {} is {}",
                                name_.id, state));
      case QueuedPhase::kProvisioning:
        return Wait(pod_.create_timeout.value_or(context_.operation_timeout), "create",
                    fmt::format("capacity was found, but the queued resource {} is still {} after "
                                "{{}}",
                                name_.id, state));
      case QueuedPhase::kActive:
        return TakeNode();
      case QueuedPhase::kOver:
      case QueuedPhase::kGoing:
        break;
    }
    PodJournal(context_).RequestOver(address_);
    return Failed(MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("the queued resource {} {}", name_.id, gcp::QueuedSentence(*queued)),
        "It holds its name and its quota until it is deleted: the next `podctl apply` deletes it "
        "and asks anew."));
  }

  Need OnNoAnswer(const Error& error) {
    if (error.code == ErrorCode::kNotFound) {
      // Refused when it was looked at, deleted by somebody, or never arrived.
      if (wait_.watching() && !wait_.operation().error.empty()) {
        PodJournal(context_).Withdraw(address_);
        const Error& refused = wait_.operation().error.front();
        return Failed(
            InPodsWords(refused, RefusalOf(refused, gcp::RefusedBy::kOperation, pod_), pod_));
      }
      if (state_.empty() && !wait_.watching()) return Send();
      PodJournal(context_).Withdraw(address_);
      return Failed(MakeError(ErrorCode::kNotFound,
                              fmt::format("the queued resource {} is gone", name_.id),
                              "Somebody deleted it; `podctl apply` asks anew."));
    }
    const bool passes = error.code == ErrorCode::kUnavailable ||
                        error.code == ErrorCode::kReplyLost || error.code == ErrorCode::kInternal ||
                        error.code == ErrorCode::kDeadlineExceeded;
    if (!passes || ++blind_looks_ > kMostBlindLooks) return Failed(error);
    return Sleep(pace_.Next());
  }

  // `text` holds {} for the time.
  Need Wait(std::chrono::milliseconds limit, std::string_view clock, const std::string& text) {
    blind_looks_ = 0;
    if (!context_.wait_for_capacity) return Later();
    if (clock_->Read(context_.clock) > limit) {
      return Failed(MakeError(
          ErrorCode::kDeadlineExceeded, fmt::format(fmt::runtime(text), FormatDuration(limit)),
          fmt::format("The request stays as it is, and the next `podctl apply` goes on waiting. "
                      "`timeouts.{}` says how long.",
                      clock)));
    }
    return Sleep(pace_.Next());
  }

  Need TakeNode() {
    phase_ = Phase::kNode;
    node_ = MakeCreateTask(pod_, CreateKind::kAwait, context_, nullptr);
    return node_->Begin();
  }

  static constexpr int kMostBlindLooks = 20;

  const Address address_;
  const PodSpec pod_;
  const QueuedName name_;
  const ApiVersion version_;
  const bool resume_;
  TaskContext& context_;
  OperationWait wait_;  // for the request to be accepted
  PollPace pace_{context_.random};
  Value body_;
  Phase phase_ = Phase::kSend;
  std::string request_id_;
  std::string state_;  // as last seen
  QueuedPhase phase_of_clock_ = QueuedPhase::kQueued;
  std::optional<Stopwatch> clock_;
  std::unique_ptr<Task> node_;
  bool maybe_ours_ = false;
  int sends_ = 0;
  int blind_looks_ = 0;
};

}  // namespace

std::unique_ptr<Task> MakeQueuedCreateTask(const PodSpec& pod, bool resume, TaskContext& context) {
  return std::make_unique<QueuedCreateTask>(pod, resume, context);
}

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
    uid_ = record->uid();
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
    saw_it_ = true;
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
    if (!IsOurs(*node)) {
      context_.note(address_, fmt::format("the node {} does not come from its queued resource {}, "
                                          "and is left alone",
                                          node_.node, name_.id));
      return Gone();
    }
    if (state_ == "DELETING") return Pause();
    if (saw_it_ && clock_.Read(context_.clock) < kNodePatience) return Pause();
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

  // What was seen of it under its name. A node that was never seen has to say itself where it comes
  // from.
  bool IsOurs(const Value& node) const {
    if (!uid_.empty()) return IsSameUid(uid_, NodeUid(node));
    return LineageOf(node) == context_.journal.state().lineage ||
           node["queuedResource"].AsString().ends_with("/queuedResources/" + name_.id);
  }

  Need Gone() {
    PodJournal(context_).PodGone(address_);
    return Done();
  }

  // Its nodes go with a queued resource, but the service may show them a little longer. Where that
  // was gone from the start, nothing takes them away but a delete of their own.
  static constexpr std::chrono::minutes kNodePatience{2};

  const Address address_;
  const bool forget_;
  TaskContext& context_;
  OperationWait wait_;
  PollPace pace_{context_.random};
  Stopwatch clock_;
  QueuedName name_;
  NodeName node_;
  std::string uid_;      // of the node; empty: nobody has seen it
  bool saw_it_ = false;  // the queued resource
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
