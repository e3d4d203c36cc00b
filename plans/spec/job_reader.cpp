#include "plans/spec/job_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "plans/spec/devices.h"
#include "plans/spec/local_files.h"
#include "plans/spec/run_config.h"
#include "plans/spec/runtime_flags.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"
#include "providers/gcp/storage_place.h"
#include "state/thing_name.h"

namespace podctl {
namespace {

constexpr std::size_t kMostWords = 10'000;
constexpr std::chrono::hours kLongestGrace{1};
constexpr std::chrono::hours kLongestBackoff{1};
constexpr std::chrono::seconds kShortestHang{10};
constexpr std::chrono::hours kLongestHang{24 * 7};
constexpr std::chrono::minutes kUsualHang{30};
constexpr int kMostAttempts = 1000;
constexpr int kMostXlaDistAttempts = 50;
constexpr int kMostDevices = 4096;
constexpr std::size_t kMostSyncs = 100;

constexpr Pattern kCommandFlag{"-*[A-Za-z0-9_.][A-Za-z0-9_.-]*", "letters, digits, _, - and ."};
constexpr Pattern kDevices{"auto|[0-9]{1,4}", "auto, a number of devices, or a list such as [1]",
                           "integer"};

// ParsePlainStoragePlace, but for the length.
constexpr Pattern kBucketPlace{
    "gs://[a-z0-9][a-z0-9._-]{1,220}[a-z0-9](?:/(?!\\.{1,2}(?:/|$))[!$-&()+-.0->@-Z^_a-~]+)*/*",
    "gs://BUCKET or gs://BUCKET/PREFIX"};

Shape Words(const Shape& of) {
  return shape::ListOf(of).Within(0, kMostWords);
}

Shape DockerShape() {
  return shape::Map({shape::Required("image", "The image that is run.", shape::Text().Within(1, 0)),
                     {"flags", "Flags for `docker run`.", Words(shape::Text())}});
}

Shape SyncShape() {
  return shape::Map(
      {shape::Required("source", "A file or folder beside the spec.", shape::Text().Within(1, 0)),
       shape::Required("destination", "Where it is put on the workers.",
                       shape::Text().Within(1, 0)),
       {"exclude", "Names (`*.pyc`), or paths with a slash, that are left out.",
        Words(shape::Text())}});
}

Shape RestartShape() {
  return shape::Map({shape::Required("attempts", "How often it is started again at most.",
                                     shape::Number(0, kMostAttempts)),
                     {"on", "After what; `[maintenance, preemption, connection]` unless given.",
                      shape::ListOf(shape::Word(RestartReasonNames()))},
                     {"backoff",
                      "The pause between starts that follow quickly, `1s` unless given; twice as "
                      "long each time, up to a minute.",
                      shape::Duration()},
                     {"hang",
                      "After so long without a line of any worker the job is ended; `30m` where "
                      "`on` has `hang`.",
                      shape::Duration()}});
}

std::vector<Key> JobKeys() {
  const Shape flag = shape::Either({shape::ThingText(), shape::Null(), Words(shape::ThingText())});
  return {
      shape::Required("pod", "The pod of the spec that it runs on.", shape::Text()),
      {"launcher",
       "How its processes start, and what they find in their environment; `pjrt` "
       "unless given.",
       shape::Word(LauncherNames())},
      shape::Required("command",
                      "The command, an item for each word. One item alone is text for "
                      "the login shell.",
                      Words(shape::ThingText()).Within(1, kMostWords)),
      {"flags",
       "Behind the command: `k: v` is `--k=v`, lists are joined by commas, `k: null` is "
       "`--k` alone.",
       shape::MapOf(kCommandFlag, flag)},
      {"env", "Variables, which come over those of the launcher.",
       shape::MapOf(kEnvironmentNamePattern, shape::ThingText())},
      {"condaEnv", "The conda environment that is activated first.", shape::Text().Within(1, 0)},
      {"docker", "The container that it runs in.", DockerShape()},
      {"devices",
       "What each process may see: `auto`, a number of devices, or a list such as `[1]`.",
       shape::Either({shape::Text().Like(kDevices).Between(1, kMostDevices - 1),
                      shape::ListOf(shape::Number(0, kMostDevices)).Within(1, 0)})},
      {"sync", "What is copied before the start.",
       shape::ListOf(SyncShape()).Within(0, kMostSyncs)},
      {"restart", "When it is started again.", RestartShape()},
      {"resume",
       "Where it keeps its checkpoints: `gs://BUCKET/PREFIX`, which it finds in PODCTL_RESUME.",
       shape::Text().Like(kBucketPlace)},
      {"workers", "Some of the workers: `0,2-3`.", shape::Workers()},
      {"runConfig", "Of the launcher `estimator`: fields of TPUConfig and RunConfig.",
       RunConfigShape()},
      {"autostart", "`true`: apply starts it once it has made, replaced or bootstrapped the pod.",
       shape::Bool()},
      {"logs", "Where the log of a detached job is kept while it runs: `gs://BUCKET/PREFIX`.",
       shape::Text().Like(kBucketPlace)},
      {"terminationGracePeriod",
       "From TERM to KILL when it is ended: `30s` unless given, at most "
       "`1h`.",
       shape::Duration()}};
}

bool IsFlagOfCommand(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
}

class JobReader {
 public:
  JobReader(ValueReader& reader, const std::map<std::string, const Declared*>& pods,
            const LocalFiles& local)
      : reader_(reader), pods_(pods), local_(local) {}

