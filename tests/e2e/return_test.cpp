// Jobs that come back with their pod, by `podctl watch` or an apply: with the code and the attempt
// they had, for each of the reasons that a spec can name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <memory>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"
#include "tests/support/long_case.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPod =
    "  research:\n"
    "    acceleratorType: v3-32\n"
    "    runtimeVersion: tpu-vm-tf-2.11.0-pod\n"
    "    schedulingConfig: {spot: true}\n"
    "    onPreemption: recreate\n"
    "    bootstrap: [{name: mark, run: 'echo marked > ~/mark'}]\n";
// Of one host, so that it can be stopped.
constexpr const char* kSinglePod =
    "  research:\n"
    "    acceleratorType: v3-8\n"
    "    runtimeVersion: tpu-vm-tf-2.11.0\n"
    "    bootstrap: [{name: mark, run: 'echo marked > ~/mark'}]\n";

class ReturnTest : public ::testing::Test {
 protected:
  void Begin(const std::string& restart, const std::string& delay = "0.3s") {
    box_.StartEmulator("sshd", delay);
    box_.WriteFile("train.sh",
                   "echo one $PODCTL_ATTEMPT $PODCTL_RESUME $1\n"
                   "cat ~/mark\n"
                   "while [ ! -e ~/done ]; do sleep 0.1; done\n");
    Shell(
        "git init -q . && git add train.sh && "
        "git -c user.name=a -c user.email=a@b commit -qm one");
    Spec(restart);
    box_.Apply();
  }
  void Spec(const std::string& restart) {
    box_.WriteSpec(pod_ +
                   std::string("jobs:\n  train:\n    pod: research\n"
                               "    command: [bash, train.sh]\n"
                               "    terminationGracePeriod: 2s\n"
                               "    resume: gs://checkpoints/train\n"
                               "    sync: [{source: train.sh, destination: ~/train.sh}]\n"
                               "    restart: ") +
                   restart + "\n");
  }
  void Shell(const std::string& command) {
    const RunResult done = box_.RunProgram({"sh", "-c", command});
    ASSERT_EQ(done.code, 0) << done;
  }
  void Preempt() { Order("preempt"); }
  std::unique_ptr<Process> StartWatch() { return box_.Start({"watch", "--interval", "1s"}); }
  Value Wanted() const {
    return box_.State()["resources"]["pod.research"]["payload"]["jobs"]["train"];
  }
  std::string Log(const std::string& worker = "1") {
    return box_.Run({"logs", "research", "train", "--worker", worker}).out;
  }
  // Until it runs as that attempt.
  void AwaitAttempt(int attempt, const std::string& worker = "1") {
    const std::string line = "| one " + std::to_string(attempt) + " gs://checkpoints/train\n";
    ASSERT_TRUE(Eventually([&] { return Log(worker).find(line) != std::string::npos; }))
        << Log(worker);
  }
  // Who watches over it on the workers; two processes on each, once it has begun.
  std::size_t Watchers() const { return box_.OnWorkers("gang.py").size(); }
  void StartJob() {
    const RunResult run = box_.Run({"run", "train", "--detach"});
    ASSERT_EQ(run.code, 0) << run;
    AwaitAttempt(1);
    ASSERT_TRUE(Eventually([&] { return Watchers() == 8; })) << Watchers();
  }
  void Order(const std::string& verb) {
    ASSERT_EQ(box_.Http("POST", "/emulator/nodes/research:" + verb).status, 200) << verb;
  }
  void Act(int worker, const std::string& action) {
    const std::string node = "projects/my-project/locations/europe-west4-a/nodes/research";
    const std::string order = R"({"node": ")" + node + R"(", "worker": )" + std::to_string(worker) +
                              R"(, "action": ")" + action + "\"}";
    ASSERT_EQ(box_.Http("POST", "/emulator/workers", order).status, 200) << order;
  }
  // A look at workers that are not there is a long one.
  static bool Says(const Process& watch, const std::string& text) {
    return Eventually([&] { return watch.out().find(text) != std::string::npos; },
                      std::chrono::minutes(3));
  }
  // It runs as its second attempt, and comes to its end.
  void ExpectSecondAttempt(Process& watch) {
    ASSERT_TRUE(Says(watch, "job train runs again on pod.research, attempt 2 of 4"))
        << watch.out() << watch.err();
    AwaitAttempt(2);
    Finish();
    ASSERT_TRUE(Says(watch, "job train on pod.research has ended well, in attempt 2 of 4"))
        << watch.out() << watch.err();
    EndBySignal(watch);
    EXPECT_EQ(Wanted(), Value());
    EXPECT_TRUE(Eventually([&] { return Watchers() == 0; })) << Watchers();
  }
  void Finish() { EXPECT_EQ(box_.Run({"exec", "research", "--", "touch ~/done"}).code, 0); }
  static void EndBySignal(Process& watch) {
    watch.Signal(SIGINT);
    EXPECT_EQ(watch.Wait(std::chrono::seconds(20)), 130) << watch.out() << watch.err();
  }

  std::string pod_ = kPod;
  Sandbox box_;
};

