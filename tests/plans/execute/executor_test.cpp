// The loop itself: what is on the disk when, and what an interrupt or a full disk does.
#include "plans/engine/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/step/record.h"
#include "providers/base/json.h"
#include "state/state_json.h"
#include "state/store.h"
#include "state/stores/local_store.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using testing::FakeProvider;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ExecutorTest : public ::testing::Test {
 protected:
  Harness harness_;
};

// Says that the step took on worker 1, and then knows no more of it.
class ForgetfulStepRunner final : public StepRunner {
 public:
  std::vector<StepOutcome> Run(const Step& step, const std::vector<WorkerAccess>& workers,
                               StepObserver& observer, std::stop_token) override {
    std::vector<StepOutcome> outcomes;
    if (step.kind == Step::Kind::kReadiness) {
      for (const WorkerAccess& worker : workers) {
        outcomes.push_back({worker.index, true, {}, {}, {}});
      }
      return outcomes;
    }
    observer.OnStepApplied(1, "ssh-ed25519 AAAA");
    for (const WorkerAccess& worker : workers) {
      if (worker.index != 1) outcomes.push_back({worker.index, false, "it fell over", {}, {}});
    }
    return outcomes;
  }
};

TEST_F(ExecutorTest, WhatTookOnAWorkerIsNotedWithoutWaitingForTheOthers) {
  ForgetfulStepRunner steps;
  harness_.steps_door = &steps;
  harness_.Pods(Harness::Pod("a", "    bootstrap: [{name: x, run: echo}]\n"));
  const ExecuteResult result = harness_.Apply();
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_THAT(result.failures[0].error.message, HasSubstr("workers 0,2-3: it fell over"));
  const State stored = harness_.Stored();
  ASSERT_EQ(Steps(stored).at(Addr("bootstrap.a.x")).workers.size(), 1U);
  EXPECT_EQ(Steps(stored).at(Addr("bootstrap.a.x")).workers.begin()->first, 1);
  EXPECT_EQ(Pods(stored).at(Addr("pod.a")).host_keys.at(1),
            std::vector<HostKeyText>{"ssh-ed25519 AAAA"});
}

TEST_F(ExecutorTest, TheIntentIsOnTheDiskBeforeTheRequestLeaves) {
  harness_.Pods(Harness::Pod("a"));
  std::optional<PendingAction> create;
  bool existed = true;
  harness_.cloud.Before("create", [&](FakeProvider&) {
    const PodRecord record = Pods(harness_.Stored()).at(Addr("pod.a"));
    create = record.pending();
    existed = record.exists();
    EXPECT_EQ(record.current.locator, "a");
  });
  harness_.ApplyAll();
  ASSERT_TRUE(create.has_value());
  EXPECT_EQ(create->kind, PendingAction::Kind::kCreate);
  EXPECT_EQ(create->operation, "");
  EXPECT_EQ(create->begun_at, "2026-11-20T14:30:00Z");
  EXPECT_FALSE(existed);

  harness_.Pods(Harness::Pod("a", "    description: x\n"));
  std::optional<PendingAction> patch;
  harness_.cloud.Before(
      "patch", [&](FakeProvider&) { patch = Pods(harness_.Stored()).at(Addr("pod.a")).pending(); });
  harness_.ApplyAll();
  ASSERT_TRUE(patch.has_value());
  EXPECT_EQ(patch->kind, PendingAction::Kind::kPatch);

  std::optional<PendingAction> gone;
  harness_.cloud.Before(
      "delete", [&](FakeProvider&) { gone = Pods(harness_.Stored()).at(Addr("pod.a")).pending(); });
  EXPECT_TRUE(harness_.Destroy().ok());
  ASSERT_TRUE(gone.has_value());
  EXPECT_EQ(gone->kind, PendingAction::Kind::kDelete);
}

