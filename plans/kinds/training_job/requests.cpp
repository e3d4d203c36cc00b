#include "plans/kinds/training_job/requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <set>
#include <span>

#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr std::size_t kLongestLabel = 63;
constexpr const char* kTfVersion = "1.14";

// "TPU_V3", "NVIDIA_TESLA_P100": as the API calls it.
std::string ApiAcceleratorType(const AcceleratorSpec& accelerator, AcceleratorKind kind) {
  return (kind == AcceleratorKind::kTpu ? "TPU_" : "NVIDIA_TESLA_") + accelerator.type;
}

Value ArgsOf(const TrainingJobSpec& job) {
  Value::List args;
  for (const std::string& arg : job.args) args.emplace_back(arg);
  return Value(std::move(args));
}

Value Pool(const TrainingJobSpec& job, Value machine) {
  Value pool = Value::EmptyMap();
  pool.Set("machineSpec", std::move(machine));
  pool.Set("replicaCount", "1");  // an int64, which travels as text
  pool.SetPath("containerSpec.imageUri", job.image);
  if (!job.args.empty()) pool.SetPath("containerSpec.args", ArgsOf(job));
  return pool;
}

Value LegacyAccelerator(const AcceleratorSpec& accelerator, AcceleratorKind kind) {
  Value config = Value::EmptyMap();
  config.Set("count", accelerator.count);
  config.Set("type", accelerator.given() ? ApiAcceleratorType(accelerator, kind)
                                         : "ACCELERATOR_TYPE_UNSPECIFIED");
  return config;
}

std::string Sanitized(std::string_view text) {
  std::string clean;
  for (const char c : text) {
    const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const bool fits = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9') ||
                      lower == '-' || lower == '_';
    if (fits && clean.size() < kLongestLabel) clean += lower;
  }
  return clean;
}

// `--rate 0.1 --fast` says {rate: 0.1, fast: ""}.
std::map<std::string, std::string> LabelsOfArgs(const std::vector<std::string>& args) {
  std::map<std::string, std::string> labels;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!args[i].starts_with("--")) continue;
    const auto equals = args[i].find('=');
    const std::string key = SanitizedLabelKey(args[i].substr(2, equals - 2));
    if (key.empty()) continue;
    std::string value;
    if (equals != std::string::npos) {
      value = args[i].substr(equals + 1);
    } else if (i + 1 < args.size() && !args[i + 1].starts_with("--")) {
      value = args[++i];
    }
    labels[key] = SanitizedLabelValue(value);
  }
  return labels;
}

}  // namespace