  JobSpec Read(const YamlNode& key, const YamlNode& job) {
    job_.name = key.text;
    job_.place = key.Place();
    const Slot slot{"jobs", key.text};
    if (!IsThingName(key.text)) {
      reader_.Error(key, slot, fmt::format("{} is no name for a job", FoundWords(key)),
                    "letters, digits, - and _");
    }
    if (!ReadKeys(job, slot)) return job_;
    if (job.Find("pod") == nullptr) {
      reader_.Error(key, slot, "the job names no `pod`", "say on which pod of the spec it runs");
    }
    if (job.Find("command") == nullptr) {
      reader_.Error(key, slot, "the job has no `command`", "such as [python3, train.py]");
    }
    const YamlEntry* conda = job.Find("condaEnv");
    const YamlEntry* docker = job.Find("docker");
    if (conda != nullptr && docker != nullptr) {
      reader_.Conflict(*docker->key, slot.Below("docker"),
                       "`condaEnv` and `docker` exclude each other", *conda->key,
                       "the other one is here");
    }
    CheckLauncher(key, job, slot);
    CheckDevices(job, slot);
    CheckReferences();
    return job_;
  }

 private:
  bool ReadKeys(const YamlNode& job, const Slot& slot) {
    const auto by = [this](void (JobReader::*read)(const YamlNode&, const Slot&)) {
      return [this, read](const YamlNode& value, const Slot& at) { (this->*read)(value, at); };
    };
    return reader_.ReadMap(job, slot, JobShape(),
                           {{"pod", by(&JobReader::ReadPod)},
                            {"launcher", by(&JobReader::ReadLauncher)},
                            {"command", by(&JobReader::ReadCommand)},
                            {"flags", by(&JobReader::ReadFlags)},
                            {"env", by(&JobReader::ReadEnv)},
                            {"condaEnv", by(&JobReader::ReadConda)},
                            {"docker", by(&JobReader::ReadDocker)},
                            {"devices", by(&JobReader::ReadDevices)},
                            {"sync", by(&JobReader::ReadSync)},
                            {"restart", by(&JobReader::ReadRestart)},
                            {"resume", by(&JobReader::ReadResume)},
                            {"workers", by(&JobReader::ReadWorkers)},
                            {"runConfig", by(&JobReader::ReadConfig)},
                            {"autostart", by(&JobReader::ReadAutostart)},
                            {"logs", by(&JobReader::ReadLogs)},
                            {"terminationGracePeriod", by(&JobReader::ReadGrace)}});
  }

  // The value of an enum whose names are the words, in order.
  template <typename Enum>
  std::optional<Enum> ReadNamed(const YamlNode& node, const Slot& slot, const Shape& shape) {
    const auto word = reader_.ReadWord(node, slot, shape);
    if (!word) return std::nullopt;
    const std::vector<std::string>& names = shape.words;
    return static_cast<Enum>(std::find(names.begin(), names.end(), *word) - names.begin());
  }

  void ReadLauncher(const YamlNode& node, const Slot& slot) {
    job_.launcher =
        ReadNamed<Launcher>(node, slot, JobShape().At("launcher")).value_or(job_.launcher);
  }

