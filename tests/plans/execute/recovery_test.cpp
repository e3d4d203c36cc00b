// Pods whose node was taken away, made anew: what is said, what is remembered, what a death leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
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

constexpr const char* kSpot =
    "    schedulingConfig: {spot: true}\n    bootstrap: [{name: x, run: echo}]\n";

class RecoveryTest : public ::testing::Test {
 protected:
  static void Begin(Harness* harness) {
    harness->Pods(Harness::Pod("a", kSpot));
    harness->ApplyAll();
  }
  static void Preempt(Harness* harness) {
    harness->Edit("a", [](Value& node) { node.Set("state", "PREEMPTED"); });
  }
  void SetUp() override { Begin(&harness_); }
  static PodChange ChangeOfPod(const Plan& plan, const std::string& address) {
    const PodChange* pod = AsPod(ChangeOf(plan, address));
    if (pod == nullptr) throw std::invalid_argument(address + " is no pod of the plan");
    return *pod;
  }
  PodRecord Record() { return Pods(harness_.Stored()).at(Addr("pod.a")); }

  Harness harness_;
};

TEST_F(RecoveryTest, ItIsMadeAnewAndTheStateTellsTheStory) {
  const std::string uid = Record().current.uid;
  Preempt(&harness_);
  const Plan plan = harness_.MakePlan();
  EXPECT_EQ(ChangeOfPod(plan, "pod.a").lost, "PREEMPTED");
  EXPECT_EQ(ChangeOfPod(plan, "pod.a").node_state, "PREEMPTED");
  harness_.ApplyAll();
  const PodRecord record = Record();
  EXPECT_NE(record.current.uid, uid);
  EXPECT_EQ(record.current.locator, "a");
  ASSERT_TRUE(record.recovery());
  EXPECT_EQ(record.recovery()->because, "PREEMPTED");
  EXPECT_EQ(record.recovery()->times, 1);
  EXPECT_NE(record.recovery()->done, "");
  harness_.events.At("note pod.a: was found PREEMPTED at " + record.recovery()->since +
                     ": it is made anew");
  Preempt(&harness_);
  harness_.ApplyAll();
  EXPECT_EQ(Record().recovery()->times, 2);
  EXPECT_THAT(RecoveryStory(*Record().recovery()), HasSubstr("(time 2)"));
}

TEST_F(RecoveryTest, ASpotNodeThatIsGoneWasTakenAway) {
  harness_.cloud.RemoveNode(Harness::Name("a"));
  const Plan plan = harness_.MakePlan();
  EXPECT_EQ(ChangeOfPod(plan, "pod.a").lost, "gone");
  EXPECT_THAT(ChangeOf(plan, "pod.a").reason, HasSubstr("preempted, or deleted outside"));
  harness_.ApplyAll();
  EXPECT_EQ(Record().recovery()->because, "gone");
}

TEST_F(RecoveryTest, AnotherNodeThatIsGoneWasDeletedByWhoeverMay) {
  harness_.Pods(Harness::Pod("b"));
  harness_.ApplyAll();
  harness_.cloud.RemoveNode(Harness::Name("b"));
  EXPECT_EQ(ChangeOfPod(harness_.MakePlan(), "pod.b").lost, "");
}

TEST_F(RecoveryTest, WhatCouldNotBeMadeAnewIsStillLost) {
  Preempt(&harness_);
  harness_.cloud.sold_out = {"europe-west4-a"};
  EXPECT_FALSE(harness_.Apply().ok());
  EXPECT_EQ(harness_.cloud.NodeCount(), 0U);
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("create pod.a", "run bootstrap.a.x"));
  EXPECT_EQ(ChangeOfPod(plan, "pod.a").lost, "PREEMPTED");
  EXPECT_THAT(ChangeOf(plan, "pod.a").reason, HasSubstr("it was found PREEMPTED at"));
  EXPECT_THAT(Remarks(harness_.Stored()), HasSubstr("a: found PREEMPTED at"));
  harness_.cloud.sold_out.clear();
  harness_.ApplyAll();
  EXPECT_EQ(Record().recovery()->times, 1);
}

TEST_F(RecoveryTest, ItIsNotOverBeforeItsStepsHaveRun) {
  Preempt(&harness_);
  harness_.workers.Fail(2, "no");
  EXPECT_FALSE(harness_.Apply().ok());
  EXPECT_EQ(Record().recovery()->done, "");
  harness_.ApplyAll();
  EXPECT_NE(Record().recovery()->done, "");
}

TEST_F(RecoveryTest, DestroyedWhileLostItIsForgotten) {
  Preempt(&harness_);
  harness_.cloud.sold_out = {"europe-west4-a"};
  EXPECT_FALSE(harness_.Apply().ok());
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
}

// Killed at every step of the replacement: the next plan still knows that it was lost, until the
// pod lives again with its steps run; and there is one node in the end.
TEST_F(RecoveryTest, ADeathInTheMiddleForgetsNothing) {
  int steps = 0;
  {
    Harness whole;
    Begin(&whole);
    Preempt(&whole);
    const int before = whole.files.Steps();
    whole.ApplyAll();
    steps = whole.files.Steps() - before;
  }
  ASSERT_GT(steps, 20);
  for (int k = 0; k < steps; ++k) {
    SCOPED_TRACE(k);
    Harness harness;
    Begin(&harness);
    Preempt(&harness);
    harness.files.StopAfter(k);
    static_cast<void>(harness.Apply());
    harness.files.Restart();
    const Plan plan = harness.MakePlan();
    const State stored = harness.Stored();
    const PodRecord* record = Pods(stored).Get(Addr("pod.a"));
    ASSERT_NE(record, nullptr);
    if (!plan.Empty()) {
      const bool known = IsRecovering(*record) || !ChangeOfPod(plan, "pod.a").lost.empty();
      EXPECT_TRUE(known) << "nobody knows that it was lost";
    }
    harness.ApplyAll();
    EXPECT_EQ(harness.cloud.NodeCount(), 1U);
    const PodRecord after = Pods(harness.Stored()).at(Addr("pod.a"));
    ASSERT_TRUE(after.recovery());
    EXPECT_NE(after.recovery()->done, "");
    EXPECT_EQ(after.recovery()->times, 1);
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace podctl
