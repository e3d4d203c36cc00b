// What is said at the end, what is seen on the way, and the exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cmd/views/exec_output.h"
#include "cmd/views/exec_progress.h"
#include "providers/base/json.h"
#include "tests/support/fake_clock.h"
#include "tests/support/golden.h"

namespace podctl {
namespace {

using ssh::Outcome;
using ssh::Phase;
using ssh::Stream;
using ssh::WorkerResult;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using testing::ExpectGolden;
using testing::FakeClock;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<ssh::Job> Jobs(int count) {
  std::vector<ssh::Job> jobs;
  for (int i = 0; i < count; ++i) {
    ssh::Job job;
    job.worker.pod = "research";
    job.worker.index = i;
    job.worker.host = "10.0.0." + std::to_string(i);
    jobs.push_back(job);
  }
  return jobs;
}

WorkerResult Exit(int code) {
  WorkerResult result;
  result.outcome = Outcome::kExited;
  result.exit_code = code;
  result.attempts = 1;
  return result;
}

WorkerResult Trouble(Outcome outcome, const std::string& message) {
  WorkerResult result;
  result.outcome = outcome;
  result.message = message;
  return result;
}

WorkerResult Trouble(Outcome outcome, ssh::Cause cause) {
  WorkerResult result;
  result.End(outcome, std::move(cause));
  return result;
}

ExecOutcome AllOk(int count) {
  return {Jobs(count), std::vector<WorkerResult>(static_cast<std::size_t>(count), Exit(0)), false};
}

// 256 workers with every kind of trouble.
ExecOutcome Story() {
  ExecOutcome outcome = AllOk(256);
  auto& results = outcome.results;
  for (const std::size_t i : {3U, 4U, 5U, 90U}) {
    results[i] = Trouble(
        Outcome::kUnreachable,
        CauseAt(outcome.jobs[i].worker, ssh::Cause::Code::kNotConnected, "Connection refused"));
    results[i].attempts = static_cast<int>(i);
    results[i].CountTries();
  }
  results[8] = Exit(255);
  results[9] = Exit(3);
  results[10] = Exit(3);
  results[11].outcome = Outcome::kSignaled;
  results[11].signal = "KILL";
  results[12] = Trouble(Outcome::kTimedOut, "the command ran longer than 10m");
  for (const std::size_t i : {1U, 12U}) {
    results[i] =
        Trouble(Outcome::kLost, CauseAt(outcome.jobs[i].worker, ssh::Cause::Code::kBroke, "reset"));
  }
  for (std::size_t i = 200; i < 220; ++i) {
    results[i] = Trouble(Outcome::kSkipped, "not started: 5 workers failed before");
  }
  results[230] = Trouble(Outcome::kCancelled, CancelledCause(ssh::Termination::kStillAtIt));
  return outcome;
}

TEST(ExecSummary, GroupsByCauseAndTellsLostAndSkippedApart) {
  ExpectGolden("cmd/exec/summary.txt",
               ExecSummary(Story(), "podctl exec research --retry-failed last"));
  ExpectGolden(
      "cmd/exec/summary.json",
      ToJson(ExecSummaryEvent(Story(), 1, milliseconds(12'345)), JsonStyle::kIndented) + "\n");
}

TEST(ExecSummary, SaysNothingWhereThereIsNothingToSay) {
  EXPECT_EQ(ExecSummary(AllOk(4), "retry"), "");
  ExecOutcome one = AllOk(1);
  one.results[0] = Exit(7);
  EXPECT_EQ(ExecSummary(one, ""), "") << "the one worker's command has said it all";
  EXPECT_EQ(ExecSummary(one, "", false), "1 of 1 worker failed:\n  1 worker (0): exit code 7\n")
      << "what it has said is in a file";
  one.results[0] =
      Trouble(Outcome::kUnreachable, CauseAt(one.jobs[0].worker, ssh::Cause::Code::kNoCommands));
  EXPECT_EQ(ExecSummary(one, ""),
            "1 of 1 worker failed:\n  1 worker (0): the worker refuses to run commands over SSH\n");
}

// A cause may end in a command that somebody pastes.
TEST(ExecSummary, WhatAWorkerSaidOfItsFailureIsTheCause) {
  ExecOutcome outcome = AllOk(4);
  for (const std::size_t i : {1U, 3U}) {
    outcome.results[i] = Exit(1);
    outcome.results[i].cause = ssh::OtherCause("./data: there is no such folder");
  }
  outcome.results[2] =
      Trouble(Outcome::kUnreachable, ssh::OtherCause("make one: ssh-keygen -t ed25519"));
  EXPECT_EQ(ExecSummary(outcome, ""),
            "3 of 4 workers failed:\n  2 workers (1,3): ./data: there is no such folder\n"
            "  1 worker (2): make one: ssh-keygen -t ed25519\n");
}

TEST(ExecSummary, CausesOfEquallyManyWorkersAreInTheOrderOfTheirNumbers) {
  ExecOutcome outcome = AllOk(28);
  const std::pair<std::size_t, std::string> failed[] = {{7, "c"}, {17, "a"}, {27, "b"}};
  for (const auto& [worker, why] : failed) {
    outcome.results[worker] = Exit(1);
    outcome.results[worker].cause = ssh::OtherCause(why);
  }
  EXPECT_EQ(ExecSummary(outcome, ""),
            "3 of 28 workers failed:\n"
            "  1 worker (7): c\n  1 worker (17): a\n  1 worker (27): b\n");
}

// Whatever stands in the sentences: addresses, names, and how they are written.
TEST(ExecSummary, OneCauseOfManyWorkersIsOneLine) {
  using Code = ssh::Cause::Code;
  for (const Code code : {Code::kNoRoute,        Code::kNoProgram,
                          Code::kNotConnected,   Code::kNoAnswer,
                          Code::kSilent,         Code::kSilentBehind,
                          Code::kNoHandshake,    Code::kNoKeyExchange,
                          Code::kBrokeOff,       Code::kNotLetIn,
                          Code::kKeysRefused,    Code::kNoFittingKey,
                          Code::kHostKeyChanged, Code::kHostKeyRevoked,
                          Code::kHostKeyUnknown, Code::kHostKeyUnchecked,
                          Code::kNoChannel,      Code::kChannelLate,
                          Code::kNoCommand,      Code::kNoCommands,
                          Code::kNoReply,        Code::kBroke,
                          Code::kNoEnd,          Code::kTooLong,
                          Code::kTooMuch}) {
    ExecOutcome outcome = AllOk(4);
    for (std::size_t i = 0; i < 4; ++i) {
      WorkerAccess& worker = outcome.jobs[i].worker;
      worker.host = i % 2 == 0 ? "fd00::" + std::to_string(i) : "127.1.2." + std::to_string(i);
      worker.through = {"gcloud"};
      outcome.results[i] = Trouble(Outcome::kUnreachable, CauseThrough(worker, code, "words"));
      outcome.results[i].attempts = static_cast<int>(i);
      outcome.results[i].CountTries();
    }
    const std::string text = ExecSummary(outcome, "");
    EXPECT_THAT(text, HasSubstr("\n  4 workers (0-3): ")) << text;
    EXPECT_THAT(text, Not(HasSubstr("tried"))) << text;
  }
}

TEST(ExecSummary, ASignalNeedNotBeKnownByName) {
  WorkerResult killed = Trouble(Outcome::kSignaled, "the command was killed by a signal");
  EXPECT_EQ(CauseOf(killed), "killed by a signal");
  killed.signal = "KILL";
  EXPECT_EQ(CauseOf(killed), "killed by KILL");
}

// A node that was made anew: every worker shows another key, and that is one thing to say.
TEST(ExecSummary, ChangedHostKeysAreOneCause) {
  ExecOutcome outcome = AllOk(7);
  for (std::size_t i = 0; i < 6; ++i) {
    outcome.jobs[i].worker.host = "fd00::" + std::to_string(i);
    ssh::Cause cause =
        CauseAt(outcome.jobs[i].worker, ssh::Cause::Code::kHostKeyChanged, "ssh-ed25519 SHA256:a");
    cause.shown = "ssh-ed25519 SHA256:b";
    outcome.results[i] = Trouble(Outcome::kHostKeyChanged, std::move(cause));
  }
  EXPECT_EQ(
      ExecSummary(outcome, ""),
      "6 of 7 workers failed:\n"
      "  6 workers (0-5): THE HOST KEY HAS CHANGED; either the machine was replaced, or somebody "
      "answers in its place, so podctl does not talk to it\n"
      "      research/0 (fd00::0): expected ssh-ed25519 SHA256:a, but it shows ssh-ed25519 "
      "SHA256:b\n"
      "      research/1 (fd00::1): expected ssh-ed25519 SHA256:a, but it shows ssh-ed25519 "
      "SHA256:b\n"
      "      research/2 (fd00::2): expected ssh-ed25519 SHA256:a, but it shows ssh-ed25519 "
      "SHA256:b\n"
      "      research/3 (fd00::3): expected ssh-ed25519 SHA256:a, but it shows ssh-ed25519 "
      "SHA256:b\n"
      "      … and 2 more\n");
}

TEST(ExecSummary, TheExitCodeTellsTheTruth) {
  ExecOutcome outcome = AllOk(3);
  EXPECT_EQ(ExecExitCode(outcome), 0);
  for (WorkerResult& result : outcome.results) result = Exit(255);
  EXPECT_EQ(ExecExitCode(outcome), 255) << "a code like any other";
  outcome.results[1] = Exit(0);
  EXPECT_EQ(ExecExitCode(outcome), 1) << "they do not agree";
  for (const Outcome trouble : {Outcome::kUnreachable, Outcome::kLost, Outcome::kSkipped,
                                Outcome::kSignaled, Outcome::kTimedOut, Outcome::kCancelled}) {
    outcome = AllOk(3);
    outcome.results[1].outcome = trouble;
    EXPECT_EQ(ExecExitCode(outcome), 1);
    for (WorkerResult& result : outcome.results) result.outcome = trouble;
    EXPECT_EQ(ExecExitCode(outcome), 1) << "nobody's command ended by itself";
  }
  outcome = AllOk(3);
  outcome.interrupted = true;
  EXPECT_EQ(ExecExitCode(outcome), 130);
}

ssh::Cause Refused() {
  WorkerAccess worker;
  worker.host = "10.0.0.7";
  ssh::Cause cause = CauseAt(worker, ssh::Cause::Code::kNotConnected, "Connection refused");
  cause.error = ECONNREFUSED;
  return cause;
}

class ExecProgressTest : public ::testing::Test {
 protected:
  void Phases(std::size_t from, std::size_t to, Phase phase) {
    for (std::size_t i = from; i < to; ++i) progress_.OnPhase(i, phase);
  }
  void Done(std::size_t from, std::size_t to, const std::string& cause = "") {
    for (std::size_t i = from; i < to; ++i) progress_.OnResult(i, cause);
    Phases(from, to, Phase::kDone);
  }
  void Look() {
    for (const std::string& line : progress_.Lines()) text_ += line + "\n";
    text_ += progress_.PlainLine() + "\n\n";
  }
  static std::vector<int> Numbers() {
    std::vector<int> numbers;
    for (int i = 0; i < 256; ++i) numbers.push_back(i);
    return numbers;
  }

  FakeClock clock_;
  ExecProgress progress_{"research", Numbers(), clock_};
  std::string text_;
};

TEST_F(ExecProgressTest, CountsByPhaseAndNamesTheSlowestAndTheFailing) {
  Look();
  Phases(0, 100, Phase::kConnecting);
  Phases(0, 60, Phase::kAuthenticating);
  Phases(0, 50, Phase::kRunning);
  clock_.Advance(milliseconds(700));
  Look();
  clock_.Advance(milliseconds(1'300));
  Done(0, 40);
  Done(40, 43, "exit code 3");
  Done(43, 44, "connection refused");
  for (std::size_t i : {60, 61}) progress_.OnTryAgain(i, Refused());
  Phases(60, 62, Phase::kRetrying);
  Look();
  clock_.Advance(seconds(4));
  Phases(50, 256, Phase::kRunning);
  Done(50, 200);
  Look();
  clock_.Advance(seconds(30));
  Done(200, 240);
  Look();
  clock_.Advance(seconds(100));
  Look();
  ExpectGolden("cmd/exec/progress.txt", text_);
}

TEST_F(ExecProgressTest, NamesWhoCannotBeReachedForLong) {
  Phases(0, 256, Phase::kConnecting);
  Phases(7, 256, Phase::kRunning);
  Done(7, 256);
  clock_.Advance(seconds(4));
  EXPECT_EQ(progress_.Lines().size(), 1U);
  Phases(1, 7, Phase::kRetrying);
  Phases(1, 2, Phase::kConnecting);
  Phases(3, 4, Phase::kRunning);
  clock_.Advance(seconds(4));
  const auto lines = progress_.Lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1],
            "  slowest: research/0 connecting 8s, research/1 retrying 8s, research/2 retrying "
            "8s, research/4 retrying 8s")
      << "from the first try on, whatever was tried since";
}

TEST_F(ExecProgressTest, TellsWhatStandsInTheWayAndWhatToDo) {
  Phases(0, 256, Phase::kConnecting);
  progress_.OnTryAgain(0, Refused());
  Phases(0, 1, Phase::kRetrying);
  clock_.Advance(seconds(2));
  EXPECT_THAT(progress_.TroubleLines(), ::testing::IsEmpty()) << "it may be booting";
  clock_.Advance(seconds(2));
  EXPECT_THAT(
      progress_.TroubleLines(),
      ::testing::ElementsAre("  research/0: cannot connect to 10.0.0.7:22: Connection refused",
                             HasSubstr("PODCTL_SSH_PORT")));
  EXPECT_THAT(progress_.Lines(), ::testing::Contains(HasSubstr("10.0.0.7:22")));
  Phases(1, 256, Phase::kRunning);
  EXPECT_THAT(progress_.TroubleLines(),
              ::testing::Contains(HasSubstr("The others answer on that port")))
      << "it is the right one";
  Phases(0, 1, Phase::kRunning);
  EXPECT_THAT(progress_.TroubleLines(), ::testing::IsEmpty());
}

TEST_F(ExecProgressTest, ForetellsNoEndWhenOnlyUnreachableWorkersAreLeft) {
  Phases(0, 256, Phase::kRunning);
  clock_.Advance(seconds(2));
  Done(0, 253);
  EXPECT_THAT(progress_.PlainLine(), HasSubstr("left"));
  Phases(253, 256, Phase::kRetrying);
  EXPECT_THAT(progress_.PlainLine(), AllOf(HasSubstr("3 retrying"), Not(HasSubstr("left"))));
}

// A result comes before its phase, and the screen may be drawn between the two.
TEST_F(ExecProgressTest, ItsCountsAddUpAtAnyMoment) {
  Phases(0, 256, Phase::kRunning);
  Done(0, 252);
  for (std::size_t i = 252; i < 256; ++i) progress_.OnTryAgain(i, Refused());
  Phases(252, 256, Phase::kRetrying);
  progress_.OnResult(252, "connection refused");
  EXPECT_THAT(progress_.PlainLine(), HasSubstr("252/256 ok, 1 failed, 3 retrying: connection "
                                               "refused ["));
}

// What a program on the way says may be long, and is not ours.
TEST_F(ExecProgressTest, ACauseIsShownBrieflyAndWithoutControlCharacters) {
  progress_.OnTryAgain(0, ssh::OtherCause("\x1b[31m" + std::string(100, 'x')));
  Phases(0, 1, Phase::kRetrying);
  EXPECT_THAT(progress_.PlainLine(),
              HasSubstr("1 retrying: \\x1b[31m" + std::string(52, 'x') + "…; 255"));
}

TEST_F(ExecProgressTest, SlowCommandsHaveARateToo) {
  for (std::size_t i = 0; i < 4; ++i) {
    clock_.Advance(seconds(30));
    Done(i, i + 1);
    progress_.Lines();
  }
  EXPECT_THAT(progress_.PlainLine(), HasSubstr("2/min, about 2h6m"));
}

TEST_F(ExecProgressTest, TheLastOnesAreNotExpectedSoonerThanTheyHaveKeptEverybodyWaiting) {
  Phases(0, 256, Phase::kRunning);
  clock_.Advance(seconds(2));
  Done(0, 250);
  EXPECT_THAT(progress_.PlainLine(), HasSubstr("125/s, about 1s left"));
  clock_.Advance(seconds(9));
  EXPECT_THAT(progress_.PlainLine(), HasSubstr("about 9s left"));
  clock_.Advance(seconds(60));
  EXPECT_THAT(progress_.PlainLine(), HasSubstr("about 1m9s left"));
}

class ExecDeskTest : public ::testing::Test {
 protected:
  ExecDisplay& Open(ExecDisplay::Settings settings = {}) {
    settings.stops = {interrupt_.get_token(), leave_.get_token()};
    display_.emplace(streams_, clock_, std::move(settings));
    display_->OnBegin(jobs_, unheard_);
    return *display_;
  }

  std::ostringstream out_;
  std::ostringstream err_;
  Streams streams_{out_, err_};
  std::vector<ssh::Job> jobs_ = Jobs(3);
  FakeClock clock_;
  std::stop_source unheard_;
  std::stop_source interrupt_;
  std::stop_source leave_;
  std::optional<ExecDisplay> display_;
};

TEST_F(ExecDeskTest, LinesBearTheirWorkersName) {
  ExecDisplay& display = Open();
  display.OnLine(0, Stream::kOut, "hello");
  display.OnLine(1, Stream::kErr, "\x1b[31moops");
  display.OnLine(2, Stream::kOut, "");
  display.OnEnd();
  EXPECT_EQ(out_.str(), "research/0 | hello\nresearch/2 | \n");
  EXPECT_EQ(err_.str(), "research/1 | \\x1b[31moops\n");
}

TEST_F(ExecDeskTest, ShowsTheWatchedWorkersAloneAndWhenALineCame) {
  ExecDisplay::Settings settings;
  settings.timestamps = true;
  settings.only = std::set<int>{1};
  ExecDisplay& display = Open(std::move(settings));
  display.OnLine(0, Stream::kOut, "hello");
  display.OnLine(1, Stream::kOut, "hello");
  display.OnLine(1, Stream::kErr, "oops");
  display.OnEnd();
  const std::string now = FormatTimestamp(clock_.Now());
  EXPECT_EQ(out_.str(), "research/1 | " + now + " hello\n");
  EXPECT_EQ(err_.str(), "research/1 | " + now + " oops\n");
}

// What is not watched is not left out either.
TEST_F(ExecDeskTest, KeepsTheLastWordsOfWhoIsNotWatched) {
  ExecDisplay::Settings settings;
  settings.only = {{0}};
  ExecDisplay& display = Open(std::move(settings));
  display.OnLine(0, Stream::kErr, "seen");
  display.OnLine(1, Stream::kOut, "a step");
  for (int i = 0; i < 12; ++i) display.OnLine(1, Stream::kErr, "line " + std::to_string(i));
  display.OnEnd();
  EXPECT_EQ(err_.str(), "research/0 | seen\n");
  const auto last = display.LastUnseen(1);
  ASSERT_EQ(last.size(), 10U);
  EXPECT_EQ(last.front(), "line 2");
  EXPECT_EQ(last.back(), "line 11");
  EXPECT_TRUE(display.LastUnseen(0).empty());
}

TEST_F(ExecDeskTest, AfterCtrlCNobodyMissesWhatIsNotWatched) {
  ExecDisplay::Settings settings;
  settings.only = std::set<int>{1};
  ExecDisplay& display = Open(std::move(settings));
  interrupt_.request_stop();
  display.Tick();
  display.OnLine(0, Stream::kOut, "work");
  WorkerResult result = Trouble(Outcome::kCancelled, "cancelled");
  result.bytes_out = 5;
  display.OnResult(0, result);
  display.OnEnd();
  EXPECT_THAT(err_.str(), Not(HasSubstr("Left out")));
}

TEST_F(ExecDeskTest, WhatWasNeverToBeSeenIsNotCalledLeftOut) {
  ExecDisplay::Settings settings;
  settings.only = std::set<int>{1};
  ExecDisplay& display = Open(std::move(settings));
  interrupt_.request_stop();
  display.Tick();
  clock_.Advance(seconds(3));
  WorkerResult result = Trouble(Outcome::kCancelled, "cancelled");
  result.bytes_out = 4096;
  display.OnLine(0, Stream::kOut, std::string(4095, 'x'));
  display.OnResult(0, result);
  result.bytes_out = 1024;
  display.OnLine(1, Stream::kOut, std::string(1023, 'x'));
  display.OnResult(1, result);
  display.OnEnd();
  EXPECT_THAT(err_.str(), HasSubstr("Left out: 1.0 KiB of output"));
}

TEST_F(ExecDeskTest, PodctlsOwnLinesHaveTheTimeTooWhereItIsWanted) {
  ExecDisplay::Settings settings;
  settings.timestamps = true;
  ExecDisplay& display = Open(std::move(settings));
  display.Tell("Started on 3 workers.", {});
  interrupt_.request_stop();
  display.OnEnd();
  display.Tick();
  const std::string now = FormatTimestamp(clock_.Now());
  EXPECT_THAT(err_.str(), HasSubstr(now + " Started on 3 workers.\n" + now + " Interrupted: "));
  EXPECT_EQ(display.Stamped("a\nb\n"), now + " a\n" + now + " b\n");
  EXPECT_EQ(display.Stamped(""), "");
}

TEST_F(ExecDeskTest, AfterCtrlCTheProgressTellsHowManyAreStillEnding) {
  streams_.err_is_terminal = true;
  ExecDisplay& display = Open();
  for (std::size_t i = 0; i < 3; ++i) display.OnPhase(i, Phase::kRunning);
  clock_.Advance(seconds(9));
  interrupt_.request_stop();
  display.Tick();
  display.OnResult(0, Trouble(Outcome::kCancelled, "cancelled"));
  err_.str("");
  clock_.Advance(seconds(1));
  display.Tick();
  EXPECT_THAT(err_.str(), HasSubstr("research: ending: 2 of 3; 10s\n"));
  EXPECT_THAT(err_.str(), Not(HasSubstr("slowest")));
}

TEST_F(ExecDeskTest, TheProgressNamesWhatIsUnderWay) {
  ExecDisplay& display = Open();
  display.NameDoing("copying src");
  clock_.Advance(seconds(20));
  display.Tick();
  EXPECT_EQ(err_.str(), "research: copying src: 0/3 ok, 3 waiting [20s elapsed]\n");
}

TEST_F(ExecDeskTest, ControlCharactersAreVisible) {
  ExecDisplay& display = Open();
  display.OnLine(0, Stream::kOut, "\x1b[2Jgone\r");
  display.OnEnd();
  EXPECT_EQ(out_.str(), "research/0 | \\x1b[2Jgone\n");
}

TEST_F(ExecDeskTest, ProgressStandsBelowTheLinesAndIsNeverInStandardOutput) {
  streams_.err_is_terminal = true;
  ExecDisplay& display = Open();
  display.Tick();
  EXPECT_EQ(err_.str(), "") << "what ends at once needs none";
  clock_.Advance(seconds(1));
  display.Tick();
  EXPECT_THAT(err_.str(), HasSubstr("research: 0/3 ok, 3 waiting; 1s"));
  display.OnLine(0, Stream::kOut, "hello");
  display.OnEnd();
  EXPECT_EQ(out_.str(), "research/0 | hello\n");
  EXPECT_THAT(err_.str(), ::testing::EndsWith("\x1b[1A\x1b[2K\r")) << "it is gone at the end";
}

TEST_F(ExecDeskTest, OnOneTerminalLinesTakeThePlaceOfTheProgress) {
  Streams one{err_, err_};
  one.out_is_terminal = one.err_is_terminal = true;
  ExecDisplay display(one, clock_, {});
  display.OnBegin(jobs_, unheard_);
  clock_.Advance(seconds(1));
  display.Tick();
  display.OnLine(0, Stream::kOut, "hello");
  display.Tick();
  EXPECT_THAT(err_.str(), HasSubstr("; 1s\n\x1b[1A\x1b[2K\rresearch/0 | hello\n⠋ research: 0/3"));
  display.OnEnd();
}

TEST_F(ExecDeskTest, ALogHearsOfALongRunNowAndThen) {
  ExecDisplay& display = Open();
  for (int i = 0; i < 450; ++i) {
    clock_.Advance(milliseconds(100));
    display.Tick();
  }
  display.OnEnd();
  EXPECT_EQ(err_.str(),
            "research: 0/3 ok, 3 waiting [20s elapsed]\n"
            "research: 0/3 ok, 3 waiting [40s elapsed]\n");
}

// Whoever waits before a log hears at once why, and of the same cause no second time at once.
TEST_F(ExecDeskTest, ALogTellsACauseOfWaitingOnce) {
  ExecDisplay& display = Open();
  for (std::size_t i = 0; i < 3; ++i) {
    display.OnPhase(i, Phase::kConnecting);
    display.OnTryAgain(i, Refused());
    display.OnPhase(i, Phase::kRetrying);
  }
  for (int i = 0; i < 150; ++i) {
    clock_.Advance(milliseconds(100));
    display.Tick();
    if (i == 60) display.OnTryAgain(2, ssh::OtherCause("other"));
    if (i == 70) display.OnTryAgain(1, ssh::OtherCause("other"));
    if (i == 80) display.OnTryAgain(1, Refused());
  }
  display.OnEnd();
  EXPECT_EQ(err_.str(),
            "research: 0/3 ok, 3 retrying: connection refused; waiting for research/[0-2] [3s "
            "elapsed]\n"
            "research: 0/3 ok, 3 retrying: other; waiting for research/[0-2] [7s elapsed]\n");
}

TEST_F(ExecDeskTest, EventsAreWholeLinesOfJson) {
  ExecDisplay::Settings settings;
  streams_.json = true;
  ExecDisplay& display = Open(std::move(settings));
  display.OnTryAgain(0, Refused());
  display.OnPhase(0, Phase::kRetrying);
  display.OnPhase(0, Phase::kRunning);
  display.OnLine(0, Stream::kErr, "caf\xC3\xA9 \xff");
  WorkerResult result = Exit(255);
  result.waited = milliseconds(120);
  result.ran = milliseconds(30);
  result.bytes_err = 7;
  display.OnResult(0, result);
  display.OnPhase(0, Phase::kDone);
  display.OnResult(1, Trouble(Outcome::kLost, "reset"));
  clock_.Advance(seconds(60));
  display.Tick();
  display.OnEnd();
  ExpectGolden("cmd/exec/events.jsonl", out_.str());
  EXPECT_EQ(err_.str(), "");
}

TEST_F(ExecDeskTest, SaysOnceThatItWasInterrupted) {
  ExecDisplay& display = Open();
  interrupt_.request_stop();
  display.Tick();
  display.Tick();
  display.OnEnd();
  EXPECT_EQ(err_.str(),
            "Interrupted: the commands on the workers are asked to end. A second Ctrl-C leaves at "
            "once.\n");
}

TEST_F(ExecDeskTest, AfterCtrlCOnlyLastWordsAreShown) {
  ExecDisplay& display = Open();
  display.OnLine(0, Stream::kOut, "work");
  interrupt_.request_stop();
  display.OnLine(0, Stream::kOut, "saved");
  clock_.Advance(milliseconds(1'900));
  display.OnLine(1, Stream::kErr, "bye");
  clock_.Advance(milliseconds(100));
  display.OnLine(2, Stream::kOut, std::string(3'071, 'x'));
  WorkerResult result = Trouble(Outcome::kCancelled, "cancelled");
  result.bytes_out = 11;
  display.OnResult(0, result);
  result.bytes_out = 0;
  result.bytes_err = 3;  // without a newline
  display.OnResult(1, result);
  result.bytes_out = 3'072;
  display.OnResult(2, result);
  display.OnEnd();
  EXPECT_EQ(out_.str(), "research/0 | work\nresearch/0 | saved\n");
  EXPECT_THAT(err_.str(), HasSubstr("Interrupted: "));
  EXPECT_THAT(err_.str(),
              HasSubstr("research/1 | bye\nLeft out: 3.0 KiB of output that was not shown yet.\n"));
}

TEST_F(ExecDeskTest, AfterTheSecondCtrlCNothingIsShown) {
  ExecDisplay& display = Open();
  interrupt_.request_stop();
  leave_.request_stop();
  display.OnLine(0, Stream::kOut, "saved");
  display.OnEnd();
  EXPECT_EQ(out_.str(), "");
}

TEST_F(ExecDeskTest, WhatWasAllShownIsNotCalledLeftOut) {
  ExecDisplay& display = Open();
  display.OnLine(0, Stream::kOut, "work");
  interrupt_.request_stop();
  display.Tick();
  WorkerResult result = Trouble(Outcome::kCancelled, "cancelled");
  result.bytes_out = 5;
  display.OnResult(0, result);
  display.OnEnd();
  EXPECT_THAT(err_.str(), Not(HasSubstr("Left out")));
}

TEST_F(ExecDeskTest, EndsTheRunWhenNobodyReads) {
  ExecDisplay& display = Open();
  display.OnLine(0, Stream::kOut, "a");
  display.Tick();
  EXPECT_FALSE(unheard_.stop_requested());
  out_.setstate(std::ios::badbit);
  display.OnLine(0, Stream::kOut, "b");
  EXPECT_TRUE(unheard_.stop_requested());
}

}  // namespace
}  // namespace podctl
