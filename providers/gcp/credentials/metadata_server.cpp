#include <fmt/format.h>

#include "providers/base/text.h"
#include "providers/gcp/credentials/token_request.h"

namespace podctl::gcp {
namespace {

using std::chrono::milliseconds;

constexpr const char* kAddress = "169.254.169.254";
constexpr const char* kMachine = "/sys/class/dmi/id/product_name";
constexpr const char* kAccountPath = "computeMetadata/v1/instance/service-accounts/default/";
constexpr milliseconds kAnswerTime{5'000};
constexpr milliseconds kProbeTime{1'000};
constexpr int kLongestProbe = 60;  // seconds

TokenRequest Question(std::string url) {
  TokenRequest request;
  request.method = "GET";
  request.url = std::move(url);
  request.headers = {{"Metadata-Flavor", "Google"}};
  request.url_policy = UrlPolicy::kNamed;
  request.timeout = kAnswerTime;
  request.whose = "the metadata server";
  request.hint = "is a service account attached to this machine?";
  return request;
}

bool IsGoogles(const http::Response& response) {
  const std::string* flavor = response.Header("metadata-flavor");
  return flavor != nullptr && *flavor == "Google";
}

TokenSource MetadataSource(const CredentialDoors& doors, const std::string& host) {
  const std::string base = fmt::format("http://{}/", host) + kAccountPath;
  return {"metadata_server",
          [doors, base](TokenFreshness, const std::stop_token& stop) {
            return AskForToken(doors, Question(base + "token"), stop);
          },
          [doors, base](const std::stop_token& stop) {
            const auto answer = Ask(doors, Question(base + "email"), stop);
            return answer ? VisibleControls(TrimBlanks(answer->body)) : "";
          }};
}

milliseconds ProbeTime(const Environment& environment) {
  const auto seconds = ParseNumber<int>(environment.Get("GCE_METADATA_TIMEOUT").value_or(""));
  const bool good = seconds && *seconds > 0 && *seconds <= kLongestProbe;
  return good ? std::chrono::seconds(*seconds) : kProbeTime;
}

}  // namespace

Result<MetadataServer> FindMetadataServer(const CredentialDoors& doors,
                                          const std::stop_token& stop) {
  const auto found = [&](const std::string& host) {
    return MetadataServer{MetadataSource(doors, host), host};
  };
  const auto host = doors.environment.Get("GCE_METADATA_HOST");
  if (host && !host->empty()) return found(*host);
  if (doors.environment.Get("NO_GCE_CHECK") == "true") {
    return MetadataServer{std::nullopt, "not looked for (NO_GCE_CHECK)"};
  }
  if (const auto machine = doors.files.Read(kMachine, 4096)) {
    if (machine->starts_with("Google")) return found(kAddress);
    return MetadataServer{std::nullopt, fmt::format("this machine is not one of Google's ({})",
                                                    VisibleControls(TrimBlanks(*machine)))};
  }
  TokenRequest probe = Question(fmt::format("http://{}/", kAddress));
  probe.attempts = 1;
  probe.timeout = ProbeTime(doors.environment);
  const Result<http::Response> answer = Ask(doors, probe, stop);
  if (answer && IsGoogles(*answer)) return found(kAddress);
  if (!answer && answer.error().code == ErrorCode::kCancelled) return answer.error();
  return MetadataServer{std::nullopt, fmt::format("nobody of Google's answers at {}", kAddress)};
}

}  // namespace podctl::gcp
