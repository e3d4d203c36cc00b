#include "plans/session/plan.h"

#include <fmt/format.h>

#include <future>
#include <map>
#include <set>
#include <utility>

#include "plans/engine/moves.h"
#include "plans/engine/observe.h"
#include "plans/engine/plan_digest.h"
#include "plans/engine/planner.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/route.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/pod/unaccounted_nodes.h"
#include "plans/session/catalogue_check.h"
#include "plans/session/cost.h"
#include "plans/session/due_jobs.h"
#include "plans/session/history_hint.h"
#include "plans/session/returning_jobs.h"
#include "plans/session/secrets.h"
#include "plans/session/whole_spec.h"
#include "plans/spec/source_file.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// Those that can be listed before spec and state are known together: in v2.
std::set<ZoneName> ZonesOf(const State& state) {
  std::set<ZoneName> zones;
  for (const auto& [address, record] : Pods(state)) zones.emplace(record.project, record.zone);
  for (const auto& [address, record] : Pods(state)) {
    if (record.api_version == ApiVersion::kV2Alpha1) zones.erase({record.project, record.zone});
  }
  return zones;
}

std::set<ZoneName> ZonesOf(const Spec& spec) {
  std::set<ZoneName> zones;
  const std::vector<const PodSpec*> pods = DeclaredPods(spec);
  for (const PodSpec* pod : pods) zones.emplace(pod->project, pod->zone);
  for (const PodSpec* pod : pods) {
    if (pod->api_version == ApiVersion::kV2Alpha1) zones.erase({pod->project, pod->zone});
  }
  return zones;
}

// The state, read on a thread of its own while the spec is: of thousands of pods each takes a
// while. Where it lies is a guess until the spec is read, so what was read may be of no use.
class StatePrefetch {
 public:
  // `listing`, which may be null, begins with the zones of the state. It must outlive this.
  StatePrefetch(const PlanDoors& doors, std::string path, ListPrefetch* listing)
      : path_(std::move(path)), store_(doors.open_store(path_)) {
    snapshot_ = std::async(std::launch::async, [this, listing] {
      Result<Snapshot> snapshot = store_->LoadWithHolder(&holder_);
      const bool known = snapshot.has_value() && snapshot->state.has_value();
      if (known && listing != nullptr) listing->Begin(ZonesOf(*snapshot->state));
      return snapshot;
    });
  }

  // What the store at `path` holds; the store, and who is at work on it, go to `run`.
  Result<Snapshot> Take(const PlanDoors& doors, const std::string& path, PlanRun* run) {
    Result<Snapshot> snapshot = snapshot_.get();
    if (path == path_) {
      run->store = std::move(store_);
      run->at_work = std::move(holder_);
      return snapshot;
    }
    run->store = doors.open_store(path);
    return run->store->LoadWithHolder(&run->at_work);
  }

 private:
  const std::string path_;
  std::unique_ptr<StateStore> store_;
  std::optional<LockInfo> holder_;
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

// "alice@host (apply, process 77)".
std::string HolderWords(const LockInfo& holder) {
  return VisibleControls(
      fmt::format("{} ({}, process {})", holder.who, holder.operation, holder.pid));
}

std::string AtWorkNote(const LockInfo& holder) {
  return VisibleControls(fmt::format(
      "{} is at work on this state right now: {}, process {} on {}, since {}: `{}`. What is shown "
      "here is as it stands in the middle of that; plan again once it is done.",
      holder.who, holder.operation, holder.pid, holder.host, holder.created, holder.command));
}

// The summary is terraform's, by which tools know it.
Diagnostic TargetWarning() {
  return {
      .severity = Severity::kWarning,
      .summary = "Resource targeting is in effect",
      .detail =
          "This plan was made with `--target`, so it may hold only a part of what the spec asks "
          "for.\n"
          "Targets are for exceptional situations, such as getting over a mistake; `podctl plan` "
          "without them shows what is left to do."};
}

}  // namespace

Diagnostics WithSourceLines(FileSystem& files, const Diagnostics& diagnostics) {
  constexpr std::uint64_t kMostBytes = 4 << 20;
  Diagnostics complete;
  for (Diagnostic diagnostic : diagnostics.items()) {
    if (diagnostic.place.line > 0 && diagnostic.source_line.empty()) {
      if (auto text = files.Read(diagnostic.place.file, kMostBytes)) {
        diagnostic.source_line =
            SourceFile(diagnostic.place.file, std::move(*text)).ShownLine(diagnostic.place.line);
      }
    }
    complete.Add(std::move(diagnostic));
  }
  return complete;
}

