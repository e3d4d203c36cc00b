// Logs of a job on several workers: read to their end, taken up again, and remembered.
#include "plans/fleet/logs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/fake_workers.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using testing::FakeClock;
using testing::FakeFileSystem;
using testing::FakeWorkers;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::SomeWorkers;
using ::testing::UnorderedElementsAre;

// A follower waits on one thread while others read. Its time goes on only between two reads, and
// not for longer than until the next one is due, so that no busy machine makes anybody look silent.
class PacedClock final : public Clock {
 public:
  SystemTime Now() override { return clock_.Now(); }
  SteadyTime Steady() override { return clock_.Steady(); }
  bool SleepFor(std::chrono::milliseconds duration, std::stop_token stop) override {
    constexpr int kMostTicks = 100;  // of 200 ms: more than the longest pause
    std::unique_lock lock(mutex_);
    const bool follows = std::this_thread::get_id() == owner_;
    const auto may_go_on = [&] { return follows && reads_ == 0 && ticks_ < kMostTicks; };
    if (!changed_.wait(lock, stop, may_go_on)) return false;
    ++ticks_;
    return clock_.SleepFor(duration, stop);
  }
  void Begin() { Count(1); }
  void End() { Count(-1); }
  std::chrono::milliseconds Elapsed() { return clock_.Elapsed(); }

 private:
  void Count(int more) {
    const std::lock_guard lock(mutex_);
    reads_ += more;
    ticks_ = 0;
    changed_.notify_all();
  }

  const std::thread::id owner_ = std::this_thread::get_id();
  FakeClock clock_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  int reads_ = 0;
  int ticks_ = 0;
};

class PacedWorkers final : public ssh::Transport {
 public:
  PacedWorkers(FakeWorkers& workers, PacedClock& clock) : workers_(workers), clock_(clock) {}
  std::vector<ssh::WorkerResult> Run(const std::vector<ssh::Job>& jobs, const ssh::Limits& limits,
                                     ssh::Observer& observer, std::stop_token stop) override {
    clock_.Begin();
    const std::lock_guard lock(mutex_);
    auto results = workers_.Run(jobs, limits, observer, std::move(stop));
    clock_.End();
    return results;
  }
  std::size_t MostAtOnce(const std::vector<WorkerAccess>& workers) const override {
    return workers_.MostAtOnce(workers);
  }

 private:
  FakeWorkers& workers_;
  PacedClock& clock_;
  std::mutex mutex_;
};

class NotedLogs final : public LogWatcher {
 public:
  void OnLine(const WorkerAccess& worker, std::string_view line) override {
    lines.push_back(fmt::format("{}: {}", worker.index, line));
  }
  void OnRemark(const std::vector<WorkerAccess>& workers, const LogRemark& remark) override {
    for (const WorkerAccess& worker : workers) remarks.emplace_back(worker.index, remark);
    groups.push_back(workers.size());
  }
  std::vector<std::string> lines;
  std::vector<std::pair<int, LogRemark>> remarks;
  std::vector<std::size_t> groups;  // how many workers each call was about
};

FakeWorkers::Answer Log(std::vector<std::string> lines, const std::string& end,
                        const std::string& begin = "r1 0") {
  return {std::move(lines), {"podctl-log begin " + begin, "podctl-log " + end}};
}

class LogsTest : public ::testing::Test {
 protected:
  LogsTest() {
    files_.SetFolder("/home/alice");
    request_.name = "train";
  }
  LogsReport Read(int count, bool resume = false) {
    FakeWorkers workers([this](const ssh::Job& job) {
      commands_.push_back(job.command);
      auto& script = answers_[job.worker.index];
      FakeWorkers::Answer answer = script.front();
      if (script.size() > 1) script.erase(script.begin());
      return answer;
    });
    PacedWorkers transport(workers, clock_);
    KeptFile places(files_, environment_, "logs", "/home/alice/state.json", "pod.research.train");
    return ReadLogs(transport, clock_, places, SomeWorkers(count), request_, resume, ask_, noted_,
                    stop_.get_token());
  }

  PacedClock clock_;
  FakeFileSystem files_;
  FixedEnvironment environment_{{{"HOME", "/home/alice"}}};
  workers::LogRequest request_;
  std::map<int, std::vector<FakeWorkers::Answer>> answers_;  // by worker, one after the other
  std::vector<std::string> commands_;
  AskForPod ask_;
  NotedLogs noted_;
  std::stop_source stop_;
};

TEST_F(LogsTest, TellsThatTheBeginningIsNotThereAnyMore) {
  answers_[0] = {Log({"b"}, "ended 0", "r1 100")};
  answers_[1] = {Log({"b"}, "ended 0", "r1 200")};
  Read(2);
  ASSERT_THAT(noted_.remarks, SizeIs(2));
  EXPECT_EQ(noted_.remarks[0].second.kind, LogRemark::Kind::kCut);
  EXPECT_THAT(noted_.groups, ElementsAre(2U));
  noted_ = {};
  request_.tail = 1;
  Read(2);
  EXPECT_THAT(noted_.remarks, IsEmpty());
}

