// What every state store promises, whatever it is made of: run it with
// INSTANTIATE_TEST_SUITE_P(Name, StateStoreSuite, ::testing::Values(factory)).
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "plans/kinds/pod/record.h"
#include "state/state_json.h"
#include "state/store.h"
#include "tests/support/addresses.h"
#include "tests/support/fake_clock.h"
#include "tests/support/sample_state.h"

namespace podctl::testing {

// One place where a state can live, empty at first, and doors to it as several runs of podctl would
// have them.
class StoreBench {
 public:
  virtual ~StoreBench() = default;
  // A further run of podctl on the same place, as another process of the same host.
  virtual std::unique_ptr<StateStore> Open() = 0;
  // What is stored, byte for byte; nullopt when nothing is.
  virtual std::optional<std::string> Stored() = 0;
  // Puts bytes there behind the stores' backs.
  virtual void Overwrite(const std::string& bytes) = 0;
  virtual FakeClock& clock() = 0;
};

using StoreBenchFactory = std::function<std::unique_ptr<StoreBench>()>;

class StateStoreSuite : public ::testing::TestWithParam<StoreBenchFactory> {
 protected:
  void SetUp() override {
    bench_ = GetParam()();
    store_ = bench_->Open();
  }

  static LockInfo Info(const std::string& operation = "apply") {
    LockInfo info;
    info.operation = operation;
    return info;
  }
  static std::unique_ptr<StateLock> MustLock(StateStore& store) {
    auto lock = store.Lock(Info(), std::chrono::milliseconds(0), {});
    EXPECT_TRUE(lock) << lock.error().message;
    return lock ? *std::move(lock) : nullptr;
  }
  // As a run does it: what `store` saves follows what it loaded or saved last.
  Result<void> Save(StateStore& store, State& state) { return store.Save(state, &at_[&store]); }
  Result<void> Append(StateStore& store, const State& before, State& state) {
    return store.Append(state, ChangesBetween(before, state), &at_[&store]);
  }
  Result<Snapshot> Load(StateStore& store) {
    auto loaded = store.Load();
    if (loaded) at_[&store] = loaded->generation;
    return loaded;
  }
  void MustSave(StateStore& store, State& state) {
    auto saved = Save(store, state);
    ASSERT_TRUE(saved) << saved.error().message;
  }
  State MustLoad(StateStore& store) {
    auto loaded = Load(store);
    EXPECT_TRUE(loaded) << loaded.error().message;
    EXPECT_TRUE(!loaded || loaded->state);
    return loaded ? std::move(loaded->state).value_or(State{}) : State{};
  }

