#include "plans/fleet/run/outputs.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "plans/fleet/exec/output_store.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr std::chrono::seconds kSavePace{5};

std::string RestartName(int restart) {
  return fmt::format("restart-{}", restart);
}

// "research-3.out", as OutputFolder names them.
bool IsOutputName(std::string_view name) {
  if (!name.ends_with(".out") && !name.ends_with(".err")) return false;
  name.remove_suffix(4);
  const auto dash = name.rfind('-');
  return dash != std::string_view::npos && dash > 0 &&
         ParseNumber<unsigned>(name.substr(dash + 1)).has_value();
}

}  // namespace

Result<void> RunOutputs::Prepare() {
  if (settings_.folder.empty()) return {};
  const auto found =
      settings_.overwrite ? OutputFolder::Found::kReplace : OutputFolder::Found::kRefuse;
  const auto opened = OutputFolder::Open({}, files_, settings_.folder, found);
  if (!opened) return opened.error();
  if (settings_.overwrite) {
    if (auto removed = RemoveRestarts(); !removed) return removed;
  }
  record_ = about_;
  record_.started = FormatTimestamp(clock_.Now());
  (*opened)->Save(record_);
  if (auto trouble = (*opened)->trouble()) return *std::move(trouble);
  return {};
}

// Those that podctl wrote, as their results.json says; another folder of that name is in the way of
// a restart, if there is one.
Result<void> RunOutputs::RemoveRestarts() {
  constexpr std::uint64_t kMostRecord = std::uint64_t{64} << 20;
  const auto whole = files_.HoldFolder(settings_.folder, "", false);
  if (!whole) return whole.error();
  const auto names = (*whole)->List();
  if (!names) return names.error();
  for (const std::string& name : *names) {
    constexpr std::string_view kBegin = "restart-";
    const auto number = name.starts_with(kBegin)
                            ? ParseNumber<int>(std::string_view(name).substr(kBegin.size()))
                            : std::nullopt;
    if (!number || name != RestartName(*number)) continue;
    const auto folder = files_.HoldFolder(settings_.folder, name, false);
    if (!folder) return folder.error();
    const auto text = (*folder)->Read(OutputFolder::kRecord, kMostRecord);
    const auto inside = (*folder)->List();
    if (!text || !ParseExecRecord(text->bytes) || !inside) continue;
    for (const std::string& file : *inside) {
      if (!IsOutputName(file) && file != OutputFolder::kRecord) continue;
      if (auto removed = (*folder)->Remove(file); !removed) return removed;
    }
    // Where something else is in it, it stays.
    static_cast<void>((*whole)->RemoveFolder(name).has_value());
  }
  return {};
}

void RunOutputs::OnNotBegun(const std::vector<WorkerAnswer>& answers) {
  const std::lock_guard lock(mutex_);
  if (settings_.folder.empty() || starts_ > 0) return;
  ssh::WorkerResult skipped;
  skipped.outcome = ssh::Outcome::kSkipped;
  for (const WorkerAnswer& answer : answers) {
    record_.workers.push_back(answer.worker.index);
    record_.results[answer.worker.index] = EntryOf(answer.result.ok() ? skipped : answer.result);
  }
  record_.ended = FormatTimestamp(clock_.Now());
  const auto opened =
      OutputFolder::Open({}, files_, settings_.folder, OutputFolder::Found::kReplace);
  if (opened) (*opened)->Save(record_);
  if (!opened) trouble_ = opened.error();
}

std::string RunOutputs::BelowOfStart() const {
  return starts_ == 1 ? std::string() : RestartName(starts_ - 1);
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
    sizes_.assign(jobs.size(), {});
    // Prepare has looked whether anything is in the way of the first one.
    const bool replaces = settings_.overwrite || starts_ == 1;
    auto kept = KeptOutputs::Open(jobs_, files_,
                                  {settings_.gather, settings_.folder, replaces, BelowOfStart()},
                                  settings_.scratch);
    if (kept) {
      kept_ = *std::move(kept);
    } else if (!trouble_) {
      trouble_ = kept.error();
    }
    Save();
  }
  watcher_.OnBegin(jobs, unheard);
}

void RunOutputs::OnOpenLine(std::size_t job, ssh::Stream stream) {
  {
    const std::lock_guard lock(mutex_);
    sizes_[job].open[static_cast<std::size_t>(stream)] = true;
  }
  watcher_.OnOpenLine(job, stream);
}

void RunOutputs::OnLine(std::size_t job, ssh::Stream stream, std::string_view line) {
  {
    const std::lock_guard lock(mutex_);
    const auto of = static_cast<std::size_t>(stream);
    const bool open = std::exchange(sizes_[job].open[of], false);
    sizes_[job].bytes[of] += line.size() + (open ? 0 : 1);
    const bool gathered =
        !settings_.gathered || settings_.gathered->contains(jobs_[job].worker.index);
    const auto keep = [&](OutputSink* sink) {
      if (sink == nullptr) return;
      sink->OnBytes(job, stream, line);
      if (!open) sink->OnBytes(job, stream, "\n");
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
    // Lines that were for podctl are in no file.
    entry.out_bytes = sizes_[job].bytes[static_cast<std::size_t>(ssh::Stream::kOut)];
    entry.err_bytes = sizes_[job].bytes[static_cast<std::size_t>(ssh::Stream::kErr)];
    changed_ = true;
    const bool gathered = !settings_.gathered || settings_.gathered->contains(worker);
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
