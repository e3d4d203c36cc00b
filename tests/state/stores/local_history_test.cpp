// What a LocalStore keeps beside the state: generations that were replaced, and what could not be
// saved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/record.h"
#include "state/state_json.h"
#include "state/store.h"
#include "tests/state/stores/bench.h"
#include "tests/support/addresses.h"
#include "tests/support/sample_state.h"

namespace podctl::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kPath[] = "/project/podctl.state.json";

// One run of podctl that saves `times` generations, each with another uid.
State RunOnce(FakeMachine& machine, int times = 1, LocalStoreOptions options = {}) {
  machine.clock.Advance(std::chrono::minutes(1));
  LocalRun store = machine.Open(kPath, "here", std::move(options));
  auto lock = store.Lock({}, kAtOnce, {});
  EXPECT_TRUE(lock);
  auto loaded = store.Load();
  EXPECT_TRUE(loaded);
  State state = SampleState();
  if (loaded && loaded->state) {
    state = *loaded->state;
  } else {
    state.serial = 0;
  }
  for (int i = 0; i < times; ++i) {
    machine.clock.Advance(std::chrono::seconds(1));
    Pods(state).at(Addr("pod.research")).current.uid += "x";
    EXPECT_TRUE(store.Save(state));
  }
  EXPECT_THAT(store.TakeWarnings(), IsEmpty());
  return state;
}

std::vector<std::uint64_t> Serials(LocalStore& store) {
  std::vector<std::uint64_t> serials;
  auto history = store.History();
  EXPECT_TRUE(history) << history.error().message;
  if (!history) return {};
  for (const HistoryEntry& entry : *history) {
    EXPECT_EQ(entry.problem, "");
    serials.push_back(entry.serial);
  }
  return serials;
}