std::string SanitizedLabelKey(std::string_view key) {
  std::string clean = Sanitized(key);
  const auto letter =
      std::find_if(clean.begin(), clean.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  return {letter, clean.end()};
}

std::string SanitizedLabelValue(std::string_view value) {
  return Sanitized(value);
}

Value CustomJobBody(const TrainingJobSpec& job) {
  Value master = Value::EmptyMap();
  master.Set("machineType", job.machine_type);
  if (job.gpu.given()) {
    master.Set("acceleratorType", ApiAcceleratorType(job.gpu, AcceleratorKind::kGpu));
    master.Set("acceleratorCount", job.gpu.count);
  }
  Value::List pools;
  pools.push_back(Pool(job, std::move(master)));
  if (job.tpu.given()) {
    Value tpu = Value::EmptyMap();
    tpu.Set("machineType", "cloud-tpu");
    tpu.Set("acceleratorType", ApiAcceleratorType(job.tpu, AcceleratorKind::kTpu));
    tpu.Set("acceleratorCount", job.tpu.count);
    pools.push_back(Pool(job, std::move(tpu)));
  }
  Value body = Value::EmptyMap();
  body.Set("displayName", job.name);
  Value labels = Value::EmptyMap();
  for (const auto& [key, value] : job.labels) labels.MutableMap()[key] = value;
  if (!job.labels.empty()) body.Set("labels", std::move(labels));
  body.SetPath("jobSpec.workerPoolSpecs", Value(std::move(pools)));
  return body;
}

Value LegacyJobBody(const TrainingJobSpec& job, const std::string& time) {
  Value input = Value::EmptyMap();
  input.Set("scaleTier", "CUSTOM");
  input.Set("masterType", job.machine_type);
  input.Set("region", job.region);
  input.SetPath("masterConfig.imageUri", job.image);
  input.SetPath("masterConfig.acceleratorConfig",
                LegacyAccelerator(job.gpu, AcceleratorKind::kGpu));
  if (job.tpu.given()) {
    input.Set("workerCount", 1);
    input.Set("workerType", "cloud_tpu");
    input.SetPath("workerConfig.acceleratorConfig",
                  LegacyAccelerator(job.tpu, AcceleratorKind::kTpu));
    input.SetPath("workerConfig.tpuTfVersion", kTfVersion);
  }
  input.Set("args", ArgsOf(job));
  Value labels = Value::EmptyMap();
  const auto label = [&](const std::string& key, const std::string& value) {
    labels.MutableMap()[key] = value;
  };
  label("gpu_enabled", job.gpu.given() ? "true" : "false");
  label("tpu_enabled", job.tpu.given() ? "true" : "false");
  label("job_name", SanitizedLabelValue(job.name));
  label("docker_image", SanitizedLabelValue(job.image));
  for (const auto& [key, value] : job.labels) label(key, value);
  for (const auto& [key, value] : LabelsOfArgs(job.args)) label(key, value);
  Value body = Value::EmptyMap();
  body.Set("jobId", fmt::format("{}_{}_1", job.name, time));
  body.Set("trainingInput", std::move(input));
  body.Set("labels", std::move(labels));
  return body;
}

namespace {

constexpr const char* kTpuTypes[] = {"V2", "V3"};
constexpr const char* kGpuTypes[] = {"K80", "P4", "P100", "T4", "V100", "A100"};
constexpr std::int64_t kTpuCount = 8;  // of V2 and of V3 alike
constexpr std::string_view kPage =
    "https://cloud.google.com/vertex-ai/docs/training/configure-compute";

// Counts of one type that a machine takes, as text: "1 2 4".
struct GpuCounts {
  std::string_view type;
  std::string_view counts;
};

constexpr GpuCounts kSmall[] = {
    {"K80", "1 2 4 8"}, {"P4", "1 2 4"}, {"P100", "1 2 4"}, {"T4", "1 2 4"}, {"V100", "1 2 4 8"}};
constexpr GpuCounts kMedium[] = {
    {"K80", "2 4 8"}, {"P4", "1 2 4"}, {"P100", "1 2 4"}, {"T4", "1 2 4"}, {"V100", "2 4 8"}};
constexpr GpuCounts kLarge[] = {
    {"K80", "4 8"}, {"P4", "2 4"}, {"P100", "2 4"}, {"T4", "2 4"}, {"V100", "4 8"}};
constexpr GpuCounts kHuge[] = {{"P4", "4"}, {"T4", "4"}, {"V100", "8"}};
constexpr GpuCounts kHighCpu64[] = {
    {"K80", "8"}, {"P4", "4"}, {"P100", "4"}, {"T4", "4"}, {"V100", "8"}};

struct Machine {
  std::string_view name;
  std::span<const GpuCounts> gpus;
};

constexpr Machine kMachines[] = {
    {"n1-standard-4", kSmall},     {"n1-standard-8", kSmall},  {"n1-standard-16", kMedium},
    {"n1-standard-32", kLarge},    {"n1-standard-64", kHuge},  {"n1-standard-96", kHuge},
    {"n1-highmem-2", kSmall},      {"n1-highmem-4", kSmall},   {"n1-highmem-8", kSmall},
    {"n1-highmem-16", kMedium},    {"n1-highmem-32", kLarge},  {"n1-highmem-64", kHuge},
    {"n1-highmem-96", kHuge},      {"n1-highcpu-16", kMedium}, {"n1-highcpu-32", kLarge},
    {"n1-highcpu-64", kHighCpu64}, {"n1-highcpu-96", kHuge}};

struct TypeRegions {
  std::string_view type;
  std::string_view regions;  // parted by blanks
};

constexpr TypeRegions kRegions[] = {
    {"V2", "europe-west4 us-central1"},
    {"V3", "europe-west4 us-central1"},
    {"K80", "asia-east1 europe-west1 us-central1 us-east1 us-west1"},
    {"P4",
     "asia-southeast1 australia-southeast1 europe-west4 northamerica-northeast1 us-central1 "
     "us-east4 us-west2"},
    {"P100",
     "asia-east1 australia-southeast1 europe-west1 southamerica-east1 us-central1 us-east1 "
     "us-west1"},
    {"T4",
     "asia-northeast1 asia-northeast3 asia-south1 asia-southeast1 europe-west2 europe-west4 "
     "southamerica-east1 us-central1 us-east1 us-west1"},
    {"V100", "asia-east1 europe-west4 us-central1 us-west1"}};

std::string_view NameOf(AcceleratorKind kind) {
  return kind == AcceleratorKind::kTpu ? "TPU" : "GPU";
}

std::vector<std::string> TypesOf(AcceleratorKind kind) {
  if (kind == AcceleratorKind::kTpu) return {std::begin(kTpuTypes), std::end(kTpuTypes)};
  return {std::begin(kGpuTypes), std::end(kGpuTypes)};
}

std::string Advice(AcceleratorKind kind) {
  return fmt::format("Which counts, types and machines of {}s go together: {}", NameOf(kind),
                     kPage);
}

// "a", "a or b", "a, b or c".
std::string OneOf(const std::vector<std::string>& words) {
  if (words.empty()) return {};
  if (words.size() == 1) return words.front();
  return Join({words.begin(), words.end() - 1}, ", ") + " or " + words.back();
}

std::string Upper(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

const Machine* FindMachine(std::string_view name) {
  const auto* found = std::find_if(std::begin(kMachines), std::end(kMachines),
                                   [&](const Machine& machine) { return machine.name == name; });
  return found == std::end(kMachines) ? nullptr : found;
}

bool Takes(const Machine& machine, const AcceleratorSpec& gpu) {
  return std::any_of(machine.gpus.begin(), machine.gpus.end(), [&](const GpuCounts& row) {
    const auto counts = SplitWords(row.counts);
    return row.type == gpu.type &&
           std::count(counts.begin(), counts.end(), std::to_string(gpu.count)) > 0;
  });
}

// Every count of a type that some machine takes, in order.
std::vector<std::string> CountsAnywhere(std::string_view type) {
  std::set<int> numbers;
  for (const Machine& machine : kMachines) {
    for (const GpuCounts& row : machine.gpus) {
      if (row.type != type) continue;
      for (const std::string& count : SplitWords(row.counts)) numbers.insert(count.front() - '0');
    }
  }
  std::vector<std::string> counts;
  for (int number : numbers) counts.push_back(std::to_string(number));
  return counts;
}

AcceleratorProblem NowhereToBeHad(const AcceleratorSpec& spec, AcceleratorKind kind,
                                  const std::vector<std::string>& counts) {
  return {
      fmt::format("no machine takes {} {}{} of type {}", spec.count, NameOf(kind),
                  spec.count == 1 ? "" : "s", spec.type),
      counts.empty() ? "K80, P4, P100, T4 or V100" : fmt::format("take {} of them", OneOf(counts)),
      Advice(kind)};
}

}  // namespace

std::optional<std::int64_t> PythonInt(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\r\f\v";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return std::nullopt;
  text = text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
  const bool negative = text.front() == '-';
  if (negative || text.front() == '+') text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t number = 0;
  bool after_digit = false;
  for (const char c : text) {
    if (c == '_' && after_digit) {
      after_digit = false;
      continue;
    }
    if (c < '0' || c > '9') return std::nullopt;
    after_digit = true;
    const int digit = c - '0';
    number = number > (kMost - digit) / 10 ? kMost : number * 10 + digit;
  }
  if (!after_digit) return std::nullopt;
  return negative ? -number : number;
}

std::variant<AcceleratorSpec, AcceleratorProblem> ParseAcceleratorSpec(std::string_view text,
                                                                       AcceleratorKind kind) {
  const std::string form =
      fmt::format("COUNTx{}_TYPE with a lower-case x, such as `{}`", NameOf(kind),
                  kind == AcceleratorKind::kTpu ? "8xV2" : "8xV100");
  const std::string shown = VisibleControls(text);
  if (std::count(text.begin(), text.end(), 'x') != 1) {
    const bool none = text.find('x') == std::string_view::npos;
    return AcceleratorProblem{
        fmt::format("`{}` has {}", shown,
                    none ? "no `x` between count and type" : "more than one `x`"),
        "write " + form, Advice(kind)};
  }
  const auto x = text.find('x');
  const std::optional<std::int64_t> count = PythonInt(text.substr(0, x));
  if (!count) {
    return AcceleratorProblem{fmt::format("the count `{}` of `{}` is no number",
                                          VisibleControls(text.substr(0, x)), shown),
                              "write " + form, Advice(kind)};
  }
  AcceleratorSpec spec{*count, Upper(text.substr(x + 1))};
  const std::vector<std::string> types = TypesOf(kind);
  if (std::find(types.begin(), types.end(), spec.type) == types.end()) {
    return AcceleratorProblem{
        fmt::format("`{}` is no {} type", VisibleControls(text.substr(x + 1)), NameOf(kind)),
        OneOf(types), Advice(kind)};
  }
  if (kind == AcceleratorKind::kTpu && spec.count != kTpuCount) {
    return NowhereToBeHad(spec, kind, {std::to_string(kTpuCount)});
  }
  return spec;
}

void FillInMaster(bool no_gpu, TrainingJobSpec* job) {
  if (!job->gpu.given() && !job->tpu.given() && !no_gpu) {
    job->gpu = {1, std::string(kDefaultGpuType)};
  }
  if (job->machine_type.empty()) {
    job->machine_type = job->gpu.given() ? kDefaultGpuMachine : kDefaultCpuMachine;
  }
}

std::optional<AcceleratorProblem> CheckMachine(std::string_view machine) {
  if (FindMachine(machine) != nullptr) return std::nullopt;
  const std::string near = NearestWord(machine, MasterMachines());
  return AcceleratorProblem{
      fmt::format("`{}` is no machine type for a master", VisibleControls(machine)),
      near.empty() ? "such as `n1-standard-8`" : fmt::format("did you mean `{}`?", near),
      fmt::format("It is one of {}.", OneOf(MasterMachines()))};
}

std::optional<AcceleratorProblem> CheckGpuOnMachine(const AcceleratorSpec& gpu,
                                                    std::string_view machine) {
  const Machine* found = FindMachine(machine);
  if (found == nullptr || Takes(*found, gpu)) return std::nullopt;
  std::vector<std::string> others;
  for (const Machine& other : kMachines) {
    if (Takes(other, gpu)) others.emplace_back(other.name);
  }
  if (others.empty()) {
    return NowhereToBeHad(gpu, AcceleratorKind::kGpu, CountsAnywhere(gpu.type));
  }
  return AcceleratorProblem{fmt::format("`{}` does not take {}x{}", machine, gpu.count, gpu.type),
                            "take another machine or count",
                            fmt::format("Machines for {}x{}: {}. {}", gpu.count, gpu.type,
                                        Join(others, ", "), Advice(AcceleratorKind::kGpu))};
}

std::optional<AcceleratorProblem> CheckRegionOf(const AcceleratorSpec& accelerator,
                                                AcceleratorKind kind, std::string_view region) {
  const auto* row =
      std::find_if(std::begin(kRegions), std::end(kRegions),
                   [&](const TypeRegions& each) { return each.type == accelerator.type; });
  if (row == std::end(kRegions)) return std::nullopt;  // A100, which no machine takes
  const std::vector<std::string> regions = SplitWords(row->regions);
  if (std::find(regions.begin(), regions.end(), region) != regions.end()) return std::nullopt;
  return AcceleratorProblem{fmt::format("`{}` has no {}s of type {}", VisibleControls(region),
                                        NameOf(kind), accelerator.type),
                            OneOf(regions), Advice(kind)};
}

std::vector<std::string> MasterMachines() {
  std::vector<std::string> names;
  for (const Machine& machine : kMachines) names.emplace_back(machine.name);
  return names;
}

}  // namespace podctl
