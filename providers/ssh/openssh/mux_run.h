// One command over a connection that ssh holds, from its start to its end: output, input, time
// limit, and the termination when it is to end early. Waits; to be called on a thread of its own.
// Knows nothing of how the connection came about, and never tries again.
//
// Why not `ssh -S SOCKET`, a process for each command: measured with OpenSSH 9.2 on two loaded
// cores against light workers, `hostname` over 64 (256) connections that are open, CPU of podctl,
// its children and the masters: 0.7 (0.6) ms a worker and 50 (140) ms in all, with `ssh -S` 7.4
// (6.8) ms and 740 (2,300) ms; 4 MB of output from each 20 and 26 ms. And it would not be known
// whether a command was sent, nor a remote 255 be told from ssh's own.
#pragma once

#include <functional>
#include <string>

#include "providers/os/clock.h"
#include "providers/os/descriptor.h"
#include "providers/ssh/transport.h"

namespace podctl::ssh {

class MuxRunObserver {
 public:
  virtual ~MuxRunObserver() = default;
  virtual void OnSent() = 0;  // from here on the command may have run
  virtual void OnData(Stream stream, std::string_view bytes) = 0;
  virtual bool Full() = 0;  // take no more output for now; `news` is rung when there is room
};

struct MuxEnding {
  bool sent = false;  // if not, `result` says why, and it may be tried again
  bool connection_is_good = false;
  WorkerResult result;  // outcome, exit_code, message, bytes
};

// `stop_fd` becomes and stays readable when the command is to be asked to end. `news` is rung when
// the job's feed has more, or the observer is Full no more; perhaps also for somebody else.
MuxEnding RunOverMux(const std::string& socket_path, const Job& job, const Limits& limits,
                     Clock& clock, int stop_fd, const Wakeup& news, MuxRunObserver& observer);

}  // namespace podctl::ssh
