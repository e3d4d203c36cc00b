#include "plans/kinds/kinds.h"

#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/record.h"
#include "plans/kinds/training_job/kind.h"
#include "plans/kinds/training_job/record.h"

namespace podctl {

RecordKinds RememberedKinds() {
  static const RecordCodec* const kKinds[] = {&PodRecord::Codec(), &StepRecord::Codec(),
                                              &TrainingRecord::Codec()};
  return kKinds;
}

BuiltInKinds::BuiltInKinds(const KindDoors& /*doors*/) {
  own_.push_back(MakeTrainingJobKind());
  for (const auto& kind : own_) all_.push_back(kind.get());
}

}  // namespace podctl
