// A job under watch: how it ends, when it is started again, and what it waits for.
#include "plans/fleet/run/supervise.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_provider.h"
#include "tests/support/fake_workers.h"
#include "tests/support/kinds.h"
#include "tests/support/patient_clock.h"

namespace podctl {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeProvider;
using testing::FakeWorkers;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::NotedCommands;
using testing::NotedRounds;
using testing::PatientClock;
using ::testing::SizeIs;
using testing::SomeWorkers;

using Answer = FakeWorkers::Answer;
using End = RunReport::End;

// Writes down what is told, a line each.
class NotedJob final : public JobWatcher {
 public:
  ExecWatcher& Commands() override { return commands; }
  void OnOwnLine(std::size_t, std::string_view) override { ++own_lines; }
  void OnStarted(std::size_t workers) override {
    lines.push_back(fmt::format("started {}", workers));
    if (on_started) on_started();
  }
  void OnFailure(const AttemptFailure& failure) override { failures.push_back(failure); }
  void OnPrepareEvent(const PrepareEvent& reported) override { news.push_back(reported); }
  void OnRestart(const AttemptResult&, int restart, const JobVerdict& why) override {
    lines.push_back(fmt::format("restart {}: {}", restart, why.because));
  }
  void OnWaiting(bool absent) override {
    lines.push_back(absent ? "waiting for the pod" : "waiting for workers");
    if (on_waiting) on_waiting();
  }
  bool IsHeard() override { return heard; }

  std::vector<std::string> lines;
  NotedCommands commands{lines, false};
  std::vector<PrepareEvent> news;
  std::vector<AttemptFailure> failures;
  int own_lines = 0;
  bool heard = true;
  std::function<void()> on_started;
  std::function<void()> on_waiting;
};

class FakeJobPod final : public JobPod {
 public:
  explicit FakeJobPod(int workers) : workers_(workers) {
    record.project = "p";
    record.zone = "z";
    record.current.locator = "research";
    record.current.uid = "1";
    record.current.life = Present{};
    record.observed.Set("state", "READY");
    record.observed.Set("acceleratorType", "v3-16");
    Value::List endpoints;
    for (int i = 0; i < workers; ++i) {
      Value endpoint = Value::EmptyMap();
      endpoint.Set("ipAddress", fmt::format("10.0.0.{}", i + 1));
      endpoints.push_back(std::move(endpoint));
    }
    record.observed.Set("networkEndpoints", std::move(endpoints));
  }
  Result<PodRecord> Record() override { return record; }
  Result<PodTarget> Target() override {
    if (trouble) return *trouble;
    return PodTarget{"pod.research", SomeWorkers(workers_), {}};
  }

  PodRecord record;
  std::optional<Error> trouble;

 private:
  const int workers_;
};

class SuperviseTest : public ::testing::Test {
 protected:
  SuperviseTest() {
    PodSpec pod;
    pod.name = "research";
    testing::Declare(pod, &spec_);
    job_.name = "train";
    job_.pod = "research";
    job_.command = {"python3 t.py"};
    request_.drain = false;
    request_.owner = "alice@laptop";
    cloud_.PutNode(kNode, Value::EmptyMap());
    cloud_.EditNode(kNode, [](Value& node) { node.Set("id", "1"); });
  }
  RunReport Run() {
    WorkerRounds rounds(workers_, noted_rounds_, stop_.get_token(), {});
    const workers::Run run = RunOf(job_, request_, "0a0b");
    const JobDoors doors{workers_, rounds, clock_, files_, &cloud_, pod_};
    RunReport report =
        SuperviseJob(doors, spec_, job_, run, request_, watcher_, {stop_.get_token(), {}});
    if (const auto& why = report.blocker) {
      watcher_.lines.push_back("hindrance: " + (why->error ? why->error->message : "no answer"));
    }
    return report;
  }
  // Restarts that the spec allows, for these reasons.
  void Restart(int attempts, std::set<RestartReason> on) {
    job_.restart.attempts = attempts;
    job_.restart.on = std::move(on);
  }
  // What a worker does at its start, by the number of the start, from 0.
  Answer Say(const ssh::Job& job) {
    // A copy has a feed too.
    if (job.feed == nullptr || job.ending.empty()) return questions_(job);
    if (job.worker.index == 0) ++starts_;
    return at_start_(job.worker.index, starts_ - 1);
  }

