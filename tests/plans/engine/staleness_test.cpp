// What speaks against a saved plan once it is to be carried out: what it was made of has changed.
#include "plans/engine/plan_file/staleness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plans/engine/observe.h"
#include "plans/engine/plan_file.h"
#include "plans/kinds/training_job/plan.h"
#include "plans/kinds/training_job/record.h"
#include "tests/plans/engine/saved_plan_bench.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

using testing::AllKinds;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::HasSubstr;
using testing::KindNamed;

class StalenessTest : public testing::SavedPlanBench {
 protected:
  void SetUp() override {
    harness_.Pods(Harness::Pod("a", "    labels: {team: vision}\n") + Harness::Pod("b"));
    harness_.ApplyAll();
    harness_.Pods(Harness::Pod("a", "    labels: {team: speech}\n") + Harness::Pod("b") +
                  Harness::Pod("c"));
    saved_ = Save(harness_.MakePlan());
  }
  std::vector<std::string> Changes() {
    const auto observation =
        Observe({Spec{}, harness_.Stored()}, AllKinds().all, harness_.cloud, 1, {});
    return FindViolations(saved_.preconditions, *observation, key_, AllKinds().all);
  }
  SavedPlan saved_;
};

TEST_F(StalenessTest, NothingHasChanged) {
  EXPECT_THAT(Changes(), ElementsAre());
}

TEST_F(StalenessTest, WhatThePlanDoesNotTouchMayChange) {
  harness_.Edit("b", [](Value& node) { node.SetPath("labels.x", "y"); });
  harness_.Edit("a", [](Value& node) { node.Set("health", "TIMEOUT"); });
  EXPECT_THAT(Changes(), ElementsAre());
}

TEST(TrainingStalenessTest, OnlyWhatEndsAJobCountsAgainstThePlan) {
  const auto job = [](const std::string& state) {
    Value value = Value::EmptyMap();
    value.Set("state", state);
    return value;
  };
  Plan plan;
  plan.refreshed = true;
  for (const std::string name : {"a", "b", "c", "kept"}) {
    Change change;
    change.address = TrainingAddress(name);
    change.verb = name == "kept" ? Verb::kKeep
                  : name == "b"  ? Verb::kDelete
                                 : Verb::kDeleteThenCreate;
    change.payload = Payload(TrainingJobSpec{}, KindNamed("trainingJob"));
    plan.changes.push_back(change);
  }
  Observation before;
  for (const std::string name : {"a", "b", "c", "kept"}) {
    before.seen[TrainingAddress(name)] = job("JOB_STATE_QUEUED");
  }
  const auto saved = TakePreconditions(plan, {}, before, {}, AllKinds().all);
  EXPECT_EQ(saved.size(), 3u);
  EXPECT_THAT(FindViolations(saved, before, {}, AllKinds().all), ElementsAre());
  Observation now = before;
  now.seen[Addr("trainingJob.kept")] = job("JOB_STATE_FAILED");
  now.seen[Addr("trainingJob.c")] = job("JOB_STATE_RUNNING");
  EXPECT_THAT(FindViolations(saved, now, {}, AllKinds().all), ElementsAre());
  now.seen[Addr("trainingJob.a")] = job("JOB_STATE_SUCCEEDED");
  now.seen[Addr("trainingJob.b")] = Value();
  EXPECT_THAT(FindViolations(saved, now, {}, AllKinds().all),
              ElementsAre("trainingJob.a: it is JOB_STATE_SUCCEEDED and was JOB_STATE_QUEUED",
                          "trainingJob.b: the job was deleted"));
  EXPECT_THAT(FindViolations(saved, {}, {}, AllKinds().all), ElementsAre()) << "nobody was asked";
  plan.refreshed = false;
  EXPECT_TRUE(TakePreconditions(plan, {}, before, {}, AllKinds().all).empty());
}

TEST_F(StalenessTest, APreconditionThatNobodyUnderstandsIsRefused) {
  saved_.preconditions[0].address = Addr("disk.a");
  const auto read = PlanFromJson(Text(saved_), "my.plan", AllKinds());
  ASSERT_FALSE(read.has_value());
  EXPECT_THAT(read.error().message, HasSubstr("disk.a"));
  saved_.preconditions[0].address = Addr("pod.a");
  saved_.preconditions[0].value = Value("as ever");
  EXPECT_THAT(Changes(), ElementsAre("pod.a: how it was cannot be read"));
}

TEST_F(StalenessTest, EveryChangeOfANodeIsNamed) {
  harness_.Edit("a", [](Value& node) {
    node.SetPath("labels.team", "other");
    node.SetPath("metadata.theirs", "their-secret");
    node.Set("description", "hello");
    node.Set("state", "STOPPED");
  });
  EXPECT_THAT(Changes(),
              ElementsAre("pod.a: it is STOPPED and was READY; description, labels.team, "
                          "metadata.theirs were changed"));
}

TEST_F(StalenessTest, ANodeThatAppearedVanishedOrWasMadeAnew) {
  harness_.cloud.EditNode(Harness::Name("a"), [](Value& node) { node.Set("id", "4711"); });
  EXPECT_THAT(Changes(), ElementsAre("pod.a: the node `a` was deleted and made anew"));
  harness_.Pods("");
  saved_.preconditions[0].value.Set("there", false);
  EXPECT_THAT(Changes(), ElementsAre("pod.a: a node named `a` has appeared"));
  for (Precondition& precondition : saved_.preconditions) precondition.value.Set("there", true);
  EXPECT_THAT(Changes().back(), "pod.c: the node `c` was deleted");
}

}  // namespace
}  // namespace podctl
