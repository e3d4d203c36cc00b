// Real workers (an sshd each), on each of them the real gang.py.
#include "providers/workers/gang.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <sstream>
#include <thread>

#include "providers/base/certificate.h"
#include "providers/base/text.h"
#include "providers/workers/jobs.h"
#include "providers/workers/runs.h"
#include "tests/providers/workers/worker_shell.h"
#include "tests/support/long_case.h"

namespace podctl::workers {
namespace {

using podctl::testing::ReadAll;
using podctl::testing::WorkerShell;
using podctl::testing::WriteAll;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using State = JobStatus::State;

TEST(GangLines, TellAttemptAndFirstFailureAndWhoIsWaitedFor) {
  GangNews news;
  EXPECT_TRUE(ReadGangLine("attempt 2 51", &news));
  EXPECT_TRUE(ReadGangLine("first 1 7 12034 failure ended with exit code 3", &news));
  EXPECT_TRUE(ReadGangLine("waiting 7,9", &news));
  EXPECT_EQ(news.attempt, 2);
  EXPECT_EQ(news.attempts, 51);
  ASSERT_TRUE(news.first);
  EXPECT_EQ(news.first->attempt, 1);
  EXPECT_EQ(news.first->worker, 7);
  EXPECT_EQ(news.first->after, std::chrono::milliseconds(12034));
  EXPECT_EQ(news.first->reason, "failure");
  EXPECT_EQ(news.first->cause, "ended with exit code 3");
  EXPECT_THAT(news.waiting, ElementsAre(7, 9));
  EXPECT_TRUE(ReadGangLine("first 2 - 31000 hang no worker has written a line for 30s", &news));
  EXPECT_EQ(news.first->worker, std::nullopt);
  EXPECT_EQ(news.first->cause, "no worker has written a line for 30s");
  for (const std::string odd :
       {"", "attempt", "attempt 1", "attempt x 2", "attempt -1 2", "first 1 2", "first 1 x 3 a b",
        "waiting 1,,2", "waiting x", "else 1"}) {
    EXPECT_FALSE(ReadGangLine(odd, &news)) << odd;
  }
}

TEST(RunCertificates, AreEachOfItsOwn) {
  const auto one = MakeCertificate();
  const auto other = MakeCertificate();
  ASSERT_TRUE(one && other);
  EXPECT_NE(*one, *other);
  EXPECT_THAT(*one, HasSubstr("-----BEGIN CERTIFICATE-----\n"));
  EXPECT_THAT(*one, HasSubstr("-----BEGIN PRIVATE KEY-----\n"));
}

bool IsThere(const std::string& pid) {
  const std::string status = ReadAll("/proc/" + pid + "/status");
  return !pid.empty() && !status.empty() && status.find("State:\tZ") == std::string::npos;
}

std::string FirstWord(const std::string& text) {
  return text.substr(0, text.find_first_of(" \n"));
}

class GangTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kWorkers = 3;

  GangTest() {
    gang_.certificate = *MakeCertificate();
    gang_.silence = std::chrono::seconds(6);
    gang_.beat = std::chrono::milliseconds(300);
    gang_.longest_pause = std::chrono::seconds(1);
    gang_.first_pause = std::chrono::seconds(0);
    static int next = 0;
    ++next;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      workers_.push_back(std::make_unique<WorkerShell>());
      gang_.members.push_back({static_cast<int>(i) + 4,
                               "127.0." + std::to_string(40 + next) + "." + std::to_string(i + 1)});
    }
  }
  ~GangTest() override {
    for (std::size_t i = 0; i < kWorkers; ++i) {
      if (!started_) break;
      Signal(Guard(i), SIGKILL);
      workers_[i]->Run(KillCommand({"train", std::chrono::seconds(0), "the test"}));
    }
  }

