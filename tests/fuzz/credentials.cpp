// Credential files, and what token servers answer: both come from elsewhere. Whatever they hold,
// the end is a token that is one, or an error of the kinds that are promised; and never a question
// to somebody far away over plain http.
#include "providers/gcp/credentials/credentials.h"

#include "providers/gcp/credentials/token_request.h"
#include "providers/http/url.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/providers/gcp/fake_gcloud.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/fake_transport.h"

namespace podctl::fuzz {
namespace {

void CheckRequests(const testing::FakeTransport& transport) {
  for (const http::Request& request : transport.requests()) {
    const auto url = http::ParseUrl(request.url);
    PODCTL_CHECK(url.has_value());
    PODCTL_CHECK(url->scheme == "https" || http::IsLoopback(*url) ||
                 url->host.starts_with("169.254.") || url->host == "fd00:ec2::254");
  }
}

}  // namespace
}  // namespace podctl::fuzz

// The file, a line "---", and the body of every answer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace podctl;
  const std::string_view text = fuzz::TextOf(data, size);
  constexpr std::string_view kCut = "\n---\n";
  const std::size_t cut = std::min(text.find(kCut), text.size());
  const std::string_view answer = text.substr(std::min(text.size(), cut + kCut.size()));
  testing::FakeFileSystem files;
  files.SetFile("/tmp/key.json", std::string(text.substr(0, cut)));
  files.SetFile("/tmp/oidc", std::string(answer));
  const FixedEnvironment environment({{"GOOGLE_APPLICATION_CREDENTIALS", "/tmp/key.json"},
                                      {"GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1"}});
  testing::FakeGcloud programs;
  programs.Exit(0, std::string(answer), "");
  testing::FakeTransport transport;
  testing::FakeClock clock;
  testing::FakeRandom random;
  transport.Then(200, std::string(answer));
  gcp::Credentials credentials({environment, files, programs, transport, clock, random});
  const auto token = credentials.Token();
  if (token) {
    PODCTL_CHECK(gcp::IsToken(token->Reveal()));
  } else {
    const ErrorCode code = token.error().code;
    PODCTL_CHECK(code == ErrorCode::kUnauthenticated || code == ErrorCode::kUnavailable ||
                 code == ErrorCode::kFailedPrecondition);
    PODCTL_CHECK(!token.error().message.empty());
  }
  fuzz::CheckRequests(transport);
  return 0;
}
