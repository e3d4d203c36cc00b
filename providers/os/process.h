// The door to other programs (gcloud for a token). This room is the only one with Boost.Process.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <vector>

#include "providers/base/error.h"

namespace podctl {

// The path of a program in PATH, a name with a slash as it is; empty: there is none.
std::string FindProgram(const std::string& name);

struct ProcessResult {
  int exit_code = 0;
  std::string out;
  std::string err;
};

class ProcessRunner {
 public:
  virtual ~ProcessRunner() = default;
  // Runs a program found in PATH, without a shell and without standard input, and waits for it.
  // kNotFound when there is no such program; kDeadlineExceeded when it ran longer than `limit` (it
  // is killed); kCancelled on `stop` (it is killed). A non-zero exit code is a result, not an
  // error. Each stream is kept up to 1 MiB.
  virtual Result<ProcessResult> Run(const std::vector<std::string>& arguments,
                                    std::chrono::milliseconds limit, std::stop_token stop) = 0;
};

class RealProcessRunner final : public ProcessRunner {
 public:
  Result<ProcessResult> Run(const std::vector<std::string>& arguments,
                            std::chrono::milliseconds limit, std::stop_token stop = {}) override;
};

}  // namespace podctl
