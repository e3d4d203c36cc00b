#include "plans/engine/call_pool.h"

#include <algorithm>
#include <utility>

namespace podctl {
namespace {

// Puts what a step reports into the mailbox.
class MailingObserver final : public StepObserver {
 public:
  MailingObserver(Mailbox& mailbox, std::size_t task) : mailbox_(mailbox), task_(task) {}
  void OnStepLine(int worker, std::string_view line) override {
    mailbox_.Put({task_, StepLine{worker, std::string(line)}});
  }
  void OnStepApplied(int worker, const HostKeyText& learned_host_key) override {
    mailbox_.Put({task_, StepApplied{worker, learned_host_key}});
  }
  void OnStepProgress(const StepProgress& progress) override { mailbox_.Put({task_, progress}); }

 private:
  Mailbox& mailbox_;
  const std::size_t task_;
};

}  // namespace

void Mailbox::Put(Letter letter) {
  std::unique_lock lock(mutex_);
  const bool reply = std::holds_alternative<Reply>(letter.content);
  emptied_.wait(lock, [&] { return closed_ || reply || letters_.size() < kMost; });
  if (closed_) return;
  letters_.push_back(std::move(letter));
  filled_.notify_one();
}

std::deque<Letter> Mailbox::TakeAll() {
  std::lock_guard lock(mutex_);
  woken_ = false;
  emptied_.notify_all();
  return std::exchange(letters_, {});
}

void Mailbox::Wait(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  filled_.wait_for(lock, limit, [&] { return woken_ || !letters_.empty(); });
}

void Mailbox::Wake() {
  std::lock_guard lock(mutex_);
  woken_ = true;
  filled_.notify_one();
}

void Mailbox::Close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  emptied_.notify_all();
}

CallPool::CallPool(Mailbox& mailbox, int threads)
    : mailbox_(mailbox), most_threads_(static_cast<std::size_t>(std::max(0, threads))) {}

CallPool::~CallPool() {
  mailbox_.Close();
  StopCalls();
  StopSteps();
  for (std::jthread& thread : threads_) thread.request_stop();
  filled_.notify_all();
}

void CallPool::Submit(std::size_t task, Call call) {
  std::lock_guard lock(mutex_);
  jobs_.push_back({task, std::move(call)});
  if (most_threads_ == 0) return;
  if (idle_ < jobs_.size() && threads_.size() < most_threads_) {
    threads_.emplace_back([this](const std::stop_token& stop) { Work(stop); });
  }
  filled_.notify_one();
}

void CallPool::Work(const std::stop_token& stop) {
  MailingObserver observer(mailbox_, 0);
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    const bool found = filled_.wait(lock, stop, [&] { return !jobs_.empty(); });
    --idle_;
    if (!found || stop.stop_requested()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    mailbox_.Put({job.task, job.call(observer, stop_calls_.get_token())});
    lock.lock();
  }
}

void CallPool::SubmitStep(std::size_t task, Call call) {
  if (most_threads_ == 0) {
    jobs_.push_back({task, std::move(call), true});
    return;
  }
  // A thread that has ended still holds its stack until it is joined.
  std::erase_if(steps_, [](const StepThread& step) { return step.ended->load(); });
  auto ended = std::make_shared<std::atomic<bool>>(false);
  std::jthread thread([this, task, ended, call = std::move(call)] {
    MailingObserver observer(mailbox_, task);
    mailbox_.Put({task, call(observer, stop_steps_.get_token())});
    ended->store(true);
  });
  steps_.push_back({std::move(ended), std::move(thread)});
}

bool CallPool::RunOne(Random& chance) {
  if (most_threads_ > 0 || jobs_.empty()) return false;
  const auto drawn = static_cast<std::size_t>(chance.Uniform() * static_cast<double>(jobs_.size()));
  const auto chosen =
      jobs_.begin() + static_cast<std::ptrdiff_t>(std::min(drawn, jobs_.size() - 1));
  const Job job = std::move(*chosen);
  jobs_.erase(chosen);
  MailingObserver observer(mailbox_, job.task);
  mailbox_.Put({job.task, job.call(observer, (job.step ? stop_steps_ : stop_calls_).get_token())});
  return true;
}

void CallPool::StopSteps() {
  stop_steps_.request_stop();
}
void CallPool::StopCalls() {
  stop_calls_.request_stop();
}

}  // namespace podctl
