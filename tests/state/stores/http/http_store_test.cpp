#include "state/stores/http/http_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "providers/base/digest.h"
#include "providers/base/encoding.h"
#include "providers/base/json.h"
#include "state/run_notes.h"
#include "state/state_json.h"
#include "tests/conformance/state_store_suite.h"
#include "tests/state/stores/http/http_bench.h"
#include "tests/support/fake_transport.h"
#include "tests/support/golden.h"

namespace podctl::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Kind = StateServer::Kind;

class PlainBench final : public StoreBench {
 public:
  std::unique_ptr<StateStore> Open() override { return world_.Open(); }
  std::optional<std::string> Stored() override { return world_.server.Stored(); }
  void Overwrite(const std::string& bytes) override { world_.server.Overwrite(bytes); }
  FakeClock& clock() override { return world_.clock; }

 private:
  HttpWorld world_{Kind::kPlain};
};

INSTANTIATE_TEST_SUITE_P(OnAPlainServer, StateStoreSuite,
                         ::testing::Values([] { return std::make_unique<PlainBench>(); }));

// ---- What is sent.

TEST(HttpStore, ASaveIsALookAndAPostUnderTheLock) {
  HttpWorld world;
  HttpRun run = Running(world);
  const std::string id = world.server.LockId();
  const std::size_t before = world.transport.asked().size();
  ASSERT_TRUE(run.Mark("one"));
  const auto& asked = world.transport.asked();
  const std::string path = world.server.path();
  EXPECT_THAT(
      std::vector<std::string>(asked.begin() + static_cast<std::ptrdiff_t>(before), asked.end()),
      ElementsAre("GET " + path, "POST " + path + "?ID=" + id));
  run.lock.reset();
  EXPECT_EQ(asked.back(), "DELETE " + path + "/lock");
  EXPECT_EQ(world.server.LockId(), "");
}

TEST(HttpStore, CredentialsAndTheSumGoWithTheRequest) {
  HttpWorld world;
  FakeTransport transport;
  transport.Then(404).Then(201, "");
  auto store = world.Open(transport, world.Place());
  State state = SampleState();
  Generation at;
  ASSERT_TRUE(store->Save(state, &at));
  EXPECT_EQ(transport.Header(1, "Authorization"), "Basic " + Base64Encode("alice:s3cret"));
  EXPECT_EQ(transport.Header(1, "Content-Type"), "application/json");
  EXPECT_EQ(transport.Header(1, "Content-MD5"),
            Base64Encode(Md5Bytes(transport.requests()[1].body)));
  EXPECT_TRUE(transport.requests()[1].once);
}

