// How jobs end, as their workers see it: what catches TERM, what is deaf to it, podctl gone in the
// middle; and that one job never ends another unasked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <vector>

#include "providers/base/text.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPod =
    "  research: {acceleratorType: v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod}\n";

class RunEndTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    box_ = new Sandbox;
    box_->StartEmulator("sshd", "0s");
    box_->WriteSpec(kPod);
    box_->Apply();
  }
  static void TearDownTestSuite() { delete box_; }

  static void Jobs(const std::string& jobs) {
    box_->WriteSpec(kPod + std::string("jobs:\n") + jobs);
  }
  static RunResult Exec(const std::string& command) {
    return box_->Run({"exec", "research", "--", command});
  }
  // On no worker, by what is in their process tables.
  static bool IsGone(const std::string& what) {
    // Not itself: what it looks for does not read so there.
    return Exec("! grep -ls '[" + what.substr(0, 1) + "]" + what.substr(1) +
                "' /proc/[0-9]*/cmdline")
               .code == 0;
  }
  static bool HasTpus() { return Exec("test -e /dev/accel3").code == 0; }

  static inline Sandbox* box_ = nullptr;
};

// As JAX does: it hears of TERM, and takes its time.
TEST_F(RunEndTest, ARestartBeginsWhenAllHaveEnded) {
  box_->WriteFile("train.sh",
                  "echo begin $(date +%s) >>~/times\n"
                  "trap 'sleep 3; echo end $(date +%s) >>~/times; exit 0' TERM\n"
                  "[ $(grep -c begin ~/times) = 1 ] || exit 0\n"
                  "case $(hostname) in *-w-2) sleep 1; kill -KILL $$ ;; esac\n"
                  "while :; do sleep 0.2; done\n");
  Jobs(
      "  train:\n    pod: research\n    command: [sh, train.sh, mark-restart]\n"
      "    sync: [{source: train.sh, destination: ~/train.sh}]\n"
      "    restart: {attempts: 1, on: [killed]}\n");
  const RunResult run = box_->Run({"run", "train"});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_THAT(run.err, AllOf(HasSubstr("3 workers (0-1,3) were ended because of it\n"),
                             HasSubstr("Restart 1 of 1, on killed: ")))
      << run;
  // The second start is after the last end, on every worker.
  const RunResult times = Exec("cut -d' ' -f1 ~/times | paste -sd' ' -");
  EXPECT_EQ(CountLines(times.out, "research/", "| begin end begin"), 3) << times;
  EXPECT_TRUE(IsGone("mark-restart"));
}

TEST_F(RunEndTest, WhatIsDeafIsKilledByTheWorkerWhenNobodyWaitsAnyMore) {
  Jobs(
      "  deaf:\n    pod: research\n    terminationGracePeriod: 8s\n"
      "    command: [\"trap '' TERM; setsid sleep 3000.25 & echo up; while :; do sleep 0.2; "
      "done\"]\n");
  const auto run = box_->Start({"run", "deaf"});
  ASSERT_TRUE(run->WaitForErr("Started on 4 workers."));
  ASSERT_TRUE(Eventually([&] { return CountLines(run->out(), "research/", "| up") == 4; }));
  run->Signal(SIGINT);
  const RunResult result = run->Result();
  EXPECT_EQ(result.code, 130) << result;
  EXPECT_THAT(
      result.err,
      ContainsRegex("4 workers \\(0-3\\) were asked to end, still at it \\(KILL in [0-9]s\\)\n"))
      << result;
  EXPECT_THAT(result.err, Not(HasSubstr("Left out"))) << "it has shown all; " << result;

  // Who comes meanwhile is told what is waited for, and an end of that is told, too.
  const auto next = box_->Start({"run", "deaf"});
  EXPECT_TRUE(
      next->WaitForErr("Waiting until nothing is left of an earlier run of deaf; that may "
                       "take 8s.\n"))
      << next->err();
  next->Signal(SIGINT);
  const RunResult stopped = next->Result();
  EXPECT_EQ(stopped.code, 130) << stopped;
  EXPECT_THAT(stopped.err, HasSubstr("Interrupted: nothing was started.\n")) << stopped;
  EXPECT_TRUE(Eventually([] { return IsGone("3000.25"); }));
}

