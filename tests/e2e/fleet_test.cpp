// Readiness, doctor, drain and jobs on real sshd workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>

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
    "    runtimeVersion: tpu-vm-tf-2.11.0-pod\n"
    "    libtpuFlags: {xla_a: true}\n";

class FleetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    box_.StartEmulator();
    box_.WriteSpec(kPod);
  }
  int OnWorker(int worker, const std::string& action) {
    const std::string body =
        R"({"node": "projects/my-project/locations/europe-west4-a/nodes/research", "worker": )" +
        std::to_string(worker) + R"(, "action": ")" + action + "\"}";
    return box_.Http("POST", "/emulator/workers", body).status;
  }
  // A process that holds the worker's TPU; false where workers have none of their own.
  bool HoldTpu(int worker) {
    if (OnWorker(worker, "hold-tpu") != 200) return false;
    EXPECT_TRUE(Eventually([&] { return Doctor().code == 1; }));
    return true;
  }
  RunResult InCi(const std::string& text) {
    return box_.RunProgram({"sh", "-c", "export GITHUB_ACTIONS=true; " + text});
  }
  RunResult Doctor() { return box_.Run({"doctor", "research"}); }
  RunResult Detach(const std::string& command) {
    return box_.Run({"exec", "research", "--detach", "train", "--", command});
  }
  // Ends the sshd of each connection that serves a command with `words`, and that command.
  void BreakConnectionsOf(const std::string& words);

  Sandbox box_;
};

TEST_F(FleetTest, ANewPodIsReadyWhenItIsComplete) {
  box_.Apply();
  const RunResult doctor = Doctor();
  EXPECT_EQ(doctor.code, 0) << doctor;
  EXPECT_EQ(doctor.out,
            "research: node READY, HEALTHY; all 4 workers are healthy\n  research/[0-3]: "
            "healthy\n");
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 0);
}

// The startup-script stands for whatever is wrong with a machine that has just been booted.
TEST_F(FleetTest, ABadWorkerFailsTheCreationByItsNameAndTheNextApplyGoesOn) {
  // Two seconds from the boot to READY: time enough for the script to take the TPU.
  box_.StopEmulator();
  box_.StartEmulator("sshd", "2s");
  box_.WriteSpec(std::string(kPod) +
                 "    metadata:\n"
                 "      startup-script: |\n"
                 "        #!/bin/bash\n"
                 "        case $(hostname) in *-w-2) ;; *) exit ;; esac\n"
                 "        exec 3</dev/accel0 || exit\n"
                 "        touch /tmp/held; exec sleep 3000\n"
                 "    bootstrap:\n"
                 "      - {name: setup, run: 'echo set up'}\n");
  const RunResult first = box_.Run({"apply", "--auto-approve"});
  if (first.code == 0 && !HoldTpu(2)) GTEST_SKIP() << "workers here have no TPU of their own";
  EXPECT_THAT(first.err, AllOf(HasSubstr("1 of 4 workers cannot be used: worker 2: the TPU is held "
                                         "by `sleep 3000`"),
                               HasSubstr("podctl doctor research")))
      << first;
  EXPECT_THAT(first.err, Not(HasSubstr("set up"))) << first;
  const RunResult plan = box_.Run({"plan"});
  EXPECT_THAT(plan.out, AllOf(HasSubstr("bootstrap.research.readiness will check for readiness on "
                                        "1 worker"),
                              HasSubstr("0 to add")))
      << plan;
  const RunResult drain = box_.Run({"drain", "research", "--auto-approve"});
  EXPECT_EQ(drain.code, 0) << drain;
  EXPECT_THAT(drain.out, HasSubstr("research/2: pid ")) << drain;
  const RunResult second = box_.Apply();
  EXPECT_EQ(CountLines(second.err, "research/", "set up"), 4) << second;
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 0);
}

