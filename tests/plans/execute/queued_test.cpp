// Pods that are asked for through a queued resource.
#include "plans/kinds/pod/backings/queued.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plans/engine/observe.h"
#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/step/change.h"
#include "plans/kinds/step/record.h"
#include "providers/node.h"
#include "providers/slices.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using std::chrono::minutes;
using testing::Actions;
using testing::ChangeOf;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const QueuedName kQueued{"p", "europe-west4-a", "a"};

class QueuedTest : public ::testing::Test {
 protected:
  QueuedTest() { Spec(""); }
  void Spec(const std::string& more, const std::string& queued = "{spot: true}") {
    harness_.Pods(Harness::Pod("a", "    queuedResource: " + queued + "\n" + more));
  }
  Error OnlyFailure(const ExecuteResult& result) {
    EXPECT_EQ(result.failures.size(), 1U);
    return result.failures.empty() ? Error{} : result.failures.front().error;
  }
  std::vector<testing::FakeProvider::Call> Sent(const std::string& method) {
    return harness_.cloud.Calls("queue " + method);
  }
  PodRecord Record() { return Pods(harness_.Stored()).at(Addr("pod.a")); }

  Harness harness_;
};

TEST_F(QueuedTest, AsksWaitsAndTakesTheNode) {
  harness_.ApplyAll();
  EXPECT_EQ(harness_.Node("a")["state"], Value("READY"));
  EXPECT_EQ(harness_.cloud.queue.StateOf(kQueued), "ACTIVE");
  EXPECT_THAT(harness_.cloud.Calls("create"), IsEmpty());
  const auto sent = Sent("create");
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].mask.front().size(), 36U);  // a UUID
  EXPECT_EQ(sent[0].node["spot"], Value::EmptyMap());
  const Value& spec = sent[0].node["tpu"]["nodeSpec"].AsList().front();
  EXPECT_EQ(spec["parent"], Value("projects/p/locations/europe-west4-a"));
  EXPECT_EQ(spec["nodeId"], Value("a"));
  EXPECT_EQ(spec["node"]["acceleratorType"], Value("v3-32"));
}

TEST_F(QueuedTest, TellsTheStatesWhileItWaits) {
  harness_.ApplyAll();
  harness_.Destroy();
  harness_.Apply();
  harness_.events.At("note pod.a: its queued resource a is WAITING_FOR_RESOURCES");
  harness_.events.At("note pod.a: its queued resource a is PROVISIONING");
}

TEST_F(QueuedTest, ARequestThatMayStillComeIsRememberedForAnHour) {
  harness_.cloud.Before("queue create", [&](FakeProvider& cloud) {
    harness_.files.StopAfter(0);
    cloud.FailNext("queue create", MakeError(ErrorCode::kReplyLost, "killed before it was sent"));
  });
  static_cast<void>(harness_.Apply());
  harness_.files.Restart();
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_TRUE(Pods(harness_.Stored()).contains(Addr("pod.a")));
  harness_.clock.Advance(std::chrono::hours(1));
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_FALSE(Pods(harness_.Stored()).contains(Addr("pod.a")));
}

TEST_F(QueuedTest, ALostAnswerNeverMakesTwo) {
  harness_.cloud.LoseReply("queue create");
  harness_.ApplyAll();
  EXPECT_EQ(harness_.cloud.queue.Count(), 1U);
  EXPECT_EQ(Sent("create").size(), 1U);
}

TEST_F(QueuedTest, ARequestThatWasNotHeardIsRepeatedWithItsId) {
  harness_.cloud.FailNext("queue create", MakeError(ErrorCode::kUnavailable, "gone fishing"));
  harness_.ApplyAll();
  const auto sent = Sent("create");
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].mask, sent[1].mask);
}

TEST_F(QueuedTest, AnInterruptWhileWaitingIsTakenUpWithoutASecondRequest) {
  harness_.InterruptWhileWaiting();
  EXPECT_EQ(Record().queued->state, "WAITING_FOR_RESOURCES");
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("create pod.a"));
  EXPECT_THAT(ChangeOf(plan, "pod.a").reason, HasSubstr("is WAITING_FOR_RESOURCES"));
  harness_.cloud.queue.capacity = true;
  harness_.ApplyAll();
  EXPECT_EQ(Sent("create").size(), 1U);
}

