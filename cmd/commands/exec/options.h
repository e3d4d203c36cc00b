// What the command line says of `podctl exec`, and of a command on workers in general.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cmd/flag.h"

namespace podctl {

struct PodOptions {  // exec, ssh
  std::string pod;
  std::string workers;               // --worker
  std::vector<std::string> command;  // after --
  bool tty = false;                  // a pty also for a command
};

struct ExecOptions {                     // exec, beside PodOptions
  std::chrono::milliseconds timeout{0};  // of the command; 0: none
  std::vector<std::string> env;          // "NAME=VALUE", or "NAME" from the environment
  bool no_stdin = false;                 // standard input is left alone
  bool gather = false;
  bool diff = false;
  std::string output_dir;  // empty: none
  bool overwrite = false;
  std::string retry_failed;           // "last", a folder, or empty
  std::optional<CountOrShare> batch;  // how many run the command at a time
  std::optional<CountOrShare> max_failures;
  bool fail_fast = false;
  std::string detach;  // name of the job to start; empty: stay and watch
};

// All that stands on one line.
struct ExecLine : PodOptions, ExecOptions {};

}  // namespace podctl
