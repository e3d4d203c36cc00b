#include "state/stores/journal_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "providers/base/digest.h"
#include "providers/base/json.h"
#include "state/run_notes.h"
#include "state/state_json.h"
#include "tests/conformance/state_store_suite.h"
#include "tests/state/stores/journal_bench.h"
#include "tests/support/folders.h"
#include "tests/support/golden.h"

namespace podctl::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class JournalBench final : public StoreBench {
 public:
  explicit JournalBench(std::uint64_t compact_entries) : compact_entries_(compact_entries) {
    world_.place.page = 2;
  }

  std::unique_ptr<StateStore> Open() override {
    JournalStoreOptions options = JournalWorld::ByHand();
    // Nobody beats while the suite waits for a lock for a minute.
    options.ttl = std::chrono::minutes(5);
    options.compact_entries = compact_entries_;
    options.most_entries = compact_entries_;
    doors_.push_back(std::make_unique<FakeBlobs>(world_.place, "run"));
    return std::make_unique<JournalStore>(*doors_.back(), files_, world_.clock, world_.random,
                                          world_.NextHolder(), RememberedKinds(), options);
  }
  std::optional<std::string> Stored() override {
    std::optional<std::string> all;
    for (const auto& [name, object] : world_.place.All()) {
      if (name != kLeaseName) all = all.value_or("") + object.bytes;
    }
    return all;
  }
  void Overwrite(const std::string& bytes) override {
    for (const auto& [name, object] : world_.place.All()) world_.place.Remove(name);
    world_.place.Set(kSnapshotName, bytes);
  }
  FakeClock& clock() override { return world_.clock; }

 private:
  std::uint64_t compact_entries_;
  JournalWorld world_;
  FakeFileSystem files_;
  std::vector<std::unique_ptr<FakeBlobs>> doors_;
};

INSTANTIATE_TEST_SUITE_P(InAJournal, StateStoreSuite,
                         ::testing::Values([] { return std::make_unique<JournalBench>(100); }));
// Each save is followed by a snapshot.
INSTANTIATE_TEST_SUITE_P(InSnapshots, StateStoreSuite,
                         ::testing::Values([] { return std::make_unique<JournalBench>(1); }));

// ---- What stands in the place.

TEST(JournalStore, ASaveIsOneEntryWithWhatChanged) {
  JournalWorld world;
  auto run = world.OpenWithSample();
  ASSERT_TRUE(run->Mark("one"));
  EXPECT_THAT(Names(world.place),
              ::testing::ElementsAre("journal/000000000001.json", "journal/000000000002.json"));
  const Value first = EntryIn(world.place, 1);
  EXPECT_TRUE(first["entry"]["fence"].AsBool());
  EXPECT_EQ(first["entry"]["epoch"].AsInt(), 1);
  EXPECT_EQ(first["entry"]["run"]["who"].AsString(), "alice@here");
  EXPECT_EQ(first["changes"].AsMap().size(), 3U);
  const Value second = EntryIn(world.place, 2);
  EXPECT_FALSE(second["entry"]["fence"].AsBool());
  EXPECT_EQ(second["entry"]["previous"], first["entry"]["write_id"]);
  EXPECT_EQ(second["changes"].AsMap().size(), 1U);
  EXPECT_LT(world.place.Text(EntryName(2))->size(), world.place.Text(EntryName(1))->size());
}

TEST(JournalStore, EachRunBeginsAnEpoch) {
  JournalWorld world;
  ASSERT_TRUE(world.OpenWithSample()->Mark("one"));
  auto second = world.OpenWithSample();
  ASSERT_TRUE(second->Mark("two"));
  ASSERT_TRUE(second->Mark("three"));
  EXPECT_TRUE(EntryIn(world.place, 3)["entry"]["fence"].AsBool());
  EXPECT_EQ(EntryIn(world.place, 3)["entry"]["epoch"].AsInt(), 2);
  EXPECT_FALSE(EntryIn(world.place, 4)["entry"]["fence"].AsBool());
  EXPECT_EQ(EntryIn(world.place, 4)["entry"]["epoch"].AsInt(), 2);
}

