#include "providers/workers/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "providers/base/text.h"
#include "providers/workers/runs.h"
#include "tests/providers/workers/worker_shell.h"

namespace podctl::workers {
namespace {

using podctl::testing::ReadAll;
using podctl::testing::Said;
using podctl::testing::WorkerShell;
using podctl::testing::WriteAll;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using State = JobStatus::State;

TEST(JobNames, AreWordsOfAFileName) {
  for (const std::string good : {"train", "a.b-c_9", "9"}) EXPECT_TRUE(IsJobName(good)) << good;
  for (const std::string bad : {"", ".hidden", "-x", "a/b", "a b", "$(x)", "é"}) {
    EXPECT_FALSE(IsJobName(bad)) << bad;
  }
  EXPECT_FALSE(IsJobName(std::string(65, 'a')));
}

TEST(JobAnswer, IsReadWholeOrRefused) {
  const std::vector<std::string> answer = {
      "podctl-jobs 1", "job train 0123-a running 0 1795284000 0 10 python3 train.py",
      "job eval 0123-b ended 3 1795284000 1795284010 0 ", "end"};
  const auto jobs = ParseJobs(answer);
  ASSERT_TRUE(jobs);
  ASSERT_THAT(*jobs, SizeIs(2));
  EXPECT_EQ(jobs->at(0).command, "python3 train.py");
  EXPECT_EQ(jobs->at(1).exit_code, 3);
  EXPECT_EQ(jobs->at(1).state, State::kEnded);
  for (std::size_t length = 0; length < answer.size(); ++length) {
    EXPECT_FALSE(ParseJobs({answer.begin(), answer.begin() + static_cast<long>(length)}));
  }
  for (const std::string odd :
       {"job ../x r running 0 0 0 0 c", "job x r flying 0 0 0 0 c", "job x r running", "", "x"}) {
    auto lines = answer;
    lines.insert(lines.end() - 1, odd);
    EXPECT_FALSE(ParseJobs(lines)) << odd;
  }
}

// The command as the spec has it, however the job was started.
TEST(JobAnswer, ItsCommandIsWhatSomebodyTyped) {
  const std::pair<std::string, std::string> lines[] = {
      {"python3 train.py", "python3 train.py"},
      {"exec python3 train.py", "python3 train.py"},
      {"exec \"${SHELL:-/bin/sh}\" -c 'echo '\\''hi'\\''; sleep 3'", "echo 'hi'; sleep 3"},
      {"exec \"${SHELL:-/bin/sh}\" -c true", "true"},
      {"exec \"${SHELL:-/bin/sh}\" -c 'cut off", "cut off"},
  };
  for (const auto& [line, command] : lines) {
    const auto jobs = ParseJobs({"podctl-jobs 1", "job a 0123-a running 0 0 0 0 " + line, "end"});
    ASSERT_TRUE(jobs) << line;
    EXPECT_EQ(jobs->at(0).command, command);
  }
}

TEST(JobLogNotes, AreToldFromOtherWords) {
  EXPECT_EQ(ReadLogNote("podctl-log begin r1 17")->offset, 17U);
  EXPECT_EQ(ReadLogNote("podctl-log ended 3")->exit_code, 3);
  EXPECT_EQ(ReadLogNote("podctl-log ended 143 bob@x: podctl kill")->ended_by, "bob@x: podctl kill");
  EXPECT_EQ(ReadLogNote("podctl-log ended 143 bob@x: podctl kill")->exit_code, 143);
  EXPECT_EQ(ReadLogNote("podctl-log died 0")->kind, LogNote::Kind::kDied);
  const auto next = ReadLogNote("podctl-log replaced r2 ended 143 bob@x: podctl kill");
  ASSERT_TRUE(next);
  EXPECT_EQ(next->kind, LogNote::Kind::kReplaced);
  EXPECT_EQ(next->run, "r2");
  EXPECT_EQ(next->former, LogNote::Kind::kEnded);
  EXPECT_EQ(next->exit_code, 143);
  EXPECT_EQ(next->ended_by, "bob@x: podctl kill");
  EXPECT_EQ(ReadLogNote("podctl-log replaced r2 unknown 0")->former, std::nullopt);
  for (const std::string other : {"tail: inotify resources exhausted", "podctl-log",
                                  "podctl-log ended", "podctl-log begin r x", "podctl-log replaced",
                                  "podctl-log replaced r2", "podctl-log unknown 0"}) {
    EXPECT_FALSE(ReadLogNote(other)) << other;
  }
}

class JobsTest : public ::testing::Test {
 protected:
  ~JobsTest() override { Kill("train", 0); }
  static JobStart Job(const std::string& command, const std::string& run = "aaaa-1") {
    return {"train", run, command, {}};
  }
  Said Start(const JobStart& job) {
    return worker_.Run(StartCommand(job), StartInput(job) + std::string(kGoLine));
  }
  std::vector<JobStatus> Read(const Said& said) {
    const auto jobs = ParseJobs(said.out);
    EXPECT_TRUE(jobs) << Join(said.out, "\n") << Join(said.err, "\n") << said.result.message;
    return jobs ? *jobs : std::vector<JobStatus>{};
  }
  JobStatus List() {
    const auto jobs = Read(worker_.Run(ListCommand("train")));
    EXPECT_THAT(jobs, SizeIs(1));
    return jobs.empty() ? JobStatus{} : jobs[0];
  }
  JobStatus Kill(const std::string& name, int grace) {
    const auto jobs = Read(worker_.Run(KillCommand({name, std::chrono::seconds(grace), ""})));
    return jobs.empty() ? JobStatus{} : jobs[0];
  }
  // When the job has ended.
  JobStatus Ended() {
    worker_.Run(LogCommand({"train", true, {}, 0, ""}));
    return List();
  }
  Said Log(LogRequest request) {
    request.name = "train";
    return worker_.Run(LogCommand(request));
  }
  static bool IsThere(std::string_view pid) {
    const std::string status = ReadAll("/proc/" + std::string(pid) + "/status");
    return !status.empty() && status.find("State:\tZ") == std::string::npos;
  }
  std::string Folder() { return testing::JobFolder(worker_.home(), "train"); }
  void Await(const std::string& file) {
    while (!std::filesystem::exists(file)) std::this_thread::yield();
  }

