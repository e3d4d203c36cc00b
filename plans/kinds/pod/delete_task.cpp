// Declared in tasks.h.
#include <fmt/format.h>

#include <algorithm>

#include "plans/kinds/pod/journal.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/tasks.h"

namespace podctl {
namespace {

// Deletes the node of an address and makes sure of it: a delete that is sent while another
// operation settles may be dropped silently, so the node is read again until it is gone. One that
// nobody has seen is read first: what has its name by now may be another state's.
class DeleteTask final : public Task {
 public:
  DeleteTask(const Address& address, bool forget, TaskContext& context)
      : address_(address.WithoutDeposed()),
        deposed_(address.deposed),
        forget_(forget),
        context_(context),
        wait_(context) {}

  Need Begin() override {
    const PodRecord* record = PodJournal(context_).Find(address_);
    if (record == nullptr) return Done();
    name_ = NameOf(*record);
    version_ = record->api_version;
    wait_.Speak(version_);
    std::optional<PendingAction> pending = record->pending();
    uid_ = record->uid();
    if (!deposed_.empty()) {
      const auto node = std::find_if(record->deposed.begin(), record->deposed.end(),
                                     [&](const Object& each) { return each.locator == deposed_; });
      if (node == record->deposed.end()) return Done();
      name_.node = deposed_;
      pending = node->pending();
      uid_ = node->uid;
    }
    if (forget_) return Gone();
    if (pending && !pending->operation.empty()) {
      // An earlier run's operation on this node: wait for it; only a delete makes ours needless.
      phase_ = Phase::kEarlier;
      earlier_delete_ = pending->kind == PendingAction::Kind::kDelete;
      return wait_.GoOn(pending->operation);
    }
    // Begun by an earlier run that did not learn whether it arrived: the node tells.
    const bool begun = pending && pending->kind == PendingAction::Kind::kDelete;
    if (begun) request_id_ = pending->request_id;
    return begun || uid_.empty() ? Verify() : Send();
  }

  Need OnReply(Reply reply) override {
    switch (phase_) {
      case Phase::kEarlier: {
        Need need = wait_.Take(std::move(reply));
        if (!OperationWait::Over(need)) return need;
        const bool done = earlier_delete_ && wait_.operation().error.empty();
        return done || uid_.empty() ? Verify() : Send();
      }
      case Phase::kSend:
        return OnSent(std::get<Result<Operation>>(reply));
      case Phase::kWait:
        return OnWaited(wait_.Take(std::move(reply)));
      case Phase::kVerify:
        return OnVerified(std::get<Result<Value>>(reply));
    }
    return Done();
  }

  Need OnWake() override { return phase_ == Phase::kVerify ? Verify() : wait_.Look(); }

 private:
  enum class Phase { kEarlier, kSend, kWait, kVerify };
  static constexpr int kMaxSends = 5;
  static constexpr int kMaxReads = 120;

  Provider& Cloud() const { return context_.provider.Speaking(version_); }

  Need Send() {
    phase_ = Phase::kSend;
    if (++sends_ > kMaxSends) {
      PodJournal(context_).Withdraw(address_, deposed_);
      return Failed(refused_.value_or(MakeError(
          ErrorCode::kAborted,
          fmt::format("the node {} is still there after {} deletes", name_.node, kMaxSends))));
    }
    if (version_ == ApiVersion::kV2Alpha1 && request_id_.empty()) {
      request_id_ = context_.random.Uuid();
    }
    PodJournal(context_).BeginDelete(address_, deposed_, request_id_);
    return CallFor(
        [&provider = Cloud(), name = name_, id = request_id_](StepObserver&, std::stop_token stop) {
          return Reply(provider.DeleteNode(name, id, std::move(stop)));
        },
        true);
  }

  Need OnSent(const Result<Operation>& sent) {
    // What is sent after an answer is another request, not a repeat of this one.
    if (sent || sent.error().code != ErrorCode::kReplyLost) request_id_.clear();
    if (sent) {
      refused_.reset();
      PodJournal(context_).OperationStarted(address_, sent->name, deposed_);
      phase_ = Phase::kWait;
      return OnWaited(wait_.Follow(*sent));
    }
    switch (sent.error().code) {
      case ErrorCode::kNotFound:
        return Gone();
      case ErrorCode::kReplyLost:
        return Verify();
      case ErrorCode::kCancelled:
        return Failed(sent.error());  // the intent stays: the next run looks
      case ErrorCode::kAborted:
      case ErrorCode::kFailedPrecondition:
        // Another operation is under way, perhaps somebody else's delete: look, then try again.
        refused_ = sent.error();
        phase_ = Phase::kVerify;
        return Sleep(pace_.Next());
      case ErrorCode::kInvalidArgument:
        // So is a delete of what is being deleted already.
        refused_ = sent.error();
        sends_ = kMaxSends;
        return Verify();
      default:
        PodJournal(context_).Withdraw(address_, deposed_);
        return Failed(sent.error());
    }
  }

  Need OnWaited(Need need) {
    if (!OperationWait::Over(need)) return need;
    if (wait_.operation().error.empty()) return Verify();
    PodJournal(context_).Withdraw(address_, deposed_);
    return Failed(wait_.operation().error.front());
  }

  Need Verify() {
    phase_ = Phase::kVerify;
    return LookAtNode(Cloud(), name_);
  }

  Need OnVerified(const Result<Value>& node) {
    if (!node) {
      return node.error().code == ErrorCode::kNotFound ? Gone() : Failed(node.error());
    }
    if (const std::string whose = Whose(*node); !whose.empty()) {
      context_.note(address_, fmt::format("the node {} {}, and is left alone", name_.node, whose));
      return Gone();
    }
    if (NodeState(*node) == "DELETING" && ++reads_ < kMaxReads) return Sleep(pace_.Next());
    return Send();
  }

  std::string Whose(const Value& node) const {
    const PodRecord* record = PodJournal(context_).Find(address_);
    if (record == nullptr) return {};
    const auto deposed = std::find_if(record->deposed.begin(), record->deposed.end(),
                                      [&](const Object& each) { return each.locator == deposed_; });
    const bool is_deposed = !deposed_.empty() && deposed != record->deposed.end();
    return WhoseNode(node, context_.journal.state(), address_, name_,
                     is_deposed ? *deposed : record->current);
  }

  Need Gone() {
    PodJournal(context_).PodGone(address_, deposed_);
    return Done();
  }

  const Address address_;      // of the pod
  const std::string deposed_;  // the id of a deposed node; empty: the pod's own
  const bool forget_;
  TaskContext& context_;
  OperationWait wait_;
  PollPace pace_{context_.random};
  NodeName name_;
  std::string uid_;  // empty: nobody has seen it
  ApiVersion version_ = ApiVersion::kV2;
  std::string request_id_;  // of v2alpha1: the one to send, or empty for a new one
  Phase phase_ = Phase::kSend;
  std::optional<Error> refused_;  // the service's last reason not to begin
  bool earlier_delete_ = false;
  int sends_ = 0;
  int reads_ = 0;
};

}  // namespace

std::unique_ptr<Task> MakeDeleteTask(const Address& address, bool forget, TaskContext& context) {
  return std::make_unique<DeleteTask>(address, forget, context);
}

}  // namespace podctl
