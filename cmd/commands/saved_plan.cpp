#include "cmd/commands/saved_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "cmd/command_line.h"
#include "cmd/commands/failure.h"
#include "cmd/commands/state_lock.h"
#include "cmd/reporter.h"
#include "cmd/views/markdown.h"
#include "cmd/views/plan_view.h"
#include "cmd/views/terraform_json.h"
#include "plans/execute/affected_jobs.h"
#include "plans/plan_file.h"
#include "plans/plan_file/seal.h"
#include "plans/plan_file/secrets.h"
#include "plans/plan_file/staleness.h"
#include "plans/spec/loader.h"
#include "plans/spec/local_files.h"
#include "providers/base/text.h"
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

SavedPlan MakeSavedPlan(Wiring& wiring, const PlanRun& run) {
  SavedPlan saved;
  saved.podctl_version = kVersion;
  saved.created_at = FormatTimestamp(wiring.clock().Now());
  saved.folder = CurrentFolder();
  saved.state_path = wiring.StatePath(run.spec);
  saved.endpoint = WithoutSlash(wiring.endpoint());
  // What a folder gave depends on more flags than are saved: then the files it gave are.
  const bool by_flags = wiring.options().recursive || !wiring.options().var_files.empty();
  saved.spec_paths = by_flags ? run.spec.files : wiring.options().files;
  saved.spec_digest = run.spec.digest;
  for (const auto& [name, value] : run.spec.variables) {
    if (value.sensitive) {
      saved.sensitive_variables.push_back(name);
    } else {
      saved.variables[name] = value.text;
    }
  }
  saved.plan = run.plan;
  if (run.generation.none()) {
    saved.check_key = NewDigestKey(wiring.random());
    // The state that its apply makes; so of two plans without a state only one can be applied.
    saved.plan.lineage = wiring.random().Uuid();
  } else {
    saved.prior = run.settled;
  }
  const SecretKey key = KeyOf(saved, run.stored);
  saved.nodes = TakeNodes(saved.plan, run.settled, run.observation, key);
  saved.training = TakeTraining(saved.plan, run.observation);
  saved.jobs = JobsAffected(run.spec, run.plan);
  HideSecrets(key, &saved.plan);
  return saved;
}

std::string From(const std::string& folder, const std::string& path) {
  if (folder.empty() || path.starts_with("/") || path.starts_with("~")) return path;
  return folder + "/" + path;
}

// Relative paths start where the plan was made; where that folder is not on this machine (another
// checkout of a pipeline), here (empty).
std::string FolderOf(Wiring& wiring, const SavedPlan& saved) {
  if (saved.folder.empty() || saved.folder == CurrentFolder()) return {};
  const std::string spec = saved.spec_paths.empty() ? "podctl.yaml" : saved.spec_paths.front();
  return wiring.files().Stat(From(saved.folder, spec)) ? saved.folder : std::string();
}

std::string StateOf(Wiring& wiring, const SavedPlan& saved) {
  const std::string& given = wiring.options().state;
  return given.empty() ? From(FolderOf(wiring, saved), saved.state_path) : given;
}

// What stands at `path` and is nobody's plan is not written over: a spec, a state.
Result<void> CheckTarget(FileSystem& files, const std::string& path) {
  auto info = files.Stat(path);
  if (!info) {
    if (info.error().code == ErrorCode::kNotFound) return {};
    return info.error();
  }
  if (info->kind != FileInfo::Kind::kFile) {
    return MakeError(ErrorCode::kInvalidArgument, fmt::format("{} is not a file", path));
  }
  if (info->size == 0) return {};
  auto there = ReadPlanFile(path, files);
  if (there || there.error().code != ErrorCode::kInvalidArgument) return {};
  return MakeError(ErrorCode::kAlreadyExists,
                   fmt::format("{} is there already, and is not a saved plan", path),
                   "Give the plan another name, or remove that file first.");
}

// ---- apply FILE

class SavedRun {
 public:
  SavedRun(Wiring& wiring, const ApplyOptions& options) : wiring_(wiring), options_(options) {}

  std::optional<PlanRun> Prepare() {
    auto saved = ReadPlanFile(options_.plan_file, wiring_.files());
    if (!saved) return Fail(saved.error());
    saved_ = std::move(*saved);
    if (!CheckFlags()) return std::nullopt;
    FindFolder();
    if (!CheckEndpoint() || !LoadState() || !RestoreFromSpec() || !CheckFiles() || !LookAround()) {
      return std::nullopt;
    }
    run_.plan = std::move(saved_.plan);
    return std::move(run_);
  }

 private:
  std::nullopt_t Fail(const Error& error) {
    wiring_.reporter().ShowError("", error);
    return std::nullopt;
  }
  bool Refuse(const std::string& summary, const std::string& detail,
              ErrorCode code = ErrorCode::kFailedPrecondition) {
    wiring_.reporter().ShowError(summary, MakeError(code, detail));
    return false;
  }
  bool RefuseStale(const std::string& detail) {
    return Refuse(kStale, detail, ErrorCode::kStalePlan);
  }

