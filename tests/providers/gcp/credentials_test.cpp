#include "providers/gcp/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/providers/gcp/fake_gcloud.h"

namespace podctl::gcp {
namespace {

using testing::FakeGcloud;
using ::testing::HasSubstr;
using ::testing::Not;

class CredentialsTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(token_file_); }
  void WriteTokenFile(const std::string& text) { std::ofstream(token_file_) << text; }
  Credentials Make(std::map<std::string, std::string> variables) {
    environment_ = FixedEnvironment(std::move(variables));
    return {environment_, files_, gcloud_};
  }

  std::string token_file_ =
      (std::filesystem::temp_directory_path() / ("podctl-token-" + std::to_string(::getpid())))
          .string();
  FixedEnvironment environment_{{}};
  RealFileSystem files_;
  FakeGcloud gcloud_;
};

TEST_F(CredentialsTest, TheFileComesFirst) {
  WriteTokenFile("from-file\n");
  gcloud_.Print("from-gcloud");
  auto credentials = Make({{"CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", token_file_},
                           {"GOOGLE_OAUTH_ACCESS_TOKEN", "from-variable"}});
  EXPECT_EQ(credentials.Token()->Reveal(), "from-file");
  EXPECT_EQ(gcloud_.runs(), 0);
}

TEST_F(CredentialsTest, ThenTheVariable) {
  auto credentials = Make(
      {{"CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", ""}, {"GOOGLE_OAUTH_ACCESS_TOKEN", "from-variable"}});
  EXPECT_EQ(credentials.Token()->Reveal(), "from-variable");
  EXPECT_EQ(gcloud_.runs(), 0);
}

TEST_F(CredentialsTest, ThenGcloudWhichIsAskedOnce) {
  gcloud_.Print("ya29.token\n");
  auto credentials = Make({});
  EXPECT_EQ(credentials.Token()->Reveal(), "ya29.token");
  EXPECT_EQ(credentials.Token()->Reveal(), "ya29.token");
  EXPECT_EQ(gcloud_.runs(), 1);
  EXPECT_THAT(gcloud_.arguments(), ::testing::ElementsAre("gcloud", "auth", "print-access-token"));
}

TEST_F(CredentialsTest, ANamedFileThatIsUnusableIsAnErrorAndNotSkipped) {
  auto credentials = Make({{"CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", token_file_},
                           {"GOOGLE_OAUTH_ACCESS_TOKEN", "from-variable"}});
  const auto absent = credentials.Token();
  ASSERT_FALSE(absent.has_value());
  EXPECT_EQ(absent.error().code, ErrorCode::kUnauthenticated);
  EXPECT_THAT(absent.error().message, HasSubstr(token_file_));
  WriteTokenFile(" \n");
  EXPECT_THAT(credentials.Token().error().message, HasSubstr("holds no access token"));
}

TEST_F(CredentialsTest, RefusesWhatWouldBreakTheHeaderAndDoesNotShowIt) {
  auto credentials = Make({{"GOOGLE_OAUTH_ACCESS_TOKEN", "secret\r\nX-Evil: 1"}});
  const auto token = credentials.Token();
  ASSERT_FALSE(token.has_value());
  EXPECT_THAT(token.error().message + token.error().hint, Not(HasSubstr("secret")));
  EXPECT_THAT(token.error().message + token.error().hint, Not(HasSubstr("Evil")));
}

TEST_F(CredentialsTest, SaysHowToLogInWhenThereIsNothing) {
  gcloud_.Fail(MakeError(ErrorCode::kNotFound, "there is no program gcloud in PATH"));
  const auto token = Make({}).Token();
  ASSERT_FALSE(token.has_value());
  EXPECT_EQ(token.error().code, ErrorCode::kUnauthenticated);
  EXPECT_THAT(token.error().message, HasSubstr("gcloud is not installed"));
  EXPECT_THAT(token.error().hint, HasSubstr("gcloud auth login"));
}

TEST_F(CredentialsTest, QuotesGcloudsComplaintAndNotItsOutput) {
  gcloud_.Exit(1, "ya29.half",
               "Some warning\nERROR: (gcloud.auth.print-access-token) You do not currently have an "
               "active account selected.\nPlease run:\n");
  const auto token = Make({}).Token();
  ASSERT_FALSE(token.has_value());
  EXPECT_THAT(token.error().message, HasSubstr("You do not currently have an active account"));
  EXPECT_THAT(token.error().message, Not(HasSubstr("ya29")));
}

TEST_F(CredentialsTest, AFailureIsNotRemembered) {
  gcloud_.Exit(1, "", "");
  gcloud_.Print("later");
  auto credentials = Make({});
  EXPECT_FALSE(credentials.Token().has_value());
  EXPECT_EQ(credentials.Token()->Reveal(), "later");
}

TEST_F(CredentialsTest, ARefusedTokenIsRenewed) {
  gcloud_.Print("old");
  gcloud_.Print("new");
  auto credentials = Make({});
  const Secret old = *credentials.Token();
  EXPECT_EQ(credentials.TokenAfter(old)->Reveal(), "new");
  EXPECT_EQ(credentials.TokenAfter(old)->Reveal(), "new");  // a thread that comes late
  EXPECT_EQ(credentials.Token()->Reveal(), "new");
  EXPECT_EQ(gcloud_.runs(), 2);
}

TEST_F(CredentialsTest, ThereMayBeNoNewerOne) {
  auto credentials = Make({{"GOOGLE_OAUTH_ACCESS_TOKEN", "fixed-token"}});
  const auto fresh = credentials.TokenAfter(*credentials.Token());
  ASSERT_FALSE(fresh.has_value());
  EXPECT_EQ(fresh.error().code, ErrorCode::kUnauthenticated);
  EXPECT_THAT(fresh.error().message, Not(HasSubstr("fixed-token")));
}

TEST_F(CredentialsTest, ARotatedFileIsReadAgain) {
  WriteTokenFile("first");
  auto credentials = Make({{"CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", token_file_}});
  const Secret first = *credentials.Token();
  WriteTokenFile("second");
  EXPECT_EQ(credentials.TokenAfter(first)->Reveal(), "second");
}

TEST_F(CredentialsTest, WhereNoneIsNeededGcloudIsNotAsked) {
  auto credentials = Make({});
  EXPECT_EQ(credentials.TokenIfGiven(), std::nullopt);
  EXPECT_EQ(gcloud_.runs(), 0);
  EXPECT_EQ(Make({{"GOOGLE_OAUTH_ACCESS_TOKEN", "given"}}).TokenIfGiven()->Reveal(), "given");
  EXPECT_EQ(Make({{"CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", "/no/such/file"}}).TokenIfGiven(),
            std::nullopt);
}

TEST_F(CredentialsTest, ManyThreadsAskGcloudOnce) {
  gcloud_.Print("one");
  auto credentials = Make({});
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] { EXPECT_EQ(credentials.Token()->Reveal(), "one"); });
    }
  }
  EXPECT_EQ(gcloud_.runs(), 1);
}

}  // namespace
}  // namespace podctl::gcp
