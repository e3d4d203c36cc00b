// Stopping and starting single-host nodes by `desiredState`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "plans/kinds/pod/record.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

using testing::Actions;
using testing::ChangeOf;
using ::testing::ElementsAre;
using testing::FakeFileSystem;
using testing::FakeProvider;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Lines;

class PowerTest : public ::testing::Test {
 protected:
  static std::string Single(const std::string& keys) {
    return "  a:\n    acceleratorType: v3-8\n    runtimeVersion: tpu-ubuntu2204-base\n" + keys;
  }
  void Write(const std::string& keys) { harness_.Pods(Single(keys)); }
  void Begin(const std::string& keys = "") {
    Write(keys);
    harness_.ApplyAll();
    harness_.cloud.ForgetCalls();
    harness_.workers.ForgetCalls();
  }
  std::string State() { return harness_.Node("a")["state"].AsString(); }
  Error OnlyFailure(const ExecuteResult& result) {
    EXPECT_EQ(result.failures.size(), 1U);
    return result.failures.empty() ? Error{} : result.failures.front().error;
  }

  static constexpr const char* kStopped = "    desiredState: STOPPED\n";
  static constexpr const char* kReady = "    desiredState: READY\n";
  static constexpr const char* kStep = "    bootstrap: [{name: x, run: echo}]\n";
  Harness harness_;
};

TEST_F(PowerTest, APlanShowsTheStateAsAChange) {
  Begin();
  Write(kStopped);
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("update pod.a"));
  EXPECT_THAT(Lines(ChangeOf(plan, "pod.a").attributes), ElementsAre("state: READY -> STOPPED"));
}

TEST_F(PowerTest, ANodeIsStoppedAndStartedAgain) {
  Begin();
  Write(kStopped);
  harness_.ApplyAll();
  EXPECT_EQ(State(), "STOPPED");
  Write(kReady);
  harness_.ApplyAll();
  EXPECT_EQ(State(), "READY");
  EXPECT_THAT(harness_.Requests(), ElementsAre("stop a", "start a"));
}

TEST_F(PowerTest, TheStateKnowsTheAddressesThatTheNodeGotWhenItWasStarted) {
  Begin();
  Write(kStopped);
  harness_.ApplyAll();
  Write(kReady);
  harness_.cloud.Before("start", [](FakeProvider& cloud) {
    cloud.EditNode(Harness::Name("a"), [](Value& node) {
      Value endpoint;
      endpoint.Set("ipAddress", "10.164.9.9");
      node.Set("networkEndpoints", Value::List{endpoint});
    });
  });
  harness_.ApplyAll();
  const Value observed = Pods(harness_.Stored()).at(Addr("pod.a")).observed;
  EXPECT_EQ(observed["networkEndpoints"].AsList().at(0)["ipAddress"].AsString(), "10.164.9.9");
}

TEST_F(PowerTest, FieldsAreChangedWhileTheNodeRuns) {
  Begin();
  Write(std::string(kStopped) + "    labels: {team: vision}\n");
  harness_.ApplyAll();
  Write(std::string(kReady) + "    labels: {team: speech}\n");
  harness_.ApplyAll();
  EXPECT_THAT(harness_.Requests(),
              ElementsAre("patch a labels", "stop a", "start a", "patch a labels"));
}

TEST_F(PowerTest, ANewPodIsMadeAndThenStopped) {
  Write(kStopped);
  EXPECT_THAT(Lines(ChangeOf(harness_.MakePlan(), "pod.a").attributes),
              ::testing::Contains("state: (none) -> STOPPED"));
  harness_.ApplyAll();
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a", "stop a"));
  EXPECT_EQ(State(), "STOPPED");
}

TEST_F(PowerTest, BootstrapWaitsUntilTheNodeIsStarted) {
  Begin();
  Write(std::string(kStopped) + kStep);
  harness_.ApplyAll();
  EXPECT_THAT(harness_.workers.Calls(), IsEmpty());
  Write(std::string(kReady) + kStep);
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("update pod.a", "run bootstrap.a.x"));
  harness_.ApplyAll();
  EXPECT_EQ(harness_.workers.Calls().size(), 1U);
}

TEST_F(PowerTest, WhatSomebodyElseStoppedIsToldAndNothingRunsThere) {
  Begin();
  harness_.Edit("a", [](Value& node) { node.Set("state", "STOPPED"); });
  Write(kStep);
  const Plan plan = harness_.MakePlan();
  EXPECT_TRUE(plan.Empty());
  ASSERT_EQ(plan.drift.size(), 1U);
  EXPECT_EQ(plan.drift[0].sentence, "is STOPPED");
}

TEST_F(PowerTest, AStoppedNodeThatIsToBeStoppedHasNotDrifted) {
  Begin(kStopped);
  const Plan plan = harness_.MakePlan();
  EXPECT_TRUE(plan.Empty());
  EXPECT_TRUE(plan.drift.empty());
}

