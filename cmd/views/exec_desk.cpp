#include "cmd/views/exec_desk.h"

#include <fmt/format.h>

#include "cmd/views/byte_count.h"
#include "cmd/views/exec_summary.h"
#include "providers/base/json.h"

namespace podctl {
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
