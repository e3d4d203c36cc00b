#include "plans/engine/call_pool.h"

#include <algorithm>
#include <utility>

namespace podctl {
namespace {

// Puts what a step reports into the message queue.
class QueueingObserver final : public StepObserver {
 public:
  QueueingObserver(MessageQueue& message_queue, std::size_t task)
      : message_queue_(message_queue), task_(task) {}
  void OnStepLine(int worker, std::string_view line) override {
    message_queue_.Put({task_, StepLine{worker, std::string(line)}});
  }
  void OnStepApplied(int worker, const HostKeyText& learned_host_key) override {
    message_queue_.Put({task_, StepApplied{worker, learned_host_key}});
  }
  void OnStepProgress(const StepProgress& progress) override {
    message_queue_.Put({task_, progress});
  }

 private:
  MessageQueue& message_queue_;
  const std::size_t task_;
};

}  // namespace

void MessageQueue::Put(Message message) {
  std::unique_lock lock(mutex_);
  const bool reply = std::holds_alternative<Reply>(message.content);
  emptied_.wait(lock, [&] { return closed_ || reply || messages_.size() < kMost; });
  if (closed_) return;
  messages_.push_back(std::move(message));
  filled_.notify_one();
}

std::deque<Message> MessageQueue::TakeAll() {
  std::lock_guard lock(mutex_);
  woken_ = false;
  emptied_.notify_all();
  return std::exchange(messages_, {});
}

void MessageQueue::Wait(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  filled_.wait_for(lock, limit, [&] { return woken_ || !messages_.empty(); });
}

void MessageQueue::Wake() {
  std::lock_guard lock(mutex_);
  woken_ = true;
  filled_.notify_one();
}

void MessageQueue::Close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  emptied_.notify_all();
}

CallPool::CallPool(MessageQueue& message_queue, int threads)
    : message_queue_(message_queue),
      most_threads_(static_cast<std::size_t>(std::max(0, threads))) {}

CallPool::~CallPool() {
  message_queue_.Close();
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
  QueueingObserver observer(message_queue_, 0);
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    const bool found = filled_.wait(lock, stop, [&] { return !jobs_.empty(); });
    --idle_;
    if (!found || stop.stop_requested()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    message_queue_.Put({job.task, job.call(observer, stop_calls_.get_token())});
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
    QueueingObserver observer(message_queue_, task);
    message_queue_.Put({task, call(observer, stop_steps_.get_token())});
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
  QueueingObserver observer(message_queue_, job.task);
  message_queue_.Put(
      {job.task, job.call(observer, (job.step ? stop_steps_ : stop_calls_).get_token())});
  return true;
}

void CallPool::StopSteps() {
  stop_steps_.request_stop();
}
void CallPool::StopCalls() {
  stop_calls_.request_stop();
}

}  // namespace podctl
