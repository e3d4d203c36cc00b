// What is to be done about training jobs: spec × state × what the service says → changes. Pure.
//
// A job runs once: whether it succeeded or failed, the same spec does not run it again.
#pragma once

#include <string>
#include <vector>

#include "plans/change.h"
#include "plans/kinds/training_job/record.h"
#include "plans/planner.h"
#include "plans/refresh.h"
#include "plans/spec/spec.h"
#include "state/state.h"

namespace podctl {

// Adds one change for each training job of the spec and of the state, Keep included.
void PlanTraining(const Spec& spec, const State& state, const Observation& observation,
                  const PlanOptions& options, Plan* plan);

// The state brought up to what was observed: a job whose creation nobody heard of is taken up, one
// whose cancellation is complete is forgotten.
void SettleTraining(const Observation& observation, State* state, std::vector<std::string>* notes);

// What a plan shows of a job that is submitted.
std::vector<AttributeChange> SubmitAttributes(const TrainingJobSpec& job);

// A body as the spec would say it, sorted by path: "image", "tpuSpec", "labels.team".
std::vector<std::pair<std::string, Value>> WordsOfBody(const Value& body);

// "it is JOB_STATE_FAILED: the image was not found".
std::string JobSentence(const TrainingRecord& record);

}  // namespace podctl
