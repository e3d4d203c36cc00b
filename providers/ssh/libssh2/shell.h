// A shell, or one command, on one worker with this terminal connected to it: bytes pass unchanged
// both ways, the window's size is followed, the exit status comes back.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "providers/base/error.h"
#include "providers/os/clock.h"
#include "providers/ssh/keys/identities.h"
#include "providers/ssh/libssh2/terminal.h"
#include "providers/ssh/transport.h"
#include "providers/worker.h"

namespace podctl::ssh {

struct ShellOptions {
  std::string command;         // empty: the login shell
  bool tty = true;             // ask for a pty; standard error then arrives with standard output
  std::string term = "xterm";  // TERM on the worker
  Limits limits;               // connect, handshake and retry; a shell has no limit of its own
  // Told why an attempt to connect failed that will be repeated. May be empty.
  std::function<void(const std::string&)> on_trouble;
};

// Blocks until the remote side ends (kExited, kSignaled, kLost) or `stop` or the loss of the
// output's reader (kCancelled: the connection is closed, which hangs the terminal up). The local
// terminal is raw only while the session is open, and is put back on every way out. `terminal` is
// lent.
WorkerResult RunShell(const WorkerAccess& worker,
                      const std::shared_ptr<const Identities>& identities,
                      const ShellOptions& options, Terminal& terminal, Clock& clock, Random& random,
                      const std::stop_token& stop);

}  // namespace podctl::ssh
