#include "state/stores/local_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/text.h"
#include "state/state_json.h"
#include "tests/conformance/state_store_suite.h"
#include "tests/state/stores/bench.h"
#include "tests/support/addresses.h"
#include "tests/support/folders.h"
#include "tests/support/log_store.h"

namespace podctl::testing {
namespace {

using ::testing::HasSubstr;

class FakeBench final : public StoreBench {
 public:
  std::unique_ptr<StateStore> Open() override {
    return std::make_unique<LocalStore>("/project/podctl.state.json", machine_.files,
                                        machine_.clock, machine_.random, machine_.NextRun("here"),
                                        RememberedKinds());
  }
  std::optional<std::string> Stored() override {
    return machine_.files.FileText("/project/podctl.state.json");
  }
  void Overwrite(const std::string& bytes) override {
    machine_.files.SetFile("/project/podctl.state.json", bytes);
  }
  FakeClock& clock() override { return machine_.clock; }

 private:
  FakeMachine machine_;
};

class RealBench final : public StoreBench {
 public:
  std::unique_ptr<StateStore> Open() override {
    return std::make_unique<LocalStore>(path_, files_, clock_, random_, LockHolder::ThisProcess(),
                                        RememberedKinds());
  }
  std::optional<std::string> Stored() override {
    std::ifstream file(path_, std::ios::binary);
    if (!file) return std::nullopt;
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  void Overwrite(const std::string& bytes) override {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }
  FakeClock& clock() override { return clock_; }

 private:
  TempFolder folder_;
  std::string path_ = folder_ / "podctl.state.json";
  RealFileSystem files_;
  FakeClock clock_;
  RealRandom random_;
};

class LogBench final : public StoreBench {
 public:
  std::unique_ptr<StateStore> Open() override {
    return std::make_unique<LogStore>(
        std::make_unique<LocalStore>(kPath, machine_.files, machine_.clock, machine_.random,
                                     machine_.NextRun("here"), RememberedKinds()),
        log_, RememberedKinds());
  }
  std::optional<std::string> Stored() override {
    const auto snapshot = machine_.files.FileText(kPath);
    if (!snapshot) return std::nullopt;
    return *snapshot + Join(log_.lines, "\n");
  }
  void Overwrite(const std::string& bytes) override {
    log_.lines.clear();
    machine_.files.SetFile(kPath, bytes);
  }
  FakeClock& clock() override { return machine_.clock; }