  void ReadConda(const YamlNode& node, const Slot& slot) {
    job_.conda_env = reader_.ReadPlain(node, slot).value_or("");
    if (node.is_scalar() && node.text.empty()) reader_.Error(node, slot, "`condaEnv` is empty");
  }

  void ReadConfig(const YamlNode& node, const Slot& slot) {
    job_.run_config = ReadRunConfig(reader_, node, slot);
  }

  void ReadAutostart(const YamlNode& node, const Slot& slot) {
    job_.autostart = reader_.ReadBool(node, slot).value_or(false);
  }

  // gs://BUCKET/PREFIX.
  std::string ReadBucketPlace(const YamlNode& node, const Slot& slot) {
    const auto url = reader_.ReadPlain(node, slot);
    if (!url) return {};
    if (const auto place = gcp::ParsePlainStoragePlace(*url); !place) {
      reader_.Error(node, slot, place.error().message, place.error().hint);
      return {};
    }
    return *url;
  }

  void ReadLogs(const YamlNode& node, const Slot& slot) { job_.logs = ReadBucketPlace(node, slot); }
  void ReadResume(const YamlNode& node, const Slot& slot) {
    job_.resume = ReadBucketPlace(node, slot);
  }

  // A job knows one pod, its own: the others may be there or not when it runs.
  void CheckReferences() {
    const auto pod = pods_.find(job_.pod);
    for (const FoundReference& reference : reader_.TakeReferences()) {
      std::optional<ReferenceProblem> problem;
      if (reference.to.name != job_.pod) {
        problem = ReferenceProblem{
            "a job can refer to its own pod only",
            job_.pod.empty() ? "" : fmt::format("write `${{pod.{}.…}}`", job_.pod)};
      } else if (pod != pods_.end()) {
        problem = pod->second->wanted.kind()->CheckReference(reference, *pod->second);
      }
      if (problem) reader_.Report(reference, problem->summary, problem->suggestion);
    }
  }

  std::optional<JobHost> HostOfJob() const {
    const auto pod = pods_.find(job_.pod);
    if (pod == pods_.end()) return std::nullopt;
    return pod->second->wanted.kind()->HostOf(*pod->second);
  }

  // Whole seconds.
  std::optional<std::chrono::seconds> ReadSpan(const YamlNode& node, const Slot& slot,
                                               std::chrono::seconds least,
                                               std::chrono::seconds most) {
    const auto span = reader_.ReadDuration(node, slot);
    if (!span) return std::nullopt;
    if (*span < least || *span > most) {
      reader_.Error(node, slot,
                    fmt::format("`{}` is at {} {}", slot.key, *span < least ? "least" : "most",
                                FormatDuration(*span < least ? least : most)));
      return std::nullopt;
    }
    return std::chrono::ceil<std::chrono::seconds>(*span);
  }

  void ReadGrace(const YamlNode& node, const Slot& slot) {
    const auto grace = ReadSpan(node, slot, std::chrono::seconds(0), kLongestGrace);
    if (grace) job_.grace = *grace;
  }

  void ReadPod(const YamlNode& node, const Slot& slot) {
    const auto name = reader_.ReadPlain(node, slot);
    if (!name) return;
    job_.pod = name->starts_with("pod.") ? name->substr(4) : *name;
    if (pods_.contains(job_.pod)) return;
    std::vector<std::string> known;
    for (const auto& [each, pod] : pods_) known.push_back(each);
    reader_.Error(node, slot, fmt::format("there is no pod `{}` in the spec", job_.pod),
                  reader_.has_enough() ? "" : DidYouMean(job_.pod, known));
  }

  std::vector<std::string> ReadWords(const YamlNode& node, const Slot& slot, TextRules rules = {}) {
    std::vector<std::string> words;
    if (!reader_.ExpectList(node, slot)) return words;
    if (node.items.size() > kMostWords) {
      reader_.Error(node, slot, fmt::format("more than {} words", kMostWords));
      return words;
    }
    for (const YamlNodePtr& item : node.items) {
      if (auto word = reader_.ReadText(*item, slot, rules)) words.push_back(std::move(word->text));
    }
    return words;
  }