TEST(HttpStore, ARedirectElsewhereGetsNoPassword) {
  HttpWorld world;
  const std::string text = StateToJson(SampleState());
  FakeTransport transport;
  transport.Then(307, "", {{"location", "https://blobs.example/x?sig=1"}}).Then(200, text);
  ASSERT_TRUE(world.Open(transport, world.Place())->Load());
  EXPECT_EQ(transport.requests()[1].url, "https://blobs.example/x?sig=1");
  EXPECT_EQ(transport.Header(1, "Authorization"), "");

  FakeTransport down;
  down.Then(302, "", {{"location", "http://forge.example/x"}});
  EXPECT_EQ(world.Open(down, world.Place())->Load().error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(down.requests().size(), 1U);
}

// It is no word of somebody else who saved.
TEST(HttpStore, ASaveOrALockThatIsSentElsewhereNamesTheNewAddress) {
  HttpWorld world;
  for (const std::string& to :
       {std::string("https://forge.example/api/new?sig=s3cret"), std::string("/api/new")}) {
    for (const int status : {301, 307, 308}) {
      FakeTransport way;
      way.Then(404).Then(status, "", {{"location", to}});
      State state = SampleState();
      Generation at;
      const auto saved = world.Open(way, world.Place())->Save(state, &at);
      ASSERT_FALSE(saved);
      EXPECT_EQ(saved.error().code, ErrorCode::kInvalidArgument);
      EXPECT_THAT(saved.error().hint, HasSubstr("moved to https://forge.example/api/new:"));
      EXPECT_EQ(way.requests().size(), 2U);
      FakeTransport locks;
      locks.Then(status, "", {{"location", to}});
      const auto locked = world.Open(locks, world.Place())->Lock(LockInfoFor("apply"), {}, {});
      ASSERT_FALSE(locked);
      EXPECT_EQ(locked.error().code, ErrorCode::kInvalidArgument);
      EXPECT_THAT(locked.error().hint, HasSubstr("moved to https://forge.example/api/new:"));
    }
  }
}

TEST(HttpStore, WhatComesDamagedIsReadAgain) {
  HttpWorld world;
  const std::string text = StateToJson(SampleState());
  const std::string sum = Base64Encode(Md5Bytes(text));
  FakeTransport once;
  once.Then(200, text.substr(1), {{"content-md5", sum}}).Then(200, text, {{"content-md5", sum}});
  EXPECT_TRUE(world.Open(once, world.Place())->Load());
  FakeTransport always;
  always.Then(200, text.substr(1), {{"content-md5", sum}});
  EXPECT_EQ(world.Open(always, world.Place())->Load().error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(always.requests().size(), 3U);
}

// ---- What others keep there.

TEST(HttpStore, AStateOfTerraformIsNeverWrittenOver) {
  for (
      const char* const text :
      {R"({"version":4,"terraform_version":"1.11.4","serial":3,"lineage":"x","resources":[]})",
       R"({"serial":3,"lineage":"x","meta":{},"encrypted_data":"AAAA","encryption_version":"v0"})"}) {
    HttpWorld world;
    HttpRun run = Running(world);
    world.server.Overwrite(text);
    EXPECT_EQ(run.Mark("one").error().code, ErrorCode::kFailedPrecondition);
    EXPECT_EQ(run.store->Push(run.state, &run.at).error().code, ErrorCode::kFailedPrecondition);
    const auto loaded = world.Open()->Load();
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, ErrorCode::kFailedPrecondition);
    EXPECT_THAT(loaded.error().message, HasSubstr("one of Terraform or OpenTofu"));
    EXPECT_EQ(world.server.Stored(), text);
  }
}

TEST(HttpStore, AHiddenProjectOfGitLabIsNotAStateThatIsNotThere) {
  HttpWorld world(Kind::kGitLab);
  FakeTransport transport;
  transport.Then(404, R"({"message":"404 Project Not Found"})");
  const auto loaded = world.Open(transport, world.Place())->Load();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kNotFound);
  FakeTransport none;
  none.Then(404, R"({"message":"404 Not found"})");
  EXPECT_TRUE(world.Open(none, world.Place())->Load());
}

// ---- Others who save.

// Between the look and the post: the server's serials are what is left.
TEST(HttpStore, OfTwoWhoSaveAtOnceTheServersSerialsLetOne) {
  for (const Kind kind : {Kind::kGitLab, Kind::kGitea}) {
    HttpWorld world(kind);
    HttpRun first = Running(world);
    first.lock.reset();
    HttpRun second(world.Open("there"));
    ASSERT_TRUE(second.Load());
    FakeTransport between;
    between.Then([&](const http::Request& request) {
      auto answer = world.transport.Send(request, {});
      EXPECT_TRUE(second.Mark("second"));
      return answer;
    });
    between.Then([&](const http::Request& request) { return world.transport.Send(request, {}); });
    HttpRun third(world.Open(between, world.Place()));
    third.state = first.state;
    third.at = first.at;
    const auto saved = third.Mark("third");
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error().code, ErrorCode::kFailedPrecondition);
    EXPECT_THAT(saved.error().message, HasSubstr("changed by somebody else"));
    EXPECT_EQ(UidIn(world), "second");
  }
}

// What stands there may have the serial and the lineage of what was read, and be another.
TEST(HttpStore, TheSameSerialIsNotTheSameState) {
  HttpWorld world(Kind::kPlain);
  HttpRun run = Running(world);
  State other = run.state;
  Pods(other)[Addr("pod.research")].current.uid = "other";
  world.server.Overwrite(StateToJson(other));
  EXPECT_EQ(run.Mark("mine").error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(UidIn(world), "other");
}

TEST(HttpStore, ASerialThatIsGoneThereIsToldAsThat) {
  HttpWorld world;
  HttpRun run = Running(world);
  const std::string before = *world.server.Stored();
  ASSERT_TRUE(run.Mark("one"));
  run.lock.reset();
  world.server.Overwrite(before);  // its owner has removed the newest version
  HttpRun next(world.Open());
  ASSERT_TRUE(next.Load());
  const auto saved = next.Mark("two");
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(saved.error().hint, HasSubstr("has had this serial before"));
}

TEST(HttpStore, WhoLostTheLockSavesNothing) {
  HttpWorld world;
  HttpRun slow = Running(world);
  world.server.BreakLock();
  HttpRun thief(world.Open("there"));
  ASSERT_TRUE(thief.TakeLock());
  const auto saved = slow.Mark("slow");
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(saved.error().message, HasSubstr("was taken from this run\nLock Info:"));
  EXPECT_THAT(saved.error().message, HasSubstr("alice@there"));
  // Its release leaves the other's alone.
  const std::string id = world.server.LockId();
  slow.lock.reset();
  EXPECT_EQ(world.server.LockId(), id);
}

TEST(HttpStore, WithoutALockAnothersKeepsOneFromSaving) {
  HttpWorld world;
  HttpRun holder = Running(world);
  HttpRun loose(world.Open("there"));
  ASSERT_TRUE(loose.Load());
  const auto saved = loose.Mark("loose");
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::kLocked);
}

