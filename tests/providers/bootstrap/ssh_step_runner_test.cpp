#include "providers/bootstrap/ssh_step_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "providers/ssh/libssh2/fan_out.h"
#include "tests/support/golden.h"
#include "tests/support/ssh_server.h"

namespace podctl::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class StepLog final : public StepObserver {
 public:
  void OnStepLine(int worker, std::string_view line) override {
    lines[worker].emplace_back(line);
    if (on_line) on_line();
  }
  void OnStepProgress(const StepProgress& progress) override {
    ok = progress.ok;
    failed = progress.failed;
    most = std::max(most, progress.ok + progress.failed + progress.retrying);
    if (progress.retrying > 0 && !progress.why_retrying.empty())
      causes.insert(progress.why_retrying);
    if (progress.retrying == 0) {
      EXPECT_EQ(progress.why_retrying, "");
    }
  }
  void OnStepApplied(int worker, const HostKeyText&) override { applied.insert(worker); }
  std::map<int, std::vector<std::string>> lines;
  std::function<void()> on_line;
  std::set<int> applied;
  std::size_t ok = 0;
  std::size_t failed = 0;
  std::size_t most = 0;  // of all that were told at a time
  std::set<std::string> causes;
};

class SshStepRunnerTest : public ::testing::Test {
 protected:
  SshStepRunnerTest() {
    std::filesystem::create_directories(programs_.path());
    SshServer::Options options;
    options.programs = programs_.path();
    server_ = std::make_unique<SshServer>(options);
    limits_.retry = std::chrono::milliseconds(0);
  }
  std::vector<WorkerAccess> Workers(int count) const {
    std::vector<WorkerAccess> workers;
    for (int i = 0; i < count; ++i) workers.push_back(server_->Access(i));
    return workers;
  }
  std::vector<StepOutcome> Run(const Step& step, int workers = 1, std::stop_token stop = {}) {
    ssh::FanOut fan_out(keyring_, clock_, random_);
    SshStepRunner runner(fan_out, files_, random_, limits_, withheld_);
    return runner.Run(step, Workers(workers), log_, std::move(stop));
  }
  static Step Script(const std::string& text) {
    Step step;
    step.script = text;
    return step;
  }
  // A stand-in for a system program, found first by what runs on the worker.
  void Program(const std::string& name, const std::string& script) {
    const std::string path = programs_.path() + "/" + name;
    WriteAll(path, "#!/bin/sh\n" + script);
    chmod(path.c_str(), 0755);
  }
  // After a script that wrote its own place into a file.
  void ExpectScriptRemoved() const {
    std::string place = ReadAll(server_->Home() + "/place");
    ASSERT_FALSE(place.empty());
    place.pop_back();
    EXPECT_FALSE(std::filesystem::exists(place)) << place;
    EXPECT_FALSE(std::filesystem::exists(FolderOf(place))) << place;
  }

  TempFolder programs_;
  FixedEnvironment environment_{{}};
  RealFileSystem files_;
  WithheldFiles withheld_;
  RealClock clock_;
  RealRandom random_;
  ssh::Keyring keyring_{environment_, files_};
  ssh::Limits limits_;
  StepLog log_;
  std::unique_ptr<SshServer> server_;
};

TEST_F(SshStepRunnerTest, RunsAScriptInTheHomeFolderWithItsEnvironment) {
  Step step = Script(
      "pwd\necho \"$A|$B\"\necho oops >&2\n[[ -n $BASH_VERSION ]] && echo bash\necho $0 > place\n");
  step.env = {{"A", "one 'two' $HOME"}, {"B", ""}};
  const auto outcomes = Run(step, 2);
  ASSERT_EQ(outcomes.size(), 2U);
  for (const StepOutcome& outcome : outcomes) {
    EXPECT_TRUE(outcome.ok) << outcome.message;
    EXPECT_EQ(outcome.learned_host_key, server_->HostKey());
    EXPECT_TRUE(outcome.last_lines.empty());
    EXPECT_THAT(
        log_.lines[outcome.worker],
        ::testing::UnorderedElementsAre(server_->Home(), "one 'two' $HOME|", "oops", "bash"));
  }
  EXPECT_EQ(log_.ok, 2U);
  EXPECT_EQ(log_.failed, 0U);
  ExpectScriptRemoved();
}

