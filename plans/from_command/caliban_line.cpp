// Declared in from_command.h.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "plans/from_command/from_command.h"
#include "plans/kinds/training_job/requests.h"
#include "plans/spec/spec_writer.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/value.h"

namespace podctl {
namespace {

using Flags = std::vector<std::string>;

constexpr std::size_t kMostExperiments = 1000;

Error Bad(const std::string& key, std::string_view why) {
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("`{}` {}", VisibleControls(key), why));
}

bool IsPlain(const Value& value) {
  return value.is_bool() || value.is_string() || value.is_int() || value.is_double();
}

// "[a, b]" -> a, b; a plain key is alone. Empty: it is no key.
std::vector<std::string> KeysOf(const std::string& key) {
  const bool compound = key.size() > 2 && key.front() == '[' && key.back() == ']';
  std::vector<std::string> keys;
  const auto parts = compound ? Split(std::string_view(key).substr(1, key.size() - 2), ",")
                              : std::vector<std::string_view>{key};
  for (const std::string_view part : parts) {
    const std::string_view one = compound ? TrimBlanks(part) : part;
    if (one.empty() || one.find_first_of("[], \t\r\n") != std::string::npos) return {};
    keys.emplace_back(one);
  }
  return keys;
}

// The values that are to be tried, each with one for every key.
Result<std::vector<Value::List>> ChoicesOf(const std::string& key, const Value& value,
                                           std::size_t keys) {
  std::vector<Value::List> choices;
  const bool compound = key.front() == '[';
  if (!value.is_list()) {
    choices.push_back({value});
  } else if (!compound) {
    for (const Value& each : value.AsList()) choices.push_back({each});
  } else if (!value.AsList().empty() && !value.AsList().front().is_list()) {
    choices.push_back(value.AsList());
  } else {
    for (const Value& each : value.AsList()) choices.push_back(each.AsList());
  }
  if (choices.empty()) return Bad(key, "has nothing to try");
  for (const Value::List& choice : choices) {
    if (choice.size() != keys) return Bad(key, "and its values are not equally many");
    if (!std::all_of(choice.begin(), choice.end(), IsPlain)) {
      return Bad(key, "must be text, a number, true, false or a list of these");
    }
  }
  return choices;
}

void Append(const std::vector<std::string>& keys, const Value::List& choice, Flags* flags) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (choice[i].is_bool() && !choice[i].AsBool()) continue;
    flags->push_back("--" + keys[i]);
    if (choice[i].is_bool()) continue;
    flags->push_back(choice[i].is_string() ? choice[i].AsString() : ToJson(choice[i]));
  }
}

// Adds those of one map; the first key changes quickest.
Result<void> Expand(const Value& map, std::vector<Flags>* out) {
  if (!map.is_map()) {
    return MakeError(ErrorCode::kInvalidArgument, "it holds something else than maps");
  }
  std::vector<Flags> experiments(1);
  for (const auto& [key, value] : map.AsMap()) {
    const auto keys = KeysOf(key);
    if (keys.empty()) return Bad(key, "is no name of a flag, nor a list of names in brackets");
    const auto choices = ChoicesOf(key, value, keys.size());
    if (!choices) return choices.error();
    if (experiments.size() * choices->size() + out->size() > kMostExperiments) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("it has more than {} experiments", kMostExperiments));
    }
    std::vector<Flags> more;
    for (const Value::List& choice : *choices) {
      for (Flags flags : experiments) {
        Append(keys, choice, &flags);
        more.push_back(std::move(flags));
      }
    }
    experiments = std::move(more);
  }
  std::move(experiments.begin(), experiments.end(), std::back_inserter(*out));
  return {};
}

