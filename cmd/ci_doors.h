// What `podctl ci` is lent of the world, besides what plan and apply are.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "cmd/command_line.h"
#include "cmd/output_filter.h"
#include "plans/engine/plan_file.h"
#include "plans/session/plan.h"
#include "providers/forges/forge.h"
#include "providers/forges/place.h"
#include "providers/os/clock.h"
#include "providers/os/environment.h"
#include "providers/os/file_system.h"
#include "providers/os/process.h"

namespace podctl {

struct CiDoors {
  FileSystem& files;
  const Environment& environment;
  Random& random;
  ProcessRunner& processes;
  Streams& streams;
  const GlobalOptions& global;
  // Errors as of MakeForge (providers/forges/rest_forge.h).
  std::function<Result<std::unique_ptr<Forge>>(const ForgePlace& place)> make_forge;
  // A plan as `--out` would keep it.
  std::function<SavedPlan(const PlanRun& run)> as_saved;
  // A run that was interrupted tells of it all the same, and only a second signal keeps it from it.
  std::stop_token stop;
  std::stop_token interrupted;  // by the first signal
};

}  // namespace podctl