// "4 retrying" for minutes tells nobody which address refuses, and what to set.
TEST_F(SshStepRunnerTest, TellsOnceWhyWorkersAreTriedAgainAndWhatToSet) {
  server_->Stop();
  limits_.retry = std::chrono::seconds(60);
  bool started = false;
  log_.on_line = [&] {
    if (!std::exchange(started, true)) server_->Start();
  };
  for (const StepOutcome& outcome : Run(Script("true\n"), 2)) {
    EXPECT_TRUE(outcome.ok) << outcome.message;
  }
  ASSERT_EQ(log_.lines.size(), 1U) << "one worker stands for both";
  EXPECT_THAT(log_.lines.begin()->second,
              ElementsAre("cannot connect to 127.0.0.1:" + std::to_string(server_->port()) +
                              ": Connection refused; podctl goes on trying, for 1m",
                          HasSubstr("PODCTL_SSH_PORT")));
  EXPECT_THAT(log_.causes, ElementsAre("connection refused"));
}

// What limits that wait is another setting than a step's own.
TEST_F(SshStepRunnerTest, OfAReadinessProbeTheSettingOfItsPatienceIsNamed) {
  server_->Stop();
  bool started = false;
  log_.on_line = [&] {
    if (!std::exchange(started, true)) server_->Start();
  };
  Step probe;
  probe.kind = Step::Kind::kReadiness;
  probe.timeout = std::chrono::seconds(60);
  Run(probe);
  ASSERT_EQ(log_.lines.size(), 1U);
  EXPECT_THAT(log_.lines.begin()->second.front(),
              HasSubstr("; podctl goes on trying, for 1m (`timeouts.boot`)"));
}

// "0/2 ok, 1 failed, 2 retrying" was told of two workers.
TEST_F(SshStepRunnerTest, ItsCountsAddUp) {
  server_->Stop();
  limits_.retry = std::chrono::milliseconds(600);
  for (const StepOutcome& outcome : Run(Script("true\n"), 4)) EXPECT_FALSE(outcome.ok);
  EXPECT_EQ(log_.failed, 4U);
  EXPECT_EQ(log_.most, 4U);
}

TEST_F(SshStepRunnerTest, StopsAtTheFirstCommandThatFails) {
  const auto outcomes = Run(Script("echo before\nfalse\necho after\n"));
  EXPECT_FALSE(outcomes[0].ok);
  EXPECT_THAT(log_.lines[0], ElementsAre("before"));
  EXPECT_EQ(log_.failed, 1U);
}

TEST_F(SshStepRunnerTest, TellsHowAScriptFailedInItsOwnWords) {
  const auto outcomes =
      Run(Script("for i in $(seq 1 50); do echo line $i; done; echo 'no space left'; exit 3"));
  EXPECT_FALSE(outcomes[0].ok);
  EXPECT_EQ(outcomes[0].message, "the script ended with exit code 3: no space left");
  ASSERT_EQ(outcomes[0].last_lines.size(), 20U);
  EXPECT_EQ(outcomes[0].last_lines.front(), "line 32");
  EXPECT_EQ(outcomes[0].last_lines.back(), "no space left");
}

// It may hold what was sensitive: "set -x" alone shows every value.
TEST_F(SshStepRunnerTest, WhatASecretStepSaysIsNeitherShownNorKept) {
  Step step = Script("echo the-$TOKEN; echo the-$TOKEN >&2; exit 3");
  step.env = {{"TOKEN", "secret"}};
  step.hides_output = true;
  const auto outcomes = Run(step, 2);
  for (const StepOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.message, "the script ended with exit code 3");
    EXPECT_EQ(outcome.shared.find("secret"), std::string::npos);
    EXPECT_TRUE(outcome.last_lines.empty());
  }
  ASSERT_EQ(log_.lines.size(), 1U) << "one worker stands for both";
  EXPECT_THAT(log_.lines.begin()->second,
              ElementsAre("(output suppressed due to sensitive value in config)"));
}

TEST_F(SshStepRunnerTest, TheSameFailureIsTheSameWordsOnEachWorker) {
  const auto outcomes = Run(Script("true\nno-such-program\n"), 2);
  EXPECT_THAT(outcomes[0].message,
              MatchesRegex("the script ended with exit code 127: script: line [0-9]+: "
                           "no-such-program: command not found"));
  EXPECT_EQ(outcomes[0].message, outcomes[1].message);
}