  // `other`: what one member is told instead.
  void Start(const std::string& command, std::optional<std::pair<std::size_t, Gang>> other = {}) {
    started_ = true;
    const auto gang = std::make_shared<const Gang>(gang_);
    for (std::size_t i = 0; i < kWorkers; ++i) {
      JobStart job{"train", "aaaa-1", command, {{"PODCTL_WORKER", std::to_string(i)}}, grace_};
      job.gang = other && other->first == i ? std::make_shared<const Gang>(other->second) : gang;
      job.member = i;
      const auto said = workers_[i]->Run(StartCommand(job), StartInput(job) + std::string(kGoLine));
      ASSERT_TRUE(said.result.ok()) << said.result.message << Join(said.err, "\n");
    }
  }
  JobStatus Status(std::size_t i) {
    const auto jobs = ParseJobs(workers_[i]->Run(ListCommand("train")).out);
    EXPECT_TRUE(jobs && jobs->size() == 1);
    return jobs && !jobs->empty() ? jobs->front() : JobStatus{};
  }
  // As if nothing were told where there is none.
  GangNews News(std::size_t i) { return Status(i).gang.value_or(GangNews{}); }
  GangNews::First First(std::size_t i) { return News(i).first.value_or(GangNews::First{}); }
  template <typename Condition>
  void Await(const Condition& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until) FAIL() << "waited in vain: " << All();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  void AwaitEnd() {
    for (std::size_t i = 0; i < kWorkers; ++i) {
      Await([&] { return Status(i).state == State::kEnded; });
    }
  }
  void AwaitLog(std::size_t i, const std::string& text) {
    Await([&] { return Log(i).find(text) != std::string::npos; });
  }
  std::string All() {
    std::string all;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      all += "\n-- " + std::to_string(i) + "\n" + ReadAll(Folder(i) + "/gang") + Log(i);
    }
    return all;
  }
  std::string Folder(std::size_t i) { return testing::JobFolder(workers_[i]->home(), "train"); }
  std::string Log(std::size_t i) { return testing::WithoutTimes(ReadAll(Folder(i) + "/log")); }
  std::string Supervisor(std::size_t i) { return FirstWord(ReadAll(Folder(i) + "/pid")); }
  std::string Guard(std::size_t i) { return FirstWord(ReadAll(Folder(i) + "/relays")); }
  static void Signal(const std::string& pid, int number) {
    int process = 0;
    std::from_chars(pid.data(), pid.data() + pid.size(), process);
    if (process > 1) kill(process, number);
  }
  // Nothing that has this run's mark, nor a gang.py of its own.
  std::string LeftOf(std::size_t i) {
    std::string left;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string pid = entry.path().filename();
      if (pid.find_first_not_of("0123456789") != std::string::npos || !IsThere(pid)) continue;
      const std::string words = ReadAll("/proc/" + pid + "/cmdline");
      if (ReadAll("/proc/" + pid + "/environ").find("PODCTL_RUN_MARK=" + workers_[i]->home()) !=
              std::string::npos ||
          words.find(Folder(i)) != std::string::npos) {
        left += pid + " " + VisibleControls(words) + "\n";
      }
    }
    return left;
  }
  void ExpectNothingLeft() {
    for (std::size_t i = 0; i < kWorkers; ++i) {
      Await([&] { return LeftOf(i).empty(); });
      EXPECT_FALSE(std::filesystem::exists(Folder(i) + "/gang.pem"));
      EXPECT_FALSE(std::filesystem::exists(Folder(i) + "/gang.json"));
      EXPECT_FALSE(std::filesystem::exists(Folder(i) + "/environment"));
    }
    for (const Gang::Member& member : gang_.members) {
      Await([&] { return ListenersAt(member.address).empty(); });
    }
  }
  static std::string ListenersAt(const std::string& address) {
    std::istringstream lines(ReadAll("/proc/net/tcp"));
    // In the kernel's order of bytes: 127.0.41.1 is 0129007F.
    int a = 0;
    int b = 0;
    std::sscanf(address.c_str(), "127.0.%d.%d", &a, &b);
    char hex[16];
    std::snprintf(hex, sizeof hex, "%02X%02X007F", b, a);
    std::string found;
    for (std::string line; std::getline(lines, line);) {
      const bool listens = line.find(" 0A ") != std::string::npos;
      if (listens && line.find(hex) != std::string::npos) found += line + "\n";
    }
    return found;
  }

  Gang gang_;
  std::chrono::seconds grace_{2};
  std::vector<std::unique_ptr<WorkerShell>> workers_;
  bool started_ = false;
};

TEST_F(GangTest, EndsWellWhenAllDo) {
  Start("echo attempt $PODCTL_ATTEMPT of $PODCTL_JOB");
  AwaitEnd();
  for (std::size_t i = 0; i < kWorkers; ++i) {
    const JobStatus status = Status(i);
    EXPECT_EQ(status.exit_code, 0);
    ASSERT_TRUE(status.gang);
    EXPECT_EQ(status.gang->attempt, 1);
    EXPECT_EQ(status.gang->attempts, 1);
    EXPECT_FALSE(status.gang->first);
    EXPECT_EQ(Log(i), "attempt 1 of train\n");
  }
  ExpectNothingLeft();
}

// Whoever fails, all are ended: also what ignores TERM, and what has left its session.
TEST_F(GangTest, OneFailureEndsAll) {
  grace_ = std::chrono::seconds(1);
  Start(R"(trap 'echo asked' TERM
setsid sleep 1000 &
[ $PODCTL_WORKER != 2 ] || { sleep 0.5; exit 3; }
echo up
while :; do sleep 0.1; done)");
  AwaitEnd();
  for (std::size_t i = 0; i < kWorkers; ++i) {
    const JobStatus status = Status(i);
    ASSERT_TRUE(status.gang && status.gang->first) << i << All();
    EXPECT_EQ(status.gang->first->worker, 6);
    EXPECT_EQ(status.gang->first->reason, "failure");
    EXPECT_EQ(status.gang->first->cause, "ended with exit code 3");
    EXPECT_EQ(status.exit_code, i == 2 ? 3 : 137);
    EXPECT_THAT(Log(i), HasSubstr("podctl: worker 6 ended with exit code 3, "));
    EXPECT_THAT(Log(i), HasSubstr("; so the job ends\n"));
    // With the time, and with the words in which `podctl jobs` tells how long it took.
    EXPECT_THAT(ReadAll(Folder(i) + "/log"),
                ::testing::ContainsRegex("(^|\n)podctl: [-0-9]+T[:0-9]+Z worker 6 "));
    EXPECT_THAT(Log(i), HasSubstr("code 3, " + FormatDuration(status.gang->first->after) +
                                  " after the start; so the job ends\n"));
    EXPECT_EQ(Log(i).find("asked\n") != std::string::npos, i != 2);
  }
  ExpectNothingLeft();
}

