// Declared in tasks.h.
#include <fmt/format.h>

#include <algorithm>

#include "plans/kinds/pod/diff.h"
#include "plans/kinds/pod/journal.h"
#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/lost_update.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/pod/tasks.h"
#include "plans/kinds/pod/unknown_fate.h"

namespace podctl {
namespace {

// Changes fields of a node in place. metadata and labels are replaced as whole maps by the service,
// so they are read, merged, written, and looked at once more: a write that lost against somebody
// else's is repeated on what is there then, and what ours has overwritten of theirs is put back
// (lost_update.h).
//
// One round: list the operations, read, send, wait, list again, read again.
class PatchTask final : public Task {
 public:
  PatchTask(const PodSpec& pod, std::vector<std::string> fields, TaskContext& context)
      : address_(PodAddress(pod.name)),
        pod_(pod),
        fields_(std::move(fields)),
        name_(NameOf(pod)),
        version_(pod_.api_version.value_or(ApiVersion::kV2)),
        context_(context),
        wait_(context),
        guard_(name_.Resource(), MapsAmong(fields_)) {
    wait_.Speak(version_);
  }

  Need Begin() override {
    const PodRecord* record = PodJournal(context_).Find(address_);
    if (record == nullptr) {
      return Failed(MakeError(ErrorCode::kInternal, "the pod is not in the state"));
    }
    before_ = *record;
    since_ = context_.clock.Steady();
    guard_.Own(OwnPaths());
    if (record->pending() && !record->pending()->operation.empty()) {
      phase_ = Phase::kEarlier;
      return wait_.GoOn(record->pending()->operation);
    }
    return BeginRound();
  }

  Need OnReply(Reply reply) override {
    switch (phase_) {
      case Phase::kEarlier: {
        Need need = wait_.Take(std::move(reply));
        return OperationWait::Over(need) ? BeginRound() : need;
      }
      case Phase::kListBefore:
        return OnListed(std::get<Result<std::vector<Operation>>>(reply));
      case Phase::kRead:
        return OnRead(std::get<Result<Value>>(reply));
      case Phase::kSend:
        return OnSent(std::get<Result<Operation>>(reply));
      case Phase::kWait:
        return OnWaited(wait_.Take(std::move(reply)));
      case Phase::kListAfter:
        return OnListed(std::get<Result<std::vector<Operation>>>(reply));
      case Phase::kVerify:
        return OnVerified(std::get<Result<Value>>(reply));
    }
    return Done();
  }

  Need OnWake() override {
    const bool waits = phase_ == Phase::kWait || phase_ == Phase::kEarlier;
    return waits ? wait_.Look() : BeginRound();
  }
  std::string Id() const override { return name_.Resource(); }

 private:
  enum class Phase { kEarlier, kListBefore, kRead, kSend, kWait, kListAfter, kVerify };
  static constexpr int kMaxRounds = 5;

  Provider& Cloud() const { return context_.provider.Speaking(version_); }

  static std::vector<std::string> MapsAmong(const std::vector<std::string>& fields) {
    std::vector<std::string> maps;
    for (const std::string& field : fields) {
      if (field == "metadata" || field == "labels") maps.push_back(field);
    }
    return maps;
  }

  // What the spec names now or podctl wrote before, but for what is ignored.
  std::set<std::string> OwnPaths() const {
    std::set<std::string> paths;
    for (const auto& [key, entry] : pod_.metadata) paths.insert("metadata." + key);
    for (const auto& [key, value] : before_.metadata) paths.insert("metadata." + key);
    for (const Value* fields : {&pod_.node, &before_.applied}) {
      for (const auto& [key, value] : (*fields)["labels"].AsMap()) paths.insert("labels." + key);
    }
    std::erase_if(paths, [&](const std::string& path) { return IsIgnored(pod_, path); });
    return paths;
  }

  Need BeginRound() {
    return guard_.guards_anything() ? List(Phase::kListBefore) : Read(Phase::kRead);
  }

  Need List(Phase phase) {
    phase_ = phase;
    return ListOperations(Cloud(), name_);
  }

  Need Read(Phase phase) {
    phase_ = phase;
    return LookAtNode(Cloud(), name_);
  }

