#include "plans/session/saved_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "plans/engine/graph.h"
#include "plans/engine/observe.h"
#include "plans/engine/plan_digest.h"
#include "plans/engine/plan_file/secrets.h"
#include "plans/engine/plan_file/staleness.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/diff.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/step/change.h"
#include "plans/kinds/step/record.h"
#include "plans/session/due_jobs.h"
#include "plans/session/returning_jobs.h"
#include "plans/session/secrets.h"
#include "plans/session/temporary.h"
#include "plans/session/whole_spec.h"
#include "plans/spec/loader.h"
#include "plans/spec/local_files.h"
#include "plans/spec/runtime_flags.h"
#include "providers/base/digest.h"
#include "providers/base/text.h"
#include "providers/gcp/secret_name.h"
#include "providers/os/clock.h"
#include "providers/os/this_process.h"

namespace podctl {
namespace {

constexpr const char* kStale = "Saved plan is stale";
constexpr const char* kAltered = "Saved plan was altered";
constexpr const char* kNotSealed =
    "It does not bear the seal of its state: since it was made somebody has changed what it says, "
    "or an older podctl made it. Make a new one with `podctl plan --out FILE`.";
constexpr const char* kStateMovedOn =
    "The given plan file can no longer be applied because the state was changed by another "
    "operation after the plan was created.";

constexpr const char* kSecretMovedOn =
    "The given plan file can no longer be applied because the secret ";

std::string CurrentFolder() {
  std::error_code error;
  const auto path = std::filesystem::current_path(error);
  return error ? "." : path.string();
}

std::string WithoutSlash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

// Digests are keyed by the state's own key; the first plan, made before there is a state, carries
// one.
SecretKey KeyOf(const SavedPlan& saved, const State& stored) {
  return saved.check_key.empty() ? SecretKey{stored.digest_key, false}
                                 : SecretKey{saved.check_key, true};
}

// The state that the plan was made from. It may hold in the clear what the spec hides by now.
State PriorOf(const PlanRun& run) {
  State prior = run.settled;
  for (const PodSpec* pod : DeclaredPods(run.spec)) {
    const Address address = PodAddress(pod->name);
    if (!Pods(prior).contains(address)) continue;
    HideRemembered(*pod, run.stored.digest_key, &Pods(prior).at(address));
  }
  return prior;
}

// What stands at `path` and is nobody's plan is not written over: a spec, a state.
Result<void> CheckTarget(FileSystem& files, const std::string& path, const KnownKinds& kinds) {
  auto info = files.Stat(path);
  if (!info) {
    if (info.error().code == ErrorCode::kNotFound) return {};
    return info.error();
  }
  if (info->kind != FileInfo::Kind::kFile) {
    return MakeError(ErrorCode::kInvalidArgument, fmt::format("{} is not a file", path));
  }
  if (info->size == 0) return {};
  auto there = ReadPlanFile(path, files, kinds);
  if (there || there.error().code != ErrorCode::kInvalidArgument) return {};
  return MakeError(ErrorCode::kAlreadyExists,
                   fmt::format("{} is there already, and is not a saved plan", path),
                   "Give the plan another name, or remove that file first.");
}

class SavedRun {
 public:
  SavedRun(const PlanDoors& doors, const SavedPlanRequest& request, PlanListener& listener)
      : doors_(doors), files_(doors.entry.files), request_(request), listener_(listener) {}

  std::variant<PlanRun, NoPlan> Prepare() {
    auto saved = ReadPlanFile(request_.file, files_, kinds_);
    if (!saved) return NoPlan{.error = saved.error()};
    saved_ = std::move(*saved);
    run_.saved_digest = DigestOfPlan(saved_);  // before anything is put back into it
    if (!CheckFlags()) return std::move(none_);
    FindFolder();
    if (!CheckEndpoint() || !LoadState() || !RestoreFromSpec() || !CheckFiles() || !LookAround()) {
      return std::move(none_);
    }
    run_.plan = std::move(saved_.plan);
    return std::move(run_);
  }

 private:
  bool Fail(const Error& error) {
    none_.error = error;
    return false;
  }
  bool Refuse(const std::string& summary, const std::string& detail,
              ErrorCode code = ErrorCode::kFailedPrecondition) {
    none_.summary = summary;
    return Fail(MakeError(code, detail));
  }
  bool RefuseStale(const std::string& detail) {
    return Refuse(kStale, detail, ErrorCode::kStalePlan);
  }

