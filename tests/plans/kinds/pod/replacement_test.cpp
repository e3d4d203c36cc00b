// Replacements: which node comes first, under which id, and what else they pull along.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/plan.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/step/change.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

using testing::Actions;
using testing::ChangeOf;
using ::testing::ElementsAre;
using testing::FakeProvider;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ReplacementTest : public ::testing::Test {
 protected:
  static std::string First(const std::string& name, const std::string& cidr,
                           const std::string& keys = "") {
    return Harness::Pod(
        name, "    cidrBlock: " + cidr + "\n    lifecycle: {createBeforeDestroy: true}\n" + keys);
  }
  static std::string By(const std::string& name, const std::string& trigger,
                        const std::string& keys = "") {
    return Harness::Pod(name, "    lifecycle: {replaceTriggeredBy: [" + trigger + "]}\n" + keys);
  }
  PodRecord Record(const std::string& name) {
    return Pods(harness_.Stored()).at(Addr("pod." + name));
  }
  std::string NodeOf(const Plan& plan, const std::string& address) {
    const PodChange* pod = AsPod(ChangeOf(plan, address));
    EXPECT_NE(pod, nullptr);
    return pod == nullptr ? "" : pod->node.node;
  }
  std::string OnlyError() {
    const Diagnostics diagnostics = harness_.TryPlan();
    EXPECT_EQ(diagnostics.items().size(), 1U);
    return diagnostics.items().empty() ? "" : diagnostics.items().front().summary;
  }

  Harness harness_;
};

// ---- createBeforeDestroy.

TEST_F(ReplacementTest, TheNewNodeHasAFreeIdAndComesFirst) {
  harness_.Pods(First("a", "10.1.0.0/29"));
  harness_.ApplyAll();
  harness_.Pods(First("a", "10.2.0.0/29"));
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("replace pod.a", "delete pod.a (deposed a)"));
  EXPECT_EQ(ChangeOf(plan, "pod.a").verb, Verb::kCreateThenDelete);
  EXPECT_EQ(NodeOf(plan, "pod.a"), "a-2");
  EXPECT_EQ(ChangeOf(plan, "pod.a (deposed a)").verb, Verb::kDelete);
  EXPECT_EQ(NodeOf(plan, "pod.a (deposed a)"), "a");
  EXPECT_THAT(ChangeOf(plan, "pod.a (deposed a)").waits_for, ElementsAre("pod.a"));
  EXPECT_EQ(plan.Counts().add, 1U);
  EXPECT_EQ(plan.Counts().destroy, 1U);
  const ExecuteResult result = harness_.Apply();
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.added, 1U);
  EXPECT_EQ(result.destroyed, 1U);
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a", "create a-2", "delete a"));
  EXPECT_EQ(Record("a").current.locator, "a-2");
  EXPECT_EQ(Record("a").wanted_node_id, "a");
  EXPECT_THAT(Record("a").deposed, IsEmpty());
  harness_.ApplyAll();  // nothing is left to do
  // And back again: the wanted id is free.
  harness_.Pods(First("a", "10.3.0.0/29"));
  harness_.ApplyAll();
  EXPECT_EQ(Record("a").current.locator, "a");
  EXPECT_EQ(Record("a").wanted_node_id, "");
}

TEST_F(ReplacementTest, AWrittenNodeIdIsStillTheWantedOne) {
  harness_.Pods(First("a", "10.1.0.0/29", "    nodeId: research\n"));
  harness_.ApplyAll();
  harness_.Pods(First("a", "10.2.0.0/29", "    nodeId: research\n"));
  harness_.ApplyAll();
  EXPECT_EQ(Record("a").current.locator, "research-2");
  EXPECT_TRUE(harness_.MakePlan().Empty());
  // Another id in the spec is a wish for another node.
  harness_.Pods(First("a", "10.2.0.0/29", "    nodeId: serving\n"));
  harness_.ApplyAll();
  EXPECT_EQ(Record("a").current.locator, "serving");
  EXPECT_EQ(harness_.cloud.NodeCount(), 1U);
}

