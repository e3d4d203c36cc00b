#include "plans/jobs/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "plans/jobs/command_text.h"
#include "plans/jobs/ranks.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/devices.h"
#include "plans/spec/job_reader.h"
#include "plans/spec/references.h"
#include "plans/spec/run_config.h"
#include "plans/spec/runtime_flags.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"
#include "providers/gcp/available_types.h"

namespace podctl {
namespace {

constexpr const char* kLibtpuVariable = "LIBTPU_INIT_ARGS";
constexpr const char* kYamlFile = "run_config.yaml";
constexpr const char* kJsonFile = "run_config.json";

Result<std::vector<int>> ChooseWorkers(const JobSpec& job, const LaunchPod& pod,
                                       const std::string& wished) {
  const bool only_zero = RunsOnWorkerZero(job.launcher);
  const std::string fallback = only_zero ? "0" : "all";
  const std::string& text = !wished.empty()        ? wished
                            : !job.workers.empty() ? job.workers
                                                   : fallback;
  auto selection = WorkerSelection::Parse(text);
  auto workers =
      selection ? selection->Of(pod.workers.size()) : Result<std::vector<int>>(selection.error());
  if (!workers) {
    return MakeError(workers.error().code, fmt::format("`{}`: {}", text, workers.error().message),
                     workers.error().hint);
  }
  if (only_zero && *workers != std::vector<int>{0}) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("`{}` runs on worker 0 only", LauncherName(job.launcher)),
                     "The others serve through tpu-runtime.");
  }
  if (job.launcher == Launcher::kXlaDist && workers->size() != pod.workers.size()) {
    return MakeError(ErrorCode::kInvalidArgument, "`xla_dist` runs on all workers");
  }
  return workers;
}

// What the launcher sets; the job's own variables come over it.
std::map<std::string, std::string> LauncherVariables(const JobSpec& job, const LaunchPod& pod,
                                                     int worker) {
  const LaunchPod::Worker& place = pod.workers[static_cast<std::size_t>(worker)];
  std::map<std::string, std::string> env;
  const auto add_flags = [&] {
    if (!pod.libtpu_flags.empty()) env[kLibtpuVariable] = pod.libtpu_flags;
  };
  switch (job.launcher) {
    case Launcher::kPjrt:
    case Launcher::kJax:
    case Launcher::kTorch:
    case Launcher::kTorchrun:
    case Launcher::kRay:
      env["PJRT_DEVICE"] = "TPU";
      env.insert(place.env.begin(), place.env.end());
      add_flags();
      break;
    case Launcher::kTensorflow:
    case Launcher::kEstimator:
      // On several hosts tpu-runtime holds the TPU, with the node's own flags.
      if (pod.workers.size() > 1) {
        env["TPU_NAME"] = pod.node_id;
        env["TPU_LOAD_LIBRARY"] = "0";
      } else {
        env["TPU_NAME"] = "local";
        add_flags();
      }
      break;
    case Launcher::kXlaDist:
      env = XlaDistVariables(pod, worker);
      add_flags();
      break;
    case Launcher::kShell:
      env.insert(place.env.begin(), place.env.end());
      break;
  }
  return env;
}

// Of all launchers, the process's own place included.
std::map<std::string, std::string> VariablesOf(const JobSpec& job, const LaunchPod& pod,
                                               const LaunchRequest& request,
                                               const std::vector<int>& chosen,
                                               std::size_t position) {
  const int worker = chosen[position];
  std::map<std::string, std::string> env = PlaceVariables(pod, worker);
  env["PODCTL_JOB"] = job.name;
  env["PODCTL_RUN"] = request.run;
  env["PODCTL_ATTEMPT"] = std::to_string(request.attempt);
  if (!job.resume.empty()) env["PODCTL_RESUME"] = job.resume;
  env.insert(job.env.begin(), job.env.end());
  const auto host = HostOf(pod.node);
  auto devices = host ? DeviceVariables(job.devices, *host) : std::map<std::string, std::string>();
  // With a part of its host's chips each worker works for itself, and is nobody's peer.
  if (devices.empty()) env.merge(RankVariables(job.launcher, pod, chosen, position));
  env.merge(devices);
  env.merge(LauncherVariables(job, pod, worker));
  return env;
}

