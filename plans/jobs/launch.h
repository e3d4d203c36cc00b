// What a job of the spec becomes on each worker of its pod: the variables, the files and the text
// that is run there. Pure: asks nobody, knows no connections and no processes (plans/fleet/run/ is
// who starts it).
//
// Sources: the launchers' own documentation and code, as docs/jobs.md names them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "providers/base/error.h"
#include "providers/base/value.h"

namespace podctl {

// What is known of the pod.
struct LaunchPod {
  struct Worker {
    std::string address;                     // as the other workers reach it
    std::map<std::string, std::string> env;  // MEGASCALE_* of a multislice
  };
  std::string name;     // "research"
  std::string node_id;  // by which TensorFlow finds it
  Value node;           // acceleratorType or acceleratorConfig
  std::vector<Worker> workers;
  int per_slice = 0;           // workers of each slice of a multislice, else 0
  std::string libtpu_flags;    // for LIBTPU_INIT_ARGS; may be empty
  bool libtpu_secret = false;  // they hold a sensitive value
  bool guessed = false;        // the pod is not there yet: addresses are placeholders
};

// From what the state holds, and the spec where that says nothing; `record` may be null. nullopt:
// the pod is not there, and how many workers it will have is not known.
std::optional<LaunchPod> LaunchPodOf(const PodSpec& spec, const PodRecord* record);
// The same of a pod that is there, without its flags, where no spec is at hand.
LaunchPod LaunchPodOf(const std::string& name, const PodRecord& record);

struct LaunchRequest {
  std::vector<std::string> arguments;  // behind the command and its flags
  std::string workers;                 // in place of the job's own selection; may be empty
  int attempt = 1;  // 2 and more are restarts: what outlived the last start is begun anew
  std::string run;  // the same on all workers and through restarts; empty: not begun yet
};

struct WorkerLaunch {
  int worker = 0;
  std::string address = {};  // as the other workers reach it
  std::map<std::string, std::string> env;
  std::string script;  // POSIX shell; ends in the command itself
};

struct LaunchFile {
  std::string name;  // below RunFolder
  std::string text;
};

struct Launch {
  std::vector<WorkerLaunch> workers;  // by number
  std::vector<LaunchFile> files;      // on each of them
  std::set<std::string> secret_env;   // variables whose values are not to be shown
};

// Where a job's files are, below the home folder: ".podctl/run/train".
std::string RunFolder(const std::string& job);

// kInvalidArgument for workers that there are not, or that this launcher does not run on.
// kFailedPrecondition for a reference to what the pod does not have.
Result<Launch> MakeLaunch(const JobSpec& job, const LaunchPod& pod, const LaunchRequest& request);

// The same command on this machine, without a TPU; of one "worker". kInvalidArgument for a
// reference to the pod.
Result<Launch> MakeLocalLaunch(const JobSpec& job, const LaunchRequest& request);

// POSIX shell: writes the launch's files.
std::string FilesText(const JobSpec& job, const Launch& launch);
// POSIX shell: sets the variables, and then what the worker runs.
std::string WorkerText(const WorkerLaunch& worker);

// ---- Puts a pod's fields into the texts of its jobs:
// `${pod.research.networkEndpoints[0].ipAddress}` in `command`, `flags` and `env`.

// The job with plain text in place of template text. Where the pod is not there yet (`guessed`),
// what is not known stands as `<networkEndpoints[0].ipAddress of research>`. kFailedPrecondition
// for what the pod does not have, kInvalidArgument for a value that would be more than a word of
// the shell text it is put into.
Result<JobSpec> RenderJob(const JobSpec& job, const LaunchPod& pod);

// As somebody wrote it: `$${` as `${`, references as they are.
std::string TemplateAsWritten(const std::string& text);

}  // namespace podctl