TEST_F(SshStepRunnerTest, KeepsScriptAndEnvironmentOutOfTheProcessList) {
  Step step = Script("tr '\\0' ' ' < /proc/$PPID/cmdline; echo; cat /proc/$$/cmdline; : hidden");
  step.env = {{"TOKEN", "swordfish"}};
  const auto outcomes = Run(step);
  EXPECT_TRUE(outcomes[0].ok) << outcomes[0].message;
  std::string shown;
  for (const std::string& line : log_.lines[0]) shown += line + "\n";
  EXPECT_THAT(shown, HasSubstr("/bin/sh"));
  EXPECT_EQ(shown.find("swordfish"), std::string::npos);
  EXPECT_EQ(shown.find("hidden"), std::string::npos);
}

TEST_F(SshStepRunnerTest, CopiesFilesBeforeTheScriptRuns) {
  const TempFolder local;
  std::filesystem::create_directories(local.path() + "/notebooks/sub");
  WriteAll(local.path() + "/notebooks/sub/a.ipynb", "{}");
  WriteAll(local.path() + "/one", "1\n");
  Step step = Script("cat one notebooks/sub/a.ipynb");
  step.files = {{local.path() + "/notebooks", "~/notebooks"}, {local.path() + "/one", "~/"}};
  const auto outcomes = Run(step);
  EXPECT_TRUE(outcomes[0].ok) << outcomes[0].message;
  EXPECT_THAT(log_.lines[0], ElementsAre("1", "{}"));
}

TEST_F(SshStepRunnerTest, ALocalFileThatIsMissingFailsEveryWorkerWithoutAConnection) {
  Step step = Script("true");
  step.files = {{"/nowhere/at/all", "~/x"}};
  const auto outcomes = Run(step, 2);
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(outcomes[1].worker, 1);
  EXPECT_THAT(outcomes[1].message, HasSubstr("/nowhere/at/all"));
}

TEST_F(SshStepRunnerTest, SaysThatFilesCouldNotBeUnpacked) {
  Program("tar", "echo 'tar: disk quota exceeded' >&2; exit 2\n");
  const auto outcomes = Run(Script("echo ran"));
  EXPECT_FALSE(outcomes[0].ok);
  EXPECT_EQ(outcomes[0].message, "the files could not be unpacked: tar: disk quota exceeded");
  EXPECT_THAT(outcomes[0].last_lines, ElementsAre("tar: disk quota exceeded"));
}

TEST_F(SshStepRunnerTest, EndsAScriptThatRunsTooLong) {
  Step step = Script("echo $0 > place; echo up; sleep 58.75");
  step.timeout = std::chrono::milliseconds(400);
  const auto outcomes = Run(step);
  EXPECT_TRUE(outcomes[0].message.starts_with(
      "the step was ended because the command ran longer than 0.4s"))
      << outcomes[0].message;
  EXPECT_FALSE(IsRunning("sleep", "58.75"));
  ExpectScriptRemoved();
}

TEST_F(SshStepRunnerTest, OneWorkerThatFailsLeavesTheOthersAlone) {
  // All workers are one machine here: the first to make the folder is the one that fails.
  const auto outcomes = Run(Script("mkdir once && exit 9; exit 0"), 4);
  int failed = 0;
  for (const StepOutcome& outcome : outcomes) failed += outcome.ok ? 0 : 1;
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(log_.ok, 3U);
  EXPECT_EQ(log_.applied.size(), 3U);
  EXPECT_EQ(log_.failed, 1U);
}

TEST_F(SshStepRunnerTest, AWorkerIsReadyWhenItIsFitForUse) {
  Program("docker", "exit 1\n");
  Program("systemctl", "printf 'LoadState=loaded\\nActiveState=active\\nMainPID=0\\n'\n");
  Step step;
  step.kind = Step::Kind::kReadiness;
  EXPECT_TRUE(Run(step)[0].ok) << Run(step)[0].message;
  EXPECT_TRUE(log_.lines.empty()) << "what the probe says is not the user's to read";
  Program("systemctl", "printf 'LoadState=loaded\\nActiveState=failed\\nMainPID=0\\n'\n");
  const StepOutcome broken = Run(step)[0];
  EXPECT_FALSE(broken.ok);
  EXPECT_EQ(broken.message, "tpu-runtime is failed");
  EXPECT_TRUE(broken.last_lines.empty());
  server_->Stop();
  EXPECT_FALSE(Run(step)[0].ok);
}

