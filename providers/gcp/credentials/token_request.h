// Questions to the servers that give tokens: what is sent, how often, and what their answers and
// refusals mean.
//
// It knows nothing of the kinds of credentials. What was sent in confidence is taken out of the
// servers' words before anybody reads them. Thread safe (no state).
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "providers/base/value.h"
#include "providers/gcp/credentials/token_source.h"

namespace podctl::gcp {

inline constexpr const char* kCloudScope = "https://www.googleapis.com/auth/cloud-platform";

// application/x-www-form-urlencoded, in this order.
using Form = std::vector<std::pair<std::string, std::string>>;

// Who may be asked over plain http.
enum class UrlPolicy {
  kSecure,  // https, or loopback
  kNearby,  // also what never leaves the machine's own link (169.254/16 and AWS's IPv6 address)
  kNamed,   // whoever the user named; nothing secret is sent. Proxies are passed by.
};

struct TokenRequest {
  std::string method = "POST";
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  Form form;                  // the body, unless `json` is given or the method has none
  std::optional<Value> json;  // the body
  UrlPolicy url_policy = UrlPolicy::kSecure;
  int attempts = 3;
  std::chrono::milliseconds timeout{30'000};  // of one attempt
  std::string whose;                          // for messages: the file and the field of the URL
  std::string hint;                           // what helps when the server refuses
};

// The answer of a request that succeeded (2xx). Repeats what may pass: no connection, a lost
// answer, 408, 429, 5xx, and OAuth's own words for such trouble. Errors as TokenSource's.
Result<http::Response> Ask(const CredentialDoors& doors, const TokenRequest& request,
                           const std::stop_token& stop);
// The same, where the answer must be a JSON object.
Result<Value> AskForJson(const CredentialDoors& doors, const TokenRequest& request,
                         const std::stop_token& stop);

// The same, where it holds `access_token` and `expires_in` (RFC 6749, 5.1; seconds, also as a
// string). `answered`, unless nullptr, is told the whole answer.
Result<AccessToken> AskForToken(const CredentialDoors& doors, const TokenRequest& request,
                                const std::stop_token& stop, Value* answered = nullptr);

// A token is one word of visible ASCII (RFC 6750, 2.1); anything else would break the header.
bool IsToken(std::string_view text);

}  // namespace podctl::gcp
