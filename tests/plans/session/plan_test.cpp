// What is read and asked before anything is changed, and what keeps a plan from being made.
#include "plans/session/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "tests/plans/session/session_harness.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using testing::Actions;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SessionHarness;
using ::testing::SizeIs;
using Why = NoPlan::Why;

class PlanSession : public ::testing::Test, protected SessionHarness {};

TEST_F(PlanSession, AsksTheApiAndChangesNothing) {
  Pods(Harness::Pod("a"));
  const PlanRun run = Planned(Request());
  EXPECT_THAT(Actions(run.plan), ElementsAre("create pod.a"));
  EXPECT_FALSE(run.problems.has_errors());
  EXPECT_EQ(run.lock, nullptr);
  EXPECT_TRUE(run.generation.none());
  EXPECT_EQ(cloud.MutatingCalls(), 0);
  EXPECT_THAT(files.AllFiles(), ElementsAre(kSpecPath));
  EXPECT_EQ(keys_made, 0);
}

TEST_F(PlanSession, SaysThatApplyMakesAKeyWhereThereIsNone) {
  Pods(Harness::Pod("a"));
  EXPECT_THAT(Planned(Request()).notes,
              ElementsAre(HasSubstr("`podctl apply` makes ~/.ssh/podctl_ed25519")));
  Pods(Harness::Pod("a", "    ssh: {publishKey: false}\n"));
  EXPECT_THAT(Planned(Request()).notes, IsEmpty());
}

TEST_F(PlanSession, SaysThatThereIsNoKeyForPodsThatThereAre) {
  Pods(Harness::Pod("a", "    ssh: {publishKey: false}\n"));
  Applied();
  EXPECT_THAT(Planned(Request()).notes,
              ElementsAre(HasSubstr("There is no SSH key to log in to workers with")));
  EXPECT_THAT(Planned(Request(true)).notes, IsEmpty()) << "a watch would say it every minute";
}

TEST_F(PlanSession, HoldsTheLockOfWhoWillChangeSomething) {
  Pods(Harness::Pod("a"));
  const PlanRun run = Planned(Request(true));
  EXPECT_NE(run.lock, nullptr);
  EXPECT_EQ(Refused(Request(true)).why, Why::kLock);
}

TEST_F(PlanSession, ASpecThatIsWrongIsAllThatIsLookedAt) {
  Pods(Harness::Pod("a", "    runtimeVerson: x\n"));
  const NoPlan none = Refused(Request(true));
  EXPECT_EQ(none.why, Why::kSpec);
  EXPECT_TRUE(none.problems.has_errors());
  EXPECT_FALSE(none.error);
  EXPECT_THAT(cloud.Calls(), IsEmpty());
  EXPECT_THAT(opened, IsEmpty());
}

TEST_F(PlanSession, AWrongEndpointIsToldOnceTheLockIsHeld) {
  Pods(Harness::Pod("a"));
  provider = MakeError(ErrorCode::kInvalidArgument, "no endpoint");
  Lock();
  EXPECT_EQ(Refused(Request(true)).why, Why::kLock);
  files.EndHolder(kLockPath, false);
  const NoPlan none = Refused(Request(true));
  EXPECT_EQ(none.why, Why::kUsage);
  EXPECT_EQ(none.error->message, "no endpoint");
  EXPECT_EQ(Refused(Request()).why, Why::kUsage);
}

TEST_F(PlanSession, SaysWhoHoldsTheLock) {
  Pods(Harness::Pod("a"));
  Lock();
  const NoPlan none = Refused(Request(true));
  EXPECT_EQ(none.why, Why::kLock);
  EXPECT_EQ(none.error->code, ErrorCode::kLocked);
  EXPECT_THAT(none.error->message, HasSubstr("bob@here"));
  EXPECT_THAT(cloud.Calls(), IsEmpty());
}