  // A saved plan was decided upon; nothing on the command line may change what it says.
  bool CheckFlags() {
    if (!request_.foreign_flag.empty()) {
      return Refuse(fmt::format("Can't use {} when applying a saved plan", request_.foreign_flag),
                    "A saved plan holds what was decided when it was created. Give the flag to "
                    "`podctl plan --out FILE` instead.");
    }
    for (const auto& [name, text] : request_.plan.load.vars) {
      if (!CheckVariable(name, text)) return false;
    }
    return true;
  }

  bool CheckVariable(const std::string& name, const std::string& text) {
    const auto& secret = saved_.sensitive_variables;
    if (std::find(secret.begin(), secret.end(), name) != secret.end()) return true;
    const auto known = saved_.variables.find(name);
    if (known != saved_.variables.end() && known->second == text) return true;
    return Refuse("Can't set variables when applying a saved plan",
                  fmt::format("A saved plan includes the variable values that were set when it was "
                              "created. `{}` {}. Only sensitive variables, which the file does not "
                              "hold, can be given again.",
                              name,
                              known == saved_.variables.end()
                                  ? "is not among them"
                                  : fmt::format("was `{}`", VisibleControls(known->second))));
  }

  void FindFolder() {
    base_ = StartOf(files_, saved_);
    if (base_.empty()) return;
    for (Change& change : saved_.plan.changes) {
      change.payload.kind()->StartAt(base_, &change.payload);
    }
  }
  bool CheckEndpoint() {
    const std::string now = WithoutSlash(request_.endpoint);
    if (now == saved_.endpoint) return true;
    // Before it is shown: one that is none may hold a password or a key.
    if (!doors_.provider) return Fail(doors_.provider.error());
    return Refuse("Saved plan is for another API",
                  fmt::format("The plan was made against {}, and this run would talk to {}. Add "
                              "`--endpoint {}` to apply it.",
                              VisibleControls(saved_.endpoint), now,
                              ShellQuote(VisibleControls(saved_.endpoint))));
  }

  bool LoadState() {
    run_.kinds = kinds_.all;
    const std::string state = StateOf(files_, request_.plan.state, saved_);
    if (const auto& withheld = request_.plan.load.withheld) {
      withheld->AddState(state);
      withheld->AddOwn(request_.file);
    }
    run_.store = doors_.open_store(state);
    if (auto none = TakeLock(doors_, request_.plan, listener_, &run_)) {
      none_ = *std::move(none);
      return false;
    }
    auto stored = run_.store->Load();
    if (!stored) return Fail(stored.error());
    run_.generation = stored->generation;
    const bool fresh = run_.generation.none();
    run_.stored = std::move(stored->state).value_or(State{});
    run_.wanted = WantedJobsOf(run_.stored);
    if (std::string why = WhyStale(fresh); !why.empty()) {
      return RefuseStale(fmt::format("{}\n{}", kStateMovedOn, why));
    }
    if (saved_.prior && !IsSealedBy(run_.stored.digest_key, saved_)) {
      return Refuse(kAltered, kNotSealed, ErrorCode::kStalePlan);
    }
    return true;
  }

  std::string WhyStale(bool fresh) const {
    const std::string where = run_.store->Where();
    if (!saved_.prior) {
      return fresh ? ""
                   : fmt::format("There was no state when it was created; now there is {}.", where);
    }
    if (fresh) return fmt::format("There is no state at {} any more.", where);
    if (run_.stored.lineage != saved_.plan.lineage) {
      return fmt::format("{} is another state than the one it was created from.", where);
    }
    if (run_.stored.serial != saved_.plan.serial) {
      return fmt::format("It was created at serial {}, and {} is at serial {}.", saved_.plan.serial,
                         where, run_.stored.serial);
    }
    return "";
  }

  // A file may give the sensitive variables again, and beside them only what the plan holds.
  bool CheckVariableFiles(const LoadOptions& load) {
    Diagnostics problems;  // are told when the spec is read with the plan's variables
    const Spec spec = LoadSpec(load, files_, doors_.entry.environment, problems);
    for (const auto& [name, variable] : spec.variables) {
      if (saved_.variables.contains(name) && !CheckVariable(name, variable.text)) return false;
    }
    return true;
  }

