// What `podctl watch` does of a plan, and what it leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "plans/kinds/pod/record.h"
#include "plans/session/watch.h"
#include "plans/spec/loader.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using testing::Actions;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class WatchPolicyTest : public ::testing::Test {
 protected:
  static constexpr const char* kSpot =
      "    schedulingConfig: {spot: true}\n    bootstrap: [{name: x, run: echo}]\n";
  static constexpr const char* kRecreate = "    onPreemption: recreate\n";

  void Pods(const std::string& pods) {
    text_ = "project: p\nzone: europe-west4-a\npods:\n" + pods;
    harness_.SpecText(text_);
  }
  void Preempt(const std::string& node) {
    harness_.Edit(node, [](Value& value) { value.Set("state", "PREEMPTED"); });
  }
  WatchedPlan Watched() {
    testing::FakeFileSystem files;
    files.SetFile("podctl.yaml", text_);
    Diagnostics diagnostics;
    const Spec spec = LoadSpec(testing::WithKinds(), files, FixedEnvironment({}), diagnostics);
    EXPECT_FALSE(diagnostics.has_errors());
    const Plan plan = harness_.MakePlan();
    return ApplyWatchPolicy(spec, harness_.Stored(), plan);
  }

  std::string text_;
  Harness harness_;
};

TEST_F(WatchPolicyTest, APreemptedPodIsMadeAnewWithItsBootstrap) {
  Pods(Harness::Pod("a", std::string(kSpot) + kRecreate));
  harness_.ApplyAll();
  EXPECT_FALSE(Watched().acts);
  Preempt("a");
  const WatchedPlan watched = Watched();
  EXPECT_TRUE(watched.acts);
  EXPECT_THAT(Actions(watched.plan), ElementsAre("replace pod.a", "run bootstrap.a.x"));
  EXPECT_THAT(watched.left, IsEmpty());
}

TEST_F(WatchPolicyTest, AFileFollowsThePodThatIsMadeAnewAndNoOtherChange) {
  const auto files = [](const std::string& content) {
    return "files:\n  hosts: {path: hosts, content: \"" + content + "\"}\n";
  };
  const std::string pod = Harness::Pod("a", std::string(kSpot) + kRecreate);
  Pods(pod + files("${pod.a.networkEndpoints[0].ipAddress}"));
  harness_.ApplyAll();
  Preempt("a");
  EXPECT_THAT(Actions(Watched().plan),
              ElementsAre("replace pod.a", "run bootstrap.a.x", "update file.hosts"));
  // Edited by somebody who has not applied it.
  Pods(pod + files("other"));
  const WatchedPlan watched = Watched();
  EXPECT_THAT(Actions(watched.plan), ElementsAre("replace pod.a", "run bootstrap.a.x"));
  EXPECT_THAT(watched.left, ElementsAre(HasSubstr("file.hosts")));
}

// Those that live on are in the plan, or nobody knew what refers to them.
TEST_F(WatchPolicyTest, AFileFollowsThoughItRefersToOtherPodsToo) {
  Pods(Harness::Pod("a", std::string(kSpot) + kRecreate) + Harness::Pod("b") + Harness::Pod("c") +
       "files:\n  hosts: {path: hosts, content: \"${pod.a.networkEndpoints[0].ipAddress} "
       "${pod.b.networkEndpoints[0].ipAddress}\"}\n");
  harness_.ApplyAll();
  Preempt("a");
  const WatchedPlan watched = Watched();
  EXPECT_THAT(Actions(watched.plan),
              ElementsAre("replace pod.a", "run bootstrap.a.x", "update file.hosts"));
  const auto holds = [&](const char* address) {
    return std::any_of(watched.plan.changes.begin(), watched.plan.changes.end(),
                       [&](const Change& change) { return change.address == Addr(address); });
  };
  EXPECT_TRUE(holds("pod.b"));
  EXPECT_FALSE(holds("pod.c"));
}