TEST_F(ReplacementTest, IdsOfOthersAreNotFree) {
  harness_.Pods(First("a", "10.1.0.0/29"));
  harness_.ApplyAll();
  harness_.cloud.PutNode(Harness::Name("a-2"), harness_.Node("a"));
  harness_.Pods(First("a", "10.2.0.0/29") + Harness::Pod("a-3"));
  EXPECT_EQ(NodeOf(harness_.MakePlan(), "pod.a"), "a-4");
}

TEST(NodeIds, AFreeIdKeepsWithinTheLimit) {
  PodSpec pod;
  pod.node_id = std::string(63, 'x');
  ChooseFreeNodeId([&](const NodeName& name) { return name.node == std::string(63, 'x'); }, &pod);
  EXPECT_EQ(pod.node_id, std::string(61, 'x') + "-2");
  EXPECT_EQ(pod.wanted_node_id, std::string(63, 'x'));
}

TEST_F(ReplacementTest, DependentsMoveOverBeforeTheOldNodeGoes) {
  const std::string follower =
      Harness::Pod("b",
                   "    metadata: {peer: \"${pod.a.id}\"}\n"
                   "    bootstrap: [{name: use, run: \"ping ${pod.a.id}\"}]\n");
  harness_.Pods(First("a", "10.1.0.0/29", "    bootstrap: [{name: x, run: echo}]\n") + follower);
  harness_.ApplyAll();
  const std::string before = NodeUid(harness_.Node("a"));
  harness_.Pods(First("a", "10.2.0.0/29", "    bootstrap: [{name: x, run: echo}]\n") + follower);
  EXPECT_THAT(ChangeOf(harness_.MakePlan(), "pod.a (deposed a)").waits_for,
              ElementsAre("bootstrap.a.x", "bootstrap.b.use", "pod.a", "pod.b"));
  harness_.ApplyAll();
  EXPECT_LT(harness_.events.At("done bootstrap.b.use"),
            harness_.events.At("start pod.a (deposed a)"));
  EXPECT_NE(harness_.Node("b")["metadata"]["peer"].AsString(), before);
  EXPECT_EQ(harness_.Node("b")["metadata"]["peer"].AsString(), NodeUid(harness_.Node("a-2")));
}

TEST_F(ReplacementTest, ANewNodeThatCannotBeMadeLeavesTheOldOne) {
  harness_.Pods(First("a", "10.1.0.0/29"));
  harness_.ApplyAll();
  const PodRecord before = Record("a");
  harness_.Pods(First("a", "10.2.0.0/29"));
  for (const bool leaves_node : {false, true}) {
    harness_.cloud.FailOperation("create", FakeProvider::NoCapacity(), leaves_node);
    const ExecuteResult result = harness_.Apply();
    ASSERT_EQ(result.failures.size(), 1U);
    EXPECT_THAT(result.skipped[0].address, "pod.a (deposed a)");
    EXPECT_EQ(Record("a").current.locator, "a");
    EXPECT_EQ(Record("a").current.uid, before.uid());
    EXPECT_TRUE(Record("a").exists());
    EXPECT_THAT(Record("a").deposed, IsEmpty());
    EXPECT_EQ(Record("a").applied, before.applied);
    EXPECT_EQ(harness_.cloud.NodeCount(), 1U);
  }
  harness_.cloud.FailNext("create", MakeError(ErrorCode::kPermissionDenied, "no"));
  EXPECT_FALSE(harness_.Apply().ok());
  EXPECT_EQ(Record("a").current.locator, "a");
  harness_.ApplyAll();
  EXPECT_EQ(Record("a").current.locator, "a-2");
}