 private:
  static constexpr const char* kPath = "/project/podctl.state.json";
  FakeMachine machine_;
  ChangeLog log_;
};

INSTANTIATE_TEST_SUITE_P(InALog, StateStoreSuite,
                         ::testing::Values([] { return std::make_unique<LogBench>(); }));
INSTANTIATE_TEST_SUITE_P(OnFakeDisk, StateStoreSuite,
                         ::testing::Values([] { return std::make_unique<FakeBench>(); }));
INSTANTIATE_TEST_SUITE_P(OnRealDisk, StateStoreSuite,
                         ::testing::Values([] { return std::make_unique<RealBench>(); }));

// A saved plan holds a state without it, and a file that lost it is no state.
TEST(LocalStore, AStateWithoutItsKeyIsDamaged) {
  FakeMachine machine;
  State state = testing::SampleState();
  state.digest_key.clear();
  machine.files.SetFile("/project/podctl.state.json", StateToJson(state));
  const auto loaded = machine.Open().Load();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kDataLoss);
  EXPECT_THAT(loaded.error().message, HasSubstr("the state /project/podctl.state.json is damaged: "
                                                "the document has an empty `digest_key`"));
  EXPECT_THAT(loaded.error().hint, HasSubstr("podctl state restore"));
}

// ---- Errors in the middle of a save.

TEST(LocalStore, EveryFailedCallOfASaveIsReportedAndTheOldGenerationStands) {
  for (bool sticky : {false, true}) {
    bool finished = false;
    for (int call = 1; !finished; ++call) {
      ASSERT_LT(call, 100);
      FakeMachine machine;
      LocalRun store = machine.Open();
      State state = Older();
      ASSERT_TRUE(store.Save(state));
      const State before = state;
      machine.files.FailCall(call, MakeError(ErrorCode::kIo, "the disk is tired"), sticky);
      machine.files.ClearLog();
      state = Changed(state);
      auto saved = store.Save(state);
      const std::vector<std::string> log = machine.files.Log();
      const std::string last = log.back();
      finished = log.size() < static_cast<std::size_t>(call);
      machine.files.FailCall(0, {});
      if (finished) break;
      if (saved) {
        // The past is lost, which is told; or too much of it is still there.
        const std::string& failed = log[static_cast<std::size_t>(call) - 1];
        EXPECT_THAT(failed, HasSubstr(".history"));
        EXPECT_EQ(store.TakeWarnings().empty(), failed.starts_with("List")) << failed;
        EXPECT_EQ(machine.Open().Load()->state, state);
        continue;
      }

      EXPECT_THAT(saved.error().message, HasSubstr("the disk is tired"));
      auto loaded = machine.Open().Load();
      ASSERT_TRUE(loaded) << loaded.error().message;
      if (last.starts_with("SyncFolder")) {
        EXPECT_EQ(loaded->state, state);  // it stands there, but was not reported as safe
        EXPECT_EQ(state.serial, before.serial + 1);
      } else {
        EXPECT_EQ(loaded->state, before) << last;
        EXPECT_EQ(state.serial, before.serial);
        if (!sticky) {
          EXPECT_EQ(Present(machine).size(), 1U);
        }
      }
      // The same store can go on when the disk does, and writes again what is not surely durable.
      machine.files.ClearLog();
      ASSERT_TRUE(store.Save(state)) << last;
      EXPECT_THAT(machine.files.Log(), ::testing::Contains("SyncFolder /project")) << last;
      State now = *machine.Open().Load()->state;
      EXPECT_EQ(now, state);
      EXPECT_EQ(now.records, Changed(before).records);
    }
  }
}

TEST(LocalStore, FullDiskKeepsTheOldGeneration) {
  FakeMachine machine;
  LocalRun store = machine.Open();
  State state = Older();
  ASSERT_TRUE(store.Save(state));
  const auto stored = machine.files.FileText("/project/podctl.state.json");
  for (std::uint64_t space : {0, 1, 512, 1000}) {
    machine.files.LimitSpace(space);
    State next = Changed(state);
    auto saved = store.Save(next);
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error().message,
              "cannot save the state /project/podctl.state.json: No space left on device");
    EXPECT_EQ(machine.files.FileText("/project/podctl.state.json"), stored);
    EXPECT_EQ(machine.files.AllFiles().size(), 1U);
  }
}

TEST(LocalStore, EqualContentIsNotWritten) {
  FakeMachine machine;
  LocalRun store = machine.Open();
  State state = Older();
  ASSERT_TRUE(store.Save(state));
  machine.files.ClearLog();
  ASSERT_TRUE(store.Save(state));
  for (const std::string& call : machine.files.Log()) {
    EXPECT_FALSE(call.starts_with("WriteNew") || call.starts_with("Rename")) << call;
  }
}

// A podctl that only looks leaves the file to the podctl that wrote it.
TEST(LocalStore, EqualContentOfVersion1IsNotWritten) {
  std::ifstream file(podctl::testing::SourceFolder() + "/tests/golden/state/version1.state.json");
  std::stringstream text;
  text << file.rdbuf();
  FakeMachine machine;
  machine.files.SetFile("/project/podctl.state.json", text.str());
  LocalRun store = machine.Open();
  State state = *store.Load()->state;
  ASSERT_TRUE(store.Save(state));
  EXPECT_EQ(machine.files.FileText("/project/podctl.state.json"), text.str());
  state = Changed(state);
  ASSERT_TRUE(store.Save(state));
  EXPECT_THAT(*machine.files.FileText("/project/podctl.state.json"),
              HasSubstr("\"format_version\": 5,"));
  EXPECT_EQ(machine.Open().Load()->state, state);
}

TEST(LocalStore, StateIsPrivate) {
  FakeMachine machine;
  machine.files.SetFile("/project/podctl.state.json", StateToJson(SampleState()), 0644);
  LocalRun store = machine.Open();
  State state = *store.Load()->state;
  state = Changed(state);
  ASSERT_TRUE(store.Save(state));
  EXPECT_EQ(machine.files.FileMode("/project/podctl.state.json"), 0600U);
}

TEST(LocalStore, RemovedStateIsNotSilentlyMadeAgain) {
  FakeMachine machine;
  LocalRun store = machine.Open();
  State state = Older();
  ASSERT_TRUE(store.Save(state));
  ASSERT_TRUE(machine.files.Remove("/project/podctl.state.json"));
  state = Changed(state);
  auto saved = store.Save(state);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().message,
            "the state /project/podctl.state.json was removed since it was read");
}