TEST(LocalHistory, EachRunKeepsTheGenerationItBeganFrom) {
  FakeMachine machine;
  LocalRun reader = machine.Open();
  EXPECT_THAT(Serials(reader), IsEmpty());
  RunOnce(machine, 3);  // 1, 2, 3: nothing was there before
  EXPECT_THAT(Serials(reader), IsEmpty());
  const State third = *reader.Load()->state;
  RunOnce(machine, 2);  // 4, 5
  EXPECT_THAT(Serials(reader), ElementsAre(3));
  RunOnce(machine, 2);  // 6, 7
  EXPECT_THAT(Serials(reader), ElementsAre(5, 3));
  EXPECT_EQ(*reader.LoadHistory(3), third);
  EXPECT_EQ(reader.LoadHistory(4).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(reader.LoadHistory(7).error().code, ErrorCode::kNotFound);
}

TEST(LocalHistory, FiveAreKeptUnlessToldOtherwise) {
  FakeMachine machine;
  for (int run = 0; run < 9; ++run) RunOnce(machine);
  LocalRun reader = machine.Open();
  EXPECT_THAT(Serials(reader), ElementsAre(8, 7, 6, 5, 4));
  RunOnce(machine, 1, {.keep = 2});
  EXPECT_THAT(Serials(reader), ElementsAre(9, 8));
  RunOnce(machine, 1, {.keep = 0});
  EXPECT_THAT(Serials(reader), ElementsAre(9, 8));
}

TEST(LocalHistory, EntriesTellWhatIsInThem) {
  FakeMachine machine;
  RunOnce(machine);
  const std::string text = *machine.files.FileText(kPath);
  RunOnce(machine);
  LocalRun reader = machine.Open();
  const HistoryEntry entry = reader.History()->front();
  EXPECT_EQ(entry.serial, 1U);
  EXPECT_EQ(entry.bytes, text.size());
  EXPECT_EQ(entry.records, RecordCounts(SampleState()));
  EXPECT_EQ(entry.lineage, SampleState().lineage);
  EXPECT_EQ(entry.saved_at.size(), std::string("2026-11-20T14:30:00Z").size());
}

TEST(LocalHistory, AKeptGenerationCanBeRestored) {
  FakeMachine machine;
  const State first = RunOnce(machine);
  RunOnce(machine, 3);
  LocalRun store = machine.Open();
  auto present = store.Load();
  State old = *store.LoadHistory(1);
  old.serial = present->state->serial;
  ASSERT_TRUE(store.Save(old, &present->generation));
  EXPECT_EQ(old.serial, 5U);
  EXPECT_EQ(old.records, first.records);
  // What was replaced by the restoring can be restored as well.
  EXPECT_THAT(Serials(store), ElementsAre(4, 1));
}

TEST(LocalHistory, ADamagedEntryIsListedAsSuch) {
  FakeMachine machine;
  RunOnce(machine);
  RunOnce(machine);
  std::string path;
  for (const std::string& file : machine.files.AllFiles()) {
    if (file.find(".history/") != std::string::npos) path = file;
  }
  machine.files.SetFile(path, "{}");
  LocalRun reader = machine.Open();
  EXPECT_THAT(reader.History()->front().problem, HasSubstr("damaged"));
  EXPECT_EQ(reader.LoadHistory(1).error().code, ErrorCode::kDataLoss);
}

TEST(LocalHistory, OtherFilesInItsFolderAreLeftAlone) {
  FakeMachine machine;
  RunOnce(machine);
  RunOnce(machine);
  const std::string folder = std::string(kPath) + ".history/";
  const std::vector<std::string> others = {"notes.txt", "20261120T143000Z-1.json.bak", "1.json",
                                           "20261120T143000Z-.json", "20261120T143000Z-1x.json"};
  for (const std::string& name : others) machine.files.SetFile(folder + name, "x");
  for (int run = 0; run < 8; ++run) RunOnce(machine);
  LocalRun reader = machine.Open();
  EXPECT_EQ(Serials(reader).size(), 5U);
  for (const std::string& name : others) EXPECT_TRUE(machine.files.FileText(folder + name)) << name;
}

TEST(LocalHistory, AWrongClockDoesNotCostTheNewest) {
  FakeMachine machine;
  for (int run = 0; run < 6; ++run) RunOnce(machine);
  machine.clock.Advance(-std::chrono::hours(24 * 365));
  for (int run = 0; run < 3; ++run) RunOnce(machine);
  LocalRun reader = machine.Open();
  EXPECT_THAT(Serials(reader), ElementsAre(8, 7, 6, 5, 4));
}

// A lineage begun anew counts from 1 again, and its first generations must not push out, or be
// taken for, those of the state that was lost: they are what one looks for then.
TEST(LocalHistory, AnotherLineageDoesNotTakeTheNames) {
  FakeMachine machine;
  for (int run = 0; run < 4; ++run) RunOnce(machine);
  ASSERT_TRUE(machine.files.Remove(kPath));
  machine.clock.Advance(std::chrono::minutes(1));
  {
    LocalRun store = machine.Open();
    State fresh;
    ASSERT_TRUE(store.Save(fresh));
  }
  machine.clock.Advance(std::chrono::minutes(1));
  LocalRun store = machine.Open();
  State fresh = *store.Load()->state;
  Pods(fresh)[Addr("pod.a")].current.locator = "a";
  ASSERT_TRUE(store.Save(fresh));
  EXPECT_THAT(Serials(store), ElementsAre(1, 3, 2, 1));
  EXPECT_EQ(store.LoadHistory(1)->lineage, fresh.lineage);
}

// As a repository may carry them.
TEST(LocalHistory, NothingIsKeptOrRemovedOrReadThroughALink) {
  FakeMachine machine;
  LocalRun store = machine.Open();
  State state = Older();
  ASSERT_TRUE(store.Save(state));
  machine.files.SetFile("/victim/20200101T000000Z-1.json", "kept");
  machine.files.SetLink("/project/podctl.state.json.history", "/victim");
  LocalRun next = machine.Open("/project/podctl.state.json", "here", {.keep = 1});
  ASSERT_TRUE(next.Load());
  ASSERT_TRUE(next.Save(state = Changed(state)));  // the truth goes before the past
  EXPECT_THAT(next.TakeWarnings(), ElementsAre(HasSubstr("is a symbolic link")));
  EXPECT_FALSE(next.History());
  EXPECT_FALSE(next.LoadHistory(1));
  EXPECT_THAT(machine.files.AllFiles(),
              ElementsAre("/project/podctl.state.json", "/victim/20200101T000000Z-1.json"));
}

TEST(LocalHistory, AGenerationThatIsALinkIsNotRead) {
  FakeMachine machine;
  machine.files.SetFile("/victim", "secret");
  machine.files.SetFolder("/project/podctl.state.json.history");
  machine.files.SetFile("/project/podctl.state.json.history/20200101T000000Z-2.json", "x");
  machine.files.SetLink("/project/podctl.state.json.history/20200101T000000Z-1.json", "/victim");
  LocalRun store = machine.Open();
  const auto entries = store.History();
  ASSERT_TRUE(entries);
  for (const HistoryEntry& entry : *entries) {
    if (entry.serial != 1) continue;
    EXPECT_THAT(entry.problem, HasSubstr("is a symbolic link"));
  }
  EXPECT_FALSE(store.LoadHistory(1));
}

TEST(LocalHistory, WithoutHardLinksACopyIsKept) {
  FakeMachine machine;
  machine.files.RefuseLinks();
  RunOnce(machine);
  const State second = RunOnce(machine);
  RunOnce(machine);
  LocalRun reader = machine.Open();
  EXPECT_THAT(Serials(reader), ElementsAre(2, 1));
  EXPECT_EQ(*reader.LoadHistory(2), second);
}

TEST(LocalHistory, WhatCannotBeKeptIsToldAndStopsNoSave) {
  FakeMachine machine;
  RunOnce(machine);
  machine.files.SetFile(std::string(kPath) + ".history", "a file is in its place");
  LocalRun store = machine.Open();
  State state = *store.Load()->state;
  Pods(state).at(Addr("pod.research")).current.uid = "new";
  ASSERT_TRUE(store.Save(state));
  const std::vector<std::string> warnings = store.TakeWarnings();
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings.front(), HasSubstr("the state's generation 1 could not be kept"));
  EXPECT_THAT(store.TakeWarnings(), IsEmpty());
  Pods(state).at(Addr("pod.research")).current.uid = "newer";
  ASSERT_TRUE(store.Save(state));
  EXPECT_THAT(store.TakeWarnings(), IsEmpty());
  EXPECT_EQ(*machine.Open().Load()->state, state);
}

