// Commands that start on many workers at the same moment and live as long as their connection: the
// shell texts that stage and start them, and that end what an earlier run of them left. Prints
// nothing, connects to nothing.
//
// A worker reads all that it needs from its standard input, makes itself ready, says so, and waits
// for one more line: so the start takes no longer than a line needs to come. When that line does
// not come (podctl is gone, another worker is not ready), nothing is started.
//
// PODCTL_RUN_MARK in its environment names the run, by which its processes are known; the home
// folder is a part of it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/error.h"

namespace podctl::workers {

// On standard error, once a worker is ready.
inline constexpr std::string_view kStagedLine = "podctl-run staged";
// What it then waits for.
inline constexpr std::string_view kGoLine = "go\n";
// Its exit code when another line came, or none.
inline constexpr int kNotStarted = 93;

// `job`: IsJobName (jobs.h). `run`: letters, digits and '-'.
std::string RunCommand(const std::string& job, const std::string& run);
// Its standard input, before kGoLine: `setup` is run while others get ready, `script` at the start.
// Both are POSIX shell, hold no NUL, and show in no process list.
std::string RunInput(const std::string& setup, const std::string& script);

// Ends all processes of all runs of `job`: TERM, then for at most `grace` a wait, then KILL.
std::string EndRunsCommand(const std::string& job, std::chrono::seconds grace);
// How many it ended; kDataLoss when that is no whole answer, kPermissionDenied when some are left.
Result<int> ParseEndRuns(const std::vector<std::string>& lines);

}  // namespace podctl::workers
