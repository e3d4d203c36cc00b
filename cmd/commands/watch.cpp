// podctl watch: looks again and again, and makes pods anew that the service took away.
#include "plans/session/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cmd/command.h"
#include "cmd/commands/apply.h"
#include "cmd/commands/autostart.h"
#include "cmd/reporter.h"
#include "cmd/views/round_view.h"
#include "cmd/views/state_view.h"
#include "cmd/wiring.h"
#include "plans/fleet/use.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

struct WatchOptions {
  std::chrono::milliseconds interval{60'000};
  bool once = false;
  bool detailed_exitcode = false;
  std::vector<std::string> targets;
};

// What a watch says, in words.
class Telling final : public WatchListener {
 public:
  using StartThem = std::function<bool(const PlanRun& run, const ExecuteResult& result)>;

  Telling(Reporter& reporter, Streams& streams, FileSystem& files, const WatchOptions& options)
      : reporter_(reporter),
        streams_(streams),
        files_(files),
        options_(options),
        account_(reporter_.Watch()) {}

  void Say(const std::string& text) { account_->Say(text); }
  // Before the first round: how jobs are started.
  void StartJobsBy(StartThem start) { start_jobs_ = std::move(start); }
  using LookAtThem = std::function<WantedLook(const Spec& spec, const WantedJobs& wanted)>;
  void LookAtJobsBy(LookAtThem look) { look_at_jobs_ = std::move(look); }
  void LookForUseBy(UseLook look) { look_for_use_ = std::move(look); }
  // What is so in every look is told in the first.
  void SayOnce(const std::string& text) {
    standing_.insert(text);
    if (!stood_.contains(text)) Say(text);
  }
  void SayInterrupted() {
    Say(is_saved_ ? "interrupted: the state is saved" : "interrupted: the state is not saved");
  }

  void OnSpec(const Diagnostics& warnings) override { reporter_.Show(warnings); }
  void OnTakeover(const std::string& note) override { reporter_.Note(note); }
  void OnSettled() override { account_->Settle(); }

  void OnPause(const WatchStatus& status, Clock::SystemTime until) override {
    const std::string how = status.failed          ? "the last look failed"
                            : status.left          ? "something is left to `podctl apply`"
                            : status.waits.empty() ? "all is well"
                                                   : fmt::format("{} waits in the queue",
                                                                 fmt::join(status.waits, ", "));
    account_->ShowPause(fmt::format("watching {}: {}, next look at {}",
                                    Plural(status.watched, "pod"), how, FormatTimestamp(until)));
  }

  void OnSubject(const std::vector<Address>& recreated) override {
    if (options_.once) return;
    constexpr std::size_t kMost = 5;
    std::vector<std::string> names = TextsOf(recreated);
    if (names.size() > kMost) {
      names.resize(kMost);
      names.push_back(fmt::format("… and {} more", recreated.size() - kMost));
    }
    Say(fmt::format("{}; a look every {}",
                    names.empty() ? "no pod has `onPreemption: recreate`: what happens is told, "
                                    "and none made anew"
                                  : "made anew when preempted: " + Join(names, ", "),
                    FormatDuration(options_.interval)));
  }
  void OnNote(const std::string& note) override { Say(note); }
  void OnLeft(const std::string& what) override {
    Say(fmt::format("not done by watch: {}; run `podctl apply`", what));
  }

  void OnNoPlan(const NoPlan& none, const Diagnostics& warnings, bool hopeless) override {
    ShowNoPlan(reporter_, none, warnings);
    if (!hopeless && none.why != NoPlan::Why::kInterrupted) SayThatItWaits();
  }
  void OnUnsound(const Diagnostics& problems) override {
    reporter_.Show(problems);
    SayThatItWaits();
  }
  void OnNoAccess(const NoAccess& why) override {
    ShowNoAccess(reporter_, why);
    SayThatItWaits();
  }
  void OnFailures(const ExecuteResult& result) override {
    reporter_.Show(FailureDiagnostics(files_, result));
    SayThatItWaits();
  }
  void OnSaveError(const ExecuteResult& result) override { ShowSaveError(reporter_, result); }
  void OnOver() override { Say("that is over"); }

  EventSink& events() override { return *account_; }
  void OnExecuted(const ExecuteResult& result, bool acted) override {
    if (acted) account_->ShowSummary(result);
    ShowWarnings(reporter_, result);
    is_saved_ = !result.unsaved;
    if (result.unfinished.empty()) return;
    Say(fmt::format("{}: {}",
                    result.unsaved ? "not done" : "under way, and written down in the state",
                    fmt::join(result.unfinished, ", ")));
  }
  void OnQueued(const Address& address) override {
    Say(fmt::format("{} waits in the queue", address));
  }
  void OnDone(const ExecuteResult& result) override {
    account_->ForgetNews();
    std::vector<std::string> done;
    // Not those added in this round: a node that came out of the queue was asked for in another.
    if (result.recovered > 0) done.push_back(Plural(result.recovered, "pod") + " made anew");
    if (result.steps > 0) done.push_back(Plural(result.steps, "step") + " run");
    if (!done.empty()) Say("done: " + Join(done, ", "));
  }
  bool StartJobs(const PlanRun& run, const ExecuteResult& result) override {
    return start_jobs_(run, result);
  }
  WantedLook LookAtJobs(const Spec& spec, const WantedJobs& wanted) override {
    const WantedLook look = look_at_jobs_(spec, wanted);
    stood_ = std::exchange(standing_, {});
    return look;
  }
  void OnEnd(const PodEnd& end) override {
    Say(fmt::format("{} is {}: {}", PodAddress(end.pod),
                    end.what == IdleSpec::Then::kStop ? "stopped" : "deleted", end.why));
  }
  PodUse LookForUse(const std::string& pod) override { return look_for_use_(pod); }
  void OnLeave() override {
    streams_.out << std::flush;
    _exit(kInterruptedExitCode);
  }