// Two workers at addresses of their own, as they reach each other.
TEST_F(SshStepRunnerTest, WorkersAreReadyTogetherWhenTheyReachEachOther) {
  Program("docker", "exit 1\n");
  Program("systemctl", "printf 'LoadState=loaded\\nActiveState=active\\nMainPID=0\\n'\n");
  Step step;
  step.kind = Step::Kind::kReadiness;
  step.probes = true;
  std::vector<WorkerAccess> workers = Workers(2);
  workers[0].inside = "127.0.78.1";
  workers[1].inside = "127.0.78.2";
  ssh::FanOut fan_out(keyring_, clock_, random_);
  SshStepRunner runner(fan_out, files_, random_, limits_, withheld_);
  for (const StepOutcome& outcome : runner.Run(step, workers, log_, {})) {
    EXPECT_TRUE(outcome.ok) << outcome.message;
  }
  EXPECT_TRUE(log_.lines.empty()) << "what a probe says is not the user's to read";
  Program("python3", "echo no module named socket >&2; exit 1\n");
  for (const StepOutcome& outcome : runner.Run(step, workers, log_, {})) {
    EXPECT_FALSE(outcome.ok);
    EXPECT_EQ(outcome.message,
              "it did not join: the probe ended with exit code 1: no module named socket");
    EXPECT_EQ(outcome.shared, outcome.message);
  }
}

// Nobody is asked to reach one that cannot be used.
TEST_F(SshStepRunnerTest, WorkersAreProbedTogetherOnlyWhenEachIsFitForUse) {
  Program("docker", "exit 1\n");
  Program("systemctl", "printf 'LoadState=loaded\\nActiveState=failed\\nMainPID=0\\n'\n");
  Program("python3", "touch ~/probed; exit 1\n");
  Step step;
  step.kind = Step::Kind::kReadiness;
  step.probes = true;
  EXPECT_EQ(Run(step, 2)[0].message, "tpu-runtime is failed");
  EXPECT_FALSE(std::filesystem::exists(server_->Home() + "/probed"));
}

// Notes with what limits it is asked.
class NotedLimits final : public ssh::Transport {
 public:
  std::vector<ssh::WorkerResult> Run(const std::vector<ssh::Job>& jobs, const ssh::Limits& given,
                                     ssh::Observer& observer, std::stop_token) override {
    limits = given;
    std::vector<ssh::WorkerResult> results(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) observer.OnResult(i, results[i]);
    return results;
  }
  ssh::Limits limits;
};

// A worker that takes the probe and says nothing is not waited for for ever.
TEST_F(SshStepRunnerTest, AReadinessProbeIsBounded) {
  NotedLimits noted;
  SshStepRunner runner(noted, files_, random_, limits_, withheld_);
  Step step;
  step.kind = Step::Kind::kReadiness;
  runner.Run(step, Workers(1), log_, {});
  EXPECT_EQ(noted.limits.command, std::chrono::minutes(7));
  step.timeout = std::chrono::seconds(90);
  runner.Run(step, Workers(1), log_, {});
  EXPECT_EQ(noted.limits.command, std::chrono::seconds(90));
  EXPECT_EQ(noted.limits.retry, std::chrono::seconds(90));
}

TEST_F(SshStepRunnerTest, StopEndsTheScript) {
  std::stop_source stop;
  log_.on_line = [&] { stop.request_stop(); };
  const auto outcomes = Run(Script("echo up; sleep 57.75"), 1, stop.get_token());
  EXPECT_FALSE(outcomes[0].ok);
  EXPECT_THAT(outcomes[0].message, HasSubstr("cancelled"));
  EXPECT_FALSE(IsRunning("sleep", "57.75"));
}

// What a shell has been told to start in the background.
void WaitFor(const std::string& program, const std::string& argument) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!IsRunning(program, argument) && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// A killed podctl leaves its script behind, and so does a worker whose connection went.
TEST_F(SshStepRunnerTest, AnEarlierRunOfTheSameStepIsEndedFirst) {
  const std::string mark = "PODCTL_STEP=" + server_->Home() + "#state/step.a";
  const pid_t earlier = StartProgram(
      {"env", mark, "sh", "-c", "unset PODCTL_STEP; sleep 58.25; exit $?"}, "/dev/null");
  const pid_t another = StartProgram({"env", mark + "b", "sleep", "58.5"}, "/dev/null");
  WaitFor("sleep", "58.25");
  WaitFor("sleep", "58.5");
  ASSERT_TRUE(IsRunning("sleep", "58.25"));
  Step step = Script("echo runs; pgrep -f '^sleep 58[.]25$' || echo alone\n");
  step.mark = "state/step.a";
  const auto outcomes = Run(step);
  EXPECT_TRUE(outcomes[0].ok) << outcomes[0].message;
  EXPECT_THAT(log_.lines[0],
              ElementsAre("an earlier run of this step was still at it here: it is ended first",
                          "runs", "alone"));
  EXPECT_TRUE(IsRunning("sleep", "58.5"));  // another step's
  EndProgram(another);
  EndProgram(earlier);
}

