// Reads or follows the log of a job on many workers, and writes down how far it was shown. Shows
// nothing itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "plans/fleet/kept_file.h"
#include "providers/os/clock.h"
#include "providers/ssh/transport.h"
#include "providers/workers/jobs.h"

namespace podctl {

// ---- Reads the logs of one job on many workers, and goes on where it stopped when a connection
// breaks.
//
// Each worker's place in its log is counted in bytes, so nothing is told twice and nothing is left
// out. Lines are delivered one at a time, from several threads in turn.
//
// A log that is followed is that of one run: the one that was there on a worker when it was first
// reached. Where another has taken its place, that worker is read no further.

// How far the log of one worker was read.
struct LogPlace {
  std::string run;         // of the job; another run is read from its beginning
  std::uint64_t seen = 0;  // bytes
};
using LogPlaces = std::map<int, LogPlace>;  // by worker

struct LogEnd {
  enum class Kind {
    kOpen,      // not followed, and there will be more
    kEnded,     // with `exit_code`
    kDied,      // the job is gone without an exit code
    kReplaced,  // `next_run` has taken its place, and how it ended nobody knows any more
    kNoSuchJob,
    kFailed,   // `message` says why the log cannot be read
    kStopped,  // by the caller
  };
  Kind kind = Kind::kStopped;
  int exit_code = 0;
  std::string message;
  std::string ended_by = {};  // of kEnded: who asked for that; empty: nobody known
  // Of the first four: the run that was started in its place meanwhile; empty: none is known of.
  std::string next_run = {};
};

// What there is to tell of workers while their logs are read.
struct LogRemark {
  enum class Kind {
    kBack,     // after it was lost
    kBroke,    // the connection did; it is tried again
    kTrouble,  // so is this, for another reason: `message`
    kPod,      // what keeps them silent, known since that was told
    kGone,     // so is their pod, `message`, while `followed` others are followed
    kDied,     // the job there, without an exit code, while `followed` others are followed
    kFailed,   // likewise, with `exit_code`
    kAnew,     // likewise: it was started anew there, as the run `message`
    kCut,      // the beginning of their logs is not on them any more
  };
  Kind kind = Kind::kBack;
  std::string message = {};
  int exit_code = 0;
  std::size_t followed = 0;
  // Of the first three that are tried again, how the service says that their pod stands: "is
  // REPAIRING: …"; may be empty.
  std::string pod = {};
};

// What the service says of the pod, once some of its workers are silent.
struct PodNews {
  std::optional<Error> loss = {};  // none of them can answer any more
  std::string trouble = {};        // why they may be silent: "is REPAIRING: …"; may be empty
};
// Waits for the answer some seconds at most, and not beyond the token. Empty: nobody can be asked.
using AskForPod = std::function<PodNews(const std::stop_token&)>;

// Who is shown it: one call at a time, from several threads in turn.
class LogWatcher {
 public:
  virtual ~LogWatcher() = default;
  virtual void OnLine(const WorkerAccess& worker, std::string_view line) = 0;
  // Of all of whom it is true at about the same time.
  virtual void OnRemark(const std::vector<WorkerAccess>& workers, const LogRemark& remark) = 0;
};

class LogFollower {
 public:
  // The doors are lent. `patience`: how long a worker that was lost is tried again, unless `ask`
  // says that its pod is gone: then it is given up at once.
  LogFollower(ssh::Transport& transport, Clock& clock, workers::LogRequest request,
              std::chrono::milliseconds patience, AskForPod ask, LogWatcher& watcher);
  ~LogFollower();
  LogFollower(const LogFollower&) = delete;
  LogFollower& operator=(const LogFollower&) = delete;

  // One end for each worker, in their order. Goes on at `from`, where a worker is named there.
  // Returns within seconds of `stop`.
  std::vector<LogEnd> Run(const std::vector<WorkerAccess>& workers, const LogPlaces& from,
                          const std::stop_token& stop);
  // Where it is now; also while Run is under way. Empty: no worker has said anything yet.
  LogPlaces Places();
  // Host keys seen for the first time, by worker; when Run is over.
  const std::map<int, HostKeyText>& learned() const { return learned_; }

 private:
  class Round;
  struct Place {
    WorkerAccess worker;
    bool open = true;
    bool reading = false;
    bool lost = false;                     // told so, and not yet back
    std::uint64_t before = 0;              // what was seen when this connection began
    std::uint64_t since = 0;               // bytes of lines that came over it
    std::optional<std::uint64_t> begin;    // where the log was taken up, as the worker says
    std::optional<workers::LogNote> note;  // the last word of this connection
    std::string run;
    bool bound = false;         // reached: `run` was there, and is the one that is followed
    Clock::SteadyTime heard{};  // when it last said something
    Clock::SteadyTime again{};  // not before
    int failures = 0;           // in a row
    LogEnd end;

    std::uint64_t Seen() const { return begin.value_or(before) + since; }
  };

  void Launch(std::vector<std::size_t> indexes, const std::stop_token& stop);
  void Read(const std::vector<std::size_t>& indexes, const std::stop_token& stop);
  void OnLine(std::size_t index, ssh::Stream stream, std::string_view line);
  void OnResult(std::size_t index, const ssh::WorkerResult& result);
  std::string FollowedRun() const;
  void Close(Place* place, const workers::LogNote& note);
  void NoteDeath(const Place& place);
  void Note(const Place& place, LogRemark remark);
  void Fail(Place* place, std::string why);
  void AskIfSilent(const std::stop_token& stop);
  void TakeNews(PodNews news);
  void TellGathered(bool all);
  std::size_t CountOpen() const;
  void Retry(Place* place, const ssh::WorkerResult& result);
  bool StillOpen(std::vector<std::size_t>* due);

  ssh::Transport& transport_;
  Clock& clock_;
  const workers::LogRequest request_;
  const std::chrono::milliseconds patience_;
  const AskForPod ask_;
  LogWatcher& watcher_;
  std::mutex mutex_;  // guards what follows, and the watcher
  // What is about to be told, equal ones together, in the order in which they are told.
  struct Gathered {
    LogRemark remark;
    std::vector<WorkerAccess> workers;
    Clock::SteadyTime since{};
  };
  std::deque<Gathered> gathered_;
  PodNews news_;
  std::optional<Clock::SteadyTime> asked_at_;
  std::map<int, HostKeyText> learned_;
  std::vector<Place> places_;
  bool in_turn_ = false;  // more workers than can be read at once: each is asked again and again
  bool stopping_ = false;
  struct Reader {
    bool done = false;
    std::jthread thread;
  };
  std::list<Reader> readers_;
};

struct LogsReport {
  std::vector<LogEnd> ends;            // of the workers, in their order
  std::map<int, HostKeyText> learned;  // host keys seen for the first time, by worker

  // The job's own code where all of them agree on one; what goes on counts as 0. Else 1.
  int ExitCode() const;
  // A run that has taken the place of one that was read; empty: none is known of.
  std::string NextRun() const;
  // Drops who never had the job, here and of `workers`, the ones that were asked: a job may run on
  // some only. Where nobody is known to have it, nothing is dropped.
  void LeaveOutOthers(std::vector<WorkerAccess>* workers);
};

// `ask` may be empty. With `resume` from where `places` says that they stopped; it is kept up to
// date either way.
LogsReport ReadLogs(ssh::Transport& transport, Clock& clock, KeptFile& places,
                    const std::vector<WorkerAccess>& workers, const workers::LogRequest& request,
                    bool resume, const AskForPod& ask, LogWatcher& watcher,
                    const std::stop_token& stop);

}  // namespace podctl