TEST_F(QueuedTest, WithoutWaitingTheRequestIsLeftInTheQueue) {
  harness_.cloud.queue.capacity = false;
  harness_.options.wait_for_capacity = false;
  const ExecuteResult result = harness_.Apply();
  EXPECT_TRUE(result.ok());
  EXPECT_THAT(result.queued, ElementsAre("pod.a"));
  EXPECT_EQ(result.added, 0U);
  EXPECT_FALSE(Record().exists());
  harness_.cloud.queue.capacity = true;
  harness_.options.wait_for_capacity = true;
  harness_.ApplyAll();
  EXPECT_EQ(Sent("create").size(), 1U);
}

TEST_F(QueuedTest, AWaitingPodThatIsToBeReplacedSaysWhy) {
  harness_.cloud.queue.capacity = false;
  harness_.options.wait_for_capacity = false;
  harness_.Apply();
  harness_.plan_options.replace = {"pod.a"};
  const Plan asked = harness_.MakePlan();
  EXPECT_THAT(Actions(asked), ElementsAre("replace pod.a"));
  EXPECT_EQ(ChangeOf(asked, "pod.a").reason_code, ReasonCode::kByRequest);
  EXPECT_EQ(ChangeOf(asked, "pod.a").reason, "it was requested");
  harness_.plan_options.replace.clear();
  Spec("", "{guaranteed: true}");
  const Plan differs = harness_.MakePlan();
  EXPECT_THAT(Actions(differs), ElementsAre("replace pod.a"));
  EXPECT_EQ(ChangeOf(differs, "pod.a").reason_code, ReasonCode::kCannotUpdate);
  EXPECT_EQ(ChangeOf(differs, "pod.a").reason, "the spec asks for something else by now");
}

TEST_F(QueuedTest, TheQueueHasAClockOfItsOwn) {
  Spec("    timeouts: {queue: 10m}\n");
  harness_.cloud.queue.capacity = false;
  const Error error = OnlyFailure(harness_.Apply());
  EXPECT_THAT(error.message, HasSubstr("no capacity within 10m"));
  EXPECT_THAT(error.message, HasSubstr("WAITING_FOR_RESOURCES"));
  EXPECT_THAT(error.hint, HasSubstr("timeouts.queue"));
  harness_.cloud.queue.capacity = true;
  harness_.ApplyAll();
  EXPECT_EQ(Sent("create").size(), 1U);
}

TEST_F(QueuedTest, APodThatGoesWhileItWaitsIsShownWithoutEmptyLines) {
  Spec("", "{queueingPolicy: {validUntilDuration: 6h}}");
  harness_.cloud.queue.capacity = false;
  harness_.options.wait_for_capacity = false;
  harness_.Apply();
  harness_.Pods("    {}\n");
  EXPECT_THAT(testing::Lines(ChangeOf(harness_.MakePlan(), "pod.a").attributes),
              ElementsAre("queuedResource.id: a -> (none)",
                          "queuedResource.queueingPolicy.validUntilDuration: 6h -> (none)"));
}

TEST_F(QueuedTest, AFailedRequestIsDriftAndIsReplaced) {
  harness_.cloud.queue.capacity = false;
  harness_.options.wait_for_capacity = false;
  harness_.Apply();
  harness_.cloud.queue.Put(kQueued, "FAILED", "the valid-until time has passed");
  harness_.options.wait_for_capacity = true;
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("replace pod.a"));
  ASSERT_EQ(plan.drift.size(), 1U);
  EXPECT_THAT(plan.drift[0].sentence, HasSubstr("is FAILED: the valid-until time has passed"));
  harness_.cloud.queue.capacity = true;
  harness_.ApplyAll();
  EXPECT_EQ(Sent("create").size(), 2U);
  EXPECT_EQ(Sent("delete")[0].mask.size(), 1U) << "there was nothing to force";
}

TEST_F(QueuedTest, ARequestThatFailsWhileItIsWaitedForKeepsItsRecord) {
  harness_.cloud.queue.capacity = false;
  harness_.events.on_line = [&](const std::string& line) {
    if (line.find("WAITING") != std::string::npos)
      harness_.cloud.queue.Put(kQueued, "FAILED", "no");
  };
  const Error error = OnlyFailure(harness_.Apply());
  EXPECT_THAT(error.message, HasSubstr("the queued resource a is FAILED: no"));
  EXPECT_THAT(error.hint, HasSubstr("holds its name and its quota"));
  EXPECT_EQ(Record().queued->state, "FAILED");
}

