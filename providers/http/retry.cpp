#include "providers/http/retry.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "providers/http/url.h"

namespace podctl::http {
namespace {

using std::chrono::milliseconds;

bool IsPassing(int status, Idempotency idempotency) {
  if (status == 429) return true;  // refused before anything was done
  if (idempotency == Idempotency::kNonIdempotent) return false;
  return status == 408 || status == 500 || status == 502 || status == 503 || status == 504;
}

bool IsPassing(ErrorCode code, Idempotency idempotency) {
  if (code == ErrorCode::kUnavailable) return true;
  return code == ErrorCode::kReplyLost && idempotency == Idempotency::kIdempotent;
}

std::optional<milliseconds> RetryAfter(const Response& response, Clock& clock) {
  const std::string* text = response.Header("retry-after");
  if (text == nullptr) return std::nullopt;
  std::uint32_t seconds = 0;
  const char* end = text->data() + text->size();
  const auto [rest, code] = std::from_chars(text->data(), end, seconds);
  if (rest == end && code == std::errc()) return std::chrono::seconds(seconds);
  // All digits, and still not readable: longer than anybody waits.
  if (rest == end && code == std::errc::result_out_of_range) return milliseconds::max();
  const time_t date = curl_getdate(text->c_str(), nullptr);
  if (date < 0) return std::nullopt;
  const auto wait = std::chrono::system_clock::from_time_t(date) - clock.Now();
  return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(wait));
}

// Between a half and the whole of first_wait · 2^attempt, so that many clients do not march in
// step.
milliseconds Backoff(const RetryPolicy& policy, int attempt, Random& random) {
  double wait = static_cast<double>(policy.first_wait.count());
  for (int i = 0; i < attempt; ++i) wait *= 2;
  wait = std::min(wait, static_cast<double>(policy.longest_wait.count()));
  return milliseconds(static_cast<std::int64_t>(wait * (0.5 + 0.5 * random.Uniform())));
}

std::string WhyAgain(const Request& request, const Result<Response>& result) {
  if (!result) return result.error().message;
  const auto url = ParseUrl(request.url);
  return fmt::format("{} answered with HTTP status {}", url ? url->Server() : "the server",
                     result->status);
}

// So that a server which never gets on with its answer holds nobody for longer than the whole.
Request ThatEndsIn(Clock::SteadyTime::duration left, Request request) {
  constexpr milliseconds kShortest{1000};
  const auto limit = std::max(kShortest, std::chrono::duration_cast<milliseconds>(left));
  request.timeout = std::min(request.timeout, limit);
  return request;
}

}  // namespace

Result<Response> SendWithRetry(Transport& transport, const Request& request,
                               Idempotency idempotency, const RetryPolicy& policy, Clock& clock,
                               Random& random, const std::stop_token& stop,
                               const ShouldRetry& worth) {
  const auto start = clock.Steady();
  int failed = 0;
  int refused = 0;
  int failed_to_connect = 0;
  for (int attempt = 0;; ++attempt) {
    Result<Response> result =
        attempt == 0
            ? transport.Send(request, stop)
            : transport.Send(ThatEndsIn(policy.total - (clock.Steady() - start), request), stop);
    const bool passing = result
                             ? IsPassing(result->status, idempotency) && (!worth || worth(*result))
                             : IsPassing(result.error().code, idempotency);
    if (!passing) return result;
    const bool hasty = result && result->status == 429;
    if (hasty ? ++refused >= policy.refusals : ++failed >= policy.attempts) return result;
    if (!result && result.error().code == ErrorCode::kUnavailable &&
        ++failed_to_connect >= policy.connection_attempts) {
      return result;
    }
    milliseconds wait = Backoff(policy, attempt, random);
    if (result) {
      if (const auto asked = RetryAfter(*result, clock)) {
        wait = std::max(wait, std::min(*asked, policy.longest_retry_after));
      }
    }
    if (clock.Steady() + wait - start > policy.total) return result;
    if (policy.on_long_wait && wait >= policy.reported_wait) {
      policy.on_long_wait(wait, WhyAgain(request, result));
    }
    if (!clock.SleepFor(wait, stop)) {
      return MakeError(ErrorCode::kCancelled, "stopped while waiting to repeat a request");
    }
  }
}

}  // namespace podctl::http
