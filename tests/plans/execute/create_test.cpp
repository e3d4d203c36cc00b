// Creates and deletes that do not go as they should.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/record.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using testing::FakeProvider;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CreateTest : public ::testing::Test {
 protected:
  void SetUp() override { harness_.Pods(Harness::Pod("a")); }
  Error OnlyFailure(const ExecuteResult& result) {
    EXPECT_EQ(result.failures.size(), 1U);
    return result.failures.empty() ? Error{} : result.failures.front().error;
  }
  Harness harness_;
};

TEST_F(CreateTest, ALostReplyEndsWithOneNode) {
  harness_.cloud.LoseReply("create");
  harness_.ApplyAll();
  EXPECT_EQ(harness_.cloud.NodeCount(), 1U);
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a"));
}

TEST_F(CreateTest, ARequestThatWasLostOnItsWayIsRepeated) {
  // No whole answer came back, but the service never acted.
  harness_.cloud.FailNext("create", MakeError(ErrorCode::kReplyLost, "the connection broke"));
  harness_.ApplyAll();
  EXPECT_EQ(harness_.cloud.NodeCount(), 1U);
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a", "create a"));
}

// As terraform counts: what is gone is destroyed, although nothing took its place.
TEST_F(CreateTest, AReplacementThatLosesItsNodeCountsItAsDestroyed) {
  harness_.ApplyAll();
  harness_.plan_options.replace = {"pod.a"};
  harness_.cloud.FailNext("create", MakeError(ErrorCode::kNotFound, "no such version"));
  const ExecuteResult result = harness_.Apply();
  EXPECT_THAT(OnlyFailure(result).message, HasSubstr("no such version"));
  EXPECT_EQ(harness_.cloud.NodeCount(), 0U);
  EXPECT_EQ(result.destroyed, 1U);
  EXPECT_EQ(result.added, 0U);
  harness_.plan_options.replace = {};
  const ExecuteResult next = harness_.Apply();
  EXPECT_EQ(next.added, 1U);
  EXPECT_EQ(next.destroyed, 0U);
}

TEST_F(CreateTest, ADeleteThatIsRefusedDestroysNothing) {
  harness_.ApplyAll();
  harness_.plan_options.replace = {"pod.a"};
  harness_.cloud.FailNext("delete", MakeError(ErrorCode::kPermissionDenied, "not you"));
  const ExecuteResult result = harness_.Apply();
  EXPECT_EQ(result.destroyed, 0U);
  EXPECT_EQ(result.added, 0U);
}

TEST_F(CreateTest, ANewNodeThatCannotBeUsedIsAddedAndTheOldOneDestroyed) {
  harness_.ApplyAll();
  harness_.plan_options.replace = {"pod.a"};
  harness_.workers.FailReadiness(1, "it does not answer");
  const ExecuteResult result = harness_.Apply();
  EXPECT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.destroyed, 1U);
  EXPECT_EQ(result.added, 1U);
}

// The old node is there until its own change deletes it.
TEST_F(CreateTest, ANewNodeBesideTheOldOneDestroysNothing) {
  harness_.Pods(Harness::Pod("a", "    lifecycle: {createBeforeDestroy: true}\n"));
  harness_.ApplyAll();
  harness_.plan_options.replace = {"pod.a"};
  harness_.workers.FailReadiness(1, "it does not answer");
  const ExecuteResult result = harness_.Apply();
  EXPECT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.added, 1U);
  EXPECT_EQ(result.destroyed, 0U);
  EXPECT_EQ(harness_.cloud.NodeCount(), 2U);
}

// In v2alpha1 the service knows a repeat by its id.
class AlphaCreateTest : public CreateTest {
 protected:
  void SetUp() override { harness_.Pods(Harness::Pod("a", "    apiVersion: v2alpha1\n")); }
  std::string IdOf(const std::string& method, std::size_t k) {
    return harness_.cloud.Calls(method).at(k).request_id;
  }
};

TEST_F(AlphaCreateTest, ARepeatHasTheIdOfTheFirst) {
  harness_.cloud.FailNext("create", MakeError(ErrorCode::kReplyLost, "the connection broke"));
  harness_.ApplyAll();
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a", "create a"));
  EXPECT_NE(IdOf("create", 0), "");
  EXPECT_EQ(IdOf("create", 0), IdOf("create", 1));
}