TEST(JournalStore, AnAppendIsOneRequestAndANoOpLoadAfterACleanEndTwo) {
  JournalWorld world;
  auto run = world.OpenWithSample();
  const int before = run->blobs.requests();
  ASSERT_TRUE(run->Mark("one"));
  EXPECT_EQ(run->blobs.requests(), before + 1);
  run->store.Compact();
  auto reader = world.Open();
  ASSERT_TRUE(reader->Load());
  EXPECT_EQ(reader->blobs.requests(), 2);
}

TEST(JournalStore, BytesGrowWithWhatIsChanged) {
  constexpr int kPods = 400;
  JournalWorld world;
  auto run = world.OpenWithSample();
  std::uint64_t bytes = 0;
  run->blobs.after = [&](const BlobRequest& request) {
    if (request.writes()) bytes += world.place.Text(request.name).value_or("").size();
  };
  const auto add = [&](int from) {
    bytes = 0;
    for (int i = from; i < from + kPods; ++i) {
      State next = run->state;
      Pods(next)[Addr(fmt::format("pod.p{}", i))].current.locator = fmt::format("p{}", i);
      PODCTL_CHECK(run->store.Append(next, ChangesBetween(run->state, next), &run->at));
      run->state = next;
    }
    return bytes;
  };
  const std::uint64_t first = add(0);
  const std::uint64_t second = add(kPods);
  EXPECT_LT(second, 3 * first);
  EXPECT_TRUE(world.place.Text(kSnapshotName));
  EXPECT_EQ(MustRead(world), run->state);
}

// ---- Two runs.

TEST(JournalStore, WhoWasOvertakenIsToldByWhomAndWritesNothingMore) {
  JournalWorld world;
  auto slow = world.OpenWithSample();
  ASSERT_TRUE(slow->Mark("slow 1"));
  JournalStoreOptions options = JournalWorld::ByHand();
  options.run.who = "bob@there";
  options.run.operation = "apply";
  options.run.run_url = "https://ci/7";
  auto thief = world.OpenWithSample("there", options);
  ASSERT_TRUE(thief->Mark("thief"));
  const auto before = Names(world.place);
  for (int i = 0; i < 2; ++i) {
    const auto late = slow->Mark("slow 2");
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kFailedPrecondition);
    EXPECT_EQ(late.error().message,
              "the state fake://bucket/prefix was changed by somebody else since it was read "
              "(serial 3 is stored, by bob@there, apply, https://ci/7)");
  }
  EXPECT_EQ(Names(world.place), before);
  EXPECT_EQ(Uid(MustRead(world)), "thief");

  // What it knows goes aside, and a push takes it only while nothing is newer.
  const auto aside = slow->store.SaveAside(slow->state);
  ASSERT_TRUE(aside);
  EXPECT_EQ(*aside, "fake://bucket/prefix/errored-3.json");
  const auto notes = NotesFromJson(*world.place.Text("errored-3.json"), "aside", RememberedKinds());
  ASSERT_TRUE(notes);
  EXPECT_FALSE(CheckPush(*thief->Load(), *notes, false));
}

TEST(JournalStore, AFenceWithoutAChangeStopsTheRunBefore) {
  JournalWorld world;
  auto slow = world.OpenWithSample();
  ASSERT_TRUE(slow->Mark("slow 1"));
  auto thief = world.Open("there");
  const auto fenced = thief->store.Fence();
  ASSERT_TRUE(fenced) << fenced.error().message;
  EXPECT_EQ(fenced->state, slow->state);
  EXPECT_EQ(slow->Mark("slow 2").error().code, ErrorCode::kFailedPrecondition);
  thief->state = *fenced->state;
  thief->at = fenced->generation;
  ASSERT_TRUE(thief->Mark("thief"));
  EXPECT_EQ(thief->state.serial, slow->state.serial + 1);
  EXPECT_EQ(MustRead(world), thief->state);
}

// The overtaken run's entry arrives between what the thief reads and its fence.
TEST(JournalStore, AFenceIsTriedUntilNothingCameBetween) {
  JournalWorld world;
  auto slow = world.OpenWithSample();
  auto thief = world.Open("there");
  int left = 3;
  thief->blobs.before = [&](const BlobRequest& request) {
    if (request.deed == BlobDeed::kCreate && left-- > 0) {
      EXPECT_TRUE(slow->Mark("slow " + std::to_string(left)));
    }
    return BlobFault{};
  };
  const auto fenced = thief->store.Fence();
  ASSERT_TRUE(fenced) << fenced.error().message;
  EXPECT_EQ(Uid(*fenced->state), "slow 0");
  EXPECT_FALSE(slow->Mark("slow 9"));
}

