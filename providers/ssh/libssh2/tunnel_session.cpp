// Declared in fan_out.h.
#include <fmt/format.h>
#include <libssh2.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "providers/os/descriptor.h"
#include "providers/ssh/keys/wire.h"
#include "providers/ssh/libssh2/fan_out.h"
#include "providers/ssh/libssh2/session.h"
#include "providers/ssh/tunnel/tunnel_clients.h"

namespace podctl::ssh {
namespace {

constexpr std::size_t kTunnelChunk = std::size_t{32} * 1024;
// Of the replies to one client, read at a time: the next are read when it has taken these.
constexpr std::size_t kReplyChunk = std::size_t{256} * 1024;
constexpr unsigned kTunnelWindow = 1024 * 1024;
constexpr int kRoundsBetweenWaits = 16;
constexpr int kTunnelStallMs = 1'000;
constexpr int kOutOfFilesMs = 200;

// The traffic of a tunnel while its SSH session lives: local connections and their channels, both
// ways, until the session drops or stop is requested. One thread, nothing shared.
class TunnelSession {
 public:
  // All is lent but the clients' descriptors. `session` is ready. Clients are served in their
  // order, and those that come to the listeners after them, kMaxTunnelClients at a time. A client
  // that does not read may hold up to about 1.25 MiB of replies.
  TunnelSession(Session& session, const TunnelListeners& listeners,
                const std::vector<TunnelClient>& clients, TunnelObserver& observer,
                const Wakeup& wakeup);
  ~TunnelSession();
  TunnelSession(const TunnelSession&) = delete;
  TunnelSession& operator=(const TunnelSession&) = delete;

  // Returns when stop is requested (empty) or with why the session dropped.
  std::string Run(const std::stop_token& stop);

  // After Run: clients for whom nothing was carried yet. Their descriptors are the caller's from
  // now on; the others' connections end with this object.
  std::vector<TunnelClient> TakeUnserved();

 private:
  enum class Call { kNone, kOpen, kRead, kWrite, kEof, kClose };
  struct Local;

  bool Pump();
  bool OpenAnchor();
  void ReadAnchor();
  void Advance(Local& local);
  void Do(Local& local, Call call);
  void DoOpen(Local& local);
  void DoRead(Local& local);
  void Waits(Local* local, Call call);
  void ReadLocal(Local& local);
  void WriteLocal(Local& local);
  // What the client takes of it at once; -1 when it is gone.
  ssize_t SendLocal(Local& local, std::string_view bytes);
  bool HasReply(const Local& local) const;
  void CheckEnd(Local& local);
  void Close(Local& local);
  void Add(const TunnelClient& client);
  void Wait(bool look_only);
  bool Interrupted() const { return dropped_ || pending_call_ != Call::kNone; }

  Session& session_;
  const TunnelListeners& listeners_;
  TunnelObserver& observer_;
  const Wakeup& wakeup_;
  std::vector<char> reply_;  // what is read from a channel at a time
  std::vector<std::unique_ptr<Local>> locals_;
  // A channel that nothing is run on. Reading from it is what makes libssh2 take in packets, also
  // while there are no connections, so that the worker's keep-alive questions are answered.
  _LIBSSH2_CHANNEL* anchor_ = nullptr;
  Local* opening_ = nullptr;  // libssh2 opens one channel at a time
  // The call that left a packet half sent; it must be repeated before any other.
  Call pending_call_ = Call::kNone;
  Local* pending_local_ = nullptr;  // null: the anchor
  bool progress_ = false;
  bool dropped_ = false;
  bool out_of_files_ = false;
};

struct TunnelSession::Local {
  enum class State { kQueued, kOpening, kOpen, kClosing, kGone };

  int fd = -1;
  Forward forward;
  State state = State::kQueued;
  LIBSSH2_CHANNEL* channel = nullptr;  // freed with the session, or by kClose
  std::string open_message;            // must stay where it is while the channel is being opened
  std::string to_remote;               // refilled only when empty, for the same reason
  std::size_t remote_taken = 0;
  std::string to_local;  // what the client has not taken yet; refilled only when empty
  std::size_t local_taken = 0;
  bool local_ended = false;
  bool eof_sent = false;
  bool remote_ended = false;
  bool shut = false;  // the client was told that the remote side has ended