  void ReadCommand(const YamlNode& node, const Slot& slot) {
    if (node.is_scalar() && !node.is_null()) {
      reader_.Error(
          node, slot, fmt::format("`command` must be a list, found {}", FoundWords(node)),
          "one item for each word: [python3, train.py]; a line of shell: [sh, -c, \"…\"]");
      return;
    }
    job_.command = ReadWords(node, slot, {.pods = true});
    const bool empty =
        node.is_list() &&
        (node.items.empty() || (job_.command.size() == 1 && TrimBlanks(job_.command[0]).empty()));
    if (empty) reader_.Error(node, slot, "the command is empty", "such as [python3, train.py]");
  }

  // {batch_size: 128, use_bf16: true, layers: [1, 2], fast: null}.
  void ReadFlags(const YamlNode& node, const Slot& slot) {
    if (!reader_.ExpectMap(node, slot)) return;
    for (const YamlEntry& entry : node.entries) {
      const Slot below = slot.Below(entry.key->text);
      std::string name = entry.key->text;
      name.erase(0, std::min(name.find_first_not_of('-'), name.size()));
      if (!IsFlagOfCommand(name)) {
        reader_.Error(*entry.key, below,
                      fmt::format("{} is no name for a flag", FoundWords(*entry.key)),
                      "letters, digits, _, - and .");
        continue;
      }
      if (entry.value->is_null()) {
        job_.flags.emplace_back(name, std::nullopt);
      } else if (entry.value->is_list()) {
        job_.flags.emplace_back(name, Join(ReadWords(*entry.value, below, {.pods = true}), ","));
      } else if (auto read = reader_.ReadText(*entry.value, below, {.pods = true})) {
        const std::string& text = read->text;
        const bool truth = entry.value->plain && (text == "True" || text == "TRUE");
        const bool untruth = entry.value->plain && (text == "False" || text == "FALSE");
        job_.flags.emplace_back(name, truth ? "true" : untruth ? "false" : text);
      }
    }
  }

  void ReadEnv(const YamlNode& node, const Slot& slot) {
    if (!reader_.ExpectMap(node, slot)) return;
    for (const YamlEntry& entry : node.entries) {
      const std::string& name = entry.key->text;
      const Slot below = slot.Below(name);
      if (!IsEnvironmentName(name)) {
        reader_.Error(*entry.key, below,
                      fmt::format("{} is no name for a variable", FoundWords(*entry.key)),
                      "letters, digits and _");
        continue;
      }
      if (IsPlaceVariable(name)) {
        reader_.Error(*entry.key, below, fmt::format("`{}` is podctl's to set", name),
                      "leave it out");
        continue;
      }
      auto text = reader_.ReadText(*entry.value, below, {.pods = true, .secrets = true});
      if (!text) continue;
      job_.env[name] = std::move(text->text);
      if (text->sensitive) job_.secret_env.insert(name);
    }
  }

  void ReadDocker(const YamlNode& node, const Slot& slot) {
    JobDocker docker;
    const auto read_image = [&](const YamlNode& value, const Slot& at) {
      docker.image = reader_.ReadPlain(value, at).value_or("");
    };
    const auto read_flags = [&](const YamlNode& value, const Slot& at) {
      docker.flags = ReadWords(value, at);
    };
    const Shape& shape = JobShape().At("docker");
    if (!reader_.ReadMap(node, slot, shape, {{"image", read_image}, {"flags", read_flags}})) return;
    const YamlEntry* image = node.Find("image");
    if (image == nullptr) {
      reader_.Error(node, slot, "`docker` has no `image`",
                    "write {image: NAME, flags: [--ipc=host]}");
    } else if (image->value->is_scalar() && image->value->text.empty()) {
      reader_.Error(*image->value, slot.Below("image"), "`image` is empty");
    }
    job_.docker = std::move(docker);
  }

