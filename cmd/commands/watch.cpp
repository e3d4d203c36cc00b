#include "cmd/commands/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cmd/command.h"
#include "cmd/commands/commands.h"
#include "cmd/commands/execute_report.h"
#include "cmd/commands/failure.h"
#include "cmd/commands/plan_run.h"
#include "cmd/context.h"
#include "cmd/reporter.h"
#include "plans/execute/executor.h"
#include "plans/watch_loop.h"
#include "plans/watch_policy.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// What a text says but for the numbers by which the service's support knows an event: those differ
// each time the same is said.
std::string WithoutEvents(std::string text) {
  constexpr std::string_view kBegin = "[EID: ";
  for (auto begin = text.find(kBegin); begin != std::string::npos; begin = text.find(kBegin)) {
    const auto end = text.find(']', begin);
    text.erase(begin, end == std::string::npos ? end : end + 1 - begin);
  }
  return text;
}

std::string TextOf(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& each : diagnostics.items()) {
    text +=
        fmt::format("{}\n{}\n{}:{}\n", each.summary, each.detail, each.place.file, each.place.line);
  }
  return WithoutEvents(std::move(text));
}

class Round final : public WatchRound {
 public:
  Round(Wiring& wiring, const WatchOptions& options)
      : wiring_(wiring),
        reporter_(wiring.reporter()),
        options_(options),
        view_(reporter_.Watch()) {}

  RoundEnd Run() override {
    view_->Settle();
    const RoundEnd end = Look();
    first_ = false;
    view_->Settle();
    return end;
  }

  void OnPause(Clock::SystemTime until) override {
    const std::string how = !told_.empty()   ? "the last look failed"
                            : !left_.empty() ? "something is left to `podctl apply`"
                            : !waits_.empty()
                                ? fmt::format("{} waits in the queue", fmt::join(waits_, ", "))

                                : "all is well";
    view_->ShowPause(fmt::format("watching {}: {}, next look at {}", Plural(watched_, "pod"), how,
                                 FormatTimestamp(until)));
  }

  void Say(const std::string& text) { view_->Say(text); }

  bool acted() const { return acted_; }
  bool left() const { return !left_.empty() || !waits_.empty(); }

 private:
  RoundEnd Look() {
    PlanRunOptions prepare;
    prepare.operation = "watch";
    prepare.plan.targets = options_.targets;
    prepare.lock = true;
    prepare.will_enter = true;
    prepare.keep_stored = true;
    held_ = {};
    reporter_.Hold(&held_);
    NoPlan why{};
    std::optional<PlanRun> run = PreparePlan(wiring_, prepare, &why);
    reporter_.Hold(nullptr);
    if (!run) return OnNoPlan(why);
    if (run->problems.has_errors()) {
      const bool misused = first_ && !options_.targets.empty();
      Tell(WithSourceLines(wiring_.files(), run->problems));
      return misused ? RoundEnd::kWrongUsage : RoundEnd::kBlocked;
    }
    TellWarnings();
    TellSubject(run->spec);
    for (const std::string& note : run->notes) Say(note);
    WatchedPlan watched = ApplyWatchPolicy(run->spec, run->settled, run->plan);
    TellLeft(watched.left);
    if (!watched.acts) waits_.clear();
    const bool notes_only = !watched.acts && watched.plan.changes.empty();
    if (notes_only && run->stored == run->settled) return Fine(RoundEnd::kNothing);
    if (watched.acts && !PrepareToAct(&watched.plan)) return OnNoPlan(NoPlan::kElse);
    return Act(*run, watched);
  }

  bool PrepareToAct(Plan* plan) {
    held_ = {};
    reporter_.Hold(&held_);
    const bool done = PrepareToEnter(wiring_, plan);
    reporter_.Hold(nullptr);
    return done;
  }

  RoundEnd OnNoPlan(NoPlan why) {
    if (why == NoPlan::kInterrupted) return RoundEnd::kInterrupted;
    const bool misused = why == NoPlan::kUsage || (why == NoPlan::kSpec && first_);
    if (misused) {
      reporter_.Show(held_);
      return RoundEnd::kWrongUsage;
    }
    // Whoever holds the lock, and whatever runs one after the other: it is said once.
    Tell(held_, why == NoPlan::kLock ? "lock" : "");
    return why == NoPlan::kElse ? RoundEnd::kFailed : RoundEnd::kBlocked;
  }

  // What went wrong, unless that was said the last time.
  void Tell(const Diagnostics& problems, std::string key = {}) {
    if (key.empty()) key = TextOf(problems);
    if (key == told_) return;
    told_ = std::move(key);
    view_->Settle();
    reporter_.Show(problems);
    Say(options_.once ? "nothing more is done" : "nothing more is done until that is over");
  }

  void TellWarnings() {
    const std::string key = TextOf(held_);
    if (key != warned_ && !key.empty()) reporter_.Show(held_);
    warned_ = key;
  }

  // Whom it watches; when that changes, too.
  void TellSubject(const Spec& spec) {
    std::vector<std::string> recreated;
    for (const PodSpec& pod : spec.pods) {
      if (pod.recreate_when_lost) recreated.push_back(PodAddress(pod.name).Text());
    }
    watched_ = spec.pods.size();
    constexpr std::size_t kMost = 5;
    const std::size_t count = recreated.size();
    if (count > kMost) {
      recreated.resize(kMost);
      recreated.push_back(fmt::format("… and {} more", count - kMost));
    }
    std::string subject =
        count == 0 ? "no pod has `onPreemption: recreate`: what happens is told, and nothing done"
                   : fmt::format("made anew when preempted: {}", Join(recreated, ", "));
    if (subject == subject_) return;
    subject_ = std::move(subject);
    if (!options_.once) {
      Say(fmt::format("{}; a look every {}", subject_, FormatDuration(options_.interval)));
    }
  }

