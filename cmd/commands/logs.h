// `podctl logs POD NAME`: what a job of `exec --detach` has written, and writes.
#pragma once

#include <string>

#include "cmd/wiring.h"

namespace podctl {

struct LogsOptions {
  std::string pod;
  std::string workers;  // --worker; empty: all
  std::string job;
  bool follow = false;
  bool resume = false;  // from where they stopped
  int tail = 0;         // so many last lines; 0: all
};

// With `follow` until the job has ended on all chosen workers, with its exit code: theirs when they
// agree, else 1. A worker whose connection breaks is taken up again where it stopped.
int RunLogs(Wiring& wiring, const LogsOptions& options);

}  // namespace podctl
