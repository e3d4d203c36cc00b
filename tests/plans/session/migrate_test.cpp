// A state that moves, killed at each call to either place: it is whole in one of them, runs go on
// in one of them at most, and the move can be ended or called off.
#include "plans/session/migrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/json.h"
#include "state/stores/http/http_store.h"
#include "state/stores/journal_store.h"
#include "state/stores/local_store.h"
#include "tests/support/fake_blobs.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/golden.h"
#include "tests/support/sample_state.h"
#include "tests/support/state_server.h"

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
using testing::StateServer;
using testing::StateServerTransport;

constexpr const char* kFileA = "/a/podctl.state.json";
constexpr const char* kFileB = "/b/podctl.state.json";
constexpr const char* kPlaceA = "fake://a";
constexpr const char* kPlaceB = "fake://b";
constexpr const char* kGitLab = "https://forge.example/api/v4/projects/7/terraform/state/pods";
constexpr const char* kGitea = "https://forge.example/api/packages/team/terraform/state/pods";
constexpr const char* kPlain = "https://forge.example/states/pods";

// When a process dies: before its `call`-th call to a place is carried out, or after that.
struct Death {
  int call = 0;  // 0: it lives
  bool after = false;
};

// The way to a server of one process, which may have died.
class MortalTransport final : public http::Transport {
 public:
  explicit MortalTransport(StateServer& server) : way_(server) {}

  Result<http::Response> Send(const http::Request& request, std::stop_token stop) override {
    if (!dead) before(request);
    if (dead) return MakeError(ErrorCode::kUnavailable, "no connection");
    if (refusal != 0 && request.method == "POST" &&
        request.url.find("/lock") == std::string::npos) {
      return http::Response{refusal, {}, ""};
    }
    auto answer = way_.Send(request, stop);
    after();
    return answer;
  }

  bool dead = false;
  int refusal = 0;  // of saves
  std::function<void(const http::Request&)> before = [](const http::Request&) {};
  std::function<void()> after = [] {};

 private:
  StateServerTransport way_;
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
      const std::string space = "here/pid:[1]/";
      LockHolder self{"here",
                      "alice@here",
                      pid_,
                      [this](int pid, const std::string&) { return world_.alive_.contains(pid); },
                      space + std::to_string(pid_) + "/77",
                      [this, space](const std::string& mark) {
                        return !world_.alive_.contains(std::stoi(mark.substr(space.size())));
                      }};
      if (IsHttpUrl(name)) return OpenHttp(name, std::move(self));
      if (name.front() == '/') {
        stores_.push_back(std::make_unique<LocalStore>(name, world_.files, world_.clock,
                                                       world_.random, self, RememberedKinds()));
        return *stores_.back();
      }
      blobs_.push_back(std::make_unique<FakeBlobs>(world_.places_[name == kPlaceB ? 1 : 0],
                                                   "here/" + std::to_string(pid_)));
      FakeBlobs& blobs = *blobs_.back();
      blobs.before = [this](const BlobRequest&) {
        BeforeCall();
        return BlobFault{};
      };
      blobs.after = [this](const BlobRequest&) { AfterCall(); };
      JournalStoreOptions options;
      options.beat = false;
      stores_.push_back(std::make_unique<JournalStore>(
          blobs, world_.files, world_.clock, world_.random, self, RememberedKinds(), options));
      return *stores_.back();
    }
    StateStore& OpenHttp(const std::string& name, LockHolder self) {
      transports_.push_back(std::make_unique<MortalTransport>(world_.ServerOf(name)));
      MortalTransport& way = *transports_.back();
      way.refusal = refusal;
      way.before = [this](const http::Request&) { BeforeCall(); };
      way.after = [this] { AfterCall(); };
      std::map<std::string, std::string> variables = {{"TF_HTTP_USERNAME", StateServer::kUser},
                                                      {"TF_HTTP_PASSWORD", StateServer::kPassword}};
      if (name == kPlain) variables["TF_HTTP_LOCK_ADDRESS"] = name;
      stores_.push_back(std::make_unique<HttpStore>(
          *FindHttpPlace(name, FixedEnvironment(variables)),
          HttpStoreDoors{way, world_.files, world_.clock, world_.random}, std::move(self),
          RememberedKinds()));
      return *stores_.back();
    }
    Result<MoveEnd> Move(const std::string& from, const std::string& to, MoveHow how) {
      const MoveDoors doors{
          world_.clock, {[] { return LockInfo{}; }, {}}, {}, "alice@here", [](const std::string&) {
          }};
      return MoveState(doors, {Open(from), from}, {Open(to), to}, how);
    }
    bool died() const { return dead_ || world_.files.Stopped(); }

    int refusal = 0;  // of what servers are to save

   private:
    void BeforeCall() {
      if (world_.files.Stopped()) Die();
      if (!death_.after && death_.call > 0 && --left_ == 0) Die();
    }
    void AfterCall() {
      if (death_.after && death_.call > 0 && --left_ == 0) Die();
    }
    void Die() {
      dead_ = true;
      for (const auto& transport : transports_) transport->dead = true;
      for (const auto& blobs : blobs_) blobs->Kill();
      if (!world_.files.Stopped()) world_.files.StopAfter(0);
    }

    MoveWorld& world_;
    int pid_ = 0;
    int left_;
    const Death death_;
    bool dead_ = false;
    std::vector<std::unique_ptr<FakeBlobs>> blobs_;
    std::vector<std::unique_ptr<MortalTransport>> transports_;
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
    EXPECT_TRUE(IsWhole(loaded->state));
    return true;
  }
  // With a later serial perhaps, since servers take none twice.
  bool IsWhole(std::optional<State> found) const {
    if (!found || found->serial < state.serial) return false;
    found->serial = state.serial;
    return found == state;
  }
  void CheckNothingIsLost(const std::string& from, const std::string& to) {
    EXPECT_LE(IsLive(from) + IsLive(to), 1);
    EXPECT_TRUE(IsWhole(Placed(from).state) || IsWhole(Placed(to).state));
  }
  StateServer& ServerOf(const std::string& name) {
    return name == kGitLab ? gitlab : name == kGitea ? gitea : plain;
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
  StateServer gitlab{StateServer::Kind::kGitLab};
  StateServer gitea{StateServer::Kind::kGitea};
  StateServer plain{StateServer::Kind::kPlain};
  State state;  // what moves

 private:
  FakePlace places_[2];
  int last_pid_ = 1000;
  std::set<int> alive_;
};

