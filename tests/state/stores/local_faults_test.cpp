// What a LocalStore does when the disk refuses, at every call in turn, and when what is stored is
// no state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/digest.h"
#include "state/state_json.h"
#include "tests/state/stores/bench.h"
#include "tests/support/addresses.h"
#include "tests/support/sample_state.h"

namespace podctl::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kFaultyPath[] = "/project/podctl.state.json";

// Two kept generations are enough to see the third go.
LocalRun OpenRun(FakeMachine& machine) {
  return machine.Open(kFaultyPath, "here", {.keep = 2});
}

// As RealFileSystem words what the system says.
const std::pair<const char*, ErrorCode> kFaults[] = {
    {"No space left on device", ErrorCode::kIo},
    {"Input/output error", ErrorCode::kIo},
    {"Disk quota exceeded", ErrorCode::kIo},
    {"Read-only file system", ErrorCode::kPermissionDenied},
    {"Permission denied", ErrorCode::kPermissionDenied},
    {"Too many open files", ErrorCode::kIo},
    {"Interrupted system call", ErrorCode::kIo},
};

struct Scene {
  bool stored = true;  // there is a generation already
  bool links = true;   // the file system has hard links
  bool kept = true;    // the folder of kept generations is there
};

struct Past {
  State state;                               // as stored
  std::map<std::string, std::string> files;  // by path
};

// What `runs` runs leave behind.
Past PastOf(int runs) {
  FakeMachine machine;
  Past past;
  past.state = SampleState();
  past.state.serial = 0;
  for (int run = 0; run < runs; ++run) {
    machine.clock.Advance(std::chrono::minutes(1));
    LocalRun store = OpenRun(machine);
    EXPECT_TRUE(store.Load());
    Pods(past.state).at(Addr("pod.research")).current.uid = "before " + std::to_string(run);
    EXPECT_TRUE(store.Save(past.state));
  }
  for (const std::string& path : machine.files.AllFiles()) {
    past.files[path] = *machine.files.FileText(path);
  }
  return past;
}

// The machine of a scene, with what is stored on it.
std::optional<State> SetTheScene(FakeMachine& machine, const Scene& scene) {
  if (!scene.links) machine.files.RefuseLinks();
  if (!scene.stored) return std::nullopt;
  static const Past one_run = PastOf(1);
  static const Past four_runs = PastOf(4);
  const Past& past = scene.kept ? four_runs : one_run;
  if (scene.kept) machine.files.SetFolder(std::string(kFaultyPath) + ".history");
  machine.clock.Advance(std::chrono::minutes(7));
  for (const auto& [path, bytes] : past.files) machine.files.SetFile(path, bytes);
  machine.clock.Advance(std::chrono::minutes(1));
  return past.state;
}

struct RunEnd {
  Result<void> result;  // of all that a run's exit code rests on
  State state;          // what it wanted to be stored
  std::vector<std::string> warnings;
};

// Lock, load, change, save twice, unlock: all that a run does with its store.
RunEnd RunOf(FakeMachine& machine) {
  RunEnd end;
  LocalRun store = OpenRun(machine);
  auto lock = store.Lock({}, kAtOnce, {});
  if (!lock) {
    end.result = lock.error();
    return end;
  }
  auto loaded = store.Load();
  if (!loaded) {
    end.result = loaded.error();
    return end;
  }
  end.state = loaded->state.value_or(SampleState());
  if (!loaded->state) end.state.serial = 0;
  for (const char* uid : {"first", "second"}) {
    Pods(end.state).at(Addr("pod.research")).current.uid = uid;
    if (auto saved = store.Save(end.state); !saved && end.result) end.result = saved;
  }
  end.warnings = store.TakeWarnings();
  return end;
}

// After whatever it was: a whole generation is stored, the lock is free, the next run saves, and
// every generation that is kept is whole.
void ExpectGoodEnd(FakeMachine& machine, const std::optional<State>& before, const RunEnd& end) {
  machine.alive_.clear();
  LocalRun next = OpenRun(machine);
  auto lock = next.Lock({}, kAtOnce, {});
  ASSERT_TRUE(lock) << lock.error().message;
  auto loaded = next.Load();
  ASSERT_TRUE(loaded) << loaded.error().message;
  if (end.result) {
    EXPECT_EQ(loaded->state, end.state);
  } else if (before) {
    ASSERT_TRUE(loaded->state);
    const std::string& uid = Pods(*loaded->state).at(Addr("pod.research")).current.uid;
    EXPECT_TRUE(loaded->state == before || uid == "first" || uid == "second");
  }
  State state = loaded->state.value_or(SampleState());
  Pods(state).at(Addr("pod.research")).current.uid = "after";
  EXPECT_TRUE(next.Save(state));
  auto history = next.History();
  ASSERT_TRUE(history);
  for (const HistoryEntry& entry : *history) EXPECT_EQ(entry.problem, "");
}

