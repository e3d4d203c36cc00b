#include "providers/etcd/place.h"

#include <fmt/format.h>

#include <algorithm>

#include "providers/base/text.h"
#include "providers/http/url.h"
#include "providers/os/ci_run.h"

namespace podctl::etcd {
namespace {

constexpr std::string_view kPlain = "etcd://";
constexpr std::string_view kEncrypted = "etcds://";
constexpr std::string_view kUsualPort = "2379";
constexpr std::size_t kQuotedUrl = 200;
constexpr std::size_t kLongestPrefix = 512;  // some room is for what is put behind it
constexpr const char* kForm = "write etcd://HOST:2379/PREFIX, or etcd://HOST:2379,HOST:2379/PREFIX";

Error BadPlace(const std::string& url, std::string_view why) {
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("`{}` {}", VisibleControls(url.substr(0, kQuotedUrl)), why), kForm);
}

std::string Variable(const Environment& environment, const char* name) {
  return environment.Get(name).value_or("");
}

// "http://host:port" of "host", "host:port" or, from ETCDCTL_ENDPOINTS, a URL; "" of anything else.
std::string EndpointOf(std::string_view host, bool encrypted) {
  std::string text(TrimBlanks(host));
  if (text.find("://") == std::string::npos) text = (encrypted ? "https://" : "http://") + text;
  const Result<http::Url> url = http::ParseUrl(text);
  if (!url || url->has_user || url->has_query || url->path != "/" || host.empty()) return {};
  // What libcurl takes a scheme's usual port for, nobody meant.
  const std::string_view after = std::string_view(text).substr(text.find("://") + 3);
  const std::size_t colon = after.rfind(':');
  const bool has_port = colon != std::string_view::npos && after.find(']', colon) == after.npos;
  const bool is_six = url->host.find(':') != std::string::npos;
  return fmt::format("{}://{}:{}", url->scheme, is_six ? "[" + url->host + "]" : url->host,
                     has_port ? std::string_view(url->port) : kUsualPort);
}

std::vector<std::string> EndpointsOf(const std::string& hosts, bool encrypted) {
  std::vector<std::string> endpoints;
  for (const std::string_view host : Split(hosts, ",")) {
    endpoints.push_back(EndpointOf(host, encrypted));
  }
  return endpoints;
}

// "" or what is wrong with it.
std::string WhyNoPrefix(std::string_view prefix) {
  const bool fits = std::all_of(prefix.begin(), prefix.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7F && c != '#' && c != '?' && c != '*';
  });
  if (!fits) return "has a prefix with one of # ? * or a control character in it";
  if (HasDotParts(prefix)) return "has a prefix with `..`, `.` or nothing between two slashes";
  return prefix.size() <= kLongestPrefix
             ? ""
             : fmt::format("has a prefix of more than {} bytes", kLongestPrefix);
}

}  // namespace

bool IsPlace(const std::string& url) {
  return url.starts_with(kPlain) || url.starts_with(kEncrypted);
}

Result<Place> ParsePlace(const std::string& url, const Environment& environment) {
  // A password stands before an `@`: what may hold one is not quoted.
  if (url.find('@') != std::string::npos) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "the URL of a state in etcd holds a user or an `@`",
                     "name the user and the password in ETCDCTL_USER, as NAME:PASSWORD");
  }
  if (!IsPlace(url)) return BadPlace(url, "is no place in etcd");
  const bool encrypted = url.starts_with(kEncrypted) ||
                         !Variable(environment, "ETCDCTL_CACERT").empty() ||
                         !Variable(environment, "ETCDCTL_CERT").empty();
  const std::size_t start = url.find("://") + 3;
  const std::size_t slash = std::min(url.find('/', start), url.size());
  std::string hosts = url.substr(start, slash - start);
  const bool named = !hosts.empty();
  if (!named) hosts = Variable(environment, "ETCDCTL_ENDPOINTS");
  if (hosts.empty()) return BadPlace(url, "names no host, and neither does ETCDCTL_ENDPOINTS");
  Place place;
  place.endpoints = EndpointsOf(hosts, encrypted);
  if (std::find(place.endpoints.begin(), place.endpoints.end(), "") != place.endpoints.end()) {
    if (named) return BadPlace(url, "names something that is no HOST:PORT");
    return MakeError(ErrorCode::kInvalidArgument,
                     "ETCDCTL_ENDPOINTS names something that is no HOST:PORT",
                     "write HOST:2379, and several with commas between them");
  }
  place.prefix = url.substr(std::min(slash + 1, url.size()));
  while (place.prefix.ends_with('/')) place.prefix.pop_back();
  if (place.prefix.empty()) return BadPlace(url, "names no prefix for the keys");
  if (const std::string why = WhyNoPrefix(place.prefix); !why.empty()) return BadPlace(url, why);
  place.url = url.substr(0, slash + 1) + place.prefix;
  return place;
}

Result<Settings> FindSettings(const Environment& environment) {
  Settings settings;
  settings.ca_file = Variable(environment, "ETCDCTL_CACERT");
  settings.certificate_file = Variable(environment, "ETCDCTL_CERT");
  settings.key_file = Variable(environment, "ETCDCTL_KEY");
  settings.user = Variable(environment, "ETCDCTL_USER");
  settings.password = Variable(environment, "ETCDCTL_PASSWORD");
  if (const std::size_t colon = settings.user.find(':'); colon != std::string::npos) {
    settings.password = settings.user.substr(colon + 1);
    settings.user.resize(colon);
  }
  if (!settings.user.empty() && settings.password.empty()) {
    return MakeError(ErrorCode::kInvalidArgument, "ETCDCTL_USER names a user without a password",
                     "write NAME:PASSWORD, or put the password into ETCDCTL_PASSWORD");
  }
  if (settings.certificate_file.empty() && !settings.key_file.empty()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "ETCDCTL_KEY names a key, and no certificate is named",
                     "name its certificate in ETCDCTL_CERT");
  }
  return settings;
}

Result<void> MayCarry(const Place& place, const Settings& settings,
                      const Environment& environment) {
  if (settings.user.empty()) return {};
  const bool encrypted = place.endpoints.front().starts_with("https://");
  const auto trusted = EndpointsOf(Variable(environment, "ETCDCTL_ENDPOINTS"), encrypted);
  const bool is_pipeline = IsPipeline(environment);
  for (const std::string& endpoint : place.endpoints) {
    const Result<http::Url> url = http::ParseUrl(endpoint);
    const bool named = std::find(trusted.begin(), trusted.end(), endpoint) != trusted.end();
    if (is_pipeline && !named) {
      return MakeError(
          ErrorCode::kFailedPrecondition,
          fmt::format("the password of ETCDCTL_USER does not go to {}, which the spec names and "
                      "ETCDCTL_ENDPOINTS does not",
                      url ? url->Server() : std::string("the server")),
          "a pipeline may plan another person's spec, and would hand the password to whom it "
          "names: let the pipeline set ETCDCTL_ENDPOINTS to the hosts of the state");
    }
    if (url && (url->scheme == "https" || http::IsLoopback(*url))) continue;
    return MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("a password must not travel unencrypted to {}",
                    url ? url->Server() : std::string("the server")),
        "write etcds:// in place of etcd://, and name the CA's certificate in ETCDCTL_CACERT");
  }
  return {};
}

}  // namespace podctl::etcd
