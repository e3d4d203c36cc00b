#include "plans/kinds/training_job/requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "plans/kinds/training_job/accelerators.h"

namespace podctl {
namespace {

constexpr std::size_t kLongestLabel = 63;
constexpr const char* kTfVersion = "1.14";

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

}  // namespace podctl