  // Of the spec that was reviewed, as CheckFiles of steps.
  bool CheckJobFiles(const std::vector<std::string>& jobs, const Diagnostics& problems) {
    const std::string job = JobWithOtherFiles(saved_.jobs, jobs);
    if (job.empty()) return true;
    const std::string why =
        problems.items().empty() ? "." : ": " + problems.items().front().summary;
    return RefuseStale(
        fmt::format("The given plan file can no longer be applied because the files that the job "
                    "{} copies to the workers were changed after the plan was created{}",
                    job, why));
  }

  // The spec is needed for sensitive values only; where it is there and was edited, that is said.
  bool RestoreFromSpec() {
    LoadOptions load = request_.plan.load;
    if (load.paths.empty()) {
      load.paths = saved_.spec_paths;
      if (load.paths.empty() && !base_.empty()) load.paths = {"podctl.yaml"};
      for (std::string& path : load.paths) path = PathFrom(base_, path);
    }
    if (!load.var_files.empty() && !CheckVariableFiles(load)) return false;
    const auto given = std::exchange(load.vars, saved_.variables);
    for (const auto& [name, text] : given) load.vars[name] = text;
    WholeSpec whole = LoadWholeSpec(load, {files_, doors_.entry.environment, doors_.open_store},
                                    [&](const Spec&) { return run_.store->Where(); });
    Diagnostics problems = std::move(whole.problems);
    run_.spec = std::move(whole.spec);
    HideSensitive(run_.spec);
    const bool edited = !run_.spec.digest.empty() && run_.spec.digest != saved_.spec_digest;
    // What a job runs stands in the spec alone: none is started that nobody has reviewed, nor one
    // that may be half read.
    Diagnostics of_jobs;
    const auto jobs =
        problems.has_errors() || edited
            ? std::vector<std::string>()
            : JobsAffected(run_.spec, saved_.plan, run_.wanted, files_, base_, &of_jobs);
    if (!CheckJobFiles(jobs, of_jobs)) return false;
    const bool reviewed = !edited && !problems.has_errors() && jobs == saved_.jobs;
    const bool withheld = (edited || (!reviewed && !problems.has_errors())) &&
                          std::any_of(run_.spec.jobs.begin(), run_.spec.jobs.end(),
                                      [](const JobSpec& job) { return job.autostart; });
    if (!reviewed) run_.spec.jobs.clear();
    if (edited || withheld) WarnOfEdit(withheld);
    if (!NeedsSecrets(saved_.plan)) return true;
    if (problems.has_errors()) {
      listener_.OnSpec(problems);
      return Refuse("the plan's sensitive values cannot be taken from the spec",
                    "A saved plan does not hold them: its spec, with the variables and the "
                    "environment it reads them from, is needed to apply it.");
    }
    if (!TakeSecretsOfPlan()) return false;
    auto restored = RestoreSecrets(KeyOf(saved_, run_.stored), run_.spec, kinds_.all, &saved_.plan);
    if (!restored) return Fail(restored.error());
    return true;
  }

  // Each as the version that was reviewed, however many there are by now, into the spec that other
  // sensitive values are taken from. No secret is read that the spec does not name.
  bool TakeSecretsOfPlan() {
    std::map<std::string, PodSpec*> pods;
    for (PodSpec* pod : EditPods(&run_.spec)) pods[pod->name] = pod;
    std::map<MetadataEntry*, const MetadataEntry*> wanted;  // of the spec, of the plan
    std::set<std::string> names;
    for (const Change& change : saved_.plan.changes) {
      const PodChange* planned = AsPod(change);
      const auto pod = planned == nullptr ? pods.end() : pods.find(planned->wanted.name);
      if (pod == pods.end()) continue;
      for (const auto& [key, reviewed] : planned->wanted.metadata) {
        const auto entry = pod->second->metadata.find(key);
        const bool stays = IsKeep(change) && !(key == kRuntimeVariablesKey && Restarts(pod->first));
        if (entry == pod->second->metadata.end() || stays) continue;
        if (!IsSameSecret(entry->second, reviewed)) continue;
        wanted[&entry->second] = &reviewed;
        names.insert(*reviewed.secret);
      }
    }
    if (names.empty()) return true;
    if (!doors_.secrets) return Fail(doors_.secrets.error());
    const auto texts = ReadSecrets(**doors_.secrets, names, request_.plan.parallelism, doors_.stop);
    for (const auto& [entry, reviewed] : wanted) {
      const Result<SecretValue>& value = texts.at(*reviewed->secret);
      if (!value) return RefuseSecret(*reviewed->secret, value.error());
      FillSecret(*value, entry);
      if (KeyOf(saved_, run_.stored).Digest(entry->text) != reviewed->text) {
        return RefuseStale(fmt::format("{}{} has another value by now.", kSecretMovedOn,
                                       VisibleControls(*reviewed->secret)));
      }
    }
    return true;
  }

