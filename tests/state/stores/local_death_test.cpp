// Death in the middle of a save, by a kill or a power cut: the old or the new generation is there,
// whole, and the next run can go on from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "plans/kinds/pod/record.h"
#include "state/stores/local_store.h"
#include "tests/state/stores/bench.h"
#include "tests/support/addresses.h"

namespace podctl::testing {
namespace {

// How a machine comes back after it stopped: by number, until nullopt.
using Revival = std::function<bool(FakeFileSystem&, int)>;

bool ReviveAfterKill(FakeFileSystem& files, int way) {
  files.Restart();
  return way == 0;
}

// Every subset of the names that were not synced, times what became of bytes not synced.
bool ReviveAfterPowerCut(FakeFileSystem& files, int way) {
  using Torn = FakeFileSystem::TornBytes;
  constexpr Torn kTorn[] = {Torn::kGone, Torn::kHalf, Torn::kZeroed, Torn::kWhole};
  const std::size_t subsets = std::size_t{1} << files.UnsyncedNames();
  const std::size_t number = static_cast<std::size_t>(way);
  files.CutPower(number / 4, kTorn[number % 4]);
  return number < 4 * subsets;
}

// Stops the machine before each step of a save in turn, brings it back in every way there is, and
// wants the old or the new generation, whole, and that the next run can go on from it.
void DieAtEveryStep(bool first_save, const Revival& revive) {
  bool finished = false;
  int old_seen = 0;
  int new_seen = 0;
  for (int step = 0; !finished; ++step) {
    ASSERT_LT(step, 100);
    for (int way = 0;; ++way) {
      ASSERT_LT(way, 1000);
      FakeMachine machine;
      State state = Older();
      if (!first_save) {
        LocalRun store = machine.Open();
        ASSERT_TRUE(store.Save(state));
      }
      const State before = state;
      {
        LocalRun store = machine.Open();
        auto lock = store.Lock({}, kAtOnce, {});
        ASSERT_TRUE(lock);
        ASSERT_TRUE(store.Load());
        machine.files.StopAfter(step);
        state = Changed(state);
        finished = store.Save(state).has_value() && !machine.files.Stopped();
      }
      machine.alive_.clear();
      if (!revive(machine.files, way)) break;

      LocalRun next = machine.Open();
      auto lock = next.Lock({}, kAtOnce, {});
      ASSERT_TRUE(lock) << lock.error().message;
      auto loaded = next.Load();
      ASSERT_TRUE(loaded) << "step " << step << ", way " << way << ": " << loaded.error().message;
      State found = loaded->state.value_or(Older());
      if (!loaded->state) {
        ASSERT_TRUE(first_save) << "step " << step << ", way " << way;
        ++old_seen;
      } else if (!first_save && found == before) {
        ++old_seen;
      } else {
        State expected = Changed(before);
        expected.serial = before.serial + 1;
        ASSERT_EQ(found, expected) << "step " << step << ", way " << way;
        ++new_seen;
      }
      ASSERT_FALSE(finished && found == before) << "a finished save was lost";
      Pods(found).at(Addr("pod.other")).current.uid = "later";
      ASSERT_TRUE(next.Save(found)) << "step " << step << ", way " << way;
      lock->reset();
      EXPECT_THAT(Present(machine), ::testing::ElementsAre("/project/podctl.state.json"));
      const auto history = next.History();
      ASSERT_TRUE(history);
      for (const HistoryEntry& kept : *history) EXPECT_EQ(kept.problem, "");
    }
  }
  EXPECT_GT(old_seen, 4);
  EXPECT_GT(new_seen, 0);
  ::testing::Test::RecordProperty("deaths", old_seen + new_seen);
}

TEST(LocalStoreDeath, KilledAtEveryStepOfTheFirstSave) {
  DieAtEveryStep(true, ReviveAfterKill);
}
TEST(LocalStoreDeath, KilledAtEveryStepOfALaterSave) {
  DieAtEveryStep(false, ReviveAfterKill);
}
TEST(LocalStoreDeath, PowerCutAtEveryStepOfTheFirstSave) {
  DieAtEveryStep(true, ReviveAfterPowerCut);
}
TEST(LocalStoreDeath, PowerCutAtEveryStepOfALaterSave) {
  DieAtEveryStep(false, ReviveAfterPowerCut);
}

// What the next run has read stays, although the dead one did not see it confirmed by the disk.
TEST(LocalStoreDeath, WhatATakeoverHasReadOutlivesAPowerCut) {
  bool finished = false;
  int new_seen = 0;
  for (int step = 0; !finished; ++step) {
    ASSERT_LT(step, 100);
    FakeMachine machine;
    State state = Older();
    ASSERT_TRUE(machine.Open().Save(state));
    {
      LocalRun store = machine.Open();
      auto lock = store.Lock({}, kAtOnce, {});
      ASSERT_TRUE(store.Load());
      machine.files.StopAfter(step);
      state = Changed(state);
      finished = store.Save(state).has_value() && !machine.files.Stopped();
    }
    machine.KillAll();
    State read;
    {
      LocalRun next = machine.Open();
      auto lock = next.Lock({}, kAtOnce, {});
      ASSERT_TRUE(lock) << lock.error().message;
      read = *next.Load()->state;
      machine.files.StopAfter(0);
    }
    machine.alive_.clear();
    machine.files.CutPower(0, FakeFileSystem::TornBytes::kGone);
    const auto after = machine.Open().Load();
    ASSERT_TRUE(after) << "step " << step << ": " << after.error().message;
    EXPECT_EQ(*after->state, read) << "step " << step;
    new_seen += read.serial > 1 ? 1 : 0;
  }
  EXPECT_GT(new_seen, 1);
}

}  // namespace
}  // namespace podctl::testing
