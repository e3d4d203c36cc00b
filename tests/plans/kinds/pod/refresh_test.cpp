// What is asked of the API before a plan, and how an earlier run's intents are settled by it.
#include "plans/kinds/pod/refresh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "plans/engine/graph.h"
#include "plans/engine/observe.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/settle.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/pod/unaccounted_nodes.h"
#include "plans/kinds/step/record.h"
#include "state/state_json.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using testing::AllKinds;
using ::testing::ElementsAre;
using testing::FakeProvider;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class RefreshTest : public ::testing::Test {
 protected:
  static PodSpec Pod(const std::string& name, const std::string& zone) {
    PodSpec pod;
    pod.name = name;
    pod.node_id = name;
    pod.project = "p";
    pod.zone = zone;
    return pod;
  }
  static PodRecord Record(const std::string& node, bool exists = true) {
    PodRecord record;
    record.project = "p";
    record.zone = "europe-west4-a";
    record.current.locator = node;
    if (exists) record.current.life = Present{};
    return record;
  }
  // A state with one record `pod.a`, settled by what the cloud says.
  State Settled(PodRecord record) {
    State state;
    Steps(state)[Addr("bootstrap.a.x")].pod = Addr("pod.a");
    Pods(state)[Addr("pod.a")] = std::move(record);
    auto observation = Observe({Spec{}, state}, AllKinds().all, cloud_, 10, {});
    EXPECT_TRUE(observation.has_value());
    notes_.clear();
    return Settle(state, *observation, AllKinds().all, &notes_);
  }
  static Intent Begun(const std::string& operation = "") {
    return {operation, "2026-11-20T14:30:00Z", 1};
  }
  static Value Node(const std::string& state = "READY") {
    Value node;
    node.Set("acceleratorType", "v3-32");
    node.Set("state", state);
    return node;
  }

  FakeProvider cloud_;
  std::vector<std::string> notes_;
};

TEST_F(RefreshTest, OneListForEachProjectAndZoneWhateverThePods) {
  Spec spec;
  for (int i = 0; i < 20; ++i) {
    testing::Declare(Pod("n" + std::to_string(i), i % 2 == 0 ? "zone-a" : "zone-b"), &spec);
  }
  State state;
  Pods(state)[Addr("pod.old")] = Record("old");
  ASSERT_TRUE(Observe({spec, state}, AllKinds().all, cloud_, 10, {}).has_value());
  std::vector<std::string> asked;
  for (const auto& call : cloud_.Calls()) asked.push_back(call.method + " " + call.target);
  EXPECT_THAT(asked, UnorderedElementsAre("list projects/p/locations/zone-a",
                                          "list projects/p/locations/zone-b",
                                          "list projects/p/locations/europe-west4-a"));
}