// ---- Beside it.

TEST(HttpStore, EarlierSerialsAreFoundWhereTheServerKeepsThem) {
  for (const Kind kind : {Kind::kGitLab, Kind::kGitea, Kind::kPlain}) {
    HttpWorld world(kind);
    HttpRun run = Running(world);
    ASSERT_TRUE(run.Mark("one"));
    ASSERT_TRUE(run.Mark("two"));
    const auto history = run.store->History();
    ASSERT_TRUE(history) << history.error().message;
    const bool keeps = kind != Kind::kPlain;
    ASSERT_EQ(history->size(), keeps ? 2U : 0U);
    const auto old = run.store->LoadHistory(run.state.serial - 1);
    ASSERT_EQ(old.has_value(), keeps);
    if (!keeps) continue;
    EXPECT_EQ(history->front().serial, run.state.serial - 1);
    EXPECT_EQ(old->records.at(Addr("pod.research")).As<PodRecord>().current.uid, "one");
    EXPECT_EQ(run.store->LoadHistory(4).error().code, ErrorCode::kNotFound);
  }
}

TEST(HttpStore, WhatCannotBeSavedIsWrittenToThisMachine) {
  HttpWorld world;
  HttpRun run = Running(world);
  const auto aside = run.store->SaveAside(run.state);
  ASSERT_TRUE(aside) << aside.error().message;
  EXPECT_EQ(*aside, fmt::format("/tmp/podctl.errored-{}", run.state.serial + 1));
  const auto again = run.store->SaveAside(run.state);
  ASSERT_TRUE(again);
  EXPECT_NE(*again, *aside);
  // What is stored since, or written again, goes, and nothing that this run did not write.
  ASSERT_TRUE(world.files.WriteNew("/tmp/podctl.errored-9", "another's", 0600));
  run.store->DropAside(*aside);
  run.store->DropAside("/tmp/podctl.errored-9");
  EXPECT_FALSE(world.files.Stat(*aside));
  EXPECT_TRUE(world.files.Stat(*again));
  EXPECT_TRUE(world.files.Stat("/tmp/podctl.errored-9"));
}

// Until somebody has saved since; a save of which nobody knows whether it stands there is its own.
TEST(HttpStore, WhatCouldNotBeSavedKnowsWhatItFollows) {
  HttpWorld world;
  HttpRun run = Running(world);
  const auto aside = run.store->SaveAside(run.state);
  ASSERT_TRUE(aside);
  const auto notes =
      NotesFromJson(*world.files.Read(*aside, kMaxStateBytes), "f", RememberedKinds());
  ASSERT_TRUE(notes) << notes.error().message;
  EXPECT_EQ(notes->run.operation, "apply");
  EXPECT_TRUE(CheckPush(*run.store->Load(), *notes, false));
  ASSERT_TRUE(run.Mark("since"));
  const auto refused = CheckPush(*run.store->Load(), *notes, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kFailedPrecondition);
}

