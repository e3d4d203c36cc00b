// A state in a bucket: from no bucket at all to pods, many runs at once, runs that die, that are
// stopped and overtaken, answers that are lost, a storage that is out of reach.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kRuns = 10;
constexpr const char* kState = "gs://my-project-podctl/dev";
constexpr const char* kObjects = "/storage/v1/b/my-project-podctl/o";

class BucketStateTest : public ::testing::Test {
 protected:
  // `init`: makes the bucket.
  void Begin(const std::string& delay, bool init = true) {
    box_.StartEmulator("none", delay);
    box_.SetVariable("STORAGE_EMULATOR_HOST", box_.url());
    WriteSpec("  research: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0}\n");
    if (!init) return;
    const RunResult made = box_.Run({"state", "init"});
    ASSERT_EQ(made.code, 0) << made;
  }
  void WriteSpec(const std::string& pods) {
    box_.WriteSpec(pods);
    box_.WriteFile("podctl.yaml", box_.ReadFile("podctl.yaml") +
                                      "variables: {env: {default: dev}}\n"
                                      "state: gs://my-project-podctl/${var.env}\n");
  }
  // An apply whose create is under way.
  std::unique_ptr<Process> Holder() {
    auto run = box_.Start({"apply", "--auto-approve"});
    EXPECT_TRUE(Eventually([&] { return box_.Calls("nodes.create") > 0; })) << run->err();
    return run;
  }
  std::vector<std::string> Objects() {
    std::vector<std::string> names;
    for (const Value& item : box_.Http("GET", kObjects).body["items"].AsList()) {
      names.push_back(item["name"].AsString());
    }
    return names;
  }
  Value LockStatus() {
    const RunResult run = box_.Run({"lock", "status", "--json"});
    EXPECT_EQ(run.code, 0) << run;
    return ParseJson(run.out).value_or(Value());
  }
  // What could not be saved can be looked at, and is nowhere taken for a state.
  void ExpectReadable(const std::string& errored) {
    const RunResult shown = box_.Run({"show", errored});
    EXPECT_EQ(shown.code, 0) << shown;
    EXPECT_THAT(shown.out, HasSubstr("pod.research {")) << shown;
    EXPECT_EQ(box_.Run({"state", "list", "--state", errored}).out, "pod.research\n");
    const RunResult one = box_.Run({"state", "show", "pod.research", "--state", errored});
    EXPECT_EQ(one.out, shown.out);
    const RunResult plan = box_.Run({"plan", "--state", errored});
    EXPECT_EQ(plan.code, 1) << plan;
    EXPECT_THAT(plan.err, AllOf(HasSubstr("could not save, and not a state"),
                                HasSubstr("`podctl show " + errored + "`")))
        << plan;
  }
  void ExpectOneNodeAndAnEmptyPlan() {
    EXPECT_EQ(box_.Calls("nodes.create"), 1) << ToJson(box_.Requests());
    const RunResult plan = box_.Run({"plan", "--detailed-exitcode"});
    EXPECT_EQ(plan.code, 0) << plan;
    EXPECT_FALSE(LockStatus()["locked"].AsBool());
  }

  Sandbox box_;
};

TEST_F(BucketStateTest, FromNoBucketToPods) {
  Begin("0.1s", false);
  const RunResult none = box_.Run({"plan"});
  EXPECT_EQ(none.code, 1) << none;
  EXPECT_THAT(none.err, AllOf(HasSubstr("The specified bucket does not exist"),
                              HasSubstr("podctl state init --location")));
  const RunResult made = box_.Run({"state", "init", "--location", "EU"});
  EXPECT_EQ(made.code, 0) << made;
  EXPECT_THAT(made.out, HasSubstr("in EU"));
  const Value bucket = box_.Http("GET", "/storage/v1/b/my-project-podctl").body;
  EXPECT_TRUE(bucket["versioning"]["enabled"].AsBool()) << ToJson(bucket);
  EXPECT_TRUE(bucket["iamConfiguration"]["uniformBucketLevelAccess"]["enabled"].AsBool());
  EXPECT_THAT(box_.Run({"state", "init"}).out, HasSubstr("is there already"));

  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 2);
  EXPECT_THAT(Objects(), IsEmpty()) << "a plan writes nothing";
  box_.Apply();
  EXPECT_FALSE(box_.Exists("podctl.state.json"));
  ExpectOneNodeAndAnEmptyPlan();
  EXPECT_EQ(box_.Run({"state", "list", "--state", kState}).out, "pod.research\n");
  EXPECT_THAT(box_.Run({"state", "list", "--var", "env=prod"}).out, IsEmpty());

  const RunResult destroyed = box_.Run({"destroy", "--auto-approve"});
  EXPECT_EQ(destroyed.code, 0) << destroyed;
  EXPECT_THAT(box_.Run({"state", "history"}).out, HasSubstr("present"));
}

