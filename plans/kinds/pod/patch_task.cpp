// Declared in tasks.h.
#include <fmt/format.h>

#include <algorithm>

#include "plans/kinds/pod/diff.h"
#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/lost_update.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/pod_task.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/pod/unaccounted_nodes.h"

namespace podctl {
namespace {

// Changes fields of a node in place. metadata and labels are replaced as whole maps by the service,
// so they are read, merged, written, and looked at once more: a write that lost against somebody
// else's is repeated on what is there then, and what ours has overwritten of theirs is put back
// (lost_update.h).
//
// One round: list the operations, read, send, wait, list again, read again.
class PatchTask final : public PodTask {
 public:
  PatchTask(const PodSpec& pod, std::vector<std::string> fields, TaskContext& context)
      : PodTask(pod, context),
        pod_(pod),
        fields_(std::move(fields)),
        guard_(name_.Resource(), MapsAmong(fields_)) {}

  NextAction Begin() override {
    const PodRecord* record = Record();
    if (record == nullptr) return Failed(NotInState());
    before_ = *record;
    since_ = context_.clock.Steady();
    guard_.Own(OwnPaths());
    if (record->pending() && !record->pending()->operation.empty()) {
      return GoOn(record->pending()->operation, &PatchTask::BeginRound);
    }
    return BeginRound();
  }

 private:
  static constexpr int kMaxRounds = 5;

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

  NextAction BeginRound() {
    return guard_.guards_anything() ? ListOperations(&PatchTask::OnListedBefore)
                                    : LookAtNode(&PatchTask::OnRead);
  }

  NextAction OnListedBefore(const Result<std::vector<Operation>>& operations) {
    if (operations) guard_.SawBefore(*operations);
    return MustEnd(operations) ? Failed(operations.error()) : LookAtNode(&PatchTask::OnRead);
  }

  NextAction OnListedAfter(const Result<std::vector<Operation>>& operations) {
    if (operations) guard_.SawAfter(*operations);
    return MustEnd(operations) ? Failed(operations.error()) : LookAtNode(&PatchTask::OnVerified);
  }

  // Not everybody may list operations; the patch is right without, but for a race.
  bool MustEnd(const Result<std::vector<Operation>>& operations) {
    if (operations) return false;
    if (operations.error().code == ErrorCode::kCancelled) return true;
    guard_.Blind();
    if (!std::exchange(reported_blind_, true)) {
      context_.note(address_, "cannot see whether somebody else changes it at the same time: " +
                                  operations.error().message);
    }
    return false;
  }

  NextAction OnRead(const Result<Value>& node) {
    if (!node) return Failed(node.error());
    if (IsOfAnotherState(*node, before_.uid(), context_.journal.state().lineage)) {
      return Withdrawn(NotOurs(name_));
    }
    const bool restores = guard_.HasRepairs(*node);
    if (!restores && Holds(*node))
      return Written(*node);  // an earlier run, or somebody, was faster
    std::vector<std::string> unknown;
    Value sent =
        PatchBody(pod_, before_, guard_.Repaired(*node), fields_, context_.Lookup(), &unknown);
    if (!unknown.empty()) return Failed(Unrendered(pod_, unknown));
    if (++rounds_ > kMaxRounds) {
      return Failed(MakeError(ErrorCode::kAborted,
                              "somebody else keeps changing the node at the same time",
                              "Run `podctl apply` again when they are done."));
    }
    guard_.Writes(*node, sent);
    journal_.BeginPatch(address_);
    return Operate(CallOf(Cloud(), &Provider::PatchNode, name_, sent, UpdateMask(fields_)),
                   &PatchTask::OnRefused, &PatchTask::OnOver);
  }

  NextAction OnRefused(const Error& error) {
    switch (error.code) {
      case ErrorCode::kReplyLost:  // a repeat of the same patch is safe
        return LookAgain();
      case ErrorCode::kAborted:  // another operation on this node; read and merge again
        if (context_.clock.Steady() - since_ > context_.operation_timeout) return Withdrawn(error);
        --rounds_;
        return SleepThen(pace_.Next(), &PatchTask::BeginRound);
      case ErrorCode::kCancelled:
        return Failed(error);
      default:
        return Withdrawn(error);
    }
  }

  NextAction OnOver() {
    const std::vector<Error>& error = wait_.operation().error;
    return error.empty() ? LookAgain() : Withdrawn(error.front());
  }

  NextAction LookAgain() {
    return guard_.guards_anything() ? ListOperations(&PatchTask::OnListedAfter)
                                    : LookAtNode(&PatchTask::OnVerified);
  }

  NextAction OnVerified(const Result<Value>& node) {
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

  NextAction Written(const Value& node) {
    journal_.PodPatched(pod_, node);
    journal_.Publish(address_, node);
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

  const PodSpec pod_;
  const std::vector<std::string> fields_;
  LostUpdateGuard guard_;
  PodRecord before_;
  Clock::SteadyTime since_{};
  int rounds_ = 0;
  bool reported_blind_ = false;
};

}  // namespace

std::unique_ptr<Task> MakePatchTask(const PodSpec& pod, std::vector<std::string> fields,
                                    TaskContext& context) {
  return std::make_unique<PatchTask>(pod, std::move(fields), context);
}

}  // namespace podctl
