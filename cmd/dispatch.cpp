// Declared in arguments.h; Context in command.h.
#include <algorithm>

#include "cmd/arguments.h"
#include "cmd/command.h"
#include "cmd/interrupt.h"
#include "cmd/reporter.h"
#include "cmd/views/json_events.h"
#include "cmd/views/snippet.h"
#include "cmd/wiring.h"
#include "providers/os/clock.h"

namespace podctl {

struct Context::World {
  World(const GlobalOptions& global, Streams& streams) : wiring(global, streams, interrupt) {}

  Interrupt interrupt;
  Wiring wiring;
};

Context::Context(const GlobalOptions& global, Streams& streams)
    : global_(global), streams_(streams) {}
Context::~Context() = default;

Wiring& Context::wiring() {
  if (!world_) world_ = std::make_unique<World>(global_, streams_);
  return world_->wiring;
}

int Dispatch(const Invocation& invocation, Streams& streams) {
  streams.json = invocation.global.json;
  Context context(invocation.global, streams);
  const Command& command = *invocation.command;
  if (command.UsesState(invocation.options)) {
    if (const auto clear = context.wiring().CheckStatePlace(); !clear) {
      return context.wiring().reporter().ShowFailure(clear.error());
    }
  }
  return command.Run(context, invocation.options);
}

int ShowUsageError(const UsageError& wrong, const std::vector<std::string>& words,
                   Streams& streams) {
  const auto end = std::find(words.begin(), words.end(), "--");
  if (std::find(words.begin(), end, "--json") != end) {
    RealClock clock;
    const Error error = MakeError(ErrorCode::kInvalidArgument, wrong.message, wrong.hint);
    JsonEvents(streams, clock).ShowDiagnostic(DiagnosticOf("", error));
    return 1;
  }
  streams.err << "Error: " << wrong.message << "\n";
  if (!wrong.hint.empty()) streams.err << "  " << wrong.hint << "\n";
  return 1;
}

}  // namespace podctl
