#include "providers/ssh/retry_queue.h"

#include <fmt/format.h>

#include <algorithm>

#include "providers/base/text.h"

namespace podctl::ssh {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShortestPause{50};
constexpr milliseconds kLongestPause{8'000};
constexpr int kManyTroubles = 32;
constexpr int kLeastConcurrency = 16;  // trouble of others makes it no smaller
constexpr std::chrono::seconds kBetweenCuts{1};

}  // namespace

ConcurrencyLimit::ConcurrencyLimit(int most) : most_(std::max(1, most)), size_(most_) {}

void ConcurrencyLimit::Success() {
  ++successes_;
  size_ = std::min(most_, size_ + 1);
}

void ConcurrencyLimit::Trouble(Time now) {
  ++troubles_;
  if (troubles_ < kManyTroubles || troubles_ < successes_ || now < next_cut_) return;
  Cut(std::max(kLeastConcurrency, size_ / 2), now);
}

void ConcurrencyLimit::Cut(int size, Time now) {
  size_ = std::min(size_, size);
  troubles_ = successes_ = 0;
  next_cut_ = now + kBetweenCuts;
}

Retries::Time Retries::Soon(Time now) {
  const milliseconds wait(
      static_cast<std::int64_t>(static_cast<double>(cap_.count()) * random_->Uniform()));
  cap_ = std::min(cap_ * 2, kLongestPause);
  return now + std::max(wait, kShortestPause);
}

std::optional<Retries::Time> Retries::Again(bool keys_refused, Time now) {
  Time give_up = first_try_ + limits_->retry;
  if (keys_refused) {
    first_refusal_ = std::min(first_refusal_, now);
    give_up = first_refusal_ + std::min(limits_->auth_retry, limits_->retry);
  }
  if (now >= give_up) return std::nullopt;
  return std::min(Soon(now), give_up);
}

std::optional<Verdict> RetryUntilIn(const Limits& limits, Clock& clock, Random& random,
                                    const std::function<std::optional<Verdict>()>& once,
                                    const std::function<void(const Cause&)>& on_trouble,
                                    const std::stop_token& stop) {
  Retries retries(limits, random);
  retries.Begin(clock.Steady());
  while (true) {
    std::optional<Verdict> verdict = once();
    if (!verdict) return std::nullopt;
    const auto now = clock.Steady();
    const bool cancelled = stop.stop_requested();
    const auto at = verdict->may_pass && !cancelled
                        ? retries.Again(verdict->outcome == Outcome::kAuthRefused, now)
                        : std::nullopt;
    if (!at && !cancelled) return verdict;
    if (at) on_trouble(verdict->cause);
    if (cancelled || !clock.SleepFor(std::chrono::ceil<milliseconds>(*at - now), stop)) {
      return Verdict{Outcome::kCancelled, OtherCause("cancelled"), false};
    }
  }
}

RetryQueue::RetryQueue(std::size_t jobs, const Limits& limits, Random& random)
    : concurrency(
          static_cast<int>(std::min(jobs, static_cast<std::size_t>(std::max(1, limits.max_open))))),
      limits_(limits),
      slots_(jobs, Slot{Retries(limits, random), State::kWaiting, 0}),
      unfinished_(jobs) {}

void RetryQueue::Add(std::size_t job) {
  ready_.push_back(job);
}

std::optional<std::size_t> RetryQueue::Next(Time now) {
  while (!later_.empty() && later_.begin()->first <= now) {
    ready_.push_back(later_.begin()->second);
    later_.erase(later_.begin());
  }
  while (!ready_.empty() && slots_[ready_.front()].state != State::kWaiting) ready_.pop_front();
  if (ready_.empty()) return std::nullopt;
  return ready_.front();
}

void RetryQueue::Begin(std::size_t job, Time now) {
  PODCTL_CHECK(!ready_.empty() && ready_.front() == job);
  ready_.pop_front();
  slots_[job].state = State::kOpen;
  slots_[job].retries.Begin(now);
  ++slots_[job].attempts;
  ++open_;
}

void RetryQueue::Later(std::size_t job, Time at) {
  slots_[job].state = State::kWaiting;
  --open_;
  later_.emplace(at, job);
}

bool RetryQueue::Again(std::size_t job, bool keys_refused, Time now) {
  const auto at = slots_[job].retries.Again(keys_refused, now);
  if (at) Later(job, *at);
  return at.has_value();
}

void RetryQueue::PutBack(std::size_t job, Time now) {
  --slots_[job].attempts;
  Later(job, slots_[job].retries.Soon(now));
}

void RetryQueue::End(std::size_t job, const WorkerResult& result) {
  if (slots_[job].state == State::kOpen) --open_;
  slots_[job].state = State::kEnded;
  --unfinished_;
  const bool begun = result.outcome != Outcome::kCancelled && result.outcome != Outcome::kSkipped;
  if (!result.ok() && begun) ++failures_;
}

Cause RetryQueue::SkippedCause() const {
  return OtherCause(fmt::format("not started: {} failed before",
                                Plural(static_cast<std::size_t>(failures_), "worker")));
}

}  // namespace podctl::ssh