TEST_F(ExecutorTest, TheResultIsOnTheDiskBeforeADependentActs) {
  harness_.Pods(Harness::Pod("a", "    bootstrap: [{name: x, run: echo}]\n") +
                Harness::Pod("b", "    dependsOn: [pod.a]\n"));
  std::optional<State> at_step;
  harness_.workers.OnRun([&](const auto&, const std::stop_token&) { at_step = harness_.Stored(); });
  std::optional<State> at_second;
  harness_.cloud.Before("create", [&](FakeProvider& cloud) {
    cloud.Before("create", [&](FakeProvider&) { at_second = harness_.Stored(); });
  });
  harness_.ApplyAll();
  ASSERT_TRUE(at_step.has_value());
  EXPECT_TRUE(Pods(*at_step).at(Addr("pod.a")).exists());
  EXPECT_FALSE(Pods(*at_step).at(Addr("pod.a")).pending().has_value());
  ASSERT_TRUE(at_second.has_value());
  EXPECT_EQ(Steps(*at_second).at(Addr("bootstrap.a.x")).workers.size(), 4U);
}

TEST_F(ExecutorTest, AnOperationsNameIsOnTheDiskWhileItRuns) {
  Harness slow(FakeProvider::Options{.looks = 10});
  slow.Pods(Harness::Pod("a"));
  std::string name;
  const std::function<void(FakeProvider&)> look = [&](FakeProvider& cloud) {
    const auto pending = Pods(slow.Stored()).at(Addr("pod.a")).pending();
    if (pending) name = pending->operation;
    if (name.empty()) cloud.Before("operation", look);
  };
  slow.cloud.Before("operation", look);
  slow.ApplyAll();
  EXPECT_THAT(name, HasSubstr("/operations/operation-"));
}

// ---- A disk that fails.

TEST_F(ExecutorTest, AFailedSaveEndsTheRunWithoutFurtherActs) {
  harness_.Pods(Harness::Pod("a"));
  harness_.ApplyAll();
  const std::string before = harness_.files.FileText("/project/podctl.state.json").value_or("");
  harness_.cloud.ForgetCalls();
  harness_.Pods(Harness::Pod("a", "    description: x\n") + Harness::Pod("b"));
  // The disk is full from the moment the API is asked what there is.
  harness_.cloud.Before("list", [&](FakeProvider&) { harness_.files.LimitSpace(0); });
  const ExecuteResult result = harness_.Apply();
  ASSERT_TRUE(result.save_error.has_value());
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(harness_.cloud.MutatingCalls(), 0);
  EXPECT_EQ(harness_.files.FileText("/project/podctl.state.json"), before);
  harness_.files.LimitSpace(std::nullopt);
  harness_.ApplyAll();
}

TEST_F(ExecutorTest, AFailedSaveWhileAnOperationRunsIsNotForgottenByALaterOne) {
  harness_.Pods(Harness::Pod("a") + Harness::Pod("b", "    dependsOn: [pod.a]\n"));
  harness_.cloud.Before("create", [&](FakeProvider&) { harness_.files.LimitSpace(0); });
  harness_.cloud.Before("attributes",
                        [&](FakeProvider&) { harness_.files.LimitSpace(std::nullopt); });
  const ExecuteResult result = harness_.Apply();
  EXPECT_FALSE(result.ok());
  EXPECT_TRUE(harness_.Node("b").is_null());
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a"));
  harness_.ApplyAll();
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a", "create b"));
}

// The folder of the state goes away from under the run: what it knows is written elsewhere, and
// once pushed it is as if nothing had happened.
TEST_F(ExecutorTest, WhatCannotBeSavedIsWrittenAsideForPush) {
  harness_.Pods(Harness::Pod("a"));
  harness_.cloud.Before("create", [&](FakeProvider&) { harness_.files.SetReadOnly("/project"); });
  const ExecuteResult result = harness_.Apply();
  EXPECT_TRUE(result.unsaved);
  ASSERT_TRUE(result.save_error.has_value());
  EXPECT_THAT(result.saved_aside, ::testing::StartsWith("/tmp/podctl.state.json.errored-"));
  EXPECT_FALSE(Pods(harness_.Stored()).at(Addr("pod.a")).exists());
  State aside =
      *StateFromJson(*harness_.files.FileText(result.saved_aside), "aside", RememberedKinds());
  EXPECT_TRUE(Pods(aside).at(Addr("pod.a")).exists());

  harness_.files.SetReadOnly("/project", false);
  LocalStore store("/project/podctl.state.json", harness_.files, harness_.clock, harness_.random,
                   {}, RememberedKinds());
  auto stored = store.Load();
  ASSERT_TRUE(stored);
  EXPECT_EQ(aside.serial, stored->state->serial + 1);
  ASSERT_TRUE(CheckPush(*stored, aside, false));
  ASSERT_TRUE(store.Push(aside, &stored->generation));
  EXPECT_TRUE(harness_.MakePlan().Empty());
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a"));
}

