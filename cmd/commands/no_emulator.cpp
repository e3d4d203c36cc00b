// In place of run_emulator.cpp where podctl is built with -DPODCTL_EMULATOR=OFF.
#include "cmd/commands/emulator.h"
#include "cmd/reporter.h"
#include "cmd/wiring.h"

namespace podctl {

int RunEmulator(Wiring& wiring, const EmulatorOptions&) {
  wiring.reporter().ShowError(
      "the emulator cannot start",
      MakeError(ErrorCode::kUnimplemented, "this podctl was built without the emulator",
                "Build it with -DPODCTL_EMULATOR=ON, which is the default."));
  return 1;
}

std::string EmulatorSshVersion() {
  return {};
}

}  // namespace podctl
