// podctl emulator: serves the Cloud TPU API on loopback until it is told to stop.
#pragma once

#include "cmd/options.h"
#include "cmd/wiring.h"

namespace podctl {

int RunEmulator(Wiring& wiring, const EmulatorOptions& options);

}  // namespace podctl
