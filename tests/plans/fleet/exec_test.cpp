// A command on the workers of a pod: what they are given, what is kept of it, and what is not run.
#include "plans/fleet/exec/exec.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_file_system.h"
#include "tests/support/fake_workers.h"
#include "tests/support/patient_clock.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using testing::FakeFileSystem;
using testing::FakeWorkers;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::NotedCommands;
using testing::PatientClock;
using ::testing::SizeIs;
using testing::SomeWorkers;

class ExecRunTest : public ::testing::Test {
 protected:
  ExecRunTest() {
    files_.SetFolder("/home/alice");
    target_.address = "pod.research";
    target_.workers = SomeWorkers(3);
    choice_.workers = target_.workers;
    choice_.command = {"hostname"};
  }
  ExecRun& Run() {
    run_ = std::make_unique<ExecRun>(files_, clock_, last_, exec_, target_, choice_, variables_,
                                     nullptr, ::testing::TempDir());
    const auto ready = run_->Prepare();
    EXPECT_TRUE(ready) << (ready ? "" : ready.error().message);
    run_->Run(workers_, watcher_, {stop_.get_token(), {}});
    return *run_;
  }

  FakeFileSystem files_;
  FixedEnvironment environment_{{{"HOME", "/home/alice"}}};
  PatientClock clock_;
  LastRun last_{files_, environment_, "/home/alice/state.json", "pod.research"};
  std::function<FakeWorkers::Answer(const ssh::Job&)> answer_ = [](const ssh::Job& job) {
    return FakeWorkers::Answer{{fmt::format("I am {}", job.worker.index)}};
  };
  FakeWorkers workers_{[this](const ssh::Job& job) { return answer_(job); }};
  PodTarget target_;
  ExecChoice choice_;
  ExecOptions exec_;
  ExecVariables variables_;
  std::vector<std::string> lines_;
  NotedCommands watcher_{lines_};
  std::stop_source stop_;
  std::unique_ptr<ExecRun> run_;
};

TEST_F(ExecRunTest, RunsTheCommandOnAllThatWereChosen) {
  const ExecRun& run = Run();
  EXPECT_THAT(lines_, ElementsAre("begin 3", "0 | I am 0", "0: exited", "1 | I am 1", "1: exited",
                                  "2 | I am 2", "2: exited", "end"));
  EXPECT_THAT(run.outcome().results, SizeIs(3));
  EXPECT_THAT(run.record().NotOk(), IsEmpty());
  EXPECT_EQ(workers_.rounds[0][0].command, "hostname");
  EXPECT_EQ(workers_.last_limits.max_failures, std::nullopt);
}

TEST_F(ExecRunTest, KeepsWhatALaterRunGoesOnFrom) {
  answer_ = [](const ssh::Job& job) {
    return FakeWorkers::Answer{{}, {}, FakeWorkers::Exit(job.worker.index == 1 ? 3 : 0)};
  };
  Run();
  const auto kept = last_.Load();
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_THAT(kept->NotOk(), ElementsAre(1));
  EXPECT_THAT(kept->workers, ElementsAre(0, 1, 2));
  EXPECT_THAT(kept->ended, Not(IsEmpty()));
}

TEST_F(ExecRunTest, ARunThatGoesOnTakesThePlaceOfWhatItRepeats) {
  answer_ = [](const ssh::Job& job) {
    return FakeWorkers::Answer{{}, {}, FakeWorkers::Exit(job.worker.index == 1 ? 3 : 0)};
  };
  Run();
  choice_.earlier = *last_.Load();
  choice_.workers = {target_.workers[1]};
  answer_ = [](const ssh::Job&) { return FakeWorkers::Answer{}; };
  const ExecRun& again = Run();
  EXPECT_THAT(again.record().NotOk(), IsEmpty());
  EXPECT_THAT(again.record().workers, ElementsAre(0, 1, 2));
}

// Every few seconds, so that little is lost with a machine that loses power.
TEST_F(ExecRunTest, IsKeptNowAndThenWhileItGoesOn) {
  std::vector<std::size_t> known;  // results that are kept, when a worker answers
  answer_ = [&](const ssh::Job& job) {
    if (job.worker.index == 2) clock_.Advance(std::chrono::seconds(5));
    return FakeWorkers::Answer{{"x"}};
  };
  watcher_.on_line = [&] {
    clock_.LetTick();
    known.push_back(last_.Load()->results.size());
  };
  workers_.most_at_once = 1;
  Run();
  EXPECT_THAT(known, ElementsAre(0U, 0U, 2U));
}

// Before it has begun, a run counts as one of which nothing was heard.
TEST_F(ExecRunTest, ARunThatWasKilledIsKnownToo) {
  ExecRun run(files_, clock_, last_, exec_, target_, choice_, {}, nullptr, ::testing::TempDir());
  ASSERT_TRUE(run.Prepare());
  const auto kept = last_.Load();
  ASSERT_TRUE(kept);
  EXPECT_THAT(kept->NotOk(), ElementsAre(0, 1, 2));
  EXPECT_EQ(kept->ended, "");
}

TEST_F(ExecRunTest, ValuesOfVariablesStandInNoCommandAndNoRecord) {
  variables_ = {{"TOKEN", "s3cret"}};
  const ExecRun& run = Run();
  const ssh::Job& job = workers_.rounds[0][0];
  EXPECT_THAT(job.command, Not(HasSubstr("s3cret")));
  EXPECT_THAT(*job.input, HasSubstr("s3cret"));
  EXPECT_THAT(run.record().env, ElementsAre("TOKEN"));
  for (const std::string& path : files_.AllFiles()) {
    EXPECT_THAT(files_.FileText(path).value_or(""), Not(HasSubstr("s3cret"))) << path;
  }
}

TEST_F(ExecRunTest, ABatchStopsAtItsFirstFailure) {
  exec_.batch = {25, true};  // a share of few workers, rounded down
  Run();
  EXPECT_EQ(workers_.last_limits.max_open, 1);
  EXPECT_EQ(workers_.last_limits.max_failures, std::optional<int>(0));
  exec_.max_failures = {2, false};
  Run();
  EXPECT_EQ(workers_.last_limits.max_failures, std::optional<int>(2));
}

TEST_F(ExecRunTest, WhatIsGatheredIsNotShown) {
  exec_.gather = true;
  answer_ = [](const ssh::Job& job) {
    return FakeWorkers::Answer{{job.worker.index == 1 ? "other" : "same"}};
  };
  const ExecRun& run = Run();
  EXPECT_TRUE(run.TakesOutput());
  EXPECT_THAT(lines_, ElementsAre("begin 3", "0: exited", "1: exited", "2: exited", "end"));
  const auto groups = run.gatherer()->Groups();
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_THAT(groups[0].workers, ElementsAre(0, 2));
}

TEST_F(ExecRunTest, EndsWhereNobodyReadsAnyMore) {
  watcher_.stop_listening = true;
  const ExecRun& run = Run();
  EXPECT_EQ(run.outcome().results[1].outcome, ssh::Outcome::kCancelled);
  EXPECT_FALSE(run.outcome().interrupted) << "nobody pressed a key";
}

TEST_F(ExecRunTest, AnInterruptIsInTheOutcome) {
  stop_.request_stop();
  EXPECT_TRUE(Run().outcome().interrupted);
}

}  // namespace
}  // namespace podctl
