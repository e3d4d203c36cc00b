// A state that moves, killed at each call to either place: it is whole in one of them, runs go on
// in one of them at most, and the move can be ended or called off.
#include "plans/session/migrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/record.h"
#include "state/stores/journal_store.h"
#include "state/stores/local_store.h"
#include "tests/support/fake_blobs.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/golden.h"
#include "tests/support/sample_state.h"

namespace podctl {
namespace {

using testing::BlobFault;
using testing::BlobRequest;
using testing::FakeBlobs;
using testing::FakeClock;
using testing::FakeFileSystem;
using testing::FakePlace;
using testing::FakeRandom;
using ::testing::HasSubstr;
using testing::SampleState;

constexpr const char* kFileA = "/a/podctl.state.json";
constexpr const char* kFileB = "/b/podctl.state.json";
constexpr const char* kPlaceA = "fake://a";
constexpr const char* kPlaceB = "fake://b";

// When a process dies: before its `call`-th call to a place is carried out, or after that.
struct Death {
  int call = 0;  // 0: it lives
  bool after = false;
};

class MoveWorld {
 public:
  MoveWorld() {
    files.SetFolder("/a");
    files.SetFolder("/b");
    for (FakePlace& place : places_) place.now = [this] { return clock.Now(); };
  }

  // A process with doors to both places.
  class Process {
   public:
    Process(MoveWorld& world, Death death) : world_(world), left_(death.call), death_(death) {
      pid_ = ++world.last_pid_;
      world.alive_.insert(pid_);
      if (death_.call > 0 && !death_.after) world.files.StopAfter(death_.call);
    }
    ~Process() {
      world_.alive_.erase(pid_);
      stores_.clear();
      world_.files.StopAfter(1 << 30);
      world_.files.Restart();
    }

    StateStore& Open(const std::string& name) {
      LockHolder self{"here",
                      "alice@here",
                      pid_,
                      [this](int pid, const std::string&) { return world_.alive_.contains(pid); },
                      "here/" + std::to_string(pid_),
                      [this](const std::string& mark) {
                        return !world_.alive_.contains(std::stoi(mark.substr(5)));
                      }};
      if (name.front() == '/') {
        stores_.push_back(std::make_unique<LocalStore>(name, world_.files, world_.clock,
                                                       world_.random, self, RememberedKinds()));
        return *stores_.back();
      }
      blobs_.push_back(std::make_unique<FakeBlobs>(world_.places_[name == kPlaceB ? 1 : 0],
                                                   "here/" + std::to_string(pid_)));
      FakeBlobs& blobs = *blobs_.back();
      blobs.before = [this](const BlobRequest&) {
        if (world_.files.Stopped()) Die();
        if (!death_.after && death_.call > 0 && --left_ == 0) Die();
        return BlobFault{};
      };
      blobs.after = [this](const BlobRequest&) {
        if (death_.after && death_.call > 0 && --left_ == 0) Die();
      };
      JournalStoreOptions options;
      options.beat = false;
      stores_.push_back(std::make_unique<JournalStore>(
          blobs, world_.files, world_.clock, world_.random, self, RememberedKinds(), options));
      return *stores_.back();
    }
    Result<MoveEnd> Move(const std::string& from, const std::string& to, MoveHow how) {
      const MoveDoors doors{
          world_.clock, {[] { return LockInfo{}; }, {}}, {}, "alice@here", [](const std::string&) {
          }};
      return MoveState(doors, {Open(from), from}, {Open(to), to}, how);
    }
    bool died() const { return dead_ || world_.files.Stopped(); }

   private:
    void Die() {
      dead_ = true;
      for (const auto& blobs : blobs_) blobs->Kill();
      if (!world_.files.Stopped()) world_.files.StopAfter(0);
    }

    MoveWorld& world_;
    int pid_ = 0;
    int left_;
    const Death death_;
    bool dead_ = false;
    std::vector<std::unique_ptr<FakeBlobs>> blobs_;
    std::vector<std::unique_ptr<StateStore>> stores_;
  };