TEST_F(RefreshTest, AFailureNamesItsZone) {
  Spec spec;
  testing::Declare(Pod("a", "zone-a"), &spec);
  cloud_.FailNext("list", MakeError(ErrorCode::kPermissionDenied, "no", "ask"));
  const auto observation = Observe({spec, State{}}, AllKinds().all, cloud_, 10, {});
  ASSERT_FALSE(observation.has_value());
  EXPECT_EQ(observation.error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(observation.error().message, "cannot list the nodes of p in zone-a: no");
  EXPECT_EQ(observation.error().hint, "ask");
}

// Its answer was lost, and then the zone closed: nothing can be found out, and the way on is told.
TEST_F(RefreshTest, AFailureTellsWhatIsPendingInItsZone) {
  State state;
  Pods(state)[Addr("pod.a")] = Record("a", false);
  Pods(state)[Addr("pod.a")].current.life = Creating{Begun()};
  Pods(state)[Addr("pod.b")] = Record("b");
  Pods(state)[Addr("pod.c")] = Record("c", false);
  Pods(state)[Addr("pod.c")].zone = "zone-c";
  Pods(state)[Addr("pod.c")].current.life = Creating{Begun()};
  const auto forbid = [&] {
    cloud_.FailNext("list", MakeError(ErrorCode::kPermissionDenied, "no"));
    return Observe({Spec{}, state}, AllKinds().all, cloud_, 1, {}).error();
  };
  const Error error = forbid();
  EXPECT_THAT(error.hint, HasSubstr("  pod.a: create of a, begun at 2026-11-20T14:30:00Z, of which "
                                    "no answer was heard\n"));
  EXPECT_THAT(error.hint, HasSubstr("    podctl state rm --force-forget pod.a\n"));
  EXPECT_THAT(error.hint, HasSubstr("lives on and costs"));
  EXPECT_THAT(error.hint, Not(HasSubstr("pod.c")));
  cloud_.FailNext("list", MakeError(ErrorCode::kPermissionDenied, "no"));
  EXPECT_THAT(
      Observe({Spec{}, state, true, " -f 'team a'"}, AllKinds().all, cloud_, 1, {}).error().hint,
      HasSubstr("    podctl state rm --force-forget pod.a -f 'team a'\n"));
  Pods(state)[Addr("pod.a")] = Record("a");
  EXPECT_EQ(forbid().hint, "");
}

TEST_F(RefreshTest, TheOldNodeOfAReplacementMayBePendingToo) {
  State state;
  Pods(state)[Addr("pod.b")] = Record("b");
  Object old;
  old.locator = "b-old";
  old.life = Deleting{Begun()};
  Pods(state)[Addr("pod.b")].deposed.push_back(old);
  const NodeName at = NameOf(Pods(state)[Addr("pod.b")]);
  const std::string hint = PendingHint(state, at.project, at.zone, "");
  EXPECT_THAT(hint,
              HasSubstr("  pod.b: delete of b-old, begun at 2026-11-20T14:30:00Z, of which no "
                        "answer was heard\n"));
  EXPECT_THAT(hint, HasSubstr("    podctl state rm --force-forget pod.b\n"));
}

TEST_F(RefreshTest, APendingCreateThatTookIsAdopted) {
  cloud_.PutNode(Harness::Name("a"), Node());
  PodRecord record = Record("a", false);
  record.current.life = Creating{Begun()};
  const State state = Settled(record);
  EXPECT_TRUE(Pods(state).at(Addr("pod.a")).exists());
  EXPECT_FALSE(Pods(state).at(Addr("pod.a")).pending().has_value());
  EXPECT_NE(Pods(state).at(Addr("pod.a")).current.uid, "");
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("is taken up")));
}

TEST_F(RefreshTest, AnAdoptedPodsRuntimeIsKnownToHaveStartedWithItsMetadata) {
  Value node = Node();
  node.SetPath("metadata.tensorflow-env-vars", "-e A=1");
  cloud_.PutNode(Harness::Name("a"), node);
  PodRecord record = Record("a", false);
  record.current.life = Creating{Begun()};
  EXPECT_EQ(Steps(Settled(record)).at(Addr("bootstrap.a.tpu-runtime")).workers.size(), 4U);
}

TEST_F(RefreshTest, AnAdoptedPodIsStillToBeProvedReady) {
  cloud_.PutNode(Harness::Name("a"), Node());
  PodRecord record = Record("a", false);
  record.current.life = Creating{Begun()};
  const State state = Settled(record);
  ASSERT_TRUE(Steps(state).contains(Addr("bootstrap.a.readiness")));
  EXPECT_THAT(Steps(state).at(Addr("bootstrap.a.readiness")).workers, IsEmpty());
}

TEST_F(RefreshTest, APendingCreateThatLeftNothingIsDropped) {
  PodRecord record = Record("a", false);
  record.current.life = Creating{Begun("projects/p/locations/z/operations/o")};
  const State state = Settled(record);
  EXPECT_THAT(Pods(state), IsEmpty());
  EXPECT_THAT(Steps(state), IsEmpty());
  EXPECT_THAT(notes_, ElementsAre("pod.a: a creation begun by an earlier run left no node"));
}

