// `caliban cloud … MODULE -- args` as a training job. Flags are those of google/caliban's cli.py.
#include <fmt/format.h>

#include <map>

#include "plans/from_command/flag_words.h"
#include "plans/from_command/from_command.h"
#include "plans/from_command/spec_text.h"
#include "plans/from_command/tool_line.h"
#include "plans/training/accelerators.h"
#include "plans/training/requests.h"
#include "providers/base/text.h"
#include "providers/base/value.h"

namespace podctl {
namespace {

constexpr bool kSwitch = false;

constexpr FlagRule kFlags[] = {
    {"tpu_spec"},
    {"gpu_spec"},
    {"machine_type"},
    {"region"},
    {"project_id"},
    {"name"},
    {"label", true, 'l'},
    {"image_tag"},
    {"image_id"},
    {"nogpu", kSwitch},
    {"force", kSwitch},
    {"dry_run", kSwitch},
    {"no_cache", kSwitch},
    {"docker_run_args"},
    {"experiment_config"},
    {"xgroup"},
    {"cloud_key"},
    {"extras"},
    {"dlvm"},
    {"dir", true, 'd'},
};

const std::map<std::string_view, std::string_view>& Aside() {
  static const std::map<std::string_view, std::string_view> aside = {
      {"force", "podctl checks what goes together all the same"},
      {"dry_run", "`podctl plan` shows what would be sent"},
      {"no_cache", "podctl builds no image"},
      {"extras", "podctl builds no image"},
      {"dlvm", "podctl builds no image"},
      {"dir", "podctl builds no image"},
      {"image_id", "a local image must be pushed first; put its URI at `image`"},
      {"docker_run_args", "the service starts the container: it takes no flags of docker run"},
      {"experiment_config", "write one training job for each experiment"},
      {"xgroup", "podctl has no groups of experiments; a label may do"},
      {"cloud_key", "podctl finds credentials as Google's libraries do: `podctl auth status`"},
  };
  return aside;
}

Error AsError(const AcceleratorProblem& problem) {
  return MakeError(ErrorCode::kInvalidArgument, problem.summary,
                   fmt::format("{}. {}", Sentence(problem.suggestion), problem.detail));
}

class CalibanLine : ToolLine {
 public:
  explicit CalibanLine(FlagWords words) : words_(std::move(words)) {}

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
    if (problem_) return AsError(*problem_);
    given_machine_ = job_.machine_type;
    if (no_gpu_ && job_.gpu.given()) {
      return MakeError(ErrorCode::kInvalidArgument, "`--nogpu` and `--gpu_spec` exclude each other",
                       "Take one of them out.");
    }
    FillInMaster(no_gpu_, &job_);
    if (auto checked = Check(); !checked) return checked.error();
    made_.text = Write();
    made_.training = job_;
    return std::move(made_);
  }

 private:
  void Take(const GivenFlag& flag) {
    if (!CanBeTaken(flag)) return;
    const std::string shown = Shown(flag);
    if (const auto aside = Aside().find(flag.name); aside != Aside().end()) {
      return Left(shown, aside->second);
    }
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
    } else {
      TakeLabel(value);
    }
  }

  void TakeLabel(const std::string& pair) {
    const auto equals = pair.find('=');
    const std::string key = SanitizedLabelKey(pair.substr(0, equals));
    if (equals == std::string::npos || key.empty()) {
      return Left("--label", fmt::format("`{}` is no label", VisibleControls(pair)));
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
        Left(words_.positionals[i], "arguments of the program follow `--`");
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
    if (job_.gpu.given()) {
      if (const auto problem = CheckGpuOnMachine(job_.gpu, job_.machine_type)) {
        return AsError(*problem);
      }
      if (const auto problem = CheckRegionOf(job_.gpu, AcceleratorKind::kGpu, job_.region)) {
        return AsError(*problem);
      }
    }
    if (job_.tpu.given()) {
      if (const auto problem = CheckRegionOf(job_.tpu, AcceleratorKind::kTpu, job_.region)) {
        return AsError(*problem);
      }
    }
    return {};
  }

  std::string Write() const {
    SpecText text;
    text.Member("project", job_.project);
    text.Blank();
    text.Begin("trainingJobs");
    text.Begin(job_.name);
    if (region_given_) text.Member("region", job_.region);
    if (!tpu_text_.empty()) text.Member("tpuSpec", tpu_text_);
    if (!gpu_text_.empty()) text.Member("gpuSpec", gpu_text_);
    if (no_gpu_ && !job_.tpu.given()) text.Member("gpuSpec", "none");
    if (!given_machine_.empty()) text.Member("machineType", given_machine_);
    text.Member("image", job_.image);
    if (!job_.args.empty()) {
      Value::List args;
      for (const std::string& arg : job_.args) args.emplace_back(arg);
      text.Member("args", Value(std::move(args)));
    }
    if (!job_.labels.empty()) {
      Value labels = Value::EmptyMap();
      for (const auto& [key, value] : job_.labels) labels.Set(key, value);
      text.Member("labels", labels);
    }
    text.End();
    text.End();
    return text.text();
  }

  const FlagWords words_;
  TrainingJobSpec job_;
  std::string tpu_text_;  // as written
  std::string gpu_text_;
  std::string given_machine_;
  bool region_given_ = false;
  bool no_gpu_ = false;
  std::optional<AcceleratorProblem> problem_;
};

}  // namespace

Result<FromCommand> FromCaliban(const std::vector<std::string>& words) {
  return CalibanLine(ReadFlagWords(words, kFlags, Positionals::kAnywhere)).Convert();
}

}  // namespace podctl