TEST(LocalStore, StaleWriterIsToldBothSerials) {
  FakeMachine machine;
  LocalRun fast = machine.Open();
  State state = Older();
  ASSERT_TRUE(fast.Save(state));
  LocalRun slow = machine.Open();
  State old = *slow.Load()->state;
  state = Changed(state);
  ASSERT_TRUE(fast.Save(state));
  EXPECT_EQ(slow.Save(old).error().message,
            "the state /project/podctl.state.json was changed by somebody else since it was read "
            "(serial 1 was read, serial 2 is stored)");
}

// ---- Two who save at once, whatever became of the lock.

// Another run saves between any two calls that a save makes. One of the two must find that it lost,
// and what the other saved must stand.
void SaveInsideASave(bool first) {
  int slow_won = 0;
  int fast_won = 0;
  bool fired = true;
  for (int call = 1; fired; ++call) {
    ASSERT_LT(call, 100);
    FakeMachine machine;
    if (!first) {
      LocalRun before = machine.Open();
      State state = Older();
      ASSERT_TRUE(before.Save(state));
    }
    LocalRun slow = machine.Open();
    LocalRun fast = machine.Open();
    State slow_state = slow.Load()->state.value_or(Older());
    State fast_state = fast.Load()->state.value_or(Older());
    Pods(slow_state).at(Addr("pod.research")).current.uid = "slow";
    Pods(fast_state).at(Addr("pod.research")).current.uid = "fast";
    fired = false;
    Result<void> fast_saved;
    machine.files.Interleave(call, [&] {
      fired = true;
      fast_saved = fast.Save(fast_state);
    });
    Result<void> slow_saved = slow.Save(slow_state);
    if (!fired) break;
    ASSERT_NE(slow_saved.has_value(), fast_saved.has_value()) << "call " << call;
    const Error& lost = slow_saved ? fast_saved.error() : slow_saved.error();
    EXPECT_TRUE(lost.code == ErrorCode::kFailedPrecondition || lost.code == ErrorCode::kLocked)
        << lost.message;
    ++(slow_saved ? slow_won : fast_won);
    EXPECT_EQ(machine.Open().Load()->state, slow_saved ? slow_state : fast_state) << call;
    EXPECT_EQ(Present(machine).size(), 1U);
  }
  EXPECT_GT(fast_won, 0);
  EXPECT_GT(slow_won + (first ? 1 : 0), 0);
  ::testing::Test::RecordProperty("interleavings", slow_won + fast_won);
}

TEST(LocalStoreFencing, OneOfTwoFirstSavesWins) {
  SaveInsideASave(true);
}
TEST(LocalStoreFencing, OneOfTwoLaterSavesWins) {
  SaveInsideASave(false);
}

TEST(LocalStoreFencing, AStoppedSaverIsWaitedForAndNotOvertaken) {
  FakeMachine machine;
  LocalRun store = machine.Open();
  State state = Older();
  ASSERT_TRUE(store.Save(state));
  machine.files.HoldFile("/project/podctl.state.json");
  State next = Changed(state);
  auto refused = store.Save(next);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kLocked);
  EXPECT_EQ(refused.error().message,
            "another process is about to save the state /project/podctl.state.json, and does not "
            "get on with it");
  EXPECT_EQ(next, Changed(state));
  machine.files.LetGoOfFile("/project/podctl.state.json");
  EXPECT_TRUE(store.Save(next));
}

