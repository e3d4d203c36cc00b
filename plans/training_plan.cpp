#include "plans/training_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "plans/kinds/training_job/record.h"
#include "plans/targets.h"
#include "plans/training/requests.h"
#include "plans/training_change.h"
#include "providers/custom_jobs.h"
#include "state/transitions.h"

namespace podctl {
namespace {

using Words = std::map<std::string, Value>;

// "8xV3" of {TPU_V3, 8}.
std::string Accelerators(const Value& machine) {
  std::string type = machine["acceleratorType"].AsString();
  for (const std::string_view prefix : {"NVIDIA_TESLA_", "TPU_"}) {
    if (type.starts_with(prefix)) type.erase(0, prefix.size());
  }
  return type.empty() ? "none" : fmt::format("{}x{}", machine["acceleratorCount"].AsInt(), type);
}

Words WordsOf(const std::string& project, const std::string& region, const Value& body) {
  Words words;
  for (auto& [path, value] : WordsOfBody(body)) words[path] = std::move(value);
  words["project"] = project;
  words["region"] = region;
  return words;
}

Words WordsOf(const TrainingJobSpec& job) {
  return WordsOf(job.project, job.region, CustomJobBody(job));
}

Words WordsOf(const TrainingRecord& record) {
  return WordsOf(record.project, record.region, record.applied);
}

std::vector<AttributeChange> Lines(const Words& before, const Words& after, bool forces) {
  std::set<std::string> paths;
  for (const auto& [path, value] : before) paths.insert(path);
  for (const auto& [path, value] : after) paths.insert(path);
  std::vector<AttributeChange> lines;
  for (const std::string& path : paths) {
    const auto old = before.find(path);
    const auto now = after.find(path);
    AttributeChange line;
    line.path = path;
    if (old != before.end()) line.before = old->second;
    if (now != after.end()) line.after = now->second;
    line.forces_replacement = forces;
    if (line.before != line.after) lines.push_back(std::move(line));
  }
  return lines;
}

class TrainingPlanner {
 public:
  TrainingPlanner(const State& state, const Observation& observation, const PlanOptions& options,
                  std::vector<Drift>* drift)
      : state_(state),
        observation_(observation),
        options_(options),
        again_(AddressesIn(options.replace)),
        drift_(*drift) {}

  Change PlanJob(const TrainingJobSpec& job) {
    Change change;
    change.address = TrainingAddress(job.name);
    change.payload = TrainingChange{job};
    change.place = job.place;
    const TrainingRecord* found = TrainingJobs(state_).Get(change.address);
    if (found == nullptr) {
      PlanNew(job, &change);
    } else {
      PlanKnown(job, *found, &change);
    }
    return change;
  }

  Change PlanGone(const Address& address, const TrainingRecord& record) const {
    Change change;
    change.address = address;
    TrainingJobSpec gone;
    gone.name = address.name;
    gone.project = record.project;
    gone.region = record.region;
    change.payload = TrainingChange{std::move(gone)};
    if (options_.mode != PlanMode::kDestroy) {
      change.reason_code = ReasonCode::kNoConfiguration;
      change.reason = "it is not in the spec";
    }
    change.verb = IsOver(address, record) ? Verb::kForget : Verb::kDelete;
    change.attributes = Lines(WordsOf(record), {}, false);
    return change;
  }

 private:
  // Nothing can be cancelled any more.
  bool IsOver(const Address& address, const TrainingRecord& record) const {
    if (record.current.locator.empty()) return false;  // nobody knows
    return IsMissing(address) || PhaseOfJob(record.state) == JobPhase::kOver;
  }
  // The service was asked, and has no such job.
  bool IsMissing(const Address& address) const {
    const auto seen = observation_.training.find(address);
    return seen != observation_.training.end() && seen->second.is_null();
  }

  static void PlanNew(const TrainingJobSpec& job, Change* change) {
    change->verb = Verb::kCreate;
    change->attributes = SubmitAttributes(job);
  }

