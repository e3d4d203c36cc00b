// The kinds of things that podctl looks after. Whoever adds one adds it here.
#pragma once

#include <memory>
#include <vector>

#include "plans/engine/kind.h"
#include "providers/os/file_system.h"

namespace podctl {

// Each made in its room (pod/kind.cpp and its like). Files: FileKind (file/kind.h).
//
// Pods (`pods` of a spec): TPU VMs of one host or many, as nodes of the Cloud TPU API, directly or
// through a queued resource.
std::unique_ptr<const Kind> MakePodKind();
// Bootstrap steps (`bootstrap` of a pod): what is run once on its workers, those that podctl makes
// itself among them. Each is a part of its pod.
std::unique_ptr<const Kind> MakeStepKind();
// Training jobs in the manner of Caliban (`trainingJobs` of a spec), run by Vertex AI.
std::unique_ptr<const Kind> MakeTrainingJobKind();
// Outputs (`outputs` of a spec): values that an apply leaves in the state for others.
std::unique_ptr<const Kind> MakeOutputKind();

// As a state remembers them, in the order in which they are told.
RecordKinds RememberedKinds();

// What kinds need of the world besides the provider of pods.
struct KindDoors {
  FileSystem& files;
};

// All of them, in an order in which later ones may build on earlier ones.
class BuiltInKinds {
 public:
  explicit BuiltInKinds(const KindDoors& doors);

  KnownKinds known() const { return {all_, RememberedKinds()}; }

 private:
  std::vector<std::unique_ptr<const Kind>> own_;
  std::vector<const Kind*> all_;
};

}  // namespace podctl
