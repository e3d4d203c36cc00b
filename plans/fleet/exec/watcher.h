// Who sees commands while they run on many workers: what the transport tells, and between what.
#pragma once

#include <stop_token>
#include <vector>

#include "providers/ssh/transport.h"

namespace podctl {

class ExecWatcher : public ssh::Observer {
 public:
  // Before anything else; both are lent until OnEnd. `unheard` is to be asked to stop when nobody
  // takes what is told any more: `podctl exec POD -- yes | head -1` ends as `ssh HOST yes | head
  // -1` does.
  virtual void OnBegin(const std::vector<ssh::Job>& jobs, std::stop_source& unheard) = 0;
  // Some 20 times a second, on a thread of its own.
  virtual void Tick() = 0;
  virtual void OnEnd() = 0;  // after everything else
};

}  // namespace podctl
