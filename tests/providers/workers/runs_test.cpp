#include "providers/workers/runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "providers/base/text.h"
#include "providers/workers/jobs.h"
#include "tests/providers/workers/worker_shell.h"

namespace podctl::workers {
namespace {

using podctl::testing::ReadAll;
using podctl::testing::Said;
using podctl::testing::WorkerShell;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

bool IsThere(const std::string& pid) {
  const std::string status = ReadAll("/proc/" + std::string(TrimBlanks(pid)) + "/status");
  return !status.empty() && status.find("State:\tZ") == std::string::npos;
}

class RunsTest : public ::testing::Test {
 protected:
  static workers::Run Train(const std::string& id = "r1") {
    return {"train", id, "alice@laptop", "python3 train.py", std::chrono::seconds(1)};
  }
  Said Run(const std::string& setup, const std::string& script, const std::string& go = "go\n") {
    ssh::Job job = worker_.JobOf(RunCommand(Train()), RunInput(setup, script) + go);
    if (go == "go\n") job.feed = &open_;
    return worker_.Run(job, {}, "");
  }
  // One that is at work, until `then` has had its way.
  Said RunUntilUp(const std::string& script, const std::function<void(std::stop_source&)>& then,
                  std::chrono::seconds grace, const std::string& because = {}) {
    workers::Run run = Train();
    run.grace = grace;
    ssh::Job job = worker_.JobOf(RunCommand(run), RunInput("", script) + "go\n");
    job.feed = &open_;
    job.ending = EndRunCommand(run, because);
    return worker_.Run(job, then, "up");
  }
  RunsEnded End(const RunsEnd& wanted) {
    const Said said = worker_.Run(EndRunsCommand(wanted));
    const auto ended = ParseEndRuns(said.out);
    EXPECT_TRUE(ended) << Join(said.out, "\n") << Join(said.err, "\n");
    return ended ? *ended : RunsEnded{};
  }
  int EndRuns() { return End({"train", "", false, "", std::chrono::seconds(1)}).processes; }
  std::string File(const std::string& name) { return ReadAll(worker_.home() + "/" + name); }
  std::string Folder() { return testing::JobFolder(worker_.home(), "train"); }