  std::unique_ptr<StoreBench> bench_;
  std::unique_ptr<StateStore> store_;
  std::map<const StateStore*, Generation> at_;
};

TEST_P(StateStoreSuite, NothingStoredIsNoState) {
  auto loaded = store_->Load();
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_FALSE(loaded->state);
  EXPECT_TRUE(loaded->generation.none());
}

TEST_P(StateStoreSuite, FirstSaveGivesLineageKeyAndSerialOne) {
  auto lock = MustLock(*store_);
  State state;
  MustSave(*store_, state);
  EXPECT_FALSE(state.lineage.empty());
  EXPECT_FALSE(state.digest_key.empty());
  EXPECT_EQ(state.serial, 1U);
  EXPECT_EQ(MustLoad(*bench_->Open()), state);
}

TEST_P(StateStoreSuite, EveryFieldComesBack) {
  auto lock = MustLock(*store_);
  State state = SampleState();
  MustSave(*store_, state);
  State expected = SampleState();
  expected.serial = state.serial;
  EXPECT_EQ(MustLoad(*bench_->Open()), expected);
}

TEST_P(StateStoreSuite, SerialCountsSavesThatChangeSomething) {
  auto lock = MustLock(*store_);
  State state = SampleState();
  MustSave(*store_, state);
  const std::uint64_t first = state.serial;
  const auto bytes = bench_->Stored();
  MustSave(*store_, state);
  EXPECT_EQ(state.serial, first);
  EXPECT_EQ(bench_->Stored(), bytes);
  Pods(state)[Pods(state).begin()->first].current.uid = "another";
  MustSave(*store_, state);
  EXPECT_EQ(state.serial, first + 1);
  EXPECT_NE(bench_->Stored(), bytes);
}

TEST_P(StateStoreSuite, LineageStaysOverSaves) {
  auto lock = MustLock(*store_);
  State state;
  MustSave(*store_, state);
  const std::string lineage = state.lineage;
  Pods(state)[Addr("pod.a")].current.locator = "a";
  MustSave(*store_, state);
  EXPECT_EQ(MustLoad(*bench_->Open()).lineage, lineage);
}

TEST_P(StateStoreSuite, StaleWriterLoses) {
  State state = SampleState();
  MustSave(*store_, state);
  auto slow = bench_->Open();
  State old = MustLoad(*slow);
  Pods(state)[Pods(state).begin()->first].current.uid = "newer";
  MustSave(*store_, state);

  Pods(old)[Pods(old).begin()->first].current.uid = "older";
  auto saved = Save(*slow, old);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(MustLoad(*bench_->Open()), state);
}

TEST_P(StateStoreSuite, WriterWhoSawNoStateLosesToOneWhoMadeIt) {
  auto slow = bench_->Open();
  ASSERT_TRUE(Load(*slow));
  State state = SampleState();
  MustSave(*store_, state);
  State other;
  auto saved = Save(*slow, other);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(other.serial, 0U);
  EXPECT_EQ(MustLoad(*bench_->Open()), state);
}

TEST_P(StateStoreSuite, AnotherLineageIsNeverOverwritten) {
  State state = SampleState();
  MustSave(*store_, state);
  auto fresh = bench_->Open();
  ASSERT_TRUE(Load(*fresh));
  State other = state;
  other.lineage = "11111111-1111-4111-8111-111111111111";
  auto saved = Save(*fresh, other);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(MustLoad(*bench_->Open()), state);
}

TEST_P(StateStoreSuite, DamagedStateIsAnErrorAndIsNotOverwritten) {
  State state = SampleState();
  MustSave(*store_, state);
  const std::string whole = *bench_->Stored();
  for (const std::string& bytes : {std::string(), whole.substr(0, whole.size() / 2),
                                   std::string(whole.size(), '\0'), std::string("{}\n")}) {
    bench_->Overwrite(bytes);
    auto store = bench_->Open();
    auto loaded = store->Load();
    ASSERT_FALSE(loaded) << bytes;
    EXPECT_EQ(loaded.error().code, ErrorCode::kDataLoss);
    EXPECT_FALSE(loaded.error().hint.empty());
    State mine = state;
    EXPECT_FALSE(Save(*store, mine));
    EXPECT_FALSE(Save(*store_, mine));
    EXPECT_FALSE(store_->Push(mine, &at_[store_.get()]));
    EXPECT_EQ(bench_->Stored(), bytes);
  }
}

TEST_P(StateStoreSuite, AppendedChangesComeBack) {
  State state = SampleState();
  MustSave(*store_, state);
  for (int i = 0; i < 3; ++i) {
    const State before = state;
    Pods(state)[Addr("pod.research")].current.uid = std::to_string(i);
    if (i == 1) Pods(state)[Addr("pod.third")].current.locator = "third";
    if (i == 2) Pods(state).erase(Addr("pod.other"));
    const auto appended = Append(*store_, before, state);
    ASSERT_TRUE(appended) << appended.error().message;
    EXPECT_EQ(state.serial, before.serial + 1);
    EXPECT_EQ(MustLoad(*bench_->Open()), state);
  }
  Pods(state)[Addr("pod.third")].current.uid = "x";
  MustSave(*store_, state);
  EXPECT_EQ(MustLoad(*bench_->Open()), state);
}

TEST_P(StateStoreSuite, NoChangeIsNoGeneration) {
  State state = SampleState();
  MustSave(*store_, state);
  const State before = state;
  const Generation at = at_[store_.get()];
  ASSERT_TRUE(Append(*store_, before, state));
  EXPECT_EQ(state, before);
  EXPECT_EQ(at_[store_.get()], at);
}

TEST_P(StateStoreSuite, WhoAppendsToAnotherGenerationLoses) {
  State state = SampleState();
  MustSave(*store_, state);
  auto slow = bench_->Open();
  State old = MustLoad(*slow);
  const State before = state;
  Pods(state)[Addr("pod.other")].current.uid = "newer";
  ASSERT_TRUE(Append(*store_, before, state));

  const State known = old;
  Pods(old)[Addr("pod.other")].current.uid = "older";
  const auto appended = Append(*slow, known, old);
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(old.serial, known.serial);
  EXPECT_EQ(MustLoad(*bench_->Open()), state);
}

TEST_P(StateStoreSuite, ThousandsOfRecordsComeBack) {
  constexpr int kRecords = 5000;
  auto lock = MustLock(*store_);
  State state;
  for (int i = 0; i < kRecords; ++i) {
    const std::string name = "n" + std::to_string(10000 + i);
    PodRecord& record = Pods(state)[Addr("pod." + name)];
    record.project = "my-project";
    record.zone = "europe-west4-a";
    record.current.locator = name;
    record.current.uid = std::to_string(i);
  }
  MustSave(*store_, state);
  EXPECT_TRUE(MustLoad(*bench_->Open()) == state);
  const State before = state;
  Pods(state)[Addr("pod.n14999")].current.uid = "changed";
  ASSERT_TRUE(Append(*store_, before, state));
  EXPECT_TRUE(MustLoad(*bench_->Open()) == state);
}

TEST_P(StateStoreSuite, OneHoldsTheLockAndTheOtherIsToldWho) {
  auto lock = MustLock(*store_);
  auto other = bench_->Open();
  auto refused = other->Lock(Info("destroy"), std::chrono::milliseconds(0), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kLocked);
  const std::string& text = refused.error().message;
  EXPECT_TRUE(text.starts_with("Error acquiring the state lock: ")) << text;
  EXPECT_NE(text.find("\nLock Info:\n  ID:        "), std::string::npos) << text;
  EXPECT_NE(text.find("\n  Operation: apply\n"), std::string::npos) << text;
  lock.reset();
  EXPECT_NE(MustLock(*other), nullptr);
}

TEST_P(StateStoreSuite, ReleasedLockLeavesNoNote) {
  MustLock(*store_).reset();
  auto lock = MustLock(*bench_->Open());
  EXPECT_EQ(lock->TakeoverNote(), "");
}

TEST_P(StateStoreSuite, LockIdsNeverRepeat) {
  auto id_of_holder = [&] {
    auto lock = MustLock(*store_);
    auto refused = bench_->Open()->Lock(Info(), std::chrono::milliseconds(0), {});
    return refused ? "" : refused.error().message.substr(refused.error().message.find("ID:"), 50);
  };
  const std::string first = id_of_holder();
  EXPECT_NE(first, id_of_holder());
}

TEST_P(StateStoreSuite, WaitsForTheLockWithGrowingPauses) {
  auto lock = MustLock(*store_);
  const auto before = bench_->clock().Elapsed();
  auto refused = bench_->Open()->Lock(Info(), std::chrono::seconds(60), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kLocked);
  EXPECT_EQ(bench_->clock().Elapsed() - before, std::chrono::seconds(60));
}

TEST_P(StateStoreSuite, WaitingEndsWhenStopped) {
  auto lock = MustLock(*store_);
  std::stop_source stop;
  stop.request_stop();
  auto refused = bench_->Open()->Lock(Info(), std::chrono::hours(1), stop.get_token());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kCancelled);
}

TEST_P(StateStoreSuite, ForceUnlockRefusesALivingHolderAndAFreeLock) {
  EXPECT_EQ(store_->ForceUnlock("x").error().code, ErrorCode::kNotFound);
  LockInfo info = Info();
  info.id = "22222222-2222-4222-8222-222222222222";
  auto lock = store_->Lock(info, std::chrono::milliseconds(0), {});
  ASSERT_TRUE(lock);
  auto other = bench_->Open();
  EXPECT_EQ(other->ForceUnlock("x").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(other->ForceUnlock(info.id).error().code, ErrorCode::kLocked);
  EXPECT_FALSE(other->Lock(Info(), std::chrono::milliseconds(0), {}));
}

}  // namespace podctl::testing
