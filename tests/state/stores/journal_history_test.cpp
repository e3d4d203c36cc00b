// What stood in a journal before, run by run, and what an outage kept from standing there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "state/run_notes.h"
#include "state/stores/journal_store.h"
#include "tests/state/stores/journal_bench.h"

namespace podctl::testing {
namespace {

using ::testing::HasSubstr;

TEST(JournalStore, AGenerationIsARun) {
  JournalWorld world;
  std::vector<State> ends;
  for (int i = 0; i < 3; ++i) {
    JournalStoreOptions options = JournalWorld::ByHand();
    options.run = {"u" + std::to_string(i) + "@h",
                   "apply",
                   "podctl apply",
                   "1.0",
                   "abc",
                   true,
                   "github",
                   "https://ci/" + std::to_string(i),
                   std::to_string(i),
                   "1"};
    auto run = world.OpenWithSample("here", options);
    ASSERT_TRUE(run->Mark("a" + std::to_string(i)));
    ASSERT_TRUE(run->Mark("b" + std::to_string(i)));
    ends.push_back(run->state);
    if (i != 1) run->store.Compact();  // the second died before
  }
  auto reader = world.Open();
  const auto history = reader->store.History();
  ASSERT_TRUE(history) << history.error().message;
  ASSERT_EQ(history->size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const HistoryEntry& entry = (*history)[i];
    const State& end = ends[1 - i];
    EXPECT_EQ(entry.serial, end.serial);
    EXPECT_EQ(entry.lineage, end.lineage);
    EXPECT_EQ(entry.saved_at, "2026-11-20T14:30:00Z");
    EXPECT_EQ(entry.problem, "");
    ASSERT_TRUE(entry.run);
    EXPECT_EQ(entry.run->who, fmt::format("u{}@h", 1 - i));
    EXPECT_EQ(entry.run->run_url, fmt::format("https://ci/{}", 1 - i));
    EXPECT_EQ(entry.run->commit, "abc");
    EXPECT_TRUE(entry.run->dirty);
    const auto state = reader->store.LoadHistory(end.serial);
    ASSERT_TRUE(state) << state.error().message;
    EXPECT_EQ(*state, end);
  }
  EXPECT_EQ(reader->store.LoadHistory(99).error().code, ErrorCode::kNotFound);
}

TEST(JournalStore, OnlySoManyGenerationsAreKept) {
  JournalWorld world;
  JournalStoreOptions options = JournalWorld::ByHand();
  options.keep = 2;
  for (int i = 0; i < 6; ++i) {
    auto run = world.OpenWithSample("here", options);
    ASSERT_TRUE(run->Mark(std::to_string(i)));
    run->store.Compact();
  }
  const auto history = world.Open()->store.History();
  ASSERT_TRUE(history);
  ASSERT_EQ(history->size(), 2U);
  EXPECT_GT((*history)[0].serial, (*history)[1].serial);
}

TEST(JournalStore, AGenerationTellsTheRunThatMadeIt) {
  JournalWorld world;
  JournalStoreOptions options = JournalWorld::ByHand();
  int asked = 0;
  options.complete_run = [&](Provenance* run) {
    ++asked;
    run->commit = "3f2a91c";
    run->dirty = true;
  };
  auto run = world.Open("here", options);
  EXPECT_FALSE(run->store.StoredRun());
  LockInfo info;
  info.operation = "apply";
  info.command = "podctl apply";
  const auto lock = run->store.Lock(info, {}, {});
  ASSERT_TRUE(lock);
  EXPECT_EQ(world.Open()->store.Holder()->commit, "3f2a91c-dirty");
  run->state = SampleState();
  ASSERT_TRUE(run->Load());
  ASSERT_TRUE(run->Save());
  // Who only reads is not asked.
  auto reader = world.Open("there", options);
  ASSERT_TRUE(reader->Load());
  EXPECT_EQ(asked, 1);
  const auto by = reader->store.StoredRun();
  ASSERT_TRUE(by);
  EXPECT_EQ(by->who, "alice@here");
  EXPECT_EQ(by->operation, "apply");
  EXPECT_EQ(by->command, "podctl apply");
  EXPECT_EQ(by->commit, "3f2a91c");
  EXPECT_TRUE(by->dirty);
}

TEST(JournalStore, WhatCannotBeSavedAsideThereIsSavedHere) {
  JournalWorld world;
  auto run = world.OpenWithSample();
  run->blobs.Kill();
  const auto aside = run->store.SaveAside(run->state);
  ASSERT_TRUE(aside) << aside.error().message;
  EXPECT_EQ(*aside, "/tmp/podctl.errored-2");
  EXPECT_TRUE(run->files.FileText("/tmp/podctl.errored-2"));
}

TEST(JournalStore, WhoFindsWhatIsSavedHereFindsAllOfIt) {
  int times_there = 0;
  for (int steps = 0; steps < 20; ++steps) {
    JournalWorld world;
    auto run = world.OpenWithSample();
    run->blobs.Kill();
    run->files.StopAfter(steps);
    (void)run->store.SaveAside(run->state);
    run->files.Restart();
    const auto text = run->files.FileText("/tmp/podctl.errored-2");
    if (!text) continue;
    ++times_there;
    EXPECT_TRUE(NotesFromJson(*text, "aside", RememberedKinds())) << steps << ": " << *text;
  }
  EXPECT_GT(times_there, 0);
  EXPECT_LT(times_there, 20);
}

// What an outage left replaces what it follows, and nothing that anybody saved since.
TEST(JournalStore, NotesOfAnOutageArePushedOnlyWhereTheyBelong) {
  for (const bool lost_answer : {false, true}) {
    for (const bool overtaken : {false, true}) {
      JournalWorld world;
      auto run = world.OpenWithSample();
      // From here on nothing comes through, or the first of it does and nobody says so.
      bool first = true;
      run->blobs.before = [&](const BlobRequest& request) {
        if (lost_answer && request.writes() && std::exchange(first, false)) {
          return BlobFault{BlobFault::Kind::kLostAfter, {}, 0};
        }
        return Refuse(ErrorCode::kUnavailable, "out of reach");
      };
      State known = run->state;
      Pods(known)[Addr("pod.research")].current.uid = "made";
      Generation at = run->at;
      const auto saved = run->store.Append(known, ChangesBetween(run->state, known), &at);
      ASSERT_FALSE(saved);
      ASSERT_TRUE(MayPass(saved.error().code));
      Pods(known)[Addr("pod.research")].current.uid = "made and more";
      const auto aside = run->store.SaveAside(known);
      ASSERT_TRUE(aside) << aside.error().message;
      EXPECT_EQ(*aside, "/tmp/podctl.errored-2");
      const auto notes = NotesFromJson(*run->files.FileText(*aside), *aside, RememberedKinds());
      ASSERT_TRUE(notes) << notes.error().message;
      EXPECT_EQ(notes->sent.has_value(), lost_answer);
      if (overtaken) {
        // A fence alone: it changes nothing, and not the serial either.
        ASSERT_TRUE(world.Open("there")->store.Fence());
      }
      auto pusher = world.Open();
      const auto stored = pusher->Load();
      ASSERT_TRUE(stored);
      const auto may = CheckPush(*stored, *notes, false);
      ASSERT_EQ(may.has_value(), !overtaken);
      if (overtaken) {
        EXPECT_EQ(may.error().code, ErrorCode::kFailedPrecondition);
        continue;
      }
      pusher->state = notes->state;
      ASSERT_TRUE(pusher->store.Push(pusher->state, &pusher->at));
      EXPECT_EQ(Uid(MustRead(world)), "made and more");
      // Once pushed it is history.
      EXPECT_FALSE(CheckPush(*world.Open()->Load(), *notes, false));
      run->store.DropAside(*aside);
      EXPECT_FALSE(run->files.FileText(*aside));
    }
  }
}

}  // namespace
}  // namespace podctl::testing
