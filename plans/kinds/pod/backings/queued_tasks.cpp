// Declared in queued.h.
#include <fmt/format.h>

#include "plans/kinds/pod/backings/queued.h"
#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/pod_task.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/refusal_words.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/pod/unaccounted_nodes.h"
#include "providers/base/text.h"
#include "providers/gcp/queued_resource.h"

namespace podctl {
namespace {

using gcp::QueuedPhase;

// A request that nobody limits must end some day.
constexpr std::chrono::hours kQueueLimit{6};

// What has been seen of it last.
void NoteQueuedState(const Address& address, const std::string& state, TaskContext& context) {
  const PodRecord* record = PodJournal(context).Find(address);
  if (record == nullptr || !record->queued || record->queued->state == state) return;
  Pods(context.journal.EditState())[address].queued->state = state;
}

Error NoQueue() {
  return MakeError(ErrorCode::kUnimplemented, "this service has no queued resources");
}

// Asks for a pod through a queued resource, waits in the queue, and hands on to the task that waits
// for a node.
//
// The request's id is made before it is sent and stands in the state, so whoever does not hear the
// answer, this run or a later one, asks again with the same id and never gets two.
class QueuedCreateTask final : public PodTask {
 public:
  QueuedCreateTask(const PodSpec& pod, bool resume, TaskContext& context)
      : PodTask(pod, context), pod_(pod), queued_(QueuedNameOf(pod)), resume_(resume) {}

  NextAction Begin() override {
    if (context_.provider.queued() == nullptr) return Failed(NoQueue());
    const auto node = NewNode(pod_);
    if (!node) return Failed(node.error());
    body_ = gcp::QueuedBody(pod_.queued->terms, name_,
                            WithLineage(*node, context_.journal.state().lineage),
                            pod_.queued->slices, version_);
    const PodRecord* record = Record();
    const bool begun = record != nullptr && record->pending() && record->queued &&
                       record->pending()->kind == PendingAction::Kind::kCreate &&
                       QueuedNameOf(*record) == queued_;
    if (begun) request_id_ = record->pending()->request_id;
    if (!begun && !resume_) return Send();
    maybe_ours_ = true;
    // Also where it was refused: the look tells, since an earlier request may have arrived.
    return begun && !record->pending()->operation.empty()
               ? GoOn(record->pending()->operation, &QueuedCreateTask::Look)
               : Look();
  }

  std::string Id() const override { return active_ ? name_.Resource() : queued_.Resource(); }
  std::string Status() const override { return active_ ? "" : state_; }

 private:
  static constexpr int kMaxSends = 3;
  static constexpr int kMostBlindLooks = 20;

  NextAction Send() {
    if (++sends_ > kMaxSends) {
      return Withdrawn(MakeError(ErrorCode::kUnavailable,
                                 fmt::format("the request was sent {} times, each answer was lost "
                                             "and no queued resource appeared",
                                             kMaxSends)));
    }
    if (request_id_.empty()) request_id_ = context_.random.Uuid();
    journal_.BeginCreate(pod_, request_id_);
    return Operate(CallOf(*Cloud().queued(), &QueuedResources::Create, queued_, body_, request_id_),
                   &QueuedCreateTask::OnRefused, &QueuedCreateTask::Look);
  }

  NextAction OnRefused(const Error& error) {
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
        return Withdrawn(
            MakeError(error.code, error.message,
                      "podctl did not make that queued resource and leaves it alone. Give the pod "
                      "another `queuedResource.id`, or delete the queued resource first."));
      default:
        return Withdrawn(InPodsWords(error, RefusalOf(error, gcp::RefusedBy::kAnswer, pod_), pod_));
    }
  }

  NextAction Look() {
    return Ask(CallOf(*Cloud().queued(), &QueuedResources::Get, queued_),
               &QueuedCreateTask::OnLooked);
  }

