// What is to be done about a training job: spec × state × what the service says → a change. Pure.
//
// A job runs once: whether it succeeded or failed, the same spec does not run it again.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plans/engine/kind.h"
#include "plans/engine/task.h"
#include "plans/kinds/training_job/spec.h"
#include "plans/spec/shape.h"

namespace podctl {

Verdict JudgeTraining(const Kind& kind, const PlanInput& it);

// The state brought up to what was observed: a job whose creation nobody heard of is taken up, one
// whose cancellation is complete is forgotten.
bool SettleTraining(const Address& address, const Value& job, AnyRecord* record,
                    std::vector<std::string>* notes);

// The job with its references put in, its arguments being plain text then; nullopt: one of them is
// not known yet.
std::optional<TrainingJobSpec> WithReferences(TrainingJobSpec job, const ReferenceLookup& lookup);
// The body of customJobs.create; references stand in it as they are written.
Value BodyAsWritten(const TrainingJobSpec& job);

// What a plan shows of a job that is submitted.
std::vector<AttributeChange> SubmitAttributes(const TrainingJobSpec& job,
                                              const ReferenceLookup& nodes);

std::unique_ptr<Task> MakeTrainingTask(const Change& change, TaskContext& context);

// The table of an entry of `trainingJobs`.
const Shape& TrainingJobShape();

// An entry of `trainingJobs`, in the manner of Caliban, checked against its grammar and its tables
// (requests.h). What is wrong is reported, and the rest read all the same.
TrainingJobSpec ReadTrainingJob(const YamlEntry& entry, const Section& section);

}  // namespace podctl