TEST_F(ReplacementTest, AnOldNodeThatCouldNotBeDeletedIsPlannedAgain) {
  harness_.Pods(First("a", "10.1.0.0/29"));
  harness_.ApplyAll();
  harness_.Pods(First("a", "10.2.0.0/29"));
  harness_.cloud.FailNext("delete", MakeError(ErrorCode::kPermissionDenied, "no"));
  EXPECT_FALSE(harness_.Apply().ok());
  EXPECT_EQ(Record("a").deposed.size(), 1U);
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("delete pod.a (deposed a)"));
  // Whatever becomes of the pod, the old node is not forgotten.
  harness_.cloud.FailNext("delete", MakeError(ErrorCode::kPermissionDenied, "no"));
  harness_.options.parallelism = 1;
  EXPECT_FALSE(harness_.Destroy().ok());
  EXPECT_EQ(harness_.cloud.NodeCount(), 1U);
  EXPECT_EQ(Pods(harness_.Stored()).size(), 1U);
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_EQ(harness_.cloud.NodeCount(), 0U);
  EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
}

TEST_F(ReplacementTest, WhatHasADeposedNodesNameButIsAnotherIsLeftAlone) {
  harness_.Pods(First("a", "10.1.0.0/29"));
  harness_.ApplyAll();
  harness_.Pods(First("a", "10.2.0.0/29"));
  harness_.cloud.FailNext("delete", MakeError(ErrorCode::kPermissionDenied, "no"));
  EXPECT_FALSE(harness_.Apply().ok());
  harness_.cloud.RemoveNode(Harness::Name("a"));
  harness_.cloud.PutNode(Harness::Name("a"), Value::EmptyMap());
  EXPECT_TRUE(harness_.MakePlan().Empty());
  EXPECT_THAT(harness_.notes, ElementsAre(HasSubstr("is left alone")));
}

TEST_F(ReplacementTest, AnotherZoneCannotComeFirst) {
  harness_.Pods(First("a", "10.1.0.0/29"));
  harness_.ApplyAll();
  harness_.Pods(First("a", "10.1.0.0/29", "    zone: us-central1-a\n"));
  EXPECT_EQ(OnlyError(), "createBeforeDestroy cannot be kept for this replacement");
}

// ---- replaceTriggeredBy.

TEST_F(ReplacementTest, APlannedChangeOfAnotherPodReplaces) {
  harness_.Pods(Harness::Pod("base") + By("a", "pod.base"));
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("create pod.base", "create pod.a"));
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("base", "    description: x\n") + By("a", "pod.base"));
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("update pod.base", "replace pod.a"));
  EXPECT_EQ(ChangeOf(plan, "pod.a").reason_code, ReasonCode::kByTriggers);
  EXPECT_EQ(ChangeOf(plan, "pod.a").reason, "pod.base is updated");
  EXPECT_THAT(ChangeOf(plan, "pod.a").waits_for, ElementsAre("pod.base"));
  harness_.ApplyAll();
}

TEST_F(ReplacementTest, OnlyTheNamedFieldTriggers) {
  const std::string by = By("a", "pod.base.labels.team");
  harness_.Pods(Harness::Pod("base", "    labels: {team: vision}\n") + by);
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("base", "    labels: {team: vision, cost: x}\n") + by);
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("update pod.base"));
  harness_.Pods(Harness::Pod("base", "    labels: {team: speech}\n") + by);
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("update pod.base", "replace pod.a"));
  EXPECT_EQ(ChangeOf(harness_.MakePlan(), "pod.a").reason, "pod.base.labels.team changes");
  // A replacement that leaves the field as it is does not, unless the service writes the field.
  harness_.Pods(Harness::Pod("base", "    labels: {team: vision}\n    cidrBlock: 10.1.0.0/29\n") +
                by);
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("replace pod.base"));
  harness_.Pods(Harness::Pod("base", "    labels: {team: vision}\n    cidrBlock: 10.1.0.0/29\n") +
                By("a", "pod.base.networkEndpoints"));
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("replace pod.base", "replace pod.a"));
}

TEST_F(ReplacementTest, AStepThatRunsAgainTriggersOneThatGoesOnDoesNot) {
  const auto base = [](const std::string& run) {
    return Harness::Pod("base", "    bootstrap: [{name: x, run: " + run + "}]\n");
  };
  const std::string by = By("a", "bootstrap.base.x");
  harness_.Pods(base("one") + by);
  harness_.workers.Fail(2, "no");
  EXPECT_FALSE(harness_.Apply().ok());
  harness_.ApplyAll();
  EXPECT_THAT(harness_.Requests(), ElementsAre("create base", "create a"));
  harness_.Pods(base("two") + by);
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("run bootstrap.base.x", "replace pod.a"));
}