TEST(JournalStore, APushStopsTheRunBeforeAndKeepsItsLineage) {
  JournalWorld world;
  auto slow = world.OpenWithSample();
  auto pusher = world.OpenWithSample("there");
  State other = SampleState();
  other.lineage = "11111111-1111-4111-8111-111111111111";
  other.serial = 77;
  Pods(other).erase(Addr("pod.other"));
  ASSERT_TRUE(pusher->store.Push(other, &pusher->at));
  EXPECT_EQ(other.serial, 77U);
  EXPECT_EQ(MustRead(world), other);
  EXPECT_FALSE(slow->Mark("slow"));
  other.serial = 3;
  Pods(other).erase(Addr("pod.research"));
  ASSERT_TRUE(pusher->store.Push(other, &pusher->at));
  EXPECT_EQ(other.serial, 78U);
  EXPECT_EQ(MustRead(world), other);
}

TEST(JournalStore, NothingThatIsReadBackHasASerialBeyondTheLast) {
  JournalWorld world;
  auto run = world.OpenWithSample();
  State last = SampleState();
  last.serial = kMaxSerial;
  ASSERT_TRUE(run->store.Push(last, &run->at));
  EXPECT_EQ(last.serial, 2U) << "what nothing could follow is not stored";

  last.serial = kMaxSerial - 1;
  ASSERT_TRUE(run->store.Push(last, &run->at));
  State next = last;
  Pods(next).erase(Addr("pod.other"));
  ASSERT_TRUE(run->store.Save(next, &run->at));
  EXPECT_EQ(next.serial, kMaxSerial);
  Pods(next).erase(Addr("pod.research"));
  EXPECT_EQ(run->store.Save(next, &run->at).error().code, ErrorCode::kOutOfRange);
  const auto aside = run->store.SaveAside(next);
  ASSERT_TRUE(aside) << aside.error().message;
  const auto text = world.place.Text(fmt::format("errored-{}.json", kMaxSerial));
  ASSERT_TRUE(text);
  EXPECT_TRUE(NotesFromJson(*text, "aside", RememberedKinds()));
}

// ---- Answers that were lost.

TEST(JournalStore, AnEntryWhoseAnswerWasLostIsTakenForItsOwn) {
  for (const auto kind : {BlobFault::Kind::kLostBefore, BlobFault::Kind::kLostAfter}) {
    JournalWorld world;
    auto run = world.OpenWithSample();
    bool struck = false;
    run->blobs.before = [&](const BlobRequest& request) {
      return request.writes() && !std::exchange(struck, true) ? BlobFault{kind} : BlobFault{};
    };
    ASSERT_TRUE(run->Mark("one"));
    ASSERT_TRUE(run->Mark("two"));
    EXPECT_EQ(run->state.serial, 3U);
    EXPECT_EQ(MustRead(world), run->state);
    EXPECT_FALSE(world.place.Text(EntryName(4)));
  }
}

// The outage outlasts the patience, and the entry came to stand there after all.
TEST(JournalStore, WhatWasGivenUpIsSettledByTheNextAppend) {
  for (const bool stands : {false, true}) {
    JournalWorld world;
    auto run = world.OpenWithSample();
    int writes = 0;
    run->blobs.before = [&](const BlobRequest& request) {
      const bool first = request.writes() && writes++ == 0;
      if (!first) return Refuse(ErrorCode::kUnavailable, "out");
      return BlobFault{stands ? BlobFault::Kind::kLostAfter : BlobFault::Kind::kLostBefore};
    };
    const State before = run->state;
    const Generation at = run->at;
    const auto failed = run->Mark("one");
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(run->at, at);
    run->blobs.before = nullptr;
    // The caller has more to say by now: the entry that was sent comes first, unchanged.
    State next = before;
    Pods(next)[Addr("pod.research")].current.uid = "one";
    Pods(next)[Addr("pod.other")].current.uid = "more";
    ASSERT_TRUE(run->store.Append(next, ChangesBetween(before, next), &run->at));
    EXPECT_EQ(next.serial, 3U);
    EXPECT_EQ(EntryIn(world.place, 2)["changes"].AsMap().size(), 1U);
    EXPECT_EQ(EntryIn(world.place, 3)["changes"].AsMap().size(), 1U);
    EXPECT_EQ(MustRead(world), next);
  }
}

