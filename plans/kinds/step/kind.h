// Bootstrap steps (`bootstrap` of a pod): what is run once on its workers, those that podctl makes
// itself among them. Each is a part of its pod.
#pragma once

#include <memory>

#include "plans/engine/kind.h"

namespace podctl {

std::unique_ptr<const Kind> MakeStepKind();

}  // namespace podctl