TEST_F(QueuedTest, ASuspendedOneIsReplacedOnceItIsSuspended) {
  harness_.ApplyAll();
  harness_.cloud.queue.Put(kQueued, "SUSPENDING");
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("replace pod.a"));
  harness_.ApplyAll();
  EXPECT_EQ(Sent("create").size(), 2U);
  EXPECT_EQ(Sent("delete").size(), 1U) << "never while SUSPENDING";
}

TEST_F(QueuedTest, ADeleteThatDidNotTakeIsRepeated) {
  harness_.ApplyAll();
  harness_.cloud.queue.deletes_to_drop = 1;
  EXPECT_TRUE(harness_.Destroy().ok());
  const auto sent = Sent("delete");
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].mask.back(), "force");
  EXPECT_NE(sent[0].mask.front(), sent[1].mask.front());
  EXPECT_EQ(harness_.cloud.queue.Count(), 0U);
  EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
}

TEST_F(QueuedTest, AWaitingRequestIsDeletedWithoutForce) {
  harness_.cloud.queue.capacity = false;
  harness_.options.wait_for_capacity = false;
  harness_.Apply();
  EXPECT_TRUE(harness_.Destroy().ok());
  ASSERT_EQ(Sent("delete").size(), 1U);
  EXPECT_EQ(Sent("delete")[0].mask.size(), 1U);
  EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
}

TEST_F(QueuedTest, AnyChangeOfTheTermsReplaces) {
  harness_.ApplyAll();
  Spec("", "{guaranteed: {minDuration: 2h}}");
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("replace pod.a"));
  EXPECT_THAT(testing::Lines(ChangeOf(plan, "pod.a").attributes),
              ElementsAre("queuedResource.guaranteed.minDuration: (none) -> 2h",
                          "queuedResource.spot: true -> (none)"));
  harness_.ApplyAll();
}

TEST_F(QueuedTest, APlainPodBecomesAQueuedOneAndBack) {
  harness_.Pods(Harness::Pod("a"));
  harness_.ApplyAll();
  Spec("");
  harness_.ApplyAll();
  EXPECT_EQ(harness_.cloud.queue.Count(), 1U);
  harness_.Pods(Harness::Pod("a"));
  harness_.ApplyAll();
  EXPECT_EQ(harness_.cloud.queue.Count(), 0U);
}

TEST_F(QueuedTest, ItsNodeIsLabelledWithTheLineageOfTheState) {
  harness_.ApplyAll();
  EXPECT_EQ(LineageOf(harness_.Node("a")), harness_.Stored().lineage);
  EXPECT_NE(harness_.Stored().lineage, "");
}

// Nothing but a delete of its own takes its node away then; there is nothing to wait for.
TEST_F(QueuedTest, ANodeWhoseQueuedResourceIsGoneIsDeletedAtOnce) {
  harness_.ApplyAll();
  harness_.cloud.queue.Lose(kQueued);
  const auto before = harness_.clock.Steady();
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_LT(harness_.clock.Steady() - before, minutes(1));
  EXPECT_EQ(harness_.cloud.Calls("delete").size(), 1U);
  EXPECT_EQ(harness_.cloud.NodeCount(), 0U);
  EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
}

// The record has asked, and has seen neither; what has the node's name came from elsewhere.
TEST_F(QueuedTest, AnotherStatesNodeIsNeitherWaitedForNorDeleted) {
  harness_.cloud.queue.capacity = false;
  harness_.options.wait_for_capacity = false;
  harness_.Apply();
  harness_.cloud.queue.Lose(kQueued);
  harness_.cloud.PutNode(Harness::Name("a"), WithLineage(Value::EmptyMap(), "theirs"));
  const Diagnostics refused = harness_.TryPlan();
  ASSERT_TRUE(refused.has_errors());
  EXPECT_THAT(refused.items().front().detail, HasSubstr("with another state, of lineage theirs"));
  const auto before = harness_.clock.Steady();
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_LT(harness_.clock.Steady() - before, minutes(1));
  EXPECT_THAT(harness_.cloud.Calls("delete"), IsEmpty());
  EXPECT_EQ(harness_.cloud.NodeCount(), 1U);
  EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
}

