// Commands that run on a worker without a connection: the shell texts that start, list, follow and
// end them, and the readers of their answers. Prints nothing, connects to nothing.
//
// A job is a folder on the worker, ~/.podctl/jobs/HOSTNAME/NAME, readable by its user only (a home
// folder may be that of several workers):
//   run          the run it belongs to: the same on all workers that were started together
//   command      the text that is run, by the user's login shell; environment: what is set for it,
//                until it has started
//   started      seconds since 1970
//   pid          of its supervisor, which leads its process group; its start; the machine's boot
//   log          what it wrote, standard error included
//   exit         its exit code and when that was, once it has ended
//   grace        seconds from TERM to KILL when it is ended; container: its name, of a job in one
//   ending       a folder: somebody ends it; ended-by: who asked for that
//   over         its command has ended, and the supervisor is about to say so
//   before       which run of this name was there before, and how that ended
//   cut          where the log begins, of one whose beginning was taken away (gang.h)
// The supervisor is a shell, started by systemd-run where there is a systemd, else by setsid; it
// takes the exit code. Of a gang (gang.h) it becomes gang.py, which has a second process beside it
// in relays. An attached run (runs.h) has such a folder too, with attached (whose it is),
// relays (the numbers of the shells that hold its connection; in a second line that of gang.py),
// out and err, by which its output goes there, and lost, once its connection was. Names are
// letters, digits, '.', '_' and '-', at most 64 of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/ending_text.h"
#include "providers/base/error.h"
#include "providers/workers/gang.h"

namespace podctl::workers {

bool IsJobName(std::string_view name);

struct JobStart {
  std::string name;
  std::string run;  // letters, digits and '-'
  std::string command;
  std::map<std::string, std::string> environment;
  std::chrono::seconds grace = kEndingGrace;
  std::string container = {};  // its name; empty: it runs in none
  // Whose workers live and die together, and which of its members this worker is; null: of none.
  std::shared_ptr<const Gang> gang = nullptr;
  std::size_t member = 0;
};

// Exit codes of the texts below that tell more than 0 and 1.
inline constexpr int kJobRunsAlready = 91;  // of StartCommand: another run of that name
inline constexpr int kNoSuchJob = 92;       // of FollowCommand

// Starts it, unless just this run is there already. A job of that name that has ended is replaced.
// `StartInput` is to be its standard input: command and environment show in no process list. When
// it is ready it writes kStagedLine on standard error, and starts nothing before kGoLine (runs.h)
// has come behind the input: without it, it ends with kNotStarted.
std::string StartCommand(const JobStart& job);
std::string StartInput(const JobStart& job);

struct JobStatus {
  enum class State {
    kRunning,
    kEnded,  // with `exit_code`
    kDied,   // gone without an exit code: the machine was restarted, or its supervisor was killed
  };
  std::string name;
  std::string run;
  State state = State::kRunning;
  int exit_code = 0;
  std::int64_t started = 0;  // seconds since 1970, by the worker's clock
  std::int64_t ended = 0;    // of kEnded
  std::uint64_t log_bytes = 0;
  std::string command;        // its first line, cut
  std::string ended_by = {};  // who asked for its end, and how, in a line; empty: nobody known
  std::optional<GangNews> gang = {};  // nullopt: it is none
};
// Who of `ended_by`: "alice@laptop" of "alice@laptop: podctl kill research train".
std::string WhoOf(const std::string& ended_by);
std::string_view JobStateName(JobStatus::State state);  // "running", "ended", "died"

// Of one job, or of all (`name` empty).
std::string ListCommand(const std::string& name);
// `lines` of standard output; kDataLoss when it is not a whole answer.
Result<std::vector<JobStatus>> ParseJobs(const std::vector<std::string>& lines);

struct LogRequest {
  std::string name;
  bool follow = false;                // until the job has ended
  std::optional<std::uint64_t> tail;  // only so many last lines (of the last 4 MiB)
  // What was shown before: its lines' bytes, with one for the newline of each. Goes on behind
  // that, also when the last line was cut by a connection that broke. Not with `tail`.
  std::uint64_t seen = 0;
  std::string run;    // of what was seen; another run is told from its beginning. May be empty
  bool only = false;  // nothing of another run than `run`: that it is there is told instead
};

// The log on standard output; on standard error lines for ReadLogNote, others are to be ignored.
std::string LogCommand(const LogRequest& request);

struct LogNote {
  enum class Kind {
    kBegin,    // `run`, and where the output begins: `offset`
    kEnded,    // `exit_code`: the log is whole
    kRunning,  // without `follow`: there will be more
    kDied,
    // Another run, `run`, has taken the place of the one that was read, or is there instead of the
    // one that was asked for.
    kReplaced,
  };
  Kind kind = Kind::kBegin;
  std::string run;
  std::uint64_t offset = 0;
  int exit_code = 0;
  std::string ended_by = {};  // as in JobStatus
  // Of kReplaced: kEnded or kDied, how the former run ended, with its `exit_code` and `ended_by`;
  // nullopt: nobody knows any more.
  std::optional<Kind> former = {};
};
std::optional<LogNote> ReadLogNote(std::string_view line);

struct JobKill {
  std::string name;
  std::optional<std::chrono::seconds> grace;  // nullopt: as the job says
  std::string because;  // for its owner, one line: "alice@laptop: podctl kill …"; may be empty
};
// TERM to all processes of the job, a wait, KILL; the worker does that to its end, whoever is still
// connected. Answers as ListCommand of one job does, with what became of it; exits with
// kEndedInPart when something is left that could not be ended.
std::string KillCommand(const JobKill& kill);

// For a worker of a gang that another one is to tell of its end: waits until this run of it has
// ended there, for its grace and some seconds at most, and not as long where it was not told.
// Answers as ListCommand of one job does: of one that still runs, `ended_by` says that it was told.
std::string AwaitEndCommand(const std::string& name, const std::string& run);

// ---- What the shell texts about jobs and runs share: how a job's folder is read, and how it is
// ended.

// POSIX shell without a single quote: sets $podctl_jobs, the folder of this machine's jobs. Several
// workers may have one home folder (NFS), where the jobs of one are not those of another.
extern const char* const kJobsFolder;

// POSIX shell without a single quote: sets $jobs (that folder) and $boot, and defines start_of PID,
// is_alive FOLDER, look FOLDER ($state, $code, $ended) and tell FOLDER.
std::string KnowJobs();

// POSIX shell without a single quote, behind KnowJobs() and kEndingText: defines
//   end_job BECAUSE SECONDS   ends the job in $job: TERM, its grace (or SECONDS), KILL, and its
//                             container. True when nothing is left of it. BECAUSE, if any, is kept
//                             for its owner.
// Several may call it at once: one does it, the others wait for what comes of it.
extern const char* const kEndJob;

}  // namespace podctl::workers
