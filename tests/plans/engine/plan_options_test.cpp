// Moves, targets, plans that ask nobody, and plans that take drift into the state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/record.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

using testing::Actions;
using testing::ChangeOf;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Lines;

class PlanOptionsTest : public ::testing::Test {
 protected:
  void Moved(const std::string& moves, const std::string& pods) {
    harness_.SpecText("project: p\nzone: europe-west4-a\nmoved: [" + moves + "]\npods:\n" + pods);
  }
  std::string OnlyError() {
    const Diagnostics diagnostics = harness_.TryPlan();
    EXPECT_EQ(diagnostics.items().size(), 1U);
    return diagnostics.items().empty() ? "" : diagnostics.items().front().summary;
  }
  std::vector<std::string> Methods() {
    std::vector<std::string> methods;
    for (const auto& call : harness_.cloud.Calls()) methods.push_back(call.method);
    return methods;
  }

  Harness harness_;
};

// ---- moved.

TEST_F(PlanOptionsTest, AMovedPodKeepsItsNode) {
  const std::string step = "    bootstrap: [{name: x, run: echo}]\n";
  harness_.Pods(Harness::Pod("a", step) + Harness::Pod("c", "    dependsOn: [pod.a]\n"));
  harness_.ApplyAll();
  harness_.cloud.ForgetCalls();
  harness_.workers.ForgetCalls();
  Moved("{from: pod.a, to: pod.b}",
        Harness::Pod("b", step) + Harness::Pod("c", "    dependsOn: [pod.b]\n"));
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), IsEmpty());
  EXPECT_FALSE(plan.Empty());
  EXPECT_EQ(ChangeOf(plan, "pod.b").previous_address, "pod.a");
  harness_.ApplyAll();  // the plan after it is empty, with the move still in the spec
  EXPECT_THAT(harness_.Requests(), IsEmpty());
  EXPECT_TRUE(harness_.workers.Calls().empty());
  EXPECT_EQ(Pods(harness_.Stored()).at(Addr("pod.b")).current.locator, "a");
  EXPECT_FALSE(Pods(harness_.Stored()).contains(Addr("pod.a")));
  EXPECT_TRUE(Steps(harness_.Stored()).contains(Addr("bootstrap.b.x")));
  EXPECT_THAT(Pods(harness_.Stored()).at(Addr("pod.c")).depends_on, ElementsAre("pod.b"));
}

TEST_F(PlanOptionsTest, MovesAreFollowedToTheirEnd) {
  harness_.Pods(Harness::Pod("a"));
  harness_.ApplyAll();
  Moved("{from: pod.b, to: pod.c}, {from: pod.a, to: pod.b}",
        Harness::Pod("c", "    description: x\n"));
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("update pod.c"));
  EXPECT_EQ(ChangeOf(plan, "pod.c").previous_address, "pod.a");
  harness_.ApplyAll();
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a", "patch a description"));
}

TEST_F(PlanOptionsTest, AMoveOntoAnotherPodIsAnError) {
  harness_.Pods(Harness::Pod("a") + Harness::Pod("b"));
  harness_.ApplyAll();
  Moved("{from: pod.a, to: pod.b}", Harness::Pod("b"));
  const Diagnostics diagnostics = harness_.TryPlan();
  ASSERT_FALSE(diagnostics.items().empty());
  EXPECT_EQ(diagnostics.items()[0].summary, "cannot move pod.a to pod.b: both are in the state");
  EXPECT_EQ(diagnostics.items()[0].place.line, 3);
}

TEST_F(PlanOptionsTest, ANodeIdOfTheStateStandsWhereTheSpecWritesNone) {
  harness_.Pods(Harness::Pod("a", "    nodeId: research\n"));
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("a"));
  EXPECT_TRUE(harness_.MakePlan().Empty());
  harness_.Pods(Harness::Pod("a", "    nodeId: other\n"));
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("replace pod.a"));
}

// ---- --target.