TEST(HttpStore, ADamagedStateIsKeptAndReplaced) {
  HttpWorld world;
  HttpRun run = Running(world);
  ASSERT_TRUE(run.Mark("one"));
  const std::string damaged = world.server.Stored()->substr(0, 500);
  world.server.Overwrite(damaged);
  ASSERT_EQ(run.Load().error().code, ErrorCode::kDataLoss);
  const auto aside = run.store->SetAside();
  ASSERT_TRUE(aside) << aside.error().message;
  EXPECT_EQ(world.files.Read(*aside, 10'000).value_or(""), damaged);
  EXPECT_EQ(world.server.Stored(), damaged);
  ASSERT_TRUE(run.Load());
  EXPECT_TRUE(run.at.none());
  run.state = SampleState();
  const auto saved = run.Mark("two");
  ASSERT_TRUE(saved) << saved.error().message;
  EXPECT_EQ(run.state.serial, 3U);
  EXPECT_EQ(UidIn(world), "two");
}

std::string With(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// Who looks there wants one that is not damaged.
TEST(HttpStore, BehindADamagedStateTheEarlierOnesAreFound) {
  for (const Kind kind : {Kind::kGitLab, Kind::kGitea}) {
    HttpWorld world(kind);
    HttpRun run = Running(world);
    for (const char* const mark : {"one", "two", "three"}) ASSERT_TRUE(run.Mark(mark));
    run.lock.reset();
    const std::string whole = *world.server.Stored();
    // Cut; changed; with a serial that is none of its own, or none at all.
    for (const std::string& damaged :
         {whole.substr(0, 500), With(whole, "three", "thr33"),
          With(whole, "\"serial\": 4", "\"serial\": 9000000"),
          With(whole, "\"serial\": 4", "\"serial\": 2"),
          std::string("{\"serial\":1,\"lineage\":\"x\"}"), std::string()}) {
      SCOPED_TRACE(damaged.substr(0, 200));
      world.server.Overwrite(damaged);
      HttpRun mend(world.Open());
      ASSERT_TRUE(mend.TakeLock());
      EXPECT_EQ(mend.Load().error().code, ErrorCode::kDataLoss);
      EXPECT_THAT(mend.Load().error().hint, HasSubstr("`podctl state restore` takes one"));
      const auto history = mend.store->History();
      ASSERT_TRUE(history) << history.error().message;
      if (damaged.size() >= 500 && damaged.find("9000000") == std::string::npos &&
          damaged.find("\"serial\": 2") == std::string::npos) {
        ASSERT_EQ(history->size(), 3U);
        EXPECT_EQ(history->front().serial, 3U);
      }
      const auto old = mend.store->LoadHistory(3);
      ASSERT_TRUE(old) << old.error().message;
      ASSERT_TRUE(mend.store->SetAside());
      ASSERT_TRUE(mend.Load());
      mend.state = *old;
      mend.state.serial = 4;  // as who restores 3 has it
      const auto pushed = mend.store->Push(mend.state, &mend.at);
      ASSERT_TRUE(pushed) << pushed.error().message;
      EXPECT_GE(mend.state.serial, 5U);
      EXPECT_EQ(UidIn(world), "two");
    }
  }
}

TEST(HttpStore, WhereNoSerialsAreKeptADamagedStateIsSaidToNeedACopy) {
  HttpWorld world(Kind::kPlain);
  HttpRun run = Running(world);
  world.server.Overwrite(world.server.Stored()->substr(0, 500));
  const Error error = run.Load().error();
  EXPECT_EQ(error.code, ErrorCode::kDataLoss);
  EXPECT_THAT(error.hint, HasSubstr("podctl state push --force FILE"));
  EXPECT_THAT(error.hint, Not(HasSubstr("history")));
}

// ---- Of a move (what it comes to is in tests/plans/session/migrate_test.cpp).

TEST(HttpStore, WhereNothingStandsAnyMoreTheNextStateGoesOnInSerials) {
  for (const Kind kind : {Kind::kGitLab, Kind::kGitea, Kind::kPlain}) {
    HttpWorld world(kind);
    HttpRun run = Running(world);
    auto place = run.store->LoadPlace();
    ASSERT_TRUE(place);
    ASSERT_TRUE(run.store->PutPlace({}, &place->generation));
    EXPECT_TRUE(place->generation.none());
    run.lock.reset();
    const auto loaded = world.Open()->Load();
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_FALSE(loaded->state);
    // A podctl that does not know that document takes it for a state on its way.
    EXPECT_EQ(StateFromJson(*world.server.Stored(), "x", RememberedKinds()).error().code,
              ErrorCode::kFailedPrecondition);
    HttpRun next(world.Open());
    ASSERT_TRUE(next.TakeLock());
    ASSERT_TRUE(next.Load());
    const auto saved = next.Save();
    ASSERT_TRUE(saved) << saved.error().message;
    EXPECT_EQ(next.state.serial, 3U);
  }
}

TEST(HttpStore, WhatStandsInAPlaceIsExchangedForWhatWasReadAlone) {
  HttpWorld world(Kind::kPlain);
  HttpRun run = Running(world);
  auto place = run.store->LoadPlace();
  ASSERT_TRUE(place);
  const Generation before = place->generation;
  ASSERT_TRUE(run.Mark("meanwhile"));
  StateMove move;
  move.other = "/elsewhere";
  move.lineage = run.state.lineage;
  EXPECT_EQ(run.store->PutPlace({run.state, move}, &place->generation).error().code,
            ErrorCode::kFailedPrecondition);
  EXPECT_EQ(place->generation, before);
  EXPECT_EQ(UidIn(world), "meanwhile");
  // And once it says that the state leaves, it is none that this very store continues.
  ASSERT_TRUE(run.store->PutPlace({run.state, move}, &run.at));
  EXPECT_EQ(run.Mark("late").error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(run.store->Push(run.state, &run.at).error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(world.Open()->LoadPlace()->placed.move, move);
}

TEST(HttpStore, WhatIsTooLargeForAPlaceIsSaidBeforeItIsTried) {
  HttpWorld world;
  HttpRun run = Running(world);
  EXPECT_TRUE(run.store->MayPutPlace({run.state, std::nullopt}));
  Pods(run.state)[Addr("pod.research")].metadata["x"] = std::string(std::size_t{64} << 20, 'x');
  EXPECT_EQ(run.store->MayPutPlace({run.state, std::nullopt}).error().code,
            ErrorCode::kResourceExhausted);
}

TEST(HttpStore, WhatStandsInAPlaceIsExchangedWhateverFailsOnTheWay) {
  using Trouble = StateServerTransport::Fault;
  for (const Kind kind : {Kind::kGitLab, Kind::kGitea, Kind::kPlain}) {
    for (const Trouble fault :
         {Trouble::kNoConnection, Trouble::kLostBefore, Trouble::kLostAfter}) {
      for (int k = 0; k < 2; ++k) {
        HttpWorld world(kind);
        HttpRun run = Running(world);
        auto place = run.store->LoadPlace();
        ASSERT_TRUE(place);
        StateMove move;
        move.stage = StateMove::Stage::kGone;
        move.other = "/elsewhere";
        move.lineage = run.state.lineage;
        for (const PlacedState& put : {PlacedState{std::nullopt, move}, PlacedState{}}) {
          world.transport.FailAt(k, fault);
          const auto done = run.store->PutPlace(put, &place->generation);
          ASSERT_TRUE(done) << done.error().message;
          world.transport.FailAt(-1, Trouble::kNone);
          auto there = world.Open()->LoadPlace();
          ASSERT_TRUE(there);
          EXPECT_EQ(there->placed, put);
          EXPECT_EQ(there->generation, place->generation);
        }
      }
    }
  }
}

TEST(HttpStore, AStateThatIsTooLargeIsNotBegun) {
  HttpWorld world;
  HttpRun run = Running(world);
  const std::string before = *world.server.Stored();
  Pods(run.state)[Addr("pod.research")].metadata["x"] = std::string(std::size_t{64} << 20, 'x');
  const Error error = run.Save().error();
  EXPECT_EQ(error.code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(error.hint, Not(HasSubstr("bucket")));
  EXPECT_EQ(world.server.Stored(), before);
}

// ---- How often is asked.

TEST(HttpStore, RetriesAreThoseThatTheVariablesSay) {
  HttpWorld world;
  for (const int retries : {0, 3}) {
    HttpPlace place = world.Place();
    place.retries = retries;
    place.first_wait = place.longest_wait = std::chrono::seconds(2);
    FakeTransport down;
    down.Then(ErrorCode::kUnavailable);
    const auto before = world.clock.Elapsed();
    EXPECT_FALSE(world.Open(down, place)->Load());
    EXPECT_EQ(down.requests().size(), 1U + static_cast<std::size_t>(retries));
    EXPECT_LE(world.clock.Elapsed() - before, std::chrono::seconds(2 * retries));
  }
  EXPECT_EQ(world.Open()->LeastSavePace(), std::chrono::seconds(1));
}

TEST(HttpStore, AServerThatIsAwayIsAskedForHalfAMinute) {
  using std::chrono::seconds;
  for (const HttpDeed deed : {HttpDeed::kRead, HttpDeed::kSave, HttpDeed::kLock}) {
    for (const bool returns : {false, true}) {
      HttpWorld world;
      const auto away_until = world.clock.Elapsed() + seconds(returns ? 20 : 3'600);
      FakeTransport way;
      way.Then([&](const http::Request& request) -> Result<http::Response> {
        if (request.method != "GET" || deed == HttpDeed::kRead) {
          if (world.clock.Elapsed() < away_until) return MakeError(ErrorCode::kUnavailable, "shut");
        }
        return world.transport.Send(request, {});
      });
      std::vector<std::chrono::milliseconds> told;
      HttpStore store(world.Place(),
                      HttpStoreDoors{way, world.files, world.clock, world.random,
                                     [&](std::chrono::milliseconds wait, const std::string& why) {
                                       told.push_back(wait);
                                       EXPECT_THAT(why, HasSubstr("shut"));
                                     }},
                      world.NextHolder(), RememberedKinds());
      State state = SampleState();
      Generation at;
      bool done = false;
      if (deed == HttpDeed::kRead) done = static_cast<bool>(store.Load());
      if (deed == HttpDeed::kSave) done = static_cast<bool>(store.Save(state, &at));
      if (deed == HttpDeed::kLock) done = store.Lock(LockInfoFor("apply"), {}, {}).has_value();
      EXPECT_EQ(done, returns);
      EXPECT_FALSE(told.empty());
      EXPECT_LE(world.clock.Elapsed(), seconds(40));
      if (!returns) {
        EXPECT_GE(world.clock.Elapsed(), seconds(25));
      }
    }
  }
}

TEST(HttpStore, ASaveThatIsNeverAnsweredEndsAfterAMinute) {
  HttpWorld world;
  FakeTransport way;
  int posts = 0;
  way.Then([&](const http::Request& request) -> Result<http::Response> {
    if (request.method == "GET") return world.transport.Send(request, {});
    ++posts;
    world.clock.Advance(request.timeout);
    return MakeError(ErrorCode::kReplyLost, "no answer");
  });
  int told = 0;
  HttpStore store(world.Place(),
                  HttpStoreDoors{way, world.files, world.clock, world.random,
                                 [&](std::chrono::milliseconds, const std::string& why) {
                                   ++told;
                                   EXPECT_THAT(why, HasSubstr("no answer"));
                                 }},
                  world.NextHolder(), RememberedKinds());
  State state = SampleState();
  Generation at;
  const auto saved = store.Save(state, &at);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::kReplyLost);
  EXPECT_LE(world.clock.Elapsed(), std::chrono::seconds(75));
  EXPECT_GT(posts, 1);
  EXPECT_EQ(told, posts - 1);
}

// ---- The words.

TEST(HttpStore, AServerThatSendsThePasswordBackIsNotQuoted) {
  HttpWorld world;
  for (const std::string& word : {std::string("s3cret"), Base64Encode("alice:s3cret")}) {
    FakeTransport transport;
    transport.Then(403, "no entry for " + word);
    const Error error = world.Open(transport, world.Place())->Load().error();
    EXPECT_THAT(error.message + error.hint, Not(HasSubstr(word)));
  }
}

TEST(HttpStore, EachStatusIsAnErrorWithAWayOut) {
  std::string all;
  for (const Kind kind : {Kind::kGitLab, Kind::kGitea, Kind::kPlain}) {
    HttpWorld world(kind);
    HttpPlace place = world.Place();
    place.retries = 0;
    for (const int status : {302, 400, 401, 403, 404, 405, 409, 413, 422, 423, 429, 500, 503}) {
      for (const HttpDeed deed : {HttpDeed::kRead, HttpDeed::kSave, HttpDeed::kLock}) {
        if (deed == HttpDeed::kRead && (status == 404 || status == 302)) continue;
        FakeTransport transport;
        if (deed == HttpDeed::kSave) transport.Then(404);
        transport.Then(status, R"({"message":"its words"})",
                       {{"location", "https://new.example/x?token=s3cret"}});
        transport.Then(404);
        auto store = world.Open(transport, place);
        State state = SampleState();
        Generation at;
        Error error;
        if (deed == HttpDeed::kRead) error = store->Load().error();
        if (deed == HttpDeed::kSave) error = store->Save(state, &at).error();
        if (deed == HttpDeed::kLock) error = store->Lock(LockInfoFor("apply"), {}, {}).error();
        all += fmt::format("{} {}\n  {}\n\n", ErrorCodeName(error.code), error.message, error.hint);
        EXPECT_EQ(state.serial, SampleState().serial);
      }
    }
  }
  EXPECT_THAT(all, Not(HasSubstr("s3cret")));
  ExpectGolden("state/http_errors.txt", all);
}

}  // namespace
}  // namespace podctl::testing
