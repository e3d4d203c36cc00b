// What podctl knows by itself of the zones that have a pod's type (`podctl types`). That may be
// old: the service knows better.
#pragma once

#include <optional>

#include "plans/kinds/pod/spec.h"
#include "providers/base/diagnostic.h"

namespace podctl {

// A warning on a type that is documented elsewhere, and not for the pod's zone; nullopt: there is
// nothing to say.
std::optional<Diagnostic> UndocumentedType(const PodSpec& pod);

}  // namespace podctl
