// `podctl drain POD`: ends what holds the TPU although nobody needs it any more.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cmd/wiring.h"

namespace podctl {

struct DrainOptions {
  std::string pod;
  std::string workers;                             // --worker; empty: all
  std::optional<std::chrono::milliseconds> grace;  // between TERM and KILL
  bool with_jobs = false;                          // jobs of podctl too
  bool dry_run = false;
  bool auto_approve = false;
};

int RunDrain(Wiring& wiring, const DrainOptions& options);

}  // namespace podctl
