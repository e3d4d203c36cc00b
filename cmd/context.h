// What a command is run with: the flags of every command, the terminal, and the world, which is
// made when it is first asked for, so that `podctl version` makes nothing.
#pragma once

#include <memory>
#include <type_traits>

#include "cmd/options.h"
#include "cmd/outlet.h"

namespace podctl {

class Wiring;

class Context {
 public:
  // Both are lent.
  Context(const GlobalOptions& global, Streams& streams);
  ~Context();

  const GlobalOptions& global() const { return global_; }
  Streams& streams() { return streams_; }
  Wiring& wiring();

 private:
  struct World;

  const GlobalOptions& global_;
  Streams& streams_;
  std::unique_ptr<World> world_;
};

// What runs a command whose function takes the world: `.run = WithWorld<RunDrain>`.
template <auto kRun, typename Options>
int WithWorld(Context& context, const Options& options) {
  if constexpr (std::is_invocable_v<decltype(kRun), Wiring&>) {
    return kRun(context.wiring());
  } else {
    return kRun(context.wiring(), options);
  }
}

}  // namespace podctl
