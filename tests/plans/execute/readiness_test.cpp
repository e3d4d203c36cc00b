// A new pod is complete when its workers were proved usable, and not before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/change.h"
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
using ::testing::SizeIs;

constexpr const char* kReadiness = "bootstrap.a.readiness";

class ReadinessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    harness_.Pods(Harness::Pod("a", "    bootstrap: [{name: x, run: echo hi}]\n"));
  }
  std::vector<int> Workers(const Plan& plan) {
    const StepChange* run = AsStep(ChangeOf(plan, kReadiness));
    return run == nullptr ? std::vector<int>{} : run->workers.value_or(std::vector<int>{-1});
  }

  Harness harness_;
};

TEST_F(ReadinessTest, IsAPartOfTheCreationAndLeavesNothingInTheState) {
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("create pod.a", "run bootstrap.a.x"));
  harness_.ApplyAll();
  ASSERT_THAT(harness_.workers.ReadinessCalls(), SizeIs(1));
  EXPECT_THAT(harness_.workers.ReadinessCalls()[0].workers, ElementsAre(0, 1, 2, 3));
  EXPECT_FALSE(harness_.workers.ReadinessCalls()[0].access[2].host_keys.empty()) << "pinned";
  EXPECT_FALSE(Steps(harness_.Stored()).contains(Addr(kReadiness)));
}

// One that is left over, too, goes by how long a pod may take to boot.
TEST_F(ReadinessTest, WaitsAsLongAsTheSpecSays) {
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("a", "    timeouts: {boot: 7m}\n"));
  harness_.plan_options.replace = {kReadiness};
  const Plan plan = harness_.MakePlan();
  const StepChange* run = AsStep(ChangeOf(plan, kReadiness));
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->step.timeout, std::chrono::minutes(7));
}

// The first use is for where the API holds no keys, not for where it does not answer.
TEST_F(ReadinessTest, AnApiThatFailsMakesNoWorkerTrustworthy) {
  harness_.cloud.FailNext("attributes", MakeError(ErrorCode::kUnavailable, "try again"), 2);
  harness_.Apply();
  const auto calls = harness_.workers.ReadinessCalls();
  ASSERT_THAT(calls, SizeIs(1));
  for (const WorkerAccess& worker : calls[0].access) {
    EXPECT_THAT(worker.host_keys, IsEmpty());
    EXPECT_THAT(worker.distrust, HasSubstr("the API did not tell it (try again)"));
  }
}

TEST_F(ReadinessTest, ABadWorkerIsNamedAndTheNodeIsKept) {
  harness_.workers.FailReadiness(2, "the TPU is held by `python3 train.py`");
  const ExecuteResult result = harness_.Apply();
  ASSERT_THAT(result.failures, SizeIs(1));
  EXPECT_EQ(result.failures[0].change.address, "pod.a");
  EXPECT_EQ(result.failures[0].error.message,
            "the node is READY, but 1 of 4 workers cannot be used: worker 2: the TPU is held by "
            "`python3 train.py`");
  EXPECT_THAT(result.failures[0].error.hint, HasSubstr("podctl doctor a"));
  harness_.events.At("skip bootstrap.a.x: pod.a");
  EXPECT_THAT(harness_.workers.Calls(), IsEmpty()) << "no step runs on a pod that is not ready";
  EXPECT_TRUE(Pods(harness_.Stored()).at(Addr("pod.a")).exists());
  EXPECT_EQ(harness_.cloud.NodeCount(), 1U);
  EXPECT_EQ(result.added, 1U) << "no later run counts it";
}

TEST_F(ReadinessTest, ARunThatIsInterruptedBeforeTheLookCountsItsNode) {
  harness_.cloud.Before("attributes",
                        [&](testing::FakeProvider&) { harness_.drain.request_stop(); });
  const ExecuteResult result = harness_.Apply();
  EXPECT_TRUE(result.interrupted);
  EXPECT_THAT(result.unfinished, ElementsAre(Addr("pod.a")));
  EXPECT_EQ(result.added, 1U);
  harness_.drain = {};
  const ExecuteResult next = harness_.Apply();
  EXPECT_TRUE(next.ok());
  EXPECT_EQ(next.added, 0U);
}

// The look at the workers that is left over is none of the steps that are counted.
TEST_F(ReadinessTest, ARunWhoseOnlyStepFailsHasRunNone) {
  harness_.workers.FailReadiness(2, "it does not answer");
  harness_.Apply();
  harness_.workers.Fail(0, "no space left");
  const ExecuteResult result = harness_.Apply();
  ASSERT_THAT(result.failures, SizeIs(1));
  EXPECT_EQ(result.steps, 0U);
  EXPECT_EQ(result.added, 0U);
  EXPECT_EQ(harness_.Apply().steps, 1U);
}

