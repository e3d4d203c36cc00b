// Training jobs: submitted once, waited for, cancelled, and found again whatever ended a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plans/engine/observe.h"
#include "plans/kinds/training_job/record.h"
#include "plans/kinds/training_job/requests.h"
#include "tests/plans/harness.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using testing::Actions;
using testing::AllKinds;
using testing::ChangeOf;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kAddress = "trainingJob.mnist";
constexpr const char* kFirst = "projects/p/locations/us-central1/customJobs/101";

class TrainingTest : public ::testing::Test {
 protected:
  TrainingTest() { Spec(); }
  void Spec(const std::string& image = "gcr.io/p/mnist:1") {
    harness_.SpecText(
        "project: p\ntrainingJobs:\n  mnist:\n    tpuSpec: 8xV3\n    image: " + image + "\n");
  }
  void Nothing() { harness_.SpecText("project: p\ntrainingJobs: {}\n"); }
  testing::FakeJobs& Jobs() { return harness_.cloud.jobs; }
  TrainingRecord Record() { return TrainingJobs(harness_.Stored()).at(Addr(kAddress)); }
  std::string Label(std::size_t i) { return Jobs().sent.at(i)["labels"][kRequestLabel].AsString(); }
  Error OnlyFailure(const ExecuteResult& result) {
    EXPECT_EQ(result.failures.size(), 1U);
    return result.failures.empty() ? Error{} : result.failures.front().error;
  }

  Harness harness_;
};

TEST_F(TrainingTest, ItsArgumentsReferToAPodThatIsMadeFirst) {
  const std::string job =
      "trainingJobs:\n  mnist:\n    tpuSpec: 8xV3\n    image: i\n    args: [--head, "
      "\"${pod.a.networkEndpoints[0].ipAddress}:80\", \"$${HOME}\"]\n";
  const auto spec = [&](const std::string& pods) {
    harness_.SpecText("project: p\nzone: europe-west4-a\npods:\n" + pods + job);
  };
  spec(Harness::Pod("a"));
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("create pod.a", "create trainingJob.mnist"));
  EXPECT_THAT(testing::Lines(ChangeOf(plan, kAddress).attributes).front(),
              "args: (none) -> (unknown)");
  EXPECT_THAT(ChangeOf(plan, kAddress).waits_for, ::testing::Contains(Addr("pod.a")));
  harness_.ApplyAll();
  const std::string address =
      harness_.Node("a")["networkEndpoints"].AsList().front()["ipAddress"].AsString();
  ASSERT_FALSE(address.empty());
  EXPECT_EQ(Jobs().sent.at(0)["jobSpec"]["workerPoolSpecs"].AsList()[0]["containerSpec"]["args"],
            Value(Value::List{"--head", address + ":80", "${HOME}"}));
  EXPECT_TRUE(harness_.MakePlan().Empty());
  // The pod is to be another one: what it will be is not known, and the job hangs on it.
  spec(Harness::Pod("a", "    nodeId: b\n"));
  EXPECT_THAT(Actions(harness_.MakePlan()),
              ElementsAre("replace pod.a", "replace trainingJob.mnist"));
}

TEST_F(TrainingTest, IsCancelledBeforeThePodOfItsArgumentsGoes) {
  const std::string pods = "project: p\nzone: europe-west4-a\npods:\n" + Harness::Pod("a");
  const std::string arguments = "\"${pod.a.networkEndpoints[0].ipAddress}\"";
  const auto job = [](const std::string& args) {
    return "trainingJobs:\n  mnist: {tpuSpec: 8xV3, image: i, args: [" + args + "]}\n";
  };
  harness_.SpecText(pods + job(arguments));
  harness_.ApplyAll();
  EXPECT_THAT(Record().depends_on, ElementsAre("pod.a"));
  // Neither has the spec any more, and what the job was built on stands in the state alone.
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_LT(harness_.events.At("done trainingJob.mnist"), harness_.events.At("start pod.a"));
}

