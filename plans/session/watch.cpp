#include "plans/session/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "plans/engine/kind.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "state/state.h"

namespace podctl {
namespace {

using std::chrono::milliseconds;

// The first failure may have passed by the next round; what lasts is asked for less often, and not
// by everybody in step: up to 10 % more, by chance.
milliseconds PauseAfter(int failures, const WatchIntervals& pace, Random& random) {
  if (failures < 2) return pace.interval;
  const milliseconds longest = std::max(pace.interval, pace.longest);
  milliseconds pause = pace.interval;
  for (int i = 1; i < failures && pause < longest; ++i) pause *= 2;
  pause = std::min(pause, longest);
  return pause + milliseconds(static_cast<std::int64_t>(static_cast<double>(pause.count()) * 0.1 *
                                                        random.Uniform()));
}

}  // namespace

RoundEnd Watch(WatchRound& round, const WatchIntervals& pace, Clock& clock, Random& random,
               const std::stop_token& stop) {
  int failures = 0;
  while (true) {
    const RoundEnd end = round.Run();
    if (end == RoundEnd::kWrongUsage || end == RoundEnd::kInterrupted || pace.once) return end;
    failures = end == RoundEnd::kFailed ? failures + 1 : 0;
    const milliseconds pause = PauseAfter(failures, pace, random);
    round.OnPause(clock.Now() + pause);
    if (!clock.SleepFor(pause, stop)) return RoundEnd::kInterrupted;
  }
}

namespace {

class Policy {
 public:
  Policy(const Spec& spec, const State& state, const Plan& plan) : state_(state), plan_(plan) {
    for (const PodSpec* pod : DeclaredPods(spec)) pods_[PodAddress(pod->name)] = pod;
    for (const Declared& declared : spec.declared) declared_[declared.address] = &declared;
    for (const Change& change : plan.changes) changes_[change.address] = &change;
  }

  WatchedPlan Run() {
    for (const Change& change : plan_.changes) {
      if (MayDo(change)) allowed_.insert(change.address);
    }
    HoldBack();
    WatchedPlan watched;
    watched.plan = plan_;
    watched.plan.changes.clear();
    watched.plan.drift.clear();
    watched.acts = !allowed_.empty();
    const std::set<Address> grounds = Grounds();
    for (const Change& change : plan_.changes) {
      const bool keep = IsKeep(change);
      if (allowed_.contains(change.address) || (keep && grounds.contains(change.address))) {
        watched.plan.changes.push_back(change);
      }
      if (!keep && !allowed_.contains(change.address)) watched.left.push_back(Described(change));
    }
    return watched;
  }

 private:
  static std::string LostOf(const Change& change) {
    const PodChange* pod = AsPod(change);
    return pod == nullptr ? "" : pod->lost;
  }

  const PodSpec* PodOf(const Change& change) const {
    const auto pod = pods_.find(PodAddress(PodNameOf(change.address)));
    return pod == pods_.end() ? nullptr : pod->second;
  }

  bool IsRecoveringPod(const Address& address) const {
    const PodRecord* record = Pods(state_).Get(address);
    return record != nullptr && IsRecovering(*record);
  }

  // By itself; what it waits for is looked at in HoldBack.
  bool MayDo(const Change& change) const {
    const PodSpec* pod = PodOf(change);
    if (pod == nullptr) {
      const Kind* kind = change.payload.kind();
      return kind->follows(change) && std::any_of(change.waits_for.begin(), change.waits_for.end(),
                                                  [&](const Address& address) {
                                                    const auto base = changes_.find(address);
                                                    return base != changes_.end() &&
                                                           MayDo(*base->second);
                                                  });
    }
    if (!pod->recreate_when_lost) return false;
    if (Makes(change)) return !LostOf(change).empty();
    if (change.verb != Verb::kRun) return false;
    const Address address = PodAddress(PodNameOf(change.address));
    const auto of_pod = changes_.find(address);
    if (of_pod == changes_.end()) return false;
    // The bootstrap of a pod that is made anew, or was, by a run that did not come to its end.
    return IsKeep(*of_pod->second) ? IsRecoveringPod(address) : MayDo(*of_pod->second);
  }

