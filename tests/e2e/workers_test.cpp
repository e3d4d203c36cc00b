// Steps, shells and host keys on real sshd workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPod =
    "  research:\n"
    "    acceleratorType: v3-32\n"
    "    runtimeVersion: tpu-vm-tf-2.11.0-pod\n";
// Counts its runs in ~/runs of each worker, and fails on worker 2 as long as ~/mended is not there.
constexpr const char* kStep =
    "    bootstrap:\n"
    "      - name: setup\n"
    "        env: {GREETING: \"hello 'world'\"}\n"
    "        files: [{source: ./notes, destination: ~/notes}]\n"
    "        run: |\n"
    "          echo run >> ~/runs\n"
    "          cat ~/notes/deep/a.txt\n"
    "          echo \"$GREETING\"\n"
    "          case $(hostname) in *-w-2) test -e ~/mended || { echo broken pipe; exit 3; } ;; "
    "esac\n";

class WorkersTest : public ::testing::Test {
 protected:
  void SetUp() override { box_.StartEmulator(); }

  RunResult Exec(const std::string& command, const std::string& workers = "all") {
    return box_.Run({"exec", "research", "--worker", workers, "--", command});
  }
  // How often the step ran on workers 0 to 3, e.g. "1 1 2 1".
  std::string Runs(const std::string& file = "runs") {
    const RunResult run = Exec("cat " + file + " 2>/dev/null | wc -l");
    EXPECT_EQ(run.code, 0) << run;
    std::vector<std::string> counts(4);
    for (const std::string& line : SplitLines(run.out)) {  // "research/2 | 1"
      if (line.size() > 13) counts.at(static_cast<std::size_t>(line[9] - '0')) = line.substr(13);
    }
    return Join(counts, " ");
  }
  void ExpectNoChanges() {
    const RunResult plan = box_.Run({"plan", "--detailed-exitcode"});
    EXPECT_EQ(plan.code, 0) << plan;
  }
  void OnWorker(int worker, const std::string& action) {
    const std::string body =
        R"({"node": "projects/my-project/locations/europe-west4-a/nodes/research", "worker": )" +
        std::to_string(worker) + R"(, "action": ")" + action + "\"}";
    EXPECT_EQ(box_.Http("POST", "/emulator/workers", body).status, 200) << body;
  }

  Sandbox box_;
};

// A worker that does not answer is waited for for 20 s, which must not look like a hang.
TEST_F(WorkersTest, WhoeverAsksAllWorkersSeesWhoHasNotAnsweredYet) {
  box_.WriteSpec(kPod);
  box_.Apply();
  OnWorker(2, "stop");
  for (const Arguments& words : {Arguments{"doctor", "research"},
                                 Arguments{"exec", "research", "--detach", "a", "--", "true"}}) {
    auto asking = box_.RunInPty(words);
    EXPECT_TRUE(asking->WaitForText("research: 3/4 ok, 1 ")) << words[0] << asking->shown();
    EXPECT_TRUE(asking->WaitForText("  slowest: research/2 ")) << words[0] << asking->shown();
    asking->SendKeys("\x03");
    EXPECT_EQ(asking->Wait(), 130) << words[0] << asking->shown();
  }
}

// As for the library: a step with its files, commands with their exit codes, pinned keys.
TEST_F(WorkersTest, TheProgramSshServesAsWell) {
  box_.WriteSpec(std::string(kPod) + "    ssh: {transport: openssh}\n" + kStep);
  box_.WriteFile("notes/deep/a.txt", "from a folder\n");
  const RunResult failed = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(failed.code, 1) << failed;
  EXPECT_THAT(failed.err, HasSubstr("broken pipe")) << failed;
  EXPECT_EQ(Runs(), "1 1 1 1");
  EXPECT_EQ(Exec("touch ~/mended", "2").code, 0);
  box_.Apply();
  EXPECT_EQ(Runs(), "1 1 2 1");
  ExpectNoChanges();
  const RunResult exec = Exec("exit 255");
  EXPECT_EQ(exec.code, 255) << exec;
  EXPECT_EQ(Remembered(box_.State(), "pod.research")["ssh"]["transport"].AsString(), "openssh");

  OnWorker(1, "new-host-keys");
  const RunResult changed = Exec("hostname");
  EXPECT_EQ(changed.code, 1) << changed;
  EXPECT_THAT(changed.err, AllOf(HasSubstr("THE HOST KEY HAS CHANGED"), HasSubstr("research/1 (")))
      << changed;
}

