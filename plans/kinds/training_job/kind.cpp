// Declared in plans/kinds/kinds.h.
#include <fmt/format.h>

#include "plans/engine/plan_file/archive.h"
#include "plans/kinds/kinds.h"
#include "plans/kinds/training_job/plan.h"
#include "plans/kinds/training_job/record.h"
#include "plans/kinds/training_job/requests.h"
#include "plans/spec/yaml_tree.h"
#include "providers/custom_jobs.h"
#include "providers/provider.h"
#include "state/state_json.h"

namespace podctl {

// What a saved plan holds of them (plan_file/archive.h).
PODCTL_MEMBERS(AcceleratorSpec, count, type)
PODCTL_MEMBERS(TrainingJobSpec, name, project, region, tpu, gpu, machine_type, image, args, labels,
               depends_on, place)

namespace {

const TrainingJobSpec& JobOf(const Change& change) {
  return *change.payload.As<TrainingJobSpec>();
}

class TrainingJobKind final : public plan_file::KindOf<TrainingJobSpec> {
 public:
  const RecordCodec& codec() const override { return TrainingRecord::Codec(); }

  Key SectionKey() const override {
    return {std::string(section()), "Custom jobs of Vertex AI, planned and applied like pods.",
            shape::MapOf(kThingNamePattern, TrainingJobShape())};
  }
  Declared Read(const YamlEntry& entry, const Section& section) const override {
    TrainingJobSpec job = ReadTrainingJob(entry, section);
    const SourcePlace place = job.place;
    return {TrainingAddress(job.name), place, Payload(std::move(job), this)};
  }

  void Resolved(Declared* declared) const override {
    if (declared->builds_on.empty()) return;
    declared->wanted.Edit<TrainingJobSpec>()->depends_on = declared->builds_on;
  }
  std::vector<Address> BuiltOn(const AnyRecord& record) const override {
    return record.As<TrainingRecord>().depends_on;
  }

  std::vector<std::string> published() const override {
    return {"id", "state", "project", "region"};
  }
  Value Published(const AnyRecord& any) const override {
    const auto& record = any.As<TrainingRecord>();
    Value values = Value::EmptyMap();
    values.Set("project", record.project);
    values.Set("region", record.region);
    if (!record.current.locator.empty()) values.Set("id", record.current.locator);
    if (!record.state.empty()) values.Set("state", record.state);
    return values;
  }

  std::optional<Look> Looks(const Declared* /*declared*/, const AnyRecord* any,
                            bool refresh) const override {
    if (any == nullptr) return std::nullopt;
    const auto& record = any->As<TrainingRecord>();
    const auto pending = record.pending();
    const bool known = !record.current.locator.empty();
    if ((!refresh || !known) && !pending) return std::nullopt;
    return [record, known](Provider& provider, std::stop_token stop) -> Result<Value> {
      CustomJobs* jobs = provider.custom_jobs();
      if (jobs == nullptr) {
        return MakeError(ErrorCode::kUnimplemented, "this service has no training jobs");
      }
      return known ? jobs->Get(record.current.locator, std::move(stop))
                   : jobs->Find(record.project, record.region, std::string(kRequestLabel),
                                record.pending()->request_id, std::move(stop));
    };
  }

  bool Settle(const Address& address, const Value& seen, const std::string& /*digest_key*/,
              AnyRecord* record, std::vector<std::string>* notes) const override {
    return SettleTraining(address, seen, record, notes);
  }

  std::unique_ptr<KindPlan> Begin(const PlanningContext& /*question*/) const override {
    return EachByItself(*this, JudgeTraining);
  }

  std::string WhatCannotBe(const Change& change) const override {
    if (change.address != TrainingAddress(JobOf(change).name)) return "is no address of a change";
    const bool can = change.verb != Verb::kUpdate && change.verb != Verb::kCreateThenDelete &&
                     change.verb != Verb::kRun;
    if (!can) return "cannot be changed so";
    TrainingRecord record;
    record.project = JobOf(change).project;
    record.region = JobOf(change).region;
    record.current.life = Creating{};
    const std::string why = IsDelete(change) ? "" : WhyUnreadable(record, change.address);
    return why.empty() ? "" : "could not be remembered: " + why;
  }
  std::vector<AttributeChange> ShownOf(const Change& change,
                                       const ReferenceLookup& nodes) const override {
    return SubmitAttributes(JobOf(change), nodes);
  }

