#include "state/stores/http/http_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "providers/base/text.h"
#include "providers/http/url.h"
#include "providers/os/ci_run.h"

namespace podctl {
namespace {

constexpr int kMostRetries = 100;
constexpr int kMostWaitSeconds = 3600;

std::string ValueOf(const Environment& environment, const char* name) {
  return environment.Get(name).value_or("");
}

std::string OriginOf(const http::Url& url) {
  return url.scheme + "://" + LowerCase(url.host) + ":" + url.port;
}

Error BadAddress(const std::string& what, const std::string& why, const std::string& hint) {
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("{}: {}", what, why), hint);
}

// The rules for every address that podctl sends a state, a lock or a password to.
Result<http::Url> CheckAddress(const std::string& text, const std::string& what) {
  auto url = http::ParseUrl(text);
  if (!url) {
    return BadAddress(what, url.error().message,
                      "write it as in `https://gitlab.example.com/api/v4/projects/7/terraform/"
                      "state/pods`");
  }
  if (url->has_user) {
    return BadAddress(what, "a URL with a user or a password would stand in logs",
                      "take them out of it, and set TF_HTTP_USERNAME and TF_HTTP_PASSWORD");
  }
  if (url->scheme == "http" && !http::IsLoopback(*url)) {
    return BadAddress(what, "http would send the state and the password in the clear",
                      "write https; plain http is for servers of this machine (127.0.0.1)");
  }
  return url;
}

// As shown: nothing of an address that may hold more than it should.
std::string Shown(const std::string& url) {
  return VisibleControls(url.substr(0, url.find_first_of("?#")));
}

bool IsPathOf(const std::string& path, const std::vector<std::string_view>& pattern) {
  const auto parts = Split(path, "/");
  if (parts.size() < pattern.size()) return false;
  const std::size_t skip = parts.size() - pattern.size();  // a server may live below a path
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view part = parts[skip + i];
    if (pattern[i] == "*" ? part.empty() : part != pattern[i]) return false;
  }
  return true;
}

HttpServer ServerOf(const std::string& path) {
  if (IsPathOf(path, {"api", "v4", "projects", "*", "terraform", "state", "*"})) {
    return HttpServer::kGitLab;
  }
  if (IsPathOf(path, {"api", "packages", "*", "terraform", "state", "*"})) {
    return HttpServer::kGitea;
  }
  return HttpServer::kOther;
}

// GitLab and Gitea take `…/pods/` for another path, or for none; it is the same state.
std::string WithoutLastSlashes(const std::string& url) {
  const auto parsed = http::ParseUrl(url);
  if (!parsed || parsed->has_query) return url;
  const auto count = [](const std::string& text) {
    return text.size() - std::min(text.size(), text.find_last_not_of('/') + 1);
  };
  const std::size_t slashes = count(parsed->path);
  const std::string path = parsed->path.substr(0, parsed->path.size() - slashes);
  const bool is_known = slashes > 0 && ServerOf(path) != HttpServer::kOther;
  return is_known ? url.substr(0, url.size() - count(url)) : url;
}

Result<void> ReadMethod(const Environment& environment, const char* name, std::string* method) {
  const std::string value = ValueOf(environment, name);
  if (value.empty()) return {};
  const bool plain = value.size() <= 20 && std::all_of(value.begin(), value.end(), [](char c) {
                       return (c >= 'A' && c <= 'Z') || c == '-';
                     });
  if (!plain) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} is no method of HTTP: {}", name, VisibleControls(value)),
                     "write it in capital letters, such as PUT");
  }
  *method = value;
  return {};
}

Result<std::optional<int>> ReadNumber(const Environment& environment, const char* name, int most) {
  const std::string value = ValueOf(environment, name);
  if (value.empty()) return std::optional<int>();
  const auto number = ParseNumber<int>(value);
  if (number && *number >= 0 && *number <= most) return number;
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("{} is no number from 0 to {}: {}",
                                                            name, most, VisibleControls(value)));
}

Result<void> ReadAddress(const Environment& environment, const char* name, std::string* address) {
  const std::string value = ValueOf(environment, name);
  if (value.empty()) return {};
  if (auto url = CheckAddress(value, name); !url) return url.error();
  *address = value;
  return {};
}