TEST_F(SshStepRunnerTest, WhatAScriptStartedAndLeftStays) {
  Step step = Script(
      "[ -e daemon ] && exit\nsetsid sleep 58.125 >/dev/null 2>&1 </dev/null &\necho $! >daemon\n");
  step.mark = "state/step.b";
  EXPECT_TRUE(Run(step)[0].ok);
  WaitFor("sleep", "58.125");
  EXPECT_TRUE(Run(step)[0].ok);
  EXPECT_TRUE(IsRunning("sleep", "58.125"));
  EXPECT_EQ(kill(std::stoi(ReadAll(server_->Home() + "/daemon")), SIGKILL), 0);
}

// A systemd of shell scripts: properties are files in the folder `unit`.
class RestartTest : public SshStepRunnerTest {
 protected:
  RestartTest() {
    unit_ = programs_.path() + "/unit";
    std::filesystem::create_directories(unit_);
    Property("LoadState", "loaded");
    Property("InvocationID", "aaaa");
    Property("MainPID", "100");
    Property("ActiveState", "active");
    Program("sleep", "exit 0\n");  // the waits are the script's, not the test's
    Program("sudo", "[ \"$1\" = -n ] || exit 9; shift; SUDO=1 exec \"$@\"\n");
    Restart("echo bbbb > InvocationID; echo 200 > MainPID");
  }
  void Property(const std::string& name, const std::string& value) {
    WriteAll(unit_ + "/" + name, value + "\n");
  }
  void Restart(const std::string& script) {
    Program("systemctl", "cd " + unit_ +
                             "\ncase \"$1\" in\n"
                             "show) shift; while [ $# -gt 1 ]; do\n"
                             "  [ $1 = -p ] || exit 1\n"
                             "  echo \"$2=$(cat \"$2\" 2>/dev/null)\"; shift 2; done;;\n"
                             "status) echo 'Active: failed (Result: exit-code)';;\n"
                             "restart) [ -n \"$SUDO\" ] || exit 1\necho x >> restarts\n" +
                             script + ";;\nesac\n");
  }
  StepOutcome Restarted() {
    Step step;
    step.kind = Step::Kind::kRestartRuntime;
    return Run(step).at(0);
  }
  std::string Restarts() const { return ReadAll(unit_ + "/restarts"); }

  std::string unit_;
};

TEST_F(RestartTest, RestartsOnceAndSeesTheNewRun) {
  const StepOutcome outcome = Restarted();
  EXPECT_TRUE(outcome.ok) << outcome.message;
  EXPECT_EQ(Restarts(), "x\n");
}

TEST_F(RestartTest, TrustsANewMainProcessWhereSystemdKnowsNoInvocations) {
  std::filesystem::remove(unit_ + "/InvocationID");
  Restart("echo 200 > MainPID");
  EXPECT_TRUE(Restarted().ok);
}

TEST_F(RestartTest, AnOldProcessIsNoNewRunWhereSystemdKnowsNoInvocations) {
  std::filesystem::remove(unit_ + "/InvocationID");
  Restart(":");
  EXPECT_FALSE(Restarted().ok);
  Restart("echo 0 > MainPID");
  EXPECT_FALSE(Restarted().ok);
}

TEST_F(RestartTest, AUnitThatWasNotRunningIsStarted) {
  Property("InvocationID", "");
  Property("MainPID", "0");
  Property("ActiveState", "inactive");
  Restart("echo bbbb > InvocationID; echo 200 > MainPID; echo active > ActiveState");
  EXPECT_TRUE(Restarted().ok);
}

TEST_F(RestartTest, AnImageWithoutTheUnitHasNothingToRestart) {
  Property("LoadState", "not-found");
  const StepOutcome outcome = Restarted();
  EXPECT_TRUE(outcome.ok);
  EXPECT_EQ(outcome.message, "no tpu-runtime here; the flags go to what podctl starts");
  EXPECT_EQ(Restarts(), "") << "nothing is to be restarted";
}

