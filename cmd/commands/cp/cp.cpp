#include "cmd/commands/cp/cp.h"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "cmd/command.h"
#include "cmd/commands/commands.h"
#include "cmd/commands/failure.h"
#include "cmd/commands/plan_run.h"
#include "cmd/commands/pod_target.h"
#include "cmd/context.h"
#include "cmd/views/byte_count.h"
#include "cmd/views/exec_desk.h"
#include "cmd/views/exec_summary.h"
#include "plans/fleet/cp/archive_feed.h"
#include "plans/fleet/cp/ends.h"
#include "plans/fleet/cp/received_files.h"
#include "plans/fleet/worker_round.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/worker_names.h"
#include "providers/tar/archive.h"
#include "providers/tar/asked_names.h"
#include "providers/tar/remote_path.h"
#include "providers/tar/remote_texts.h"

namespace podctl {
namespace {

constexpr std::chrono::seconds kPatience{20};
constexpr std::chrono::milliseconds kTick{50};

class Copy {
 public:
  Copy(Wiring& wiring, CopyPlan plan, PodTarget target, std::vector<WorkerAccess> workers)
      : wiring_(wiring),
        plan_(std::move(plan)),
        target_(std::move(target)),
        workers_(std::move(workers)) {}

  Result<void> Prepare() { return plan_.upload ? PrepareUpload() : PrepareDownload(); }
  int Run();

 private:
  Result<void> PrepareUpload();
  Result<void> PrepareDownload();
  Result<std::vector<ReceivedFiles::Place>> Places();
  std::string Mark() const;
  void AddJobs(const std::string& command);
  std::string Amount() const;
  int Report(std::chrono::milliseconds elapsed);
  std::size_t TellProblems();
  std::string Again() const;

