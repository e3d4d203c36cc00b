// The command line of `podctl validate`.
#include "cmd/commands/commands.h"
#include "cmd/commands/validate.h"
#include "cmd/context.h"
#include "cmd/wiring.h"

namespace podctl {
namespace {

const CommandOf<NoOptions> kCommand(
    "validate", "check the spec, offline", {},
    [](Context& context, const NoOptions&) {
      Wiring& wiring = context.wiring();
      return RunValidate(wiring.SpecOptions(), wiring.files(), wiring.environment(),
                         wiring.streams());
    },
    nullptr, NoState);

}  // namespace

const Command& commands::kValidate = kCommand;

}  // namespace podctl