TEST_F(GangTest, AllStartAgainOnceAllHaveEnded) {
  gang_.restarts = 3;
  gang_.on = {"failure"};
  // Whoever is still there from the attempt before would be seen.
  Start(R"(mkdir ~/here || exit 9
trap 'sleep 0.3; rmdir ~/here; exit 5' TERM
echo attempt $PODCTL_ATTEMPT
if [ $PODCTL_WORKER = $PODCTL_ATTEMPT ]; then rmdir ~/here; exit 3; fi
if [ $PODCTL_ATTEMPT -ge 3 ]; then rmdir ~/here; exit 0; fi
while :; do sleep 0.05; done)");
  AwaitEnd();
  for (std::size_t i = 0; i < kWorkers; ++i) {
    EXPECT_EQ(Status(i).exit_code, 0) << All();
    EXPECT_EQ(News(i).attempt, 3);
    EXPECT_THAT(Log(i), HasSubstr("podctl: worker 5 ended with exit code 3, "));
    EXPECT_THAT(Log(i), HasSubstr("; attempt 2 of 4 begins\nattempt 2\n"));
    EXPECT_THAT(Log(i), HasSubstr("podctl: worker 6 ended with exit code 3, "));
    EXPECT_THAT(Log(i), ::testing::EndsWith("; attempt 3 of 4 begins\nattempt 3\n"));
  }
  ExpectNothingLeft();
}

TEST_F(GangTest, WhatTheSpecDoesNotNameIsNoReasonToStartAgain) {
  gang_.restarts = 3;
  gang_.on = {"killed"};
  Start("[ $PODCTL_WORKER = 1 ] && exit 3; sleep 1000");
  AwaitEnd();
  EXPECT_EQ(News(0).attempt, 1);
  ExpectNothingLeft();
}

