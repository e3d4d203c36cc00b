// What libssh2 calls back for one session: its memory and its way to the socket; and what is seen
// there that libssh2 does not say, which is whether an exit status came at all.
//
// libssh2 answers 0 for the exit status of a command also where none came. But it frees each packet
// when it has dealt with it, through our hook, so that the request "exit-status" (RFC 4254 section
// 6.10) is seen there. That is a habit of libssh2's and no promise: ExitStatusIsSeen tries it.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "providers/os/process.h"
#include "providers/ssh/libssh2/socket_io.h"
#include "providers/ssh/transport.h"

// libssh2's own structures, by name only, so that its header stays in the files that call it.
struct _LIBSSH2_SESSION;  // NOLINT(bugprone-reserved-identifier): the library's name, not ours
struct _LIBSSH2_CHANNEL;  // NOLINT(bugprone-reserved-identifier): likewise

namespace podctl::ssh {

class Session;

// Lives with its session, on that one's thread, and stays where it is.
class SessionHooks {
 public:
  SocketIo io;
  std::unique_ptr<Bridge> bridge;  // null: a TCP connection

  // A session of libssh2's that never blocks; null when there is no memory. To be freed before
  // this.
  _LIBSSH2_SESSION* Open(int fd);

  void ForgetExitStatus() { exit_status_came_ = false; }  // a new command begins
  bool exit_status_came() const { return exit_status_came_; }

  // For the hooks.
  void* Allocate(std::size_t size);
  void Free(void* memory);
  ssize_t Receive(void* buffer, std::size_t size, int flags);

 private:
  // libssh2's own structure, 54 KB, of which 50 are buffers for the longest packets that there may
  // be. Hardly any packet is, so the pages that nobody has written to are given back to the kernel:
  // thousands of sessions then take a third of the memory.
  void* structure_ = nullptr;
  bool exit_status_came_ = false;
};

// Whether this libssh2 frees a packet as said above (1.10 and 1.11 do): tried once, on a session
// with nobody, which costs 1.4 ms of CPU. If not, the exit code 0 is believed as long as the
// connection stands, so a command whose end the worker did not report may count as done.
bool ExitStatusIsSeen();
void PretendExitStatusIsSeen(std::optional<bool> seen);  // for tests; nullopt: try it
// What a user is to know of it, once; empty where it is seen.
std::string_view ExitStatusWarning();

// For a channel that the worker has closed: fills in kExited with its code, kSignaled with the
// signal, or kLost when the worker reported neither, the last two with a message.
void ReadExitStatus(Session& session, _LIBSSH2_CHANNEL* channel, WorkerResult& result);

}  // namespace podctl::ssh