  void Begin(const std::string& name) {
    Process process(*this, {});
    StateStore& store = process.Open(name);
    auto loaded = store.Load();
    ASSERT_TRUE(loaded);
    Generation at = loaded->generation;
    state = SampleState();
    auto saved = store.Save(state, &at);
    ASSERT_TRUE(saved) << saved.error().message;
    store.EndRun();
  }
  Result<MoveEnd> Move(const std::string& from, const std::string& to,
                       MoveHow how = MoveHow::kBegin) {
    return Process(*this, {}).Move(from, to, how);
  }
  Result<Snapshot> Load(const std::string& name) { return Process(*this, {}).Open(name).Load(); }
  PlacedState Placed(const std::string& name) {
    auto placed = Process(*this, {}).Open(name).LoadPlace();
    EXPECT_TRUE(placed) << placed.error().message;
    return placed ? placed->placed : PlacedState{};
  }
  // Runs go on there with the whole state.
  bool IsLive(const std::string& name) {
    const auto loaded = Load(name);
    if (!loaded || !loaded->state) return false;
    EXPECT_EQ(*loaded->state, state);
    return true;
  }
  void CheckNothingIsLost(const std::string& from, const std::string& to) {
    EXPECT_LE(IsLive(from) + IsLive(to), 1);
    EXPECT_TRUE(Placed(from).state == state || Placed(to).state == state);
  }
  void CheckMoved(const std::string& from, const std::string& to) {
    EXPECT_TRUE(IsLive(to));
    const auto old = Load(from);
    ASSERT_FALSE(old);
    EXPECT_EQ(old.error().code, ErrorCode::kFailedPrecondition);
    EXPECT_THAT(old.error().message, HasSubstr("was moved to " + to));
  }

  FakeClock clock;
  FakeRandom random;
  FakeFileSystem files;
  State state;  // what moves

 private:
  FakePlace places_[2];
  int last_pid_ = 1000;
  std::set<int> alive_;
};

struct Ways {
  const char* from;
  const char* to;
};

class MoveTest : public ::testing::TestWithParam<Ways> {
 protected:
  std::string from() const { return GetParam().from; }
  std::string to() const { return GetParam().to; }