// Fails each call of a run in turn, until a run ends before its turn comes.
int FailEachCall(const Scene& scene, const Error& fault, bool sticky) {
  int failed_runs = 0;
  for (int call = 1; call < 200; ++call) {
    FakeMachine machine;
    const std::optional<State> before = SetTheScene(machine, scene);
    machine.files.ClearLog();
    machine.files.FailCall(call, fault, sticky);
    const RunEnd end = RunOf(machine);
    const std::vector<std::string> log = machine.files.Log();
    machine.files.FailCall(0, {});
    if (log.size() < static_cast<std::size_t>(call)) {
      EXPECT_TRUE(end.result);
      EXPECT_THAT(end.warnings, ::testing::IsEmpty());
      EXPECT_GT(failed_runs, 0);
      return call - 1;
    }
    SCOPED_TRACE("call " + std::to_string(call) + ", " + log[static_cast<std::size_t>(call) - 1] +
                 (sticky ? ", and all after it" : "") + ": " + fault.message);
    if (!end.result) {
      ++failed_runs;
      EXPECT_THAT(end.result.error().message, HasSubstr(fault.message));
    }
    ExpectGoodEnd(machine, before, end);
  }
  ADD_FAILURE() << "a run without end";
  return 0;
}

TEST(LocalStoreFaults, EveryCallOfARunFailsInTurn) {
  int cases = 0;
  for (const Scene& scene : {Scene{}, Scene{.stored = false}, Scene{.kept = false},
                             Scene{.links = false}, Scene{.links = false, .kept = false}}) {
    for (const auto& [words, code] : kFaults) {
      for (bool sticky : {false, true}) {
        cases += FailEachCall(scene, MakeError(code, words), sticky);
      }
    }
  }
  RecordProperty("cases", cases);
  EXPECT_GT(cases, 1000);
}

// What is tolerated: which calls may fail without the run failing. All else is an error.
TEST(LocalStoreFaults, OnlyThePastAndTheTidyingUpMayFailQuietly) {
  for (int call = 1; call < 200; ++call) {
    FakeMachine machine;
    SetTheScene(machine, {});
    machine.files.ClearLog();
    machine.files.FailCall(call, MakeError(ErrorCode::kIo, "no"));
    const RunEnd end = RunOf(machine);
    const std::vector<std::string> log = machine.files.Log();
    if (log.size() < static_cast<std::size_t>(call)) return;
    if (!end.result) continue;
    const std::string& failed = log[static_cast<std::size_t>(call) - 1];
    const bool past = failed.starts_with("MakeFolder ") || failed.starts_with("Link ") ||
                      failed == std::string("Stat ") + kFaultyPath ||
                      failed == std::string("SyncFolder ") + kFaultyPath + ".history";
    const bool looks = failed == std::string("FollowLinks ") + kFaultyPath + ".history";
    const bool tidying = failed.starts_with("List ") || failed.starts_with("Remove ") ||
                         failed.starts_with("Unlock ");
    EXPECT_TRUE(past || tidying || looks) << failed;
    // Before the generation is kept, and again before old ones are removed.
    if (looks) continue;
    EXPECT_EQ(end.warnings.size(), past ? 1U : 0U) << failed;
  }
}

TEST(LocalStoreFaults, ADiskThatFillsUpAtAnyByteKeepsTheGenerationBefore) {
  FakeMachine sizes;
  SetTheScene(sizes, {});
  const std::uint64_t size = sizes.files.FileText(kFaultyPath)->size();
  int cases = 0;
  for (std::uint64_t space = 0; space < 2 * size + 1000; space += 97) {
    FakeMachine machine;
    const std::optional<State> before = SetTheScene(machine, {});
    machine.files.LimitSpace(space);
    const RunEnd end = RunOf(machine);
    machine.files.LimitSpace(std::nullopt);
    SCOPED_TRACE(space);
    ExpectGoodEnd(machine, before, end);
    ++cases;
  }
  RecordProperty("cases", cases);
}

// ---- What is stored and is no state.

std::string WithLineEndsOfWindows(const std::string& text) {
  std::string changed;
  for (char c : text) changed += c == '\n' ? std::string("\r\n") : std::string(1, c);
  return changed;
}

