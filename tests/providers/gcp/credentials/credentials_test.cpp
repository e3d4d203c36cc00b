// Where credentials are looked for, and how tokens are kept and renewed.
#include "providers/gcp/credentials/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "providers/gcp/credentials/credential_paths.h"
#include "tests/providers/gcp/credentials/token_world.h"

namespace podctl::gcp {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ServerAnswer;
using testing::TokenWorld;

constexpr const char* kTokenFile = "/tmp/token";
constexpr const char* kDefaultFile =
    "/home/alice/.config/gcloud/application_default_credentials.json";

class CredentialsTest : public TokenWorld {
 protected:
  Credentials Make() { return Credentials(Doors()); }
  Credentials Make(std::map<std::string, std::string> variables) {
    SetVariables(std::move(variables));
    return Credentials(Doors());
  }
  static Value Login(const std::string& refresh_token = "refresh-secret") {
    Value file = Value::EmptyMap();
    file.Set("type", "authorized_user");
    file.Set("client_id", "client");
    file.Set("client_secret", "client-secret");
    file.Set("refresh_token", refresh_token);
    return file;
  }
  void WriteDefaultFile() {
    files_.SetFolder("/home/alice/.config/gcloud");
    files_.SetFile(kDefaultFile, ToJson(Login()));
  }
  static ServerAnswer Grant(const std::string& token, int life = 3600) {
    return {R"({"access_token":")" + token + R"(","expires_in":)" + std::to_string(life) + "}"};
  }
};

TEST_F(CredentialsTest, TheFilesThatLogInAreKnown) {
  files_.SetFile("/run/creds.json",
                 R"({"type":"external_account","credential_source":{"file":"/run/oidc"}})");
  files_.SetFile(kTokenFile, "no JSON");
  const FixedEnvironment environment({{"HOME", "/home/alice"},
                                      {"CLOUDSDK_CONFIG", "/conf"},
                                      {"CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", kTokenFile},
                                      {"GOOGLE_APPLICATION_CREDENTIALS", "/run/creds.json"}});
  EXPECT_THAT(CredentialPaths(environment, files_),
              ElementsAre(kTokenFile, "/run/creds.json", "/run/oidc", "/conf",
                          "/home/alice/.config/gcloud", "/home/alice/.aws"));
}

TEST_F(CredentialsTest, TheTokensFileComesFirst) {
  files_.SetFile(kTokenFile, "from-file\n");
  auto credentials = Make({{"CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", kTokenFile},
                           {"GOOGLE_OAUTH_ACCESS_TOKEN", "from-variable"},
                           {"GOOGLE_APPLICATION_CREDENTIALS", "/no/such/file"}});
  EXPECT_EQ(credentials.Token()->Reveal(), "from-file");
}

TEST_F(CredentialsTest, ThenTheTokensVariable) {
  auto credentials = Make({{"CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", ""},
                           {"GOOGLE_OAUTH_ACCESS_TOKEN", "from-variable"},
                           {"GOOGLE_APPLICATION_CREDENTIALS", "/no/such/file"}});
  EXPECT_EQ(credentials.Token()->Reveal(), "from-variable");
}

TEST_F(CredentialsTest, ThenTheNamedFile) {
  WriteDefaultFile();
  UseFile(Login("named"), {{"HOME", "/home/alice"}});
  server_.Then(Grant("ya29.named"));
  EXPECT_EQ(Make({{"HOME", "/home/alice"}, {"GOOGLE_APPLICATION_CREDENTIALS", kKeyFile}})
                .Token()
                ->Reveal(),
            "ya29.named");
  EXPECT_EQ(server_.seen().at(0).Form().at("refresh_token"), "named");
}

TEST_F(CredentialsTest, ThenGcloudsDefaultLogin) {
  WriteDefaultFile();
  server_.Then(Grant("ya29.default"));
  EXPECT_EQ(Make({{"HOME", "/home/alice"}}).Token()->Reveal(), "ya29.default");
  files_.SetFolder("/elsewhere");
  files_.SetFile("/elsewhere/application_default_credentials.json", ToJson(Login("other")));
  EXPECT_EQ(Make({{"HOME", "/home/alice"}, {"CLOUDSDK_CONFIG", "/elsewhere"}}).Token()->Reveal(),
            "ya29.default");
  EXPECT_EQ(server_.seen().at(1).Form().at("refresh_token"), "other");
  EXPECT_EQ(gcloud_.runs(), 0);
}

TEST_F(CredentialsTest, ThenTheMetadataServer) {
  server_.Then(Grant("ya29.metadata", 1799));
  auto credentials = Make({{"GCE_METADATA_HOST", "metadata.test:8080"}});
  EXPECT_EQ(credentials.Token()->Reveal(), "ya29.metadata");
  const auto seen = server_.seen().at(0);
  EXPECT_EQ(seen.host, "metadata.test:8080");
  EXPECT_EQ(seen.method, "GET");
  EXPECT_EQ(seen.path, "/computeMetadata/v1/instance/service-accounts/default/token");
  EXPECT_EQ(seen.Header("metadata-flavor"), "Google");
  EXPECT_EQ(http_.direct(), 1);  // a proxy would be asked for its own machine's account
  EXPECT_EQ(gcloud_.runs(), 0);
}

TEST_F(CredentialsTest, AMachineOfGooglesNeedsNoVariable) {
  files_.SetFolder("/sys/class/dmi/id");
  files_.SetFile("/sys/class/dmi/id/product_name", "Google Compute Engine\n");
  server_.Then(Grant("ya29.metadata"));
  EXPECT_EQ(Make({{"NO_GCE_CHECK", ""}}).Token()->Reveal(), "ya29.metadata");
  EXPECT_EQ(server_.seen().at(0).host, "169.254.169.254");
}

TEST_F(CredentialsTest, AnotherMachineIsNotAsked) {
  files_.SetFolder("/sys/class/dmi/id");
  files_.SetFile("/sys/class/dmi/id/product_name", "ThinkPad\n");
  gcloud_.Print("ya29.gcloud");
  EXPECT_EQ(Make({{"NO_GCE_CHECK", ""}}).Token()->Reveal(), "ya29.gcloud");
  EXPECT_EQ(server_.seen().size(), 0U);
}

TEST_F(CredentialsTest, WhoAnswersWithoutGooglesHeaderIsNotGoogles) {
  server_.Then(ServerAnswer{"some other cloud"});
  gcloud_.Print("ya29.gcloud");
  EXPECT_EQ(Make({{"NO_GCE_CHECK", ""}}).Token()->Reveal(), "ya29.gcloud");
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(CredentialsTest, ThenGcloudWhichIsAskedOnce) {
  gcloud_.Print("ya29.token");
  auto credentials = Make({});
  EXPECT_EQ(credentials.Token()->Reveal(), "ya29.token");
  EXPECT_EQ(credentials.Token()->Reveal(), "ya29.token");
  EXPECT_EQ(gcloud_.runs(), 1);
  EXPECT_THAT(gcloud_.arguments(),
              ElementsAre("gcloud", "config", "config-helper", "--format=json", "--min-expiry=5m"));
}

TEST_F(CredentialsTest, ANamedTokenFileThatIsUnusableIsAnErrorAndNotSkipped) {
  auto credentials = Make({{"CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", kTokenFile},
                           {"GOOGLE_OAUTH_ACCESS_TOKEN", "from-variable"}});
  const auto absent = credentials.Token();
  ASSERT_FALSE(absent.has_value());
  EXPECT_EQ(absent.error().code, ErrorCode::kUnauthenticated);
  EXPECT_THAT(absent.error().message, HasSubstr(kTokenFile));
  files_.SetFile(kTokenFile, " \n");
  EXPECT_THAT(FailureOf(credentials).message, HasSubstr("holds no access token"));
}

TEST_F(CredentialsTest, ANamedCredentialFileThatIsUnusableIsAnErrorAndNotSkipped) {
  gcloud_.Print("ya29.gcloud");
  auto credentials = Make({{"GOOGLE_APPLICATION_CREDENTIALS", kKeyFile}});
  EXPECT_THAT(credentials.Token().error().message,
              AllOf(HasSubstr(kKeyFile), HasSubstr("GOOGLE_APPLICATION_CREDENTIALS")));
  files_.SetFolder("/home/alice");
  const std::vector<std::pair<std::string, std::string>> files = {
      {"", "is not a credential file"},
      {"[1]", "is not a credential file"},
      {"{}", "`type` is missing"},
      {R"({"type":7})", "`type` is not a text"},
      {R"({"type":"gdch_service_account"})", "podctl does not know"},
      {R"({"type":"authorized_user","client_id":"c"})", "`client_secret` is missing"},
      {R"({"type":"service_account","client_email":"e"})", "`private_key` is missing"},
      {R"({"type":"external_account","audience":"a","subject_token_type":"t","token_url":"https://x/"})",
       "`credential_source` is missing"},
      {R"({"type":"impersonated_service_account"})",
       "`service_account_impersonation_url` is missing"}};
  for (const auto& [text, words] : files) {
    files_.SetFile(kKeyFile, text);
    const Error error = FailureOf(credentials);
    EXPECT_EQ(error.code, ErrorCode::kUnauthenticated) << text;
    EXPECT_THAT(error.message, AllOf(HasSubstr(kKeyFile), HasSubstr(words)));
  }
  EXPECT_EQ(gcloud_.runs(), 0);
}

TEST_F(CredentialsTest, ADefaultFileThatMayNotBeLookedAtIsAnErrorAndNotSkipped) {
  WriteDefaultFile();
  auto credentials = Make({{"HOME", "/home/alice"}});
  files_.FailCall(1, MakeError(ErrorCode::kPermissionDenied, "cannot read it"), true);
  EXPECT_THAT(credentials.Token().error().message, HasSubstr("cannot read it"));
  EXPECT_EQ(gcloud_.runs(), 0);
}

TEST_F(CredentialsTest, RefusesWhatWouldBreakTheHeaderAndDoesNotShowIt) {
  const auto token = Make({{"GOOGLE_OAUTH_ACCESS_TOKEN", "secret\r\nX-Evil: 1"}}).Token();
  ASSERT_FALSE(token.has_value());
  EXPECT_THAT(AllTextOf(token.error()), Not(HasSubstr("secret")));
  EXPECT_THAT(AllTextOf(token.error()), Not(HasSubstr("Evil")));
}

TEST_F(CredentialsTest, SaysHowToLogInWhenThereIsNothing) {
  gcloud_.Fail(MakeError(ErrorCode::kNotFound, "there is no program gcloud in PATH"));
  const auto token = Make({}).Token();
  ASSERT_FALSE(token.has_value());
  EXPECT_EQ(token.error().code, ErrorCode::kUnauthenticated);
  EXPECT_THAT(token.error().message, HasSubstr("gcloud is not installed"));
  EXPECT_THAT(token.error().hint, HasSubstr("gcloud auth application-default login"));
  EXPECT_THAT(token.error().hint, HasSubstr("set PODCTL_ENDPOINT"));
}

TEST_F(CredentialsTest, QuotesGcloudsComplaintAndNotItsOutput) {
  gcloud_.Exit(1, "ya29.half",
               "Some warning\nERROR: (gcloud.config.config-helper) You do not currently have an "
               "active account selected.\nPlease run:\n");
  const auto token = Make({}).Token();
  ASSERT_FALSE(token.has_value());
  EXPECT_THAT(token.error().message, HasSubstr("You do not currently have an active account"));
  EXPECT_THAT(token.error().message, Not(HasSubstr("ya29")));
}

TEST_F(CredentialsTest, AFailureIsToldToAllWhoAskAndForgottenSoon) {
  gcloud_.Exit(1, "", "");
  gcloud_.Print("later");
  auto credentials = Make({});
  EXPECT_FALSE(credentials.Token().has_value());
  clock_.Advance(seconds(2));
  EXPECT_FALSE(credentials.Token().has_value());
  EXPECT_EQ(gcloud_.runs(), 1);
  clock_.Advance(seconds(1));
  EXPECT_EQ(credentials.Token()->Reveal(), "later");
}

TEST_F(CredentialsTest, ATokenIsRenewedBeforeItExpires) {
  UseFile(Login());
  server_.Then(Grant("first", 3600));
  server_.Then(Grant("second", 3600));
  auto credentials = Make({{"GOOGLE_APPLICATION_CREDENTIALS", kKeyFile}});
  EXPECT_EQ(credentials.Token()->Reveal(), "first");
  clock_.Advance(seconds(3600 - 226));
  EXPECT_EQ(credentials.Token()->Reveal(), "first");
  clock_.Advance(seconds(1));
  EXPECT_EQ(credentials.Token()->Reveal(), "second");
  EXPECT_EQ(server_.seen().size(), 2U);
}

TEST_F(CredentialsTest, GcloudsTokenIsRenewedByItsExpiryToo) {
  gcloud_.Print("first", "2026-11-20T15:00:00Z");  // it is 14:30
  gcloud_.Print("second", "2026-11-20T16:00:00Z");
  auto credentials = Make({});
  EXPECT_EQ(credentials.Token()->Reveal(), "first");
  clock_.Advance(minutes(25));
  EXPECT_EQ(credentials.Token()->Reveal(), "first");
  clock_.Advance(minutes(2));
  EXPECT_EQ(credentials.Token()->Reveal(), "second");
}

TEST_F(CredentialsTest, WhenARenewalFailsTheOldTokenServesToItsEnd) {
  gcloud_.Print("first", "2026-11-20T14:33:00Z");  // three minutes
  gcloud_.Exit(1, "", "");
  gcloud_.Exit(1, "", "");
  auto credentials = Make({});
  EXPECT_EQ(credentials.Token()->Reveal(), "first");
  EXPECT_EQ(credentials.Token()->Reveal(), "first");
  EXPECT_EQ(gcloud_.runs(), 2);
  clock_.Advance(seconds(171));
  EXPECT_FALSE(credentials.Token().has_value());
}

TEST_F(CredentialsTest, ARefusedTokenIsRenewed) {
  gcloud_.Print("old");
  gcloud_.Print("new");
  auto credentials = Make({});
  const Secret old = *credentials.Token();
  EXPECT_EQ(credentials.TokenAfter(old)->Reveal(), "new");
  EXPECT_THAT(gcloud_.arguments(), ::testing::Contains("--force-auth-refresh"));
  EXPECT_EQ(credentials.TokenAfter(old)->Reveal(), "new");  // a thread that comes late
  EXPECT_EQ(credentials.Token()->Reveal(), "new");
  EXPECT_EQ(gcloud_.runs(), 2);
}

TEST_F(CredentialsTest, ThereMayBeNoNewerOne) {
  auto credentials = Make({{"GOOGLE_OAUTH_ACCESS_TOKEN", "fixed-token"}});
  const auto fresh = credentials.TokenAfter(*credentials.Token());
  ASSERT_FALSE(fresh.has_value());
  EXPECT_EQ(fresh.error().code, ErrorCode::kUnauthenticated);
  EXPECT_THAT(AllTextOf(fresh.error()), Not(HasSubstr("fixed-token")));
}

TEST_F(CredentialsTest, ARotatedFileIsReadAgain) {
  files_.SetFile(kTokenFile, "first");
  auto credentials = Make({{"CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", kTokenFile}});
  const Secret first = *credentials.Token();
  files_.SetFile(kTokenFile, "second");
  EXPECT_EQ(credentials.TokenAfter(first)->Reveal(), "second");
}

TEST_F(CredentialsTest, WhereNoneIsNeededNobodyIsAsked) {
  WriteDefaultFile();
  EXPECT_EQ(Make({{"HOME", "/home/alice"}}).TokenIfGiven(), std::nullopt);
  EXPECT_EQ(Make({{"GCE_METADATA_HOST", "metadata.test"}}).TokenIfGiven(), std::nullopt);
  EXPECT_EQ(gcloud_.runs(), 0);
  EXPECT_EQ(server_.seen().size(), 0U);
  EXPECT_EQ(Make({{"GOOGLE_OAUTH_ACCESS_TOKEN", "given"}}).TokenIfGiven()->Reveal(), "given");
  EXPECT_EQ(Make({{"CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", "/no/such/file"}}).TokenIfGiven(),
            std::nullopt);
}

TEST_F(CredentialsTest, ManyThreadsAskOnce) {
  UseFile(Login());
  std::atomic<int> waiting{0};
  server_.Then([&](const testing::SeenRequest&) {
    while (waiting < 8) std::this_thread::yield();
    return Grant("one");
  });
  auto credentials = Make({{"GOOGLE_APPLICATION_CREDENTIALS", kKeyFile}});
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        ++waiting;
        EXPECT_EQ(credentials.Token()->Reveal(), "one");
      });
    }
  }
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(CredentialsTest, TheQuotaProjectComesFromTheNearestThatNamesOne) {
  files_.SetFolder("/home/alice/.config/gcloud/configurations");
  files_.SetFile("/home/alice/.config/gcloud/configurations/config_default",
                 "[core]\nproject = current\n[billing]\nquota_project = of-gcloud\n");
  Value file = Login();
  file.Set("quota_project_id", "of-file");
  UseFile(file);
  server_.Then(Grant("t"));
  std::map<std::string, std::string> variables = {{"HOME", "/home/alice"}};
  EXPECT_EQ(Make(variables).QuotaProject(), "of-gcloud");
  variables["GOOGLE_APPLICATION_CREDENTIALS"] = kKeyFile;
  auto credentials = Make(variables);
  ASSERT_TRUE(credentials.Token().has_value());
  EXPECT_EQ(credentials.QuotaProject(), "of-file");
  variables["CLOUDSDK_BILLING_QUOTA_PROJECT"] = "of-gclouds-variable";
  EXPECT_EQ(Make(variables).QuotaProject(), "of-gclouds-variable");
  variables["GOOGLE_CLOUD_QUOTA_PROJECT"] = "of-variable";
  EXPECT_EQ(Make(variables).QuotaProject(), "of-variable");
  EXPECT_EQ(Make({}).QuotaProject(), std::nullopt);
}