TEST(LocalHistory, IsPrivateOnARealDisk) {
  TempFolder folder;
  RealFileSystem files;
  RealClock clock;
  RealRandom random;
  State state;
  for (int run = 0; run < 7; ++run) {
    LocalRun store(folder / "s.json", files, clock, random, LockHolder::ThisProcess(),
                   RememberedKinds());
    auto loaded = store.Load();
    ASSERT_TRUE(loaded);
    state = loaded->state.value_or(State{});
    Pods(state)[Addr("pod.a")].current.uid = std::to_string(run);
    ASSERT_TRUE(store.Save(state));
    ASSERT_THAT(store.TakeWarnings(), IsEmpty());
  }
  LocalRun reader(folder / "s.json", files, clock, random, LockHolder::ThisProcess(),
                  RememberedKinds());
  EXPECT_THAT(Serials(reader), ElementsAre(6, 5, 4, 3, 2));
  const auto mode = std::filesystem::status(folder / "s.json.history").permissions();
  EXPECT_EQ(static_cast<unsigned>(mode), 0700U);
  for (const auto& file : std::filesystem::directory_iterator(folder / "s.json.history")) {
    EXPECT_EQ(static_cast<unsigned>(file.status().permissions()), 0600U);
  }
}

// ---- What could not be saved.

