// What to do about a worker that lets nobody in: why it takes none of our keys, as far as its node
// tells, and where else its SSH may be.
#pragma once

#include <string>
#include <vector>

#include "cmd/wiring.h"
#include "providers/ssh/transport.h"

namespace podctl {

// A sentence that says what to do about it; asks the API for the node. Empty where nothing is
// known.
std::string RefusedKeyAdvice(Wiring& wiring, const std::string& pod);
// The same for workers that were not reached, whatever the reason.
std::string SilenceAdvice(Wiring& wiring, const std::string& pod,
                          const std::vector<ssh::WorkerResult>& results);

}  // namespace podctl
