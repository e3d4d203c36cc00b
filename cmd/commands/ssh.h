// A terminal on one worker: what `podctl ssh` and `podctl exec --tty` share.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "cmd/output_filter.h"
#include "cmd/reporter.h"
#include "plans/session/known_pods.h"
#include "providers/os/clock.h"
#include "providers/os/environment.h"
#include "providers/ssh/keys/identities.h"

namespace podctl {

// What a terminal on a worker goes through. All of it is lent.
struct TerminalDoors {
  const KnownPods& pods;
  Reporter& reporter;
  Streams& streams;
  ssh::Keyring& keyring;
  const Environment& environment;
  Clock& clock;
  Random& random;
  std::stop_token stop;
};

// A command (empty: the login shell) on one worker with this terminal connected to it; `tty`: it is
// given a terminal there, nullopt: when this is one. `address`: of the pod. Returns its exit code;
// nullopt when there was no session, which was told.
std::optional<int> RunOnTerminal(const TerminalDoors& doors, const std::string& address,
                                 const WorkerAccess& worker, const std::string& command,
                                 std::optional<bool> tty);

}  // namespace podctl