TEST_F(ReadinessTest, TheNextApplyChecksTheBadWorkerAgainAndGoesOn) {
  harness_.workers.FailReadiness(2, "it does not answer");
  harness_.Apply();
  harness_.workers.ForgetCalls();
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("run bootstrap.a.readiness", "run bootstrap.a.x"));
  EXPECT_THAT(Workers(plan), ElementsAre(2));
  EXPECT_EQ(ChangeOf(plan, kReadiness).reason, "not every worker was proved to be usable");
  harness_.ApplyAll();
  ASSERT_THAT(harness_.workers.ReadinessCalls(), SizeIs(1));
  EXPECT_THAT(harness_.workers.ReadinessCalls()[0].workers, ElementsAre(2));
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a")) << "the node is not made anew";
  EXPECT_FALSE(Steps(harness_.Stored()).contains(Addr(kReadiness)));
}

TEST_F(ReadinessTest, APodWhoseWorkersAllFailIsProvedOnAllOfThemNextTime) {
  for (int worker = 0; worker < 4; ++worker) {
    harness_.workers.FailReadiness(worker, "it does not answer");
  }
  const ExecuteResult result = harness_.Apply();
  ASSERT_THAT(result.failures, SizeIs(1));
  EXPECT_THAT(result.failures[0].error.message, HasSubstr("4 of 4 workers cannot be used"));
  EXPECT_THAT(result.failures[0].error.hint, HasSubstr("`timeouts.boot` says how long they may"));
  harness_.workers.ForgetCalls();
  EXPECT_THAT(Actions(harness_.MakePlan()),
              ElementsAre("run bootstrap.a.readiness", "run bootstrap.a.x"));
  harness_.ApplyAll();
  ASSERT_THAT(harness_.workers.ReadinessCalls(), SizeIs(1));
  EXPECT_THAT(harness_.workers.ReadinessCalls()[0].workers, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a"));
}

TEST_F(ReadinessTest, AWorkerThatStaysBadFailsAgain) {
  harness_.workers.FailReadiness(1, "it does not answer", 2);
  harness_.Apply();
  const ExecuteResult again = harness_.Apply();
  ASSERT_THAT(again.failures, SizeIs(1));
  EXPECT_EQ(again.failures[0].change.address, kReadiness);
  harness_.ApplyAll();
}

TEST_F(ReadinessTest, AReplacementIsProvedToo) {
  harness_.ApplyAll();
  harness_.workers.ForgetCalls();
  harness_.plan_options.replace = {"pod.a"};
  harness_.Apply();
  EXPECT_THAT(harness_.workers.ReadinessCalls(), SizeIs(1));
}

TEST_F(ReadinessTest, IsNotAskedForWhereTheSpecSaysSo) {
  harness_.Pods(Harness::Pod("a", "    ssh: {check: false}\n"));
  harness_.workers.FailReadiness(2, "it does not answer");
  harness_.ApplyAll();
  EXPECT_THAT(harness_.workers.ReadinessCalls(), IsEmpty());
}

TEST_F(ReadinessTest, AsksForAProbeWhereTheSpecWantsOne) {
  harness_.ApplyAll();
  EXPECT_FALSE(harness_.workers.ReadinessCalls().at(0).step.probes.value_or(false));
  harness_.Pods(Harness::Pod("b", "    ssh: {check: probe}\n"));
  harness_.workers.ForgetCalls();
  harness_.ApplyAll();
  ASSERT_THAT(harness_.workers.ReadinessCalls(), SizeIs(1));
  EXPECT_TRUE(harness_.workers.ReadinessCalls()[0].step.probes.value_or(false));
}

// One worker alone has nobody to reach.
TEST_F(ReadinessTest, AProbeThatFailedIsAskedForOnAllWorkersAgain) {
  harness_.Pods(Harness::Pod("a", "    ssh: {check: probe}\n"));
  harness_.workers.FailReadiness(2, "it did not join: its neighbours cannot connect to it");
  EXPECT_THAT(harness_.Apply().failures, SizeIs(1));
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Workers(plan), ElementsAre(0, 1, 2, 3));
  EXPECT_TRUE(AsStep(ChangeOf(plan, kReadiness))->step.probes.value_or(false));
  harness_.workers.ForgetCalls();
  harness_.ApplyAll();
  ASSERT_THAT(harness_.workers.ReadinessCalls(), SizeIs(1));
  EXPECT_THAT(harness_.workers.ReadinessCalls()[0].workers, ElementsAre(0, 1, 2, 3));
  EXPECT_FALSE(Steps(harness_.Stored()).contains(Addr(kReadiness)));
}

TEST_F(ReadinessTest, IsForgottenWhenTheSpecGivesItUp) {
  harness_.workers.FailReadiness(2, "it does not answer");
  harness_.Apply();
  harness_.Pods(Harness::Pod("a", "    ssh: {check: false}\n"));
  EXPECT_THAT(Actions(harness_.MakePlan()), IsEmpty());
  harness_.ApplyAll();
  EXPECT_FALSE(Steps(harness_.Stored()).contains(Addr(kReadiness)));
}

TEST_F(ReadinessTest, CanBeAskedForAtAnyTime) {
  harness_.ApplyAll();
  harness_.workers.ForgetCalls();
  harness_.plan_options.replace = {kReadiness};
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("run bootstrap.a.readiness"));
  harness_.Apply();
  EXPECT_THAT(harness_.workers.ReadinessCalls(), SizeIs(1));
  EXPECT_FALSE(Steps(harness_.Stored()).contains(Addr(kReadiness)));
}

}  // namespace
}  // namespace podctl