std::string DigestOf(const PlanRun& run) {
  if (!run.saved_digest.empty()) return run.saved_digest;
  const std::string key = run.generation.none() ? std::string() : run.stored.digest_key;
  PlanBasis basis{run.spec.digest, {}, {}};
  for (const auto& [name, value] : run.spec.variables) {
    if (value.sensitive) {
      basis.sensitive_variables.push_back(name);
    } else {
      basis.variables[name] = value.text;
    }
  }
  return DigestOfPlan(run.plan, run.settled, key, run.jobs, basis);
}

std::optional<NoPlan> TakeLock(const PlanDoors& doors, const PlanRequest& request,
                               PlanListener& listener, PlanRun* run) {
  auto lock = run->store->Lock(request.lock->info(), request.lock->wait, doors.stop);
  if (!lock && doors.stop.stop_requested()) {
    return NoPlan{.why = NoPlan::Why::kInterrupted, .waited_for_lock = true};
  }
  if (!lock) return NoPlan{.why = NoPlan::Why::kLock, .error = lock.error()};
  run->lock = *std::move(lock);
  if (const std::string note = run->lock->TakeoverNote(); !note.empty()) listener.OnTakeover(note);
  if (!IsStateUrl(run->store->Where())) return std::nullopt;
  const auto notes =
      TakeUpSpool(doors.entry.files, doors.spool, request.load.kinds.remembered, *run->store);
  if (!notes) return NoPlan{.error = notes.error()};
  for (const std::string& note : *notes) listener.OnTakeover(note);
  return std::nullopt;
}