TEST_F(LogsTest, AreReadToTheirEnd) {
  answers_[0] = {Log({"a", "b"}, "ended 0")};
  answers_[1] = {Log({"c"}, "running 0")};
  const LogsReport report = Read(2);
  EXPECT_THAT(noted_.lines, UnorderedElementsAre("0: a", "0: b", "1: c"));
  ASSERT_THAT(report.ends, SizeIs(2));
  EXPECT_EQ(report.ends[0].kind, LogEnd::Kind::kEnded);
  EXPECT_EQ(report.ends[1].kind, LogEnd::Kind::kOpen);
  EXPECT_EQ(report.ExitCode(), 0);
}

TEST_F(LogsTest, TheExitCodeIsTheJobsWhereAllAgree) {
  LogsReport report;
  const auto end = [](LogEnd::Kind kind, int code = 0) {
    LogEnd made;
    made.kind = kind;
    made.exit_code = code;
    return made;
  };
  report.ends = {end(LogEnd::Kind::kEnded, 3), end(LogEnd::Kind::kEnded, 3)};
  EXPECT_EQ(report.ExitCode(), 3);
  report.ends.push_back(end(LogEnd::Kind::kEnded, 0));
  EXPECT_EQ(report.ExitCode(), 1);
  report.ends = {end(LogEnd::Kind::kDied)};
  EXPECT_EQ(report.ExitCode(), 1);
  report.ends = {end(LogEnd::Kind::kOpen), end(LogEnd::Kind::kEnded, 0)};
  EXPECT_EQ(report.ExitCode(), 0);
}

// A job may run on some of a pod's workers only.
TEST_F(LogsTest, WhoNeverHadTheJobIsLeftOut) {
  answers_[0] = {{{}, {}, FakeWorkers::Exit(workers::kNoSuchJob)}};
  answers_[1] = {Log({"c"}, "ended 0")};
  LogsReport report = Read(2);
  EXPECT_EQ(report.ExitCode(), 1) << "as for who names the workers";
  std::vector<WorkerAccess> workers = SomeWorkers(2);
  report.LeaveOutOthers(&workers);
  EXPECT_EQ(report.ExitCode(), 0);
  ASSERT_THAT(workers, SizeIs(1));
  EXPECT_EQ(workers[0].index, 1);
}

TEST_F(LogsTest, WhereNobodyHasTheJobThatIsTold) {
  answers_[0] = {{{}, {}, FakeWorkers::Exit(workers::kNoSuchJob)}};
  answers_[1] = {{{}, {}, FakeWorkers::Trouble(ssh::Outcome::kUnreachable, "silent")}};
  LogsReport report = Read(2);
  std::vector<WorkerAccess> workers = SomeWorkers(2);
  report.LeaveOutOthers(&workers);
  EXPECT_THAT(workers, SizeIs(2));
  EXPECT_EQ(report.ExitCode(), 1);
}

TEST_F(LogsTest, AResumedReadBeginsWhereTheLastOneStopped) {
  answers_[0] = {Log({"a", "b"}, "running 0")};
  Read(1);
  request_.tail = 5;
  Read(1, true);
  ASSERT_THAT(commands_, SizeIs(2));
  workers::LogRequest wanted = request_;
  wanted.tail.reset();
  wanted.seen = 4;  // "a\nb\n"
  wanted.run = "r1";
  EXPECT_EQ(commands_[1], workers::LogCommand(wanted));
  Read(1, false);
  EXPECT_EQ(commands_[2], workers::LogCommand(request_)) << "not resumed: as if for the first time";
}

TEST_F(LogsTest, ALostConnectionIsTakenUpAgain) {
  request_.follow = true;
  FakeWorkers::Answer broken = Log({"a"}, "x");
  broken.result = FakeWorkers::Trouble(ssh::Outcome::kLost, "the connection broke");
  answers_[0] = {broken, Log({"b"}, "ended 0", "r1 2")};
  const LogsReport report = Read(1);
  EXPECT_THAT(noted_.lines, ElementsAre("0: a", "0: b"));
  ASSERT_THAT(noted_.remarks, SizeIs(2));
  EXPECT_EQ(noted_.remarks[0].second.kind, LogRemark::Kind::kBroke);
  EXPECT_EQ(noted_.remarks[1].second.kind, LogRemark::Kind::kBack);
  EXPECT_EQ(report.ends[0].kind, LogEnd::Kind::kEnded);
}