  WorkerShell worker_;
};

TEST_F(JobsTest, OutlivesTheConnectionAndKeepsItsExitCode) {
  JobStart job = Job("echo \"$GREETING from $PODCTL_JOB in $PWD\"; echo oops >&2; exit 3");
  job.environment["GREETING"] = "it's $HOME";
  const Said started = Start(job);
  ASSERT_TRUE(started.result.ok()) << Join(started.err, "\n");
  const JobStatus status = Ended();
  EXPECT_EQ(status.state, State::kEnded);
  EXPECT_EQ(status.exit_code, 3);
  EXPECT_EQ(status.run, "aaaa-1");
  EXPECT_GE(status.ended, status.started);
  EXPECT_THAT(status.command, HasSubstr("echo \"$GREETING"));
  EXPECT_EQ(ReadAll(Folder() + "/log"), "it's $HOME from train in " + worker_.home() + "\noops\n");
  EXPECT_EQ(status.log_bytes, ReadAll(Folder() + "/log").size());
}

TEST_F(JobsTest, KeepsTheVariablesOutOfTheProcessList) {
  JobStart job = Job("tr '\\0' ' ' </proc/$PPID/cmdline; tr '\\0' ' ' </proc/$$/cmdline");
  job.environment["TOKEN"] = "swordfish";
  EXPECT_TRUE(Start(job).result.ok());
  Ended();
  EXPECT_EQ(ReadAll(Folder() + "/log").find("swordfish"), std::string::npos);
  EXPECT_EQ(StartCommand(job).find("swordfish"), std::string::npos);
  EXPECT_EQ(std::filesystem::status(worker_.home() + "/.podctl/jobs").permissions() &
                std::filesystem::perms::others_all,
            std::filesystem::perms::none);
}

// The disk of a worker may be kept, and be imaged, long after the job.
TEST_F(JobsTest, LeavesNoVariableOnTheWorker) {
  const auto found = [&] {
    std::string files;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(worker_.home() + "/.podctl")) {
      if (!entry.is_regular_file()) continue;
      if (ReadAll(entry.path()).find("TOKEN='swordfish") == std::string::npos &&
          ReadAll(entry.path()).find("TOKEN=swordfish") == std::string::npos) {
        continue;
      }
      files += entry.path().filename().string() + " ";
    }
    return files;
  };
  JobStart job = Job("[ \"$TOKEN\" = swordfish ] && touch up; sleep 600");
  job.environment["TOKEN"] = "swordfish";
  EXPECT_TRUE(Start(job).result.ok());
  Await(worker_.home() + "/up");
  EXPECT_EQ(found(), "") << "while it runs";
  Kill("train", 1);
  EXPECT_EQ(found(), "");
  // Of one that is not to begin after all.
  job.run = "aaaa-2";
  worker_.Run(StartCommand(job), StartInput(job));
  EXPECT_EQ(found(), "");
  // Of one that never came to read it.
  WriteAll(Folder() + "/environment", "export TOKEN=swordfish\n");
  std::filesystem::remove(Folder() + "/exit");
  Kill("train", 1);
  EXPECT_EQ(found(), "");
}

TEST_F(JobsTest, LivesOnWhenTheConnectionIsKilled) {
  EXPECT_TRUE(Start(Job("while [ ! -e go ]; do sleep 0.05; done; echo done")).result.ok());
  worker_.server().KillSessions();
  worker_.server().Stop();
  worker_.server().Start();
  EXPECT_EQ(List().state, State::kRunning);
  WriteAll(worker_.home() + "/go", "");
  EXPECT_EQ(Ended().exit_code, 0);
}

TEST_F(JobsTest, ANameThatRunsIsRefusedAndTheSameRunIsNotStartedTwice) {
  const JobStart job = Job("echo run >> runs; while :; do sleep 0.05; done");
  EXPECT_TRUE(Start(job).result.ok());
  EXPECT_TRUE(Start(job).result.ok()) << "the same run: it is there already";
  EXPECT_EQ(Start(Job("true", "bbbb-1")).result.exit_code, kJobRunsAlready);
  Await(worker_.home() + "/runs");
  EXPECT_EQ(ReadAll(worker_.home() + "/runs"), "run\n");
}

TEST_F(JobsTest, ANameWhoseJobHasEndedIsTaken) {
  EXPECT_TRUE(Start(Job("echo one")).result.ok());
  Ended();
  EXPECT_TRUE(Start(Job("echo two", "bbbb-2")).result.ok());
  EXPECT_EQ(Ended().run, "bbbb-2");
  EXPECT_EQ(ReadAll(Folder() + "/log"), "two\n");
}

TEST_F(JobsTest, AStartThatWasCutBeforeTheSupervisorCameIsBegunAnew) {
  EXPECT_TRUE(Start(Job("echo one")).result.ok());
  Ended();
  std::filesystem::remove(Folder() + "/pid");
  std::filesystem::remove(Folder() + "/exit");
  EXPECT_EQ(List().state, State::kDied);
  EXPECT_TRUE(Start(Job("echo one")).result.ok());
  EXPECT_EQ(Ended().state, State::kEnded);
}

// Of what somebody else put there: nobody waits for it, and the others are listed all the same.
TEST_F(JobsTest, AFolderThatIsNoJobKeepsNobodyWaiting) {
  ASSERT_TRUE(Start(Job("exit 3")).result.ok());
  Ended();
  const std::string jobs = std::filesystem::path(Folder()).parent_path();
  for (const char* name : {"command", "log", "exit", "pid", "run"}) {
    const std::string folder = jobs + "/with-" + name;
    std::filesystem::create_directories(folder);
    ASSERT_EQ(mkfifo((folder + "/" + name).c_str(), 0600), 0);
  }
  std::filesystem::create_directories(jobs + "/x y;id");
  std::filesystem::create_directories(jobs + "/forged");
  WriteAll(jobs + "/forged/exit", "99999999999999999999 x\n");
  WriteAll(jobs + "/forged/run", "a b c\n");
  std::vector<std::string> names;
  for (const JobStatus& job : Read(worker_.Run(ListCommand("")))) names.push_back(job.name);
  EXPECT_THAT(names, ElementsAre("forged", "train"));
  EXPECT_THAT(Read(worker_.Run(KillCommand({"with-exit", std::chrono::seconds(0), ""}))),
              IsEmpty());
}

TEST_F(JobsTest, IsEndedWithItsWholeProcessGroup) {
  EXPECT_TRUE(Start(Job("sh -c 'echo $$ > child; sleep 300.75' & wait")).result.ok());
  Await(worker_.home() + "/child");
  const JobStatus status = Kill("train", 10);
  EXPECT_EQ(status.state, State::kEnded);
  EXPECT_EQ(status.exit_code, 143);
  EXPECT_FALSE(podctl::testing::IsRunning("sleep", "300.75"));
}

TEST_F(JobsTest, IsKilledWhenItDoesNotHeedTerm) {
  EXPECT_TRUE(Start(Job("trap '' TERM; : > up; while :; do sleep 0.1; done")).result.ok());
  Await(worker_.home() + "/up");
  const JobStatus status = Kill("train", 1);
  EXPECT_EQ(status.state, State::kEnded);
  EXPECT_EQ(status.exit_code, 137);
}

TEST_F(JobsTest, ACommandThatHeedsTermKeepsItsOwnExitCode) {
  EXPECT_TRUE(Start(Job("trap 'echo saved; exit 7' TERM; : > up; while :; do sleep 0.05; done"))
                  .result.ok());
  Await(worker_.home() + "/up");
  EXPECT_EQ(Kill("train", 10).exit_code, 7);
  EXPECT_THAT(ReadAll(Folder() + "/log"), ::testing::EndsWith("saved\n"));
}

TEST_F(JobsTest, ASupervisorThatIsGoneIsTold) {
  EXPECT_TRUE(Start(Job("while :; do sleep 0.05; done")).result.ok());
  const int pid = std::stoi(ReadAll(Folder() + "/pid"));
  ::kill(-pid, SIGKILL);
  JobStatus status;
  do {
    status = List();
  } while (status.state == State::kRunning);
  EXPECT_EQ(status.state, State::kDied);
  EXPECT_EQ(Kill("train", 1).state, State::kDied) << "there is nothing to kill any more";
}

TEST_F(JobsTest, ALogIsReadToItsEndWithTheExitCode) {
  EXPECT_TRUE(Start(Job("for i in 1 2 3; do echo line $i; sleep 0.1; done; exit 5")).result.ok());
  const Said said = Log({.name = {}, .follow = true, .tail = {}, .seen = 0, .run = {}});
  EXPECT_THAT(said.out, ElementsAre("line 1", "line 2", "line 3"));
  EXPECT_EQ(said.err.front(), "podctl-log begin aaaa-1 0");
  EXPECT_EQ(said.err.back(), "podctl-log ended 5");
}

TEST_F(JobsTest, ALogGoesOnWhereItStopped) {
  EXPECT_TRUE(Start(Job("printf 'one\\ntwo\\nthree'")).result.ok());
  Ended();
  const auto after = [&](std::uint64_t seen, const std::string& run = "aaaa-1") {
    return Log({.name = {}, .follow = true, .tail = {}, .seen = seen, .run = run}).out;
  };
  EXPECT_THAT(after(4), ElementsAre("two", "three"));
  EXPECT_THAT(after(8), ElementsAre("three"));
  // "tw" came, and then the connection broke: counted as a line with its newline.
  EXPECT_THAT(after(7), ElementsAre("o", "three"));
  EXPECT_THAT(after(7, "bbbb-1"), ElementsAre("one", "two", "three")) << "another run";
}

// Another run takes its place while it is read: the reader has all of the first, and how it ended.
TEST_F(JobsTest, ALogThatIsFollowedIsThatOfOneRun) {
  EXPECT_TRUE(Start(Job("echo one; while [ ! -e ~/go ]; do sleep 0.05; done; exit 5")).result.ok());
  LogRequest request;
  request.name = "train";
  request.follow = true;
  const Said said = worker_.Run(
      worker_.JobOf(LogCommand(request)),
      [&](std::stop_source&) {
        WriteAll(worker_.home() + "/go", "");
        while (List().state == State::kRunning) std::this_thread::yield();
        EXPECT_TRUE(Start(Job("echo two", "bbbb-2")).result.ok());
      },
      "one");
  EXPECT_THAT(said.out, ElementsAre("one"));
  // tail may be through before the other run is there.
  EXPECT_THAT(said.err.back(),
              ::testing::AnyOf("podctl-log ended 5", "podctl-log replaced bbbb-2 ended 5"));
  request.run = "aaaa-1";
  request.seen = 4;
  request.only = true;
  const Said later = Log(request);
  EXPECT_THAT(later.out, IsEmpty());
  EXPECT_THAT(later.err, ElementsAre("podctl-log replaced bbbb-2 ended 5"));
  request.run = "cccc-3";
  EXPECT_THAT(Log(request).err, ElementsAre("podctl-log replaced bbbb-2 unknown 0"));
}

// What was taken away reads as zeros; nobody is shown those.
TEST_F(JobsTest, ALogBeginsBehindWhatWasTakenAway) {
  EXPECT_TRUE(Start(Job("printf 'one\\ntwo\\nthree\\n'")).result.ok());
  Ended();
  testing::WriteAll(Folder() + "/cut", "4                              \n");
  const Said said = Log({});
  EXPECT_THAT(said.out, ElementsAre("two", "three"));
  EXPECT_EQ(said.err.front(), "podctl-log begin aaaa-1 4");
  const auto after = [&](std::uint64_t seen) {
    return Log({.name = {}, .follow = false, .tail = {}, .seen = seen, .run = "aaaa-1"}).out;
  };
  EXPECT_THAT(after(2), ElementsAre("two", "three"));
  EXPECT_THAT(after(8), ElementsAre("three"));
  testing::WriteAll(Folder() + "/cut", "no number\n");
  EXPECT_THAT(Log({}).out, ElementsAre("one", "two", "three"));
}

TEST_F(JobsTest, TheLastLinesOfALogAreFoundWithTheirPlace) {
  EXPECT_TRUE(Start(Job("printf 'one\\ntwo\\nthree\\n'")).result.ok());
  Ended();
  const Said said = Log({.name = {}, .follow = false, .tail = 2, .seen = 0, .run = {}});
  EXPECT_THAT(said.out, ElementsAre("two", "three"));
  EXPECT_EQ(said.err.front(), "podctl-log begin aaaa-1 4");
  EXPECT_EQ(Log({.name = {}, .follow = false, .tail = 99, .seen = 0, .run = {}}).out.size(), 3U);
}

TEST_F(JobsTest, AJobThatIsNotThereIsTold) {
  EXPECT_EQ(Log({}).result.exit_code, kNoSuchJob);
  EXPECT_TRUE(Read(worker_.Run(KillCommand({"other", std::chrono::seconds(1), ""}))).empty());
  EXPECT_TRUE(Read(worker_.Run(ListCommand(""))).empty());
}

// A detached job keeps to no process group, stops itself, and hears of TERM only.
TEST_F(JobsTest, AKillReachesWhatTheJobHasStartedAnywhere) {
  EXPECT_TRUE(Start(Job("trap 'echo got TERM' TERM; setsid sh -c 'trap \"\" TERM; echo $$ >away; "
                        "kill -STOP $$; sleep 60' & while :; do sleep 0.1; done"))
                  .result.ok());
  Await(worker_.home() + "/away");
  const JobStatus killed =
      Read(worker_.Run(KillCommand({"train", std::chrono::seconds(1), "bob@x: podctl kill"})))
          .at(0);
  EXPECT_EQ(killed.state, State::kEnded);
  EXPECT_EQ(killed.exit_code, 137);
  EXPECT_EQ(killed.ended_by, "bob@x: podctl kill");
  EXPECT_EQ(List().ended_by, "bob@x: podctl kill");
  EXPECT_EQ(Log({}).err.back(), "podctl-log ended 137 bob@x: podctl kill");
  EXPECT_FALSE(IsThere(TrimBlanks(ReadAll(worker_.home() + "/away"))));
  const std::string log = ReadAll(Folder() + "/log");
  EXPECT_THAT(testing::WithoutTimes(log),
              HasSubstr("got TERM\npodctl: ended by bob@x: podctl kill\n"));
  EXPECT_THAT(log, ::testing::ContainsRegex("\npodctl: [-0-9]+T[:0-9]+Z ended by bob@x"));
}

// Who kills it may go away: the worker goes on by itself, and a second one waits for the first.
TEST_F(JobsTest, AKillGoesOnWhenNobodyWaitsForIt) {
  JobStart job = Job("trap 'echo got TERM' TERM; echo $$ >pid; while :; do sleep 0.1; done");
  job.grace = std::chrono::seconds(2);
  EXPECT_TRUE(Start(job).result.ok());
  Await(worker_.home() + "/pid");
  ssh::Job kill = worker_.JobOf(KillCommand({"train", std::nullopt, ""}));
  kill.ending = "exit 0";
  const Said said = worker_.Run(
      kill, [](std::stop_source& stop) { stop.request_stop(); }, "podctl-jobs 1");
  EXPECT_EQ(said.result.outcome, ssh::Outcome::kCancelled);
  EXPECT_EQ(Kill("train", 60).state, State::kEnded);
  EXPECT_FALSE(IsThere(TrimBlanks(ReadAll(worker_.home() + "/pid"))));
  const std::string log = ReadAll(Folder() + "/log");
  EXPECT_NE(log.find("got TERM\n"), std::string::npos) << log;
  EXPECT_EQ(log.find("got TERM\n"), log.rfind("got TERM\n")) << "asked once";
}

TEST_F(JobsTest, SystemdRunsItWhereThereIsOne) {
  // Notes its words and does what systemd would.
  worker_.Program("systemd-run",
                  "echo \"$*\" > " + worker_.root() +
                      "/words\nwhile [ \"$1\" != /bin/sh ]; do shift; done\n"
                      "env -i HOME=\"$HOME\" setsid \"$@\" </dev/null >/dev/null 2>&1 &\n");
  JobStart job = Job("echo \"$A $PODCTL_JOB\"; exit 4");
  job.environment["A"] = "b";
  EXPECT_TRUE(Start(job).result.ok());
  EXPECT_EQ(Ended().exit_code, 4);
  EXPECT_EQ(ReadAll(Folder() + "/log"), "b train\n");
  EXPECT_THAT(ReadAll(worker_.root() + "/words"), HasSubstr("--unit podctl-job-train-aaaa-1"));
}

}  // namespace
}  // namespace podctl::workers
