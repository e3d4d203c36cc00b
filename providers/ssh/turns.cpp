#include "providers/ssh/turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "providers/base/text.h"

namespace podctl::ssh {

using std::chrono::milliseconds;

Turns::Turns(std::size_t jobs, const Limits& limits, Clock& clock, Random& random,
             std::stop_token stop, OnResult on_result, OnAgain on_again)
    : limits_(limits),
      clock_(clock),
      stop_(std::move(stop)),
      on_result_(std::move(on_result)),
      on_again_(std::move(on_again)),
      start_(clock.Steady()),
      waiting_(jobs),
      results_(jobs),
      unfinished_(jobs),
      on_stop_(stop_, [this] {
        halt_.Ring();
        changed_.notify_all();
      }) {
  std::iota(waiting_.begin(), waiting_.end(), std::size_t{0});
  progress_.reserve(jobs);
  for (std::size_t i = 0; i < jobs; ++i) progress_.emplace_back(random);
}

bool Turns::IsHalted() const {
  return stop_.stop_requested() || (limits_.max_failures && failures_ > *limits_.max_failures);
}

WorkerResult Turns::HaltedLocked(std::size_t job) const {
  WorkerResult result;
  result.attempts = progress_[job].attempts;
  if (stop_.stop_requested()) {
    result.End(Outcome::kCancelled, CancelledCause(Farewell::kBeforeSent));
  } else {
    result.End(Outcome::kSkipped,
               OtherCause(fmt::format("not started: {} failed before",
                                      Plural(static_cast<std::size_t>(failures_), "worker"))));
  }
  return result;
}

WorkerResult Turns::Halted(std::size_t job) const {
  const std::lock_guard lock(mutex_);
  return HaltedLocked(job);
}

int Turns::CountAttempt(std::size_t job) {
  const std::lock_guard lock(mutex_);
  progress_[job].first_try = std::min(progress_[job].first_try, clock_.Steady());
  return ++progress_[job].attempts;
}

// Tells and keeps a result. Unlocks meanwhile: whoever is told may wait.
void Turns::Finish(std::size_t job, WorkerResult result, std::unique_lock<std::mutex>& lock) {
  const auto now = clock_.Steady();
  if (result.waited.count() == 0) {
    result.waited = std::chrono::duration_cast<milliseconds>(now - start_);
  }
  const bool skipped = result.outcome == Outcome::kSkipped || result.outcome == Outcome::kCancelled;
  if (!result.ok() && !skipped) ++failures_;
  if (IsHalted()) halt_.Ring();
  lock.unlock();
  on_result_(job, result);
  lock.lock();
  results_[job] = std::move(result);
  --unfinished_;
  changed_.notify_all();
}

void Turns::HaltWaiting(std::unique_lock<std::mutex>& lock) {
  while (!waiting_.empty() || !later_.empty()) {
    std::size_t job = 0;
    if (!waiting_.empty()) {
      job = waiting_.front();
      waiting_.pop_front();
    } else {
      job = later_.begin()->second;
      later_.erase(later_.begin());
    }
    Finish(job, HaltedLocked(job), lock);
  }
}

std::optional<std::size_t> Turns::Next() {
  // A request to stop is no change under our lock, so it could slip in between a look and a wait.
  constexpr milliseconds kLongest{100};
  std::unique_lock lock(mutex_);
  while (unfinished_ > 0) {
    if (IsHalted()) HaltWaiting(lock);
    const auto now = clock_.Steady();
    if (!later_.empty() && later_.begin()->first <= now) {
      const std::size_t job = later_.begin()->second;
      later_.erase(later_.begin());
      return job;
    }
    if (!waiting_.empty()) {
      const std::size_t job = waiting_.front();
      waiting_.pop_front();
      return job;
    }
    if (unfinished_ == 0) break;
    milliseconds wait = kLongest;
    if (!later_.empty()) {
      wait = std::min(wait, std::chrono::ceil<milliseconds>(later_.begin()->first - now));
    }
    changed_.wait_for(lock, wait);
  }
  return std::nullopt;
}

void Turns::End(std::size_t job, WorkerResult result) {
  std::unique_lock lock(mutex_);
  Finish(job, std::move(result), lock);
}

void Turns::EndOrTryAgain(std::size_t job, WorkerResult result) {
  std::unique_lock lock(mutex_);
  Progress& progress = progress_[job];
  const auto now = clock_.Steady();
  Time give_up = progress.first_try + limits_.retry;
  if (result.outcome == Outcome::kAuthRefused) {
    progress.first_refusal = std::min(progress.first_refusal, now);
    give_up = progress.first_refusal + std::min(limits_.auth_retry, limits_.retry);
  }
  if (IsHalted()) {
    Finish(job, HaltedLocked(job), lock);
    return;
  }
  if (now >= give_up) {
    result.CountTries();
    Finish(job, std::move(result), lock);
    return;
  }
  later_.emplace(std::min(now + progress.backoff.Next(), give_up), job);
  on_again_(job, result.cause);
  changed_.notify_all();
}

}  // namespace podctl::ssh
