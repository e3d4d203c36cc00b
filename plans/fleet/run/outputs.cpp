#include "plans/fleet/run/outputs.h"

#include <fmt/format.h>

#include <utility>

namespace podctl {
namespace {

constexpr std::chrono::seconds kSavePace{5};

}  // namespace

Result<void> RunOutputs::Prepare() {
  if (wishes_.folder.empty()) return {};
  const auto found =
      wishes_.overwrite ? OutputFolder::Found::kReplace : OutputFolder::Found::kRefuse;
  const auto opened = OutputFolder::Open({}, files_, wishes_.folder, found);
  if (!opened) return opened.error();
  return {};
}

std::string RunOutputs::FolderOfStart() const {
  if (wishes_.folder.empty() || starts_ == 1) return wishes_.folder;
  return fmt::format("{}/restart-{}", wishes_.folder, starts_ - 1);
}

void RunOutputs::OnBegin(const std::vector<ssh::Job>& jobs, std::stop_source& unheard) {
  {
    const std::lock_guard lock(mutex_);
    ++starts_;
    kept_.reset();
    jobs_.clear();
    for (const ssh::Job& job : jobs) jobs_.push_back({job.worker, {}, nullptr});
    record_ = about_;
    record_.started = FormatTimestamp(clock_.Now());
    for (const ssh::Job& job : jobs) record_.workers.push_back(job.worker.index);
    // Prepare has looked whether anything is in the way.
    auto kept =
        KeptOutputs::Open(jobs_, files_, {wishes_.gather, FolderOfStart(), true}, wishes_.scratch);
    if (kept) {
      kept_ = *std::move(kept);
    } else if (!trouble_) {
      trouble_ = kept.error();
    }
    Save();
  }
  watcher_.OnBegin(jobs, unheard);
}

void RunOutputs::OnLine(std::size_t job, ssh::Stream stream, std::string_view line) {
  {
    const std::lock_guard lock(mutex_);
    const bool gathered = !wishes_.gathered || wishes_.gathered->contains(jobs_[job].worker.index);
    const auto keep = [&](OutputSink* sink) {
      if (sink == nullptr) return;
      sink->OnBytes(job, stream, line);
      sink->OnBytes(job, stream, "\n");
    };
    if (kept_ && gathered) keep(kept_->gatherer());
    if (kept_) keep(kept_->folder());
  }
  watcher_.OnLine(job, stream, line);
}

void RunOutputs::OnResult(std::size_t job, const ssh::WorkerResult& result) {
  {
    const std::lock_guard lock(mutex_);
    const int worker = jobs_[job].worker.index;
    WorkerEntry& entry = record_.results[worker];
    entry = EntryOf(result);
    changed_ = true;
    const bool gathered = !wishes_.gathered || wishes_.gathered->contains(worker);
    if (kept_ && kept_->gatherer() != nullptr && gathered) kept_->gatherer()->OnEnd(job, result);
    if (kept_ && kept_->folder() != nullptr) {
      kept_->folder()->OnEnd(job, result);
      kept_->folder()->Name(job, entry);
    }
  }
  watcher_.OnResult(job, result);
}

void RunOutputs::Tick() {
  watcher_.Tick();
  const std::lock_guard lock(mutex_);
  if (changed_ && clock_.Steady() - saved_at_ >= kSavePace) Save();
}

void RunOutputs::OnEnd() {
  watcher_.OnEnd();
  const std::lock_guard lock(mutex_);
  record_.ended = FormatTimestamp(clock_.Now());
  Save();
  if (!kept_ || trouble_) return;
  if (kept_->gatherer() != nullptr) trouble_ = kept_->gatherer()->trouble();
  if (kept_->folder() != nullptr && !trouble_) trouble_ = kept_->folder()->trouble();
}

void RunOutputs::Save() {
  changed_ = false;
  saved_at_ = clock_.Steady();
  if (kept_ && kept_->folder() != nullptr) kept_->folder()->Save(record_);
}

}  // namespace podctl