// What is asked for and cannot be had must not be passed over in silence.
Result<void> CheckWhatIsMissing(const Environment& environment) {
  constexpr const char* kSkip = "TF_HTTP_SKIP_CERT_VERIFICATION";
  const std::string skip = LowerCase(ValueOf(environment, kSkip));
  if (!skip.empty() && skip != "0" && skip != "false" && skip != "f") {
    return MakeError(ErrorCode::kUnimplemented,
                     fmt::format("{} is set, and podctl always verifies certificates", kSkip),
                     fmt::format("unset it, and name the server's certificate authority in "
                                 "CURL_CA_BUNDLE or SSL_CERT_FILE"));
  }
  for (const char* const name :
       {"TF_HTTP_CLIENT_CA_CERTIFICATE_PEM", "TF_HTTP_CLIENT_CERTIFICATE_PEM",
        "TF_HTTP_CLIENT_PRIVATE_KEY_PEM"}) {
    if (ValueOf(environment, name).empty()) continue;
    const bool authority = std::string_view(name).find("_CA_") != std::string_view::npos;
    return MakeError(
        ErrorCode::kUnimplemented,
        authority ? fmt::format("{} is set, and podctl reads certificates from files only", name)
                  : fmt::format("{} is set, and podctl has no client certificates", name),
        authority ? "unset it, and name a file with that text in CURL_CA_BUNDLE or SSL_CERT_FILE"
                  : "unset it, and use TF_HTTP_USERNAME and TF_HTTP_PASSWORD, or a proxy on this "
                    "machine that has the certificate");
  }
  return {};
}

// Where the password of TF_HTTP_PASSWORD may go, in a pipeline: the place is what a spec says, or a
// `stateOf`, and that may be a pull request's.
Result<void> MayCarry(const Environment& environment, const HttpPlace& place) {
  if (!IsPipeline(environment)) return {};
  const auto named = http::ParseUrl(ValueOf(environment, "TF_HTTP_ADDRESS"));
  const auto url = http::ParseUrl(place.url);
  if (named && url && OriginOf(*named) == OriginOf(*url)) return {};
  return MakeError(
      ErrorCode::kFailedPrecondition,
      fmt::format("TF_HTTP_PASSWORD does not go to {}, which the spec names and TF_HTTP_ADDRESS "
                  "does not",
                  url ? url->Server() : std::string("the server")),
      "a pipeline may plan another person's spec, and would hand the password to whom it names: "
      "let the pipeline set TF_HTTP_ADDRESS to the URL of the state");
}

Result<void> ReadCredentials(const Environment& environment, HttpPlace* place) {
  place->user = ValueOf(environment, "TF_HTTP_USERNAME");
  place->password = ValueOf(environment, "TF_HTTP_PASSWORD");
  place->credentials_from = "TF_HTTP_USERNAME and TF_HTTP_PASSWORD";
  if (place->user.find(':') != std::string::npos) {
    return MakeError(ErrorCode::kInvalidArgument, "TF_HTTP_USERNAME holds a colon",
                     "a user of HTTP's basic authentication has none");
  }
  if (!place->user.empty()) return MayCarry(environment, *place);
  if (!place->password.empty()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "TF_HTTP_PASSWORD is set, and TF_HTTP_USERNAME is not",
                     "set both; with an access token the user is the one that it belongs to");
  }
  place->credentials_from.clear();
  // In a GitLab job the job's own token, and to nobody but that GitLab.
  const auto api = http::ParseUrl(ValueOf(environment, "CI_API_V4_URL"));
  const std::string token = ValueOf(environment, "CI_JOB_TOKEN");
  if (!api || token.empty()) return {};
  for (const std::string* address : {&place->url, &place->lock_url, &place->unlock_url}) {
    const auto url = http::ParseUrl(*address);
    if (!address->empty() && (!url || OriginOf(*url) != OriginOf(*api))) return {};
  }
  place->user = "gitlab-ci-token";
  place->password = token;
  place->credentials_from = "CI_JOB_TOKEN";
  return {};
}