namespace {

// To destroy all that a state has needs no spec, as in terraform: where none is named and none is
// there, beside a state that is.
bool NeedsNoSpec(FileSystem& files, const PlanRequest& request) {
  const auto is_there = [&](const std::string& path) { return files.Stat(path).has_value(); };
  return request.plan.mode == PlanMode::kDestroy && request.load.paths.empty() &&
         !is_there("podctl.yaml") && is_there(request.state.likely);
}

// What goes needs nothing of other states, which may be gone already.
WholeSpec SpecFor(const PlanDoors& doors, const PlanRequest& request) {
  const AccessDoors& entry = doors.entry;
  if (request.plan.mode == PlanMode::kDestroy) {
    WholeSpec spec;
    spec.spec = LoadSpec(request.load, entry.files, entry.environment, spec.problems);
    return spec;
  }
  return LoadWholeSpec(request.load, {entry.files, entry.environment, doors.open_store},
                       [&](const Spec& spec) { return request.state.For(spec); });
}

// Spec, lock and state. What can be listed is begun on the way.
std::optional<NoPlan> ReadAll(const PlanDoors& doors, const PlanRequest& request,
                              PlanListener& listener, std::optional<ListPrefetch>* listing,
                              PlanRun* run) {
  // What is to be changed is read when the lock is held, and not before.
  std::optional<StatePrefetch> prefetch;
  if (!request.lock) {
    // Without a provider the state is read all the same; why there is none is told below.
    if (doors.provider && request.plan.refresh) listing->emplace(**doors.provider, doors.stop);
    prefetch.emplace(doors, request.state.likely, *listing ? &**listing : nullptr);
  }
  Diagnostics read;
  if (!NeedsNoSpec(doors.entry.files, request)) {
    WholeSpec whole = SpecFor(doors, request);
    run->spec = std::move(whole.spec);
    read = std::move(whole.problems);
    if (whole.states_failed) return NoPlan{.problems = WithSourceLines(doors.entry.files, read)};
    HideSensitive(run->spec);
  }
  if (read.has_errors()) return NoPlan{.why = NoPlan::Why::kSpec, .problems = std::move(read)};
  listener.OnSpec(read);
  if (request.edit) request.edit(&run->spec);
  const std::string path = request.state.For(run->spec);
  if (request.plan.mode == PlanMode::kDestroy) run->spec.declared.clear();
  if (request.lock) {
    run->store = doors.open_store(path);
    if (auto none = TakeLock(doors, request, listener, run)) return none;
  }
  if (!doors.provider) return NoPlan{.why = NoPlan::Why::kUsage, .error = doors.provider.error()};
  run->provider = *doors.provider;
  // Not before the lock is held: what is listed must not be changed by another run.
  if (!*listing) listing->emplace(*run->provider, doors.stop);
  if (request.plan.refresh) (*listing)->Begin(ZonesOf(run->spec));
  Result<Snapshot> stored = Snapshot{};
  if (prefetch) {
    stored = prefetch->Take(doors, path, run);
  } else {
    stored = run->store->Load();
  }
  if (!stored) return NoPlan{.error = stored.error()};
  if (!request.lock && IsStateUrl(path)) {
    run->notes = SpoolNotes(doors.entry.files, doors.spool, request.load.kinds.remembered, *stored);
  }
  run->stored = std::move(stored->state).value_or(State{});
  run->generation = stored->generation;
  return std::nullopt;
}

// A new version of a secret is a change. Of what only takes drift into the state, no value counts.
std::optional<NoPlan> TakeSecrets(const PlanDoors& doors, const PlanRequest& request,
                                  PlanRun* run) {
  if (request.plan.mode == PlanMode::kRefreshOnly) return std::nullopt;
  const std::set<std::string> names = SecretsOf(run->spec);
  if (names.empty()) return std::nullopt;
  if (!doors.secrets) return NoPlan{.why = NoPlan::Why::kUsage, .error = doors.secrets.error()};
  const auto texts = ReadSecrets(**doors.secrets, names, request.parallelism, doors.stop);
  const Diagnostics problems = FillSecrets(texts, &run->spec);
  if (doors.stop.stop_requested()) return NoPlan{.why = NoPlan::Why::kInterrupted};
  // The spec is right: it may come right by itself.
  if (problems.has_errors()) {
    return NoPlan{.problems = WithSourceLines(doors.entry.files, problems)};
  }
  if (!request.plan.refresh) {
    run->notes.push_back(
        fmt::format("Secret Manager was asked for {} all the same: what is wanted stands there.",
                    Plural(names.size(), "secret")));
  }
  return std::nullopt;
}

using Begun = std::map<Address, PendingAction::Kind>;

// What earlier runs have begun to make, or to take away.
Begun BegunPods(const State& state) {
  Begun begun;
  for (const auto& [address, record] : Pods(state)) {
    const auto pending = record.pending();
    if (pending && pending->kind != PendingAction::Kind::kPatch) begun[address] = pending->kind;
  }
  return begun;
}

void CountCompleted(const Begun& begun, PlanRun* run) {
  for (const auto& [address, kind] : begun) {
    const PodRecord* record = Pods(run->settled).Get(address);
    const bool there = record != nullptr && record->exists();
    if (record != nullptr && record->pending()) continue;
    if (kind == PendingAction::Kind::kCreate && there) ++run->came;
    if (kind == PendingAction::Kind::kDelete && !there) ++run->went;
  }
}

// Of a plan for whose pods a key is made when it is applied (access.h).
std::optional<std::string> KeyNote(const Plan& plan) {
  for (const Change& change : plan.changes) {
    const PodChange* pod = AsPod(change);
    if (pod == nullptr || !Makes(change) || !AwaitsKey(pod->wanted)) continue;
    return fmt::format(
        "There is no SSH key yet: `podctl apply` makes ~/.ssh/{}, without a passphrase, and "
        "publishes it in `metadata.ssh-keys` of the pods that it creates.",
        ssh::kMadeKey);
  }
  return std::nullopt;
}

// Of pods that there are, and that nobody can log in to.
std::optional<std::string> LackingKeyNote(const Plan& plan, ssh::Keyring& keyring) {
  for (const Change& change : plan.changes) {
    const PodChange* pod = AsPod(change);
    if (pod == nullptr || IsDelete(change) || Makes(change)) continue;
    if (auto note = NoKeyNote(keyring, pod->wanted)) return note;
  }
  return std::nullopt;
}

// The nodes that this plan, or its spec, has a word for.
std::vector<NodeName> NodesSpokenOf(const Spec& spec, const Plan& plan) {
  std::vector<NodeName> names;
  for (const PodSpec* pod : DeclaredPods(spec)) names.push_back(NameOf(*pod));
  for (const Change& change : plan.changes) {
    if (const PodChange* pod = AsPod(change)) names.push_back(pod->node);
  }
  return names;
}

void AddUnknownNodes(const PlanRequest& request, PlanRun* run) {
  std::vector<Diagnostic> warnings = WarnOfUnknownNodes(
      PodsIn(run->observation), run->settled, [&] { return NodesSpokenOf(run->spec, run->plan); },
      request.flags);
  if (warnings.empty()) return;
  // Who holds no lock may have met a run that began after the state was read: it tells of its nodes
  // itself.
  if (!request.lock) {
    const auto now = run->store->Load();
    if (!now || now->generation != run->generation) return;
  }
  for (Diagnostic& warning : warnings) run->problems.Add(std::move(warning));
}

// What a state made that is gone would go on running, and be said to be destroyed.
Diagnostic LostStateProblem(const StatePlace& place) {
  Diagnostic problem;
  problem.summary =
      fmt::format("there is no state in {}, so nothing is known that could be destroyed",
                  VisibleControls(place.path));
  problem.detail = place.kept + ".";
  return problem;
}

// `limits`: not for who makes anew what is lost, and takes away what is over.
void AddCost(bool limits, PlanRun* run) {
  if (!run->spec.prices || run->plan.mode == PlanMode::kRefreshOnly) return;
  run->plan.cost = CostOf(run->plan, run->settled, *run->spec.prices);
  if (!run->spec.max_cost || !limits || run->problems.has_errors()) return;
  if (auto problem = WhyTooCostly(*run->plan.cost, *run->spec.max_cost)) {
    run->problems.Add(*std::move(problem));
  }
}

// Whether what is made can be made. With --refresh=false who only looks asks nobody. False: it was
// interrupted.
bool AddCatalogueCheck(const PlanDoors& doors, const PlanRequest& request, PlanRun* run) {
  if (!request.checks_catalogue || run->problems.has_errors()) return true;
  const bool asks = request.plan.refresh || request.lock;
  const Diagnostics found = CheckCatalogue(
      run->plan, {asks ? doors.catalogue : nullptr, request.parallelism, doors.stop});
  for (const Diagnostic& each : found.items()) run->problems.Add(each);
  return !doors.stop.stop_requested();
}

}  // namespace