// Each process of it in turn, on both hubs and on another.
TEST_F(GangTest, NoProcessIsMissedForLong) {
  PODCTL_LONG_CASE(20);
  gang_.restarts = 100;
  gang_.on = {"killed"};
  Start(
      "echo $$ >~/command; echo attempt $PODCTL_ATTEMPT; while [ ! -e ~/done ]; do sleep 0.1; "
      "done");
  int attempt = 1;
  for (std::size_t i = 0; i < kWorkers; ++i) {
    for (const std::string which : {"command", "guard", "supervisor", "supervisor"}) {
      SCOPED_TRACE(which + " of " + std::to_string(i));
      for (std::size_t each = 0; each < kWorkers; ++each) {
        AwaitLog(each, "attempt " + std::to_string(attempt) + "\n");
      }
      if (which == "guard") {
        const std::string guard = Guard(i);
        Signal(guard, SIGKILL);
        Await([&] { return Guard(i) != guard && IsThere(Guard(i)); });
        continue;
      }
      Await([&] { return IsThere(Guard(i)); });
      const std::string leader = Supervisor(i);
      if (which == "supervisor") {
        Signal(leader, SIGKILL);
        Await([&] { return Supervisor(i) != leader && IsThere(Supervisor(i)); });
      } else {
        Signal(FirstWord(ReadAll(workers_[i]->home() + "/command")), SIGKILL);
      }
      ++attempt;
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
  for (auto& worker : workers_) WriteAll(worker->home() + "/done", "");
  AwaitEnd();
  for (std::size_t i = 0; i < kWorkers; ++i) {
    EXPECT_EQ(Status(i).exit_code, 0);
    EXPECT_EQ(News(i).attempt, attempt);
    EXPECT_THAT(Log(i), HasSubstr("was killed by signal 9"));
    EXPECT_THAT(Log(i), HasSubstr("lost its supervisor, which was killed"));
  }
  ExpectNothingLeft();
}

// A machine that is gone: the others end, and wait for it; they do not go on without it.
TEST_F(GangTest, AWorkerThatIsGoneIsWaitedFor) {
  const std::size_t gone = 2;
  gang_.restarts = 5;
  gang_.on = {"connection", "failure"};
  Start("echo $$ >~/command; echo up; exec sleep 1000");
  AwaitLog(gone, "up");
  Await([&] { return IsThere(Guard(gone)); });
  const std::string guard = Guard(gone);
  const std::string leader = Supervisor(gone);
  Signal(leader, SIGSTOP);
  Signal(guard, SIGKILL);
  Signal(leader, SIGKILL);
  for (const std::size_t i : {0U, 1U}) {
    Await([&] { return News(i).waiting == std::vector<int>{6}; });
    const JobStatus status = Status(i);
    EXPECT_EQ(status.state, State::kRunning);
    EXPECT_EQ(First(i).reason, "connection");
    EXPECT_EQ(First(i).worker, 6);
    EXPECT_EQ(First(i).cause, "was silent for 6s");
    EXPECT_EQ(News(i).attempt, 1);
    AwaitLog(i, "podctl: worker 6 was silent for 6s, ");
    AwaitLog(i, "; waiting for worker 6\n");
  }
  EXPECT_EQ(Status(gone).state, State::kDied);
  const auto said = workers_[0]->Run(KillCommand({"train", {}, "bob@x: podctl kill"}));
  EXPECT_TRUE(said.result.ok());
  for (const std::size_t i : {0U, 1U}) {
    Await([&] { return Status(i).state == State::kEnded; });
    EXPECT_THAT(Log(i), ::testing::EndsWith("podctl: ended by bob@x: podctl kill\n"));
  }
  Signal(FirstWord(ReadAll(workers_[gone]->home() + "/command")), SIGKILL);
}

// Nothing would come of its end: it is not to begin again for that.
TEST_F(GangTest, AWorkerThatIsGoneIsNotWaitedForInVain) {
  const std::size_t gone = 2;
  gang_.restarts = 5;
  gang_.on = {"failure"};
  grace_ = std::chrono::seconds(1);
  Start("echo $$ >~/command; echo up; exec sleep 1000");
  AwaitLog(gone, "up");
  Await([&] { return IsThere(Guard(gone)); });
  const std::string guard = Guard(gone);
  const std::string leader = Supervisor(gone);
  Signal(leader, SIGSTOP);
  Signal(guard, SIGKILL);
  Signal(leader, SIGKILL);
  for (const std::size_t i : {0U, 1U}) {
    Await([&] { return Status(i).state == State::kEnded; });
    EXPECT_NE(Status(i).exit_code, 0);
    EXPECT_EQ(First(i).reason, "connection");
    EXPECT_THAT(Log(i), HasSubstr("podctl: worker 6 was silent for 6s, "));
    EXPECT_THAT(Log(i), ::testing::EndsWith("; so the job ends\n"));
  }
  Signal(FirstWord(ReadAll(workers_[gone]->home() + "/command")), SIGKILL);
}

TEST_F(GangTest, WhoHearsOfNobodyEndsToo) {
  PODCTL_LONG_CASE(14);
  gang_.restarts = 5;
  gang_.on = {"connection"};
  Start("echo up; exec sleep 1000");
  AwaitLog(2, "up");
  for (const std::size_t hub : {0U, 1U}) {
    Await([&] { return IsThere(Guard(hub)); });
    const std::string leader = Supervisor(hub);
    Signal(leader, SIGSTOP);
    Signal(Guard(hub), SIGSTOP);
  }
  Await([&] { return News(2).waiting == std::vector<int>{4, 5}; });
  EXPECT_EQ(First(2).cause.substr(0, 42), "heard nothing from worker 4 and worker 5 f");
  // They come to themselves, and all go on together.
  for (const std::size_t hub : {0U, 1U}) {
    Signal(Supervisor(hub), SIGCONT);
    Signal(Guard(hub), SIGCONT);
  }
  for (std::size_t i = 0; i < kWorkers; ++i) {
    Await([&] { return News(i).attempt == 2; });
  }
}

TEST_F(GangTest, OneLinkMayBeCut) {
  gang_.assembly = std::chrono::seconds(10);  // they are started one after the other
  Gang cut = gang_;
  cut.members[0].address = "127.0.39.1";  // where nobody is
  Start("sleep 5; echo through", std::pair(std::size_t{2}, cut));
  AwaitEnd();
  for (std::size_t i = 0; i < kWorkers; ++i) {
    EXPECT_EQ(Status(i).exit_code, 0) << All();
    EXPECT_FALSE(News(i).first);
  }
}

// Who does not have the run's key is not heard.
TEST_F(GangTest, AStrangerIsNoMember) {
  Gang stranger = gang_;
  stranger.certificate = *MakeCertificate();
  Start("sleep 0.5; [ $PODCTL_WORKER != 2 ] || exit 7; sleep 1000",
        std::pair(std::size_t{2}, stranger));
  for (const std::size_t i : {0U, 1U}) {
    Await([&] { return News(i).first.has_value(); });
    EXPECT_EQ(First(i).reason, "connection");
  }
}

TEST_F(GangTest, WhoeverEndsItOnOneWorkerEndsItOnAll) {
  Start("trap 'echo asked; exit 0' TERM; echo up; while :; do sleep 0.1; done");
  for (std::size_t i = 0; i < kWorkers; ++i) AwaitLog(i, "up");
  const auto said = workers_[1]->Run(KillCommand({"train", {}, "bob@x: podctl kill"}));
  EXPECT_TRUE(said.result.ok()) << Join(said.err, "\n");
  AwaitEnd();
  for (std::size_t i = 0; i < kWorkers; ++i) {
    EXPECT_THAT(Log(i), ::testing::EndsWith("asked\npodctl: ended by bob@x: podctl kill\n"));
    EXPECT_EQ(Log(i).find("asked"), Log(i).rfind("asked")) << "twice";
  }
  ExpectNothingLeft();
}

TEST_F(GangTest, WhoEndsItOnOneWorkerCanWaitForTheOthers) {
  Start("trap 'sleep 1; exit 7' TERM; echo up; while :; do sleep 0.1; done");
  for (std::size_t i = 0; i < kWorkers; ++i) AwaitLog(i, "up");
  EXPECT_TRUE(workers_[1]->Run(KillCommand({"train", {}, "bob@x: podctl kill"})).result.ok());
  for (const std::size_t i : {0U, 2U}) {
    const auto jobs = ParseJobs(workers_[i]->Run(AwaitEndCommand("train", "aaaa-1")).out);
    ASSERT_TRUE(jobs && jobs->size() == 1);
    EXPECT_EQ(jobs->front().state, State::kEnded);
    EXPECT_EQ(jobs->front().exit_code, 7);
    EXPECT_EQ(jobs->front().ended_by, "bob@x: podctl kill");
  }
}

// Both that would have told the others are gone.
TEST_F(GangTest, WhoWasNotToldOfItsEndIsNotWaitedForForLong) {
  Start("echo up; exec sleep 1000");
  for (std::size_t i = 0; i < kWorkers; ++i) AwaitLog(i, "up");
  for (const std::size_t hub : {0U, 1U}) {
    Await([&] { return IsThere(Guard(hub)); });
    Signal(Supervisor(hub), SIGSTOP);
    Signal(Guard(hub), SIGSTOP);
  }
  EXPECT_TRUE(workers_[2]->Run(KillCommand({"train", {}, "bob@x: podctl kill"})).result.ok());
  const auto jobs = ParseJobs(workers_[0]->Run(AwaitEndCommand("train", "aaaa-1")).out);
  ASSERT_TRUE(jobs && jobs->size() == 1);
  EXPECT_EQ(jobs->front().state, State::kRunning);
  EXPECT_EQ(jobs->front().ended_by, "");
  for (const std::size_t hub : {0U, 1U}) {
    Signal(Supervisor(hub), SIGCONT);
    Signal(Guard(hub), SIGCONT);
  }
}

// A process that was stopped does not end by being told.
TEST_F(GangTest, AStoppedGuardDoesNotOutliveTheJob) {
  Start("echo up; while [ ! -e ~/done ]; do sleep 0.1; done");
  for (std::size_t i = 0; i < kWorkers; ++i) Await([&] { return IsThere(Guard(i)); });
  Signal(Guard(1), SIGSTOP);
  for (auto& worker : workers_) WriteAll(worker->home() + "/done", "");
  AwaitEnd();
  ExpectNothingLeft();
}

TEST_F(GangTest, AHangIsOneOfAll) {
  gang_.restarts = 1;
  gang_.on = {"hang"};
  gang_.hang = std::chrono::seconds(2);
  Start(R"(echo attempt $PODCTL_ATTEMPT
[ $PODCTL_ATTEMPT = 1 ] || exit 0
[ $PODCTL_WORKER = 1 ] && for i in $(seq 20); do sleep 0.3; echo step; done
exec sleep 1000)");
  AwaitEnd();
  for (std::size_t i = 0; i < kWorkers; ++i) {
    EXPECT_EQ(Status(i).exit_code, 0) << All();
    EXPECT_EQ(News(i).attempt, 2);
    EXPECT_EQ(First(i).reason, "hang");
    EXPECT_EQ(First(i).worker, std::nullopt) << "nobody is blamed";
    EXPECT_EQ(First(i).cause, "no worker has written a line for 2s (the last was worker 5)");
    EXPECT_THAT(Log(i), HasSubstr("podctl: no worker has written a line for 2s (the last was "
                                  "worker 5), "));
  }
  EXPECT_THAT(Log(1), HasSubstr("step\nstep\nstep\nstep\nstep\nstep\nstep\nstep\nstep\nstep\n"));
}

// They wrote in step, or not at all: podctl's own line about an attempt is none of theirs.
TEST_F(GangTest, AHangNamesNobodyWhereNoneWasTheLast) {
  gang_.restarts = 2;
  gang_.on = {"failure", "hang"};
  gang_.hang = std::chrono::seconds(2);
  // What follows the first attempt begins everywhere at the same time.
  Start(R"([ $PODCTL_ATTEMPT != 1 ] || exit 3
[ $PODCTL_ATTEMPT != 2 ] || echo step
exec sleep 1000)");
  AwaitEnd();
  for (std::size_t i = 0; i < kWorkers; ++i) {
    EXPECT_EQ(First(i).attempt, 3) << All();
    EXPECT_EQ(First(i).cause, "no worker has written a line for 2s");
    EXPECT_THAT(Log(i), HasSubstr("step\npodctl: no worker has written a line for 2s, "));
  }
}

TEST_F(GangTest, WithoutPythonNothingIsStarted) {
  workers_[0]->Program("python3", "exit 1\n");
  JobStart job{"train", "aaaa-1", "echo up", {}};
  job.gang = std::make_shared<const Gang>(gang_);
  const auto said = workers_[0]->Run(StartCommand(job), StartInput(job) + std::string(kGoLine));
  EXPECT_FALSE(said.result.ok());
  EXPECT_THAT(Join(said.err, "\n"), HasSubstr("python3 (3.7 or later, "));
  EXPECT_FALSE(std::filesystem::exists(Folder(0)));
}

// The same with somebody connected to each of them.
class AttachedGangTest : public GangTest {
 protected:
  AttachedGangTest() {
    gang_.assembly = std::chrono::seconds(10);  // each begins when it is ready
    said_.resize(kWorkers);
  }
  ~AttachedGangTest() override {
    if (!threads_.empty()) {
      for (auto& worker : workers_) {
        worker->Run(KillCommand({"train", std::chrono::seconds(0), "the test"}));
      }
    }
    AwaitConnections();
  }

  workers::Run Attached() const { return {"train", "0a0b", "alice@laptop", "train", grace_}; }
  // `at`: what is done once that line has come from worker `i`.
  void Begin(const std::string& script, const std::string& line = "",
             const std::function<void(std::size_t i)>& at = {}) {
    for (std::size_t i = 0; i < gang_.members.size(); ++i) {
      threads_.emplace_back([=, this] {
        const workers::Run run = Attached();
        const std::string text = "cd\nPODCTL_WORKER=" + std::to_string(i) + "\n" + script + "\n";
        ssh::Job job = workers_[i]->JobOf(RunCommand(run),
                                          RunInput(run, "", text, gang_, i) + std::string(kGoLine));
        job.feed = &open_;
        job.ending = EndRunCommand(run);
        said_[i] = workers_[i]->Run(
            job,
            [&](std::stop_source&) {
              if (at) at(i);
            },
            line);
      });
    }
  }
  void AwaitConnections() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  std::string Exit(std::size_t i) { return FirstWord(ReadAll(Folder(i) + "/exit")); }
  // gang.py, which the shell has started.
  std::string Program(std::size_t i) {
    const std::string relays = ReadAll(Folder(i) + "/relays");
    return FirstWord(relays.substr(std::min(relays.size(), relays.find('\n') + 1)));
  }
  bool IsUp(std::size_t i) { return std::filesystem::exists(workers_[i]->home() + "/up"); }
  void AwaitUp() {
    for (std::size_t i = 0; i < gang_.members.size(); ++i) Await([&] { return IsUp(i); });
  }
  std::optional<GangNews::First> Told(std::size_t i) {
    for (const std::string& line : said_[i].err) {
      if (auto first = ReadFirst(line, "0a0b")) return first;
    }
    return std::nullopt;
  }

  testing::OpenFeed open_;
  std::vector<testing::Said> said_;
  std::vector<std::thread> threads_;
};

TEST_F(AttachedGangTest, EndsWellWhenAllDoAndEachConnectionWithItsCommand) {
  Begin(
      "[ $PODCTL_WORKER = 1 ] || { touch up; until [ -e done ]; do sleep 0.05; done; }\n"
      "echo attempt $PODCTL_ATTEMPT of $PODCTL_JOB");
  for (const std::size_t i : {0U, 2U}) Await([&] { return IsUp(i); });
  Await([&] { return Exit(1) == "0"; });
  EXPECT_EQ(Status(0).state, State::kRunning);
  EXPECT_EQ(News(0).attempts, 1);
  for (auto& worker : workers_) WriteAll(worker->home() + "/done", "");
  AwaitConnections();
  for (std::size_t i = 0; i < kWorkers; ++i) {
    EXPECT_TRUE(said_[i].result.ok()) << Join(said_[i].err, "\n");
    EXPECT_THAT(said_[i].out, ElementsAre("attempt 1 of train"));
    EXPECT_THAT(said_[i].err, ElementsAre(std::string(kStagedLine)));
  }
  ExpectNothingLeft();
}

// Nobody has to ask for it.
TEST_F(AttachedGangTest, OneFailureEndsAllAndEachSaysWhose) {
  grace_ = std::chrono::seconds(1);
  Begin(R"(trap 'echo asked' TERM
setsid sleep 1000 &
[ $PODCTL_WORKER != 2 ] || { sleep 0.5; exit 3; }
echo up
while :; do sleep 0.1; done)");
  AwaitConnections();
  for (std::size_t i = 0; i < kWorkers; ++i) {
    EXPECT_EQ(said_[i].result.exit_code, i == 2 ? 3 : kEndedForAnother) << All();
    EXPECT_EQ(Exit(i), i == 2 ? "3" : "137") << "its folder has the command's own";
    const auto told = Told(i);
    ASSERT_TRUE(told) << Join(said_[i].err, "\n");
    EXPECT_EQ(told->worker, 6);
    EXPECT_EQ(told->reason, "failure");
    EXPECT_EQ(told->cause, "ended with exit code 3");
    EXPECT_EQ(First(i).worker, 6) << "others can see it, too";
    EXPECT_EQ(std::count(said_[i].out.begin(), said_[i].out.end(), "asked"), i == 2 ? 0 : 1);
  }
  ExpectNothingLeft();
}

TEST_F(AttachedGangTest, WhoFailsByHimselfInThatSecondKeepsHisCode) {
  Begin("touch up; until [ -e done ]; do sleep 0.05; done; exit $((3 + PODCTL_WORKER))");
  AwaitUp();
  for (auto& worker : workers_) WriteAll(worker->home() + "/done", "");
  AwaitConnections();
  for (std::size_t i = 0; i < kWorkers; ++i) {
    EXPECT_EQ(said_[i].result.exit_code, 3 + static_cast<int>(i));
  }
}

TEST_F(AttachedGangTest, OneWorkerIsAGangToo) {
  gang_.members.resize(1);
  Begin("exit 7");
  AwaitConnections();
  EXPECT_EQ(said_[0].result.exit_code, 7);
  ASSERT_TRUE(Told(0));
  EXPECT_EQ(Told(0)->cause, "ended with exit code 7");
}

TEST_F(AttachedGangTest, ItsTextsAreInNoFileAndInNoProcessList) {
  gang_.members.resize(1);
  Begin("SECRET=swordfish\ntouch up; until [ -e done ]; do sleep 0.05; done");
  AwaitUp();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(workers_[0]->home())) {
    if (!entry.is_regular_file()) continue;
    const std::string text = ReadAll(entry.path());
    EXPECT_EQ(text.find("swordfish"), std::string::npos) << entry.path();
    EXPECT_EQ(text.find("PRIVATE KEY"), std::string::npos) << entry.path();
  }
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    EXPECT_EQ(ReadAll(entry.path() / "cmdline").find("swordfish"), std::string::npos);
  }
  WriteAll(workers_[0]->home() + "/done", "");
  AwaitConnections();
  EXPECT_TRUE(said_[0].result.ok());
  ExpectNothingLeft();
}