  void ReadDevices(const YamlNode& node, const Slot& slot) {
    JobDevices devices;
    if (node.is_list()) {
      devices.kind = JobDevices::Kind::kList;
      for (const YamlNodePtr& item : node.items) {
        const auto number = reader_.ReadInt(*item, slot, 0, kMostDevices);
        if (!number) return;
        devices.list.push_back(static_cast<int>(*number));
      }
      std::sort(devices.list.begin(), devices.list.end());
      const bool twice =
          std::adjacent_find(devices.list.begin(), devices.list.end()) != devices.list.end();
      if (twice || devices.list.empty()) {
        reader_.Error(node, slot, twice ? "a device is named twice" : "no devices",
                      "`auto`, a number of devices, or a list such as [1]");
        return;
      }
    } else {
      const auto text =
          node.is_scalar() ? reader_.ReadPlain(node, slot) : std::optional<std::string>();
      if (node.is_scalar() && !text) return;
      if (text == "auto") return;
      int count = 0;
      for (const char c : text.value_or("?")) {
        count =
            c >= '0' && c <= '9' && count < kMostDevices ? count * 10 + (c - '0') : kMostDevices;
      }
      if (count < 1 || count >= kMostDevices) {
        reader_.Error(node, slot, fmt::format("`devices` cannot be {}", FoundWords(node)),
                      "`auto`, a number of devices, or a list such as [1]");
        return;
      }
      devices.kind = JobDevices::Kind::kCount;
      devices.count = count;
    }
    job_.devices = std::move(devices);
  }

  void ReadSync(const YamlNode& node, const Slot& slot) {
    if (!reader_.ExpectList(node, slot)) return;
    if (node.items.size() > kMostSyncs) {
      reader_.Error(node, slot, fmt::format("more than {} entries", kMostSyncs));
      return;
    }
    for (const YamlNodePtr& item : node.items) {
      if (auto sync = ReadSyncItem(*item, slot)) job_.sync.push_back(*std::move(sync));
    }
  }

  void CheckSource(const YamlNode& node, const Slot& slot, const std::string& path) {
    if (const auto takes = CopySource(reader_.withheld(), path).Takes(path); !takes) {
      reader_.Error(node, slot, takes.error().message);
      return;
    }
    const auto info = local_.files.Stat(path);
    if (info) return;
    const bool comes =
        std::any_of(local_.made.begin(), local_.made.end(), [&](const std::string& made) {
          return made == path || made.starts_with(path.ends_with('/') ? path : path + "/");
        });
    if (comes) return;
    reader_.Error(node, slot, LocalFileProblem(path, info.error()));
  }

  std::optional<JobSync> ReadSyncItem(const YamlNode& item, const Slot& slot) {
    JobSync sync;
    const auto read_source = [&](const YamlNode& value, const Slot& at) {
      const auto path = reader_.ReadPlain(value, at);
      if (!path || path->empty()) return;
      sync.source = PathFromSpec(value, *path);
      CheckSource(value, at, sync.source);
    };
    const auto read_destination = [&](const YamlNode& value, const Slot& at) {
      sync.destination = reader_.ReadPlain(value, at).value_or("");
    };
    const auto read_exclude = [&](const YamlNode& value, const Slot& at) {
      sync.exclude = ReadWords(value, at);
    };
    const bool is_map = reader_.ReadMap(
        item, slot, JobShape().At("sync").of.front(),
        {{"source", read_source}, {"destination", read_destination}, {"exclude", read_exclude}});
    if (!is_map) return std::nullopt;
    for (const std::string key : {"source", "destination"}) {
      const YamlEntry* entry = item.Find(key);
      const std::string& text = key == "source" ? sync.source : sync.destination;
      if (entry == nullptr) {
        reader_.Error(item, slot, fmt::format("what is synced needs a `{}`", key),
                      "{source: PATH, destination: PATH}");
      } else if (entry->value->is_scalar() && entry->value->text.empty()) {
        reader_.Error(*entry->value, slot.Below(key), fmt::format("`{}` is empty", key));
      }
      if (text.empty()) return std::nullopt;
    }
    return sync;
  }

  void ReadRestart(const YamlNode& node, const Slot& slot) {
    const Shape& shape = JobShape().At("restart");
    const auto read_attempts = [&](const YamlNode& value, const Slot& at) {
      job_.restart.attempts =
          static_cast<int>(reader_.ReadInt(value, at, shape.At("attempts")).value_or(0));
    };
    const auto read_reasons = [&](const YamlNode& value, const Slot& at) {
      if (!reader_.ExpectList(value, at)) return;
      for (const YamlNodePtr& item : value.items) {
        const auto reason = ReadNamed<RestartReason>(*item, at, shape.At("on").of.front());
        if (reason) job_.restart.on.insert(*reason);
      }
    };
    const auto read_backoff = [&](const YamlNode& value, const Slot& at) {
      const auto pause = ReadSpan(value, at, std::chrono::seconds(0), kLongestBackoff);
      if (pause) job_.restart.backoff = *pause;
    };
    const auto read_hang = [&](const YamlNode& value, const Slot& at) {
      job_.restart.hang = ReadSpan(value, at, kShortestHang, kLongestHang);
    };
    if (!reader_.ReadMap(node, slot, shape,
                         {{"attempts", read_attempts},
                          {"on", read_reasons},
                          {"backoff", read_backoff},
                          {"hang", read_hang}})) {
      return;
    }
    if (!job_.restart.hang && job_.restart.on.contains(RestartReason::kHang)) {
      job_.restart.hang = kUsualHang;
    }
    if (node.Find("attempts") == nullptr) {
      reader_.Error(node, slot, "`restart` has no `attempts`",
                    "say how often, such as {attempts: 50, on: [maintenance]}");
    }
    if (node.Find("on") == nullptr) {
      job_.restart.on = {RestartReason::kMaintenance, RestartReason::kPreemption,
                         RestartReason::kConnection};
    }
  }

