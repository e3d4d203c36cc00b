#include "providers/gcp/credentials/metadata_server.h"

#include <fmt/format.h>

#include <charconv>

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

TokenRequest Question(const std::string& base, const std::string& path) {
  TokenRequest request;
  request.method = "GET";
  request.url = base + path;
  request.headers = {{"Metadata-Flavor", "Google"}};
  request.reach = Reach::kNamed;
  request.timeout = kAnswerTime;
  request.whose = "the metadata server";
  request.hint = "is a service account attached to this machine?";
  return request;
}

bool IsGoogles(const http::Response& response) {
  const std::string* flavor = response.Header("metadata-flavor");
  return flavor != nullptr && *flavor == "Google";
}

class MetadataSource final : public TokenSource {
 public:
  MetadataSource(const CredentialDoors& doors, std::string base)
      : doors_(doors), base_(std::move(base)) {}

  Result<AccessToken> Fetch(Need, const std::stop_token& stop) override {
    const auto asked = doors_.clock.Now();
    const TokenRequest request = Question(base_, std::string(kAccountPath) + "token");
    Result<Value> answer = AskForJson(doors_, request, stop);
    if (!answer) return answer.error();
    return ReadTokenAnswer(*answer, asked, request.whose);
  }
  std::string Account(const std::stop_token& stop) override {
    const auto answer = Ask(doors_, Question(base_, std::string(kAccountPath) + "email"), stop);
    return answer ? VisibleControls(TrimBlanks(answer->body)) : "";
  }
  std::string Type() const override { return "metadata_server"; }

 private:
  const CredentialDoors doors_;
  const std::string base_;
};

milliseconds ProbeTime(const Environment& environment) {
  const std::string text = environment.Get("GCE_METADATA_TIMEOUT").value_or("");
  int seconds = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool good = code == std::errc() && end == text.data() + text.size() && seconds > 0 &&
                    seconds <= kLongestProbe;
  return good ? std::chrono::seconds(seconds) : kProbeTime;
}

}  // namespace

Result<MetadataServer> FindMetadataServer(const CredentialDoors& doors,
                                          const std::stop_token& stop) {
  const auto found = [&](const std::string& host) {
    return MetadataServer{std::make_unique<MetadataSource>(doors, fmt::format("http://{}/", host)),
                          host};
  };
  const auto host = doors.environment.Get("GCE_METADATA_HOST");
  if (host && !host->empty()) return found(*host);
  if (doors.environment.Get("NO_GCE_CHECK") == "true") {
    return MetadataServer{nullptr, "not looked for (NO_GCE_CHECK)"};
  }
  if (const auto machine = doors.files.Read(kMachine, 4096)) {
    if (machine->starts_with("Google")) return found(kAddress);
    return MetadataServer{nullptr, fmt::format("this machine is not one of Google's ({})",
                                               VisibleControls(TrimBlanks(*machine)))};
  }
  TokenRequest probe = Question(fmt::format("http://{}/", kAddress), "");
  probe.attempts = 1;
  probe.timeout = ProbeTime(doors.environment);
  const Result<http::Response> answer = Ask(doors, probe, stop);
  if (answer && IsGoogles(*answer)) return found(kAddress);
  if (!answer && answer.error().code == ErrorCode::kCancelled) return answer.error();
  return MetadataServer{nullptr, fmt::format("nobody of Google's answers at {}", kAddress)};
}

}  // namespace podctl::gcp