  void PlanKnown(const TrainingJobSpec& job, const TrainingRecord& record, Change* change) {
    if (record.current.locator.empty()) {
      change->reason = "an earlier run ended before it heard whether it was submitted";
      return PlanNew(job, change);
    }
    const JobPhase phase = PhaseOfJob(record.state);
    if (IsMissing(change->address) && phase != JobPhase::kOver) {
      drift_.push_back(
          {Drift::Kind::kVanished, change->address, "is gone: somebody deleted the job", {}});
      return PlanNew(job, change);
    }
    const std::vector<AttributeChange> lines = Lines(WordsOf(record), WordsOf(job), true);
    if (!lines.empty()) {
      std::vector<std::string> paths;
      for (const AttributeChange& line : lines) paths.push_back(line.path);
      change->reason_code = ReasonCode::kCannotUpdate;
      change->reason = fmt::format("{} cannot be changed in place", fmt::join(paths, ", "));
    } else if (again_.contains(change->address)) {
      change->reason_code = ReasonCode::kByRequest;
      change->reason = "it was requested";
    } else if (record.pending() && record.pending()->kind == PendingAction::Kind::kDelete) {
      change->reason_code = ReasonCode::kTainted;
      change->reason = "it is being cancelled by an earlier run";
    } else if (phase == JobPhase::kWaiting) {
      change->verb = Verb::kCreate;
      change->begun = true;
      change->reason = fmt::format("it is {}", record.state.empty() ? "submitted" : record.state);
      return;
    } else {
      change->verb = Verb::kKeep;
      if (phase != JobPhase::kRunning) change->reason = JobSentence(record);
      return;
    }
    if (phase != JobPhase::kOver) {
      change->reason += "; the job that is there now is cancelled first";
    }
    change->verb = Verb::kDeleteThenCreate;
    change->attributes = lines;
  }

  const State& state_;
  const Observation& observation_;
  const PlanOptions& options_;
  const std::set<Address> again_;
  std::vector<Drift>& drift_;
};

}  // namespace

std::vector<AttributeChange> SubmitAttributes(const TrainingJobSpec& job) {
  return Lines({}, WordsOf(job), false);
}

std::vector<std::pair<std::string, Value>> WordsOfBody(const Value& body) {
  Words words;
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

std::string JobSentence(const TrainingRecord& record) {
  const std::string state = record.state.empty() ? "JOB_STATE_UNSPECIFIED" : record.state;
  return record.error.empty() ? "it is " + state : fmt::format("it is {}: {}", state, record.error);
}

void PlanTraining(const Spec& spec, const State& state, const Observation& observation,
                  const PlanOptions& options, Plan* plan) {
  if (options.mode == PlanMode::kRefreshOnly) return;
  TrainingPlanner planner(state, observation, options, &plan->drift);
  std::set<Address> named;
  if (options.mode != PlanMode::kDestroy) {
    for (const TrainingJobSpec& job : spec.training_jobs) {
      named.insert(TrainingAddress(job.name));
      plan->changes.push_back(planner.PlanJob(job));
    }
  }
  for (const auto& [address, record] : TrainingJobs(state)) {
    if (!named.contains(address)) plan->changes.push_back(planner.PlanGone(address, record));
  }
}

void SettleTraining(const Observation& observation, State* state, std::vector<std::string>* notes) {
  std::vector<Address> gone;
  for (const auto& [address, job] : observation.training) {
    if (!TrainingJobs(*state).contains(address)) continue;
    TrainingRecord& record = TrainingJobs(*state)[address];
    const bool was_unheard = record.current.locator.empty();
    if (!job.is_null()) {
      record.current.locator = job["name"].AsString();
      record.state = job["state"].AsString();
      record.error = job["error"]["message"].AsString();
    }
    if (was_unheard && !record.current.locator.empty()) {
      Finish(&record);
      notes->push_back(fmt::format(
          "{}: an earlier run had submitted it; the job is there and is taken up", address));
    }
    const bool cancels = record.pending() && record.pending()->kind == PendingAction::Kind::kDelete;
    if (cancels && (job.is_null() || PhaseOfJob(record.state) == JobPhase::kOver)) {
      gone.push_back(address);
      notes->push_back(
          fmt::format("{}: its cancellation, begun by an earlier run, is complete", address));
    }
  }
  for (const Address& address : gone) TrainingJobs(*state).erase(address);
}

}  // namespace podctl
