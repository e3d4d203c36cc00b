// Workload identity federation from every kind of source, against a server that looks at every
// request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "providers/base/digest.h"
#include "providers/gcp/credentials/subject_token.h"
#include "tests/providers/gcp/credentials/token_world.h"

namespace podctl::gcp {
namespace {

using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using testing::SeenRequest;
using testing::ServerAnswer;
using testing::TokenWorld;
using ::testing::UnorderedElementsAre;

constexpr const char* kAudience =
    "//iam.googleapis.com/projects/7/locations/global/workloadIdentityPools/pool/providers/ci";
constexpr const char* kJwtType = "urn:ietf:params:oauth:token-type:jwt";

Value Parsed(const std::string& text) {
  auto value = ParseJson(text);
  EXPECT_TRUE(value.has_value()) << text;
  return value ? *value : Value();
}

class FederationTest : public TokenWorld {
 protected:
  static Value File(const std::string& source) {
    Value file = Value::EmptyMap();
    file.Set("type", "external_account");
    file.Set("audience", kAudience);
    file.Set("subject_token_type", kJwtType);
    file.Set("token_url", "https://sts.googleapis.com/v1/token");
    file.Set("credential_source", Parsed(source));
    return file;
  }
  Credentials Use(const Value& file, std::map<std::string, std::string> variables = {}) {
    UseFile(file, std::move(variables));
    return Credentials(Doors());
  }
  static ServerAnswer Grant(const std::string& token) {
    return {R"({"access_token":")" + token +
            R"(","issued_token_type":"urn:ietf:params:oauth:token-type:access_token",)"
            R"("token_type":"Bearer","expires_in":3600})"};
  }
  static void ExpectExchange(const SeenRequest& seen, const std::string& subject) {
    EXPECT_EQ(seen.method, "POST");
    EXPECT_EQ(seen.host + seen.path, "sts.googleapis.com/v1/token");
    EXPECT_THAT(seen.Form(),
                UnorderedElementsAre(
                    Pair("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
                    Pair("audience", kAudience),
                    Pair("scope", "https://www.googleapis.com/auth/cloud-platform"),
                    Pair("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
                    Pair("subject_token", subject), Pair("subject_token_type", kJwtType)));
    EXPECT_EQ(seen.Header("authorization"), "");
  }
};

TEST_F(FederationTest, FromAFile) {
  files_.SetFile("/tmp/oidc", "jwt-of-the-pod\n");
  server_.Then(Grant("sts.1"));
  auto credentials = Use(File(R"({"file":"/tmp/oidc"})"));
  const auto token = credentials.Token();
  ASSERT_TRUE(token.has_value()) << token.error().message;
  EXPECT_EQ(token->Reveal(), "sts.1");
  ExpectExchange(server_.seen().at(0), "jwt-of-the-pod");
  // Such a file is rewritten all the time, so it is read anew with each exchange.
  files_.SetFile("/tmp/oidc", "next-jwt");
  clock_.Advance(seconds(3600));
  ASSERT_TRUE(credentials.Token().has_value());
  ExpectExchange(server_.seen().at(1), "next-jwt");
}

TEST_F(FederationTest, FromAMemberOfAJsonFile) {
  files_.SetFile("/tmp/oidc", R"({"id":{"x":1},"token":"jwt-of-the-pod"})");
  server_.Then(Grant("sts.1"));
  const std::string format = R"("format":{"type":"json","subject_token_field_name":"token"})";
  EXPECT_EQ(Use(File(R"({"file":"/tmp/oidc",)" + format + "}")).Token()->Reveal(), "sts.1");
  ExpectExchange(server_.seen().at(0), "jwt-of-the-pod");
}

TEST_F(FederationTest, AFileWithoutATokenIsNamed) {
  const std::string format = R"("format":{"type":"json","subject_token_field_name":"token"})";
  auto credentials = Use(File(R"({"file":"/tmp/oidc",)" + format + "}"));
  EXPECT_THAT(credentials.Token().error().message, HasSubstr("/tmp/oidc"));
  files_.SetFile("/tmp/oidc", R"({"other":"jwt-secret"})");
  const Error error = FailureOf(credentials);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr("`file`"), HasSubstr("/tmp/oidc"), HasSubstr("`token`")));
  EXPECT_THAT(AllTextOf(error), Not(HasSubstr("jwt-secret")));
}

