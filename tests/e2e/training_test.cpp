// Training jobs as a user meets them: podctl and the real gcloud against the emulator's custom
// jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kJobs = "/v1/projects/my-project/locations/us-central1/customJobs";

class TrainingTest : public ::testing::Test {
 protected:
  void Begin(const std::string& delay = "0.1s") {
    box_.StartEmulator("none", delay);
    Spec("gcr.io/p/mnist:1");
  }
  void Spec(const std::string& image) {
    box_.WriteFile("podctl.yaml",
                   "project: my-project\ntrainingJobs:\n  mnist:\n    tpuSpec: 8xV3\n"
                   "    image: " +
                       image + "\n    args: [--rate, '0.1']\n");
  }
  RunResult Apply() { return box_.Run({"apply", "--auto-approve"}); }
  Value::List Jobs() { return box_.Http("GET", kJobs).body["customJobs"].AsList(); }
  std::string StateOf(std::size_t newest) {
    const Value::List jobs = Jobs();
    return newest < jobs.size() ? jobs[newest]["state"].AsString() : "none";
  }
  void Strike(const std::string& verb) {
    EXPECT_EQ(box_.Http("POST", "/emulator/customJobs/mnist:" + verb, "{}").status, 200);
  }

  Sandbox box_;
};

TEST_F(TrainingTest, IsSubmittedShownReplacedAndCancelled) {
  Begin();
  EXPECT_THAT(box_.Run({"validate"}).out, HasSubstr("1 training job in 1 file."));
  const RunResult plan = box_.Run({"plan"});
  EXPECT_THAT(plan.out, HasSubstr("# trainingJob.mnist will be submitted")) << plan;
  EXPECT_THAT(plan.out, HasSubstr("tpuSpec     = \"8xV3\"")) << plan;
  const RunResult made = Apply();
  EXPECT_EQ(made.code, 0) << made;
  EXPECT_EQ(StateOf(0), "JOB_STATE_RUNNING");
  const Value job = Jobs().front();
  const Value::List& pools = job["jobSpec"]["workerPoolSpecs"].AsList();
  ASSERT_EQ(pools.size(), 2U);
  EXPECT_EQ(pools[0]["machineSpec"]["machineType"], Value("n1-highcpu-32"));
  EXPECT_EQ(pools[1]["machineSpec"]["acceleratorType"], Value("TPU_V3"));
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 0);
  const RunResult status = box_.Run({"status"});
  EXPECT_THAT(status.out, HasSubstr("JOB_STATE_RUNNING  8xV3")) << status;
  EXPECT_EQ(box_.Run({"state", "list"}).out, "trainingJob.mnist\n");
  EXPECT_THAT(box_.Run({"state", "show", "trainingJob.mnist"}).out, HasSubstr("JOB_STATE_RUNNING"));
  EXPECT_THAT(box_.Run({"show", "--json"}).out, HasSubstr("\"trainingJobs\""));

  Spec("gcr.io/p/mnist:2");
  const RunResult change = box_.Run({"plan", "--out", "saved"});
  EXPECT_THAT(change.out, HasSubstr("# trainingJob.mnist must be replaced")) << change;
  EXPECT_THAT(change.out, HasSubstr("the job that is there now is cancelled first")) << change;
  EXPECT_THAT(box_.Run({"show", "--json", "saved"}).out, HasSubstr("\"type\":\"trainingJob\""));
  const RunResult replaced = box_.Run({"apply", "saved"});
  EXPECT_EQ(replaced.code, 0) << replaced;
  EXPECT_EQ(StateOf(0), "JOB_STATE_RUNNING");
  EXPECT_EQ(StateOf(1), "JOB_STATE_CANCELLED");

  const RunResult destroyed = box_.Run({"destroy", "--auto-approve"});
  EXPECT_EQ(destroyed.code, 0) << destroyed;
  EXPECT_EQ(StateOf(0), "JOB_STATE_CANCELLED");
  EXPECT_EQ(box_.Run({"state", "list"}).out, "");
  EXPECT_EQ(box_.Calls("customJobs.create"), 2);
}

