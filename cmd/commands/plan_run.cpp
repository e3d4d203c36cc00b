#include "cmd/commands/plan_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>
#include <set>
#include <utility>

#include "cmd/command_line.h"
#include "cmd/commands/os_login.h"
#include "cmd/commands/publish_keys.h"
#include "cmd/commands/state_lock.h"
#include "cmd/reporter.h"
#include "plans/list_ahead.h"
#include "plans/moves.h"
#include "plans/planner.h"
#include "plans/renewed_keys.h"
#include "providers/base/text.h"
#include "providers/os/this_process.h"

namespace podctl {
namespace {

// Those that can be listed before spec and state are known together: in v2.
std::set<ZoneName> ZonesOf(const State& state) {
  std::set<ZoneName> zones;
  for (const auto& [address, record] : state.pods) zones.emplace(record.project, record.zone);
  for (const auto& [address, record] : state.pods) {
    if (record.api_version == ApiVersion::kV2Alpha1) zones.erase({record.project, record.zone});
  }
  return zones;
}

std::set<ZoneName> ZonesOf(const Spec& spec) {
  std::set<ZoneName> zones;
  for (const PodSpec& pod : spec.pods) zones.emplace(pod.project, pod.zone);
  for (const PodSpec& pod : spec.pods) {
    if (pod.api_version == ApiVersion::kV2Alpha1) zones.erase({pod.project, pod.zone});
  }
  return zones;
}

// The state, read on a thread of its own while the spec is: of thousands of pods each takes a
// while. Where it lies is a guess until the spec is read, so what was read may be of no use.
class StateAhead {
 public:
  // `listing`, which may be null, begins with the zones of the state. It must outlive this.
  StateAhead(Wiring& wiring, ListAhead* listing)
      : path_(wiring.LikelyStatePath()), store_(wiring.OpenStore(path_)) {
    snapshot_ = std::async(std::launch::async, [this, listing] {
      Result<Snapshot> snapshot = store_->Load();
      const bool known = snapshot.has_value() && snapshot->state.has_value();
      if (known && listing != nullptr) listing->Begin(ZonesOf(*snapshot->state));
      return snapshot;
    });
  }

  // The store at `path`, and what it holds.
  std::pair<std::unique_ptr<StateStore>, Result<Snapshot>> Take(Wiring& wiring,
                                                                const std::string& path) {
    Result<Snapshot> snapshot = snapshot_.get();
    if (path == path_) return {std::move(store_), std::move(snapshot)};
    auto store = wiring.OpenStore(path);
    snapshot = store->Load();
    return {std::move(store), std::move(snapshot)};
  }

