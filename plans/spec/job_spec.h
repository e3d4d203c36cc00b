// A job of the spec: a command that `podctl run JOB` starts on the workers of a pod. As read:
// typed, with variables put in, and references to its own pod still in place: `command`, the values
// of `flags` and those of `env` are template text (references.h). What it becomes on each worker is
// plans/jobs/launch.h.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "providers/base/diagnostic.h"
#include "providers/base/ending_text.h"
#include "providers/base/value.h"

namespace podctl {

enum class Launcher {
  kPjrt,
  kJax,
  kTorch,
  kTorchrun,
  kRay,
  kTensorflow,
  kXlaDist,
  kEstimator,
  kShell
};
std::string_view LauncherName(Launcher launcher);  // "pjrt", "xla_dist"
const std::vector<std::string>& LauncherNames();

// Which devices of its host a process may see. A device is what the framework counts: on v2 and v3
// a core, of which a chip has two; a chip on all later generations.
struct JobDevices {
  enum class Kind { kAll, kCount, kList };
  Kind kind = Kind::kAll;
  int count = 0;          // of kCount
  std::vector<int> list;  // of kList: from 0, ascending, each once

  friend bool operator==(const JobDevices&, const JobDevices&) = default;
};

struct JobSync {
  std::string source;                // already relative to the current folder
  std::string destination;           // on the workers
  std::vector<std::string> exclude;  // patterns of names, or of paths below the source
  std::string shown = {};  // how people call the source, where that lies elsewhere for now
};

enum class RestartReason {
  kMaintenance,
  kPreemption,
  kConnection,
  kHeartbeat,
  kKilled,
  kFailure,
  kHang,
  kReplacement,  // of its pod, by an apply
  kStop          // of its pod, which was started again
};
std::string_view RestartReasonName(RestartReason reason);  // "maintenance"
const std::vector<std::string>& RestartReasonNames();

struct JobRestart {
  int attempts = 0;  // starts after the first one
  std::set<RestartReason> on;
  // Between starts that follow quickly: this, and twice as long each time, up to a minute or this.
  std::chrono::seconds backoff{1};
  // After so long without a line of any of its workers it is ended; nullopt: never.
  std::optional<std::chrono::seconds> hang = {};

  // The pause before the start that follows `quick` short ones in a row.
  std::chrono::seconds PauseAfter(int quick) const;
  std::chrono::seconds LongestPause() const;
};

struct JobDocker {
  std::string image;
  std::vector<std::string> flags;  // for `docker run`
};

struct JobSpec {
  std::string name;
  std::string pod;  // "research"
  Launcher launcher = Launcher::kPjrt;
  std::vector<std::string> command;  // one word is shell text, several are words
  // `--name=value` behind the command, in the order of the spec; nullopt: `--name` alone.
  std::vector<std::pair<std::string, std::optional<std::string>>> flags;
  std::map<std::string, std::string> env;
  std::set<std::string> secret_env;  // names in `env` whose values hold a sensitive variable
  std::string conda_env;             // empty: none
  std::optional<JobDocker> docker;
  JobDevices devices;
  std::vector<JobSync> sync;
  JobRestart restart;
  std::string workers;  // as WorkerSelection reads them; empty: those the launcher means
  // Fields of TPUConfig and RunConfig by name, of kEstimator.
  std::vector<std::pair<std::string, Value>> run_config;
  bool autostart = false;
  std::string resume;  // "gs://BUCKET/PREFIX", where the program keeps its checkpoints; empty: none
  std::string logs;  // "gs://BUCKET/PREFIX", where its log is kept; empty: nowhere
  // From TERM to KILL, when it is to end. Whole seconds.
  std::chrono::seconds grace = kEndingGrace;
  SourcePlace place;  // of the job's key
};

}  // namespace podctl