// Somebody ended it, and did so on purpose.
TEST_F(RunEndTest, WhatWasInterruptedIsListedAsKilledAndByWhom) {
  Jobs(
      "  lone:\n    pod: research\n    terminationGracePeriod: 1s\n"
      "    command: [\"echo up; while :; do sleep 0.2; done\"]\n");
  const auto run = box_->Start({"run", "lone"});
  ASSERT_TRUE(run->WaitForErr("Started on 4 workers."));
  ASSERT_TRUE(Eventually([&] { return CountLines(run->out(), "research/", "| up") == 4; }));
  run->Signal(SIGINT);
  const RunResult result = run->Result();
  EXPECT_EQ(result.code, 130) << result;
  EXPECT_THAT(result.err, Not(HasSubstr("The job was ended by"))) << "whoever did it knows\n"
                                                                  << result;
  const RunResult jobs = box_->Run({"jobs", "research"});
  EXPECT_THAT(jobs.out, AllOf(HasSubstr("killed"), HasSubstr("143"))) << jobs;
  EXPECT_THAT(box_->Run({"jobs", "research", "--json"}).out,
              HasSubstr(": podctl run lone, interrupted"));
  const RunResult logs = box_->Run({"logs", "research", "lone"});
  EXPECT_THAT(logs.err, HasSubstr("lone was ended by ")) << logs;
}

TEST_F(RunEndTest, NothingIsLeftWhenPodctlIsKilled) {
  Jobs(
      "  lone:\n    pod: research\n    terminationGracePeriod: 1s\n"
      "    command: [\"trap 'echo saving; echo saved >~/saved' TERM; echo up; while :; do sleep "
      "3000.5; done\"]\n");
  const auto run = box_->Start({"run", "lone"});
  ASSERT_TRUE(run->WaitForErr("Started on 4 workers."));
  ASSERT_TRUE(Eventually([&] { return CountLines(run->out(), "research/", "| up") == 4; }));
  run->Signal(SIGKILL);
  EXPECT_TRUE(Eventually([] { return Exec("cat ~/saved").code == 0; }))
      << "what it writes then ends nobody";
  EXPECT_TRUE(Eventually([] { return IsGone("3000.5"); }));
  EXPECT_TRUE(Eventually([] {
    const std::string jobs = box_->Run({"jobs", "research"}).out;
    return CountLines(jobs, "lone", "running") + CountLines(jobs, "lone", "ending") == 0;
  }));
}

TEST_F(RunEndTest, AnExecIsEndedToItsEndToo) {
  const auto exec = box_->Start(
      {"exec", "research", "--", "trap '' TERM; echo up; while :; do sleep 3000.75; done"});
  ASSERT_TRUE(Eventually([&] { return CountLines(exec->out(), "research/", "| up") == 4; }));
  exec->Signal(SIGINT);
  const RunResult result = exec->Result();
  EXPECT_EQ(result.code, 130);
  EXPECT_THAT(result.err, HasSubstr("4 workers (0-3): asked to end, still at it")) << result;
  EXPECT_TRUE(Eventually([] { return IsGone("3000.75"); }));
}