  ~Local() {
    if (fd >= 0) close(fd);
  }
};

TunnelSession::TunnelSession(Session& session, const TunnelListeners& listeners,
                             const std::vector<TunnelClient>& clients, TunnelObserver& observer,
                             const Wakeup& wakeup)
    : session_(session),
      listeners_(listeners),
      observer_(observer),
      wakeup_(wakeup),
      reply_(kReplyChunk) {
  for (const TunnelClient& client : clients) Add(client);
}

TunnelSession::~TunnelSession() = default;

void TunnelSession::Add(const TunnelClient& client) {
  auto local = std::make_unique<Local>();
  local->fd = client.fd;
  local->forward = client.forward;
  locals_.push_back(std::move(local));
}

std::vector<TunnelClient> TunnelSession::TakeUnserved() {
  std::vector<TunnelClient> clients;
  for (const auto& local : locals_) {
    if (local->state != Local::State::kQueued && local->state != Local::State::kOpening) continue;
    clients.push_back({std::exchange(local->fd, -1), local->forward});
  }
  return clients;
}

std::string TunnelSession::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    // A busy channel must not keep new clients, or stop, from being seen.
    bool more = true;
    for (int i = 0; i < kRoundsBetweenWaits && more; ++i) more = Pump();
    if (dropped_) return session_.LastError();
    Wait(more);
  }
  return {};
}

void TunnelSession::Waits(Local* local, Call call) {
  if ((session_.WaitsFor() & POLLOUT) == 0) return;
  pending_call_ = call;
  pending_local_ = local;
}

bool TunnelSession::OpenAnchor() {
  if (anchor_ != nullptr) return true;
  anchor_ = libssh2_channel_open_ex(session_.handle(), "session", std::strlen("session"),
                                    kTunnelWindow, kTunnelChunk, nullptr, 0);
  if (anchor_ != nullptr) return true;
  dropped_ = libssh2_session_last_errno(session_.handle()) != LIBSSH2_ERROR_EAGAIN;
  if (!dropped_) Waits(nullptr, Call::kOpen);
  return false;
}

void TunnelSession::ReadAnchor() {
  std::array<char, 1024> buffer;
  const ssize_t size = libssh2_channel_read_ex(anchor_, 0, buffer.data(), buffer.size());
  if (size == LIBSSH2_ERROR_EAGAIN) {
    Waits(nullptr, Call::kRead);
  } else if (size < 0 || libssh2_channel_eof(anchor_) != 0) {
    dropped_ = true;
  }
}

// One pass over everything that can be done without waiting; true when another pass may do more.
bool TunnelSession::Pump() {
  progress_ = false;
  if (pending_call_ != Call::kNone && pending_local_ != nullptr) {
    Do(*pending_local_, std::exchange(pending_call_, Call::kNone));
    if (Interrupted()) return false;
  }
  pending_call_ = Call::kNone;
  if (!OpenAnchor()) return false;
  ReadAnchor();
  for (const auto& local : locals_) {
    if (Interrupted()) return false;
    Advance(*local);
  }
  if (Interrupted()) return false;
  // One client's read may have queued another one's packets; the socket does not wake us for them.
  for (const auto& local : locals_) {
    progress_ = progress_ || HasReply(*local);
  }
  std::erase_if(locals_, [](const auto& local) { return local->state == Local::State::kGone; });
  return progress_;
}

// Something was received for a client who is ready for it. Asks no socket: whatever came is taken
// in by the reading of the anchor, once for all channels.
bool TunnelSession::HasReply(const Local& local) const {
  return local.state == Local::State::kOpen && !local.remote_ended && local.to_local.empty() &&
         libssh2_poll_channel_read(local.channel, 0) > 0;
}

void TunnelSession::Advance(Local& local) {
  using State = Local::State;
  if (local.state == State::kQueued && opening_ == nullptr) {
    opening_ = &local;
    local.state = State::kOpening;
  }
  if (local.state == State::kOpening) Do(local, Call::kOpen);
  if (local.state == State::kOpen) {
    if (!local.to_local.empty()) WriteLocal(local);
    if (!Interrupted() && HasReply(local)) Do(local, Call::kRead);
    if (!Interrupted() && local.state == State::kOpen &&
        local.remote_taken < local.to_remote.size())
      Do(local, Call::kWrite);
    if (!Interrupted() && local.state == State::kOpen && local.local_ended &&
        local.to_remote.empty() && !local.eof_sent) {
      Do(local, Call::kEof);
    }
    if (!Interrupted() && local.state == State::kOpen) CheckEnd(local);
  }
  if (!Interrupted() && local.state == State::kClosing) Do(local, Call::kClose);
}

