// A program in the background whose standard error is read as it comes: for what has to be watched
// among many others with poll(2). (process.h runs one to its end.)
//
// Not thread safe; different children may live in different threads.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "providers/base/error.h"

namespace podctl {

class Child {
 public:
  // Starts a program found in PATH, without a shell, in a process group of its own, with nothing to
  // read and nobody to hear its standard output. kNotFound when there is no such program, else kIo.
  static Result<std::unique_ptr<Child>> Start(const std::vector<std::string>& arguments);
  ~Child();  // kills what has not been seen to end
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Readable when there is something or its end; reading never waits.
  int error_fd() const { return error_fd_; }
  // Readable once the program has ended; -1 where the kernel has no such thing, and then
  // HasEnded has to be asked every now and then.
  int exit_fd() const { return exit_fd_; }

  // The exit code as a shell tells it, once it has ended.
  std::optional<int> HasEnded();
  void Kill();  // the whole process group, unless it was seen to end

 private:
  explicit Child(int error_fd) : error_fd_(error_fd) {}

  pid_t pid_ = -1;
  const int error_fd_;
  int exit_fd_ = -1;
  std::optional<int> code_;
};

// ---- This process becomes another program: its terminal, its signals and its exit code are then
// that program's own.

// Replaces this process by `words[0]`, an absolute path, with `variables` set over what it has in
// its environment. Returns only to say why that failed.
Error BecomeProgram(const std::vector<std::string>& words,
                    const std::map<std::string, std::string>& variables);

}  // namespace podctl
