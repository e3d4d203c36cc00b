#include "providers/emulator/workers/light/session.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace podctl::emulator {
namespace {

constexpr std::size_t kMaxChannels = 100;  // as MaxSessions of the other workers
constexpr int kMaxRefusals = 6;            // sshd's MaxAuthTries
constexpr std::chrono::seconds kLoginGrace{120};
constexpr int kReadsPerTurn = 16;
constexpr int kForwardPatience = 200;  // milliseconds; the targets are on this machine

// "127.64.0.1 50000", of one end of the socket.
std::string EndOf(int socket, bool peer) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  auto* const where = reinterpret_cast<sockaddr*>(&address);
  const int code = peer ? ::getpeername(socket, where, &size) : ::getsockname(socket, where, &size);
  std::array<char, INET_ADDRSTRLEN> text{};
  if (code != 0 || ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size()) == nullptr) {
    return "UNKNOWN 65535";  // sshd's own word
  }
  return fmt::format("{} {}", text.data(), ntohs(address.sin_port));
}

// A connected socket, or -1. Only addresses and localhost: nothing here may wait for a name server.
int Connect(std::string name, int port) {
  if (name == "localhost") name = "127.0.0.1";
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::inet_pton(AF_INET, name.c_str(), &address.sin_addr) != 1) return -1;
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (file < 0) return -1;
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  int problem = ::connect(file, where, sizeof address) == 0 ? 0 : errno;
  if (problem == EINPROGRESS) {
    pollfd waiting{file, POLLOUT, 0};
    socklen_t size = sizeof problem;
    if (::poll(&waiting, 1, kForwardPatience) == 1) {
      ::getsockopt(file, SOL_SOCKET, SO_ERROR, &problem, &size);
    }
  }
  if (problem == 0) return file;
  ::close(file);
  return -1;
}

}  // namespace

std::unique_ptr<Session> Session::Accept(ssh_bind bind, int socket, std::shared_ptr<Host> host,
                                         ProcessSpawner& spawner, int epoll,
                                         std::function<void(Session&)> ready) {
  ssh_session session = ssh_new();
  if (session == nullptr) {
    ::close(socket);
    return nullptr;
  }
  if (ssh_bind_accept_fd(bind, session, socket) != SSH_OK) {
    ssh_free(session);
    return nullptr;
  }
  std::unique_ptr<Session> made(
      new Session(session, socket, std::move(host), spawner, epoll, std::move(ready)));
  return made;
}

Session::Session(ssh_session session, int socket, std::shared_ptr<Host> host,
                 ProcessSpawner& spawner, int epoll, std::function<void(Session&)> ready)
    : session_(session),
      socket_(socket),
      host_(std::move(host)),
      spawner_(spawner),
      epoll_(epoll),
      ready_(std::move(ready)) {
  const int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const std::string peer = EndOf(socket_, true);
  const std::string here = EndOf(socket_, false);
  environment_.push_back(fmt::format("SSH_CONNECTION={} {}", peer, here));
  environment_.push_back(fmt::format("SSH_CLIENT={} {}", peer, here.substr(here.find(' ') + 1)));
  ssh_set_blocking(session_, 0);
  Listen();
  ssh_handle_key_exchange(session_);  // says hello; the rest happens as packets come
  // Only now: a session without a poll context of its own cannot be added.
  event_ = ssh_event_new();
  ssh_event_add_session(event_, session_);
  WatchSocket();
}

Session::~Session() {
  channels_.clear();
  epoll_event nothing{};
  if (watched_ != 0) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, socket_, &nothing);
  ssh_event_remove_session(event_, session_);
  ssh_event_free(event_);
  ssh_free(session_);
}

void Session::Listen() {
  ssh_set_auth_methods(session_, SSH_AUTH_METHOD_PUBLICKEY);
  callbacks_.userdata = this;
  callbacks_.auth_pubkey_function = [](ssh_session, const char* user, ssh_key key, char state,
                                       void* data) {
    return static_cast<Session*>(data)->Authenticate(user, key, state);
  };
  callbacks_.channel_open_request_session_function = [](ssh_session, void* data) {
    return static_cast<Session*>(data)->OpenChannel();
  };
  ssh_callbacks_init(&callbacks_);
  ssh_set_server_callbacks(session_, &callbacks_);
  ssh_set_message_callback(
      session_,
      [](ssh_session, ssh_message message, void* data) {
        return static_cast<Session*>(data)->Hear(message);
      },
      this);
}

