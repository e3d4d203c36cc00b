// The types of credential files that stand for a person or a service account, against a server that
// looks at every request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <memory>

#include "providers/base/text.h"
#include "tests/providers/gcp/credentials/token_world.h"

namespace podctl::gcp {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using testing::SeenRequest;
using testing::ServerAnswer;
using testing::TokenWorld;
using ::testing::UnorderedElementsAre;

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

std::string Base64UrlDecode(std::string text) {
  std::string plain;
  const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  unsigned bits = 0;
  int count = 0;
  for (const char c : text) {
    bits = bits << 6 | static_cast<unsigned>(alphabet.find(c));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    plain += static_cast<char>(bits >> count & 255U);
  }
  return plain;
}

// A key pair, made once for all tests.
class Rsa {
 public:
  static const Rsa& Get() {
    static const Rsa rsa;
    return rsa;
  }
  std::string Pem() const {
    std::unique_ptr<BIO, FreeKey> bio(BIO_new(BIO_s_mem()));
    PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &data);
    return {data, static_cast<std::size_t>(size)};
  }
  // The claims of a JWT that this key has signed by RS256; null otherwise.
  Value Verified(const std::string& jwt, Value* header) const {
    const auto dot = jwt.rfind('.');
    const auto first = jwt.find('.');
    const std::string signature = Base64UrlDecode(jwt.substr(dot + 1));
    std::unique_ptr<EVP_MD_CTX, FreeKey> context(EVP_MD_CTX_new());
    EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get());
    const int good =
        EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                         signature.size(), reinterpret_cast<const unsigned char*>(jwt.data()), dot);
    if (good != 1) return {};
    *header = *ParseJson(Base64UrlDecode(jwt.substr(0, first)));
    return *ParseJson(Base64UrlDecode(jwt.substr(first + 1, dot - first - 1)));
  }

 private:
  Rsa() : key_(EVP_RSA_gen(2048)) {}
  std::unique_ptr<EVP_PKEY, FreeKey> key_;
};

class CredentialTypesTest : public TokenWorld {
 protected:
  static constexpr const char* kEmail = "ci@p.iam.gserviceaccount.com";
  static constexpr std::int64_t kNow = 1'795'185'000;

  static Value ServiceAccount() {
    Value file = Value::EmptyMap();
    file.Set("type", "service_account");
    file.Set("client_email", kEmail);
    file.Set("private_key", Rsa::Get().Pem());
    file.Set("private_key_id", "key-7");
    file.Set("token_uri", "https://oauth2.googleapis.com/token");
    return file;
  }
  static Value Login() {
    Value file = Value::EmptyMap();
    file.Set("type", "authorized_user");
    file.Set("client_id", "client-7");
    file.Set("client_secret", "client-secret");
    file.Set("refresh_token", "1//refresh-secret");
    return file;
  }
  Credentials Use(const Value& file) {
    UseFile(file);
    return Credentials(Doors());
  }
};

TEST_F(CredentialTypesTest, AServiceAccountSignsForTheTpuApiItself) {
  auto credentials = Use(ServiceAccount());
  const auto token = credentials.Token();
  ASSERT_TRUE(token.has_value()) << token.error().message;
  Value header;
  const Value claims = Rsa::Get().Verified(token->Reveal(), &header);
  EXPECT_EQ(ToJson(header), R"({"alg":"RS256","kid":"key-7","typ":"JWT"})");
  EXPECT_EQ(claims["iss"], Value(kEmail));
  EXPECT_EQ(claims["sub"], Value(kEmail));
  EXPECT_EQ(claims["aud"], Value("https://tpu.googleapis.com/"));
  EXPECT_EQ(claims["iat"], Value(kNow - 10));
  EXPECT_EQ(claims["exp"], Value(kNow - 10 + 3600));
  EXPECT_EQ(server_.seen().size(), 0U);
  EXPECT_EQ(credentials.Status({}).account, kEmail);
}