// Killed between sending it and hearing the answer: the list of operations tells.
TEST_F(RefreshTest, ACreateOfWhichNobodyHeardIsFoundAmongTheOperations) {
  PodRecord record = Record("a", false);
  record.current.life = Creating{Begun()};
  EXPECT_TRUE(Pods(Settled(record)).at(Addr("pod.a")).pending().has_value()) << "it may come yet";
  FakeProvider slow(FakeProvider::Options{.looks = 100});
  ASSERT_TRUE(slow.CreateNode(Harness::Name("a"), Node("CREATING"), "", {}).has_value());
  slow.RemoveNode(Harness::Name("a"));
  State state;
  Pods(state)[Addr("pod.a")] = record;
  const auto observation = Observe({Spec{}, state}, AllKinds().all, slow, 10, {});
  ASSERT_TRUE(observation.has_value());
  const State settled = Settle(state, *observation, AllKinds().all, &notes_);
  ASSERT_TRUE(Pods(settled).at(Addr("pod.a")).pending().has_value());
  EXPECT_FALSE(Pods(settled).at(Addr("pod.a")).pending()->operation.empty());
}

TEST_F(RefreshTest, APendingCreateThatStillRunsStaysPending) {
  FakeProvider slow(FakeProvider::Options{.looks = 100});
  const auto operation = slow.CreateNode(Harness::Name("a"), Node("CREATING"), "", {});
  PodRecord record = Record("a", false);
  record.current.life = Creating{Begun(operation->name)};
  State state;
  Pods(state)[Addr("pod.a")] = record;
  const auto observation = Observe({Spec{}, state}, AllKinds().all, slow, 10, {});
  const State settled = Settle(state, *observation, AllKinds().all, &notes_);
  EXPECT_EQ(Pods(settled).at(Addr("pod.a")).pending(), record.pending());
  // Even while the list does not show the node yet.
  Observation unlisted = *observation;
  PodsIn(&unlisted).nodes.clear();
  EXPECT_EQ(Pods(Settle(state, unlisted, AllKinds().all, &notes_)).at(Addr("pod.a")).pending(),
            record.pending());
}

TEST_F(RefreshTest, APendingDeleteThatTookIsForgotten) {
  PodRecord record = Record("a");
  record.current.life = Deleting{Begun()};
  EXPECT_THAT(Pods(Settled(record)), IsEmpty());
  EXPECT_THAT(notes_, ElementsAre("pod.a: its deletion, begun by an earlier run, is complete"));
}

TEST_F(RefreshTest, APendingDeleteThatWasNeverSentIsDropped) {
  cloud_.PutNode(Harness::Name("a"), Node());
  PodRecord record = Record("a");
  record.current.life = Deleting{Begun()};
  const State state = Settled(record);
  EXPECT_TRUE(Pods(state).at(Addr("pod.a")).exists());
  EXPECT_FALSE(Pods(state).at(Addr("pod.a")).pending().has_value());
}

TEST_F(RefreshTest, APendingDeleteThatStillRunsStaysPending) {
  cloud_.PutNode(Harness::Name("a"), Node("DELETING"));
  PodRecord record = Record("a");
  record.current.life = Deleting{Begun()};
  EXPECT_TRUE(Pods(Settled(record)).at(Addr("pod.a")).pending().has_value());
}

TEST_F(RefreshTest, APendingPatchIsOverWhenItsOperationIs) {
  FakeProvider slow(FakeProvider::Options{.looks = 3});
  slow.PutNode(Harness::Name("a"), Node());
  const auto operation = slow.PatchNode(Harness::Name("a"), Node(), {"labels"}, {});
  State state;
  Pods(state)[Addr("pod.a")] = Record("a");
  Pods(state)[Addr("pod.a")].current.life = Changing{Begun(operation->name)};
  // Each look moves the operation on: a list and a get a round.
  const auto running = Observe({Spec{}, state}, AllKinds().all, slow, 1, {});
  EXPECT_TRUE(Pods(Settle(state, *running, AllKinds().all, &notes_))
                  .at(Addr("pod.a"))
                  .pending()
                  .has_value());
  const auto over = Observe({Spec{}, state}, AllKinds().all, slow, 1, {});
  EXPECT_FALSE(
      Pods(Settle(state, *over, AllKinds().all, &notes_)).at(Addr("pod.a")).pending().has_value());
}