TEST_F(FederationTest, FromGitHubsUrl) {
  server_.Then(ServerAnswer{R"({"count":1,"value":"jwt-of-the-job"})"});
  server_.Then(Grant("sts.1"));
  auto credentials = Use(File(R"({
      "url":"https://vstoken.actions.githubusercontent.com/idtoken?v=1&audience=x",
      "headers":{"Authorization":"Bearer request-secret"},
      "format":{"type":"json","subject_token_field_name":"value"}})"));
  EXPECT_EQ(credentials.Token()->Reveal(), "sts.1");
  const SeenRequest seen = server_.seen().at(0);
  EXPECT_EQ(seen.method, "GET");
  EXPECT_EQ(seen.host + seen.path, "vstoken.actions.githubusercontent.com/idtoken?v=1&audience=x");
  EXPECT_EQ(seen.Header("authorization"), "Bearer request-secret");
  ExpectExchange(server_.seen().at(1), "jwt-of-the-job");
}

TEST_F(FederationTest, ARefusalOfTheUrlIsToldWithoutTheHeader) {
  server_.Then(ServerAnswer{R"({"error":"bad token request-secret"})", "401 Unauthorized"});
  const auto token = Use(File(R"({"url":"https://token.test/","headers":
      {"Authorization":"Bearer request-secret"}})"))
                         .Token();
  ASSERT_FALSE(token.has_value());
  EXPECT_THAT(token.error().message, AllOf(HasSubstr("`url`"), HasSubstr("bad token ***")));
  EXPECT_THAT(AllTextOf(token.error()), Not(HasSubstr("request-secret")));
}