// Flags in the order of the spec, and `use_tpu` from where it runs.
// NOLINTNEXTLINE(performance-unnecessary-value-param): its flags are changed, by another name.
std::vector<std::string> WordsBehind(JobSpec job, const LaunchRequest& request, Where where) {
  const std::string use_tpu = where == Where::kPod ? "True" : "False";
  for (auto& [name, value] : job.flags) {
    if (name == "use_tpu" && where == Where::kHere) value = use_tpu;
  }
  std::vector<std::string> words = FlagWords(job);
  if (job.launcher == Launcher::kEstimator && HasRunConfigFlags(job)) {
    for (std::string& word : RunConfigWords(job)) words.push_back(std::move(word));
    words.push_back("--use_tpu=" + use_tpu);
  }
  words.insert(words.end(), request.arguments.begin(), request.arguments.end());
  return words;
}

std::string ScriptOf(const JobSpec& job, const LaunchRequest& request, Where where,
                     const std::map<std::string, std::string>& env) {
  std::string script;
  std::vector<std::string> variables;
  for (const auto& [name, value] : env) variables.push_back(name);
  const bool server = job.launcher == Launcher::kXlaDist && where == Where::kPod;
  if (server) script += ". /etc/profile\n";
  script += CondaText(job);
  if (server) {
    script += fmt::format(
        "[ \"${{PODCTL_ATTEMPT:-1}}\" = 1 ] && podctl_restart= || podctl_restart=--restart\n"
        "python3 -m torch_xla.core.xrt_run_server --port {} $podctl_restart || echo \"the XRT "
        "server did not start\" >&2\n",
        kXrtServerPort);
  }
  if (job.launcher == Launcher::kEstimator) {
    const std::string folder = RunFolder(job.name);
    script += fmt::format(
        "export PODCTL_RUN_CONFIG=\"$HOME/{0}/{1}\" PODCTL_RUN_CONFIG_JSON=\"$HOME/{0}/{2}\"\n",
        folder, kYamlFile, kJsonFile);
    variables.insert(variables.end(), {"PODCTL_RUN_CONFIG", "PODCTL_RUN_CONFIG_JSON"});
  }
  return script +
         BecomeText(job, CommandText(job, WordsBehind(job, request, where)), variables, where);
}

std::vector<LaunchFile> FilesOf(const JobSpec& job, Where where) {
  if (job.launcher != Launcher::kEstimator) return {};
  // As TPUEstimator takes it: use_tpu, and in `config` a RunConfig, which holds a TPUConfig.
  std::string run_yaml;
  std::string tpu_yaml;
  Value run = Value::EmptyMap();
  Value tpu = Value::EmptyMap();
  for (const auto& [name, value] : job.run_config) {
    if (name == kRunConfigFlags) continue;
    const bool inner = IsTpuConfigField(name);
    // A value of JSON is one of YAML (YAML 1.2, 1.3).
    (inner ? tpu_yaml : run_yaml) +=
        fmt::format("{}{}: {}\n", inner ? "    " : "  ", name, ToJson(value));
    (inner ? tpu : run).Set(name, value);
  }
  const std::string yaml = fmt::format("use_tpu: {}\nconfig:\n{}  tpu_config:{}\n{}",
                                       where == Where::kPod ? "true" : "false", run_yaml,
                                       tpu_yaml.empty() ? " {}" : "", tpu_yaml);
  run.Set("tpu_config", std::move(tpu));
  Value document = Value::Map{{"use_tpu", where == Where::kPod}, {"config", std::move(run)}};
  return {{kYamlFile, yaml}, {kJsonFile, ToJson(document, JsonStyle::kIndented) + "\n"}};
}

}  // namespace

std::string RunFolder(const std::string& job) {
  return ".podctl/run/" + job;
}

