#include "cmd/views/exec_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cmd/views/byte_count.h"
#include "cmd/views/documents.h"
#include "cmd/views/exec_progress.h"
#include "cmd/views/paint.h"
#include "providers/base/foreign_text.h"
#include "providers/base/json.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kMostWaiting = std::size_t{64} << 10;  // bytes
constexpr milliseconds kFrame{100};
constexpr milliseconds kQuick{500};  // what ends within this needs no progress
constexpr seconds kPlainPace{20};    // between two lines in a log
// Why workers are not reached, each told at once in a log.
constexpr std::size_t kMostReportedCauses = 4;

// What the commands say when they are asked to end is still of interest; what has been waiting for
// a slow reader is not.
constexpr seconds kLastWords{2};

std::string_view NameOf(ssh::Phase phase) {
  constexpr std::array<std::string_view, 6> kNames = {"waiting", "connecting", "authenticating",
                                                      "running", "retrying",   "done"};
  return kNames[static_cast<std::size_t>(phase)];
}

// One line of --json: about this worker, with `members`.
std::string EventLine(std::string_view type, const ssh::Job& job, const Value& members) {
  Value event = WorkerEvent(type, job.worker);
  for (const auto& [key, value] : members.AsMap()) event.Set(key, value);
  return ToJson(event);
}

}  // namespace

void ExecDisplay::OnBegin(const std::vector<ssh::Job>& jobs, std::stop_source& unheard) {
  const std::lock_guard lock(mutex_);
  Finish();
  jobs_ = &jobs;
  unheard_ = &unheard;
  progress_.emplace(jobs, clock_);
  if (settings_.amount) progress_->ShowAmount(settings_.amount);
  shows_progress_ = !streams_.json;
  began_ = drawn_at_ = reported_at_ = clock_.Steady();
  reported_causes_.clear();
  std::size_t width = 0;
  for (const ssh::Job& job : jobs) width = std::max(width, job.worker.Name().size());
  const Paint out(streams_.color && streams_.out_is_terminal);
  const Paint err(streams_.color && streams_.err_is_terminal);
  out_prefixes_.clear();
  err_prefixes_.clear();
  for (const ssh::Job& job : jobs) {
    const std::string prefix = fmt::format("{:<{}} |", job.worker.Name(), width);
    out_prefixes_.push_back(out(Ink::kCyan, prefix) + ' ');
    err_prefixes_.push_back(err(Ink::kYellow, prefix) + ' ');
  }
  interrupted_at_.reset();
  unseen_.clear();
  received_ = shown_ = 0;
}

void ExecDisplay::Add(std::ostream* stream, std::string_view line) {
  if (target_ != stream) Write();
  target_ = stream;
  waiting_.append(line);
  waiting_ += '\n';
  if (waiting_.size() >= kMostWaiting) Write();
}

void ExecDisplay::Write() {
  if (waiting_.empty()) return;
  const bool terminal =
      target_ == &streams_.out ? streams_.out_is_terminal : streams_.err_is_terminal;
  if (terminal) block_.Erase();
  *target_ << waiting_ << std::flush;
  waiting_.clear();
}

void ExecDisplay::ShowProgress() {
  const auto now = clock_.Steady();
  if (!streams_.live()) {
    const std::string cause = progress_->LastingCause();
    const bool news = !cause.empty() && reported_causes_.size() < kMostReportedCauses &&
                      reported_causes_.insert(cause).second;
    if (!news && now - reported_at_ < kPlainPace) return;
    reported_at_ = now;
    streams_.err << progress_->PlainLine() << '\n' << std::flush;
    return;
  }
  if (now - began_ < kQuick || (block_.drawn() && now - drawn_at_ < kFrame)) return;
  drawn_at_ = now;
  std::vector<std::string> lines = progress_->Lines();
  if (lines.size() > block_.MostLines()) lines.resize(block_.MostLines());
  block_.Draw(lines);
}

void ExecDisplay::Finish() {
  Write();
  block_.Erase();
  shows_progress_ = false;
}

void ExecDisplay::CheckHeard() {
  if (!streams_.out) unheard_->request_stop();
}

bool ExecDisplay::LeavesOut() {
  if (settings_.stops.leave.stop_requested()) return true;
  if (!settings_.stops.drain.stop_requested()) return false;
  TellInterrupt();
  return clock_.Steady() - *interrupted_at_ >= kLastWords;
}

void ExecDisplay::TellInterrupt() {
  if (interrupted_at_ || !settings_.stops.drain.stop_requested()) return;
  interrupted_at_ = clock_.Steady();
  progress_->ShowEnding();
  Err(Stamped(
      "Interrupted: the commands on the workers are asked to end. A second Ctrl-C leaves at "
      "once."));
}

