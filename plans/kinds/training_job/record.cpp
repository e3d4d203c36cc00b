#include "plans/kinds/training_job/record.h"

#include <fmt/format.h>

#include <map>

#include "providers/base/json.h"
#include "providers/gcp/tpu_schema.h"
#include "state/record_codec.h"

namespace podctl {
namespace {

// "8xV3" of {TPU_V3, 8}.
std::string Accelerators(const Value& machine) {
  std::string type = machine["acceleratorType"].AsString();
  for (const std::string_view prefix : {"NVIDIA_TESLA_", "TPU_"}) {
    if (type.starts_with(prefix)) type.erase(0, prefix.size());
  }
  return type.empty() ? "none" : fmt::format("{}x{}", machine["acceleratorCount"].AsInt(), type);
}

class TrainingCodec final : public RecordCodecOf<TrainingRecord> {
 public:
  std::string_view old_locator() const override { return "job"; }
  int since_version() const override { return 3; }

  std::string_view noun() const override { return "training job"; }
  std::string_view form() const override { return "trainingJob.NAME"; }
  std::string_view section() const override { return "trainingJobs"; }
  std::string_view forget_risk() const override {
    return "a job that runs after all goes on and costs, and no state knows it.";
  }

  std::vector<std::pair<std::string, std::string>> Lines(const AnyRecord& any) const override {
    const auto& record = any.As<TrainingRecord>();
    std::vector<std::pair<std::string, std::string>> lines;
    for (const auto& [path, value] : WordsOfBody(record.applied)) {
      lines.emplace_back(path, ToJson(value));
    }
    lines.emplace_back("project", ToJson(Value(record.project)));
    lines.emplace_back("region", ToJson(Value(record.region)));
    if (!record.current.locator.empty()) {
      lines.emplace_back("id", ToJson(Value(record.current.locator)));
    }
    if (!record.state.empty()) lines.emplace_back("state", ToJson(Value(record.state)));
    if (!record.error.empty()) lines.emplace_back("error", ToJson(Value(record.error)));
    return lines;
  }

  Value Document(const AnyRecord& any) const override {
    const auto& record = any.As<TrainingRecord>();
    Value job = Value::EmptyMap();
    job.Set("project", record.project);
    job.Set("region", record.region);
    job.Set("id", record.current.locator);
    job.Set("state", record.state);
    if (!record.error.empty()) job.Set("error", record.error);
    job.Set("applied", record.applied);
    return job;
  }

  std::vector<NamedObject> Named(const AnyRecord& any) const override {
    const Object& job = any.As<TrainingRecord>().current;
    if (job.locator.empty()) return {};
    return {{job.locator, job}};
  }

  ShownObject Shown(const AnyRecord& any) const override {
    const auto& record = any.As<TrainingRecord>();
    ShownObject object;
    object.values = ValuesOf(record.project, record.region, record.applied);
    if (!record.current.locator.empty()) object.values.Set("id", record.current.locator);
    if (!record.state.empty()) object.values.Set("state", record.state);
    return object;
  }

  std::vector<std::string> StatusHeader() const override {
    return {"TRAINING JOB", "STATE", "ACCELERATORS", "REGION", "ID"};
  }

  std::vector<std::string> StatusRow(const std::string& name, const AnyRecord& any,
                                     const Value* seen) const override {
    const auto& record = any.As<TrainingRecord>();
    std::string accelerators;
    for (const auto& [path, value] : WordsOfBody(record.applied)) {
      const bool counts = path == "gpuSpec" || path == "tpuSpec";
      if (!counts || value.AsString() == "none") continue;
      accelerators += (accelerators.empty() ? "" : ", ") + value.AsString();
    }
    const std::string& id = record.current.locator;
    const bool gone = seen != nullptr && seen->is_null();
    const std::string state = id.empty() ? "PENDING" : gone ? "GONE" : record.state;
    return {name, state.empty() ? "-" : state, accelerators.empty() ? "-" : accelerators,
            record.region, id.empty() ? "-" : id.substr(id.rfind('/') + 1)};
  }
  bool IsGood(const std::string& state) const override {
    return state == "JOB_STATE_RUNNING" || state == "JOB_STATE_SUCCEEDED";
  }

 private:
  void Read(ObjectReader& in, int /*version*/, TrainingRecord* job) const override {
    job->project = in.Text("project");
    job->region = in.Text("region");
    if (!job->project.empty() && !gcp::IsProjectId(job->project)) {
      in.Fail(fmt::format("has a project that is none, `{}`", job->project));
    }
    if (!job->region.empty() && !gcp::IsLocation(job->region)) {
      in.Fail(fmt::format("has a region that is none, `{}`", job->region));
    }
    job->applied = in.Any("applied");
    job->state = in.Text("state");
    job->error = in.Text("error");
    job->depends_on = in.SpareAddresses("depends_on");
  }

  void Write(const TrainingRecord& job, ObjectWriter& out) const override {
    out.Member("applied", job.applied);
    out.Spare("depends_on", job.depends_on);
    out.Member("error", job.error);
    out.Member("project", job.project);
    out.Member("region", job.region);
    out.Member("state", job.state);
  }
};

}  // namespace

std::vector<std::pair<std::string, Value>> WordsOfBody(const Value& body) {
  std::map<std::string, Value> words;
  const Value::List& pools = body["jobSpec"]["workerPoolSpecs"].AsList();
  if (!pools.empty()) {
    const Value& machine = pools.front()["machineSpec"];
    const Value& container = pools.front()["containerSpec"];
    words["machineType"] = machine["machineType"];
    words["gpuSpec"] = Accelerators(machine);
    words["image"] = container["imageUri"];
    if (!container["args"].AsList().empty()) words["args"] = container["args"];
  }
  if (pools.size() > 1) words["tpuSpec"] = Accelerators(pools[1]["machineSpec"]);
  for (const auto& [key, value] : body["labels"].AsMap()) words["labels." + key] = value;
  return {words.begin(), words.end()};
}

Value ValuesOf(const std::string& project, const std::string& region, const Value& body) {
  Value values = Value::EmptyMap();
  for (auto& [path, value] : WordsOfBody(body)) {
    const auto dot = path.find('.');  // of a label, whose key may hold more of them
    if (dot == std::string::npos) {
      values.Set(path, value);
    } else {
      Value below = values[path.substr(0, dot)];
      below.Set(path.substr(dot + 1), value);
      values.Set(path.substr(0, dot), std::move(below));
    }
  }
  values.Set("project", project);
  values.Set("region", region);
  return values;
}

std::string JobSentence(const TrainingRecord& record) {
  const std::string state = record.state.empty() ? "JOB_STATE_UNSPECIFIED" : record.state;
  return record.error.empty() ? "it is " + state : fmt::format("it is {}: {}", state, record.error);
}

const RecordCodec& TrainingRecord::Codec() {
  static const TrainingCodec codec;
  return codec;
}

Address TrainingAddress(const std::string& job) {
  return {std::string(kTrainingKind), job};
}

}  // namespace podctl
