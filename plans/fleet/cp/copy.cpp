#include "plans/fleet/cp/copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <mutex>
#include <utility>

#include "plans/fleet/exec/exec.h"
#include "plans/fleet/pod_target.h"
#include "providers/tar/remote_texts.h"
#include "state/thing_name.h"

namespace podctl {
namespace {

bool MaySelectWorkers(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isdigit(c) != 0 ||
           std::string_view("all,-!/[]").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

Error Wrong(const std::string& what, const std::string& fix) {
  return MakeError(ErrorCode::kInvalidArgument, what, fix);
}

Result<CopyPlan> ReadDownload(const std::vector<std::string>& words) {
  CopyPlan plan;
  plan.destination = words.back();
  for (auto word = words.begin(); word != words.end() - 1; ++word) {
    const auto remote = ReadRemotePath(*word);
    if (!remote) {
      return Wrong(fmt::format("`{}` and `{}` both lie on this machine", *word, words.back()),
                   "One side lies on the workers: podctl cp FILE research:~/ or podctl cp "
                   "research/0:~/FILE .");
    }
    const bool first = plan.sources.empty();
    if (!first && (remote->pod != plan.pod || remote->workers != plan.workers)) {
      return Wrong(fmt::format("`{}` lies elsewhere than `{}`", *word, words.front()),
                   "Copy from one pod and one selection of workers at a time.");
    }
    plan.pod = remote->pod;
    plan.workers = remote->workers;
    plan.sources.push_back(remote->path);
  }
  return plan;
}

}  // namespace

std::optional<RemotePath> ReadRemotePath(std::string_view word) {
  const auto colon = word.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view place = word.substr(0, colon);
  const auto suffix = place.find_first_of("[/");
  RemotePath remote;
  remote.pod = BarePodName(std::string(place.substr(0, suffix)));
  remote.path = word.substr(colon + 1);
  if (!IsThingName(remote.pod)) return std::nullopt;
  if (suffix == std::string_view::npos) return remote;
  remote.workers = place.substr(place[suffix] == '[' ? suffix : suffix + 1);
  return MaySelectWorkers(remote.workers) ? std::make_optional(remote) : std::nullopt;
}

std::string MeantWorkers(const CopyPlan& plan) {
  const std::string& path = plan.upload ? plan.destination : plan.sources.front();
  const auto colon = path.find(':');
  if (colon == std::string::npos || !plan.workers.empty()) return {};
  const std::string workers = path.substr(0, colon);
  const bool is_number = workers.find_first_of("al") == std::string::npos;
  if (!MaySelectWorkers(workers) || (!is_number && workers != "all")) return {};
  return fmt::format("{}{}{}", plan.pod, workers.front() == '[' ? "" : "/", path);
}

Result<CopyPlan> ReadCopy(const std::vector<std::string>& words, const std::string& workers) {
  if (words.size() < 2) {
    return Wrong("`podctl cp` wants a source and a destination",
                 "For example: podctl cp ./src research:~/src");
  }
  CopyPlan plan;
  if (const auto to = ReadRemotePath(words.back())) {
    plan.upload = true;
    plan.pod = to->pod;
    plan.workers = to->workers;
    plan.destination = to->path;
    plan.sources.assign(words.begin(), words.end() - 1);
    for (const std::string& source : plan.sources) {
      if (!ReadRemotePath(source)) continue;
      return Wrong(fmt::format("`{}` and `{}` both lie on workers", source, words.back()),
                   "One side lies on this machine: copy to a local folder first. (A local file "
                   "with a colon in its name is written ./NAME.)");
    }
  } else {
    auto download = ReadDownload(words);
    if (!download) return download.error();
    plan = *std::move(download);
  }
  if (!workers.empty() && !plan.workers.empty()) {
    return Wrong(fmt::format("`--worker {}` and `{}/{}:` name workers twice", workers, plan.pod,
                             plan.workers),
                 "Leave one of them out.");
  }
  if (!workers.empty()) plan.workers = workers;
  return plan;
}

Result<void> Copy::Prepare(Random& random) {
  return plan_.upload ? PrepareUpload(random) : PrepareDownload();
}

// The second in which it began, and chance for what is finer.
std::string Copy::Mark(Random& random) const {
  const auto now = clock_.Now().time_since_epoch();
  return fmt::format("{}.{:09}", std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                     static_cast<int>(random.Uniform() * 1e9));
}

void Copy::AddJobs(const std::string& command) {
  for (const WorkerAccess& worker : workers_) {
    outcome_.jobs.push_back({worker, command, nullptr, feed_.get()});
  }
}

Result<void> Copy::PrepareUpload(Random& random) {
  auto archive = tar::Archive::Of(files_, plan_.sources);
  if (!archive) return archive.error();
  archive_ = *std::move(archive);
  feed_ = std::make_unique<ArchiveFeed>(*archive_);
  AddJobs(tar::UnpackCommand(plan_.destination, plan_.sources.size() > 1, Mark(random)));
  return {};
}

Result<std::vector<ReceivedFiles::Place>> Copy::Places() {
  std::string to = plan_.destination;
  const auto there = files_.Stat(to);
  const bool is_folder = there && there->kind == FileInfo::Kind::kFolder;
  const bool several =
      plan_.sources.size() > 1 || tar::MayMeanSeveral(plan_.sources.front()) || workers_.size() > 1;
  if (!is_folder && !to.ends_with('/') && !several) {
    const auto slash = to.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : to.substr(0, slash + 1);
    if (const auto parent = files_.Stat(folder); !parent) return parent.error();
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
    NoteMissing(places.back().folder);
    if (auto made = files_.MakeFolders(places.back().folder); !made) return made.error();
  }
  return places;
}

// The folders on the way to `folder` that are not there, the outermost first.
void Copy::NoteMissing(const std::string& folder) {
  std::vector<std::string> missing;
  for (std::string at = folder; !at.empty();) {
    const auto there = files_.Stat(at);
    if (there || there.error().code != ErrorCode::kNotFound) break;
    if (!at.ends_with('/')) missing.push_back(at);
    at.resize(at.rfind('/') == std::string::npos ? 0 : at.rfind('/'));
  }
  made_.insert(made_.end(), missing.rbegin(), missing.rend());
}

// A folder that was made for what did not come would change where the next copy puts it.
void Copy::RemoveEmptyFolders() {
  for (auto path = made_.rbegin(); path != made_.rend(); ++path) {
    const auto slash = path->rfind('/');
    const std::string parent = slash == std::string::npos ? "."
                               : slash == 0               ? "/"
                                                          : path->substr(0, slash);
    const auto held = files_.HoldFolder(parent, "", false);
    // One that has something in it stays.
    if (held) static_cast<void>((*held)->RemoveFolder(path->substr(slash + 1)));
  }
}

Result<void> Copy::PrepareDownload() {
  auto asked = tar::RequestedNames::Of(plan_.sources);
  if (!asked) return asked.error();
  asked_ = *std::move(asked);
  auto places = Places();
  if (!places) return places.error();
  received_ = std::make_unique<ReceivedFiles>(*places, *asked_, stop_);
  AddJobs(tar::PackCommand(plan_.sources));
  return {};
}

Copy::Progress Copy::HowFar() const {
  if (received_) return {received_->bytes(), std::nullopt};
  return {feed_->sent(), archive_->size() * workers_.size()};
}

// How long each of the workers has neither sent nor taken anything while its command runs. Sees
// them on the way to who watches.
class Copy::Silence final : public ExecWatcher {
 public:
  Silence(ExecWatcher& watcher, Clock& clock, std::size_t count)
      : watcher_(watcher), clock_(clock), since_(count) {}