TEST_F(RestartTest, ARestartThatChangedNothingIsNoSuccess) {
  Restart(":");  // says 0, but the old process runs on
  const StepOutcome outcome = Restarted();
  EXPECT_FALSE(outcome.ok);
  EXPECT_EQ(outcome.message,
            "tpu-runtime was restarted but did not stay active: Active: failed (Result: "
            "exit-code)");
}

TEST_F(RestartTest, AUnitThatDiesAgainIsNoSuccess) {
  Restart("echo bbbb > InvocationID; echo failed > ActiveState");
  EXPECT_FALSE(Restarted().ok);
}

TEST_F(RestartTest, AUnitThatFlapsIsNoSuccess) {
  // Every look at it finds another run.
  Restart("echo 1 > count");
  Program("cat",
          "case \"$1\" in InvocationID) n=$(/bin/cat count 2>/dev/null || echo 0); n=$((n+1)); "
          "echo $n > count; echo run$n;; *) exec /bin/cat \"$@\";; esac\n");
  EXPECT_FALSE(Restarted().ok);
}

TEST_F(RestartTest, ShowsTheWordsOfARefusedRestart) {
  Program("sudo", "echo 'sudo: a password is required' >&2; exit 1\n");
  const StepOutcome outcome = Restarted();
  EXPECT_EQ(outcome.message, "tpu-runtime could not be restarted: sudo: a password is required");
}

TEST_F(RestartTest, OfAFailedRestartTheFirstWordsTell) {
  Program("sudo",
          "echo 'Job for tpu-runtime.service failed.' >&2\n"
          "echo 'See \"systemctl status tpu-runtime.service\" for details.' >&2; exit 1\n");
  const StepOutcome outcome = Restarted();
  EXPECT_EQ(outcome.message,
            "tpu-runtime could not be restarted: Job for tpu-runtime.service failed.");
  EXPECT_TRUE(outcome.last_lines.empty()) << "they were shown already";
}

TEST_F(RestartTest, SaysThatSystemdDoesNotAnswer) {
  Program("systemctl", "echo 'System has not been booted with systemd'; exit 1\n");
  const StepOutcome outcome = Restarted();
  EXPECT_EQ(outcome.message,
            "systemd does not answer on this worker: System has not been booted with systemd");
}

class RequestXrtTest : public SshStepRunnerTest {
 protected:
  std::string Ask(const std::string& curl) {
    Program("curl", curl);
    Program("sleep", "exit 0\n");
    Step step;
    step.kind = Step::Kind::kRequestXrt;
    step.script = "1.15.0";
    const auto outcomes = Run(step);
    return outcomes.at(0).ok ? "ok" : outcomes.at(0).message;
  }
};

TEST_F(RequestXrtTest, AsksTheWorkersOwnPortAndShowsTheAnswer) {
  EXPECT_EQ(Ask("echo \"$*\" > ~/asked; printf 'switched\\n200'\n"), "ok");
  EXPECT_THAT(ReadAll(server_->Home() + "/asked"), HasSubstr("-X POST"));
  EXPECT_THAT(ReadAll(server_->Home() + "/asked"),
              HasSubstr("http://127.0.0.1:8475/requestversion/1.15.0"));
  EXPECT_THAT(log_.lines[0], ElementsAre("switched", "the runtime answered 200 to XRT 1.15.0"));
}

TEST_F(RequestXrtTest, SaysInWordsWhyThereIsNone) {
  EXPECT_EQ(Ask("echo x >> ~/tries; echo 'curl: (7) Failed to connect' >&2; exit 7\n"),
            "nothing listens on port 8475 of this worker: its runtime has no service that changes "
            "versions (only those of Colab's old TPUs had one)");
  EXPECT_EQ(ReadAll(server_->Home() + "/tries"), "x\nx\nx\nx\nx\n") << "it may be starting";
  EXPECT_EQ(Ask("echo 'curl: (52) Empty reply from server' >&2; exit 52\n"),
            "the runtime was asked for XRT 1.15.0 and did not answer: curl: (52) Empty reply from "
            "server");
  EXPECT_EQ(Ask("printf 'no such version\\n404'\n"),
            "the runtime refused XRT 1.15.0: HTTP status 404");
}

}  // namespace
}  // namespace podctl::testing