// Masks, locale and descriptors are the user's own.
TEST_F(AttachedGangTest, TheCommandSeesNothingOfWhatIsAroundIt) {
  gang_.members.resize(1);
  Begin(
      "umask; ls /proc/self/fd | tr '\\n' ' '; echo; trap; readlink /proc/self/fd/0\n"
      "env | grep -c '^LC_CTYPE='; env | grep -c ^PODCTL_RUN_MARK=");
  AwaitConnections();
  const auto& out = said_[0].out;
  ASSERT_EQ(out.size(), 5U) << Join(out, "\n") << Join(said_[0].err, "\n");
  EXPECT_NE(out[0], "0077");
  EXPECT_EQ(out[1], "0 1 2 3 ");
  EXPECT_EQ(out[2], "/dev/null");
  EXPECT_EQ(out[3], "0");
  EXPECT_EQ(out[4], "1");
}

// On one of them: it is ended there by who asks, and on the others by themselves.
TEST_F(AttachedGangTest, AKillOnOneWorkerIsOneOfAll) {
  Begin("trap 'echo asked; exit 5' TERM; touch up; while :; do sleep 0.1; done");
  AwaitUp();
  const auto killed = workers_[1]->Run(KillCommand({"train", {}, "bob@x: podctl kill"}));
  EXPECT_TRUE(killed.result.ok()) << Join(killed.err, "\n");
  AwaitConnections();
  for (std::size_t i = 0; i < kWorkers; ++i) {
    EXPECT_EQ(said_[i].result.exit_code, 5) << "nobody has failed";
    EXPECT_EQ(std::count(said_[i].out.begin(), said_[i].out.end(), "asked"), 1);
    EXPECT_FALSE(Told(i));
    ASSERT_FALSE(said_[i].err.empty());
    EXPECT_EQ(ReadEndedBy(said_[i].err.back(), "0a0b"), "bob@x: podctl kill");
    EXPECT_EQ(Status(i).ended_by, "bob@x: podctl kill");
  }
  ExpectNothingLeft();
}

