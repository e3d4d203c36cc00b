// podctl state history and restore: the generations that were kept, and the way back to one.
#pragma once

#include <cstdint>

namespace podctl {

class Wiring;

int RunStateHistory(Wiring& wiring);

struct StateRestoreOptions {
  std::uint64_t serial = 0;
};

int RunStateRestore(Wiring& wiring, const StateRestoreOptions& options);

}  // namespace podctl