  static inline const NodeName kNode{"p", "z", "research"};
  std::function<Answer(int worker, int start)> at_start_ = [](int, int) { return Answer{}; };
  std::function<Answer(const ssh::Job&)> questions_ = [](const ssh::Job&) { return Answer{}; };
  int starts_ = 0;
  FakeWorkers workers_{[this](const ssh::Job& job) { return Say(job); }};
  NotedRounds noted_rounds_;
  PatientClock clock_;
  RealFileSystem files_;
  FakeProvider cloud_;
  FakeJobPod pod_{2};
  Spec spec_;
  JobSpec job_;
  RunRequest request_;
  NotedJob watcher_;
  std::stop_source stop_;
};

Answer Fails(int code) {
  return {{}, {}, FakeWorkers::Exit(code)};
}

TEST_F(SuperviseTest, AJobThatEndsWell) {
  at_start_ = [](int worker, int) { return Answer{{fmt::format("step {}", worker)}}; };
  const RunReport report = Run();
  EXPECT_EQ(report.end, End::kEnded);
  EXPECT_TRUE(EndedWell(report.result));
  EXPECT_FALSE(report.verdict);
  EXPECT_THAT(watcher_.lines,
              ElementsAre("begin 2", "started 2", "0 | step 0", "1 | step 1", "end"));
  EXPECT_EQ(watcher_.own_lines, 2) << "that they are ready is no output of the job";
}

TEST_F(SuperviseTest, NoneStartsWhereOneCannotGetReady) {
  Restart(3, {RestartReason::kFailure});
  at_start_ = [](int worker, int) {
    Answer answer = Fails(1);
    answer.staged = worker != 1;
    return answer;
  };
  const RunReport report = Run();
  EXPECT_FALSE(report.result.started);
  EXPECT_EQ(report.result.first, std::optional<std::size_t>(1));
  EXPECT_EQ(report.result.outcome.results[0].outcome, ssh::Outcome::kSkipped);
  EXPECT_EQ(report.restarts, 0) << "what has never run is not started again";
}

TEST_F(SuperviseTest, StartsAgainForTheReasonsOfTheSpec) {
  Restart(2, {RestartReason::kFailure});
  at_start_ = [](int worker, int start) { return worker == 1 && start < 2 ? Fails(3) : Answer{}; };
  const RunReport report = Run();
  EXPECT_EQ(report.restarts, 2);
  EXPECT_TRUE(EndedWell(report.result));
  EXPECT_THAT(watcher_.lines, Contains("restart 1: research/1: exit code 3"));
  EXPECT_THAT(watcher_.lines, Contains("restart 2: research/1: exit code 3"));
}

TEST_F(SuperviseTest, AndForNoOthersAndNotForEver) {
  at_start_ = [](int worker, int) { return worker == 1 ? Fails(3) : Answer{}; };
  Restart(2, {RestartReason::kKilled});
  EXPECT_EQ(Run().restarts, 0);
  Restart(2, {RestartReason::kFailure});
  const RunReport report = Run();
  EXPECT_EQ(report.restarts, 2);
  ASSERT_TRUE(report.verdict);
  EXPECT_EQ(report.verdict->reason, RestartReason::kFailure);
}

// Starts that end at once are spaced out, so that nobody is asked without a pause.
TEST_F(SuperviseTest, PausesGrowWhereItEndsAtOnce) {
  Restart(5, {RestartReason::kFailure});
  at_start_ = [](int, int) { return Fails(3); };
  Run();
  EXPECT_EQ(clock_.Elapsed(), std::chrono::seconds(1 + 2 + 4 + 8 + 16));
}

TEST_F(SuperviseTest, TheFirstPauseIsTheSpecs) {
  Restart(3, {RestartReason::kFailure});
  job_.restart.backoff = std::chrono::seconds(40);
  at_start_ = [](int, int) { return Fails(3); };
  Run();
  EXPECT_EQ(clock_.Elapsed(), std::chrono::seconds(40 + 60 + 60));
}

TEST_F(SuperviseTest, WhatSomebodyEndedStaysEnded) {
  Restart(2, {RestartReason::kFailure, RestartReason::kKilled});
  at_start_ = [](int, int) {
    Answer answer = Fails(143);
    answer.err = {"podctl-run 0a0b ended-by bob@desk: podctl kill research train"};
    return answer;
  };
  const RunReport report = Run();
  EXPECT_EQ(report.restarts, 0);
  EXPECT_EQ(report.result.ended_by, "bob@desk: podctl kill research train");
}

// A progress bar leaves its line open.
TEST_F(SuperviseTest, SoDoesWhatSomebodyEndedBehindAnOpenLine) {
  Restart(2, {RestartReason::kFailure, RestartReason::kKilled});
  at_start_ = [](int, int) {
    Answer answer = Fails(143);
    answer.err = {" 50%|==\rpodctl-run 0a0b ended-by bob@desk"};
    return answer;
  };
  const RunReport report = Run();
  EXPECT_EQ(report.restarts, 0);
  EXPECT_EQ(report.result.ended_by, "bob@desk");
  EXPECT_THAT(watcher_.lines, Contains("0 |  50%|==\r"));
}

// Worker 0 was ended since worker 1 failed, and says so before that one's connection has ended.
Answer EndedForTheOther(const std::string& line) {
  Answer answer = Fails(workers::kEndedForAnother);
  answer.err = {line};
  return answer;
}

TEST_F(SuperviseTest, AGangSaysItselfWhoFailedFirst) {
  at_start_ = [](int worker, int) {
    if (worker == 1) return Fails(3);
    return EndedForTheOther("podctl-run 0a0b first 1 1 0 failure ended with exit code 3");
  };
  const RunReport report = Run();
  EXPECT_EQ(report.result.first, std::optional<std::size_t>(1));
  ASSERT_TRUE(report.result.told);
  EXPECT_EQ(report.result.told->reason, RestartReason::kFailure);
  const ssh::WorkerResult& other = report.result.outcome.results[0];
  EXPECT_EQ(other.outcome, ssh::Outcome::kCancelled);
  EXPECT_TRUE(other.ended);
  EXPECT_EQ(report.result.outcome.results[1].exit_code, 3);
  EXPECT_EQ(CauseOfFirst(report.result), "exit code 3");
  EXPECT_EQ(watcher_.own_lines, 3);
  EXPECT_THAT(watcher_.lines, Not(Contains(HasSubstr("podctl-run"))));
}

// Nobody on its machine is left to tell the others: they are ended at once.
TEST_F(SuperviseTest, OneWhoseSupervisorWasKilledIsToldByItsShell) {
  at_start_ = [](int worker, int) {
    if (worker == 1) return Answer{};
    return Answer{{}, {"podctl-run 0a0b unsupervised"}, FakeWorkers::Exit(137)};
  };
  const RunReport report = Run();
  EXPECT_EQ(report.result.first, std::optional<std::size_t>(0));
  ASSERT_TRUE(report.result.told);
  EXPECT_EQ(report.result.told->reason, RestartReason::kKilled);
  EXPECT_EQ(CauseOfFirst(report.result), "lost its supervisor, which was killed");
  EXPECT_TRUE(IsFirstByMachine(report.result));
  EXPECT_EQ(report.result.outcome.results[1].outcome, ssh::Outcome::kCancelled);
}

// It may be saving its checkpoint: a second TERM would end many a program at once.
TEST_F(SuperviseTest, WhatAGangEndsIsAskedAgainOnlyWhereItDoesNotEnd) {
  at_start_ = [](int worker, int) {
    if (worker == 1) return Fails(3);
    Answer answer = EndedForTheOther("podctl-run 0a0b first 1 1 0 failure ended with exit code 3");
    answer.err.emplace_back("saving");
    return answer;
  };
  for (const int seconds : {11, 46}) {
    watcher_.commands.on_line = [&] {
      clock_.Advance(std::chrono::seconds(seconds));
      clock_.LetTick();
    };
    watcher_.failures.clear();
    starts_ = 0;
    const RunReport report = Run();
    // Whose turn comes after that.
    const ssh::WorkerResult& other = report.result.outcome.results[1];
    EXPECT_EQ(other.outcome, seconds == 11 ? ssh::Outcome::kExited : ssh::Outcome::kCancelled);
    ASSERT_THAT(watcher_.failures, SizeIs(1));
    EXPECT_EQ(watcher_.failures[0].worker.index, 1);
    EXPECT_EQ(watcher_.failures[0].cause, "ended with exit code 3");
    EXPECT_EQ(watcher_.failures[0].aftermath, std::chrono::seconds(0));
  }
}

TEST_F(SuperviseTest, AlsoBehindALineThatAProgressBarHasLeftOpen) {
  at_start_ = [](int worker, int) {
    if (worker == 1) return Fails(3);
    return EndedForTheOther(" 50%|==\rpodctl-run 0a0b first 1 1 0 failure ended with exit code 3");
  };
  EXPECT_TRUE(Run().result.told);
  EXPECT_THAT(watcher_.lines, Contains("0 |  50%|==\r"));
  EXPECT_EQ(watcher_.commands.open_lines, 1);
}

// What a worker writes may be anything.
TEST_F(SuperviseTest, WhatOnlyLooksLikeItIsOutput) {
  for (const std::string line : {
           "podctl-run ffff first 1 1 0 failure ended with exit code 3",  // of another run
           "podctl-run 0a0b first 2 1 0 failure ended with exit code 3",  // of another start
           "podctl-run 0a0b first 1 9 0 failure ended with exit code 3",  // no such worker
           "podctl-run 0a0b first 1 1 0 replacement of its pod",          // not the gang's to say
           "podctl-run 0a0b first 1 - 0 hang no worker has written a line",
           "podctl-run 0a0b first 1 1 x failure a",
       }) {
    at_start_ = [&](int worker, int) { return worker == 1 ? Fails(3) : EndedForTheOther(line); };
    starts_ = 0;
    const RunReport report = Run();
    EXPECT_FALSE(report.result.told) << line;
    EXPECT_THAT(watcher_.lines, Contains("0 | " + line));
    EXPECT_EQ(report.result.first, std::optional<std::size_t>(1)) << "as its connection tells";
    EXPECT_EQ(report.result.outcome.results[0].outcome, ssh::Outcome::kCancelled);
  }
}

TEST_F(SuperviseTest, TheReasonThatAGangSaysDecides) {
  const std::pair<RestartReason, std::string> told[] = {
      {RestartReason::kConnection, "was silent for 30s"},
      {RestartReason::kKilled, "lost its supervisor, which was killed"},
      {RestartReason::kPreemption, "ended with exit code 1: this machine is being preempted"},
      {RestartReason::kMaintenance, "ended with exit code 1: TERMINATE_ON_HOST_MAINTENANCE"},
  };
  for (const auto& each : told) {
    const RestartReason reason = each.first;
    const std::string cause = each.second;
    const std::string line =
        fmt::format("podctl-run 0a0b first 1 1 0 {} {}", RestartReasonName(reason), cause);
    at_start_ = [&](int worker, int start) {
      if (start > 0) return Answer{};
      return worker == 1 ? Fails(1) : EndedForTheOther(line);
    };
    starts_ = 0;
    Restart(1, {reason});
    EXPECT_TRUE(EndedWell(Run().result)) << line;
    const std::string shown = reason == RestartReason::kKilled ? "exit code 1" : cause;
    EXPECT_THAT(watcher_.lines, Contains("restart 1: research/1: " + shown));
    starts_ = 0;
    Restart(1, {RestartReason::kFailure});
    EXPECT_EQ(Run().restarts, 0) << line;
  }
}

// That the link to a worker broke is known here better than there.
TEST_F(SuperviseTest, ALostConnectionIsTheReasonWhateverAGangSays) {
  Restart(1, {RestartReason::kConnection});
  at_start_ = [](int worker, int start) {
    if (start > 0) return Answer{};
    if (worker == 1) return Answer{{}, {}, FakeWorkers::Trouble(ssh::Outcome::kLost, "broke")};
    return EndedForTheOther("podctl-run 0a0b first 1 0 0 failure ended with exit code 3");
  };
  EXPECT_EQ(Run().restarts, 1);
}

TEST_F(SuperviseTest, OfWhoFailedFirstEveryCodeIsItsOwn) {
  at_start_ = [](int worker, int) {
    if (worker == 1) return Fails(workers::kEndedForAnother);
    return EndedForTheOther("podctl-run 0a0b first 1 1 0 failure ended with exit code 94");
  };
  const RunReport report = Run();
  EXPECT_EQ(report.result.outcome.results[1].outcome, ssh::Outcome::kExited);
  EXPECT_EQ(report.result.outcome.results[1].exit_code, workers::kEndedForAnother);
}

// The job of the launcher `shell` is no gang: its codes are its own.
TEST_F(SuperviseTest, WhereEachIsByItselfNothingIsSaidOfOthers) {
  job_.launcher = Launcher::kShell;
  at_start_ = [](int worker, int) {
    return worker == 1 ? Answer{} : Fails(workers::kEndedForAnother);
  };
  const RunReport report = Run();
  EXPECT_EQ(report.result.outcome.results[0].outcome, ssh::Outcome::kExited);
  EXPECT_EQ(report.result.first, std::optional<std::size_t>(0));
}

// What each worker is given: its place in a gang of those that were chosen.
TEST_F(SuperviseTest, AGangIsOfTheChosenWorkersAndOfEachStartAnew) {
  Restart(1, {RestartReason::kFailure});
  request_.workers = "1";
  job_.restart.hang = std::chrono::seconds(60);
  at_start_ = [this](int, int) {
    ++starts_;
    return starts_ == 1 ? Fails(3) : Answer{};
  };
  EXPECT_TRUE(EndedWell(Run().result));
  std::vector<std::string> inputs;
  for (const auto& round : workers_.rounds) {
    for (const ssh::Job& job : round) {
      if (job.feed != nullptr) inputs.push_back(*job.input);
    }
  }
  ASSERT_THAT(inputs, SizeIs(2));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_THAT(inputs[i], HasSubstr(R"("workers":[[1,"10.0.0.2"]])"));
    EXPECT_THAT(inputs[i], HasSubstr(R"("me":0)"));
    EXPECT_THAT(inputs[i], HasSubstr(fmt::format(R"("first":{})", i + 1)));
    EXPECT_THAT(inputs[i], HasSubstr(R"("restart":{"attempts":1,)"));
    EXPECT_THAT(inputs[i], HasSubstr(R"("on":[])"));
    EXPECT_THAT(inputs[i], HasSubstr(R"("hang":0)"));
  }
  const auto key = [](const std::string& input) {
    const auto begin = input.find("-----BEGIN PRIVATE KEY-----");
    return input.substr(begin, input.find("-----END PRIVATE KEY-----") - begin);
  };
  EXPECT_NE(key(inputs[0]), key(inputs[1]));
}