// ---- A node that podctl made from another state, under the name that the record has.

class OtherStateTest : public RefreshTest {
 protected:
  OtherStateTest() {
    cloud_.PutNode(Harness::Name("a"), WithLineage(Node(), "theirs"));
    state_.lineage = "ours";
  }
  PodRecord* Settled(PodRecord record) {
    Pods(state_)[Addr("pod.a")] = std::move(record);
    const auto observation = Observe({Spec{}, state_}, AllKinds().all, cloud_, 10, {});
    state_ = Settle(state_, *observation, AllKinds().all, &notes_);
    return Pods(state_).contains(Addr("pod.a")) ? &Pods(state_).at(Addr("pod.a")) : nullptr;
  }
  std::string Uid() { return NodeUid(*cloud_.Node(Harness::Name("a"))); }

  State state_;
};

constexpr const char* kMadeByOthers =
    "was made with another state, of lineage theirs, and is left alone";

TEST_F(OtherStateTest, ACreateWhoseAnswerWasLostDoesNotTakeItUp) {
  PodRecord record = Record("a", false);
  record.current.life = Creating{Begun()};
  EXPECT_EQ(Settled(record), nullptr);
  EXPECT_THAT(notes_, ElementsAre(std::string("pod.a: a creation begun by an earlier run left no "
                                              "node; what has its name ") +
                                  kMadeByOthers));
  // By its label the node is this state's, or nobody says whose it is.
  for (const Value& node : {WithLineage(Node(), "ours"), Node()}) {
    cloud_.RemoveNode(Harness::Name("a"));
    cloud_.PutNode(Harness::Name("a"), node);
    ASSERT_NE(Settled(record), nullptr);
    EXPECT_TRUE(Settled(record)->exists());
  }
}

// The operation that is found for it is the other state's.
TEST_F(OtherStateTest, NorWhileItsOperationIsNotKnown) {
  FakeProvider slow(FakeProvider::Options{.looks = 9});
  ASSERT_TRUE(slow.CreateNode(Harness::Name("a"), WithLineage(Node("CREATING"), "theirs"), "", {}));
  PodRecord record = Record("a", false);
  record.current.life = Creating{Begun()};
  Pods(state_)[Addr("pod.a")] = record;
  const auto observation = Observe({Spec{}, state_}, AllKinds().all, slow, 10, {});
  EXPECT_THAT(Pods(Settle(state_, *observation, AllKinds().all, &notes_)), IsEmpty());
}

TEST_F(OtherStateTest, ANodeOfAnotherUidIsNotTheRecords) {
  PodRecord record = Record("a");
  for (const std::string uid : {"4711", ""}) {
    record.current.uid = uid;
    notes_.clear();
    const PodRecord* settled = Settled(record);
    ASSERT_NE(settled, nullptr) << "the plan says that it is gone";
    EXPECT_EQ(settled->uid(), uid);
    EXPECT_TRUE(settled->observed.is_null());
    EXPECT_THAT(notes_, ElementsAre(std::string("pod.a: its node is gone; what has its name now ") +
                                    kMadeByOthers));
  }
}