TEST_F(LogsTest, ADeathIsToldAtOnceWhereOthersAreFollowed) {
  request_.follow = true;
  answers_[0] = answers_[1] = {Log({}, "died 0")};
  answers_[2] = std::vector<FakeWorkers::Answer>(6, Log({}, "running 0"));
  answers_[2].push_back(Log({}, "ended 0"));
  const LogsReport report = Read(3);
  ASSERT_THAT(noted_.remarks, SizeIs(2));
  EXPECT_EQ(noted_.remarks[0].second.kind, LogRemark::Kind::kDied);
  EXPECT_EQ(noted_.remarks[0].second.followed, 1U);
  EXPECT_THAT(noted_.groups, ElementsAre(2)) << "equal ones are told together";
  EXPECT_EQ(report.ExitCode(), 1);
}

TEST_F(LogsTest, ADeathIsLeftToTheEndWhereNobodyElseIsFollowed) {
  request_.follow = true;
  answers_[0] = {Log({}, "died 0")};
  answers_[1] = {Log({}, "ended 0")};
  EXPECT_EQ(Read(2).ends[0].kind, LogEnd::Kind::kDied);
  EXPECT_THAT(noted_.remarks, IsEmpty());
}

// The job was started anew while it was followed: that is another run's log.
TEST_F(LogsTest, AFollowIsOfOneRun) {
  request_.follow = true;
  answers_[0] = {Log({"a"}, "replaced r2 ended 143 alice@laptop: podctl kill research train")};
  answers_[1] = std::vector<FakeWorkers::Answer>(6, Log({}, "running 0", "r1 2"));
  answers_[1].insert(answers_[1].begin(), Log({"b"}, "running 0"));
  answers_[1].push_back(Log({}, "ended 143", "r1 2"));
  answers_[2] = {Log({"c"}, "running 0"), {{}, {"podctl-log replaced r2 unknown 0"}}};
  const LogsReport report = Read(3);
  ASSERT_THAT(commands_, SizeIs(11));
  workers::LogRequest wanted = request_;
  wanted.seen = 2;
  wanted.run = "r1";
  wanted.only = true;
  EXPECT_EQ(commands_[3], workers::LogCommand(wanted)) << "nothing of another run is asked for";
  EXPECT_EQ(commands_[4], workers::LogCommand(wanted));
  ASSERT_THAT(report.ends, SizeIs(3));
  EXPECT_EQ(report.ends[0].kind, LogEnd::Kind::kEnded);
  EXPECT_EQ(report.ends[0].exit_code, 143);
  EXPECT_EQ(report.ends[0].ended_by, "alice@laptop: podctl kill research train");
  EXPECT_EQ(report.ends[0].next_run, "r2");
  EXPECT_EQ(report.ends[1].next_run, "") << "it was over before";
  EXPECT_EQ(report.ends[2].kind, LogEnd::Kind::kReplaced);
  EXPECT_EQ(report.NextRun(), "r2");
  EXPECT_EQ(report.ExitCode(), 1) << "of one nobody knows how it ended";
  ASSERT_FALSE(noted_.remarks.empty());
  EXPECT_EQ(noted_.remarks.front().first, 0);
  EXPECT_EQ(noted_.remarks.front().second.kind, LogRemark::Kind::kAnew);
  EXPECT_EQ(noted_.remarks.front().second.message, "r2");
}

// While it could not be reached, all of them were started anew, or it never had what they follow.
TEST_F(LogsTest, WhoIsReachedLateIsAskedForTheRunOfTheOthers) {
  request_.follow = true;
  answers_[0] = {Log({"a"}, "running 0"), Log({}, "ended 0", "r1 2")};
  const FakeWorkers::Answer silent{
      {}, {}, FakeWorkers::Trouble(ssh::Outcome::kUnreachable, "connection refused")};
  answers_[1] = {silent, {{}, {"podctl-log replaced r2 died 0"}}};
  answers_[2] = {silent, {{}, {"podctl-log replaced r0 unknown 0"}}};
  const LogsReport report = Read(3);
  workers::LogRequest wanted = request_;
  wanted.run = "r1";
  wanted.only = true;
  EXPECT_THAT(commands_, ::testing::Contains(workers::LogCommand(wanted)).Times(2));
  EXPECT_EQ(report.ends[1].kind, LogEnd::Kind::kDied);
  EXPECT_EQ(report.ends[1].next_run, "r2");
  EXPECT_EQ(report.ends[2].kind, LogEnd::Kind::kNoSuchJob);
  EXPECT_EQ(report.ends[2].next_run, "");
}

FakeWorkers::Answer Broken() {
  FakeWorkers::Answer broken = Log({"a"}, "x");
  broken.result = FakeWorkers::Trouble(ssh::Outcome::kLost, "the connection broke");
  return broken;
}
FakeWorkers::Answer Refused() {
  return {{}, {}, FakeWorkers::Trouble(ssh::Outcome::kUnreachable, "connection refused")};
}

