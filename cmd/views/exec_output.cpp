#include "cmd/views/exec_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cmd/views/byte_count.h"
#include "cmd/views/documents.h"
#include "cmd/views/exec_progress.h"
#include "providers/base/foreign_text.h"
#include "providers/base/json.h"

namespace podctl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kMostWaiting = std::size_t{64} << 10;  // bytes
constexpr milliseconds kFrame{100};
constexpr milliseconds kQuick{500};  // what ends within this needs no progress
constexpr seconds kPlainPace{20};    // between two lines in a log

}  // namespace

ExecConsole::ExecConsole(Streams& streams, ExecProgress* progress, Clock& clock)
    : streams_(streams),
      progress_(progress),
      clock_(clock),
      began_(clock.Steady()),
      block_(streams),
      drawn_at_(began_),
      told_at_(began_) {}

void ExecConsole::Add(std::ostream* stream, std::string_view line) {
  if (target_ != stream) Write();
  target_ = stream;
  waiting_.append(line);
  waiting_ += '\n';
  if (waiting_.size() >= kMostWaiting) Write();
}

void ExecConsole::Write() {
  if (waiting_.empty()) return;
  const bool terminal =
      target_ == &streams_.out ? streams_.out_is_terminal : streams_.err_is_terminal;
  if (terminal) block_.Erase();
  *target_ << waiting_ << std::flush;
  waiting_.clear();
}

void ExecConsole::Tick() {
  Write();
  if (progress_ != nullptr) ShowProgress();
}

void ExecConsole::ShowProgress() {
  const auto now = clock_.Steady();
  if (!streams_.err_is_terminal) {
    if (!told_trouble_) {
      for (const std::string& line : progress_->TroubleLines()) {
        streams_.err << line << '\n' << std::flush;
        told_trouble_ = true;
      }
    }
    if (now - told_at_ < kPlainPace) return;
    told_at_ = now;
    streams_.err << progress_->PlainLine() << '\n' << std::flush;
    return;
  }
  if (now - began_ < kQuick || (block_.drawn() && now - drawn_at_ < kFrame)) return;
  drawn_at_ = now;
  std::vector<std::string> lines = progress_->Lines();
  if (lines.size() > block_.MostLines()) lines.resize(block_.MostLines());
  block_.Draw(lines);
}

void ExecConsole::Finish() {
  Write();
  block_.Erase();
  progress_ = nullptr;
}

PrefixedLines::PrefixedLines(const Streams& streams, const std::vector<ssh::Job>& jobs) {
  std::size_t width = 0;
  for (const ssh::Job& job : jobs) width = std::max(width, job.worker.Name().size());
  const Paint out(streams.color && streams.out_is_terminal);
  const Paint err(streams.color && streams.err_is_terminal);
  for (const ssh::Job& job : jobs) {
    const std::string prefix = fmt::format("{:<{}} |", job.worker.Name(), width);
    out_prefixes_.push_back(out(Ink::kCyan, prefix) + ' ');
    err_prefixes_.push_back(err(Ink::kYellow, prefix) + ' ');
  }
}

std::string PrefixedLines::Line(std::size_t job, ssh::Stream stream, std::string_view line) const {
  const bool out = stream == ssh::Stream::kOut;
  std::string text = out ? out_prefixes_.at(job) : err_prefixes_.at(job);
  return text += VisibleLine(line);
}

Value ExecOutputEvent(const ssh::Job& job, ssh::Stream stream, std::string_view line) {
  Value event = WorkerEvent("output", job.worker);
  event.Set("stream", stream == ssh::Stream::kOut ? "stdout" : "stderr");
  event.Set("line", line);
  return event;
}

Value ExecPhaseEvent(const ssh::Job& job, ssh::Phase phase) {
  constexpr std::array<std::string_view, 6> kNames = {"waiting", "connecting", "authenticating",
                                                      "running", "retrying",   "done"};
  Value event = WorkerEvent("phase", job.worker);
  event.Set("phase", kNames[static_cast<std::size_t>(phase)]);
  return event;
}