TEST_F(ReturnTest, AJobIsBackWithItsPodAndItsCode) {
  Begin("{attempts: 3, on: [preemption]}");
  const RunResult run = box_.Run({"run", "train", "--detach", "--", "word"});
  ASSERT_EQ(run.code, 0) << run;
  EXPECT_EQ(Wanted()["attempt"], Value(1));
  EXPECT_EQ(Wanted()["begins"], Value()) << "it has begun";
  ASSERT_TRUE(Eventually(
      [&] { return Log().find("| one 1 gs://checkpoints/train word\n") != std::string::npos; }));
  // What is committed later is not what it was started with.
  box_.WriteFile("train.sh", "echo two\n");
  Shell("git -c user.name=a -c user.email=a@b commit -qam two");
  auto watch = StartWatch();
  ASSERT_TRUE(watch->WaitForOut("made anew when preempted")) << watch->err();
  Preempt();
  ASSERT_TRUE(
      watch->WaitForOut("job train comes back on pod.research, attempt 2 of 4: "
                        "its pod was made anew"))
      << watch->out() << watch->err();
  ASSERT_TRUE(watch->WaitForOut("job train runs again on pod.research, attempt 2 of 4"))
      << watch->out() << watch->err();
  ASSERT_TRUE(Eventually([&] {
    return Log().find("| one 2 gs://checkpoints/train word\n") != std::string::npos;
  })) << Log();
  const RunResult status = box_.Run({"status"});
  EXPECT_THAT(status.out, HasSubstr("Job train comes back with pod.research: attempt 2 since 20"));
  const RunResult jobs = box_.Run({"jobs", "research"});
  EXPECT_THAT(jobs.out, HasSubstr("train: attempt 2 of 4.\n")) << jobs;
  Finish();
  ASSERT_TRUE(watch->WaitForOut("job train on pod.research has ended well, in attempt 2 of 4"))
      << watch->out();
  EndBySignal(*watch);
  EXPECT_EQ(Wanted(), Value());
}

// At each moment of a start podctl may be killed: the next look takes it up.
TEST_F(ReturnTest, AWatchThatIsKilledLosesNoJob) {
  Begin("{attempts: 9, on: [preemption]}");
  ASSERT_EQ(box_.Run({"run", "train", "--detach"}).code, 0);
  auto watch = StartWatch();
  ASSERT_TRUE(watch->WaitForOut("made anew when preempted")) << watch->err();
  Preempt();
  ASSERT_TRUE(watch->WaitForOut("job train comes back")) << watch->out() << watch->err();
  watch->Signal(SIGKILL);
  watch->Wait(std::chrono::seconds(20));
  ASSERT_NE(Wanted(), Value());
  auto next = StartWatch();
  // What was written down a moment ago may be somebody's at work: it is believed for a while.
  const bool was_begun = Wanted()["begins"] == Value(true);
  if (was_begun) {
    ASSERT_EQ(box_.Run({"run", "train", "--detach"}).code, 0) << "who is sure need not wait";
  }
  ASSERT_TRUE(Eventually([&] {
    const RunResult jobs = box_.Run({"jobs", "research", "--json"});
    const auto document = ParseJson(jobs.out);
    return document && (*document)["jobs"].AsList().size() == 1 &&
           (*document)["jobs"].AsList()[0]["state"] == Value("running");
  })) << next->out();
  Finish();
  ASSERT_TRUE(next->WaitForOut("job train on pod.research has ended well")) << next->out();
  EndBySignal(*next);
}

TEST_F(ReturnTest, WhoFollowsItIsToldThatItComesBack) {
  Begin("{attempts: 3, on: [preemption]}");
  ASSERT_EQ(box_.Run({"run", "train", "--detach"}).code, 0);
  auto follow = box_.Start({"logs", "research", "train", "--follow"});
  ASSERT_TRUE(follow->WaitForOut("| one 1 ")) << follow->err();
  Preempt();
  EXPECT_NE(follow->Wait(std::chrono::seconds(60)), 0);
  EXPECT_THAT(follow->err(),
              HasSubstr("train comes back with pod.research, attempt 2 of 4: it waits for its "
                        "pod.\nThen it is followed with: podctl logs research train --follow\n"));
}