TEST_F(QueuedTest, OneThatIsOnlyForgottenIsCalledByItsName) {
  harness_.ApplyAll();
  harness_.cloud.queue.Lose(kQueued);
  harness_.cloud.RemoveNode(Harness::Name("a"));
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_THAT(Sent("delete"), IsEmpty());
  EXPECT_EQ(harness_.events.ids["pod.a"], kQueued.Resource());
}

class TakenRequestTest : public QueuedTest {
 protected:
  // Deleted outside with its node, and asked for anew with another state; `there`: and has come.
  void TakeAway(bool there) {
    harness_.cloud.queue.Lose(kQueued);
    harness_.cloud.RemoveNode(Harness::Name("a"));
    harness_.cloud.queue.capacity = there;
    Ask();
    for (int looks = 0; looks < 3; ++looks) {
      EXPECT_TRUE(harness_.cloud.queue.Get(kQueued, {}));
    }
    EXPECT_EQ(harness_.cloud.queue.StateOf(kQueued), there ? "ACTIVE" : "WAITING_FOR_RESOURCES");
  }
  void Ask() {
    Value spec = Value::EmptyMap();
    spec.Set("nodeId", "a");
    spec.Set("parent", "projects/p/locations/europe-west4-a");
    spec.Set("node", WithLineage(Value::EmptyMap(), "theirs"));
    Value body = Value::EmptyMap();
    body.SetPath("tpu.nodeSpec", Value(Value::List{spec}));
    EXPECT_TRUE(harness_.cloud.queue.Create(kQueued, body, "their id", {}));
  }
  void ExpectLeftAlone() {
    EXPECT_TRUE(harness_.Destroy().ok());
    EXPECT_THAT(Sent("delete"), IsEmpty());
    EXPECT_THAT(harness_.cloud.Calls("delete"), IsEmpty());
    EXPECT_EQ(harness_.cloud.queue.Count(), 1U);
    EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
  }
  std::string Noted() { return harness_.notes.empty() ? "" : harness_.notes.front(); }
};

TEST_F(TakenRequestTest, ADestroyLeavesItAndItsNodeAlone) {
  harness_.ApplyAll();
  TakeAway(true);
  ExpectLeftAlone();
  EXPECT_EQ(Noted(),
            "pod.a: its node is gone; what has its name now was made with another state, of "
            "lineage theirs, and is left alone");
  EXPECT_EQ(harness_.cloud.NodeCount(), 1U);
}

TEST_F(TakenRequestTest, SoDoesOneWithoutALook) {
  harness_.ApplyAll();
  TakeAway(true);
  harness_.plan_options.refresh = false;
  ExpectLeftAlone();
  harness_.events.At(
      "note pod.a: the queued resource a was made with another state, of lineage theirs, and is "
      "left alone");
}

TEST_F(TakenRequestTest, WhileItWaitsItIsNotWaitedForEither) {
  harness_.ApplyAll();
  TakeAway(false);
  const Diagnostics refused = harness_.TryPlan();
  ASSERT_TRUE(refused.has_errors());
  EXPECT_EQ(refused.items().front().summary,
            "a queued resource named `a` already exists in europe-west4-a");
  EXPECT_THAT(refused.items().front().detail,
              HasSubstr("podctl made that queued resource with another state, of lineage theirs"));
  EXPECT_THAT(refused.items().front().detail,
              HasSubstr("podctl state rm pod.a, then podctl import pod.a "));
  ExpectLeftAlone();
  EXPECT_THAT(Noted(), HasSubstr("was made with another state, of lineage theirs"));
}

TEST_F(TakenRequestTest, NorByWhoAskedForOneOfItsName) {
  harness_.cloud.queue.capacity = false;
  harness_.options.wait_for_capacity = false;
  harness_.Apply();
  ASSERT_TRUE(Record().pending());
  TakeAway(false);
  EXPECT_TRUE(harness_.TryPlan().has_errors());
  ExpectLeftAlone();
  EXPECT_THAT(Noted(), HasSubstr("a creation begun by an earlier run left no node; what has its "
                                 "name was made with another state, of lineage theirs"));
}