TEST_F(FleetTest, DoctorNamesTheBadWorkersAndDrainMendsThem) {
  box_.Apply();
  if (!HoldTpu(2)) GTEST_SKIP() << "workers here have no TPU of their own";
  OnWorker(1, "stop");
  const RunResult doctor = Doctor();
  EXPECT_EQ(doctor.code, 1) << doctor;
  EXPECT_THAT(doctor.out,
              AllOf(HasSubstr("2 of 4 workers healthy\n  research/[0,3]: healthy\n"),
                    HasSubstr("research/2: the TPU is held by `python3 train.py infinity`\n"),
                    HasSubstr("→ podctl drain research --worker 2\n"),
                    HasSubstr("research/1: it does not answer SSH: ")))
      << doctor;
  OnWorker(1, "start");
  EXPECT_EQ(box_.Run({"drain", "research", "--worker", "2"}).code, 1) << "nobody to ask";
  const RunResult look = box_.Run({"drain", "research", "--worker", "2", "--dry-run"});
  EXPECT_THAT(look.out, HasSubstr("1 process to end")) << look;
  const RunResult drain = box_.Run({"drain", "research", "--worker", "2", "--auto-approve"});
  EXPECT_EQ(drain.code, 0) << drain;
  EXPECT_THAT(drain.out, AllOf(HasSubstr("ended with TERM"), HasSubstr("lockfile removed")))
      << drain;
  EXPECT_TRUE(Eventually([&] { return Doctor().code == 0; })) << Doctor();
}

TEST_F(FleetTest, DoctorSeesARuntimeThatIsDownOrHasOtherFlags) {
  box_.Apply();
  EXPECT_EQ(
      box_.Run({"exec", "research", "--worker", "3", "--", "sudo systemctl stop tpu-runtime"}).code,
      0);
  const RunResult down = Doctor();
  EXPECT_EQ(down.code, 1) << down;
  EXPECT_THAT(down.out, HasSubstr("research/3: tpu-runtime is inactive")) << down;
  EXPECT_EQ(
      box_.Run({"exec", "research", "--worker", "3", "--", "sudo systemctl start tpu-runtime"})
          .code,
      0);
  EXPECT_EQ(Doctor().code, 0);
  // Somebody else writes other flags: no runtime has read them yet.
  box_.Change("PATCH", std::string(kNodes) + "/research?updateMask=metadata",
              R"({"metadata": {"ssh-keys": ")" +
                  box_.GetNode("research").body["metadata"]["ssh-keys"].AsString() +
                  R"(", "tensorflow-env-vars": "-e LIBTPU_INIT_ARGS=--xla_a=false"}})");
  const RunResult other = Doctor();
  EXPECT_THAT(other.out, HasSubstr("tpu-runtime runs with another LIBTPU_INIT_ARGS")) << other;
  EXPECT_THAT(other.out, Not(HasSubstr("xla_a"))) << "values may be secret";
}

TEST_F(FleetTest, AJobOutlivesPodctlAndKeepsItsExitCode) {
  box_.Apply();
  const RunResult started = Detach(
      "echo begun; while [ ! -e go ]; do sleep 0.1; done; case $(hostname) in *-w-2) exit 3;; "
      "esac");
  EXPECT_EQ(started.code, 0) << started;
  EXPECT_EQ(started.out, "Job train started on research/[0-3].\n");
  EXPECT_EQ(Detach("other").code, 1);
  // A follower that is killed takes nothing with it.
  {
    auto follower = box_.Start({"logs", "research", "train", "--follow"});
    EXPECT_TRUE(follower->WaitForOut("research/3 | begun"));
    follower->Signal(SIGKILL);
    follower->Wait();
  }
  const RunResult jobs = box_.Run({"jobs", "research"});
  EXPECT_THAT(jobs.out, HasSubstr("train  running  0-3 running")) << jobs;
  auto follower = box_.Start({"logs", "research", "train", "--follow"});
  EXPECT_TRUE(follower->WaitForOut("begun"));
  EXPECT_EQ(box_.Run({"exec", "research", "--", "touch go"}).code, 0);
  const RunResult ended = follower->Result();
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_THAT(ended.err, HasSubstr("1 worker (2): exit code 3")) << ended;
  EXPECT_EQ(CountLines(ended.out, "research/", "begun"), 4) << ended;
  EXPECT_THAT(box_.Run({"jobs", "research"}).out, HasSubstr("failed   0-1,3 ok; 2 exit 3"));
}

