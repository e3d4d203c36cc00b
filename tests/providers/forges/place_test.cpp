// Which forge a run belongs to, by its variables.
#include "providers/forges/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_file_system.h"

namespace podctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Variables = std::map<std::string, std::string>;

class ForgePlaceTest : public ::testing::Test {
 protected:
  Result<ForgePlace> Find(const Variables& variables) {
    return FindForgePlace(FixedEnvironment(variables), files_);
  }
  static Variables GitHub(Variables more = {}) {
    more.insert({{"GITHUB_ACTIONS", "true"},
                 {"GITHUB_API_URL", "https://api.github.com"},
                 {"GITHUB_REPOSITORY", "team/pods"},
                 {"GITHUB_TOKEN", "t0ken"},
                 {"GITHUB_SHA", "aaaa"}});
    return more;
  }

  testing::FakeFileSystem files_;
};

TEST_F(ForgePlaceTest, GitHubSaysItInItsVariablesAndItsEvent) {
  files_.SetFile("/event.json", R"({"pull_request": {"number": 12, "head": {"sha": "bbbb"}}})");
  const auto place = Find(GitHub({{"GITHUB_EVENT_PATH", "/event.json"}}));
  ASSERT_TRUE(place.has_value()) << place.error().message;
  EXPECT_EQ(place->kind, ForgeKind::kGitHub);
  EXPECT_EQ(place->graphql, "https://api.github.com/graphql");
  EXPECT_EQ(place->pull, 12);
  EXPECT_EQ(place->commit, "bbbb");
  EXPECT_EQ(place->token_from, "GITHUB_TOKEN");
}

TEST_F(ForgePlaceTest, ARefNamesThePullRequestWhereNoEventDoes) {
  EXPECT_EQ(Find(GitHub({{"GITHUB_REF", "refs/pull/7/merge"}}))->pull, 7);
  EXPECT_FALSE(Find(GitHub({{"GITHUB_REF", "refs/heads/pull/7"}}))->pull);
  EXPECT_FALSE(Find(GitHub({{"GITHUB_REF", "refs/pull/-7/merge"}}))->pull);
  files_.SetFile("/event.json", "no JSON");
  EXPECT_FALSE(Find(GitHub({{"GITHUB_EVENT_PATH", "/event.json"}}))->pull);
}

TEST_F(ForgePlaceTest, ACommentUnderAnIssueIsAboutNoPullRequest) {
  files_.SetFile("/event.json", R"({"issue": {"number": 5}})");
  EXPECT_FALSE(Find(GitHub({{"GITHUB_EVENT_PATH", "/event.json"}}))->pull);
  files_.SetFile("/event.json", R"({"issue": {"number": 5, "pull_request": {}}})");
  EXPECT_EQ(Find(GitHub({{"GITHUB_EVENT_PATH", "/event.json"}}))->pull, 5);
}

TEST_F(ForgePlaceTest, GiteaIsToldApartThoughItSetsGitHubsVariables) {
  const auto place = Find(GitHub({{"GITEA_ACTIONS", "true"}, {"GITHUB_REF", "refs/pull/3/head"}}));
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->kind, ForgeKind::kGitea);
  EXPECT_EQ(place->graphql, "");
  EXPECT_EQ(place->pull, 3);
}

TEST_F(ForgePlaceTest, GitLabSaysItInItsOwn) {
  const Variables variables = {
      {"GITLAB_CI", "true"},     {"CI_API_V4_URL", "https://gitlab.example.com/api/v4"},
      {"CI_PROJECT_ID", "42"},   {"CI_MERGE_REQUEST_IID", "9"},
      {"CI_COMMIT_SHA", "cccc"}, {"CI_JOB_TOKEN", "may-not-comment"},
      {"GITLAB_TOKEN", "t0ken"}};
  const auto place = Find(variables);
  ASSERT_TRUE(place.has_value()) << place.error().message;
  EXPECT_EQ(place->kind, ForgeKind::kGitLab);
  EXPECT_EQ(place->pull, 9);
  EXPECT_EQ(place->token, "t0ken");
}

TEST_F(ForgePlaceTest, ATokenOfOnesOwnComesFirst) {
  EXPECT_EQ(Find(GitHub({{"PODCTL_FORGE_TOKEN", "mine"}}))->token, "mine");
}

TEST_F(ForgePlaceTest, ATokenDoesNotTravelInTheClear) {
  Variables variables = GitHub();
  variables["GITHUB_API_URL"] = "http://git.example.com/api/v1";
  const auto refused = Find(variables);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("unencrypted to git.example.com"));
  EXPECT_THAT(refused.error().message, Not(HasSubstr("t0ken")));
  variables["GITHUB_API_URL"] = "http://127.0.0.1:3000/api/v1";
  EXPECT_TRUE(Find(variables).has_value());
  variables["GITHUB_GRAPHQL_URL"] = "http://elsewhere.example.com/graphql";
  EXPECT_FALSE(Find(variables).has_value());
  variables["GITHUB_API_URL"] = "https://user:secret@git.example.com";
  EXPECT_FALSE(Find(variables).has_value());
}

TEST_F(ForgePlaceTest, WhatIsMissingOrNoneIsNamed) {
  EXPECT_THAT(Find({}).error().hint, HasSubstr("podctl plan --markdown"));
  Variables variables = GitHub();
  variables.erase("GITHUB_API_URL");
  EXPECT_THAT(Find(variables).error().message, HasSubstr("GITHUB_API_URL"));
  for (const char* repository : {"team", "team/../x", "team/pods/../..", "te am/pods", "/pods"}) {
    variables = GitHub();
    variables["GITHUB_REPOSITORY"] = repository;
    EXPECT_FALSE(Find(variables).has_value()) << repository;
  }
  EXPECT_FALSE(Find({{"GITLAB_CI", "true"},
                     {"CI_API_V4_URL", "https://gitlab.example.com/api/v4"},
                     {"CI_PROJECT_ID", "../1"}})
                   .has_value());
}

TEST_F(ForgePlaceTest, AtlantisIsKnownByItsPullRequest) {
  const auto place = Find({{"PULL_NUM", "8"}, {"HEAD_COMMIT", "dddd"}});
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->kind, ForgeKind::kAtlantis);
  EXPECT_EQ(place->pull, 8);
}

}  // namespace
}  // namespace podctl
