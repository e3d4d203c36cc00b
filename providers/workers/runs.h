// Commands that start on many workers at the same moment and live as long as their connection: the
// shell texts that stage and start them, and that end what an earlier run of them left. Prints
// nothing, connects to nothing.
//
// A worker reads all that it needs from its standard input, makes itself ready, says so, and waits
// for one more line: so the start takes no longer than a line needs to come. When that line does
// not come (podctl is gone, another worker is not ready), nothing is started. From there on the
// input stays open as long as somebody is there: when it ends before the command has, a shell on
// the worker ends the command, with its grace, by itself.
//
// Of workers that live and die together (gang.h), gang.py stands between that shell and the
// command: when one of them fails, they end all of it by themselves, also where nobody is connected
// any more. Who has the run begins it again.
//
// A run is a job with a folder as jobs.h describes it, so that it is listed, refused a second time
// and killed as a detached one is. PODCTL_RUN_MARK in its environment names job and run, by which
// its processes are known whatever session they have made; the home folder is a part of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/ending_text.h"
#include "providers/base/error.h"
#include "providers/workers/gang.h"

namespace podctl::workers {

// On standard error, once a worker is ready.
inline constexpr std::string_view kStagedLine = "podctl-run staged";
// What it then waits for.
inline constexpr std::string_view kGoLine = "go\n";
// Its exit code when another line came, or none.
inline constexpr int kNotStarted = 93;
// Its exit code when its gang has ended the command, since another worker's had failed. The run's
// folder keeps the command's own.
inline constexpr int kEndedForAnother = 94;

// On standard error, by what ends jobs and what they left, once it has to wait for the end.
inline constexpr std::string_view kEndingLine = "podctl-run ending";

struct Run {
  std::string job;    // IsJobName (jobs.h)
  std::string id;     // letters, digits and '-'
  std::string owner;  // one line: "alice@laptop"
  std::string shown;  // the command as lists show it; no secrets, since it stands in a file
  std::chrono::seconds grace = kEndingGrace;
  std::string container = {};  // its name; empty: it runs in none
};

// What it tells of the run are lines on standard error, OwnLineIn: who had it ended, and of a gang
// who failed first, as soon as that is known.
std::string RunCommand(const Run& run);
// Its standard input, before kGoLine: `setup` is run while others get ready, `script` at the start.
// Both are POSIX shell, hold no NUL, and show in no process list.
std::string RunInput(const std::string& setup, const std::string& script);
// Of member `me` of a gang. `gang.first` is the number of this start; `on`, `hang` and `logs` are
// empty, since they are for who is connected to see to. `script`, which may be secret, is in no
// file once all are ready.
std::string RunInput(const Run& run, const std::string& setup, const std::string& script,
                     const Gang& gang, std::size_t me);
// Ends the run, beside it on its connection: for ssh::Job. `because`: as in JobKill (jobs.h).
std::string EndRunCommand(const Run& run, const std::string& because = {});
// Where a line of podctl's own about this run begins in one on standard error: behind what the
// command has written without a newline, as a progress bar does. npos: nowhere.
std::size_t OwnLineIn(std::string_view line, const std::string& run);
// What such a line tells; nullopt: another thing. As the worker says it: it may be anything, but
// for control characters, and is cut.
std::optional<std::string> ReadEndedBy(std::string_view own, const std::string& run);
// Of a gang: the program that stood by the command was killed, and its shell ends what is left. The
// other workers do not know.
bool IsUnsupervised(std::string_view own, const std::string& run);
std::optional<GangNews::First> ReadFirst(std::string_view own, const std::string& run);

struct RunsEnd {
  std::string job;
  std::string id;            // a run of this name is ended although it is still at work
  bool all = false;          // so is any other, and a detached job of that name
  std::string because = {};  // as in JobKill
  std::chrono::seconds grace = kEndingGrace;
};
// Ends what earlier runs of a job left: TERM, at most `grace` of wait, KILL. What is still at work
// is not touched, and told.
std::string EndRunsCommand(const RunsEnd& wanted);

struct RunsEnded {
  int processes = 0;
  std::optional<std::string> at_work;  // nothing was done, for this job runs; its owner, or ""
};
// kDataLoss when that is no whole answer, kPermissionDenied when some are left.
Result<RunsEnded> ParseEndRuns(const std::vector<std::string>& lines);

}  // namespace podctl::workers
