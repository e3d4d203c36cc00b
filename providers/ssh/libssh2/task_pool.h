// A few threads for what may block for long (a name server, an agent that asks its user) or takes
// long (an RSA signature), so that the poller thread does neither.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace podctl::ssh {

class TaskPool {
 public:
  // Threads are started as tasks come, at most so many.
  explicit TaskPool(std::size_t most_threads) : most_threads_(most_threads) {}
  // Waits for the tasks under way (each ends by itself, within seconds); drops the others.
  ~TaskPool() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      tasks_.clear();
    }
    arrived_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;

  // Thread safe. Tasks are begun in order. Their number is the callers' to limit: a fan-out has one
  // a connection at most.
  void Post(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    tasks_.push_back(std::move(task));
    if (idle_ < tasks_.size() && threads_.size() < most_threads_) {
      threads_.emplace_back([this] { Work(); });
    }
    arrived_.notify_one();
  }

 private:
  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      arrived_.wait(lock, [this] { return closed_ || !tasks_.empty(); });
      --idle_;
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  const std::size_t most_threads_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool closed_ = false;
};

}  // namespace podctl::ssh
