// What is asked of Secret Manager, and which answers are believed.
#include "providers/gcp/secret_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "providers/base/digest.h"
#include "providers/base/encoding.h"
#include "providers/gcp/secret_name.h"
#include "tests/providers/gcp/fake_gcloud.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_transport.h"

namespace podctl::gcp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(SecretName, IsOfAProjectOrOfARegion) {
  const auto text = [](const char* name) {
    const auto parsed = ParseSecretName(name);
    return parsed ? parsed->Text() : std::string("none");
  };
  EXPECT_EQ(text("projects/p/secrets/s"), "projects/p/secrets/s/versions/latest");
  EXPECT_EQ(text("projects/123/secrets/S_1-x/versions/4"), "projects/123/secrets/S_1-x/versions/4");
  EXPECT_EQ(text("projects/p/locations/us-east1/secrets/s/versions/live"),
            "projects/p/locations/us-east1/secrets/s/versions/live");
  for (const char* name : {"",
                           "s",
                           "secrets/s",
                           "projects/p",
                           "projects/p/secrets",
                           "projects/p/secrets/",
                           "projects//secrets/s",
                           "projects/p/secrets/s/versions",
                           "projects/p/secrets/s/versions/",
                           "projects/p/secrets/s/versions/0",
                           "projects/p/secrets/s/versions/01",
                           "projects/p/secrets/s/versions/4x",
                           "projects/p/secrets/s.t",
                           "projects/p/secrets/s/x/y",
                           "projects/p/locations/a b/secrets/s",
                           "/projects/p/secrets/s",
                           "projects/p/secrets/s/",
                           "projects/p/secrets/s?x",
                           "projects/../secrets/s",
                           "projects/p/secrets/s/versions/latest:access"}) {
    EXPECT_EQ(text(name), "none") << name;
  }
  EXPECT_EQ(text(("projects/p/secrets/" + std::string(256, 'a')).c_str()), "none");
}

class SecretManagerTest : public ::testing::Test {
 protected:
  void Answer(const std::string& bytes, const std::string& more = "",
              const std::string& name = "projects/123/secrets/s/versions/4") {
    transport_.Then(200, R"({"name": ")" + name + R"(", "payload": {"data": ")" +
                             Base64Encode(bytes) + "\"" + more + "}}");
  }
  static std::string Sum(std::uint32_t sum) {
    return R"(, "dataCrc32c": ")" + std::to_string(sum) + "\"";
  }
  Result<SecretValue> Ask(const std::string& name = "projects/p/secrets/s/versions/latest") {
    return secrets_.Access(name, {});
  }

  static ErrorCode Code(const Result<SecretValue>& value) {
    return value ? ErrorCode::kUnknown : value.error().code;
  }

  FixedEnvironment environment_{{{"GOOGLE_OAUTH_ACCESS_TOKEN", "token"}}};
  RealFileSystem files_;
  testing::FakeGcloud gcloud_;
  testing::FakeTransport transport_;
  testing::FakeClock clock_;
  testing::FakeRandom random_;
  Credentials credentials_{{environment_, files_, gcloud_, transport_, clock_, random_}};
  SecretManager secrets_{std::nullopt, transport_, credentials_, clock_, random_};
};

TEST_F(SecretManagerTest, SaysWhichVersionItIs) {
  Answer("hf_1\n", Sum(Crc32c("hf_1\n")));
  const auto value = Ask();
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(value->bytes, "hf_1\n");
  EXPECT_EQ(value->name, "projects/p/secrets/s/versions/4") << "by the project's name in the spec";
  EXPECT_EQ(transport_.requests().at(0).url,
            "https://secretmanager.googleapis.com/v1/projects/p/secrets/s/versions/latest:access"
            "?alt=json");
  EXPECT_EQ(transport_.Header(0, "Authorization"), "Bearer token");
}

TEST_F(SecretManagerTest, ARegionHasItsOwnHost) {
  Answer("x", "", "projects/123/locations/us-east1/secrets/s/versions/2");
  Answer("y", "", "projects/123/locations/europe-west4/secrets/s/versions/1");
  const auto value = Ask("projects/p/locations/us-east1/secrets/s/versions/2");
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(transport_.requests().at(0).url,
            "https://secretmanager.us-east1.rep.googleapis.com/v1/projects/p/locations/us-east1/"
            "secrets/s/versions/2:access?alt=json");
  EXPECT_TRUE(Ask("projects/p/locations/europe-west4/secrets/s/versions/1"));
  EXPECT_THAT(transport_.requests().at(1).url,
              HasSubstr("https://secretmanager.europe-west4.rep.googleapis.com/"));
}

TEST_F(SecretManagerTest, WhatIsDamagedIsNotBelieved) {
  Answer("hf_1", Sum(Crc32c("hf_2")));
  EXPECT_EQ(Code(Ask()), ErrorCode::kDataLoss);
}

