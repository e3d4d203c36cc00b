// One command over a connection that ssh holds, from its start to its end: output, input, time
// limit, and the farewell when it is to end early. Waits; to be called on a thread of its own.
// Knows nothing of how the connection came about, and never tries again.
#pragma once

#include <functional>
#include <string>

#include "providers/os/clock.h"
#include "providers/ssh/transport.h"
#include "providers/ssh/wakeup.h"

namespace podctl::ssh {

class MuxRunObserver {
 public:
  virtual ~MuxRunObserver() = default;
  virtual void OnSent() = 0;  // from here on the command may have run
  virtual void OnData(Stream stream, std::string_view bytes) = 0;  // may wait
};

struct MuxEnding {
  bool sent = false;  // if not, `result` says why, and it may be tried again
  bool connection_is_good = false;
  WorkerResult result;  // outcome, exit_code, message, bytes
};

// `stop_fd` becomes and stays readable when the command is to be asked to end. `fed` is rung when
// the job's feed has more.
MuxEnding RunOverMux(const std::string& socket_path, const Job& job, const Limits& limits,
                     Clock& clock, int stop_fd, const Wakeup& fed, MuxRunObserver& observer);

}  // namespace podctl::ssh
