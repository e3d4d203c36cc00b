// Moves, targets, plans that ask nobody, and plans that take drift into the state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/record.h"
#include "tests/plans/desk.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

using testing::Actions;
using testing::ChangeOf;
using testing::Desk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Lines;

class PlanOptionsTest : public ::testing::Test {
 protected:
  void Moved(const std::string& moves, const std::string& pods) {
    desk_.SpecText("project: p\nzone: europe-west4-a\nmoved: [" + moves + "]\npods:\n" + pods);
  }
  std::string OnlyError() {
    const Diagnostics diagnostics = desk_.TryPlan();
    EXPECT_EQ(diagnostics.items().size(), 1U);
    return diagnostics.items().empty() ? "" : diagnostics.items().front().summary;
  }
  std::vector<std::string> Methods() {
    std::vector<std::string> methods;
    for (const auto& call : desk_.cloud.Calls()) methods.push_back(call.method);
    return methods;
  }

  Desk desk_;
};

// ---- moved.

TEST_F(PlanOptionsTest, AMovedPodKeepsItsNode) {
  const std::string step = "    bootstrap: [{name: x, run: echo}]\n";
  desk_.Pods(Desk::Pod("a", step) + Desk::Pod("c", "    dependsOn: [pod.a]\n"));
  desk_.ApplyAll();
  desk_.cloud.ForgetCalls();
  desk_.workers.ForgetCalls();
  Moved("{from: pod.a, to: pod.b}",
        Desk::Pod("b", step) + Desk::Pod("c", "    dependsOn: [pod.b]\n"));
  const Plan plan = desk_.MakePlan();
  EXPECT_THAT(Actions(plan), IsEmpty());
  EXPECT_FALSE(plan.Empty());
  EXPECT_EQ(ChangeOf(plan, "pod.b").previous_address, "pod.a");
  desk_.ApplyAll();  // the plan after it is empty, with the move still in the spec
  EXPECT_THAT(desk_.Requests(), IsEmpty());
  EXPECT_TRUE(desk_.workers.Calls().empty());
  EXPECT_EQ(Pods(desk_.Stored()).at(Addr("pod.b")).current.locator, "a");
  EXPECT_FALSE(Pods(desk_.Stored()).contains(Addr("pod.a")));
  EXPECT_TRUE(Steps(desk_.Stored()).contains(Addr("bootstrap.b.x")));
  EXPECT_THAT(Pods(desk_.Stored()).at(Addr("pod.c")).depends_on, ElementsAre("pod.b"));
}

TEST_F(PlanOptionsTest, MovesAreFollowedToTheirEnd) {
  desk_.Pods(Desk::Pod("a"));
  desk_.ApplyAll();
  Moved("{from: pod.b, to: pod.c}, {from: pod.a, to: pod.b}",
        Desk::Pod("c", "    description: x\n"));
  const Plan plan = desk_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("update pod.c"));
  EXPECT_EQ(ChangeOf(plan, "pod.c").previous_address, "pod.a");
  desk_.ApplyAll();
  EXPECT_THAT(desk_.Requests(), ElementsAre("create a", "patch a description"));
}

TEST_F(PlanOptionsTest, AMoveOntoAnotherPodIsAnError) {
  desk_.Pods(Desk::Pod("a") + Desk::Pod("b"));
  desk_.ApplyAll();
  Moved("{from: pod.a, to: pod.b}", Desk::Pod("b"));
  const Diagnostics diagnostics = desk_.TryPlan();
  ASSERT_FALSE(diagnostics.items().empty());
  EXPECT_EQ(diagnostics.items()[0].summary, "cannot move pod.a to pod.b: both are in the state");
  EXPECT_EQ(diagnostics.items()[0].place.line, 3);
}

TEST_F(PlanOptionsTest, ANodeIdOfTheStateStandsWhereTheSpecWritesNone) {
  desk_.Pods(Desk::Pod("a", "    nodeId: research\n"));
  desk_.ApplyAll();
  desk_.Pods(Desk::Pod("a"));
  EXPECT_TRUE(desk_.MakePlan().Empty());
  desk_.Pods(Desk::Pod("a", "    nodeId: other\n"));
  EXPECT_THAT(Actions(desk_.MakePlan()), ElementsAre("replace pod.a"));
}

// ---- --target.