// Whoever plans changes nothing, so he waits for nobody; what is under way is told for what it is.
TEST_F(PlanSession, SaysWhoIsAtWorkInsteadOfAnEarlierRun) {
  Pods(Harness::Pod("a"));
  Applied();
  cloud.EditNode({"p", "europe-west4-a", "a"}, [](Value& node) { node.Set("state", "CREATING"); });
  Lock();
  const PlanRun run = Planned(Request());
  ASSERT_EQ(run.notes.size(), 1U);
  EXPECT_THAT(run.notes[0], HasSubstr("bob@here is at work on this state right now"));
  EXPECT_THAT(run.notes[0], HasSubstr("process 77 on here"));
  ASSERT_FALSE(run.plan.changes.empty());
  EXPECT_THAT(run.plan.changes[0].reason, HasSubstr("begun by bob@here ("));
  holder_lives = false;
  files.EndHolder(kLockPath, false);
  const PlanRun later = Planned(Request());
  EXPECT_THAT(later.notes, IsEmpty());
  EXPECT_THAT(later.plan.changes[0].reason, HasSubstr("begun by an earlier run"));
}

TEST_F(PlanSession, TakesADeadRunsLockOverAndSaysSo) {
  Pods(Harness::Pod("a"));
  Lock();
  holder_lives = false;
  files.EndHolder(kLockPath, true);
  Planned(Request(true));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_THAT(reported.front(), HasSubstr("bob@here"));
}

TEST_F(PlanSession, AnInterruptEndsTheWaitForTheLock) {
  Pods(Harness::Pod("a"));
  Lock();
  drain.request_stop();
  PlanRequest request = Request(true);
  request.lock->wait.timeout = std::chrono::hours(1);
  const NoPlan none = Refused(request);
  EXPECT_EQ(none.why, Why::kInterrupted);
  EXPECT_TRUE(none.waited_for_lock);
}

TEST_F(PlanSession, TellsAnInterruptFromAnApiThatFails) {
  Pods(Harness::Pod("a"));
  cloud.FailNext("list", MakeError(ErrorCode::kPermissionDenied, "not you"), 9);
  const NoPlan failed = Refused(Request());
  EXPECT_EQ(failed.why, Why::kElse);
  EXPECT_THAT(failed.error->message, HasSubstr("not you"));
  drain.request_stop();
  const NoPlan none = Refused(Request());
  EXPECT_EQ(none.why, Why::kInterrupted);
  EXPECT_FALSE(none.waited_for_lock);
}

TEST_F(PlanSession, AStateThatCannotBeReadIsNoEmptyOne) {
  Pods(Harness::Pod("a"));
  files.SetFile(kStatePath, "{");
  const NoPlan none = Refused(Request());
  EXPECT_EQ(none.why, Why::kElse);
  EXPECT_EQ(none.error->code, ErrorCode::kDataLoss);
}

TEST_F(PlanSession, TheSpecSaysWhereTheStateIsUnlessTheUserDoes) {
  Spec("project: p\nzone: europe-west4-a\nstate: other.json\npods:\n" + Harness::Pod("a"));
  EXPECT_EQ(Planned(Request()).store->Where(), "/project/other.json");
  EXPECT_THAT(opened, ElementsAre(kStatePath, "/project/other.json"));
  PlanRequest request = Request();
  request.state.given = true;
  EXPECT_EQ(Planned(request).store->Where(), kStatePath);
}

TEST_F(PlanSession, WithoutRefreshNobodyIsAsked) {
  Pods(Harness::Pod("a"));
  PlanRequest request = Request();
  request.plan.refresh = false;
  EXPECT_THAT(Actions(Planned(request).plan), ElementsAre("create pod.a"));
  EXPECT_THAT(cloud.Calls(), IsEmpty());
}

TEST_F(PlanSession, DestroysByAnEmptySpec) {
  Pods(Harness::Pod("a"));
  PlanRequest request = Request();
  request.plan.mode = PlanMode::kDestroy;
  const PlanRun run = Planned(request);
  EXPECT_TRUE(run.plan.Empty());
  EXPECT_THAT(run.notes, ElementsAre("There is no state in /project/podctl.state.json, so nothing "
                                     "is known that could be destroyed."));
}