// Of Caliban's experiment.json: one map, or a list of them, whose lists are to be tried in every
// combination, and whose compound keys ("[a,b]") go together. What it means is google/caliban's
// (caliban/config/experiment.py). The flags of each experiment: "--rate", "0.1"; of true the flag
// alone, of false nothing. kInvalidArgument: it is none, or has more than kMostExperiments.
Result<std::vector<Flags>> ExpandExperiments(std::string_view json) {
  auto config = ParseJson(json);
  if (!config) return config.error();
  std::vector<Flags> experiments;
  const Value::List maps = config->is_list() ? config->AsList() : Value::List{*config};
  for (const Value& map : maps) {
    if (auto added = Expand(map, &experiments); !added) return added.error();
  }
  if (experiments.empty()) {
    return MakeError(ErrorCode::kInvalidArgument, "it holds no experiment");
  }
  return experiments;
}

// `caliban cloud … MODULE -- args` as a training job. Flags are those of google/caliban's cli.py.

constexpr FlagRule kCalibanFlags[] = {
    {"tpu_spec"},
    {"gpu_spec"},
    {"machine_type"},
    {"region"},
    {"project_id"},
    {"name"},
    {"label", true, 'l'},
    {"image_tag"},
    Aside("image_id", "a local image must be pushed first; put its URI at `image`"),
    {"nogpu", kSwitch},
    Aside("force", "podctl checks what goes together all the same", kSwitch),
    Aside("dry_run", "`podctl plan` shows what would be sent", kSwitch),
    Aside("no_cache", "podctl builds no image", kSwitch),
    Aside("docker_run_args", "the service starts the container: it takes no flags of docker run"),
    {"experiment_config"},
    {"flagfile"},
    Aside("xgroup", "podctl has no groups of experiments; a label may do"),
    Aside("cloud_key", "podctl finds credentials as Google's libraries do: `podctl auth status`"),
    Aside("extras", "podctl builds no image"),
    Aside("dlvm", "podctl builds no image"),
    Aside("dir", "podctl builds no image", true, 'd'),
};

Error AsError(const AcceleratorProblem& problem) {
  return MakeError(ErrorCode::kInvalidArgument, problem.summary,
                   fmt::format("{}. {}", Sentence(problem.suggestion), problem.detail));
}

Result<std::string> ReadNamed(const LineWorld& world, const std::string& path) {
  if (!world.read) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} cannot be read here", VisibleControls(path)));
  }
  return world.read(path);
}

// absl's flag files: a flag a line, or a comment; one may name another. The program's own
// arguments, which follow `--`, are its own.
Result<std::vector<std::string>> WithFlagFiles(const std::vector<std::string>& words,
                                               const LineWorld& world, int depth) {
  constexpr int kDeepest = 8;
  std::vector<std::string> all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") {
      all.insert(all.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    std::string path;
    // Within a file it is one line, and a blank will do.
    if (word.starts_with("--flagfile=") || word.starts_with("--flagfile ")) {
      path = TrimBlanks(word.substr(std::string_view("--flagfile=").size()));
    } else if (word == "--flagfile" && i + 1 < words.size()) {
      path = words[++i];
    } else {
      all.emplace_back(word);
      continue;
    }
    if (depth == kDeepest) {
      return MakeError(ErrorCode::kInvalidArgument, "--flagfile: the files name one another");
    }
    const auto text = ReadNamed(world, path);
    if (!text) {
      return MakeError(ErrorCode::kInvalidArgument, "--flagfile: " + text.error().message);
    }
    std::vector<std::string> lines;
    for (const std::string& each : SplitLines(*text)) {
      const std::string_view line = TrimBlanks(each);
      if (line.starts_with('-')) lines.emplace_back(line);
    }
    auto inner = WithFlagFiles(lines, world, depth + 1);
    if (!inner) return inner;
    std::move(inner->begin(), inner->end(), std::back_inserter(all));
  }
  return all;
}

class CalibanLine : ToolLine {
 public:
  CalibanLine(FlagWords words, const LineWorld& world) : words_(std::move(words)), world_(world) {}