TEST_F(TakenRequestTest, ALostAnswerIsNotItsOwn) {
  harness_.cloud.FailNext("queue create", MakeError(ErrorCode::kUnavailable, "gone fishing"));
  harness_.cloud.Before("queue get", [&](testing::FakeProvider&) { Ask(); });
  const Error error = OnlyFailure(harness_.Apply());
  EXPECT_EQ(error.code, ErrorCode::kAlreadyExists);
  EXPECT_THAT(error.message, HasSubstr("a queued resource named `a` already exists"))
      << "before a node comes from it";
  EXPECT_THAT(error.hint, HasSubstr("with another state, of lineage theirs"));
  ExpectLeftAlone();
}

// The label stays as it was, so another thing tells: the node, or when it was asked for.
TEST_F(TakenRequestTest, OneThatWasImportedIsTheRecords) {
  harness_.cloud.queue.capacity = true;
  harness_.ApplyAll();
  TakeAway(true);
  Value queued = *harness_.cloud.queue.Get(kQueued, {});
  queued.Set("createTime", "2026-11-20T14:30:00Z");
  const Value node = harness_.Node("a");
  PodRecord record = Record();
  EXPECT_TRUE(IsRequestOfAnotherState(queued, record, &node, "ours"));
  record.current.uid = NodeUid(node);
  EXPECT_FALSE(IsRequestOfAnotherState(queued, record, &node, "ours"));
  EXPECT_TRUE(IsRequestOfAnotherState(queued, record, nullptr, "ours"));
  PodSurvey survey;
  survey.auxiliary[kQueued.Resource()] = queued;
  EXPECT_TRUE(BackingOf(record).Settle(survey, "ours", &node, &record));
  EXPECT_FALSE(IsRequestOfAnotherState(queued, record, nullptr, "ours"));
  queued.Set("createTime", "2026-11-20T14:30:01Z");
  EXPECT_TRUE(IsRequestOfAnotherState(queued, record, nullptr, "ours"));
}

// The queued resource is there, and its name is taken: it goes, the node stays.
TEST_F(QueuedTest, ARequestWhoseNameAnotherStateTookIsRefusedAndCanBeGivenUp) {
  harness_.cloud.queue.capacity = false;
  harness_.options.wait_for_capacity = false;
  harness_.Apply();
  harness_.cloud.PutNode(Harness::Name("a"), WithLineage(Value::EmptyMap(), "theirs"));
  const Diagnostics refused = harness_.TryPlan();
  ASSERT_TRUE(refused.has_errors());
  EXPECT_THAT(refused.items().front().detail,
              HasSubstr("2. To take the node over: podctl destroy --target pod.a, then podctl "
                        "import pod.a "));
  EXPECT_TRUE(harness_.Destroy().ok());
  EXPECT_EQ(harness_.cloud.queue.Count(), 0U);
  EXPECT_THAT(harness_.cloud.Calls("delete"), IsEmpty());
  EXPECT_EQ(harness_.cloud.NodeCount(), 1U);
}

TEST_F(QueuedTest, SomebodyElsesRequestIsLeftAlone) {
  harness_.cloud.queue.Put(kQueued, "WAITING_FOR_RESOURCES");
  const Diagnostics refused = harness_.TryPlan();
  ASSERT_TRUE(refused.has_errors());
  EXPECT_THAT(refused.items().front().summary, HasSubstr("`a` already exists"));
  harness_.plan_options.state_place = {"s.json", " -f team-a", ""};
  EXPECT_EQ(
      harness_.TryPlan().items().front().detail,
      "podctl did not make that queued resource with this state and leaves it alone.\n"
      "1. The state that knows it may be elsewhere: with who made it, in another folder, on a "
      "runner that is gone. This run looked at s.json, where there is none yet. `--state` "
      "names another.\n"
      "2. To take it, with its node, over: podctl import pod.a p/europe-west4-a/a -f team-a\n"
      "3. To make another one: give this pod a `queuedResource.id` of its own.");
}