std::variant<PlanRun, NoPlan> PreparePlan(const PlanDoors& doors, const PlanRequest& request,
                                          PlanListener& listener) {
  PlanRun run;
  run.kinds = request.load.kinds.all;
  std::optional<ListPrefetch> listing;
  if (auto none = ReadAll(doors, request, listener, &listing, &run)) return *std::move(none);
  if (auto none = TakeSecrets(doors, request, &run)) return *std::move(none);
  FileSystem& files = doors.entry.files;
  KeyLines keys = doors.entry.Keys();
  PublishKeys(keys, &run.spec);
  PlanOptions plan = request.plan;
  plan.state_place = {request.state.For(run.spec), request.flags, ""};
  if (run.at_work) plan.at_work = HolderWords(*run.at_work);
  plan.now = FormatTimestamp(doors.clock.Now());
  if (run.generation.none()) plan.state_place.kept = HistoryHint(*run.store, request.flags);
  const bool is_empty = plan.mode == PlanMode::kDestroy && run.generation.none();
  if (is_empty && !plan.state_place.kept.empty()) {
    run.problems.Add(LostStateProblem(plan.state_place));
  } else if (is_empty) {
    run.notes.push_back(
        fmt::format("There is no state in {}, so nothing is known that could be destroyed.",
                    VisibleControls(plan.state_place.path)));
  }
  State known = request.keep_stored ? run.stored : TakeRecords(&run.stored);
  plan.moved = MoveThings(run.spec, run.kinds, &known, run.problems);
  if (run.problems.has_errors()) return NoPlan{.problems = WithSourceLines(files, run.problems)};
  auto observation = Observe({run.spec, known, plan.refresh, request.flags, &*listing}, run.kinds,
                             *run.provider, request.parallelism, doors.stop);
  if (!observation && doors.stop.stop_requested()) {
    return NoPlan{.why = NoPlan::Why::kInterrupted};
  }
  if (!observation) return NoPlan{.error = observation.error()};
  run.observation = std::move(*observation);
  auto used =
      UseOsLogin(*doors.entry.login(), known, run.observation, request.will_log_in, &run.spec);
  if (!used) return NoPlan{.error = used.error()};
  const auto began = BegunPods(known);
  run.wanted = WantedJobsOf(known);
  // A plan that takes drift into the state shows what the stored one does not say yet.
  const bool only_refreshes = plan.mode == PlanMode::kRefreshOnly;
  run.settled =
      Settle(only_refreshes ? known : std::move(known), run.observation, run.kinds, &run.notes);
  if (!only_refreshes) CountCompleted(began, &run);
  // What was settled is that other run's business, and not taken up by this one.
  if (run.at_work) run.notes = {AtWorkNote(*run.at_work)};
  if (only_refreshes && plan.refresh) {
    TakeRenewedKeys(*run.provider, request.parallelism, doors.stop, &run.settled, &run.notes);
  }
  const State& base = only_refreshes ? known : run.settled;  // NOLINT(bugprone-use-after-move)
  run.plan = MakePlan(run.spec, base, run.observation, plan, run.kinds, run.problems);
  const bool narrowed = !plan.targets.empty() && !run.problems.has_errors();
  if (narrowed) run.problems.Add(TargetWarning());
  AddCost(request.checks_catalogue, &run);
  if (!AddCatalogueCheck(doors, request, &run)) return NoPlan{.why = NoPlan::Why::kInterrupted};
  AddUnknownNodes(request, &run);
  run.jobs = JobsAffected(run.spec, run.plan, run.wanted, files, "", &run.problems);
  run.problems = WithSourceLines(files, run.problems);
  auto note = KeyNote(run.plan);
  // Who only looks hears of it; a watch would say it in every round.
  if (!note && !request.lock) note = LackingKeyNote(run.plan, doors.entry.keyring);
  if (note) run.notes.push_back(*std::move(note));
  return run;
}

}  // namespace podctl