// The same with real processes: many save as fast as they can, from what each loaded, without any
// lock. Each generation has one winner, so the serial counts the successes.
TEST(LocalStoreFencing, RealProcessesWinOneGenerationEach) {
  constexpr int kProcesses = 8;
  constexpr int kRounds = 15;
  TempFolder folder;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      RealFileSystem files;
      RealClock clock;
      RealRandom random;
      int won = 0;
      for (int round = 0; round < kRounds; ++round) {
        LocalRun store(folder / "s.json", files, clock, random, LockHolder::ThisProcess(),
                       RememberedKinds());
        auto loaded = store.Load();
        if (!loaded) ::_exit(255);
        State state = loaded->state.value_or(State{});
        state.lineage = "8f14e45f-ceea-467f-a0e6-c1a5b1b7d3aa";
        Pods(state)[PodAddress(fmt::format("p{}-{}", i, round))].current.uid = "x";
        auto saved = store.Save(state);
        won += saved ? 1 : 0;
        const bool lost = !saved && (saved.error().code == ErrorCode::kFailedPrecondition ||
                                     saved.error().code == ErrorCode::kLocked);
        if (!saved && !lost) ::_exit(254);
      }
      ::_exit(won);
    }
    children.push_back(child);
  }
  std::uint64_t won = 0;
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_LE(WEXITSTATUS(status), kRounds);
    won += static_cast<std::uint64_t>(WEXITSTATUS(status));
  }
  RealFileSystem files;
  RealClock clock;
  RealRandom random;
  LocalRun store(folder / "s.json", files, clock, random, LockHolder::ThisProcess(),
                 RememberedKinds());
  auto end = store.Load();
  ASSERT_TRUE(end && end->state);
  EXPECT_EQ(end->state->serial, won);
  // Nothing that somebody was told was saved is lost.
  EXPECT_EQ(Pods(*end->state).size(), won);
}

// ---- Where the file is.

TEST(LocalStore, MissingFolderIsNamed) {
  FakeMachine machine;
  LocalRun store = machine.Open("/nowhere/podctl.state.json");
  State state;
  const std::string expected =
      "the folder /nowhere of the state /nowhere/podctl.state.json does not exist";
  EXPECT_EQ(store.Load().error().message, expected);
  EXPECT_EQ(store.Save(state).error().message, expected);
  EXPECT_EQ(store.Lock({}, kAtOnce, {}).error().message, expected);
}

TEST(LocalStore, PathWithoutAFolderStandsInTheCurrentOne) {
  FakeMachine machine;
  LocalRun store = machine.Open("podctl.state.json");
  auto lock = store.Lock({}, kAtOnce, {});
  ASSERT_TRUE(lock);
  State state = Older();
  ASSERT_TRUE(store.Save(state));
  EXPECT_TRUE(machine.files.FileText("podctl.state.json"));
}

TEST(LocalStore, LinkIsFollowedAndStays) {
  FakeMachine machine;
  machine.files.SetFolder("/shared/team");
  State state = Older();
  ASSERT_TRUE(machine.Open("/shared/team/real.json").Save(state));
  machine.files.SetLink("/project/podctl.state.json", "../shared/team/real.json");
  LocalRun store = machine.Open("/project/podctl.state.json", "here", {.keep = 0});
  ASSERT_TRUE(store.Load());
  ASSERT_TRUE(store.Save(state = Changed(state)));
  EXPECT_THAT(machine.files.AllFiles(), ::testing::ElementsAre("/shared/team/real.json"));

  // Who comes by the other name meets the same lock and the same state.
  auto lock = store.Lock({}, kAtOnce, {});
  ASSERT_TRUE(lock);
  LocalRun direct = machine.Open("/shared/team/real.json");
  EXPECT_FALSE(direct.Lock({}, kAtOnce, {}));
  EXPECT_EQ(direct.Load()->state, state);
}

// A repository can carry a link, and podctl must not make a file wherever it leads.
TEST(LocalStore, NothingIsMadeThroughALinkThatLeadsNowhere) {
  FakeMachine machine;
  machine.files.SetFolder("/home/alice/.ssh");
  machine.files.SetLink("/project/podctl.state.json", "/home/alice/.ssh/authorized_keys");
  LocalRun store = machine.Open();
  const std::string expected =
      "the state /project/podctl.state.json is a symbolic link to "
      "/home/alice/.ssh/authorized_keys, where there is none";
  EXPECT_EQ(store.Load().error().message, expected);
  EXPECT_EQ(store.Lock({}, kAtOnce, {}).error().message, expected);
  State state = Older();
  EXPECT_EQ(store.Save(state).error().message, expected);
  EXPECT_EQ(store.Push(state).error().message, expected);
  EXPECT_THAT(machine.files.AllFiles(), ::testing::IsEmpty());
}