  // Moves and dies there; false: it did not come to that any more.
  bool DieThere(MoveWorld& world, Death death, MoveHow how = MoveHow::kBegin) {
    MoveWorld::Process process(world, death);
    (void)process.Move(from(), to(), how);
    return process.died();
  }
  // Every moment to die at; `then` is called after each with a world of its own.
  template <typename Then>
  void AtEachDeath(const Then& then) {
    for (const bool after : {false, true}) {
      int deaths = 0;
      for (int call = 1; call < 400; ++call, ++deaths) {
        SCOPED_TRACE(::testing::Message() << (after ? "after call " : "before call ") << call);
        MoveWorld world;
        world.Begin(from());
        if (!DieThere(world, {call, after})) break;
        then(world);
        if (HasFailure()) return;
      }
      // Files have no deaths after a call: their steps are that fine.
      const bool only_files = from().front() == '/' && to().front() == '/';
      EXPECT_GT(deaths, after && only_files ? -1 : 10);
    }
  }
};

TEST_P(MoveTest, GoesWithLineageAndSerialAndLeavesAWordWhereItWas) {
  MoveWorld world;
  world.Begin(from());
  const auto moved = world.Move(from(), to());
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_TRUE(moved->moved);
  EXPECT_EQ(moved->serial, world.state.serial);
  world.CheckMoved(from(), to());
  EXPECT_TRUE(world.Move(from(), to())->was_moved);
  // Back again, over that word.
  const auto back = world.Move(to(), from());
  ASSERT_TRUE(back) << back.error().message;
  world.CheckMoved(to(), from());
}

TEST_P(MoveTest, NobodyWritesOverTheWord) {
  MoveWorld world;
  world.Begin(from());
  MoveWorld::Process slow(world, {});
  StateStore& store = slow.Open(from());
  Generation at = store.Load()->generation;
  ASSERT_TRUE(world.Move(from(), to()));
  State next = world.state;
  next.records.clear();
  EXPECT_FALSE(store.Save(next, &at));
  EXPECT_FALSE(store.Append(next, ChangesBetween(world.state, next), &at));
  EXPECT_FALSE(store.Push(next, &at));
  Generation none;
  EXPECT_FALSE(store.Push(next, &none));
  world.CheckMoved(from(), to());
}

TEST_P(MoveTest, AStateThatIsThereIsNotReplaced) {
  MoveWorld world;
  world.Begin(to());
  const State other = world.state;
  world.Begin(from());
  EXPECT_FALSE(world.Move(from(), to()));
  EXPECT_TRUE(world.IsLive(from()));
}

TEST_P(MoveTest, KilledAnywhereItCanBeEnded) {
  AtEachDeath([&](MoveWorld& world) {
    world.CheckNothingIsLost(from(), to());
    auto ended = world.Move(from(), to(), MoveHow::kResume);
    if (!ended && ended.error().code == ErrorCode::kNotFound) {
      EXPECT_TRUE(world.IsLive(from()));  // it had not begun
      ended = world.Move(from(), to());
    }
    ASSERT_TRUE(ended) << ended.error().message;
    world.CheckMoved(from(), to());
  });
}

TEST_P(MoveTest, KilledAnywhereItCanBeCalledOffUntilItHasLeft) {
  AtEachDeath([&](MoveWorld& world) {
    const auto ended = world.Move(from(), to(), MoveHow::kAbort);
    if (!ended && ended.error().code == ErrorCode::kFailedPrecondition) {
      EXPECT_EQ(world.Placed(from()).state, std::nullopt);
      ASSERT_TRUE(world.Move(from(), to(), MoveHow::kResume));
      return world.CheckMoved(from(), to());
    }
    EXPECT_TRUE(ended || ended.error().code == ErrorCode::kNotFound);
    EXPECT_TRUE(world.IsLive(from()));
    EXPECT_EQ(world.Placed(to()), PlacedState{});
    // And begun anew.
    ASSERT_TRUE(world.Move(from(), to()));
    world.CheckMoved(from(), to());
  });
}

TEST_P(MoveTest, KilledTwiceNothingIsLostEither) {
  for (const MoveHow how : {MoveHow::kResume, MoveHow::kAbort}) {
    bool died = true;
    for (int call = 1; died && call < 400; call += 3) {
      bool died_again = true;
      for (int again = 1; died && died_again && again < 400; again += 4) {
        SCOPED_TRACE(::testing::Message() << "at call " << call << " and at " << again);
        MoveWorld world;
        world.Begin(from());
        died = DieThere(world, {call, false});
        died_again = DieThere(world, {again, call % 2 == 0}, how);
        world.CheckNothingIsLost(from(), to());
        const auto ended = world.Move(from(), to(), MoveHow::kResume);
        if (!ended) {
          EXPECT_EQ(ended.error().code, ErrorCode::kNotFound) << ended.error().message;
          EXPECT_TRUE(world.IsLive(from()));
        } else {
          world.CheckMoved(from(), to());
        }
        if (HasFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Places, MoveTest,
                         ::testing::Values(Ways{kFileA, kPlaceB}, Ways{kPlaceA, kFileB},
                                           Ways{kPlaceA, kPlaceB}, Ways{kFileA, kFileB}));

TEST(Move, OlderPodctlsRefuseBothForms) {
  MoveWorld world;
  world.Begin(kFileA);
  ASSERT_TRUE(world.Move(kFileA, kPlaceB));
  // Those that know format version 5 at most name the podctl that is needed.
  EXPECT_THAT(*world.files.FileText(kFileA),
              HasSubstr("\"format_version\": 6,\n  \"podctl_version\": \""));
  EXPECT_GT(kMovedFormatVersion, 5);
  EXPECT_GT(kJournalFormatOfMoves, kJournalFormat);
}

TEST(Move, TheWordsAreThese) {
  MoveWorld world;
  world.Begin(kFileA);
  std::string text;
  const auto tell = [&](const Error& error) { text += error.message + "\n  " + error.hint + "\n"; };
  tell(world.Move(kFileB, kPlaceB).error());
  tell(world.Move(kFileA, kPlaceB, MoveHow::kResume).error());
  StateMove move{StateMove::Stage::kLeaving, kPlaceB, "", 1, "2026-11-26T01:00:00Z", "alice@desk"};
  tell(WhyMoved(move, kFileA));
  move.stage = StateMove::Stage::kGone;
  tell(WhyMoved(move, kFileA));
  move.stage = StateMove::Stage::kArriving;
  move.other = kFileA;
  tell(WhyMoved(move, kPlaceB));
  testing::ExpectGolden("state/moves.txt", text);
}

}  // namespace
}  // namespace podctl
