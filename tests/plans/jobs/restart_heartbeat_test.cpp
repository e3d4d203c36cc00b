#include <gtest/gtest.h>

#include "plans/jobs/restart.h"

namespace podctl {
namespace {

using std::chrono::seconds;

const Heartbeat::Time kStart{};

TEST(HeartbeatTest, WaitsForTheFirstStepHoweverLongItTakes) {
  const Heartbeat heart(2, {});
  EXPECT_EQ(heart.WhyStalled(kStart + seconds(100'000)), "");
}

TEST(HeartbeatTest, WaitsLongerWhileAllAreAtTheSameStep) {
  Heartbeat heart(2, {});
  heart.OnStep(0, kStart);
  EXPECT_EQ(heart.WhyStalled(kStart + seconds(900)), "");
  EXPECT_EQ(heart.WhyStalled(kStart + seconds(901)),
            "no worker has done a step for 15m1s; 1 of them came to step 0, others to 1");
  heart.OnStep(1, kStart + seconds(901));
  EXPECT_EQ(heart.WhyStalled(kStart + seconds(901 + 1800)), "");
  EXPECT_EQ(heart.WhyStalled(kStart + seconds(901 + 1801)),
            "no worker has done a step for 30m1s, after 1 step each");
}

TEST(HeartbeatTest, TakesItsLimitsFromTheJobsVariables) {
  const auto limits = Heartbeat::LimitsOf(
      {{"XLA_UNEVEN_HEARTBEAT_TIMEOUT", "2"}, {"XLA_EVEN_HEARTBEAT_TIMEOUT", "never"}});
  EXPECT_EQ(limits.uneven, seconds(2));
  EXPECT_EQ(limits.even, seconds(1800));
}

}  // namespace
}  // namespace podctl
