// The variables that the launcher xla_dist sets by itself on each worker, and that nobody else may
// set: xla_dist refused them with `--env`. What they are set to is plans/jobs/xla_dist.h.
#pragma once

#include <string_view>

namespace podctl {

bool IsXlaDistVariable(std::string_view name);

}  // namespace podctl