 private:
  const std::string path_;
  std::unique_ptr<StateStore> store_;
  std::future<Result<Snapshot>> snapshot_;  // waits for its thread when it goes
};

// The state, of which lineage, serial and key stay behind as well.
State TakeRecords(State* state) {
  State taken = std::exchange(*state, State());
  state->lineage = taken.lineage;
  state->serial = taken.serial;
  state->digest_key = taken.digest_key;
  return taken;
}

// The summary is terraform's, by which tools know it.
Diagnostic TargetWarning() {
  Diagnostic warning;
  warning.severity = Severity::kWarning;
  warning.summary = "Resource targeting is in effect";
  warning.detail =
      "This plan was made with `--target`, so it may hold only a part of what the spec asks for.\n"
      "Targets are for exceptional situations, such as getting over a mistake; `podctl plan` "
      "without them shows what is left to do.";
  return warning;
}

}  // namespace

Diagnostics WithSourceLines(FileSystem& files, const Diagnostics& diagnostics) {
  constexpr std::uint64_t kMostBytes = 4 << 20;
  Diagnostics complete;
  for (Diagnostic diagnostic : diagnostics.items()) {
    if (diagnostic.place.line > 0 && diagnostic.source_line.empty()) {
      if (auto text = files.Read(diagnostic.place.file, kMostBytes)) {
        const auto lines = SplitLines(*text);
        const auto index = static_cast<std::size_t>(diagnostic.place.line) - 1;
        if (index < lines.size()) diagnostic.source_line = lines[index];
      }
    }
    complete.Add(std::move(diagnostic));
  }
  return complete;
}

void ShowProblems(Wiring& wiring, const PlanRun& run) {
  if (run.problems.items().empty()) return;
  wiring.reporter().Show(WithSourceLines(wiring.files(), run.problems));
}

std::optional<PlanRun> PreparePlan(Wiring& wiring, const PlanRunOptions& options, NoPlan* why) {
  PlanRun run;
  Reporter& reporter = wiring.reporter();
  NoPlan unasked{};
  NoPlan& reason = why == nullptr ? unasked : *why;
  reason = NoPlan::kSpec;
  Diagnostics diagnostics;
  // What is to be changed is read when the lock is held, and not before.
  const std::stop_token stop = wiring.interrupt().drain();
  std::optional<ListAhead> listing;
  std::optional<StateAhead> ahead;
  if (!options.lock) {
    // Without a provider the state is read all the same; why there is none is told below.
    if (const auto early = wiring.provider(); early && options.plan.refresh) {
      listing.emplace(**early, stop);
    }
    ahead.emplace(wiring, listing ? &*listing : nullptr);
  }
  run.spec = LoadSpec(wiring.SpecOptions(), wiring.files(), wiring.environment(), diagnostics);
  reporter.Show(diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  const std::string state_path = wiring.StatePath(run.spec);
  if (options.lock) run.store = wiring.OpenStore(state_path);
  if (options.plan.mode == PlanMode::kDestroy) run.spec.pods.clear();

  if (options.lock) {
    run.lock = TakeLock(wiring, *run.store, options.operation);
    reason = wiring.interrupt().requested() ? NoPlan::kInterrupted : NoPlan::kLock;
    if (!run.lock) return std::nullopt;
  }
  reason = NoPlan::kUsage;
  auto provider = wiring.provider();
  if (!provider) {
    reporter.ShowError("", provider.error());
    return std::nullopt;
  }
  run.provider = *provider;
  reason = NoPlan::kElse;
  // Not before the lock is held: what is listed must not be changed by another run.
  if (!listing) listing.emplace(**provider, stop);
  if (options.plan.refresh) listing->Begin(ZonesOf(run.spec));
  Result<Snapshot> stored = Snapshot{};
  if (ahead) {
    std::tie(run.store, stored) = ahead->Take(wiring, state_path);
  } else {
    stored = run.store->Load();
  }
  if (!stored) {
    reporter.ShowError("", stored.error());
    return std::nullopt;
  }
  const std::string flags = PlaceFlags(wiring.options());
  const std::string kept = stored->state ? "" : KeptWords(*run.store, flags);
  run.stored = std::move(stored->state).value_or(State{});
  run.generation = stored->generation;
  PublishKeys(wiring, &run.spec);
  State known = options.keep_stored ? run.stored : TakeRecords(&run.stored);
  PlanOptions plan = options.plan;
  plan.state_place = {state_path, flags, kept};
  plan.moved = MovePods(run.spec, &known, run.problems);
  if (run.problems.has_errors()) {
    ShowProblems(wiring, run);
    return std::nullopt;
  }
  auto observation = Observe(run.spec, known, **provider, wiring.options().parallelism, stop,
                             options.plan.refresh, flags, &*listing);
  if (!observation) {
    if (wiring.interrupt().requested()) {
      reason = NoPlan::kInterrupted;
      reporter.TellInterrupted();
    } else {
      reporter.ShowError("", observation.error());
    }
    return std::nullopt;
  }
  run.observation = std::move(*observation);
  OsLogin login(wiring);
  if (auto used = UseOsLogin(login, known, run.observation, options.will_enter, &run.spec); !used) {
    reporter.ShowError("", used.error());
    return std::nullopt;
  }
  // A plan that takes drift into the state shows what the stored one does not say yet.
  const bool only_refreshes = plan.mode == PlanMode::kRefreshOnly;
  run.settled = Settle(only_refreshes ? known : std::move(known), run.observation, &run.notes);
  if (only_refreshes && plan.refresh) {
    TakeRenewedKeys(**provider, wiring.options().parallelism, stop, &run.settled, &run.notes);
  }
  const State& base = only_refreshes ? known : run.settled;  // NOLINT(bugprone-use-after-move)
  run.plan = MakePlan(run.spec, base, run.observation, plan, run.problems);
  if (!plan.targets.empty()) run.problems.Add(TargetWarning());
  return run;
}

bool PrepareToEnter(Wiring& wiring, Plan* plan) {
  if (auto published = PublishPlanned(wiring, plan); !published) {
    wiring.reporter().ShowError("no SSH key to reach the new pods with", published.error());
    return false;
  }
  OsLogin login(wiring);
  auto entered = EnterPlanned(login, plan);
  if (!entered) wiring.reporter().ShowError("", entered.error());
  return entered.has_value();
}

void NameOsLoginUsers(Wiring& wiring, Plan* plan) {
  const bool nameless =
      std::any_of(plan->changes.begin(), plan->changes.end(), [](const Change& change) {
        const auto* keep = std::get_if<Keep>(&change.action);
        return keep != nullptr && keep->pod.ssh.os_login_user == "";
      });
  if (!nameless) return;
  OsLogin login(wiring);
  if (auto entered = EnterPlanned(login, plan); !entered) {
    wiring.reporter().Note(entered.error().message);
  }
}

}  // namespace podctl
