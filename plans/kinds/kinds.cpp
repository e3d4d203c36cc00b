#include "plans/kinds/kinds.h"

#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/record.h"
#include "plans/kinds/training_job/record.h"

namespace podctl {

RecordKinds RememberedKinds() {
  static const RecordCodec* const kKinds[] = {&PodRecord::Codec(), &StepRecord::Codec(),
                                              &TrainingRecord::Codec()};
  return kKinds;
}

}  // namespace podctl
