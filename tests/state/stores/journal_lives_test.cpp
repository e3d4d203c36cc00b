// Lives of a state in a shared place, each told by a seed: runs on two hosts whose clocks are a day
// off, faults of every kind, kills, suspended hosts, runs that sleep for days and wake up in the
// middle of what they did, thieves, snapshots, deletions.
//
//   PODCTL_TEST_SEED=4711 state_journal_test --gtest_filter='JournalLives*'   one life, with its
//   story PODCTL_TEST_SEEDS=50000 state_journal_test --gtest_filter='JournalLives*' so many
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <random>

#include "tests/state/stores/journal_oracle.h"

#ifdef __SANITIZE_THREAD__
// Runs that in truth are processes of two hosts call each other here on one thread, and so take
// their locks in every order.
extern "C" const char* __tsan_default_options();   // NOLINT: the sanitizer's name
extern "C" const char* __tsan_default_options() {  // NOLINT
  return "detect_deadlocks=0";
}
#endif

namespace podctl::testing {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kLives = 200;
constexpr std::uint64_t kAllLives = 5000;
constexpr int kTurns = 30;
constexpr std::array<const char*, 3> kLivePods = {"pod.research", "pod.other", "pod.third"};

class Life {
 public:
  explicit Life(std::uint64_t seed) : chance_(seed) {
    for (HostClock* clock : {&here_, &there_}) {
      clock->on_sleep = [this](milliseconds) { LetOthersOn(); };
    }
    here_.skew = hours(24);
    there_.skew = hours(-24);
    world_.place.page = 1 + Below(4);
    world_.place.hide_fresh = OneIn(2);
    if (OneIn(8)) world_.place.now = nullptr;
    faults_ = OneIn(4) ? 0 : 3 + Below(40);  // one in so many requests
  }

  void Play() {
    for (int turn = 0; turn < kTurns && !::testing::Test::HasFailure(); ++turn) {
      PassTime();
      if (Run* run = Pick()) Act(*run);
    }
    quiet_ = true;
    runs_.clear();  // locks are let go, of the dead too: that reaches nothing
    world_.place.Arrive();
    auto last = Begin();
    Load(*last);
    EXPECT_TRUE(last->journal->Load());
    oracle_.CheckJournal(world_.place);
  }

  const std::vector<std::string>& story() const { return story_; }

 private:
  struct Run {
    std::string name;
    bool on_here = true;
    int pid = 0;
    std::unique_ptr<JournalRun> journal;
    std::unique_ptr<StateLock> lock;
    std::string lock_id;
    State noted;  // what it knows, saved or not
    bool loaded = false;
    bool busy = false;  // in the middle of a request, or of a pause
    bool dead = false;
  };

  std::uint64_t Below(std::uint64_t bound) { return chance_() % bound; }
  bool OneIn(std::uint64_t bound) { return Below(bound) == 0; }
  void Tell(const Run& run, const std::string& what) {
    story_.push_back(fmt::format(
        "{:>9} s  {}{}: {}", std::chrono::floor<seconds>(world_.clock.Elapsed()).count(),
        std::string(static_cast<std::size_t>(depth_) * 2, ' '), run.name, what));
  }

  void PassTime() {
    switch (Below(12)) {
      case 0:
        world_.clock.Advance(hours(1 + Below(60)));
        break;
      case 1:
        world_.clock.Advance(seconds(Below(200)));
        break;
      case 2:
        (OneIn(2) ? here_ : there_).Suspend(seconds(Below(300)));
        break;
      default:
        world_.clock.Advance(seconds(Below(15)));
    }
  }