  NextAction OnLooked(const Result<Value>& queued) {
    if (!queued) return OnNoAnswer(queued.error());
    if (IsAnothers(*queued)) return LeaveAlone(*queued);
    const std::string state = gcp::QueuedState(*queued);
    const QueuedPhase phase = gcp::PhaseOf(state);
    if (state != state_) {
      state_ = state;
      NoteQueuedState(address_, state, context_);
      if (phase == QueuedPhase::kQueued || phase == QueuedPhase::kProvisioning) {
        context_.note(address_, fmt::format("its queued resource {} is {}", queued_.id, state));
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
                                queued_.id, state));
      case QueuedPhase::kProvisioning:
        return Wait(pod_.create_timeout.value_or(context_.operation_timeout), "create",
                    fmt::format("capacity was found, but the queued resource {} is still {} after "
                                "{{}}",
                                queued_.id, state));
      case QueuedPhase::kActive:
        active_ = true;
        return AwaitEnd(MakeCreateTask(pod_, CreateKind::kAwait, context_, nullptr));
      case QueuedPhase::kOver:
      case QueuedPhase::kGoing:
        break;
    }
    journal_.RequestOver(address_);
    return Failed(MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("the queued resource {} {}", queued_.id, gcp::QueuedSentence(*queued)),
        "It holds its name and its quota until it is deleted: the next `podctl apply` deletes it "
        "and asks anew."));
  }

  bool IsAnothers(const Value& queued) const {
    const PodRecord* record = Record();
    return record != nullptr &&
           IsRequestOfAnotherState(queued, *record, nullptr, context_.journal.state().lineage);
  }

  // Somebody was faster, or came after ours was gone.
  NextAction LeaveAlone(const Value& queued) {
    return Withdrawn(MakeError(
        ErrorCode::kAlreadyExists,
        fmt::format("a queued resource named `{}` already exists in {}", queued_.id, queued_.zone),
        NameConflictHint({"queued resource", "it, with its node,", "queuedResource.id", queued_.id,
                          LineageOfRequest(queued)},
                         pod_, address_, context_.journal.state(), {})));
  }

  NextAction OnNoAnswer(const Error& error) {
    if (error.code == ErrorCode::kNotFound) {
      // Refused when it was looked at, deleted by somebody, or never arrived.
      if (wait_.watching() && !wait_.operation().error.empty()) {
        const Error& refused = wait_.operation().error.front();
        return Withdrawn(
            InPodsWords(refused, RefusalOf(refused, gcp::RefusedBy::kOperation, pod_), pod_));
      }
      if (state_.empty() && !wait_.watching()) return Send();
      return Withdrawn(MakeError(ErrorCode::kNotFound,
                                 fmt::format("the queued resource {} is gone", queued_.id),
                                 "Somebody deleted it; `podctl apply` asks anew."));
    }
    if (!Passes(error) || ++blind_looks_ > kMostBlindLooks) return Failed(error);
    return SleepThen(pace_.Next(), &QueuedCreateTask::Look);
  }

  // `text` holds {} for the time.
  NextAction Wait(std::chrono::milliseconds limit, std::string_view clock,
                  const std::string& text) {
    blind_looks_ = 0;
    if (!context_.wait_for_capacity) return Later();
    if (clock_->Read(context_.clock) > limit) {
      return Failed(MakeError(
          ErrorCode::kDeadlineExceeded, fmt::format(fmt::runtime(text), FormatDuration(limit)),
          fmt::format("The request stays as it is, and the next `podctl apply` goes on waiting. "
                      "`timeouts.{}` says how long.",
                      clock)));
    }
    return SleepThen(pace_.Next(), &QueuedCreateTask::Look);
  }

  const PodSpec pod_;
  const QueuedName queued_;
  const bool resume_;
  Value body_;
  std::string request_id_;
  std::string state_;  // as last seen
  bool active_ = false;
  QueuedPhase phase_of_clock_ = QueuedPhase::kQueued;
  std::optional<Stopwatch> clock_;
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
class QueuedDeleteTask final : public PodTask {
 public:
  QueuedDeleteTask(const Address& address, bool forget, TaskContext& context)
      : PodTask(address, context), forget_(forget) {}

  NextAction Begin() override {
    const PodRecord* record = Record();
    if (record == nullptr) return Done();
    queued_ = QueuedNameOf(*record);
    if (forget_) return Gone();
    name_ = NameOf(*record);
    uid_ = record->uid();
    UseVersion(record->api_version);
    if (context_.provider.queued() == nullptr) return Failed(NoQueue());
    clock_.Start(context_.clock);
    const bool deletes =
        record->pending() && record->pending()->kind == PendingAction::Kind::kDelete;
    if (deletes && !record->pending()->operation.empty()) {
      return GoOn(record->pending()->operation, &QueuedDeleteTask::OnOver);
    }
    return Look();
  }

  std::string Id() const override { return queued_.Resource(); }
  std::string Status() const override { return state_; }

 private:
  static constexpr int kMaxSends = 5;

  NextAction Look() {
    return Ask(CallOf(*Cloud().queued(), &QueuedResources::Get, queued_),
               &QueuedDeleteTask::OnLooked);
  }

  NextAction OnLooked(const Result<Value>& queued) {
    if (!queued) {
      if (queued.error().code != ErrorCode::kNotFound) return Failed(queued.error());
      state_.clear();
      return LookAtNode(&QueuedDeleteTask::OnNode);
    }
    const PodRecord* record = Record();
    if (record != nullptr &&
        IsRequestOfAnotherState(*queued, *record, nullptr, context_.journal.state().lineage)) {
      return AskThen(CallOf(Cloud(), &Provider::GetNode, name_), false,
                     [this, found = *queued](const Reply& reply) {
                       return OnDoubtful(found, std::get<Result<Value>>(reply));
                     });
    }
    return OnOwn(*queued);
  }

  // Of a request that by its label is another state's: its node tells.
  NextAction OnDoubtful(const Value& queued, const Result<Value>& node) {
    if (!node && node.error().code != ErrorCode::kNotFound) return Failed(node.error());
    const PodRecord* record = Record();
    if (record != nullptr && !IsRequestOfAnotherState(queued, *record, node ? &*node : nullptr,
                                                      context_.journal.state().lineage)) {
      return OnOwn(queued);
    }
    context_.note(address_, fmt::format("the queued resource {} {}, and is left alone", queued_.id,
                                        MadeWithAnotherState(LineageOfRequest(queued))));
    return Gone();
  }