TEST(JournalStore, WhatWasSurelyNotWrittenIsSaidAnew) {
  JournalWorld world;
  auto run = world.OpenWithSample();
  const State before = run->state;
  run->blobs.before = [&](const BlobRequest& request) {
    if (!request.writes()) return BlobFault{};
    return Refuse(ErrorCode::kPermissionDenied, "no");
  };
  const auto refused = run->Mark("one");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(refused.error().message, "cannot save the state fake://bucket/prefix: no");
  run->blobs.before = nullptr;
  State next = before;
  Pods(next)[Addr("pod.other")].current.uid = "more";
  ASSERT_TRUE(run->store.Append(next, ChangesBetween(before, next), &run->at));
  EXPECT_EQ(MustRead(world), next);
  EXPECT_EQ(next.serial, before.serial + 1);
}

// ---- Readers beside a run that writes, takes snapshots and deletes.

TEST(JournalStore, AReaderThatIsOvertakenBySnapshotAndDeletionStartsOver) {
  JournalWorld world;
  auto run = world.OpenWithSample();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(run->Mark(std::to_string(i)));
  auto reader = world.Open();
  bool struck = false;
  reader->blobs.after = [&](const BlobRequest& request) {
    // It has the snapshot (none), and not the list.
    if (request.deed != BlobDeed::kGet || std::exchange(struck, true)) return;
    run->store.Compact();
    for (int number : {2, 3}) world.place.Remove(EntryName(static_cast<std::uint64_t>(number)));
    EXPECT_TRUE(run->Mark("last"));
  };
  const auto loaded = reader->Load();
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->state, run->state);
}

TEST(JournalStore, AReaderTakesPagesThatGrowMeanwhile) {
  for (const bool hide : {false, true}) {
    JournalWorld world;
    world.place.page = 2;
    world.place.hide_fresh = hide;
    auto run = world.OpenWithSample();
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(run->Mark(std::to_string(i)));
    auto reader = world.Open();
    int left = 5;
    reader->blobs.between_pages = [&] {
      if (left-- <= 0) return;
      EXPECT_TRUE(run->Mark("meanwhile " + std::to_string(left)));
    };
    const auto loaded = reader->Load();
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_GE(loaded->state->serial, 7U);
  }
}

// ---- Snapshots and deletion.

TEST(JournalStore, OldEntriesGoADayAfterASnapshotButNotFencesTheirPredecessorsAndTheNewest) {
  JournalWorld world;
  const auto run = [&](int marks) {
    auto one = world.OpenWithSample();
    for (int i = 0; i < marks; ++i) PODCTL_CHECK(one->Mark("m" + std::to_string(i)));
    one->store.Compact();
    return one;
  };
  run(3);  // 1 (fence) to 4
  EXPECT_TRUE(world.place.Text(EntryName(2)));
  world.clock.Advance(std::chrono::hours(23));
  run(3);  // 5 (fence) to 7
  EXPECT_TRUE(world.place.Text(EntryName(2)));
  world.clock.Advance(std::chrono::hours(2));
  run(3);  // 8 (fence) to 10: the first snapshot is 25 hours old, the second two
  std::vector<std::string> journal = Names(world.place);
  std::erase_if(journal, [](const std::string& name) { return !EntryNumber(name); });
  EXPECT_THAT(journal,
              ::testing::ElementsAre(EntryName(1), EntryName(4), EntryName(5), EntryName(6),
                                     EntryName(7), EntryName(8), EntryName(9), EntryName(10)));
  world.clock.Advance(std::chrono::hours(100));
  auto last = run(1);  // 11 (fence)
  EXPECT_THAT(Names(world.place), ::testing::Not(::testing::Contains(EntryName(6))));
  EXPECT_THAT(Names(world.place),
              ::testing::IsSupersetOf({EntryName(1), EntryName(4), EntryName(5), EntryName(7),
                                       EntryName(8), EntryName(10), EntryName(11)}));
  EXPECT_EQ(MustRead(world), last->state);
  EXPECT_THAT(last->store.TakeWarnings(), IsEmpty());
}