Value ExecResultEvent(const ssh::Job& job, const ssh::WorkerResult& result) {
  Value event = WorkerEvent("result", job.worker);
  const Value entry = EntryValue(EntryOf(result));
  for (const auto& [key, value] : entry.AsMap()) event.Set(key, value);
  return event;
}

namespace {

// What the commands say when they are asked to end is still of interest; what has been waiting for
// a slow reader is not.
constexpr std::chrono::seconds kLastWords{2};

}  // namespace

void ExecDesk::OnBegin(const std::vector<ssh::Job>& jobs, std::stop_source& unheard) {
  const std::lock_guard lock(mutex_);
  jobs_ = &jobs;
  unheard_ = &unheard;
  progress_.emplace(jobs, clock_);
  if (wishes_.amount) progress_->ShowAmount(wishes_.amount);
  console_.emplace(streams_, streams_.json ? nullptr : &*progress_, clock_);
  lines_.emplace(streams_, jobs);
  interrupted_at_.reset();
  received_ = shown_ = 0;
}

void ExecDesk::Show(const Value& event) {
  console_->Out(ToJson(event));
}

void ExecDesk::CheckHeard() {
  if (!console_->heard()) unheard_->request_stop();
}

bool ExecDesk::LeavesOut() {
  if (wishes_.stops.leave.stop_requested()) return true;
  if (!wishes_.stops.drain.stop_requested()) return false;
  TellInterrupt();
  return clock_.Steady() - *interrupted_at_ >= kLastWords;
}

void ExecDesk::TellInterrupt() {
  if (interrupted_at_ || !wishes_.stops.drain.stop_requested()) return;
  interrupted_at_ = clock_.Steady();
  console_->Err(
      "Interrupted: the commands on the workers are asked to end. A second Ctrl-C leaves at "
      "once.");
}

void ExecDesk::TellLeftOut() {
  // A last line without its newline counts as shown with one.
  if (!interrupted_at_ || !wishes_.lines || received_ <= shown_) return;
  console_->Err(
      fmt::format("Left out: {} of output that was not shown yet.", ByteCount(received_ - shown_)));
}

void ExecDesk::OnLine(std::size_t job, ssh::Stream stream, std::string_view line) {
  const std::lock_guard lock(mutex_);
  if (LeavesOut()) return;
  shown_ += line.size() + 1;
  if (streams_.json) {
    Show(ExecOutputEvent((*jobs_)[job], stream, line));
  } else if (stream == ssh::Stream::kOut) {
    console_->Out(lines_->Line(job, stream, line));
  } else {
    console_->Err(lines_->Line(job, stream, line));
  }
  CheckHeard();
}

void ExecDesk::OnPhase(std::size_t job, ssh::Phase phase) {
  const std::lock_guard lock(mutex_);
  progress_->OnPhase(job, phase);
  if (streams_.json) Show(ExecPhaseEvent((*jobs_)[job], phase));
}

void ExecDesk::OnTryAgain(std::size_t job, const ssh::Cause& why) {
  const std::lock_guard lock(mutex_);
  progress_->OnTryAgain(job, why);
}

void ExecDesk::OnResult(std::size_t job, const ssh::WorkerResult& result) {
  const std::lock_guard lock(mutex_);
  progress_->OnResult(job, ssh::CauseOf(result));
  received_ += result.bytes_out + result.bytes_err;
  if (streams_.json) Show(ExecResultEvent((*jobs_)[job], result));
}

void ExecDesk::Tick() {
  const std::lock_guard lock(mutex_);
  TellInterrupt();
  console_->Tick();
  CheckHeard();
}

void ExecDesk::CountAsShown(std::string_view line) {
  const std::lock_guard lock(mutex_);
  shown_ += line.size() + 1;
}

void ExecDesk::Tell(const std::string& line, const Value& event) {
  const std::lock_guard lock(mutex_);
  if (streams_.json) {
    Show(event);
  } else {
    console_->Err(line);
  }
}

void ExecDesk::OnEnd() {
  const std::lock_guard lock(mutex_);
  TellLeftOut();
  console_->Finish();
  CheckHeard();
}

}  // namespace podctl
