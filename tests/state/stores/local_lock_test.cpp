#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <regex>
#include <utility>
#include <vector>

#include "plans/kinds/kinds.h"
#include "state/store.h"
#include "state/stores/local_store.h"
#include "tests/state/stores/bench.h"
#include "tests/support/golden.h"

namespace podctl::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

LockInfo Holder(const std::string& host, int pid) {
  LockInfo info;
  info.id = "33333333-3333-4333-8333-333333333333";
  info.operation = "apply";
  info.who = "bob@" + host;
  info.host = host;
  info.pid = pid;
  info.command = "podctl apply --auto-approve";
  info.created = "2026-11-20T14:00:00Z";
  info.path = "podctl.state.json";
  info.version = "0.1.0";
  return info;
}

constexpr char kLockPath[] = "/project/podctl.state.json.lock";

TEST(LocalStoreLock, RefusalsLookAsTerraformsDo) {
  FakeMachine machine;
  machine.alive_.insert(77);
  machine.files.HoldLock(kLockPath, LockInfoToJson(Holder("here", 77)));
  const Error held = machine.Open().Lock({}, kAtOnce, {}).error();
  machine.files.EndHolder(kLockPath, true);
  machine.files.SetFile(kLockPath, LockInfoToJson(Holder("elsewhere\x1b[2J", 77)));
  const Error foreign = machine.Open().Lock({}, kAtOnce, {}).error();
  machine.files.HoldLock(kLockPath, "");
  const Error nameless = machine.Open().Lock({}, kAtOnce, {}).error();
  std::string text;
  for (const Error& error : {held, foreign, nameless}) {
    EXPECT_EQ(error.code, ErrorCode::kLocked);
    text += error.message + "\n-- " + error.hint + "\n\n";
  }
  ExpectGolden("state/lock_refusals.txt", text);
}

// Beside who holds the lock; the comparison before each save is what is left.
TEST(LocalStoreLock, ARunThatTakesNoneOnlyCompares) {
  FakeMachine machine;
  LocalRun holder = machine.Open();
  const auto held = holder.Lock({}, kAtOnce, {});
  ASSERT_TRUE(held);
  State state = SampleState();
  ASSERT_TRUE(holder.Save(state));
  LocalStoreOptions options;
  options.lock = false;
  LocalRun beside = machine.Open("/project/podctl.state.json", "here", options);
  const auto none = beside.Lock({}, kAtOnce, {});
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_EQ((*none)->TakeoverNote(), "");
  State next = *beside.Load()->state;
  next.records.clear();
  ASSERT_TRUE(beside.Save(next));
  Pods(state)[Addr("pod.research")].current.uid = "late";
  EXPECT_EQ(holder.Save(state).error().code, ErrorCode::kFailedPrecondition);
}

TEST(LocalStoreLock, TellsWhoIsAtWorkAndDisturbsNobody) {
  FakeMachine machine;
  EXPECT_FALSE(machine.Open().Holder());
  machine.alive_.insert(77);
  machine.files.HoldLock(kLockPath, LockInfoToJson(Holder("here", 77)));
  EXPECT_EQ(machine.Open().Holder()->who, "bob@here");
  EXPECT_FALSE(machine.Open().LeftBehind());
  machine.alive_.erase(77);
  EXPECT_FALSE(machine.Open().Holder()) << "he died";
  EXPECT_EQ(machine.Open().LeftBehind()->who, "bob@here");
  machine.files.HoldLock(kLockPath, LockInfoToJson(Holder("elsewhere", 77)));
  EXPECT_EQ(machine.Open().Holder()->host, "elsewhere") << "nobody can tell whether he lives";
  EXPECT_FALSE(machine.Open().LeftBehind());
  machine.files.HoldLock(kLockPath, "no lock of ours");
  EXPECT_FALSE(machine.Open().Holder());
}