TEST(SaveAside, WritesWhatPushTakes) {
  FakeMachine machine;
  RunOnce(machine);
  LocalRun store = machine.Open();
  auto stored = store.Load();
  State state = *stored->state;
  Pods(state).at(Addr("pod.research")).current.uid = "made but not saved";
  auto path = store.SaveAside(state);
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(*path, "/project/podctl.state.json.errored-2");
  EXPECT_EQ(machine.files.FileMode(*path), 0600U);
  State aside = *StateFromJson(*machine.files.FileText(*path), *path, RememberedKinds());
  EXPECT_EQ(aside.records, state.records);
  EXPECT_TRUE(CheckPush(*stored, aside, false));
  ASSERT_TRUE(store.Push(aside));
  EXPECT_EQ(machine.Open().Load()->state->records, state.records);

  EXPECT_EQ(*store.SaveAside(state), "/project/podctl.state.json.errored-2-2");
}

TEST(SaveAside, WhoFindsItFindsAllOfIt) {
  int times_there = 0;
  for (int steps = 0; steps < 20; ++steps) {
    FakeMachine machine;
    RunOnce(machine);
    LocalRun store = machine.Open();
    const State state = *store.Load()->state;
    machine.files.StopAfter(steps);
    (void)store.SaveAside(state);
    machine.files.Restart();
    const auto text = machine.files.FileText("/project/podctl.state.json.errored-2");
    if (!text) continue;
    ++times_there;
    EXPECT_TRUE(StateFromJson(*text, "aside", RememberedKinds())) << steps << ": " << *text;
  }
  EXPECT_GT(times_there, 0);
  EXPECT_LT(times_there, 20);
}

TEST(SaveAside, FallsBackToTheFolderForTemporaryFiles) {
  FakeMachine machine;
  RunOnce(machine);
  LocalRun store = machine.Open();
  const State state = *store.Load()->state;
  machine.files.SetReadOnly("/project");
  auto path = store.SaveAside(state);
  ASSERT_TRUE(path);
  EXPECT_EQ(*path, "/tmp/podctl.state.json.errored-2");
  machine.files.SetReadOnly("/tmp");
  path = store.SaveAside(state);
  ASSERT_FALSE(path);
  EXPECT_THAT(path.error().message, HasSubstr("/project/podctl.state.json"));
  EXPECT_THAT(path.error().message, HasSubstr("/tmp/podctl.state.json"));
}

TEST(SaveAside, AStateThatWasNeverSavedGetsALineage) {
  FakeMachine machine;
  LocalRun store = machine.Open();
  ASSERT_TRUE(store.Load());
  auto path = store.SaveAside(State{});
  ASSERT_TRUE(path);
  State aside = *StateFromJson(*machine.files.FileText(*path), *path, RememberedKinds());
  EXPECT_EQ(aside.serial, 1U);
  ASSERT_TRUE(store.Push(aside));
  EXPECT_EQ(aside.serial, 1U);
}

// ---- Pushing.

TEST(Push, KeepsAHigherSerialAndAnotherLineage) {
  FakeMachine machine;
  RunOnce(machine);
  LocalRun store = machine.Open();
  ASSERT_TRUE(store.Load());
  State pushed = SampleState();
  pushed.lineage = "11111111-1111-4111-8111-111111111111";
  pushed.serial = 50;
  ASSERT_TRUE(store.Push(pushed));
  EXPECT_EQ(pushed.serial, 50U);
  State low = SampleState();
  low.serial = 3;
  ASSERT_TRUE(store.Push(low));
  EXPECT_EQ(low.serial, 51U);
  EXPECT_EQ(*machine.Open().Load()->state, low);
  EXPECT_EQ(Serials(store).front(), 1U);
}

TEST(Push, LosesToWhoWasFaster) {
  FakeMachine machine;
  RunOnce(machine);
  LocalRun store = machine.Open();
  ASSERT_TRUE(store.Load());
  const State faster = RunOnce(machine);
  State pushed = SampleState();
  auto refused = store.Push(pushed);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(*machine.Open().Load()->state, faster);
}

}  // namespace
}  // namespace podctl::testing
