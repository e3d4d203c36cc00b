// Who podctl is to Google, as a user sees it: the built binary with credential files, a server that
// plays Google's token servers, and no secret on any screen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"
#include "tests/providers/http/socket_server.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class AuthTest : public ::testing::Test {
 protected:
  void SetUp() override {
    box_.SetVariable("NO_GCE_CHECK", "true");
    box_.SetVariable("PATH", box_.Path("nothing-here"));    // no gcloud
    box_.SetVariable("HTTPS_PROXY", "http://127.0.0.1:1");  // and no way to Google
  }
  // A login by federation, whose servers are all at `server`.
  void UseFederation(const SocketServer& server) {
    Value file = Value::EmptyMap();
    file.Set("type", "external_account");
    file.Set("audience", "//iam.googleapis.com/pool");
    file.Set("subject_token_type", "urn:ietf:params:oauth:token-type:jwt");
    file.Set("token_url", server.Url("/v1/token"));
    file.Set("service_account_impersonation_url",
             server.Url("/v1/projects/-/serviceAccounts/ci@p.iam.gserviceaccount.com"
                        ":generateAccessToken"));
    file.SetPath("credential_source.file", box_.Path("oidc"));
    box_.WriteFile("oidc", "subject-secret");
    box_.WriteFile("key.json", ToJson(file));
    box_.SetVariable("GOOGLE_APPLICATION_CREDENTIALS", box_.Path("key.json"));
  }
  // Gives tokens of two kinds, as Google's servers do.
  static void Serve(Peer& peer) {
    for (std::string text = peer.ReadRequest(); !text.empty(); text = peer.ReadRequest()) {
      if (text.starts_with("POST /v1/token ")) {
        peer.Answer(R"({"access_token":"sts-secret","expires_in":3600})");
      } else if (text.find("Authorization: Bearer sts-secret\r\n") != std::string::npos) {
        peer.Answer(R"({"accessToken":"ya29.secret","expireTime":"2099-01-01T00:00:00Z"})");
      } else {
        peer.Answer(R"({"error":{"status":"UNAUTHENTICATED"}})", "", "401 Unauthorized");
      }
    }
  }
  Sandbox box_;
};

TEST_F(AuthTest, StatusTellsWhoAndUntilWhenAndShowsNoToken) {
  SocketServer server(Serve);
  UseFederation(server);
  const RunResult text = box_.Run({"auth", "status"});
  EXPECT_EQ(text.code, 0) << text;
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("workload identity federation"), HasSubstr(box_.Path("key.json")),
                    HasSubstr("ci@p.iam.gserviceaccount.com"), HasSubstr("2099-01-01T00:00:00Z"),
                    HasSubstr("GOOGLE_OAUTH_ACCESS_TOKEN        not set")));
  EXPECT_EQ(text.err, "");
  const RunResult json = box_.Run({"auth", "status", "--json"});
  EXPECT_EQ(json.code, 0) << json;
  const Value document = *ParseJson(json.out);
  EXPECT_EQ(document["credentials"]["account"], Value("ci@p.iam.gserviceaccount.com"));
  EXPECT_EQ(document["error"], Value());
  EXPECT_THAT(text.out + json.out, Not(HasSubstr("secret")));
}

TEST_F(AuthTest, StatusFailsWithTheFixWhenThereIsNothing) {
  const RunResult text = box_.Run({"auth", "status"});
  EXPECT_EQ(text.code, 1);
  EXPECT_THAT(text.out, AllOf(HasSubstr("GOOGLE_APPLICATION_CREDENTIALS      not set\n"),
                              HasSubstr("application_default_credentials.json is not there\n"),
                              HasSubstr("asked of gcloud  <- gives no token\n")));
  EXPECT_THAT(text.err, AllOf(HasSubstr("there are no credentials"),
                              HasSubstr("gcloud auth application-default login")));
  const RunResult json = box_.Run({"auth", "status", "--json"});
  EXPECT_EQ(json.code, 1);
  EXPECT_THAT((*ParseJson(json.out))["error"]["hint"].AsString(), HasSubstr("gcloud auth"));
}

TEST_F(AuthTest, StatusIsContentWithAnEmulatorThatNeedsNoToken) {
  box_.SetVariable("PODCTL_ENDPOINT", "http://127.0.0.1:8470");
  const RunResult text = box_.Run({"auth", "status"});
  EXPECT_EQ(text.code, 0) << text;
  EXPECT_THAT(text.out, HasSubstr("needs no token"));
  EXPECT_EQ(text.err, "");
  EXPECT_EQ(box_.Run({"auth", "status", "--json"}).code, 0);
}

TEST_F(AuthTest, AStateInABucketThatIsNotReadSaysWhatTheTokenIsFor) {
  box_.SetVariable("PODCTL_ENDPOINT", "http://127.0.0.1:8470");
  const RunResult list = box_.Run({"state", "list", "--state", "gs://my-bucket/dev"});
  EXPECT_EQ(list.code, 1) << list;
  EXPECT_THAT(list.err,
              AllOf(HasSubstr("for the state in gs://my-bucket: there are no credentials"),
                    HasSubstr("STORAGE_EMULATOR_HOST")));
}

TEST_F(AuthTest, AFailureShowsNoSecretOfTheFile) {
  SocketServer server([](Peer& peer) {
    // A server that says back what it was sent.
    const std::string text = peer.ReadRequest();
    peer.Answer(R"({"error":"invalid_grant","error_description":"no: )" +
                    text.substr(text.find("\r\n\r\n") + 4) + "\"}",
                "", "400 Bad Request");
  });
  UseFederation(server);
  box_.WriteSpec("  research: {acceleratorType: v3-8, runtimeVersion: tpu-ubuntu2204-base}\n");
  for (const Arguments& arguments :
       {Arguments{"auth", "status"}, Arguments{"auth", "status", "--json"}, Arguments{"plan"}}) {
    const RunResult run = box_.Run(arguments);
    EXPECT_EQ(run.code, 1) << run;
    EXPECT_THAT(run.out + run.err, HasSubstr("invalid_grant"));
    EXPECT_THAT(run.out + run.err, Not(HasSubstr("secret"))) << run;
  }
}

TEST_F(AuthTest, AuthorizePrintsTheAgentAndTheOneBinding) {
  box_.StartEmulator("none");
  const RunResult text = box_.Run({"authorize", "--project", "my-project"});
  EXPECT_EQ(text.code, 0) << text;
  const std::string agent = "service-my-project@cloud-tpu.iam.gserviceaccount.com";
  EXPECT_EQ(text.out, agent + "\n");
  EXPECT_THAT(text.err, HasSubstr("gcloud projects add-iam-policy-binding my-project "
                                  "--member=serviceAccount:" +
                                  agent + " --role=roles/tpu.serviceAgent --condition=None\n"));
  EXPECT_EQ(box_.Calls("generateServiceIdentity"), 1);
  // With the spec's project; in any zone.
  box_.WriteFile("podctl.yaml", "project: other\npods: {}\n");
  const RunResult json = box_.Run({"authorize", "--json"});
  EXPECT_EQ(json.code, 0) << json;
  EXPECT_EQ((*ParseJson(json.out))["project"], Value("other"));
  EXPECT_EQ((*ParseJson(json.out))["role"], Value("roles/tpu.serviceAgent"));
}

TEST_F(AuthTest, AuthorizeWithoutAProjectSaysWhereOneComesFrom) {
  box_.StartEmulator("none");
  const RunResult run = box_.Run({"authorize"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, AllOf(HasSubstr("there is no project"), HasSubstr("--project")));
}

}  // namespace
}  // namespace podctl::testing
