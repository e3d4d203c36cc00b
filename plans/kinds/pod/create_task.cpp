// Declared in tasks.h.
#include <fmt/format.h>

#include <algorithm>

#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/pod_task.h"
#include "plans/kinds/pod/published_keys.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/refusal_words.h"
#include "plans/kinds/pod/settle.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/pod/unaccounted_nodes.h"
#include "plans/kinds/step/record.h"
#include "plans/kinds/step/task.h"
#include "plans/spec/runtime_flags.h"
#include "providers/base/text.h"
#include "providers/slices.h"

namespace podctl {
namespace {

// Creates a node and takes it into the state.
//
// nodes.create has no request id in v2, so a create whose answer was lost is never sent blindly
// again: the node is read, and only when it is not there is the create repeated; in v2alpha1 under
// the same id, by which the service knows it.
class CreateTask final : public PodTask {
 public:
  CreateTask(PodSpec pod, CreateKind kind, TaskContext& context, gcp::Refusal* refusal)
      : PodTask(pod, context, pod.create_timeout),
        pod_(std::move(pod)),
        kind_(kind),
        refusal_(refusal),
        limit_(pod_.create_timeout.value_or(context.operation_timeout)) {}

  NextAction Begin() override {
    auto body = NewNode(pod_);
    if (!body) return Failed(body.error());
    body_ = *std::move(body);
    if (kind_ == CreateKind::kAwait) {
      earlier_ = true;
      return Read();
    }
    const PodRecord* record = Record();
    // An earlier run may have sent it, and ended before the answer came.
    const bool unheard = record != nullptr && !record->exists() && record->pending() &&
                         record->pending()->kind == PendingAction::Kind::kCreate &&
                         NameOf(*record) == name_;
    if (unheard) request_id_ = record->pending()->request_id;
    if (version_ == ApiVersion::kV2Alpha1 && request_id_.empty()) {
      request_id_ = context_.random.Uuid();
    }
    if (kind_ != CreateKind::kResume && !unheard) return Send();
    earlier_ = true;
    maybe_ours_ = true;
    if (record != nullptr && record->pending() && !record->pending()->operation.empty()) {
      return GoOn(record->pending()->operation, &CreateTask::OnOver);
    }
    return Read();
  }

 private:
  static constexpr int kMaxSends = 3;
  static constexpr int kMaxFinds = 10;

  NextAction Send() {
    if (++sends_ > kMaxSends) {
      return Withdrawn(MakeError(
          ErrorCode::kUnavailable,
          fmt::format("the create was sent {} times, each answer was lost and no node appeared",
                      kMaxSends)));
    }
    if (kind_ == CreateKind::kBeforeDelete && sends_ == 1) {
      journal_.BeginCreateBeforeDelete(pod_, request_id_);
    } else {
      journal_.BeginCreate(pod_, request_id_);
    }
    return Operate(CallOf(Cloud(), &Provider::CreateNode, name_,
                          WithLineage(body_, context_.journal.state().lineage), request_id_),
                   &CreateTask::OnRefused, &CreateTask::OnOver);
  }

  NextAction OnRefused(const Error& error) {
    if (error.code == ErrorCode::kReplyLost ||
        (error.code == ErrorCode::kAlreadyExists && maybe_ours_)) {
      maybe_ours_ = true;
      return Read();
    }
    if (error.code == ErrorCode::kCancelled) return Failed(error);  // the intent stays
    journal_.Withdraw(address_);
    if (error.code == ErrorCode::kAlreadyExists) {
      return Failed(
          MakeError(error.code, error.message, NameConflictHint(pod_, address_, nullptr, {}, {})));
    }
    return Refused(error, gcp::RefusedBy::kAnswer);
  }

  // A failed create may leave a half-made node that holds the name.
  NextAction OnOver() {
    return wait_.operation().error.empty() ? Read() : LookAtNode(&CreateTask::OnCleanUpRead);
  }

  NextAction Refused(const Error& error, gcp::RefusedBy by) {
    const gcp::Refusal refusal = RefusalOf(error, by, pod_);
    if (refusal_ != nullptr) *refusal_ = refusal;
    return Failed(InPodsWords(error, refusal, pod_));
  }
  // By the operation that is over.
  NextAction OperationFailed() {
    return Refused(wait_.operation().error.front(), gcp::RefusedBy::kOperation);
  }