// Whoever kills the run now, or takes its machine away, takes nothing that is not written down.
TEST_F(ExecutorTest, WhatCannotBeSavedLiesAsideBeforeTheRunEnds) {
  harness_.Pods(Harness::Pod("a") + Harness::Pod("b"));
  const auto aside = [&]() -> std::optional<State> {
    std::optional<State> found;
    for (const std::string& path : harness_.files.AllFiles()) {
      if (path.find(".errored-") == std::string::npos) continue;
      EXPECT_FALSE(found) << "two of them";
      found = *StateFromJson(*harness_.files.FileText(path), path, RememberedKinds());
    }
    return found;
  };
  harness_.cloud.Before("create", [&](FakeProvider&) { harness_.files.SetReadOnly("/project"); });
  std::size_t seen = 0;
  harness_.cloud.Before("attributes", [&](FakeProvider&) {
    const auto known = aside();
    if (known) seen = std::max(seen, Pods(*known).size());
  });
  const ExecuteResult result = harness_.Apply();
  EXPECT_EQ(seen, 2U);
  ASSERT_TRUE(result.unsaved);
  EXPECT_TRUE(Pods(*aside()).at(Addr("pod.a")).exists());
  EXPECT_TRUE(Pods(*aside()).at(Addr("pod.b")).exists());
}

TEST_F(ExecutorTest, WhatLiesAsideGoesOnceItIsSaved) {
  harness_.Pods(Harness::Pod("a") + Harness::Pod("b"));
  bool lay_aside = false;
  harness_.cloud.Before("create", [&](FakeProvider&) { harness_.files.SetReadOnly("/project"); });
  harness_.cloud.Before("attributes", [&](FakeProvider&) {
    for (const std::string& path : harness_.files.AllFiles()) {
      if (path.find(".errored-") == std::string::npos) continue;
      lay_aside = true;
      harness_.files.SetReadOnly("/project", false);
    }
  });
  const ExecuteResult result = harness_.Apply();
  EXPECT_TRUE(lay_aside);
  // Both pods were under way before: all is done, and all is stored.
  EXPECT_FALSE(result.save_error);
  EXPECT_FALSE(result.unsaved);
  EXPECT_THAT(result.warnings,
              ::testing::Contains(HasSubstr("could not be saved for a while, and was saved in the "
                                            "end (")));
  EXPECT_THAT(harness_.files.AllFiles(),
              ::testing::Not(::testing::Contains(::testing::HasSubstr(".errored-"))));
}

TEST_F(ExecutorTest, WhatCannotBeWrittenAnywhereIsSaid) {
  harness_.Pods(Harness::Pod("a"));
  harness_.cloud.Before("create", [&](FakeProvider&) { harness_.files.LimitSpace(0); });
  const ExecuteResult result = harness_.Apply();
  EXPECT_TRUE(result.unsaved);
  EXPECT_EQ(result.saved_aside, "");
  ASSERT_TRUE(result.aside_error.has_value());
  EXPECT_THAT(result.aside_error->message, HasSubstr("No space left on device"));
}

// A run that was stopped, and whose lock was broken meanwhile, loses when it goes on.
TEST_F(ExecutorTest, ARunThatWasOvertakenLosesItsFirstSave) {
  harness_.Pods(Harness::Pod("a"));
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("a") + Harness::Pod("b"));
  std::string theirs;
  harness_.cloud.Before("list", [&](FakeProvider&) {
    LocalStore other("/project/podctl.state.json", harness_.files, harness_.clock, harness_.random,
                     {}, RememberedKinds());
    auto loaded = other.Load();
    Pods(*loaded->state).at(Addr("pod.a")).current.uid = "theirs";
    ASSERT_TRUE(other.Save(*loaded->state, &loaded->generation));
    theirs = *harness_.files.FileText("/project/podctl.state.json");
  });
  const ExecuteResult result = harness_.Apply();
  ASSERT_TRUE(result.save_error.has_value());
  EXPECT_EQ(result.save_error->code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(harness_.files.FileText("/project/podctl.state.json"), theirs);
  EXPECT_TRUE(harness_.Node("b").is_null());
}