  void TellLeft(const std::vector<std::string>& left) {
    std::set<std::string> now(left.begin(), left.end());
    for (const std::string& each : now) {
      if (!left_.contains(each)) {
        Say(fmt::format("not done by watch: {}; run `podctl apply`", each));
      }
    }
    left_ = std::move(now);
  }

  RoundEnd Fine(RoundEnd end) {
    if (!std::exchange(told_, "").empty()) Say("that is over");
    return end;
  }

  RoundEnd Act(PlanRun& run, const WatchedPlan& watched) {
    ExecuteOptions execute;
    execute.parallelism = wiring_.options().parallelism;
    execute.wait_for_capacity =
        false;  // the next round looks again, and the lock is free meanwhile
    const Doors doors{*run.provider,   wiring_.steps(),  *run.store,
                      wiring_.clock(), wiring_.random(), run.generation};
    const ExecuteResult result =
        Execute(watched.plan, run.settled, run.observation, doors, execute, view_->events(),
                wiring_.interrupt().drain(), wiring_.interrupt().leave());
    acted_ = acted_ || watched.acts;
    view_->Settle();
    if (watched.acts) view_->ShowSummary(result);
    ShowWarnings(reporter_, result);
    if (!result.unfinished.empty()) {
      Say(fmt::format("under way, and written down in the state: {}",
                      fmt::join(result.unfinished, ", ")));
    }
    if (wiring_.interrupt().leave().stop_requested()) {
      // Threads may hang in a call; everything is on disk, so they are not waited for.
      run.lock.reset();
      wiring_.streams().out << std::flush;
      _exit(kInterruptedExitCode);
    }
    if (result.interrupted) return RoundEnd::kInterrupted;
    if (result.save_error) {
      told_ = "save";
      ShowSaveError(reporter_, result);
      return RoundEnd::kFailed;
    }
    if (!result.failures.empty()) {
      Tell(FailureDiagnostics(wiring_.files(), result));
      return RoundEnd::kFailed;
    }
    TellQueued(result.queued);
    if (result.recovered > 0 || (watched.acts && result.queued.empty())) {
      view_->ForgetNews();
      std::vector<std::string> done;
      // Not those added in this round: a node that came out of the queue was asked for in another.
      if (result.recovered > 0) done.push_back(Plural(result.recovered, "pod") + " made anew");
      if (result.steps > 0) done.push_back(Plural(result.steps, "step") + " run");
      if (!done.empty()) Say("done: " + Join(done, ", "));
    }
    return Fine(watched.acts ? RoundEnd::kActed : RoundEnd::kNothing);
  }

  void TellQueued(const std::vector<Address>& queued) {
    for (const Address& address : queued) {
      if (std::find(waits_.begin(), waits_.end(), address) == waits_.end()) {
        Say(fmt::format("{} waits in the queue", address));
      }
    }
    waits_ = queued;
  }

  Wiring& wiring_;
  Reporter& reporter_;
  const WatchOptions& options_;
  const std::unique_ptr<WatchAccount> view_;
  Diagnostics held_;  // what was said while a plan was made
  bool first_ = true;
  bool acted_ = false;
  std::size_t watched_ = 0;
  std::string subject_;
  std::string told_;    // the last problem; empty: all is well
  std::string warned_;  // the last warnings
  std::set<std::string> left_;
  std::vector<Address> waits_;  // in the queue
};

}  // namespace

int RunWatch(Wiring& wiring, const WatchOptions& options) {
  wiring.reporter().Begin();
  Round round(wiring, options);
  WatchPace pace;
  pace.interval = options.interval;
  pace.once = options.once;
  switch (Watch(round, pace, wiring.clock(), wiring.random(), wiring.interrupt().drain())) {
    case RoundEnd::kInterrupted:
      round.Say("interrupted: the state is saved");
      return kInterruptedExitCode;
    case RoundEnd::kWrongUsage:
    case RoundEnd::kFailed:
    case RoundEnd::kBlocked:
      return FailedExitCode(wiring);
    case RoundEnd::kNothing:
    case RoundEnd::kActed:
      break;
  }
  return options.detailed_exitcode && (round.acted() || round.left()) ? 2 : 0;
}

namespace {

// Flags that do not go together: what is wrong, or "".
std::string WatchConflict(const WatchOptions& options, const GlobalOptions&) {
  if (options.interval < std::chrono::seconds(1)) return "`--interval` must be at least 1s";
  if (options.detailed_exitcode && !options.once) {
    return "`--detailed-exitcode` needs `--once`: without it watch ends only when it is told to";
  }
  return {};
}

using Of = FlagsOf<WatchOptions>;

constexpr Flag kFlags[] = {
    Of::Value<&WatchOptions::interval>("--interval", "DURATION", "between two looks (default 60s)"),
    Of::Switch<&WatchOptions::once>("--once", "look once, do what is to be done, and end"),
    Of::Switch<&WatchOptions::detailed_exitcode>(
        "--detailed-exitcode", "with --once: exit 2 when something was done, or is left to do"),
    Of::Values<&WatchOptions::targets>("--target", "ADDRESS",
                                       "only this pod, and what it depends on; repeatable"),
};

const CommandOf<WatchOptions> kCommand("watch",
                                       "make pods anew that were preempted, as their spec allows",
                                       kFlags, WithWorld<RunWatch>, WatchConflict);

}  // namespace

const Command& commands::kWatch = kCommand;

}  // namespace podctl