TEST_F(AlphaCreateTest, TheNextRunRepeatsUnderTheIdThatWasWrittenDown) {
  harness_.cloud.Before("create", [&](FakeProvider& cloud) {
    harness_.files.StopAfter(0);
    cloud.FailNext("create", MakeError(ErrorCode::kReplyLost, "killed before it was sent"));
  });
  static_cast<void>(harness_.Apply());
  harness_.files.Restart();
  const std::string id = Pods(harness_.Stored()).at(Addr("pod.a")).pending()->request_id;
  EXPECT_EQ(id, IdOf("create", 0));
  harness_.ApplyAll();
  EXPECT_EQ(IdOf("create", harness_.cloud.Calls("create").size() - 1), id);
  EXPECT_EQ(Pods(harness_.Stored()).at(Addr("pod.a")).api_version, ApiVersion::kV2Alpha1);
}

TEST_F(AlphaCreateTest, ADeleteHasAnIdOfItsOwnAndKeepsItForARepeat) {
  harness_.ApplyAll();
  harness_.cloud.FailNext("delete", MakeError(ErrorCode::kReplyLost, "the connection broke"));
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a", "delete a", "delete a"));
  EXPECT_NE(IdOf("delete", 0), "");
  EXPECT_NE(IdOf("delete", 0), IdOf("create", 0));
  EXPECT_EQ(IdOf("delete", 0), IdOf("delete", 1));
}

TEST_F(CreateTest, InV2ThereAreNoIds) {
  harness_.ApplyAll();
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_EQ(harness_.cloud.Calls("create").at(0).request_id, "");
  EXPECT_EQ(harness_.cloud.Calls("delete").at(0).request_id, "");
}

TEST_F(CreateTest, RepeatsHaveALimit) {
  harness_.cloud.FailNext("create", MakeError(ErrorCode::kReplyLost, "the connection broke"), 9);
  EXPECT_THAT(OnlyFailure(harness_.Apply()).message, HasSubstr("sent 3 times"));
  EXPECT_EQ(harness_.Requests().size(), 3U);
  EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
}

TEST_F(CreateTest, SomebodyElsesNodeIsAnErrorAndLeftAlone) {
  harness_.cloud.Before(
      "create", [](FakeProvider& cloud) { cloud.PutNode(Harness::Name("a"), Value::EmptyMap()); });
  const Error error = OnlyFailure(harness_.Apply());
  EXPECT_EQ(error.code, ErrorCode::kAlreadyExists);
  EXPECT_THAT(error.hint, HasSubstr("podctl did not make that node"));
  EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
  EXPECT_EQ(harness_.cloud.NodeCount(), 1U);
}

