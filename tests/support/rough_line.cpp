#include "tests/support/rough_line.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

namespace podctl::testing {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kFirstAddress = (127U << 24) | (1U << 16);
constexpr std::size_t kBuffer = 16384;

sockaddr_in Place(std::uint32_t address, int port) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(static_cast<std::uint16_t>(port));
  in.sin_addr.s_addr = htonl(address);
  return in;
}

void Tune(int fd) {
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  fcntl(fd, F_SETFL, O_NONBLOCK);
}

}  // namespace

RoughLine::RoughLine(Plan plan)
    : plan_(std::move(plan)),
      listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
      bell_(eventfd(0, EFD_CLOEXEC)) {
  sockaddr_in in = Place(INADDR_ANY, 0);
  socklen_t size = sizeof(in);
  if (bind(listener_, reinterpret_cast<const sockaddr*>(&in), size) != 0 ||
      listen(listener_, 4096) != 0) {
    std::abort();
  }
  getsockname(listener_, reinterpret_cast<sockaddr*>(&in), &size);
  port_ = ntohs(in.sin_port);
  thread_ = std::thread([this] { Run(); });
}

RoughLine::~RoughLine() {
  stop_ = true;
  const std::uint64_t one = 1;
  (void)!write(bell_, &one, sizeof(one));
  thread_.join();
  for (const auto& pair : pairs_) Drop(*pair, true);
  close(listener_);
  close(bell_);
}

std::string RoughLine::AddressOf(int number) {
  return "127.1." + std::to_string(number / 256) + "." + std::to_string(number % 256);
}

WorkerAccess RoughLine::Access(WorkerAccess worker, int number) const {
  worker.host = AddressOf(number);
  worker.port = port_;
  worker.index = number;
  return worker;
}

void RoughLine::Run() {
  std::vector<pollfd> fds;
  while (!stop_) {
    const Time now = Clock::now();
    Time next = now + milliseconds(200);
    fds = {{bell_, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const auto& pair : pairs_) {
      const bool waits = !pair->greeted || pair->rule.drip > 0;
      if (waits) next = std::min(next, pair->next);
      const auto reads = [&](int fd, const Direction& in, const Direction& out) {
        const bool read = pair->greeted && !in.ended && in.waiting.size() < kBuffer;
        const bool write = pair->greeted && !out.waiting.empty() && pair->rule.drip == 0;
        const int events = (read ? POLLIN : 0) | (write ? POLLOUT : 0);
        fds.push_back({pair->frozen || events == 0 ? -1 : fd, static_cast<short>(events), 0});
      };
      reads(pair->client, pair->to_server, pair->to_client);
      reads(pair->server, pair->to_client, pair->to_server);
    }
    const auto wait = std::max(milliseconds(0), std::chrono::ceil<milliseconds>(next - now));
    poll(fds.data(), fds.size(), static_cast<int>(wait.count()));
    const Time then = Clock::now();
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const bool touched = fds[2 + 2 * i].revents != 0 || fds[3 + 2 * i].revents != 0;
      Pair& pair = *pairs_[i];
      const bool due = (!pair.greeted || pair.rule.drip > 0) && pair.next <= then;
      if ((touched || due) && !pair.frozen && !Serve(pair, then))
        Drop(pair, pair.rule.end == LineRule::End::kReset);
    }
    std::erase_if(pairs_, [](const auto& pair) { return pair->client < 0; });
    if (fds[1].revents != 0) Accept();
  }
}

void RoughLine::Accept() {
  while (true) {
    sockaddr_in in{};
    socklen_t size = sizeof(in);
    const int fd = accept4(listener_, reinterpret_cast<sockaddr*>(&in), &size, SOCK_CLOEXEC);
    if (fd < 0) return;
    if (ntohl(in.sin_addr.s_addr) >> 24 != 127) {
      close(fd);  // not one of ours
      continue;
    }
    Tune(fd);
    size = sizeof(in);
    getsockname(fd, reinterpret_cast<sockaddr*>(&in), &size);
    const int number = static_cast<int>(ntohl(in.sin_addr.s_addr) - kFirstAddress);
    auto pair = std::make_unique<Pair>();
    pair->rule = plan_(number, seen_[number]++);
    pair->client = fd;
    pair->next = Clock::now() + pair->rule.delay;
    ++connections_;
    pairs_.push_back(std::move(pair));
  }
}

// Says the greeting, or reaches the server; false when that is the end.
bool RoughLine::Begin(Pair& pair) {
  pair.greeted = true;
  pair.to_client.waiting = pair.rule.greeting;
  if (pair.rule.target_port == 0) return true;
  pair.server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in in = Place(INADDR_LOOPBACK, pair.rule.target_port);
  if (connect(pair.server, reinterpret_cast<const sockaddr*>(&in), sizeof(in)) != 0) return false;
  Tune(pair.server);
  return true;
}

// False when the connection is over.
bool RoughLine::Serve(Pair& pair, Time now) {
  if (!pair.greeted) {
    if (now < pair.next) return true;
    if (!Begin(pair)) return false;
  }
  std::size_t allowance = kBuffer;
  if (pair.rule.drip > 0) {
    allowance = now < pair.next ? 0 : pair.rule.drip;
    if (allowance > 0) pair.next = now + pair.rule.tick;
  }
  const std::size_t client_had = pair.to_client.passed;
  const std::size_t server_had = pair.to_server.passed;
  const bool on = Pass(pair.server, pair.client, pair.to_client, pair.rule.to_client, allowance) &&
                  Pass(pair.client, pair.server, pair.to_server, pair.rule.to_server, allowance);
  to_client_ += pair.to_client.passed - client_had;
  to_server_ += pair.to_server.passed - server_had;
  const bool at_limit =
      pair.to_client.passed >= pair.rule.to_client || pair.to_server.passed >= pair.rule.to_server;
  if (at_limit && pair.rule.end == LineRule::End::kFreeze) {
    pair.frozen = true;
    return true;
  }
  if (pair.rule.hang_up && pair.to_client.waiting.empty()) return false;
  return on && !at_limit;
}

// Reads what is there and writes what may be; false at the end of either side.
bool RoughLine::Pass(int from, int to, Direction& direction, std::size_t limit,
                     std::size_t allowance) {
  std::array<char, kBuffer> buffer;
  if (from >= 0 && !direction.ended && direction.waiting.size() < kBuffer) {
    const ssize_t got = recv(from, buffer.data(), buffer.size(), 0);
    if (got > 0) direction.waiting.append(buffer.data(), static_cast<std::size_t>(got));
    direction.ended = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
  }
  if (to < 0) {
    direction.waiting.clear();  // nobody listens
  } else if (!direction.waiting.empty()) {
    const std::size_t size =
        std::min({direction.waiting.size(), limit - direction.passed, allowance});
    const ssize_t sent = size == 0 ? 0 : send(to, direction.waiting.data(), size, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (sent > 0) {
      direction.passed += static_cast<std::size_t>(sent);
      direction.waiting.erase(0, static_cast<std::size_t>(sent));
    }
  }
  return !direction.ended || !direction.waiting.empty();
}

void RoughLine::Drop(Pair& pair, bool reset) {
  const bool cut =
      pair.to_client.passed >= pair.rule.to_client || pair.to_server.passed >= pair.rule.to_server;
  for (int* fd : {&pair.client, &pair.server}) {
    if (*fd < 0) continue;
    const linger now{1, 0};  // closing then sends a reset
    if (reset && cut) setsockopt(*fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(*fd);
    *fd = -1;
  }
}

}  // namespace podctl::testing
