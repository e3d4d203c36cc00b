// Ends leftover processes that hold the TPU of a worker, and removes libtpu's lock file when it is
// nobody's any more: the shell texts, and the readers of their answers. Chooses nobody itself: it
// ends just the processes it is given, and those only while they are the ones that were seen.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "providers/base/error.h"
#include "providers/workers/probe.h"

namespace podctl::workers {

struct DrainReport {
  struct Ended {
    int pid = 0;
    enum class How { kGone, kTerm, kKill, kRefused } how = How::kGone;
  };
  std::vector<Ended> ended;
  enum class Lock { kNone, kRemoved, kHeld, kRefused } lock = Lock::kNone;
};

// TERM, then for at most `grace` a wait, then KILL. One command for the remote shell.
// `root`: the folder below which /tmp is looked for; "" but in tests.
std::string DrainCommand(const std::vector<Holder>& victims, std::chrono::seconds grace,
                         const std::string& root = {});
// `lines` of standard output; kDataLoss when it is not a whole answer.
Result<DrainReport> ParseDrain(const std::vector<std::string>& lines);

}  // namespace podctl::workers