TEST_F(PlanSession, ATargetIsNotWithoutAWarning) {
  Pods(Harness::Pod("a") + Harness::Pod("b"));
  PlanRequest request = Request();
  request.plan.targets = {"pod.a"};
  const PlanRun run = Planned(request);
  EXPECT_THAT(Actions(run.plan), ElementsAre("create pod.a"));
  ASSERT_EQ(run.problems.items().size(), 1U);
  EXPECT_EQ(run.problems.items().front().summary, "Resource targeting is in effect");

  request.plan.targets = {"pod.x"};
  const PlanRun wrong = Planned(request);
  EXPECT_TRUE(wrong.problems.has_errors());
  EXPECT_THAT(wrong.problems.items(), SizeIs(1)) << "what is in effect is that error alone";
}

// Nodes that bear the state's label, and that no record of it knows.
class UnknownNodes : public PlanSession {
 protected:
  void SetUp() override {
    Pods(Harness::Pod("a"));
    lineage_ = Applied().settled.lineage;
  }
  void Put(const std::string& node, const std::string& lineage) {
    cloud.PutNode(Harness::Name(node), WithLineage(Value::EmptyMap(), lineage));
  }
  std::vector<std::string> Told(const PlanRequest& request) {
    std::vector<std::string> summaries;
    const PlanRun run = Planned(request);
    for (const Diagnostic& each : run.problems.items()) {
      EXPECT_EQ(each.severity, Severity::kWarning) << each.summary;
      summaries.push_back(each.summary);
    }
    return summaries;
  }
  static constexpr const char* kTold =
      "the node `left` in europe-west4-a was made with this state, which does not know it";

  std::string lineage_;
};

TEST_F(UnknownNodes, AreToldWhoeverPlans) {
  Put("left", lineage_);
  Put("theirs", "another");
  PlanRequest request = Request();
  request.flags = " -f team.yaml";
  const PlanRun run = Planned(request);
  EXPECT_TRUE(run.plan.Empty()) << "there is nothing to be done about it";
  ASSERT_EQ(run.problems.items().size(), 1U);
  EXPECT_THAT(run.problems.items()[0].detail,
              HasSubstr("podctl import pod.left p/europe-west4-a/left -f team.yaml\n"));
  for (const PlanMode mode : {PlanMode::kNormal, PlanMode::kDestroy, PlanMode::kRefreshOnly}) {
    request = Request(mode == PlanMode::kDestroy);
    request.plan.mode = mode;
    EXPECT_THAT(Told(request), ElementsAre(kTold));
  }
  request.plan.mode = PlanMode::kNormal;
  request.plan.refresh = false;
  EXPECT_THAT(Told(request), IsEmpty()) << "nobody looked";
}

TEST_F(UnknownNodes, AreNotThoseThatThePlanOrItsSpecSpeaksOf) {
  // Its own node is to be deleted, and made anew under another name before.
  Pods(Harness::Pod("a", "    lifecycle: {createBeforeDestroy: true}\n"));
  PlanRequest request = Request();
  request.plan.replace = {"pod.a"};
  EXPECT_THAT(Told(request), IsEmpty());
  // An error has more to say about a name that the spec wants.
  Put("b", lineage_);
  Pods(Harness::Pod("a") + Harness::Pod("b"));
  const PlanRun wanted = Planned(Request());
  ASSERT_THAT(wanted.problems.items(), SizeIs(1));
  EXPECT_TRUE(wanted.problems.has_errors());
  // Somebody has dealt with it.
  cloud.EditNode(Harness::Name("b"), [](Value& node) { node.Set("state", "DELETING"); });
  Pods(Harness::Pod("a"));
  EXPECT_THAT(Told(Request()), IsEmpty());
}

// Without a lock, a run that began meanwhile may have made it, and knows it.
TEST_F(UnknownNodes, AreNotThoseOfARunThatBeganMeanwhile) {
  Put("left", lineage_);
  PlanDoors doors = ToPlan();
  bool saves = false;
  doors.entry.login = [&] {  // asked when all was read and seen
    const auto store = Opener()(kStatePath);
    auto stored = store->Load();
    State& state = *stored->state;
    if (saves) podctl::Pods(state).erase(PodAddress("a"));
    EXPECT_TRUE(store->Save(state, &stored->generation).has_value());
    return std::make_unique<testing::FakeLogin>(login);
  };
  EXPECT_THAT(Take(PreparePlan(doors, Request(), *this)).problems.items(), SizeIs(1));
  saves = true;
  EXPECT_THAT(Take(PreparePlan(doors, Request(), *this)).problems.items(), IsEmpty());
}