TEST_F(CredentialTypesTest, AServiceAccountExchangesItsWordWhenTheApiRefusesIt) {
  server_.Then(ServerAnswer{R"({"access_token":"ya29.ex","expires_in":3599})"});
  auto credentials = Use(ServiceAccount());
  const auto signed_itself = credentials.Token();
  const auto token = credentials.TokenAfter(*signed_itself);
  ASSERT_TRUE(token.has_value()) << token.error().message;
  EXPECT_EQ(token->Reveal(), "ya29.ex");
  const SeenRequest seen = server_.seen().at(0);
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.host + seen.path, "oauth2.googleapis.com/token");
  EXPECT_EQ(seen.Header("content-type"), "application/x-www-form-urlencoded");
  const auto form = seen.Form();
  EXPECT_EQ(form.size(), 2U);
  EXPECT_EQ(form.at("grant_type"), "urn:ietf:params:oauth:grant-type:jwt-bearer");
  Value header;
  const Value claims = Rsa::Get().Verified(form.at("assertion"), &header);
  EXPECT_EQ(claims["iss"], Value(kEmail));
  EXPECT_EQ(claims["aud"], Value("https://oauth2.googleapis.com/token"));
  EXPECT_EQ(claims["scope"], Value("https://www.googleapis.com/auth/cloud-platform"));
  EXPECT_EQ(claims["sub"], Value());
  // And goes on doing so.
  clock_.Advance(seconds(3600));
  EXPECT_EQ(credentials.Token()->Reveal(), "ya29.ex");
  EXPECT_EQ(server_.seen().size(), 2U);
}

TEST_F(CredentialTypesTest, AKeyThatIsNoneIsNamedAndNotShown) {
  for (const char* key : {"top-secret", "-----BEGIN PRIVATE KEY-----\ntop-secret\n"}) {
    Value file = ServiceAccount();
    file.Set("private_key", key);
    const auto token = Use(file).Token();
    ASSERT_FALSE(token.has_value());
    EXPECT_THAT(token.error().message, AllOf(HasSubstr(kKeyFile), HasSubstr("`private_key`")));
    EXPECT_THAT(AllTextOf(token.error()), Not(HasSubstr("top-secret")));
  }
}

TEST_F(CredentialTypesTest, AUserExchangesTheRefreshToken) {
  // As a string, which some servers send.
  server_.Then(ServerAnswer{R"({"access_token":"ya29.u","expires_in":"1800"})"});
  auto credentials = Use(Login());
  const auto token = credentials.Token();
  ASSERT_TRUE(token.has_value()) << token.error().message;
  EXPECT_EQ(token->Reveal(), "ya29.u");
  EXPECT_EQ(credentials.Status({}).expires, clock_.Now() + seconds(1800));
  const SeenRequest seen = server_.seen().at(0);
  EXPECT_EQ(seen.host + seen.path, "oauth2.googleapis.com/token");
  EXPECT_THAT(seen.Form(), UnorderedElementsAre(Pair("grant_type", "refresh_token"),
                                                Pair("refresh_token", "1//refresh-secret"),
                                                Pair("client_id", "client-7"),
                                                Pair("client_secret", "client-secret")));
  EXPECT_EQ(seen.Header("authorization"), "");
}

TEST_F(CredentialTypesTest, AnExternalUserNamesItsClientInAHeader) {
  Value file = Login();
  file.Set("type", "external_account_authorized_user");
  file.Set("token_url", "https://sts.googleapis.com/v1/oauthtoken");
  server_.Then(
      ServerAnswer{R"({"access_token":"sts.1","expires_in":3600,"refresh_token":"rolled-on"})"});
  auto credentials = Use(file);
  EXPECT_EQ(credentials.Token()->Reveal(), "sts.1");
  const SeenRequest seen = server_.seen().at(0);
  EXPECT_EQ(seen.host + seen.path, "sts.googleapis.com/v1/oauthtoken");
  EXPECT_EQ(seen.Header("authorization"), "Basic Y2xpZW50LTc6Y2xpZW50LXNlY3JldA==");
  EXPECT_THAT(seen.Form(), UnorderedElementsAre(Pair("grant_type", "refresh_token"),
                                                Pair("refresh_token", "1//refresh-secret")));
  clock_.Advance(seconds(3600));
  ASSERT_TRUE(credentials.Token().has_value());
  EXPECT_EQ(server_.seen().at(1).Form().at("refresh_token"), "rolled-on");
}