TEST_F(SecretManagerTest, AnAnswerOfAnotherSecretIsNotBelieved) {
  const std::vector<std::string> names = {
      "projects/123/secrets/t/versions/4", "projects/123/secrets/s/versions/latest",
      "projects/123/locations/us-east1/secrets/s/versions/4", "x", ""};
  for (const std::string& name : names) Answer("x", "", name);
  transport_.Then(200, R"({"name": "projects/1/secrets/s/versions/4", "payload": {"data": "?"}})");
  Answer("x");
  for (const std::string& name : names) EXPECT_EQ(Code(Ask()), ErrorCode::kDataLoss) << name;
  EXPECT_EQ(Code(Ask()), ErrorCode::kDataLoss) << "no base64";
  EXPECT_EQ(Code(Ask("projects/p/secrets/s/versions/3")), ErrorCode::kDataLoss);
  EXPECT_TRUE(Ask("projects/p/secrets/s/versions/4"));
}

TEST_F(SecretManagerTest, AnotherProjectsSecretIsNotBelieved) {
  Answer("x", "", "projects/evil-project/secrets/s/versions/4");
  Answer("x", "", "projects/p/secrets/s/versions/4");
  Answer("x", "", "projects/124/secrets/s/versions/4");
  Answer("x");
  EXPECT_EQ(Code(Ask()), ErrorCode::kDataLoss);
  EXPECT_TRUE(Ask()) << "by its id";
  EXPECT_EQ(Code(Ask("projects/123/secrets/s/versions/4")), ErrorCode::kDataLoss);
  EXPECT_TRUE(Ask("projects/123/secrets/s/versions/4"));
}

TEST_F(SecretManagerTest, AnAnswerWithoutASecretIsNoEmptyOne) {
  const std::vector<std::string> answers = {"",
                                            R"(, "payload": {})",
                                            R"(, "payload": null)",
                                            R"(, "payload": {"data": ""})",
                                            R"(, "payload": {"data": 5})",
                                            R"(, "payload": {"dataCrc32c": "0"})"};
  for (const std::string& more : answers) {
    transport_.Then(200, R"({"name": "projects/123/secrets/s/versions/4")" + more + "}");
  }
  for (const std::string& more : answers) EXPECT_EQ(Code(Ask()), ErrorCode::kDataLoss) << more;
}

TEST_F(SecretManagerTest, EndsAt64KiB) {
  Answer(std::string(64U << 10U, 'x'));
  Answer(std::string((64U << 10U) + 1, 'x'));
  EXPECT_TRUE(Ask());
  EXPECT_EQ(Code(Ask()), ErrorCode::kDataLoss);
}

TEST_F(SecretManagerTest, SaysWhatHelps) {
  transport_
      .Then(403, R"({"error": {"code": 403, "status": "PERMISSION_DENIED",
          "message": "Permission 'secretmanager.versions.access' denied for resource "}})")
      .Then(404, R"({"error": {"code": 404, "status": "NOT_FOUND", "message":
          "Secret [projects/123/secrets/s] not found or has no versions."}})")
      .Then(400, R"({"error": {"code": 400, "status": "FAILED_PRECONDITION", "message":
          "Secret Version [projects/123/secrets/s/versions/4] is in DISABLED state."}})")
      .Then(403, R"({"error": {"code": 403, "status": "PERMISSION_DENIED", "message": "off",
          "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason":
          "SERVICE_DISABLED", "metadata": {"service": "secretmanager.googleapis.com",
          "consumer": "projects/123"}}]}})");
  const auto denied = Ask();
  EXPECT_EQ(Code(denied), ErrorCode::kPermissionDenied);
  EXPECT_THAT(denied.error().hint,
              AllOf(HasSubstr("`gcloud secrets add-iam-policy-binding s --project p "
                              "--member=user:YOU@example.com "
                              "--role=roles/secretmanager.secretAccessor`"),
                    Not(HasSubstr("tpu"))));
  EXPECT_THAT(Ask().error().hint, HasSubstr("`gcloud secrets versions list s --project p`"));
  const auto disabled = Ask();
  EXPECT_EQ(Code(disabled), ErrorCode::kFailedPrecondition);
  EXPECT_THAT(disabled.error().hint, HasSubstr("gcloud secrets versions add s --project p"));
  EXPECT_EQ(Ask().error().hint,
            "enable the API: `gcloud services enable secretmanager.googleapis.com --project 123`");
}

TEST_F(SecretManagerTest, ALostAnswerIsAskedForAgain) {
  transport_.Then(ErrorCode::kReplyLost).Then(503, "busy");
  Answer("x");
  const auto value = Ask();
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(transport_.requests().size(), 3U);
}

}  // namespace
}  // namespace podctl::gcp