  void OnBegin(const std::vector<ssh::Job>& jobs, std::stop_source& unheard) override {
    watcher_.OnBegin(jobs, unheard);
  }
  void OnLine(std::size_t job, ssh::Stream stream, std::string_view line) override {
    Hear(job);
    watcher_.OnLine(job, stream, line);
  }
  void OnPhase(std::size_t job, ssh::Phase phase) override {
    {
      const std::lock_guard lock(mutex_);
      since_[job].reset();
      if (phase == ssh::Phase::kRunning) since_[job] = clock_.Steady();
    }
    watcher_.OnPhase(job, phase);
  }
  void OnTryAgain(std::size_t job, const ssh::Cause& why) override {
    watcher_.OnTryAgain(job, why);
  }
  void OnResult(std::size_t job, const ssh::WorkerResult& result) override {
    {
      const std::lock_guard lock(mutex_);
      since_[job].reset();
    }
    watcher_.OnResult(job, result);
  }
  void Tick() override { watcher_.Tick(); }
  void OnEnd() override { watcher_.OnEnd(); }

  // It is not silent.
  void Hear(std::size_t job) {
    const std::lock_guard lock(mutex_);
    if (since_[job]) since_[job] = clock_.Steady();
  }
  bool IsTooLong(std::size_t job) {
    // As long as any other command may take to answer (WorkerRounds).
    constexpr std::chrono::minutes kLongest{5};
    const std::lock_guard lock(mutex_);
    return since_[job] && clock_.Steady() - *since_[job] >= kLongest;
  }

