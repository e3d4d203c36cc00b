#include "state/stores/lease.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "providers/base/json.h"
#include "tests/state/stores/journal_bench.h"
#include "tests/support/patient_clock.h"

namespace podctl::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

LockInfo ApplyInfo() {
  LockInfo info;
  info.operation = "apply";
  return info;
}

std::unique_ptr<StateLock> MustTake(JournalRun& run, const LockWait& wait = milliseconds(0)) {
  auto lock = run.store.Lock(ApplyInfo(), wait, {});
  EXPECT_TRUE(lock) << lock.error().message;
  return lock ? *std::move(lock) : nullptr;
}

std::optional<LeaseText> Held(JournalWorld& world) {
  return LeaseFromJson(world.place.Text(kLeaseName).value_or(""));
}

TEST(Lease, TheLockNamesItsHolderHowLongItLastsAndTheCIsRun) {
  JournalWorld world;
  JournalStoreOptions options = JournalWorld::ByHand();
  options.run.commit = "abc123";
  options.run.run_url = "https://ci/7";
  auto run = world.Open("here", options);
  auto lock = MustTake(*run);
  const Value text = *ParseJson(*world.place.Text(kLeaseName));
  EXPECT_EQ(text["Operation"].AsString(), "apply");
  EXPECT_EQ(text["Who"].AsString(), "alice@here");
  EXPECT_EQ(text["Commit"].AsString(), "abc123");
  EXPECT_EQ(text["RunUrl"].AsString(), "https://ci/7");
  EXPECT_EQ(text["TtlMs"].AsInt(), 60'000);
  EXPECT_EQ(text["Beat"].AsInt(), 0);
  EXPECT_TRUE(run->store.Beat());
  EXPECT_EQ(Held(world)->beat, 1U);

  auto other = world.Open("there");
  const auto refused = other->store.Lock(ApplyInfo(), milliseconds(0), {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("\n  CI run:    https://ci/7"));
  EXPECT_THAT(refused.error().message, HasSubstr("\n  Commit:    abc123"));
  EXPECT_THAT(refused.error().hint, HasSubstr("60 s after its last sign of life"));
  EXPECT_EQ(other->store.Holder()->run_url, "https://ci/7");
  lock.reset();
  EXPECT_FALSE(world.place.Text(kLeaseName));
  EXPECT_FALSE(other->store.Holder());
}

TEST(Lease, WhoReadsIsToldWhoIsAtWorkAndAsksForThatOnlyWhereThereIsALock) {
  JournalWorld world;
  auto run = world.OpenWithSample();
  run->store.EndRun();  // with a snapshot
  auto reader = world.Open("there");
  std::optional<LockInfo> holder = LockInfo{};
  ASSERT_TRUE(reader->store.LoadWithHolder(&holder));
  EXPECT_FALSE(holder);
  EXPECT_EQ(reader->blobs.requests(), 2);  // the snapshot, the list of entries
  const auto all = reader->blobs.requests();
  ASSERT_TRUE(reader->store.LoadWithHolder(&holder));
  EXPECT_EQ(reader->blobs.requests(), all + 1);

  auto lock = MustTake(*run);
  ASSERT_TRUE(reader->store.LoadWithHolder(&holder));
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->who, "alice@here");

  // He ends between the two questions: then all that he saved is told, and nobody is at work.
  reader->blobs.before = [&](const BlobRequest& request) {
    if (request.name == kLeaseName && lock) {
      EXPECT_TRUE(run->Mark("last"));
      lock.reset();
    }
    return BlobFault{};
  };
  const auto loaded = reader->store.LoadWithHolder(&holder);
  ASSERT_TRUE(loaded && loaded->state);
  EXPECT_FALSE(holder);
  EXPECT_EQ(*loaded->state, run->state);
}

// ---- The holder.

TEST(Lease, NothingNewIsStartedHalfATtlAfterTheLastConfirmedBeat) {
  JournalWorld world;
  auto run = world.Open();
  EXPECT_TRUE(run->store.MayStart());  // without a lock
  auto lock = MustTake(*run);
  EXPECT_TRUE(run->store.MayStart());
  world.clock.Advance(milliseconds(29'999));
  EXPECT_TRUE(run->store.MayStart());
  world.clock.Advance(milliseconds(1));
  EXPECT_FALSE(run->store.MayStart());
  EXPECT_TRUE(run->store.Beat());
  EXPECT_TRUE(run->store.MayStart());

  run->blobs.before = [](const BlobRequest&) { return Refuse(ErrorCode::kUnavailable, "out"); };
  for (int missed = 1; missed <= 2; ++missed) {
    world.clock.Advance(seconds(20));
    EXPECT_FALSE(run->store.Beat());
  }
  EXPECT_FALSE(run->store.MayStart());
}

// A beat is as old as its request, however long its answer took.
TEST(Lease, ABeatCountsFromWhenItWasSent) {
  JournalWorld world;
  auto run = world.Open();
  auto lock = MustTake(*run);
  run->blobs.after = [&](const BlobRequest&) { world.clock.Advance(seconds(40)); };
  EXPECT_TRUE(run->store.Beat());
  EXPECT_FALSE(run->store.MayStart());
}

// The first of two requests took the lock, late; the second one found it taken.
TEST(Lease, ALockThatWasTakenWithoutAnAnswerCountsFromTheFirstRequest) {
  JournalWorld world;
  auto run = world.Open();
  int creates = 0;
  run->blobs.before = [&](const BlobRequest& request) {
    if (request.deed == BlobDeed::kGet && creates == 1) world.clock.Advance(seconds(31));
    if (request.deed != BlobDeed::kCreate || ++creates > 1) return BlobFault{};
    return BlobFault{BlobFault::Kind::kLate, {}, 2};
  };
  auto lock = MustTake(*run);
  ASSERT_NE(lock, nullptr);
  EXPECT_EQ(creates, 2);
  EXPECT_FALSE(run->store.MayStart());
  EXPECT_TRUE(run->store.Beat());
  EXPECT_TRUE(run->store.MayStart());
}

TEST(Lease, SuspendedTimeCounts) {
  JournalWorld world;
  HostClock clock(world.clock);
  auto run = world.OpenOn(clock, "laptop");
  auto lock = MustTake(*run);
  clock.Suspend(seconds(31));
  EXPECT_FALSE(run->store.MayStart());
}

TEST(Lease, WhoSleptPastItsTtlAndWasNotRobbedGoesOn) {
  JournalWorld world;
  auto run = world.OpenWithSample();
  auto lock = MustTake(*run);
  ASSERT_TRUE(run->Mark("one"));
  world.clock.Advance(minutes(10));
  EXPECT_FALSE(run->store.MayStart());
  const int before = run->blobs.requests();
  ASSERT_TRUE(run->Mark("two"));
  // The lock first.
  EXPECT_EQ(run->blobs.log[static_cast<std::size_t>(before)].name, kLeaseName);
  EXPECT_TRUE(run->store.MayStart());
}

TEST(Lease, WhoSleptPastItsTtlAndWasRobbedSavesNothingMore) {
  JournalWorld world;
  auto run = world.OpenWithSample();
  auto lock = MustTake(*run);
  world.clock.Advance(minutes(10));
  auto thief = world.Open("there");
  auto stolen = MustTake(*thief, minutes(2));
  ASSERT_NE(stolen, nullptr);
  const auto late = run->Mark("late");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(late.error().message, HasSubstr("taken over by another run\nLock Info:"));
  EXPECT_THAT(late.error().message, HasSubstr("alice@there"));
  EXPECT_FALSE(run->store.MayStart());
  EXPECT_FALSE(run->store.Beat());
  EXPECT_FALSE(world.place.Text(EntryName(2)));
  run->blobs.before = [](const BlobRequest& request) {
    EXPECT_NE(request.deed, BlobDeed::kDelete) << "a server may pass over the condition";
    return BlobFault{};
  };
  lock.reset();  // the thief's stays
  EXPECT_EQ(Held(world)->info.host, "there");
}

TEST(Lease, ALockThatWasRemovedIsLost) {
  JournalWorld world;
  auto run = world.OpenWithSample();
  auto lock = MustTake(*run);
  auto other = world.Open("there");
  ASSERT_TRUE(other->store.ForceUnlock(Held(world)->info.id));
  EXPECT_FALSE(run->store.Beat());
  EXPECT_FALSE(run->store.MayStart());
  EXPECT_THAT(run->Mark("late").error().message, HasSubstr("is gone: it was removed, or another"));
}

// There is nothing left then that would tell the one from the other.
TEST(Lease, SoIsOneThatWasTakenOverAndReleased) {
  JournalWorld world;
  auto run = world.OpenWithSample();
  auto lock = MustTake(*run);
  world.clock.Advance(minutes(10));
  auto thief = world.Open("there");
  MustTake(*thief, minutes(2)).reset();
  const auto late = run->Mark("late");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(late.error().message, HasSubstr("took it over and has released it since"));
}

// As a database does that is full: nothing is there afterwards, whatever the answer was.
TEST(Lease, RequestsThatAreLostEachTimeAreNoOtherRuns) {
  JournalWorld world;
  auto run = world.Open();
  run->blobs.before = [](const BlobRequest& request) {
    return request.deed == BlobDeed::kCreate ? Refuse(ErrorCode::kReplyLost, "database full")
                                             : BlobFault{};
  };
  const auto refused = run->store.Lock(ApplyInfo(), milliseconds(0), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kReplyLost);
  EXPECT_EQ(refused.error().message,
            fmt::format("cannot lock the state {}: database full", run->store.Where()));
}

// ---- Who takes it over.

TEST(LeaseWatch, WantsTheWholeTtlAndFourLooks) {
  const auto at = [](int s) { return Clock::SteadyTime(seconds(s)); };
  const auto ran_out = [&](const std::vector<std::pair<int, std::string>>& looks) {
    LeaseWatch watch;
    for (const auto& [when, version] : looks) {
      watch.Saw({version}, seconds(60), at(when), at(when));
    }
    return watch.RanOut();
  };
  EXPECT_TRUE(ran_out({{0, "a"}, {20, "a"}, {40, "a"}, {60, "a"}}));
  EXPECT_FALSE(ran_out({{0, "a"}, {20, "a"}, {40, "a"}, {59, "a"}}));
  EXPECT_FALSE(ran_out({{0, "a"}, {30, "a"}, {60, "a"}}));
  // Four looks at once are one.
  EXPECT_FALSE(ran_out({{0, "a"}, {60, "a"}, {60, "a"}, {61, "a"}}));
  EXPECT_FALSE(ran_out({{0, "a"}, {20, "a"}, {40, "b"}, {60, "b"}, {80, "b"}}));
  EXPECT_TRUE(ran_out({{0, "a"}, {20, "b"}, {40, "b"}, {60, "b"}, {80, "b"}}));
  LeaseWatch watch;
  for (int s = 0; s <= 3600; s += 60) watch.Saw({"a"}, milliseconds(0), at(s), at(s));
  EXPECT_FALSE(watch.RanOut());  // it does not run out
  // The time that the answers took is the holder's.
  LeaseWatch slow;
  slow.Saw({"a"}, seconds(60), at(0), at(10));
  for (int s : {25, 40, 60}) slow.Saw({"a"}, seconds(60), at(s), at(s + 9));
  EXPECT_FALSE(slow.RanOut());
}

TEST(Lease, ALockThatNobodyRenewsIsTakenOverAfterItsTtl) {
  JournalWorld world;
  JournalStoreOptions options = JournalWorld::ByHand();
  options.run.run_url = "https://ci/7";
  options.ttl = seconds(30);
  auto dead = world.Open("there", options);
  auto lock = MustTake(*dead);
  dead->blobs.Kill();
  auto other = world.Open();
  const auto early = other->store.Lock(ApplyInfo(), seconds(29), {});
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, ErrorCode::kLocked);
  const auto before = world.clock.Elapsed();
  auto taken = MustTake(*other, minutes(5));
  ASSERT_NE(taken, nullptr);
  EXPECT_GE(world.clock.Elapsed() - before, seconds(30));
  EXPECT_LE(world.clock.Elapsed() - before, seconds(40));
  EXPECT_EQ(taken->TakeoverNote(),
            "took over the state lock of alice@there (apply, https://ci/7), which gave no sign of "
            "life for 30 s");
}

TEST(Lease, ALockThatIsRenewedIsNeverTakenOver) {
  JournalWorld world;
  auto run = world.Open("there");
  auto lock = MustTake(*run);
  HostClock clock(world.clock);
  clock.skew = std::chrono::hours(24);
  milliseconds since_beat{0};
  clock.on_sleep = [&](milliseconds slept) {
    since_beat += slept;
    if (since_beat < seconds(20)) return;
    since_beat = milliseconds(0);
    EXPECT_TRUE(run->store.Beat());
  };
  auto other = world.OpenOn(clock, "here");
  const auto refused = other->store.Lock(ApplyInfo(), minutes(30), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kLocked);
  EXPECT_TRUE(run->store.MayStart());
}

// The holder wakes up and beats between the last look and the theft.
TEST(Lease, ABeatInTheLastMomentSavesIt) {
  JournalWorld world;
  auto run = world.Open("there");
  auto lock = MustTake(*run);
  auto other = world.Open();
  bool struck = false;
  other->blobs.before = [&](const BlobRequest& request) {
    if (request.deed == BlobDeed::kReplace && !std::exchange(struck, true)) {
      EXPECT_TRUE(run->store.Beat());
    }
    return BlobFault{};
  };
  const auto refused = other->store.Lock(ApplyInfo(), seconds(100), {});
  EXPECT_TRUE(struck);
  ASSERT_FALSE(refused);
  EXPECT_EQ(Held(world)->info.host, "there");
}

TEST(Lease, ADeadProcessOfThisHostDecidesAtOnce) {
  JournalWorld world;
  auto dead = world.Open();
  auto lock = MustTake(*dead);
  dead->blobs.Kill();
  world.Die(world.last_pid());
  auto other = world.Open();
  EXPECT_FALSE(other->store.Holder());
  auto taken = MustTake(*other);
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(taken->TakeoverNote(),
            "took over the state lock of alice@here (apply, process 1001 on here), which ended "
            "without releasing it");
}

// Two containers may both be called "runner", and a process number of one says nothing in another.
TEST(Lease, AHostsNameProvesNothing) {
  JournalWorld world;
  auto run = world.Open("runner");
  auto lock = MustTake(*run);
  LockHolder elsewhere = world.NextHolder("other machine");
  elsewhere.host = "runner";
  elsewhere.process_ran_at = [](int, const std::string&) { return false; };
  JournalRun other(world.place, world.clock, world.random, elsewhere, JournalWorld::ByHand());
  EXPECT_EQ(other.store.Lock(ApplyInfo(), milliseconds(0), {}).error().code, ErrorCode::kLocked);
}

TEST(Lease, WhatIsNoLockOfPodctlIsLeftAlone) {
  JournalWorld world;
  world.place.Set(kLeaseName, "{}");
  auto run = world.Open();
  const auto refused = run->store.Lock(ApplyInfo(), minutes(5), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(run->store.ForceUnlock("x").error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(world.place.Text(kLeaseName), "{}");
}

// ---- A fault at each request: taking it, beating, letting it go, taking it over, unlocking.

const BlobFault::Kind kLosses[] = {BlobFault::Kind::kLostBefore, BlobFault::Kind::kLostAfter,
                                   BlobFault::Kind::kLate, BlobFault::Kind::kRefused};

// Runs `act` with the k-th request at `run`'s door struck, for every k, until none is.
void StrikeEach(
    const std::function<void(JournalWorld&, JournalRun&, const std::function<void()>&)>& life) {
  for (const BlobFault::Kind kind : kLosses) {
    bool struck = true;
    for (int k = 1; struck; ++k) {
      ASSERT_LT(k, 60);
      SCOPED_TRACE(fmt::format("fault {} at request {}", static_cast<int>(kind), k));
      JournalWorld world;
      auto run = world.Open();
      struck = false;
      const auto arm = [&] {
        const int at = run->blobs.requests() + k;
        run->blobs.before = [&struck, kind, at](const BlobRequest& request) {
          if (request.number != at) return BlobFault{};
          struck = true;
          return BlobFault{kind, MakeError(ErrorCode::kUnavailable, "out"), 2};
        };
      };
      life(world, *run, arm);
    }
  }
}

TEST(Lease, TakingAndReleasingStandsAFaultAtEachRequest) {
  StrikeEach([](JournalWorld& world, JournalRun& run, const std::function<void()>& arm) {
    arm();
    auto lock = MustTake(run);
    ASSERT_NE(lock, nullptr);
    EXPECT_EQ(Held(world)->info.host, "here");
    EXPECT_EQ(world.Open("there")->store.Lock(ApplyInfo(), milliseconds(0), {}).error().code,
              ErrorCode::kLocked);
    EXPECT_TRUE(run.store.Beat() || run.store.Beat());
    EXPECT_TRUE(run.store.MayStart());
    lock.reset();
    world.place.Arrive();
    EXPECT_FALSE(world.place.Text(kLeaseName));
  });
}

TEST(Lease, TakingOverStandsAFaultAtEachRequest) {
  StrikeEach([](JournalWorld& world, JournalRun& run, const std::function<void()>& arm) {
    auto dead = world.Open("there");
    auto left = MustTake(*dead);
    dead->blobs.Kill();
    arm();
    auto lock = MustTake(run, minutes(5));
    ASSERT_NE(lock, nullptr);
    EXPECT_THAT(lock->TakeoverNote(), HasSubstr("alice@there"));
    world.place.Arrive();
    EXPECT_EQ(Held(world)->info.host, "here");
    EXPECT_TRUE(run.store.Beat() || run.store.Beat());
  });
}

TEST(Lease, UnlockingStandsAFaultAtEachRequest) {
  StrikeEach([](JournalWorld& world, JournalRun& run, const std::function<void()>& arm) {
    auto dead = world.Open("there");
    auto left = MustTake(*dead);
    const std::string id = Held(world)->info.id;
    dead->blobs.Kill();
    arm();
    const auto unlocked = run.store.ForceUnlock(id);
    world.place.Arrive();
    // It may be told that there was no lock any more, after an answer that was lost.
    if (!unlocked) {
      EXPECT_EQ(unlocked.error().code, ErrorCode::kNotFound);
    }
    EXPECT_FALSE(world.place.Text(kLeaseName));
  });
}

TEST(Lease, UnlockingSparesWhoBeatMeanwhile) {
  JournalWorld world;
  auto run = world.Open("there");
  auto lock = MustTake(*run);
  auto other = world.Open();
  other->blobs.before = [&](const BlobRequest& request) {
    if (request.deed == BlobDeed::kDelete) run->store.Beat();
    return BlobFault{};
  };
  const auto refused = other->store.ForceUnlock(Held(world)->info.id);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kLocked);
  EXPECT_TRUE(run->store.MayStart());
}

// A container of this machine may have its name, and has process numbers of its own.
TEST(Lease, AProcessOfAnotherSpaceIsNotTakenForOneThatLivesHere) {
  JournalWorld world;
  const auto open = [&](const std::string& space) {
    LockHolder self = world.NextHolder("here");
    self.mark = space + std::to_string(self.pid) + "/7";
    self.has_ended = [](const std::string&) { return false; };
    return std::make_unique<JournalRun>(world.place, world.clock, world.random, std::move(self),
                                        JournalWorld::ByHand());
  };
  auto holder = open("boot/pid:[2]/");
  auto lock = MustTake(*holder);
  const std::string id = Held(world)->info.id;
  EXPECT_EQ(open("boot/pid:[2]/")->store.ForceUnlock(id).error().code, ErrorCode::kLocked);
  EXPECT_TRUE(world.place.Text(kLeaseName));
  EXPECT_TRUE(open("boot/pid:[1]/")->store.ForceUnlock(id));
  EXPECT_FALSE(world.place.Text(kLeaseName));
}

// ---- The thread.

TEST(Lease, AThreadBeatsWhileTheLockIsHeld) {
  FakePlace place;
  PatientClock clock;
  FakeRandom random;
  JournalWorld world;
  JournalRun run(place, clock, random, world.NextHolder(), {});
  auto lock = MustTake(run);
  const auto beat = [&] { return LeaseFromJson(*place.Text(kLeaseName))->beat; };
  clock.LetTick();
  EXPECT_EQ(beat(), 1U);
  clock.Advance(seconds(29));
  EXPECT_TRUE(run.store.MayStart());
  clock.Advance(seconds(1));
  EXPECT_FALSE(run.store.MayStart());
  clock.LetTick();
  EXPECT_EQ(beat(), 2U);
  EXPECT_TRUE(run.store.MayStart());
  lock.reset();
  EXPECT_FALSE(place.Text(kLeaseName));
}

// ---- A place that does not let go of what it was given.

JournalStoreOptions Warning(std::vector<std::string>& warnings) {
  JournalStoreOptions options = JournalWorld::ByHand();
  options.on_warning = [&](const std::string& warning) { warnings.push_back(warning); };
  return options;
}

TEST(Lease, ALockThatMayBeNeitherRenewedNorRemovedIsToldOf) {
  JournalWorld world;
  std::vector<std::string> warnings;
  auto run = world.Open("here", Warning(warnings));
  auto lock = MustTake(*run);
  run->blobs.before = [](const BlobRequest& request) {
    const bool denied = request.deed == BlobDeed::kReplace || request.deed == BlobDeed::kDelete;
    return denied ? Refuse(ErrorCode::kPermissionDenied, "no objects.delete") : BlobFault{};
  };
  EXPECT_FALSE(run->store.Beat());
  EXPECT_FALSE(run->store.Beat());
  lock.reset();
  ASSERT_EQ(warnings.size(), 2U) << "each once";
  EXPECT_THAT(warnings[0], HasSubstr("cannot be renewed"));
  EXPECT_THAT(warnings[1], HasSubstr("could not be removed, and lock.json stays"));
  for (const std::string& warning : warnings) EXPECT_THAT(warning, HasSubstr("no objects.delete"));
}

TEST(Lease, NothingIsToldOfALockThatRunsOutInAnOutage) {
  JournalWorld world;
  std::vector<std::string> warnings;
  auto run = world.Open("here", Warning(warnings));
  auto lock = MustTake(*run);
  run->blobs.before = [](const BlobRequest&) { return Refuse(ErrorCode::kUnavailable, "out"); };
  EXPECT_FALSE(run->store.Beat());
  lock.reset();
  EXPECT_TRUE(warnings.empty());
}

TEST(Lease, NothingIsToldOfARenewalThatTheEndOfTheRunStopped) {
  JournalWorld world;
  auto run = world.Open();
  auto lock = MustTake(*run);
  int told = 0;
  const auto held = run->blobs.Get(kLeaseName, {});
  ASSERT_TRUE(held && *held);
  Lease lease(run->blobs, world.clock, *Held(world), (*held)->version, world.clock.SinceBoot(),
              [&](const Error&) { ++told; });
  run->blobs.before = [](const BlobRequest&) { return Refuse(ErrorCode::kCancelled, "stopped"); };
  std::stop_source source;
  source.request_stop();
  EXPECT_FALSE(lease.Beat(source.get_token()));
  EXPECT_EQ(told, 0);
  EXPECT_TRUE(lease.Beat({}));
  EXPECT_EQ(told, 1) << "by the server, and not by this run's end";
}

TEST(Lease, InAPlaceThatKeepsAllNoLockIsMade) {
  JournalWorld world;
  auto run = world.Open();
  run->blobs.can_replace = []() -> Result<bool> {
    return MakeError(ErrorCode::kFailedPrecondition, "it keeps all");
  };
  const auto refused = run->store.Lock(ApplyInfo(), milliseconds(0), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "it keeps all");
  for (const BlobRequest& request : run->blobs.log) EXPECT_FALSE(request.writes()) << request.name;
}

TEST(Lease, WhereTheLockMayBeKeptThatIsTriedAtOnce) {
  for (const bool denied : {false, true}) {
    JournalWorld world;
    auto run = world.Open();
    run->blobs.can_replace = [&]() -> Result<bool> { return !world.place.Text(kLeaseName); };
    run->blobs.before = [&](const BlobRequest& request) {
      return denied && request.deed == BlobDeed::kReplace
                 ? Refuse(ErrorCode::kPermissionDenied, "kept until 2030")
                 : BlobFault{};
    };
    const auto lock = run->store.Lock(ApplyInfo(), milliseconds(0), {});
    EXPECT_EQ(lock.has_value(), !denied);
    if (lock) {
      EXPECT_EQ(Held(world)->beat, 1U);
      continue;
    }
    EXPECT_THAT(lock.error().message, HasSubstr("can be made and not renewed: kept until 2030"));
  }
}

// Terraform's lock in the same place: its run must not be overtaken, nor taken for podctl's.
TEST(Lease, AnotherToolsLockIsNobodysAndKeepsRunsOut) {
  JournalWorld world;
  LockInfo info = ApplyInfo();
  info.id = "1c2c4c6b-0000-4000-8000-000000000000";
  for (const std::string& text : {LockInfoToJson(info), std::string("mine")}) {
    world.place.Set(kLeaseName, text);
    auto run = world.Open();
    EXPECT_FALSE(run->store.Holder());
    const auto place = run->store.CheckLockPlace();
    ASSERT_FALSE(place);
    EXPECT_THAT(place.error().message, HasSubstr("is not a lock of podctl's making"));
    const auto lock = run->store.Lock(ApplyInfo(), minutes(5), {});
    ASSERT_FALSE(lock);
    EXPECT_EQ(lock.error().message, place.error().message);
    EXPECT_EQ(world.place.Text(kLeaseName), text);
  }
  world.place.Remove(kLeaseName);
  auto run = world.Open();
  EXPECT_TRUE(run->store.CheckLockPlace());
  auto held = MustTake(*run);
  EXPECT_TRUE(world.Open("there")->store.CheckLockPlace());
}

}  // namespace
}  // namespace podctl::testing