TEST(LocalStore, WhatALinkLeadsToIsNotPutAside) {
  FakeMachine machine;
  machine.files.SetFolder("/home/alice");
  machine.files.SetFile("/home/alice/.bashrc", "alias l=ls\n");
  machine.files.SetLink("/project/podctl.state.json", "/home/alice/.bashrc");
  LocalRun store = machine.Open();
  EXPECT_EQ(store.Load().error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(store.SetAside().error().code, ErrorCode::kFailedPrecondition);
  State state = Older();
  EXPECT_FALSE(store.Save(state));
  EXPECT_EQ(machine.files.FileText("/home/alice/.bashrc"), "alias l=ls\n");
}

TEST(LocalStore, RealLinkIsFollowedAndStays) {
  TempFolder folder;
  RealFileSystem files;
  FakeClock clock;
  RealRandom random;
  State state = Older();
  LocalRun real(folder / "real.json", files, clock, random, LockHolder::ThisProcess(),
                RememberedKinds());
  ASSERT_TRUE(real.Save(state));
  std::filesystem::create_symlink("real.json", folder / "link.json");
  LocalRun store(folder / "link.json", files, clock, random, LockHolder::ThisProcess(),
                 RememberedKinds());
  ASSERT_TRUE(store.Load());
  ASSERT_TRUE(store.Save(state = Changed(state)));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.json"));
  EXPECT_FALSE(std::filesystem::is_symlink(folder / "real.json"));
  EXPECT_EQ(store.Load()->state, state);
  const auto mode = std::filesystem::status(folder / "real.json").permissions();
  EXPECT_EQ(static_cast<unsigned>(mode), 0600U);
}

TEST(LocalStore, ADamagedStateIsPutAsideWhole) {
  FakeMachine machine;
  machine.files.SetFile("/project/podctl.state.json", "{ damaged");
  LocalRun store = machine.Open();
  EXPECT_EQ(store.Load().error().code, ErrorCode::kDataLoss);
  const auto aside = store.SetAside();
  ASSERT_TRUE(aside) << aside.error().message;
  EXPECT_TRUE(aside->starts_with("/project/podctl.state.json.damaged-")) << *aside;
  EXPECT_EQ(machine.files.FileText(*aside), "{ damaged");
  auto loaded = store.Load();
  ASSERT_TRUE(loaded);
  EXPECT_FALSE(loaded->state);
  // A second one of the same second does not cost the first.
  machine.files.SetFile("/project/podctl.state.json", "");
  const auto second = machine.Open().SetAside();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_NE(*second, *aside);
  EXPECT_EQ(machine.files.FileText(*aside), "{ damaged");
}

TEST(LocalStore, UnreadableStateIsAnError) {
  FakeMachine machine;
  machine.files.SetFile("/project/podctl.state.json", StateToJson(SampleState()), 0200);
  EXPECT_EQ(machine.Open().Load().error().code, ErrorCode::kPermissionDenied);
  machine.files.SetFolder("/project/folder");
  EXPECT_EQ(machine.Open("/project/folder").Load().error().code, ErrorCode::kDataLoss);
}

TEST(LocalStore, FolderThatCannotBeWrittenIsSaidAtTheLock) {
  FakeMachine machine;
  machine.files.SetReadOnly("/project");
  auto lock = machine.Open().Lock({}, kAtOnce, {});
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, ErrorCode::kPermissionDenied);
  EXPECT_THAT(lock.error().message, HasSubstr("/project/podctl.state.json.lock"));
}

TEST(LocalStore, LeftoversOfThisStateAloneAreRemoved) {
  FakeMachine machine;
  const std::string uuid = "00000000-0000-4000-8000-00000000abcd";
  const std::vector<std::string> others = {
      "/project/.podctl.state.json.bak.77-" + uuid + ".tmp",  // of the state podctl.state.json.bak
      "/project/.podctl.state.json.notes.tmp", "/project/podctl.state.json.77-" + uuid + ".tmp"};
  for (const std::string& path : others) machine.files.SetFile(path, "x");
  machine.files.SetFile("/project/.podctl.state.json.77-" + uuid + ".tmp", "half a sta");
  LocalRun store = machine.Open();
  ASSERT_TRUE(store.Lock({}, kAtOnce, {}));
  EXPECT_THAT(machine.files.AllFiles(), ::testing::UnorderedElementsAreArray(others));
}

}  // namespace
}  // namespace podctl::testing
