// What is asked of OS Login and of the project's metadata, and what is made of the answers.
#include "providers/gcp/os_login.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/providers/gcp/fake_gcloud.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_transport.h"

namespace podctl::gcp {
namespace {

class OsLoginTest : public ::testing::Test {
 protected:
  Result<LoginProfile> Get() { return GetLoginProfile(client_, "alice@example.com", "p", {}); }

  FixedEnvironment environment_{{}};
  RealFileSystem files_;
  testing::FakeGcloud gcloud_;
  testing::FakeTransport transport_;
  testing::FakeClock clock_;
  testing::FakeRandom random_;
  Credentials credentials_{{environment_, files_, gcloud_, transport_, clock_, random_}};
  RestClient client_{Endpoint{"http://127.0.0.1:8470/"}, transport_, credentials_, clock_, random_};
};

TEST_F(OsLoginTest, TakesThePrimaryAccountOfLinux) {
  transport_.Then(200, R"({"name": "1", "posixAccounts": [
      {"username": "w", "primary": true, "operatingSystemType": "WINDOWS"},
      {"username": "other"}, {"username": "alice_example_com", "primary": true}]})");
  const auto profile = Get();
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->user, "alice_example_com");
  EXPECT_EQ(transport_.requests().at(0).url,
            "http://127.0.0.1:8470/v1/users/alice%40example.com/loginProfile?alt=json&projectId=p");
}

TEST_F(OsLoginTest, WhoNeverCameHasNoNameYet) {
  transport_.Then(200, R"({"name": "1"})");
  EXPECT_EQ(Get()->user, "");
}

TEST_F(OsLoginTest, ANameThatIsNoneIsNotBelieved) {
  transport_.Then(200, R"({"posixAccounts": [{"username": "-oProxyCommand=x"}]})");
  EXPECT_EQ(Get().error().code, ErrorCode::kInternal);
}

TEST_F(OsLoginTest, KnowsWhichKeysWillStillDo) {
  transport_.Then(200, R"({"posixAccounts": [{"username": "a"}], "sshPublicKeys": {
      "f1": {"key": "ssh-ed25519 AAAA1 laptop", "expirationTimeUsec": "2000000000"},
      "f2": {"key": "ssh-ed25519 AAAA2"}}})");
  const auto profile = Get();
  ASSERT_TRUE(profile);
  const Clock::SystemTime end{std::chrono::seconds(2000)};
  EXPECT_TRUE(profile->Holds("ssh-ed25519 AAAA1", end));
  EXPECT_FALSE(profile->Holds("ssh-ed25519 AAAA1", end + std::chrono::seconds(1)));
  EXPECT_TRUE(profile->Holds("ssh-ed25519 AAAA2 desk", end + std::chrono::hours(9999)));
  EXPECT_FALSE(profile->Holds("ssh-ed25519 AAAA3", end));
}

TEST_F(OsLoginTest, ImportsAKeyWithAnEnd) {
  transport_.Then(200, R"({"loginProfile": {"posixAccounts": [{"username": "a"}]}})");
  const auto profile = ImportSshPublicKey(client_, "alice@example.com", "p", "ssh-ed25519 AAAA1",
                                          Clock::SystemTime(std::chrono::seconds(86400)), {});
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->user, "a");
  const http::Request sent = transport_.requests().at(0);
  EXPECT_EQ(sent.method, "POST");
  EXPECT_EQ(sent.url,
            "http://127.0.0.1:8470/v1/users/alice%40example.com:importSshPublicKey?alt=json"
            "&projectId=p");
  EXPECT_EQ(sent.body, R"({"expirationTimeUsec":"86400000000","key":"ssh-ed25519 AAAA1"})");
}

TEST_F(OsLoginTest, ReadsTheProjectsMetadata) {
  transport_
      .Then(200, R"({"commonInstanceMetadata": {"items": [{"key": "ssh-keys", "value": "x"},
                    {"key": "enable-oslogin", "value": "True"}]}})")
      .Then(200, R"({"commonInstanceMetadata": {"items": [
                    {"key": "enable-oslogin", "value": "FALSE"}]}})")
      .Then(200, R"({"commonInstanceMetadata": {}})")
      .Then(403, R"({"error": {"code": 403, "status": "PERMISSION_DENIED", "message": "no"}})");
  EXPECT_EQ(*ProjectOsLogin(client_, "p", {}), true);
  EXPECT_EQ(*ProjectOsLogin(client_, "p", {}), false);
  EXPECT_EQ(*ProjectOsLogin(client_, "p", {}), std::nullopt);
  EXPECT_FALSE(ProjectOsLogin(client_, "p", {}));
}

}  // namespace
}  // namespace podctl::gcp
