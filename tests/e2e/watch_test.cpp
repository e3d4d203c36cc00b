// Spot pods that are taken back while `podctl watch` looks on, and zones that are sold out: the pod
// comes back with its bootstrap and under its address, whatever ends podctl meanwhile, and the
// state tells the story.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kQueue = "/v2/projects/my-project/locations/europe-west4-a/queuedResources";
constexpr const char* kPod =
    "  research:\n"
    "    acceleratorType: v3-32\n"
    "    runtimeVersion: tpu-vm-tf-2.11.0-pod\n"
    "    networkConfig: {enableExternalIps: true}\n"
    "    onPreemption: recreate\n"
    "    bootstrap: [{name: mark, run: 'echo marked > ~/mark'}]\n";

class WatchTest : public ::testing::Test {
 protected:
  // A spot pod that lives and has had its bootstrap.
  void Begin(const std::string& spot) {
    box_.StartEmulator("light", "0.3s");
    box_.WriteSpec(std::string(kPod) + "    " + spot + "\n");
    box_.Apply();
    uid_ = Node()["id"].AsString();
    ASSERT_NE(uid_, "");
  }
  Value Node() { return box_.GetNode("research").body; }
  void Preempt() { ASSERT_EQ(box_.Http("POST", "/emulator/nodes/research:preempt").status, 200); }
  std::unique_ptr<Process> StartWatch() { return box_.Start({"watch", "--interval", "1s"}); }
  Value Record() const { return box_.State()["resources"]["pod.research"]; }
  Value Current() const { return Record()["objects"].AsList().front(); }
  Value Pending() const { return UnderWay(box_.State(), "pod.research"); }

  // It is another node under the same name and address, bootstrapped, and nothing is left to do.
  void ExpectBack() {
    EXPECT_EQ(Node()["state"].AsString(), "READY");
    EXPECT_NE(Node()["id"].AsString(), uid_);
    EXPECT_EQ(Current()["uid"], Node()["id"]);
    EXPECT_EQ(Current()["locator"], Value("research"));
    const RunResult plan = box_.Run({"plan", "--detailed-exitcode"});
    EXPECT_EQ(plan.code, 0) << plan;
    const RunResult marks = box_.Run({"exec", "research", "--gather", "--", "cat mark"});
    EXPECT_THAT(marks.out, AllOf(HasSubstr("research/[0-3]"), HasSubstr("marked"))) << marks;
  }
  void ExpectStory(const std::string& because) {
    EXPECT_EQ(Record()["recovered"]["because"], Value(because)) << ToJson(Record()["recovered"]);
    EXPECT_EQ(Record()["recovered"]["times"], Value(1));
    EXPECT_NE(Record()["recovered"]["done"], Value(""));
    EXPECT_THAT(box_.Run({"show"}).out,
                AllOf(HasSubstr("found " + because + " at 20"), HasSubstr("made anew by 20")));
  }
  static void EndBySignal(Process& watch) {
    watch.Signal(SIGINT);
    EXPECT_EQ(watch.Wait(std::chrono::seconds(20)), 130) << watch.out() << watch.err();
  }

  std::string uid_;
  Sandbox box_;
};

TEST_F(WatchTest, APreemptedSpotPodComesBackAndTheStateTellsTheStory) {
  Begin("schedulingConfig: {spot: true}");
  auto watch = StartWatch();
  ASSERT_TRUE(watch->WaitForOut("made anew when preempted: pod.research; a look every 1s"))
      << watch->err();
  Preempt();
  ASSERT_TRUE(watch->WaitForOut("done: 1 pod made anew, 1 step run")) << watch->out();
  EXPECT_THAT(watch->out(), AllOf(HasSubstr("Z pod.research: was found PREEMPTED at 20"),
                                  HasSubstr(": it is made anew\n")));
  EndBySignal(*watch);
  EXPECT_THAT(watch->out(), HasSubstr("interrupted: the state is saved"));
  EXPECT_EQ(watch->err(), "");
  ExpectBack();
  ExpectStory("PREEMPTED");
  EXPECT_THAT(box_.Run({"state", "history"}).out, HasSubstr("research: "));
}