void ExecDisplay::TellLeftOut() {
  // A last line without its newline counts as shown with one.
  if (!interrupted_at_ || !settings_.lines || received_ <= shown_) return;
  Err(Stamped(fmt::format("Left out: {} of output that was not shown yet.",
                          ByteCount(received_ - shown_))));
}

bool ExecDisplay::Shows(std::size_t job) const {
  return settings_.lines &&
         (!settings_.only || settings_.only->contains((*jobs_)[job].worker.index));
}

void ExecDisplay::OnLine(std::size_t job, ssh::Stream stream, std::string_view line) {
  const std::lock_guard lock(mutex_);
  if (LeavesOut()) return;
  if (!Shows(job)) return KeepUnseen(job, stream, line);
  shown_ += line.size() + 1;
  const bool out = stream == ssh::Stream::kOut;
  const std::string time = settings_.timestamps ? FormatTimestamp(clock_.Now()) : "";
  if (streams_.json) {
    Value::Map members = {{"stream", out ? "stdout" : "stderr"}, {"line", line}};
    if (!time.empty()) members["time"] = time;
    Out(EventLine("output", (*jobs_)[job], std::move(members)));
  } else {
    const std::string text = time + (time.empty() ? "" : " ") + VisibleLine(line);
    out ? Out(out_prefixes_.at(job) + text) : Err(err_prefixes_.at(job) + text);
  }
  CheckHeard();
}

void ExecDisplay::KeepUnseen(std::size_t job, ssh::Stream stream, std::string_view line) {
  constexpr std::size_t kMostKept = 10;
  constexpr std::size_t kLongestKept = 300;
  if (!settings_.only || stream != ssh::Stream::kErr) return;
  if (settings_.only->contains((*jobs_)[job].worker.index)) return;
  auto& kept = unseen_[job];
  if (kept.size() == kMostKept) kept.pop_front();
  kept.push_back(VisibleLine(line.substr(0, kLongestKept)));
}

std::vector<std::string> ExecDisplay::LastUnseen(std::size_t job) const {
  const auto found = unseen_.find(job);
  if (found == unseen_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

void ExecDisplay::OnPhase(std::size_t job, ssh::Phase phase) {
  const std::lock_guard lock(mutex_);
  progress_->OnPhase(job, phase);
  if (!streams_.json) return;
  Value::Map members = {{"phase", NameOf(phase)}};
  if (phase == ssh::Phase::kRetrying && why_again_) {
    members["cause"] = ssh::SharedWords(why_again_);
  }
  why_again_ = {};
  Out(EventLine("phase", (*jobs_)[job], std::move(members)));
}

// Its phase is told next.
void ExecDisplay::OnTryAgain(std::size_t job, const ssh::Cause& why) {
  const std::lock_guard lock(mutex_);
  progress_->OnTryAgain(job, why);
  why_again_ = why;
}

void ExecDisplay::OnResult(std::size_t job, const ssh::WorkerResult& result) {
  const std::lock_guard lock(mutex_);
  progress_->OnResult(job, ssh::CauseOf(result));
  if (Shows(job)) received_ += result.bytes_out + result.bytes_err;
  if (streams_.json) Out(EventLine("result", (*jobs_)[job], EntryValue(EntryOf(result))));
}

void ExecDisplay::OnOver(std::size_t job, const std::string& cause) {
  const std::lock_guard lock(mutex_);
  progress_->OnResult(job, cause);
}

void ExecDisplay::Tick() {
  const std::lock_guard lock(mutex_);
  TellInterrupt();
  Write();
  if (shows_progress_) ShowProgress();
  CheckHeard();
}

void ExecDisplay::CountAsShown(std::size_t job, std::string_view line) {
  const std::lock_guard lock(mutex_);
  if (Shows(job)) shown_ += line.size() + 1;
}

void ExecDisplay::NameDoing(const std::string& doing) {
  const std::lock_guard lock(mutex_);
  if (progress_) progress_->ShowDoing(doing);
}

std::string ExecDisplay::Stamped(const std::string& lines) const {
  if (!settings_.timestamps) return lines;
  const std::string time = FormatTimestamp(clock_.Now());
  std::string text;
  for (const std::string& line : SplitLines(lines)) text += fmt::format("{} {}\n", time, line);
  if (!lines.ends_with('\n') && !text.empty()) text.pop_back();
  return text;
}

void ExecDisplay::Tell(const std::string& line, const Value& event) {
  const std::lock_guard lock(mutex_);
  if (streams_.json) {
    Out(ToJson(event));
  } else {
    Err(Stamped(line));
  }
}

void ExecDisplay::OnEnd() {
  const std::lock_guard lock(mutex_);
  TellLeftOut();
  Finish();
  CheckHeard();
}

}  // namespace podctl