// A step begins anew after podctl was killed, and never beside what that left running.
TEST_F(WorkersTest, AKilledRunsStepIsEndedBeforeItRunsAgain) {
  box_.WriteSpec(std::string(kPod) +
                 "    bootstrap:\n"
                 "      - name: setup\n"
                 "        run: |\n"
                 "          echo run >> ~/runs\n"
                 "          [ $(cat ~/runs | wc -l) -gt 1 ] || sleep 2000.25\n"
                 "          ! grep -ls '[2]000.25' /proc/[0-9]*/cmdline || exit 3\n");
  const auto killed = box_.Start({"apply", "--auto-approve"});
  ASSERT_TRUE(Eventually([&] { return Exec("cat ~/runs").code == 0; })) << killed->err();
  killed->Signal(SIGKILL);
  EXPECT_EQ(killed->Wait(), 128 + SIGKILL);
  // Nobody ends it; what the worker began just before may not be asleep yet.
  EXPECT_TRUE(
      Eventually([&] { return Exec("grep -ls '[2]000.25' /proc/[0-9]*/cmdline").code == 0; }));
  const RunResult apply = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(apply.code, 0) << apply;
  EXPECT_THAT(apply.out + apply.err, HasSubstr("it is ended first")) << apply;
  EXPECT_EQ(Runs(), "2 2 2 2");
  ExpectNoChanges();
}

TEST_F(WorkersTest, AStepRunsWhereItIsNeededAndNowhereElse) {
  box_.WriteSpec(std::string(kPod) + kStep);
  box_.WriteFile("notes/deep/a.txt", "from a folder\n");
  const RunResult plan = box_.Run({"plan"});
  EXPECT_THAT(plan.out, AllOf(HasSubstr("bootstrap.research.setup"),
                              HasSubstr("Bootstrap: 1 step to run on 4 workers.")))
      << plan;

  // Worker 2 fails: told with its last lines, the pod and the other three are kept.
  const RunResult failed = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(failed.code, 1) << failed;
  EXPECT_THAT(failed.err,
              AllOf(HasSubstr("Error: bootstrap.research.setup"), HasSubstr("worker 2"),
                    HasSubstr("Last lines"), HasSubstr("broken pipe"), HasSubstr("podctl.yaml:")))
      << failed;
  EXPECT_THAT(failed.err, AllOf(HasSubstr("research/0 | from a folder"),
                                HasSubstr("research/3 | hello 'world'")))
      << failed;
  EXPECT_EQ(box_.GetNode("research").body["state"].AsString(), "READY");
  EXPECT_EQ(Runs(), "1 1 1 1");

  EXPECT_EQ(Exec("touch mended", "2").code, 0);
  const RunResult two = box_.Run({"plan"});
  EXPECT_THAT(two.out, HasSubstr("Bootstrap: 1 step to run on 1 worker.")) << two;
  box_.Apply();
  EXPECT_EQ(Runs(), "1 1 2 1");
  ExpectNoChanges();

  // A changed file changes the step.
  box_.WriteFile("notes/deep/a.txt", "another text\n");
  const RunResult changed = box_.Apply();
  EXPECT_THAT(changed.err, HasSubstr("research/1 | another text")) << changed;
  EXPECT_EQ(Runs(), "2 2 3 2");
  ExpectNoChanges();

  // A pod that was made anew has nothing of all that.
  box_.Change("DELETE", std::string(kNodes) + "/research");
  const RunResult anew = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(anew.code, 1) << anew;  // worker 2 is as broken as at first
  EXPECT_EQ(Runs(), "1 1 1 1");
}