  Result<FromCommand> Convert() {
    made_.tool = "caliban cloud";
    if (words_.positionals.empty() || words_.positionals.front() != "cloud") {
      return MakeError(
          ErrorCode::kInvalidArgument,
          fmt::format(
              "`caliban {}` submits no job to the cloud",
              words_.positionals.empty() ? "" : VisibleControls(words_.positionals.front())),
          "Known is `caliban cloud … MODULE -- args`.");
    }
    for (const GivenFlag& flag : words_.flags) Take(flag);
    TakeModule();
    job_.args = words_.command;
    if (auto refused = Refused()) return *std::move(refused);
    if (problem_) return AsError(*problem_);
    given_machine_ = job_.machine_type;
    if (no_gpu_ && job_.gpu.given()) {
      return MakeError(ErrorCode::kInvalidArgument, "`--nogpu` and `--gpu_spec` exclude each other",
                       "Take one of them out.");
    }
    FillInMaster(no_gpu_, &job_);
    if (auto checked = Check(); !checked) return checked.error();
    made_.text = Write();
    if (experiments_.size() < 2) made_.training = job_;
    return std::move(made_);
  }

 private:
  void Take(const GivenFlag& flag) {
    if (!CanBeTaken(flag)) return;
    const std::string value = flag.value.value_or("");
    if (flag.name == "tpu_spec" || flag.name == "gpu_spec") {
      const bool tpu = flag.name == "tpu_spec";
      auto parsed =
          ParseAcceleratorSpec(value, tpu ? AcceleratorKind::kTpu : AcceleratorKind::kGpu);
      if (auto* problem = std::get_if<AcceleratorProblem>(&parsed)) {
        if (!problem_) problem_ = std::move(*problem);
      } else {
        (tpu ? job_.tpu : job_.gpu) = std::get<AcceleratorSpec>(parsed);
        (tpu ? tpu_text_ : gpu_text_) = value;
      }
    } else if (flag.name == "machine_type") {
      job_.machine_type = value;
    } else if (flag.name == "region") {
      job_.region = value;
    } else if (flag.name == "project_id") {
      job_.project = value;
    } else if (flag.name == "name") {
      job_.name = value;
    } else if (flag.name == "image_tag") {
      job_.image = value;
    } else if (flag.name == "nogpu") {
      no_gpu_ = true;
    } else if (flag.name == "experiment_config") {
      TakeExperiments(value);
    } else if (flag.name == "flagfile") {
      Refuse(Shown(flag), "its value is missing");
    } else {
      TakeLabel(value);
    }
  }

  void TakeExperiments(const std::string& path) {
    const auto text = ReadNamed(world_, path);
    if (!text) return Refuse("--experiment_config", text.error().message);
    auto experiments = ExpandExperiments(*text);
    if (experiments) {
      experiments_ = *std::move(experiments);
    } else {
      Refuse("--experiment_config",
             fmt::format("{}: {}", VisibleControls(path), experiments.error().message));
    }
  }

  void TakeLabel(const std::string& pair) {
    const auto equals = pair.find('=');
    const std::string key = SanitizedLabelKey(pair.substr(0, equals));
    if (equals == std::string::npos || key.empty()) {
      return Refuse("--label", fmt::format("`{}` is no label", VisibleControls(pair)));
    }
    job_.labels[key] = SanitizedLabelValue(pair.substr(equals + 1));
    if (key + "=" + job_.labels[key] != pair) {
      Left("--label", fmt::format("`{}` is written `{}={}`, as labels are", VisibleControls(pair),
                                  key, job_.labels[key]));
    }
  }

  // The program that Caliban would have put into an image.
  void TakeModule() {
    std::string module;
    for (std::size_t i = 1; i < words_.positionals.size(); ++i) {
      if (i == 1) {
        module = words_.positionals[i];
      } else {
        Refuse(words_.positionals[i], "arguments of the program follow `--`");
      }
    }
    if (job_.name.empty()) {
      std::string name = module.substr(module.rfind('/') + 1);
      if (name.ends_with(".py") || name.ends_with(".sh")) name.resize(name.size() - 3);
      job_.name = name.empty() ? "train" : name.substr(name.rfind('.') + 1);
    }
    job_.name = NameFrom(job_.name);
    if (!module.empty()) {
      Left(module,
           "Caliban builds it into an image, podctl does not: the image's entry point must "
           "run it");
    }
    if (job_.image.empty()) {
      job_.image = fmt::format("gcr.io/my-project/{}:latest", SanitizedLabelValue(job_.name));
      Left("image", "put in the image's URI: build and push it (`caliban build`, `docker push`)");
    }
  }