TEST_F(SuperviseTest, WaitsForAPodThatIsMadeAnew) {
  Restart(1, {RestartReason::kPreemption});
  at_start_ = [this](int, int start) {
    if (start > 0) return Answer{};
    cloud_.EditNode(kNode, [](Value& node) { node.Set("state", "PREEMPTED"); });
    return Fails(1);
  };
  watcher_.on_waiting = [this] {
    cloud_.EditNode(kNode, [](Value& node) {
      node.Set("state", "READY");
      node.Set("id", "2");
    });
    pod_.record.current.uid = "2";
  };
  const RunReport report = Run();
  EXPECT_THAT(watcher_.lines, Contains("restart 1: the node is PREEMPTED"));
  EXPECT_THAT(watcher_.lines, Contains("waiting for the pod"));
  EXPECT_TRUE(EndedWell(report.result));
}

TEST_F(SuperviseTest, ButNotForEver) {
  Restart(1, {RestartReason::kPreemption});
  at_start_ = [this](int, int) {
    cloud_.EditNode(kNode, [](Value& node) { node.Set("state", "PREEMPTED"); });
    return Fails(1);
  };
  const RunReport report = Run();
  EXPECT_EQ(report.end, End::kEnded);
  EXPECT_THAT(watcher_.lines, Contains(HasSubstr("pod.research did not come back within")));
  EXPECT_GT(clock_.Elapsed(), std::chrono::hours(24));
  EXPECT_EQ(starts_, 1);
}

