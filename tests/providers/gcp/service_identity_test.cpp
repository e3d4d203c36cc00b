#include "providers/gcp/service_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/providers/gcp/fake_gcloud.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_transport.h"

namespace podctl::gcp {
namespace {

class ServiceIdentityTest : public ::testing::Test {
 protected:
  Result<std::string> Generate() {
    return GenerateServiceIdentity(client_, "my-project", "europe-west4-a", {});
  }

  FixedEnvironment environment_{{}};
  RealFileSystem files_;
  testing::FakeGcloud gcloud_;
  testing::FakeTransport transport_;
  testing::FakeClock clock_;
  testing::FakeRandom random_;
  Credentials credentials_{{environment_, files_, gcloud_, transport_, clock_, random_}};
  RestClient client_{Endpoint{"http://127.0.0.1:8470/"}, transport_, credentials_, clock_, random_};
};

// As gcloud sends it (service-identity-01-create).
TEST_F(ServiceIdentityTest, AsksInTheZone) {
  transport_.Then(200, R"({"identity":{"email":"service-7@gcp-sa-tpu.iam.gserviceaccount.com"}})");
  const auto email = Generate();
  ASSERT_TRUE(email.has_value()) << email.error().message;
  EXPECT_EQ(*email, "service-7@gcp-sa-tpu.iam.gserviceaccount.com");
  const http::Request sent = transport_.requests().at(0);
  EXPECT_EQ(sent.method, "POST");
  EXPECT_EQ(sent.url,
            "http://127.0.0.1:8470/v2/projects/my-project/locations/europe-west4-a"
            ":generateServiceIdentity?alt=json");
  EXPECT_EQ(sent.body, "{}");
}

TEST_F(ServiceIdentityTest, BelievesNoAnswerThatIsNotAnAddress) {
  transport_.Then(200, "{}")
      .Then(200, R"({"identity":{"email":"x"}})")
      .Then(200, R"({"identity":{"email":"a@b; rm -rf ~"}})");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Generate().error().code, ErrorCode::kInternal) << i;
}

TEST(ServiceAgentRole, FollowsTheAgent) {
  EXPECT_EQ(ServiceAgentRole("service-7@gcp-sa-tpu.iam.gserviceaccount.com"),
            "roles/cloudtpu.serviceAgent");
  EXPECT_EQ(ServiceAgentRole("service-7@cloud-tpu.iam.gserviceaccount.com"),
            "roles/tpu.serviceAgent");
}

}  // namespace
}  // namespace podctl::gcp