TEST_F(ReturnTest, WhatWasKilledDoesNotComeBack) {
  Begin("{attempts: 3, on: [preemption]}");
  ASSERT_EQ(box_.Run({"run", "train", "--detach"}).code, 0);
  Preempt();
  const RunResult jobs = box_.Run({"jobs", "research"});
  EXPECT_EQ(jobs.code, 0) << jobs;
  EXPECT_EQ(jobs.out,
            "train comes back with pod.research, attempt 2 of 4: it waits for its pod.\n");
  // While its pod is away, too.
  box_.Run({"kill", "research", "train"});
  EXPECT_EQ(Wanted(), Value());
  const RunResult watch = box_.Run({"watch", "--once"});
  EXPECT_THAT(watch.out, AllOf(HasSubstr("1 pod made anew"), Not(HasSubstr("train")))) << watch;
}

TEST_F(ReturnTest, CodeThatWasNeverCommittedIsNotReplacedByAnother) {
  Begin("{attempts: 3, on: [preemption]}");
  box_.WriteFile("train.sh", "echo never committed; sleep 1000\n");
  ASSERT_EQ(box_.Run({"run", "train", "--detach"}).code, 0);
  box_.WriteFile("train.sh", "echo something else\n");
  Preempt();
  const RunResult watch = box_.Run({"watch", "--once"});
  EXPECT_NE(watch.code, 0) << watch;
  EXPECT_THAT(watch.out, AllOf(HasSubstr("job train could not be started again on pod.research: "
                                         "what train was started with is not there any more"),
                               HasSubstr("`podctl run train --detach`")))
      << watch;
  EXPECT_NE(Wanted(), Value()) << "the next look tries again";
  EXPECT_EQ(box_.Run({"run", "train", "--detach"}).code, 0);
}

TEST_F(ReturnTest, ItsRestartsAreCountedThroughAllItsPods) {
  PODCTL_LONG_CASE(55);
  Begin("{attempts: 1, on: [preemption]}");
  StartJob();
  Preempt();
  const RunResult first = box_.Run({"watch", "--once"});
  EXPECT_THAT(first.out, HasSubstr("job train runs again on pod.research, attempt 2 of 2\n"))
      << first;
  Preempt();
  const RunResult second = box_.Run({"watch", "--once"});
  EXPECT_EQ(second.code, 0) << second;
  EXPECT_THAT(second.out,
              AllOf(HasSubstr("1 pod made anew"),
                    HasSubstr("job train is not started again: its restart is used up\n")))
      << second;
  EXPECT_EQ(Wanted(), Value());
  EXPECT_EQ(Watchers(), 0U);
}

// One machine was restarted, by whomever; on the others it still runs.
TEST_F(ReturnTest, WhatOneWorkerHasLostComesBackOnAll) {
  PODCTL_LONG_CASE(36);
  Begin("{attempts: 3, on: [connection]}");
  StartJob();
  auto watch = StartWatch();
  ASSERT_TRUE(watch->WaitForOut("made anew when preempted")) << watch->err();
  Act(2, "stop");
  ASSERT_TRUE(Eventually([&] { return Watchers() <= 6; })) << "it is still on";
  Act(2, "start");
  ASSERT_TRUE(
      Says(*watch, "job train comes back on pod.research, attempt 2 of 4: research/2 lost it"))
      << watch->out() << watch->err();
  ExpectSecondAttempt(*watch);
}

// As gcloud has it played: a worker is rebooted, and the node is READY all the while.
TEST_F(ReturnTest, AfterTheMaintenanceOfOneWorkerItComesBackOnAll) {
  PODCTL_LONG_CASE(13);
  Begin("{attempts: 3, on: [maintenance]}", "1s");
  StartJob();
  auto watch = StartWatch();
  ASSERT_TRUE(watch->WaitForOut("made anew when preempted")) << watch->err();
  const Reply event = box_.Http("POST",
                                "/v2alpha1/projects/my-project/locations/europe-west4-a/nodes/"
                                "research:simulateMaintenanceEvent",
                                R"({"workerIds": ["1"]})");
  ASSERT_EQ(event.status, 200) << ToJson(event.body);
  ASSERT_TRUE(
      Says(*watch, "job train comes back on pod.research, attempt 2 of 4: research/1 lost it"))
      << watch->out() << watch->err();
  ExpectSecondAttempt(*watch);
}