int Session::Authenticate(const char* user, ssh_key key, char state) {
  if (state != SSH_PUBLICKEY_STATE_NONE && state != SSH_PUBLICKEY_STATE_VALID) {
    ++refusals_;
    return SSH_AUTH_DENIED;
  }
  char* text = nullptr;
  if (ssh_pki_export_pubkey_base64(key, &text) != SSH_OK) return SSH_AUTH_DENIED;
  const std::string line = fmt::format("{} {}", ssh_key_type_to_char(ssh_key_type(key)), text);
  ssh_string_free_char(text);
  if (!host_->Admits(user, line)) {
    ++refusals_;
    return SSH_AUTH_DENIED;
  }
  if (state == SSH_PUBLICKEY_STATE_VALID) {
    user_ = user;
    logged_in_ = true;
  }
  return SSH_AUTH_SUCCESS;
}

ssh_channel Session::OpenChannel() {
  if (!logged_in_ || channels_.size() >= kMaxChannels) return nullptr;
  ssh_channel channel = ssh_channel_new(session_);
  if (channel != nullptr) {
    channels_.push_back(std::make_unique<Channel>(*this, channel, next_id_++));
  }
  return channel;
}

int Session::Hear(ssh_message message) {
  if (logged_in_ && ssh_message_type(message) == SSH_REQUEST_CHANNEL_OPEN &&
      ssh_message_subtype(message) == SSH_CHANNEL_DIRECT_TCPIP) {
    return Forward(message);
  }
  return 1;  // libssh refuses it
}

int Session::Forward(ssh_message message) {
  if (channels_.size() >= kMaxChannels) return 1;
  const char* const name = ssh_message_channel_request_open_destination(message);
  const int port = ssh_message_channel_request_open_destination_port(message);
  const int socket = name == nullptr ? -1 : Connect(name, port);
  if (socket < 0) return 1;
  ssh_channel channel = ssh_message_channel_request_open_reply_accept(message);
  if (channel == nullptr) {
    ::close(socket);
    return 1;
  }
  channels_.push_back(std::make_unique<Channel>(*this, channel, next_id_++, socket));
  return 0;
}

Result<int> Session::supervisor() {
  if (!supervisor_.open()) {
    Result<int> made = spawner_.NewSupervisor();
    if (!made) return made;
    supervisor_ = Descriptor(*made);
    supervisor_.Watch(epoll_, EPOLLIN, this);
  }
  return supervisor_.get();
}

bool Session::HearSupervisor() {
  bool gone = false;
  while (supervisor_.open()) {
    const std::optional<Ending> ending = ReadEnding(supervisor_.get(), &gone);
    if (!ending) break;
    for (const auto& channel : channels_) {
      if (channel->id() == ending->id) channel->Ended(*ending);
    }
  }
  return !gone;
}

bool Session::Turn() {
  awaits_flush_ = false;
  for (int i = 0; i < kReadsPerTurn && ssh_event_dopoll(event_, 0) == SSH_OK; ++i) {
  }
  if (ssh_is_connected(session_) == 0 ||
      (ssh_get_status(session_) & (SSH_CLOSED | SSH_CLOSED_ERROR)) != 0 ||
      (!logged_in_ && refusals_ >= kMaxRefusals)) {
    return false;
  }
  if (!HearSupervisor()) return false;  // as where sshd's own process for it was killed
  // By index: reading from one may open another.
  for (std::size_t i = 0; i < channels_.size();) {
    if (channels_[i]->Pump()) {
      channels_.erase(channels_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  if (ssh_is_connected(session_) == 0) return false;
  WatchSocket();
  return true;
}

void Session::WatchSocket() {
  const bool writes = awaits_flush_ || (ssh_get_poll_flags(session_) & SSH_WRITE_PENDING) != 0;
  const std::uint32_t events = EPOLLIN | (writes ? std::uint32_t{EPOLLOUT} : 0U);
  if (events == watched_) return;
  epoll_event event{};
  event.events = events;
  event.data.u64 = number();
  ::epoll_ctl(epoll_, watched_ == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket_, &event);
  watched_ = events;
}

bool Session::Overdue(Clock::time_point now) const {
  return !logged_in_ && now - born_ > kLoginGrace;
}

}  // namespace podctl::emulator