TEST_F(BucketStateTest, OfManyOneWorksAndTheOthersSayWhoDoes) {
  Begin("8s");  // longer than they take to start
  box_.SetVariable("GITHUB_ACTIONS", "true");
  box_.SetVariable("GITHUB_RUN_ID", "7");
  box_.SetVariable("GITHUB_SERVER_URL", "https://github.com");
  box_.SetVariable("GITHUB_REPOSITORY", "o/r");
  std::vector<std::unique_ptr<Process>> runs;
  for (int i = 0; i < kRuns; ++i) runs.push_back(box_.Start({"apply", "--auto-approve"}));
  int winners = 0;
  for (const auto& run : runs) {
    const RunResult result = run->Result();
    if (result.code == 0) {
      ++winners;
      continue;
    }
    EXPECT_EQ(result.code, 3) << result;
    EXPECT_THAT(result.err, AllOf(HasSubstr("Error acquiring the state lock"),
                                  HasSubstr(std::string("Path:      ") + kState + "\n"),
                                  HasSubstr("CI run:    https://github.com/o/r/actions/runs/7\n")))
        << result;
  }
  EXPECT_EQ(winners, 1);
  ExpectOneNodeAndAnEmptyPlan();
}

TEST_F(BucketStateTest, AKilledRunIsTakenOverAndItsNodeIsTakenUp) {
  Begin("2s");
  auto killed = Holder();
  const Value held = LockStatus();
  EXPECT_TRUE(held["locked"].AsBool()) << ToJson(held);
  EXPECT_EQ(held["lock"]["pid"].AsInt(), killed->pid());
  killed->Signal(SIGKILL);
  killed->Wait();
  const RunResult next = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(next.code, 0) << next;
  EXPECT_THAT(next.err, AllOf(HasSubstr("took over the state lock of "),
                              HasSubstr("process " + std::to_string(killed->pid())),
                              HasSubstr("ended without releasing it")))
      << next;
  ExpectOneNodeAndAnEmptyPlan();
}

TEST_F(BucketStateTest, WhatADeadRunLeftIsUnlockedByAskingForIt) {
  Begin("2s");
  EXPECT_EQ(box_.Run({"unlock"}).code, 1);
  EXPECT_THAT(box_.Run({"unlock", "--if-stale"}).out, HasSubstr("Nobody holds the state"));
  auto killed = Holder();
  killed->Signal(SIGKILL);
  killed->Wait();
  const RunResult unlocked = box_.Run({"unlock", "--if-stale"});
  EXPECT_EQ(unlocked.code, 0) << unlocked;
  EXPECT_THAT(unlocked.out, HasSubstr("The state has been unlocked: took over"));
  EXPECT_FALSE(LockStatus()["locked"].AsBool());
}

// It sleeps while the lock is removed by hand and another run finishes its work.
TEST_F(BucketStateTest, AStoppedRunThatWasOvertakenLosesNothingAndDestroysNothing) {
  Begin("3s");
  auto sleeper = Holder();
  sleeper->Signal(SIGSTOP);
  const RunResult alive = box_.Run({"unlock", LockStatus()["lock"]["id"].AsString()});
  EXPECT_EQ(alive.code, 3) << alive;
  EXPECT_EQ(box_.Http("DELETE", std::string(kObjects) + "/dev%2Flock.json").status, 204);
  box_.Apply();
  const std::string stored = box_.Run({"state", "pull"}).out;
  sleeper->Signal(SIGCONT);
  const RunResult woken = sleeper->Result();
  EXPECT_EQ(woken.code, 3) << woken;
  const std::string before = "is written to ";
  const auto at = woken.err.find(before + kState + "/errored-");
  ASSERT_NE(at, std::string::npos) << woken;
  const std::string rest = woken.err.substr(at + before.size());
  const std::string errored = rest.substr(0, rest.find(' '));
  EXPECT_THAT(woken.err, AllOf(HasSubstr("the state could not be saved"),
                               HasSubstr("(`podctl show " + errored + "`)"),
                               HasSubstr("Run `podctl plan`"), HasSubstr("`podctl import`")))
      << woken;
  EXPECT_LT(woken.err.find("podctl plan"), woken.err.find("--force")) << woken;
  EXPECT_EQ(box_.Run({"state", "pull"}).out, stored);
  ExpectOneNodeAndAnEmptyPlan();
  const RunResult old = box_.Run({"state", "push", errored});
  EXPECT_EQ(old.code, 1) << old << ToJson(Value::List(Objects().begin(), Objects().end()));
  ExpectReadable(errored);
}