  Wiring& wiring_;
  const CopyPlan plan_;
  const PodTarget target_;
  const std::vector<WorkerAccess> workers_;
  ExecOutcome outcome_;
  std::unique_ptr<tar::Archive> archive_;  // of an upload
  std::unique_ptr<ArchiveFeed> feed_;
  std::optional<tar::AskedNames> asked_;  // of a download, as the next
  std::unique_ptr<ReceivedFiles> received_;
  std::stop_source stop_;
};

// The second in which it began, and chance for what is finer.
std::string Copy::Mark() const {
  const auto now = wiring_.clock().Now().time_since_epoch();
  return fmt::format("{}.{:09}", std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                     static_cast<int>(wiring_.random().Uniform() * 1e9));
}

void Copy::AddJobs(const std::string& command) {
  for (const WorkerAccess& worker : workers_) {
    outcome_.jobs.push_back({worker, command, nullptr, feed_.get()});
  }
}

Result<void> Copy::PrepareUpload() {
  auto archive = tar::Archive::Of(wiring_.files(), plan_.sources);
  if (!archive) return archive.error();
  archive_ = *std::move(archive);
  feed_ = std::make_unique<ArchiveFeed>(*archive_);
  AddJobs(tar::UnpackCommand(plan_.destination, plan_.sources.size() > 1, Mark()));
  return {};
}

Result<std::vector<ReceivedFiles::Place>> Copy::Places() {
  FileSystem& files = wiring_.files();
  std::string to = plan_.destination;
  const auto there = files.Stat(to);
  const bool is_folder = there && there->kind == FileInfo::Kind::kFolder;
  const bool several =
      plan_.sources.size() > 1 || tar::MayMeanSeveral(plan_.sources.front()) || workers_.size() > 1;
  if (!is_folder && !to.ends_with('/') && !several) {
    const auto slash = to.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : to.substr(0, slash + 1);
    if (const auto parent = files.Stat(folder); !parent) return parent.error();
    return std::vector<ReceivedFiles::Place>{{folder, to.substr(slash + 1)}};
  }
  if (there && !is_folder) {
    return MakeError(ErrorCode::kAlreadyExists, fmt::format("{} is there, and is no folder", to),
                     "What comes from several workers, or may be several files, goes into a "
                     "folder.");
  }
  while (to.size() > 1 && to.ends_with('/')) to.pop_back();
  std::vector<ReceivedFiles::Place> places;
  for (const WorkerAccess& worker : workers_) {
    const std::string own = fmt::format("{}-{}", worker.pod, worker.index);
    if (asked_->nameless()) {
      places.push_back({to, own});
    } else {
      places.push_back({workers_.size() == 1 ? to : to + "/" + own, ""});
    }
    if (auto made = files.MakeFolders(places.back().folder); !made) return made.error();
  }
  return places;
}

Result<void> Copy::PrepareDownload() {
  auto asked = tar::AskedNames::Of(plan_.sources);
  if (!asked) return asked.error();
  asked_ = *std::move(asked);
  auto places = Places();
  if (!places) return places.error();
  received_ = std::make_unique<ReceivedFiles>(*places, *asked_, stop_);
  AddJobs(tar::PackCommand(plan_.sources));
  return {};
}

// "1.2 GiB of 3.0 GiB".
std::string Copy::Amount() const {
  if (received_) return ByteCount(received_->bytes());
  return fmt::format("{} of {}", ByteCount(feed_->sent()),
                     ByteCount(archive_->size() * workers_.size()));
}

int Copy::Run() {
  const auto began = wiring_.clock().Steady();
  ExecRecord record;
  ExecDesk::Wishes wishes;
  wishes.json = wiring_.options().json;
  wishes.sink = received_.get();
  wishes.keep = [] {};
  wishes.interrupted = wiring_.interrupt().drain();
  wishes.left = wiring_.interrupt().leave();
  wishes.amount = [this] { return Amount(); };
  const std::stop_callback on_drain(wiring_.interrupt().drain(), [this] { stop_.request_stop(); });
  ExecDesk desk(wiring_.streams(), outcome_.jobs, record, wiring_.clock(), std::move(wishes),
                stop_);
  {
    const std::jthread ticker([&](const std::stop_token& end) {
      while (wiring_.clock().SleepFor(kTick, end)) desk.Tick();
    });
    ssh::Limits limits;
    limits.retry = kPatience;
    limits.abandon = wiring_.interrupt().leave();
    outcome_.results = wiring_.ssh().Run(outcome_.jobs, limits, desk, stop_.get_token());
  }
  desk.Finish();
  outcome_.interrupted = wiring_.interrupt().requested();
  std::map<int, HostKeyText> learned;
  for (std::size_t i = 0; i < outcome_.results.size(); ++i) {
    const auto& key = outcome_.results[i].learned_host_key;
    if (key) learned[workers_[i].index] = *key;
  }
  RememberHostKeys(wiring_, target_.address, learned);
  return Report(
      std::chrono::duration_cast<std::chrono::milliseconds>(wiring_.clock().Steady() - began));
}

// What the workers said, and what was wrong with what they sent; how many have such problems.
std::size_t Copy::TellProblems() {
  std::size_t count = 0;
  WorkerGroups groups;
  std::ostream& err = wiring_.streams().err;
  for (std::size_t i = 0; received_ && i < workers_.size(); ++i) {
    for (const std::string& line : SplitLines(received_->WordsOf(i))) {
      err << fmt::format("{} | {}\n", workers_[i].Name(), VisibleControls(line));
    }
    const auto& problem = received_->ProblemOf(i);
    if (!problem || received_->trouble()) continue;
    groups.Add(problem->message, workers_[i].index);
    ++count;
  }
  for (const auto& group : groups.groups()) {
    err << fmt::format("{}: {}\n",
                       WorkersName(workers_.front().pod, group.workers, workers_.front().per_slice),
                       group.what);
  }
  const auto trouble = received_ ? received_->trouble() : archive_->trouble();
  if (trouble) {
    ShowError(wiring_, nullptr,
              received_ ? "the files could not be written here" : "the copies are not whole",
              *trouble);
    ++count;
  }
  return count;
}

// The same once more, for those that have not all of it; empty where no worker has
// what is asked for.
std::string Copy::Again() const {
  std::vector<int> missing;
  bool worth_it = false;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const bool broken = received_ && received_->ProblemOf(i);
    const ssh::WorkerResult& result = outcome_.results[i];
    worth_it |= result.outcome != ssh::Outcome::kExited || result.exit_code != tar::kNothingToPack;
    if (!result.ok() || broken) missing.push_back(workers_[i].index);
  }
  if (workers_.size() == 1 || !worth_it) return {};
  const WorkerAccess& first = workers_.front();
  const std::string place = fmt::format("{}{}{}:", first.pod, first.per_slice > 0 ? "" : "/",
                                        FormatWorkers(missing, first.per_slice));
  std::string text = "podctl cp";
  for (const std::string& source : plan_.sources) {
    text += " " + ShellQuote(plan_.upload ? source : place + source);
  }
  return text + " " + ShellQuote(plan_.upload ? place + plan_.destination : plan_.destination);
}

int Copy::Report(std::chrono::milliseconds elapsed) {
  Streams& streams = wiring_.streams();
  const std::size_t problems = TellProblems();
  int code = ExecExitCode(outcome_);
  if (code == tar::kNothingToPack) code = 1;  // for podctl's own eyes
  if (problems > 0 && code == 0) code = 1;
  if (wiring_.options().json) {
    streams.out << ToJson(ExecSummaryEvent(outcome_, code, elapsed)) << '\n' << std::flush;
    return code;
  }
  const std::string again = Again();
  const std::string summary = ExecSummary(outcome_, again);
  streams.err << summary;
  if (summary.empty() && problems > 0 && !again.empty()) {
    streams.err << fmt::format("To run it again on just those: {}\n", again);
  }
  if (code != 0) return code;
  const std::uint64_t files = received_ ? received_->files() : archive_->files();
  const std::string amount =
      fmt::format("{}, {}", Plural(files, "file"),
                  ByteCount(received_ ? received_->bytes() : archive_->bytes()));
  const std::string whom =
      workers_.size() == 1 ? workers_.front().Name() : Plural(workers_.size(), "worker");
  streams.err << fmt::format("Copied {} {} {}, in {:.1f} s.\n", amount, received_ ? "from" : "to",
                             whom, static_cast<double>(elapsed.count()) / 1000);
  return code;
}

}  // namespace

