// Pods (`pods` of a spec): TPU VMs of one host or many, as nodes of the Cloud TPU API, directly or
// through a queued resource.
#pragma once

#include <memory>

#include "plans/engine/kind.h"
#include "plans/spec/spec.h"

namespace podctl {

std::unique_ptr<const Kind> MakePodKind();

// What a spec says of a pod that is declared.
const PodSpec& WantedPod(const Declared& declared);

}  // namespace podctl
