// podctl state history and restore: the generations that were kept, and the way back to one.
#pragma once

#include <cstdint>

namespace podctl {

struct StateRestoreOptions {
  std::uint64_t serial = 0;
};

}  // namespace podctl
