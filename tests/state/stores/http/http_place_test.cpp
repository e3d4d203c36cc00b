#include "state/stores/http/http_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace podctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Variables = std::map<std::string, std::string>;

constexpr const char* kGitLab = "https://git.example/api/v4/projects/7/terraform/state/pods";
constexpr const char* kGitea = "https://git.example/sub/api/packages/team/terraform/state/pods";
constexpr const char* kPlain = "https://states.example/pods";

HttpPlace Found(const std::string& url, const Variables& variables = {}) {
  auto place = FindHttpPlace(url, FixedEnvironment(variables));
  EXPECT_TRUE(place) << place.error().message;
  return place ? *place : HttpPlace{};
}

std::string Refusal(const std::string& url, const Variables& variables = {}) {
  auto place = FindHttpPlace(url, FixedEnvironment(variables));
  return place ? "none" : place.error().message + " / " + place.error().hint;
}

TEST(HttpPlace, TheUrlIsEnoughForGitLabAndGitea) {
  for (const char* const url : {kGitLab, kGitea}) {
    const HttpPlace place = Found(url);
    EXPECT_EQ(place.lock_url, std::string(url) + "/lock");
    EXPECT_EQ(place.unlock_url, place.lock_url);
    EXPECT_EQ(place.lock_method, "POST");
    EXPECT_EQ(place.unlock_method, "DELETE");
    EXPECT_EQ(place.update_method, "POST");
    EXPECT_TRUE(place.keeps_serials());
  }
  EXPECT_EQ(Found(kGitLab).server, HttpServer::kGitLab);
  EXPECT_EQ(Found(kGitea).server, HttpServer::kGitea);
}

TEST(HttpPlace, ASlashAtTheEndOfAKnownServersStateIsNoOtherState) {
  for (const char* const url : {kGitLab, kGitea}) {
    for (const char* const end : {"/", "//"}) {
      const std::string written = std::string(url) + end;
      const HttpPlace place = Found(written);
      EXPECT_EQ(place.url, url);
      EXPECT_EQ(place.lock_url, std::string(url) + "/lock");
      EXPECT_TRUE(place.keeps_serials());
      const auto checked = CheckHttpStateUrl(written);
      ASSERT_TRUE(checked);
      EXPECT_EQ(*checked, url);
      const std::string lock = "https://git.example/lock";
      const Variables named = {{"TF_HTTP_ADDRESS", written}, {"TF_HTTP_LOCK_ADDRESS", lock}};
      EXPECT_EQ(Found(url, named).lock_url, lock);
    }
  }
  // Elsewhere nobody knows what it means.
  EXPECT_EQ(Found("https://states.example/pods/").url, "https://states.example/pods/");
  EXPECT_EQ(Found("https://states.example/").url, "https://states.example/");
}

TEST(HttpPlace, ElsewhereTheVariablesSayWhereTheLockIs) {
  EXPECT_EQ(Found(kPlain).lock_url, "");
  const HttpPlace place = Found(kPlain, {{"TF_HTTP_LOCK_ADDRESS", "https://states.example/l?x=1"},
                                         {"TF_HTTP_UPDATE_METHOD", "PUT"}});
  EXPECT_EQ(place.lock_url, "https://states.example/l?x=1");
  EXPECT_EQ(place.unlock_url, place.lock_url);
  EXPECT_EQ(place.lock_method, "LOCK");
  EXPECT_EQ(place.unlock_method, "UNLOCK");
  EXPECT_EQ(place.update_method, "PUT");
  EXPECT_FALSE(place.keeps_serials());
  const HttpPlace both = Found(kPlain, {{"TF_HTTP_LOCK_ADDRESS", "https://states.example/l"},
                                        {"TF_HTTP_UNLOCK_ADDRESS", "https://states.example/u"},
                                        {"TF_HTTP_LOCK_METHOD", "PUT"},
                                        {"TF_HTTP_UNLOCK_METHOD", "DELETE"}});
  EXPECT_EQ(both.unlock_url, "https://states.example/u");
  EXPECT_EQ(both.lock_method + both.unlock_method, "PUTDELETE");
  // GitLab's own template sets what is known anyway.
  const HttpPlace gitlab =
      Found(kGitLab, {{"TF_HTTP_ADDRESS", kGitLab},
                      {"TF_HTTP_LOCK_ADDRESS", std::string(kGitLab) + "/lock"},
                      {"TF_HTTP_LOCK_METHOD", "POST"},
                      {"TF_HTTP_UNLOCK_ADDRESS", std::string(kGitLab) + "/lock"},
                      {"TF_HTTP_UNLOCK_METHOD", "DELETE"},
                      {"TF_HTTP_RETRY_MAX", "5"},
                      {"TF_HTTP_RETRY_WAIT_MIN", "2"},
                      {"TF_HTTP_RETRY_WAIT_MAX", "9"}});
  EXPECT_EQ(gitlab.unlock_method, "DELETE");
  EXPECT_EQ(gitlab.retries, 5);
  EXPECT_EQ(gitlab.first_wait, std::chrono::seconds(2));
  EXPECT_EQ(gitlab.longest_wait, std::chrono::seconds(9));
}

