#include "plans/kinds/training_job/plan.h"

#include <fmt/format.h>

#include <map>

#include "plans/kinds/training_job/record.h"
#include "plans/kinds/training_job/requests.h"
#include "plans/spec/references.h"
#include "providers/custom_jobs.h"
#include "state/transitions.h"

namespace podctl {
namespace {

using Words = std::map<std::string, Value>;

Words WordsOf(const std::string& project, const std::string& region, const Value& body) {
  Words words;
  for (auto& [path, value] : WordsOfBody(body)) words[path] = std::move(value);
  words["project"] = project;
  words["region"] = region;
  return words;
}

// `args` is null where what they refer to is not known.
Words WordsOf(const TrainingJobSpec& job, const ReferenceLookup& nodes) {
  const auto known = WithReferences(job, nodes);
  Words words = WordsOf(job.project, job.region, CustomJobBody(known.value_or(job)));
  if (!known) words["args"] = Value();
  return words;
}

Words WordsOf(const TrainingRecord& record) {
  return WordsOf(record.project, record.region, record.applied);
}

std::vector<AttributeChange> Lines(const Words& before, const Words& after, bool forces) {
  std::vector<AttributeChange> lines;
  EachOf(before, after, [&](const std::string& path, const Value* old, const Value* now) {
    AttributeChange line{.path = path, .forces_replacement = forces};
    if (old != nullptr) line.before = *old;
    if (now != nullptr) line.after = *now;
    line.known = now == nullptr || !now->is_null();
    if (!line.known) line.after.reset();
    if (!line.known || line.before != line.after) lines.push_back(std::move(line));
  });
  return lines;
}

// Nothing can be cancelled any more.
bool IsOver(const TrainingRecord& record, bool missing) {
  if (record.current.locator.empty()) return false;  // nobody knows
  return missing || PhaseOfJob(record.state) == JobPhase::kOver;
}

void PlanGone(const TrainingRecord& record, bool missing, Change* change) {
  change->verb = IsOver(record, missing) ? Verb::kForget : Verb::kDelete;
  change->attributes = Lines(WordsOf(record), {}, false);
}

void PlanNew(const TrainingJobSpec& job, const PlanInput& it, Change* change) {
  change->verb = Verb::kCreate;
  change->attributes = SubmitAttributes(job, it.nodes);
}

void PlanKnown(const TrainingJobSpec& job, const TrainingRecord& record, const PlanInput& it,
               bool missing, Verdict* verdict) {
  Change* change = &verdict->change;
  if (record.current.locator.empty()) {
    change->reason = it.at_work.empty()
                         ? "an earlier run ended before it heard whether it was submitted"
                         : fmt::format("{} submits it", it.at_work);
    return PlanNew(job, it, change);
  }
  const JobPhase phase = PhaseOfJob(record.state);
  if (missing && phase != JobPhase::kOver) {
    verdict->drift.push_back(
        {Drift::Kind::kVanished, it.address, "is gone: somebody deleted the job", {}});
    change->reason = "the job is gone: somebody deleted it";
    return PlanNew(job, it, change);
  }
  const std::vector<AttributeChange> lines = Lines(WordsOf(record), WordsOf(job, it.nodes), true);
  if (!lines.empty()) {
    std::vector<std::string> paths;
    for (const AttributeChange& line : lines) paths.push_back(line.path);
    change->reason_code = ReasonCode::kCannotUpdate;
    change->reason = fmt::format("{} cannot be changed in place", fmt::join(paths, ", "));
  } else if (it.again) {
    change->reason_code = ReasonCode::kByRequest;
    change->reason = "it was requested";
  } else if (record.pending() && record.pending()->kind == PendingAction::Kind::kDelete) {
    change->reason_code = ReasonCode::kTainted;
    change->reason = fmt::format("it is being cancelled by {}",
                                 it.at_work.empty() ? "an earlier run" : it.at_work);
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

}  // namespace

std::optional<TrainingJobSpec> WithReferences(TrainingJobSpec job, const ReferenceLookup& lookup) {
  for (std::string& arg : job.args) {
    auto text = RenderText(arg, lookup);
    if (!text) return std::nullopt;
    arg = *std::move(text);
  }
  return job;
}

Value BodyAsWritten(const TrainingJobSpec& job) {
  const auto nothing = [](const Address&) -> const Value* { return nullptr; };
  return CustomJobBody(WithReferences(job, nothing).value_or(job));
}

std::vector<AttributeChange> SubmitAttributes(const TrainingJobSpec& job,
                                              const ReferenceLookup& nodes) {
  return Lines({}, WordsOf(job, nodes), false);
}

Verdict JudgeTraining(const Kind& kind, const PlanInput& it) {
  Verdict verdict;
  if (it.mode == PlanMode::kRefreshOnly) return verdict;
  const TrainingRecord* record = it.record == nullptr ? nullptr : &it.record->As<TrainingRecord>();
  const bool missing = it.seen != nullptr && it.seen->is_null();
  if (it.declared == nullptr) {
    TrainingJobSpec gone;
    gone.name = it.address.name;
    gone.project = record->project;
    gone.region = record->region;
    verdict.change.payload = Payload(std::move(gone), &kind);
    PlanGone(*record, missing, &verdict.change);
    return verdict;
  }
  const auto& job = *it.declared->wanted.As<TrainingJobSpec>();
  for (const std::string& arg : job.args) {
    const auto unusable = FindUnusable(arg, it.nodes);
    if (!unusable) continue;
    Diagnostic refusal;
    refusal.summary = fmt::format("{} refers to {}", it.address, unusable->words);
    refusal.detail = unusable->hint;
    verdict.refusals.push_back(std::move(refusal));
  }
  verdict.change.payload = it.declared->wanted;
  if (record == nullptr) {
    PlanNew(job, it, &verdict.change);
  } else {
    PlanKnown(job, *record, it, missing, &verdict);
  }
  if (IsKeep(verdict.change)) {
    if (auto known = WithReferences(job, it.nodes)) {
      for (std::string& arg : known->args) arg = EscapeTemplate(arg);
      verdict.change.payload = Payload(*std::move(known), &kind);
    }
  }
  return verdict;
}

bool SettleTraining(const Address& address, const Value& job, AnyRecord* any,
                    std::vector<std::string>* notes) {
  auto& record = any->Edit<TrainingRecord>();
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
  if (!cancels || !(job.is_null() || PhaseOfJob(record.state) == JobPhase::kOver)) return true;
  notes->push_back(
      fmt::format("{}: its cancellation, begun by an earlier run, is complete", address));
  return false;
}

}  // namespace podctl
