// What conftest answers, and what is made of it. The program itself is played by
// tests/gitops/policies.py.
#include "plans/ci/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/support/fake_file_system.h"

namespace podctl {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeFileSystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class OneAnswer final : public ProcessRunner {
 public:
  Result<ProcessResult> Run(const std::vector<std::string>& arguments, std::chrono::milliseconds,
                            std::stop_token) override {
    asked = arguments;
    return answer;
  }
  Result<ProcessResult> answer = ProcessResult();
  std::vector<std::string> asked;
};

class Policies : public ::testing::Test {
 protected:
  Result<Diagnostics> Ask(int code, const std::string& out, const std::string& err = "") {
    conftest_.answer = ProcessResult{code, out, err};
    return AskPolicies({conftest_, environment_, {}}, "policy", "/tmp/plan.json");
  }

  OneAnswer conftest_;
  FakeFileSystem files_;
  FixedEnvironment environment_{
      {{"PATH", "/opt/bin"}, {"HOME", "/home/me"}, {"GITHUB_TOKEN", "hunter2"}}};
};

TEST_F(Policies, WhatTheyDenyIsAnErrorAndWhatTheyWarnOfIsNone) {
  const auto said = Ask(1, R"([
    {"filename": "plan.json", "namespace": "main", "successes": 3,
     "warnings": [{"msg": "spot pods go away"}],
     "failures": [{"msg": "no v3-256", "metadata": {"severity": "high"}}, {"msg": "b\u001b[2J"}]},
    {"filename": "plan.json", "namespace": "cost", "successes": 0, "failures": null}])");
  ASSERT_TRUE(said) << said.error().message;
  ASSERT_EQ(said->items().size(), 3U);
  EXPECT_TRUE(said->has_errors());
  EXPECT_EQ(said->items()[0].summary, "Policy `main` denies it");
  EXPECT_EQ(said->items()[0].detail, "no v3-256");
  EXPECT_EQ(said->items()[2].severity, Severity::kWarning);
  EXPECT_EQ(said->items()[2].summary, "Policy `main` warns");
}

TEST_F(Policies, NothingOfTheEnvironmentReachesThem) {
  ASSERT_TRUE(Ask(0, "[]"));
  EXPECT_THAT(conftest_.asked, Not(Contains(HasSubstr("hunter2"))));
  ASSERT_GE(conftest_.asked.size(), 5U);
  conftest_.asked.resize(5);
  EXPECT_THAT(conftest_.asked,
              ElementsAre("env", "-i", "PATH=/opt/bin", "HOME=/home/me", "TMPDIR=/tmp"));
}

TEST_F(Policies, AnAnswerThatIsNoneIsAnError) {
  // It ended ill and names nothing: that is no approval.
  for (const auto& [code, out] : std::vector<std::pair<int, std::string>>{
           {1, ""},
           {1, "[]"},
           {2, R"([{"namespace": "main", "warnings": [{"msg": "m"}]}])"},
           {0, ""},
           {0, "{}"},
           {0, "[1]"},
           {0, R"([{"failures": 1}])"},
           {0, R"([{"failures": [{"metadata": {}}]}])"},
           {137, "[{\"namespace\": \"main\"}]"}}) {
    const auto said = Ask(code, out, "Error: rego_parse_error");
    ASSERT_FALSE(said) << code << " " << out;
    EXPECT_EQ(said.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(said.error().message, HasSubstr("rego_parse_error")) << out;
  }
}

TEST_F(Policies, WithoutTheProgramNothingIsApproved) {
  const auto said = Ask(127, "", "env: 'conftest': No such file or directory\n");
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(said.error().message, StartsWith("`policy` has policies, and there is no conftest"));
}

TEST_F(Policies, ALongSentenceIsCutBetweenCharacters) {
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "ä";
  const auto said = Ask(1, R"([{"namespace": "m", "failures": [{"msg": ")" + many + "\"}]}]");
  ASSERT_TRUE(said);
  EXPECT_EQ(said->items()[0].detail, many.substr(0, 2000) + "…");
}

TEST_F(Policies, TheFolderHereComesBeforeThatOfTheRepository) {
  EXPECT_THAT(*FindPolicies(files_, "", "/repository"), IsEmpty());
  ASSERT_TRUE(files_.MakeFolders("/repository/policy"));
  EXPECT_EQ(*FindPolicies(files_, "", "/repository"), "/repository/policy");
  ASSERT_TRUE(files_.MakeFolders("policy"));
  EXPECT_EQ(*FindPolicies(files_, "", "/repository"), "policy");
  EXPECT_EQ(*FindPolicies(files_, "/repository/policy", ""), "/repository/policy");
  const auto none = FindPolicies(files_, "polcy", "/repository");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "`polcy` is no folder");
}

}  // namespace
}  // namespace podctl
