// Lives of a state behind Terraform's http protocol, each told by a seed: runs on two hosts that
// write an intent, make a thing in the world, and write what came of it; faults of every kind,
// requests that arrive long after they were given up, kills, runs that stand still in the middle of
// a request, and people who unlock.
//
//   PODCTL_TEST_SEED=4711 http_store_test --gtest_filter='*HttpLives*'    one life, with its story
//   PODCTL_TEST_SEEDS=50000 http_store_test --gtest_filter='*HttpLives*'  so many
//
// The servers promise different things. GitLab and Gitea take no serial twice, so that nothing that
// was acknowledged is lost even when somebody unlocks a run that lives, and no late request does
// harm. A plain server has its lock alone: there nobody unlocks what lives, and a request that was
// given up arrives before the lock is another's, and before the same run reads the state again or
// saves another text. (Else it keeps what comes last, be it older: so in seed 86.) Nowhere does a
// lock run out; so of who was unlocked while he lived it is not promised that he makes nothing that
// another makes too.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>

#include "state/state_json.h"
#include "tests/state/stores/http/http_bench.h"
#include "tests/state/stores/journal_bench.h"

namespace podctl::testing {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kHttpLives = 50;
constexpr std::uint64_t kAllHttpLives = 5000;
constexpr int kHttpTurns = 40;

// What a state of these lives says: a mark of its own, the mark of the state it followed, and the
// one thing that is being made or was made last.
struct Said {
  std::string mark;
  std::string before;
  std::string thing;  // "intent 7", "made 7"; empty: none yet

  static Said In(State state) {
    const auto uid = [&](const char* address) { return Pods(state)[Addr(address)].current.uid; };
    return {uid("pod.mark"), uid("pod.before"), uid("pod.thing")};
  }
  void PutInto(State* state) const {
    Pods(*state)[Addr("pod.mark")].current.uid = mark;
    Pods(*state)[Addr("pod.before")].current.uid = before;
    Pods(*state)[Addr("pod.thing")].current.uid = thing;
  }
};

class HttpLife {
 public:
  HttpLife(StateServer::Kind kind, std::uint64_t seed) : chance_(seed), world_(kind) {
    here_.skew = hours(24);
    there_.skew = hours(-24);
    for (HostClock* clock : {&here_, &there_}) {
      clock->on_sleep = [this](milliseconds) { LetOthersOn(); };
    }
    faults_ = OneIn(4) ? 0 : 3 + Below(40);  // one in so many requests
  }

  ~HttpLife() { KillAll(); }
  void Play();
  const std::vector<std::string>& story() const { return story_; }

 private:
  struct Run;
  // A run's way to the server. Dead, it reaches nobody.
  class Way final : public http::Transport {
   public:
    Way(HttpLife& life, Run& run) : life_(life), run_(run) {}
    Result<http::Response> Send(const http::Request& request, std::stop_token stop) override;

   private:
    HttpLife& life_;
    Run& run_;
  };
  struct Run {
    std::string name;
    int pid = 0;
    std::unique_ptr<Way> way;
    std::unique_ptr<HttpStore> store;
    std::unique_ptr<StateLock> lock;
    State state;  // as it is stored, as far as it knows
    Generation at;
    bool loaded = false;
    bool busy = false;  // in the middle of a request, or of a pause
    bool dead = false;
  };

  bool IsPlain() const { return world_.server.kind() == StateServer::Kind::kPlain; }
  std::uint64_t Below(std::uint64_t bound) { return chance_() % bound; }
  bool OneIn(std::uint64_t bound) { return Below(bound) == 0; }
  void Tell(const Run& run, const std::string& what) {
    story_.push_back(fmt::format(
        "{:>7} s  {}{}: {}", std::chrono::floor<seconds>(world_.clock.Elapsed()).count(),
        std::string(static_cast<std::size_t>(depth_) * 2, ' '), run.name, what));
  }

  std::unique_ptr<Run> Begin();
  Run* Pick();
  void LetOthersOn();
  void PassTime();
  void Kill(Run& run);
  void KillAll();
  void Act(Run& run);
  void Take(Run& run);
  void Unlock(Run& run);
  void Load(Run& run);
  void Step(Run& run);
  bool Save(Run& run, const std::string& thing);
  void Make(const std::string& number);

  Result<http::Response> Carry(Run& run, const http::Request& request);
  Result<http::Response> Arrive(const std::string& who, const http::Request& request);
  void ArriveLate();
  void Notice(const std::string& who);