  // What builds on something that is not done here cannot be done either.
  void HoldBack() {
    for (bool again = true; again;) {
      again = false;
      for (const Change& change : plan_.changes) {
        if (!allowed_.contains(change.address)) continue;
        for (const Address& address : change.waits_for) {
          const auto other = changes_.find(address);
          const bool done =
              other == changes_.end() || IsKeep(*other->second) || allowed_.contains(address);
          if (done) continue;
          allowed_.erase(change.address);
          held_[change.address] = address;
          again = true;
          break;
        }
      }
    }
  }

  // What is done, what that builds on, which it may refer to, and pods whose recovery is complete
  // but for a note.
  std::set<Address> Grounds() const {
    std::vector<Address> open;
    for (const Address& address : allowed_) {
      const std::string pod = PodNameOf(address);
      open.push_back(pod.empty() ? address : PodAddress(pod));
    }
    for (const auto& [address, record] : Pods(state_)) {
      if (IsRecovering(record) && !HasStepsLeft(address)) open.push_back(address);
    }
    std::set<Address> grounds;
    while (!open.empty()) {
      const Address address = open.back();
      open.pop_back();
      if (!grounds.insert(address).second) continue;
      if (const auto thing = declared_.find(address); thing != declared_.end()) {
        for (const Address& base : thing->second->builds_on) open.push_back(base);
      }
    }
    return grounds;
  }

  bool HasStepsLeft(const Address& address) const {
    for (const Change& change : plan_.changes) {
      if (change.verb == Verb::kRun && PodNameOf(change.address) == address.name) return true;
    }
    return false;
  }

  std::string Described(const Change& change) const {
    const auto held = held_.find(change.address);
    if (held != held_.end()) {
      return fmt::format("{} waits for {}, which is not done here", change.address, held->second);
    }
    if (const std::string lost = LostOf(change); !lost.empty()) {
      return fmt::format("{} is {}, and its `onPreemption` is not `recreate`", change.address,
                         lost);
    }
    return fmt::format("{}: {}{}", change.address, WordOf(change.verb),
                       change.reason.empty() ? "" : ", because " + change.reason);
  }

  const State& state_;
  const Plan& plan_;
  std::map<Address, const PodSpec*> pods_;
  std::map<Address, const Declared*> declared_;
  std::map<Address, const Change*> changes_;
  std::set<Address> allowed_;
  std::map<Address, Address> held_;  // for what
};

}  // namespace

WatchedPlan ApplyWatchPolicy(const Spec& spec, const State& state, const Plan& plan) {
  return Policy(spec, state, plan).Run();
}

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

// Whether it is what the end of the pod is made of: what else an apply would do is left to it.
bool IsPartOf(const PodEnd& end, const Change& change) {
  if (PodNameOf(change.address) != end.pod) return false;
  if (end.what == IdleSpec::Then::kDelete) return IsDelete(change);
  const PodChange* pod = AsPod(change);
  return pod != nullptr && change.verb == Verb::kUpdate && pod->power == Power::kStop &&
         pod->fields.empty();
}

}  // namespace

// While a plan is made its warnings are only kept: most of them were told in an earlier round.
class WatchSession::Warnings final : public PlanListener {
 public:
  Warnings(PlanListener& listener, std::set<std::string>* told)
      : listener_(listener), told_(told) {}
  void OnSpec(const Diagnostics& warnings) override { all = warnings; }
  void OnTakeover(const std::string& note) override {
    // Of a file that stays, once and not in each round.
    if (told_->insert(note).second) listener_.OnTakeover(note);
  }

  Diagnostics all;

 private:
  PlanListener& listener_;
  std::set<std::string>* const told_;
};

RoundEnd WatchSession::Run() {
  listener_.OnSettled();
  ends_.Forget();
  spec_.reset();
  RoundEnd end = Look();
  // What a look has found is true until a run changes it, and what failed is looked at again first.
  if (end == RoundEnd::kNothing || end == RoundEnd::kActed) end = std::max(end, LookAtJobs());
  if (end == RoundEnd::kNothing || end == RoundEnd::kActed) end = std::max(end, EndPods());
  first_ = false;
  listener_.OnSettled();
  return end;
}