  // A saved plan was decided upon; nothing on the command line may change what it says.
  bool CheckFlags() {
    std::string flag;
    if (options_.destroy) flag = "--destroy";
    if (options_.refresh_only) flag = "--refresh-only";
    if (!options_.refresh) flag = "--refresh=false";
    if (!options_.replace.empty()) flag = "--replace";
    if (!options_.targets.empty()) flag = "--target";
    if (!flag.empty()) {
      return Refuse(fmt::format("Can't use {} when applying a saved plan", flag),
                    "A saved plan holds what was decided when it was created. Give the flag to "
                    "`podctl plan --out FILE` instead.");
    }
    for (const auto& [name, text] : wiring_.options().vars) {
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
    base_ = FolderOf(wiring_, saved_);
    if (base_.empty()) return;
    for (Change& change : saved_.plan.changes) {
      auto* run = std::get_if<RunStep>(&change.action);
      if (run == nullptr) continue;
      for (StepFile& file : run->step.files) file.source = From(base_, file.source);
    }
  }
  bool CheckEndpoint() {
    const std::string now = WithoutSlash(wiring_.endpoint());
    if (now == saved_.endpoint) return true;
    // Before it is shown: one that is none may hold a password or a key.
    if (auto usable = wiring_.provider(); !usable) return Fail(usable.error()), false;
    return Refuse("Saved plan is for another API",
                  fmt::format("The plan was made against {}, and this run would talk to {}. Add "
                              "`--endpoint {}` to apply it.",
                              saved_.endpoint, now, saved_.endpoint));
  }

  bool LoadState() {
    run_.store = wiring_.OpenStore(StateOf(wiring_, saved_));
    run_.lock = TakeLock(wiring_, *run_.store, "apply");
    if (!run_.lock) return false;
    auto stored = run_.store->Load();
    if (!stored) return Fail(stored.error()), false;
    run_.generation = stored->generation;
    const bool fresh = run_.generation.none();
    run_.stored = std::move(stored->state).value_or(State{});
    if (std::string why = WhyStale(fresh); !why.empty()) {
      return RefuseStale(fmt::format("{}\n{}", kStateMovedOn, why));
    }
    if (saved_.prior && !IsSealedBy(run_.stored.digest_key, saved_)) {
      return Refuse(kAltered, kNotSealed, ErrorCode::kStalePlan);
    }
    if (fresh) run_.stored.lineage = saved_.plan.lineage;
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
    const Spec spec = LoadSpec(load, wiring_.files(), wiring_.environment(), problems);
    for (const auto& [name, variable] : spec.variables) {
      if (saved_.variables.contains(name) && !CheckVariable(name, variable.text)) return false;
    }
    return true;
  }

  // The spec is needed for sensitive values only; where it is there and was edited, that is said.
  bool RestoreFromSpec() {
    LoadOptions load = wiring_.SpecOptions();
    if (load.paths.empty()) {
      load.paths = saved_.spec_paths;
      if (load.paths.empty() && !base_.empty()) load.paths = {"podctl.yaml"};
      for (std::string& path : load.paths) path = From(base_, path);
    }
    if (!load.var_files.empty() && !CheckVariableFiles(load)) return false;
    const auto given = std::exchange(load.vars, saved_.variables);
    for (const auto& [name, text] : given) load.vars[name] = text;
    Diagnostics problems;
    run_.spec = LoadSpec(load, wiring_.files(), wiring_.environment(), problems);
    if (problems.has_errors()) run_.spec.jobs.clear();  // none is started that may be half read
    if (!run_.spec.digest.empty() && run_.spec.digest != saved_.spec_digest) WarnOfEdit();
    if (!NeedsSecrets(saved_.plan)) return true;
    if (problems.has_errors()) {
      wiring_.reporter().Show(problems);
      return Refuse("the plan's sensitive values cannot be taken from the spec",
                    "A saved plan does not hold them: its spec, with the variables and the "
                    "environment it reads them from, is needed to apply it.");
    }
    auto restored = RestoreSecrets(KeyOf(saved_, run_.stored), run_.spec, &saved_.plan);
    if (!restored) return Fail(restored.error()), false;
    return true;
  }

  void WarnOfEdit() {
    wiring_.reporter().ShowWarning(
        "the spec was edited after the plan was created",
        "The plan is applied as it was reviewed; `podctl plan` shows what is left.");
  }

  bool CheckFiles() {
    for (const Change& change : saved_.plan.changes) {
      const auto* run = std::get_if<RunStep>(&change.action);
      if (run == nullptr || run->step.files.empty()) continue;
      const auto digest = DigestFiles(wiring_.files(), run->step.files);
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
    auto provider = wiring_.provider();
    if (!provider) return Fail(provider.error()), false;
    run_.provider = *provider;
    State base = saved_.prior.value_or(run_.stored);
    base.digest_key = run_.stored.digest_key;
    auto observation = Observe(PodsOfPlan(), base, **provider, wiring_.options().parallelism,
                               wiring_.interrupt().drain(), true, PlaceFlags(wiring_.options()));
    if (!observation) {
      if (wiring_.interrupt().requested()) {
        wiring_.reporter().TellInterrupted();
      } else {
        Fail(observation.error());
      }
      return false;
    }
    auto changed = FindChanges(saved_.nodes, *observation, KeyOf(saved_, run_.stored));
    for (std::string& change : FindTrainingChanges(saved_.training, *observation)) {
      changed.push_back(std::move(change));
    }
    if (!changed.empty()) {
      return RefuseStale(
          "The given plan file can no longer be applied because what it acts on "
          "was changed after the plan was created:\n  " +
          Join(changed, "\n  "));
    }
    run_.observation = std::move(*observation);
    run_.settled = Settle(std::move(base), run_.observation, &run_.notes);
    return true;
  }

  Spec PodsOfPlan() const {
    Spec spec;
    for (const Change& change : saved_.plan.changes) {
      std::visit(
          [&](const auto& action) {
            // A training job's action has an empty one.
            if constexpr (requires { action.pod; }) {
              if (!change.training) spec.pods.push_back(action.pod);
            }
          },
          change.action);
    }
    return spec;
  }

  Wiring& wiring_;
  const ApplyOptions& options_;
  SavedPlan saved_;
  std::string base_;  // where relative paths start; empty: here
  PlanRun run_;
};

}  // namespace

bool SaveThePlan(Wiring& wiring, const PlanRun& run, const std::string& path) {
  FileSystem& files = wiring.files();
  auto saved = CheckTarget(files, path);
  if (saved) {
    const std::string temporary =
        fmt::format("{}.{}-{}.tmp", path, ProcessId(), wiring.random().Uuid());
    SavedPlan made = MakeSavedPlan(wiring, run);
    if (made.prior) saved = SealPlan(run.stored.digest_key, &made);
    if (saved) saved = WritePlanFile(made, path, temporary, files);
  }
  if (!saved) {
    wiring.reporter().ShowError("the plan could not be saved", saved.error());
    return false;
  }
  return true;
}

namespace {

// Which state an apply writes, where it is not the usual one, and whether the plan bears its seal;
// of one that bears none, who comes between podctl and the workers. Fails where the seal is wrong.
Result<std::vector<std::string>> NotesOnState(Wiring& wiring, const SavedPlan& saved) {
  std::vector<std::string> notes;
  const std::string path = StateOf(wiring, saved);
  if (path != wiring.LikelyStatePath()) {
    notes.push_back(fmt::format("State: `podctl apply` writes {}.", VisibleControls(path)));
  }
  if (!saved.prior) {
    for (const Change& change : saved.plan.changes) {
      const auto* create = std::get_if<Create>(&change.action);
      if (create == nullptr || !create->pod.ssh.proxy_jump) continue;
      notes.push_back(fmt::format("Jump host: {} is entered through {}.", change.address,
                                  VisibleControls(*create->pod.ssh.proxy_jump)));
    }
    return notes;
  }
  const auto stored = wiring.OpenStore(path)->Load();
  const State* state = stored && stored->state ? &*stored->state : nullptr;
  if (state == nullptr || state->lineage != saved.plan.lineage) {
    notes.emplace_back(
        "Seal: not looked at, since its state is not here. `podctl apply` refuses a plan that was "
        "altered.");
  } else if (!IsSealedBy(state->digest_key, saved)) {
    return MakeError(ErrorCode::kStalePlan, kAltered, kNotSealed);
  }
  return notes;
}

}  // namespace

int RunShowPlan(Wiring& wiring, const std::string& path, bool markdown) {
  const auto saved = ReadPlanFile(path, wiring.files());
  if (!saved) return ShowFailure(wiring, saved.error());
  auto notes = NotesOnState(wiring, *saved);
  if (!notes) return ShowFailure(wiring, notes.error());
  const std::string jobs = JobsText(saved->jobs);
  const auto text = [&](Streams& streams) {
    if (markdown) {
      if (!jobs.empty()) notes->push_back(jobs);
      streams.out << MarkdownOf(&saved->plan, {}, *notes);
      return;
    }
    PlanViewOptions view;
    view.color = streams.color && streams.out_is_terminal;
    view.destroy = saved->plan.mode == PlanMode::kDestroy;
    streams.out << ShowPlan(saved->plan, view) << (jobs.empty() ? "" : "\n" + jobs + "\n");
    for (const std::string& note : *notes) streams.out << "\n" << note << "\n";
  };
  wiring.reporter().Document([&] { return TerraformPlan(*saved); }, text, JsonStyle::kCompact);
  return 0;
}

std::optional<PlanRun> PrepareSavedPlan(Wiring& wiring, const ApplyOptions& options) {
  return SavedRun(wiring, options).Prepare();
}

}  // namespace podctl
