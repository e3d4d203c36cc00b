#include "providers/gcp/credentials/token_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/http/retry.h"
#include "providers/http/url.h"

namespace podctl::gcp {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMaxQuotedBytes = 300;
constexpr std::size_t kShortestSecret = 4;  // bytes; shorter ones would be found in any text
constexpr milliseconds kFirstWait{1000};
constexpr std::int64_t kLongestLife = 366LL * 24 * 3600;  // seconds

// Fields of a form that nobody else may read.
constexpr std::array<std::string_view, 5> kSecretFields = {
    "assertion", "client_secret", "refresh_token", "subject_token", "access_token"};

bool IsNearby(const http::Url& url) {
  return url.host.starts_with("169.254.") || url.host == "fd00:ec2::254";
}

Result<void> CheckReach(const http::Url& url, const TokenRequest& request) {
  if (url.scheme == "https" || http::IsLoopback(url) || request.url_policy == UrlPolicy::kNamed)
    return {};
  if (request.url_policy == UrlPolicy::kNearby && IsNearby(url)) return {};
  return MakeError(
      ErrorCode::kFailedPrecondition,
      fmt::format("{}: a secret must not travel unencrypted to {}", request.whose, url.Server()),
      "it must be an https URL; plain http is for loopback only");
}

http::Request AsHttp(const TokenRequest& request, bool nearby) {
  http::Request http;
  http.method = request.method;
  http.url = request.url;
  http.headers = request.headers;
  http.timeout = request.timeout;
  http.no_proxy = nearby || request.url_policy == UrlPolicy::kNamed;
  if (request.json) {
    http.headers.emplace_back("Content-Type", "application/json");
    http.body = ToJson(*request.json);
  } else if (!request.form.empty()) {
    http.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
    http.body = http::QueryString(request.form).substr(1);
  }
  return http;
}

// `text` without what was sent in confidence: a server may quote the request in its refusal.
std::string WithoutSecrets(std::string text, const TokenRequest& request) {
  std::vector<std::string> secrets;
  for (const auto& [name, value] : request.form) {
    const bool secret =
        std::find(kSecretFields.begin(), kSecretFields.end(), name) != kSecretFields.end();
    if (secret) secrets.insert(secrets.end(), {value, http::PercentEncode(value)});
  }
  for (const auto& [name, value] : request.headers) {
    const auto blank = value.find(' ');
    secrets.push_back(blank == std::string::npos ? value : value.substr(blank + 1));
  }
  for (const std::string& secret : secrets) {
    if (secret.size() < kShortestSecret) continue;
    for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at + 3)) {
      text.replace(at, secret.size(), "***");
    }
  }
  return text;
}

// What a refusal says: OAuth's `error` and `error_description` (RFC 6749, 5.2), or the error of one
// of Google's APIs.
struct Refusal {
  std::string code;
  std::string words;
};

Refusal ReadRefusal(const http::Response& response) {
  const Result<Value> body = ParseJson(response.body);
  if (!body) return {};
  const Value& error = (*body)["error"];
  if (error.is_map()) return {error["status"].AsString(), error["message"].AsString()};
  return {error.AsString(), (*body)["error_description"].AsString()};
}

bool IsPassing(const Refusal& refusal) {
  return refusal.code == "internal_failure" || refusal.code == "server_error" ||
         refusal.code == "temporarily_unavailable";
}

Error RefusalError(const http::Response& response, const TokenRequest& request,
                   const std::string& server) {
  const Refusal refusal = ReadRefusal(response);
  std::string words = refusal.code;
  if (!refusal.words.empty()) words += (words.empty() ? "" : ": ") + refusal.words;
  words = VisibleControls(WithoutSecrets(std::move(words), request).substr(0, kMaxQuotedBytes));
  if (words.empty()) words = fmt::format("HTTP status {}", response.status);
  const bool passing = response.status == 408 || response.status == 429 || response.status >= 500;
  return MakeError(passing ? ErrorCode::kUnavailable : ErrorCode::kUnauthenticated,
                   fmt::format("{} gives no token for {}: {}", server, request.whose, words),
                   passing ? "try again later" : request.hint);
}

// A lost answer is a failure here and no more: nothing that matters was changed.
Error TransportError(Error error, const TokenRequest& request) {
  if (error.code == ErrorCode::kCancelled) return error;
  if (error.code != ErrorCode::kFailedPrecondition) error.code = ErrorCode::kUnavailable;
  error.message = fmt::format("no access token for {}: {}", request.whose,
                              WithoutSecrets(std::move(error.message), request));
  return error;
}

std::optional<std::int64_t> Seconds(const Value& value) {
  std::int64_t life = value.AsInt(-1);
  if (const double exact = value.AsDouble(-1); life < 0 && exact >= 0 && exact < kLongestLife) {
    life = static_cast<std::int64_t>(exact);
  }
  if (life < 0 || life > kLongestLife) return std::nullopt;
  return life;
}

}  // namespace

Result<http::Response> Ask(const CredentialDoors& doors, const TokenRequest& request,
                           const std::stop_token& stop) {
  const Result<http::Url> url = http::ParseUrl(request.url);
  if (!url || url->has_user) {
    return MakeError(ErrorCode::kUnauthenticated,
                     fmt::format("{}: it is not a well-formed http or https URL", request.whose));
  }
  if (auto checked = CheckReach(*url, request); !checked) return checked.error();
  const http::Request http = AsHttp(request, IsNearby(*url));
  http::RetryPolicy policy;
  policy.attempts = request.attempts;
  policy.connection_attempts = request.attempts;
  policy.first_wait = kFirstWait;
  for (int attempt = 1;; ++attempt) {
    Result<http::Response> response = http::SendWithRetry(
        doors.http, http, http::Idempotency::kIdempotent, policy, doors.clock, doors.random, stop);
    if (!response) return TransportError(response.error(), request);
    if (response->status >= 200 && response->status < 300) return response;
    const bool again = response->status < 500 && IsPassing(ReadRefusal(*response));
    if (!again || attempt >= request.attempts) {
      return RefusalError(*response, request, url->Server());
    }
    if (!doors.clock.SleepFor(kFirstWait * attempt, stop)) {
      return MakeError(ErrorCode::kCancelled, "stopped while waiting for an access token");
    }
  }
}

Result<Value> AskForJson(const CredentialDoors& doors, const TokenRequest& request,
                         const std::stop_token& stop) {
  const Result<http::Response> response = Ask(doors, request, stop);
  if (!response) return response.error();
  Result<Value> value = ParseJson(response->body);
  if (value && value->is_map()) return value;
  return MakeError(ErrorCode::kUnauthenticated,
                   fmt::format("{}: the answer is not a JSON object", request.whose));
}

Result<AccessToken> AskForToken(const CredentialDoors& doors, const TokenRequest& request,
                                const std::stop_token& stop, Value* answered) {
  const auto asked = doors.clock.Now();
  const Result<Value> answer = AskForJson(doors, request, stop);
  if (!answer) return answer.error();
  if (answered != nullptr) *answered = *answer;
  const std::string& text = (*answer)["access_token"].AsString();
  if (!IsToken(text)) {
    return MakeError(ErrorCode::kUnauthenticated,
                     fmt::format("{}: the answer holds no usable `access_token`", request.whose));
  }
  AccessToken token{Secret(text), std::nullopt};
  if (const auto life = Seconds((*answer)["expires_in"])) {
    token.expires = asked + std::chrono::seconds(*life);
  }
  return token;
}

bool IsToken(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace podctl::gcp