TEST_F(ExecutorTest, AFullDiskAtAnySaveLosesNothing) {
  for (int k = 1;; ++k) {
    SCOPED_TRACE(k);
    Harness harness;
    harness.Pods(Harness::Pod("a", "    bootstrap: [{name: x, run: echo}]\n") + Harness::Pod("b"));
    harness.ApplyAll();
    harness.Pods(
        Harness::Pod("a", "    libtpuFlags: {f: 1}\n    bootstrap: [{name: x, run: echo}]\n") +
        Harness::Pod("c", "    dependsOn: [pod.a]\n"));
    harness.files.FailCall(k, MakeError(ErrorCode::kIo, "No space left on device"), true);
    const ExecuteResult result = harness.Apply();
    harness.files.FailCall(0, {});
    static_cast<void>(harness.Stored());  // whole, whichever generation it is
    harness.files.Restart();
    harness.ApplyAll();
    EXPECT_EQ(harness.cloud.NodeCount(), 2U);
    if (result.ok()) break;
    ASSERT_LT(k, 2000);
  }
}

// ---- How much is written.

// Bytes of state written by an apply that makes `count` pods, and by one that patches them all.
std::pair<std::size_t, std::size_t> BytesOfSaves(int count) {
  Harness harness;
  harness.options.parallelism = 0;  // no threads, whose luck would decide what shares a save
  const auto pods = [&](const std::string& description) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      text += Harness::Pod("n" + std::to_string(i), "    description: " + description + "\n");
    }
    return text;
  };
  const auto apply = [&](const std::string& description) {
    harness.Pods(pods(description));
    harness.files.ClearLog();
    EXPECT_TRUE(harness.Apply().ok());
    std::size_t saves = 0;
    for (const std::string& line : harness.files.Log()) {
      saves += line.starts_with("WriteNew ") && line.find(".podctl.state.json.") < line.size();
    }
    EXPECT_GT(saves, 1U);
    return saves * harness.files.FileText("/project/podctl.state.json").value_or("").size();
  };
  const std::size_t made = apply("one");
  return {made, apply("two")};
}

TEST_F(ExecutorTest, WhatIsWrittenGrowsWithTheChangesAndNotWithTheirSquare) {
  const auto [made_100, patched_100] = BytesOfSaves(100);
  const auto [made_1000, patched_1000] = BytesOfSaves(1000);

  EXPECT_LE(made_1000, 12 * made_100);
  EXPECT_LE(patched_1000, 12 * patched_100);
}

// ---- Interrupts.

TEST_F(ExecutorTest, AnInterruptStartsNothingNewAndLeavesOperationsToTheNextRun) {
  Harness slow(FakeProvider::Options{.looks = 1000});
  slow.Pods(Harness::Pod("a", "    bootstrap: [{name: x, run: echo}]\n") +
            Harness::Pod("b", "    dependsOn: [pod.a]\n"));
  slow.cloud.Before("operation", [&](FakeProvider&) { slow.drain.request_stop(); });
  ExecuteResult result = slow.Apply();
  EXPECT_TRUE(result.interrupted);
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.failures, IsEmpty());
  EXPECT_THAT(result.unfinished, ElementsAre("pod.a"));
  EXPECT_EQ(result.skipped.size(), 2U);
  EXPECT_TRUE(result.skipped[0].cause.empty());
  EXPECT_THAT(slow.Requests(), ElementsAre("create a"));
  const auto pending = Pods(slow.Stored()).at(Addr("pod.a")).pending();
  ASSERT_TRUE(pending.has_value());
  EXPECT_THAT(pending->operation, HasSubstr("/operations/operation-"));

  slow.drain = {};
  slow.cloud.FinishOperations();
  slow.cloud.Before("create", [](FakeProvider& cloud) {
    cloud.Before("operation", [](FakeProvider& later) { later.FinishOperations(); });
  });
  slow.ApplyAll();
  EXPECT_EQ(slow.cloud.NodeCount(), 2U);
  EXPECT_THAT(slow.Requests(), ElementsAre("create a", "create b"));
}