TEST_F(CredentialsTest, GcloudsWordsForQuotaProjectsAreUnderstood) {
  const std::string path = "/home/alice/.config/gcloud/configurations/config_default";
  files_.SetFolder("/home/alice/.config/gcloud/configurations");
  files_.SetFile(path, "[core]\nproject = mine\n[billing]\nquota_project = CURRENT_PROJECT\n");
  EXPECT_EQ(Make({{"HOME", "/home/alice"}}).QuotaProject(), "mine");
  files_.SetFile(path, "[core]\nproject = mine\n[billing]\nquota_project = LEGACY\n");
  EXPECT_EQ(Make({{"HOME", "/home/alice"}}).QuotaProject(), std::nullopt);
}

TEST_F(CredentialsTest, StatusTellsWhatWasLookedForAndWhoseTheTokenIs) {
  WriteDefaultFile();
  server_.Then(Grant("ya29.default", 1800));
  server_.Then(ServerAnswer{R"({"email":"alice@example.com","expires_in":"1700"})"});
  const auto status = Make({{"HOME", "/home/alice"}}).Status({});
  EXPECT_FALSE(status.error.has_value());
  EXPECT_EQ(status.type, "authorized_user");
  EXPECT_EQ(status.file, kDefaultFile);
  EXPECT_EQ(status.account, "alice@example.com");
  EXPECT_EQ(status.expires, clock_.Now() + seconds(1800));
  ASSERT_EQ(status.looks.size(), 4U);
  EXPECT_EQ(status.looks[2].place, "GOOGLE_APPLICATION_CREDENTIALS");
  EXPECT_EQ(status.looks[2].finding, "not set");
  EXPECT_EQ(status.looks[3].finding, kDefaultFile);
  const auto asked = server_.seen().at(1);
  EXPECT_EQ(asked.host + asked.path, "oauth2.googleapis.com/tokeninfo");
  EXPECT_EQ(asked.Form().at("access_token"), "ya29.default");
}