TEST_F(QueuedTest, ARequestThatSomebodyIsDeletingIsNotOffered) {
  harness_.cloud.queue.Put(kQueued, "DELETING");
  const Diagnostics refused = harness_.TryPlan();
  ASSERT_TRUE(refused.has_errors());
  EXPECT_THAT(refused.items().front().summary, HasSubstr("`a` is still being deleted"));
  EXPECT_THAT(refused.items().front().detail,
              HasSubstr("or give this pod a `queuedResource.id` of its own."));
}

class MultisliceTest : public QueuedTest {
 protected:
  MultisliceTest() : sliced_(harness_.cloud) {
    harness_.provider_door = &sliced_;
    Spec("    slices: 2\n    bootstrap: [{name: hello, run: hello}]\n");
  }
  SlicedProvider sliced_;
};

TEST_F(MultisliceTest, OneRequestMakesItsNodesAndWorkersAreNumberedThrough) {
  harness_.ApplyAll();
  EXPECT_EQ(harness_.Node("a-0")["state"], Value("READY"));
  EXPECT_EQ(harness_.Node("a-1")["state"], Value("READY"));
  const Value params =
      Sent("create")[0].node["tpu"]["nodeSpec"].AsList().front()["multisliceParams"];
  EXPECT_EQ(params["nodeCount"], Value(2));
  EXPECT_EQ(params["nodeIdPrefix"], Value("a"));
  EXPECT_EQ(Record().observed["networkEndpoints"].AsList().size(), 8U);
  EXPECT_EQ(Record().host_keys.size(), 8U);
  EXPECT_EQ(Steps(harness_.Stored()).at(Addr("bootstrap.a.hello")).workers.size(), 8U);
}

TEST_F(MultisliceTest, AStepNamesItsWorkersBySlice) {
  Spec("    slices: 2\n    bootstrap: [{name: hello, run: hello, workers: ['[1]/0', 0/2-3]}]\n");
  harness_.ApplyAll();
  const auto ran = [&] {
    const State stored = harness_.Stored();
    std::vector<int> workers;
    for (const auto& [worker, record] : Steps(stored).at(Addr("bootstrap.a.hello")).workers) {
      workers.push_back(worker);
    }
    return workers;
  };
  EXPECT_THAT(ran(), ElementsAre(2, 3, 4));
  EXPECT_THAT(Actions(harness_.MakePlan()), IsEmpty());
  // On the pod that is there the plan knows the numbers.
  Spec("    slices: 2\n    bootstrap: [{name: hello, run: hello, workers: '[0-1]/3'}]\n");
  const Plan plan = harness_.MakePlan();
  const StepChange* run = AsStep(plan.changes.back());
  ASSERT_NE(run, nullptr);
  EXPECT_THAT(*run->workers, ElementsAre(7)) << "on worker 3 it has run";
  EXPECT_EQ(run->per_slice, 4);
}

TEST_F(MultisliceTest, AStepOfASliceThatIsNotThereIsRefused) {
  Spec("    slices: 2\n    bootstrap: [{name: hello, run: hello, workers: '2/0'}]\n");
  const Diagnostics refused = harness_.TryPlan();
  ASSERT_TRUE(refused.has_errors());
  EXPECT_THAT(refused.items().front().summary, HasSubstr("there is no slice 2"));
}

TEST_F(MultisliceTest, DriftNamesTheSlice) {
  harness_.ApplyAll();
  harness_.Edit("a-1", [](Value& node) { node.Set("state", "PREEMPTED"); });
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("replace pod.a", "run bootstrap.a.hello"));
  ASSERT_EQ(plan.drift.size(), 1U);
  EXPECT_EQ(plan.drift[0].sentence, "[1] (a-1) is PREEMPTED");
  harness_.ApplyAll();
}

TEST_F(MultisliceTest, DriftOfKeysNamesTheSlice) {
  harness_.own_keys = {"alice:ssh-ed25519 AAAA alice"};
  harness_.Destroy();
  Spec("    slices: 2\n    bootstrap: [{name: hello, run: hello}]\n");
  harness_.ApplyAll();
  harness_.Edit("a-1", [](Value& node) { node.SetPath("metadata.ssh-keys", "zoe:ssh-rsa Z zoe"); });
  const Plan plan = harness_.MakePlan();
  ASSERT_EQ(plan.drift.size(), 1U);
  EXPECT_EQ(plan.drift[0].sentence, "[1] (a-1) was changed outside of podctl");
  harness_.Edit("a-0", [](Value& node) { node.SetPath("metadata.ssh-keys", "zoe:ssh-rsa Z zoe"); });
  EXPECT_EQ(harness_.MakePlan().drift[0].sentence, "was changed outside of podctl") << "all slices";
}