  NextAction Read() {
    read_since_ = context_.clock.Steady();
    return ReadAgain();
  }

  NextAction ReadAgain() { return LookAtNode(&CreateTask::OnRead); }

  NextAction OnRead(const Result<Value>& node) {
    const bool comes = kind_ == CreateKind::kAwait;
    if (!node) {
      const ErrorCode code = node.error().code;
      if (code == ErrorCode::kNotFound && comes) return PauseRead();
      if (code == ErrorCode::kNotFound && !wait_.watching()) return Send();
      if (code == ErrorCode::kUnavailable || code == ErrorCode::kReplyLost) return PauseRead();
      if (code != ErrorCode::kNotFound) return Failed(FateUnknown(node.error()));
      journal_.Withdraw(address_);
      return Failed(MakeError(code, "the creation ended, but the node is not there",
                              "Somebody may have deleted it; `podctl apply` makes it anew."));
    }
    if (IsAnothers(*node)) return LeaveAlone(*node);
    const std::string state = NodeState(*node);
    if (state == "READY") return Take(*node);
    if (comes && state == kMissingSlice) return PauseRead();
    if (state == "CREATING" && !comes && !wait_.watching() && ++finds_ <= kMaxFinds) return Find();
    // What a new word means is not known; it may well be a stage on the way to READY.
    if (state == "CREATING" || state == "STARTING" || state == "RESTARTING" ||
        !IsKnownState(state)) {
      return PauseRead();
    }
    return Failed(MakeError(ErrorCode::kFailedPrecondition,
                            fmt::format("the new node is {} instead of READY", state),
                            "Run `podctl plan` to see what is to be done about it."));
  }

  bool IsAnothers(const Value& node) const {
    const PodRecord* record = Record();
    const State& state = context_.journal.state();
    if (record == nullptr) return false;
    // The service answered this create, and carried it out: of the other records none can have it,
    // and to ask each of them for each create is quadratic.
    const bool made_now = !earlier_ && !maybe_ours_ && wait_.operation().error.empty();
    if (made_now) return IsOfAnotherState(node, record->uid(), state.lineage);
    return !WhoseNode(node, state, address_, name_, record->current).empty();
  }

  // Somebody was faster, and the answer that said so was lost.
  NextAction LeaveAlone(const Value& node) {
    if (kind_ == CreateKind::kAwait) {
      journal_.RequestOver(address_);  // what was to make it is still there
    } else {
      journal_.Withdraw(address_);
    }
    return Failed(
        MakeError(ErrorCode::kAlreadyExists,
                  fmt::format("a node named `{}` already exists in {}", name_.node, name_.zone),
                  NameConflictHint(pod_, address_, &node, context_.journal.state(), {})));
  }

  // The intent stays in the state, and the next run meets it.
  Error FateUnknown(const Error& error) const {
    if (error.code == ErrorCode::kCancelled) return error;
    return MakeError(
        error.code, fmt::format("whether the node was made is not known: {}", error.message),
        fmt::format("{}{}What was begun is written down; `podctl plan` says what it waits for.",
                    error.hint, error.hint.empty() ? "" : "\n"));
  }

  // The answer to the create was lost, and with it the name of the operation: only that can tell
  // whether the node will ever be READY.
  NextAction Find() { return ListOperations(&CreateTask::OnListed); }

  NextAction OnListed(const Result<std::vector<Operation>>& operations) {
    // Not everybody may list operations; then the node itself has to tell.
    if (!operations) return PauseRead();
    // The node is there, so the newest create of that name is what makes it, whenever it began.
    const Operation* newest = FindCreate(*operations, name_, "");
    return newest == nullptr ? PauseRead() : Follow(*newest, &CreateTask::OnOver);
  }

  NextAction PauseRead() {
    if (context_.clock.Steady() - read_since_ > limit_) {
      return Failed(MakeError(
          ErrorCode::kDeadlineExceeded,
          fmt::format("the new node does not become READY within {}", FormatDuration(limit_)),
          "The next `podctl apply` goes on waiting for it."));
    }
    return SleepThen(pace_.Next(), &CreateTask::ReadAgain);
  }

