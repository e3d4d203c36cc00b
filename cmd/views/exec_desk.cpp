#include "cmd/views/exec_desk.h"

#include <fmt/format.h>

#include <utility>

#include "cmd/views/byte_count.h"
#include "cmd/views/exec_summary.h"
#include "providers/base/json.h"

namespace podctl {
namespace {

constexpr std::chrono::seconds kKeepPace{5};
// What the commands say when they are asked to end is still of interest; what has been waiting for
// a slow reader is not.
constexpr std::chrono::seconds kLastWords{2};

std::vector<int> NumbersOf(const std::vector<ssh::Job>& jobs) {
  std::vector<int> numbers;
  for (const ssh::Job& job : jobs) numbers.push_back(job.worker.index);
  return numbers;
}

}  // namespace

ExecDesk::ExecDesk(Streams& streams, const std::vector<ssh::Job>& jobs, ExecRecord& record,
                   Clock& clock, Wishes wishes, std::stop_source& unheard)
    : jobs_(jobs),
      record_(record),
      clock_(clock),
      wishes_(std::move(wishes)),
      unheard_(unheard),
      progress_(jobs.front().worker.pod, NumbersOf(jobs), clock, jobs.front().worker.per_slice),
      console_(streams, wishes_.json ? nullptr : &progress_, clock),
      lines_(streams, jobs),
      kept_at_(clock.Steady()) {
  if (wishes_.amount) progress_.ShowAmount(wishes_.amount);
}

void ExecDesk::Show(const Value& event) {
  console_.Out(ToJson(event));
}

void ExecDesk::CheckHeard() {
  if (!console_.heard()) unheard_.request_stop();
}

bool ExecDesk::LeavesOut() {
  if (wishes_.left.stop_requested()) return true;
  if (!wishes_.interrupted.stop_requested()) return false;
  TellInterrupt();
  return clock_.Steady() - *interrupted_at_ >= kLastWords;
}

void ExecDesk::TellInterrupt() {
  if (interrupted_at_ || !wishes_.interrupted.stop_requested()) return;
  interrupted_at_ = clock_.Steady();
  console_.Err(
      "Interrupted: the commands on the workers are asked to end. A second Ctrl-C leaves at "
      "once.");
}

void ExecDesk::TellLeftOut() {
  // A last line without its newline counts as shown with one.
  if (!interrupted_at_ || wishes_.sink != nullptr || received_ <= shown_) return;
  console_.Err(
      fmt::format("Left out: {} of output that was not shown yet.", ByteCount(received_ - shown_)));
}

void ExecDesk::OnBytes(std::size_t job, ssh::Stream stream, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  wishes_.sink->OnBytes(job, stream, bytes);
}

void ExecDesk::OnLine(std::size_t job, ssh::Stream stream, std::string_view line) {
  const std::lock_guard lock(mutex_);
  if (LeavesOut()) return;
  shown_ += line.size() + 1;
  if (wishes_.json) {
    Show(ExecOutputEvent(jobs_[job], stream, line));
  } else if (stream == ssh::Stream::kOut) {
    console_.Out(lines_.Line(job, stream, line));
  } else {
    console_.Err(lines_.Line(job, stream, line));
  }
  CheckHeard();
}

void ExecDesk::OnPhase(std::size_t job, ssh::Phase phase) {
  const std::lock_guard lock(mutex_);
  progress_.OnPhase(job, phase);
  if (wishes_.json) Show(ExecPhaseEvent(jobs_[job], phase));
}

void ExecDesk::OnTryAgain(std::size_t job, const ssh::Cause& why) {
  const std::lock_guard lock(mutex_);
  progress_.OnTryAgain(job, why);
}

void ExecDesk::OnResult(std::size_t job, const ssh::WorkerResult& result) {
  const std::lock_guard lock(mutex_);
  progress_.OnResult(job, ssh::CauseOf(result));
  received_ += result.bytes_out + result.bytes_err;
  if (wishes_.sink != nullptr) wishes_.sink->OnEnd(job, result);
  WorkerEntry& entry = record_.results[jobs_[job].worker.index];
  entry = EntryOf(result);
  if (wishes_.complete) wishes_.complete(job, entry);
  changed_ = true;
  if (wishes_.json) Show(ExecResultEvent(jobs_[job], result));
}

void ExecDesk::Tick() {
  const std::lock_guard lock(mutex_);
  TellInterrupt();
  console_.Tick();
  CheckHeard();
  if (changed_ && clock_.Steady() - kept_at_ >= kKeepPace) Keep();
}

void ExecDesk::CountAsShown(std::string_view line) {
  const std::lock_guard lock(mutex_);
  shown_ += line.size() + 1;
}

void ExecDesk::Tell(const std::string& line, const Value& event) {
  const std::lock_guard lock(mutex_);
  if (wishes_.json) {
    Show(event);
  } else {
    console_.Err(line);
  }
}

void ExecDesk::Keep() {
  wishes_.keep();
  kept_at_ = clock_.Steady();
  changed_ = false;
}

void ExecDesk::Finish() {
  const std::lock_guard lock(mutex_);
  TellLeftOut();
  console_.Finish();
  CheckHeard();
  record_.ended = FormatTimestamp(clock_.Now());
  Keep();
}

}  // namespace podctl
