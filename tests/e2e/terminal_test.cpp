// Ctrl-Z and fg, and the terminal's modes, in a shell with job control.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class TerminalTest : public ::testing::Test {
 protected:
  // bash sets the modes that it likes when a job stops; dash leaves them as the job did.
  void Begin(const std::string& workers, const std::string& delay,
             const Arguments& shell = {"bash", "--norc", "--noprofile", "-i"}) {
    box_.StartEmulator(workers, delay);
    box_.WriteSpec("  research: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0}\n");
    box_.SetVariable("PS1", "shell$ ");
    shell_ = box_.RunProgramInPty(shell);
    Expect("shell$ ");
  }
  void Type(const std::string& keys) {
    shell_->Forget();
    shell_->SendKeys(keys);
  }
  void Expect(const std::string& text) {
    ASSERT_TRUE(shell_->WaitForText(text)) << shell_->shown();
  }
  // podctl, which the shell has started.
  pid_t Job() const {
    for (const pid_t pid : Descendants(shell_->pid())) {
      std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
      std::string name;
      std::getline(file, name);
      if (name == "podctl") return pid;
    }
    throw std::runtime_error("podctl does not run\n" + shell_->shown());
  }

  Sandbox box_;
  std::unique_ptr<Pty> shell_;
};

TEST_F(TerminalTest, CtrlZStopsAnApplyAndFgGoesOn) {
  Begin("none", "4s");
  Type("\"$PODCTL\" apply --auto-approve\r");
  Expect("pod.research: Creating");
  const pid_t podctl = Job();
  Type("\x1a");
  Expect("Stopped");
  // It holds the lock while it is stopped.
  const RunResult other = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(other.code, 3) << other;
  EXPECT_THAT(other.err, HasSubstr("Process:   " + std::to_string(podctl))) << other;
  Type("fg\r");
  Expect("pod.research: Creating");
  Expect("Creation complete");
  Expect("Apply complete!");
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 0);
}

TEST_F(TerminalTest, AQuestionIsAskedAgainAfterAStop) {
  Begin("none", "0.1s");
  Type("\"$PODCTL\" apply\r");
  Expect("Enter a value:");
  Type("\x1a");
  Expect("Stopped");
  Type("fg\r");
  Expect("Enter a value:");
  Type("yes\r");
  Expect("Apply complete!");
}

TEST_F(TerminalTest, AQuestionEndsWithAnySignal) {
  Begin("none", "0.1s");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Type("\"$PODCTL\" apply; echo code $?\r");
    Expect("Enter a value:");
    kill(Job(), signal);
    Expect("Nothing was changed.");
    Expect("code 130");
  }
  EXPECT_EQ(box_.Requests()["mutating"].AsInt(), 0);
  EXPECT_FALSE(box_.Exists("podctl.state.json.lock"));
}

// What was not seen whole is not asked about.
TEST_F(TerminalTest, APlanWhoseReaderWentAwayIsNotApproved) {
  Begin("none", "0.1s");
  Type("exec 3> >(true); wait $!; \"$PODCTL\" apply >&3; echo code $?\r");
  Expect("code 1");
  EXPECT_THAT(shell_->shown(), HasSubstr("the plan could not be shown"));
  EXPECT_EQ(box_.Requests()["mutating"].AsInt(), 0);
}

TEST_F(TerminalTest, CtrlCIsAnsweredAtOnceAndASecondOneLeaves) {
  Begin("none", "60s");
  box_.OrderFault(R"({"method": "POST", "path": "/nodes", "delayMs": 60000})");
  Type("\"$PODCTL\" apply --auto-approve; echo code $?\r");
  Expect("pod.research: Creating");
  Type("\x03");
  Expect("Interrupted: nothing new is started");
  Type("\x03");
  Expect("code 130");
  EXPECT_FALSE(box_.Exists("podctl.state.json.lock"));
}

TEST_F(TerminalTest, AShellOnAWorkerGivesTheTerminalBackWhileItIsStopped) {
  Begin("sshd", "0.1s", {"dash", "-i"});
  box_.Apply();
  Type("\"$PODCTL\" ssh research\r");
  Type("echo there-$((1+1))\r");
  Expect("there-2");
  ASSERT_TRUE(Eventually([&] { return shell_->IsRaw(); }));
  // Ctrl-Z is for the program there.
  Type("sh -c 'echo begun-$((1+1)); exec sleep 3600'\r");
  Expect("begun-2");
  Type("\x1a");
  Expect("Stopped");
  EXPECT_TRUE(shell_->IsRaw());
  // A stop from elsewhere is for podctl.
  const pid_t podctl = Job();
  Type("");
  kill(podctl, SIGTSTP);
  Expect("Stopped");
  EXPECT_FALSE(shell_->IsRaw());
  Type("fg\r");
  Expect("ssh research");
  ASSERT_TRUE(Eventually([&] { return shell_->IsRaw(); }));
  Type("echo again-$((40+2))\r");
  Expect("again-42");
  // One that no handler sees.
  Type("");
  kill(podctl, SIGSTOP);
  Expect("Stopped");
  EXPECT_TRUE(shell_->IsRaw());
  Type("fg\n");
  Expect("ssh research");
  ASSERT_TRUE(Eventually([&] { return shell_->IsRaw(); }));
  Type("exec sh -c 'exit 5'\r");  // bash asks back while jobs are stopped
  Expect("shell$ ");
  Type("echo code $?\r");
  Expect("code 5");
  EXPECT_FALSE(shell_->IsRaw());
}

// Three signals from elsewhere: the terminal must not stay raw.
TEST_F(TerminalTest, WhateverEndsAShellTheTerminalIsPutBack) {
  Begin("sshd", "0.1s", {"dash", "-i"});
  box_.Apply();
  for (const int times : {1, 3}) {
    Type("\"$PODCTL\" ssh research; echo code $?\r");
    ASSERT_TRUE(Eventually([&] { return shell_->IsRaw(); })) << shell_->shown();
    const pid_t podctl = Job();
    for (int i = 0; i < times; ++i) {
      if (i > 0) std::this_thread::sleep_for(kTwoSignals);
      kill(podctl, i == 1 ? SIGHUP : SIGTERM);
    }
    Expect("code 130");
    EXPECT_FALSE(shell_->IsRaw());
  }
}

}  // namespace
}  // namespace podctl::testing
