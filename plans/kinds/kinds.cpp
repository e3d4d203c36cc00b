#include "plans/kinds/kinds.h"

#include "plans/kinds/file/kind.h"
#include "plans/kinds/file/record.h"
#include "plans/kinds/output/record.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/record.h"
#include "plans/kinds/training_job/record.h"

namespace podctl {

RecordKinds RememberedKinds() {
  static const RecordCodec* const kKinds[] = {&PodRecord::Codec(), &StepRecord::Codec(),
                                              &TrainingRecord::Codec(), &FileRecord::Codec(),
                                              &OutputRecord::Codec()};
  return kKinds;
}

BuiltInKinds::BuiltInKinds(const KindDoors& doors) {
  own_.push_back(MakePodKind());
  own_.push_back(MakeStepKind());
  own_.push_back(MakeTrainingJobKind());
  own_.push_back(std::make_unique<FileKind>(doors.files));
  own_.push_back(MakeOutputKind());
  for (const auto& kind : own_) all_.push_back(kind.get());
}

}  // namespace podctl
