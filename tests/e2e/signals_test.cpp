// Signals at every point of a run: it ends within seconds, its state tells of every node, the lock
// is free or taken over by rule, and the next run converges without making anything twice.
//
// By default each point meets one INT, some TERM or HUP, and those where something hangs a CI
// runner's sequence; with PODCTL_TEST_ALL=1 each point meets each.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <tuple>

#include "providers/base/json.h"
#include "tests/e2e/signal_points.h"

namespace podctl::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// What hangs here hangs for a minute or for ever.
constexpr std::chrono::seconds kSoon{30};

struct Storm {
  std::string name;
  int signal = 0;  // 0: a CI runner's sequence
  bool twice = false;

  friend void PrintTo(const Storm& storm, std::ostream* out) { *out << storm.name; }
};

const std::vector<Storm> kStorms = {
    {"Int", SIGINT}, {"Term", SIGTERM}, {"Hup", SIGHUP}, {"IntTwice", SIGINT, true}, {"CiRunner"}};

// GitHub's runner: INT, 7.5 s, TERM, 2.5 s, KILL.
int EndAsARunnerDoes(Process* run) {
  run->Signal(SIGINT);
  if (const auto code = run->Wait(milliseconds(7500))) return *code;
  run->Signal(SIGTERM);
  if (const auto code = run->Wait(milliseconds(2500))) return *code;
  run->Signal(SIGKILL);
  return run->Wait().value_or(-1);
}

class SignalsTest : public ::testing::TestWithParam<std::tuple<Point, Storm>> {
 protected:
  int Strike(const Storm& storm, Process* run) {
    if (storm.signal == 0) return EndAsARunnerDoes(run);
    run->Signal(storm.signal);
    if (storm.twice) run->SignalOnceMore(SIGTERM);
    return run->Wait(kSoon).value_or(-1);
  }
  void ExpectEveryNodeIsKnown() {
    const Value nodes = stage_.box.Http("GET", kNodes).body["nodes"];
    const std::string state = stage_.box.ReadFile("podctl.state.json");
    for (const Value& node : nodes.AsList()) {
      const std::string id = node["name"].AsString();
      EXPECT_THAT(state, HasSubstr("\"" + id.substr(id.rfind('/') + 1) + "\""));
    }
  }
  void ExpectRecovery() {
    stage_.GoOn();
    if (stage_.other) {
      EXPECT_EQ(stage_.other->Wait(), 0) << stage_.other->err();
    }
    // A step that waits for this file ends at once then.
    if (stage_.box.ReadFile("podctl.yaml").find("~/go") != std::string::npos) {
      EXPECT_EQ(stage_.box.Run({"exec", "research", "--", "touch go"}).code, 0);
    }
    const RunResult next = stage_.box.Run(stage_.recovery);
    EXPECT_EQ(next.code, 0) << next;
    const bool destroyed = stage_.recovery.front() == "destroy";
    const Arguments plan = destroyed ? Arguments{"plan", "--destroy", "--detailed-exitcode"}
                                     : Arguments{"plan", "--detailed-exitcode"};
    if (!destroyed) {
      const RunResult empty = stage_.box.Run(plan);
      EXPECT_EQ(empty.code, 0) << empty;
    }
    const auto nodes = stage_.box.Http("GET", kNodes).body["nodes"];
    EXPECT_EQ(nodes.AsList().size(), destroyed ? 0U : 1U) << ToJson(nodes);
  }

  Stage stage_;
};

TEST_P(SignalsTest, EndsWithinSecondsAndTheNextRunGoesOn) {
  const auto& [point, storm] = GetParam();
#ifdef __SANITIZE_THREAD__
  if (point.name == "ExecIsNotRead") {
    GTEST_SKIP() << "the thread sanitizer holds a signal back while its thread waits in write()";
  }
#endif
  ASSERT_NO_FATAL_FAILURE(point.reach(stage_));
  ASSERT_FALSE(HasFailure());
  const int code = Strike(storm, stage_.run.get());
  EXPECT_EQ(code, point.code) << stage_.run->out() << stage_.run->err();
  EXPECT_THAT(stage_.run->err(), Not(HasSubstr("Error:")));
  if (stage_.box.Exists("podctl.state.json")) {
    EXPECT_FALSE(stage_.box.State().is_null()) << stage_.box.ReadFile("podctl.state.json");
  }
  ExpectEveryNodeIsKnown();
  if (point.converges) ExpectRecovery();
}

bool InDefaultRun(const Point& point, const Storm& storm) {
  if (storm.name == "Int") return !point.hangs || point.name == "ExecIsNotRead";
  if (storm.name == "CiRunner") return point.hangs || point.name == "CreateRuns";
  if (storm.name == "Term") return point.name == "PatchRuns" || point.name == "StepRuns";
  if (storm.name == "Hup") return point.name == "CreateIsSent" || point.name == "TunnelStands";
  return point.name == "StepHangs";
}

std::vector<std::tuple<Point, Storm>> Cases() {
  const char* all = std::getenv("PODCTL_TEST_ALL");
  std::vector<std::tuple<Point, Storm>> cases;
  for (const Point& point : SignalPoints()) {
    for (const Storm& storm : kStorms) {
      if (all != nullptr || InDefaultRun(point, storm)) cases.emplace_back(point, storm);
    }
  }
  return cases;
}