TEST_F(SuperviseTest, APodWithoutWorkersIsAHindrance) {
  pod_.trouble = MakeError(ErrorCode::kFailedPrecondition, "pod `research` is STOPPED");
  const RunReport report = Run();
  EXPECT_EQ(report.end, End::kNotBegun);
  EXPECT_FALSE(report.begun);
  EXPECT_THAT(watcher_.lines, ElementsAre("hindrance: pod `research` is STOPPED"));
}

TEST_F(SuperviseTest, SoIsOneOfMoreWorkersThanCanBeHeldAtOnce) {
  workers_.most_at_once = 1;
  EXPECT_EQ(Run().end, End::kNotBegun);
  EXPECT_THAT(watcher_.lines, ElementsAre(HasSubstr("Only 1 of 2 workers")));
}

TEST_F(SuperviseTest, AnInterruptEndsItAndNothingIsStartedAgain) {
  Restart(3, {RestartReason::kFailure, RestartReason::kKilled});
  watcher_.on_started = [this] { stop_.request_stop(); };
  const RunReport report = Run();
  EXPECT_EQ(report.end, End::kEnded);
  EXPECT_TRUE(report.result.outcome.interrupted);
  EXPECT_EQ(report.restarts, 0);
}

TEST_F(SuperviseTest, AnInterruptedWaitTellsThatItHadBegun) {
  Restart(1, {RestartReason::kPreemption});
  at_start_ = [this](int, int) {
    cloud_.EditNode(kNode, [](Value& node) { node.Set("state", "PREEMPTED"); });
    return Fails(1);
  };
  watcher_.on_waiting = [this] { stop_.request_stop(); };
  const RunReport report = Run();
  EXPECT_EQ(report.end, End::kInterrupted);
  EXPECT_TRUE(report.begun);
}