  std::unique_ptr<Run> Begin() {
    auto run = std::make_unique<Run>();
    run->on_here = OneIn(2);
    run->name = fmt::format("run {}", ++begun_);
    JournalStoreOptions options = JournalWorld::ByHand();
    options.run.who = run->name;
    options.patience = milliseconds(2000);
    options.compact_entries = 3;
    options.most_entries = 6;
    options.keep = 3;
    options.most_deleted = 4;
    run->journal =
        world_.OpenOn(run->on_here ? here_ : there_, run->on_here ? "here" : "there", options);
    run->pid = world_.last_pid();
    Run* lent = run.get();
    run->journal->blobs.before = [this, lent](const BlobRequest& request) {
      return Strike(*lent, request);
    };
    run->journal->blobs.after = [this, lent](const BlobRequest&) {
      if (!quiet_ && OneIn(300)) Kill(*lent);
      LetOthersOn();
    };
    return run;
  }

  // A run that is in the middle of nothing.
  Run* Pick() {
    std::vector<Run*> idle;
    for (const auto& run : runs_) {
      if (!run->busy && !run->dead) idle.push_back(run.get());
    }
    if (idle.size() < 2 || (idle.size() < 5 && OneIn(6))) {
      runs_.push_back(Begin());
      return runs_.back().get();
    }
    return idle[Below(idle.size())];
  }

  void LetOthersOn() {
    if (quiet_ || depth_ >= 3 || !OneIn(9)) return;
    ++depth_;
    for (std::uint64_t i = 1 + Below(3); i > 0; --i) {
      PassTime();
      if (Run* run = Pick()) Act(*run);
    }
    --depth_;
  }

  BlobFault Strike(Run& run, const BlobRequest& request) {
    if (quiet_) return {};
    LetOthersOn();
    if (OneIn(300)) Kill(run);
    if (faults_ == 0 || !OneIn(faults_)) return {};
    static constexpr ErrorCode kCodes[] = {ErrorCode::kUnavailable, ErrorCode::kResourceExhausted,
                                           ErrorCode::kPermissionDenied,
                                           ErrorCode::kUnauthenticated, ErrorCode::kInternal};
    const auto kind = static_cast<BlobFault::Kind>(1 + Below(5));
    Tell(run, fmt::format("fault {} at {} ({})", static_cast<int>(kind), request.name,
                          static_cast<int>(request.deed)));
    return {kind, MakeError(kCodes[Below(std::size(kCodes))], "a fault"),
            static_cast<int>(1 + Below(40))};
  }

  void Kill(Run& run) {
    if (run.dead) return;
    Tell(run, "killed");
    run.dead = true;
    run.journal->blobs.Kill();
    world_.Die(run.pid);
  }

  void Act(Run& run) {
    run.busy = true;
    switch (Below(14)) {
      case 0:
      case 1:
        Take(run);
        break;
      case 2:
        Load(run);
        break;
      case 3:
        if (run.loaded) {
          Tell(run, "compacts");
          run.journal->store.Compact();
        }
        break;
      case 4:
        if (OneIn(3)) Kill(run);
        break;
      case 5:
        if (OneIn(2)) End(run);
        break;
      case 6:
        Fence(run);
        break;
      case 7:
      case 8:
        if (run.lock) run.journal->store.Beat();
        CheckMayStart(run);
        break;
      default:
        if (!run.loaded) Load(run);
        Mark(run);
    }
    run.busy = false;
  }

  // In the eyes of the place itself.
  std::string LockId() {
    const auto text = LeaseFromJson(world_.place.Text(kLeaseName).value_or(""));
    return text ? text->info.id : "";
  }
  void CheckMayStart(Run& run) {
    if (run.dead || !run.lock || !run.journal->store.MayStart()) return;
    EXPECT_EQ(LockId(), run.lock_id) << run.name << " would start something under another's lock";
  }

