// Jobs that outlive the connection: on which workers they are started, and when on none.
#include "plans/fleet/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plans/kinds/pod/record.h"
#include "providers/base/digest.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_workers.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using testing::FakeRandom;
using testing::FakeWorkers;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::NotedRounds;
using ::testing::SizeIs;
using testing::SomeWorkers;

using Answer = FakeWorkers::Answer;

Answer Jobs(const std::vector<std::string>& jobs = {}) {
  std::vector<std::string> lines = {"podctl-jobs 1"};
  for (const std::string& job : jobs) {
    lines.push_back("job " + job + " 1795184000 0 0 python3 t.py");
  }
  lines.push_back("end");
  return {lines};
}

class JobsTest : public ::testing::Test {
 protected:
  JobsTest() {
    start_.name = "train";
    start_.workers = SomeWorkers(3);
    start_.commands.assign(3, "python3 t.py");
    start_.environments.resize(3);
    start_.identity = "python3 t.py";
  }
  // Of a run of the same command, and of another one.
  std::string OurRun() const { return Sha256Hex(start_.identity).substr(0, 16) + "-0a"; }

  StartReport Start() {
    return StartJob(rounds_, random_, start_, [this](const StartEvent& news) { news_ = news; });
  }
  Answer Say(const ssh::Job& job) {
    const auto worker = static_cast<std::size_t>(job.worker.index);
    const bool kills = job.command.find("end_job") != std::string::npos;
    if (kills && kill_.contains(worker)) return kill_[worker];
    if (job.feed == nullptr) return look_[worker];
    return begin_[worker];
  }

  std::vector<Answer> look_{3, Jobs()};
  std::vector<Answer> begin_{3};
  std::map<std::size_t, Answer> kill_;  // else as look_
  FakeWorkers workers_{[this](const ssh::Job& job) { return Say(job); }};
  NotedRounds noted_;
  std::stop_source stop_;
  WorkerRounds rounds_{workers_, noted_, stop_.get_token(), {}};
  FakeRandom random_;
  DetachedStart start_;
  StartEvent news_;
};

TEST_F(JobsTest, StartOnAll) {
  const StartReport report = Start();
  EXPECT_TRUE(report.Whole());
  EXPECT_THAT(report.started, ElementsAre(0, 1, 2));
  EXPECT_THAT(report.already, IsEmpty());
  ASSERT_THAT(workers_.rounds, SizeIs(2));
  // What is the same for all of them is kept once.
  EXPECT_EQ(workers_.rounds[1][0].input, workers_.rounds[1][2].input);
  EXPECT_THAT(*workers_.rounds[1][0].input, HasSubstr("PODCTL_RUN"));
}

TEST_F(JobsTest, NoneStartsWhereOneCannotBeAsked) {
  look_[1] = {{}, {}, FakeWorkers::Trouble(ssh::Outcome::kUnreachable, "refused")};
  const StartReport report = Start();
  EXPECT_FALSE(report.begun);
  ASSERT_TRUE(report.refusal);
  EXPECT_EQ(report.refusal->message, "nothing was started");
  EXPECT_THAT(workers_.rounds, SizeIs(1));
}

TEST_F(JobsTest, NoneStartsWhereOneCannotGetReady) {
  begin_[2].staged = false;
  begin_[2].result = FakeWorkers::Exit(1);
  const StartReport report = Start();
  EXPECT_TRUE(report.begun);
  EXPECT_FALSE(report.Whole());
  EXPECT_THAT(report.started, IsEmpty());
  EXPECT_EQ(report.answers[0].result.outcome, ssh::Outcome::kSkipped);
  EXPECT_EQ(CauseOfSilence(report.answers[0]), "not started, since others could not be");
}

TEST_F(JobsTest, AnotherCommandOfTheNameIsInTheWay) {
  look_[0] = Jobs({"train other-1 running 0"});
  const StartReport report = Start();
  EXPECT_FALSE(report.begun);
  ASSERT_TRUE(report.refusal);
  EXPECT_EQ(report.refusal->code, ErrorCode::kAlreadyExists);
  EXPECT_THAT(report.refusal->message, HasSubstr("another command named train"));
}

TEST_F(JobsTest, WhatHasEndedIsInNobodysWay) {
  look_[0] = Jobs({"train other-1 ended 0"});
  EXPECT_TRUE(Start().Whole());
}

TEST_F(JobsTest, AStartThatWasCutIsMadeWhole) {
  look_[0] = Jobs({"train " + OurRun() + " running 0"});
  look_[1] = Jobs({"train " + OurRun() + " ended 0"});
  const StartReport report = Start();
  EXPECT_TRUE(report.Whole());
  EXPECT_THAT(report.already, ElementsAre(0, 1));
  EXPECT_THAT(news_.already, ElementsAre(0, 1));
  EXPECT_THAT(report.started, ElementsAre(2));
  EXPECT_THAT(*workers_.rounds[1][0].input, HasSubstr(OurRun())) << "the same run";
}

