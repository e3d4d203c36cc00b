// Jobs that come back with their pod, by `podctl watch`: with the code and the attempt they had.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <memory>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"

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

class ReturnTest : public ::testing::Test {
 protected:
  void Begin(const std::string& restart) {
    box_.StartEmulator("sshd", "0.3s");
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
    box_.WriteSpec(kPod +
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
  void Preempt() { ASSERT_EQ(box_.Http("POST", "/emulator/nodes/research:preempt").status, 200); }
  std::unique_ptr<Process> StartWatch() { return box_.Start({"watch", "--interval", "1s"}); }
  Value Wanted() const {
    return box_.State()["resources"]["pod.research"]["payload"]["jobs"]["train"];
  }
  std::string Log() { return box_.Run({"logs", "research", "train", "--worker", "1"}).out; }
  void Finish() { EXPECT_EQ(box_.Run({"exec", "research", "--", "touch ~/done"}).code, 0); }
  static void EndBySignal(Process& watch) {
    watch.Signal(SIGINT);
    EXPECT_EQ(watch.Wait(std::chrono::seconds(20)), 130) << watch.out() << watch.err();
  }

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