TEST_F(TrainingTest, RemembersWhatItRefersToWhenNothingElseIsNew) {
  const std::string pods =
      "project: p\nzone: europe-west4-a\npods:\n" + Harness::Pod("a", "    labels: {team: red}\n");
  const auto job = [](const std::string& args) {
    return "trainingJobs:\n  mnist: {tpuSpec: 8xV3, image: i, args: [" + args + "]}\n";
  };
  harness_.SpecText(pods + job("red"));  // or by a podctl that did not remember it
  harness_.ApplyAll();
  EXPECT_THAT(Record().depends_on, IsEmpty());
  harness_.SpecText(pods + job("\"${pod.a.labels.team}\""));
  EXPECT_TRUE(harness_.MakePlan().Empty());
  harness_.ApplyAll();
  EXPECT_THAT(Record().depends_on, ElementsAre("pod.a"));
  harness_.SpecText(pods + job("red"));
  harness_.ApplyAll();
  EXPECT_THAT(Record().depends_on, IsEmpty());
}

TEST_F(TrainingTest, AReferenceToWhatIsNotThereIsRefused) {
  const std::string pod = Harness::Pod("a");
  harness_.SpecText("project: p\nzone: europe-west4-a\npods:\n" + pod);
  harness_.ApplyAll();
  harness_.SpecText("project: p\nzone: europe-west4-a\npods:\n" + pod +
                    "trainingJobs:\n  mnist: {tpuSpec: 8xV3, image: i, args: "
                    "[\"${pod.a.networkEndpoints[9].ipAddress}\"]}\n");
  const Diagnostics problems = harness_.TryPlan();
  ASSERT_TRUE(problems.has_errors());
  EXPECT_THAT(problems.items().front().summary,
              HasSubstr("refers to `${pod.a.networkEndpoints[9].ipAddress}`, which is not there"));
}

TEST_F(TrainingTest, ASubmittedJobIsWaitedForUntilItRuns) {
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("create trainingJob.mnist"));
  EXPECT_TRUE(harness_.Apply().ok());
  EXPECT_EQ(Jobs().StateOf(kFirst), "JOB_STATE_RUNNING");
  ASSERT_THAT(Jobs().sent, SizeIs(1));
  EXPECT_EQ(Label(0).size(), 36U);
  const TrainingRecord record = Record();
  EXPECT_EQ(record.current.locator, kFirst);
  EXPECT_EQ(record.state, "JOB_STATE_RUNNING");
  EXPECT_EQ(record.applied.Find("labels"), nullptr);
  EXPECT_FALSE(record.pending());
  harness_.events.At("note trainingJob.mnist: its custom job 101 is JOB_STATE_QUEUED");
  EXPECT_TRUE(harness_.MakePlan().Empty());
}

TEST_F(TrainingTest, ALostAnswerIsFoundByItsLabelAndNeverSentTwice) {
  Jobs().replies_to_lose = 1;
  Jobs().blind_finds = 3;  // the list lags behind
  EXPECT_TRUE(harness_.Apply().ok());
  EXPECT_EQ(Jobs().Count(), 1U);
  EXPECT_THAT(Jobs().sent, SizeIs(1));
  EXPECT_EQ(Record().current.locator, kFirst);
}

TEST_F(TrainingTest, ARequestThatNeverArrivedIsSentAgainUnderTheSameLabel) {
  Jobs().creates_to_drop = 1;
  EXPECT_TRUE(harness_.Apply().ok());
  ASSERT_THAT(Jobs().sent, SizeIs(2));
  EXPECT_EQ(Label(0), Label(1));
  EXPECT_EQ(Jobs().Count(), 1U);
}

TEST_F(TrainingTest, WhoNeverHearsGivesUp) {
  Jobs().creates_to_drop = 100;
  EXPECT_THAT(OnlyFailure(harness_.Apply()).message, HasSubstr("was sent 3 times"));
  EXPECT_THAT(TrainingJobs(harness_.Stored()), IsEmpty());
}

