// `podctl ci plan|apply|comment|drift`: plan and apply in a pipeline, told of where people look: in
// one comment of the pull request, in an issue, in the run's summary and its step's outputs.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cmd/ci_doors.h"
#include "cmd/command.h"
#include "cmd/commands/apply.h"
#include "cmd/reporter.h"
#include "cmd/run_account.h"
#include "cmd/views/ci_view.h"
#include "cmd/views/terraform_json.h"
#include "cmd/wiring.h"
#include "plans/ci/comment.h"
#include "plans/ci/mark.h"
#include "plans/ci/policy.h"
#include "plans/engine/plan_digest.h"
#include "plans/fleet/exec/standard_input.h"
#include "plans/session/plan.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/forges/forge.h"
#include "providers/forges/place.h"
#include "providers/os/ci_run.h"

namespace podctl {
namespace {

struct CiOptions : ApplyOptions {
  std::string project;  // --name
  int pull = 0;         // --pull; 0: the run's own
  std::string comment = "always";
  std::string report;    // --report
  std::string policies;  // --policy: a folder; empty: the one that is found
  std::string text;      // of `ci comment`: the file with it
};

constexpr std::uint64_t kMostTextBytes = 16 << 20;

// What a run of a pipeline is about, and whom it tells.
struct CiJob {
  ForgePlace place;
  std::unique_ptr<Forge> forge;  // nullptr: nobody is told by comments
  std::optional<std::int64_t> pull;
  std::string project;  // for the marks: "." for the repository's own folder
  RunWords words;
  std::vector<std::string> folders;  // of the specs, within the repository
  std::string here;                  // the current folder
  bool was_refused = false;          // as the newest comment says
  std::string reviewed;              // the digest that it says
};

std::string NameIn(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string FolderHere() {
  std::error_code error;
  const auto path = std::filesystem::current_path(error);
  return error ? std::string() : path.string();
}

// The folder in the repository, and which specs in it: so each of several has a comment of its own,
// and in each checkout the same.
std::string ProjectHere(const GlobalOptions& global, const ForgePlace& place,
                        const std::string& here) {
  std::string folder = PathInRepository(".", here, place.checkout);
  if (folder.ends_with("/.")) folder.resize(folder.size() - 2);
  if (folder.ends_with('/')) folder.pop_back();
  if (folder.empty()) folder = ".";
  const std::vector<std::string>& files = global.files;
  if (files.empty()) return folder;
  std::vector<std::string> paths;
  for (const std::string& file : files) {
    paths.push_back(PathInRepository(file, here, place.checkout));
  }
  // As it is found from its folder, without `-f`.
  if (paths.size() == 1 && NameIn(paths.front()) == "podctl.yaml") return FolderOf(paths.front());
  return Join(paths, ",");
}

// Where the specs are, within the repository.
std::vector<std::string> SpecFolders(const GlobalOptions& global, const ForgePlace& place,
                                     const std::string& here) {
  const std::vector<std::string> own = {"podctl.yaml"};
  std::vector<std::string> folders;
  for (const std::string& file : global.files.empty() ? own : global.files) {
    const std::string folder = FolderOf(PathInRepository(file, here, place.checkout));
    folders.push_back(folder.empty() || folder.starts_with('/') ? "." : folder);
  }
  return folders;
}

bool CommentsAreWanted(const CiOptions& options) {
  return options.comment != "never";
}

enum class ForgeNeed {
  kForComment,  // where one is to be written under the run's own pull request
  kIfThere,     // where there is a token to ask it with, too
  kAlways,      // it cannot be done without one
};

bool IsForgeNeeded(const CiJob& job, const CiOptions& options, ForgeNeed need) {
  if (need == ForgeNeed::kAlways) return true;
  if (!CommentsAreWanted(options) || job.place.kind == ForgeKind::kAtlantis) return false;
  return job.pull || (need == ForgeNeed::kIfThere && !job.place.token.empty());
}

Result<CiJob> FindCi(const CiDoors& doors, const CiOptions& options, ForgeNeed need) {
  auto place = FindForgePlace(doors.environment, doors.files);
  if (!place) return place.error();
  CiJob job;
  job.place = *std::move(place);
  job.here = FolderHere();
  job.pull = options.pull > 0 ? std::optional<std::int64_t>(options.pull) : job.place.pull;
  job.project =
      options.project.empty() ? ProjectHere(doors.global, job.place, job.here) : options.project;
  job.folders = SpecFolders(doors.global, job.place, job.here);
  const CiRun run = FindCiRun(doors.environment);
  job.words = {job.project == "." ? std::string() : job.project, run.url, run.id, job.place.commit};
  if (!IsForgeNeeded(job, options, need)) return job;
  auto forge = doors.make_forge(job.place);
  if (!forge) return forge.error();
  job.forge = *std::move(forge);
  return job;
}

// Problems at their lines, where the runner shows them.
void AnnotateFor(Streams& streams, const CiJob& job, RunAccount* account) {
  const bool actions = job.place.kind == ForgeKind::kGitHub || job.place.kind == ForgeKind::kGitea;
  if (!actions) return;
  account->on_problem = [&streams, &job](const Diagnostic& problem) {
    WriteAnnotation(streams.err, problem,
                    PathInRepository(problem.place.file, job.here, job.place.checkout));
  };
}

// Appends to a file that the runner has made for this step.
Result<void> AppendForRunner(const CiDoors& doors, const char* variable, const std::string& text) {
  const std::string path = doors.environment.Get(variable).value_or("");
  if (path.empty()) return {};
  auto folder = doors.files.HoldFolder(FolderOf(path), "", false);
  if (!folder) return folder.error();
  return (*folder)->Append(NameIn(path), text, false);
}

using StepOutputs = std::vector<std::pair<std::string, std::string>>;

// Each value between two lines that nobody can guess, so that none of them can be another output.
std::string OutputLinesOf(const StepOutputs& outputs, Random& random) {
  std::string text;
  for (const auto& [name, value] : outputs) {
    const std::string end = "podctl-" + random.Uuid();
    text += fmt::format("{}<<{}\n{}\n{}\n", name, end, value, end);
  }
  return text;
}

StepOutputs OutputsOf(const RunAccount& account, int code, const std::string& comment_url) {
  const PlanCounts counts = account.plan ? account.plan->Counts() : PlanCounts();
  const bool changes = account.plan && !account.plan->Empty();
  return {{"exit-code", std::to_string(code)},
          {"changes", changes ? "true" : "false"},
          {"adds", std::to_string(counts.add)},
          {"changed", std::to_string(counts.change)},
          {"destroys", std::to_string(counts.destroy)},
          {"steps", std::to_string(counts.steps)},
          {"digest", account.digest},
          {"comment-url", comment_url}};
}

// The run's summary and the step's outputs. False: something could not be written, which was shown.
bool TellRunner(const CiDoors& doors, Reporter& reporter, const std::string& text,
                const StepOutputs& outputs) {
  bool written = true;
  const auto tell = [&](const char* variable, const std::string& what) {
    const auto done = AppendForRunner(doors, variable, what);
    if (done) return;
    reporter.ShowError(fmt::format("what {} is for could not be written", variable), done.error());
    written = false;
  };
  tell("GITHUB_STEP_SUMMARY", text);
  tell("GITHUB_OUTPUT", OutputLinesOf(outputs, doors.random));
  return written;
}

// Whatever has put it there: what is posted can be read by many.
std::string WithoutToken(std::string text, const std::string& token) {
  for (std::size_t at = 0; !token.empty() && (at = text.find(token, at)) != std::string::npos;) {
    text.replace(at, token.size(), "(token)");
  }
  return text;
}

// Where a file of the repository is, through no link that somebody has put there. `checkout`: the
// repository's own folder, where that is known.
Result<std::unique_ptr<HeldFolder>> HoldFolderOf(FileSystem& files, const std::string& path,
                                                 const std::string& checkout) {
  const std::string folder = FolderOf(path);
  if (!path.starts_with('/')) return files.HoldFolder(".", folder == "." ? "" : folder, false);
  if (!checkout.empty() && folder.starts_with(checkout + "/")) {
    return files.HoldFolder(checkout, folder.substr(checkout.size() + 1), false);
  }
  return files.HoldFolder(folder, "", false);
}

// A file of the repository may be a link that somebody put there to have another one posted.
Result<std::string> ReadText(FileSystem& files, const std::string& path) {
  auto held = HoldFolderOf(files, path, "");
  if (!held) return held.error();
  auto text = (*held)->Read(NameIn(path), kMostTextBytes);
  if (!text) return text.error();
  return std::move(text->bytes);
}

// nullopt: it could not be written, which was shown.
std::optional<std::string> TellForge(const CiJob& job, Reporter& reporter, CommentRequest request,
                                     const std::stop_token& stop) {
  if (!job.forge || request.pull == 0) return std::string();
  request.outdated = OutdatedLine();
  request.text = WithoutToken(std::move(request.text), job.place.token);
  const auto put = PutComment(*job.forge, request, stop);
  if (!put) {
    reporter.ShowError("the comment could not be written", put.error());
    return std::nullopt;
  }
  return put->value_or("");
}

// 0 and 2 say that all is well, which it is not where nobody was told.
int WorseOf(int code, bool told) {
  return told || (code != 0 && code != 2) ? code : 1;
}

bool IsReport(const std::string& text) {
  const auto read = ParseJson(text);
  return read && read->is_map() && !(*read)["create"].is_null() && !(*read)["update"].is_null() &&
         !(*read)["delete"].is_null() && read->AsMap().size() == 3;
}

// Over an earlier one only: a word too few on the command line must not cost the spec.
Result<void> WriteReport(FileSystem& files, const CiJob& job, const std::string& path,
                         const Plan& plan) {
  auto held = HoldFolderOf(files, path, job.place.checkout);
  if (!held) return held.error();
  const std::string name = NameIn(path);
  const auto there = (*held)->Read(name, kMostTextBytes);
  if (!there && there.error().code != ErrorCode::kNotFound) return there.error();
  if (there && !there->bytes.empty() && !IsReport(there->bytes)) {
    return MakeError(ErrorCode::kAlreadyExists,
                     fmt::format("`{}` is there, and is no report", VisibleControls(path)),
                     "name another file with --report");
  }
  return (*held)->Append(name, ToJson(TerraformReport(plan)) + "\n", true);
}

// ---- Policies.

// A file of this run's own, with what others hold of the plan; gone with this.
class ScratchText {
 public:
  ScratchText(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}
  ~ScratchText() { static_cast<void>(files_.Remove(path_)); }
  ScratchText(const ScratchText&) = delete;
  ScratchText& operator=(const ScratchText&) = delete;

  const std::string& path() const { return path_; }

 private:
  FileSystem& files_;
  const std::string path_;
};

Result<Diagnostics> AskPoliciesOf(const CiDoors& doors, const std::string& folder,
                                  const SavedPlan& plan) {
  const ScratchText text(
      doors.files,
      fmt::format("{}/podctl-plan-{}.json", ScratchFolder(doors.environment), doors.random.Uuid()));
  const auto written = doors.files.WriteNew(text.path(), ToJson(TerraformPlan(plan)), 0600);
  if (!written) return written.error();
  return AskPolicies({doors.processes, doors.environment, doors.interrupted}, folder, text.path());
}

// What the policies deny is no sound plan: it is not kept, and no apply carries it out.
Result<void> TakePolicies(const CiDoors& doors, const CiOptions& options, const CiJob& job,
                          ApplyOptions* apply) {
  auto folder = FindPolicies(doors.files, options.policies, job.place.checkout);
  if (!folder) return folder.error();
  if (folder->empty()) return {};
  apply->judge = [doors, folder = *std::move(folder)](PlanRun* run) {
    const auto verdicts = AskPoliciesOf(doors, folder, doors.as_saved(*run));
    if (!verdicts) {
      run->problems.Add({.summary = "the policies could not be asked",
                         .suggestion = verdicts.error().hint,
                         .detail = verdicts.error().message});
      return;
    }
    for (const Diagnostic& each : verdicts->items()) run->problems.Add(each);
    if (!verdicts->has_errors()) {
      run->notes.push_back(fmt::format("The policies in `{}` deny nothing of it.", folder));
    }
  };
  return {};
}

// ---- plan

int RunCiPlan(Wiring& wiring, const CiOptions& options) {
  const CiDoors doors = wiring.ci_doors();
  auto job = FindCi(doors, options, ForgeNeed::kForComment);
  if (!job) return wiring.reporter().ShowFailure(job.error());
  RunAccount account;
  AnnotateFor(wiring.streams(), *job, &account);
  wiring.KeepAccount(&account);
  Reporter& reporter = wiring.reporter();
  ApplyOptions plan = options;
  if (const auto taken = TakePolicies(doors, options, *job, &plan); !taken) {
    return reporter.ShowFailure(taken.error());
  }
  const int planned = RunPlan(wiring, plan);
  const bool sound = !account.digest.empty();
  bool written = true;
  if (!options.report.empty() && sound) {
    if (const auto done = WriteReport(doors.files, *job, options.report, *account.plan); !done) {
      reporter.ShowError("the report could not be written", done.error());
      written = false;
    }
  }
  const std::string text = PlanComment(account, job->words);
  CommentRequest request;
  request.pull = job->pull.value_or(0);
  request.text = text;
  request.mark = {job->project,
                  sound ? CommentMark::State::kPlanned : CommentMark::State::kPlanFailed,
                  account.digest, job->place.commit};
  request.only_edit = options.comment == "on-change" && sound && account.plan->Empty();
  if (!job->pull && CommentsAreWanted(options) && job->place.kind != ForgeKind::kAtlantis) {
    reporter.Note(
        "No comment was written: this run is about no pull request. `--pull N` names one.");
  }
  const auto url = TellForge(*job, reporter, std::move(request), doors.stop);
  const int code = WorseOf(planned, written && url.has_value());
  const auto outputs = OutputsOf(account, code, url.value_or(""));
  return WorseOf(code, TellRunner(doors, reporter, text, outputs));
}

// ---- apply

// Why what is about to be applied was not reviewed, where it was not.
std::string WhyNotReviewed(const CiJob& job, const std::optional<Review>& review) {
  const std::string commit = VisibleControls(job.place.commit.substr(0, 40));
  if (!review) {
    return fmt::format(
        "commit {} came by no pull request, whose comment would say what was "
        "reviewed",
        commit);
  }
  const std::string pull = job.forge->PullName(review->pull);
  if (!review->mark) {
    return fmt::format("there is no comment of `podctl ci plan` under {} for {}", pull,
                       VisibleControls(job.project));
  }
  switch (review->mark->state) {
    case CommentMark::State::kApplied:
      return fmt::format("what was reviewed in {} is applied already, and this is more", pull);
    case CommentMark::State::kRefused:
      return fmt::format("{} was refused before, and no plan of it was reviewed", pull);
    case CommentMark::State::kPlanFailed:
      return fmt::format("the last plan of {} has failed", pull);
    case CommentMark::State::kPlanned:
    case CommentMark::State::kApplyFailed:
    case CommentMark::State::kText:
      break;
  }
  return fmt::format("the comment under {} says no digest of a plan", pull);
}

// What may be applied goes into `apply`.
Result<void> TakeReview(const CiOptions& options, const std::stop_token& stop, CiJob* of,
                        ApplyOptions* apply) {
  CiJob& job = *of;
  const bool given = options.expect_digest || options.auto_approve;
  if (!job.forge || (given && job.pull)) return {};
  const auto review = FindReview(*job.forge, job.pull, job.place.commit, job.project, stop);
  if (!review) return given ? Result<void>() : review.error();
  const std::optional<CommentMark> mark = *review ? (*review)->mark : std::nullopt;
  if (*review) job.pull = (*review)->pull;
  job.was_refused = mark && mark->state == CommentMark::State::kRefused;
  if (given) return {};
  job.reviewed = mark ? ReviewedDigest(*mark) : std::string();
  apply->expect_digest = job.reviewed;
  if (apply->expect_digest->empty()) apply->not_reviewed = WhyNotReviewed(job, *review);
  if (job.place.branch.empty() || job.place.commit.empty()) return {};
  const auto late = WhyLate(*job.forge, job.place.commit, job.place.branch, job.folders, stop);
  if (!late) return late.error();
  if (late->empty()) return {};
  apply->expect_digest = "";
  apply->not_reviewed = *late;
  apply->refusal = "The commit is an older one";
  return {};
}

CiApplyEnd EndOf(const RunAccount& account, int code) {
  if (account.interrupted) return CiApplyEnd::kInterrupted;
  if (code == 4) return CiApplyEnd::kRefused;
  if (code != 0 && code != 2) return CiApplyEnd::kFailed;
  // Of a saved plan nothing is shown anew.
  const bool nothing = account.plan ? account.plan->Empty() : !account.result;
  return nothing ? CiApplyEnd::kNothingToDo : CiApplyEnd::kApplied;
}

CommentMark MarkAfter(const CiJob& job, const RunAccount& account, CiApplyEnd end) {
  CommentMark mark{job.project, CommentMark::State::kApplied, account.digest, job.place.commit};
  switch (end) {
    case CiApplyEnd::kApplied:
    case CiApplyEnd::kNothingToDo:
      break;
    case CiApplyEnd::kRefused:
      mark.state = CommentMark::State::kRefused;
      break;
    case CiApplyEnd::kFailed:
    case CiApplyEnd::kInterrupted:
      mark.state = CommentMark::State::kApplyFailed;
      break;
  }
  return mark;
}

// What the forge is told of an apply.
CommentRequest RequestAfter(const CiJob& job, const RunAccount& account, CiApplyEnd end,
                            const std::string& reviewed, const std::string& text) {
  CommentRequest request;
  request.pull = job.pull.value_or(0);
  request.text = text;
  request.mark = MarkAfter(job, account, end);
  // What was reviewed stays reviewed: by it what was begun is gone on with, and what was refused
  // since another merge was not applied yet is applied, once the plan is that one again.
  const bool open = end != CiApplyEnd::kApplied && end != CiApplyEnd::kNothingToDo;
  if (open) request.mark.digest = reviewed;
  request.anew = end == CiApplyEnd::kRefused && !job.was_refused;
  request.only_edit = end == CiApplyEnd::kNothingToDo;
  return request;
}

int RunCiApply(Wiring& wiring, const CiOptions& options) {
  const CiDoors doors = wiring.ci_doors();
  // The commit alone may say which pull request it is about, so the forge is asked. Any branch can
  // make a plan file: the comment tells which was reviewed. Atlantis keeps it itself.
  const bool reviewed_elsewhere =
      options.expect_digest || options.auto_approve ||
      (!options.plan_file.empty() && FindForgeKind(doors.environment) == ForgeKind::kAtlantis);
  auto job = FindCi(doors, options, reviewed_elsewhere ? ForgeNeed::kIfThere : ForgeNeed::kAlways);
  if (!job) return wiring.reporter().ShowFailure(job.error());
  ApplyOptions apply = options;
  apply.auto_approve = true;
  if (const auto taken = TakeReview(options, doors.stop, &*job, &apply); !taken) {
    return wiring.reporter().ShowFailure(taken.error(), "what was reviewed could not be found out");
  }
  if (const auto taken = TakePolicies(doors, options, *job, &apply); !taken) {
    return wiring.reporter().ShowFailure(taken.error());
  }
  RunAccount account;
  AnnotateFor(wiring.streams(), *job, &account);
  wiring.KeepAccount(&account);
  const auto began = wiring.clock().Steady();
  const int code = RunApply(wiring, apply);
  const auto elapsed =
      std::chrono::duration_cast<std::chrono::milliseconds>(wiring.clock().Steady() - began);
  const CiApplyEnd end = EndOf(account, code);
  const std::string text = ApplyComment(account, end, elapsed, job->words);
  std::optional<std::string> url = std::string();
  if (CommentsAreWanted(options)) {
    const std::string reviewed =
        job->reviewed.empty() ? apply.expect_digest.value_or("") : job->reviewed;
    url = TellForge(*job, wiring.reporter(), RequestAfter(*job, account, end, reviewed, text),
                    doors.stop);
  }
  const int ended = WorseOf(code, url.has_value());
  const auto outputs = OutputsOf(account, ended, url.value_or(""));
  return WorseOf(ended, TellRunner(doors, wiring.reporter(), text, outputs));
}

// ---- comment

int RunCiComment(Wiring& wiring, const CiOptions& options) {
  Reporter& reporter = wiring.reporter();
  const auto text = ReadText(wiring.files(), options.text);
  if (!text) return reporter.ShowFailure(text.error());
  const auto kind = FindForgeKind(wiring.environment());
  if (kind == ForgeKind::kAtlantis) {  // which makes a comment of it
    wiring.streams().out << *text << std::flush;
    return 0;
  }
  const CiDoors doors = wiring.ci_doors();
  auto job = FindCi(doors, options, ForgeNeed::kAlways);
  if (!job) return reporter.ShowFailure(job.error());
  if (!job->pull) {
    return reporter.ShowFailure(MakeError(ErrorCode::kFailedPrecondition,
                                          "this run is about no pull request",
                                          "`--pull N` names one"));
  }
  CommentRequest request;
  request.pull = *job->pull;
  request.text = *text;
  request.mark = {job->project, CommentMark::State::kText, "", job->place.commit};
  const auto url = TellForge(*job, reporter, std::move(request), doors.stop);
  if (!url) return reporter.FailedExitCode();
  const std::string pull = job->forge->PullName(*job->pull);
  reporter.Document(
      [&] {
        return Value::Map{{"pull", *job->pull}, {"comment_url", *url}};
      },
      [&](Streams& streams) {
        streams.out << fmt::format("Wrote the comment under {}{}\n", pull,
                                   url->empty() ? "." : ": " + VisibleControls(*url));
      });
  return 0;
}

// ---- drift

std::string DriftNote(const DriftEnd& end) {
  const std::string issue =
      fmt::format("issue {}{}", end.issue, end.url.empty() ? "" : " (" + end.url + ")");
  switch (end.did) {
    case DriftEnd::Did::kOpened:
      return "Opened " + issue + ".";
    case DriftEnd::Did::kRefreshed:
      return "Renewed " + issue + ".";
    case DriftEnd::Did::kClosed:
      return "Closed " + issue + ": nothing differs any more.";
    case DriftEnd::Did::kNothing:
      break;
  }
  return "There is no drift, and no issue of it.";
}

int RunCiDrift(Wiring& wiring, const CiOptions& options) {
  const CiDoors doors = wiring.ci_doors();
  auto job = FindCi(doors, options, ForgeNeed::kAlways);
  if (!job) return wiring.reporter().ShowFailure(job.error());
  RunAccount account;
  AnnotateFor(wiring.streams(), *job, &account);
  wiring.KeepAccount(&account);
  Reporter& reporter = wiring.reporter();
  const int code = RunPlan(wiring, options);
  // A look that failed says nothing of drift: the issue stays as it is.
  if (account.digest.empty() || (code != 0 && code != 2)) return code == 0 ? 1 : code;
  DriftRequest request{job->project, !account.plan->Empty(), DriftTitle(*account.plan, job->words),
                       WithoutToken(DriftText(account, job->words), job->place.token)};
  const auto end = KeepDriftIssue(*job->forge, request, doors.stop);
  if (!end) return reporter.ShowFailure(end.error(), "the issue could not be kept up to date");
  reporter.Note(VisibleControls(DriftNote(*end)));
  StepOutputs outputs = OutputsOf(account, code, "");
  outputs.emplace_back("issue-url", end->url);
  return WorseOf(code, TellRunner(doors, reporter, request.text, outputs));
}

std::string CiConflict(const CiOptions& options, const GlobalOptions& global) {
  if (options.expect_digest && options.auto_approve) {
    return "`--expect-digest` and `--auto-approve` cannot be used together: one says what was "
           "reviewed, the other that nothing needs to be";
  }
  return PlanConflict(options, global);
}

// ---- The command lines.

constexpr Flag kNameFlag = OneValue<&CiOptions::project>(
    "--name", "NAME", "of the project, where a repository has several (default: its folder)");
constexpr Flag kPullFlag =
    Within(1, 1'000'000'000,
           OneValue<&CiOptions::pull>("--pull", "N", "the pull request (default: the run's own)"));
constexpr Flag kCiTargetFlag =
    Naming(Flag::Names::kPlannedAddress,
           ManyValues<&ApplyOptions::targets, CiOptions>(
               "--target", "ADDRESS", "only this address, and what it depends on; repeatable"));
constexpr Flag kPolicyFlag = Naming(
    Flag::Names::kPath,
    OneValue<&CiOptions::policies>(
        "--policy", "DIR", "with policies for conftest (default: `policy`, if it is there)"));
constexpr Flag kCiDetailedFlag = Switch<&ApplyOptions::detailed_exitcode, CiOptions>(
    "--detailed-exitcode", "exit 2 when there are changes");

constexpr Flag kCiPlanFlags[] = {
    kNameFlag,
    kPullFlag,
    OneOf("always|on-change|never",
          OneValue<&CiOptions::comment>("--comment", "WHEN",
                                        "always, on-change or never (default always)")),
    Naming(Flag::Names::kPath, OneValue<&ApplyOptions::out, CiOptions>(
                                   "--out", "FILE", "save the plan, for `podctl ci apply FILE`")),
    Naming(Flag::Names::kPath,
           OneValue<&CiOptions::report>("--report", "FILE",
                                        "GitLab's terraform report, for artifacts:reports")),
    kPolicyFlag,
    Switch<&ApplyOptions::destroy, CiOptions>("--destroy", "plan the empty spec"),
    kCiTargetFlag,
    kCiDetailedFlag,
};

constexpr Flag kCiApplyFlags[] = {
    kNameFlag,
    kPullFlag,
    OneOf("always|on-change|never",
          OneValue<&CiOptions::comment>("--comment", "WHEN",
                                        "always, on-change or never (default always)")),
    OneValue<&ApplyOptions::expect_digest, CiOptions, &ReadDigest>(
        "--expect-digest", "DIGEST", "of the plan that was reviewed (default: the comment's)"),
    Switch<&ApplyOptions::auto_approve, CiOptions>("--auto-approve",
                                                   "apply what nobody has reviewed, too"),
    Switch<&ApplyOptions::wait, CiOptions, false>(
        "--no-wait", "leave what is queued in the queue; the next apply goes on"),
    kPolicyFlag,
    Switch<&ApplyOptions::destroy, CiOptions>("--destroy", "plan the empty spec"),
    kCiTargetFlag,
    OneValue<&ApplyOptions::plan_file, CiOptions>("FILE", "", "a saved plan: the one to carry out"),
};

constexpr Flag kCiCommentFlags[] = {
    kNameFlag,
    kPullFlag,
    Required(Naming(Flag::Names::kPath,
                    OneValue<&CiOptions::text>("FILE", "", "Markdown, for the comment"))),
};

constexpr Flag kCiDriftFlags[] = {
    kNameFlag,
    kCiDetailedFlag,
};

}  // namespace

const Command commands::kCi("ci", "plan and apply in a pipeline, told of in its pull request");
const Command commands::kCiPlan("ci plan", "plan, and show it as one comment", kCiPlanFlags,
                                WithWorld<RunCiPlan>, CiConflict);
const Command commands::kCiApply("ci apply", "apply what was reviewed, and nothing else",
                                 kCiApplyFlags, WithWorld<RunCiApply>, CiConflict,
                                 [](const CiOptions& options) {
                                   return options.plan_file.empty();
                                 });
const Command commands::kCiComment("ci comment", "write or renew the pull request's comment",
                                   kCiCommentFlags, WithWorld<RunCiComment>, nullptr,
                                   NoState<CiOptions>);
const Command commands::kCiDrift("ci drift", "open, renew or close the issue of drift",
                                 kCiDriftFlags, WithWorld<RunCiDrift>, CiConflict);

}  // namespace podctl