RoundEnd WatchSession::Look() {
  Warnings warnings(listener_, &told_of_lock_);
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
  if (!run.wanted.empty()) {
    spec_ = run.spec;
    wanted_ = run.wanted;
  }
  WatchedPlan watched = ApplyWatchPolicy(run.spec, run.settled, run.plan);
  TellLeft(watched.left);
  if (!watched.acts) waits_.clear();
  // One pod may wait in the queue for days: the others end all the same.
  std::set<std::string> busy;
  for (const Change& change : watched.plan.changes) busy.insert(PodNameOf(change.address));
  ends_.See(run.spec, run.settled, watched.acts ? busy : std::set<std::string>());
  const bool notes_only = !watched.acts && watched.plan.changes.empty();
  if (notes_only && run.stored == run.settled) return Fine(RoundEnd::kNothing);
  if (watched.acts) {
    if (const auto why = PrepareAccess(apply_doors_.entry, &watched.plan)) {
      if (IsNews(KeyOf(why->error))) listener_.OnNoAccess(*why);
      return RoundEnd::kFailed;
    }
  }
  return Act(run, std::move(watched));
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

RoundEnd WatchSession::Act(PlanRun& run, WatchedPlan watched) {
  const ExecuteResult result =
      Execute(apply_doors_, options_, watched.plan, listener_.events(), &run);
  acted_ = acted_ || watched.acts;
  listener_.OnSettled();
  listener_.OnExecuted(result, watched.acts);
  if (apply_doors_.leave.stop_requested()) {
    run.lock.reset();
    listener_.OnLeave();
  }
  const RoundEnd end = Tell(result, watched.acts);
  if (result.interrupted || !watched.acts) return end;
  run.plan = std::move(watched.plan);
  run.lock.reset();  // what is started asks the state for its pod
  const bool all_started = listener_.StartJobs(run, result);
  if (apply_doors_.drain.stop_requested()) return RoundEnd::kInterrupted;
  return all_started ? end : RoundEnd::kFailed;
}

bool WatchSession::IsWatched(const std::string& pod) const {
  const auto& targets = plan_wishes_.plan.targets;
  const std::string address = PodAddress(pod).Text();
  return targets.empty() || std::find(targets.begin(), targets.end(), address) != targets.end();
}

// With the lock of the look given back: the workers are asked, and others may go on meanwhile.
RoundEnd WatchSession::LookAtJobs() {
  if (!spec_) return RoundEnd::kNothing;
  std::erase_if(wanted_, [&](const auto& of_pod) { return !IsWatched(of_pod.first); });
  const WantedLook look = listener_.LookAtJobs(*spec_, wanted_);
  if (apply_doors_.drain.stop_requested()) return RoundEnd::kInterrupted;
  // A pod that is taken back while its job starts is the rule here: no reason to look less often.
  if (look == WantedLook::kFailed) return RoundEnd::kBlocked;
  acted_ = acted_ || look == WantedLook::kBroughtBack;
  return look == WantedLook::kBroughtBack ? RoundEnd::kActed : RoundEnd::kNothing;
}

RoundEnd WatchSession::EndPods() {
  Clock& clock = apply_doors_.clock;
  const auto tell = [&](const std::string& remark) { listener_.OnNote(remark); };
  const RoundEnd over = EndAll(ends_.LookAtTtl(clock, tell));
  if (over == RoundEnd::kInterrupted) return over;
  const auto use = [&](const std::string& pod) { return listener_.LookForUse(pod); };
  return std::max(over, EndAll(ends_.LookForUse(use, clock, tell)));
}

RoundEnd WatchSession::EndAll(const std::vector<PodEnd>& due) {
  RoundEnd all = RoundEnd::kNothing;
  for (const PodEnd& end : due) {
    if (!IsWatched(end.pod)) continue;
    if (apply_doors_.drain.stop_requested()) return RoundEnd::kInterrupted;
    all = std::max(all, EndPod(end));
  }
  return all;
}

// A run of its own, narrowed to the pod. Whoever has changed it since is seen by its plan.
RoundEnd WatchSession::EndPod(const PodEnd& end) {
  PlanRequest request = plan_wishes_;
  request.plan.targets = {PodAddress(end.pod).Text()};
  if (end.what == IdleSpec::Then::kDelete) {
    request.plan.mode = PlanMode::kDestroy;
  } else {
    request.edit = [&](Spec* spec) {
      for (PodSpec* pod : EditPods(spec)) {
        if (pod->name == end.pod) pod->desired_state = "STOPPED";
      }
    };
  }
  Warnings warnings(listener_, &told_of_lock_);
  auto made = PreparePlan(plan_doors_, request, warnings);
  if (const auto* none = std::get_if<NoPlan>(&made)) {
    if (none->why == NoPlan::Why::kInterrupted) return RoundEnd::kInterrupted;
    if (IsEndNews(end, KeyOf(*none, {}))) listener_.OnNoPlan(*none, {}, false);
    return none->why == NoPlan::Why::kElse ? RoundEnd::kFailed : RoundEnd::kBlocked;
  }
  PlanRun& run = std::get<PlanRun>(made);
  if (run.problems.has_errors()) {
    if (IsEndNews(end, KeyOf(run.problems))) listener_.OnUnsound(run.problems);
    return RoundEnd::kBlocked;
  }
  const auto& changes = run.plan.changes;
  if (std::all_of(changes.begin(), changes.end(), IsKeep)) return RoundEnd::kNothing;
  const auto more = std::find_if(changes.begin(), changes.end(), [&](const Change& change) {
    return !IsKeep(change) && !IsPartOf(end, change);
  });
  if (more != changes.end()) {
    const std::string what =
        fmt::format("{} stays, although {}: {} {}", PodAddress(end.pod), end.why, more->address,
                    IsDelete(*more) ? "is built on it" : "is to be changed by an apply first");
    if (IsEndNews(end, what)) listener_.OnNote(what);
    return RoundEnd::kBlocked;
  }
  listener_.OnEnd(end);
  const ExecuteResult result = Execute(apply_doors_, options_, run.plan, listener_.events(), &run);
  acted_ = true;
  listener_.OnSettled();
  listener_.OnExecuted(result, true);
  if (apply_doors_.leave.stop_requested()) {
    run.lock.reset();
    listener_.OnLeave();
  }
  if (result.save_error) listener_.OnSaveError(result);
  if (result.interrupted) return RoundEnd::kInterrupted;
  if (result.ok()) return RoundEnd::kActed;
  if (!result.failures.empty() && IsEndNews(end, KeyOf(result))) listener_.OnFailures(result);
  return RoundEnd::kFailed;
}

// What keeps a pod from its end is told once for as long as it is the same.
bool WatchSession::IsEndNews(const PodEnd& end, const std::string& trouble) {
  return std::exchange(end_troubles_[end.pod], trouble) != trouble;
}

RoundEnd WatchSession::Tell(const ExecuteResult& result, bool acts) {
  if (result.save_error) {
    reported_ = "save";
    listener_.OnSaveError(result);
    if (!result.interrupted) return RoundEnd::kFailed;
  }
  if (result.interrupted) return RoundEnd::kInterrupted;
  if (!result.failures.empty()) {
    if (IsNews(KeyOf(result))) listener_.OnFailures(result);
    return RoundEnd::kFailed;
  }
  if (!result.ok()) return RoundEnd::kFailed;  // the state's place was out of reach for a while
  TellQueued(result.queued);
  if (result.recovered > 0 || (acts && result.queued.empty())) listener_.OnDone(result);
  return Fine(acts ? RoundEnd::kActed : RoundEnd::kNothing);
}

RoundEnd WatchSession::Fine(RoundEnd end) {
  if (!std::exchange(reported_, "").empty()) listener_.OnOver();
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
  return std::exchange(reported_, trouble) != trouble;
}

}  // namespace podctl
