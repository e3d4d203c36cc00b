#include "plans/jobs/command_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "plans/jobs/launch.h"
#include "plans/spec/run_config.h"
#include "providers/base/json.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// conda's own functions, which a shell that is nobody's login shell lacks.
constexpr const char* kFindConda =
    R"sh(for podctl_base in "$(conda info --base 2>/dev/null)" "$HOME/miniconda3" "$HOME/anaconda3" \
  "$HOME/miniforge3" /opt/conda /opt/miniconda3 /anaconda3; do
  [ -f "$podctl_base/etc/profile.d/conda.sh" ] || continue
  . "$podctl_base/etc/profile.d/conda.sh"
  break
done
)sh";

constexpr const char* kFindDocker =
    "podctl_docker=docker\n"
    "docker info >/dev/null 2>&1 || podctl_docker='sudo -n -E docker'\n";

// The first process of a container is deaf to TERM unless it listens to it, and outlives the client
// that started it: so the container itself is stopped when the job is to end. {0}: its name, {1}:
// what starts it; {2}: seconds from TERM to KILL.
constexpr const char* kWatchOver = R"sh(podctl_stopped=
trap 'podctl_stopped=1; $podctl_docker stop -t {2} {0} >/dev/null 2>&1' TERM INT HUP
{1} &
podctl_client=$!
wait $podctl_client
podctl_code=$?
[ -z "$podctl_stopped" ] || {{ wait $podctl_client; podctl_code=$?; }}
exit $podctl_code
)sh";

std::string FlagText(const Value& value) {
  if (value.is_bool()) return value.AsBool() ? "True" : "False";
  return value.is_string() ? value.AsString() : ToJson(value);
}

}  // namespace

std::vector<std::string> FlagWords(const JobSpec& job) {
  std::vector<std::string> words;
  for (const auto& [name, value] : job.flags) {
    words.push_back(value ? fmt::format("--{}={}", name, *value) : fmt::format("--{}", name));
  }
  return words;
}

std::vector<std::string> RunConfigWords(const JobSpec& job) {
  std::vector<std::string> words;
  for (const auto& [name, value] : job.run_config) {
    if (name == kRunConfigFlags) continue;
    words.push_back(fmt::format("--{}={}", name, FlagText(value)));
  }
  return words;
}

bool HasRunConfigFlags(const JobSpec& job) {
  return std::none_of(job.run_config.begin(), job.run_config.end(), [](const auto& field) {
    return field.first == kRunConfigFlags && !field.second.AsBool();
  });
}

std::string CommandText(const JobSpec& job, const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : job.command) {
    quoted.push_back(job.command.size() == 1 ? word : ShellQuote(word));
  }
  for (const std::string& word : words) quoted.push_back(ShellQuote(word));
  return Join(quoted, " ");
}

std::string ContainerOf(const JobSpec& job) {
  return job.docker ? "podctl-" + job.name : "";
}

std::string CondaText(const JobSpec& job) {
  if (job.conda_env.empty()) return {};
  const std::string complaint =
      fmt::format("the conda environment {} cannot be activated", job.conda_env);
  return fmt::format("{}conda activate {} || {{ echo {} >&2; exit 126; }}\n", kFindConda,
                     ShellQuote(job.conda_env), ShellQuote(complaint));
}

std::string BecomeText(const JobSpec& job, const std::string& command,
                       const std::vector<std::string>& variables, Where where) {
  const bool is_shell_text = job.command.size() == 1;
  if (!job.docker) {
    // Shell text is for the user's own shell, as with `podctl exec`.
    return is_shell_text ? fmt::format("exec \"${{SHELL:-/bin/sh}}\" -c {}\n", ShellQuote(command))
                         : fmt::format("exec {}\n", command);
  }
  const std::string name = ShellQuote(ContainerOf(job));
  std::string run = fmt::format("$podctl_docker run --rm --name {} --net=host", name);
  if (where == Where::kPod) run += " --privileged";
  if (job.launcher == Launcher::kEstimator) {
    run += fmt::format(" -v \"$HOME/{0}:$HOME/{0}:ro\"", RunFolder(job.name));
  }
  for (const std::string& variable : variables) run += " -e " + variable;
  for (const std::string& flag : job.docker->flags) run += " " + ShellQuote(flag);
  run += " " + ShellQuote(job.docker->image);
  run += is_shell_text ? " /bin/sh -c " + ShellQuote(command) : " " + command;
  return kFindDocker + fmt::format("$podctl_docker rm -f {} >/dev/null 2>&1\n", name) +
         (where == Where::kHere ? fmt::format("exec {}\n", run)
                                : fmt::format(kWatchOver, name, run, job.grace.count()));
}

}  // namespace podctl