// Every one must be refused by all that a run does, and must stand there afterwards as it was.
std::vector<std::string> BadStates() {
  const std::string whole = StateToJson(SampleState());
  std::vector<std::string> bad = {"",
                                  "\n",
                                  "null",
                                  "{}",
                                  "[]",
                                  "\xEF\xBB\xBF" + whole,
                                  WithLineEndsOfWindows(whole),
                                  whole + whole,
                                  whole + "x",
                                  std::string(4096, '\0'),
                                  std::string(whole.size(), '\0'),
                                  std::string(100'000, '['),
                                  std::string(100'000, '{')};
  for (std::size_t size = 0; size + 1 < whole.size(); size += 64) {
    bad.push_back(whole.substr(0, size));
    bad.push_back(whole.substr(0, size) + std::string(whole.size() - size, '\0'));
  }
  for (std::size_t i = 0; i < 200; ++i) {
    std::string flipped = whole;
    const std::size_t at = i * (whole.size() - 1) / 200;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (i % 8)));
    bad.push_back(flipped);
  }
  const std::pair<const char*, const char*> edits[] = {
      {"\"serial\": 42", "\"serial\": 43"},
      {"\"serial\": 42", "\"serial\": -1"},
      {"\"serial\": 42", "\"serial\": 9007199254740992"},
      {"\"serial\": 42", "\"serial\": 18446744073709551615"},
      {"\"serial\": 42", "\"serial\": \"42\""},
      {"\"serial\": 42", "\"serial\": 42, \"serial\": 42"},
      {"\"format_version\": 5", "\"format_version\": 0"},
      {"\"format_version\": 5", "\"format_version\": 4"},
      {"\"format_version\": 5", "\"format_version\": 999"},
      {"  \"lineage\"", "  \"line\""},
      {"\"pod.other\"", "\"pad.other\""},
  };
  for (const auto& [from, to] : edits) {
    std::string edited = whole;
    edited.replace(edited.find(from), std::string(from).size(), to);
    bad.push_back(edited);
  }
  return bad;
}

TEST(LocalStoreFaults, NoBadStateIsTakenForNoneOrWrittenOver) {
  const std::vector<std::string> bad = BadStates();
  FakeMachine machine;
  for (const std::string& bytes : bad) {
    machine.files.SetFile(kFaultyPath, bytes);
    LocalRun store = machine.Open();
    auto loaded = store.Load();
    ASSERT_FALSE(loaded) << bytes;
    EXPECT_TRUE(loaded.error().code == ErrorCode::kDataLoss ||
                loaded.error().code == ErrorCode::kUnimplemented);
    EXPECT_THAT(loaded.error().message, HasSubstr(kFaultyPath));
    State mine = SampleState();
    EXPECT_FALSE(store.Save(mine));
    EXPECT_FALSE(store.Push(mine));
    // Also with a token that fits: what cannot be read cannot be continued.
    Generation fits{Sha256Hex(bytes)};
    EXPECT_FALSE(store.Save(mine, &fits));
    EXPECT_FALSE(store.Push(mine, &fits));
    EXPECT_EQ(mine, SampleState());
    ASSERT_EQ(machine.files.FileText(kFaultyPath), bytes);
    ASSERT_EQ(machine.files.AllFiles().size(), 1U);
  }
  RecordProperty("cases", static_cast<int>(bad.size()));
}

TEST(LocalStoreFaults, TheLastSerialIsReadButHasNoSuccessor) {
  FakeMachine machine;
  State state = SampleState();
  state.serial = kMaxSerial;
  machine.files.SetFile(kFaultyPath, StateToJson(state));
  LocalRun store = machine.Open();
  EXPECT_EQ(store.Load()->state, state);
  State next = state;
  Pods(next).at(Addr("pod.research")).current.uid = "x";
  EXPECT_EQ(store.Save(next).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(store.Load()->state, state);
}

TEST(LocalStoreFaults, PipesFoldersAndLoopsAreErrorsAndDoNotHang) {
  TempFolder folder;
  RealFileSystem files;
  FakeClock clock;
  RealRandom random;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(folder / "folder");
  std::filesystem::create_symlink("loop", folder / "loop");
  std::filesystem::create_symlink("pipe", folder / "link");
  std::filesystem::create_symlink("/dev/full", folder / "device");
  for (const char* name : {"pipe", "folder", "loop", "link", "device"}) {
    LocalRun store(folder / name, files, clock, random, LockHolder::ThisProcess(),
                   RememberedKinds());
    auto loaded = store.Load();
    ASSERT_FALSE(loaded) << name;
    EXPECT_TRUE(loaded.error().code == ErrorCode::kDataLoss ||
                loaded.error().code == ErrorCode::kIo)
        << loaded.error().message;
    State state;
    EXPECT_FALSE(store.Save(state)) << name;
    EXPECT_FALSE(store.Push(state)) << name;
  }
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe"));
  EXPECT_TRUE(std::filesystem::is_directory(folder / "folder"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "loop"));
}

}  // namespace
}  // namespace podctl::testing
