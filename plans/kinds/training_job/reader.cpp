// Declared in plan.h.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "plans/kinds/training_job/plan.h"
#include "plans/kinds/training_job/requests.h"
#include "plans/spec/names.h"
#include "plans/spec/value_reader.h"
#include "state/thing_name.h"

namespace podctl {
namespace {

// Less than the 64 of the service, as podctl adds one.
constexpr std::size_t kMostLabels = 60;
constexpr std::size_t kMostArgs = 1000;

constexpr Pattern kAccelerator{"[^x]+x[^x]+", "COUNTxTYPE, such as 8xV2"};
constexpr Pattern kAcceleratorOrNone{"none|[^x]+x[^x]+", "COUNTxTYPE, such as 4xV100, or none"};
constexpr Pattern kRegion{"[a-z0-9-]+-[a-z0-9-]*[0-9]", "a region, such as us-central1"};
constexpr Pattern kLabelKey{"[a-z][a-z0-9_-]{0,62}", "a letter, then a-z, 0-9, - and _"};
constexpr Pattern kLabelText{"[a-z0-9_-]{0,63}", "a-z, 0-9, - and _", "integer boolean"};

// "us-central1": words of lower-case letters and digits, the last with its number.
bool LooksLikeRegion(std::string_view region) {
  const auto dash = region.rfind('-');
  if (dash == std::string_view::npos || dash == 0 || dash + 1 == region.size()) return false;
  const bool letters = std::all_of(region.begin(), region.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
  return letters && region.back() >= '0' && region.back() <= '9';
}

bool LooksLikeZone(std::string_view region) {
  const auto dash = region.rfind('-');
  return dash != std::string_view::npos && region.size() - dash == 2 &&
         LooksLikeRegion(region.substr(0, dash));
}

class TrainingJobReader {
 public:
  TrainingJobReader(ValueReader& reader, const std::optional<std::string>& project)
      : reader_(reader), project_(project) {}

  TrainingJobSpec Read(const YamlNode& key, const YamlNode& job) {
    job_.name = key.text;
    job_.place = key.Place();
    const Slot slot{"trainingJobs", key.text};
    if (!IsThingName(key.text)) {
      reader_.Error(key, slot, fmt::format("{} is no name for a training job", FoundWords(key)),
                    "letters, digits, - and _");
    }
    if (!reader_.ExpectMap(job, slot)) return std::move(job_);
    for (const YamlEntry& entry : job.entries) {
      ReadKey(entry, {slot.Path(), entry.key->text});
    }
    Check(key, job, slot);
    return std::move(job_);
  }

 private:
  void ReadKey(const YamlEntry& entry, const Slot& slot) {
    const std::string& key = entry.key->text;
    if (reader_.KnownKey(*entry.key, slot.context, TrainingJobShape()) == nullptr) return;
    const YamlNode& value = *entry.value;
    if (key == "tpuSpec" || key == "gpuSpec") return ReadSpec(value, slot);
    if (key == "args") return ReadArgs(value, slot);
    if (key == "labels") return ReadLabels(value, slot);
    std::string* target = key == "machineType" ? &job_.machine_type
                          : key == "image"     ? &job_.image
                          : key == "region"    ? &job_.region
                                               : &job_.project;
    const auto text = reader_.ReadPlain(value, slot);
    if (!text) return;
    if (text->empty()) return reader_.Error(value, slot, fmt::format("`{}` is empty", key));
    if (key == "project") static_cast<void>(CheckProject(reader_, value, slot, *text));
    *target = *text;
  }

  void ReadSpec(const YamlNode& node, const Slot& slot) {
    const bool tpu = slot.key == "tpuSpec";
    const auto text = reader_.ReadPlain(node, slot);
    if (!text) {
      bad_spec_ = true;
      return;
    }
    if (!tpu && *text == "none") {
      no_gpu_ = true;
      return;
    }
    auto parsed = ParseAcceleratorSpec(*text, tpu ? AcceleratorKind::kTpu : AcceleratorKind::kGpu);
    if (const auto* problem = std::get_if<AcceleratorProblem>(&parsed)) {
      bad_spec_ = true;
      return reader_.Error(node, slot, problem->summary, problem->suggestion, problem->detail);
    }
    (tpu ? job_.tpu : job_.gpu) = std::get<AcceleratorSpec>(parsed);
  }

  void ReadArgs(const YamlNode& node, const Slot& slot) {
    if (!reader_.ExpectList(node, slot)) return;
    const std::size_t most = TrainingJobShape().At("args").most;
    if (node.items.size() > most) {
      return reader_.Error(node, slot, fmt::format("more than {} arguments", most));
    }
    for (const YamlNodePtr& item : node.items) {
      auto text = reader_.ReadText(*item, slot, {.pods = true, .things = true});
      if (text) job_.args.push_back(std::move(text->text));
    }
  }

  void ReadLabels(const YamlNode& node, const Slot& slot) {
    if (!reader_.ExpectMap(node, slot)) return;
    const std::size_t most = TrainingJobShape().At("labels").most;
    if (node.entries.size() > most) {
      return reader_.Error(node, slot, fmt::format("more than {} labels", most));
    }
    for (const YamlEntry& entry : node.entries) {
      const std::string& key = entry.key->text;
      const Slot below = slot.Below(key);
      const auto value = reader_.ReadPlain(*entry.value, below);
      if (key == kRequestLabel) {
        reader_.Error(*entry.key, below, fmt::format("the label `{}` is podctl's own", key),
                      "give it another name");
      } else if (key.empty() || SanitizedLabelKey(key) != key) {
        reader_.Error(*entry.key, below,
                      fmt::format("{} is no key of a label", FoundWords(*entry.key)),
                      "a letter, then a-z, 0-9, - and _; at most 63 characters");
      } else if (value && SanitizedLabelValue(*value) != *value) {
        reader_.Error(*entry.value, below,
                      fmt::format("{} is no value of a label", FoundWords(*entry.value)),
                      "a-z, 0-9, - and _; at most 63 characters");
      } else if (value) {
        job_.labels[key] = *value;
      }
    }
  }

  // What belongs together; only where its parts were read, or one slip would be told twice.
  void Check(const YamlNode& key, const YamlNode& job, const Slot& slot) {
    if (job.Find("image") == nullptr) {
      reader_.Error(key, slot, "the training job has no `image`",
                    "the URI of a container image that runs the training");
    }
    if (job.Find("project") == nullptr) {
      job_.project = project_.value_or("");
      if (!project_) {
        reader_.Error(key, slot, fmt::format("no project for the training job `{}`", job_.name),
                      "set `project`, --project or PODCTL_PROJECT");
      }
    }
    const bool machine_given = !job_.machine_type.empty();
    if (!bad_spec_) FillInMaster(no_gpu_, &job_);
    if (machine_given) {
      const YamlNode& at = *job.Find("machineType")->value;
      if (const auto problem = CheckMachine(job_.machine_type)) {
        reader_.Error(at, slot.Below("machineType"), problem->summary, problem->suggestion,
                      problem->detail);
        return CheckRegion(key, job, slot);
      }
    }
    if (!bad_spec_ && job_.gpu.given()) {
      const YamlEntry* spec = job.Find("gpuSpec");
      if (spec == nullptr) spec = job.Find("machineType");
      const YamlNode& at = spec == nullptr ? key : *spec->value;
      if (const auto problem = CheckGpuOnMachine(job_.gpu, job_.machine_type)) {
        reader_.Error(at, spec == nullptr ? slot : slot.Below(spec->key->text), problem->summary,
                      problem->suggestion, problem->detail);
      }
    }
    CheckRegion(key, job, slot);
  }

  void CheckRegion(const YamlNode& key, const YamlNode& job, const Slot& slot) {
    const YamlEntry* entry = job.Find("region");
    if (entry != nullptr && job_.region.empty()) return;  // reported
    if (entry == nullptr) job_.region = kDefaultRegion;
    const YamlNode& at = entry == nullptr ? key : *entry->value;
    const Slot below = entry == nullptr ? slot : slot.Below("region");
    if (!LooksLikeRegion(job_.region)) {
      const bool zone = LooksLikeZone(job_.region);
      return reader_.Error(
          at, below,
          fmt::format("`{}` is {}", job_.region, zone ? "a zone, not a region" : "no region"),
          zone ? fmt::format("such as `{}`", job_.region.substr(0, job_.region.size() - 2))
               : fmt::format("such as `{}`", kDefaultRegion));
    }
    for (const auto& [spec, kind] : {std::pair{&job_.tpu, AcceleratorKind::kTpu},
                                     std::pair{&job_.gpu, AcceleratorKind::kGpu}}) {
      if (!spec->given()) continue;
      if (const auto problem = CheckRegionOf(*spec, kind, job_.region)) {
        reader_.Error(at, below, problem->summary, problem->suggestion, problem->detail);
      }
    }
  }

  ValueReader& reader_;
  const std::optional<std::string>& project_;
  TrainingJobSpec job_;
  bool no_gpu_ = false;  // `gpuSpec: none`
  bool bad_spec_ = false;
};

}  // namespace

const Shape& TrainingJobShape() {
  static const Shape job =
      shape::Map(
          {{"tpuSpec", "TPUs, in a pool of their own beside the master: `8xV2` or `8xV3`.",
            shape::Text().Like(kAccelerator).Such({"8xV2", "8xV3"})},
           {"gpuSpec", "GPUs of the master, such as `4xV100`; `none` for a master without.",
            shape::Text().Like(kAcceleratorOrNone).Such({"1xP100", "4xV100", "none"})},
           {"machineType",
            "Of the master; `n1-standard-8` with GPUs and `n1-highcpu-32` without, unless given.",
            shape::Word(MasterMachines())},
           shape::Required("image", "The URI of the container's image. podctl builds nothing.",
                           shape::Text().Within(1, 0)),
           {"args", "Its arguments.", shape::ListOf(shape::ThingText()).Within(0, kMostArgs)},
           {"region", "`us-central1` unless given.", shape::Text().Like(kRegion)},
           {"project", "The Google Cloud project, where it is not that of the spec.",
            shape::Text().Like(kProjectPattern)},
           {"labels", "Labels of the job.",
            shape::MapOf(kLabelKey, shape::Text().Like(kLabelText)).Within(0, kMostLabels)}})
          .Named("trainingJob");
  return job;
}

TrainingJobSpec ReadTrainingJob(const YamlEntry& entry, const Section& section) {
  return TrainingJobReader(section.reader, section.project).Read(*entry.key, *entry.value);
}

}  // namespace podctl