// What podctl itself ends without a name is no end by somebody.
TEST_F(AttachedGangTest, AnEndWithoutANameIsOfThatWorkerAlone) {
  Begin("touch up; while :; do sleep 0.1; done");
  AwaitUp();
  for (std::size_t i = 0; i < kWorkers; ++i) {
    EXPECT_EQ(workers_[i]->Run(EndRunCommand(Attached())).result.exit_code, kEndedWhole);
  }
  AwaitConnections();
  for (std::size_t i = 0; i < kWorkers; ++i) {
    EXPECT_EQ(said_[i].result.exit_code, 143);
    EXPECT_EQ(Status(i).ended_by, "");
    EXPECT_FALSE(Told(i));
  }
  ExpectNothingLeft();
}

// Who is connected to it and does not read what it writes must not make it look dead.
TEST_F(AttachedGangTest, ASlowReaderHoldsUpNoSignOfLife) {
  std::mutex reads;
  reads.lock();
  Begin(
      "[ $PODCTL_WORKER != 2 ] || { echo up; exec yes $(printf %04000d 0) >&2; }\n"
      // Longer than a silence may last.
      "[ $PODCTL_WORKER != 0 ] || { sleep 10; exit 3; }\n"
      "sleep 1000",
      "up", [&](std::size_t) { const std::lock_guard wait(reads); });
  Await([&] { return !Exit(2).empty(); });
  EXPECT_EQ(First(2).worker, 4) << All();
  EXPECT_EQ(First(2).reason, "failure");
  reads.unlock();
  AwaitConnections();
  EXPECT_EQ(said_[0].result.exit_code, 3);
  EXPECT_EQ(said_[1].result.exit_code, kEndedForAnother);
  EXPECT_EQ(said_[2].result.exit_code, kEndedForAnother);
  ExpectNothingLeft();
}

