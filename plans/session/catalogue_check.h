// Whether the zones have what a plan makes its nodes of: a replacement that deletes first would
// lose its pod to a mistyped version. The service is asked once for each zone and name, of what is
// made and of nothing else.
#pragma once

#include <stop_token>

#include "plans/engine/change.h"
#include "providers/base/diagnostic.h"
#include "providers/zone_lookup.h"

namespace podctl {

struct CatalogueDoors {
  ZoneLookup* catalogue = nullptr;  // nullptr: nobody is asked
  int parallelism = 10;             // questions at once
  std::stop_token stop;
};

// What the service does not know in any zone of a pod is an error where `plan` replaces the pod,
// and a warning where it makes it. Of a type for which the service has no answer a warning says
// what podctl itself knows (UndocumentedType), as validate's.
Diagnostics CheckCatalogue(const Plan& plan, const CatalogueDoors& doors);

}  // namespace podctl
