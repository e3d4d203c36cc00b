#include "cmd/views/auth_view.h"

#include <gtest/gtest.h>

#include "providers/base/json.h"
#include "tests/support/fake_clock.h"
#include "tests/support/golden.h"

namespace podctl {
namespace {

using testing::ExpectGolden;

AuthReport SampleLogin() {
  testing::FakeClock clock;
  AuthReport report;
  report.endpoint = "https://tpu.googleapis.com/";
  report.now = clock.Now();
  report.status.looks = {{"CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", "not set"},
                         {"GOOGLE_OAUTH_ACCESS_TOKEN", "not set"},
                         {"GOOGLE_APPLICATION_CREDENTIALS", "not set"},
                         {"gcloud's application default login",
                          "/home/alice/.config/gcloud/application_default_credentials.json"}};
  report.status.type = "authorized_user";
  report.status.file = "/home/alice/.config/gcloud/application_default_credentials.json";
  report.status.account = "alice@example.com";
  report.status.expires = report.now + std::chrono::minutes(59);
  report.status.quota_project = "billed";
  report.status.quota_from = "GOOGLE_CLOUD_QUOTA_PROJECT";
  return report;
}

AuthReport Nothing() {
  AuthReport report = SampleLogin();
  report.status.looks.back().finding += " is not there";
  report.status.looks.push_back(
      {"the metadata server", "this machine is not one of Google's (X1)"});
  report.status.looks.push_back({"gcloud's own login", "asked of gcloud"});
  report.status.type = "gcloud";
  report.status.file.clear();
  report.status.account.clear();
  report.status.expires.reset();
  report.status.quota_project.clear();
  report.status.quota_from.clear();
  report.status.error = MakeError(ErrorCode::kUnauthenticated, "gcloud is not installed", "log in");
  report.endpoint = "http://127.0.0.1:8470/";
  report.on_loopback = true;
  return report;
}

TEST(AuthView, TellsWhoseCredentialsAreUsed) {
  ExpectGolden("cmd/auth/login.txt", AuthText(SampleLogin()));
  ExpectGolden("cmd/auth/login.json",
               ToJson(AuthDocument(SampleLogin()), JsonStyle::kIndented) + "\n");
}

TEST(AuthView, TellsWhatWasLookedForInVain) {
  ExpectGolden("cmd/auth/nothing.txt", AuthText(Nothing()));
  ExpectGolden("cmd/auth/nothing.json",
               ToJson(AuthDocument(Nothing()), JsonStyle::kIndented) + "\n");
}

TEST(AuthView, AnEndpointThatNeedsNoTokenIsUsableWithoutOne) {
  EXPECT_TRUE(IsUsable(SampleLogin()));
  AuthReport report = Nothing();
  EXPECT_TRUE(IsUsable(report));
  report.on_loopback = false;
  EXPECT_FALSE(IsUsable(report));
  // One that was handed over is sent, to whomever.
  report.on_loopback = true;
  report.status.looks.resize(2);
  EXPECT_FALSE(IsUsable(report));
}

}  // namespace
}  // namespace podctl