// The round that asks for the pod is over while it waits; whether capacity is there within the same
// round or is found by a later one, the end is told in the same words.
TEST_F(WatchTest, AQueuedSpotPodComesBackFromANewRequest) {
  Begin("queuedResource: {spot: true}");
  box_.Http("POST", "/emulator/capacity", R"({"v3-32": 0})");
  auto watch = StartWatch();
  Preempt();
  ASSERT_TRUE(watch->WaitForOut("pod.research waits in the queue")) << watch->out();
  box_.Http("POST", "/emulator/capacity", R"({"v3-32": 1})");
  ASSERT_TRUE(watch->WaitForOut("done: 1 pod made anew, ")) << watch->out();
  EXPECT_THAT(watch->out(), Not(HasSubstr("done: 1 step")));
  EndBySignal(*watch);
  ExpectBack();
  EXPECT_EQ(box_.Http("GET", std::string(kQueue) + "/research").body["state"]["state"],
            Value("ACTIVE"));
  EXPECT_EQ(box_.Calls("queuedResources.create"), 2);
}

// As after an apply that makes it.
TEST_F(WatchTest, TheJobsOfAPodThatIsMadeAnewAreStarted) {
  box_.StartEmulator("light", "0.3s");
  box_.WriteSpec(std::string(kPod) +
                 "    schedulingConfig: {spot: true}\n"
                 "jobs:\n  serve:\n    pod: research\n    launcher: shell\n    autostart: true\n"
                 "    command: [\"echo up; exec sleep 1000\"]\n");
  box_.Apply();
  uid_ = Node()["id"].AsString();
  Preempt();
  const RunResult watch = box_.Run({"watch", "--once"});
  EXPECT_EQ(watch.code, 0) << watch;
  EXPECT_THAT(watch.out, HasSubstr("Z Job serve started on pod.research. Watch it with: podctl "
                                   "logs research serve --follow\n"))
      << watch;
  EXPECT_EQ(CountLines(box_.Run({"logs", "research", "serve"}).out, "research/", "| up"), 4);
  const RunResult again = box_.Run({"watch", "--once", "--detailed-exitcode"});
  EXPECT_EQ(again.code, 0) << again;
  ExpectBack();
}

// At each stage of the recreation: while the old node is deleted, while the new one is made, and
// while the bootstrap runs.
class KilledWatchTest : public WatchTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(KilledWatchTest, TheNextWatchGoesOn) {
  Begin("schedulingConfig: {spot: true}");
  box_.WriteSpec(Replace(kPod, "echo marked", "sleep 1; echo marked") +
                 std::string("    schedulingConfig: {spot: true}\n"));
  box_.Apply();  // the step is another by now
  box_.CountAnew();
  auto killed = StartWatch();
  ASSERT_TRUE(killed->WaitForOut("made anew when preempted")) << killed->err();
  const std::string stage = GetParam();
  // It stays at the stage until it is killed: the first look is at the delete, the next at the
  // create.
  if (stage == "deleting") {
    box_.OrderFault(R"({"call": "operations.get", "nth": 1, "delay": "30s"})");
  } else if (stage == "creating") {
    box_.OrderFault(R"({"call": "operations.get", "nth": 2, "delay": "30s"})");
  }
  Preempt();
  ASSERT_TRUE(Eventually([&] {
    if (stage == "bootstrap")
      return killed->out().find("bootstrap.research.mark: Running") != std::string::npos;
    return Pending()["life"].AsString() == stage && !Pending()["operation"].AsString().empty();
  })) << killed->out();
  killed->Signal(SIGKILL);
  EXPECT_EQ(killed->Wait(), 128 + SIGKILL);
  box_.ForgetFaults();
  auto watch = StartWatch();
  ASSERT_TRUE(watch->WaitForOut("done: ")) << watch->out() << watch->err();
  EndBySignal(*watch);
  ExpectBack();
  ExpectStory("PREEMPTED");
  EXPECT_EQ(box_.Calls("nodes.create"), 1) << ToJson(box_.Requests());
}

INSTANTIATE_TEST_SUITE_P(Stages, KilledWatchTest,
                         ::testing::Values("deleting", "creating", "bootstrap"),
                         [](const auto& each) { return std::string(each.param); });