  Result<void> Check() {
    if (HasExpansion(job_.region)) {
      Left("--region", fmt::format("{} is not known here; put the region in", job_.region));
      job_.region.clear();
    }
    if (job_.project.empty()) job_.project = world_.project;
    if (HasExpansion(job_.project)) {
      Left("--project_id", fmt::format("{} is not known here; put yours in for {}", job_.project,
                                       kPlaceholderProject));
      job_.project = kPlaceholderProject;
    }
    if (job_.project.empty()) {
      job_.project = kPlaceholderProject;
      Left("project", kNoProject);
    }
    region_given_ = !job_.region.empty();
    if (!region_given_) job_.region = kDefaultRegion;
    if (const auto problem = CheckMachine(job_.machine_type)) return AsError(*problem);
    std::optional<AcceleratorProblem> problem;
    if (job_.gpu.given()) problem = CheckGpuOnMachine(job_.gpu, job_.machine_type);
    if (!problem && job_.gpu.given()) {
      problem = CheckRegionOf(job_.gpu, AcceleratorKind::kGpu, job_.region);
    }
    if (!problem && job_.tpu.given()) {
      problem = CheckRegionOf(job_.tpu, AcceleratorKind::kTpu, job_.region);
    }
    return problem ? Result<void>(AsError(*problem)) : Result<void>();
  }

  std::string Write() const {
    YamlText text;
    text.Member("project", job_.project);
    text.Blank();
    text.Begin("trainingJobs");
    if (experiments_.empty()) WriteJob(job_.name, job_.args, &text);
    for (std::size_t i = 0; i < experiments_.size(); ++i) {
      std::vector<std::string> args = job_.args;
      args.insert(args.end(), experiments_[i].begin(), experiments_[i].end());
      const bool one = experiments_.size() == 1;
      WriteJob(one ? job_.name : fmt::format("{}-{}", job_.name, i + 1), args, &text);
    }
    text.End();
    return text.text();
  }

  void WriteJob(const std::string& name, const std::vector<std::string>& arguments,
                YamlText* out) const {
    YamlText& text = *out;
    text.Begin(name);
    if (region_given_) text.Member("region", job_.region);
    if (!tpu_text_.empty()) text.Member("tpuSpec", tpu_text_);
    if (!gpu_text_.empty()) text.Member("gpuSpec", gpu_text_);
    if (no_gpu_ && !job_.tpu.given()) text.Member("gpuSpec", "none");
    if (!given_machine_.empty()) text.Member("machineType", given_machine_);
    text.Member("image", job_.image);
    if (!arguments.empty()) text.Member("args", Value::List(arguments.begin(), arguments.end()));
    text.Members("labels", job_.labels);
    text.End();
  }

  const FlagWords words_;
  const LineWorld& world_;
  TrainingJobSpec job_;
  std::vector<std::vector<std::string>> experiments_;  // the flags of each
  std::string tpu_text_;                               // as written
  std::string gpu_text_;
  std::string given_machine_;
  bool region_given_ = false;
  bool no_gpu_ = false;
  std::optional<AcceleratorProblem> problem_;
};

}  // namespace

Result<FromCommand> FromCaliban(const std::vector<std::string>& words, const LineWorld& world) {
  const auto all = WithFlagFiles(words, world, 0);
  if (!all) return all.error();
  return CalibanLine(ReadFlagWords(*all, kCalibanFlags, Positionals::kAnywhere), world).Convert();
}

}  // namespace podctl