// A store that knows nothing of moves.
class MovelessStore final : public StateStore {
 public:
  MovelessStore(FileSystem& files, Clock& clock, Random& random)
      : inner_("/b/x", files, clock, random, {}, RememberedKinds()) {}
  Result<Snapshot> Load() override { return inner_.Load(); }
  Result<void> Save(State& state, Generation* at) override { return inner_.Save(state, at); }
  Result<void> Push(State& state, Generation* at) override { return inner_.Push(state, at); }
  Result<std::vector<HistoryEntry>> History() override { return inner_.History(); }
  Result<State> LoadHistory(std::uint64_t serial) override { return inner_.LoadHistory(serial); }
  Result<std::string> SaveAside(const State& state) override { return inner_.SaveAside(state); }
  Result<std::unique_ptr<StateLock>> Lock(const LockInfo&, const LockWait&,
                                          std::stop_token) override {
    return NoStateLock();
  }
  std::string Where() const override { return "x"; }

 private:
  LocalStore inner_;
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
      EXPECT_GT(deaths, after && only_files ? -1 : 5);
    }
  }
};

TEST_P(MoveTest, GoesWithLineageAndSerialAndLeavesAWordWhereItWas) {
  MoveWorld world;
  world.Begin(from());
  const auto moved = world.Move(from(), to());
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_TRUE(moved->moved);
  EXPECT_EQ(moved->serial, world.Load(to())->state->serial);
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
                                           Ways{kPlaceA, kPlaceB}, Ways{kFileA, kFileB},
                                           Ways{kFileA, kGitea}, Ways{kGitea, kFileB},
                                           Ways{kGitLab, kPlaceB}, Ways{kPlaceA, kGitLab},
                                           Ways{kGitea, kGitLab}, Ways{kPlain, kGitea},
                                           Ways{kFileA, kPlain}));