TEST_F(TrainingTest, ASavedPlanIsStaleWhenItsJobHasEndedOrIsGone) {
  Begin();
  ASSERT_EQ(Apply().code, 0);
  Spec("gcr.io/p/mnist:2");
  ASSERT_EQ(box_.Run({"plan", "--out", "saved"}).code, 0);
  Strike("fail");
  const RunResult ended = box_.Run({"apply", "saved"});
  EXPECT_EQ(ended.code, 4) << ended;
  EXPECT_THAT(ended.err, HasSubstr("Saved plan is stale")) << ended;
  EXPECT_THAT(ended.err,
              HasSubstr("trainingJob.mnist: it is JOB_STATE_FAILED and was JOB_STATE_RUNNING"))
      << ended;
  EXPECT_EQ(box_.Calls("customJobs.create"), 1);

  ASSERT_EQ(box_.Run({"plan", "--out", "saved"}).code, 0);
  EXPECT_EQ(box_.Http("DELETE", "/v1/" + Jobs().front()["name"].AsString()).status, 200);
  const RunResult gone = box_.Run({"apply", "saved"});
  EXPECT_EQ(gone.code, 4) << gone;
  EXPECT_THAT(gone.err, HasSubstr("trainingJob.mnist: the job was deleted")) << gone;
}

TEST_F(TrainingTest, AFinishedJobIsNotRunAgain) {
  Begin();
  ASSERT_EQ(Apply().code, 0);
  Strike("fail");
  const RunResult plan = box_.Run({"plan", "--detailed-exitcode"});
  EXPECT_EQ(plan.code, 0) << plan;
  EXPECT_THAT(plan.out, HasSubstr("trainingJob.mnist: it is JOB_STATE_FAILED: The replica "
                                  "workerpool0-0 exited"))
      << plan;
  EXPECT_THAT(plan.out, HasSubstr("`--replace trainingJob.mnist` does."));
  EXPECT_EQ(Apply().code, 0);
  EXPECT_EQ(box_.Calls("customJobs.create"), 1);
  const RunResult again = box_.Run({"apply", "--auto-approve", "--replace", "trainingJob.mnist"});
  EXPECT_EQ(again.code, 0) << again;
  EXPECT_EQ(box_.Calls("customJobs.create"), 2);
  EXPECT_EQ(StateOf(0), "JOB_STATE_RUNNING");
}

TEST_F(TrainingTest, ALostAnswerNeverMakesASecondJob) {
  Begin();
  box_.Http("POST", "/emulator/faults",
            R"({"method": "POST", "path": "/customJobs", "drop": "after"})");
  const RunResult made = Apply();
  EXPECT_EQ(made.code, 0) << made;
  EXPECT_EQ(Jobs().size(), 1U);
  EXPECT_EQ(box_.Calls("customJobs.create"), 1);
}

TEST_F(TrainingTest, AKillBetweenTheRequestAndItsAnswerIsTakenUp) {
  Begin();
  box_.Http("POST", "/emulator/faults",
            R"({"method": "POST", "path": "/customJobs", "delay_ms": 20000})");
  auto run = box_.Start({"apply", "--auto-approve"});
  ASSERT_TRUE(Eventually([&] { return Jobs().size() == 1; })) << run->err();
  run->Signal(SIGKILL);
  EXPECT_EQ(run->Wait(), 128 + SIGKILL);
  const RunResult next = Apply();
  EXPECT_EQ(next.code, 0) << next;
  EXPECT_THAT(next.err + next.out, HasSubstr("an earlier run had submitted it"));
  EXPECT_EQ(Jobs().size(), 1U);
  EXPECT_EQ(box_.Calls("customJobs.create"), 1);
}

TEST_F(TrainingTest, WithoutWaitingItIsOnlySubmitted) {
  Begin("30s");
  const RunResult made = box_.Run({"apply", "--auto-approve", "--no-wait"});
  EXPECT_EQ(made.code, 0) << made;
  EXPECT_EQ(StateOf(0), "JOB_STATE_QUEUED");
  box_.Http("POST", "/emulator/clock", R"({"advance": "61s"})");
  const RunResult next = Apply();
  EXPECT_EQ(next.code, 0) << next;
  EXPECT_EQ(StateOf(0), "JOB_STATE_RUNNING");
  EXPECT_EQ(box_.Calls("customJobs.create"), 1);
  box_.Http("POST", "/emulator/clock", R"({"advance": "11m"})");
  EXPECT_EQ(StateOf(0), "JOB_STATE_SUCCEEDED");
}

