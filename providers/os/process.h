// The door to other programs (gcloud for a token). This room is the only one with Boost.Process.
#pragma once

#include <chrono>
#include <memory>
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

// ---- A program in the background that carries bytes to somewhere else: what is written to its
// socket it reads as standard input, and what it writes to standard output is read there (`ssh -W`,
// gcloud's tunnel). The caller polls the socket; nothing here waits. Knows nothing of what the
// bytes are.
//
// Not thread safe; different bridges may live in different threads.

class Bridge {
 public:
  // Starts a program found in PATH, without a shell, in a process group of its own.
  // kNotFound when there is no such program, else kIo.
  static Result<std::unique_ptr<Bridge>> Start(const std::vector<std::string>& arguments);
  virtual ~Bridge() = default;  // kills the process group and reaps the program
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;

  // This side's end, which does not block; the caller's from now on. Call once.
  virtual int TakeSocket() = 0;
  // Reads what it has complained of by now. Where that is not called for long, what it says
  // beyond a pipe's size (64 KiB) is lost; it is never held up.
  virtual void ReadWords() = 0;
  // The last lines of its standard error as read so far, with "; " between them, at most
  // 300 bytes; where there are none, how it ended.
  virtual std::string LastWords() = 0;

 protected:
  Bridge() = default;
};

}  // namespace podctl
