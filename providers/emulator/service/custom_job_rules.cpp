// The second part of custom_jobs.h: what is pure.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "providers/emulator/service/custom_jobs.h"
#include "providers/emulator/service/times.h"

namespace podctl::emulator {
namespace {

using Names = std::vector<std::string_view>;

constexpr std::array<std::string_view, 16> kJobAccelerators = {"NVIDIA_TESLA_K80",
                                                               "NVIDIA_TESLA_P100",
                                                               "NVIDIA_TESLA_V100",
                                                               "NVIDIA_TESLA_P4",
                                                               "NVIDIA_TESLA_T4",
                                                               "NVIDIA_TESLA_A100",
                                                               "NVIDIA_A100_80GB",
                                                               "NVIDIA_L4",
                                                               "NVIDIA_H100_80GB",
                                                               "NVIDIA_H200_141GB",
                                                               "NVIDIA_H100_MEGA_80GB",
                                                               "NVIDIA_B200",
                                                               "TPU_V2",
                                                               "TPU_V3",
                                                               "TPU_V4_POD",
                                                               "TPU_V5_LITEPOD"};

constexpr std::size_t kLongestName = 128;
constexpr std::size_t kLongestLabel = 64;
constexpr std::size_t kMostLabels = 64;

Refusal UnknownName(const Value& object, const Names& known, const std::string& where) {
  for (const auto& [key, value] : object.AsMap()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return FieldViolation(
        where,
        fmt::format("Invalid JSON payload received. Unknown name \"{}\" at '{}': Cannot find "
                    "field.",
                    key, where));
  }
  return std::nullopt;
}

Refusal CheckMachine(const Value& machine, const std::string& where) {
  if (auto unknown = UnknownName(machine,
                                 {"machineType", "acceleratorType", "acceleratorCount",
                                  "gpuPartitionSize", "tpuTopology", "reservationAffinity"},
                                 where)) {
    return unknown;
  }
  const std::string& type = machine["machineType"].AsString();
  if (type.empty()) {
    return FieldViolation(where + ".machine_type", "Machine type must be specified.");
  }
  const std::string& accelerator = machine["acceleratorType"].AsString();
  const std::int64_t count = machine["acceleratorCount"].AsInt();
  const bool none = accelerator.empty() || accelerator == "ACCELERATOR_TYPE_UNSPECIFIED";
  if (!none && std::find(kJobAccelerators.begin(), kJobAccelerators.end(), accelerator) ==
                   kJobAccelerators.end()) {
    return FieldViolation(
        where + ".accelerator_type",
        fmt::format("Invalid value at '{}.accelerator_type' "
                    "(type.googleapis.com/google.cloud.aiplatform.v1.AcceleratorType), \"{}\"",
                    where, accelerator));
  }
  if (none != (count == 0)) {
    return InvalidArgument(none ? "Accelerator type must be set with an accelerator count."
                                : "Accelerator count must be positive with an accelerator type.");
  }
  const bool of_tpu = type == "cloud-tpu";
  const bool tpu = accelerator == "TPU_V2" || accelerator == "TPU_V3";
  if (of_tpu != tpu) {
    return InvalidArgument(
        fmt::format("Machine type \"{}\" does not go with accelerator type "
                    "\"{}\".",
                    type, none ? "none" : accelerator));
  }
  if (of_tpu && (count < 8 || count % 8 != 0)) {
    return InvalidArgument(fmt::format("{} {} are not available.", count, accelerator));
  }
  return std::nullopt;
}

// Each of a mount's fields is required.
Refusal CheckLustre(const Value::List& mounts, const std::string& pool) {
  const Names names = {"filesystem", "instanceIp", "mountPoint", "volumeHandle"};
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const std::string where = fmt::format("{}.lustre_mounts[{}]", pool, i);
    if (auto unknown = UnknownName(mounts[i], names, where)) return unknown;
    for (const std::string_view name : names) {
      if (!mounts[i][name].AsString().empty()) continue;
      return FieldViolation(where, fmt::format("Required field {} is not set.", name));
    }
  }
  return std::nullopt;
}

Refusal CheckPool(const Value& pool, std::size_t index) {
  const std::string where = fmt::format("custom_job.job_spec.worker_pool_specs[{}]", index);
  if (auto unknown = UnknownName(pool,
                                 {"machineSpec", "replicaCount", "containerSpec",
                                  "pythonPackageSpec", "diskSpec", "lustreMounts", "nfsMounts"},
                                 where)) {
    return unknown;
  }
  if (auto refused = CheckLustre(pool["lustreMounts"].AsList(), where)) return refused;
  // Pools after the first may be left out by an empty one.
  if (pool.AsMap().empty() && index > 0) return std::nullopt;
  if (auto refused = CheckMachine(pool["machineSpec"], where + ".machine_spec")) return refused;
  const std::int64_t replicas = pool["replicaCount"].AsInt();
  if (replicas < 1 || (index == 0 && replicas != 1)) {
    return InvalidArgument(index == 0 ? "The replica count of the first worker pool must be 1."
                                      : "The replica count of a worker pool must be positive.");
  }
  const Value* container = pool.Find("containerSpec");
  const Value* package = pool.Find("pythonPackageSpec");
  if ((container == nullptr) == (package == nullptr)) {
    return InvalidArgument(
        fmt::format("Exactly one of container_spec and python_package_spec must "
                    "be set in {}.",
                    where));
  }
  if (package != nullptr) return std::nullopt;
  if (auto unknown = UnknownName(*container, {"imageUri", "command", "args", "env"},
                                 where + ".container_spec")) {
    return unknown;
  }
  if ((*container)["imageUri"].AsString().empty()) {
    return FieldViolation(where + ".container_spec.image_uri", "Image URI must be specified.");
  }
  return std::nullopt;
}

bool IsJobLabel(const std::string& text) {
  return text.size() <= kLongestLabel && IsLabelText(text);
}

Refusal CheckJobLabels(const Value& labels) {
  if (labels.AsMap().size() > kMostLabels) return InvalidArgument("There are too many labels.");
  for (const auto& [key, value] : labels.AsMap()) {
    const bool good =
        !key.empty() && IsJobLabel(key) && value.is_string() && IsJobLabel(value.AsString());
    if (!good) return InvalidArgument(fmt::format("The label \"{}\" is invalid.", key));
  }
  return std::nullopt;
}

// Its state, since when it is in it, and when it began to run (0: never).
struct Course {
  std::string state;
  std::int64_t since = 0;
  std::int64_t started = 0;
};

Course CourseOf(const CustomJob& job, std::int64_t now, std::int64_t delay) {
  const std::int64_t pending = job.created_ms + delay;
  const std::int64_t running = pending + delay;
  const std::int64_t ends = running + kJobRunMs;
  // What stops it first: an incident, or somebody who cancels it.
  std::int64_t stopped = 0;
  if (job.struck_ms > 0) stopped = job.struck_ms;
  if (job.cancelled_ms > 0 && (stopped == 0 || job.cancelled_ms < stopped)) {
    stopped = job.cancelled_ms;
  }
  const bool runs_out = stopped == 0 || stopped > ends;
  const std::int64_t until = runs_out ? ends : stopped;
  Course course;
  course.started = until > running && now >= running ? running : 0;
  if (now < until) {
    course.state = now < pending   ? "JOB_STATE_QUEUED"
                   : now < running ? "JOB_STATE_PENDING"
                                   : "JOB_STATE_RUNNING";
    course.since = now < pending ? job.created_ms : now < running ? pending : running;
    return course;
  }
  course.since = until;
  if (runs_out) {
    course.state = "JOB_STATE_SUCCEEDED";
  } else if (stopped == job.struck_ms) {
    course.state = job.struck_as;
  } else if (now < stopped + delay) {
    course.state = "JOB_STATE_CANCELLING";
  } else {
    course.state = "JOB_STATE_CANCELLED";
    course.since = stopped + delay;
  }
  return course;
}

bool IsOver(std::string_view state) {
  return state == "JOB_STATE_SUCCEEDED" || state == "JOB_STATE_FAILED" ||
         state == "JOB_STATE_CANCELLED";
}

ApiError BadFilter(std::string_view text) {
  return InvalidArgument(fmt::format("Invalid filter: \"{}\".", text));
}

// Words parted by blanks; a value in double quotes is one with what stands before it.
std::optional<std::vector<std::string>> FilterWords(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (c == ' ' && !quoted) {
      if (!word.empty()) words.push_back(std::move(word));
      word.clear();
    } else if (c != '"') {
      word += c;
    }
  }
  if (quoted) return std::nullopt;
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

std::optional<JobTerm> ReadTerm(const std::string& word) {
  const auto at = word.find_first_of("=!:<>");
  if (at == std::string::npos || at == 0) return std::nullopt;
  JobTerm term;
  term.field = word.substr(0, at);
  const bool wide = at + 1 < word.size() && word[at + 1] == '=' && word[at] != '=';
  term.op = word.substr(at, wide ? 2 : 1);
  term.value = word.substr(at + term.op.size());
  if (term.op == "!") return std::nullopt;
  if (term.field == "display_name") term.field = "displayName";
  if (term.field == "create_time") term.field = "createTime";
  const bool label = term.field.starts_with("labels.") && (term.op == "=" || term.op == ":");
  const bool name = term.field == "displayName" && term.op.find_first_of("<>") == std::string::npos;
  const bool state = term.field == "state" && (term.op == "=" || term.op == "!=");
  const bool time = term.field == "createTime" && term.op != ":";
  if (!label && !name && !state && !time) return std::nullopt;
  return term;
}

// `*` at the end stands for anything.
bool Wildcard(std::string_view pattern, std::string_view text) {
  if (!pattern.ends_with('*')) return text == pattern;
  return text.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool Matches(const JobTerm& term, const Value& job) {
  if (term.field.starts_with("labels.")) {
    const Value* label = job["labels"].Find(std::string_view(term.field).substr(7));
    if (label == nullptr) return false;
    return term.op == ":" ? Wildcard(term.value, label->AsString())
                          : label->AsString() == term.value;
  }
  const std::string& text = job[term.field].AsString();
  if (term.op == ":") return Wildcard(term.value, text);
  // Times in this form compare as texts.
  const int order = text.compare(term.value);
  if (term.op == "=") return order == 0;
  if (term.op == "!=") return order != 0;
  if (term.op == "<") return order < 0;
  if (term.op == "<=") return order <= 0;
  return term.op == ">" ? order > 0 : order >= 0;
}

}  // namespace

Refusal CheckCustomJob(const Value& body) {
  if (auto unknown = UnknownName(body,
                                 {"name", "displayName", "jobSpec", "labels", "encryptionSpec",
                                  "state", "createTime", "startTime", "endTime", "updateTime",
                                  "error", "webAccessUris", "satisfiesPzi", "satisfiesPzs"},
                                 "custom_job")) {
    return unknown;
  }
  const std::string& name = body["displayName"].AsString();
  if (name.empty()) {
    return FieldViolation("custom_job.display_name", "Display name must be specified.");
  }
  if (name.size() > kLongestName) return InvalidArgument("The display name is too long.");
  if (auto refused = CheckJobLabels(body["labels"])) return refused;
  const Value::List& pools = body["jobSpec"]["workerPoolSpecs"].AsList();
  if (pools.empty()) {
    return FieldViolation("custom_job.job_spec.worker_pool_specs",
                          "At least one worker pool must be specified.");
  }
  for (std::size_t i = 0; i < pools.size(); ++i) {
    if (auto refused = CheckPool(pools[i], i)) return refused;
  }
  return std::nullopt;
}

Value JobView(const CustomJob& job, std::int64_t now, std::int64_t delay) {
  const Course course = CourseOf(job, now, delay);
  Value view = job.resource;
  view.Set("state", course.state);
  view.Set("createTime", TimeText(job.created_ms));
  view.Set("updateTime", TimeText(course.since));
  if (course.started > 0) view.Set("startTime", TimeText(course.started));
  if (IsOver(course.state)) view.Set("endTime", TimeText(course.since));
  if (course.state == "JOB_STATE_FAILED") {
    view.Set("error", MakeStatus("INVALID_ARGUMENT",
                                 "The replica workerpool0-0 exited with a non-zero status of 1.")
                          .RpcStatus());
  } else if (course.state == "JOB_STATE_CANCELLED") {
    view.Set("error", MakeStatus("CANCELLED", "CANCELED").RpcStatus());
  }
  return view;
}

bool IsJobOver(const CustomJob& job, std::int64_t now, std::int64_t delay) {
  return IsOver(CourseOf(job, now, delay).state);
}

std::variant<JobFilter, ApiError> ParseJobFilter(std::string_view text) {
  JobFilter filter;
  const auto words = FilterWords(text);
  if (!words) return BadFilter(text);
  bool expects_term = true;
  bool joins = false;  // the next term belongs to the last alternative
  bool negated = false;
  for (const std::string& word : *words) {
    if (word == "AND" || word == "OR") {
      if (expects_term) return BadFilter(text);
      joins = word == "OR";
      expects_term = true;
    } else if (word == "NOT") {
      negated = !negated;
    } else {
      auto term = ReadTerm(word);
      if (!term) return BadFilter(text);
      term->negated = std::exchange(negated, false);
      if (!joins || filter.empty()) filter.emplace_back();
      filter.back().push_back(*std::move(term));
      joins = false;
      expects_term = false;
    }
  }
  if (expects_term && !words->empty()) return BadFilter(text);
  return filter;
}

bool MatchesFilter(const JobFilter& filter, const Value& job) {
  return std::all_of(filter.begin(), filter.end(), [&](const std::vector<JobTerm>& any) {
    return std::any_of(any.begin(), any.end(),
                       [&](const JobTerm& term) { return Matches(term, job) != term.negated; });
  });
}

}  // namespace podctl::emulator