// The pattern of terraform-exec (tfexec/internal/…: stateLockInfoRegexp), as a tool of others.
TEST(LocalStoreLock, TerraformExecReadsTheBlock) {
  const std::regex pattern(
      R"(Lock Info:\n\s*ID:\s*([^\n]+)\n\s*Path:\s*([^\n]+)\n\s*Operation:\s*([^\n]+)\n\s*Who:\s*([^\n]+)\n\s*Version:\s*([^\n]+)\n\s*Created:\s*([^\n]+)\n)");
  const std::string block = LockInfoBlock(Holder("here", 77)) + "\n";
  std::smatch found;
  ASSERT_TRUE(std::regex_search(block, found, pattern)) << block;
  EXPECT_EQ(found[4], "bob@here");
  EXPECT_EQ(found[6], "2026-11-20T14:00:00Z");
}

TEST(LocalStoreLock, KilledHolderOfThisHostIsTakenOver) {
  FakeMachine machine;
  {
    LocalStore dead = machine.Open();
    auto lock = dead.Lock(Holder("", 0), kAtOnce, {});
    ASSERT_TRUE(lock);
    machine.files.StopAfter(0);  // its destructors touch nothing any more
  }
  machine.KillAll();
  LocalStore store = machine.Open();
  auto lock = store.Lock({}, kAtOnce, {});
  ASSERT_TRUE(lock) << lock.error().message;
  EXPECT_EQ((*lock)->TakeoverNote(),
            "took over the state lock of bob@ (apply, process 1001), which ended without "
            "releasing it");
}

TEST(LocalStoreLock, ALivingProcessWithAFreeLockIsRefused) {
  FakeMachine machine;
  machine.files.SetFile(kLockPath, LockInfoToJson(Holder("here", 77)));
  machine.alive_.insert(77);
  auto lock = machine.Open().Lock({}, kAtOnce, {});
  ASSERT_FALSE(lock);
  EXPECT_THAT(lock.error().message, HasSubstr("process 77 of this host is still there"));
}

TEST(LocalStoreLock, OwnProcessNumberIsAlwaysThatOfADeadProcess) {
  // In a container podctl has the same number in every run.
  FakeMachine machine;
  machine.files.SetFile(kLockPath, LockInfoToJson(Holder("here", machine.last_pid() + 1)));
  auto lock = machine.Open().Lock({}, kAtOnce, {});
  ASSERT_TRUE(lock) << lock.error().message;
}

TEST(LocalStoreLock, TextOfNobodyIsTakenOver) {
  FakeMachine machine;
  machine.files.SetFile(kLockPath, LockInfoToJson(Holder("here", 77)).substr(0, 40));
  LocalStore store = machine.Open();
  auto lock = store.Lock({}, kAtOnce, {});
  ASSERT_TRUE(lock);
  EXPECT_EQ((*lock)->TakeoverNote(),
            "took over a state lock that nobody holds and whose text cannot be read");
}

// `state: yarn` makes yarn.lock the name of the lock.
TEST(LocalStoreLock, AFileOfSomebodyElseIsNoLock) {
  FakeMachine machine;
  for (const std::string text : {"# yarn lockfile v1\n", "{\"name\": 1}", "{}"}) {
    machine.files.SetFile(kLockPath, text);
    LocalStore store = machine.Open();
    EXPECT_EQ(store.Lock({}, kAtOnce, {}).error().message,
              fmt::format("cannot lock the state: {} is no lock of podctl", kLockPath));
    EXPECT_EQ(store.ForceUnlock("x").error().code, ErrorCode::kFailedPrecondition);
    EXPECT_EQ(machine.files.FileText(kLockPath), text);
  }
}

TEST(LocalStoreLock, WhatALossOfPowerLeftIsTakenOver) {
  FakeMachine machine;
  for (const std::string& text :
       {std::string(), LockInfoToJson(Holder("here", 77)).substr(0, 4), std::string(300, '\0')}) {
    machine.files.SetFile(kLockPath, text);
    EXPECT_TRUE(machine.Open().Lock({}, kAtOnce, {}));
  }
}