TEST_F(PlanOptionsTest, ATargetBringsWhatItDependsOn) {
  harness_.Pods(Harness::Pod("base", "    bootstrap: [{name: x, run: echo}]\n") +
                Harness::Pod("middle", "    dependsOn: [pod.base]\n") +
                Harness::Pod("top", "    dependsOn: [pod.middle]\n") + Harness::Pod("other"));
  harness_.plan_options.targets = {"pod.middle"};
  EXPECT_THAT(Actions(harness_.MakePlan()),
              ElementsAre("create pod.base", "run bootstrap.base.x", "create pod.middle"));
  EXPECT_TRUE(harness_.Apply().ok());
  EXPECT_EQ(harness_.cloud.NodeCount(), 2U);
  EXPECT_TRUE(harness_.MakePlan().Empty());
  harness_.plan_options.targets = {};
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("create pod.top", "create pod.other"));
}

TEST_F(PlanOptionsTest, ADependencyOfAnUnchangedOneComesToo) {
  const std::string rest = Harness::Pod("middle", "    dependsOn: [pod.base]\n") +
                           Harness::Pod("top", "    dependsOn: [pod.middle]\n");
  harness_.Pods(Harness::Pod("base") + rest);
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("base", "    description: x\n") + rest);
  harness_.plan_options.targets = {"pod.top"};
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("update pod.base"));
}

TEST_F(PlanOptionsTest, AStepIsATargetWithItsPodAndTheStepsBefore) {
  harness_.Pods(
      Harness::Pod("a",
                   "    bootstrap: [{name: x, run: echo}, {name: y, run: echo}, {name: z, "
                   "run: echo}]\n"));
  harness_.plan_options.targets = {"bootstrap.a.y"};
  EXPECT_THAT(Actions(harness_.MakePlan()),
              ElementsAre("create pod.a", "run bootstrap.a.x", "run bootstrap.a.y"));
}

TEST_F(PlanOptionsTest, ATargetThatGoesTakesAlongWhatDependsOnIt) {
  harness_.Pods(Harness::Pod("a") + Harness::Pod("b", "    dependsOn: [pod.a]\n") +
                Harness::Pod("c"));
  harness_.ApplyAll();
  harness_.plan_options.targets = {"pod.a"};
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_EQ(harness_.cloud.NodeCount(), 1U);
  EXPECT_FALSE(harness_.Node("c").is_null());
}

TEST_F(PlanOptionsTest, WhatIsNotTargetedIsNotJudgedEither) {
  harness_.Pods(Harness::Pod("a", "    lifecycle: {preventDestroy: true}\n") + Harness::Pod("b"));
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("b", "    description: x\n"));
  EXPECT_EQ(OnlyError(), "pod.a must not be destroyed");
  harness_.plan_options.targets = {"pod.b"};
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("update pod.b"));
}

TEST_F(PlanOptionsTest, AnUnknownTargetIsAnError) {
  harness_.Pods(Harness::Pod("research", "    bootstrap: [{name: x, run: echo}]\n"));
  for (const auto& [given, meant] :
       {std::pair{"pod.reserch", "pod.research"}, std::pair{"research", "pod.research"},
        std::pair{"bootstrap.research.y", "bootstrap.research.x"}}) {
    harness_.plan_options.targets = {given};
    const Diagnostics diagnostics = harness_.TryPlan();
    ASSERT_EQ(diagnostics.items().size(), 1U);
    EXPECT_EQ(diagnostics.items()[0].summary, std::string("--target: there is no `") + given + "`");
    EXPECT_THAT(diagnostics.items()[0].detail, HasSubstr(meant));
  }
}

TEST_F(PlanOptionsTest, AMoveThatATargetLeavesOutIsAnError) {
  harness_.Pods(Harness::Pod("a") + Harness::Pod("other"));
  harness_.ApplyAll();
  Moved("{from: pod.a, to: pod.b}", Harness::Pod("b") + Harness::Pod("other"));
  harness_.plan_options.targets = {"pod.other"};
  EXPECT_EQ(OnlyError(), "pod.a has moved to pod.b, and --target leaves it out");
}

// ---- --refresh=false.

