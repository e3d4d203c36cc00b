#include "providers/ssh/openssh/mux_session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "providers/base/text.h"
#include "providers/ssh/keys/wire.h"

namespace podctl::ssh {
namespace {

// PROTOCOL.mux, section 15.
constexpr std::uint32_t kHello = 0x00000001;
constexpr std::uint32_t kVersion = 4;
constexpr std::uint32_t kNewSession = 0x10000002;
constexpr std::uint32_t kAliveCheck = 0x10000004;
constexpr std::uint32_t kTerminate = 0x10000005;
constexpr std::uint32_t kOpenForward = 0x10000006;
constexpr std::uint32_t kLocalForward = 1;
constexpr std::uint32_t kOk = 0x80000001;
constexpr std::uint32_t kPermissionDenied = 0x80000002;
constexpr std::uint32_t kFailure = 0x80000003;
constexpr std::uint32_t kExitMessage = 0x80000004;
constexpr std::uint32_t kAlive = 0x80000005;
constexpr std::uint32_t kSessionOpened = 0x80000006;

constexpr std::uint32_t kLongestMessage = 256 * 1024;  // bytes, as in OpenSSH
constexpr timeval kPatience{2, 0};                     // for what a master answers by itself

void CloseIt(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

bool SendMessage(int fd, const std::string& body) {
  std::string message;
  AppendString(message, body);
  std::string_view left = message;
  while (!left.empty()) {
    const ssize_t sent = send(fd, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool ReceiveAll(int fd, char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t got = recv(fd, bytes, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

std::optional<std::string> ReceiveMessage(int fd) {
  std::array<char, 4> head{};
  if (!ReceiveAll(fd, head.data(), head.size())) return std::nullopt;
  const std::uint32_t size = WireReader(std::string_view(head.data(), head.size())).Number();
  if (size > kLongestMessage) return std::nullopt;
  std::string body(size, '\0');
  if (!ReceiveAll(fd, body.data(), size)) return std::nullopt;
  return body;
}

// A file descriptor for the master, with one byte, as SCM_RIGHTS (unix(7)).
bool SendDescriptor(int fd, int passed) {
  char byte = 0;
  iovec content{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space{};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = space.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &passed, sizeof(int));
  return sendmsg(fd, &message, MSG_NOSIGNAL) == 1;
}

// Connects and exchanges greetings; -1 when nobody answers.
int Greet(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof(address.sun_path)) return -1;
  std::memcpy(address.sun_path, socket_path.data(), socket_path.size());
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof(kPatience));
  std::string hello;
  AppendNumber(hello, kHello);
  AppendNumber(hello, kVersion);
  bool good = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
              SendMessage(fd, hello);
  if (good) {
    const auto answer = ReceiveMessage(fd);
    WireReader reader(answer ? std::string_view(*answer) : std::string_view());
    const std::uint32_t type = reader.Number();
    const std::uint32_t version = reader.Number();
    good = reader.ok() && type == kHello && version == kVersion;
  }
  if (!good) CloseIt(fd);
  return fd;
}

std::string Request(std::uint32_t type) {
  std::string request;
  AppendNumber(request, type);
  AppendNumber(request, 0);  // our number for it
  return request;
}

}  // namespace

bool MasterAnswers(const std::string& socket_path) {
  int fd = Greet(socket_path);
  if (fd < 0) return false;
  const auto answer = SendMessage(fd, Request(kAliveCheck)) ? ReceiveMessage(fd) : std::nullopt;
  CloseIt(fd);
  return answer && WireReader(*answer).Number() == kAlive;
}

void EndMaster(const std::string& socket_path) {
  int fd = Greet(socket_path);
  if (fd < 0) return;
  if (SendMessage(fd, Request(kTerminate))) ReceiveMessage(fd);
  CloseIt(fd);
}

Result<std::unique_ptr<MuxHold>> MuxHold::Take(const std::string& socket_path) {
  const int control = Greet(socket_path);
  if (control < 0) return MakeError(ErrorCode::kUnavailable, "the ssh program does not answer");
  return std::unique_ptr<MuxHold>(new MuxHold(control));
}

MuxHold::~MuxHold() {
  CloseIt(control_);
}

Result<void> MuxHold::Forward(int local_port, const std::string& remote_host, int remote_port) {
  std::string request = Request(kOpenForward);
  AppendNumber(request, kLocalForward);
  AppendString(request, "127.0.0.1");
  AppendNumber(request, static_cast<std::uint32_t>(local_port));
  AppendString(request, remote_host);
  AppendNumber(request, static_cast<std::uint32_t>(remote_port));
  const auto answer = SendMessage(control_, request) ? ReceiveMessage(control_) : std::nullopt;
  if (!answer) return MakeError(ErrorCode::kUnavailable, "the ssh program does not answer");
  if (WireReader(*answer).Number() == kOk) return {};
  return MakeError(
      ErrorCode::kAlreadyExists,
      fmt::format("the ssh program cannot listen on port {} of this machine", local_port));
}

Result<std::unique_ptr<MuxSession>> MuxSession::Start(const std::string& socket_path,
                                                      std::string_view command, bool streams) {
  const int control = Greet(socket_path);
  if (control < 0) return MakeError(ErrorCode::kUnavailable, "the ssh program does not answer");
  std::unique_ptr<MuxSession> session(new MuxSession(control));
  if (!session->Ask(command, streams)) {
    return MakeError(ErrorCode::kUnavailable,
                     fmt::format("the ssh program takes no command: {}", std::strerror(errno)));
  }
  return session;
}

// The request, then three descriptors. The master acts when it has all of them, so a request that
// broke off before was not sent.
bool MuxSession::Ask(std::string_view command, bool streams) {
  std::string request = Request(kNewSession);
  AppendString(request, "");                             // reserved
  for (int i = 0; i < 4; ++i) AppendNumber(request, 0);  // terminal, X11, agent, subsystem
  AppendNumber(request, 0xFFFFFFFF);                     // no escape character
  AppendString(request, "");                             // $TERM
  AppendString(request, command);
  std::array<int, 3> theirs{-1, -1, -1};
  if (streams) {
    std::array<int, 2> in{-1, -1};
    std::array<int, 2> out{-1, -1};
    std::array<int, 2> err{-1, -1};
    // A socket for the input, since writing to a pipe without a reader ends this process.
    const bool made = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in.data()) == 0 &&
                      pipe2(out.data(), O_CLOEXEC) == 0 && pipe2(err.data(), O_CLOEXEC) == 0;
    in_ = in[0];
    out_ = out[0];
    err_ = err[0];
    theirs = {in[1], out[1], err[1]};
    if (made) {
      for (const int fd : {in_, out_, err_}) fcntl(fd, F_SETFL, O_NONBLOCK);
    }
  } else {
    for (int& fd : theirs) fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  }
  bool good = theirs[0] >= 0 && theirs[1] >= 0 && theirs[2] >= 0 && SendMessage(control_, request);
  for (int& fd : theirs) {
    good = good && SendDescriptor(control_, fd);
    CloseIt(fd);
  }
  fcntl(control_, F_SETFL, O_NONBLOCK);
  return good;
}

MuxSession::~MuxSession() {
  CloseIt(control_);
  CloseIn();
  CloseOut();
  CloseErr();
}

void MuxSession::CloseOut() {
  CloseIt(out_);
}
void MuxSession::CloseErr() {
  CloseIt(err_);
}
void MuxSession::CloseIn() {
  CloseIt(in_);
}

void MuxSession::ReadControl() {
  std::array<char, 1024> buffer;
  while (control_ >= 0) {
    const ssize_t got = recv(control_, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      CloseIt(control_);
      return;
    }
    heard_.append(buffer.data(), static_cast<std::size_t>(got));
    while (heard_.size() >= 4) {
      const std::uint32_t size = WireReader(heard_).Number();
      if (size > kLongestMessage) {
        CloseIt(control_);
        return;
      }
      if (heard_.size() - 4 < size) break;
      Take(std::string_view(heard_).substr(4, size));
      heard_.erase(0, std::size_t{4} + size);
    }
  }
}

void MuxSession::Take(std::string_view message) {
  WireReader reader(message);
  const std::uint32_t type = reader.Number();
  const std::uint32_t number = reader.Number();  // of the request, or of the session
  switch (type) {
    case kSessionOpened:
      opened_ = reader.ok() && number == 0;
      break;
    case kExitMessage: {
      const std::uint32_t code = reader.Number();
      if (reader.ok()) exit_code_ = static_cast<int>(code);
      break;
    }
    case kPermissionDenied:
    case kFailure:
      if (!opened_) refusal_ = VisibleControls(reader.String());
      break;
    default:
      break;  // of no concern for a command without a terminal
  }
}

}  // namespace podctl::ssh