// By a slip with `gcloud storage cp`. What it tells would be destroyed.
TEST_F(BucketStateTest, ASnapshotOfAnotherEnvironmentIsNotCarriedOut) {
  Begin("0.1s");
  box_.Apply();
  WriteSpec("  other: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0}\n");
  const RunResult prod = box_.Run({"apply", "--auto-approve", "--var", "env=prod"});
  ASSERT_EQ(prod.code, 0) << prod;
  box_.Http("POST", "/emulator/clock", R"({"advance": "2s"})");  // one write a second to an object
  const RunResult copied = box_.RunProgram(
      {"sh", "-c",
       "curl -sf " + box_.url() + kObjects +
           "/dev%2Fstate.json?alt=media >copy && curl -sf -X POST "
           "--data-binary @copy -H 'Content-Type: application/json' '" +
           box_.url() +
           "/upload/storage/v1/b/my-project-podctl/o?uploadType=media&name=prod/state.json'"});
  ASSERT_EQ(copied.code, 0) << copied;
  WriteSpec("  {}\n");
  box_.WriteFile("podctl.yaml", Replace(box_.ReadFile("podctl.yaml"), "pods:\n  {}", "pods: {}"));
  const RunResult run = box_.Run({"apply", "--auto-approve", "--var", "env=prod"});
  EXPECT_EQ(run.code, 1) << run;
  EXPECT_THAT(run.err, AllOf(HasSubstr("it is the snapshot of another state"),
                             HasSubstr("Bring its own version back (`gcloud storage ls -a`")))
      << run;
  EXPECT_EQ(box_.Calls("nodes.delete"), 0);
}

TEST_F(BucketStateTest, LostAnswersDoNoHarm) {
  Begin("0.1s");
  box_.OrderFault(R"({"call": "storage.objects.insert", "drop": "after", "times": 3})");
  const RunResult run = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_EQ(box_.FaultsLeft(), 0);
  ExpectOneNodeAndAnEmptyPlan();
}

TEST_F(BucketStateTest, WhoMayOnlyReadPlansAndIsToldBeforeAnythingIsMade) {
  Begin("0.1s");
  box_.OrderFault(R"({"call": "storage.objects.insert", "status": 403, "times": 1000,
                      "message": "denied"})");
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 2);
  const RunResult run = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(run.code, 1) << run;
  EXPECT_THAT(run.err, HasSubstr("roles/storage.objectUser")) << run;
  EXPECT_EQ(box_.Calls("nodes.create"), 0);
}

TEST_F(BucketStateTest, ASavedPlanKnowsItsBucket) {
  Begin("0.1s");
  ASSERT_EQ(box_.Run({"plan", "--out", "saved.plan"}).code, 0);
  const RunResult run = box_.Run({"apply", "saved.plan"});
  EXPECT_EQ(run.code, 0) << run;
  ExpectOneNodeAndAnEmptyPlan();
  const RunResult stale = box_.Run({"apply", "saved.plan"});
  EXPECT_EQ(stale.code, 4) << stale;
}

TEST_F(BucketStateTest, PlacesThatAreNoneAreToldOfWithTheirLine) {
  Begin("0.1s", false);
  for (const char* state :
       {"s3://bucket/x", "gs://", "gs://Bad_Bucket!/x", "gs://b2/x", "gs://bucket/../x",
        "gs://bucket//x", "gs://bucket/x/./y", "gs:/bucket/x", "etcd://h/a/../b", "etcd:/h/a"}) {
    box_.WriteSpec("  research: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0}\n");
    box_.WriteFile("podctl.yaml",
                   "state: \"" + std::string(state) + "\"\n" + box_.ReadFile("podctl.yaml"));
    const RunResult run = box_.Run({"validate"});
    EXPECT_EQ(run.code, 1) << state << run;
    EXPECT_THAT(run.out + run.err, HasSubstr("podctl.yaml:1:8")) << state << run;
    box_.WriteSpec("  research: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0}\n");
    const RunResult flag = box_.Run({"plan", "--state", state});
    EXPECT_EQ(flag.code, 1) << state << flag;
    EXPECT_THAT(flag.err, HasSubstr("--state: ")) << state << flag;
  }
}