TEST_F(SuperviseTest, WhereNobodyListensItIsNotStartedAgain) {
  Restart(3, {RestartReason::kFailure});
  at_start_ = [this](int, int) {
    watcher_.heard = false;
    return Fails(1);
  };
  EXPECT_EQ(Run().end, End::kUnheard);
  EXPECT_EQ(starts_, 1);
}

TEST_F(SuperviseTest, NewHostKeysAreTold) {
  at_start_ = [](int worker, int) {
    Answer answer;
    if (worker == 1) answer.result.learned_host_key = "ssh-ed25519 AAAA";
    return answer;
  };
  Run();
  EXPECT_EQ(noted_rounds_.learned.at(1), "ssh-ed25519 AAAA");
}

// --- Before the start.

Answer Lines(std::vector<std::string> lines) {
  return {std::move(lines)};
}
Answer Probe(const std::vector<std::string>& more) {
  std::vector<std::string> lines = {"podctl-probe 1", "user alice"};
  lines.insert(lines.end(), more.begin(), more.end());
  lines.push_back("end");
  return Lines(lines);
}

class PrepareTest : public SuperviseTest {
 protected:
  PrepareTest() {
    request_.drain = true;
    questions_ = [this](const ssh::Job& job) {
      if (job.command == workers::ProbeCommand({})) return probe_;
      if (job.command == workers::ListCommand("eval")) return list_;
      if (job.command.find("podctl-drain") != std::string::npos) {
        drained_.push_back(job.worker.index);
        return Lines({"podctl-drain 1", "end"});
      }
      return earlier_;
    };
  }
  Answer earlier_ = Lines({"podctl-runs 1", "ended 0 left 0", "end"});
  Answer probe_ = Probe({});
  Answer list_ = Lines({"podctl-jobs 1", "end"});
  std::vector<int> drained_;
};