void TunnelSession::DoOpen(Local& local) {
  if (local.open_message.empty()) {
    AppendString(local.open_message, local.forward.remote_host);
    AppendNumber(local.open_message, static_cast<std::uint32_t>(local.forward.remote_port));
    AppendString(local.open_message, "127.0.0.1");
    AppendNumber(local.open_message, static_cast<std::uint32_t>(local.forward.local_port));
  }
  local.channel = libssh2_channel_open_ex(
      session_.handle(), "direct-tcpip", std::strlen("direct-tcpip"), kTunnelWindow, kTunnelChunk,
      local.open_message.data(), static_cast<unsigned>(local.open_message.size()));
  if (local.channel != nullptr) {
    opening_ = nullptr;
    local.state = Local::State::kOpen;
    progress_ = true;
    return;
  }
  const int code = libssh2_session_last_errno(session_.handle());
  if (code == LIBSSH2_ERROR_EAGAIN) {
    Waits(&local, Call::kOpen);
  } else if (code == LIBSSH2_ERROR_CHANNEL_FAILURE) {
    observer_.OnNote(fmt::format("the worker cannot connect to {}:{}; does something listen there?",
                                 local.forward.remote_host, local.forward.remote_port));
    opening_ = nullptr;
    local.state = Local::State::kGone;
    progress_ = true;
  } else {
    dropped_ = true;
  }
}

void TunnelSession::DoRead(Local& local) {
  const ssize_t size = libssh2_channel_read_ex(local.channel, 0, reply_.data(), reply_.size());
  if (size == LIBSSH2_ERROR_EAGAIN) {
    Waits(&local, Call::kRead);
  } else if (size < 0) {
    dropped_ = true;
  } else if (size > 0) {
    progress_ = true;
    // Only what the client does not take at once is kept, and copied for that.
    const std::string_view reply(reply_.data(), static_cast<std::size_t>(size));
    const ssize_t taken = SendLocal(local, reply);
    if (taken >= 0) local.to_local = reply.substr(static_cast<std::size_t>(taken));
  }
}

void TunnelSession::Do(Local& local, Call call) {
  ssize_t code = 0;
  switch (call) {
    case Call::kNone:
      return;
    case Call::kOpen:
      DoOpen(local);
      return;
    case Call::kRead:
      DoRead(local);
      return;
    case Call::kWrite:
      code = libssh2_channel_write_ex(local.channel, 0, local.to_remote.data() + local.remote_taken,
                                      local.to_remote.size() - local.remote_taken);
      if (code > 0) {
        local.remote_taken += static_cast<std::size_t>(code);
        progress_ = true;
      }
      if (local.remote_taken == local.to_remote.size()) {
        local.to_remote.clear();
        local.remote_taken = 0;
      }
      break;
    case Call::kEof:
      code = libssh2_channel_send_eof(local.channel);
      local.eof_sent = code == 0;
      break;
    case Call::kClose:
      code = libssh2_channel_free(local.channel);
      if (code != LIBSSH2_ERROR_EAGAIN) {
        local.channel = nullptr;
        local.state = Local::State::kGone;
      }
      break;
  }
  if (code == LIBSSH2_ERROR_EAGAIN) {
    Waits(&local, call);
  } else if (code < 0) {
    dropped_ = true;
  }
}

void TunnelSession::CheckEnd(Local& local) {
  if (!local.remote_ended && libssh2_channel_eof(local.channel) != 0) local.remote_ended = true;
  if (!local.remote_ended || !local.to_local.empty()) return;
  if (!local.shut) {
    shutdown(local.fd, SHUT_WR);
    local.shut = true;
  }
  // Closed for good by the worker, or ended both ways.
  if (local.eof_sent || libssh2_channel_wait_closed(local.channel) == 0) Close(local);
}

void TunnelSession::Close(Local& local) {
  close(local.fd);
  local.fd = -1;
  local.to_local.clear();
  local.local_taken = 0;
  local.state = Local::State::kClosing;
  progress_ = true;
}

void TunnelSession::ReadLocal(Local& local) {
  local.to_remote.resize(kTunnelChunk);
  const ssize_t size = recv(local.fd, local.to_remote.data(), local.to_remote.size(), 0);
  local.to_remote.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  if (size == 0) {
    local.local_ended = true;
  } else if (size < 0 && errno != EAGAIN && errno != EINTR) {
    Close(local);
  }
}

