#include "plans/session/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"

namespace podctl {
namespace {

// By which a trouble is known again: all that is said of it but for the numbers by which the
// service's support knows an event, which differ each time.
std::string WithoutEvents(std::string text) {
  constexpr std::string_view kBegin = "[EID: ";
  for (auto begin = text.find(kBegin); begin != std::string::npos; begin = text.find(kBegin)) {
    const auto end = text.find(']', begin);
    text.erase(begin, end == std::string::npos ? end : end + 1 - begin);
  }
  return text;
}

std::string KeyOf(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& each : diagnostics.items()) {
    text +=
        fmt::format("{}\n{}\n{}:{}\n", each.summary, each.detail, each.place.file, each.place.line);
  }
  return WithoutEvents(std::move(text));
}

std::string KeyOf(const Error& error) {
  return WithoutEvents(fmt::format("{}\n{}\n", error.message, error.hint));
}

std::string KeyOf(const NoPlan& none, const Diagnostics& warnings) {
  // Whoever holds the lock, and whatever runs one after the other: it is said once.
  if (none.why == NoPlan::Why::kLock) return "lock";
  return KeyOf(warnings) + KeyOf(none.problems) + (none.error ? KeyOf(*none.error) : "");
}

std::string KeyOf(const ExecuteResult& result) {
  std::string text;
  for (const auto& failure : result.failures) {
    text += fmt::format("{}: {}{}\n", failure.change.address, KeyOf(failure.error),
                        fmt::join(failure.last_lines, "\n"));
  }
  return text;
}

}  // namespace

// While a plan is made its warnings are only kept: most of them were told in an earlier round.
class WatchSession::Warnings final : public PlanListener {
 public:
  explicit Warnings(PlanListener& listener) : listener_(listener) {}
  void OnSpec(const Diagnostics& warnings) override { all = warnings; }
  void OnTakeover(const std::string& note) override { listener_.OnTakeover(note); }

  Diagnostics all;

 private:
  PlanListener& listener_;
};

RoundEnd WatchSession::Run() {
  listener_.OnSettled();
  const RoundEnd end = Look();
  first_ = false;
  listener_.OnSettled();
  return end;
}

RoundEnd WatchSession::Look() {
  Warnings warnings(listener_);
  auto made = PreparePlan(plan_doors_, plan_wishes_, warnings);
  if (const auto* none = std::get_if<NoPlan>(&made)) return OnNoPlan(*none, warnings.all);
  PlanRun& run = std::get<PlanRun>(made);
  if (run.problems.has_errors()) {
    if (IsNews(KeyOf(run.problems))) listener_.OnUnsound(run.problems);
    const bool misused = first_ && !plan_wishes_.plan.targets.empty();
    return misused ? RoundEnd::kWrongUsage : RoundEnd::kBlocked;
  }
  std::string warned = KeyOf(warnings.all);
  if (warned != warned_ && !warned.empty()) listener_.OnSpec(warnings.all);
  warned_ = std::move(warned);
  TellSubject(run.spec);
  for (const std::string& note : run.notes) listener_.OnNote(note);
  WatchedPlan watched = ApplyWatchPolicy(run.spec, run.settled, run.plan);
  TellLeft(watched.left);
  if (!watched.acts) waits_.clear();
  const bool notes_only = !watched.acts && watched.plan.changes.empty();
  if (notes_only && run.stored == run.settled) return Fine(RoundEnd::kNothing);
  if (watched.acts) {
    if (const auto why = PrepareToEnter(apply_doors_.entry, &watched.plan)) {
      if (IsNews(KeyOf(why->error))) listener_.OnNoWayIn(*why);
      return RoundEnd::kFailed;
    }
  }
  return Act(run, watched);
}

RoundEnd WatchSession::OnNoPlan(const NoPlan& none, const Diagnostics& warnings) {
  using Why = NoPlan::Why;
  if (none.why == Why::kInterrupted) {
    listener_.OnNoPlan(none, {}, false);
    return RoundEnd::kInterrupted;
  }
  const bool hopeless = none.why == Why::kUsage || (none.why == Why::kSpec && first_);
  if (hopeless || IsNews(KeyOf(none, warnings))) listener_.OnNoPlan(none, warnings, hopeless);
  if (hopeless) return RoundEnd::kWrongUsage;
  return none.why == Why::kElse ? RoundEnd::kFailed : RoundEnd::kBlocked;
}

RoundEnd WatchSession::Act(PlanRun& run, const WatchedPlan& watched) {
  const ExecuteResult result =
      Execute(apply_doors_, options_, watched.plan, listener_.events(), &run);
  acted_ = acted_ || watched.acts;
  listener_.OnSettled();
  listener_.OnExecuted(result, watched.acts);
  if (apply_doors_.leave.stop_requested()) {
    run.lock.reset();
    listener_.OnLeave();
  }
  if (result.interrupted) return RoundEnd::kInterrupted;
  if (result.save_error) {
    told_ = "save";
    listener_.OnSaveError(result);
    return RoundEnd::kFailed;
  }
  if (!result.failures.empty()) {
    if (IsNews(KeyOf(result))) listener_.OnFailures(result);
    return RoundEnd::kFailed;
  }
  TellQueued(result.queued);
  if (result.recovered > 0 || (watched.acts && result.queued.empty())) listener_.OnDone(result);
  return Fine(watched.acts ? RoundEnd::kActed : RoundEnd::kNothing);
}

RoundEnd WatchSession::Fine(RoundEnd end) {
  if (!std::exchange(told_, "").empty()) listener_.OnOver();
  return end;
}

void WatchSession::TellSubject(const Spec& spec) {
  std::vector<Address> recreated;
  const std::vector<const PodSpec*> pods = DeclaredPods(spec);
  for (const PodSpec* pod : pods) {
    if (pod->recreate_when_lost) recreated.push_back(PodAddress(pod->name));
  }
  watched_ = pods.size();
  if (subject_ == recreated) return;
  listener_.OnSubject(recreated);
  subject_ = std::move(recreated);
}

void WatchSession::TellLeft(const std::vector<std::string>& left) {
  std::set<std::string> now(left.begin(), left.end());
  for (const std::string& each : now) {
    if (!left_.contains(each)) listener_.OnLeft(each);
  }
  left_ = std::move(now);
}

void WatchSession::TellQueued(const std::vector<Address>& queued) {
  for (const Address& address : queued) {
    const bool known = std::find(waits_.begin(), waits_.end(), address) != waits_.end();
    if (!known) listener_.OnQueued(address);
  }
  waits_ = queued;
}

bool WatchSession::IsNews(const std::string& trouble) {
  return std::exchange(told_, trouble) != trouble;
}

}  // namespace podctl