TEST_F(PlanOptionsTest, ATargetBringsWhatItDependsOn) {
  desk_.Pods(Desk::Pod("base", "    bootstrap: [{name: x, run: echo}]\n") +
             Desk::Pod("middle", "    dependsOn: [pod.base]\n") +
             Desk::Pod("top", "    dependsOn: [pod.middle]\n") + Desk::Pod("other"));
  desk_.plan_options.targets = {"pod.middle"};
  EXPECT_THAT(Actions(desk_.MakePlan()),
              ElementsAre("create pod.base", "run bootstrap.base.x", "create pod.middle"));
  EXPECT_TRUE(desk_.Apply().ok());
  EXPECT_EQ(desk_.cloud.NodeCount(), 2U);
  EXPECT_TRUE(desk_.MakePlan().Empty());
  desk_.plan_options.targets = {};
  EXPECT_THAT(Actions(desk_.MakePlan()), ElementsAre("create pod.top", "create pod.other"));
}

TEST_F(PlanOptionsTest, ADependencyOfAnUnchangedOneComesToo) {
  const std::string rest = Desk::Pod("middle", "    dependsOn: [pod.base]\n") +
                           Desk::Pod("top", "    dependsOn: [pod.middle]\n");
  desk_.Pods(Desk::Pod("base") + rest);
  desk_.ApplyAll();
  desk_.Pods(Desk::Pod("base", "    description: x\n") + rest);
  desk_.plan_options.targets = {"pod.top"};
  EXPECT_THAT(Actions(desk_.MakePlan()), ElementsAre("update pod.base"));
}

TEST_F(PlanOptionsTest, AStepIsATargetWithItsPodAndTheStepsBefore) {
  desk_.Pods(Desk::Pod("a",
                       "    bootstrap: [{name: x, run: echo}, {name: y, run: echo}, {name: z, "
                       "run: echo}]\n"));
  desk_.plan_options.targets = {"bootstrap.a.y"};
  EXPECT_THAT(Actions(desk_.MakePlan()),
              ElementsAre("create pod.a", "run bootstrap.a.x", "run bootstrap.a.y"));
}

TEST_F(PlanOptionsTest, ATargetThatGoesTakesAlongWhatDependsOnIt) {
  desk_.Pods(Desk::Pod("a") + Desk::Pod("b", "    dependsOn: [pod.a]\n") + Desk::Pod("c"));
  desk_.ApplyAll();
  desk_.plan_options.targets = {"pod.a"};
  EXPECT_TRUE(desk_.Destroy().ok());
  EXPECT_EQ(desk_.cloud.NodeCount(), 1U);
  EXPECT_FALSE(desk_.Node("c").is_null());
}

TEST_F(PlanOptionsTest, WhatIsNotTargetedIsNotJudgedEither) {
  desk_.Pods(Desk::Pod("a", "    lifecycle: {preventDestroy: true}\n") + Desk::Pod("b"));
  desk_.ApplyAll();
  desk_.Pods(Desk::Pod("b", "    description: x\n"));
  EXPECT_EQ(OnlyError(), "pod.a must not be destroyed");
  desk_.plan_options.targets = {"pod.b"};
  EXPECT_THAT(Actions(desk_.MakePlan()), ElementsAre("update pod.b"));
}

TEST_F(PlanOptionsTest, AnUnknownTargetIsAnError) {
  desk_.Pods(Desk::Pod("research", "    bootstrap: [{name: x, run: echo}]\n"));
  for (const auto& [given, meant] :
       {std::pair{"pod.reserch", "pod.research"}, std::pair{"research", "pod.research"},
        std::pair{"bootstrap.research.y", "bootstrap.research.x"}}) {
    desk_.plan_options.targets = {given};
    const Diagnostics diagnostics = desk_.TryPlan();
    ASSERT_EQ(diagnostics.items().size(), 1U);
    EXPECT_EQ(diagnostics.items()[0].summary, std::string("--target: there is no `") + given + "`");
    EXPECT_THAT(diagnostics.items()[0].detail, HasSubstr(meant));
  }
}

TEST_F(PlanOptionsTest, AMoveThatATargetLeavesOutIsAnError) {
  desk_.Pods(Desk::Pod("a") + Desk::Pod("other"));
  desk_.ApplyAll();
  Moved("{from: pod.a, to: pod.b}", Desk::Pod("b") + Desk::Pod("other"));
  desk_.plan_options.targets = {"pod.other"};
  EXPECT_EQ(OnlyError(), "pod.a has moved to pod.b, and --target leaves it out");
}

// ---- --refresh=false.