ssize_t TunnelSession::SendLocal(Local& local, std::string_view bytes) {
  const ssize_t size = send(local.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (size >= 0) return size;
  if (errno == EAGAIN || errno == EINTR) return 0;
  Close(local);
  return -1;
}

void TunnelSession::WriteLocal(Local& local) {
  const ssize_t size = SendLocal(local, std::string_view(local.to_local).substr(local.local_taken));
  if (size <= 0) return;
  progress_ = true;
  local.local_taken += static_cast<std::size_t>(size);
  if (local.local_taken < local.to_local.size()) return;
  local.to_local.clear();
  local.local_taken = 0;
}

void TunnelSession::Wait(bool look_only) {
  const bool pending_call = pending_call_ != Call::kNone;
  const bool accepting = locals_.size() < kMaxTunnelClients && !out_of_files_;
  const int patience = look_only ? 0 : out_of_files_ ? kOutOfFilesMs : kTunnelStallMs;
  out_of_files_ = false;
  // A negative descriptor is skipped: nothing, not even a hang-up, is wanted from it now.
  std::vector<pollfd> fds;
  fds.push_back({wakeup_.fd(), POLLIN, 0});
  fds.push_back(
      {session_.fd(),
       static_cast<short>(pending_call || anchor_ == nullptr ? session_.WaitsFor() : POLLIN), 0});
  for (const auto& listener : listeners_.all()) {
    fds.push_back({accepting ? listener.fd : -1, POLLIN, 0});
  }
  const std::size_t first_local = fds.size();
  for (const auto& local : locals_) {
    short events = 0;
    if (local->state == Local::State::kOpen) {
      if (local->to_remote.empty() && !local->local_ended) events |= POLLIN;
      if (!local->to_local.empty()) events |= POLLOUT;
    }
    fds.push_back({events == 0 ? -1 : local->fd, events, 0});
  }
  if (poll(fds.data(), fds.size(), patience) <= 0) return;
  for (std::size_t i = 0; i + first_local < fds.size(); ++i) {
    Local& local = *locals_[i];
    const short events = fds[first_local + i].revents;
    if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && local.to_remote.empty() &&
        !local.local_ended) {
      ReadLocal(local);
    }
    if ((events & POLLOUT) != 0 && local.state == Local::State::kOpen) WriteLocal(local);
  }
  for (std::size_t i = 0; i < listeners_.all().size(); ++i) {
    if (fds[2 + i].revents == 0) continue;
    // Without a descriptor for it the client stays in the queue of the listener, which would wake
    // us at once again.
    const TunnelClient client = TunnelListeners::Accept(listeners_.all()[i], &out_of_files_);
    if (client.fd >= 0) Add(client);
  }
}

class SessionTunnel final : public TunnelCarrier {
 public:
  SessionTunnel(std::shared_ptr<const Identities> identities, Clock& clock, Random& random)
      : identities_(std::move(identities)), clock_(clock), random_(random) {}

  bool Listens() const override { return false; }
  std::optional<Verdict> Connect(const WorkerAccess& worker, const Limits& limits,
                                 const std::function<void(const Cause&)>& on_trouble,
                                 const std::stop_token& stop) override {
    Verdict why;
    session_ = Dial(worker, identities_, limits, clock_, random_, on_trouble, stop, why);
    if (session_ != nullptr) return std::nullopt;
    return why;
  }
  std::optional<HostKeyText> learned_host_key() const override {
    return session_->learned_host_key();
  }
  Result<std::string> Carry(const TunnelListeners& listeners, std::vector<TunnelClient>& clients,
                            TunnelObserver& observer, const std::function<void()>& on_ready,
                            const std::stop_token& stop) override {
    on_ready();
    const Wakeup wakeup;
    const std::stop_callback ring(stop, [&wakeup] { wakeup.Ring(); });
    const auto session = std::exchange(session_, nullptr);  // ends with this call
    TunnelSession traffic(*session, listeners, clients, observer, wakeup);
    std::string why = traffic.Run(stop);
    clients = traffic.TakeUnserved();
    return why;
  }

 private:
  const std::shared_ptr<const Identities> identities_;
  Clock& clock_;
  Random& random_;
  std::unique_ptr<Session> session_;
};

}  // namespace

std::unique_ptr<TunnelCarrier> MakeSessionTunnel(std::shared_ptr<const Identities> identities,
                                                 Clock& clock, Random& random) {
  return std::make_unique<SessionTunnel>(std::move(identities), clock, random);
}

}  // namespace podctl::ssh