  // The runtime of a pod that else stays as it is: that step holds the variables, too.
  bool Restarts(const std::string& pod) const {
    const Address step = StepAddress(pod, kRuntimeStepName);
    return std::any_of(saved_.plan.changes.begin(), saved_.plan.changes.end(),
                       [&](const Change& change) { return change.address == step; });
  }

  static bool IsSameSecret(const MetadataEntry& of_spec, const MetadataEntry& reviewed) {
    const auto named = gcp::ParseSecretName(of_spec.secret.value_or(""));
    const auto planned = gcp::ParseSecretName(reviewed.secret.value_or(""));
    return named && planned && named->Secret() == planned->Secret();
  }

  bool RefuseSecret(const std::string& name, const Error& error) {
    if (doors_.stop.stop_requested()) none_.why = NoPlan::Why::kInterrupted;
    const bool gone =
        error.code == ErrorCode::kNotFound || error.code == ErrorCode::kFailedPrecondition;
    const std::string shown = VisibleControls(name);
    if (gone) {
      return RefuseStale(
          fmt::format("{}{} cannot be read any more: {}", kSecretMovedOn, shown, error.message));
    }
    Error reported = error;
    reported.message = fmt::format("the secret {} cannot be read: {}", shown, error.message);
    return Fail(reported);
  }

  void WarnOfEdit(bool jobs_withheld) {
    Diagnostic warning{
        .severity = Severity::kWarning,
        .summary = "the spec was edited after the plan was created",
        .detail = "The plan is applied as it was reviewed; `podctl plan` shows what is left."};
    if (jobs_withheld) {
      warning.detail +=
          "\nNo job is started by itself, since the spec's may not be those that were "
          "reviewed: `podctl run JOB` starts one.";
    }
    Diagnostics warnings;
    warnings.Add(std::move(warning));
    listener_.OnSpec(warnings);
  }

  bool CheckFiles() {
    for (const Change& change : saved_.plan.changes) {
      const StepChange* run = AsStep(change);
      if (run == nullptr || run->step.files.empty()) continue;
      const auto digest = DigestFiles(files_, run->step.files, *run_.spec.withheld);
      if (digest && *digest == run->files_digest) continue;
      return RefuseStale(
          fmt::format("The given plan file can no longer be applied because the files "
                      "that {} copies to the workers were changed after the plan was "
                      "created{}",
                      change.address, digest ? "." : ": " + digest.error().message));
    }
    return true;
  }

  bool LookAround() {
    if (!doors_.provider) return Fail(doors_.provider.error());
    run_.provider = *doors_.provider;
    State base = saved_.prior.value_or(run_.stored);
    base.digest_key = run_.stored.digest_key;
    const Spec things = ThingsOfPlan();
    auto observation = Observe({things, base, true, request_.plan.flags}, kinds_.all,
                               *run_.provider, request_.plan.parallelism, doors_.stop);
    if (!observation) {
      if (doors_.stop.stop_requested()) none_.why = NoPlan::Why::kInterrupted;
      return Fail(observation.error());
    }
    const auto changed =
        FindViolations(saved_.preconditions, *observation, KeyOf(saved_, run_.stored), kinds_.all);
    if (!changed.empty()) {
      return RefuseStale(
          "The given plan file can no longer be applied because what it acts on "
          "was changed after the plan was created:\n  " +
          Join(changed, "\n  "));
    }
    run_.observation = std::move(*observation);
    run_.settled = Settle(std::move(base), run_.observation, kinds_.all, &run_.notes);
    return true;
  }

  Spec ThingsOfPlan() const {
    Spec spec;
    for (const Change& change : saved_.plan.changes) {
      if (IsDelete(change) || AsStep(change) != nullptr) continue;
      const PodChange* pod = AsPod(change);
      spec.declared.push_back(
          {change.address, change.place,
           pod == nullptr ? change.payload : Payload(pod->wanted, change.payload.kind())});
    }
    return spec;
  }