TEST(HttpPlace, WhatIsWrongIsSaidAndNeverPassedOver) {
  EXPECT_THAT(Refusal("https://u:hunter2@git.example/x"), HasSubstr("would stand in logs"));
  EXPECT_THAT(Refusal("https://u:hunter2@git.example/x"), Not(HasSubstr("hunter2")));
  EXPECT_THAT(Refusal("https://git.example/x?private_token=hunter2"), HasSubstr("no query"));
  EXPECT_THAT(Refusal("https://git.example/x?private_token=hunter2"), Not(HasSubstr("hunter2")));
  EXPECT_THAT(Refusal("http://git.example/x"), HasSubstr("in the clear"));
  EXPECT_EQ(Refusal("http://127.0.0.1:3000/x"), "none");
  EXPECT_THAT(Refusal(kPlain, {{"TF_HTTP_ADDRESS", kGitLab}}), HasSubstr("another state"));
  EXPECT_THAT(Refusal("https://git.example/x", {{"TF_HTTP_ADDRESS", "https://git.example/y"}}),
              HasSubstr("another state"));
  EXPECT_THAT(Refusal(kGitea, {{"TF_HTTP_ADDRESS", "https://u:hunter2@git.example/x"}}),
              Not(HasSubstr("hunter2")));
  EXPECT_THAT(Refusal(kGitea, {{"TF_HTTP_SKIP_CERT_VERIFICATION", "true"}}),
              HasSubstr("always verifies"));
  EXPECT_EQ(Refusal(kGitea, {{"TF_HTTP_SKIP_CERT_VERIFICATION", "false"}}), "none");
  for (const char* const name : {"TF_HTTP_CLIENT_CERTIFICATE_PEM", "TF_HTTP_CLIENT_PRIVATE_KEY_PEM",
                                 "TF_HTTP_CLIENT_CA_CERTIFICATE_PEM"}) {
    EXPECT_THAT(Refusal(kGitea, {{name, "-----BEGIN"}}), HasSubstr(name));
  }
  EXPECT_THAT(Refusal(kGitea, {{"TF_HTTP_RETRY_MAX", "many"}}), HasSubstr("TF_HTTP_RETRY_MAX"));
  EXPECT_THAT(Refusal(kGitea, {{"TF_HTTP_RETRY_WAIT_MIN", "31"}}), HasSubstr("longer than"));
  EXPECT_THAT(Refusal(kGitea, {{"TF_HTTP_UPDATE_METHOD", "P\r\nX: y"}}), HasSubstr("no method"));
  EXPECT_THAT(Refusal(kGitea, {{"TF_HTTP_LOCK_ADDRESS", "http://git.example/l"}}),
              HasSubstr("TF_HTTP_LOCK_ADDRESS: http would send"));
  EXPECT_THAT(Refusal(kGitea, {{"TF_HTTP_PASSWORD", "hunter2"}}), HasSubstr("TF_HTTP_USERNAME"));
  EXPECT_THAT(Refusal(kPlain, {{"TF_HTTP_UNLOCK_ADDRESS", "https://states.example/u"}}),
              HasSubstr("set both"));
}

// As a `stateOf` has it: the user is the same, the lock is not.
TEST(HttpPlace, AnotherStateOfTheServerHasItsOwnLock) {
  const HttpPlace place = Found(kGitea, {{"TF_HTTP_ADDRESS", kGitLab},
                                         {"TF_HTTP_LOCK_ADDRESS", std::string(kGitLab) + "/lock"},
                                         {"TF_HTTP_USERNAME", "alice"},
                                         {"TF_HTTP_PASSWORD", "p"}});
  EXPECT_EQ(place.lock_url, std::string(kGitea) + "/lock");
  EXPECT_EQ(place.user, "alice");
}

// The spec may be a pull request's, which a pipeline plans.
TEST(HttpPlace, InAPipelineAPasswordGoesWhereThePipelineSays) {
  Variables job = {{"CI", "true"}, {"TF_HTTP_USERNAME", "alice"}, {"TF_HTTP_PASSWORD", "hunter2"}};
  EXPECT_THAT(Refusal(kGitea, job), AllOf(HasSubstr("does not go to git.example"),
                                          HasSubstr("TF_HTTP_ADDRESS"), Not(HasSubstr("hunter2"))));
  job["TF_HTTP_ADDRESS"] = kGitLab;
  EXPECT_EQ(Refusal(kGitea, job), "none");
  EXPECT_EQ(Refusal(kGitLab, job), "none");
  EXPECT_NE(Refusal("https://evil.example/api/packages/team/terraform/state/pods", job), "none");
}

TEST(HttpPlace, TheJobsTokenGoesToItsOwnGitLabAndNowhereElse) {
  const Variables job = {{"CI_API_V4_URL", "https://git.example/api/v4"}, {"CI_JOB_TOKEN", "t"}};
  EXPECT_EQ(Found(kGitLab, job).user, "gitlab-ci-token");
  EXPECT_EQ(Found(kGitLab, job).password, "t");
  EXPECT_EQ(Found("https://other.example/api/v4/projects/7/terraform/state/pods", job).user, "");
  EXPECT_EQ(Found("https://git.example:8443/api/v4/projects/7/terraform/state/pods", job).user, "");
  EXPECT_EQ(Found("https://git.example.evil.example/x", job).user, "");
  Variables elsewhere = job;
  elsewhere["TF_HTTP_LOCK_ADDRESS"] = "https://other.example/lock";
  EXPECT_EQ(Found(kGitLab, elsewhere).user, "");
  Variables own = job;
  own["TF_HTTP_USERNAME"] = "alice";
  own["TF_HTTP_PASSWORD"] = "p";
  EXPECT_EQ(Found(kGitLab, own).user, "alice");
}

}  // namespace
}  // namespace podctl