TEST_F(ExecutorTest, WhatWasNeverBegunIsNoSuccess) {
  harness_.Pods(Harness::Pod("a") + Harness::Pod("b"));
  harness_.alter_plan = [](Plan* plan) {
    plan->changes[0].waits_for = {Addr("pod.b")};
    plan->changes[1].waits_for = {Addr("pod.a")};
  };
  const ExecuteResult result = harness_.Apply();
  EXPECT_EQ(result.skipped.size(), 2U);
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(harness_.Requests(), IsEmpty());
}

// A saved plan holds no value of what it keeps as it is, and its apply is given none.
TEST_F(ExecutorTest, WhatIsKeptNeedsNoSecretAgain) {
  const std::string a = Harness::Pod("a", "    metadata: {token: {env: TOKEN, sensitive: true}}\n");
  harness_.environment = {{"TOKEN", "the-token"}};
  harness_.Pods(a);
  ASSERT_TRUE(harness_.Apply().ok());
  const PodRecord before = Pods(harness_.Stored()).at(Addr("pod.a"));
  harness_.Pods(a + Harness::Pod("b"));
  harness_.alter_plan = [](Plan* plan) {
    for (Change& change : plan->changes) {
      if (change.address != Addr("pod.a")) continue;
      ASSERT_EQ(change.verb, Verb::kKeep);
      change.payload.Edit<PodChange>()->wanted.metadata["token"].text =
          "hmac-sha256:" + std::string(64, 'a');
    }
  };
  EXPECT_TRUE(harness_.Apply().ok());
  const PodRecord after = Pods(harness_.Stored()).at(Addr("pod.a"));
  EXPECT_EQ(after.metadata, before.metadata);
  EXPECT_EQ(after.sensitive_keys, before.sensitive_keys);
}

TEST_F(ExecutorTest, AStepThatFindsNoWorkerFails) {
  harness_.Pods(
      Harness::Pod("a", "    ssh: {check: false}\n    bootstrap: [{name: x, run: echo}]\n"));
  harness_.cloud.Before("get", [](FakeProvider& cloud) {
    cloud.EditNode(Harness::Name("a"), [](Value& node) { node.Erase("networkEndpoints"); });
  });
  const ExecuteResult result = harness_.Apply();
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_THAT(result.failures[0].error.message, HasSubstr("no worker that is known"));
}

TEST_F(ExecutorTest, AnInterruptBeforeTheAnswerStillWritesTheOperationsName) {
  Harness slow(FakeProvider::Options{.looks = 1000});
  slow.Pods(Harness::Pod("a"));
  slow.cloud.Before("create", [&](FakeProvider&) { slow.drain.request_stop(); });
  const ExecuteResult result = slow.Apply();
  EXPECT_TRUE(result.interrupted);
  ASSERT_EQ(slow.Requests().size(), 1U);
  EXPECT_THAT(Pods(slow.Stored()).at(Addr("pod.a")).pending()->operation,
              HasSubstr("/operations/"));
}

TEST_F(ExecutorTest, AnInterruptedStepIsNoFailureAndRunsAgain) {
  harness_.Pods(Harness::Pod("a", "    bootstrap: [{name: x, run: echo}]\n"));
  harness_.workers.OnRun([&](const auto&, const std::stop_token& stop) {
    harness_.drain.request_stop();
    while (!stop.stop_requested()) std::this_thread::yield();  // the loop asks the step to end
  });
  const ExecuteResult result = harness_.Apply();
  EXPECT_THAT(result.failures, IsEmpty());
  EXPECT_THAT(result.unfinished, ElementsAre("bootstrap.a.x"));
  harness_.workers.OnRun(nullptr);
  harness_.drain = {};
  harness_.ApplyAll();
}