TEST_F(PlanOptionsTest, WithoutRefreshNobodyIsAsked) {
  harness_.environment["TOKEN"] = "first";
  const std::string keys =
      "    labels: {team: vision}\n    libtpuFlags: {f: 1}\n"
      "    metadata: {token: {env: TOKEN, sensitive: true}}\n";
  harness_.Pods(Harness::Pod("a", keys));
  harness_.ApplyAll();
  harness_.Edit("a", [](Value& node) { node.SetPath("labels.team", "theirs"); });
  harness_.cloud.ForgetCalls();
  harness_.plan_options.refresh = false;
  Plan plan = harness_.MakePlan();
  EXPECT_TRUE(plan.Empty()) << ::testing::PrintToString(Actions(plan));
  EXPECT_TRUE(plan.drift.empty());
  harness_.environment["TOKEN"] = "second";
  plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("update pod.a"));
  ASSERT_EQ(ChangeOf(plan, "pod.a").attributes.size(), 1U);
  EXPECT_EQ(ChangeOf(plan, "pod.a").attributes[0].path, "metadata.token");
  EXPECT_THAT(Methods(), IsEmpty());
  EXPECT_TRUE(harness_.Apply().ok());
  EXPECT_THAT(Methods(), ::testing::Not(::testing::Contains("list")));
  EXPECT_EQ(harness_.Node("a")["metadata"]["token"].AsString(), "second");
  EXPECT_TRUE(harness_.MakePlan().Empty());
}

TEST_F(PlanOptionsTest, WithoutRefreshWhatIsPendingIsStillLookedUp) {
  harness_.Pods(Harness::Pod("a"));
  harness_.cloud.Before("create", [&](testing::FakeProvider&) { harness_.files.StopAfter(0); });
  static_cast<void>(harness_.Apply());
  harness_.files.Restart();
  harness_.cloud.FinishOperations();
  harness_.cloud.ForgetCalls();
  harness_.plan_options.refresh = false;
  // The node is taken up; its workers are still to be looked at.
  EXPECT_THAT(testing::Actions(harness_.MakePlan()),
              ::testing::ElementsAre("run bootstrap.a.readiness"));
  EXPECT_THAT(Methods(), ::testing::Not(::testing::Contains("list")));
  harness_.ApplyAll();
}

// ---- --refresh-only.

TEST_F(PlanOptionsTest, RealityIsTakenIntoTheState) {
  harness_.environment["TOKEN"] = "ours";
  const std::string keys =
      "    labels: {team: vision, cost: x}\n"
      "    metadata: {m: \"1\", token: {env: TOKEN, sensitive: true}}\n";
  harness_.Pods(Harness::Pod("a", keys) + Harness::Pod("gone") + Harness::Pod("same"));
  harness_.ApplyAll();
  harness_.cloud.ForgetCalls();
  harness_.Edit("a", [](Value& node) {
    node.SetPath("labels.team", "theirs");
    node.ErasePath("labels.cost");
    node.SetPath("metadata.token", "theirs");
  });
  harness_.cloud.RemoveNode(Harness::Name("gone"));
  harness_.plan_options.mode = PlanMode::kRefreshOnly;
  Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), IsEmpty());
  EXPECT_FALSE(plan.Empty());
  ASSERT_EQ(plan.drift.size(), 2U);
  EXPECT_TRUE(harness_.Apply().ok());
  EXPECT_EQ(harness_.cloud.MutatingCalls(), 0);
  const PodRecord record = Pods(harness_.Stored()).at(Addr("pod.a"));
  EXPECT_EQ(record.applied["labels"]["team"].AsString(), "theirs");
  EXPECT_EQ(record.applied["labels"].Find("cost"), nullptr);
  EXPECT_THAT(record.metadata.at("token"), ::testing::StartsWith("hmac-sha256:"));
  EXPECT_FALSE(Pods(harness_.Stored()).contains(Addr("pod.gone")));
  plan = harness_.MakePlan();
  EXPECT_TRUE(plan.Empty()) << plan.drift.front().sentence;
  // The spec still wants what it wanted.
  harness_.plan_options.mode = PlanMode::kNormal;
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("update pod.a", "create pod.gone"));
  EXPECT_TRUE(harness_.MakePlan().drift.empty());
}

TEST_F(PlanOptionsTest, ARefreshShowsAPreemptionUntilItIsTakenIntoTheState) {
  harness_.Pods(Harness::Pod("a"));
  harness_.ApplyAll();
  harness_.Edit("a", [](Value& node) { node.Set("state", "PREEMPTED"); });
  harness_.plan_options.mode = PlanMode::kRefreshOnly;
  EXPECT_EQ(harness_.MakePlan().drift.at(0).sentence, "is PREEMPTED");
  EXPECT_TRUE(harness_.Apply().ok());
  EXPECT_TRUE(harness_.MakePlan().Empty());
  harness_.plan_options.mode = PlanMode::kNormal;
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("replace pod.a"));
}

}  // namespace
}  // namespace podctl
