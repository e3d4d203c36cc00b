// Declared in tasks.h.
#include <fmt/format.h>

#include <algorithm>

#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/pod_task.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/settle.h"

namespace podctl {
namespace {

// Deletes the node of an address and makes sure of it: a delete that is sent while another
// operation settles may be dropped silently, so the node is read again until it is gone. It is read
// first, too: what has its name by now may be another state's, and a plan may be old, or made
// without a look.
class DeleteTask final : public PodTask {
 public:
  DeleteTask(const Address& address, bool forget, TaskContext& context)
      : PodTask(address.WithoutDeposed(), context), forget_(forget) {
    deposed_ = address.deposed;
  }

  NextAction Begin() override {
    const PodRecord* record = Record();
    if (record == nullptr) return Done();
    name_ = NameOf(*record);
    UseVersion(record->api_version);
    std::optional<PendingAction> pending = record->pending();
    if (!deposed_.empty()) {
      const auto node = std::find_if(record->deposed.begin(), record->deposed.end(),
                                     [&](const Object& each) { return each.locator == deposed_; });
      if (node == record->deposed.end()) return Done();
      name_.node = deposed_;
      pending = node->pending();
    }
    if (forget_) return Gone();
    const bool begun = pending && pending->kind == PendingAction::Kind::kDelete;
    if (pending && !pending->operation.empty()) {
      // An earlier run's operation on this node: wait for it.
      return GoOn(pending->operation, &DeleteTask::Verify);
    }
    // Begun by an earlier run that did not learn whether it arrived: the node tells.
    if (begun) request_id_ = pending->request_id;
    return Verify();
  }

  std::string Id() const override { return {}; }

 private:
  static constexpr int kMaxSends = 5;
  static constexpr int kMaxReads = 120;

  NextAction Send() {
    if (++sends_ > kMaxSends) {
      if (refused_) return Withdrawn(NotDeleted(What(), *refused_));
      return Withdrawn(
          MakeError(ErrorCode::kAborted,
                    fmt::format("{} is still there after {} deletes", What(), kMaxSends)));
    }
    if (version_ == ApiVersion::kV2Alpha1 && request_id_.empty()) {
      request_id_ = context_.random.Uuid();
    }
    journal_.BeginDelete(address_, deposed_, request_id_);
    return Operate(CallOf(Cloud(), &Provider::DeleteNode, name_, request_id_),
                   &DeleteTask::OnRefused, &DeleteTask::OnOver);
  }

  NextAction OnRefused(const Error& error) {
    if (error.code == ErrorCode::kReplyLost) return Verify();
    // What is sent after an answer is another request, not a repeat of this one.
    request_id_.clear();
    switch (error.code) {
      case ErrorCode::kNotFound:
        return Gone();
      case ErrorCode::kCancelled:
        return Failed(error);  // the intent stays: the next run looks
      case ErrorCode::kAborted:
      case ErrorCode::kFailedPrecondition:
        // Another operation is under way, perhaps somebody else's delete: look, then try again.
        refused_ = error;
        return SleepThen(pace_.Next(), &DeleteTask::Verify);
      case ErrorCode::kInvalidArgument:
        // So is a delete of what is being deleted already.
        refused_ = error;
        sends_ = kMaxSends;
        return Verify();
      default:
        return Withdrawn(NotDeleted(What(), error));
    }
  }

  NextAction OnOver() {
    request_id_.clear();
    refused_.reset();
    const std::vector<Error>& error = wait_.operation().error;
    if (error.empty()) return Verify();
    return Withdrawn(NotDeleted(What(), error.front(), wait_.operation().name));
  }

  std::string What() const { return fmt::format("the node {}", name_.node); }

  NextAction Verify() { return LookAtNode(&DeleteTask::OnVerified); }

  NextAction OnVerified(const Result<Value>& node) {
    if (!node) {
      return node.error().code == ErrorCode::kNotFound ? Gone() : Failed(node.error());
    }
    if (const std::string whose = Whose(*node); !whose.empty()) {
      context_.note(address_, fmt::format("the node {} {}, and is left alone", name_.node, whose));
      return Gone();
    }
    if (NodeState(*node) == "DELETING" && ++reads_ < kMaxReads) {
      return SleepThen(pace_.Next(), &DeleteTask::Verify);
    }
    return Send();
  }

  std::string Whose(const Value& node) const {
    const PodRecord* record = Record();
    if (record == nullptr) return {};
    const auto deposed = std::find_if(record->deposed.begin(), record->deposed.end(),
                                      [&](const Object& each) { return each.locator == deposed_; });
    const bool is_deposed = !deposed_.empty() && deposed != record->deposed.end();
    if (is_deposed && !deposed->uid.empty() && !IsSameUid(deposed->uid, NodeUid(node))) {
      return "was deleted and made anew outside of podctl";
    }
    return WhoseNode(node, context_.journal.state(), address_, name_,
                     is_deposed ? *deposed : record->current);
  }

  NextAction Gone() {
    journal_.PodGone(address_, deposed_);
    return Done();
  }

  const bool forget_;
  std::string request_id_;        // of v2alpha1: the one to send, or empty for a new one
  std::optional<Error> refused_;  // the service's last reason not to begin
  int sends_ = 0;
  int reads_ = 0;
};

}  // namespace

std::unique_ptr<Task> MakeDeleteTask(const Address& address, bool forget, TaskContext& context) {
  return std::make_unique<DeleteTask>(address, forget, context);
}

}  // namespace podctl