// Two signals in quick succession: the connections end on the second, before the loop has seen the
// first.
TEST_F(ExecutorTest, AStepThatEndsBeforeTheInterruptIsSeenIsNoFailureEither) {
  harness_.options.parallelism = 0;  // no threads, whose luck would decide which is seen first
  harness_.Pods(Harness::Pod("a", "    bootstrap: [{name: x, run: echo}]\n"));
  harness_.workers.Fail(2, "cancelled; the command may go on running");
  harness_.workers.OnRun([&](const auto&, const auto&) { harness_.drain.request_stop(); });
  const ExecuteResult result = harness_.Apply();
  EXPECT_TRUE(result.interrupted);
  EXPECT_THAT(result.failures, IsEmpty());
  EXPECT_THAT(result.unfinished, ElementsAre("bootstrap.a.x"));
}

TEST_F(ExecutorTest, AnInterruptBeforeAnythingBeganDoesNothing) {
  harness_.Pods(Harness::Pod("a"));
  harness_.drain.request_stop();
  const ExecuteResult result = harness_.Apply();
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(harness_.cloud.MutatingCalls(), 0);
  EXPECT_THAT(harness_.events.lines, ElementsAre("skip pod.a: "));
}

TEST_F(ExecutorTest, ASecondInterruptWaitsForNobody) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "threads are left behind on purpose";
#endif
  // What is leaked on purpose (threads that hang in a call) must outlive the loop.
  static auto* const harness = new Harness();
  harness->Pods(Harness::Pod("a", "    bootstrap: [{name: x, run: echo}]\n"));
  static std::atomic<bool> hangs{true};
  harness->workers.OnRun([](const auto&, const std::stop_token&) {
    harness->drain.request_stop();
    harness->leave.request_stop();
    while (hangs) std::this_thread::yield();
  });
  const ExecuteResult result = harness->Apply();
  EXPECT_TRUE(result.interrupted);
  EXPECT_THAT(result.unfinished, ElementsAre("bootstrap.a.x"));
  EXPECT_TRUE(Pods(harness->Stored()).at(Addr("pod.a")).exists());
  hangs = false;
}

// The addresses that the lines of `log` from `begin` on tell of.
std::set<std::string> DescriptionOf(const testing::ChangeLog& log, std::size_t begin) {
  std::set<std::string> addresses;
  for (std::size_t i = begin; i < log.lines.size(); ++i) {
    const Value line = *ParseJson(log.lines[i]);
    for (const auto& [address, record] : line["changes"].AsMap()) addresses.insert(address);
  }
  return addresses;
}

TEST_F(ExecutorTest, AStoreThatLogsIsToldOfTheRecordsThatChangedAndOfNoOther) {
  testing::ChangeLog log;
  harness_.log = &log;
  harness_.Pods(Harness::Pod("a", "    bootstrap: [{name: x, run: echo}]\n") + Harness::Pod("b"));
  harness_.ApplyAll();
  EXPECT_TRUE(Steps(harness_.Stored()).contains(Addr("bootstrap.a.x")));
  std::size_t before = log.lines.size();
  harness_.Pods(
      Harness::Pod("a", "    labels: {team: x}\n    bootstrap: [{name: x, run: echo}]\n") +
      Harness::Pod("b"));
  harness_.ApplyAll();
  EXPECT_THAT(DescriptionOf(log, before), ElementsAre("pod.a"));
  before = log.lines.size();
  harness_.Pods(Harness::Pod("b"));
  harness_.ApplyAll();
  EXPECT_THAT(DescriptionOf(log, before), ElementsAre("bootstrap.a.x", "pod.a"));
  EXPECT_EQ(harness_.Stored().records.size(), 1U);
}

// ---- How often is saved.

TEST(SaveThrottle, ResultsKeepTheStoresPaceAndRequestsDoNotWaitForIt) {
  using std::chrono::milliseconds;
  const Clock::SteadyTime began{};
  const Clock::SteadyTime ended = began + milliseconds(5);
  SaveThrottle quick;
  SaveThrottle slow(milliseconds(1000));
  EXPECT_EQ(slow.ForResults(), Clock::SteadyTime{});
  for (SaveThrottle* throttle : {&quick, &slow}) throttle->Saved(began, ended);
  EXPECT_EQ(quick.ForResults(), ended + milliseconds(250));
  EXPECT_EQ(slow.ForResults(), ended + milliseconds(1000));
  EXPECT_EQ(slow.ForActs(), quick.ForActs());
  slow.Saved(began, began + milliseconds(500));  // the store is slower than its pace
  EXPECT_EQ(slow.ForResults(), began + milliseconds(5500));
}