  testing::OpenFeed open_;
  WorkerShell worker_;
};

// Catches TERM and goes on; stops itself; sits in a session of its own, and in one without a
// parent.
constexpr const char* kStubborn =
    "trap 'echo got TERM; echo got TERM >>said' TERM\n"
    "sh -c 'echo $$ >stopped; kill -STOP $$' &\n"
    "setsid sh -c 'trap \"\" TERM; echo $$ >away; exec sleep 60' &\n"
    "sh -c 'setsid sh -c \"echo \\$\\$ >orphan; exec sleep 60\" &' &\n"
    "echo $$ >main\n"
    "until [ -s stopped ] && [ -s away ] && [ -s orphan ]; do sleep 0.05; done\n"
    "echo up\n"
    "while :; do sleep 0.1; done\n";

TEST_F(RunsTest, StartsWhenTheLineComes) {
  const Said said =
      Run("echo ready >made", "export A='it'\\''s'\nread x || echo \"$A\"; cat made\n");
  EXPECT_TRUE(said.result.ok()) << Join(said.err, "\n");
  EXPECT_THAT(said.out, ElementsAre("it's", "ready"));
  EXPECT_THAT(said.err, ElementsAre(std::string(kStagedLine)));
}

TEST_F(RunsTest, StartsNothingWithoutTheLine) {
  for (const std::string go : {"", "g", "stop\n"}) {
    const Said said = Run("", "echo started\n", go);
    EXPECT_EQ(said.result.exit_code, kNotStarted) << go;
    EXPECT_THAT(said.out, ElementsAre());
  }
}

TEST_F(RunsTest, IsNotReadyWhenItsSetupFails) {
  const Said said = Run("echo full >&2; exit 1", "echo started\n");
  EXPECT_EQ(said.result.exit_code, 1);
  EXPECT_THAT(said.err, ElementsAre("full"));
}

// Who copies the home folder would meet them.
TEST_F(RunsTest, LeavesNoPipes) {
  const Said said = Run("", "find ~/.podctl -type p; echo done");
  EXPECT_THAT(said.out, ElementsAre("done"));
  EXPECT_NE(ReadAll(Folder() + "/exit"), "");
}

TEST_F(RunsTest, ItsTextsStandInNoProcessList) {
  const Said said = Run("", "SECRET=swordfish\ntr '\\0' ' ' </proc/$$/cmdline\n");
  EXPECT_TRUE(said.result.ok());
  EXPECT_THAT(Join(said.out, "\n"), ::testing::Not(HasSubstr("swordfish")));
}

TEST_F(RunsTest, WhatAnEarlierRunLeftIsEnded) {
  EXPECT_EQ(EndRuns(), 0);
  const Said said =
      Run("",
          "setsid sleep 1000 >/dev/null 2>&1 &\n"
          "setsid sh -c 'trap : TERM; while :; do sleep 0.1; done' >/dev/null 2>&1 &\n"
          "while [ \"$(cat /proc/$!/comm)\" != sh ]; do :; done\n");
  EXPECT_TRUE(said.result.ok()) << Join(said.err, "\n");
  EXPECT_GE(EndRuns(), 2);
  EXPECT_EQ(EndRuns(), 0);
}

TEST_F(RunsTest, NothingOfItIsLeftWhenItIsEnded) {
  const Said said = RunUntilUp(
      "cd\n" + std::string(kStubborn), [](std::stop_source& stop) { stop.request_stop(); },
      std::chrono::seconds(1));
  EXPECT_EQ(said.result.outcome, ssh::Outcome::kCancelled);
  EXPECT_TRUE(said.result.ended) << said.result.message;
  EXPECT_EQ(said.result.message, "cancelled; ended");
  for (const char* const name : {"main", "stopped", "away", "orphan"}) {
    EXPECT_FALSE(IsThere(File(name))) << name;
  }
  EXPECT_EQ(File("said"), "got TERM\n") << "asked once";
}

TEST_F(RunsTest, WhoHadItEndedIsKeptForItsOwner) {
  const std::string who = "alice@laptop: podctl run train, interrupted";
  const Said said = RunUntilUp(
      "echo up\nwhile :; do sleep 0.1; done\n", [](std::stop_source& stop) { stop.request_stop(); },
      std::chrono::seconds(1), who);
  EXPECT_TRUE(said.result.ended) << said.result.message;
  EXPECT_FALSE(End({"train", "", false, "", std::chrono::seconds(60)}).at_work);
  const auto jobs = ParseJobs(worker_.Run(ListCommand("train")).out);
  ASSERT_TRUE(jobs && jobs->size() == 1);
  EXPECT_EQ(jobs->front().ended_by, who);
  const std::string log = ReadAll(Folder() + "/log");
  EXPECT_THAT(testing::WithoutTimes(log), HasSubstr("\npodctl: ended by " + who + "\n"));
  EXPECT_THAT(log, ::testing::MatchesRegex("podctl: [-0-9]+T[:0-9]+Z its lines went (.|\n)*"));
}

// So that nobody is told to wait for what there never was.
TEST_F(RunsTest, SaysThatItWaitsOnlyWhereSomethingIsLeft) {
  const RunsEnd wanted{"train", "", false, "", std::chrono::seconds(1)};
  EXPECT_THAT(worker_.Run(EndRunsCommand(wanted)).err, ElementsAre());
  Run("",
      "setsid sh -c 'trap : TERM; while :; do sleep 0.1; done' >/dev/null 2>&1 &\n"
      "while [ \"$(cat /proc/$!/comm)\" != sh ]; do :; done\n");
  EXPECT_THAT(worker_.Run(EndRunsCommand(wanted)).err, ElementsAre(std::string(kEndingLine)));
}

// A checkpoint that takes its time is awaited, and killed by nobody.
TEST_F(RunsTest, WhatEndsWithinItsGraceIsNotKilled) {
  const Said said = RunUntilUp(
      "cd\ntrap 'sleep 1; echo saved >saved; exit 0' TERM\necho up\n"
      "while :; do sleep 0.1; done\n",
      [](std::stop_source& stop) { stop.request_stop(); }, std::chrono::seconds(60));
  EXPECT_TRUE(said.result.ended) << said.result.message;
  EXPECT_EQ(File("saved"), "saved\n");
}

TEST_F(RunsTest, ItEndsByItselfWhenTheConnectionIsLost) {
  const Said said = RunUntilUp(
      "cd\n" + std::string(kStubborn), [&](std::stop_source&) { worker_.server().KillSessions(); },
      std::chrono::seconds(1));
  EXPECT_EQ(said.result.outcome, ssh::Outcome::kLost) << said.result.message;
  // Waits for what is under way.
  EXPECT_FALSE(End({"train", "", false, "", std::chrono::seconds(60)}).at_work);
  for (const char* const name : {"main", "stopped", "away", "orphan"}) {
    EXPECT_FALSE(IsThere(File(name))) << name;
  }
  EXPECT_EQ(File("said"), "got TERM\n") << "asked once";
  EXPECT_EQ(ReadAll(Folder() + "/ended-by"),
            "the worker: the connection of alice@laptop was lost\n");
}

TEST_F(RunsTest, OneThatIsAtWorkIsLeftAloneUnlessItIsMeant) {
  const Said said = RunUntilUp(
      "trap 'exit 0' TERM\necho up\nwhile :; do sleep 0.1; done\n",
      [&](std::stop_source&) {
        EXPECT_EQ(End({"train", "r2", false, "", std::chrono::seconds(1)}).at_work, "alice@laptop");
        const Said second =
            worker_.Run(RunCommand(Train("r2")), RunInput("", "echo two\n") + "go\n");
        EXPECT_EQ(second.result.exit_code, kJobRunsAlready);
        EXPECT_THAT(second.err, ElementsAre("a job named train runs there already"));
        const auto jobs = ParseJobs(worker_.Run(ListCommand("")).out);
        ASSERT_TRUE(jobs);
        EXPECT_EQ(jobs->at(0).state, JobStatus::State::kRunning);
        EXPECT_EQ(jobs->at(0).command, "python3 train.py");
        worker_.Run(KillCommand({"train", std::nullopt, "bob@desk: podctl kill research train"}));
      },
      std::chrono::seconds(60));
  EXPECT_EQ(said.result.outcome, ssh::Outcome::kExited) << said.result.message;
  ASSERT_THAT(said.err, ::testing::Not(::testing::IsEmpty()));
  EXPECT_EQ(ReadEndedBy(said.err.back(), "r1"), "bob@desk: podctl kill research train");
}

TEST_F(RunsTest, ACommandThatFailsHasSaidAllThatIsSaid) {
  const Said said = Run("", "echo gone >&2\nexit 7\n");
  EXPECT_EQ(said.result.exit_code, 7);
  EXPECT_THAT(said.err, ElementsAre(std::string(kStagedLine), "gone"));
  EXPECT_TRUE(ReadAll(Folder() + "/exit").starts_with("7 "));
}

// Masks, locale and descriptors are the user's own, and no variable of podctl's shell is left.
TEST_F(RunsTest, TheCommandSeesNothingOfTheShellAroundIt) {
  const Said said = Run("",
                        "umask; ls /proc/self/fd | tr '\\n' ' '; echo; trap; "
                        "env | grep -c '^LC_ALL=C$'\n");
  ASSERT_THAT(said.out, ::testing::SizeIs(::testing::Ge(3U)));
  EXPECT_NE(said.out[0], "0077");
  EXPECT_EQ(said.out[1], "0 1 2 3 ");
  EXPECT_EQ(said.out.back(), "0");
}

// A command may have left its own line open, and may write whatever it likes.
TEST(OwnLines, StandAtTheEndOfALineAndNameTheirRun) {
  const std::string first = "podctl-run r1 first 2 7 1500 failure ended with exit code 3";
  EXPECT_EQ(OwnLineIn(first, "r1"), 0U);
  EXPECT_EQ(OwnLineIn(" 50%|===\r" + first, "r1"), 9U);
  EXPECT_EQ(OwnLineIn(first, "r2"), std::string_view::npos);
  const auto read = ReadFirst(first, "r1");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->attempt, 2);
  EXPECT_EQ(read->worker, 7);
  EXPECT_EQ(read->after, std::chrono::milliseconds(1500));
  EXPECT_EQ(read->reason, "failure");
  EXPECT_EQ(read->cause, "ended with exit code 3");
  EXPECT_LE(ReadFirst(first + std::string(5000, '\x1b'), "r1")->cause.size(), 1000U);
  for (const std::string odd :
       {"podctl-run r1 first", "podctl-run r1 first 2 7 x failure a", "podctl-run r1 waiting 3",
        "podctl-run r1 ended-by bob", "podctl-run r2 first 2 7 1500 failure a", ""}) {
    EXPECT_FALSE(ReadFirst(odd, "r1")) << odd;
  }
  EXPECT_EQ(ReadEndedBy("podctl-run r1 ended-by bob@desk", "r1"), "bob@desk");
  EXPECT_FALSE(ReadEndedBy("podctl-run r2 ended-by bob@desk", "r1"));
}

TEST(EndRunsAnswer, IsReadWholeOrRefused) {
  EXPECT_EQ(ParseEndRuns({"hello", "podctl-runs 1", "ended 2 left 0", "end"})->processes, 2);
  EXPECT_EQ(ParseEndRuns({"podctl-runs 1", "runs alice@x", "end"})->at_work, "alice@x");
  EXPECT_EQ(ParseEndRuns({"podctl-runs 1", "runs", "end"})->at_work, "");
  EXPECT_EQ(ParseEndRuns({"podctl-runs 1", "ended 2 left 1", "end"}).error().code,
            ErrorCode::kPermissionDenied);
  for (const std::vector<std::string>& cut : std::vector<std::vector<std::string>>{
           {}, {"podctl-runs 1"}, {"podctl-runs 1", "ended 2 left 0"}, {"ended 2 left 0", "end"}}) {
    EXPECT_EQ(ParseEndRuns(cut).error().code, ErrorCode::kDataLoss);
  }
}

}  // namespace
}  // namespace podctl::workers