TEST_F(PlanSession, WhatSpeaksAgainstAPlanShowsItsLine) {
  Pods(Harness::Pod("a"));
  cloud.PutNode(Harness::Name("a"), Value::EmptyMap());  // and podctl did not make it
  const PlanRun run = Planned(Request());
  ASSERT_TRUE(run.problems.has_errors());
  EXPECT_EQ(run.problems.items().front().source_line, "  a:");
}

TEST_F(PlanSession, OfTheStoredStateOnlyWhatIsAskedForIsKept) {
  Pods(Harness::Pod("a"));
  PlanRun first = Planned(Request(true));
  podctl::Pods(first.settled)[Addr("pod.a")].project = "p";
  podctl::Pods(first.settled)[Addr("pod.a")].zone = "europe-west4-a";
  ASSERT_TRUE(first.store->Save(first.settled, &first.generation));
  first.lock.reset();
  PlanRequest request = Request();
  PlanRun run = Planned(request);
  EXPECT_TRUE(podctl::Pods(run.stored).empty());
  EXPECT_EQ(run.stored.lineage, first.settled.lineage);
  request.keep_stored = true;
  EXPECT_EQ(podctl::Pods(Planned(request).stored).size(), 1U);
}

// --- Host keys that the service shows anew.

class RenewedKeys : public PlanSession {
 protected:
  RenewedKeys() {
    Pods(Harness::Pod("a"));
    Applied();
    State state = Stored();
    podctl::Pods(state)[Addr("pod.a")].host_keys[0] = {"ssh-ed25519 AAAAold"};
    files.SetFile(kStatePath, StateToJson(state));
  }
  PlanRun Refreshed() {
    PlanRequest request = Request();
    request.plan.mode = PlanMode::kRefreshOnly;
    return Planned(request);
  }
};

TEST_F(RenewedKeys, AreThePinnedOnesOnceTheStateIsRefreshed) {
  EXPECT_THAT(
      Refreshed().notes,
      ElementsAre("pod.a: the API shows new host keys for 1 worker (0): they are the pinned "
                  "ones from now on"));
}

// Its node is gone, and with it all that was known of its workers.
TEST_F(RenewedKeys, AreNotThoseOfAnotherStatesNode) {
  cloud.RemoveNode(Harness::Name("a"));
  cloud.PutNode(Harness::Name("a"), WithLineage(Value::EmptyMap(), "theirs"));
  const PlanRun run = Refreshed();
  EXPECT_THAT(run.notes, ElementsAre(HasSubstr("its node is gone")));
  EXPECT_THAT(podctl::Pods(run.settled).at(Addr("pod.a")).host_keys.at(0),
              ElementsAre("ssh-ed25519 AAAAold"));
}

// --- OS Login.

TEST_F(PlanSession, ATakesTheNameThatOsLoginHas) {
  Pods(Harness::Pod("a"));
  login.on = {"p"};
  const PlanRun run = Planned(Request());
  EXPECT_EQ(testing::PodsOf(run.spec).front().ssh.os_login_user, "a_com");
  EXPECT_THAT(login.imported, IsEmpty());
}

TEST_F(PlanSession, WhoWillEnterMustBeLetIn) {
  Pods(Harness::Pod("a"));
  login.on = {"p"};
  login.user = MakeError(ErrorCode::kPermissionDenied, "not you");
  EXPECT_EQ(testing::PodsOf(Planned(Request()).spec).front().ssh.os_login_user, "");
  PlanRequest request = Request();
  request.will_log_in = true;
  EXPECT_EQ(Refused(request).error->message, "pod a is entered by OS Login: not you");
}

}  // namespace
}  // namespace podctl