  std::mt19937_64 chance_;
  HttpWorld world_;
  StateServerTransport direct_{world_.server};
  HostClock here_{world_.clock};
  HostClock there_{world_.clock};
  std::vector<std::unique_ptr<Run>> runs_;
  std::vector<std::pair<std::string, http::Request>> late_;
  std::vector<std::string> story_;

  std::optional<std::string> stored_;         // as it was noticed last
  std::vector<Said> chain_;                   // all that ever stood there
  std::map<std::string, std::size_t> place_;  // of a mark in the chain
  std::set<std::string> acknowledged_;        // marks
  std::set<std::string> made_;
  bool unlocked_living_ = false;
  std::uint64_t faults_ = 0;
  bool quiet_ = false;
  int depth_ = 0;
  int begun_ = 0;
  int marks_ = 0;
  int things_ = 0;
};

Result<http::Response> HttpLife::Way::Send(const http::Request& request, std::stop_token stop) {
  if (stop.stop_requested()) return MakeError(ErrorCode::kCancelled, "stopped");
  return life_.Carry(run_, request);
}

// ---- The way to the server, and what comes to stand there.

Result<http::Response> HttpLife::Carry(Run& run, const http::Request& request) {
  const auto dead = [] { return MakeError(ErrorCode::kInvalidArgument, "dead"); };
  if (run.dead) return dead();
  if (quiet_) return Arrive(run.name, request);
  LetOthersOn();
  if (OneIn(300)) Kill(run);
  if (run.dead) return dead();
  if (faults_ != 0 && OneIn(faults_)) {
    static constexpr int kStatuses[] = {302, 401, 403, 408, 409, 413, 422,
                                        423, 429, 500, 502, 503, 504};
    const std::uint64_t fault = Below(6);
    const int status = kStatuses[Below(std::size(kStatuses))];
    Tell(run, fmt::format("fault {} ({}) at {}", fault, status, request.method));
    switch (fault) {
      case 0:
        return MakeError(ErrorCode::kUnavailable, "no connection");
      case 1:
        return MakeError(ErrorCode::kReplyLost, "cut");
      case 2:
        (void)Arrive(run.name, request);
        return MakeError(ErrorCode::kReplyLost, "cut");
      case 3:
        late_.emplace_back(run.name, request);
        return MakeError(ErrorCode::kReplyLost, "cut");
      case 4:
        // What a proxy says although the server has done it.
        if (status >= 500) (void)Arrive(run.name, request);
        return http::Response{status, {}, "<html>trouble</html>"};
      default:
        return http::Response{status, {}, "<html>trouble</html>"};
    }
  }
  auto answer = Arrive(run.name, request);
  LetOthersOn();
  if (OneIn(300)) Kill(run);
  if (run.dead) return dead();
  return answer;
}

Result<http::Response> HttpLife::Arrive(const std::string& who, const http::Request& request) {
  // On a plain server neither another's lock nor a later text finds anything on its way.
  const bool overtakes =
      !late_.empty() && (late_.front().first != who ||
                         (request.method == "POST" && request.body != late_.front().second.body));
  if (IsPlain() && overtakes) ArriveLate();
  auto answer = direct_.Send(request, {});
  Notice(who);
  return answer;
}

void HttpLife::ArriveLate() {
  const auto late = std::exchange(late_, {});
  for (const auto& [who, request] : late) {
    (void)direct_.Send(request, {});
    Notice(who + ", late");
  }
}

void HttpLife::Notice(const std::string& who) {
  const auto now = world_.server.Stored();
  if (now == stored_) return;
  ASSERT_TRUE(now) << who << " removed the state";
  stored_ = now;
  const auto state = StateFromJson(*now, "the server", RememberedKinds());
  ASSERT_TRUE(state) << state.error().message;
  const Said said = Said::In(*state);
  const Said last = chain_.empty() ? Said{} : chain_.back();
  EXPECT_EQ(said.before, last.mark) << who << " wrote " << said.mark << " over what it never saw";
  EXPECT_TRUE(place_.emplace(said.mark, chain_.size()).second)
      << said.mark << " came to stand there twice, by " << who;
  // Each thing is meant, then made: no step in between is lost.
  if (said.thing != last.thing && said.thing.starts_with("made ")) {
    EXPECT_EQ(last.thing, "intent " + said.thing.substr(5)) << who;
  } else if (said.thing != last.thing) {
    EXPECT_FALSE(last.thing.starts_with("intent ")) << who << " forgot " << last.thing;
  }
  chain_.push_back(said);
}

// ---- Runs.

std::unique_ptr<HttpLife::Run> HttpLife::Begin() {
  auto run = std::make_unique<Run>();
  const bool here = OneIn(2);
  run->name = fmt::format("run {} {}", ++begun_, here ? "here" : "there");
  run->way = std::make_unique<Way>(*this, *run);
  const LockHolder self = world_.NextHolder(here ? "here" : "there");
  run->pid = self.pid;
  run->store = std::make_unique<HttpStore>(
      world_.Place(), HttpStoreDoors{*run->way, world_.files, here ? here_ : there_, world_.random},
      self, RememberedKinds());
  return run;
}

// A run that is in the middle of nothing.
HttpLife::Run* HttpLife::Pick() {
  std::vector<Run*> idle;
  for (const auto& run : runs_) {
    if (!run->busy && !run->dead) idle.push_back(run.get());
  }
  if (idle.size() < 2 || (idle.size() < 4 && OneIn(6))) {
    runs_.push_back(Begin());
    return runs_.back().get();
  }
  return idle[Below(idle.size())];
}

void HttpLife::PassTime() {
  if (OneIn(20)) ArriveLate();
  switch (Below(12)) {
    case 0:
      world_.clock.Advance(hours(1 + Below(60)));
      break;
    case 1:
      (OneIn(2) ? here_ : there_).Suspend(seconds(Below(300)));
      break;
    default:
      world_.clock.Advance(seconds(Below(15)));
  }
}

void HttpLife::LetOthersOn() {
  if (quiet_ || depth_ >= 3 || !OneIn(9)) return;
  ++depth_;
  for (std::uint64_t i = 1 + Below(4); i > 0; --i) {
    PassTime();
    if (Run* run = Pick()) Act(*run);
  }
  --depth_;
}

void HttpLife::Kill(Run& run) {
  if (run.dead) return;
  Tell(run, "killed");
  run.dead = true;
  world_.Kill(run.pid);
}

void HttpLife::KillAll() {
  quiet_ = true;
  for (const auto& run : runs_) Kill(*run);
  runs_.clear();
}

void HttpLife::Act(Run& run) {
  run.busy = true;
  switch (Below(14)) {
    case 0:
      if (OneIn(3)) Kill(run);
      break;
    case 1:
      if (OneIn(2)) {
        Tell(run, "ends");
        run.lock.reset();
        Kill(run);
      }
      break;
    case 2:
      Unlock(run);
      break;
    case 3:
      Load(run);  // as a plan does
      break;
    default:
      if (!run.lock) Take(run);
      if (run.lock && !run.loaded) Load(run);
      Step(run);
  }
  run.busy = false;
}

void HttpLife::Take(Run& run) {
  const milliseconds wait(OneIn(2) ? 0 : static_cast<std::int64_t>(Below(20'000)));
  auto lock = run.store->Lock(LockInfoFor("apply"), wait, {});
  Tell(run,
       lock ? "locked; " + (*lock)->TakeoverNote() : std::string(ErrorCodeName(lock.error().code)));
  if (!lock) return;
  run.lock = *std::move(lock);
  run.loaded = false;
}

// Somebody who believes that the run which holds the lock has ended.
void HttpLife::Unlock(Run& run) {
  const std::string id = world_.server.LockId();
  if (id.empty()) return;
  const bool lives = std::any_of(runs_.begin(), runs_.end(), [&](const auto& other) {
    return !other->dead && id.ends_with(fmt::format(".{}.77", other->pid));
  });
  if (lives && (IsPlain() || !OneIn(4))) return;
  const auto unlocked = run.store->ForceUnlock(id);
  Tell(run, "unlocks: " + (unlocked ? "done" : unlocked.error().message));
  unlocked_living_ = unlocked_living_ || lives;
}

void HttpLife::Load(Run& run) {
  if (IsPlain()) ArriveLate();
  const std::size_t stood = chain_.size();
  const auto loaded = run.store->Load();
  run.loaded = loaded.has_value();
  if (!loaded) {
    Tell(run, "load failed: " + loaded.error().message);
    EXPECT_TRUE(faults_ != 0 || run.dead) << loaded.error().message;
    return;
  }
  run.at = loaded->generation;
  run.state = loaded->state.value_or(State{});
  const Said said = Said::In(run.state);
  Tell(run, "loaded " + said.mark);
  if (run.dead) return;
  if (!loaded->state) {
    EXPECT_EQ(stood, 0U) << "nothing is read where something stands";
  } else {
    ASSERT_TRUE(place_.contains(said.mark)) << said.mark;
    EXPECT_GE(place_[said.mark] + 1, stood) << "what is read is older than what stood there";
  }
}

// Makes the thing that the state means to make, or means to make the next one.
void HttpLife::Step(Run& run) {
  if (!run.loaded || !run.lock) return;
  const std::string thing = Said::In(run.state).thing;
  if (!thing.starts_with("intent ")) {
    Save(run, fmt::format("intent {}", ++things_));
    return;
  }
  if (run.dead) return;
  LetOthersOn();
  if (run.dead) return;
  // As after a crash: it looks whether the thing is there.
  const std::string number = thing.substr(7);
  if (!made_.contains(number) || unlocked_living_) Make(number);
  Save(run, "made " + number);
}

void HttpLife::Make(const std::string& number) {
  const bool fresh = made_.insert(number).second;
  if (!unlocked_living_) {
    EXPECT_TRUE(fresh) << number << " is made twice";
  }
  EXPECT_TRUE(std::any_of(chain_.begin(), chain_.end(),
                          [&](const Said& said) { return said.thing == "intent " + number; }))
      << number << " is made, and its intent stands nowhere";
}

bool HttpLife::Save(Run& run, const std::string& thing) {
  const Said before = Said::In(run.state);
  State next = run.state;
  const std::string mark = fmt::format("mark {}", ++marks_);
  Said{mark, before.mark, thing}.PutInto(&next);
  auto saved = run.store->Save(next, &run.at);
  // As an executor does it: once more, with what there is to say by then.
  if (!saved && OneIn(2)) saved = run.store->Save(next, &run.at);
  Tell(run, fmt::format("{} ({}): {}", mark, thing, saved ? "saved" : saved.error().message));
  if (run.dead) return false;  // nobody was told
  if (saved) {
    run.state = next;
    EXPECT_TRUE(acknowledged_.insert(mark).second);
    EXPECT_TRUE(place_.contains(mark)) << mark << " was acknowledged and stands nowhere";
    return true;
  }
  run.loaded = false;
  if (OneIn(2)) {
    (void)run.store->SaveAside(next);
    run.lock.reset();
    Kill(run);
  }
  return false;
}

void HttpLife::Play() {
  for (int turn = 0; turn < kHttpTurns && !::testing::Test::HasFailure(); ++turn) {
    PassTime();
    if (Run* run = Pick()) Act(*run);
  }
  if (::testing::Test::HasFailure()) return;
  KillAll();
  ArriveLate();
  // Who holds the lock died on one of the two hosts, where it is taken over; or with a lock that
  // came late, and somebody unlocks it.
  auto last = Begin();
  if (const std::string id = world_.server.LockId(); !id.empty()) {
    (void)last->store->ForceUnlock(id);
  }
  Take(*last);
  ASSERT_TRUE(last->lock);
  Load(*last);
  ASSERT_TRUE(last->loaded);
  for (int i = 0; i < 3; ++i) {
    Step(*last);
    EXPECT_TRUE(last->loaded);
  }
  last->lock.reset();
  EXPECT_EQ(world_.server.LockId(), "");
  for (const std::string& mark : acknowledged_) EXPECT_TRUE(place_.contains(mark)) << mark;
}

std::string HttpWishFor(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

class HttpLives : public ::testing::TestWithParam<StateServer::Kind> {};

INSTANTIATE_TEST_SUITE_P(OnGitLab, HttpLives, ::testing::Values(StateServer::Kind::kGitLab));
INSTANTIATE_TEST_SUITE_P(OnGitea, HttpLives, ::testing::Values(StateServer::Kind::kGitea));
INSTANTIATE_TEST_SUITE_P(OnAPlainServer, HttpLives, ::testing::Values(StateServer::Kind::kPlain));

TEST_P(HttpLives, NothingIsMadeTwiceAndNoStepIsLost) {
  const std::string one = HttpWishFor("PODCTL_TEST_SEED");
  const std::string wanted = HttpWishFor("PODCTL_TEST_SEEDS");
  const std::uint64_t count = !wanted.empty()                           ? std::stoull(wanted)
                              : !HttpWishFor("PODCTL_TEST_ALL").empty() ? kAllHttpLives
                                                                        : kHttpLives;
  const std::uint64_t first = one.empty() ? 1 : std::stoull(one);
  const std::uint64_t last = one.empty() ? count : first;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    HttpLife life(GetParam(), seed);
    life.Play();
    if (!one.empty() || HasFailure()) {
      for (const std::string& line : life.story()) std::cout << line << "\n";
    }
    ASSERT_FALSE(HasFailure()) << "To repeat: PODCTL_TEST_SEED=" << seed
                               << " http_store_test --gtest_filter='"
                               << ::testing::UnitTest::GetInstance()->current_test_suite()->name()
                               << "*'";
  }
}

}  // namespace
}  // namespace podctl::testing
