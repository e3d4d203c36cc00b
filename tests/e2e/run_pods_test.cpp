// podctl run where the pod is not a plain one: several slices, conda and containers, a TPU that
// somebody holds, a node in maintenance, one that is taken back, and a worker that comes late.
//
// There is no real conda and no real docker here: programs of these names note what they are asked
// for, and behave as the real ones do where the job depends on it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>

#include "providers/base/text.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kPod =
    "  research: {acceleratorType: v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod}\n";

class RunPodsTest : public ::testing::Test {
 protected:
  void Begin(const std::string& pod, const std::string& workers = "light") {
    pod_ = pod;
    box_.StartEmulator(workers, "0s");
    box_.WriteSpec(pod_);
    box_.Apply();
  }
  // A spec with the pod and one job `train`, whose keys are indented by four.
  void Job(const std::string& keys) {
    box_.WriteSpec(pod_ + "jobs:\n  train:\n    pod: research\n" + keys);
  }
  RunResult Exec(const std::string& command, const std::string& workers = "all") {
    return box_.Run({"exec", "research", "--worker", workers, "--", command});
  }
  RunResult Run(Arguments words = {}) {
    words.insert(words.begin(), {"run", "train"});
    return box_.Run(words);
  }
  void OnWorker(int worker, const std::string& action) {
    const std::string node = "projects/my-project/locations/europe-west4-a/nodes/research";
    box_.Http("POST", "/emulator/workers",
              R"({"node": ")" + node + R"(", "worker": )" + std::to_string(worker) +
                  R"(, "action": ")" + action + "\"}");
  }
  void OnNode(const std::string& verb) {
    EXPECT_EQ(box_.Http("POST", "/emulator/nodes/research:" + verb).status, 200);
  }
  // Shells on workers that make a job ready or wait for its start.
  int WaitingShells() {
    int count = 0;
    for (const pid_t pid : Descendants(box_.emulator_pid())) {
      const RunResult line = box_.RunProgram(
          {"sh", "-c", "tr '\\0' ' ' 2>/dev/null </proc/" + std::to_string(pid) + "/cmdline"});
      if (line.out.find("podctl-run staged") != std::string::npos) ++count;
    }
    return count;
  }

  Sandbox box_;
  std::string pod_;
};

TEST_F(RunPodsTest, NobodyStartsBeforeTheLastWorkerIsReady) {
  Begin(kPod);
  Job("    command: [\"touch ~/was-started\"]\n");
  OnWorker(2, "stop");
  const auto run = box_.Start({"run", "train", "--no-drain"});
  ASSERT_TRUE(Eventually([&] { return WaitingShells() >= 3; })) << run->err();
  const RunResult early = Exec("test ! -e ~/was-started", "0-1,3");
  EXPECT_EQ(early.code, 0) << early;
  OnWorker(2, "start");
  const RunResult result = run->Result();
  EXPECT_EQ(result.code, 0) << result;
  EXPECT_THAT(result.err, HasSubstr("Started on 4 workers.")) << result;
  EXPECT_EQ(Exec("test -e ~/was-started").code, 0);
}

TEST_F(RunPodsTest, EachSliceKnowsItselfAndIsNamedInTheEnd) {
  Begin(
      "  research: {acceleratorType: v5litepod-16, runtimeVersion: v2-alpha-tpuv5-lite,\n"
      "    slices: 2, queuedResource: {}}\n");
  Job("    launcher: jax\n    command: [\"echo $MEGASCALE_SLICE_ID of $MEGASCALE_NUM_SLICES, "
      "$MEGASCALE_COORDINATOR_ADDRESS $PJRT_DEVICE\"]\n");
  const RunResult run = Run();
  EXPECT_EQ(run.code, 0) << run;
  const Value state = box_.State();
  const Value& endpoints = Remembered(state, "pod.research")["observed"]["networkEndpoints"];
  ASSERT_THAT(endpoints.AsList(), SizeIs(8));
  const std::string first = endpoints.AsList().front()["ipAddress"].AsString();
  EXPECT_EQ(CountLines(run.out, "research[0]/", "| 0 of 2, " + first + " TPU"), 4) << run;
  EXPECT_EQ(CountLines(run.out, "research[1]/", "| 1 of 2, " + first + " TPU"), 4) << run;
  EXPECT_THAT(run.err, HasSubstr("Started on 8 workers.")) << run;

  Job("    command: [\"case $(hostname)-$MEGASCALE_SLICE_ID in *-w-3-1) exit 4 ;; esac; exec sleep "
      "1000\"]\n");
  const RunResult failed = Run();
  EXPECT_EQ(failed.code, 4) << failed;
  EXPECT_THAT(failed.err,
              AllOf(HasSubstr("research[1]/3 failed first, "),
                    HasSubstr("7 workers ([0]/0-3,[1]/0-2) were ended because of it\n")))
      << failed;
}