TEST_F(WatchTest, ASignalInTheMiddleEndsItWithinSecondsAndOnceGoesOn) {
  Begin("schedulingConfig: {spot: true}");
  box_.OrderFault(R"({"call": "nodes.create", "nth": 1, "delay": "30s"})");
  auto watch = StartWatch();
  Preempt();
  ASSERT_TRUE(Eventually([&] { return Pending()["life"] == Value("creating"); })) << watch->out();
  EndBySignal(*watch);
  EXPECT_THAT(watch->out(), HasSubstr("under way, and written down in the state: pod.research"));
  box_.ForgetFaults();
  const RunResult once = box_.Run({"watch", "--once", "--detailed-exitcode"});
  EXPECT_EQ(once.code, 2) << once;
  ExpectBack();
  EXPECT_EQ(box_.Run({"watch", "--once", "--detailed-exitcode"}).code, 0);
}

TEST_F(WatchTest, ABrokenSpecIsToldOnceAndWaitedFor) {
  Begin("schedulingConfig: {spot: true}");
  const std::string good = box_.ReadFile("podctl.yaml");
  auto watch = StartWatch();
  ASSERT_TRUE(watch->WaitForOut("made anew when preempted")) << watch->err();
  box_.WriteFile("podctl.yaml", good + "    runtimeVerson: x\n");
  ASSERT_TRUE(watch->WaitForErr("unknown key `runtimeVerson`"));
  Preempt();
  // A look a second: several have come and gone when this one has been made.
  std::this_thread::sleep_for(std::chrono::seconds(3));
  EXPECT_EQ(Node()["state"].AsString(), "PREEMPTED") << "it acted on a spec that is no more";
  EXPECT_EQ(CountLines(watch->err(), "Error: unknown key"), 1) << watch->err();
  box_.WriteFile("podctl.yaml", good);
  ASSERT_TRUE(watch->WaitForOut("that is over"));
  ASSERT_TRUE(watch->WaitForOut("done: 1 pod made anew"));
  EndBySignal(*watch);
}

TEST_F(WatchTest, WhileAnotherRunHoldsTheLockItWaits) {
  Begin("schedulingConfig: {spot: true}");
  box_.WriteSpec(std::string(kPod) + "    schedulingConfig: {spot: true}\n    labels: {team: x}\n");
  auto apply = box_.RunInPty({"apply"});  // holds the lock while it asks
  ASSERT_TRUE(apply->WaitForText("Enter a value"));
  auto watch = StartWatch();
  ASSERT_TRUE(watch->WaitForErr("the state lock"));
  Preempt();
  std::this_thread::sleep_for(std::chrono::seconds(3));
  EXPECT_EQ(CountLines(watch->err(), "Error"), 1) << watch->err();
  EXPECT_EQ(Node()["state"].AsString(), "PREEMPTED");
  apply->SendKeys("no\n");
  ASSERT_TRUE(watch->WaitForOut("that is over"));
  ASSERT_TRUE(watch->WaitForOut("pod.research: Replacement complete")) << watch->out();
  EndBySignal(*watch);
}

TEST_F(WatchTest, WhatElseDiffersIsToldOnceAndLeft) {
  Begin("schedulingConfig: {spot: true}");
  auto watch = StartWatch();
  ASSERT_TRUE(watch->WaitForOut("made anew when preempted")) << watch->err();
  box_.WriteSpec(std::string(kPod) + "    schedulingConfig: {spot: true}\n    labels: {team: x}\n");
  ASSERT_TRUE(watch->WaitForOut("not done by watch: pod.research: update; run `podctl apply`"));
  box_.Apply();
  EndBySignal(*watch);
  const std::string out = watch->out();
  EXPECT_EQ(out.find("not done by watch"), out.rfind("not done by watch")) << out;
  EXPECT_EQ(box_.Run({"watch", "--once", "--detailed-exitcode"}).code, 0);
}

TEST_F(WatchTest, WrongUsageEndsIt) {
  Begin("schedulingConfig: {spot: true}");
  EXPECT_EQ(box_.Run({"watch", "--target", "pod.none", "--interval", "1s"}).code, 1);
  EXPECT_EQ(box_.Run({"watch", "--interval", "0s"}).code, 1);
  EXPECT_EQ(box_.Run({"watch", "--detailed-exitcode"}).code, 1);
  EXPECT_EQ(box_.Run({"watch", "-f", "none.yaml"}).code, 1);
}

// --- Zones that are sold out.

