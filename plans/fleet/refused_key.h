// Why a worker lets nobody in with a key that is ours, as far as its node tells.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "plans/kinds/pod/record.h"
#include "providers/provider.h"

namespace podctl {

enum class KeyStanding {
  kUnknown,      // the node could not be asked
  kNotTakenUp,   // the node has it, and the worker does not go by it yet
  kNotInSpec,    // the node lacks it, and the spec writes `ssh-keys` itself
  kWithheld,     // the spec wants it not to be published
  kUnpublished,  // the next apply publishes it
};

// `ours`: lines of `ssh-keys`, any of which would do; at least one.
KeyStanding StandingOfKey(const PodRecord& record, const std::vector<std::string>& ours,
                          Provider& provider, const std::stop_token& stop);

}  // namespace podctl