TEST_F(TrainingTest, AJobSurvivesTheEmulatorAndIsDeletedByIts) {
  Begin();
  ASSERT_EQ(Apply().code, 0);
  box_.StopEmulator();
  box_.StartEmulator("none", "0.1s");
  ASSERT_EQ(StateOf(0), "JOB_STATE_RUNNING");
  const std::string name = "/v1/" + Jobs().front()["name"].AsString();
  EXPECT_EQ(box_.Http("DELETE", name).status, 400);  // it runs
  Strike("succeed");
  EXPECT_EQ(box_.Http("DELETE", name).status, 200);
  EXPECT_EQ(Jobs().size(), 0U);
  EXPECT_EQ(box_.Http("GET", name).status, 404);
}

TEST_F(TrainingTest, TheServiceRefusesWhatItsContractRefuses) {
  Begin();
  const auto post = [&](const std::string& body) { return box_.Http("POST", kJobs, body).status; };
  const std::string pool =
      R"({"machineSpec":{"machineType":"n1-standard-4"},"replicaCount":"1","containerSpec":)"
      R"({"imageUri":"i"}})";
  EXPECT_EQ(post(R"({"displayName":"a","jobSpec":{"workerPoolSpecs":[)" + pool + "]}}"), 200);
  EXPECT_EQ(post(R"({"jobSpec":{"workerPoolSpecs":[)" + pool + "]}}"), 400);
  EXPECT_EQ(post(R"({"displayName":"a","jobSpec":{"workerPoolSpecs":[]}})"), 400);
  EXPECT_EQ(post(R"({"displayName":"a","jobspec":{}})"), 400);
  EXPECT_EQ(post(R"({"displayName":"a","labels":{"A":"b"},"jobSpec":{"workerPoolSpecs":[)" + pool +
                 "]}}"),
            400);
  EXPECT_EQ(post(R"({"displayName":"a","jobSpec":{"workerPoolSpecs":[{"machineSpec":)"
                 R"({"machineType":"cloud-tpu"},"replicaCount":"1","containerSpec":{"imageUri":)"
                 R"("i"}}]}})"),
            400);
  EXPECT_EQ(box_.Http("GET", std::string(kJobs) + "?filter=state%3D%22JOB_STATE_QUEUED%22").status,
            200);
  EXPECT_EQ(box_.Http("GET", std::string(kJobs) + "?filter=nonsense").status, 400);
}