// The state that a kill -9 between the request and its answer leaves: the intent, and no name.
TEST_F(TrainingTest, AnEarlierRunThatDidNotHearTheAnswerIsTakenUp) {
  Jobs().replies_to_lose = 1;
  Jobs().blind_finds = 1000;
  harness_.events.on_line = [&](const std::string& line) {
    if (line == "start trainingJob.mnist") harness_.drain.request_stop();
  };
  harness_.Apply();
  harness_.events.on_line = nullptr;
  harness_.drain = {};
  // Whatever the interrupt left: nothing, or an unheard job.
  Jobs().blind_finds = 0;
  EXPECT_TRUE(harness_.Apply().ok());
  EXPECT_EQ(Jobs().Count(), 1U);
  EXPECT_THAT(Jobs().sent, SizeIs(1));
}

TEST_F(TrainingTest, AnIntentWithoutAnAnswerIsSettledByTheNextRun) {
  State state;
  state.lineage = "8f14e45f-ceea-467f-a0e6-c1a5b1b7d3aa";
  TrainingRecord record;
  record.project = "p";
  record.region = "us-central1";
  record.current.life = Creating{{"", "", 0, "id-1"}};
  Observation observation;
  TrainingJobs(state)[Addr(kAddress)] = record;
  Value job;
  job.Set("name", kFirst);
  job.Set("state", "JOB_STATE_RUNNING");
  observation.seen[Addr(kAddress)] = job;
  std::vector<std::string> notes;
  const State settled = Settle(state, observation, AllKinds().all, &notes);
  EXPECT_EQ(TrainingJobs(settled).at(Addr(kAddress)).current.locator, kFirst);
  EXPECT_FALSE(TrainingJobs(settled).at(Addr(kAddress)).pending());
  EXPECT_THAT(notes, ElementsAre(HasSubstr("had submitted it")));
  observation.seen[Addr(kAddress)] = Value();
  notes.clear();
  EXPECT_TRUE(TrainingJobs(Settle(state, observation, AllKinds().all, &notes))
                  .at(Addr(kAddress))
                  .pending());
  EXPECT_THAT(notes, IsEmpty());
}

TEST_F(TrainingTest, ARefusedJobLeavesNothing) {
  Jobs().refuse_create = MakeError(ErrorCode::kInvalidArgument, "no such image");
  EXPECT_EQ(OnlyFailure(harness_.Apply()).message, "no such image");
  EXPECT_THAT(TrainingJobs(harness_.Stored()), IsEmpty());
}

TEST_F(TrainingTest, AChangedSpecCancelsWhatRunsAndSubmitsAnew) {
  harness_.Apply();
  Spec("gcr.io/p/mnist:2");
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("replace trainingJob.mnist"));
  EXPECT_EQ(ChangeOf(plan, kAddress).reason,
            "image cannot be changed in place; the job that is there now is cancelled first");
  EXPECT_TRUE(harness_.Apply().ok());
  EXPECT_THAT(Jobs().cancelled, ElementsAre(kFirst));
  EXPECT_EQ(Jobs().StateOf(kFirst), "JOB_STATE_CANCELLED");
  EXPECT_EQ(Record().current.locator, "projects/p/locations/us-central1/customJobs/102");
  EXPECT_NE(Label(0), Label(1));
  EXPECT_TRUE(harness_.MakePlan().Empty());
}

TEST_F(TrainingTest, AFinishedJobIsNotRunAgainUnlessAskedFor) {
  harness_.Apply();
  Jobs().Put(kFirst, "JOB_STATE_FAILED", "exit status 1");
  const Plan plan = harness_.MakePlan();
  EXPECT_TRUE(plan.Empty());
  EXPECT_EQ(ChangeOf(plan, kAddress).reason, "it is JOB_STATE_FAILED: exit status 1");
  harness_.plan_options.replace = {kAddress};
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("replace trainingJob.mnist"));
  EXPECT_TRUE(harness_.Apply().ok());
  EXPECT_THAT(Jobs().sent, SizeIs(2));
  EXPECT_THAT(Jobs().cancelled, IsEmpty());
}

TEST_F(TrainingTest, AJobThatFailsWhileItIsWaitedForIsAnError) {
  Jobs().stuck = true;
  harness_.events.on_line = [&](const std::string& line) {
    if (line.find("PENDING") != std::string::npos) {
      Jobs().Put(kFirst, "JOB_STATE_FAILED", "no such image");
    }
  };
  const Error error = OnlyFailure(harness_.Apply());
  EXPECT_EQ(error.message, "the custom job 101 is JOB_STATE_FAILED: no such image");
  EXPECT_THAT(error.hint, HasSubstr("gcloud ai custom-jobs stream-logs 101 --region=us-central1"));
  EXPECT_EQ(Record().state, "JOB_STATE_FAILED");
}