TEST_F(FleetTest, FollowingAgainResumesWhereItStopped) {
  box_.Apply();
  EXPECT_EQ(Detach("i=0; until [ -e go ] && [ $i -gt 40 ]; do i=$((i+1)); echo line $i; sleep "
                   "0.05; done; exit 5")
                .code,
            0);
  const Arguments follow = {"logs", "research", "train", "--follow", "--worker", "1-2", "--resume"};
  auto first = box_.Start(follow);
  EXPECT_TRUE(first->WaitForOut("research/1 | line 9\n"));
  first->Signal(SIGINT);
  const RunResult stopped = first->Result();
  EXPECT_EQ(stopped.code, 130) << stopped;
  EXPECT_THAT(stopped.err,
              HasSubstr("train was left alone. From here on it is followed with: podctl logs "
                        "research train --worker 1-2 --follow --resume\n"));
  EXPECT_EQ(box_.Run({"exec", "research", "--", "touch go"}).code, 0);
  const RunResult ended = box_.Run(follow);
  EXPECT_EQ(ended.code, 5) << ended;
  for (const std::string worker : {"research/1 | ", "research/2 | "}) {
    int expected = 0;
    for (const std::string& line : SplitLines(stopped.out + ended.out)) {
      if (!line.starts_with(worker)) continue;
      EXPECT_EQ(line, worker + "line " + std::to_string(++expected)) << "once each";
    }
    EXPECT_GT(expected, 40);
  }
  EXPECT_EQ(box_.Run(follow).out, "") << "all was shown";
  // Without the flag, and of a worker that was not looked at before, it is the whole log.
  EXPECT_THAT(box_.Run({"logs", "research", "train", "--worker", "1"}).out,
              HasSubstr("research/1 | line 1\n"));
  EXPECT_THAT(box_.Run({"logs", "research", "train", "--resume", "--worker", "0"}).out,
              HasSubstr("research/0 | line 1\n"));
  // Another run of that name has another log.
  EXPECT_EQ(Detach("echo anew").code, 0);
  const Arguments anew = {"logs", "research", "train", "--resume", "--follow", "--worker", "1"};
  EXPECT_EQ(box_.Run(anew).out, "research/1 | anew\n");
}

TEST_F(FleetTest, AFollowEndsWithTheRunThatItBeganWith) {
  box_.Apply();
  EXPECT_EQ(Detach("echo begun; while :; do sleep 0.1; done").code, 0);
  auto follower = box_.Start({"logs", "research", "train", "--follow"});
  for (const char* worker : {"0", "1", "2", "3"}) {
    EXPECT_TRUE(follower->WaitForOut(std::string("research/") + worker + " | begun"));
  }
  // None of them is told of its end before another run is there.
  for (const pid_t reader : box_.OnWorkers("tail -c")) kill(reader, SIGSTOP);
  EXPECT_EQ(box_.Run({"kill", "research", "train"}).code, 0);
  EXPECT_EQ(Detach("echo anew; sleep 600").code, 0);
  for (const pid_t reader : box_.OnWorkers("tail -c")) kill(reader, SIGCONT);
  const RunResult ended = follower->Result();
  EXPECT_EQ(ended.code, 143) << ended;
  EXPECT_EQ(CountLines(ended.out, "research/", "begun"), 4) << ended;
  EXPECT_THAT(ended.out, Not(HasSubstr("anew"))) << ended;
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr("research/[0-3]: train was ended by "),
                    HasSubstr("train was started anew (run "),
                    HasSubstr("): follow it with: podctl logs research train --follow\n")))
      << ended;
  EXPECT_THAT(box_.Run({"jobs", "research"}).out, HasSubstr("0-3 running"));
}

TEST_F(FleetTest, AStartThatWasCutIsCompletedByTheSameCommand) {
  box_.Apply();
  const std::string command = "while :; do sleep 1; done";
  EXPECT_EQ(
      box_.Run({"exec", "research", "--worker", "0,2", "--detach", "train", "--", command}).code,
      0);
  const RunResult rest = Detach(command);
  EXPECT_EQ(rest.code, 0) << rest;
  EXPECT_EQ(rest.out, "Job train started on research/[1,3].\n");
  EXPECT_EQ(Detach(command).code, 1) << "it runs everywhere";
  const RunResult killed = box_.Run({"kill", "research", "train"});
  EXPECT_EQ(killed.code, 0) << killed;
  EXPECT_THAT(killed.out, AllOf(HasSubstr("research/[0-3]: train was ended by "),
                                HasSubstr(": killed by TERM (exit code 143)\n")));
  EXPECT_EQ(box_.Run({"kill", "research", "other"}).code, 1);
  EXPECT_EQ(Detach("exit 2").code, 0);
  EXPECT_TRUE(Eventually([&] {
    return box_.Run({"jobs", "research"}).out.find("0-3 exit 2") != std::string::npos;
  }));
  EXPECT_EQ(box_.Run({"kill", "research", "train"}).out,
            "research/[0-3]: train had ended already: exit code 2\n");
}

