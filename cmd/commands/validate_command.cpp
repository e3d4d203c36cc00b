// The command line of `podctl validate`.
#include "cmd/commands/commands.h"
#include "cmd/commands/validate.h"
#include "cmd/context.h"
#include "cmd/wiring.h"

namespace podctl {
namespace {

int RunValidation(Wiring& wiring) {
  return RunValidate(wiring.SpecOptions(), wiring.files(), wiring.environment(), wiring.streams());
}

const CommandOf<NoOptions> kValidateCommand("validate", "check the spec, offline", {},
                                            WithWorld<RunValidation>, nullptr, NoState);

}  // namespace

const Command& commands::kValidate = kValidateCommand;

}  // namespace podctl