TEST_F(FederationTest, ATokensUrlIsEncryptedOrNear) {
  EXPECT_THAT(Use(File(R"({"url":"http://token.test/"})")).Token().error().message,
              HasSubstr("must not travel unencrypted to token.test"));
  EXPECT_EQ(server_.seen().size(), 0U);
  // Azure's metadata server.
  server_.Then(ServerAnswer{R"({"access_token":"jwt-of-azure"})"});
  server_.Then(Grant("sts.1"));
  const std::string url = "http://169.254.169.254/metadata/identity/oauth2/token?resource=x";
  EXPECT_EQ(Use(File(R"({"url":")" + url + R"(","headers":{"Metadata":"True"},)" +
                     R"("format":{"type":"json","subject_token_field_name":"access_token"}})"))
                .Token()
                ->Reveal(),
            "sts.1");
  EXPECT_EQ(server_.seen().at(0).Header("metadata"), "True");
  EXPECT_EQ(http_.direct(), 1);
}

TEST_F(FederationTest, WithAServiceAccountToAct) {
  files_.SetFile("/tmp/oidc", "jwt");
  Value file = File(R"({"file":"/tmp/oidc"})");
  file.Set("service_account_impersonation_url",
           "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/"
           "deploy@p.iam.gserviceaccount.com:generateAccessToken");
  file.SetPath("service_account_impersonation.token_lifetime_seconds", 900);
  server_.Then(Grant("sts.1"));
  server_.Then(
      ServerAnswer{R"({"accessToken":"ya29.deploy","expireTime":"2026-11-20T14:45:00Z"})"});
  auto credentials = Use(file);
  EXPECT_EQ(credentials.Token()->Reveal(), "ya29.deploy");
  const SeenRequest seen = server_.seen().at(1);
  EXPECT_EQ(seen.host, "iamcredentials.googleapis.com");
  EXPECT_EQ(seen.Header("authorization"), "Bearer sts.1");
  EXPECT_EQ(seen.body,
            R"({"lifetime":"900s","scope":["https://www.googleapis.com/auth/cloud-platform"]})");
  server_.Then(Grant("sts.2"));
  server_.Then(
      ServerAnswer{R"({"accessToken":"ya29.deploy-2","expireTime":"2026-11-20T14:45:00Z"})"});
  EXPECT_EQ(credentials.Status({}).account, "deploy@p.iam.gserviceaccount.com");
  file.SetPath("service_account_impersonation.token_lifetime_seconds", 10);
  EXPECT_THAT(Use(file).Token().error().message, HasSubstr("token_lifetime_seconds"));
}

TEST_F(FederationTest, OfAWorkforceWithAndWithoutAClient) {
  files_.SetFile("/tmp/oidc", "jwt");
  Value file = File(R"({"file":"/tmp/oidc"})");
  file.Set("workforce_pool_user_project", "billed");
  server_.Then(Grant("sts.1"));
  EXPECT_TRUE(Use(file).Token().has_value());
  EXPECT_EQ(server_.seen().at(0).Form().at("options"), "%7B%22userProject%22%3A%22billed%22%7D");
  file.Set("client_id", "client");
  file.Set("client_secret", "s");
  EXPECT_TRUE(Use(file).Token().has_value());
  EXPECT_FALSE(server_.seen().at(1).Form().contains("options"));
  EXPECT_EQ(server_.seen().at(1).Header("authorization"), "Basic Y2xpZW50OnM=");
}

// ---- AWS.

// The worked example of AWS's documentation of Signature Version 4.
TEST(AwsSignature, IsThatOfTheDocumentation) {
  AwsRequest request;
  request.method = "GET";
  request.host = "iam.amazonaws.com";
  request.query = "Action=ListUsers&Version=2010-05-08";
  request.headers = {{"content-type", "application/x-www-form-urlencoded; charset=utf-8"}};
  request.region = "us-east-1";
  request.service = "iam";
  const AwsKey key{"AKIDEXAMPLE", Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"), ""};
  const auto headers =
      SignForAws(request, key, Clock::SystemTime(seconds(1'440'938'160)));  // 2015-08-30T12:36:00Z
  EXPECT_THAT(headers, Contains(Pair("x-amz-date", "20150830T123600Z")));
  EXPECT_THAT(
      headers,
      Contains(Pair("authorization",
                    "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "
                    "SignedHeaders=content-type;host;x-amz-date, Signature="
                    "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7")));
}

class AwsTest : public FederationTest {
 protected:
  static Value AwsFile() {
    Value file = File(R"({
        "environment_id":"aws1",
        "region_url":"http://169.254.169.254/latest/meta-data/placement/availability-zone",
        "url":"http://169.254.169.254/latest/meta-data/iam/security-credentials",
        "imdsv2_session_token_url":"http://169.254.169.254/latest/api/token",
        "regional_cred_verification_url":
            "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15"})");
    file.Set("subject_token_type", "urn:ietf:params:aws:token-type:aws4_request");
    return file;
  }
  // The headers of the request that was handed to Google, which are checked by signing it again.
  static std::map<std::string, std::string> SignedHeaders(const SeenRequest& seen,
                                                          const std::string& region) {
    const Value request = Parsed(testing::PercentDecode(seen.Form().at("subject_token")));
    EXPECT_EQ(request["method"], Value("POST"));
    EXPECT_EQ(request["url"], Value("https://sts." + region +
                                    ".amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15"));
    std::map<std::string, std::string> headers;
    for (const Value& header : request["headers"].AsList()) {
      headers[header["key"].AsString()] = header["value"].AsString();
    }
    return headers;
  }
  // Computed here once more, step by step as AWS describes it.
  static std::string Signature(const std::map<std::string, std::string>& headers,
                               const std::string& region, const std::string& secret) {
    std::string lines;
    std::string names;
    for (const auto& [name, value] : headers) {
      if (name == "Authorization") continue;
      lines += name + ":" + value + "\n";
      names += (names.empty() ? "" : ";") + name;
    }
    const std::string canonical = "POST\n/\nAction=GetCallerIdentity&Version=2011-06-15\n" + lines +
                                  "\n" + names +
                                  "\ne3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852"
                                  "b855";
    const std::string text = "AWS4-HMAC-SHA256\n20261120T143000Z\n20261120/" + region +
                             "/sts/aws4_request\n" + Sha256Hex(canonical);
    const std::string day = HmacSha256("AWS4" + secret, "20261120");
    const std::string key = HmacSha256(HmacSha256(HmacSha256(day, region), "sts"), "aws4_request");
    return HmacSha256Hex(key, text);
  }
};

TEST_F(AwsTest, WithTheKeyOfTheEnvironment) {
  server_.Then(Grant("sts.1"));
  EXPECT_EQ(Use(AwsFile(), {{"AWS_REGION", "eu-west-1"},
                            {"AWS_ACCESS_KEY_ID", "AKID"},
                            {"AWS_SECRET_ACCESS_KEY", "aws-secret"}})
                .Token()
                ->Reveal(),
            "sts.1");
  ASSERT_EQ(server_.seen().size(), 1U);
  const auto headers = SignedHeaders(server_.seen().at(0), "eu-west-1");
  EXPECT_EQ(headers.at("host"), "sts.eu-west-1.amazonaws.com");
  EXPECT_EQ(headers.at("x-amz-date"), "20261120T143000Z");
  EXPECT_EQ(headers.at("x-goog-cloud-target-resource"), kAudience);
  EXPECT_FALSE(headers.contains("x-amz-security-token"));
  EXPECT_EQ(headers.at("Authorization"),
            "AWS4-HMAC-SHA256 Credential=AKID/20261120/eu-west-1/sts/aws4_request, "
            "SignedHeaders=host;x-amz-date;x-goog-cloud-target-resource, Signature=" +
                Signature(headers, "eu-west-1", "aws-secret"));
}

TEST_F(AwsTest, WithTheRoleOfTheMachine) {
  server_.Then(ServerAnswer{"session-secret"});
  server_.Then(ServerAnswer{"us-east-1d"});
  server_.Then(ServerAnswer{"builder"});
  server_.Then(ServerAnswer{
      R"({"Code":"Success","AccessKeyId":"ASIA","SecretAccessKey":"aws-secret","Token":"aws-session"})"});
  server_.Then(Grant("sts.1"));
  const auto token = Use(AwsFile()).Token();
  ASSERT_TRUE(token.has_value()) << token.error().message;
  const auto seen = server_.seen();
  ASSERT_EQ(seen.size(), 5U);
  EXPECT_EQ(seen[0].method, "PUT");
  EXPECT_EQ(seen[0].host + seen[0].path, "169.254.169.254/latest/api/token");
  EXPECT_EQ(seen[0].Header("x-aws-ec2-metadata-token-ttl-seconds"), "300");
  EXPECT_EQ(seen[1].path, "/latest/meta-data/placement/availability-zone");
  EXPECT_EQ(seen[2].path, "/latest/meta-data/iam/security-credentials");
  EXPECT_EQ(seen[3].path, "/latest/meta-data/iam/security-credentials/builder");
  for (std::size_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(seen[i].method, "GET");
    EXPECT_EQ(seen[i].Header("x-aws-ec2-metadata-token"), "session-secret");
  }
  EXPECT_EQ(http_.direct(), 4);
  const auto headers = SignedHeaders(seen[4], "us-east-1");
  EXPECT_EQ(headers.at("x-amz-security-token"), "aws-session");
  EXPECT_THAT(headers.at("Authorization"),
              HasSubstr("SignedHeaders=host;x-amz-date;x-amz-security-token;"
                        "x-goog-cloud-target-resource, Signature=" +
                        Signature(headers, "us-east-1", "aws-secret")));
}

TEST_F(AwsTest, SaysWhatIsMissing) {
  Value file = AwsFile();
  file.SetPath("credential_source.environment_id", "aws2");
  EXPECT_THAT(Use(file).Token().error().message, HasSubstr("`environment_id`"));
  file = AwsFile();
  file.ErasePath("credential_source.region_url");
  EXPECT_THAT(Use(file).Token().error().hint, HasSubstr("AWS_REGION"));
  file.ErasePath("credential_source.url");
  EXPECT_THAT(Use(file, {{"AWS_REGION", "r"}}).Token().error().message,
              HasSubstr("AWS_SECRET_ACCESS_KEY"));
}

// ---- Executables.

class ExecutableTest : public FederationTest {
 protected:
  static Value ExecutableFile(const std::string& more = "") {
    return File(R"({"executable":{"command":"/opt/get-token --pool ci")" + more + "}}");
  }
  static std::string Answer(const std::string& more = "") {
    return R"({"version":1,"success":true,"token_type":")" + std::string(kJwtType) +
           R"(","id_token":"jwt-of-program")" + more + "}";
  }
  const std::map<std::string, std::string> allowed_ = {
      {"GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1"}};
};

TEST_F(ExecutableTest, RunsWhereItIsAllowed) {
  gcloud_.Exit(0, Answer(), "some noise");
  server_.Then(Grant("sts.1"));
  const auto token = Use(ExecutableFile(), allowed_).Token();
  ASSERT_TRUE(token.has_value()) << token.error().message;
  ExpectExchange(server_.seen().at(0), "jwt-of-program");
  EXPECT_THAT(gcloud_.arguments(),
              ElementsAre("env", std::string("GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE=") + kAudience,
                          std::string("GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE=") + kJwtType,
                          "GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE=0",
                          "GOOGLE_EXTERNAL_ACCOUNT_REVOKE=0", "/opt/get-token", "--pool", "ci"));
}

TEST_F(ExecutableTest, DoesNotRunWhereItIsNot) {
  const auto token = Use(ExecutableFile()).Token();
  ASSERT_FALSE(token.has_value());
  EXPECT_EQ(gcloud_.runs(), 0);
  EXPECT_THAT(AllTextOf(token.error()), HasSubstr("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1"));
}

TEST_F(ExecutableTest, UsesWhatAnEarlierRunLeftUntilItExpires) {
  const Value file = ExecutableFile(R"(,"output_file":"/tmp/kept")");
  server_.Then(Grant("sts.1"));
  files_.SetFile("/tmp/kept", Answer(R"(,"expiration_time":1795185060)"));  // in a minute
  EXPECT_TRUE(Use(file, allowed_).Token().has_value());
  EXPECT_EQ(gcloud_.runs(), 0);
  clock_.Advance(seconds(60));
  gcloud_.Exit(0, Answer(R"(,"expiration_time":1795188600)"), "");
  EXPECT_TRUE(Use(file, allowed_).Token().has_value());
  EXPECT_EQ(gcloud_.runs(), 1);
  EXPECT_THAT(gcloud_.arguments(), Contains("GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE=/tmp/kept"));
}

TEST_F(ExecutableTest, TellsItsFailuresAndNotItsOutput) {
  auto credentials = Use(ExecutableFile(R"(,"timeout_millis":5000)"), allowed_);
  gcloud_.Exit(0, R"({"version":1,"success":false,"code":"401","message":"log in first"})", "");
  EXPECT_THAT(FailureOf(credentials).message, HasSubstr("401: log in first"));
  gcloud_.Exit(3, "jwt-secret", "jwt-secret");
  Error error = FailureOf(credentials);
  EXPECT_THAT(error.message, HasSubstr("exit code 3"));
  EXPECT_THAT(AllTextOf(error), Not(HasSubstr("jwt-secret")));
  gcloud_.Exit(0, "jwt-secret", "");
  error = FailureOf(credentials);
  EXPECT_THAT(error.message, HasSubstr("printed no JSON"));
  EXPECT_THAT(AllTextOf(error), Not(HasSubstr("jwt-secret")));
  gcloud_.Exit(0, Answer(R"(,"expiration_time":1795184999)"), "");
  EXPECT_THAT(FailureOf(credentials).message, HasSubstr("has expired"));
  gcloud_.Fail(MakeError(ErrorCode::kDeadlineExceeded, "too long"));
  EXPECT_THAT(FailureOf(credentials).message, HasSubstr("did not end within 5s"));
  EXPECT_THAT(Use(ExecutableFile(R"(,"timeout_millis":100)"), allowed_).Token().error().message,
              HasSubstr("`timeout_millis` is not from 5000 to 120000"));
  EXPECT_EQ(server_.seen().size(), 0U);
}

TEST_F(ExecutableTest, ARealProgramGetsItsVariables) {
  const std::string script =
      (std::filesystem::temp_directory_path() / ("podctl-token-" + std::to_string(::getpid())))
          .string();
  std::ofstream(script) << R"(printf '{"version":1,"success":true,"token_type":"%s",)"
                        << R"("id_token":"for:%s"}' "$GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE" )"
                        << "\"$GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE\"\n";
  server_.Then(Grant("sts.1"));
  UseFile(File(R"({"executable":{"command":"sh )" + script + R"("}})"), allowed_);
  RealProcessRunner processes;
  Credentials credentials({environment_, files_, processes, http_, clock_, random_});
  const auto token = credentials.Token();
  std::filesystem::remove(script);
  ASSERT_TRUE(token.has_value()) << token.error().message;
  ExpectExchange(server_.seen().at(0), std::string("for:") + kAudience);
}

}  // namespace
}  // namespace podctl::gcp
