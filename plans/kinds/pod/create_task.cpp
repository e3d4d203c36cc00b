// Declared in tasks.h.
#include <fmt/format.h>

#include <algorithm>

#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/diff.h"
#include "plans/kinds/pod/journal.h"
#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/published_keys.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/refused.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/pod/tasks.h"
#include "plans/kinds/pod/unknown_fate.h"
#include "plans/kinds/pod/way_in.h"
#include "plans/kinds/step/record.h"
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
class CreateTask final : public Task {
 public:
  CreateTask(PodSpec pod, CreateKind kind, TaskContext& context, gcp::Refusal* refusal)
      : address_(PodAddress(pod.name)),
        pod_(std::move(pod)),
        name_(NameOf(pod_)),
        kind_(kind),
        version_(pod_.api_version.value_or(ApiVersion::kV2)),
        context_(context),
        refusal_(refusal),
        limit_(pod_.create_timeout.value_or(context.operation_timeout)),
        wait_(context, limit_) {
    wait_.Speak(version_);
  }

  Need Begin() override {
    std::vector<std::string> unknown;
    body_ = CreateBody(pod_, context_.Lookup(), &unknown);
    if (!unknown.empty()) {
      return Failed(MakeError(
          ErrorCode::kFailedPrecondition,
          fmt::format("{} refers to something that is not known", fmt::join(unknown, ", ")),
          "Is the path of the reference right?"));
    }
    if (kind_ == CreateKind::kAwait) {
      earlier_ = true;
      return Read();
    }
    const PodRecord* record = PodJournal(context_).Find(address_);
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
      phase_ = Phase::kWait;
      return wait_.GoOn(record->pending()->operation);
    }
    return Read();
  }

  Need OnReply(Reply reply) override {
    switch (phase_) {
      case Phase::kSend:
        return OnSent(std::get<Result<Operation>>(reply));
      case Phase::kWait:
        return OnWaited(wait_.Take(std::move(reply)));
      case Phase::kRead:
        return OnRead(std::get<Result<Value>>(reply));
      case Phase::kFind:
        return OnListed(std::get<Result<std::vector<Operation>>>(reply));
      case Phase::kCleanUp:
        return OnCleanUpRead(std::get<Result<Value>>(reply));
      case Phase::kDelete:
        return OnCleanUp(clean_up_->OnReply(std::move(reply)));
      case Phase::kLetIn:
        return OnLetIn(let_in_->OnReply(std::move(reply)));
      case Phase::kHostKeys:
        return OnHostKeys(std::get<Result<std::vector<WorkerAttributes>>>(reply));
      case Phase::kReadiness:
        return readiness_->OnReply(std::move(reply));
    }
    return Done();
  }

  Need OnWake() override {
    if (phase_ == Phase::kDelete) return OnCleanUp(clean_up_->OnWake());
    if (phase_ == Phase::kLetIn) return OnLetIn(let_in_->OnWake());
    return phase_ == Phase::kWait ? wait_.Look() : Read();
  }
  std::string Id() const override { return name_.Resource(); }

 private:
  enum class Phase { kSend, kWait, kRead, kFind, kCleanUp, kDelete, kLetIn, kHostKeys, kReadiness };
  static constexpr int kMaxSends = 3;
  static constexpr int kMaxFinds = 10;

  Provider& Cloud() const { return context_.provider.Speaking(version_); }

  Need Send() {
    phase_ = Phase::kSend;
    if (++sends_ > kMaxSends) {
      PodJournal(context_).Withdraw(address_);
      return Failed(MakeError(
          ErrorCode::kUnavailable,
          fmt::format("the create was sent {} times, each answer was lost and no node appeared",
                      kMaxSends)));
    }
    if (kind_ == CreateKind::kBeforeDelete && sends_ == 1) {
      PodJournal(context_).BeginCreateBeforeDelete(pod_, request_id_);
    } else {
      PodJournal(context_).BeginCreate(pod_, request_id_);
    }
    return CallFor(
        [&provider = Cloud(), name = name_,
         body = WithLineage(body_, context_.journal.state().lineage),
         id = request_id_](StepObserver&, std::stop_token stop) {
          return Reply(provider.CreateNode(name, body, id, std::move(stop)));
        },
        true);
  }

  Need OnSent(const Result<Operation>& sent) {
    if (sent) {
      PodJournal(context_).OperationStarted(address_, sent->name);
      phase_ = Phase::kWait;
      return OnWaited(wait_.Follow(*sent));
    }
    const Error& error = sent.error();
    if (error.code == ErrorCode::kReplyLost ||
        (error.code == ErrorCode::kAlreadyExists && maybe_ours_)) {
      maybe_ours_ = true;
      return Read();
    }
    if (error.code == ErrorCode::kCancelled) return Failed(error);  // the intent stays
    PodJournal(context_).Withdraw(address_);
    if (error.code == ErrorCode::kAlreadyExists) {
      return Failed(
          MakeError(error.code, error.message, TakenHint(pod_, address_, nullptr, {}, {})));
    }
    return Refused(error, gcp::RefusedBy::kAnswer);
  }

  Need OnWaited(Need need) {
    if (!OperationWait::Over(need)) return need;
    return wait_.operation().error.empty() ? Read() : CleanUp();
  }

  Need Refused(const Error& error, gcp::RefusedBy by) {
    const gcp::Refusal refusal = RefusalOf(error, by, pod_);
    if (refusal_ != nullptr) *refusal_ = refusal;
    return Failed(InPodsWords(error, refusal, pod_));
  }
  // By the operation that is over.
  Need OperationFailed() {
    return Refused(wait_.operation().error.front(), gcp::RefusedBy::kOperation);
  }

  Need Read() {
    if (phase_ != Phase::kRead) read_since_ = context_.clock.Steady();
    phase_ = Phase::kRead;
    return LookAtNode(Cloud(), name_);
  }

  Need OnRead(const Result<Value>& node) {
    if (!node) {
      const ErrorCode code = node.error().code;
      const bool comes = kind_ == CreateKind::kAwait;
      if (code == ErrorCode::kNotFound && comes) return PauseRead();
      if (code == ErrorCode::kNotFound && !wait_.watching()) return Send();
      if (code == ErrorCode::kUnavailable || code == ErrorCode::kReplyLost) return PauseRead();
      if (code != ErrorCode::kNotFound) return Failed(FateUnknown(node.error()));
      PodJournal(context_).Withdraw(address_);
      return Failed(MakeError(code, "the creation ended, but the node is not there",
                              "Somebody may have deleted it; `podctl apply` makes it anew."));
    }
    if (IsAnothers(*node)) return LeaveAlone(*node);
    const std::string state = NodeState(*node);
    if (state == "READY") return Take(*node);
    const bool comes = kind_ == CreateKind::kAwait;
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
    const PodRecord* record = PodJournal(context_).Find(address_);
    const State& state = context_.journal.state();
    return record != nullptr && !WhoseNode(node, state, address_, name_, record->current).empty();
  }

  // Somebody was faster, and the answer that said so was lost.
  Need LeaveAlone(const Value& node) {
    if (kind_ == CreateKind::kAwait) {
      PodJournal(context_).RequestOver(address_);  // what was to make it is still there
    } else {
      PodJournal(context_).Withdraw(address_);
    }
    return Failed(
        MakeError(ErrorCode::kAlreadyExists,
                  fmt::format("a node named `{}` already exists in {}", name_.node, name_.zone),
                  TakenHint(pod_, address_, &node, context_.journal.state(), {})));
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
  Need Find() {
    phase_ = Phase::kFind;
    return ListOperations(Cloud(), name_);
  }

  Need OnListed(const Result<std::vector<Operation>>& operations) {
    phase_ = Phase::kRead;
    // Not everybody may list operations; then the node itself has to tell.
    if (!operations) return PauseRead();
    // The node is there, so the newest create of that name is what makes it, whenever it began.
    const Operation* newest = FindCreate(*operations, name_, "");
    if (newest == nullptr) return PauseRead();
    PodJournal(context_).OperationStarted(address_, newest->name);
    phase_ = Phase::kWait;
    return OnWaited(wait_.Follow(*newest));
  }

  Need PauseRead() {
    if (context_.clock.Steady() - read_since_ > limit_) {
      return Failed(MakeError(
          ErrorCode::kDeadlineExceeded,
          fmt::format("the new node does not become READY within {}", FormatDuration(limit_)),
          "The next `podctl apply` goes on waiting for it."));
    }
    return Sleep(pace_.Next());
  }

  Need Take(const Value& node) {
    if (earlier_) {
      // What was sent by the earlier run is not known any more; what is there, is.
      Value metadata = body_["metadata"];
      for (const auto& [key, entry] : pod_.metadata) {
        if (const Value* there = node["metadata"].Find(key)) metadata.Set(key, *there);
      }
      body_.Set("metadata", std::move(metadata));
    }
    PodJournal(context_).PodCreated(pod_, body_, node);
    PodJournal(context_).Publish(PodAddress(pod_.name), node);
    NoteRuntime(node);
    if (pod_.check_ready) PodJournal(context_).ReadinessWanted(pod_.name);
    const PodRecord* record = PodJournal(context_).Find(address_);
    if (!earlier_ || DiffKeys(pod_, record, node).empty()) return AskHostKeys();
    // Whoever asked for this node need not be who waits for it: its workers may not know our key.
    phase_ = Phase::kLetIn;
    let_in_ = MakePatchTask(pod_, {"metadata"}, context_);
    return OnLetIn(let_in_->Begin());
  }

  Need OnLetIn(Need need) {
    const bool done = need.kind == Need::Kind::kDone && need.result;
    return done ? AskHostKeys() : need;
  }

  Need AskHostKeys() {
    phase_ = Phase::kHostKeys;
    return CallFor(
        [&provider = context_.provider, record = *PodJournal(context_).Find(address_)](
            StepObserver&, std::stop_token stop) {
          return Reply(BackingOf(record).AskWorkers(provider, record, std::move(stop)));
        },
        false);
  }

  // The runtime of a new node starts with the metadata it was created with, on every worker.
  void NoteRuntime(const Value& node) {
    const Value* value = node["metadata"].Find(kRuntimeVariablesKey);
    if (value == nullptr || WorkerCount(node) < 2 ||
        !pod_.metadata.contains(kRuntimeVariablesKey)) {
      return;
    }
    for (int worker = 0; worker < static_cast<int>(WorkerCount(node)); ++worker) {
      PodJournal(context_).StepApplied(StepAddress(pod_.name, kRuntimeStepName), address_, worker,
                                       RuntimeDigest(value->AsString()));
    }
  }

  Need OnHostKeys(const Result<std::vector<WorkerAttributes>>& attributes) {
    // No keys is no failure: the guest may not have written them yet; whoever connects asks again.
    if (attributes) {
      PodJournal(context_).HostKeys(address_, HostKeysOf(*attributes), "guestAttributes");
      PodJournal(context_).VmNames(address_, VmNamesOf(*attributes));
    }
    if (!pod_.check_ready) return Done();
    phase_ = Phase::kReadiness;
    readiness_ = MakeReadinessTask(pod_.name, pod_.boot_timeout, context_);
    return readiness_->Begin();
  }

  // A failed create may leave a half-made node that holds the name.
  Need CleanUp() {
    phase_ = Phase::kCleanUp;
    return LookAtNode(Cloud(), name_);
  }

  Need OnCleanUpRead(const Result<Value>& node) {
    const Error failure = wait_.operation().error.front();
    if (failure.code == ErrorCode::kAlreadyExists) {
      PodJournal(context_).Withdraw(address_);  // what is there is somebody else's
      return Failed(failure);
    }
    if (!node && node.error().code == ErrorCode::kNotFound) {
      PodJournal(context_).Withdraw(address_);
      return OperationFailed();
    }
    if (!node) return OperationFailed();  // the intent stays: the next run looks
    if (IsAnothers(*node)) {
      PodJournal(context_).Withdraw(address_);
      return OperationFailed();
    }
    if (NodeState(*node) == "READY") return Take(*node);
    PodJournal(context_).NodeFound(address_, *node);
    context_.note(address_, "the creation failed and left a half-made node, which is deleted");
    clean_up_ = MakeDeleteTask(address_, false, context_);
    PodJournal(context_).OperationStarted(address_, "");  // that operation is over
    phase_ = Phase::kDelete;
    return OnCleanUp(clean_up_->Begin());
  }

  Need OnCleanUp(Need need) {
    if (need.kind != Need::Kind::kDone) return need;
    if (need.result) {
      PodJournal(context_).Withdraw(address_);
      return OperationFailed();
    }
    Error failure = wait_.operation().error.front();
    failure.hint = fmt::format("It left a half-made node, which could not be deleted: {}",
                               need.result.error().message);
    return Failed(std::move(failure));
  }

  const Address address_;
  const PodSpec pod_;
  const NodeName name_;
  const CreateKind kind_;
  const ApiVersion version_;
  std::string request_id_;  // of v2alpha1
  TaskContext& context_;
  gcp::Refusal* const refusal_;            // told why there is no node; may be nullptr
  const std::chrono::milliseconds limit_;  // until the node is READY
  OperationWait wait_;
  PollPace pace_{context_.random};
  Value body_;
  Phase phase_ = Phase::kSend;
  std::unique_ptr<Task> clean_up_;
  std::unique_ptr<Task> let_in_;
  std::unique_ptr<Task> readiness_;
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

}  // namespace podctl
