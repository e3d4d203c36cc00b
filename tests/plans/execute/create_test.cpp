// Creates and deletes that do not go as they should.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/record.h"
#include "tests/plans/desk.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

using testing::Desk;
using ::testing::ElementsAre;
using testing::FakeProvider;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CreateTest : public ::testing::Test {
 protected:
  void SetUp() override { desk_.Pods(Desk::Pod("a")); }
  Error OnlyFailure(const ExecuteResult& result) {
    EXPECT_EQ(result.failures.size(), 1U);
    return result.failures.empty() ? Error{} : result.failures.front().error;
  }
  Desk desk_;
};

TEST_F(CreateTest, ALostReplyEndsWithOneNode) {
  desk_.cloud.LoseReply("create");
  desk_.ApplyAll();
  EXPECT_EQ(desk_.cloud.NodeCount(), 1U);
  EXPECT_THAT(desk_.Requests(), ElementsAre("create a"));
}

TEST_F(CreateTest, ARequestThatWasLostOnItsWayIsRepeated) {
  // No whole answer came back, but the service never acted.
  desk_.cloud.FailNext("create", MakeError(ErrorCode::kReplyLost, "the connection broke"));
  desk_.ApplyAll();
  EXPECT_EQ(desk_.cloud.NodeCount(), 1U);
  EXPECT_THAT(desk_.Requests(), ElementsAre("create a", "create a"));
}

// In v2alpha1 the service knows a repeat by its id.
class AlphaCreateTest : public CreateTest {
 protected:
  void SetUp() override { desk_.Pods(Desk::Pod("a", "    apiVersion: v2alpha1\n")); }
  std::string IdOf(const std::string& method, std::size_t k) {
    return desk_.cloud.Calls(method).at(k).request_id;
  }
};

TEST_F(AlphaCreateTest, ARepeatHasTheIdOfTheFirst) {
  desk_.cloud.FailNext("create", MakeError(ErrorCode::kReplyLost, "the connection broke"));
  desk_.ApplyAll();
  EXPECT_THAT(desk_.Requests(), ElementsAre("create a", "create a"));
  EXPECT_NE(IdOf("create", 0), "");
  EXPECT_EQ(IdOf("create", 0), IdOf("create", 1));
}

TEST_F(AlphaCreateTest, TheNextRunRepeatsUnderTheIdThatWasWrittenDown) {
  desk_.cloud.Before("create", [&](FakeProvider& cloud) {
    desk_.files.StopAfter(0);
    cloud.FailNext("create", MakeError(ErrorCode::kReplyLost, "killed before it was sent"));
  });
  static_cast<void>(desk_.Apply());
  desk_.files.Restart();
  const std::string id = Pods(desk_.Stored()).at(Addr("pod.a")).pending()->request_id;
  EXPECT_EQ(id, IdOf("create", 0));
  desk_.ApplyAll();
  EXPECT_EQ(IdOf("create", desk_.cloud.Calls("create").size() - 1), id);
  EXPECT_EQ(Pods(desk_.Stored()).at(Addr("pod.a")).api_version, ApiVersion::kV2Alpha1);
}

TEST_F(AlphaCreateTest, ADeleteHasAnIdOfItsOwnAndKeepsItForARepeat) {
  desk_.ApplyAll();
  desk_.cloud.FailNext("delete", MakeError(ErrorCode::kReplyLost, "the connection broke"));
  EXPECT_TRUE(desk_.Destroy().ok());
  EXPECT_THAT(desk_.Requests(), ElementsAre("create a", "delete a", "delete a"));
  EXPECT_NE(IdOf("delete", 0), "");
  EXPECT_NE(IdOf("delete", 0), IdOf("create", 0));
  EXPECT_EQ(IdOf("delete", 0), IdOf("delete", 1));
}

TEST_F(CreateTest, InV2ThereAreNoIds) {
  desk_.ApplyAll();
  EXPECT_TRUE(desk_.Destroy().ok());
  EXPECT_EQ(desk_.cloud.Calls("create").at(0).request_id, "");
  EXPECT_EQ(desk_.cloud.Calls("delete").at(0).request_id, "");
}

TEST_F(CreateTest, RepeatsHaveALimit) {
  desk_.cloud.FailNext("create", MakeError(ErrorCode::kReplyLost, "the connection broke"), 9);
  EXPECT_THAT(OnlyFailure(desk_.Apply()).message, HasSubstr("sent 3 times"));
  EXPECT_EQ(desk_.Requests().size(), 3U);
  EXPECT_THAT(Pods(desk_.Stored()), IsEmpty());
}