class SoldOutTest : public ::testing::Test {
 protected:
  void Begin(const std::string& capacity) {
    box_.StartEmulator("none", "0.3s");
    SoldOut("europe-west4-a", true);
    SoldOut("us-central1-a", true);
    box_.WriteSpec(
        "  research:\n    acceleratorType: v2-32\n    runtimeVersion: tpu-vm-tf-2.11.0-pod\n    "
        "capacity: " +
        capacity + "\n");
  }
  void SoldOut(const std::string& zone, bool sold_out) {
    box_.Http("POST", "/emulator/capacity",
              "{\"" + zone + "/v2-32\": " + (sold_out ? "0" : "1") + "}");
  }
  std::size_t Nodes(const std::string& zone) {
    return box_.Http("GET", "/v2/projects/my-project/locations/" + zone + "/nodes")
        .body["nodes"]
        .AsList()
        .size();
  }
  void ExpectOneNodeIn(const std::string& zone) {
    EXPECT_EQ(Nodes(zone), 1U);
    EXPECT_EQ(Nodes("europe-west4-a") + Nodes("us-central1-a"), 1U);
    EXPECT_EQ(Remembered(box_.State(), "pod.research")["zone"], Value(zone));
    const RunResult plan = box_.Run({"plan", "--detailed-exitcode"});
    EXPECT_EQ(plan.code, 0) << plan;
  }

  Sandbox box_;
};

TEST_F(SoldOutTest, TheReasonAndTheCureAreNamed) {
  Begin("{zones: [us-central1-a]}");
  const RunResult run = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err,
              AllOf(HasSubstr("Error: pod.research: no capacity for v2-32 in europe-west4-a, "
                              "us-central1-a"),
                    HasSubstr("podctl.yaml:6:3, in pod.research"),
                    HasSubstr("`capacity.retry: 2h` waits for it.")))
      << run;
}

TEST_F(SoldOutTest, AnotherZoneIsTakenAndThePlanIsEmpty) {
  Begin("{retry: 2h, zones: [us-central1-a]}");
  SoldOut("us-central1-a", false);
  const RunResult run = box_.Apply();
  EXPECT_THAT(run.err, HasSubstr("no capacity for v2-32 in europe-west4-a: tries us-central1-a"));
  ExpectOneNodeIn("us-central1-a");
}

TEST_F(SoldOutTest, AKillAndACtrlCWhileItWaitsLoseNothing) {
  Begin("{retry: 2h, zones: [us-central1-a]}");
  auto killed = box_.Start({"apply", "--auto-approve"});
  ASSERT_TRUE(killed->WaitForErr("tries again at")) << killed->err();
  ASSERT_TRUE(Eventually([&] { return UnderWay(box_.State(), "pod.research").is_null(); }));
  killed->Signal(SIGKILL);
  killed->Wait();
  EXPECT_THAT(box_.Run({"plan"}).out, HasSubstr("because capacity for it is sought since 20"));
  auto stopped = box_.Start({"apply", "--auto-approve"});
  ASSERT_TRUE(stopped->WaitForErr("tries again at")) << stopped->err();
  stopped->Signal(SIGINT);
  EXPECT_EQ(stopped->Wait(std::chrono::seconds(10)), 130) << stopped->err();
  SoldOut("us-central1-a", false);
  box_.Apply();
  ExpectOneNodeIn("us-central1-a");
}

TEST_F(SoldOutTest, AQuotaAndARateAreOtherThings) {
  Begin("{retry: 2h}");
  box_.OrderFault(R"({"call": "nodes.create", "nth": 1, "status": 429, "message":
      "Quota limit 'TPUV2sPodPerProjectPerRegionForTPUAPI' has been exceeded. Limit: 0 in region europe-west4."})");
  const RunResult quota = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(quota.code, 1);
  EXPECT_THAT(quota.err, AllOf(HasSubstr("the quota of my-project does not allow v2-32"),
                               HasSubstr("Waiting does not help"), HasSubstr("Limit: 0 in region")))
      << quota;
  // Asked too often: asked again, and nobody is told.
  SoldOut("europe-west4-a", false);
  box_.OrderFault(R"({"call": "nodes.create", "times": 3, "status": 429, "message":
      "Quota exceeded for quota metric 'Maximum number of CreateNode requests per minute'"})");
  const RunResult rate = box_.Apply();
  EXPECT_THAT(rate.err, Not(HasSubstr("429")));
  EXPECT_THAT(rate.err, Not(HasSubstr("uota")));
  ExpectOneNodeIn("europe-west4-a");
}

}  // namespace
}  // namespace podctl::testing
