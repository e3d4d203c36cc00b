#include "tests/bench/fanout/carrier.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>
#include <string>

namespace podctl::bench {
namespace {

constexpr std::int64_t kNanosecondsAMillisecond = 1'000'000;
constexpr std::int64_t kSlowMilliseconds = 500;
constexpr std::size_t kMostPackets = 200'000;  // on their way in one queue: 300 MB
constexpr std::size_t kMostBytes = 65536;      // of a packet

std::int64_t Now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

// In network order, as it stands in a packet; 0: none.
std::uint32_t AddressOf(const std::string& text) {
  in_addr address{};
  if (text.empty() || inet_pton(AF_INET, text.c_str(), &address) != 1) return 0;
  return address.s_addr;
}

struct Packet {
  std::int64_t due = 0;
  std::string bytes;
};

// One direction. Each queue has one delay, so its packets are due in order.
struct Way {
  int from = -1;
  int to = -1;
  std::size_t worker_at = 0;  // where the worker's address stands in the IPv4 header
  std::deque<Packet> usual;
  std::deque<Packet> slow;
};

class Carrier {
 public:
  Carrier(int client, int server, const Link::Options& options)
      : delay_(static_cast<std::int64_t>(options.delay_ms * kNanosecondsAMillisecond)),
        dead_(AddressOf(options.dead)),
        slow_(AddressOf(options.slow)),
        lost_(options.loss),
        ways_{{client, server, 16, {}, {}}, {server, client, 12, {}, {}}} {}

  [[noreturn]] void Run() {
    for (;;) {
      Wait();
      for (Way& way : ways_) {
        Receive(&way);
        Send(&way.usual, way.to);
        Send(&way.slow, way.to);
      }
    }
  }

 private:
  void Wait() {
    std::int64_t next = INT64_MAX;
    for (const Way& way : ways_) {
      if (!way.usual.empty()) next = std::min(next, way.usual.front().due);
      if (!way.slow.empty()) next = std::min(next, way.slow.front().due);
    }
    const std::int64_t left =
        next == INT64_MAX ? 1'000'000'000 : std::max<std::int64_t>(0, next - Now());
    const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
    pollfd waits[] = {{ways_[0].from, POLLIN, 0}, {ways_[1].from, POLLIN, 0}};
    ppoll(waits, 2, &timeout, nullptr);
  }

  void Receive(Way* way) {
    // Not without end: what is due has to leave, too.
    for (int i = 0; i < 256; ++i) {
      const ssize_t size = read(way->from, buffer_, sizeof(buffer_));
      if (size < 20) return;
      if ((buffer_[0] >> 4) != 4) continue;  // IPv6 chatter
      std::uint32_t worker = 0;
      memcpy(&worker, buffer_ + way->worker_at, sizeof(worker));
      if (worker == dead_) continue;
      const bool slow = worker == slow_;
      if (!slow && lost_(random_)) continue;
      std::deque<Packet>& queue = slow ? way->slow : way->usual;
      if (queue.size() >= kMostPackets) continue;
      queue.push_back(
          {Now() + (slow ? kSlowMilliseconds * kNanosecondsAMillisecond : delay_),
           std::string(reinterpret_cast<const char*>(buffer_), static_cast<std::size_t>(size))});
    }
  }

  void Send(std::deque<Packet>* queue, int to) {
    while (!queue->empty() && queue->front().due <= Now()) {
      const std::string& bytes = queue->front().bytes;
      if (write(to, bytes.data(), bytes.size()) < 0) {
        // A full device drops the packet, as a full network card does.
      }
      queue->pop_front();
    }
  }

  const std::int64_t delay_;
  const std::uint32_t dead_;
  const std::uint32_t slow_;
  std::minstd_rand random_{4711};  // the same losses in every run, as far as timing lets them be
  std::bernoulli_distribution lost_;
  Way ways_[2];
  std::uint8_t buffer_[kMostBytes];
};

}  // namespace

void Carry(int client_tun, int server_tun, const Link::Options& options) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  static Carrier carrier(client_tun, server_tun, options);
  carrier.Run();
}

}  // namespace podctl::bench