TEST_F(CreateTest, SomebodyElsesNodeIsAnErrorAndLeftAlone) {
  desk_.cloud.Before(
      "create", [](FakeProvider& cloud) { cloud.PutNode(Desk::Name("a"), Value::EmptyMap()); });
  const Error error = OnlyFailure(desk_.Apply());
  EXPECT_EQ(error.code, ErrorCode::kAlreadyExists);
  EXPECT_THAT(error.hint, HasSubstr("podctl did not make that node"));
  EXPECT_THAT(Pods(desk_.Stored()), IsEmpty());
  EXPECT_EQ(desk_.cloud.NodeCount(), 1U);
}

// Another state was faster, and the answer that would have said so was lost: what is found then is
// theirs.
TEST_F(CreateTest, AnotherStatesNodeIsNotTakenForTheOneWhoseAnswerWasLost) {
  desk_.cloud.Before("create", [](FakeProvider& cloud) {
    cloud.PutNode(Desk::Name("a"), WithLineage(Value::EmptyMap(), "theirs"));
    cloud.FailNext("create", MakeError(ErrorCode::kReplyLost, "the connection broke"));
  });
  const Error error = OnlyFailure(desk_.Apply());
  EXPECT_EQ(error.code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(error.message, "a node named `a` already exists in europe-west4-a");
  EXPECT_THAT(error.hint, HasSubstr("with another state, of lineage theirs, and leaves it alone"));
  EXPECT_THAT(Pods(desk_.Stored()), IsEmpty());
  EXPECT_TRUE(desk_.Destroy().ok());
  EXPECT_THAT(desk_.Requests(), ElementsAre("create a"));
}

// Killed before it heard; and what the next run finds under the name is another state's.
TEST_F(CreateTest, NorByTheNextRun) {
  desk_.cloud.Before("create", [&](FakeProvider& cloud) {
    desk_.files.StopAfter(0);
    cloud.FailNext("create", MakeError(ErrorCode::kReplyLost, "killed before it was sent"));
  });
  static_cast<void>(desk_.Apply());
  desk_.files.Restart();
  desk_.cloud.PutNode(Desk::Name("a"), WithLineage(Value::EmptyMap(), "theirs"));
  const Diagnostics refused = desk_.TryPlan();
  ASSERT_TRUE(refused.has_errors());
  EXPECT_EQ(refused.items().front().summary, "a node named `a` already exists in europe-west4-a");
  EXPECT_THAT(refused.items().front().detail, HasSubstr("of lineage theirs, and leaves it alone"));
  EXPECT_TRUE(desk_.Destroy().ok());
  EXPECT_THAT(desk_.Requests(), ElementsAre("create a"));
  EXPECT_EQ(desk_.cloud.NodeCount(), 1U);
}

// A node that nobody has seen is looked at before it is deleted.
TEST_F(CreateTest, NorDeletedByOneThatSawNothing) {
  desk_.cloud.Before("create", [&](FakeProvider& cloud) {
    desk_.files.StopAfter(0);
    cloud.FailNext("create", MakeError(ErrorCode::kReplyLost, "killed before it was sent"));
  });
  static_cast<void>(desk_.Apply());
  desk_.files.Restart();
  // It comes between the plan and the deletion.
  desk_.events.on_line = [&](const std::string& line) {
    if (line != "start pod.a") return;
    desk_.cloud.PutNode(Desk::Name("a"), WithLineage(Value::EmptyMap(), "theirs"));
  };
  EXPECT_TRUE(desk_.Destroy().ok());
  desk_.events.At(
      "note pod.a: the node a was made with another state, of lineage theirs, and is "
      "left alone");
  EXPECT_THAT(desk_.Requests(), ElementsAre("create a"));
  EXPECT_THAT(Pods(desk_.Stored()), IsEmpty());
}

class TakenAwayTest : public CreateTest {
 protected:
  // Deleted, and made anew with another state.
  void TakeAway() {
    desk_.cloud.RemoveNode(Desk::Name("a"));
    desk_.cloud.PutNode(Desk::Name("a"), WithLineage(Value::EmptyMap(), "theirs"));
  }
};

TEST_F(TakenAwayTest, ThePlanSaysWhoseItIsAndNothingTouchesIt) {
  desk_.ApplyAll();
  TakeAway();
  const Diagnostics refused = desk_.TryPlan();
  ASSERT_TRUE(refused.has_errors());
  EXPECT_EQ(refused.items().front().summary, "a node named `a` already exists in europe-west4-a");
  EXPECT_THAT(refused.items().front().detail,
              HasSubstr("2. To take the node over: podctl state rm pod.a, then podctl import pod.a "
                        "p/europe-west4-a/a\n"));
  desk_.Pods(Desk::Pod("a", "    labels: {team: x}\n    nodeId: a2\n"));
  desk_.ApplyAll();
  EXPECT_TRUE(desk_.Destroy().ok());
  EXPECT_THAT(desk_.Requests(), ElementsAre("create a", "create a2", "delete a2"));
}

TEST_F(TakenAwayTest, ADestroyOnlyForgetsIt) {
  desk_.ApplyAll();
  TakeAway();
  EXPECT_TRUE(desk_.Destroy().ok());
  EXPECT_THAT(desk_.Requests(), ElementsAre("create a"));
  EXPECT_THAT(Pods(desk_.Stored()), IsEmpty());
}

TEST_F(TakenAwayTest, RefreshOnlySaysThatItIsGone) {
  desk_.ApplyAll();
  TakeAway();
  desk_.plan_options.mode = PlanMode::kRefreshOnly;
  const Plan plan = desk_.MakePlan();
  ASSERT_EQ(plan.drift.size(), 1U);
  EXPECT_EQ(plan.drift[0].kind, Drift::Kind::kVanished);
}

TEST_F(TakenAwayTest, AReplacementThatIsMadeFirstTakesNoOtherStatesNode) {
  const auto first = [](const std::string& cidr) {
    return Desk::Pod("a",
                     "    cidrBlock: " + cidr + "\n    lifecycle: {createBeforeDestroy: true}\n");
  };
  desk_.Pods(first("10.1.0.0/29"));
  desk_.ApplyAll();
  const PodRecord before = Pods(desk_.Stored()).at(Addr("pod.a"));
  desk_.cloud.Before("create", [](FakeProvider& cloud) {
    cloud.PutNode(Desk::Name("a-2"), WithLineage(Value::EmptyMap(), "theirs"));
    cloud.FailNext("create", MakeError(ErrorCode::kReplyLost, "the connection broke"));
  });
  desk_.Pods(first("10.2.0.0/29"));
  EXPECT_EQ(OnlyFailure(desk_.Apply()).code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(Pods(desk_.Stored()).at(Addr("pod.a")).current, before.current);
  EXPECT_THAT(desk_.Requests(), ElementsAre("create a", "create a-2"));
}

TEST_F(TakenAwayTest, WhatWasPreemptedIsNotMadeAnewInItsPlace) {
  desk_.Pods(Desk::Pod("a", "    schedulingConfig: {spot: true}\n    onPreemption: recreate\n"));
  desk_.ApplyAll();
  TakeAway();
  EXPECT_TRUE(desk_.TryPlan().has_errors());
  desk_.Edit("a", [](Value& node) { node.Set("state", "PREEMPTED"); });
  EXPECT_TRUE(desk_.TryPlan().has_errors());
  EXPECT_THAT(desk_.Requests(), ElementsAre("create a"));
}

// Between the plan and the act.
TEST_F(TakenAwayTest, AnUpdateOfWhatIsAnotherStatesByThenFails) {
  desk_.ApplyAll();
  desk_.Pods(Desk::Pod("a", "    labels: {team: x}\n"));
  desk_.events.on_line = [&](const std::string& line) {
    if (line == "start pod.a") TakeAway();
  };
  EXPECT_THAT(OnlyFailure(desk_.Apply()).message,
              HasSubstr("was deleted meanwhile, and made anew with another state"));
  EXPECT_THAT(desk_.Requests(), ElementsAre("create a"));
}

// Nobody looked before: the deletion does.
TEST_F(TakenAwayTest, ADestroyWithoutALookLeavesItAloneToo) {
  desk_.ApplyAll();
  TakeAway();
  desk_.plan_options.refresh = false;
  EXPECT_TRUE(desk_.Destroy().ok());
  desk_.events.At(
      "note pod.a: the node a was made with another state, of lineage theirs, and is left alone");
  EXPECT_THAT(desk_.Requests(), ElementsAre("create a"));
  EXPECT_THAT(Pods(desk_.Stored()), IsEmpty());
}

TEST_F(TakenAwayTest, AReplacementWithoutALookLeavesItAloneToo) {
  desk_.ApplyAll();
  TakeAway();
  desk_.plan_options.refresh = false;
  desk_.plan_options.replace = {"pod.a"};
  EXPECT_EQ(OnlyFailure(desk_.Apply()).code, ErrorCode::kAlreadyExists);
  EXPECT_THAT(desk_.cloud.Calls("delete"), IsEmpty());
}

TEST_F(TakenAwayTest, ADeposedNodeThatIsAnotherStatesByThenIsLeftAlone) {
  const auto first = [](const std::string& cidr) {
    return Desk::Pod("a",
                     "    cidrBlock: " + cidr + "\n    lifecycle: {createBeforeDestroy: true}\n");
  };
  desk_.Pods(first("10.1.0.0/29"));
  desk_.ApplyAll();
  desk_.Pods(first("10.2.0.0/29"));
  desk_.events.on_line = [&](const std::string& line) {
    if (line == "start pod.a (deposed a)") TakeAway();
  };
  EXPECT_TRUE(desk_.Apply().ok());
  EXPECT_THAT(desk_.cloud.Calls("delete"), IsEmpty());
  EXPECT_THAT(Pods(desk_.Stored()).at(Addr("pod.a")).deposed, IsEmpty());
}

// Found by it is what no state knows; nobody's plan speaks of it.
TEST_F(CreateTest, ANodeIsLabelledWithTheLineageOfItsState) {
  const auto label = [&] { return LineageOf(desk_.Node("a")); };
  desk_.ApplyAll();
  const std::string lineage = desk_.Stored().lineage;
  ASSERT_NE(lineage, "");
  EXPECT_EQ(label(), lineage);
  EXPECT_TRUE(Pods(desk_.Stored()).at(Addr("pod.a")).applied["labels"].is_null());
  // Others' labels come and go beside it.
  for (const char* labels : {"    labels: {team: x}\n", "    labels: {}\n", ""}) {
    desk_.Pods(Desk::Pod("a", labels));
    desk_.ApplyAll();
    EXPECT_EQ(label(), lineage) << labels;
  }
  // Whoever takes it away has not changed what the spec asks for.
  desk_.Edit("a", [](Value& node) { node.Erase("labels"); });
  EXPECT_TRUE(desk_.MakePlan().Empty());
  EXPECT_TRUE(desk_.MakePlan().drift.empty());
}

TEST_F(CreateTest, WhereThereIsNoRoomForALabelThereIsNone) {
  std::string labels;
  for (int i = 0; i < 64; ++i) labels += fmt::format("      l{}: x\n", i);
  desk_.Pods(Desk::Pod("a", "    labels:\n" + labels));
  desk_.ApplyAll();
  EXPECT_EQ(LineageOf(desk_.Node("a")), "");
  EXPECT_EQ(desk_.Node("a")["labels"].AsMap().size(), 64U);
}

TEST_F(CreateTest, ATypeThatTheZoneDoesNotKnowIsToldWithWhatListsThem) {
  desk_.cloud.FailNext("create", MakeError(ErrorCode::kInvalidArgument,
                                           "the accelerator v3-32 was not found in zone z"));
  const Error error = OnlyFailure(desk_.Apply());
  EXPECT_EQ(error.message, "the accelerator v3-32 was not found in zone z");
  EXPECT_EQ(error.hint, "`podctl types --zone europe-west4-a` lists those it has.");
  desk_.cloud.FailNext("create", MakeError(ErrorCode::kInvalidArgument, "no such disk"));
  EXPECT_EQ(OnlyFailure(desk_.Apply()).hint, "");
}

TEST_F(CreateTest, NoCapacityIsShownAndNothingIsLeftBehind) {
  desk_.cloud.FailOperation("create", FakeProvider::NoCapacity());
  EXPECT_THAT(OnlyFailure(desk_.Apply()).message,
              HasSubstr("no capacity for v3-32 in europe-west4-a"));
  EXPECT_THAT(Pods(desk_.Stored()), IsEmpty());
  EXPECT_EQ(desk_.cloud.NodeCount(), 0U);
  desk_.ApplyAll();
}

TEST_F(CreateTest, AHalfMadeNodeIsDeleted) {
  desk_.cloud.FailOperation("create", FakeProvider::NoCapacity(), /*leaves_node=*/true);
  EXPECT_THAT(OnlyFailure(desk_.Apply()).message,
              HasSubstr("no capacity for v3-32 in europe-west4-a"));
  EXPECT_EQ(desk_.cloud.NodeCount(), 0U);
  EXPECT_THAT(Pods(desk_.Stored()), IsEmpty());
  desk_.events.At("note pod.a: the creation failed and left a half-made node, which is deleted");
}

// Nobody knows the operation then, and only that tells that the node will never be READY.
TEST_F(CreateTest, AHalfMadeNodeIsDeletedAlsoWhenTheAnswerWasLost) {
  desk_.cloud.LoseReply("create");
  desk_.cloud.FailOperation("create", FakeProvider::NoCapacity(), /*leaves_node=*/true);
  EXPECT_THAT(OnlyFailure(desk_.Apply()).message,
              HasSubstr("no capacity for v3-32 in europe-west4-a"));
  EXPECT_EQ(desk_.cloud.NodeCount(), 0U);
  EXPECT_THAT(Pods(desk_.Stored()), IsEmpty());
}

TEST_F(CreateTest, AHalfMadeNodeThatCannotBeDeletedIsNotForgotten) {
  desk_.cloud.FailOperation("create", FakeProvider::NoCapacity(), /*leaves_node=*/true);
  desk_.cloud.FailNext("delete", MakeError(ErrorCode::kPermissionDenied, "no deletes for you"));
  const Error error = OnlyFailure(desk_.Apply());
  EXPECT_THAT(error.message, HasSubstr("no more capacity"));
  EXPECT_THAT(error.hint, HasSubstr("no deletes for you"));
  EXPECT_TRUE(Pods(desk_.Stored()).at(Addr("pod.a")).exists());
  EXPECT_TRUE(desk_.Destroy().ok());
  EXPECT_EQ(desk_.cloud.NodeCount(), 0U);
}

TEST_F(CreateTest, AnOperationThatMetSomebodyElsesNodeDeletesNothing) {
  desk_.cloud.FailOperation("create", MakeError(ErrorCode::kAlreadyExists, "it exists"),
                            /*leaves_node=*/true);
  EXPECT_EQ(OnlyFailure(desk_.Apply()).code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(desk_.cloud.NodeCount(), 1U);
  EXPECT_THAT(desk_.Requests(), ElementsAre("create a"));
}

TEST_F(CreateTest, APollThatFailsSaysNothingOfTheOperation) {
  desk_.cloud.FailNext("operation", MakeError(ErrorCode::kUnavailable, "try later"));
  desk_.cloud.FailNext("operation", MakeError(ErrorCode::kInternal, "oops"));
  desk_.ApplyAll();
}

TEST_F(CreateTest, SaysWhyALookToldNothing) {
  Desk desk(FakeProvider::Options{.looks = 5});
  desk.Pods(Desk::Pod("a"));
  desk.cloud.FailNext("operation", MakeError(ErrorCode::kUnavailable, "no way to it"), 20);
  desk.ApplyAll();
  EXPECT_THAT(desk.events.statuses, ::testing::Contains("no way to it; trying again"));
}

TEST_F(CreateTest, AForgottenOperationIsSettledByTheNode) {
  Desk desk(FakeProvider::Options{.looks = 5});
  desk.Pods(Desk::Pod("a"));
  desk.cloud.FailNext("operation", MakeError(ErrorCode::kNotFound, "no such operation"), 99);
  desk.ApplyAll();
}

TEST_F(CreateTest, AWaitHasALimitAndTheNextRunGoesOnWaiting) {
  Desk desk(FakeProvider::Options{.looks = 10'000});
  desk.Pods(Desk::Pod("a"));
  desk.options.operation_timeout = std::chrono::minutes(5);
  ExecuteResult result = desk.Apply();
  EXPECT_EQ(OnlyFailure(result).code, ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(OnlyFailure(result).message, HasSubstr("still running after 5m"));
  ASSERT_TRUE(Pods(desk.Stored()).at(Addr("pod.a")).pending().has_value());
  EXPECT_THAT(Pods(desk.Stored()).at(Addr("pod.a")).pending()->operation,
              HasSubstr("/operations/"));
  desk.cloud.Before("operation", [](FakeProvider& cloud) { cloud.FinishOperations(); });
  desk.ApplyAll();
  EXPECT_THAT(desk.Requests(), ElementsAre("create a"));
}

// Ctrl-Z and, hours later, fg: the time in between is not held against the operation.
TEST_F(CreateTest, AStopOfThisProcessDoesNotCountAsWaiting) {
  Desk desk(FakeProvider::Options{.looks = 5});
  desk.Pods(Desk::Pod("a"));
  desk.options.operation_timeout = std::chrono::minutes(30);
  desk.cloud.Before("operation", [&](FakeProvider&) { desk.clock.Advance(std::chrono::hours(5)); });
  desk.ApplyAll();
}

TEST_F(CreateTest, APodTakenOutOfTheSpecWhileItIsCreatedIsDeleted) {
  Desk desk(FakeProvider::Options{.looks = 10'000});
  desk.Pods(Desk::Pod("a") + Desk::Pod("b"));
  desk.options.operation_timeout = std::chrono::minutes(5);
  EXPECT_FALSE(desk.Apply().ok());
  desk.cloud.Before("operation", [](FakeProvider& cloud) { cloud.FinishOperations(); });
  desk.Pods(Desk::Pod("b"));
  desk.cloud.Before("delete", [](FakeProvider& cloud) {
    cloud.Before("operation", [](FakeProvider& later) { later.FinishOperations(); });
  });
  EXPECT_TRUE(desk.Apply().ok());
  EXPECT_EQ(desk.cloud.NodeCount(), 1U);
}

// ---- Deletes.

TEST_F(CreateTest, ADroppedDeleteIsSentAgain) {
  desk_.ApplyAll();
  // The service says that it is done, and the node is there all the same.
  desk_.cloud.Before("delete", [](FakeProvider& first) {
    first.Before("get", [](FakeProvider& cloud) {
      Value node;
      node.Set("acceleratorType", "v3-32");
      cloud.PutNode(Desk::Name("a"), node);
    });
  });
  EXPECT_TRUE(desk_.Destroy().ok());
  EXPECT_THAT(desk_.Requests(), ElementsAre("create a", "delete a", "delete a"));
  EXPECT_EQ(desk_.cloud.NodeCount(), 0U);
}

TEST_F(CreateTest, ALostReplyOfADeleteIsSettledByReading) {
  desk_.ApplyAll();
  desk_.cloud.LoseReply("delete");
  EXPECT_TRUE(desk_.Destroy().ok());
  EXPECT_EQ(desk_.cloud.NodeCount(), 0U);
  EXPECT_THAT(Pods(desk_.Stored()), IsEmpty());
}

TEST_F(CreateTest, ANodeThatIsGoneWhenItIsToBeDeletedIsGone) {
  desk_.ApplyAll();
  desk_.cloud.Before("delete", [](FakeProvider& cloud) { cloud.RemoveNode(Desk::Name("a")); });
  EXPECT_TRUE(desk_.Destroy().ok());
  EXPECT_THAT(Pods(desk_.Stored()), IsEmpty());
}

TEST_F(CreateTest, ARefusedDeleteKeepsThePod) {
  desk_.ApplyAll();
  desk_.cloud.FailNext("delete", MakeError(ErrorCode::kPermissionDenied, "no"));
  EXPECT_EQ(OnlyFailure(desk_.Destroy()).message, "no");
  EXPECT_TRUE(Pods(desk_.Stored()).at(Addr("pod.a")).exists());
  EXPECT_FALSE(Pods(desk_.Stored()).at(Addr("pod.a")).pending().has_value());
}

TEST_F(CreateTest, ADeleteDuringAnotherOperationIsTriedAgain) {
  desk_.ApplyAll();
  desk_.cloud.FailNext("delete", MakeError(ErrorCode::kAborted, "another operation is going on"));
  desk_.cloud.FailNext("delete", MakeError(ErrorCode::kFailedPrecondition, "not now"));
  EXPECT_TRUE(desk_.Destroy().ok());
  desk_.ApplyAll();
  desk_.cloud.FailNext("delete", MakeError(ErrorCode::kFailedPrecondition, "never"), 99);
  EXPECT_EQ(OnlyFailure(desk_.Destroy()).message, "never");
  EXPECT_TRUE(Pods(desk_.Stored()).at(Addr("pod.a")).exists());
}

TEST_F(CreateTest, AFailedDeleteOperationKeepsThePod) {
  desk_.ApplyAll();
  desk_.cloud.FailOperation("delete", MakeError(ErrorCode::kInternal, "it will not go"));
  EXPECT_EQ(OnlyFailure(desk_.Destroy()).message, "it will not go");
  EXPECT_TRUE(Pods(desk_.Stored()).at(Addr("pod.a")).exists());
}

}  // namespace
}  // namespace podctl
