#include "providers/emulator/workers/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace podctl::emulator {
namespace {

sockaddr_in SocketAddress(const std::string& address, int port) {
  sockaddr_in socket_address{};
  socket_address.sin_family = AF_INET;
  socket_address.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, address.c_str(), &socket_address.sin_addr);
  return socket_address;
}

// A descriptor, or -errno.
int OpenBound(const std::string& address, int port) {
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (file < 0) return -errno;
  // Connections of an earlier run in TIME_WAIT are no reason to give up; a listener still is.
  const int on = 1;
  ::setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in where = SocketAddress(address, port);
  if (::bind(file, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0) return file;
  const int problem = errno;
  ::close(file);
  return -problem;
}

}  // namespace

int TryBind(const std::string& address, int port) {
  const int file = OpenBound(address, port);
  if (file < 0) return -file;
  ::close(file);
  return 0;
}

Result<int> BindSocket(const std::string& address, int port) {
  const int file = OpenBound(address, port);
  if (file >= 0) return file;
  return MakeError(-file == EADDRINUSE ? ErrorCode::kUnavailable : ErrorCode::kIo,
                   fmt::format("it cannot have {}:{}: {}", address, port,
                               std::generic_category().message(-file)));
}

Result<int> ChoosePort(int wanted) {
  const std::string probe = "127.64.255.254";
  const int port = wanted != 0 ? wanted : 22;
  const int problem = TryBind(probe, port);
  if (problem == 0) return port;
  if (wanted == 0 && TryBind(probe, 2222) == 0) return 2222;
  return MakeError(ErrorCode::kFailedPrecondition,
                   fmt::format("the workers' SSH port {} cannot be had: {}", port,
                               std::generic_category().message(problem)),
                   "choose another one with --ssh-port");
}

// On loopback the answer comes at once.
bool Answers(const std::string& address, int port) {
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (file < 0) return false;
  const sockaddr_in where = SocketAddress(address, port);
  bool answers = ::connect(file, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0;
  if (!answers && errno == EINPROGRESS) {
    pollfd waiting{.fd = file, .events = POLLOUT, .revents = 0};
    int problem = ECONNREFUSED;
    socklen_t size = sizeof problem;
    answers = ::poll(&waiting, 1, 20) == 1 &&
              ::getsockopt(file, SOL_SOCKET, SO_ERROR, &problem, &size) == 0 && problem == 0;
  }
  ::close(file);
  return answers;
}

}  // namespace podctl::emulator