  std::vector<Particular> ParticularsOf(const Change& change,
                                        const AnyRecord* /*prior*/) const override {
    std::vector<Particular> particulars;
    for (const std::string& arg : JobOf(change).args) {
      if (!FindReferences(arg).empty()) particulars.push_back({"args", arg});
    }
    return particulars;
  }

  // That a job begins to run matters to no plan; that it ends, or is gone, does.
  Value PreconditionOf(const Change& change, const Value& seen) const override {
    if (!IsReplace(change) && !IsDelete(change)) return {};
    return seen.is_null() ? Value("") : seen["state"];
  }
  std::string DiffersFrom(const Value& precondition, const Value& seen) const override {
    const std::string now = seen.is_null() ? "" : seen["state"].AsString();
    if (now == precondition.AsString()) return "";
    if (now.empty()) return "the job was deleted";
    return PhaseOfJob(now) == JobPhase::kOver
               ? fmt::format("it is {} and was {}", now, precondition.AsString())
               : "";
  }

  // Of a job that stays: what is replaced or goes depends on what it did, until the task is done.
  void Note(const Change& change, TaskContext& context) const override {
    const auto* record = context.journal.Get<TrainingRecord>(change.address);
    const std::vector<Address>& now = JobOf(change).depends_on;
    if (!LivesOn(change) || record == nullptr || record->depends_on == now) return;
    context.journal.Edit<TrainingRecord>(change.address).depends_on = now;
  }
  std::unique_ptr<Task> MakeTask(const Change& change, TaskContext& context) const override {
    return MakeTrainingTask(change, context);
  }

  // A job is submitted once, and then runs by itself.
  ChangeWords WordsOf(const Change& change) const override {
    ChangeWords words;
    words.title = fmt::format("{} (in {})", change.address, JobOf(change).region);
    switch (change.verb) {
      case Verb::kCreate:
        words.headline =
            change.begun ? "is submitted, and will be waited for" : "will be submitted";
        words.While("Submitting", "Still waiting to run", "Submission complete");
        break;
      case Verb::kDelete:
        words.headline = "will be cancelled, and forgotten";
        words.action = "cancel, and forget";
        words.While("Cancelling", "Still cancelling", "Cancellation complete");
        break;
      case Verb::kForget:
        words.headline = "has ended, and will be forgotten";
        words.action = "forget (it has ended)";
        words.While("Forgetting", "Still forgetting", "Forgotten");
        break;
      case Verb::kKeep:
        if (change.reason.empty()) break;
        words.remark = change.reason;
        if (words.remark.ends_with('.')) words.remark.pop_back();
        words.advice = fmt::format("The same spec does not run it again; `--replace {}` does.",
                                   change.address);
        break;
      default:
        break;
    }
    return words;
  }

  // The service decides its id and state when it is submitted.
  ShownObject After(const Change& change) const override {
    const TrainingJobSpec& job = JobOf(change);
    ShownObject after;
    after.values = ValuesOf(job.project, job.region, BodyAsWritten(job));
    for (const AttributeChange& line : change.attributes) {
      if (line.path != "args") continue;
      if (line.known && line.after) after.values.Set("args", *line.after);
      if (!line.known) {
        after.values.Set("args", Value());
        after.unknown.Set("args", true);
      }
    }
    after.unknown.Set("id", true);
    after.unknown.Set("state", true);
    return after;
  }
  std::vector<Configured> ConfiguredOf(const Change& change) const override {
    Value words = Value::EmptyMap();
    for (auto& [path, value] : WordsOfBody(BodyAsWritten(JobOf(change)))) {
      words.MutableMap()[path] = std::move(value);
    }
    return {{change.address, std::move(words), JobOf(change).depends_on}};
  }
};

}  // namespace

std::unique_ptr<const Kind> MakeTrainingJobKind() {
  return std::make_unique<TrainingJobKind>();
}

}  // namespace podctl
