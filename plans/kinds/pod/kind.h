// Pods (`pods` of a spec): TPU VMs of one host or many, as nodes of the Cloud TPU API, directly or
// through a queued resource.
#pragma once

#include <memory>

#include "plans/engine/kind.h"

namespace podctl {

std::unique_ptr<const Kind> MakePodKind();

}  // namespace podctl
