// What plans say of pods that are otherwise than podctl left them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/plans/harness.h"

namespace podctl {
namespace {

using testing::Actions;
using testing::ChangeOf;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::IsEmpty;
using testing::Lines;

class DriftTest : public ::testing::Test {
 protected:
  void SetUp() override {
    harness_.Pods(Harness::Pod("a", "    labels: {team: vision}\n    metadata: {m: \"1\"}\n"));
    harness_.ApplyAll();
  }
  void SetState(const std::string& state) {
    harness_.Edit("a", [&](Value& node) { node.Set("state", state); });
  }
  Drift OnlyDrift(const Plan& plan) {
    EXPECT_EQ(plan.drift.size(), 1U);
    return plan.drift.empty() ? Drift{} : plan.drift.front();
  }

  Harness harness_;
};

TEST_F(DriftTest, AnOwnKeyChangedOutsideIsDriftAndPatchedBack) {
  harness_.Edit("a", [](Value& node) {
    node.SetPath("labels.team", "speech");
    node.Set("metadata", Value::EmptyMap());
  });
  const Plan plan = harness_.MakePlan();
  const Drift drift = OnlyDrift(plan);
  EXPECT_EQ(drift.kind, Drift::Kind::kChanged);
  EXPECT_EQ(drift.sentence, "was changed outside of podctl");
  EXPECT_THAT(Lines(drift.attributes),
              ElementsAre("labels.team: vision -> speech", "metadata.m: 1 -> (none)"));
  EXPECT_THAT(Actions(plan), ElementsAre("update pod.a"));
  harness_.ApplyAll();
  EXPECT_EQ(harness_.Node("a")["labels"]["team"].AsString(), "vision");
}

TEST_F(DriftTest, DriftThatTheSpecTakesUpIsForgottenByTheNextApply) {
  harness_.Edit("a", [](Value& node) { node.SetPath("labels.team", "speech"); });
  harness_.Pods(Harness::Pod("a", "    labels: {team: speech}\n    metadata: {m: \"1\"}\n"));
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), IsEmpty());
  EXPECT_EQ(plan.drift.size(), 1U);
  harness_.ApplyAll();  // fails on drift that is left
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a"));
  // The label is podctl's now: it goes when the spec drops it.
  harness_.Pods(Harness::Pod("a", "    metadata: {m: \"1\"}\n"));
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("update pod.a"));
}

TEST_F(DriftTest, ASensitiveValueIsHiddenInDriftToo) {
  harness_.environment["TOKEN"] = "secret";
  harness_.Pods(Harness::Pod("a", "    metadata: {m: {env: TOKEN, sensitive: true}}\n"));
  harness_.ApplyAll();
  harness_.Edit("a", [](Value& node) { node.SetPath("metadata.m", "theirs"); });
  const Drift drift = OnlyDrift(harness_.MakePlan());
  ASSERT_EQ(drift.attributes.size(), 1U);
  EXPECT_TRUE(drift.attributes[0].sensitive);
  EXPECT_NE(drift.attributes[0].before, Value("secret"));
}

TEST_F(DriftTest, AVanishedPodIsMadeAnew) {
  harness_.cloud.RemoveNode(Harness::Name("a"));
  const Plan plan = harness_.MakePlan();
  EXPECT_EQ(OnlyDrift(plan).kind, Drift::Kind::kVanished);
  EXPECT_THAT(Actions(plan), ElementsAre("create pod.a"));
  harness_.ApplyAll();
}

TEST_F(DriftTest, APreemptedOrTerminatedPodIsReplaced) {
  for (const char* state : {"PREEMPTED", "TERMINATED"}) {
    SetState(state);
    const Plan plan = harness_.MakePlan();
    EXPECT_EQ(OnlyDrift(plan).kind, Drift::Kind::kTerminal);
    EXPECT_EQ(OnlyDrift(plan).sentence, std::string("is ") + state);
    EXPECT_THAT(Actions(plan), ElementsAre("replace pod.a"));
    EXPECT_EQ(ChangeOf(plan, "pod.a").reason, std::string("it is ") + state);
    harness_.ApplyAll();
  }
}

TEST_F(DriftTest, PreventDestroyDoesNotKeepADeadPod) {
  harness_.Pods(Harness::Pod("a", "    lifecycle: {preventDestroy: true}\n"));
  harness_.ApplyAll();
  SetState("PREEMPTED");
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("replace pod.a"));
}

TEST_F(DriftTest, ARepairedOrStoppedPodIsOnlyShown) {
  SetState("REPAIRING");
  EXPECT_EQ(OnlyDrift(harness_.MakePlan()).kind, Drift::Kind::kRepairing);
  EXPECT_TRUE(harness_.MakePlan().Empty());
  SetState("STOPPED");
  EXPECT_EQ(OnlyDrift(harness_.MakePlan()).kind, Drift::Kind::kStopped);
  EXPECT_TRUE(harness_.MakePlan().Empty());
}

TEST_F(DriftTest, AnUnhealthyPodIsOnlyShownWithTheServicesWords) {
  harness_.Edit("a", [](Value& node) {
    node.Set("health", "UNHEALTHY_MAINTENANCE");
    node.Set("healthDescription", "The TPU has a pending maintenance event.");
  });
  const Plan plan = harness_.MakePlan();
  EXPECT_EQ(OnlyDrift(plan).kind, Drift::Kind::kUnhealthy);
  EXPECT_EQ(OnlyDrift(plan).sentence,
            "is UNHEALTHY_MAINTENANCE: The TPU has a pending maintenance event.");
  EXPECT_TRUE(plan.Empty());
}

TEST_F(DriftTest, APodThatSomebodyElseDeletesIsAwaitedAndMadeAnew) {
  SetState("DELETING");
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("replace pod.a"));
  EXPECT_EQ(ChangeOf(plan, "pod.a").reason, "it is being deleted");
}

}  // namespace
}  // namespace podctl