int RunCp(Wiring& wiring, const CpOptions& options) {
  auto plan = ReadCopy(options.paths, options.workers);
  if (!plan) return ShowFailure(wiring, plan.error());
  auto target = FindPod(wiring, plan->pod);
  if (!target) return ShowFailure(wiring, target.error());
  auto workers = SelectWorkers(*target, plan->workers, "all");
  if (!workers) return ShowFailure(wiring, workers.error());
  Copy copy(wiring, *std::move(plan), *std::move(target), *std::move(workers));
  if (auto ready = copy.Prepare(); !ready) return ShowFailure(wiring, ready.error());
  return copy.Run();
}

using Of = FlagsOf<CpOptions>;

constexpr Flag kFlags[] = {
    Required(Of::Values<&CpOptions::paths>("PATH", "",
                                           "SRC… DST; on workers POD:PATH or POD/WORKERS:PATH")),
    Of::Workers<&CpOptions::workers>(),
    WithLetter('r', Of::Switch<&CpOptions::recursive>("--recursive",
                                                      "as for scp: folders are copied anyway")),
};

const CommandOf<CpOptions> kCommand("cp", "copy files to or from a pod's workers", kFlags,
                                    WithWorld<RunCp>);

const Command& commands::kCp = kCommand;

}  // namespace podctl
