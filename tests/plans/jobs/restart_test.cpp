#include "plans/jobs/restart.h"

#include <gtest/gtest.h>

namespace podctl {
namespace {

JobEnd End() {
  JobEnd end;
  end.what = "research/3: exit code 1";
  end.node_state = "READY";
  end.node_health = "HEALTHY";
  return end;
}

TEST(JudgeEndTest, TheCommandsOwnFailureIsItsOwn) {
  EXPECT_EQ(JudgeEnd(End()).reason, RestartReason::kFailure);
  JobEnd killed = End();
  killed.killed = true;
  EXPECT_EQ(JudgeEnd(killed).reason, RestartReason::kKilled);
  EXPECT_EQ(JudgeEnd(killed).because, "research/3: exit code 1");
}

TEST(JudgeEndTest, WhatHappenedToTheNodeComesFirst) {
  JobEnd end = End();
  end.killed = true;
  end.lost = true;
  EXPECT_EQ(JudgeEnd(end).reason, RestartReason::kConnection);
  end.stalled = "no step";
  EXPECT_EQ(JudgeEnd(end).reason, RestartReason::kHeartbeat);
  end.hung = true;
  EXPECT_EQ(JudgeEnd(end).reason, RestartReason::kHang);
  end.node_health = "UNHEALTHY_MAINTENANCE";
  EXPECT_EQ(JudgeEnd(end).reason, RestartReason::kMaintenance);
  EXPECT_EQ(JudgeEnd(end).because, "the node is UNHEALTHY_MAINTENANCE");
  end.node_state = "PREEMPTED";
  EXPECT_EQ(JudgeEnd(end).reason, RestartReason::kPreemption);
  EXPECT_EQ(JudgeEnd(end).because, "the node is PREEMPTED");
  end.node_gone = true;
  EXPECT_EQ(JudgeEnd(end).because, "the node is gone");
}

TEST(JudgeEndTest, WhatTheWorkersSayComesBeforeTheExitCode) {
  JobEnd end = End();
  end.killed = true;
  end.told = RestartReason::kConnection;
  EXPECT_EQ(JudgeEnd(end).reason, RestartReason::kConnection);
  EXPECT_EQ(JudgeEnd(end).because, "research/3: exit code 1");
  end.told = RestartReason::kPreemption;
  EXPECT_EQ(JudgeEnd(end).node, "") << "the service has not said so";
  end.node_state = "REPAIRING";
  EXPECT_EQ(JudgeEnd(end).reason, RestartReason::kMaintenance);
}

TEST(JobRestartTest, PausesGrowToAMinuteOrTheFirstOne) {
  JobRestart restart;
  EXPECT_EQ(restart.PauseAfter(0), std::chrono::seconds(1));
  EXPECT_EQ(restart.PauseAfter(1), std::chrono::seconds(1));
  EXPECT_EQ(restart.PauseAfter(4), std::chrono::seconds(8));
  EXPECT_EQ(restart.PauseAfter(1000), std::chrono::seconds(60));
  restart.backoff = std::chrono::minutes(5);
  EXPECT_EQ(restart.PauseAfter(3), std::chrono::minutes(5));
  restart.backoff = std::chrono::seconds(0);
  EXPECT_EQ(restart.PauseAfter(1000), std::chrono::seconds(0));
}

TEST(JudgeNodeTest, KnowsAGoodNode) {
  EXPECT_FALSE(JudgeNode("READY", "HEALTHY"));
  EXPECT_FALSE(JudgeNode("", ""));
  EXPECT_EQ(JudgeNode("REPAIRING", "")->reason, RestartReason::kMaintenance);
  EXPECT_EQ(JudgeNode("TERMINATED", "")->reason, RestartReason::kPreemption);
}

}  // namespace
}  // namespace podctl