  NextAction OnOwn(const Value& queued) {
    saw_it_ = true;
    const std::string state = gcp::QueuedState(queued);
    if (state != state_) {
      state_ = state;
      NoteQueuedState(address_, state, context_);
      if (state == "SUSPENDING") {
        context_.note(address_, fmt::format("its queued resource {} is SUSPENDING, and is deleted "
                                            "when that is over",
                                            queued_.id));
      }
    }
    if (gcp::PhaseOf(state) == QueuedPhase::kGoing) return Pause();
    return Send(state);
  }

  NextAction Pause() {
    if (clock_.Read(context_.clock) > context_.operation_timeout) {
      return Failed(MakeError(ErrorCode::kDeadlineExceeded,
                              fmt::format("the queued resource {} is still {} after {}", queued_.id,
                                          state_, FormatDuration(context_.operation_timeout)),
                              "The next `podctl apply` goes on from there."));
    }
    return SleepThen(pace_.Next(), &QueuedDeleteTask::Look);
  }

  // Without nodes there is nothing to force; what the service refuses then, it is forced to.
  NextAction Send(const std::string& state) {
    if (++sends_ > kMaxSends) {
      if (refused_) return Withdrawn(NotDeleted(What(), *refused_, failed_operation_));
      return Withdrawn(
          MakeError(ErrorCode::kAborted, fmt::format("{} was deleted {} times, and is still there",
                                                     queued_.Resource(), kMaxSends)));
    }
    const bool idle = state == "ACCEPTED" || state == "WAITING_FOR_RESOURCES" ||
                      state == "FAILED" || state == "SUSPENDED";
    const bool force = !idle || refused_;
    // A new id each time: with the old one the service would answer what it answered then.
    const std::string id = context_.random.Uuid();
    journal_.BeginDelete(address_, {}, id);
    return Operate(CallOf(*Cloud().queued(), &QueuedResources::Delete, queued_, force, id),
                   &QueuedDeleteTask::OnRefused, &QueuedDeleteTask::OnOver);
  }

  NextAction OnRefused(const Error& error) {
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
        failed_operation_.clear();
        return SleepThen(pace_.Next(), &QueuedDeleteTask::Look);
      default:
        return Withdrawn(NotDeleted(What(), error));
    }
  }

  NextAction OnOver() {
    refused_.reset();
    if (!wait_.operation().error.empty()) {
      refused_ = wait_.operation().error.front();
      failed_operation_ = wait_.operation().name;
    }
    return Look();
  }

  std::string What() const { return fmt::format("the queued resource {}", queued_.id); }

  NextAction OnNode(const Result<Value>& node) {
    if (!node) {
      return node.error().code == ErrorCode::kNotFound ? Gone() : Failed(node.error());
    }
    state_ = NodeState(*node);
    if (!IsOurs(*node)) {
      context_.note(address_, fmt::format("the node {} does not come from its queued resource {}, "
                                          "and is left alone",
                                          name_.node, queued_.id));
      return Gone();
    }
    if (state_ == "DELETING") return Pause();
    if (saw_it_ && clock_.Read(context_.clock) < kNodePatience) return Pause();
    if (++sends_ > kMaxSends) {
      return Failed(MakeError(ErrorCode::kAborted,
                              fmt::format("the queued resource {} is gone, but its node {} is "
                                          "still there",
                                          queued_.id, name_.node)));
    }
    journal_.BeginDelete(address_);
    return Operate(CallOf(Cloud(), &Provider::DeleteNode, name_, std::string()),
                   &QueuedDeleteTask::OnRefused, &QueuedDeleteTask::OnOver);
  }

  // What was seen of it under its name. A node that was never seen has to say itself where it comes
  // from.
  bool IsOurs(const Value& node) const {
    if (!uid_.empty()) return IsSameUid(uid_, NodeUid(node));
    const std::string& lineage = context_.journal.state().lineage;
    if (IsOfAnotherState(node, uid_, lineage)) return false;
    return LineageOf(node) == lineage ||
           node["queuedResource"].AsString().ends_with("/queuedResources/" + queued_.id);
  }

  NextAction Gone() {
    journal_.PodGone(address_);
    return Done();
  }

  // Its nodes go with a queued resource, but the service may show them a little longer. Where that
  // was gone from the start, nothing takes them away but a delete of their own.
  static constexpr std::chrono::minutes kNodePatience{2};

  const bool forget_;
  Stopwatch clock_;
  QueuedName queued_;
  std::string uid_;               // of the node; empty: nobody has seen it
  bool saw_it_ = false;           // the queued resource
  std::string state_;             // as last seen
  std::optional<Error> refused_;  // the service's last reason not to delete
  std::string failed_operation_;  // whose reason that is; empty: of a refusal
  int sends_ = 0;
};

}  // namespace

std::unique_ptr<Task> MakeQueuedDeleteTask(const Address& address, bool forget,
                                           TaskContext& context) {
  return std::make_unique<QueuedDeleteTask>(address, forget, context);
}

}  // namespace podctl
