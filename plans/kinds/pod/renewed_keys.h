// Host keys of workers that were made anew behind the same node: what `--refresh-only` asks the API
// for besides the lists, which do not show them.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "providers/provider.h"
#include "state/state.h"

namespace podctl {

// Takes the keys that the API now shows for workers whose keys `state` has, and tells of each
// change in `notes`. Where the API shows none or does not answer, what is known stays. At most
// `parallelism` calls at once.
void TakeRenewedKeys(Provider& provider, int parallelism, const std::stop_token& stop, State* state,
                     std::vector<std::string>* notes);

}  // namespace podctl