Result<Launch> MakeLaunch(const JobSpec& spec, const LaunchPod& pod, const LaunchRequest& request) {
  PODCTL_CHECK(!pod.workers.empty());
  auto workers = ChooseWorkers(spec, pod, request.workers);
  if (!workers) return workers.error();
  if (const auto host = HostOf(pod.node)) {
    if (const auto problem = CheckDevices(spec.devices, *host)) {
      return MakeError(ErrorCode::kInvalidArgument, "`devices`: " + problem->summary,
                       "It can be " + problem->suggestion + ".");
    }
  }
  const auto job = RenderJob(spec, pod);
  if (!job) return job.error();
  Launch launch;
  launch.secret_env = job->secret_env;
  if (pod.libtpu_secret) launch.secret_env.insert(kLibtpuVariable);
  launch.files = FilesOf(*job, Where::kPod);
  for (std::size_t i = 0; i < workers->size(); ++i) {
    WorkerLaunch worker;
    worker.worker = (*workers)[i];
    worker.address = pod.workers[static_cast<std::size_t>(worker.worker)].address;
    worker.env = VariablesOf(*job, pod, request, *workers, i);
    worker.script = ScriptOf(*job, request, Where::kPod, worker.env);
    launch.workers.push_back(std::move(worker));
  }
  return launch;
}

Result<Launch> MakeLocalLaunch(const JobSpec& spec, const LaunchRequest& request) {
  LaunchPod machine;  // of which nothing is known but where it is
  machine.name = spec.pod;
  machine.workers.push_back({"127.0.0.1", {}});
  const auto job = RenderJob(spec, machine);
  if (!job) {
    return MakeError(job.error().code, job.error().message,
                     "`--local` knows no pod; put what it needs into `env` by hand.");
  }
  Launch launch;
  launch.secret_env = job->secret_env;
  launch.files = FilesOf(*job, Where::kHere);
  WorkerLaunch here;
  here.env = PlaceVariables(machine, 0);
  here.env["PODCTL_JOB"] = job->name;
  here.env["PODCTL_RUN"] = request.run;
  here.env["PODCTL_ATTEMPT"] = "1";
  if (!job->resume.empty()) here.env["PODCTL_RESUME"] = job->resume;
  here.env.insert(job->env.begin(), job->env.end());
  here.env.merge(RankVariables(job->launcher, machine, {0}, 0));
  here.env["PJRT_DEVICE"] = "CPU";
  if (job->launcher == Launcher::kJax) here.env["JAX_PLATFORMS"] = "cpu";
  if (RunsOnWorkerZero(job->launcher)) here.env["TPU_LOAD_LIBRARY"] = "0";
  here.script = ScriptOf(*job, request, Where::kHere, here.env);
  launch.workers.push_back(std::move(here));
  return launch;
}

std::string FilesText(const JobSpec& job, const Launch& launch) {
  if (launch.files.empty()) return {};
  const std::string folder = fmt::format("\"$HOME/{}\"", RunFolder(job.name));
  std::string text = fmt::format("(umask 077\nmkdir -p {0} && cd {0} || exit 1\n", folder);
  for (const LaunchFile& file : launch.files) {
    text += fmt::format("printf %s {} >{} || exit 1\n", ShellQuote(file.text), file.name);
  }
  return text + ") || exit 1\n";
}

std::string WorkerText(const WorkerLaunch& worker) {
  std::string text;
  for (const auto& [name, value] : worker.env) {
    text += fmt::format("export {}={}\n", name, ShellQuote(value));
  }
  return text + worker.script;
}

namespace {

enum class Into { kWord, kShellText };

Result<std::string> Rendered(const std::string& text, const LaunchPod& pod, Into into) {
  std::string plain;
  for (const TemplatePart& part : SplitTemplate(text)) {
    if (part.kind != TemplatePart::Kind::kReference) {
      plain += part.text;
      continue;
    }
    const auto of_pod = [&](const Address&) -> const Value* { return &pod.node; };
    const auto value = RenderText(part.text, of_pod);
    const auto unusable = FindUnusable(part.text, of_pod);
    if (unusable && !unusable->missing) {
      return MakeError(ErrorCode::kInvalidArgument, "it refers to " + unusable->words,
                       unusable->hint);
    }
    if (!value && pod.guessed) {
      plain += fmt::format("<{} of {}>", part.path, part.name);
      continue;
    }
    if (!value) {
      return MakeError(ErrorCode::kFailedPrecondition,
                       fmt::format("`{}`: pod.{} has no such field", part.text, part.name),
                       fmt::format("`podctl state show pod.{}` shows those it has.", part.name));
    }
    if (into == Into::kShellText && !IsPlainWord(*value)) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("`{}` holds characters that a shell would read", part.text),
                       "Put it into `env` and use the variable, or write the command as a list of "
                       "several words.");
    }
    plain += *value;
  }
  return plain;
}

}  // namespace