TEST_F(WorkersTest, StepsRunInTheirOrderOnTheirWorkers) {
  box_.WriteSpec(std::string(kPod) +
                 "    bootstrap:\n"
                 "      - {name: first, run: 'echo first >> ~/order'}\n"
                 "      - {name: zero, workers: [0], run: 'cat ~/order; echo zero >> ~/order'}\n");
  const RunResult applied = box_.Apply();
  EXPECT_THAT(applied.err, HasSubstr("research/0 | first")) << applied;
  EXPECT_EQ(Runs("order"), "2 1 1 1");
  const RunResult again = box_.Apply();
  EXPECT_THAT(again.out, HasSubstr("No changes.")) << again;
}

// Without the unit the flags are for what podctl starts: exec, jobs and steps.
TEST_F(WorkersTest, WhereNoRuntimeTakesTheFlagsProgramsDo) {
  const std::string pod =
      "  research:\n"
      "    acceleratorType: v3-32\n"
      "    runtimeVersion: tpu-ubuntu2204-base\n"
      "    libtpuFlags: {xla_jf_conv_full_precision: true}\n"
      "    bootstrap: [{name: look, run: echo \"took $LIBTPU_INIT_ARGS\"}]\n";
  box_.WriteSpec(pod);
  EXPECT_EQ(CountLines(box_.Apply().err, "research/", "took --xla_jf_conv_full_precision=true"), 4);
  const auto flags = [&] {
    return box_.Run({"exec", "research", "--gather", "--", "echo $LIBTPU_INIT_ARGS"}).out;
  };
  EXPECT_THAT(flags(), HasSubstr("--xla_jf_conv_full_precision=true"));
  box_.WriteSpec(Replace(pod, "true", "false"));
  const RunResult plan = box_.Run({"plan"});
  EXPECT_THAT(plan.out, HasSubstr("no tpu-runtime on this image: what podctl starts takes these"))
      << plan;
  EXPECT_THAT(plan.out, Not(HasSubstr("systemctl restart"))) << plan;
  const RunResult run = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_THAT(flags(), HasSubstr("--xla_jf_conv_full_precision=false"));
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 0);
}

// An image whose name does not tell is asked by the restart, which notes what it found.
TEST_F(WorkersTest, ARestartThatFindsNoRuntimeSaysSo) {
  const std::string pod =
      "  research:\n"
      "    acceleratorType: v3-32\n"
      "    runtimeVersion: v2-alpha\n"
      "    libtpuFlags: {xla_jf_conv_full_precision: true}\n";
  box_.WriteSpec(pod);
  box_.Apply();
  box_.WriteSpec(Replace(pod, "true", "false"));
  const RunResult run = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_EQ(
      CountLines(run.err, "research/", "no tpu-runtime here; the flags go to what podctl starts"),
      4)
      << run;
  EXPECT_THAT(box_.ReadFile("podctl.state.json"), HasSubstr("\"no-unit:"));
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 0);
  EXPECT_THAT(box_.Run({"exec", "research", "--gather", "--", "echo $LIBTPU_INIT_ARGS"}).out,
              HasSubstr("--xla_jf_conv_full_precision=false"));
}

TEST_F(WorkersTest, ARuntimeThatDoesNotComeUpIsNoSuccess) {
  const std::string pod = std::string(kPod) + "    libtpuFlags: {xla_x: 1}\n";
  box_.WriteSpec(pod);
  box_.Apply();
  OnWorker(3, "break-runtime");
  box_.WriteSpec(Replace(pod, "xla_x: 1", "xla_x: 2"));
  const RunResult broken = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(broken.code, 1) << broken;
  EXPECT_THAT(broken.err, AllOf(HasSubstr("worker 3"), HasSubstr("tpu-runtime"))) << broken;

  OnWorker(3, "mend-runtime");
  const RunResult plan = box_.Run({"plan"});
  EXPECT_THAT(plan.out, AllOf(HasSubstr("0 to change"), HasSubstr("on 1 worker."))) << plan;
  box_.Apply();
  ExpectNoChanges();
}

