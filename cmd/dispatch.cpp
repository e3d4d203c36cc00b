#include "cmd/dispatch.h"

#include "cmd/commands/state_access.h"
#include "cmd/context.h"
#include "cmd/wiring.h"

namespace podctl {

int Dispatch(const Invocation& invocation, Streams& streams) {
  Context context(invocation.global, streams);
  const Command& command = *invocation.command;
  if (command.UsesState(invocation.options)) {
    if (const auto clear = context.wiring().CheckStatePlace(); !clear) {
      return ShowFailure(context.wiring(), clear.error());
    }
  }
  return command.Run(context, invocation.options);
}

}  // namespace podctl