TEST_F(AttachedGangTest, WhenItIsKilledTheShellEndsTheRest) {
  Begin("setsid sleep 1000 & echo $$ >command; touch up; sleep 1000");
  AwaitUp();
  const std::string command = FirstWord(ReadAll(workers_[1]->home() + "/command"));
  EXPECT_TRUE(IsThere(command));
  Signal(Program(1), SIGKILL);
  AwaitConnections();
  EXPECT_EQ(said_[1].result.exit_code, 137);
  EXPECT_EQ(Exit(1), "137");
  EXPECT_FALSE(IsThere(command));
  for (const std::size_t i : {0U, 2U}) {
    EXPECT_EQ(said_[i].result.exit_code, kEndedForAnother);
    ASSERT_TRUE(Told(i));
    EXPECT_EQ(Told(i)->worker, 5);
    EXPECT_EQ(Told(i)->reason, "connection");
    EXPECT_TRUE(Told(i)->cause.starts_with("was silent for ")) << Told(i)->cause;
  }
  ExpectNothingLeft();
}

TEST_F(AttachedGangTest, WhenTheShellIsKilledItEndsTheRest) {
  Begin("touch up; sleep 1000");
  AwaitUp();
  Signal(Supervisor(1), SIGKILL);
  AwaitConnections();
  for (const std::size_t i : {0U, 2U}) {
    EXPECT_EQ(said_[i].result.exit_code, kEndedForAnother);
    ASSERT_TRUE(Told(i));
    EXPECT_EQ(Told(i)->worker, 5);
    EXPECT_EQ(Told(i)->reason, "killed");
  }
  ExpectNothingLeft();
}