TEST_F(PowerTest, ANodeThatIsToBeStartedHasNotDriftedEither) {
  Begin(kStopped);
  Write(kReady);
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("update pod.a"));
  EXPECT_TRUE(plan.drift.empty());
}

TEST_F(PowerTest, APodOfSeveralHostsIsRefusedInThePlan) {
  // The catalogue does not know the type; the node tells.
  const std::string unknown =
      "  a:\n    acceleratorType: v33-32\n    runtimeVersion: tpu-ubuntu2204-base\n";
  harness_.Pods(unknown);
  harness_.ApplyAll();
  harness_.Pods(unknown + kStopped);
  const Diagnostics diagnostics = harness_.TryPlan();
  ASSERT_TRUE(diagnostics.has_errors());
  const auto& items = diagnostics.items();
  EXPECT_TRUE(std::any_of(items.begin(), items.end(), [](const Diagnostic& item) {
    return item.summary == "pod `a` has 4 workers and cannot be stopped";
  }));
}

TEST_F(PowerTest, ALostAnswerIsNoSecondStop) {
  Begin();
  Write(kStopped);
  harness_.cloud.LoseReply("stop");
  harness_.ApplyAll();
  EXPECT_THAT(harness_.Requests(), ElementsAre("stop a"));
}

TEST_F(PowerTest, ARequestThatWasLostOnItsWayIsRepeated) {
  Begin();
  Write(kStopped);
  harness_.cloud.FailNext("stop", MakeError(ErrorCode::kReplyLost, "the connection broke"));
  harness_.ApplyAll();
  EXPECT_THAT(harness_.Requests(), ElementsAre("stop a", "stop a"));
}

TEST_F(PowerTest, WhoeverWasFasterHasDoneIt) {
  Begin();
  Write(kStopped);
  harness_.cloud.Before("stop", [](FakeProvider& cloud) {
    cloud.EditNode(Harness::Name("a"), [](Value& node) { node.Set("state", "STOPPED"); });
  });
  harness_.ApplyAll();
  EXPECT_THAT(harness_.Requests(), ElementsAre("stop a"));
}

TEST_F(PowerTest, ARefusalIsToldAndLeavesNothingPending) {
  Begin();
  Write(kStopped);
  harness_.cloud.FailNext("stop", MakeError(ErrorCode::kFailedPrecondition, "not this one"));
  EXPECT_EQ(OnlyFailure(harness_.Apply()).message, "cannot stop the node: not this one");
  EXPECT_FALSE(Pods(harness_.Stored()).at(Addr("pod.a")).pending().has_value());
  EXPECT_EQ(State(), "READY");
}

TEST_F(PowerTest, AFailedOperationIsToldAndTriedAgainByTheNextRun) {
  Begin();
  Write(kStopped);
  harness_.cloud.FailOperation("stop", MakeError(ErrorCode::kInternal, "no luck"));
  EXPECT_EQ(OnlyFailure(harness_.Apply()).message, "cannot stop the node: no luck");
  harness_.ApplyAll();
  EXPECT_EQ(State(), "STOPPED");
}

TEST_F(PowerTest, ANodeThatIsPreemptedMeanwhileIsNotWaitedFor) {
  Begin();
  Write(kStopped);
  harness_.cloud.Before("stop", [](FakeProvider& cloud) {
    cloud.EditNode(Harness::Name("a"), [](Value& node) { node.Set("state", "PREEMPTED"); });
  });
  EXPECT_THAT(OnlyFailure(harness_.Apply()).message, HasSubstr("PREEMPTED instead of STOPPED"));
}

TEST_F(PowerTest, ANodeWithoutDesiredStateIsLeftAsItIs) {
  Begin(kStopped);
  Write("");
  EXPECT_TRUE(harness_.MakePlan().Empty());
}

// Killed at every step it takes; the next run makes it good, and nothing is asked for twice once it
// was begun.
TEST_F(PowerTest, AKilledRunIsTakenUp) {
  int steps = 0;
  {
    Harness whole;
    whole.Pods(Single(""));
    whole.ApplyAll();
    whole.Pods(Single(kStopped));
    const int before = whole.files.Steps();
    whole.ApplyAll();
    steps = whole.files.Steps() - before;
  }
  ASSERT_GT(steps, 5);
  for (int k = 0; k < steps; ++k) {
    SCOPED_TRACE(k);
    Harness harness(FakeProvider::Options{.looks = 5});
    harness.Pods(Single(""));
    harness.ApplyAll();
    harness.Pods(Single(kStopped));
    harness.files.StopAfter(k);
    static_cast<void>(harness.Apply());
    harness.files.Restart();
    harness.ApplyAll();
    EXPECT_EQ(harness.Node("a")["state"].AsString(), "STOPPED");
    EXPECT_EQ(harness.cloud.Calls("stop").size(), 1U);
    EXPECT_FALSE(Pods(harness.Stored()).at(Addr("pod.a")).pending().has_value());
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace podctl