TEST_F(CredentialsTest, StatusAsksTheMetadataServerForTheAccount) {
  server_.Then(Grant("ya29.metadata", 1799));
  server_.Then(ServerAnswer{"vm@p.iam.gserviceaccount.com\n"});
  const auto status = Make({{"GCE_METADATA_HOST", "metadata.test"}}).Status({});
  EXPECT_EQ(status.type, "metadata_server");
  EXPECT_EQ(status.account, "vm@p.iam.gserviceaccount.com");
  EXPECT_EQ(server_.seen().size(), 2U);
}

TEST_F(CredentialsTest, StatusKnowsGcloudsAccount) {
  gcloud_.Print("ya29.token", "2026-11-20T15:30:00Z");
  const auto status = Make({}).Status({});
  EXPECT_EQ(status.type, "gcloud");
  EXPECT_EQ(status.account, "alice@example.com");
  EXPECT_EQ(server_.seen().size(), 0U);
}

TEST_F(CredentialsTest, StatusOfATokenThatIsNotKnownIsStillOne) {
  server_.Then(ServerAnswer{R"({"error":"invalid_token"})", "400 Bad Request"});
  const auto status = Make({{"GOOGLE_OAUTH_ACCESS_TOKEN", "given"}}).Status({});
  EXPECT_FALSE(status.error.has_value());
  EXPECT_EQ(status.account, "");
  EXPECT_FALSE(status.expires.has_value());
}

TEST_F(CredentialsTest, StatusTellsWhyThereIsNoToken) {
  const auto status = Make({}).Status({});
  ASSERT_TRUE(status.error.has_value());
  EXPECT_EQ(status.looks.size(), 6U);
}

}  // namespace
}  // namespace podctl::gcp