  void ReadWorkers(const YamlNode& node, const Slot& slot) {
    const auto text = reader_.ReadPlain(node, slot);
    if (!text) return;
    const auto selection = WorkerSelection::Parse(*text);
    if (!selection) {
      reader_.Error(node, slot, selection.error().message, "`all`, or such as \"0,2-3\"");
      return;
    }
    job_.workers = *text;
  }

  // What only some launchers have, and what they cannot do.
  void CheckLauncher(const YamlNode& key, const YamlNode& job, const Slot& slot) {
    const std::string name(LauncherName(job_.launcher));
    const YamlEntry* run_config = job.Find("runConfig");
    if (run_config != nullptr && job_.launcher != Launcher::kEstimator) {
      reader_.Error(*run_config->key, slot.Below("runConfig"),
                    "`runConfig` is for the launcher `estimator`", "add `launcher: estimator`");
    }
    const auto pod = HostOfJob();
    const bool multislice = pod && pod->slices > 1;
    const YamlEntry* launcher = job.Find("launcher");
    const YamlNode& at = launcher == nullptr ? key : *launcher->value;
    const Slot place = launcher == nullptr ? slot : slot.Below("launcher");
    const YamlEntry* logs = job.Find("logs");
    if (logs != nullptr && job_.launcher == Launcher::kShell) {
      reader_.Error(*logs->key, slot.Below("logs"), "`logs` is not for the launcher `shell`",
                    "any other one keeps them; `pjrt` unless given");
    }
    if (RunsOnWorkerZero(job_.launcher)) {
      const YamlEntry* workers = job.Find("workers");
      if (workers != nullptr && !job_.workers.empty() && job_.workers != "0") {
        reader_.Error(*workers->value, slot.Below("workers"),
                      fmt::format("`{}` runs on worker 0 only", name),
                      "leave `workers` out: the others serve through tpu-runtime");
      }
      if (multislice) {
        reader_.Error(at, place, fmt::format("`{}` cannot run on several slices", name),
                      "`pjrt` and `jax` can");
      }
    }
    if (job_.launcher == Launcher::kXlaDist) {
      if (multislice) {
        reader_.Error(at, place, "`xla_dist` cannot run on several slices", "`pjrt` and `jax` can");
      }
      CheckXlaDist(job, slot);
      if (job.Find("restart") == nullptr) {
        job_.restart.attempts = kMostXlaDistAttempts;
        job_.restart.on = {RestartReason::kMaintenance, RestartReason::kConnection,
                           RestartReason::kHeartbeat};
      }
    } else if (job_.restart.on.contains(RestartReason::kHeartbeat)) {
      reader_.Error(*job.Find("restart")->key, slot.Below("restart"),
                    "only `xla_dist` has a heartbeat", "leave `heartbeat` out");
    }
  }