TEST_F(CredentialTypesTest, ARefusalIsToldWithoutWhatWasSent) {
  server_.Then(ServerAnswer{R"({"error":"invalid_grant","error_description":
      "Token 1//refresh-secret of client-secret has been expired or revoked."})",
                            "400 Bad Request"});
  const auto token = Use(Login()).Token();
  ASSERT_FALSE(token.has_value());
  EXPECT_EQ(token.error().code, ErrorCode::kUnauthenticated);
  EXPECT_THAT(token.error().message,
              AllOf(HasSubstr("oauth2.googleapis.com"), HasSubstr(kKeyFile),
                    HasSubstr("invalid_grant"), HasSubstr("expired or revoked")));
  EXPECT_THAT(token.error().hint, HasSubstr("gcloud auth application-default login"));
  EXPECT_THAT(AllTextOf(token.error()), Not(HasSubstr("refresh-secret")));
  EXPECT_THAT(AllTextOf(token.error()), Not(HasSubstr("client-secret")));
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(CredentialTypesTest, PassingTroubleIsTriedAgain) {
  server_.Then(ServerAnswer{"{}", "503 Service Unavailable"});
  server_.Then(ServerAnswer{R"({"error":"internal_failure"})", "400 Bad Request"});
  server_.Then(ServerAnswer{R"({"access_token":"ya29.at-last","expires_in":3600})"});
  EXPECT_EQ(Use(Login()).Token()->Reveal(), "ya29.at-last");
  EXPECT_EQ(server_.seen().size(), 3U);
}

TEST_F(CredentialTypesTest, ALostAnswerOfTheTokenServerIsNoLostAnswerOfTheApi) {
  server_.Then(
      ServerAnswer{"no gzip", "200 OK", "Content-Encoding: gzip\r\n"});  // it cannot be read
  const auto token = Use(Login()).Token();
  ASSERT_FALSE(token.has_value());
  EXPECT_EQ(token.error().code, ErrorCode::kUnavailable);
}