TEST_F(TrainingTest, ListsArePagedAndFiltered) {
  Begin();
  for (const char* name : {"a", "b", "c"}) {
    box_.Http("POST", kJobs,
              std::string(R"({"displayName":")") + name + R"(","labels":{"n":")" + name +
                  R"("},"jobSpec":{"workerPoolSpecs":[{"machineSpec":{"machineType":)" +
                  R"("n1-standard-4"},"replicaCount":1,"containerSpec":{"imageUri":"i"}}]}})");
  }
  const Value first = box_.Http("GET", std::string(kJobs) + "?pageSize=2").body;
  ASSERT_EQ(first["customJobs"].AsList().size(), 2U);
  EXPECT_EQ(first["customJobs"].AsList()[0]["displayName"], Value("c"));
  const Value second =
      box_.Http("GET",
                std::string(kJobs) + "?pageSize=2&pageToken=" + first["nextPageToken"].AsString())
          .body;
  ASSERT_EQ(second["customJobs"].AsList().size(), 1U);
  EXPECT_EQ(second["customJobs"].AsList()[0]["displayName"], Value("a"));
  const auto matching = [&](const std::string& filter) {
    return box_.Http("GET", std::string(kJobs) + "?filter=" + filter)
        .body["customJobs"]
        .AsList()
        .size();
  };
  EXPECT_EQ(matching("labels.n%3Db"), 1U);
  EXPECT_EQ(matching("labels.n:*"), 3U);
  EXPECT_EQ(matching("NOT%20displayName%3D%22a%22"), 2U);
  EXPECT_EQ(matching("displayName%3Da%20OR%20displayName%3Db"), 2U);
  EXPECT_EQ(matching("displayName%3Da%20AND%20labels.n%3Db"), 0U);
}

TEST_F(TrainingTest, GcloudIsASecondClientOfIt) {
  if (box_.RunProgram({"sh", "-c", "command -v gcloud"}).code != 0) {
    GTEST_SKIP() << "gcloud is not installed";
  }
  Begin();
  box_.WriteFile("token", "a-token");
  box_.SetVariable("CLOUDSDK_CONFIG", box_.Path("gcloud"));
  box_.SetVariable("CLOUDSDK_CORE_PROJECT", "my-project");
  box_.SetVariable("CLOUDSDK_CORE_DISABLE_PROMPTS", "1");
  box_.SetVariable("CLOUDSDK_CORE_DISABLE_USAGE_REPORTING", "1");
  box_.SetVariable("CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK", "1");
  box_.SetVariable("CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", box_.Path("token"));
  box_.SetVariable("CLOUDSDK_API_ENDPOINT_OVERRIDES_AIPLATFORM", box_.url() + "/");
  ASSERT_EQ(Apply().code, 0);

  const std::string jobs = "gcloud ai custom-jobs ";
  const RunResult made = box_.RunProgram(
      {"sh", "-c",
       jobs + "create --region=us-central1 --display-name=by-hand --labels=team=x "
              "--worker-pool-spec=machine-type=n1-standard-4,replica-count=1,"
              "container-image-uri=gcr.io/p/i "
              "--worker-pool-spec=machine-type=cloud-tpu,accelerator-type=TPU_V3,"
              "accelerator-count=8,replica-count=1,container-image-uri=gcr.io/p/i"});
  EXPECT_EQ(made.code, 0) << made;
  EXPECT_THAT(made.err, HasSubstr("is submitted successfully"));
  const RunResult listed = box_.RunProgram(
      {"sh", "-c", jobs + "list --region=us-central1 --format='value(displayName)'"});
  EXPECT_EQ(listed.out, "by-hand\nmnist\n") << listed;
  const std::string name = Jobs().front()["name"].AsString();
  const RunResult described =
      box_.RunProgram({"sh", "-c", jobs + "describe " + name + " --region=us-central1"});
  EXPECT_EQ(described.code, 0) << described;
  EXPECT_THAT(described.out, HasSubstr("acceleratorType: TPU_V3"));
  const RunResult cancelled =
      box_.RunProgram({"sh", "-c", jobs + "cancel " + name + " --region=us-central1"});
  EXPECT_EQ(cancelled.code, 0) << cancelled;
  EXPECT_TRUE(Eventually([&] { return StateOf(0) == "JOB_STATE_CANCELLED"; }));
  const RunResult nobody = box_.RunProgram({"sh", "-c", jobs + "describe 12 --region=us-central1"});
  EXPECT_EQ(nobody.code, 1);
  EXPECT_THAT(nobody.err, HasSubstr("NOT_FOUND")) << nobody;
}

TEST_F(TrainingTest, ALineOfCalibanBecomesAJobThatRuns) {
  box_.StartEmulator("none", "0.1s");
  const std::string line =
      "caliban cloud --tpu_spec 8xV3 --project_id my-project --name mnist mnist.py -- --rate 0.1";
  const RunResult made = box_.Run({"init", "--from-command", line});
  EXPECT_EQ(made.code, 0) << made;
  EXPECT_THAT(made.err, HasSubstr("Warning: mnist.py: Caliban builds it into an image"));
  EXPECT_EQ(box_.Run({"validate"}).code, 0);
  EXPECT_EQ(box_.Run({"init", "--from-command", line}).code, 1);  // it is there already
  EXPECT_EQ("# yaml-language-server: $schema=podctl.schema.json\n" +
                box_.Run({"init", "--from-command", line, "-"}).out,
            box_.ReadFile("podctl.yaml"));
  EXPECT_EQ(Apply().code, 0);
  EXPECT_EQ(StateOf(0), "JOB_STATE_RUNNING");
  const RunResult legacy = box_.Run({"init", "--from-command", line, "--legacy-request"});
  EXPECT_THAT(legacy.out, HasSubstr("\"workerType\": \"cloud_tpu\"")) << legacy;
  EXPECT_THAT(legacy.err, HasSubstr("ended on 2025-01-31")) << legacy;
  EXPECT_THAT(legacy.out, Not(HasSubstr("Wrote")));
}

}  // namespace
}  // namespace podctl::testing