TEST_F(FleetTest, NothingIsStartedWhenAWorkerIsMissing) {
  box_.Apply();
  OnWorker(3, "stop");
  const RunResult refused = Detach("true");
  EXPECT_EQ(refused.code, 1) << refused;
  EXPECT_THAT(refused.err, HasSubstr("nothing was started")) << refused;
  EXPECT_THAT(box_.Run({"jobs", "research", "--worker", "0-2"}).out,
              HasSubstr("There are no jobs."));
}

// The parent of the outermost process of a command is the sshd of its connection.
void FleetTest::BreakConnectionsOf(const std::string& words) {
  const std::vector<pid_t> ours = box_.OnWorkers("");
  std::vector<pid_t> doomed = box_.OnWorkers(words);
  EXPECT_FALSE(doomed.empty());
  // All of them first: who loses its parent gets another, which is none of theirs.
  for (std::size_t i = doomed.size(); i-- > 0;) {
    std::ifstream status("/proc/" + std::to_string(doomed[i]) + "/status");
    std::string line;
    while (std::getline(status, line) && !line.starts_with("PPid:")) {
    }
    const pid_t parent = line.empty() ? 0 : std::atoi(line.c_str() + 5);
    if (std::find(ours.begin(), ours.end(), parent) != ours.end()) doomed.push_back(parent);
  }
  for (const pid_t each : doomed) kill(each, SIGKILL);
}

TEST_F(FleetTest, FollowingGoesOnWhereAConnectionBroke) {
  box_.Apply();
  EXPECT_EQ(Detach("i=0; while [ ! -e go ]; do i=$((i+1)); echo $i; sleep 0.05; done").code, 0);
  auto follower = box_.Start({"logs", "research", "train", "--follow", "--worker", "1"});
  EXPECT_TRUE(follower->WaitForOut("| 5\n"));
  BreakConnectionsOf("tail -c");
  EXPECT_TRUE(Eventually([&] { return follower->err().find("trying again") != std::string::npos; }))
      << follower->err();
  EXPECT_TRUE(follower->WaitForErr("it is back"));
  EXPECT_EQ(box_.Run({"exec", "research", "--", "touch go"}).code, 0);
  const RunResult ended = follower->Result();
  EXPECT_EQ(ended.code, 0) << ended;
  int expected = 0;
  for (const std::string& line : SplitLines(ended.out)) {
    EXPECT_EQ(line, "research/1 | " + std::to_string(++expected)) << "no line twice, none left out";
  }
  EXPECT_GT(expected, 5);
}

