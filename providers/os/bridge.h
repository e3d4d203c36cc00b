// A program in the background that carries bytes to somewhere else: what is written to its socket
// it reads as standard input, and what it writes to standard output is read there (`ssh -W`,
// gcloud's tunnel). The caller polls the socket; nothing here waits. Knows nothing of what the
// bytes are.
//
// Not thread safe; different bridges may live in different threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "providers/base/error.h"

namespace podctl {

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
