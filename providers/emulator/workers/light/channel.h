// One channel of an SSH connection: a command, a shell, or a forwarded connection, with the flow
// control of both sides: nothing is read that the other side has no room for.
//
// Knows libssh, supervisors and pipes. Belongs to its session's thread; all its work is done in
// Pump.
#pragma once

#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <libssh/server.h>
#include <sys/ioctl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "providers/emulator/workers/light/descriptor.h"
#include "providers/emulator/workers/light/host.h"
#include "providers/emulator/workers/light/supervisor.h"

namespace podctl::emulator {

// What a channel needs of its connection.
class ChannelHome : public Watcher {
 public:
  // What libssh holds already has to go out before more is written: leads to a Turn once it may.
  virtual void AwaitFlush() = 0;
  virtual ssh_session session() const = 0;
  virtual int epoll() const = 0;
  virtual Host& host() = 0;
  virtual const std::string& user() const = 0;
  // Variables that sshd sets for commands: SSH_CONNECTION and its like.
  virtual const std::vector<std::string>& environment() const = 0;
  // The connection's supervisor; an error when it cannot be had.
  virtual Result<int> supervisor() = 0;
};

class Channel {
 public:
  // For a command or a shell, whichever the client asks for.
  Channel(ChannelHome& home, ssh_channel channel, std::uint32_t id);
  // For a forwarded connection; takes over the socket.
  Channel(ChannelHome& home, ssh_channel channel, std::uint32_t id, int socket);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  std::uint32_t id() const { return id_; }
  // Moves what can be moved; true when the channel is over and may go.
  bool Pump();
  void Ended(const Ending& ending);

 private:
  enum class Asked { kNothing, kCommand, kShell, kSubsystem };

  void Listen();  // to libssh's callbacks
  void Start();
  void StartProcess();
  void Collect();  // input for an answer of the host's
  Result<void> TryStart(const Login& login);
  std::vector<std::string> Arguments(const Login& login) const;
  std::vector<std::string> Environment(const Login& login) const;

  Result<void> OpenTerminal(Command* command, std::vector<Descriptor>* theirs);
  Result<void> OpenPipes(Command* command, std::vector<Descriptor>* theirs);

  void PumpIn();
  void PumpAnswer();
  void PumpOut(Descriptor& from, bool is_stderr);
  std::size_t WritableBytes() const;  // bytes that the client takes now
  void SendEnding(const Ending& ending);
  void Signal(std::string_view name);

  ChannelHome& home_;
  ssh_channel channel_;
  const std::uint32_t id_;
  ssh_channel_callbacks_struct callbacks_{};

  Asked asked_ = Asked::kNothing;
  bool started_ = false;
  std::string words_;  // of the command or subsystem
  std::vector<std::string> variables_;
  bool terminal_ = false;
  winsize window_{};

  Descriptor in_;   // where the client's bytes go
  Descriptor out_;  // where its stdout comes from
  Descriptor err_;
  bool forwarded_ = false;  // in_ and out_ are a socket of somebody else's
  std::string pending_;     // came from the client, not yet taken
  bool in_ended_ = false;
  bool collecting_ = false;  // into pending_, until the host answers or a process is started
  std::optional<InlineAnswer> answer_;
  std::uint64_t answered_ = 0;
  bool running_ = false;
  bool over_ = false;
};

}  // namespace podctl::emulator