  void CheckXlaDist(const YamlNode& job, const Slot& slot) {
    const YamlEntry* env = job.Find("env");
    for (const auto& [name, value] : job_.env) {
      if (!IsXlaDistVariable(name)) continue;
      const YamlEntry* entry = env->value->Find(name);
      reader_.Error(*entry->key, slot.Below("env"), fmt::format("`{}` is xla_dist's to set", name),
                    "leave it out");
    }
    const auto pod = HostOfJob();
    const auto host = pod ? HostOf(pod->node) : std::nullopt;
    const YamlEntry* launcher = job.Find("launcher");
    const auto is_of = [&](std::string_view generation) {
      return host->type.starts_with(generation);
    };
    const bool known = !host || is_of("v2") || is_of("v3") || is_of("v4") || is_of("V2") ||
                       is_of("V3") || is_of("V4");
    if (!known) {
      reader_.Error(*launcher->value, slot.Below("launcher"),
                    fmt::format("xla_dist cannot run on {}", host->type),
                    "it knows v2, v3 and v4; use `pjrt`");
    }
    const YamlEntry* workers = job.Find("workers");
    if (workers != nullptr && !job_.workers.empty() && job_.workers != "all") {
      reader_.Error(*workers->value, slot.Below("workers"), "`xla_dist` runs on all workers",
                    "leave `workers` out");
    }
    const YamlEntry* restart = job.Find("restart");
    if (restart == nullptr) return;
    if (job_.restart.attempts > kMostXlaDistAttempts) {
      reader_.Error(*restart->key, slot.Below("restart"),
                    fmt::format("xla_dist is restarted at most {} times", kMostXlaDistAttempts),
                    fmt::format("attempts: {}", kMostXlaDistAttempts));
    }
    for (const RestartReason reason :
         {RestartReason::kKilled, RestartReason::kFailure, RestartReason::kHang}) {
      if (!job_.restart.on.contains(reason)) continue;
      reader_.Error(*restart->key, slot.Below("restart"),
                    fmt::format("xla_dist is not restarted on `{}`", RestartReasonName(reason)),
                    "one of maintenance, preemption, connection, heartbeat");
    }
  }

  void CheckDevices(const YamlNode& job, const Slot& slot) {
    const YamlEntry* devices = job.Find("devices");
    const auto pod = HostOfJob();
    if (devices == nullptr || !pod) return;
    const auto host = HostOf(pod->node);
    if (!host) return;
    const Slot at = slot.Below("devices");
    if (const auto problem = podctl::CheckDevices(job_.devices, *host)) {
      reader_.Error(*devices->value, at, problem->summary, problem->suggestion);
    } else if (!DeviceVariables(job_.devices, *host).empty() &&
               (job_.launcher == Launcher::kXlaDist ||
                (RunsOnWorkerZero(job_.launcher) && host->hosts > 1))) {
      // There a server holds the TPU, and the job only talks to it.
      reader_.Error(
          *devices->value, at,
          fmt::format("`{}` on {} has all devices", LauncherName(job_.launcher), host->type),
          "auto");
    }
  }

  ValueReader& reader_;
  const std::map<std::string, const Declared*>& pods_;
  const LocalFiles& local_;
  JobSpec job_;
};

}  // namespace

const Shape& JobShape() {
  static const Shape job = shape::Map(JobKeys()).Named("job").NotBoth("condaEnv", "docker");
  return job;
}

JobSpec ReadJob(const YamlNode& key, const YamlNode& job,
                const std::map<std::string, const Declared*>& pods, const LocalFiles& local,
                ValueReader& reader) {
  return JobReader(reader, pods, local).Read(key, job);
}

bool RunsOnWorkerZero(Launcher launcher) {
  return launcher == Launcher::kTensorflow || launcher == Launcher::kEstimator;
}

bool IsPlaceVariable(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "PODCTL_POD",    "PODCTL_WORKER", "PODCTL_WORKERS", "PODCTL_ADDRESSES", "PODCTL_SLICE",
      "PODCTL_SLICES", "PODCTL_JOB",    "PODCTL_RUN",     "PODCTL_ATTEMPT",   "PODCTL_RESUME"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool IsXlaDistVariable(std::string_view name) {
  static constexpr std::string_view kNames[] = {"XRT_LOCAL_WORKER",
                                                "XRT_MESH_SERVICE_ADDRESS",
                                                "XRT_SHARD_WORLD_SIZE",
                                                "XRT_SHARD_ORDINAL",
                                                "XRT_TPU_CONFIG",
                                                "TPUVM_MODE",
                                                "CLOUD_TPU_TASK_ID",
                                                "TPU_CHIPS_PER_HOST_BOUNDS",
                                                "TPU_HOST_BOUNDS",
                                                "TPU_NUM_DEVICES",
                                                "TPU_MESH_CONTROLLER_ADDRESS",
                                                "TPU_MESH_CONTROLLER_PORT",
                                                "XLA_EMIT_STEPLOG"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace podctl