TEST_F(FleetTest, TheDeathOfOnePartOfAJobIsToldWhileTheOthersGoOn) {
  box_.Apply();
  EXPECT_EQ(
      Detach("echo begun; while [ ! -e go ]; do [ ! -e fail ] || exit 3; sleep 0.1; done").code, 0);
  EXPECT_EQ(Doctor().code, 0);
  auto follower = box_.Start({"logs", "research", "train", "--follow"});
  for (const char* worker : {"0", "1", "2", "3"}) {
    EXPECT_TRUE(follower->WaitForOut(std::string("research/") + worker + " | begun"));
  }
  box_.Run({"exec", "research", "--worker", "1", "--",
            "kill -9 -- -$(cut -d' ' -f1 .podctl/jobs/*/train/pid)"});
  EXPECT_TRUE(follower->WaitForErr(
      "research/1: the job died without an exit code; 3 workers are still followed\n"));
  const RunResult doctor = Doctor();
  EXPECT_EQ(doctor.code, 1) << doctor;
  EXPECT_THAT(doctor.out,
              AllOf(HasSubstr("3 of 4 workers healthy"),
                    HasSubstr("research/1: job train died without an exit code here, and goes on "
                              "elsewhere\n"),
                    HasSubstr("podctl logs research train --worker 1 --tail 20")))
      << doctor;
  // One that gave up by itself is no better.
  EXPECT_EQ(box_.Run({"exec", "research/2", "--", "touch fail"}).code, 0);
  EXPECT_TRUE(follower->WaitForErr(
      "research/2: the job ended with exit code 3; 2 workers are still followed\n"));
  const RunResult failed = Doctor();
  EXPECT_THAT(failed.out, AllOf(HasSubstr("2 of 4 workers healthy"),
                                HasSubstr("research/2: job train ended with exit code 3 here, and "
                                          "goes on elsewhere\n")))
      << failed;
  EXPECT_EQ(box_.Run({"exec", "research", "--", "touch go"}).code, 0);
  EXPECT_EQ(follower->Result().code, 1);
  const RunResult over = Doctor();
  EXPECT_EQ(over.code, 0) << over;
  EXPECT_THAT(over.out, HasSubstr("job train died without an exit code on research/1\n")) << over;
  // A later run of that name, on another worker, has no part that died.
  EXPECT_EQ(box_.Run({"exec", "research/0", "--detach", "train", "--", "sleep 600"}).code, 0);
  const RunResult later = Doctor();
  EXPECT_EQ(later.code, 0) << later;
}

// As where the home folders are on NFS.
TEST_F(FleetTest, WorkersWithOneHomeHaveAJobEach) {
  if (!box_.WorkersAreMachines()) GTEST_SKIP() << "workers here have the machine's name";
  box_.Apply();
  for (int worker = 0; worker < 4; ++worker) EXPECT_EQ(OnWorker(worker, "stop"), 200);
  const RunResult linked = box_.RunProgram(
      {"sh", "-c",
       "mkdir shared && for w in emulator/workers/*/[0-3]; do rmdir $w/root && ln -s $PWD/shared "
       "$w/root || exit 1; done"});
  ASSERT_EQ(linked.code, 0) << linked;
  for (int worker = 0; worker < 4; ++worker) EXPECT_EQ(OnWorker(worker, "start"), 200);
  box_.Run({"exec", "research", "--", "echo $PODCTL_WORKER >>~/here"});
  ASSERT_EQ(box_.RunProgram({"sh", "-c", "wc -l <shared/here"}).out, "4\n");

  EXPECT_EQ(Detach("echo begun; exec sleep 600").code, 0);
  auto follower = box_.Start({"logs", "research", "train", "--follow"});
  for (const char* worker : {"0", "1", "2", "3"}) {
    EXPECT_TRUE(follower->WaitForOut(std::string("research/") + worker + " | begun"));
  }
  EXPECT_THAT(box_.Run({"jobs", "research"}).out, HasSubstr("0-3 running"));
  const RunResult one = box_.Run({"kill", "research", "train", "--worker", "1"});
  EXPECT_EQ(one.code, 0) << one;
  EXPECT_THAT(box_.Run({"jobs", "research"}).out,
              AllOf(HasSubstr("0,2-3 running"), HasSubstr("1 ended by ")));
  EXPECT_EQ(box_.OnWorkers("sleep 600").size(), 3U);
  // An attached run beside it, of the same files.
  box_.WriteFile("src/train.sh", "echo trained on $PODCTL_WORKER\n");
  box_.WriteSpec(std::string(kPod) +
                 "jobs:\n  other:\n    pod: research\n    launcher: shell\n"
                 "    command: [sh, code/train.sh]\n"
                 "    sync: [{source: ./src, destination: ~/code}]\n");
  const RunResult run = box_.Run({"run", "other"});
  EXPECT_EQ(run.code, 0) << run;
  for (const std::string worker : {"0", "1", "2", "3"}) {
    EXPECT_EQ(CountLines(run.out, "research/" + worker, "trained on " + worker), 1) << run;
  }
  EXPECT_EQ(box_.Run({"kill", "research", "train"}).code, 0);
  EXPECT_TRUE(box_.OnWorkers("sleep 600").empty());
  EXPECT_TRUE(follower->Wait());
}

