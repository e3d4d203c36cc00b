// What is said of a job's end, the gate that all start through, and what is left out of a copy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cmd/views/jobs_view.h"
#include "cmd/views/launch_view.h"
#include "plans/fleet/run/prepare.h"
#include "plans/fleet/run/start_gate.h"
#include "tests/support/fake_clock.h"
#include "tests/support/golden.h"

namespace podctl {
namespace {

using ssh::Outcome;

ssh::WorkerResult Ended(Outcome outcome, int exit_code = 0, std::string signal = {}) {
  ssh::WorkerResult result;
  result.outcome = outcome;
  result.exit_code = exit_code;
  result.ended = outcome == Outcome::kCancelled;
  result.signal = std::move(signal);
  return result;
}

AttemptResult ResultOf(const std::vector<ssh::WorkerResult>& results) {
  AttemptResult attempt;
  attempt.started = true;
  for (std::size_t i = 0; i < results.size(); ++i) {
    WorkerAccess worker;
    worker.pod = "research";
    worker.index = static_cast<int>(i);
    worker.host = "10.0.0.1";
    attempt.outcome.jobs.push_back({worker, "true", nullptr});
  }
  attempt.outcome.results = results;
  return attempt;
}

AttemptResult OneKilled() {
  AttemptResult attempt = ResultOf({Ended(Outcome::kCancelled), Ended(Outcome::kExited, 137),
                                    Ended(Outcome::kCancelled), Ended(Outcome::kExited, 1)});
  attempt.first = 1;
  attempt.first_after = std::chrono::milliseconds(12'300);
  return attempt;
}

TEST(RunSummaryTest, NamesWhoFailedFirstAndWhoBecauseOfIt) {
  testing::ExpectGolden("jobs/summary_killed.txt", RunSummary(OneKilled()));
  EXPECT_EQ(RunExitCode(OneKilled()), 1);
  const JobEnd end = EndOf(OneKilled());
  EXPECT_EQ(end.what, "research/1: killed by KILL (exit code 137)");
  EXPECT_TRUE(end.killed);
  EXPECT_FALSE(end.lost);
}

// "Ended" is said of those only whose worker has found nothing left.
TEST(RunSummaryTest, TellsWhoIsStillAtIt) {
  AttemptResult attempt = OneKilled();
  attempt.outcome.results[2].ended = false;
  attempt.ended_by = "bob@desk: podctl kill research train";
  EXPECT_EQ(RunSummary(attempt),
            "The job was ended by bob@desk: podctl kill research train.\n"
            "research/1 failed first, 12s after the start: killed by KILL (exit code 137)\n"
            "1 worker (3) failed too: exit code 1\n"
            "1 worker (0) was ended because of it\n"
            "1 worker (2) was asked to end because of it, still at it\n");
}

TEST(RunSummaryTest, TellsWhenWhoIsStillAtItIsKilled) {
  AttemptResult attempt = ResultOf({Ended(Outcome::kCancelled), Ended(Outcome::kCancelled)});
  for (ssh::WorkerResult& each : attempt.outcome.results) each.ended = false;
  attempt.outcome.interrupted = true;
  attempt.kill_in = std::chrono::seconds(26);
  EXPECT_EQ(RunSummary(attempt), "2 workers (0-1) were asked to end, still at it (KILL in 26s)\n");
  attempt.kill_in = std::chrono::seconds(0);
  EXPECT_EQ(RunSummary(attempt), "2 workers (0-1) were asked to end, still at it\n");
}

// One event is told once: what happened, to whom, and what follows.
TEST(NodeRestartTest, TellsATroubleOfTheNodeInALine) {
  AttemptResult attempt = ResultOf({Ended(Outcome::kCancelled), Ended(Outcome::kLost),
                                    Ended(Outcome::kExited), Ended(Outcome::kUnreachable)});
  attempt.first = 1;
  const JobVerdict taken{RestartReason::kPreemption, "the node is PREEMPTED"};
  EXPECT_EQ(NodeRestartText(attempt, 1, 3, taken),
            "The node is PREEMPTED. That ended the job on 3 workers: 0-1,3. Restart 1 of 3, on "
            "preemption.");
  attempt.outcome.results[2].exit_code = 3;
  EXPECT_EQ(NodeRestartText(attempt, 1, 3, taken), "") << "a failure is told in full";
}

TEST(RunSummaryTest, WhatSomebodyHasEndedDidNotFail) {
  AttemptResult attempt = ResultOf({Ended(Outcome::kExited, 143), Ended(Outcome::kExited, 143),
                                    Ended(Outcome::kExited, 0), Ended(Outcome::kExited, 137)});
  attempt.ended_by = "bob@desk: podctl run whole --drain-jobs";
  EXPECT_EQ(RunSummary(attempt),
            "The job was ended by bob@desk: podctl run whole --drain-jobs.\n"
            "2 workers (0-1) ended: killed by TERM (exit code 143)\n"
            "1 worker (3) ended: killed by KILL (exit code 137)\n"
            "1 worker (2) ended well\n");
}

// 3 workers of a pod that was repaired under the job.
AttemptResult AllLost() {
  ssh::Cause cause;
  cause.code = ssh::Cause::Code::kNoEnd;
  ssh::WorkerResult lost;
  lost.End(Outcome::kLost, cause);
  AttemptResult attempt = ResultOf({lost, lost, lost});
  attempt.first = 1;
  attempt.first_after = std::chrono::milliseconds(12'300);
  return attempt;
}
RunReport Repaired() {
  RunReport report;
  report.begun = true;
  report.result = AllLost();
  report.verdict = JudgeNode("REPAIRING", "");
  return report;
}

class JobViewTest : public ::testing::Test {
 protected:
  JobViewTest() {
    job_.name = "train";
    job_.pod = "research";
    job_.restart.attempts = 3;
  }
  void Story(bool json, const ExecDisplay::Settings& settings) {
    streams_.json = json;
    JobView view(streams_, clock_, job_, settings);
    std::stop_source unheard;
    const AttemptResult lost = AllLost();
    view.Commands().OnBegin(lost.outcome.jobs, unheard);
    view.OnPrepareEvent(FilesCopied{"src", "~/src", 3, 1, 10});
    view.OnStarted(3);
    view.Commands().OnEnd();
    view.OnRestart(lost, 1, *JudgeNode("PREEMPTED", ""));
    view.OnWaiting(true);
    clock_.Advance(std::chrono::seconds(5));
    EXPECT_EQ(view.ShowEnd(Repaired()), 1);
  }

  std::ostringstream out_;
  std::ostringstream err_;
  Streams streams_{out_, err_};
  testing::FakeClock clock_;
  JobSpec job_;
};

TEST_F(JobViewTest, ToolsAreToldWhatPeopleAre) {
  Story(true, {});
  testing::ExpectGolden("jobs/run_events.jsonl", out_.str());
  EXPECT_EQ(err_.str(), "");
}

TEST_F(JobViewTest, OfAPodThatAWatchMakesAnewThatIsSaid) {
  JobView view(streams_, clock_, job_, {});
  view.NoteWatch(true);
  view.OnWaiting(true);
  EXPECT_EQ(
      err_.str(),
      "Waiting until pod.research is there again. `podctl watch` makes it anew; where none is "
      "at work, `podctl apply --target pod.research` does.\n");
}

TEST_F(JobViewTest, WithTimestampsItsOwnLinesHaveTheTimeToo) {
  Story(false, {});
  testing::ExpectGolden("jobs/run_end.txt", err_.str());
  err_.str("");
  ExecDisplay::Settings settings;
  settings.timestamps = true;
  Story(false, settings);
  testing::ExpectGolden("jobs/run_end_timestamps.txt", err_.str());
}

TEST_F(JobViewTest, WhoFailedFirstIsToldToToolsOnce) {
  streams_.json = true;
  JobView view(streams_, clock_, job_, {});
  std::stop_source unheard;
  const RunReport report = Repaired();
  view.Commands().OnBegin(report.result.outcome.jobs, unheard);
  view.OnStarted(3);
  view.OnFailure({report.result.outcome.jobs[1].worker, "lost", std::chrono::seconds(12), {}});
  view.Commands().OnEnd();
  view.ShowEnd(report);
  const std::string events = out_.str();
  const auto first = events.find(R"("type":"failed")");
  ASSERT_NE(first, std::string::npos) << events;
  EXPECT_EQ(events.find(R"("type":"failed")", first + 1), std::string::npos) << events;
}

TEST(FailureTextTest, TellsWhatBecomesOfTheOthers) {
  EXPECT_EQ(FailureText("research/2", "exit code 3", std::chrono::seconds(10)),
            "research/2 failed: exit code 3. Who of the others has not ended 10s later is ended "
            "then.");
  EXPECT_EQ(FailureText("research/2", "exit code 3", std::chrono::seconds(0)),
            "research/2 failed: exit code 3. The others are ended.");
  EXPECT_EQ(FailureText("research/2", "exit code 3", std::nullopt),
            "research/2 failed: exit code 3. The others go on.");
}

// Its command was ended since the others did not hear from it.
TEST(RunSummaryTest, WhatTheOthersSayOfAMachineComesBeforeTheEndOfItsCommand) {
  AttemptResult attempt = ResultOf({Ended(Outcome::kCancelled), Ended(Outcome::kExited, 143)});
  attempt.first = 1;
  attempt.first_after = std::chrono::milliseconds(31'000);
  attempt.told = ToldFailure{RestartReason::kConnection, "was silent for 30s"};
  EXPECT_EQ(RunSummary(attempt),
            "research/1 failed first, 31s after the start: was silent for 30s\n"
            "1 worker (0) was ended because of it\n");
  EXPECT_EQ(RunExitCode(attempt), 1);
  EXPECT_EQ(EndOf(attempt).what, "research/1: was silent for 30s");
  attempt.told->reason = RestartReason::kKilled;
  EXPECT_EQ(CauseOfFirst(attempt), "killed by TERM (exit code 143)");
  EXPECT_EQ(RunExitCode(attempt), 143);
  attempt.outcome.results[1] = Ended(Outcome::kCancelled);
  EXPECT_EQ(CauseOfFirst(attempt), "was silent for 30s") << "its connection has not told";
}

TEST(RunSummaryTest, ALostWorkerIsTheCauseWhoeverFailedFirst) {
  AttemptResult attempt = OneKilled();
  attempt.outcome.results[3] = Ended(Outcome::kLost);
  attempt.outcome.results[3].message = "the connection broke";
  const JobEnd end = EndOf(attempt);
  EXPECT_TRUE(end.lost);
  EXPECT_EQ(end.what,
            "research/3: the connection to it broke, and the worker ends its part by itself");
  EXPECT_FALSE(end.killed);
}

TEST(RunSummaryTest, TellsWhatWasNeverStarted) {
  AttemptResult attempt = ResultOf({Ended(Outcome::kSkipped), Ended(Outcome::kUnreachable)});
  attempt.outcome.results[1].End(Outcome::kUnreachable,
                                 CauseAt(attempt.outcome.jobs[1].worker,
                                         ssh::Cause::Code::kNotConnected, "Connection refused"));
  attempt.started = false;
  attempt.first = 1;
  testing::ExpectGolden("jobs/summary_not_started.txt", RunSummary(attempt));
  EXPECT_EQ(RunExitCode(attempt), 1);
}

TEST(RunSummaryTest, NamesTheSlicesOfAMultislice) {
  AttemptResult attempt =
      ResultOf({Ended(Outcome::kCancelled), Ended(Outcome::kExited, 4), Ended(Outcome::kExited, 4),
                Ended(Outcome::kExited, 137), Ended(Outcome::kCancelled),
                Ended(Outcome::kCancelled), Ended(Outcome::kCancelled), Ended(Outcome::kSkipped)});
  for (ssh::Job& job : attempt.outcome.jobs) job.worker.per_slice = 4;
  attempt.first = 3;
  attempt.first_after = std::chrono::milliseconds(2000);
  EXPECT_EQ(RunSummary(attempt),
            "research[0]/3 failed first, 2s after the start: killed by KILL (exit code 137)\n"
            "2 workers ([0]/1-2) failed too: exit code 4\n"
            "4 workers ([0]/0,[1]/0-2) were ended because of it\n"
            "Nothing was started on 1 worker that was well: [1]/3\n");
}

TEST(RunSummaryTest, TheExitCodeIsThatOfThoseThatFailedByThemselves) {
  AttemptResult attempt = ResultOf({Ended(Outcome::kExited, 3), Ended(Outcome::kCancelled),
                                    Ended(Outcome::kExited, 3), Ended(Outcome::kExited, 0)});
  EXPECT_EQ(RunExitCode(attempt), 3);
  attempt.outcome.results[2].exit_code = 4;
  EXPECT_EQ(RunExitCode(attempt), 1);
  attempt.outcome.interrupted = true;
  EXPECT_EQ(RunExitCode(attempt), 130);
  EXPECT_EQ(RunExitCode(ResultOf({Ended(Outcome::kExited)})), 0);
  EXPECT_EQ(RunSummary(ResultOf({Ended(Outcome::kExited)})), "");
}

TEST(SignalOfTest, ReadsWhatAShellMakesOfASignal) {
  EXPECT_EQ(SignalOf(Ended(Outcome::kSignaled, 0, "SEGV")), "SEGV");
  EXPECT_EQ(SignalOf(Ended(Outcome::kExited, 137)), "KILL");
  EXPECT_EQ(SignalOf(Ended(Outcome::kExited, 143)), "TERM");
  EXPECT_EQ(SignalOf(Ended(Outcome::kExited, 1)), "");
  EXPECT_EQ(SignalOf(Ended(Outcome::kExited, 255)), "");
}

TEST(StartGateTest, HoldsItsLineBackUntilItIsOpened) {
  StartGate gate;
  char bytes[8];
  int reported = 0;
  gate.Listen([&] { ++reported; });
  EXPECT_EQ(gate.Read(0, bytes, sizeof bytes), 0u);
  EXPECT_FALSE(gate.EndsAt(0));
  gate.Open();
  gate.CallOff();  // comes too late
  EXPECT_EQ(reported, 1);
  ASSERT_EQ(gate.Read(0, bytes, sizeof bytes), 3u);
  EXPECT_EQ(std::string(bytes, 3), "go\n");
  EXPECT_EQ(gate.Read(1, bytes, 1), 1u);
  EXPECT_FALSE(gate.EndsAt(2));
  EXPECT_TRUE(gate.EndsAt(3));
}

TEST(StartGateTest, StaysOpenWhereThatIsWanted) {
  StartGate gate(StartGate::After::kStaysOpen);
  gate.Open();
  EXPECT_FALSE(gate.EndsAt(3));
  StartGate off(StartGate::After::kStaysOpen);
  off.CallOff();
  EXPECT_TRUE(off.EndsAt(0));
}

TEST(StartGateTest, EndsWithoutItsLineWhenCalledOff) {
  StartGate gate;
  char byte = 0;
  gate.CallOff();
  gate.Open();
  EXPECT_EQ(gate.Read(0, &byte, 1), 0u);
  EXPECT_TRUE(gate.EndsAt(0));
}

TEST(SyncTest, PatternsMeanNamesOrPaths) {
  EXPECT_TRUE(IsExcluded({".git"}, ".git"));
  EXPECT_TRUE(IsExcluded({"*.pyc"}, "a/b/c.pyc"));
  EXPECT_TRUE(IsExcluded({"data/"}, "a/data"));
  EXPECT_TRUE(IsExcluded({"a/*.bin"}, "a/x.bin"));
  EXPECT_FALSE(IsExcluded({"a/*.bin"}, "a/b/x.bin"));
  EXPECT_FALSE(IsExcluded({"a/*.bin"}, "b/a/x.bin"));
  EXPECT_TRUE(IsExcluded({"./a/x"}, "a/x"));
  EXPECT_TRUE(IsExcluded({"/a/x"}, "a/x"));
  EXPECT_FALSE(IsExcluded({}, "a"));
}

}  // namespace
}  // namespace podctl
