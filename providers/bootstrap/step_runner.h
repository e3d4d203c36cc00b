// The door to bootstrap steps: something that is done on workers and has a result for each of them.
//
// The executor of a plan knows steps only through this door; it never hears of SSH.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "providers/worker.h"

namespace podctl {

struct StepFile {
  std::string source;       // a local file or folder
  std::string destination;  // on the worker; "~/" is the home folder of the SSH user
};

struct Step {
  enum class Kind {
    kScript,          // files are copied, then `script` is run by sh
    kRestartRuntime,  // systemctl restart tpu-runtime, then verified as active
    kReadiness,       // nothing is changed: each worker answers, and is fit for use
    kRequestXrt,      // each worker's runtime is asked for the version that `script` holds
  };
  Kind kind = Kind::kScript;
  std::string script;
  std::map<std::string, std::string> env;
  std::vector<StepFile> files;
  std::chrono::milliseconds timeout{0};  // 0: no limit
  // Of kScript: by which a worker knows a run of the same step of the same state, so that what a
  // killed podctl has left running there is ended first. Empty: it is not looked for.
  std::string mark = {};
  // It handles what nobody is to see: what the workers say is neither passed on nor kept.
  bool hides_output = false;
  // Of kReadiness, true: the workers given have to reach each other, too, and to be alike. Once
  // each is fit for use by itself, all of them are probed together.
  std::optional<bool> probes = std::nullopt;
};

struct StepOutcome {
  int worker = 0;
  bool ok = false;
  std::string message;                  // why not ok, or that nothing was to be restarted there
  std::vector<std::string> last_lines;  // the end of the worker's output when not ok
  HostKeyText learned_host_key;         // not empty: trusted on first use, to be remembered
  std::string shared = {};  // the message without what differs from worker to worker; may be empty
};

// How far a step has come. Each worker is counted once at most.
struct StepProgress {
  std::size_t ok = 0;
  std::size_t failed = 0;
  std::size_t retrying = 0;
  std::string why_retrying = {};  // the most frequent cause, in a few words; may be empty
  friend bool operator==(const StepProgress&, const StepProgress&) = default;
};

// Called on the thread that called Run.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void OnStepLine(int worker, std::string_view line) = 0;
  virtual void OnStepProgress(const StepProgress& progress) = 0;
  // The step took on this worker, and so its outcome in the result of Run will say. A large pod's
  // step may take long, and what it has reached by then is not to be lost with this process.
  virtual void OnStepApplied(int worker, const HostKeyText& learned_host_key) = 0;
};

class StepRunner {
 public:
  virtual ~StepRunner() = default;
  // One outcome for each worker, in the order given. Thread safe. Stops within seconds of `stop`.
  virtual std::vector<StepOutcome> Run(const Step& step, const std::vector<WorkerAccess>& workers,
                                       StepObserver& observer, std::stop_token stop) = 0;
};

}  // namespace podctl