Result<void> ReadLock(const Environment& environment, HttpPlace* place) {
  if (place->server != HttpServer::kOther) {
    place->lock_url = place->url + "/lock";
    place->lock_method = "POST";
    place->unlock_method = "DELETE";
  }
  const std::string usual = place->lock_url;
  for (const auto& [name, address] : {std::pair{"TF_HTTP_LOCK_ADDRESS", &place->lock_url},
                                      std::pair{"TF_HTTP_UNLOCK_ADDRESS", &place->unlock_url}}) {
    if (auto read = ReadAddress(environment, name, address); !read) return read;
  }
  // Terraform's defaults hold for an address that only it knows.
  if (place->lock_url != usual) {
    place->lock_method = "LOCK";
    place->unlock_method = "UNLOCK";
  }
  if (place->unlock_url.empty()) place->unlock_url = place->lock_url;
  if (place->lock_url.empty() && !place->unlock_url.empty()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "TF_HTTP_UNLOCK_ADDRESS is set, and TF_HTTP_LOCK_ADDRESS is not", "set both");
  }
  if (auto read = ReadMethod(environment, "TF_HTTP_LOCK_METHOD", &place->lock_method); !read) {
    return read;
  }
  return ReadMethod(environment, "TF_HTTP_UNLOCK_METHOD", &place->unlock_method);
}

Result<void> ReadPatience(const Environment& environment, HttpPlace* place) {
  const auto retries = ReadNumber(environment, "TF_HTTP_RETRY_MAX", kMostRetries);
  if (!retries) return retries.error();
  place->retries = *retries;
  for (const auto& [name, wait] : {std::pair{"TF_HTTP_RETRY_WAIT_MIN", &place->first_wait},
                                   std::pair{"TF_HTTP_RETRY_WAIT_MAX", &place->longest_wait}}) {
    const auto seconds = ReadNumber(environment, name, kMostWaitSeconds);
    if (!seconds) return seconds.error();
    if (*seconds) *wait = std::chrono::seconds(**seconds);
  }
  if (place->first_wait > place->longest_wait) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "TF_HTTP_RETRY_WAIT_MIN is longer than TF_HTTP_RETRY_WAIT_MAX");
  }
  return {};
}

}  // namespace

Result<std::string> CheckHttpStateUrl(const std::string& url) {
  const std::string what = fmt::format("a state cannot be at {}", [&] {
    const auto parsed = http::ParseUrl(url);
    // Whatever stands before the host may be a password.
    return parsed && parsed->has_user
               ? parsed->scheme + "://…@" + parsed->Server() + Shown(parsed->path)
               : Shown(url);
  }());
  auto parsed = CheckAddress(url, what);
  if (!parsed) return parsed.error();
  if (parsed->has_query) {
    return BadAddress(what, "a state's URL has no query and no fragment",
                      "a token in it would stand in logs: set TF_HTTP_USERNAME and "
                      "TF_HTTP_PASSWORD");
  }
  return WithoutLastSlashes(url);
}

Result<HttpPlace> FindHttpPlace(const std::string& url, const Environment& environment) {
  auto checked = CheckHttpStateUrl(url);
  if (!checked) return checked.error();
  HttpPlace place;
  place.url = *checked;
  place.server = ServerOf(http::ParseUrl(place.url)->path);
  // The variables of another state would have this one locked at that one's address; where the
  // server's own lock is known they are not needed for that.
  const std::string named = WithoutLastSlashes(ValueOf(environment, "TF_HTTP_ADDRESS"));
  const bool of_another = !named.empty() && named != place.url;
  const auto other = http::ParseUrl(named);
  const bool same_server = other && OriginOf(*other) == OriginOf(*http::ParseUrl(url));
  if (of_another && (!same_server || place.server == HttpServer::kOther)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("TF_HTTP_ADDRESS is {}, and the spec's `state` is {}",
                                 http::ParseUrl(named) && !http::ParseUrl(named)->has_user
                                     ? Shown(named)
                                     : std::string("another address"),
                                 place.url),
                     "The TF_HTTP_ variables seem to be of another state. Unset them for podctl, "
                     "or correct `state` in the spec.");
  }
  if (auto missing = CheckWhatIsMissing(environment); !missing) return missing.error();
  const FixedEnvironment nothing{{}};
  if (auto lock = ReadLock(of_another ? nothing : environment, &place); !lock) return lock.error();
  auto method = ReadMethod(environment, "TF_HTTP_UPDATE_METHOD", &place.update_method);
  if (!method) return method.error();
  if (auto patience = ReadPatience(environment, &place); !patience) return patience.error();
  if (auto read = ReadCredentials(environment, &place); !read) return read.error();
  return place;
}

}  // namespace podctl