  NextAction Take(const Value& node) {
    if (earlier_) {
      // What was sent by the earlier run is not known any more; what is there, is.
      Value metadata = body_["metadata"];
      for (const auto& [key, entry] : pod_.metadata) {
        if (const Value* there = node["metadata"].Find(key)) metadata.Set(key, *there);
      }
      body_.Set("metadata", std::move(metadata));
    }
    journal_.PodCreated(pod_, body_, node);
    journal_.Publish(address_, node);
    NoteRuntime(node);
    if (pod_.check_ready) journal_.ReadinessWanted(pod_.name);
    if (!earlier_ || DiffKeys(pod_, Record(), node).empty()) return AskHostKeys();
    // Whoever asked for this node need not be who waits for it: its workers may not know our key.
    return Await(MakePatchTask(pod_, {"metadata"}, context_), &CreateTask::AskHostKeys);
  }

  NextAction AskHostKeys() {
    return Ask(AskingWorkers(context_, *Record()), &CreateTask::OnHostKeys);
  }

  // The runtime of a new node starts with the metadata it was created with, on every worker.
  void NoteRuntime(const Value& node) {
    const Value* value = node["metadata"].Find(kRuntimeVariablesKey);
    if (value == nullptr || WorkerCount(node) < 2 ||
        !pod_.metadata.contains(kRuntimeVariablesKey)) {
      return;
    }
    for (int worker = 0; worker < static_cast<int>(WorkerCount(node)); ++worker) {
      journal_.StepApplied(StepAddress(pod_.name, kRuntimeStepName), address_, worker,
                           RuntimeDigest(value->AsString()));
    }
  }

  NextAction OnHostKeys(const Result<std::vector<WorkerAttributes>>& attributes) {
    // No keys is no failure: the guest may not have written them yet; whoever connects asks again.
    if (attributes) journal_.NoteWorkers(address_, *attributes);
    if (!pod_.check_ready) return Done();
    return AwaitEnd(MakeReadinessTask(pod_.name, pod_.boot_timeout, pod_.probe_ready, context_));
  }

  NextAction OnCleanUpRead(const Result<Value>& node) {
    const Error failure = wait_.operation().error.front();
    if (failure.code == ErrorCode::kAlreadyExists) {
      return Withdrawn(failure);  // what is there is somebody else's
    }
    if (!node && node.error().code == ErrorCode::kNotFound) {
      journal_.Withdraw(address_);
      return OperationFailed();
    }
    if (!node) return OperationFailed();  // the intent stays: the next run looks
    if (IsAnothers(*node)) {
      journal_.Withdraw(address_);
      return OperationFailed();
    }
    if (NodeState(*node) == "READY") return Take(*node);
    journal_.NodeFound(address_, *node);
    context_.note(address_, "the creation failed and left a half-made node, which is deleted");
    journal_.OperationStarted(address_, "");  // that operation is over
    return AwaitEnd(MakeDeleteTask(address_, false, context_),
                    [this](const NextAction& end) { return OnCleanUp(end.result); });
  }

  NextAction OnCleanUp(const Result<void>& done) {
    if (done) {
      journal_.Withdraw(address_);
      return OperationFailed();
    }
    Error failure = wait_.operation().error.front();
    failure.hint = fmt::format("It left a half-made node, which could not be deleted: {}",
                               done.error().message);
    return Failed(std::move(failure));
  }

  const PodSpec pod_;
  const CreateKind kind_;
  std::string request_id_;                 // of v2alpha1
  gcp::Refusal* const refusal_;            // told why there is no node; may be nullptr
  const std::chrono::milliseconds limit_;  // until the node is READY
  Value body_;
  Clock::SteadyTime read_since_{};
  bool maybe_ours_ = false;
  bool earlier_ = false;  // what was sent, an earlier run sent
  int sends_ = 0;
  int finds_ = 0;
};

}  // namespace

std::unique_ptr<Task> MakeCreateTask(const PodSpec& pod, CreateKind kind, TaskContext& context,
                                     gcp::Refusal* refusal) {
  return std::make_unique<CreateTask>(pod, kind, context, refusal);
}

Call AskingWorkers(TaskContext& context, const PodRecord& record) {
  return [&provider = context.provider, record](StepObserver&, std::stop_token stop) -> Reply {
    return BackingOf(record).AskWorkers(provider, record, std::move(stop));
  };
}

}  // namespace podctl