TEST_F(PlanOptionsTest, WithoutRefreshNobodyIsAsked) {
  desk_.environment["TOKEN"] = "first";
  const std::string keys =
      "    labels: {team: vision}\n    libtpuFlags: {f: 1}\n"
      "    metadata: {token: {env: TOKEN, sensitive: true}}\n";
  desk_.Pods(Desk::Pod("a", keys));
  desk_.ApplyAll();
  desk_.Edit("a", [](Value& node) { node.SetPath("labels.team", "theirs"); });
  desk_.cloud.ForgetCalls();
  desk_.plan_options.refresh = false;
  Plan plan = desk_.MakePlan();
  EXPECT_TRUE(plan.Empty()) << ::testing::PrintToString(Actions(plan));
  EXPECT_TRUE(plan.drift.empty());
  desk_.environment["TOKEN"] = "second";
  plan = desk_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("update pod.a"));
  ASSERT_EQ(ChangeOf(plan, "pod.a").attributes.size(), 1U);
  EXPECT_EQ(ChangeOf(plan, "pod.a").attributes[0].path, "metadata.token");
  EXPECT_THAT(Methods(), IsEmpty());
  EXPECT_TRUE(desk_.Apply().ok());
  EXPECT_THAT(Methods(), ::testing::Not(::testing::Contains("list")));
  EXPECT_EQ(desk_.Node("a")["metadata"]["token"].AsString(), "second");
  EXPECT_TRUE(desk_.MakePlan().Empty());
}

TEST_F(PlanOptionsTest, WithoutRefreshWhatIsPendingIsStillLookedUp) {
  desk_.Pods(Desk::Pod("a"));
  desk_.cloud.Before("create", [&](testing::FakeProvider&) { desk_.files.StopAfter(0); });
  static_cast<void>(desk_.Apply());
  desk_.files.Restart();
  desk_.cloud.FinishOperations();
  desk_.cloud.ForgetCalls();
  desk_.plan_options.refresh = false;
  // The node is taken up; its workers are still to be looked at.
  EXPECT_THAT(testing::Actions(desk_.MakePlan()),
              ::testing::ElementsAre("run bootstrap.a.readiness"));
  EXPECT_THAT(Methods(), ::testing::Not(::testing::Contains("list")));
  desk_.ApplyAll();
}

// ---- --refresh-only.

TEST_F(PlanOptionsTest, RealityIsTakenIntoTheState) {
  desk_.environment["TOKEN"] = "ours";
  const std::string keys =
      "    labels: {team: vision, cost: x}\n"
      "    metadata: {m: \"1\", token: {env: TOKEN, sensitive: true}}\n";
  desk_.Pods(Desk::Pod("a", keys) + Desk::Pod("gone") + Desk::Pod("same"));
  desk_.ApplyAll();
  desk_.cloud.ForgetCalls();
  desk_.Edit("a", [](Value& node) {
    node.SetPath("labels.team", "theirs");
    node.ErasePath("labels.cost");
    node.SetPath("metadata.token", "theirs");
  });
  desk_.cloud.RemoveNode(Desk::Name("gone"));
  desk_.plan_options.mode = PlanMode::kRefreshOnly;
  Plan plan = desk_.MakePlan();
  EXPECT_THAT(Actions(plan), IsEmpty());
  EXPECT_FALSE(plan.Empty());
  ASSERT_EQ(plan.drift.size(), 2U);
  EXPECT_TRUE(desk_.Apply().ok());
  EXPECT_EQ(desk_.cloud.MutatingCalls(), 0);
  const PodRecord record = Pods(desk_.Stored()).at(Addr("pod.a"));
  EXPECT_EQ(record.applied["labels"]["team"].AsString(), "theirs");
  EXPECT_EQ(record.applied["labels"].Find("cost"), nullptr);
  EXPECT_THAT(record.metadata.at("token"), ::testing::StartsWith("hmac-sha256:"));
  EXPECT_FALSE(Pods(desk_.Stored()).contains(Addr("pod.gone")));
  plan = desk_.MakePlan();
  EXPECT_TRUE(plan.Empty()) << plan.drift.front().sentence;
  // The spec still wants what it wanted.
  desk_.plan_options.mode = PlanMode::kNormal;
  EXPECT_THAT(Actions(desk_.MakePlan()), ElementsAre("update pod.a", "create pod.gone"));
  EXPECT_TRUE(desk_.MakePlan().drift.empty());
}

TEST_F(PlanOptionsTest, ARefreshShowsAPreemptionUntilItIsTakenIntoTheState) {
  desk_.Pods(Desk::Pod("a"));
  desk_.ApplyAll();
  desk_.Edit("a", [](Value& node) { node.Set("state", "PREEMPTED"); });
  desk_.plan_options.mode = PlanMode::kRefreshOnly;
  EXPECT_EQ(desk_.MakePlan().drift.at(0).sentence, "is PREEMPTED");
  EXPECT_TRUE(desk_.Apply().ok());
  EXPECT_TRUE(desk_.MakePlan().Empty());
  desk_.plan_options.mode = PlanMode::kNormal;
  EXPECT_THAT(Actions(desk_.MakePlan()), ElementsAre("replace pod.a"));
}

}  // namespace
}  // namespace podctl