std::string NameOf(const ::testing::TestParamInfo<std::tuple<Point, Storm>>& test) {
  return std::get<0>(test.param).name + std::get<1>(test.param).name;
}

INSTANTIATE_TEST_SUITE_P(Points, SignalsTest, ::testing::ValuesIn(Cases()), NameOf);

class LostReaderTest : public ::testing::Test {
 protected:
  // Runs `line` of a shell, whose "| true" reads nothing and is gone before the first word.
  RunResult Shell(const std::string& line) {
    return box_.RunProgram({"bash", "-c", "set -o pipefail; " + line});
  }
  void Begin(const std::string& workers = "none") {
    box_.StartEmulator(workers, "0.3s");
    box_.WriteSpec("  research: {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0}\n");
  }
  Sandbox box_;
};

// The plan's first line is read; the apply itself goes on to its end, and says that not all of it
// was heard.
TEST_F(LostReaderTest, ApplyFinishesWhatItBegan) {
  Begin();
  const RunResult run = Shell("(\"$PODCTL\" apply --auto-approve; echo code $? >&2) | true");
  EXPECT_THAT(run.err, HasSubstr("code 1\n")) << run;
  EXPECT_THAT(run.err, AllOf(HasSubstr("Creation complete"), Not(HasSubstr("Error")))) << run;
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 0);
  EXPECT_FALSE(box_.Exists("podctl.state.json.lock"));
}

TEST_F(LostReaderTest, ApplyNeedsNobodyAtAll) {
  Begin();
  const RunResult run = Shell("\"$PODCTL\" apply --auto-approve >&- 2>&- <&-");
  EXPECT_EQ(run.code, 1) << run;
  EXPECT_EQ(box_.Run({"plan", "--detailed-exitcode"}).code, 0);
  EXPECT_FALSE(box_.State().is_null()) << "messages must not get into files";
}

TEST_F(LostReaderTest, PlanIsQuiet) {
  Begin();
  // A pipe whose reader is gone for certain before the plan begins.
  const RunResult run = Shell("exec 3> >(true); wait $!; \"$PODCTL\" plan >&3");
  EXPECT_EQ(run.code, 1) << run;
  // One line, a note of the plan, and nothing of the pipe.
  EXPECT_THAT(run.err, ::testing::MatchesRegex("There is no SSH key yet: [^\n]*\n"));
}

TEST_F(LostReaderTest, AFullDiskIsTold) {
  Begin();
  const auto expect_told = [this](const std::string& words) {
    const RunResult run = Shell("\"$PODCTL\" " + words + " > /dev/full");
    EXPECT_EQ(run.code, 1) << words << "\n" << run;
    EXPECT_THAT(run.err, HasSubstr("standard output could not be written")) << words << "\n" << run;
  };
  for (const char* words :
       {"version", "help", "help plan", "completion bash", "init --list", "validate",
        "validate --json", "plan", "plan --json", "plan --markdown", "plan --out a.plan",
        "show a.plan", "show --json a.plan", "show --markdown a.plan", "types", "versions --json",
        "nonsense --json", "apply --auto-approve"}) {
    expect_told(words);
  }
  // The apply has done what it was to do all the same; there is a state now.
  for (const char* words :
       {"plan", "show", "show --json", "status", "status --json", "state list",
        "state show pod.research", "state pull", "state history", "state mv pod.research pod.other",
        "state rm pod.other --json", "destroy --auto-approve --json"}) {
    expect_told(words);
  }
}

// Whoever waits for the line that says where it serves would wait for ever.
TEST_F(LostReaderTest, TheEmulatorDoesNotServeWhoeverCannotHear) {
  const RunResult run =
      Shell("\"$PODCTL\" emulator --workers none --listen 127.0.0.1:0 > /dev/full");
  EXPECT_EQ(run.code, 1) << run;
  EXPECT_THAT(run.err, HasSubstr("standard output could not be written")) << run;
}

TEST_F(LostReaderTest, ExecAndSshEndTheirCommands) {
  Begin("sshd");
  box_.Apply();
  const RunResult exec = Shell("\"$PODCTL\" exec research -- yes 4711 | head -1");
  EXPECT_EQ(exec.out, "research/0 | 4711\n") << exec;
  EXPECT_EQ(exec.code, 1) << exec;
  const RunResult ssh = Shell("\"$PODCTL\" ssh research -- yes 4711 | head -1");
  EXPECT_EQ(ssh.out, "4711\n") << ssh;
  EXPECT_NE(ssh.code, 0) << ssh;
  EXPECT_TRUE(Eventually([&] {
    return box_.Run({"exec", "research", "--", "! pgrep -f 'yes 471[1]'"}).code == 0;
  })) << "it still runs on its worker";
}

// nohup, and a shell that keeps its background jobs out of Ctrl-C's way.
TEST_F(LostReaderTest, WhatIsIgnoredFromTheStartStaysIgnored) {
  Begin();
  box_.StopEmulator();
  box_.StartEmulator("none", "3s");
  auto run =
      box_.StartProgram({"sh", "-c", "trap '' HUP INT; exec \"$PODCTL\" apply --auto-approve"});
  ASSERT_TRUE(run->WaitForErr("Creating...")) << run->err();
  run->Signal(SIGHUP);
  run->Signal(SIGINT);
  EXPECT_EQ(run->Wait(), 0) << run->err();
}

}  // namespace
}  // namespace podctl::testing
