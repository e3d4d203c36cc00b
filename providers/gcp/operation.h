// Waits for a long-running operation (google.longrunning.Operation) with growing waits.
//
// It knows a Provider, not how it asks. Time and chance are parameters.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>

#include "providers/os/clock.h"
#include "providers/provider.h"

namespace podctl::gcp {

struct WaitOptions {
  std::chrono::milliseconds first_wait{1'000};
  double growth = 1.4;
  std::chrono::milliseconds longest_wait{15'000};
  std::chrono::milliseconds deadline{30 * 60'000};  // for the whole wait
  int failed_polls = 10;  // in a row, before a poll's own error is returned
};

// Reads google.longrunning.Operation; `done` absent is false.
Operation ParseOperation(const Value& json);

// Waits until the operation is done, with or without success: a failed operation is an Operation
// with `error`, not an Error. Polls that fail for passing reasons are repeated. Errors: kCancelled
// when stopped, kDeadlineExceeded (the operation goes on), kNotFound when the service has forgotten
// it, and what else a poll says. `on_wait` is called before each wait with the time since the
// start; it may be empty.
Result<Operation> WaitOperation(Provider& provider, const std::string& name,
                                const WaitOptions& options, Clock& clock, Random& random,
                                std::stop_token stop,
                                const std::function<void(std::chrono::milliseconds)>& on_wait);

}  // namespace podctl::gcp