  void Take(Run& run) {
    if (run.lock) return;
    const milliseconds wait(OneIn(2) ? 0 : static_cast<std::int64_t>(Below(200'000)));
    LockInfo info;
    info.operation = "apply";
    info.id = fmt::format("{} {}", run.name, ++taken_);
    auto lock = run.journal->store.Lock(info, wait, {});
    Tell(run, lock ? "locked; " + (*lock)->TakeoverNote()
                   : std::string(ErrorCodeName(lock.error().code)));
    if (!lock) return;
    run.lock = *std::move(lock);
    run.lock_id = info.id;
    CheckMayStart(run);
    Load(run);
  }

  void Load(Run& run) {
    const std::uint64_t newest = oracle_.newest();
    const auto loaded = run.journal->Load();
    run.loaded = loaded.has_value();
    Tell(run,
         loaded ? "loaded " + loaded->generation.token : "load failed: " + loaded.error().message);
    if (!loaded) {
      // A cut answer looks like damage; without one there is none.
      if (faults_ == 0 && !run.dead) {
        ADD_FAILURE() << loaded.error().message;
      }
      return;
    }
    oracle_.Read(*loaded, newest);
    if (!loaded->state) run.journal->state = SampleState();
    run.noted = run.journal->state;
  }

  void Fence(Run& run) {
    const std::uint64_t newest = oracle_.newest();
    const auto fenced = run.journal->store.Fence();
    Tell(run, fenced ? "fenced " + fenced->generation.token : fenced.error().message);
    run.loaded = false;
    if (!fenced) return;
    oracle_.Read(*fenced, newest);
    if (!fenced->state) return;
    run.journal->state = *fenced->state;
    run.journal->at = fenced->generation;
    run.noted = run.journal->state;
    run.loaded = true;
  }

  void Mark(Run& run) {
    if (!run.loaded) return;
    CheckMayStart(run);
    JournalRun& journal = *run.journal;
    State next = run.noted;
    Pods(next)[Addr(kLivePods[Below(kLivePods.size())])].current.uid =
        fmt::format("mark {}", ++marks_);
    oracle_.Meant(next);
    const auto saved =
        journal.at.none() || OneIn(5)
            ? journal.store.Save(next, &journal.at)
            : journal.store.Append(next, ChangesBetween(journal.state, next), &journal.at);
    Tell(run, fmt::format("mark {}: {}", marks_, saved ? journal.at.token : saved.error().message));
    if (saved) {
      if (run.dead) return;  // nobody was told
      journal.state = next;
      run.noted = next;
      oracle_.Acknowledged(next, journal.at);
    } else if (saved.error().code != ErrorCode::kFailedPrecondition) {
      run.noted.records = next.records;  // to be tried again with what comes next
    } else if (OneIn(2)) {
      (void)journal.store.SaveAside(journal.state);
      End(run);
    } else {
      Load(run);  // plans anew
    }
  }

  void End(Run& run) {
    if (run.loaded && OneIn(2)) run.journal->store.Compact();
    Tell(run, "ends");
    run.lock.reset();
    Kill(run);
  }

  std::mt19937_64 chance_;
  JournalWorld world_;
  HostClock here_{world_.clock};
  HostClock there_{world_.clock};
  JournalOracle oracle_;
  std::vector<std::unique_ptr<Run>> runs_;
  std::vector<std::string> story_;
  std::uint64_t faults_ = 0;
  bool quiet_ = false;
  int depth_ = 0;
  int begun_ = 0;
  int taken_ = 0;
  int marks_ = 0;
};

std::string WishFor(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

TEST(JournalLives, NothingAcknowledgedIsLostAndNoRunWritesAfterAnothersFence) {
  const std::string one = WishFor("PODCTL_TEST_SEED");
  const std::string wanted = WishFor("PODCTL_TEST_SEEDS");
  const std::uint64_t count = !wanted.empty()                       ? std::stoull(wanted)
                              : !WishFor("PODCTL_TEST_ALL").empty() ? kAllLives
                                                                    : kLives;
  const std::uint64_t first = one.empty() ? 1 : std::stoull(one);
  const std::uint64_t last = one.empty() ? count : first;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    Life life(seed);
    life.Play();
    if (!one.empty() || HasFailure()) {
      for (const std::string& line : life.story()) std::cout << line << "\n";
    }
    ASSERT_FALSE(HasFailure()) << "To repeat: PODCTL_TEST_SEED=" << seed
                               << " state_journal_test --gtest_filter='JournalLives*'";
  }
}

}  // namespace
}  // namespace podctl::testing