// Whoever came later would not have the key by which its workers know each other.
TEST_F(JobsTest, WhatIsLeftOfAGangIsEndedAndAllOfItBegun) {
  start_.gang.emplace().members = {{0, "10.0.0.1"}, {1, "10.0.0.2"}, {2, "10.0.0.3"}};
  look_[0] = Jobs({"train " + OurRun() + " running 0"});
  look_[1] = Jobs({"train " + OurRun() + " ended 0"});
  kill_[0] = Jobs({"train " + OurRun() + " ended 143"});
  kill_[1] = look_[1];
  const StartReport report = Start();
  EXPECT_TRUE(report.Whole());
  EXPECT_THAT(news_.ended, ElementsAre(0, 1));
  EXPECT_THAT(news_.already, IsEmpty());
  EXPECT_THAT(report.started, ElementsAre(0, 1, 2));
  ASSERT_THAT(workers_.rounds, SizeIs(3));
  EXPECT_THAT(workers_.rounds[1][0].command, HasSubstr("a new start of all its workers"))
      << "by which it was ended";
  for (const ssh::Job& job : workers_.rounds[2]) {
    EXPECT_THAT(*job.input, Not(HasSubstr(OurRun()))) << "another run";
    EXPECT_THAT(*job.input, HasSubstr("\"me\":" + std::to_string(job.worker.index)));
    EXPECT_THAT(*job.input, HasSubstr("BEGIN CERTIFICATE"));
  }
}

TEST_F(JobsTest, AGangOfWhichSomeCannotBeEndedIsNotBegun) {
  start_.gang.emplace().members = {{0, "10.0.0.1"}, {1, "10.0.0.2"}, {2, "10.0.0.3"}};
  look_[0] = Jobs({"train " + OurRun() + " running 0"});
  kill_[0] = Jobs({"train " + OurRun() + " running 0"});
  const StartReport report = Start();
  EXPECT_FALSE(report.begun);
  ASSERT_TRUE(report.refusal);
  EXPECT_EQ(report.refusal->message, "what is left of an earlier start could not be ended");
}

TEST(GangOf, TellsOfTheFurthestAttempt) {
  const auto status = [](int attempt, std::optional<workers::GangNews::First> first,
                         std::vector<int> waiting) {
    workers::JobStatus job;
    job.name = "train";
    job.gang = workers::GangNews{attempt, 6, std::move(first), std::move(waiting)};
    return job;
  };
  const workers::GangNews::First first{2, 1, std::chrono::seconds(3), "failure", "ended"};
  const auto gang = GangOf({{0, {status(1, std::nullopt, {})}},
                            {1, {status(2, std::nullopt, {})}},
                            {2, {status(2, first, {1, 0})}}},
                           "train");
  ASSERT_TRUE(gang);
  EXPECT_EQ(gang->attempt, 2);
  ASSERT_TRUE(gang->first);
  EXPECT_EQ(gang->first->worker, 1);
  EXPECT_THAT(gang->waiting, ElementsAre(0, 1));
  EXPECT_FALSE(GangOf({{0, {status(1, std::nullopt, {})}}}, "eval"));
}

TEST_F(JobsTest, WhatRunsEverywhereIsNotStartedTwice) {
  look_.assign(3, Jobs({"train " + OurRun() + " running 0"}));
  const StartReport report = Start();
  ASSERT_TRUE(report.refusal);
  EXPECT_THAT(report.refusal->message, HasSubstr("job train runs already"));
}

TEST_F(JobsTest, WhereNotAllCanBeConnectedToTheyBeginInTurn) {
  workers_.most_at_once = 2;
  const StartReport report = Start();
  EXPECT_EQ(news_.most, std::optional<std::size_t>(2));
  EXPECT_TRUE(report.Whole());
}

TEST_F(JobsTest, AnInterruptedLookStartsNothing) {
  stop_.request_stop();
  const StartReport report = Start();
  EXPECT_TRUE(report.interrupted);
  EXPECT_FALSE(report.begun);
  EXPECT_FALSE(report.refusal);
  EXPECT_THAT(workers_.rounds, SizeIs(1));
}

TEST_F(JobsTest, ListsWhatTheWorkersTell) {
  look_[0] = Jobs({"train r-1 running 0", "eval r-2 ended 3"});
  look_[1] = {{"hello"}};
  const JobsReport report = ListJobs(rounds_, SomeWorkers(3), "");
  ASSERT_THAT(report.found, SizeIs(2));
  EXPECT_THAT(report.found[0].jobs, SizeIs(2));
  EXPECT_EQ(report.found[1].worker, 2);
  EXPECT_FALSE(AllAnswered(report.answers));
  EXPECT_TRUE(RunsSomewhere(report));
  look_[0] = Jobs({"eval r-2 ended 3"});
  EXPECT_FALSE(RunsSomewhere(ListJobs(rounds_, SomeWorkers(3), "")));
}