TEST_F(PrepareTest, NothingIsInTheWay) {
  EXPECT_TRUE(EndedWell(Run().result));
  EXPECT_THAT(watcher_.news, IsEmpty());
  EXPECT_THAT(drained_, IsEmpty());
}

// A node that is in maintenance already when the job is to begin.
TEST_F(PrepareTest, WaitsForMaintenanceBeforeTheFirstStartWhereTheSpecCountsIt) {
  bool repairing = true;
  cloud_.EditNode(kNode, [](Value& node) { node.Set("state", "REPAIRING"); });
  questions_ = [&, asked = questions_](const ssh::Job& job) -> Answer {
    if (!repairing) return asked(job);
    return {{}, {}, FakeWorkers::Trouble(ssh::Outcome::kUnreachable, "connection refused")};
  };
  EXPECT_EQ(Run().end, End::kNotBegun) << "nobody has asked for that";
  Restart(1, {RestartReason::kFailure});
  EXPECT_EQ(Run().end, End::kNotBegun);
  EXPECT_THAT(watcher_.lines, Not(Contains("waiting for workers")));

  Restart(1, {RestartReason::kMaintenance});
  watcher_.on_waiting = [&] {
    repairing = false;
    cloud_.EditNode(kNode, [](Value& node) { node.Set("state", "READY"); });
  };
  const RunReport report = Run();
  EXPECT_THAT(watcher_.lines, Contains("waiting for workers"));
  EXPECT_TRUE(report.begun);
  EXPECT_TRUE(EndedWell(report.result));
  EXPECT_EQ(report.restarts, 0) << "it has not run before";
  EXPECT_FALSE(report.blocker);
}