TEST(LocalStoreLock, ForeignLockIsRemovedByItsIdOnly) {
  FakeMachine machine;
  machine.files.SetFile(kLockPath, LockInfoToJson(Holder("elsewhere", 77)));
  LocalStore store = machine.Open();
  EXPECT_FALSE(store.Lock({}, kAtOnce, {}));
  EXPECT_EQ(store.ForceUnlock("33333333").error().code, ErrorCode::kInvalidArgument);
  ASSERT_TRUE(store.ForceUnlock("33333333-3333-4333-8333-333333333333"));
  EXPECT_THAT(machine.files.AllFiles(), IsEmpty());
  EXPECT_TRUE(store.Lock({}, kAtOnce, {}));
}

// Something happens elsewhere while this run sleeps.
class EventfulClock final : public Clock {
 public:
  SystemTime Now() override { return clock_.Now(); }
  SteadyTime Steady() override { return clock_.Steady(); }
  bool SleepFor(std::chrono::milliseconds duration, std::stop_token stop) override {
    pauses.push_back(duration.count());
    if (on_sleep) on_sleep(pauses.size());
    return clock_.SleepFor(duration, stop);
  }
  std::vector<long> pauses;
  std::function<void(std::size_t)> on_sleep;

 private:
  FakeClock clock_;
};

LockHolder AliceWhoseNeighboursLive() {
  return {"here", "alice@here", 1, [](int, const std::string&) { return true; }};
}

TEST(LocalStoreLock, WaitsUntilTheHolderEnds) {
  FakeMachine machine;
  machine.files.HoldLock(kLockPath, LockInfoToJson(Holder("here", 77)));
  EventfulClock clock;
  clock.on_sleep = [&](std::size_t sleep) {
    if (sleep == 3) machine.files.EndHolder(kLockPath, false);
  };
  LocalStore store("/project/podctl.state.json", machine.files, clock, machine.random,
                   AliceWhoseNeighboursLive(), RememberedKinds());
  EXPECT_TRUE(store.Lock({}, std::chrono::minutes(5), {}));
  EXPECT_THAT(clock.pauses, ::testing::ElementsAre(100, 200, 400));
}

TEST(LocalStoreLock, PausesGrowToASecond) {
  FakeMachine machine;
  machine.alive_.insert(77);
  machine.files.HoldLock(kLockPath, LockInfoToJson(Holder("here", 77)));
  LocalStore store = machine.Open();
  machine.files.ClearLog();
  EXPECT_FALSE(store.Lock({}, std::chrono::milliseconds(4500), {}));
  int tries = 0;
  for (const std::string& call : machine.files.Log()) tries += call.starts_with("TryLock") ? 1 : 0;
  EXPECT_EQ(tries, 8);  // at 0, 0.1, 0.3, 0.7, 1.5, 2.5, 3.5 and 4.5 seconds
}

// Twenty runs that began in one moment must not look in one moment for ever.
TEST(LocalStoreLock, PausesDifferByChance) {
  class Dice final : public Random {
   public:
    double Uniform() override { return 0.9; }
    std::string Uuid() override { return "44444444-4444-4444-8444-444444444444"; }
  };
  FakeMachine machine;
  machine.files.HoldLock(kLockPath, LockInfoToJson(Holder("here", 77)));
  EventfulClock clock;
  Dice dice;
  LocalStore store("/project/podctl.state.json", machine.files, clock, dice,
                   AliceWhoseNeighboursLive(), RememberedKinds());
  EXPECT_FALSE(store.Lock({}, std::chrono::milliseconds(300), {}));
  EXPECT_THAT(clock.pauses, ::testing::ElementsAre(120, 180));
}

TEST(LocalStoreLock, WhoWaitsIsToldForWhomAtOnceAndNowAndThen) {
  FakeMachine machine;
  machine.alive_.insert(77);
  machine.files.HoldLock(kLockPath, LockInfoToJson(Holder("here", 77)));
  std::vector<std::pair<std::string, long>> reported;
  LockWait wait(std::chrono::seconds(25));
  wait.on_wait = [&](const LockInfo& holder, std::chrono::milliseconds waited) {
    reported.emplace_back(holder.who, waited.count());
  };
  EXPECT_FALSE(machine.Open().Lock({}, wait, {}));
  using ::testing::Pair;
  EXPECT_THAT(reported, ::testing::ElementsAre(Pair("bob@here", 0), Pair("bob@here", 10500),
                                               Pair("bob@here", 20500)));
  reported.clear();
  wait.timeout = kAtOnce;
  EXPECT_FALSE(machine.Open().Lock({}, wait, {}));
  EXPECT_THAT(reported, IsEmpty()) << "nobody waits";
}