  Need OnListed(const Result<std::vector<Operation>>& operations) {
    const bool before = phase_ == Phase::kListBefore;
    if (operations) {
      before ? guard_.SawBefore(*operations) : guard_.SawAfter(*operations);
    } else if (operations.error().code == ErrorCode::kCancelled) {
      return Failed(operations.error());
    } else {
      // Not everybody may list operations; the patch is right without, but for a race.
      guard_.Blind();
      if (!std::exchange(told_blind_, true)) {
        context_.note(address_, "cannot see whether somebody else changes it at the same time: " +
                                    operations.error().message);
      }
    }
    return Read(before ? Phase::kRead : Phase::kVerify);
  }

  Need OnRead(const Result<Value>& node) {
    if (!node) return Failed(node.error());
    if (IsOfAnotherState(*node, before_.uid(), context_.journal.state().lineage)) {
      PodJournal(context_).Withdraw(address_);
      return Failed(NotOurs(name_));
    }
    const bool restores = guard_.HasRepairs(*node);
    if (!restores && Holds(*node))
      return Written(*node);  // an earlier run, or somebody, was faster
    std::vector<std::string> unknown;
    Value sent =
        PatchBody(pod_, before_, guard_.Repaired(*node), fields_, context_.Lookup(), &unknown);
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
    guard_.Writes(*node, sent);
    phase_ = Phase::kSend;
    PodJournal(context_).BeginPatch(address_);
    return CallFor(
        [&provider = Cloud(), name = name_, body = std::move(sent), mask = UpdateMask(fields_)](
            StepObserver&, std::stop_token stop) {
          return Reply(provider.PatchNode(name, body, mask, std::move(stop)));
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
      case ErrorCode::kReplyLost:  // a repeat of the same patch is safe
        return LookAgain();
      case ErrorCode::kAborted:  // another operation on this node; read and merge again
        if (context_.clock.Steady() - since_ > context_.operation_timeout) {
          PodJournal(context_).Withdraw(address_);
          return Failed(sent.error());
        }
        --rounds_;
        return Sleep(pace_.Next());
      case ErrorCode::kCancelled:
        return Failed(sent.error());
      default:
        PodJournal(context_).Withdraw(address_);
        return Failed(sent.error());
    }
  }

  Need OnWaited(Need need) {
    if (!OperationWait::Over(need)) return need;
    if (!wait_.operation().error.empty()) {
      PodJournal(context_).Withdraw(address_);
      return Failed(wait_.operation().error.front());
    }
    return LookAgain();
  }

  Need LookAgain() {
    return guard_.guards_anything() ? List(Phase::kListAfter) : Read(Phase::kVerify);
  }

  Need OnVerified(const Result<Value>& node) {
    if (!node) return Failed(node.error());
    const std::vector<std::string> lost = guard_.FindLost(*node);
    for (const std::string& path : lost) {
      context_.note(address_, fmt::format("somebody else changed {} at the same time; their value "
                                          "is put back",
                                          path));
    }
    if (!lost.empty() || !Holds(*node)) return BeginRound();
    return Written(*node);
  }

  Need Written(const Value& node) {
    PodJournal(context_).PodPatched(pod_, node);
    PodJournal(context_).Publish(PodAddress(pod_.name), node);
    return Done();
  }

  // Whether the node holds what the spec wants: every own key as written, no own key left that was
  // taken out. Others' keys may have moved on since; those are theirs.
  bool Holds(const Value& node) const {
    const PodDiff left = DiffPod(pod_, &before_, node, context_.Lookup());
    return std::none_of(fields_.begin(), fields_.end(), [&](const std::string& field) {
      return std::count(left.patch_fields.begin(), left.patch_fields.end(), field) > 0;
    });
  }

  const Address address_;
  const PodSpec pod_;
  const std::vector<std::string> fields_;
  const NodeName name_;
  const ApiVersion version_;
  TaskContext& context_;
  OperationWait wait_;
  LostUpdateGuard guard_;
  PollPace pace_{context_.random};
  PodRecord before_;
  Clock::SteadyTime since_{};
  Phase phase_ = Phase::kRead;
  int rounds_ = 0;
  bool told_blind_ = false;
};

}  // namespace

std::unique_ptr<Task> MakePatchTask(const PodSpec& pod, std::vector<std::string> fields,
                                    TaskContext& context) {
  return std::make_unique<PatchTask>(pod, std::move(fields), context);
}

}  // namespace podctl
