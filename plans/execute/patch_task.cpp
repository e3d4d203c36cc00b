#include <fmt/format.h>

#include <algorithm>

#include "plans/diff.h"
#include "plans/execute/pod_tasks.h"
#include "plans/node_view.h"
#include "plans/refresh.h"

namespace podctl {
namespace {

// Changes fields of a node in place. metadata and labels are replaced as whole maps by the service,
// so they are read, merged, written, and read once more: a write that lost against somebody else's
// is repeated on what is there then.
class PatchTask final : public Task {
 public:
  PatchTask(const Change& change, const Patch& patch, TaskContext& context)
      : address_(change.address),
        pod_(patch.pod),
        fields_(patch.fields),
        name_(NameOf(patch.pod)),
        context_(context),
        wait_(context) {}

  Need Begin() override {
    const PodRecord* record = context_.journal.Find(address_);
    if (record == nullptr) {
      return Failed(MakeError(ErrorCode::kInternal, "the pod is not in the state"));
    }
    before_ = *record;
    if (record->pending && !record->pending->operation.empty()) {
      phase_ = Phase::kEarlier;
      wait_.Watch({record->pending->operation, false, {}, {}});
      return wait_.Look();
    }
    return Read(Phase::kRead);
  }

  Need OnReply(Reply reply) override {
    switch (phase_) {
      case Phase::kEarlier: {
        Need need = wait_.Take(std::move(reply));
        return need.kind == Need::Kind::kDone ? Read(Phase::kRead) : need;
      }
      case Phase::kRead:
        return OnRead(std::get<Result<Value>>(reply));
      case Phase::kSend:
        return OnSent(std::get<Result<Operation>>(reply));
      case Phase::kWait: {
        Need need = wait_.Take(std::move(reply));
        if (need.kind != Need::Kind::kDone || !need.result) return need;
        return OnWaited();
      }
      case Phase::kVerify:
        return OnVerified(std::get<Result<Value>>(reply));
    }
    return Done();
  }

  Need OnWake() override {
    if (phase_ == Phase::kSend || phase_ == Phase::kRead) return Read(Phase::kRead);
    return phase_ == Phase::kVerify ? Read(Phase::kVerify) : wait_.Look();
  }
  std::string Id() const override { return name_.Resource(); }

 private:
  enum class Phase { kEarlier, kRead, kSend, kWait, kVerify };
  static constexpr int kMaxRounds = 5;

  Need Read(Phase phase) {
    phase_ = phase;
    return CallFor(
        [&provider = context_.provider, name = name_](StepObserver&, std::stop_token stop) {
          return Reply(provider.GetNode(name, std::move(stop)));
        },
        false);
  }

  Need OnRead(const Result<Value>& node) {
    if (!node) return Failed(node.error());
    std::vector<std::string> unknown;
    read_ = *node;
    sent_ = PatchBody(pod_, before_, *node, fields_, context_.Lookup(), &unknown);
    if (!unknown.empty()) {
      return Failed(MakeError(
          ErrorCode::kFailedPrecondition,
          fmt::format("{} refers to something that is not known", fmt::join(unknown, ", "))));
    }
    if (++rounds_ > kMaxRounds) {
      return Failed(MakeError(ErrorCode::kAborted,
                              "somebody else keeps changing the node at the same time",
                              "Run `podctl apply` again when they are done."));
    }
    phase_ = Phase::kSend;
    context_.journal.BeginPatch(address_);
    return CallFor(
        [&provider = context_.provider, name = name_, body = sent_, mask = UpdateMask(fields_)](
            StepObserver&, std::stop_token stop) {
          return Reply(provider.PatchNode(name, body, mask, std::move(stop)));
        },
        true);
  }

  Need OnSent(const Result<Operation>& sent) {
    if (sent) {
      context_.journal.OperationStarted(address_, sent->name);
      phase_ = Phase::kWait;
      wait_.Watch(*sent);
      return sent->done ? OnWaited() : wait_.Pause();
    }
    switch (sent.error().code) {
      case ErrorCode::kReplyLost:  // a repeat of the same patch is safe
        return Read(Phase::kVerify);
      case ErrorCode::kAborted:  // another operation on this node; read and merge again
        return Sleep(pace_.Next());
      case ErrorCode::kCancelled:
        return Failed(sent.error());
      default:
        context_.journal.Withdraw(address_);
        return Failed(sent.error());
    }
  }

  Need OnWaited() {
    if (!wait_.operation().error.empty()) {
      context_.journal.Withdraw(address_);
      return Failed(wait_.operation().error.front());
    }
    return Read(Phase::kVerify);
  }

  Need OnVerified(const Result<Value>& node) {
    if (!node) return Failed(node.error());
    if (!Holds(*node)) return Read(Phase::kRead);
    context_.journal.PodWritten(pod_, sent_, *node, fields_);
    context_.nodes[pod_.name] = *node;
    return Done();
  }

  // Whether the node holds what was sent: every own key as written, no own key left that was taken
  // out. Others' keys may have moved on since; those are theirs.
  bool Holds(const Value& node) const {
    const PodDiff left = DiffPod(pod_, &before_, node, context_.Lookup());
    return std::none_of(fields_.begin(), fields_.end(), [&](const std::string& field) {
      return std::count(left.patch_fields.begin(), left.patch_fields.end(), field) > 0;
    });
  }

  const std::string address_;
  const PodSpec pod_;
  const std::vector<std::string> fields_;
  const NodeName name_;
  TaskContext& context_;
  OperationWait wait_;
  PollPace pace_{context_.random};
  PodRecord before_;
  Value read_;
  Value sent_;
  Phase phase_ = Phase::kRead;
  int rounds_ = 0;
};

}  // namespace

std::unique_ptr<Task> MakePatchTask(const Change& change, const Patch& patch,
                                    TaskContext& context) {
  return std::make_unique<PatchTask>(change, patch, context);
}

}  // namespace podctl