TEST(JournalStore, AnOvertakenRunThatSleepsForMonthsStillFindsTheFence) {
  JournalWorld world;
  auto slow = world.OpenWithSample();
  ASSERT_TRUE(slow->Mark("slow"));
  for (int i = 0; i < 30; ++i) {
    auto other = world.OpenWithSample("there");
    for (const char* mark : {"a", "b", "c"}) ASSERT_TRUE(other->Mark(mark + std::to_string(i)));
    other->store.Compact();
    world.clock.Advance(std::chrono::hours(25));
  }
  EXPECT_FALSE(world.place.Text(EntryName(4)));  // the second of the run that began with 3
  const State before = MustRead(world);
  EXPECT_EQ(slow->Mark("slow again").error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(MustRead(world), before);
}

// As above, but it had written nothing yet, and what it read was in the middle of another run.
TEST(JournalStore, WhoReadLongAgoCannotBeginAtANumberThatIsFreeAgain) {
  JournalWorld world;
  auto other = world.OpenWithSample("there");
  auto slow = world.OpenWithSample();
  const std::string mine = EntryName(2);
  for (const char* mark : {"a", "b", "c"}) ASSERT_TRUE(other->Mark(mark));
  other->store.Compact();
  for (int i = 0; i < 3; ++i) {
    world.clock.Advance(std::chrono::hours(25));
    auto next = world.OpenWithSample("there");
    ASSERT_TRUE(next->Mark("n" + std::to_string(i)));
    next->store.Compact();
  }
  ASSERT_FALSE(world.place.Text(mine));
  const State before = MustRead(world);
  const auto late = slow->Mark("slow");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(MustRead(world), before);
}

TEST(JournalStore, ARefusedDeletionIsAWarning) {
  JournalWorld world;
  for (int i = 0; i < 2; ++i) {
    auto run = world.OpenWithSample();
    for (int mark = 0; mark < 3; ++mark) ASSERT_TRUE(run->Mark(std::to_string(mark)));
    if (i == 1) {
      run->blobs.before = [&](const BlobRequest& request) {
        if (request.deed != BlobDeed::kDelete) return BlobFault{};
        return Refuse(ErrorCode::kPermissionDenied, "a retention policy");
      };
    }
    run->store.Compact();
    const auto warnings = run->store.TakeWarnings();
    if (i == 0) {
      EXPECT_THAT(warnings, IsEmpty());
    } else {
      EXPECT_THAT(warnings,
                  ::testing::ElementsAre("old entries of the state fake://bucket/prefix could not "
                                         "be deleted, and take space: a retention policy"));
    }
    world.clock.Advance(std::chrono::hours(30));
  }
}

TEST(JournalStore, NothingIsDeletedWhereThePlaceKeepsNoTime) {
  JournalWorld world;
  world.place.now = nullptr;
  for (int i = 0; i < 4; ++i) {
    auto run = world.OpenWithSample();
    for (int mark = 0; mark < 3; ++mark) ASSERT_TRUE(run->Mark(std::to_string(mark)));
    run->store.Compact();
    world.clock.Advance(std::chrono::hours(100));
  }
  for (std::uint64_t number = 1; number <= 10; ++number) {
    EXPECT_TRUE(world.place.Text(EntryName(number))) << number;
  }
}

TEST(JournalStore, WhereTheClockWasSetBackOldEntriesGoADayAfterThat) {
  JournalWorld world;
  std::chrono::hours ahead{10'000};
  world.place.now = [&] { return world.clock.Now() + ahead; };
  const auto run = [&] {
    auto one = world.OpenWithSample();
    for (const char* mark : {"a", "b", "c"}) PODCTL_CHECK(one->Mark(mark));
    one->store.Compact();
  };
  run();  // 1 (fence) to 4
  world.clock.Advance(std::chrono::hours(2));
  run();
  ahead = std::chrono::hours(0);
  run();
  world.clock.Advance(std::chrono::hours(23));
  run();  // the first snapshot of this clock is 23 hours old
  EXPECT_TRUE(world.place.Text(EntryName(2)));
  world.clock.Advance(std::chrono::hours(25));
  run();
  EXPECT_FALSE(world.place.Text(EntryName(2)));
}

TEST(JournalStore, ASnapshotThatCannotBeWrittenStopsNothing) {
  JournalWorld world;
  JournalStoreOptions options = JournalWorld::ByHand();
  options.compact_entries = 1;
  options.most_entries = 1;
  auto run = world.OpenWithSample("here", options);
  run->blobs.before = [&](const BlobRequest& request) {
    if (request.name != kSnapshotName || !request.writes()) return BlobFault{};
    return Refuse(ErrorCode::kPermissionDenied, "no");
  };
  ASSERT_TRUE(run->Mark("one"));
  EXPECT_EQ(run->store.TakeWarnings().size(), 1U);
  EXPECT_EQ(MustRead(world), run->state);
}

// An overtaken run takes its snapshot after the thief has written: it says what was true, and what
// the thief wrote follows it.
TEST(JournalStore, ALateSnapshotOfAnOvertakenRunHarmsNothing) {
  JournalWorld world;
  auto slow = world.OpenWithSample();
  ASSERT_TRUE(slow->Mark("slow"));
  auto thief = world.OpenWithSample("there");
  ASSERT_TRUE(thief->Mark("thief"));
  slow->store.Compact();
  EXPECT_EQ(MustRead(world), thief->state);
  ASSERT_TRUE(thief->Mark("thief again"));
  thief->store.Compact();
  EXPECT_EQ(MustRead(world), thief->state);
}

// ---- Texts and formats that stay.

// What the first podctl with journals wrote, and every later one must read.
TEST(JournalStore, TheFirstFormatIsRead) {
  const std::filesystem::path folder =
      std::filesystem::path(SourceFolder()) / "tests/golden/state/journal1";
  const std::vector<std::string> names = {kSnapshotName, EntryName(3)};
  const auto path = [&](const std::string& name) {
    return folder / std::filesystem::path(name).filename();
  };
  if (std::getenv("PODCTL_UPDATE_GOLDEN") != nullptr && !std::filesystem::exists(folder)) {
    JournalWorld world;
    auto first = world.OpenWithSample();
    ASSERT_TRUE(first->Mark("4712"));
    first->store.Compact();
    ASSERT_TRUE(world.OpenWithSample()->Mark("4713"));
    std::filesystem::create_directories(folder);
    for (const std::string& name : names) {
      std::ofstream(path(name), std::ios::binary) << *world.place.Text(name);
    }
  }
  JournalWorld world;
  for (const std::string& name : names) {
    std::ifstream file(path(name), std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    world.place.Set(name, text.str());
  }
  State expected = SampleState();
  expected.serial = 3;
  Pods(expected)[Addr("pod.research")].current.uid = "4713";
  EXPECT_EQ(MustRead(world), expected);
}

TEST(JournalStore, RefusalsSayWhatToDo) {
  std::string all;
  const auto add = [&](const std::string& when, const Error& error) {
    all += fmt::format("# {}\n{}: {}\nhint: {}\n\n", when, ErrorCodeName(error.code), error.message,
                       error.hint);
  };
  JournalStoreOptions options = JournalWorld::ByHand();
  options.run.who = "bob@there";
  options.run.operation = "apply";
  options.run.commit = "0a1b2c3";
  options.run.run_url = "https://gitlab.example.com/pods/-/jobs/7";
  JournalWorld world;
  auto unaware = world.Open();
  ASSERT_TRUE(unaware->Load());
  unaware->state = SampleState();
  auto slow = world.OpenWithSample();
  add("a state was made since this run began", unaware->Save().error());
  auto bob = world.OpenWithSample("there", options);
  ASSERT_TRUE(bob->Mark("1"));
  add("somebody else saved", slow->Mark("2").error());
  ASSERT_TRUE(slow->Load());
  slow->state.lineage = "11111111-1111-4111-8111-111111111111";
  add("another lineage", slow->Save().error());

  LockInfo info;
  info.operation = "apply";
  info.version = "1.2.3";
  auto lock = bob->store.Lock(info, std::chrono::milliseconds(0), {});
  ASSERT_TRUE(lock);
  add("locked", slow->store.Lock(info, std::chrono::milliseconds(0), {}).error());
  add("the lock has another ID", slow->store.ForceUnlock("x").error());
  info.operation = "destroy";
  auto stolen = slow->store.Lock(info, std::chrono::minutes(3), {});
  ASSERT_TRUE(stolen);
  all += "# took it over\n" + (*stolen)->TakeoverNote() + "\n\n";
  world.clock.Advance(std::chrono::minutes(3));
  add("the lock was taken over", bob->Mark("3").error());
  world.place.Set(kLeaseName, "{}");
  add("no lock of podctl", slow->store.ForceUnlock("x").error());

  ASSERT_TRUE(bob->Load());
  bob->store.Compact();
  world.place.Remove(EntryName(1));
  world.place.Remove(kSnapshotName);
  add("an entry is missing", world.Open()->Load().error());
  world.place.Set(kSnapshotName, "{}");
  add("the snapshot is damaged", world.Open()->Load().error());
  ExpectGolden("state/journal_refusals.txt", all);
}

TEST(JournalStore, ALostSnapshotIsMadeAgainByARunThatSavesNothing) {
  JournalWorld world;
  auto run = world.OpenWithSample();
  ASSERT_TRUE(run->Mark("2"));
  run->store.Compact();
  world.place.Remove(kSnapshotName);
  auto idle = world.OpenWithSample();
  ASSERT_TRUE(idle->Save());
  const std::size_t objects = world.place.All().size();
  idle->store.EndRun();
  EXPECT_EQ(world.place.All().size(), objects + 1);
  ASSERT_TRUE(world.place.Text(kSnapshotName));
  EXPECT_EQ(MustRead(world), run->state);
  const int before = idle->blobs.requests();
  idle->store.EndRun();
  EXPECT_EQ(idle->blobs.requests(), before) << "it is there now";
}

TEST(JournalStore, ALongPauseIsToldWithItsCause) {
  JournalWorld world;
  std::vector<std::string> told;
  JournalStoreOptions options = JournalWorld::ByHand();
  options.on_pause = [&](const Error& why, std::chrono::milliseconds pause) {
    EXPECT_GE(pause, std::chrono::milliseconds(1500));
    told.push_back(why.message);
  };
  auto run = world.Open("here", options);
  int left = 4;
  run->blobs.before = [&](const BlobRequest&) {
    return --left >= 0 ? Refuse(ErrorCode::kUnavailable, "out (HTTP status 503)") : BlobFault{};
  };
  ASSERT_TRUE(run->Load());
  EXPECT_EQ(told, std::vector<std::string>{"out (HTTP status 503)"}) << "the others were short";
}

// It overtakes who holds the lock, as whoever saves does; and tells who it was.
TEST(JournalLock, WhatAForeignTextSaysIsCutAndItsPlaceIsTheRealOne) {
  JournalWorld world;
  LeaseText text;
  text.info.id = "x";
  text.info.path = "/elsewhere";
  text.info.who = std::string(std::size_t{3} << 20, 'w');
  text.ttl = std::chrono::minutes(1);
  world.place.Set(kLeaseName, LeaseToJson(text));
  const auto held = world.Open()->store.Lock({}, std::chrono::milliseconds(0), {});
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, ErrorCode::kLocked);
  EXPECT_LT(held.error().message.size(), 2000U);
  EXPECT_THAT(held.error().message, HasSubstr("Who:       www"));
  EXPECT_THAT(held.error().message, HasSubstr("Path:      fake://bucket/prefix\n"));
}

TEST(JournalLock, ARunThatTakesNoneOnlyCompares) {
  JournalWorld world;
  auto holder = world.Open();
  const auto held = holder->store.Lock({}, std::chrono::milliseconds(0), {});
  ASSERT_TRUE(held);
  holder->state = SampleState();
  ASSERT_TRUE(holder->Save());
  JournalStoreOptions options = JournalWorld::ByHand();
  options.lock = false;
  auto beside = world.Open("there", options);
  LockInfo info;
  info.operation = "state mv";
  const auto none = beside->store.Lock(info, std::chrono::milliseconds(0), {});
  ASSERT_TRUE(none) << none.error().message;
  ASSERT_TRUE(beside->Load());
  ASSERT_TRUE(beside->Mark("beside"));
  EXPECT_EQ(holder->Mark("late").error().code, ErrorCode::kFailedPrecondition);
  ASSERT_TRUE(beside->store.StoredRun());
  EXPECT_EQ(beside->store.StoredRun()->operation, "state mv");
}

}  // namespace
}  // namespace podctl::testing
