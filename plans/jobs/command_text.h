// The last lines of what a worker runs: the job's command with its flags, in the conda environment
// or the container that it wants. Knows no launcher.
#pragma once

#include <string>
#include <vector>

#include "plans/spec/job_spec.h"

namespace podctl {

// `--name=value`, `--name`.
std::vector<std::string> FlagWords(const JobSpec& job);
// Of the fields of a run configuration: `--iterations_per_loop=100`; switches in Python's words.
std::vector<std::string> RunConfigWords(const JobSpec& job);
// Whether they, and `use_tpu`, are to stand behind the command.
bool HasRunConfigFlags(const JobSpec& job);

// The command and `words` behind it, as shell text in which each word arrives as it is.
std::string CommandText(const JobSpec& job, const std::vector<std::string>& words);

// The name of the container that the job runs in; "" where it runs in none.
std::string ContainerOf(const JobSpec& job);

enum class Where { kPod, kHere };

// POSIX shell that becomes `command`. `variables`: names of those that a container is given.
std::string BecomeText(const JobSpec& job, const std::string& command,
                       const std::vector<std::string>& variables, Where where);
// POSIX shell that makes the conda environment the one in use, or ends with 126; "" without one.
std::string CondaText(const JobSpec& job);

}  // namespace podctl