TEST_F(ReplacementTest, ATriggerIsNotLostWithTheRunThatSawIt) {
  harness_.Pods(Harness::Pod("base") + By("a", "pod.base"));
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("base", "    description: x\n") + By("a", "pod.base"));
  // The update of base succeeds; then the run ends.
  harness_.events.on_line = [&](const std::string& line) {
    if (line == "done pod.base") harness_.drain.request_stop();
  };
  EXPECT_TRUE(harness_.Apply().interrupted);
  harness_.events.on_line = nullptr;
  harness_.drain = {};
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("replace pod.a"));
  EXPECT_EQ(ChangeOf(plan, "pod.a").reason, "pod.base is updated");
  harness_.ApplyAll();
  EXPECT_EQ(Record("a").replace_because(), "");
}

// ---- preventDestroy.

TEST_F(ReplacementTest, PreventDestroyStopsEveryKindOfReplacement) {
  const std::string keep =
      "    lifecycle: {preventDestroy: true, createBeforeDestroy: true, replaceTriggeredBy: "
      "[pod.base]}\n";
  harness_.Pods(Harness::Pod("base") + Harness::Pod("a", keep));
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("base") + Harness::Pod("a", keep + "    cidrBlock: 10.1.0.0/29\n"));
  EXPECT_EQ(OnlyError(), "pod.a must not be destroyed");
  harness_.Pods(Harness::Pod("base", "    description: x\n") + Harness::Pod("a", keep));
  EXPECT_EQ(OnlyError(), "pod.a must not be destroyed");
  harness_.Pods(Harness::Pod("base") + Harness::Pod("a", keep));
  harness_.plan_options.replace = {"pod.a"};
  EXPECT_EQ(OnlyError(), "pod.a must not be destroyed");
}

// ---- --replace.

TEST_F(ReplacementTest, APodIsReplacedAsRequested) {
  harness_.Pods(Harness::Pod("a", "    bootstrap: [{name: x, run: echo}]\n") + Harness::Pod("b"));
  harness_.ApplyAll();
  harness_.cloud.ForgetCalls();  // two creates at once have no order
  harness_.plan_options.replace = {"pod.a"};
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("replace pod.a", "run bootstrap.a.x"));
  EXPECT_EQ(ChangeOf(plan, "pod.a").reason_code, ReasonCode::kByRequest);
  EXPECT_TRUE(harness_.Apply().ok());
  EXPECT_THAT(harness_.Requests(), ElementsAre("delete a", "create a"));
}

TEST_F(ReplacementTest, AStepIsRunAgainEverywhereAsRequested) {
  harness_.Pods(Harness::Pod("a", "    bootstrap: [{name: x, run: echo}, {name: y, run: echo}]\n"));
  harness_.ApplyAll();
  for (const char* step : {"bootstrap.a.x", "bootstrap.a.tpu-runtime"}) {
    harness_.plan_options.replace = {step};
    const Plan plan = harness_.MakePlan();
    EXPECT_THAT(Actions(plan), ElementsAre(std::string("run ") + step));
    const StepChange* run = AsStep(ChangeOf(plan, step));
    ASSERT_NE(run, nullptr);
    EXPECT_THAT(run->workers, ::testing::Optional(ElementsAre(0, 1, 2, 3)));
    EXPECT_EQ(ChangeOf(plan, step).reason_code, ReasonCode::kByRequest);
    EXPECT_TRUE(harness_.Apply().ok());
  }
}

TEST_F(ReplacementTest, WhatIsNotThereCannotBeReplaced) {
  harness_.Pods(Harness::Pod("research"));
  harness_.plan_options.replace = {"pod.reserch"};
  EXPECT_EQ(OnlyError(), "--replace: there is no `pod.reserch`");
}

}  // namespace
}  // namespace podctl
