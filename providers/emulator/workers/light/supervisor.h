// Starts the commands of SSH connections: one small process for each connection, the supervisor, is
// the parent of all its commands, as sshd's own process for a connection is. What a command can see
// of its relatives ($PPID, its siblings, its process group) is therefore what it would see there.
//
// Supervisors are forked by a spawner, a process that is forked itself while this program is small,
// and starts no program. When this program ends, killed or not, the spawner ends all processes that
// carry the mark in their environment. Commands outlive their connection, as with sshd.
//
// Knows no SSH. NewSupervisor is thread safe; a supervisor's descriptor belongs to one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "providers/base/error.h"

namespace podctl::emulator {

struct Command {
  std::vector<std::string> argv;         // argv[0] is an absolute path
  std::vector<std::string> environment;  // NAME=VALUE
  std::string folder;                    // where it starts
  int in = -1;                           // its stdin, stdout, stderr; the caller keeps its own
  int out = -1;
  int err = -1;
  bool terminal = false;  // they are a terminal, which it shall control
};

struct Ending {
  std::uint32_t id = 0;
  int exit_code = 0;
  int signal = 0;  // not 0: it was ended by this signal
};

class ProcessSpawner {
 public:
  // `mark` is the beginning of an environment variable's text, e.g. "FOLDER=/tmp/x/". Best called
  // before other threads and large memory are there, since it forks.
  static Result<std::unique_ptr<ProcessSpawner>> Start(const std::string& mark);
  ~ProcessSpawner();  // ends all marked processes, and waits for that
  ProcessSpawner(const ProcessSpawner&) = delete;
  ProcessSpawner& operator=(const ProcessSpawner&) = delete;

  // Runs a command that nobody waits for. The caller keeps its descriptors.
  Result<void> RunAlone(const Command& command);
  // The descriptor of a new supervisor, non-blocking and close-on-exec. Closing it ends the
  // supervisor.
  Result<int> NewSupervisor();

 private:
  ProcessSpawner(int socket, pid_t pid) : socket_(socket), pid_(pid) {}

  std::mutex mutex_;
  const int socket_;
  const pid_t pid_;
};

// Has the supervisor start a command, which it calls `id` from then on. kOutOfRange: command and
// environment are larger than 96 KiB; kUnavailable: the supervisor is gone.
Result<void> StartCommand(int supervisor, std::uint32_t id, const Command& command);
// Sends a signal to the command's process group, if it has not ended.
void SignalCommand(int supervisor, std::uint32_t id, int signal);
// The next command that has ended; nullopt: none for now. `*gone`: nor will there be one, as the
// supervisor has ended, which its connection does not survive.
std::optional<Ending> ReadEnding(int supervisor, bool* gone);

// Kills every process whose environment has a variable that begins with `mark`.
void KillMarked(const std::string& mark);

}  // namespace podctl::emulator