// One trial per chip.
TEST_F(RunEndTest, TrialsOnOtherChipsNeverMeetAndOthersAreAskedFor) {
  if (!HasTpus()) GTEST_SKIP() << "workers here have no TPU of their own";
  std::string jobs;
  for (int chip = 0; chip < 4; ++chip) {
    jobs += "  trial" + std::to_string(chip) + ":\n    pod: research\n    devices: [" +
            std::to_string(2 * chip) +
            "]\n    command: [\"exec 3</dev/accel$TPU_VISIBLE_CHIPS; echo holds; sleep 3001.5\"]\n";
  }
  Jobs(jobs + "  whole:\n    pod: research\n    command: [\"echo ran\"]\n");
  std::vector<std::unique_ptr<Process>> trials;
  for (int chip = 0; chip < 4; ++chip) {
    trials.push_back(box_->Start({"run", "trial" + std::to_string(chip)}));
  }
  for (const auto& trial : trials) {
    ASSERT_TRUE(Eventually([&] { return CountLines(trial->out(), "research/", "| holds") == 4; }))
        << trial->err();
  }
  const RunResult refused = box_->Run({"run", "whole"});
  EXPECT_EQ(refused.code, 1) << refused;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("the TPU is held by the job trial"),
                                 HasSubstr("--drain-jobs"), Not(HasSubstr("ran"))))
      << refused;
  EXPECT_THAT(box_->Run({"run", "trial1"}).err,
              HasSubstr("job trial1 runs already on research/[0-3], started by "));
  for (const auto& trial : trials) EXPECT_FALSE(trial->Wait(std::chrono::seconds(0)));
  const RunResult whole = box_->Run({"run", "whole", "--drain-jobs"});
  EXPECT_EQ(whole.code, 0) << whole;
  EXPECT_THAT(whole.err, HasSubstr("research/[0-3]: ended the job trial0.\n")) << whole;
  for (const auto& trial : trials) {
    const RunResult ended = trial->Result();
    EXPECT_EQ(ended.code, 143) << ended;
    EXPECT_THAT(ended.err, HasSubstr(": podctl run whole --drain-jobs.\n")) << ended;
    EXPECT_THAT(ended.err, HasSubstr("4 workers (0-3) ended: killed by TERM (exit code 143)\n"))
        << ended;
    EXPECT_THAT(ended.err, Not(HasSubstr("failed"))) << ended;
  }
}

// It is kept in that user's home, where nobody else can list or kill it, and it may have the name
// of one of ours that has ended long ago.
TEST_F(RunEndTest, AnotherUsersJobIsNobodyElsesToEnd) {
  if (!HasTpus()) GTEST_SKIP() << "workers here have no TPU of their own";
  Jobs("  train:\n    pod: research\n    command: [\"echo ran\"]\n");
  EXPECT_EQ(box_->Run({"run", "train"}).code, 0);
  const std::string theirs =
      "mkdir -p /home/mate && chown nobody /home/mate && export PODCTL_JOB=train && "
      "export PODCTL_RUN_MARK=/home/mate/.podctl/run/train#1 && "
      "{ setsid sleep 3003.5 3</dev/accel0 >/dev/null 2>&1 & }";
  const RunResult begun = box_->Run({"exec", "research", "--worker", "1", "--", theirs});
  ASSERT_EQ(begun.code, 0) << begun;
  for (const bool drain_jobs : {false, true}) {
    std::vector<std::string> line = {"run", "train"};
    if (drain_jobs) line.emplace_back("--drain-jobs");
    const RunResult refused = box_->Run(line);
    EXPECT_EQ(refused.code, 1) << refused;
    EXPECT_THAT(refused.err, HasSubstr("research/1: the TPU is held by the job train of nobody"))
        << refused;
    EXPECT_THAT(refused.out, Not(HasSubstr("ran"))) << refused;
  }
  EXPECT_FALSE(IsGone("3003.5"));
  EXPECT_EQ(box_->Run({"drain", "research", "--jobs", "--auto-approve"}).code, 0);
  EXPECT_EQ(box_->Run({"run", "train"}).code, 0);
}

TEST_F(RunEndTest, AnAttachedJobIsListedAndKilledAndItsOwnerIsTold) {
  Jobs(
      "  train:\n    pod: research\n    command: [\"echo up; sleep 3002.5\"]\n"
      "    restart: {attempts: 3, on: [killed, failure]}\n");
  const auto run = box_->Start({"run", "train"});
  ASSERT_TRUE(Eventually([&] { return CountLines(run->out(), "research/", "| up") == 4; }));
  EXPECT_THAT(box_->Run({"jobs", "research"}).out, HasSubstr("train"));
  const RunResult again = box_->Run({"exec", "research", "--detach", "train", "--", "true"});
  EXPECT_THAT(again.err, HasSubstr("another command named train runs already on")) << again;
  const RunResult kill = box_->Run({"kill", "research", "train"});
  EXPECT_EQ(kill.code, 0) << kill;
  const RunResult ended = run->Result();
  EXPECT_EQ(ended.code, 143) << ended;
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr("The job was ended by "),
                    HasSubstr(": podctl kill research train.\n"), Not(HasSubstr("Restart"))))
      << ended;
  EXPECT_THAT(box_->Run({"logs", "research", "train"}).out,
              ::testing::ContainsRegex("podctl: [-0-9]+T[0-9:]+Z ended by "));
}

}  // namespace
}  // namespace podctl::testing
