#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "state/lock_info.h"
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
  info.created = "2026-11-20T14:00:00Z";
  info.path = "podctl.state.json";
  info.version = "0.1.0";
  return info;
}

constexpr char kLockPath[] = "/project/podctl.state.json.lock";

TEST(LocalStoreLock, RefusalsLookAsTerraformsDo) {
  FakeMachine machine;
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
  machine.files.SetFile(kLockPath, "{\"ID\":");
  LocalStore store = machine.Open();
  auto lock = store.Lock({}, kAtOnce, {});
  ASSERT_TRUE(lock);
  EXPECT_EQ((*lock)->TakeoverNote(),
            "took over a state lock that nobody holds and whose text cannot be read");
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

TEST(LocalStoreLock, WaitsUntilTheHolderEnds) {
  // The clock's own sleep ends the other run, after 1 + 2 + 4 seconds.
  class EndingClock final : public Clock {
   public:
    explicit EndingClock(FakeFileSystem& files) : files_(files) {}
    SystemTime Now() override { return clock_.Now(); }
    SteadyTime Steady() override { return clock_.Steady(); }
    bool SleepFor(std::chrono::milliseconds duration, std::stop_token stop) override {
      pauses.push_back(duration.count());
      if (pauses.size() == 3) files_.EndHolder(kLockPath, false);
      return clock_.SleepFor(duration, stop);
    }
    std::vector<long> pauses;

   private:
    FakeFileSystem& files_;
    FakeClock clock_;
  };
  FakeMachine machine;
  machine.files.HoldLock(kLockPath, LockInfoToJson(Holder("here", 77)));
  EndingClock clock(machine.files);
  LocalStore store(
      "/project/podctl.state.json", machine.files, clock, machine.random,
      LockHolder{"here", "alice@here", 1, [](int, const std::string&) { return true; }});
  EXPECT_TRUE(store.Lock({}, std::chrono::minutes(5), {}));
  EXPECT_THAT(clock.pauses, ::testing::ElementsAre(1000, 2000, 4000));
}

TEST(LocalStoreLock, PausesGrowToSixteenSeconds) {
  FakeMachine machine;
  machine.files.HoldLock(kLockPath, LockInfoToJson(Holder("here", 77)));
  LocalStore store = machine.Open();
  machine.files.ClearLog();
  EXPECT_FALSE(store.Lock({}, std::chrono::seconds(63), {}));
  int tries = 0;
  for (const std::string& call : machine.files.Log()) tries += call.starts_with("TryLock") ? 1 : 0;
  EXPECT_EQ(tries, 8);  // at 0, 1, 3, 7, 15, 31, 47 and 63 seconds
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
    LocalStore store(path, files, clock, random, LockHolder::ThisProcess());
    LockInfo info;
    info.operation = "apply";
    auto lock = store.Lock(info, kAtOnce, {});
    const char told = lock ? 'y' : 'n';
    if (::write(ready[1], &told, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char told = 0;
  ASSERT_EQ(::read(ready[0], &told, 1), 1);
  EXPECT_EQ(told, 'y');

  RealFileSystem files;
  FakeClock clock;
  RealRandom random;
  LocalStore store(path, files, clock, random, LockHolder::ThisProcess());
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
