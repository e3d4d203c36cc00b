// What the plan of a training job says beyond what every change says.
#pragma once

#include "plans/change.h"
#include "plans/spec/spec.h"

namespace podctl {

struct TrainingChange {
  // As the spec wants it; of one that goes, as far as the state knows: its name and its place.
  TrainingJobSpec job;
};

// nullptr: the change is not a training job's.
inline const TrainingJobSpec* AsTraining(const Change& change) {
  const auto* training = change.payload.As<TrainingChange>();
  return training == nullptr ? nullptr : &training->job;
}

}  // namespace podctl
