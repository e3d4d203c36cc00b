// What is to be done about a training job: spec × state × what the service says → a change. Pure.
//
// A job runs once: whether it succeeded or failed, the same spec does not run it again.
#pragma once

#include <string>
#include <vector>

#include "plans/engine/kind.h"
#include "plans/kinds/training_job/spec.h"

namespace podctl {

Verdict JudgeTraining(const Kind& kind, const Judged& it);

// The state brought up to what was observed: a job whose creation nobody heard of is taken up, one
// whose cancellation is complete is forgotten.
bool SettleTraining(const Address& address, const Value& job, AnyRecord* record,
                    std::vector<std::string>* notes);

// What a plan shows of a job that is submitted.
std::vector<AttributeChange> SubmitAttributes(const TrainingJobSpec& job);

}  // namespace podctl
