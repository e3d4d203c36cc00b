// What is wanted of a command on workers.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plans/fleet/exec/record.h"
#include "plans/fleet/pod_target.h"
#include "providers/base/error.h"
#include "providers/os/environment.h"
#include "providers/os/file_system.h"
#include "providers/worker.h"

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

struct OutputOptions {  // exec, run
  bool gather = false;
  bool diff = false;
  std::string output_dir;  // empty: none
  bool overwrite = false;
  bool timestamps = false;  // of the lines that are shown
};

struct ExecOptions : OutputOptions {     // exec, beside PodOptions
  std::chrono::milliseconds timeout{0};  // of the command; 0: none
  std::vector<std::string> env;          // "NAME=VALUE", or "NAME" from the environment
  bool no_stdin = false;                 // standard input is left alone
  std::string retry_failed;              // "last", a folder, or empty
  std::optional<CountOrShare> batch;     // how many run the command at a time
  std::optional<CountOrShare> max_failures;
  bool fail_fast = false;
  std::string detach;  // name of the job to start; empty: stay and watch
};

// All that stands on one line.
struct ExecLine : PodOptions, ExecOptions {};

// ---- What a `podctl exec` is about to do: which command on which workers, after --worker and
// --retry-failed were looked at.

struct ExecChoice {
  std::vector<WorkerAccess> workers;  // empty: all that failed are ok by now
  std::vector<std::string> command;   // words
  // The run of the same command that this one goes on with: what comes of it takes its place there.
  std::optional<ExecRecord> earlier;
  std::string output_dir;     // empty: none
  bool into_earlier = false;  // `output_dir` holds the results of `earlier`
};

// `last` is the pod's.
Result<ExecChoice> ChooseWork(FileSystem& files, const LastRun& last, const PodTarget& target,
                              const PodOptions& options, const ExecOptions& exec);

// The same, once `earlier` was read.
Result<ExecChoice> ChooseAgain(const PodTarget& target, const PodOptions& options,
                               const ExecOptions& exec, const ExecRecord& earlier);

// ---- --env: variables for a remote command whose values stand in no process list and no record:
// they come as the first line of the command's standard input, which the remote shell reads before
// it begins. What follows that line is the command's own input.

using ExecVariables = std::map<std::string, std::string>;

// Of "NAME=VALUE" and "NAME", whose value is the environment's: kNotFound when it has none.
Result<ExecVariables> ReadVariables(const std::vector<std::string>& texts,
                                    const Environment& environment);

// `command` for a POSIX shell that takes the variables from its standard input, and the line that
// brings them. Without variables the command as it is, and "".
std::string CommandWithVariables(const std::string& command, const ExecVariables& variables);
std::string VariablesLine(const ExecVariables& variables);

}  // namespace podctl