// A place that says no is no reason to keep runs out of the old one.
TEST(Move, WhatTheNewPlaceRefusesStaysWhereItWas) {
  for (const int status : {400, 403, 413}) {
    MoveWorld world;
    world.Begin(kFileA);
    MoveWorld::Process process(world, {});
    process.refusal = status;
    const auto moved = process.Move(kFileA, kGitea, MoveHow::kBegin);
    ASSERT_FALSE(moved);
    EXPECT_THAT(moved.error().message, HasSubstr(std::to_string(status)));
    EXPECT_THAT(moved.error().hint, HasSubstr("The state stays in /a/podctl.state.json."));
    EXPECT_TRUE(world.IsLive(kFileA));
    EXPECT_EQ(world.Placed(kGitea), PlacedState{});
  }
}

// Of a place that cannot take part nothing is marked.
TEST(Move, APlaceThatCannotTakePartIsFoundOutFirst) {
  MoveWorld world;
  world.Begin(kFileA);
  MoveWorld::Process process(world, {});
  MovelessStore other(world.files, world.clock, world.random);
  const std::string before = *world.files.FileText(kFileA);
  const MoveDoors doors{world.clock, {[] { return LockInfo{}; }, {}}, {}, "alice@here", {}};
  const auto moved =
      MoveState(doors, {process.Open(kFileA), kFileA}, {other, "x"}, MoveHow::kBegin);
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, ErrorCode::kUnimplemented);
  EXPECT_EQ(moved.error().hint, "");  // and not: it was marked, and called off
  EXPECT_EQ(*world.files.FileText(kFileA), before);
}

// A server keeps what it was given: its serials go on from where they were, and what a move leaves
// between them is no generation.
TEST(Move, AStateComesBackByAnotherPlaceThanItWentTo) {
  MoveWorld world;
  world.Begin(kFileA);
  const std::pair<const char*, const char*> ways[] = {
      {kFileA, kPlaceB}, {kPlaceB, kGitLab}, {kGitLab, kFileA}, {kFileA, kPlaceB}};
  for (const auto& [from, to] : ways) {
    SCOPED_TRACE(fmt::format("{} -> {}", from, to));
    const auto end = world.Move(from, to);
    ASSERT_TRUE(end) << end.error().message;
    world.CheckMoved(from, to);
  }
}

TEST(Move, TheWordOfAnotherStateStays) {
  MoveWorld world;
  world.Begin(kFileA);
  ASSERT_TRUE(world.Move(kFileA, kPlaceB));
  world.Begin(kFileB);
  State other = world.state;
  other.lineage = "0e1d2c3b-4a59-4687-9786-a5b4c3d2e1f0";
  {
    MoveWorld::Process process(world, {});
    StateStore& store = process.Open(kFileB);
    auto loaded = store.Load();
    ASSERT_TRUE(loaded);
    ASSERT_TRUE(store.Push(other, &loaded->generation));
  }
  const auto end = world.Move(kFileB, kFileA);
  ASSERT_FALSE(end);
  EXPECT_THAT(end.error().message, HasSubstr("was moved to"));
}

TEST(Move, AServersHistoryOutlivesAMoveThereAndBack) {
  MoveWorld world;
  world.Begin(kGitea);
  ASSERT_TRUE(world.Move(kGitea, kFileB));
  ASSERT_TRUE(world.Move(kFileB, kGitea));
  MoveWorld::Process process(world, {});
  StateStore& store = process.Open(kGitea);
  const auto stored = store.Load();
  ASSERT_TRUE(stored && stored->state);
  EXPECT_EQ(stored->state->serial, 5U);
  const auto history = store.History();
  ASSERT_TRUE(history) << history.error().message;
  ASSERT_EQ(history->size(), 1U);
  EXPECT_EQ(history->front().serial, 1U);
  EXPECT_EQ(store.LoadHistory(3).error().code, ErrorCode::kNotFound);
  State next = *stored->state;
  next.records.clear();
  Generation at = stored->generation;
  EXPECT_TRUE(store.Save(next, &at));
}

// What Gitea and GitLab ask of a document, and what makes terraform refuse it as none of its own.
TEST(Move, AServersWordIsAStateForNobody) {
  MoveWorld world;
  world.Begin(kFileA);
  ASSERT_TRUE(world.Move(kFileA, kGitea));
  ASSERT_TRUE(world.Move(kGitea, kFileB));
  Value word = *ParseJson(*world.gitea.Stored());
  EXPECT_EQ(word["lineage"].AsString(), world.state.lineage);
  EXPECT_TRUE(word["version"].is_null());
  EXPECT_EQ(word["format_version"], Value(kMovedFormatVersion));
  EXPECT_TRUE(word["state"].is_null());
}

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