TEST_F(JobsTest, AKillTellsWhatBecameOfIt) {
  look_[0] = Jobs({"train r-1 ended 143"});
  look_[1] = Jobs({"train r-1 ended 143"});
  KillReport report =
      KillJob(rounds_, SomeWorkers(3), SomeWorkers(3), {"train", std::chrono::seconds(5), "alice"});
  EXPECT_TRUE(report.known);
  EXPECT_FALSE(report.runs);
  ASSERT_THAT(report.became.groups(), SizeIs(1));
  EXPECT_THAT(report.became.groups()[0].workers, ElementsAre(0, 1));
  // Of one that is ended the worker notes who asked for it.
  EXPECT_THAT(report.became.groups()[0].what, ::testing::StartsWith("had ended already: "));
  EXPECT_EQ(workers_.last_limits.command, std::chrono::seconds(65));
  EXPECT_EQ(workers_.rounds[0][0].ending, kEndsByItself);

  look_[1] = Jobs({"train r-1 running 0"});
  report = KillJob(rounds_, SomeWorkers(3), SomeWorkers(3), {"train", std::nullopt, "alice"});
  EXPECT_TRUE(report.runs) << "it could not be ended there";
  EXPECT_EQ(workers_.last_limits.command, std::chrono::minutes(61)) << "the worker knows how long";

  look_.assign(3, Jobs());
  EXPECT_FALSE(KillJob(rounds_, SomeWorkers(3), SomeWorkers(3), {"train", std::nullopt, ""}).known);
}

// Of a gang, the one that was asked tells the others, and they are waited for.
TEST_F(JobsTest, AKillOnOneWorkerOfAGangTellsWhatBecameOfAll) {
  const auto gang = [](const std::string& state, const std::string& by = "") {
    std::vector<std::string> lines = {"podctl-jobs 1",
                                      "job train r-1 " + state + " 1795184000 0 0 python3 t.py",
                                      "gang attempt 1 1"};
    if (!by.empty()) lines.push_back("by " + by);
    lines.emplace_back("end");
    return Answer{lines};
  };
  const std::string by = "alice@laptop: podctl kill research train";
  kill_[1] = gang("ended 143", by);
  look_[0] = gang("ended 143", by);
  look_[2] = gang("running 0", by);
  const std::vector<WorkerAccess> all = SomeWorkers(3);
  KillReport report = KillJob(rounds_, all, {all[1]}, {"train", std::nullopt, by});
  ASSERT_THAT(workers_.rounds, SizeIs(2));
  ASSERT_THAT(workers_.rounds[1], SizeIs(2));
  EXPECT_EQ(workers_.rounds[1][0].command, workers::AwaitEndCommand("train", "r-1"));
  EXPECT_EQ(workers_.rounds[1][1].worker.index, 2);
  EXPECT_TRUE(report.runs);
  EXPECT_THAT(report.untold, IsEmpty()) << "it is at it";
  ASSERT_THAT(report.became.groups(), SizeIs(2));
  EXPECT_THAT(report.became.groups()[0].workers, ElementsAre(1, 0));
  EXPECT_EQ(report.became.groups()[1].what, "is still being ended by alice@laptop");
  EXPECT_THAT(report.found, SizeIs(3));

  look_[2] = gang("running 0");
  report = KillJob(rounds_, all, {all[1]}, {"train", std::nullopt, by});
  EXPECT_THAT(report.untold, ElementsAre(2)) << "who is to tell it is gone";
  // Each of them is told where all are chosen, and of a job that is no gang none is told by
  // another.
  workers_.rounds.clear();
  KillJob(rounds_, all, all, {"train", std::nullopt, by});
  kill_[1] = Jobs({"train r-1 ended 143"});
  KillJob(rounds_, all, {all[1]}, {"train", std::nullopt, by});
  EXPECT_THAT(workers_.rounds, SizeIs(2));
}

TEST(StartOfCommand, GivesEachWorkerItsPlace) {
  PodRecord record;
  record.current.locator = "research";
  record.current.life = Present{};
  for (const char* address : {"10.0.0.1", "10.0.0.2"}) {
    Value endpoint = Value::EmptyMap();
    endpoint.Set("ipAddress", address);
    Value::List endpoints = record.observed["networkEndpoints"].AsList();
    endpoints.push_back(endpoint);
    record.observed.Set("networkEndpoints", endpoints);
  }
  const DetachedStart start =
      StartOfCommand("train", "research", record, SomeWorkers(2), "python3 t.py", {{"SEED", "7"}});
  ASSERT_THAT(start.environments, SizeIs(2));
  EXPECT_EQ(start.environments[1].at("PODCTL_WORKER"), "1");
  EXPECT_EQ(start.environments[1].at("SEED"), "7");
  EXPECT_EQ(start.environments[1].at("PODCTL_ATTEMPT"), "1");
  // Which workers were chosen does not make it another command.
  EXPECT_EQ(start.identity, StartOfCommand("train", "research", record, SomeWorkers(1),
                                           "python3 t.py", {{"SEED", "7"}})
                                .identity);
}

}  // namespace
}  // namespace podctl
