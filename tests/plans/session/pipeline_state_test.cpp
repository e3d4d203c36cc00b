#include "plans/session/pipeline_state.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/fake_file_system.h"
#include "tests/support/golden.h"

namespace podctl {
namespace {

class Variables final : public Environment {
 public:
  std::optional<std::string> Get(const std::string& name) const override {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  }
  std::map<std::string, std::string> values;
};

TEST(PipelineState, WarnsOfAFileThatNothingBringsBack) {
  Variables environment;
  testing::FakeFileSystem files;
  std::optional<bool> follows = false;
  const auto warn = [&](const std::string& path) {
    return WarnOfLostState(environment, files, path, [&](const std::string&) { return follows; });
  };
  const std::string path = "podctl.state.json";
  EXPECT_FALSE(warn(path));  // somebody's desk
  environment.values["CI"] = "false";
  EXPECT_FALSE(warn(path));
  environment.values["CI"] = "true";
  const auto warning = warn(path);
  ASSERT_TRUE(warning);
  EXPECT_EQ(warning->severity, Severity::kWarning);
  testing::ExpectGolden("state/lost_with_pipeline.txt",
                        warning->summary + "\n" + warning->detail + "\n");
  EXPECT_FALSE(warn("gs://bucket/prefix"));
  for (const std::optional<bool> other : {std::optional<bool>(true), std::optional<bool>()}) {
    follows = other;
    EXPECT_FALSE(warn(path));
  }
  follows = false;
  files.SetFile(path, "{}");  // brought back
  EXPECT_FALSE(warn(path));
}

}  // namespace
}  // namespace podctl
