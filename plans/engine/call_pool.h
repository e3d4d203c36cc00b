// Threads that carry a call out and bring the reply back; they know nothing of plans or state.
//
// The executor's loop is the only caller. Replies and steps' progress arrive in one message queue.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "plans/engine/task.h"

namespace podctl {

struct StepLine {
  int worker = 0;
  std::string line;
};
struct StepApplied {
  int worker = 0;
  HostKeyText learned_host_key;
};

struct Message {
  std::size_t task = 0;
  std::variant<Reply, StepLine, StepProgress, StepApplied> content;
};

class MessageQueue {
 public:
  // Waits while the queue is full (a step's output must not grow memory), unless it is closed; a
  // reply never waits.
  void Put(Message message);
  std::deque<Message> TakeAll();
  // Until a message or a Wake is there, or `limit` is over.
  void Wait(std::chrono::milliseconds limit);
  void Wake();   // from any thread, also from a signal's watcher
  void Close();  // nobody reads any more

 private:
  static constexpr std::size_t kMost = 4096;
  std::mutex mutex_;
  std::condition_variable filled_;
  std::condition_variable emptied_;
  std::deque<Message> messages_;
  bool woken_ = false;
  bool closed_ = false;
};

class CallPool {
 public:
  // `threads` 0: calls and steps wait until RunOne is called, so that a simulation can choose the
  // order of everything and repeat it. A step may then report no more than the message queue holds.
  CallPool(MessageQueue& message_queue, int threads);
  ~CallPool();  // asks running calls to stop, and waits for them
  CallPool(const CallPool&) = delete;
  CallPool& operator=(const CallPool&) = delete;

  void Submit(std::size_t task, Call call);
  // A step runs on a thread of its own, since it may take hours.
  void SubmitStep(std::size_t task, Call call);
  // Without threads: makes one of the waiting calls, which one is left to chance. False when there
  // are threads, or nothing waits.
  bool RunOne(Random& chance);
  void StopSteps();
  void StopCalls();

 private:
  struct Job {
    std::size_t task;
    Call call;
    bool step = false;
  };
  void Work(const std::stop_token& stop);

  MessageQueue& message_queue_;
  const std::size_t most_threads_;  // 0: none, RunOne does the work
  std::mutex mutex_;
  std::condition_variable_any filled_;
  std::deque<Job> jobs_;
  std::size_t idle_ = 0;
  std::stop_source stop_calls_;
  std::stop_source stop_steps_;
  std::vector<std::jthread> threads_;
  struct StepThread {
    std::shared_ptr<std::atomic<bool>> ended;
    std::jthread thread;
  };
  std::vector<StepThread> steps_;
};

}  // namespace podctl