Result<JobSpec> RenderJob(const JobSpec& job, const LaunchPod& pod) {
  JobSpec plain = job;
  const Into into = job.command.size() == 1 ? Into::kShellText : Into::kWord;
  for (std::string& word : plain.command) {
    auto text = Rendered(word, pod, into);
    if (!text) return text.error();
    word = *std::move(text);
  }
  for (auto& [name, value] : plain.flags) {
    if (!value) continue;
    auto text = Rendered(*value, pod, Into::kWord);
    if (!text) return text.error();
    value = *std::move(text);
  }
  for (auto& [name, value] : plain.env) {
    auto text = Rendered(value, pod, Into::kWord);
    if (!text) return text.error();
    value = *std::move(text);
  }
  return plain;
}

std::string TemplateAsWritten(const std::string& text) {
  std::string written;
  for (const TemplatePart& part : SplitTemplate(text)) written += part.text;
  return written;
}

// ---- LaunchPodOf: what the state and the spec tell of a pod.

namespace {

// The flags that the node has; the spec's where the state keeps only a digest of them.
void ReadLibtpuFlags(const PodSpec& spec, const PodRecord* record, LaunchPod* pod) {
  const std::string variable(kRuntimeFlagsVariable);
  const std::string key(kRuntimeVariablesKey);
  const auto wanted = spec.runtime_env.find(variable);
  if (const auto entry = spec.metadata.find(key); entry != spec.metadata.end()) {
    pod->libtpu_secret = entry->second.sensitive;
  }
  if (record != nullptr && !pod->libtpu_secret) {
    if (const auto here = record->exec_env.find(variable); here != record->exec_env.end()) {
      pod->libtpu_flags = here->second;
      return;
    }
    const auto entry = record->metadata.find(key);
    if (entry == record->metadata.end()) return;
    if (const auto keys = SplitRuntimeVariables(entry->second)) {
      pod->libtpu_flags = JoinFlags(keys->flags);
      return;
    }
  }
  if (wanted == spec.runtime_env.end()) return;
  const auto nobody = [](const Address&) -> const Value* { return nullptr; };
  pod->libtpu_flags = RenderText(wanted->second, nobody).value_or("");
}

}  // namespace

LaunchPod LaunchPodOf(const std::string& name, const PodRecord& record) {
  LaunchPod pod;
  pod.name = name;
  pod.node_id = record.current.locator;
  pod.node = record.observed;
  const auto& endpoints = record.observed["networkEndpoints"].AsList();
  const auto workers = AccessToWorkers(name, record);
  const std::size_t stride = EndpointsPerWorker(record.observed);
  for (const WorkerAccess& worker : workers) {
    pod.per_slice = worker.per_slice;
    const auto at = static_cast<std::size_t>(worker.index) * stride;
    pod.workers.push_back({endpoints[at]["ipAddress"].AsString(), worker.env});
  }
  return pod;
}

std::optional<LaunchPod> LaunchPodOf(const PodSpec& spec, const PodRecord* record) {
  const bool there = record != nullptr && record->exists() && WorkerCount(record->observed) > 0;
  LaunchPod pod = there ? LaunchPodOf(spec.name, *record) : LaunchPod{};
  ReadLibtpuFlags(spec, there ? record : nullptr, &pod);
  if (there) return pod;
  pod.name = spec.name;
  const auto hosts = gcp::ExpectedWorkers(spec.node);
  if (!hosts || *hosts < 1) return std::nullopt;
  pod.guessed = true;
  pod.node_id = spec.node_id;
  pod.node = spec.node;
  const int slices = NameOf(spec).slices;
  if (slices > 1) pod.per_slice = *hosts;
  for (int i = 0; i < slices * *hosts; ++i) {
    LaunchPod::Worker worker;
    worker.address = fmt::format("<address of {}>", WorkerLabel(spec.name, i, pod.per_slice));
    if (slices > 1) {
      worker.env = {{"MEGASCALE_COORDINATOR_ADDRESS",
                     fmt::format("<address of {}>", WorkerLabel(spec.name, 0, pod.per_slice))},
                    {"MEGASCALE_NUM_SLICES", std::to_string(slices)},
                    {"MEGASCALE_SLICE_ID", std::to_string(i / *hosts)}};
    }
    pod.workers.push_back(std::move(worker));
  }
  return pod;
}

}  // namespace podctl