TEST_F(RunPodsTest, TheCondaEnvironmentIsActivatedOrTheJobDoesNotStart) {
  Begin(kPod);
  const RunResult planted = Exec(
      "mkdir -p ~/miniconda3/etc/profile.d && echo 'conda() { [ \"$*\" = \"activate torch-xla\" ] "
      "&& IN_CONDA=$2 && export IN_CONDA; }' >~/miniconda3/etc/profile.d/conda.sh");
  ASSERT_EQ(planted.code, 0) << planted;
  Job("    condaEnv: torch-xla\n    command: [sh, -c, 'echo in $IN_CONDA']\n");
  const RunResult run = Run();
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_EQ(CountLines(run.out, "research/", "| in torch-xla"), 4) << run;

  Job("    condaEnv: torch-xla-9\n    command: [sh, -c, 'echo in $IN_CONDA']\n");
  const RunResult wrong = Run();
  EXPECT_EQ(wrong.code, 126) << wrong;
  EXPECT_EQ(wrong.out, "") << wrong;
  EXPECT_THAT(wrong.err, HasSubstr("the conda environment torch-xla-9 cannot be activated"))
      << wrong;
}

class ContainerTest : public RunPodsTest {
 protected:
  // A `docker` whose container shows its variables, and with the image `lasting` is deaf to TERM
  // and in no way a child of who started it.
  void Begin() {
    RunPodsTest::Begin(kPod);
    box_.WriteFile("programs/docker",
                   "#!/bin/sh\n"
                   "echo \"docker $*\" >>\"$HOME/asked\"\n"
                   "case \"$1 $*\" in\n"
                   "  'run '*lasting*)\n"
                   "    (trap '' TERM; exec env -i setsid sleep 1000) &\n"
                   "    echo $! >\"$HOME/container\"\n"
                   "    trap : TERM\n"
                   "    while kill -0 $!; do sleep 0.1; done 2>/dev/null\n"
                   "    exit 137 ;;\n"
                   "  'run '*) echo \"inside $GREETING $PJRT_DEVICE\" ;;\n"
                   "  'stop '*) kill -KILL $(cat \"$HOME/container\") ;;\n"
                   "esac\n");
    chmod(box_.Path("programs/docker").c_str(), 0755);
  }
  std::string Keys(const std::string& image) {
    return "    workers: 0-1\n    env: {GREETING: \"it's\", PATH: \"" + box_.Path("programs") +
           ":/usr/bin:/bin\"}\n    docker: {image: " + image +
           ", flags: [--ipc=host]}\n    command: [python3, train.py, \"a b\"]\n";
  }
  bool IsContainerGone() { return Exec("! kill -0 $(cat ~/container)", "0-1").code == 0; }
};

TEST_F(ContainerTest, TheCommandRunsInItWithItsVariables) {
  Begin();
  Job(Keys("gcr.io/p/i:1"));
  const RunResult run = Run();
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_EQ(CountLines(run.out, "research/", "| inside it's TPU"), 2) << run;
  const RunResult asked = Exec("cat ~/asked", "0");
  EXPECT_THAT(
      asked.out,
      HasSubstr("docker run --rm --name podctl-train --net=host --privileged -e "
                "GREETING -e PATH -e PJRT_DEVICE -e PODCTL_ADDRESSES "
                "-e PODCTL_ATTEMPT -e PODCTL_JOB -e PODCTL_POD -e PODCTL_RUN -e PODCTL_SLICE "
                "-e PODCTL_SLICES -e PODCTL_WORKER -e PODCTL_WORKERS "
                "--ipc=host gcr.io/p/i:1 "
                "python3 train.py a b\n"))
      << asked;
}

