// What is wanted of a command on workers.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace podctl {

// A number of workers, or a share of those that are chosen.
struct CountOrShare {
  int number = 0;
  bool percent = false;

  // Rounded down; a share of something may be none.
  int Of(std::size_t workers) const {
    return percent ? static_cast<int>(workers * static_cast<std::size_t>(number) / 100) : number;
  }
};

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