// Another state was faster, and the answer that would have said so was lost: what is found then is
// theirs.
TEST_F(CreateTest, AnotherStatesNodeIsNotTakenForTheOneWhoseAnswerWasLost) {
  harness_.cloud.Before("create", [](FakeProvider& cloud) {
    cloud.PutNode(Harness::Name("a"), WithLineage(Value::EmptyMap(), "theirs"));
    cloud.FailNext("create", MakeError(ErrorCode::kReplyLost, "the connection broke"));
  });
  const Error error = OnlyFailure(harness_.Apply());
  EXPECT_EQ(error.code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(error.message, "a node named `a` already exists in europe-west4-a");
  EXPECT_THAT(error.hint, HasSubstr("with another state, of lineage theirs, and leaves it alone"));
  EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a"));
}

// The run that wrote down what it was about to send may only be stopped, and send it when it is
// woken: who forgot the record by then would not look for the node.
class LateCreateTest : public CreateTest {
 protected:
  static constexpr std::chrono::minutes kAlmostAnHour{59};

  void KillBeforeItSends() {
    harness_.cloud.Before("create", [&](FakeProvider& cloud) {
      harness_.files.StopAfter(0);
      cloud.FailNext("create", MakeError(ErrorCode::kReplyLost, "killed before it was sent"));
    });
    static_cast<void>(harness_.Apply());
    harness_.files.Restart();
    ASSERT_TRUE(Known());
  }
  void Arrives() {
    harness_.cloud.PutNode(Harness::Name("a"),
                           WithLineage(Value::EmptyMap(), harness_.Stored().lineage));
  }
  bool Known() { return Pods(harness_.Stored()).contains(Addr("pod.a")); }
  bool IsThere() { return !harness_.Node("a").is_null(); }
};

TEST_F(LateCreateTest, IsRememberedForAnHourAndItsNodeDeleted) {
  KillBeforeItSends();
  harness_.Pods(Harness::Pod("b"));
  harness_.clock.Advance(kAlmostAnHour);
  const Harness::Attempt attempt = harness_.TryApply();
  ASSERT_TRUE(attempt.result && attempt.result->ok());
  EXPECT_EQ(attempt.result->destroyed, 0U);
  ASSERT_EQ(attempt.diagnostics.items().size(), 1U);
  const Diagnostic& why = attempt.diagnostics.items().front();
  EXPECT_EQ(why.severity, Severity::kWarning);
  EXPECT_EQ(why.summary, "pod.a stays in the state: its node may still come");
  EXPECT_THAT(why.detail, HasSubstr("An apply from 2026-11-20T15:30:00Z on forgets it."));
  EXPECT_THAT(why.detail, HasSubstr("podctl state rm --force-forget pod.a\n"));
  EXPECT_TRUE(Known());
  Arrives();
  harness_.ApplyAll();
  EXPECT_FALSE(IsThere());
  EXPECT_FALSE(Known());
}

TEST_F(LateCreateTest, ADestroyRemembersItToo) {
  KillBeforeItSends();
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_TRUE(Known());
  Arrives();
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_FALSE(IsThere());
  EXPECT_FALSE(Known());
}

TEST_F(LateCreateTest, IsForgottenAfterAnHour) {
  KillBeforeItSends();
  harness_.clock.Advance(std::chrono::hours(1));
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_FALSE(Known());
}

// Of a clock that was far ahead nobody can tell when the hour is over.
TEST_F(LateCreateTest, IsNotRememberedByAClockThatWasWrong) {
  harness_.clock.Advance(std::chrono::hours(3));
  KillBeforeItSends();
  harness_.clock.Advance(-std::chrono::hours(3));
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_FALSE(Known());
}

TEST_F(LateCreateTest, HoldsNobodyUpWhoWantsThePod) {
  KillBeforeItSends();
  harness_.ApplyAll();
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a", "create a"));
}

// Killed before it heard; and what the next run finds under the name is another state's.
TEST_F(CreateTest, NorByTheNextRun) {
  harness_.cloud.Before("create", [&](FakeProvider& cloud) {
    harness_.files.StopAfter(0);
    cloud.FailNext("create", MakeError(ErrorCode::kReplyLost, "killed before it was sent"));
  });
  static_cast<void>(harness_.Apply());
  harness_.files.Restart();
  harness_.cloud.PutNode(Harness::Name("a"), WithLineage(Value::EmptyMap(), "theirs"));
  const Diagnostics refused = harness_.TryPlan();
  ASSERT_TRUE(refused.has_errors());
  EXPECT_EQ(refused.items().front().summary, "a node named `a` already exists in europe-west4-a");
  EXPECT_THAT(refused.items().front().detail, HasSubstr("of lineage theirs, and leaves it alone"));
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a"));
  EXPECT_EQ(harness_.cloud.NodeCount(), 1U);
}

// A node that nobody has seen is looked at before it is deleted.
TEST_F(CreateTest, NorDeletedByOneThatSawNothing) {
  harness_.cloud.Before("create", [&](FakeProvider& cloud) {
    harness_.files.StopAfter(0);
    cloud.FailNext("create", MakeError(ErrorCode::kReplyLost, "killed before it was sent"));
  });
  static_cast<void>(harness_.Apply());
  harness_.files.Restart();
  harness_.clock.Advance(std::chrono::hours(1));
  // It comes between the plan and the deletion.
  harness_.events.on_line = [&](const std::string& line) {
    if (line != "start pod.a") return;
    harness_.cloud.PutNode(Harness::Name("a"), WithLineage(Value::EmptyMap(), "theirs"));
  };
  EXPECT_TRUE(harness_.Destroy().ok());
  harness_.events.At(
      "note pod.a: the node a was made with another state, of lineage theirs, and is "
      "left alone");
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a"));
  EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
}

class TakenAwayTest : public CreateTest {
 protected:
  // Deleted, and made anew with another state.
  void TakeAway() {
    harness_.cloud.RemoveNode(Harness::Name("a"));
    harness_.cloud.PutNode(Harness::Name("a"), WithLineage(Value::EmptyMap(), "theirs"));
  }
};

TEST_F(TakenAwayTest, ThePlanSaysWhoseItIsAndNothingTouchesIt) {
  harness_.ApplyAll();
  TakeAway();
  const Diagnostics refused = harness_.TryPlan();
  ASSERT_TRUE(refused.has_errors());
  EXPECT_EQ(refused.items().front().summary, "a node named `a` already exists in europe-west4-a");
  EXPECT_THAT(refused.items().front().detail,
              HasSubstr("2. To take the node over: podctl state rm pod.a, then podctl import pod.a "
                        "p/europe-west4-a/a\n"));
  harness_.Pods(Harness::Pod("a", "    labels: {team: x}\n    nodeId: a2\n"));
  harness_.ApplyAll();
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a", "create a2", "delete a2"));
}

TEST_F(TakenAwayTest, ADestroyOnlyForgetsIt) {
  harness_.ApplyAll();
  TakeAway();
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a"));
  EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
}

TEST_F(TakenAwayTest, RefreshOnlySaysThatItIsGone) {
  harness_.ApplyAll();
  TakeAway();
  harness_.plan_options.mode = PlanMode::kRefreshOnly;
  const Plan plan = harness_.MakePlan();
  ASSERT_EQ(plan.drift.size(), 1U);
  EXPECT_EQ(plan.drift[0].kind, Drift::Kind::kVanished);
}

TEST_F(TakenAwayTest, AReplacementThatIsMadeFirstTakesNoOtherStatesNode) {
  const auto first = [](const std::string& cidr) {
    return Harness::Pod(
        "a", "    cidrBlock: " + cidr + "\n    lifecycle: {createBeforeDestroy: true}\n");
  };
  harness_.Pods(first("10.1.0.0/29"));
  harness_.ApplyAll();
  const PodRecord before = Pods(harness_.Stored()).at(Addr("pod.a"));
  harness_.cloud.Before("create", [](FakeProvider& cloud) {
    cloud.PutNode(Harness::Name("a-2"), WithLineage(Value::EmptyMap(), "theirs"));
    cloud.FailNext("create", MakeError(ErrorCode::kReplyLost, "the connection broke"));
  });
  harness_.Pods(first("10.2.0.0/29"));
  EXPECT_EQ(OnlyFailure(harness_.Apply()).code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(Pods(harness_.Stored()).at(Addr("pod.a")).current, before.current);
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a", "create a-2"));
}

TEST_F(TakenAwayTest, WhatWasPreemptedIsNotMadeAnewInItsPlace) {
  harness_.Pods(
      Harness::Pod("a", "    schedulingConfig: {spot: true}\n    onPreemption: recreate\n"));
  harness_.ApplyAll();
  TakeAway();
  EXPECT_TRUE(harness_.TryPlan().has_errors());
  harness_.Edit("a", [](Value& node) { node.Set("state", "PREEMPTED"); });
  EXPECT_TRUE(harness_.TryPlan().has_errors());
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a"));
}

// Between the plan and the act.
TEST_F(TakenAwayTest, AnUpdateOfWhatIsAnotherStatesByThenFails) {
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("a", "    labels: {team: x}\n"));
  harness_.events.on_line = [&](const std::string& line) {
    if (line == "start pod.a") TakeAway();
  };
  EXPECT_THAT(OnlyFailure(harness_.Apply()).message,
              HasSubstr("was deleted meanwhile, and made anew with another state"));
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a"));
}

// Nobody looked before: the deletion does.
TEST_F(TakenAwayTest, ADestroyWithoutALookLeavesItAloneToo) {
  harness_.ApplyAll();
  TakeAway();
  harness_.plan_options.refresh = false;
  EXPECT_TRUE(harness_.Destroy().ok());
  harness_.events.At(
      "note pod.a: the node a was made with another state, of lineage theirs, and is left alone");
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a"));
  EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
}

TEST_F(TakenAwayTest, AReplacementWithoutALookLeavesItAloneToo) {
  harness_.ApplyAll();
  TakeAway();
  harness_.plan_options.refresh = false;
  harness_.plan_options.replace = {"pod.a"};
  EXPECT_EQ(OnlyFailure(harness_.Apply()).code, ErrorCode::kAlreadyExists);
  EXPECT_THAT(harness_.cloud.Calls("delete"), IsEmpty());
}

TEST_F(TakenAwayTest, ADeposedNodeThatIsAnotherStatesByThenIsLeftAlone) {
  const auto first = [](const std::string& cidr) {
    return Harness::Pod(
        "a", "    cidrBlock: " + cidr + "\n    lifecycle: {createBeforeDestroy: true}\n");
  };
  harness_.Pods(first("10.1.0.0/29"));
  harness_.ApplyAll();
  harness_.Pods(first("10.2.0.0/29"));
  harness_.events.on_line = [&](const std::string& line) {
    if (line == "start pod.a (deposed a)") TakeAway();
  };
  EXPECT_TRUE(harness_.Apply().ok());
  EXPECT_THAT(harness_.cloud.Calls("delete"), IsEmpty());
  EXPECT_THAT(Pods(harness_.Stored()).at(Addr("pod.a")).deposed, IsEmpty());
}

// Found by it is what no state knows; nobody's plan speaks of it.
TEST_F(CreateTest, ANodeIsLabelledWithTheLineageOfItsState) {
  const auto label = [&] { return LineageOf(harness_.Node("a")); };
  harness_.ApplyAll();
  const std::string lineage = harness_.Stored().lineage;
  ASSERT_NE(lineage, "");
  EXPECT_EQ(label(), lineage);
  EXPECT_TRUE(Pods(harness_.Stored()).at(Addr("pod.a")).applied["labels"].is_null());
  // Others' labels come and go beside it.
  for (const char* labels : {"    labels: {team: x}\n", "    labels: {}\n", ""}) {
    harness_.Pods(Harness::Pod("a", labels));
    harness_.ApplyAll();
    EXPECT_EQ(label(), lineage) << labels;
  }
  // Whoever takes it away has not changed what the spec asks for.
  harness_.Edit("a", [](Value& node) { node.Erase("labels"); });
  EXPECT_TRUE(harness_.MakePlan().Empty());
  EXPECT_TRUE(harness_.MakePlan().drift.empty());
}

TEST_F(CreateTest, WhereThereIsNoRoomForALabelThereIsNone) {
  std::string labels;
  for (int i = 0; i < 64; ++i) labels += fmt::format("      l{}: x\n", i);
  harness_.Pods(Harness::Pod("a", "    labels:\n" + labels));
  harness_.ApplyAll();
  EXPECT_EQ(LineageOf(harness_.Node("a")), "");
  EXPECT_EQ(harness_.Node("a")["labels"].AsMap().size(), 64U);
}

TEST_F(CreateTest, ATypeThatTheZoneDoesNotKnowIsToldWithWhatListsThem) {
  harness_.cloud.FailNext("create", MakeError(ErrorCode::kInvalidArgument,
                                              "the accelerator v3-32 was not found in zone z"));
  const Error error = OnlyFailure(harness_.Apply());
  EXPECT_EQ(error.message, "the accelerator v3-32 was not found in zone z");
  EXPECT_EQ(error.hint, "`podctl types --zone europe-west4-a` lists those it has.");
  harness_.cloud.FailNext("create", MakeError(ErrorCode::kInvalidArgument, "no such disk"));
  EXPECT_EQ(OnlyFailure(harness_.Apply()).hint, "");
}

TEST_F(CreateTest, NoCapacityIsShownAndNothingIsLeftBehind) {
  harness_.cloud.FailOperation("create", FakeProvider::NoCapacity());
  EXPECT_THAT(OnlyFailure(harness_.Apply()).message,
              HasSubstr("no capacity for v3-32 in europe-west4-a"));
  EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
  EXPECT_EQ(harness_.cloud.NodeCount(), 0U);
  harness_.ApplyAll();
}

TEST_F(CreateTest, AHalfMadeNodeIsDeleted) {
  harness_.cloud.FailOperation("create", FakeProvider::NoCapacity(), /*leaves_node=*/true);
  EXPECT_THAT(OnlyFailure(harness_.Apply()).message,
              HasSubstr("no capacity for v3-32 in europe-west4-a"));
  EXPECT_EQ(harness_.cloud.NodeCount(), 0U);
  EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
  harness_.events.At("note pod.a: the creation failed and left a half-made node, which is deleted");
}

// Nobody knows the operation then, and only that tells that the node will never be READY.
TEST_F(CreateTest, AHalfMadeNodeIsDeletedAlsoWhenTheAnswerWasLost) {
  harness_.cloud.LoseReply("create");
  harness_.cloud.FailOperation("create", FakeProvider::NoCapacity(), /*leaves_node=*/true);
  EXPECT_THAT(OnlyFailure(harness_.Apply()).message,
              HasSubstr("no capacity for v3-32 in europe-west4-a"));
  EXPECT_EQ(harness_.cloud.NodeCount(), 0U);
  EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
}

TEST_F(CreateTest, AHalfMadeNodeThatCannotBeDeletedIsNotForgotten) {
  harness_.cloud.FailOperation("create", FakeProvider::NoCapacity(), /*leaves_node=*/true);
  harness_.cloud.FailNext("delete", MakeError(ErrorCode::kPermissionDenied, "no deletes for you"));
  const Error error = OnlyFailure(harness_.Apply());
  EXPECT_THAT(error.message, HasSubstr("no more capacity"));
  EXPECT_THAT(error.hint, HasSubstr("no deletes for you"));
  EXPECT_TRUE(Pods(harness_.Stored()).at(Addr("pod.a")).exists());
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_EQ(harness_.cloud.NodeCount(), 0U);
}

TEST_F(CreateTest, AnOperationThatMetSomebodyElsesNodeDeletesNothing) {
  harness_.cloud.FailOperation("create", MakeError(ErrorCode::kAlreadyExists, "it exists"),
                               /*leaves_node=*/true);
  EXPECT_EQ(OnlyFailure(harness_.Apply()).code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(harness_.cloud.NodeCount(), 1U);
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a"));
}

TEST_F(CreateTest, APollThatFailsSaysNothingOfTheOperation) {
  harness_.cloud.FailNext("operation", MakeError(ErrorCode::kUnavailable, "try later"));
  harness_.cloud.FailNext("operation", MakeError(ErrorCode::kInternal, "oops"));
  harness_.ApplyAll();
}

TEST_F(CreateTest, SaysWhyALookToldNothing) {
  Harness harness(FakeProvider::Options{.looks = 5});
  harness.Pods(Harness::Pod("a"));
  harness.cloud.FailNext("operation", MakeError(ErrorCode::kUnavailable, "no way to it"), 20);
  harness.ApplyAll();
  EXPECT_THAT(harness.events.statuses, ::testing::Contains("no way to it; trying again"));
}

TEST_F(CreateTest, AForgottenOperationIsSettledByTheNode) {
  Harness harness(FakeProvider::Options{.looks = 5});
  harness.Pods(Harness::Pod("a"));
  harness.cloud.FailNext("operation", MakeError(ErrorCode::kNotFound, "no such operation"), 99);
  harness.ApplyAll();
}

TEST_F(CreateTest, AWaitHasALimitAndTheNextRunGoesOnWaiting) {
  Harness harness(FakeProvider::Options{.looks = 10'000});
  harness.Pods(Harness::Pod("a"));
  harness.options.operation_timeout = std::chrono::minutes(5);
  ExecuteResult result = harness.Apply();
  EXPECT_EQ(OnlyFailure(result).code, ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(OnlyFailure(result).message, HasSubstr("still running after 5m"));
  ASSERT_TRUE(Pods(harness.Stored()).at(Addr("pod.a")).pending().has_value());
  EXPECT_THAT(Pods(harness.Stored()).at(Addr("pod.a")).pending()->operation,
              HasSubstr("/operations/"));
  harness.cloud.Before("operation", [](FakeProvider& cloud) { cloud.FinishOperations(); });
  harness.ApplyAll();
  EXPECT_THAT(harness.Requests(), ElementsAre("create a"));
}

// Ctrl-Z and, hours later, fg: the time in between is not held against the operation.
TEST_F(CreateTest, AStopOfThisProcessDoesNotCountAsWaiting) {
  Harness harness(FakeProvider::Options{.looks = 5});
  harness.Pods(Harness::Pod("a"));
  harness.options.operation_timeout = std::chrono::minutes(30);
  harness.cloud.Before("operation",
                       [&](FakeProvider&) { harness.clock.Advance(std::chrono::hours(5)); });
  harness.ApplyAll();
}

TEST_F(CreateTest, APodTakenOutOfTheSpecWhileItIsCreatedIsDeleted) {
  Harness harness(FakeProvider::Options{.looks = 10'000});
  harness.Pods(Harness::Pod("a") + Harness::Pod("b"));
  harness.options.operation_timeout = std::chrono::minutes(5);
  EXPECT_FALSE(harness.Apply().ok());
  harness.cloud.Before("operation", [](FakeProvider& cloud) { cloud.FinishOperations(); });
  harness.Pods(Harness::Pod("b"));
  harness.cloud.Before("delete", [](FakeProvider& cloud) {
    cloud.Before("operation", [](FakeProvider& later) { later.FinishOperations(); });
  });
  EXPECT_TRUE(harness.Apply().ok());
  EXPECT_EQ(harness.cloud.NodeCount(), 1U);
}

// ---- Deletes.

TEST_F(CreateTest, ADroppedDeleteIsSentAgain) {
  harness_.ApplyAll();
  // The service says that it is done, and the node is there all the same.
  harness_.cloud.Before("delete", [](FakeProvider& first) {
    first.Before("get", [](FakeProvider& cloud) {
      Value node;
      node.Set("acceleratorType", "v3-32");
      cloud.PutNode(Harness::Name("a"), node);
    });
  });
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_THAT(harness_.Requests(), ElementsAre("create a", "delete a", "delete a"));
  EXPECT_EQ(harness_.cloud.NodeCount(), 0U);
}

TEST_F(CreateTest, ALostReplyOfADeleteIsSettledByReading) {
  harness_.ApplyAll();
  harness_.cloud.LoseReply("delete");
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_EQ(harness_.cloud.NodeCount(), 0U);
  EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
}

TEST_F(CreateTest, ANodeThatIsGoneWhenItIsToBeDeletedIsGone) {
  harness_.ApplyAll();
  harness_.cloud.Before("delete",
                        [](FakeProvider& cloud) { cloud.RemoveNode(Harness::Name("a")); });
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
}

TEST_F(CreateTest, ARefusedDeleteKeepsThePod) {
  harness_.ApplyAll();
  harness_.cloud.FailNext("delete", MakeError(ErrorCode::kPermissionDenied, "no"));
  const Error error = OnlyFailure(harness_.Destroy());
  EXPECT_EQ(error.message, "deleting the node a failed: no");
  EXPECT_EQ(error.hint, "It stays in the state, and the next run tries again.");
  EXPECT_TRUE(Pods(harness_.Stored()).at(Addr("pod.a")).exists());
  EXPECT_FALSE(Pods(harness_.Stored()).at(Addr("pod.a")).pending().has_value());
}

TEST_F(CreateTest, ADeleteDuringAnotherOperationIsTriedAgain) {
  harness_.ApplyAll();
  harness_.cloud.FailNext("delete",
                          MakeError(ErrorCode::kAborted, "another operation is going on"));
  harness_.cloud.FailNext("delete", MakeError(ErrorCode::kFailedPrecondition, "not now"));
  EXPECT_TRUE(harness_.Destroy().ok());
  harness_.ApplyAll();
  harness_.cloud.FailNext("delete", MakeError(ErrorCode::kFailedPrecondition, "never"), 99);
  EXPECT_EQ(OnlyFailure(harness_.Destroy()).message, "deleting the node a failed: never");
  EXPECT_TRUE(Pods(harness_.Stored()).at(Addr("pod.a")).exists());
}

TEST_F(CreateTest, AFailedDeleteOperationKeepsThePod) {
  harness_.ApplyAll();
  harness_.cloud.FailOperation("delete", MakeError(ErrorCode::kInternal, "it will not go"));
  EXPECT_THAT(OnlyFailure(harness_.Destroy()).message,
              ::testing::MatchesRegex("deleting the node a failed: it will not go "
                                      "\\(operation projects/.*/operations/[^ ]+\\)"));
  EXPECT_TRUE(Pods(harness_.Stored()).at(Addr("pod.a")).exists());
}

}  // namespace
}  // namespace podctl
