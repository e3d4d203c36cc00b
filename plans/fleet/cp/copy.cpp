#include "plans/fleet/cp/copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
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
    if (auto made = files_.MakeFolders(places.back().folder); !made) return made.error();
  }
  return places;
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

CopyReport Copy::Run(ssh::Transport& transport, ExecWatcher& watcher, const StopTokens& stops) {
  const auto began = clock_.Steady();
  CommandRequest request;
  request.sink = received_.get();
  RunCommands(transport, clock_, &outcome_, request, watcher, stop_, stops);
  CopyReport report;
  report.upload = plan_.upload;
  report.elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(clock_.Steady() - began);
  report.files = received_ ? received_->files() : archive_->files();
  report.bytes = received_ ? received_->bytes() : archive_->bytes();
  report.trouble = received_ ? received_->trouble() : archive_->trouble();
  TakeProblems(&report);
  report.missing = Missing(outcome_);
  report.outcome = std::move(outcome_);
  return report;
}

void Copy::TakeProblems(CopyReport* report) const {
  report->words.resize(workers_.size());
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