// As after an import, which leaves the label as it is.
TEST_F(OtherStateTest, ANodeOfTheKnownUidIsTheRecordsWhateverItsLabelSays) {
  PodRecord record = Record("a");
  record.current.uid = Uid();
  EXPECT_FALSE(Settled(record)->observed.is_null());
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(OtherStateTest, ADeletionIsCompleteAndADeposedNodeIsGone) {
  PodRecord record = Record("a");
  record.current.life = Deleting{Begun()};
  EXPECT_EQ(Settled(record), nullptr);
  record = Record("b");
  record.deposed = {{"a", "", Present{}}};
  cloud_.PutNode(Harness::Name("b"), Node());
  EXPECT_THAT(Settled(record)->deposed, IsEmpty());
}

// ---- Two records of one name, of which a state may tell as long as their uids differ.

TEST_F(RefreshTest, OfTwoRecordsOfOneNameTheNodesOwnHasIt) {
  cloud_.PutNode(Harness::Name("a"), Node());
  State state;
  state.lineage = "8f14e45f-ceea-467f-a0e6-c1a5b1b7d3aa";
  Pods(state)[Addr("pod.b")] = Record("a");
  Pods(state)[Addr("pod.b")].current.uid = NodeUid(*cloud_.Node(Harness::Name("a")));
  for (const Life& life : {Life(Present{}), Life(Deleting{Begun()}), Life(Creating{Begun()})}) {
    Pods(state)[Addr("pod.a")] = Record("a");
    Pods(state)[Addr("pod.a")].current.life = life;
    const bool unheard = !Pods(state)[Addr("pod.a")].exists();
    if (!unheard) Pods(state)[Addr("pod.a")].current.uid = "4711";
    const auto observation = Observe({Spec{}, state}, AllKinds().all, cloud_, 10, {});
    const State settled = Settle(state, *observation, AllKinds().all, &notes_);
    const auto read = StateFromJson(StateToJson(settled), "x", AllKinds().remembered);
    EXPECT_TRUE(read) << read.error().message;
    EXPECT_EQ(Pods(settled).at(Addr("pod.b")).uid(), Pods(state).at(Addr("pod.b")).uid());
  }
  EXPECT_THAT(notes_, ElementsAre("pod.a: its node is gone; what has its name now is that of "
                                  "pod.b, and is left alone",
                                  "pod.a: its deletion, begun by an earlier run, is complete"));
}

Object AnyObject(std::mt19937* random) {
  const auto one_of = [&](std::size_t count) { return (*random)() % count; };
  static const std::vector<std::string> kUids = {"", "1", "2", "3"};
  static const std::vector<Life> kLives = {Present{},
                                           Changing{},
                                           Creating{},
                                           Creating{{}, true},
                                           Deleting{},
                                           Deleting{{}, false},
                                           Creating{{"op", "", 1}},
                                           Absent{}};
  return {one_of(3) == 0 ? "b" : "a", kUids[one_of(kUids.size())], kLives[one_of(kLives.size())]};
}

PodRecord AnyPod(std::mt19937* random) {
  PodRecord record;
  record.project = "p";
  record.zone = "europe-west4-a";
  record.current = AnyObject(random);
  record.goal = (*random)() % 2 == 0 ? Goal(Settled{}) : Goal(Seeking{"2026-11-20T14:30:00Z"});
  if ((*random)() % 3 == 0) record.deposed.push_back(AnyObject(random));
  if ((*random)() % 4 == 0) {
    record.auxiliary.push_back({"q", "", AnyObject(random).life});
    record.queued = QueuedRecord{"q", Value::EmptyMap(), 1, ""};
  }
  return record;
}

// Whatever a state says, and whatever is there: what is made of the two can be read again.
TEST(SettledState, CanBeReadWheneverTheStateBeforeCould) {
  const std::string kLineage = "8f14e45f-ceea-467f-a0e6-c1a5b1b7d3aa";
  std::mt19937 random(1);
  int readable = 0;
  for (int round = 0; round < 4000; ++round) {
    State state;
    state.lineage = kLineage;
    for (const char* name : {"a", "b", "c"}) Pods(state)[PodAddress(name)] = AnyPod(&random);
    const auto read = StateFromJson(StateToJson(state), "x", AllKinds().remembered);
    if (!read) continue;
    ++readable;
    PodSurvey survey;
    for (const char* id : {"a", "b"}) {
      if (random() % 4 == 0) continue;
      Value node = Value::EmptyMap();
      node.Set("id", std::to_string(random() % 4));
      node.Set("state", random() % 3 == 0 ? "CREATING" : "READY");
      survey.nodes[Harness::Name(id)] =
          random() % 3 == 0 ? WithLineage(std::move(node), random() % 2 == 0 ? kLineage : "other")
                            : node;
    }
    State settled = *read;
    std::vector<std::string> notes;
    SettlePods(survey, &settled, &notes);
    const auto again = StateFromJson(StateToJson(settled), "x", AllKinds().remembered);
    ASSERT_TRUE(again) << again.error().message << "\n" << StateToJson(*read);
  }
  EXPECT_GT(readable, 300);
}

TEST_F(RefreshTest, AVanishedPodStaysInTheStateUntilAPlanSaysWhat) {
  const State state = Settled(Record("a"));
  EXPECT_TRUE(Pods(state).at(Addr("pod.a")).exists());
  EXPECT_TRUE(Pods(state).at(Addr("pod.a")).observed.is_null());
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(RefreshTest, HostKeysBelongToOneNode) {
  cloud_.PutNode(Harness::Name("a"), Node());
  PodRecord record = Record("a");
  record.current.uid = NodeUid(*cloud_.Node(Harness::Name("a")));
  record.host_keys[0] = {"ssh-ed25519 AAAA"};
  EXPECT_FALSE(Pods(Settled(record)).at(Addr("pod.a")).host_keys.empty());
  record.current.uid = "of the node before";
  EXPECT_TRUE(Pods(Settled(record)).at(Addr("pod.a")).host_keys.empty());
}

// Nobody would look at it again, and a pod of that name that is made later has nothing to do with
// it.
TEST_F(RefreshTest, AStepOfNoPodIsForgotten) {
  State state;
  Pods(state)[Addr("pod.a")] = Record("a");
  Steps(state)[Addr("bootstrap.a.x")].pod = Addr("pod.a");
  Steps(state)[Addr("bootstrap.gone.x")].pod = Addr("pod.gone");
  Steps(state)[Addr("bootstrap.b.x")].pod = Addr("pod.a");
  const auto observation = Observe({Spec{}, state}, AllKinds().all, cloud_, 10, {});
  ASSERT_TRUE(observation.has_value());
  const State settled = Settle(state, *observation, AllKinds().all, &notes_);
  EXPECT_TRUE(Steps(settled).contains(Addr("bootstrap.a.x")));
  EXPECT_EQ(Steps(settled).size(), 1U);
  EXPECT_THAT(
      notes_,
      ElementsAre("bootstrap.b.x: is forgotten, since it is a step of no pod that the state has",
                  "bootstrap.gone.x: is forgotten, since it is a step of no pod that the "
                  "state has"));
}

// ---- The order of things.

TEST(Graph, ACircleEndsInTheSpecsOrder) {
  std::vector<Declared> things;
  for (const char* name : {"pod.a", "pod.b", "pod.c"}) things.push_back({Addr(name), {}, {}});
  things[0].builds_on = {Addr("pod.b")};
  things[1].builds_on = {Addr("pod.a")};
  std::vector<std::string> order;
  for (const Declared* each : InDependencyOrder({&things[0], &things[1], &things[2]})) {
    order.push_back(each->address.name);
  }
  EXPECT_THAT(order, ElementsAre("c", "a", "b"));
}

TEST(Graph, ADeleteDoesNotWaitForWhatWaitsForIt) {
  Plan plan;
  for (const char* name : {"a", "b"}) {
    Change change;
    change.address = PodAddress(name);
    change.verb = Verb::kDelete;
    change.payload = PodChange{};
    plan.changes.push_back(change);
  }
  plan.changes[0].waits_for = {Addr("pod.b"), Addr("pod.b"), Addr("pod.gone"), Addr("pod.a")};
  plan.changes[1].waits_for = {Addr("pod.a")};
  DropIdleWaits(&plan);
  const std::size_t waits = plan.changes[0].waits_for.size() + plan.changes[1].waits_for.size();
  EXPECT_LE(waits, 1U);
}

TEST(Graph, WhatIsImpliedNeedNotBeWaitedFor) {
  Harness harness;
  harness.Pods(Harness::Pod("a",
                            "    bootstrap: [{name: x, run: echo}, {name: y, run: echo}, "
                            "{name: z, run: echo}]\n") +
               Harness::Pod("b", "    dependsOn: [pod.a]\n"));
  Plan plan = harness.MakePlan();
  DropImpliedWaits(AllKinds().all, &plan);
  std::map<std::string, std::string> waits;
  for (const Change& change : plan.changes) {
    for (const Address& address : change.waits_for) {
      waits[change.address.Text()] += " " + address.Text();
    }
  }
  EXPECT_EQ(waits, (std::map<std::string, std::string>{{"bootstrap.a.x", " pod.a"},
                                                       {"bootstrap.a.y", " bootstrap.a.x pod.a"},
                                                       {"bootstrap.a.z", " bootstrap.a.y pod.a"},
                                                       {"pod.b", " bootstrap.a.z"}}));
}

TEST(Graph, TheEndOfADeposedObjectWaitsForItsSuccessor) {
  Plan plan;
  for (const char* name : {"a", "b"}) {
    Change change;
    change.address = PodAddress(name);
    change.verb = Verb::kCreateThenDelete;
    plan.changes.push_back(change);
  }
  plan.changes[1].waits_for = {Addr("pod.a")};
  Change end;
  end.address = PodAddress("a");
  end.address.deposed = "a-old";
  end.verb = Verb::kDelete;
  end.waits_for = {Addr("pod.a"), Addr("pod.b")};
  plan.changes.push_back(end);
  DropImpliedWaits(AllKinds().all, &plan);
  EXPECT_THAT(plan.changes.back().waits_for, ElementsAre(Addr("pod.a"), Addr("pod.b")));
}

// ---- Reading nodes.

TEST(NodeView, WorkersOfSeveralNetworksAreEveryNthEndpoint) {
  PodRecord record;
  record.observed.Set("networkConfigs", Value(Value::List{Value::EmptyMap(), Value::EmptyMap()}));
  Value::List endpoints;
  for (int i = 0; i < 4; ++i) {
    Value endpoint;
    endpoint.Set("ipAddress", "10.0.0." + std::to_string(i));
    endpoints.push_back(endpoint);
  }
  record.observed.Set("networkEndpoints", endpoints);
  const auto workers = AccessToWorkers("a", record);
  ASSERT_EQ(workers.size(), 2U);
  EXPECT_EQ(workers[1].host, "10.0.0.2");
  EXPECT_EQ(workers[1].index, 1);
}

TEST(NodeView, WorkersBeyondWhatSlicesShowHaveNoAlias) {
  PodRecord record;
  Value::List slices;
  for (const char* id : {"11", "12"}) slices.emplace_back().Set("id", id);
  record.observed.Set("slices", slices);
  Value::List endpoints(7);
  for (Value& endpoint : endpoints) endpoint.Set("ipAddress", "10.0.0.1");
  record.observed.Set("networkEndpoints", endpoints);
  const auto workers = AccessToWorkers("a", record);
  ASSERT_EQ(workers.size(), 7U);
  EXPECT_EQ(workers[5].gcloud_alias, "tpu.12-2");
  EXPECT_EQ(workers[6].gcloud_alias, "");
}

TEST(NodeView, TheExternalAddressIsTakenWhereThereIsOne) {
  PodRecord record;
  Value endpoint;
  endpoint.Set("ipAddress", "10.0.0.2");
  endpoint.SetPath("accessConfig.externalIp", "203.0.113.2");
  record.observed.Set("networkEndpoints", Value(Value::List{endpoint}));
  EXPECT_EQ(AccessToWorkers("a", record)[0].host, "203.0.113.2");
  record.ssh.internal_address = true;
  EXPECT_EQ(AccessToWorkers("a", record)[0].host, "10.0.0.2");
}

}  // namespace
}  // namespace podctl
