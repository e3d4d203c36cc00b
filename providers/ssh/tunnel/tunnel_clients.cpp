#include "providers/ssh/tunnel/tunnel_clients.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace podctl::ssh {
namespace {

constexpr int kBacklog = static_cast<int>(kMaxTunnelClients);
constexpr std::chrono::milliseconds kLongestPoll{1'000};
constexpr std::chrono::milliseconds kOutOfFilesPoll{200};

Error BindError(const Forward& forward, int error) {
  if (error == EADDRINUSE) {
    return MakeError(
        ErrorCode::kAlreadyExists,
        fmt::format("port {} of this machine is in use", forward.local_port),
        fmt::format("name another local port, such as 0 for any: 0:{}", forward.remote_port));
  }
  const ErrorCode code = error == EACCES ? ErrorCode::kPermissionDenied : ErrorCode::kUnavailable;
  return MakeError(code, fmt::format("cannot listen on port {} of this machine: {}",
                                     forward.local_port, std::strerror(error)));
}

}  // namespace

TunnelListeners::~TunnelListeners() {
  Close();
}

void TunnelListeners::Close() {
  for (Listener& listener : all_) {
    if (listener.fd >= 0) close(listener.fd);
    listener.fd = -1;
  }
}

Result<void> TunnelListeners::Open(const Forward& forward) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return BindError(forward, errno);
  all_.push_back({fd, forward});
  const int one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(forward.local_port));
  auto* any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  if (bind(fd, any, size) != 0 || listen(fd, kBacklog) != 0 || getsockname(fd, any, &size) != 0) {
    return BindError(forward, errno);
  }
  all_.back().forward.local_port = ntohs(address.sin_port);
  return {};
}

TunnelClient TunnelListeners::Accept(const Listener& listener, bool* out_of_files) {
  const int fd = accept4(listener.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) {
    *out_of_files = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    return {};
  }
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  return {fd, listener.forward};
}

PendingClients::~PendingClients() {
  for (const Waiting& each : waiting_) close(each.client.fd);
}

void PendingClients::HangUp(std::size_t index) {
  close(waiting_[index].client.fd);
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(index));
}

void PendingClients::HangUpOnImpatient() {
  // In the order of their coming, and all as patient.
  while (!waiting_.empty() && waiting_.front().until <= clock_.Steady()) HangUp(0);
}

void PendingClients::WaitFor(const Wakeup& bell) {
  std::vector<pollfd> fds;
  while (true) {
    HangUpOnImpatient();
    const bool accepting = waiting_.size() < kMaxTunnelClients && !out_of_files_;
    fds.clear();
    fds.push_back({bell.fd(), POLLIN, 0});
    for (const auto& listener : listeners_.all()) {
      fds.push_back({accepting ? listener.fd : -1, POLLIN, 0});
    }
    const std::size_t first_client = fds.size();
    // Nothing is asked for but a connection that broke: one that has ended its own sending may
    // still want an answer.
    for (const Waiting& each : waiting_) fds.push_back({each.client.fd, 0, 0});
    auto patience = out_of_files_ ? kOutOfFilesPoll : kLongestPoll;
    if (!waiting_.empty()) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(waiting_.front().until - clock_.Steady());
      patience = std::clamp(left, std::chrono::milliseconds(0), patience);
    }
    out_of_files_ = false;
    if (poll(fds.data(), fds.size(), static_cast<int>(patience.count())) <= 0) continue;
    if (fds[0].revents != 0) {
      bell.Silence();
      return;
    }
    for (std::size_t i = fds.size(); i > first_client; --i) {
      if (fds[i - 1].revents != 0) HangUp(i - 1 - first_client);
    }
    for (std::size_t i = 0; i < listeners_.all().size(); ++i) {
      if (fds[1 + i].revents == 0) continue;
      const TunnelClient client = TunnelListeners::Accept(listeners_.all()[i], &out_of_files_);
      if (client.fd >= 0) Add({client});
    }
  }
}

void PendingClients::Add(const std::vector<TunnelClient>& clients) {
  for (const TunnelClient& client : clients) {
    waiting_.push_back({client, clock_.Steady() + patience_});
  }
}

std::vector<TunnelClient> PendingClients::TakeAll() {
  HangUpOnImpatient();
  std::vector<TunnelClient> clients;
  for (Waiting& each : waiting_) clients.push_back(std::move(each.client));
  waiting_.clear();
  return clients;
}

}  // namespace podctl::ssh
