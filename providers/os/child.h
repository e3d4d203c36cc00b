// Programs that this process starts and watches itself, among many others with poll(2). (process.h
// runs one to its end, and talks with one through a socket.)
//
// Not thread safe; different programs may live in different threads.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "providers/base/error.h"
#include "providers/os/descriptor.h"

namespace podctl {

// The path of a program in PATH, a name with a slash as it is; empty: there is none.
std::string FindProgram(const std::string& name);

// A program in the background, in a process group of its own.
class Program {
 public:
  // What its standard streams are; -1: it has nothing to read, and nobody hears it.
  struct Streams {
    int in = -1;
    int out = -1;
    int error = -1;
  };

  Program() = default;
  ~Program() { Kill(); }  // what has not been seen to end
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Starts a program found in PATH, without a shell. kNotFound when there is no such program, else
  // kIo.
  Result<void> Launch(const std::vector<std::string>& words, const Streams& streams);
  pid_t pid() const { return pid_; }
  // The exit code as a shell tells it, once it has ended; `signal`: what killed it, 0 for nothing.
  std::optional<int> HasEnded();
  int signal() const { return status_ && WIFSIGNALED(*status_) ? WTERMSIG(*status_) : 0; }
  void Kill();  // the whole process group, unless it was seen to end

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;  // as waitpid(2) tells it
};

// One whose standard error is read as it comes.
class Child : public Program {
 public:
  // Errors as those of Launch.
  static Result<std::unique_ptr<Child>> Start(const std::vector<std::string>& arguments);

  // Readable when there is something or its end; reading never waits.
  int error_fd() const { return error_fd_.get(); }
  // Readable once the program has ended; -1 where the kernel has no such thing, and then
  // HasEnded has to be asked every now and then.
  int exit_fd() const { return exit_fd_->get(); }

 private:
  explicit Child(Descriptor error_fd) : error_fd_(std::move(error_fd)) {}

  const Descriptor error_fd_;
  std::optional<Descriptor> exit_fd_;
};

// ---- A program that takes this process's place before the user for a while: it has the terminal
// and the three standard streams, and is in the same process group, so that Ctrl-C and Ctrl-Z are
// for both.

struct ForegroundEnd {
  int exit_code = 0;
  int signal = 0;  // that ended it; 0: none did
};

// Runs a program found in PATH, without a shell, and waits for its end. On `stop` it gets SIGTERM,
// and is still waited for. When it stops itself, this process stops too. Errors as those of Launch.
Result<ForegroundEnd> RunInForeground(const std::vector<std::string>& arguments,
                                      const std::stop_token& stop);

// ---- This process becomes another program: its terminal, its signals and its exit code are then
// that program's own.

// Replaces this process by `words[0]`, an absolute path, with `variables` set over what it has in
// its environment. Returns only to say why that failed.
Error BecomeProgram(const std::vector<std::string>& words,
                    const std::map<std::string, std::string>& variables);

}  // namespace podctl
