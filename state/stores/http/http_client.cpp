#include "state/stores/http/http_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "providers/base/digest.h"
#include "providers/base/encoding.h"
#include "providers/base/json.h"
#include "providers/base/redactor.h"
#include "providers/base/text.h"
#include "providers/http/url.h"

namespace podctl {
namespace {

constexpr int kMostRedirects = 3;
constexpr int kMostReadings = 3;       // of a text that comes damaged
constexpr int kUsualAttempts = 1'000;  // the patience ends first
constexpr std::chrono::milliseconds kUsualLongestWait{5'000};
// So long a server takes to be restarted; and a server's Retry-After of half a minute is within it.
constexpr std::chrono::seconds kUsualPatience{35};
constexpr std::chrono::minutes kUsualSavePatience{1};
// What a save has to be answered in, and what its size adds to that. Its bytes may be sent again.
constexpr std::chrono::milliseconds kSaveTimeout{20'000};
constexpr std::size_t kSaveBytesPerSecond = std::size_t{256} << 10;
constexpr std::chrono::milliseconds kToldWait{1'500};
constexpr std::chrono::hours kOrderedPatience{2};
constexpr std::size_t kLongestSaid = 200;

std::string_view NameOf(HttpDeed deed) {
  switch (deed) {
    case HttpDeed::kRead:
      return "read";
    case HttpDeed::kSave:
      return "save";
    case HttpDeed::kLock:
      return "lock";
    case HttpDeed::kUnlock:
      return "unlock";
  }
  return "read";
}

http::RetryPolicy PolicyOf(const HttpPlace& place, OnLongWait on_long_wait) {
  http::RetryPolicy policy;
  policy.first_wait = place.first_wait;
  policy.longest_wait = place.longest_wait;
  policy.longest_retry_after = place.longest_wait;
  policy.on_long_wait = std::move(on_long_wait);
  policy.reported_wait = kToldWait;
  if (place.retries) {
    policy.attempts = *place.retries + 1;
    policy.refusals = policy.attempts;
    policy.connection_attempts = policy.attempts;
    policy.total = kOrderedPatience;
  } else {
    policy.attempts = kUsualAttempts;
    policy.refusals = kUsualAttempts;
    policy.connection_attempts = kUsualAttempts;
    policy.longest_wait =
        std::max(policy.first_wait, std::min(policy.longest_wait, kUsualLongestWait));
    policy.total = kUsualPatience;
  }
  return policy;
}

bool IsRedirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool IsOneOrigin(const http::Url& one, const http::Url& other) {
  return one.scheme == other.scheme && LowerCase(one.host) == LowerCase(other.host) &&
         one.port == other.port;
}

std::string WithQuery(const std::string& url, const std::string& name, const std::string& value) {
  return fmt::format("{}{}{}={}", url, url.find('?') == std::string::npos ? '?' : '&', name,
                     http::PercentEncode(value));
}

ErrorCode CodeOf(int status) {
  switch (status) {
    case 400:
    case 422:
      return ErrorCode::kInvalidArgument;
    case 401:
      return ErrorCode::kUnauthenticated;
    case 403:
      return ErrorCode::kPermissionDenied;
    case 404:
      return ErrorCode::kNotFound;
    case 405:
    case 501:
      return ErrorCode::kUnimplemented;
    case 409:
      return ErrorCode::kFailedPrecondition;
    case 413:
      return ErrorCode::kResourceExhausted;
    case 423:
      return ErrorCode::kLocked;
    default:
      break;
  }
  // Not kFailedPrecondition: nobody else has saved.
  if (IsRedirect(status)) return ErrorCode::kInvalidArgument;
  const bool passing = status == 408 || status == 429 || status >= 500;
  return passing ? ErrorCode::kUnavailable : ErrorCode::kUnknown;
}

}  // namespace

HttpStateClient::HttpStateClient(HttpPlace place, http::Transport& transport, Clock& clock,
                                 Random& random, OnLongWait on_long_wait)
    : place_(std::move(place)),
      transport_(transport),
      clock_(clock),
      random_(random),
      policy_(PolicyOf(place_, std::move(on_long_wait))) {}

std::chrono::milliseconds HttpStateClient::save_patience() const {
  return place_.retries ? policy_.total : kUsualSavePatience;
}

void HttpStateClient::TellOfAnother(std::chrono::milliseconds wait, const Error& why) const {
  if (policy_.on_long_wait) policy_.on_long_wait(wait, why.message);
}

http::RetryPolicy HttpStateClient::PolicyWithin(std::chrono::milliseconds most) const {
  http::RetryPolicy policy = policy_;
  policy.total = std::min(policy.total, most);
  return policy;
}

http::Request HttpStateClient::RequestOf(const std::string& method, const std::string& url,
                                         std::string body, std::string content_type) const {
  http::Request request;
  request.method = method;
  request.url = url;
  request.body = std::move(body);
  request.once = method != "GET";
  request.settled = true;
  if (!content_type.empty()) request.headers.emplace_back("Content-Type", std::move(content_type));
  if (!place_.user.empty()) {
    request.headers.emplace_back("Authorization",
                                 "Basic " + Base64Encode(place_.user + ":" + place_.password));
  }
  return request;
}

// A server may keep its texts in another's store, and send who reads there; without the password,
// when that is another server.
Result<http::Response> HttpStateClient::Fetch(const std::string& url,
                                              std::chrono::milliseconds most,
                                              const std::stop_token& stop) {
  const http::RetryPolicy policy = PolicyWithin(most);
  http::Request request = RequestOf("GET", url, "", "");
  request.timeout = std::min(request.timeout, most);
  for (int redirects = 0;; ++redirects) {
    auto answer = http::SendWithRetry(transport_, request, http::Idempotency::kIdempotent, policy,
                                      clock_, random_, stop);
    if (!answer || !IsRedirect(answer->status) || redirects == kMostRedirects) return answer;
    const std::string* const next = answer->Header("location");
    const auto from = http::ParseUrl(request.url);
    const auto to = http::ParseUrl(next == nullptr ? "" : *next);
    // As the rule is for the place itself: in clear text to this machine only.
    const bool is_safe =
        from && to && !to->has_user &&
        (to->scheme == "https" || (from->scheme == "http" && http::IsLoopback(*to)));
    if (!is_safe) return answer;
    request.url = *next;
    if (!IsOneOrigin(*from, *to)) {
      std::erase_if(request.headers,
                    [](const auto& header) { return header.first == "Authorization"; });
    }
  }
}

Result<std::optional<std::string>> HttpStateClient::ReadAt(const std::string& url,
                                                           std::chrono::milliseconds most,
                                                           const std::stop_token& stop) {
  for (int reading = 1;; ++reading) {
    auto answer = Fetch(url, most, stop);
    if (!answer) return ErrorOf(HttpDeed::kRead, answer.error());
    const bool hidden = answer->status == 404 && place_.server == HttpServer::kGitLab &&
                        answer->body.find("Project Not Found") != std::string::npos;
    // Whoever may not see the project must not take its state for one that is not there yet.
    if (hidden) return ErrorOf(HttpDeed::kRead, *answer);
    if (answer->status == 204 || answer->status == 404) return std::optional<std::string>();
    if (answer->status != 200) return ErrorOf(HttpDeed::kRead, *answer);
    const std::string* const told = answer->Header("content-md5");
    const std::string is = told == nullptr ? "" : Base64Encode(Md5Bytes(answer->body));
    const bool whole = is.empty() || answer->Header("content-encoding") != nullptr || *told == is;
    if (whole) return std::make_optional(std::move(answer->body));
    if (reading == kMostReadings) {
      return MakeError(ErrorCode::kUnavailable,
                       fmt::format("the state {} was damaged on its way, {} times: its checksum "
                                   "(Content-MD5) does not match",
                                   place_.url, kMostReadings),
                       "Look at what stands between podctl and the server: a proxy may change it.");
    }
  }
}

Result<std::optional<std::string>> HttpStateClient::Read(const std::stop_token& stop,
                                                         std::chrono::milliseconds most) {
  return ReadAt(place_.url, most, stop);
}

Result<std::optional<std::string>> HttpStateClient::ReadSerial(std::uint64_t serial,
                                                               const std::stop_token& stop) {
  return ReadAt(fmt::format("{}/versions/{}", place_.url, serial), std::chrono::milliseconds::max(),
                stop);
}

Result<http::Response> HttpStateClient::Save(const std::string& text, const std::string& lock_id,
                                             std::chrono::milliseconds most) {
  const std::string url = lock_id.empty() ? place_.url : WithQuery(place_.url, "ID", lock_id);
  http::Request request = RequestOf(place_.update_method, url, text, "application/json");
  const std::string sum = Base64Encode(Md5Bytes(text));
  if (!sum.empty()) request.headers.emplace_back("Content-MD5", sum);
  if (!place_.retries) {
    const std::chrono::seconds for_its_size(text.size() / kSaveBytesPerSecond);
    request.timeout = std::min(request.timeout, kSaveTimeout + for_its_size);
  }
  request.timeout = std::min(request.timeout, most);
  return http::SendWithRetry(transport_, request, http::Idempotency::kNonIdempotent,
                             PolicyWithin(most), clock_, random_, {});
}

// The ID makes it the same lock, however often it is asked for.
Result<http::Response> HttpStateClient::Lock(const HttpLock& lock, const std::stop_token& stop) {
  const auto request =
      RequestOf(place_.lock_method, place_.lock_url, HttpLockToJson(lock), "application/json");
  return http::SendWithRetry(transport_, request, http::Idempotency::kIdempotent, policy_, clock_,
                             random_, stop);
}

Result<http::Response> HttpStateClient::Unlock(const HttpLock& lock,
                                               std::chrono::milliseconds patience) {
  // GitLab unlocks whatever there is for who names no ID, and a DELETE's body gets lost on the way
  // now and then.
  const std::string url = place_.server == HttpServer::kGitLab
                              ? WithQuery(place_.unlock_url, "ID", lock.id)
                              : place_.unlock_url;
  const auto request =
      RequestOf(place_.unlock_method, url, HttpLockToJson(lock), "application/json");
  http::RetryPolicy policy = policy_;
  policy.total = std::min(policy.total, patience);
  return http::SendWithRetry(transport_, request, http::Idempotency::kIdempotent, policy, clock_,
                             random_, {});
}

Result<http::Response> HttpStateClient::AskWhoLocks() {
  const auto request =
      RequestOf("POST", WithQuery(place_.url, "ID", random_.Uuid()), "", "application/json");
  return http::SendWithRetry(transport_, request, http::Idempotency::kIdempotent, policy_, clock_,
                             random_, {});
}

// The server's own words, as far as they are fit to be shown.
std::string HttpStateClient::SaidBy(const http::Response& response) const {
  const std::string body = RedactedError(response.body);
  std::string said;
  if (const auto json = ParseJson(body)) {
    for (const char* const name : {"message", "error_description", "error"}) {
      if (said.empty() && (*json)[name].is_string()) said = (*json)[name].AsString();
    }
  } else if (body.find('<') == std::string::npos) {
    said = body;
  }
  const auto lines = SplitLines(std::string(TrimBlanks(said)));
  said = lines.empty() ? "" : lines.front().substr(0, kLongestSaid);
  const std::string sent = Base64Encode(place_.user + ":" + place_.password);
  const bool leaks = !place_.password.empty() && (said.find(place_.password) != std::string::npos ||
                                                  said.find(sent) != std::string::npos);
  return leaks ? "" : VisibleControls(said);
}

Error HttpStateClient::ErrorOf(HttpDeed deed, Error error) const {
  error.message =
      fmt::format("cannot {} the state {}: {}", NameOf(deed), place_.url, error.message);
  return error;
}

Error HttpStateClient::ErrorOf(HttpDeed deed, const http::Response& response) const {
  const std::string said = SaidBy(response);
  Error error = MakeError(
      CodeOf(response.status),
      fmt::format("cannot {} the state {}: the server answered with HTTP status {}{}", NameOf(deed),
                  place_.url, response.status, said.empty() ? "" : ": " + said),
      HintFor(deed, response.status));
  if (!IsRedirect(response.status)) return error;
  const std::string* const to = response.Header("location");
  std::string address = to == nullptr ? "" : *to;
  const auto from = http::ParseUrl(place_.url);
  if (from && address.starts_with('/') && !address.starts_with("//")) {
    address = fmt::format("{}://{}{}", from->scheme, from->Server(), address);
  }
  const auto url = http::ParseUrl(address);
  if (url && !url->has_user) {
    error.hint = fmt::format("It says that the state has moved to {}: correct `state` in the spec.",
                             VisibleControls(address.substr(0, address.find_first_of("?#"))));
  }
  return error;
}

}  // namespace podctl