// ---- A lock that could not be kept.

TEST_F(ExecutorTest, WhatALostLockKeepsFromBeginningIsNotCalledUnderWay) {
  testing::ChangeLog log;
  harness_.log = &log;
  harness_.Pods(Harness::Pod("a") + Harness::Pod("b", "    dependsOn: [pod.a]\n"));
  bool lost = false;
  log.may_act = [&]() -> Result<void> {
    if (lost) return MakeError(ErrorCode::kUnavailable, "it could not be renewed");
    return {};
  };
  harness_.cloud.Before("create", [&](FakeProvider&) { lost = true; });
  const ExecuteResult result = harness_.Apply();
  EXPECT_TRUE(result.lock_failed);
  EXPECT_FALSE(result.unsaved);
  EXPECT_EQ(result.added, 1U) << "what was begun is followed to its end";
  EXPECT_THAT(result.unfinished, IsEmpty());
  EXPECT_EQ(harness_.events.Count("start pod.b"), 0U);
  EXPECT_EQ(harness_.events.Count("skip pod.b: "), 1U);
  lost = false;
  harness_.ApplyAll();
}

// It is lost while what is about to begin is written down.
TEST_F(ExecutorTest, WhatWasNotSentWasNotStarted) {
  testing::ChangeLog log;
  harness_.log = &log;
  harness_.Pods(Harness::Pod("a"));
  int asked = 0;
  log.may_act = [&]() -> Result<void> {
    if (++asked == 2) return MakeError(ErrorCode::kUnavailable, "it could not be renewed");
    return {};
  };
  const ExecuteResult result = harness_.Apply();
  EXPECT_TRUE(result.lock_failed);
  EXPECT_THAT(harness_.Requests(), IsEmpty());
  EXPECT_THAT(result.unfinished, IsEmpty());
  EXPECT_THAT(harness_.events.lines, ElementsAre("skip pod.a: "));
}

// It is lost while requests wait for those before them: no more of them are sent.
TEST_F(ExecutorTest, WhatWaitsForItsTurnIsNotSentWithoutTheLock) {
  testing::ChangeLog log;
  harness_.log = &log;
  harness_.options.parallelism = 1;
  harness_.Pods(Harness::Pod("a") + Harness::Pod("b") + Harness::Pod("c"));
  std::atomic<bool> lost = false;
  log.may_act = [&]() -> Result<void> {
    if (lost) return MakeError(ErrorCode::kUnavailable, "it could not be renewed");
    return {};
  };
  harness_.cloud.Before("create", [&](FakeProvider&) { lost = true; });
  const ExecuteResult result = harness_.Apply();
  EXPECT_TRUE(result.lock_failed);
  EXPECT_EQ(harness_.cloud.MutatingCalls(), 1);
  EXPECT_EQ(result.added, 1U);
  EXPECT_THAT(result.unfinished, IsEmpty());
  EXPECT_EQ(harness_.events.Count("skip pod.b: "), 1U);
  EXPECT_EQ(harness_.events.Count("skip pod.c: "), 1U);
  lost = false;
  harness_.ApplyAll();
}

TEST_F(ExecutorTest, WhatWaitsForItsTurnIsNotSentAfterAnInterrupt) {
  harness_.options.parallelism = 1;
  harness_.Pods(Harness::Pod("a") + Harness::Pod("b") + Harness::Pod("c"));
  harness_.cloud.Before("create", [&](FakeProvider&) { harness_.drain.request_stop(); });
  const ExecuteResult result = harness_.Apply();
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(harness_.cloud.MutatingCalls(), 1);
  EXPECT_EQ(harness_.events.Count("skip pod.b: "), 1U);
  EXPECT_EQ(harness_.events.Count("skip pod.c: "), 1U);
  harness_.drain = {};
  harness_.ApplyAll();
}

}  // namespace
}  // namespace podctl
