#include "plans/session/loss_watch.h"

#include <set>
#include <string_view>

namespace podctl {
namespace {

// Hears of one run, and ends it.
class LossListener final : public ssh::Observer {
 public:
  LossListener(const KnownPods& pods, const std::string& pod, ssh::Observer& observer,
               const std::stop_token& asked)
      : observer_(observer),
        asked_(asked),
        on_asked_(asked, [this] { end_.request_stop(); }),
        watch_(
            pods, pod,
            [this] {
              const std::lock_guard lock(mutex_);
              EndIfIdle();
            },
            [this, &pods, pod](const std::string&) {
              const std::lock_guard lock(mutex_);
              silence_ = ssh::OtherCause("the pod " + pods.TroubleWords(pod));
            }) {}

  std::stop_token stop() const { return end_.get_token(); }

  void OnLine(std::size_t job, ssh::Stream stream, std::string_view line) override {
    observer_.OnLine(job, stream, line);
  }
  bool TakesBytes() const override { return observer_.TakesBytes(); }
  void OnBytes(std::size_t job, ssh::Stream stream, std::string_view bytes) override {
    observer_.OnBytes(job, stream, bytes);
  }
  void OnPhase(std::size_t job, ssh::Phase phase) override {
    observer_.OnPhase(job, phase);
    const std::lock_guard lock(mutex_);
    if (phase == ssh::Phase::kRunning) running_.insert(job);
    if (phase == ssh::Phase::kDone) running_.erase(job);
    EndIfIdle();
  }
  void OnTryAgain(std::size_t job, const ssh::Cause& why) override {
    std::optional<ssh::Cause> silence;
    {
      const std::lock_guard lock(mutex_);
      silence = silence_;
    }
    observer_.OnTryAgain(job, silence.value_or(why));
    watch_.Trouble();
  }
  void OnResult(std::size_t job, const ssh::WorkerResult& result) override {
    observer_.OnResult(job, Described(result));
  }

  // As it is to be told.
  ssh::WorkerResult Described(ssh::WorkerResult result) const {
    const bool given_up =
        result.outcome == ssh::Outcome::kCancelled && !result.asked && !asked_.stop_requested();
    if (!given_up && result.outcome != ssh::Outcome::kUnreachable) return result;
    if (const auto loss = watch_.loss()) EndLost(*loss, &result);
    return result;
  }

 private:
  // What runs is on a part of the pod that is still there, and ends by itself. Under the lock.
  void EndIfIdle() {
    if (running_.empty() && watch_.loss()) end_.request_stop();
  }

  ssh::Observer& observer_;
  const std::stop_token asked_;
  std::stop_source end_;
  const std::stop_callback<std::function<void()>> on_asked_;
  std::mutex mutex_;
  std::set<std::size_t> running_;
  std::optional<ssh::Cause> silence_;
  LossWatch watch_;  // the last member: it calls back until it is gone
};

}  // namespace

void LossWatch::Trouble() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(asked_, true)) return;
  }
  auto record = pods_.Record(pod_);
  if (!record) return;
  asking_ = std::jthread(
      [this, record = *std::move(record)](const std::stop_token& stop) { Ask(stop, record); });
}

void LossWatch::Ask(const std::stop_token& stop, const PodRecord& record) {
  auto loss = pods_.AskLoss(pod_, record, stop);
  if (!loss) {
    const std::string why = on_silence_ ? pods_.TroubleSeen(pod_) : "";
    if (!why.empty()) on_silence_(why);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    loss_ = *std::move(loss);
  }
  on_loss_();
}

std::optional<Error> LossWatch::loss() const {
  const std::lock_guard lock(mutex_);
  return loss_;
}

std::vector<ssh::WorkerResult> LossAwareTransport::Run(const std::vector<ssh::Job>& jobs,
                                                       const ssh::Limits& limits,
                                                       ssh::Observer& observer,
                                                       std::stop_token stop) {
  if (jobs.empty()) return transport_.Run(jobs, limits, observer, std::move(stop));
  LossListener listener(pods_, jobs.front().worker.pod, observer, stop);
  auto results = transport_.Run(jobs, limits, listener, listener.stop());
  for (ssh::WorkerResult& result : results) result = listener.Described(std::move(result));
  return results;
}

void EndLost(const Error& loss, ssh::WorkerResult* result) {
  result->End(ssh::Outcome::kUnreachable, ssh::OtherCause(loss.message));
}

}  // namespace podctl