// The holder writes its name a moment after it has the lock; until then there is none, or still
// that of the dead run before it.
TEST(LocalStoreLock, TheNameIsWaitedFor) {
  for (const std::string& before : {std::string(), LockInfoToJson(Holder("here", 66))}) {
    FakeMachine machine;
    machine.files.HoldLock(kLockPath, before);
    EventfulClock clock;
    clock.on_sleep = [&](std::size_t sleep) {
      if (sleep == 2) machine.files.HoldLock(kLockPath, LockInfoToJson(Holder("here", 77)));
    };
    LocalStore store(
        "/project/podctl.state.json", machine.files, clock, machine.random,
        LockHolder{"here", "alice@here", 1, [](int pid, const std::string&) { return pid == 77; }},
        RememberedKinds());
    const auto lock = store.Lock({}, kAtOnce, {});
    ASSERT_FALSE(lock);
    EXPECT_THAT(lock.error().message, HasSubstr("Process:   77"));
    EXPECT_THAT(clock.pauses, ::testing::ElementsAre(20, 20));
  }
}

TEST(LocalStoreLock, AHolderThatEndsWhileItsNameIsReadIsNoHolder) {
  FakeMachine machine;
  machine.files.HoldLock(kLockPath, "");
  EventfulClock clock;
  clock.on_sleep = [&](std::size_t) { machine.files.EndHolder(kLockPath, false); };
  LocalStore store("/project/podctl.state.json", machine.files, clock, machine.random,
                   AliceWhoseNeighboursLive(), RememberedKinds());
  EXPECT_TRUE(store.Lock({}, kAtOnce, {}));
}

TEST(LocalStoreLock, LockThatCannotBeNamedIsNotKept) {
  FakeMachine machine;
  machine.files.LimitSpace(10);
  auto lock = machine.Open().Lock({}, kAtOnce, {});
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, ErrorCode::kIo);
  machine.files.LimitSpace(std::nullopt);
  EXPECT_THAT(machine.files.AllFiles(), IsEmpty());
  EXPECT_TRUE(machine.Open().Lock({}, kAtOnce, {}));
}

// The kernel's own lock: another process holds it, dies by kill -9, and stops nobody.
TEST(LocalStoreLock, RealProcessKilledWithTheLockStopsNobody) {
  TempFolder folder;
  const std::string path = folder / "podctl.state.json";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    RealFileSystem files;
    RealClock clock;
    RealRandom random;
    LocalStore store(path, files, clock, random, LockHolder::ThisProcess(), RememberedKinds());
    LockInfo info;
    info.operation = "apply";
    auto lock = store.Lock(info, kAtOnce, {});
    const char reported = lock ? 'y' : 'n';
    if (::write(ready[1], &reported, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char reported = 0;
  ASSERT_EQ(::read(ready[0], &reported, 1), 1);
  EXPECT_EQ(reported, 'y');

  RealFileSystem files;
  FakeClock clock;
  RealRandom random;
  LocalStore store(path, files, clock, random, LockHolder::ThisProcess(), RememberedKinds());
  auto refused = store.Lock({}, kAtOnce, {});
  EXPECT_FALSE(refused);
  if (!refused) {
    EXPECT_THAT(refused.error().message, HasSubstr("Operation: apply"));
  }
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ::close(ready[0]);
  ::close(ready[1]);
  auto lock = store.Lock({}, kAtOnce, {});
  ASSERT_TRUE(lock) << lock.error().message;
  EXPECT_THAT((*lock)->TakeoverNote(), HasSubstr("process " + std::to_string(child)));
}

}  // namespace
}  // namespace podctl::testing
