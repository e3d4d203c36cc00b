// What the poller thread has for the thread that called Run: output, phases and results, in order,
// with a limit on the bytes, so that a slow reader slows the workers down and not the memory up.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "providers/ssh/transport.h"
#include "providers/ssh/wakeup.h"

namespace podctl::ssh {

struct Output {
  Stream stream;
  std::string bytes;
};

struct Letter {
  std::size_t job = 0;
  std::variant<Output, Phase, WorkerResult> content;
};

class Mailbox {
 public:
  static constexpr std::size_t kLimit = std::size_t{4} * 1024 * 1024;  // bytes of output

  // `drained` is rung when the reader has caught up after Full; lent.
  explicit Mailbox(const Wakeup& drained) : drained_(drained) {}

  // Writer. The limit is the writer's to keep (Full); a letter is never dropped.
  void Put(Letter letter) {
    {
      const std::lock_guard lock(mutex_);
      if (const Output* output = std::get_if<Output>(&letter.content)) {
        bytes_ += output->bytes.size();
      }
      letters_.push_back(std::move(letter));
    }
    arrived_.notify_one();
  }
  bool Full() {
    const std::lock_guard lock(mutex_);
    was_full_ = was_full_ || bytes_ >= kLimit;
    return bytes_ >= kLimit;
  }
  void Close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    arrived_.notify_one();
  }

  // Reader. Waits for letters; false when there will be none any more.
  bool Take(std::vector<Letter>& letters) {
    letters.clear();
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return closed_ || !letters_.empty(); });
    letters.swap(letters_);
    bytes_ = 0;
    const bool ring = was_full_;
    was_full_ = false;
    lock.unlock();
    if (ring) drained_.Ring();
    return !letters.empty();
  }

 private:
  const Wakeup& drained_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Letter> letters_;
  std::size_t bytes_ = 0;
  bool was_full_ = false;
  bool closed_ = false;
};

}  // namespace podctl::ssh
