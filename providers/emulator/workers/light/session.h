// One SSH connection to a light worker: key exchange, login by public key, and its channels.
//
// Knows libssh. Belongs to one thread, which calls Turn whenever one of its descriptors is ready.
#pragma once

#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <libssh/server.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "providers/emulator/workers/light/channel.h"
#include "providers/emulator/workers/light/descriptor.h"
#include "providers/emulator/workers/light/host.h"
#include "providers/emulator/workers/light/supervisor.h"

namespace podctl::emulator {

class Session final : public ChannelHome {
 public:
  using Clock = std::chrono::steady_clock;

  // Takes over the socket. `ready` is called when a descriptor is ready; it must lead to a Turn.
  // nullptr: libssh has no memory for it.
  static std::unique_ptr<Session> Accept(ssh_bind bind, int socket, std::shared_ptr<Host> host,
                                         ProcessSpawner& spawner, int epoll,
                                         std::function<void(Session&)> ready);
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Does all that can be done without waiting; false when the connection is over.
  bool Turn();
  // Nobody may hold a connection for long without logging in.
  bool Overdue(Clock::time_point now) const;

  // ChannelHome
  void Ready() override { ready_(*this); }
  void AwaitFlush() override { awaits_flush_ = true; }
  ssh_session session() const override { return session_; }
  int epoll() const override { return epoll_; }
  Host& host() override { return *host_; }
  const std::string& user() const override { return user_; }
  const std::vector<std::string>& environment() const override { return environment_; }
  Result<int> supervisor() override;

 private:
  Session(ssh_session session, int socket, std::shared_ptr<Host> host, ProcessSpawner& spawner,
          int epoll, std::function<void(Session&)> ready);
  void Listen();
  int Authenticate(const char* user, ssh_key key, char state);
  ssh_channel OpenChannel();
  int Hear(ssh_message message);
  int Forward(ssh_message message);
  bool HearSupervisor();  // false: it is gone
  void WatchSocket();

  ssh_session session_;
  ssh_event event_ = nullptr;
  const int socket_;  // libssh's
  std::shared_ptr<Host> host_;
  ProcessSpawner& spawner_;
  const int epoll_;
  std::function<void(Session&)> ready_;
  const Clock::time_point born_ = Clock::now();

  ssh_server_callbacks_struct callbacks_{};
  std::string user_;  // once logged in
  bool logged_in_ = false;
  int refusals_ = 0;
  std::vector<std::string> environment_;
  std::uint32_t next_id_ = 1;
  std::vector<std::unique_ptr<Channel>> channels_;
  Descriptor supervisor_;
  // A channel was held back in this turn. That the flush may be over before the turn is, as reading
  // from another channel also writes, must not leave it waiting.
  bool awaits_flush_ = false;
  std::uint32_t watched_ = 0;
};

}  // namespace podctl::emulator