TEST_F(ContainerTest, IsStoppedWithTheJobHoweverThatEnds) {
  Begin();
  Job(Keys("lasting"));
  auto run = box_.Start({"run", "train"});
  ASSERT_TRUE(run->WaitForErr("Started on 2 workers."));
  ASSERT_TRUE(Eventually([&] { return Exec("test -s ~/container", "0-1").code == 0; }));
  run->Signal(SIGINT);
  EXPECT_EQ(run->Wait(), 130);
  EXPECT_TRUE(Eventually([&] { return IsContainerGone(); }));

  Exec("rm ~/container", "0-1");
  EXPECT_EQ(Run({"--detach"}).code, 0);
  ASSERT_TRUE(Eventually([&] { return Exec("test -s ~/container", "0-1").code == 0; }));
  const RunResult killed = box_.Run({"kill", "research", "train", "--worker", "0-1"});
  EXPECT_EQ(killed.code, 0) << killed;
  EXPECT_TRUE(Eventually([&] { return IsContainerGone(); }));

  // Nobody ends it: the next run finds what is left.
  Exec("rm ~/container", "0-1");
  run = box_.Start({"run", "train"});
  ASSERT_TRUE(Eventually([&] { return Exec("test -s ~/container", "0-1").code == 0; }));
  run->Signal(SIGKILL);
  EXPECT_EQ(run->Wait(), 128 + SIGKILL);
  const std::string left = Exec("cat ~/container", "0").out;
  Job(Keys("gcr.io/p/i:1"));
  const RunResult next = Run();
  EXPECT_EQ(next.code, 0) << next;
  EXPECT_EQ(Exec("cat ~/container", "0").out, left);
  EXPECT_TRUE(IsContainerGone());
}

TEST_F(RunPodsTest, WhatIsLeftOfAnEarlierRunIsEndedFirst) {
  Begin(kPod, "sshd");
  Job("    command: [\"setsid sleep 27182 >/dev/null 2>&1 & until grep -q sleep /proc/$!/comm; do "
      ":; "
      "done; exit 0\"]\n");
  EXPECT_EQ(Run().code, 0);
  const std::string nobody =
      "! grep -qzsF \"PODCTL_RUN_MARK=$HOME/.podctl/run/train#\" /proc/[0-9]*/environ";
  EXPECT_EQ(Exec(nobody).code, 1);
  Job("    command: [\"exit 0\"]\n");
  const RunResult run = Run();
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_THAT(run.err, HasSubstr("research/[0-3]: ended 4 processes of an earlier run of train."))
      << run;
  EXPECT_EQ(Exec(nobody).code, 0);
}

TEST_F(RunPodsTest, WhoHoldsTheTpuIsEndedUnlessHeIsSomebodyElses) {
  Begin(kPod, "sshd");
  Job("    command: [\"echo runs\"]\n");
  const std::string node = "projects/my-project/locations/europe-west4-a/nodes/research";
  if (box_.Http("POST", "/emulator/workers",
                R"({"node": ")" + node + R"(", "worker": 2, "action": "hold-tpu"})")
          .status != 200) {
    GTEST_SKIP() << "workers here have no TPU of their own";
  }
  ASSERT_TRUE(Eventually([&] { return box_.Run({"doctor", "research"}).code == 1; }));
  const RunResult run = Run();
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_THAT(run.err, HasSubstr("research/2: ending pid ")) << run;
  EXPECT_EQ(CountLines(run.out, "research/", "| runs"), 4) << run;
  EXPECT_EQ(box_.Run({"doctor", "research"}).code, 0);

  const RunResult other = box_.Run({"exec", "research", "--worker", "1", "--detach", "other", "--",
                                    "exec 3</dev/accel0; exec sleep 1000"});
  EXPECT_EQ(other.code, 0) << other;
  const RunResult refused = Run();
  EXPECT_EQ(refused.code, 1) << refused;
  EXPECT_THAT(refused.err, HasSubstr("research/1: the TPU is held by the job other (pid "))
      << refused;
  EXPECT_EQ(refused.out, "") << refused;
  const RunResult beside = Run({"--no-drain"});
  EXPECT_EQ(beside.code, 0) << beside;
  EXPECT_EQ(box_.Run({"kill", "research", "other"}).code, 0);
}

