#include "providers/ssh/tunnel.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "providers/ssh/dial.h"
#include "providers/ssh/tunnel_session.h"

namespace podctl::ssh {
namespace {

constexpr int kBacklog = 128;

// The listening sockets of all forwards, closed when it goes.
class Listeners {
 public:
  Listeners() = default;
  ~Listeners() {
    for (const TunnelListener& listener : all_) close(listener.fd);
  }
  Listeners(const Listeners&) = delete;
  Listeners& operator=(const Listeners&) = delete;

  Result<void> Open(const Forward& forward);
  const std::vector<TunnelListener>& all() const { return all_; }

 private:
  std::vector<TunnelListener> all_;
};

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

Result<void> Listeners::Open(const Forward& forward) {
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

}  // namespace

Result<void> RunTunnel(const WorkerAccess& worker,
                       const std::shared_ptr<const Identities>& identities,
                       const std::vector<Forward>& forwards, const Limits& limits, Clock& clock,
                       Random& random, TunnelObserver& observer, const std::stop_token& stop) {
  Listeners listeners;
  for (const Forward& forward : forwards) {
    if (Result<void> opened = listeners.Open(forward); !opened) return opened;
  }
  const Wakeup wakeup;
  const std::stop_callback ring(stop, [&wakeup] { wakeup.Ring(); });
  WorkerAccess access = worker;  // with the host key learned, so that a later session must match it
  const auto note = [&observer](const std::string& text) { observer.OnNote(text); };
  bool was_ready = false;
  while (!stop.stop_requested()) {
    const Result<std::unique_ptr<Session>> session =
        Dial(access, identities, limits, clock, random, note, stop);
    if (stop.stop_requested()) break;
    if (!session) {
      // An unreachable worker may come back; everything else would stay as it is.
      if (!was_ready || session.error().code != ErrorCode::kUnavailable) return session.error();
      note(session.error().message);
      continue;
    }
    if (const auto& learned = (*session)->learned_host_key(); learned.has_value()) {
      access.host_keys = {*learned};
      observer.OnHostKey(*learned);
    }
    if (was_ready) {
      note(fmt::format("connected to {} again", worker.Name()));
    } else {
      for (std::size_t i = 0; i < forwards.size(); ++i) {
        observer.OnReady(listeners.all()[i].forward.local_port, listeners.all()[i].forward);
      }
    }
    was_ready = true;
    const std::string why = TunnelSession(**session, listeners.all(), observer, wakeup).Run(stop);
    if (stop.stop_requested()) break;
    note(fmt::format("the connection to {} dropped ({}); connecting again", worker.Name(), why));
    // A worker that lets us in and hangs up at once is not asked again in a hurry.
    if (!clock.SleepFor(std::chrono::milliseconds(250), stop)) break;
  }
  return {};
}

}  // namespace podctl::ssh