  const PlanDoors& doors_;
  FileSystem& files_;
  const SavedPlanRequest& request_;
  const KnownKinds kinds_ = request_.plan.load.kinds;
  PlanListener& listener_;
  NoPlan none_;
  SavedPlan saved_;
  std::string base_;  // where relative paths start; empty: here
  PlanRun run_;
};

}  // namespace

// Where the folder is not on this machine (another checkout of a pipeline), they start here.
std::string StartOf(FileSystem& files, const SavedPlan& saved) {
  if (saved.folder.empty() || saved.folder == CurrentFolder()) return {};
  const std::string spec = saved.spec_paths.empty() ? "podctl.yaml" : saved.spec_paths.front();
  return files.Stat(PathFrom(saved.folder, spec)) ? saved.folder : std::string();
}

std::string StateOf(FileSystem& files, const StateChoice& choice, const SavedPlan& saved) {
  if (choice.given) return choice.likely;
  const std::string& state = saved.state_path;
  return IsStateUrl(state) ? state : PathFrom(StartOf(files, saved), state);
}

// With the state's key where there is a state; a plan of the first apply has none.
constexpr std::string_view kTemporaryPlan = "temporary plan";

SavedPlan PlanAsSaved(const PlanRun& run, const SavePlanRequest& request, Clock& clock,
                      Random& random) {
  SavedPlan saved;
  saved.podctl_version = request.version;
  saved.created_at = FormatTimestamp(clock.Now());
  saved.folder = CurrentFolder();
  saved.state_path = request.state.For(run.spec);
  saved.endpoint = WithoutSlash(request.endpoint);
  // What a folder gave depends on more flags than are saved: then the files it gave are.
  const bool by_flags = request.load.recursive || !request.load.var_files.empty();
  saved.spec_paths = by_flags ? run.spec.files : request.load.paths;
  saved.spec_digest = run.spec.digest;
  for (const auto& [name, value] : run.spec.variables) {
    if (value.sensitive) {
      saved.sensitive_variables.push_back(name);
    } else {
      saved.variables[name] = value.text;
    }
  }
  saved.plan = run.plan;
  DropImpliedWaits(run.kinds, &saved.plan);
  if (run.generation.none()) {
    saved.check_key = NewDigestKey(random);
    // No state's: a file that nobody has sealed does not say whose nodes are whose.
    saved.plan.lineage = random.Uuid();
  } else {
    saved.prior = PriorOf(run);
  }
  const SecretKey key = KeyOf(saved, run.stored);
  saved.preconditions = TakePreconditions(saved.plan, run.settled, run.observation, key, run.kinds);
  saved.jobs = run.jobs;
  HideSecrets(key, &saved.plan);
  return saved;
}

Result<void> SavePlan(const PlanRun& run, const std::string& path, const SavePlanRequest& request,
                      FileSystem& files, Clock& clock, Random& random) {
  if (auto free = CheckTarget(files, path, request.load.kinds); !free) return free;
  SavedPlan made = PlanAsSaved(run, request, clock, random);
  const std::string key = made.prior ? run.stored.digest_key : std::string();
  RemoveTemporaries(files, path, kTemporaryPlan, {key, ""});
  const std::string temporary =
      FolderOf(path) + "/" +
      TemporaryName(path, kTemporaryPlan, fmt::format("{}-{}", ProcessId(), random.Uuid()), key);
  if (made.prior) {
    if (auto sealed = SealPlan(run.stored.digest_key, &made); !sealed) return sealed;
  }
  return WritePlanFile(made, path, temporary, files);
}

Result<Seal> CheckSeal(const SavedPlan& saved, StateStore& store) {
  if (!saved.prior) return Seal::kNone;
  const auto stored = store.Load();
  const State* state = stored && stored->state ? &*stored->state : nullptr;
  if (state == nullptr || state->lineage != saved.plan.lineage) return Seal::kNotLookedAt;
  if (IsSealedBy(state->digest_key, saved)) return Seal::kSound;
  return MakeError(ErrorCode::kStalePlan, kAltered, kNotSealed);
}

std::variant<PlanRun, NoPlan> PrepareSavedPlan(const PlanDoors& doors,
                                               const SavedPlanRequest& request,
                                               PlanListener& listener) {
  return SavedRun(doors, request, listener).Prepare();
}

}  // namespace podctl
