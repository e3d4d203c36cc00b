#include "providers/os/ci_run.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace podctl {
namespace {

using Variables = std::map<std::string, std::string>;

bool IsIn(const Variables& variables) {
  return IsPipeline(FixedEnvironment(variables));
}

// A password goes where a spec says only where no pipeline runs this.
TEST(CiRun, APipelineIsKnownByWhatItsKindSets) {
  for (const char* value : {"true", "True", "1", "yes", "woodpecker", "drone"}) {
    EXPECT_TRUE(IsIn({{"CI", value}})) << value;
  }
  for (const char* name : {"TF_BUILD", "JENKINS_URL", "CODEBUILD_BUILD_ID", "BUILDKITE"}) {
    EXPECT_TRUE(IsIn({{"CI", ""}, {name, "x"}})) << name;
  }
  EXPECT_TRUE(IsIn({{"GITHUB_ACTIONS", "true"}}));
  EXPECT_TRUE(IsIn({{"ATLANTIS_TERRAFORM_VERSION", "1.11.4"}, {"PULL_NUM", "7"}}));
  for (const char* value : {"", "false", "0"}) EXPECT_FALSE(IsIn({{"CI", value}})) << value;
  EXPECT_FALSE(IsIn({{"HOME", "/root"}}));
}

TEST(CiRun, GiteasPageSaysThatItsNumberIsTheRepositorys) {
  const Variables variables = {{"GITHUB_ACTIONS", "true"},
                               {"GITHUB_SERVER_URL", "https://git.example.com"},
                               {"GITHUB_REPOSITORY", "o/r"},
                               {"GITHUB_RUN_ID", "11"},
                               {"GITHUB_RUN_NUMBER", "7"}};
  EXPECT_EQ(FindCiRun(FixedEnvironment(variables)).url,
            "https://git.example.com/o/r/actions/runs/11");
  Variables gitea = variables;
  gitea["GITEA_ACTIONS"] = "true";
  EXPECT_EQ(FindCiRun(FixedEnvironment(gitea)).url,
            "https://git.example.com/o/r/actions/runs/7?by_index=1");
}

}  // namespace
}  // namespace podctl