TEST_F(ReturnTest, AfterARepairOfItsNodeItComesBack) {
  PODCTL_LONG_CASE(12);
  Begin("{attempts: 3, on: [maintenance]}");
  StartJob();
  auto watch = StartWatch();
  ASSERT_TRUE(watch->WaitForOut("made anew when preempted")) << watch->err();
  Order("repair");
  ASSERT_TRUE(Eventually([&] { return Watchers() == 0; })) << "it is still on";
  EXPECT_NE(Wanted(), Value());
  Order("heal");
  ASSERT_TRUE(Says(*watch,
                   "job train comes back on pod.research, attempt 2 of 4: nothing of it runs any "
                   "more"))
      << watch->out() << watch->err();
  ExpectSecondAttempt(*watch);
}

TEST_F(ReturnTest, ForWhatTheSpecDoesNotNameItIsNotStartedAgain) {
  Begin("{attempts: 3, on: [preemption]}");
  StartJob();
  Order("repair");
  ASSERT_TRUE(Eventually([&] { return Watchers() == 0; })) << "it is still on";
  Order("heal");
  const RunResult watch = box_.Run({"watch", "--once"});
  EXPECT_THAT(watch.out, HasSubstr("job train is not started again: nothing of it runs any more, "
                                   "and its `restart.on` does not say that\n"))
      << watch;
  EXPECT_EQ(Wanted(), Value());
  EXPECT_EQ(Watchers(), 0U);
}

TEST_F(ReturnTest, AJobOfAStoppedPodComesBackWhenItIsStartedAgain) {
  for (const bool says_so : {true, false}) {
    SCOPED_TRACE(says_so);
    pod_ = kSinglePod;
    const std::string restart = says_so ? "{attempts: 3, on: [stop]}"  //
                                        : "{attempts: 3, on: [preemption]}";
    if (says_so) {
      Begin(restart);
    } else {
      Spec(restart);
    }
    ASSERT_EQ(box_.Run({"run", "train", "--detach"}).code, 0);
    AwaitAttempt(1, "0");
    pod_ = std::string(kSinglePod) + "    desiredState: STOPPED\n";
    Spec(restart);
    box_.Apply();
    EXPECT_EQ(box_.GetNode("research").body["state"], Value("STOPPED"));
    EXPECT_EQ(Watchers(), 0U);
    EXPECT_NE(Wanted(), Value()) << "it waits";
    pod_ = std::string(kSinglePod) + "    desiredState: READY\n";
    Spec(restart);
    const RunResult start = box_.Apply();
    if (says_so) {
      EXPECT_THAT(start.out + start.err,
                  AllOf(HasSubstr("job train comes back on pod.research, attempt 2 of 4: its pod "
                                  "was stopped, and is started again"),
                        HasSubstr("job train runs again on pod.research, attempt 2 of 4")))
          << start;
      AwaitAttempt(2, "0");
      EXPECT_EQ(box_.Run({"kill", "research", "train"}).code, 0);
    } else {
      EXPECT_THAT(start.out + start.err,
                  HasSubstr("job train is not started again: its pod was stopped, and is started "
                            "again, and its `restart.on` does not say that"))
          << start;
      EXPECT_EQ(Watchers(), 0U);
    }
    EXPECT_EQ(Wanted(), Value());
  }
}

TEST_F(ReturnTest, AJobOfAReplacedPodIsLeftWhereTheSpecDoesNotSayReplacement) {
  PODCTL_LONG_CASE(10);
  Begin("{attempts: 3, on: [preemption]}");
  StartJob();
  const RunResult apply = box_.Run({"apply", "--auto-approve", "--replace", "pod.research"});
  EXPECT_EQ(apply.code, 0) << apply;
  EXPECT_THAT(apply.out + apply.err,
              HasSubstr("job train is not started again: its pod was replaced, and its "
                        "`restart.on` does not say that"))
      << apply;
  EXPECT_EQ(Wanted(), Value());
  EXPECT_EQ(Watchers(), 0U);
}

TEST_F(ReturnTest, AJobOfAReplacedPodComesBackWhereTheSpecSaysSo) {
  Begin("{attempts: 3, on: [preemption, replacement]}");
  ASSERT_EQ(box_.Run({"run", "train", "--detach"}).code, 0);
  const RunResult apply = box_.Run({"apply", "--auto-approve", "--replace", "pod.research"});
  EXPECT_EQ(apply.code, 0) << apply;
  EXPECT_THAT(apply.out + apply.err,
              HasSubstr("job train runs again on pod.research, attempt 2 of 4"))
      << apply;
  ASSERT_TRUE(Eventually([&] {
    return Log().find("| one 2 gs://checkpoints/train\n") != std::string::npos;
  })) << Log();
}

}  // namespace
}  // namespace podctl::testing