// Whoever has lost one of them is not said to have ended the job.
TEST_F(AttachedGangTest, ALostConnectionIsAFailureOfItsWorker) {
  Begin("touch up; sleep 1000");
  AwaitUp();
  workers_[1]->server().KillSessions();
  AwaitConnections();
  EXPECT_EQ(said_[1].result.outcome, ssh::Outcome::kLost);
  Await([&] { return !Exit(1).empty(); });
  for (const std::size_t i : {0U, 2U}) {
    EXPECT_EQ(said_[i].result.exit_code, kEndedForAnother);
    EXPECT_EQ(Status(i).ended_by, "");
    ASSERT_TRUE(Told(i));
    EXPECT_EQ(Told(i)->worker, 5);
    EXPECT_EQ(Told(i)->reason, "connection");
    EXPECT_EQ(Told(i)->cause, "lost its connection to podctl");
  }
  ExpectNothingLeft();
}

TEST_F(AttachedGangTest, NothingIsLeftOfWhatWasNeverTold) {
  const workers::Run run = Attached();
  const auto said =
      workers_[0]->Run(RunCommand(run), RunInput(run, "", "touch begun", gang_, 0) + "no\n");
  EXPECT_EQ(said.result.exit_code, kNotStarted);
  EXPECT_THAT(said.err, ElementsAre(std::string(kStagedLine)));
  EXPECT_FALSE(std::filesystem::exists(workers_[0]->home() + "/begun"));
  EXPECT_FALSE(std::filesystem::exists(testing::JobFolder(workers_[0]->home(), ".train.new")));
  Await([&] { return LeftOf(0).empty(); });
}

TEST_F(AttachedGangTest, WithoutPythonItIsNotReady) {
  workers_[0]->Program("python3", "exit 1\n");
  const workers::Run run = Attached();
  const auto said = workers_[0]->Run(RunCommand(run), RunInput(run, "", "true", gang_, 0) + "go\n");
  EXPECT_EQ(said.result.exit_code, 1);
  EXPECT_THAT(said.err, ElementsAre(HasSubstr("python3 (3.7 or later, ")));
  EXPECT_FALSE(std::filesystem::exists(Folder(0)));
}

}  // namespace
}  // namespace podctl::workers
