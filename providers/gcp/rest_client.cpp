#include "providers/gcp/rest_client.h"

#include <fmt/format.h>

#include "providers/base/json.h"
#include "providers/base/redactor.h"
#include "providers/base/text.h"
#include "providers/gcp/api_error.h"
#include "providers/http/url.h"

namespace podctl::gcp {
namespace {

// 501 says that nothing was done; the others leave it open, whoever on the way sent them.
bool LeavesOpen(int status) {
  return status == 408 || (status >= 500 && status != 501);
}

// A server, or who stands before it, may repeat in an error what it was sent.
Result<http::Response> WithoutToken(Result<http::Response> response, const Secret& token) {
  if (!response || response->status < 300 || token.Reveal().empty()) return response;
  constexpr std::string_view kInstead = "(token)";
  std::string& body = response->body;
  for (auto at = body.find(token.Reveal()); at != std::string::npos;
       at = body.find(token.Reveal(), at + kInstead.size())) {
    body.replace(at, token.Reveal().size(), kInstead);
  }
  return response;
}

}  // namespace

Result<Endpoint> ParseEndpoint(const std::string& text) {
  Result<http::Url> url = http::ParseUrl(text);
  const bool good = url && !url->has_user && !url->has_query &&
                    text.find_first_of("?#\r\n\t ") == std::string::npos;
  if (!good) {
    // A password stands before an `@`, a key behind a `?`: what may hold one is not quoted.
    const bool quotable = text.find_first_of("@?#") == std::string::npos;
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("bad endpoint{}: it must be an http or https URL without user, "
                                 "query or fragment",
                                 quotable ? " " + VisibleControls(text) : ""),
                     "for example https://tpu.googleapis.com/");
  }
  return Endpoint{text.ends_with('/') ? text : text + "/"};
}

RestClient::RestClient(Endpoint endpoint, http::Transport& transport, Credentials& credentials,
                       Clock& clock, Random& random, http::RetryPolicy policy)
    : endpoint_(std::move(endpoint)),
      transport_(transport),
      credentials_(credentials),
      clock_(clock),
      random_(random),
      policy_(std::move(policy)) {
  if (!endpoint_.base_url.ends_with('/')) endpoint_.base_url += '/';
  const Result<http::Url> url = http::ParseUrl(endpoint_.base_url);
  PODCTL_CHECK(url.has_value());  // ParseEndpoint is for what users write
  server_ = url->Server();
  loopback_ = http::IsLoopback(*url);
  encrypted_ = url->scheme == "https";
}

Result<http::Response> RestClient::SendOnce(const http::Request& request,
                                            http::Idempotency idempotency,
                                            const std::stop_token& stop) {
  const auto worth = [](const http::Response& response) {
    return response.status != 429 || IsRateLimit(response.body);
  };
  return http::SendWithRetry(transport_, request, idempotency, policy_, clock_, random_, stop,
                             worth);
}

// With the token, where one belongs; after a 401 once more with a fresh one. The server did nothing
// for a request that it refused, so this is right for a create too.
Result<http::Response> RestClient::SendAuthorized(http::Request request,
                                                  http::Idempotency idempotency,
                                                  const std::stop_token& stop) {
  if (!loopback_ && !encrypted_) {
    return MakeError(ErrorCode::kFailedPrecondition,
                     fmt::format("a token must not travel unencrypted to {}", server_),
                     "use an https endpoint; plain http is for loopback only");
  }
  std::optional<Secret> token;
  if (loopback_) {
    token = credentials_.TokenIfGiven();
  } else {
    Result<Secret> found = credentials_.Token(stop);
    if (!found) return found.error();
    token = *std::move(found);
  }
  if (const auto project = credentials_.QuotaProject()) {
    request.headers.emplace_back("x-goog-user-project", *project);
  }
  if (!token) return SendOnce(request, idempotency, stop);
  request.headers.emplace_back("Authorization", "Bearer " + token->Reveal());
  Result<http::Response> response = WithoutToken(SendOnce(request, idempotency, stop), *token);
  if (!response || response->status != 401) return response;
  Result<Secret> fresh = credentials_.TokenAfter(*token, stop);
  if (!fresh) return response;  // the service's own words tell more than ours
  request.headers.back().second = "Bearer " + fresh->Reveal();
  return WithoutToken(SendOnce(request, idempotency, stop), *fresh);
}

Result<Value> RestClient::Read(const Call& call, const http::Response& response) const {
  if (response.status >= 200 && response.status < 300) {
    Result<Value> value = ParseJson(response.body, response.body.capacity());
    if (value && value->is_map()) {
      RedactErrors(&*value);  // of operations that failed
      return value;
    }
    const bool safe = call.idempotency == http::Idempotency::kIdempotent;
    return MakeError(safe ? ErrorCode::kInternal : ErrorCode::kReplyLost,
                     fmt::format("the answer of {} is not a JSON object", server_),
                     "is the endpoint really one of the Cloud TPU API?");
  }
  Error error =
      ErrorFromAnswer(response.status, RedactedError(response.body), server_, call.if_denied);
  if (call.idempotency == http::Idempotency::kNonIdempotent && LeavesOpen(response.status)) {
    error.code = ErrorCode::kReplyLost;
  }
  return error;
}

Result<http::Response> RestClient::Exchange(const Call& call, const std::stop_token& stop) {
  http::Request request;
  request.method = call.method;
  auto query = call.query;
  query.insert(query.begin(), {"alt", call.alt});
  request.url = endpoint_.base_url + call.path + http::QueryString(query);
  request.timeout = call.timeout;
  request.once = call.idempotency == http::Idempotency::kNonIdempotent;
  request.settled = call.settled;
  if (call.alt == "json") request.headers.emplace_back("Accept", "application/json");
  // Unpacked by the caller, who knows what it is that cannot be unpacked.
  if (call.alt == "media") request.headers.emplace_back("Accept-Encoding", "gzip");
  if (call.body) {
    request.headers.emplace_back("Content-Type", "application/json");
    request.body = ToJson(*call.body);
  } else if (call.content) {
    request.headers.emplace_back("Content-Type", call.content_type);
    request.body = *call.content;
  }
  return SendAuthorized(std::move(request), call.idempotency, std::move(stop));
}

Result<Value> RestClient::Send(const Call& call, const std::stop_token& stop) {
  Result<http::Response> response = Exchange(call, std::move(stop));
  if (!response) return response.error();
  return Read(call, *response);
}

}  // namespace podctl::gcp
