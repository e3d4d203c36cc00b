// Ctrl-C: the first writes everything down and ends within seconds, the second leaves at once, and
// the next run takes up what was under way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// "Within seconds" of the promise, with room for a busy machine.
constexpr std::chrono::seconds kSoon{10};

class InterruptTest : public ::testing::Test {
 protected:
  std::string PendingOperation() const {
    return UnderWay(box_.State(), "pod.research")["operation"].AsString();
  }
  // An apply whose create is under way and takes a minute.
  std::unique_ptr<Process> ApplyForAMinute() {
    box_.StartEmulator("none", "60s");
    box_.WriteSpec(
        "  research: {acceleratorType: v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod}\n"
        "  later: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0,\n"
        "          dependsOn: [pod.research]}\n");
    auto apply = box_.Start({"apply", "--auto-approve"});
    EXPECT_TRUE(Eventually([&] { return !PendingOperation().empty(); })) << apply->err();
    return apply;
  }
  void ExpectInterrupted(Process* apply) {
    EXPECT_EQ(apply->Wait(kSoon), 130) << apply->out() << apply->err();
    EXPECT_THAT(apply->err(), AllOf(HasSubstr("Interrupted."), HasSubstr("pod.research"),
                                    HasSubstr("takes it up")));
    EXPECT_FALSE(PendingOperation().empty()) << box_.ReadFile("podctl.state.json");
    const RunResult list = box_.Run({"state", "list"});
    EXPECT_EQ(list.code, 0) << list;
  }

  Sandbox box_;
};

class SignalTest : public InterruptTest, public ::testing::WithParamInterface<int> {};

TEST_P(SignalTest, DuringACreateEndsWithinSecondsAndTheNextRunTakesItUp) {
  auto apply = ApplyForAMinute();
  apply->Signal(GetParam());
  ExpectInterrupted(apply.get());
  EXPECT_EQ(box_.Calls("nodes.create"), 1) << "nothing new is begun";

  // The lock is free: the next run waits for the same operation, and is interrupted as well.
  auto next = box_.Start({"apply", "--auto-approve"});
  ASSERT_TRUE(next->WaitForErr("pod.research: Creating...")) << next->err();
  next->Signal(GetParam());
  ExpectInterrupted(next.get());
  EXPECT_EQ(box_.Calls("nodes.create"), 1) << ToJson(box_.Requests());
}
INSTANTIATE_TEST_SUITE_P(Signals, SignalTest, ::testing::Values(SIGINT, SIGTERM));

TEST_F(InterruptTest, ASecondOneLeavesAtOnceWithTheStateIntact) {
  box_.StartEmulator("none", "60s");
  box_.WriteSpec("  research: {acceleratorType: v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod}\n");
  // The answer to the create hangs: the first interrupt waits for it, the second does not.
  box_.OrderFault(R"({"method": "POST", "path": "/nodes", "delayMs": 60000})");
  auto apply = box_.Start({"apply", "--auto-approve"});
  ASSERT_TRUE(Eventually([&] { return box_.GetNode("research").status == 200; }));
  apply->Signal(SIGINT);
  apply->SignalOnceMore(SIGTERM);
  EXPECT_EQ(apply->Wait(kSoon), 130) << apply->err();
  EXPECT_EQ(UnderWay(box_.State(), "pod.research")["life"].AsString(), "creating");
  EXPECT_EQ(box_.Run({"state", "list"}).out, "pod.research\n");
}

TEST_F(InterruptTest, AnOperationThatEndedMeanwhileIsTakenUp) {
  box_.StartEmulator("none", "5s");
  box_.WriteSpec("  research: {acceleratorType: v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod}\n");
  auto apply = box_.Start({"apply", "--auto-approve"});
  ASSERT_TRUE(Eventually([&] { return !PendingOperation().empty(); })) << apply->err();
  apply->Signal(SIGINT);
  ExpectInterrupted(apply.get());
  box_.Apply();
  EXPECT_EQ(box_.Calls("nodes.create"), 1) << ToJson(box_.Requests());
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 0);
}

TEST_F(InterruptTest, DuringAStepTheStepCountsAsNotRun) {
  box_.StartEmulator();
  const std::string spec =
      "  research:\n"
      "    acceleratorType: v3-32\n"
      "    runtimeVersion: tpu-vm-tf-2.11.0-pod\n"
      "    bootstrap:\n"
      "      - name: wait\n"
      "        workers: [0]\n"
      "        run: |\n"
      "          echo begun\n"
      "          test -e ~/go || exec sleep 1234\n";
  box_.WriteSpec(spec);
  auto apply = box_.Start({"apply", "--auto-approve"});
  ASSERT_TRUE(apply->WaitForErr("begun")) << apply->err();
  apply->Signal(SIGINT);
  EXPECT_EQ(apply->Wait(kSoon), 130) << apply->out() << apply->err();
  EXPECT_THAT(apply->err(), HasSubstr("Interrupted."));
  const Value state = box_.State();
  EXPECT_EQ(state["resources"]["pod.research"]["objects"].AsList().front()["life"],
            Value("present"));
  EXPECT_TRUE(Remembered(state, "bootstrap.research.wait")["workers"].AsMap().empty())
      << ToJson(state);

  EXPECT_TRUE(Eventually([&] {
    return box_.Run({"exec", "research", "--", "! pgrep -f 'sleep 123[4]'"}).code == 0;
  })) << "the step still runs on its worker";
  EXPECT_EQ(box_.Run({"exec", "research", "--worker", "0", "--", "touch go"}).code, 0);
  const RunResult next = box_.Apply();
  EXPECT_THAT(next.out, HasSubstr("Bootstrap: 1 step run.")) << next;
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 0);
}

TEST_F(InterruptTest, AtThePromptChangesNothing) {
  box_.StartEmulator("none");
  box_.WriteSpec("  research: {acceleratorType: v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod}\n");
  auto apply = box_.RunInPty({"apply"});
  ASSERT_TRUE(apply->WaitForText("Enter a value:")) << apply->shown();
  apply->SendKeys("\x03");
  EXPECT_EQ(apply->Wait(kSoon), 130) << apply->shown();
  EXPECT_THAT(apply->shown(), HasSubstr("Nothing was changed.")) << apply->shown();
  EXPECT_EQ(box_.Requests()["mutating"].AsInt(), 0);
  EXPECT_EQ(box_.Run({"state", "list"}).out, "");
}

TEST_F(InterruptTest, OfExecLeavesNothingOnTheWorkers) {
  box_.StartEmulator();
  box_.WriteSpec("  research: {acceleratorType: v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod}\n");
  box_.Apply();
  auto exec = box_.Start({"exec", "research", "--", "echo begun; exec sleep 4321"});
  for (const char* worker : {"0", "1", "2", "3"}) {
    ASSERT_TRUE(exec->WaitForOut("research/" + std::string(worker) + " | begun")) << exec->err();
  }
  exec->Signal(SIGINT);
  EXPECT_EQ(exec->Wait(kSoon), 130) << exec->err();
  EXPECT_TRUE(Eventually([&] {
    // The brackets keep the pattern from finding the shell that runs it.
    return box_.Run({"exec", "research", "--", "! pgrep -f 'sleep 432[1]'"}).code == 0;
  })) << "the command still runs on a worker";
}

}  // namespace
}  // namespace podctl::testing