TEST_F(TrainingTest, WithoutWaitingItIsOnlySubmitted) {
  harness_.options.wait_for_capacity = false;
  const ExecuteResult result = harness_.Apply();
  EXPECT_TRUE(result.ok());
  EXPECT_THAT(result.queued, ElementsAre(kAddress));
  EXPECT_EQ(Record().current.locator, kFirst);
  harness_.options.wait_for_capacity = true;
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("create trainingJob.mnist"));
  EXPECT_EQ(ChangeOf(plan, kAddress).verb, Verb::kCreate);
  EXPECT_TRUE(ChangeOf(plan, kAddress).begun);
  EXPECT_TRUE(harness_.Apply().ok());
  EXPECT_THAT(Jobs().sent, SizeIs(1));
}

TEST_F(TrainingTest, WhatIsNotInTheSpecAnyMoreIsCancelledAndForgotten) {
  harness_.Apply();
  Nothing();
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("delete trainingJob.mnist"));
  EXPECT_EQ(ChangeOf(plan, kAddress).verb, Verb::kDelete);
  EXPECT_TRUE(harness_.Apply().ok());
  EXPECT_EQ(Jobs().StateOf(kFirst), "JOB_STATE_CANCELLED");
  EXPECT_THAT(TrainingJobs(harness_.Stored()), IsEmpty());
}

TEST_F(TrainingTest, WhatHasEndedIsForgottenWithoutARequest) {
  harness_.Apply();
  Jobs().Put(kFirst, "JOB_STATE_SUCCEEDED");
  Nothing();
  const Plan plan = harness_.MakePlan();
  EXPECT_EQ(ChangeOf(plan, kAddress).verb, Verb::kForget);
  EXPECT_EQ(WordsOf(ChangeOf(plan, kAddress)).done, "Forgotten");
  EXPECT_TRUE(harness_.Apply().ok());
  EXPECT_THAT(Jobs().cancelled, IsEmpty());
  EXPECT_THAT(TrainingJobs(harness_.Stored()), IsEmpty());
}

TEST_F(TrainingTest, DestroyCancels) {
  harness_.Apply();
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_EQ(Jobs().StateOf(kFirst), "JOB_STATE_CANCELLED");
  EXPECT_THAT(TrainingJobs(harness_.Stored()), IsEmpty());
}

TEST_F(TrainingTest, ARunningJobThatSomebodyDeletedIsSubmittedAnew) {
  harness_.Apply();
  Jobs().Remove(kFirst);
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("create trainingJob.mnist"));
  ASSERT_THAT(plan.drift, SizeIs(1));
  EXPECT_TRUE(harness_.Apply().ok());
  EXPECT_EQ(Jobs().Count(), 1U);
  EXPECT_TRUE(harness_.MakePlan().Empty());
}

TEST_F(TrainingTest, ACancellationThatWasInterruptedIsTakenUp) {
  harness_.Apply();
  Nothing();
  harness_.events.on_line = [&](const std::string& line) {
    if (line == "start trainingJob.mnist") harness_.drain.request_stop();
  };
  harness_.Apply();
  harness_.events.on_line = nullptr;
  harness_.drain = {};
  EXPECT_TRUE(harness_.Apply().ok());
  EXPECT_EQ(Jobs().StateOf(kFirst), "JOB_STATE_CANCELLED");
  EXPECT_THAT(TrainingJobs(harness_.Stored()), IsEmpty());
  EXPECT_TRUE(harness_.MakePlan().Empty());
}

TEST_F(TrainingTest, ATargetLeavesTheOthersAlone) {
  harness_.SpecText(
      "project: p\ntrainingJobs:\n  mnist: {tpuSpec: 8xV3, image: a}\n  other: {image: b}\n");
  harness_.plan_options.targets = {"trainingJob.other"};
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("create trainingJob.other"));
}

}  // namespace
}  // namespace podctl
