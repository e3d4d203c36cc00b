// A descriptor and what its thread's epoll instance is asked about it. Owns the descriptor.
#pragma once

#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <utility>

namespace podctl::emulator {

// Whom a descriptor's events wake. Events carry the number and not the address, since one may come
// late: closing a descriptor does not end its registration while a process that was forked
// meanwhile has not called exec yet.
class Watcher {
 public:
  Watcher() {
    static std::atomic<std::uint64_t> last{0};
    number_ = ++last;
  }
  virtual ~Watcher() = default;
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  virtual void Ready() = 0;
  std::uint64_t number() const { return number_; }  // of nobody else, ever

 private:
  std::uint64_t number_ = 0;
};

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int file) : file_(file) {}
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&& other) noexcept
      : file_(std::exchange(other.file_, -1)),
        epoll_(other.epoll_),
        events_(std::exchange(other.events_, 0)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    Close();
    file_ = std::exchange(other.file_, -1);
    epoll_ = other.epoll_;
    events_ = std::exchange(other.events_, 0);
    return *this;
  }

  int get() const { return file_; }
  bool open() const { return file_ >= 0; }
  void Close() {
    // Epoll would not forget a descriptor of which a copy lives on.
    Watch(epoll_, 0, nullptr);
    if (file_ >= 0) ::close(file_);
    file_ = -1;
  }

  // The caller closes it; it must not be watched.
  int Release() { return std::exchange(file_, -1); }

  // EPOLLIN, EPOLLOUT or both; 0: none, not even that the other side has hung up.
  void Watch(int epoll, std::uint32_t events, Watcher* watcher) {
    if (file_ < 0 || events == events_) return;
    epoll_event event{};
    event.events = events;
    event.data.u64 = watcher == nullptr ? 0 : watcher->number();
    const int what = events == 0 ? EPOLL_CTL_DEL : events_ == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    ::epoll_ctl(epoll, what, file_, &event);
    epoll_ = epoll;
    events_ = events;
  }

 private:
  int file_ = -1;
  int epoll_ = -1;
  std::uint32_t events_ = 0;
};

}  // namespace podctl::emulator