TEST_F(MultisliceTest, ASliceThatIsGoneIsMissed) {
  harness_.ApplyAll();
  harness_.cloud.RemoveNode(Harness::Name("a-1"));
  const Plan plan = harness_.MakePlan();
  ASSERT_EQ(plan.drift.size(), 1U);
  EXPECT_EQ(plan.drift[0].sentence, "[1] (a-1) is MISSING");
  harness_.ApplyAll();
}

TEST_F(MultisliceTest, AnotherStatesNodesAreNoSlicesOfIt) {
  harness_.ApplyAll();
  for (const char* node : {"a-0", "a-1"}) harness_.cloud.RemoveNode(Harness::Name(node));
  Value theirs = WithLineage(Value::EmptyMap(), "theirs");
  theirs.Set("multisliceNode", true);
  harness_.cloud.PutNode(Harness::Name("a-0"), theirs);
  const State state = harness_.Stored();
  const auto seen = Observe({podctl::Spec{}, state}, testing::AllKinds().all, sliced_, 1, {});
  ASSERT_TRUE(seen);
  const Value* node = PodsIn(*seen).Find(NameOf(Record()));
  ASSERT_NE(node, nullptr);
  EXPECT_EQ((*node)["slices"].AsList().size(), 1U);
  EXPECT_EQ((*node)["state"], Value("READY"));
}

TEST_F(MultisliceTest, WhatIsSentToItReachesNobodyElse) {
  harness_.ApplyAll();
  harness_.cloud.RemoveNode(Harness::Name("a-1"));
  Value theirs = WithLineage(Value::EmptyMap(), "theirs");
  theirs.Set("multisliceNode", true);
  theirs.Set("queuedResource", "projects/p/locations/europe-west4-a/queuedResources/theirs");
  harness_.cloud.PutNode(Harness::Name("a-1"), theirs);
  const NodeName name = NameOf(Record());
  ASSERT_EQ(name.slices, 2);
  harness_.cloud.ForgetCalls();
  const std::string why =
      "the nodes a-0 and a-1 are not of one multislice: one is of projects/p/locations/"
      "europe-west4-a/queuedResources/a, the other of projects/p/locations/europe-west4-a/"
      "queuedResources/theirs";
  const auto patched = sliced_.PatchNode(name, Value::EmptyMap(), {"labels"}, {});
  ASSERT_FALSE(patched);
  EXPECT_EQ(patched.error().message, why);
  const auto deleted = sliced_.DeleteNode(name, "", {});
  ASSERT_FALSE(deleted);
  EXPECT_EQ(deleted.error().message, why);
  EXPECT_EQ(harness_.cloud.MutatingCalls(), 0);
}

TEST_F(MultisliceTest, APatchReachesEverySliceAndKeepsWhatEachHasOfItsOwn) {
  harness_.ApplyAll();
  harness_.Edit("a-1", [](Value& node) { node.SetPath("labels.theirs", "yes"); });
  Spec("    slices: 2\n    labels: {team: vision}\n    bootstrap: [{name: hello, run: hello}]\n");
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("update pod.a"));
  harness_.ApplyAll();
  EXPECT_EQ(harness_.Node("a-0")["labels"]["team"], Value("vision"));
  EXPECT_EQ(harness_.Node("a-1")["labels"]["team"], Value("vision"));
  EXPECT_EQ(harness_.Node("a-1")["labels"]["theirs"], Value("yes"));
}

TEST_F(MultisliceTest, AnotherNumberOfSlicesReplaces) {
  harness_.ApplyAll();
  Spec("    slices: 3\n    bootstrap: [{name: hello, run: hello}]\n");
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("replace pod.a", "run bootstrap.a.hello"));
  harness_.ApplyAll();
  EXPECT_EQ(Steps(harness_.Stored()).at(Addr("bootstrap.a.hello")).workers.size(), 12U);
}

}  // namespace
}  // namespace podctl