TEST_F(RunPodsTest, ANodeInMaintenanceIsWaitedFor) {
  Begin(kPod);
  Job("    command: [\"echo run >>runs; [ $(wc -l <runs) = 2 ] && exit 0; exec sleep 1000\"]\n"
      "    restart: {attempts: 2, on: [maintenance]}\n");
  const auto run = box_.Start({"run", "train"});
  ASSERT_TRUE(run->WaitForErr("Started on 4 workers."));
  ASSERT_TRUE(Eventually([&] { return Exec("test -s runs").code == 0; }));
  OnNode("maintain");
  EXPECT_TRUE(
      run->WaitForErr("\nThe node is UNHEALTHY_MAINTENANCE. That ended the job on 4 workers: 0-3. "
                      "Restart 1 of 2, on maintenance.\n"
                      "Waiting until the workers of pod.research answer.\n"))
      << run->err();
  EXPECT_THAT(run->err(), Not(HasSubstr("The job was ended"))) << "one event is told once";
  OnNode("heal");
  const RunResult result = run->Result();
  EXPECT_EQ(result.code, 0) << result;
  EXPECT_THAT(result.err, HasSubstr("Job train ended well on 4 workers")) << result;
}

TEST_F(RunPodsTest, APreemptedPodIsWaitedForAndGetsItsFilesAnew) {
  Begin(
      "  research: {acceleratorType: v3-32, runtimeVersion: tpu-vm-tf-2.11.0-pod,\n"
      "    schedulingConfig: {preemptible: true}}\n");
  box_.WriteFile("src/train.sh", "echo first\nexec sleep 1000\n");
  Job("    command: [sh, code/train.sh]\n    sync: [{source: ./src, destination: ~/code}]\n"
      "    restart: {attempts: 2, on: [preemption]}\n");
  const auto run = box_.Start({"run", "train"});
  ASSERT_TRUE(run->WaitForOut("research/3 | first")) << run->err();
  box_.WriteFile("src/train.sh", "echo second\n");
  OnNode("preempt");
  EXPECT_TRUE(run->WaitForErr(
      "Restart 1 of 2, on preemption.\nWaiting until pod.research is there again; `podctl apply "
      "--target pod.research` makes it anew.\n"))
      << run->err();
  EXPECT_THAT(run->err(),
              HasSubstr("\nThe node is PREEMPTED. That ended the job on 4 workers: 0-3. "));
  box_.Apply();
  const RunResult result = run->Result();
  EXPECT_EQ(result.code, 0) << result;
  EXPECT_EQ(CountLines(result.out, "research/", "| second"), 4) << result;
}

TEST_F(RunPodsTest, TheLastRestartIsTheLast) {
  Begin(kPod);
  Job("    command: [\"echo run >>runs; exit 7\"]\n    restart: {attempts: 1, on: [failure]}\n"
      "    workers: \"0\"\n");
  const RunResult run = Run();
  EXPECT_EQ(run.code, 7) << run;
  EXPECT_THAT(run.err, AllOf(HasSubstr("Restart 1 of 1, on failure: research/0: exit code 7.\n"),
                             HasSubstr("It was started again once before; that was the last time."),
                             Not(HasSubstr("Restart 2"))))
      << run;
  EXPECT_EQ(Exec("wc -l <runs", "0").out, "research/0 | 2\n");
}

}  // namespace
}  // namespace podctl::testing