 private:
  void SayThatItWaits() {
    Say(options_.once ? "nothing more is done" : "nothing more is done until that is over");
  }

  Reporter& reporter_;
  Streams& streams_;
  FileSystem& files_;
  const WatchOptions& options_;
  const std::unique_ptr<WatchAccount> account_;
  StartThem start_jobs_;
  LookAtThem look_at_jobs_;
  std::set<std::string> stood_;  // told by the last look at jobs, and by the one that goes on:
  std::set<std::string> standing_;
  UseLook look_for_use_;
  bool is_saved_ = true;  // what the last round with something to save left
};

int RunWatch(Wiring& wiring, const WatchOptions& options) {
  Reporter& reporter = wiring.reporter();
  reporter.Begin();
  PlanOptions plan;
  plan.targets = options.targets;
  PlanRequest request = wiring.plan_request(std::move(plan), "watch");
  request.will_log_in = true;
  request.keep_stored = true;
  request.checks_catalogue = false;  // what it makes anew is lost already
  ExecuteOptions execute;
  execute.parallelism = wiring.options().parallelism;
  execute.wait_for_capacity = false;  // the next round looks again, and the lock is free meanwhile
  Telling telling(reporter, wiring.streams(), wiring.files(), options);
  const WantedJobsEdit wanted = wiring.wanted_jobs();
  const auto tell_jobs = [&](const StartedOnPods& started) {
    return TellJobs{started, reporter, wiring.streams(),
                    [&](const std::string& text) { telling.Say(text); },
                    [&](const std::string& text) { telling.SayOnce(text); }};
  };
  telling.StartJobsBy([&](const PlanRun& run, const ExecuteResult& result) {
    const StartedOnPods started(wiring.files(), wiring.environment(),
                                wiring.state_choice().For(run.spec));
    const KnownPods pods(wiring.pod_doors());
    return StartJobsOf(wiring.return_doors(pods, wanted), run, result, tell_jobs(started));
  });
  telling.LookAtJobsBy([&](const Spec& spec, const WantedJobs& jobs) {
    const StartedOnPods started(wiring.files(), wiring.environment(),
                                wiring.state_choice().For(spec));
    const KnownPods pods(wiring.pod_doors());
    return LookAtJobsOf(wiring.return_doors(pods, wanted), spec, jobs, tell_jobs(started));
  });
  telling.LookForUseBy([&](const std::string& pod) {
    const KnownPods pods(wiring.pod_doors());
    const auto chosen = pods.Choose(pod, "all");
    if (!chosen) return PodUse{PodUse::Is::kUnknown, chosen.error().message};
    QuietRounds quiet(pods, chosen->target.address);
    const StopTokens stops = wiring.stops();
    WorkerRounds rounds(wiring.ssh(), quiet, stops.drain, stops.leave);
    return LookForUse(rounds, chosen->workers);
  });
  const PlanDoors plan_doors = wiring.plan_doors();
  const ApplyDoors apply_doors = wiring.apply_doors();
  WatchSession session(plan_doors, apply_doors, request, execute, telling);
  WatchIntervals pace;
  pace.interval = options.interval;
  pace.once = options.once;
  switch (Watch(session, pace, wiring.clock(), wiring.random(), wiring.interrupt().drain())) {
    case RoundEnd::kInterrupted:
      telling.SayInterrupted();
      return kInterruptedExitCode;
    case RoundEnd::kWrongUsage:
    case RoundEnd::kFailed:
    case RoundEnd::kBlocked:
      return reporter.FailedExitCode();
    case RoundEnd::kNothing:
    case RoundEnd::kActed:
      break;
  }
  const WatchStatus status = session.CurrentStatus();
  const bool something = session.acted() || status.left || !status.waits.empty();
  return options.detailed_exitcode && something ? 2 : 0;
}

// Flags that do not go together: what is wrong, or "".
std::string WatchConflict(const WatchOptions& options, const GlobalOptions&) {
  if (options.interval < std::chrono::seconds(1)) return "`--interval` must be at least 1s";
  if (options.detailed_exitcode && !options.once) {
    return "`--detailed-exitcode` needs `--once`: without it watch ends only when it is told to";
  }
  return {};
}

constexpr Flag kWatchFlags[] = {
    OneValue<&WatchOptions::interval>("--interval", "DURATION", "between two looks (default 60s)"),
    Switch<&WatchOptions::once>("--once", "look once, do what is to be done, and end"),
    Switch<&WatchOptions::detailed_exitcode>(
        "--detailed-exitcode", "with --once: exit 2 when something was done, or is left to do"),
    Naming(Flag::Names::kPlannedAddress,
           ManyValues<&WatchOptions::targets>("--target", "ADDRESS",
                                              "only this pod, and what it depends on; repeatable")),
};

}  // namespace

const Command commands::kWatch("watch", "make pods anew that were preempted, as their spec allows",
                               kWatchFlags, WithWorld<RunWatch>, WatchConflict);

}  // namespace podctl