// The lock there could be neither renewed nor removed. With and without the right to read what the
// bucket says of itself, which roles/storage.objectUser lacks.
TEST_F(BucketStateTest, ABucketThatKeepsItsObjectsIsRefusedBeforeAnythingIsMade) {
  Begin("0.1s", false);
  const Reply made = box_.Http("POST", "/storage/v1/b?project=my-project",
                               R"({"name": "my-project-podctl",
                                   "retentionPolicy": {"retentionPeriod": "86400"}})");
  ASSERT_EQ(made.status, 200) << ToJson(made.body);
  for (const Arguments& words :
       {Arguments{"apply", "--auto-approve"}, Arguments{"state", "init"}}) {
    const RunResult run = box_.Run(words);
    EXPECT_EQ(run.code, 1) << run;
    EXPECT_THAT(run.err, AllOf(HasSubstr("keeps every object for 1 day (its retention policy)"),
                               HasSubstr("--clear-retention-period")))
        << run;
  }
  EXPECT_THAT(Objects(), IsEmpty());
  box_.OrderFault(R"({"call": "storage.buckets.get", "status": 403, "times": 1000,
                      "message": "denied"})");
  const RunResult blind = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(blind.code, 1) << blind;
  EXPECT_THAT(blind.err,
              AllOf(HasSubstr("can be made and not renewed"), HasSubstr("retention policy")))
      << blind;
  EXPECT_EQ(box_.Calls("nodes.create"), 0);
}

TEST_F(BucketStateTest, ALockThatMayNotBeRemovedIsWarnedOf) {
  Begin("0.1s");
  box_.OrderFault(R"({"call": "storage.objects.delete", "path": "lock.json", "status": 403,
                      "times": 1000, "message": "no storage.objects.delete access"})");
  const RunResult run = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_THAT(run.err, AllOf(HasSubstr("Warning: the lock of the state gs://my-project-podctl/dev "
                                       "could not be removed"),
                             HasSubstr("to remove an object takes storage.objects.delete"),
                             HasSubstr("--role=roles/storage.objectUser")))
      << run;
}

TEST_F(BucketStateTest, AnotherToolsLockIsToldOfTheSameByAll) {
  Begin("0.1s");
  const std::string url =
      box_.url() + "/upload/storage/v1/b/my-project-podctl/o?uploadType=media&name=dev/lock.json";
  const RunResult put = box_.RunProgram({"curl", "-sf", "-X", "POST", "--data-binary",
                                         R"({"ID": "7", "Operation": "OperationTypePlan"})", "-H",
                                         "Content-Type: application/json", url});
  ASSERT_EQ(put.code, 0) << put;
  for (const Arguments& words : {Arguments{"lock", "status"}, Arguments{"unlock", "--if-stale"},
                                 Arguments{"unlock", "7"}, Arguments{"apply", "--auto-approve"}}) {
    const RunResult run = box_.Run(words);
    EXPECT_EQ(run.code, 1) << words[0] << run;
    EXPECT_THAT(run.err, HasSubstr("dev/lock.json is not a lock of podctl's making")) << run;
  }
}

TEST_F(BucketStateTest, AnOutageIsToldOfWhileItIsWaitedFor) {
  Begin("0.1s");
  box_.OrderFault(R"({"path": "/storage/v1/", "status": 503, "times": 14,
                      "message": "Backend Error"})");
  const RunResult run = box_.Run({"plan", "--detailed-exitcode"});
  EXPECT_EQ(run.code, 2) << run;
  EXPECT_THAT(run.err, AllOf(HasSubstr("Trying again in "), HasSubstr("(HTTP status 503)"))) << run;
}

TEST_F(BucketStateTest, ANameThatSomebodyElseHasIsToldOf) {
  Begin("0.1s");
  box_.OrderFault(R"({"call": "storage.objects.list", "status": 403, "times": 1000,
                      "message": "denied"})");
  const RunResult run = box_.Run({"state", "init"});
  EXPECT_EQ(run.code, 1) << run;
  EXPECT_THAT(run.err, AllOf(HasSubstr("all of Google Cloud shares one set of names"),
                             HasSubstr("choose another name: `state: gs://")))
      << run;
}

}  // namespace
}  // namespace podctl::testing
