// Sends a request again where that is safe and may help. Policy, time and chance are parameters.
//
// It knows nothing of any API: the caller says whether a repeat is safe and may veto it after
// reading the answer. Thread safe (no state).
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>

#include "providers/http/transport.h"
#include "providers/os/clock.h"

namespace podctl::http {

struct RetryPolicy {
  int attempts = 6;   // the first one included; answers 429 do not count
  int refusals = 20;  // of the answers 429, which come of haste: what counts by the minute passes
  // Of these, how many may fail to connect: a wrong endpoint should be told soon.
  int connection_attempts = 4;
  std::chrono::milliseconds first_wait{500};  // doubles with each attempt
  std::chrono::milliseconds longest_wait{20'000};
  std::chrono::milliseconds longest_retry_after{60'000};  // a server that asks for more gets this
  // No attempt starts later than this, and none but the first goes on after it, whatever the
  // request's own timeout is.
  std::chrono::milliseconds total{180'000};
  // Told of a wait of `reported_wait` or more before it begins, and why it is waited ("cannot reach
  // example.com: connection refused"), on the thread of the call; may be empty.
  std::chrono::milliseconds reported_wait{10'000};
  std::function<void(std::chrono::milliseconds wait, const std::string& why)> on_long_wait = {};
};

enum class Idempotency {
  kIdempotent,     // reading, or setting what may be set twice
  kNonIdempotent,  // a create: again only when the server certainly did not act
};

// Asked about an answer that would be repeated; false: hand it to the caller at once.
using ShouldRetry = std::function<bool(const Response&)>;

// kIdempotent repeats on kUnavailable, kReplyLost, and the statuses 408, 429, 500, 502, 503, 504;
// kNonIdempotent on kUnavailable (no connection) and 429 only. Waits are doubled and jittered;
// Retry-After (RFC 9110, 10.2.3; seconds or a date) is honoured where it is longer. Returns the
// last answer or error; kCancelled when stopped while waiting.
Result<Response> SendWithRetry(Transport& transport, const Request& request,
                               Idempotency idempotency, const RetryPolicy& policy, Clock& clock,
                               Random& random, const std::stop_token& stop,
                               const ShouldRetry& worth = {});

}  // namespace podctl::http
