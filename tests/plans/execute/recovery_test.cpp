// Pods whose node was taken away, made anew: what is said, what is remembered, what a death leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "tests/plans/desk.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

using testing::Actions;
using testing::ChangeOf;
using testing::Desk;
using ::testing::ElementsAre;
using testing::FakeProvider;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kSpot =
    "    schedulingConfig: {spot: true}\n    bootstrap: [{name: x, run: echo}]\n";

class RecoveryTest : public ::testing::Test {
 protected:
  static void Begin(Desk* desk) {
    desk->Pods(Desk::Pod("a", kSpot));
    desk->ApplyAll();
  }
  static void Preempt(Desk* desk) {
    desk->Edit("a", [](Value& node) { node.Set("state", "PREEMPTED"); });
  }
  void SetUp() override { Begin(&desk_); }
  static PodChange ChangeOfPod(const Plan& plan, const std::string& address) {
    const PodChange* pod = AsPod(ChangeOf(plan, address));
    if (pod == nullptr) throw std::invalid_argument(address + " is no pod of the plan");
    return *pod;
  }
  PodRecord Record() { return Pods(desk_.Stored()).at(Addr("pod.a")); }

  Desk desk_;
};

TEST_F(RecoveryTest, ItIsMadeAnewAndTheStateTellsTheStory) {
  const std::string uid = Record().current.uid;
  Preempt(&desk_);
  const Plan plan = desk_.MakePlan();
  EXPECT_EQ(ChangeOfPod(plan, "pod.a").lost, "PREEMPTED");
  EXPECT_EQ(ChangeOfPod(plan, "pod.a").node_state, "PREEMPTED");
  desk_.ApplyAll();
  const PodRecord record = Record();
  EXPECT_NE(record.current.uid, uid);
  EXPECT_EQ(record.current.locator, "a");
  ASSERT_TRUE(record.recovery());
  EXPECT_EQ(record.recovery()->because, "PREEMPTED");
  EXPECT_EQ(record.recovery()->times, 1);
  EXPECT_NE(record.recovery()->done, "");
  desk_.events.At("note pod.a: was found PREEMPTED at " + record.recovery()->since +
                  ": it is made anew");
  Preempt(&desk_);
  desk_.ApplyAll();
  EXPECT_EQ(Record().recovery()->times, 2);
  EXPECT_THAT(RecoveryStory(*Record().recovery()), HasSubstr("(time 2)"));
}

TEST_F(RecoveryTest, ASpotNodeThatIsGoneWasTakenAway) {
  desk_.cloud.RemoveNode(Desk::Name("a"));
  const Plan plan = desk_.MakePlan();
  EXPECT_EQ(ChangeOfPod(plan, "pod.a").lost, "gone");
  EXPECT_THAT(ChangeOf(plan, "pod.a").reason, HasSubstr("preempted, or deleted outside"));
  desk_.ApplyAll();
  EXPECT_EQ(Record().recovery()->because, "gone");
}

TEST_F(RecoveryTest, AnotherNodeThatIsGoneWasDeletedByWhoeverMay) {
  desk_.Pods(Desk::Pod("b"));
  desk_.ApplyAll();
  desk_.cloud.RemoveNode(Desk::Name("b"));
  EXPECT_EQ(ChangeOfPod(desk_.MakePlan(), "pod.b").lost, "");
}

TEST_F(RecoveryTest, WhatCouldNotBeMadeAnewIsStillLost) {
  Preempt(&desk_);
  desk_.cloud.sold_out = {"europe-west4-a"};
  EXPECT_FALSE(desk_.Apply().ok());
  EXPECT_EQ(desk_.cloud.NodeCount(), 0U);
  const Plan plan = desk_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("create pod.a", "run bootstrap.a.x"));
  EXPECT_EQ(ChangeOfPod(plan, "pod.a").lost, "PREEMPTED");
  EXPECT_THAT(ChangeOf(plan, "pod.a").reason, HasSubstr("it was found PREEMPTED at"));
  EXPECT_THAT(Remarks(desk_.Stored()), HasSubstr("a: found PREEMPTED at"));
  desk_.cloud.sold_out.clear();
  desk_.ApplyAll();
  EXPECT_EQ(Record().recovery()->times, 1);
}

TEST_F(RecoveryTest, ItIsNotOverBeforeItsStepsHaveRun) {
  Preempt(&desk_);
  desk_.workers.Fail(2, "no");
  EXPECT_FALSE(desk_.Apply().ok());
  EXPECT_EQ(Record().recovery()->done, "");
  desk_.ApplyAll();
  EXPECT_NE(Record().recovery()->done, "");
}

TEST_F(RecoveryTest, DestroyedWhileLostItIsForgotten) {
  Preempt(&desk_);
  desk_.cloud.sold_out = {"europe-west4-a"};
  EXPECT_FALSE(desk_.Apply().ok());
  EXPECT_TRUE(desk_.Destroy().ok());
  EXPECT_THAT(Pods(desk_.Stored()), IsEmpty());
}

// Killed at every step of the replacement: the next plan still knows that it was lost, until the
// pod lives again with its steps run; and there is one node in the end.
TEST_F(RecoveryTest, ADeathInTheMiddleForgetsNothing) {
  int steps = 0;
  {
    Desk whole;
    Begin(&whole);
    Preempt(&whole);
    const int before = whole.files.Steps();
    whole.ApplyAll();
    steps = whole.files.Steps() - before;
  }
  ASSERT_GT(steps, 20);
  for (int k = 0; k < steps; ++k) {
    SCOPED_TRACE(k);
    Desk desk;
    Begin(&desk);
    Preempt(&desk);
    desk.files.StopAfter(k);
    static_cast<void>(desk.Apply());
    desk.files.Restart();
    const Plan plan = desk.MakePlan();
    const State stored = desk.Stored();
    const PodRecord* record = Pods(stored).Get(Addr("pod.a"));
    ASSERT_NE(record, nullptr);
    if (!plan.Empty()) {
      const bool known = IsRecovering(*record) || !ChangeOfPod(plan, "pod.a").lost.empty();
      EXPECT_TRUE(known) << "nobody knows that it was lost";
    }
    desk.ApplyAll();
    EXPECT_EQ(desk.cloud.NodeCount(), 1U);
    const PodRecord after = Pods(desk.Stored()).at(Addr("pod.a"));
    ASSERT_TRUE(after.recovery());
    EXPECT_NE(after.recovery()->done, "");
    EXPECT_EQ(after.recovery()->times, 1);
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace podctl