TEST_F(CredentialTypesTest, SecretsGoOverHttpsOnly) {
  Value file = Login();
  file.Set("token_uri", "http://oauth2.googleapis.com/token");
  const auto token = Use(file).Token();
  ASSERT_FALSE(token.has_value());
  EXPECT_EQ(token.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(token.error().message, HasSubstr("must not travel unencrypted"));
  EXPECT_EQ(server_.seen().size(), 0U);
}

TEST_F(CredentialTypesTest, AnImpersonatedAccountIsAskedForWithTheSourcesToken) {
  Value file = Value::EmptyMap();
  file.Set("type", "impersonated_service_account");
  file.Set("service_account_impersonation_url",
           "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/"
           "deploy@p.iam.gserviceaccount.com:generateAccessToken");
  file.Set("delegates", Value::List{"projects/-/serviceAccounts/between@p"});
  file.Set("source_credentials", Login());
  server_.Then(ServerAnswer{R"({"access_token":"ya29.alice","expires_in":3600})"});
  server_.Then(
      ServerAnswer{R"({"accessToken":"ya29.deploy","expireTime":"2026-11-20T15:10:00Z"})"});
  auto credentials = Use(file);
  const auto token = credentials.Token();
  ASSERT_TRUE(token.has_value()) << token.error().message;
  EXPECT_EQ(token->Reveal(), "ya29.deploy");
  const SeenRequest seen = server_.seen().at(1);
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.host, "iamcredentials.googleapis.com");
  EXPECT_EQ(seen.path,
            "/v1/projects/-/serviceAccounts/deploy@p.iam.gserviceaccount.com:generateAccessToken");
  EXPECT_EQ(seen.Header("authorization"), "Bearer ya29.alice");
  EXPECT_EQ(seen.Header("content-type"), "application/json");
  EXPECT_EQ(seen.body,
            R"({"delegates":["projects/-/serviceAccounts/between@p"],"lifetime":"3600s",)"
            R"("scope":["https://www.googleapis.com/auth/cloud-platform"]})");
  server_.Then(ServerAnswer{R"({"access_token":"ya29.alice-2","expires_in":3600})"});
  server_.Then(
      ServerAnswer{R"({"accessToken":"ya29.deploy-2","expireTime":"2026-11-20T16:10:00Z"})"});
  clock_.Advance(std::chrono::minutes(37));  // the first one is good until 15:10
  EXPECT_EQ(credentials.Token()->Reveal(), "ya29.deploy-2");
}

TEST_F(CredentialTypesTest, TheSourceOfAnImpersonationMayBeAServiceAccount) {
  Value file = Value::EmptyMap();
  file.Set("type", "impersonated_service_account");
  file.Set(
      "service_account_impersonation_url",
      "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/d:generateAccessToken");
  file.Set("source_credentials", ServiceAccount());
  server_.Then(ServerAnswer{R"({"access_token":"ya29.ci","expires_in":3600})"});
  server_.Then(ServerAnswer{R"({"error":{"code":403,"status":"PERMISSION_DENIED",
      "message":"Permission denied for ya29.ci"}})",
                            "403 Forbidden"});
  const auto token = Use(file).Token();
  ASSERT_FALSE(token.has_value());
  // The token for the TPU API alone would not do here, so it was exchanged.
  EXPECT_EQ(server_.seen().at(0).host, "oauth2.googleapis.com");
  EXPECT_THAT(token.error().message, HasSubstr("PERMISSION_DENIED"));
  EXPECT_THAT(token.error().message, Not(HasSubstr("ya29.ci")));
  EXPECT_THAT(token.error().hint, HasSubstr("roles/iam.serviceAccountTokenCreator"));
}

TEST_F(CredentialTypesTest, CredentialsWithinCredentialsHaveAnEnd) {
  Value file = Login();
  for (int i = 0; i < 6; ++i) {
    Value outer = Value::EmptyMap();
    outer.Set("type", "impersonated_service_account");
    outer.Set("service_account_impersonation_url", "https://iamcredentials.googleapis.com/x");
    outer.Set("source_credentials", file);
    file = outer;
  }
  EXPECT_THAT(Use(file).Token().error().message, HasSubstr("too deep"));
}

TEST(TokenRequest, ReadsTimes) {
  using Time = Clock::SystemTime;
  EXPECT_EQ(ParseTimestamp("2026-11-20T14:30:00Z"), Time(seconds(1'795'185'000)));
  EXPECT_EQ(ParseTimestamp("2026-11-20T14:30:00.123456Z"), Time(seconds(1'795'185'000)));
  // As system_clock has it: 9999 is "never", and none of its nanoseconds.
  const auto never = ParseTimestamp("9999-12-31T23:59:59Z");
  ASSERT_NE(never, std::nullopt);
  EXPECT_EQ(std::chrono::floor<seconds>(std::chrono::system_clock::time_point(*never)), *never);
  EXPECT_GT(*never, Time(seconds(9'000'000'000)));
  EXPECT_EQ(ParseTimestamp("0001-01-01T00:00:00Z"), Time(seconds(-9'214'560'000)));
  for (const char* text :
       {"", "2026-11-20T14:30:00", "2026-13-20T14:30:00Z", "2026-11-20 14:30:00Z",
        "2026-11-20T25:30:00Z", "2026-11-20T14:30:00.Z", "never"}) {
    EXPECT_EQ(ParseTimestamp(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace podctl::gcp