TEST_F(PrepareTest, WhatAnEarlierRunLeftIsEndedAndTold) {
  earlier_ = Lines({"podctl-runs 1", "ended 2 left 0", "end"});
  Run();
  ASSERT_THAT(watcher_.news, SizeIs(1));
  const auto& news = std::get<EarlierRunEnded>(watcher_.news[0]);
  EXPECT_EQ(news.processes, 4);
  EXPECT_THAT(news.where.workers, ElementsAre(0, 1));
}

TEST_F(PrepareTest, AJobThatIsAtWorkIsNotStartedTwice) {
  earlier_ = Lines({"podctl-runs 1", "runs bob@desk", "end"});
  EXPECT_EQ(Run().end, End::kNotBegun);
  EXPECT_THAT(watcher_.lines, ElementsAre(HasSubstr("job train runs already on")));
  EXPECT_THAT(watcher_.lines, ElementsAre(HasSubstr("started by bob@desk")));
}

TEST_F(PrepareTest, WhatHoldsTheTpuAndIsOursAndNobodysIsEnded) {
  probe_ = Probe({"holder 11 100 alice 5 - /dev/accel0 python3 a.py"});
  EXPECT_TRUE(EndedWell(Run().result));
  EXPECT_THAT(drained_, ElementsAre(0, 1));
  ASSERT_THAT(watcher_.news, SizeIs(2));
  EXPECT_EQ(std::get<HolderEnding>(watcher_.news[0]).holder.pid, 11);
}