TEST_F(WorkersTest, AShellHasATerminalThatFollowsTheWindow) {
  box_.WriteSpec(kPod);
  box_.Apply();
  auto shell = box_.RunInPty({"ssh", "research", "--worker", "1"});
  shell->SendKeys("echo ready-$((1+1))-$(hostname | tail -c 4)\r");
  ASSERT_TRUE(shell->WaitForText("ready-2-w-1")) << shell->shown();
  shell->SendKeys("stty size\r");
  EXPECT_TRUE(shell->WaitForText("30 100")) << shell->shown();
  shell->Resize(132, 43);
  // The change travels by itself: what is asked for until it has come.
  EXPECT_TRUE(Eventually([&] {
    shell->Forget();
    shell->SendKeys("echo size $(stty size) end\r");
    return shell->WaitForText(" end\r\n") &&
           shell->shown().find("size 43 132 end") != std::string::npos;
  })) << shell->shown();
  // Ctrl-C is for the program there, not for podctl here.
  shell->Forget();
  // It speaks itself: the shell alone might not have it in the foreground yet.
  shell->SendKeys("sh -c 'echo begun-$((1+1)); exec sleep 1000'\r");
  ASSERT_TRUE(shell->WaitForText("begun-2")) << shell->shown();
  shell->SendKeys("\x03");
  ASSERT_TRUE(shell->WaitForText("^C")) << shell->shown();
  shell->SendKeys("echo still-$((40+2))\r");
  EXPECT_TRUE(shell->WaitForText("still-42")) << shell->shown();
  shell->SendKeys("exit 3\r");
  EXPECT_EQ(shell->Wait(), 3) << shell->shown();

  EXPECT_EQ(box_.Run({"ssh", "research", "--", "false"}).code, 1);
  const RunResult quiet = box_.Run({"ssh", "research", "--", "echo out; echo err >&2; exit 4"});
  EXPECT_EQ(quiet.code, 4) << quiet;
  EXPECT_EQ(quiet.out, "out\n");
  EXPECT_EQ(quiet.err, "err\n");
}

TEST_F(WorkersTest, AChangedHostKeyIsRefusedLoudly) {
  box_.WriteSpec(kPod);
  box_.Apply();
  EXPECT_EQ(Exec("true").code, 0);
  OnWorker(2, "new-host-keys");
  RunResult run;
  ASSERT_TRUE(Eventually([&] {  // it boots for a moment
    run = Exec("hostname");
    return run.err.find("HAS CHANGED") != std::string::npos;
  })) << run;
  EXPECT_EQ(run.code, 1) << run;
  const auto first = run.err.find("SHA256:");
  EXPECT_NE(run.err.find("SHA256:", first + 1), std::string::npos) << "both fingerprints\n" << run;
  EXPECT_THAT(run.err, HasSubstr("research/2")) << run;
  EXPECT_THAT(run.out, Not(HasSubstr("research/2"))) << run;
  EXPECT_EQ(CountLines(run.out, "research/"), 3) << run;

  // The API shows the new key: who asks for it takes it.
  const RunResult doctor = box_.Run({"doctor", "research"});
  EXPECT_THAT(doctor.out, HasSubstr("podctl apply --refresh-only")) << doctor;
  EXPECT_EQ(Exec("true").code, 1) << "to look changes nothing";
  run = box_.Run({"plan", "--refresh-only"});
  EXPECT_THAT(run.err, HasSubstr("the API shows new host keys for 1 worker (2)")) << run;
  EXPECT_EQ(Exec("true").code, 1) << "a plan changes nothing";
  run = box_.Run({"apply", "--refresh-only", "--auto-approve"});
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_EQ(Exec("true").code, 0);
  run = box_.Run({"apply", "--refresh-only", "--auto-approve"});
  EXPECT_THAT(run.err, Not(HasSubstr("new host keys"))) << run;
}

TEST_F(WorkersTest, StoppedWorkersAreToldAndTheOthersAnswer) {
  box_.WriteSpec(kPod);
  box_.Apply();
  OnWorker(1, "stop");
  OnWorker(3, "stop");
  const RunResult run = box_.Run({"exec", "research", "--", "echo up"});
  EXPECT_EQ(run.code, 1) << run;
  EXPECT_EQ(CountLines(run.out, "research/", "up"), 2) << run;
  // One cause is one line, however many workers share it.
  EXPECT_THAT(run.err,
              HasSubstr("2 of 4 workers failed:\n  2 workers (1,3): cannot connect to port"))
      << run;
  EXPECT_EQ(CountLines(run.err, "  2 workers (1,3): ", ""), 1) << run;
}

}  // namespace
}  // namespace podctl::testing
