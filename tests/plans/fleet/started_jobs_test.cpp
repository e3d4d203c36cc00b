// What was started on a pod is remembered until its end is seen.
#include "plans/fleet/started_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_file_system.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using testing::FakeFileSystem;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StartedJobsTest : public ::testing::Test {
 protected:
  StartedJobsTest() { files_.SetFolder("/home/alice"); }

  FakeFileSystem files_;
  FixedEnvironment environment_{{{"HOME", "/home/alice"}}};
  StartedOnPods pods_{files_, environment_, "/home/alice/state.json"};
};

TEST_F(StartedJobsTest, AreKeptByPodUntilTheyEnd) {
  const StartedJob train{"train", "2026-11-25T22:00:00Z", "42"};
  const StartedJob eval{"eval", "2026-11-25T23:00:00Z", "42"};
  pods_.On("research").Started(train);
  pods_.On("research").Started(eval);
  EXPECT_THAT(pods_.On("research").Load(), ElementsAre(train, eval));
  EXPECT_THAT(pods_.On("other").Load(), IsEmpty());
  StartedJob again = train;
  again.started_at = "2026-11-26T01:00:00Z";
  pods_.On("research").Started(again);
  EXPECT_THAT(pods_.On("research").Load(), ElementsAre(eval, again)) << "the old one is over";
  pods_.On("research").Ended("eval");
  pods_.On("research").Ended("never");
  EXPECT_THAT(pods_.On("research").Load(), ElementsAre(again));
}

TEST_F(StartedJobsTest, AreBounded) {
  for (int i = 0; i < 150; ++i) {
    pods_.On("research").Started({"job" + std::to_string(i), "2026-11-25T22:00:00Z", ""});
  }
  ASSERT_THAT(pods_.On("research").Load(), SizeIs(100));
  EXPECT_EQ(pods_.On("research").Load().front().name, "job50");
}

TEST_F(StartedJobsTest, WithoutAHomeNothingIsRemembered) {
  const FixedEnvironment none{{}};
  const StartedOnPods pods(files_, none, "/home/alice/state.json");
  pods.On("research").Started({"train", "2026-11-25T22:00:00Z", ""});
  EXPECT_THAT(pods.On("research").Load(), IsEmpty());
}

}  // namespace
}  // namespace podctl