TEST_F(PrepareTest, WhatIsSomebodyElsesIsLeft) {
  probe_ = Probe({"holder 11 100 bob 5 - /dev/accel0 python3 a.py"});
  EXPECT_EQ(Run().end, End::kNotBegun);
  EXPECT_THAT(drained_, IsEmpty());
  EXPECT_THAT(watcher_.lines, ElementsAre(HasSubstr("the TPU is held by `python3 a.py`")));
}

TEST_F(PrepareTest, AJobAtWorkIsLeftAndWhatADeadOneLeftIsEnded) {
  probe_ = Probe({"holder 11 100 alice 5 job:eval:alice /dev/accel0 python3 a.py"});
  list_ = Lines({"podctl-jobs 1", "job eval r running 0 1795184000 0 0 python3 a.py", "end"});
  EXPECT_EQ(Run().end, End::kNotBegun);
  EXPECT_THAT(watcher_.lines, ElementsAre(HasSubstr("the TPU is held by the job eval")));
  list_ = Lines({"podctl-jobs 1", "job eval r died 0 1795184000 0 0 python3 a.py", "end"});
  EXPECT_EQ(Run().end, End::kEnded);
  EXPECT_THAT(drained_, ElementsAre(0, 1));
}

TEST_F(PrepareTest, WhoGivesNoAnswerHinders) {
  earlier_ = {{}, {}, FakeWorkers::Trouble(ssh::Outcome::kUnreachable, "refused")};
  EXPECT_EQ(Run().end, End::kNotBegun);
  EXPECT_THAT(watcher_.lines, ElementsAre("hindrance: no answer"));
}

// Its files would change under it.
TEST_F(PrepareTest, NothingIsCopiedForADetachedStartThatIsRefused) {
  request_.drain = false;
  job_.sync.push_back({"/nowhere", "src", {}});
  questions_ = [](const ssh::Job& job) {
    if (job.command != workers::ListCommand("train")) return Answer{};
    return Lines({"podctl-jobs 1", "job train r running 0 1795184000 0 0 python3 t.py", "end"});
  };
  WorkerRounds rounds(workers_, noted_rounds_, stop_.get_token(), {});
  testing::FakeRandom random;
  const DetachReport done =
      DetachJob({rounds, files_, random, pod_}, spec_, job_, request_,
                {[](const PrepareEvent&) {}, [](const DetachedStart&, const StartEvent&) {}});
  EXPECT_FALSE(done.blocker);
  ASSERT_TRUE(done.report.refusal);
  EXPECT_EQ(done.report.refusal->code, ErrorCode::kAlreadyExists);
  EXPECT_THAT(done.target.workers, SizeIs(2));
  EXPECT_THAT(noted_rounds_.doings, Not(Contains(HasSubstr("copying"))));
}

TEST_F(PrepareTest, FilesAreBroughtOnceForTheSameNode) {
  request_.drain = false;
  std::string folder = ::testing::TempDir() + "podctl_sync_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/t.py") << "print()";
  job_.sync.push_back({folder, "src", {}});
  Restart(1, {RestartReason::kFailure});
  at_start_ = [](int, int start) { return start == 0 ? Fails(1) : Answer{}; };
  EXPECT_EQ(Run().restarts, 1);
  ASSERT_THAT(watcher_.news, SizeIs(1));
  const auto& copied = std::get<FilesCopied>(watcher_.news[0]);
  EXPECT_EQ(copied.workers, 2U);
  EXPECT_EQ(copied.files, 1U);
  EXPECT_THAT(noted_rounds_.doings, ElementsAre("copying " + folder));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace podctl