// What a worker may do to whoever asks it something.
TEST_F(FleetTest, AWorkerThatNeverStopsTalkingIsLeft) {
  box_.Apply();
  const std::string talk =
      "echo 'case $- in *i*) ;; *) exec yes \"$(head -c 60000 /dev/zero | tr \\\\0 x)\" ;; "
      "esac' >.bashrc";
  box_.Run({"exec", "research", "--worker", "2", "--", talk});
  for (const char* command : {"doctor", "jobs", "drain"}) {
    const RunResult asked = box_.Run({command, "research"});
    EXPECT_EQ(asked.code, 1) << asked;
    EXPECT_THAT(asked.out + asked.err, HasSubstr("it sent more than the 1024 KiB")) << asked;
  }
}

TEST_F(FleetTest, WordsOfAWorkerAreSeenAndNotObeyed) {
  box_.Apply();
  const std::string evil = R"(printf '::error::x\r::set-env name=a::b\033]0;pwn\007\302\2332J\n')";
  const std::string seen = R"(::error::x\x0d::set-env name=a::b\x1b]0;pwn\x07\u009b2J)";
  const RunResult exec =
      box_.Run({"exec", "research", "--worker", "0", "--", evil + "; " + evil + " >&2"});
  EXPECT_EQ(exec.out, "research/0 | " + seen + "\n") << exec;
  EXPECT_THAT(exec.err, HasSubstr("research/0 | " + seen + "\n"));
  const RunResult gathered =
      InCi("$PODCTL exec research --gather -- " + ShellQuote("printf '::error::x\\n'; " + evil));
  EXPECT_THAT(gathered.out, HasSubstr("| " + seen + "\n")) << gathered;
  EXPECT_EQ(Detach(evil).code, 0);
  EXPECT_THAT(box_.Run({"logs", "research", "train", "--follow"}).out,
              HasSubstr("research/2 | " + seen + "\n"));
  const RunResult json = InCi("$PODCTL exec research --json -- " + ShellQuote(evil));
  for (const std::string& line : SplitLines(json.out)) {
    EXPECT_TRUE(ParseJson(line)) << line;
    EXPECT_THAT(line, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\r")), Not(HasSubstr("\x9b"))));
  }
  // A disk that is called so: its name stands in a command that people copy.
  const std::string call_it_so =
      R"(mkdir -p evil && printf '#!/bin/sh\necho "x 1 1 0 100%% /;touch\$IFS/tmp/pwn {workers}"\n' )"
      R"(>evil/df && chmod +x evil/df && echo 'PATH=$HOME/evil:$PATH' >.bashrc)";
  box_.Run({"exec", "research", "--worker", "3", "--", call_it_so});
  EXPECT_THAT(Doctor().out, HasSubstr("--worker 3 -- du -xhd1 '/;touch$IFS/tmp/pwn {workers}'\n"));
}

// 64 descriptors are podctl's own, so that two workers of the four can be open at once: what would
// wait for the others must not wait for ever.
TEST_F(FleetTest, AJobStartsAndIsFollowedWithFewDescriptors) {
  box_.Apply();
  const auto few = [this](const std::string& words) {
    return box_.StartProgram({"sh", "-c", "ulimit -n 66 && exec \"$PODCTL\" " + words});
  };
  const RunResult started =
      few("exec research --detach train -- 'echo begun; while [ ! -e go ]; do sleep 0.1; done; "
          "echo over; exit 3'")
          ->Result();
  EXPECT_EQ(started.code, 0) << started;
  EXPECT_EQ(started.out, "Job train started on research/[0-3].\n");
  EXPECT_THAT(started.err, HasSubstr("Only 2 of 4 workers can be connected to at the same moment"));
  const auto follower = few("logs research train --follow");
  for (int worker = 0; worker < 4; ++worker) {
    EXPECT_TRUE(follower->WaitForOut("research/" + std::to_string(worker) + " | begun\n"))
        << "of every worker while all of them run";
  }
  EXPECT_EQ(box_.Run({"exec", "research", "--", "touch go"}).code, 0);
  const RunResult ended = follower->Result();
  EXPECT_EQ(ended.code, 3) << ended;
  EXPECT_EQ(CountLines(ended.out, "research/", "begun"), 4) << ended;
  EXPECT_EQ(CountLines(ended.out, "research/", "over"), 4) << ended;
}

}  // namespace
}  // namespace podctl::testing
