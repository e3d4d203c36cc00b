#include "cmd/context.h"

#include "cmd/interrupt.h"
#include "cmd/wiring.h"

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

}  // namespace podctl