TEST_F(WatchPolicyTest, WithoutThePolicyItIsOnlyTold) {
  Pods(Harness::Pod("a", kSpot));
  harness_.ApplyAll();
  Preempt("a");
  const WatchedPlan watched = Watched();
  EXPECT_FALSE(watched.acts);
  EXPECT_THAT(watched.left,
              ElementsAre(HasSubstr("pod.a is PREEMPTED, and its `onPreemption` is not `recreate`"),
                          HasSubstr("bootstrap.a.x")));
}

TEST_F(WatchPolicyTest, NothingElseIsDone) {
  Pods(Harness::Pod("a", std::string(kSpot) + kRecreate) + Harness::Pod("gone"));
  harness_.ApplyAll();
  Pods(Harness::Pod("a",
                    "    labels: {team: x}\n    schedulingConfig: {spot: true}\n"
                    "    bootstrap: [{name: x, run: echo}, {name: y, run: echo}]\n" +
                        std::string(kRecreate)) +
       Harness::Pod("new", kRecreate));
  const WatchedPlan watched = Watched();
  EXPECT_FALSE(watched.acts);
  EXPECT_THAT(watched.left,
              ElementsAre(HasSubstr("pod.a: update"), HasSubstr("bootstrap.a.y: run"),
                          HasSubstr("pod.new: create"), HasSubstr("pod.gone: delete")));
}

TEST_F(WatchPolicyTest, WhatBuildsOnSomethingThatIsLeftIsLeftToo) {
  Pods(Harness::Pod("base") +
       Harness::Pod("a", std::string(kSpot) + kRecreate + "    dependsOn: [pod.base]\n"));
  harness_.ApplyAll();
  Preempt("a");
  EXPECT_THAT(Actions(Watched().plan), ElementsAre("replace pod.a", "run bootstrap.a.x"));
  Pods(Harness::Pod("base", "    labels: {team: x}\n") +
       Harness::Pod("a", std::string(kSpot) + kRecreate + "    dependsOn: [pod.base]\n"));
  const WatchedPlan watched = Watched();
  EXPECT_FALSE(watched.acts);
  EXPECT_THAT(watched.left,
              ::testing::Contains(HasSubstr("pod.a waits for pod.base, which is not done here")));
}

// The pod it builds on has to be known, or its references could not be read.
TEST_F(WatchPolicyTest, ThePodsItBuildsOnComeAlong) {
  Pods(Harness::Pod("base") + Harness::Pod("other") +
       Harness::Pod("a", std::string(kSpot) + kRecreate + "    dependsOn: [pod.base]\n"));
  harness_.ApplyAll();
  Preempt("a");
  std::vector<Address> addresses;
  for (const Change& change : Watched().plan.changes) addresses.push_back(change.address);
  EXPECT_THAT(addresses, ElementsAre("pod.base", "pod.a", "bootstrap.a.x"));
}

TEST_F(WatchPolicyTest, ABootstrapThatWasCutShortIsFinished) {
  Pods(Harness::Pod("a", std::string(kSpot) + kRecreate));
  harness_.ApplyAll();
  Preempt("a");
  harness_.workers.Fail(2, "no");
  EXPECT_FALSE(harness_.Apply().ok());
  const WatchedPlan watched = Watched();
  EXPECT_TRUE(watched.acts);
  EXPECT_THAT(Actions(watched.plan), ElementsAre("run bootstrap.a.x"));
}

TEST_F(WatchPolicyTest, ACreationThatWasNeverAPreemptionIsNotGoneOnWith) {
  Pods(Harness::Pod("a", std::string(kSpot) + kRecreate));
  harness_.cloud.sold_out = {"europe-west4-a"};
  EXPECT_FALSE(harness_.Apply().ok());
  EXPECT_FALSE(Watched().acts);
}

}  // namespace
}  // namespace podctl