// Not after half an hour.
TEST_F(LogsTest, WhoseNodeIsGoneIsNotWaitedFor) {
  request_.follow = true;
  for (int i = 0; i < 64; ++i) answers_[i] = {Broken(), Refused()};
  int asked = 0;
  ask_ = [&](const std::stop_token&) {
    ++asked;
    return PodNews{MakeError(ErrorCode::kNotFound, "pod `research` is gone"), ""};
  };
  const LogsReport report = Read(64);
  EXPECT_EQ(asked, 1);
  for (const LogEnd& end : report.ends) {
    EXPECT_EQ(end.kind, LogEnd::Kind::kFailed);
    EXPECT_EQ(end.message, "pod `research` is gone");
  }
  EXPECT_LT(clock_.Elapsed(), std::chrono::minutes(1));
  EXPECT_THAT(noted_.remarks, IsEmpty()) << "nobody is tried again, and the end tells the rest";
}

TEST_F(LogsTest, TheStateOfThePodIsToldOfAllThatItKeepsSilent) {
  request_.follow = true;
  for (int i = 0; i < 64; ++i) {
    answers_[i] = {Broken(), Refused(), Refused(), Refused(), Log({"b"}, "ended 0", "r1 2")};
  }
  ask_ = [](const std::stop_token&) { return PodNews{{}, "is REPAIRING"}; };
  Read(64);
  EXPECT_THAT(noted_.groups, ElementsAre(64, 64));
  EXPECT_EQ(noted_.remarks.front().second.kind, LogRemark::Kind::kBroke);
  EXPECT_EQ(noted_.remarks.front().second.pod, "is REPAIRING");
  EXPECT_EQ(noted_.remarks.back().second.kind, LogRemark::Kind::kBack);
}

// A state that the service knows of only after a while.
TEST_F(LogsTest, WhatKeepsWorkersSilentIsToldWhenItIsKnown) {
  request_.follow = true;
  answers_[0] = std::vector<FakeWorkers::Answer>(9, Refused());
  answers_[0].push_back(Log({}, "ended 0"));
  int asked = 0;
  ask_ = [&](const std::stop_token&) { return PodNews{{}, ++asked < 2 ? "" : "is REPAIRING"}; };
  Read(1);
  ASSERT_THAT(noted_.remarks, SizeIs(3));
  EXPECT_EQ(noted_.remarks[0].second.kind, LogRemark::Kind::kTrouble);
  EXPECT_EQ(noted_.remarks[0].second.pod, "");
  EXPECT_EQ(noted_.remarks[1].second.kind, LogRemark::Kind::kPod);
  EXPECT_EQ(noted_.remarks[1].second.message, "is REPAIRING");
  EXPECT_EQ(noted_.remarks[2].second.kind, LogRemark::Kind::kBack);
}

TEST_F(LogsTest, TroubleThatDoesNotPassEndsIt) {
  request_.follow = true;
  answers_[0] = {
      {{}, {}, FakeWorkers::Trouble(ssh::Outcome::kHostKeyChanged, "another key than before")}};
  answers_[1] = {{{}, {}, FakeWorkers::Exit(workers::kNoSuchJob)}};
  const LogsReport report = Read(2);
  EXPECT_EQ(report.ends[0].kind, LogEnd::Kind::kFailed);
  EXPECT_EQ(report.ends[0].message, "another key than before");
  EXPECT_EQ(report.ends[1].kind, LogEnd::Kind::kNoSuchJob);
  EXPECT_THAT(noted_.remarks, IsEmpty());
}

// For half an hour, by the clock.
TEST_F(LogsTest, ASilentWorkerIsGivenUpInTheEnd) {
  request_.follow = true;
  answers_[0] = {{{}, {}, FakeWorkers::Trouble(ssh::Outcome::kUnreachable, "connection refused")}};
  const LogsReport report = Read(1);
  EXPECT_EQ(report.ends[0].kind, LogEnd::Kind::kFailed);
  EXPECT_EQ(report.ends[0].message, "connection refused");
  EXPECT_GT(clock_.Elapsed(), std::chrono::minutes(30));
  ASSERT_THAT(noted_.remarks, SizeIs(1)) << "told once";
  EXPECT_EQ(noted_.remarks[0].second.kind, LogRemark::Kind::kTrouble);
}

TEST_F(LogsTest, NewHostKeysAreReported) {
  answers_[0] = {Log({}, "ended 0")};
  answers_[0][0].result.learned_host_key = "ssh-ed25519 AAAA";
  EXPECT_EQ(Read(1).learned.at(0), "ssh-ed25519 AAAA");
}

}  // namespace
}  // namespace podctl