  std::uint64_t taken = 0;  // of what is sent, when it was last looked at

 private:
  ExecWatcher& watcher_;
  Clock& clock_;
  std::mutex mutex_;
  std::vector<std::optional<Clock::SteadyTime>> since_;  // of those whose command runs
};

namespace {

constexpr const char* kSilentSender = "it took the command, and then sent nothing for 5m";
constexpr const char* kSilentTaker = "it took the command, and then nothing more for 5m";

// Of workers to which something is sent.
class SaidWords final : public OutputSink {
 public:
  explicit SaidWords(std::size_t jobs) : words_(jobs) {}

  void OnBytes(std::size_t job, ssh::Stream stream, std::string_view bytes) override {
    constexpr std::size_t kMostBytes = 4096;
    std::string& words = words_.at(job);
    if (stream == ssh::Stream::kErr)
      words += bytes.substr(0, kMostBytes - std::min(kMostBytes, words.size()));
  }
  void OnEnd(std::size_t /*job*/, const ssh::WorkerResult& /*result*/) override {}
  std::optional<Error> trouble() const override { return std::nullopt; }
  std::vector<std::string> Take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

}  // namespace

// What is sent is read by all, and nobody knows by whom: it is waited until all of them are silent.
void Copy::GiveUpSilent(Silence* silence) {
  const std::uint64_t taken = feed_ ? feed_->sent() : 0;
  const bool moves = std::exchange(silence->taken, taken) != taken;
  bool any = false;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (received_ ? received_->TakeHeard(i) : moves) silence->Hear(i);
    if (silent_[i] || !silence->IsTooLong(i)) continue;
    any = silent_[i] = true;
    if (received_) received_->GiveUp(i, MakeError(ErrorCode::kDeadlineExceeded, kSilentSender));
  }
  if (any && feed_) stop_.request_stop();
}

CopyReport Copy::Run(ssh::Transport& transport, ExecWatcher& watcher, const StopTokens& stops) {
  const auto began = clock_.Steady();
  CommandRequest request;
  SaidWords said(workers_.size());
  request.sink = received_ ? static_cast<OutputSink*>(received_.get()) : &said;
  silent_.assign(workers_.size(), false);
  Silence silence(watcher, clock_, workers_.size());
  request.on_tick = [&] { GiveUpSilent(&silence); };
  RunCommands(transport, clock_, &outcome_, request, silence, stop_, stops);
  CopyReport report;
  report.upload = plan_.upload;
  report.elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(clock_.Steady() - began);
  report.files = received_ ? received_->files() : archive_->files();
  report.bytes = received_ ? received_->bytes() : archive_->bytes();
  report.trouble = received_ ? received_->trouble() : archive_->trouble();
  if (!received_) report.words = said.Take();
  TakeProblems(&report);
  report.missing = Missing(outcome_);
  RemoveEmptyFolders();
  report.outcome = std::move(outcome_);
  return report;
}

void Copy::TakeProblems(CopyReport* report) const {
  report->words.resize(workers_.size());
  for (std::size_t i = 0; feed_ && i < workers_.size(); ++i) {
    const bool ended = outcome_.results[i].outcome != ssh::Outcome::kCancelled;
    if (silent_[i] && !ended) report->problems.Add(kSilentTaker, workers_[i].index);
  }
  for (std::size_t i = 0; received_ && i < workers_.size(); ++i) {
    report->words[i] = received_->WordsOf(i);
    const auto& problem = received_->ProblemOf(i);
    if (!problem || report->trouble) continue;
    report->problems.Add(problem->message, workers_[i].index);
  }
}

std::vector<int> Copy::Missing(const ExecOutcome& outcome) const {
  std::vector<int> missing;
  bool worth_it = false;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const bool broken = received_ && received_->ProblemOf(i);
    const ssh::WorkerResult& result = outcome.results[i];
    worth_it |= result.outcome != ssh::Outcome::kExited || result.exit_code != tar::kNothingToPack;
    if (!result.ok() || broken) missing.push_back(workers_[i].index);
  }
  if (!worth_it) missing.clear();
  return missing;
}

}  // namespace podctl
