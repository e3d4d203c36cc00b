// The door to other programs (gcloud for a token).
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "providers/base/error.h"
#include "providers/os/child.h"

namespace podctl {

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

class Bridge : public Program {
 public:
  // Errors as those of Program::Launch.
  static Result<std::unique_ptr<Bridge>> Start(const std::vector<std::string>& arguments);
  ~Bridge();  // kills the process group, also what a program that has ended left there

  // This side's end, which does not block; the caller's from now on. Call once.
  int TakeSocket() { return std::exchange(socket_, -1); }
  // Reads what it has complained of by now. Where that is not called for long, what it says
  // beyond a pipe's size (64 KiB) is lost; it is never held up.
  void ReadWords();
  // The last lines of its standard error as read so far, with "; " between them, at most
  // 300 bytes; where there are none, how it ended.
  std::string LastWords();

 private:
  Bridge(int socket, Descriptor error_fd) : socket_(socket), error_fd_(std::move(error_fd)) {}

  int socket_;
  const Descriptor error_fd_;
  std::string words_;
};

}  // namespace podctl
