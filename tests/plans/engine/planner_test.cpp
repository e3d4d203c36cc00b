// What a plan does with the nodes: create, keep, patch, replace, delete.
#include "plans/engine/planner.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plans/kinds/pod/change.h"
#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/pod/unaccounted_nodes.h"
#include "providers/base/json.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

using testing::Actions;
using ::testing::AllOf;
using testing::ChangeOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Lines;
using ::testing::Not;
using ::testing::StartsWith;

class PlannerTest : public ::testing::Test {
 protected:
  // Applies `before` and plans `after`, both keys of one pod `a`.
  Plan Change(const std::string& before, const std::string& after) {
    ApplyThenWrite(before, after);
    return harness_.MakePlan();
  }
  void ApplyThenWrite(const std::string& before, const std::string& after) {
    harness_.Pods(Harness::Pod("a", before));
    harness_.ApplyAll();
    harness_.Pods(Harness::Pod("a", after));
  }
  std::vector<std::string> Fields(const Plan& plan) {
    const podctl::Change& change = ChangeOf(plan, "pod.a");
    EXPECT_EQ(change.verb, Verb::kUpdate);
    const PodChange* pod = AsPod(change);
    EXPECT_NE(pod, nullptr);
    return pod == nullptr ? std::vector<std::string>{} : pod->fields;
  }
  std::string OnlyError() {
    const Diagnostics diagnostics = harness_.TryPlan();
    EXPECT_EQ(diagnostics.items().size(), 1U);
    return diagnostics.items().empty() ? "" : diagnostics.items().front().summary;
  }

  Harness harness_;
};

TEST_F(PlannerTest, APodThatIsNowhereIsCreated) {
  harness_.Pods(
      Harness::Pod("a", "    labels: {team: vision}\n    networkConfig: {network: default}\n"));
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("create pod.a"));
  EXPECT_THAT(Lines(ChangeOf(plan, "pod.a").attributes),
              ElementsAre("acceleratorType: (none) -> v3-32", "labels.team: (none) -> vision",
                          "networkConfig.network: (none) -> default",
                          "runtimeVersion: (none) -> tpu-vm-tf-2.11.0-pod"));
  EXPECT_EQ(plan.Counts().add, 1U);
  EXPECT_EQ(ChangeOf(plan, "pod.a").place.line, 4);
}

TEST_F(PlannerTest, AnUnchangedSpecIsAnEmptyPlan) {
  const Plan plan = Change("    labels: {team: vision}\n", "    labels: {team: vision}\n");
  EXPECT_TRUE(plan.Empty());
  EXPECT_TRUE(plan.drift.empty());
  EXPECT_EQ(plan.Counts().add + plan.Counts().change + plan.Counts().destroy, 0U);
  EXPECT_EQ(plan.lineage, harness_.Stored().lineage);
  EXPECT_EQ(plan.serial, harness_.Stored().serial);
}

// A node as the service shows it, with everything it fills in on its own.
TEST_F(PlannerTest, WhatTheServerFillsInIsNeverADifference) {
  harness_.Pods(Harness::Pod("a", R"(    description: for a day
    labels: {team: vision}
    tags: [b, a]
    metadata: {startup-script: "echo hi"}
    networkConfig: {network: default, subnetwork: default, enableExternalIps: true}
    serviceAccount: {scope: [https://www.googleapis.com/auth/devstorage.read_write]}
    schedulingConfig: {spot: false, preemptible: false}
    shieldedInstanceConfig: {enableSecureBoot: false}
    dataDisks: [{sourceDisk: projects/p/zones/europe-west4-a/disks/d}]
)"));
  harness_.ApplyAll();
  const auto full = ParseJson(R"({
    "name": "projects/p/locations/europe-west4-a/nodes/a",
    "description": "for a day", "acceleratorType": "v3-32", "state": "READY",
    "runtimeVersion": "tpu-vm-tf-2.11.0-pod",
    "networkConfig": {"network": "projects/p/global/networks/default",
                      "subnetwork": "projects/p/regions/europe-west4/subnetworks/default",
                      "enableExternalIps": true},
    "cidrBlock": "10.164.0.0/29",
    "serviceAccount": {"email": "1234-compute@developer.gserviceaccount.com",
                       "scope": ["https://www.googleapis.com/auth/devstorage.read_write",
                                 "https://www.googleapis.com/auth/pubsub"]},
    "createTime": "2026-11-20T14:30:00.123456789Z",
    "schedulingConfig": {}, "shieldedInstanceConfig": {}, "health": "HEALTHY",
    "networkEndpoints": [
      {"ipAddress": "10.164.0.2", "port": 8470, "accessConfig": {"externalIp": "203.0.113.2"}},
      {"ipAddress": "10.164.0.3", "port": 8470, "accessConfig": {"externalIp": "203.0.113.3"}},
      {"ipAddress": "10.164.0.4", "port": 8470, "accessConfig": {"externalIp": "203.0.113.4"}},
      {"ipAddress": "10.164.0.5", "port": 8470, "accessConfig": {"externalIp": "203.0.113.5"}}],
    "dataDisks": [{"sourceDisk": "projects/p/zones/europe-west4-a/disks/d",
                   "mode": "READ_WRITE"}],
    "labels": {"team": "vision", "goog-partner": "x"}, "tags": ["a", "b"],
    "metadata": {"startup-script": "echo hi", "ssh-keys": "bob:ssh-rsa AAAA bob"},
    "acceleratorConfig": {"type": "V3", "topology": "4x4"},
    "symptoms": [{"symptomType": "LOW_MEMORY", "workerId": "0"}],
    "apiVersion": "V2", "upcomingMaintenance": {"type": "SCHEDULED"}})");
  ASSERT_TRUE(full.has_value()) << full.error().message;
  harness_.Edit("a", [&](Value& node) {
    const Value id = node["id"];
    node = *full;
    node.Set("id", id);
  });
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), IsEmpty());
  EXPECT_TRUE(plan.drift.empty()) << plan.drift.front().sentence;
}

TEST_F(PlannerTest, ValuesAreComparedInTheirNormalForm) {
  harness_.Pods(
      "  a:\n    acceleratorType: V3-32\n    runtimeVersion: r\n"
      "    networkConfig:\n"
      "      network: https://www.googleapis.com/compute/v1/projects/p/global/networks/n\n"
      "      subnetwork: regions/europe-west4/subnetworks/s\n");
  harness_.ApplyAll();
  harness_.Edit("a", [](Value& node) {
    node.Set("acceleratorType", "v3-32");
    node.SetPath("networkConfig.network", "projects/p/global/networks/n");
    node.SetPath("networkConfig.subnetwork", "projects/p/regions/europe-west4/subnetworks/s");
  });
  EXPECT_THAT(Actions(harness_.MakePlan()), IsEmpty());
  EXPECT_TRUE(harness_.MakePlan().drift.empty());
}

TEST_F(PlannerTest, NetworksOfSeveralInterfacesAreComparedInTheirNormalForm) {
  harness_.Pods(Harness::Pod("a", "    networkConfigs: [{network: default}, {network: second}]\n"));
  ASSERT_TRUE(harness_.Apply().ok());
  harness_.Edit("a", [](Value& node) {
    Value::List configs = node["networkConfigs"].AsList();
    configs[0].Set("network", "projects/p/global/networks/default");
    configs[1].Set("network", "projects/p/global/networks/second");
    node.Set("networkConfigs", configs);
  });
  EXPECT_THAT(Actions(harness_.MakePlan()), IsEmpty());
  EXPECT_TRUE(harness_.MakePlan().drift.empty());
}

TEST_F(PlannerTest, APatchSendsOnlyTheFieldsThatChange) {
  const Plan plan = Change("    labels: {team: vision}\n    description: x\n    tags: [a]\n",
                           "    labels: {team: speech}\n    description: x\n    tags: [a, b]\n"
                           "    networkConfig: {enableExternalIps: true}\n");
  EXPECT_THAT(Actions(plan), ElementsAre("update pod.a"));
  EXPECT_THAT(Fields(plan), ElementsAre("labels", "networkConfig.enableExternalIps", "tags"));
  EXPECT_THAT(Lines(ChangeOf(plan, "pod.a").attributes),
              ElementsAre("labels.team: vision -> speech",
                          "networkConfig.enableExternalIps: (none) -> true",
                          "tags: [\"a\"] -> [\"a\",\"b\"]"));
  EXPECT_EQ(plan.Counts().change, 1U);
  harness_.ApplyAll();
  EXPECT_THAT(harness_.Requests(),
              ElementsAre("create a", "patch a labels,networkConfig.enableExternalIps,tags"));
}

TEST_F(PlannerTest, OthersLabelsAndMetadataAreTheirs) {
  harness_.Pods(Harness::Pod("a", "    labels: {team: vision}\n    metadata: {mine: \"1\"}\n"));
  harness_.ApplyAll();
  harness_.Edit("a", [](Value& node) {
    node.SetPath("labels.theirs", "x");
    node.SetPath("metadata.ssh-keys", "bob:ssh-rsa AAAA");
  });
  EXPECT_THAT(Actions(harness_.MakePlan()), IsEmpty());
  EXPECT_TRUE(harness_.MakePlan().drift.empty());
}

TEST_F(PlannerTest, OwnKeysThatLeaveTheSpecAreRemoved) {
  const Plan plan = Change("    labels: {a: x, b: y}\n    metadata: {m: \"1\", n: \"2\"}\n",
                           "    labels: {a: x}\n    metadata: {m: \"1\"}\n");
  EXPECT_THAT(Lines(ChangeOf(plan, "pod.a").attributes),
              ElementsAre("labels.b: y -> (none)", "metadata.n: 2 -> (none)"));
  harness_.ApplyAll();
  EXPECT_EQ(harness_.Node("a")["labels"].Find("b"), nullptr);
  EXPECT_EQ(harness_.Node("a")["metadata"].Find("n"), nullptr);
  EXPECT_EQ(harness_.Node("a")["metadata"]["m"].AsString(), "1");
}

TEST_F(PlannerTest, TagsAreASet) {
  EXPECT_TRUE(Change("    tags: [a, b]\n", "    tags: [b, a]\n").Empty());
}

TEST_F(PlannerTest, WhatThePodOwnedIsClearedWhenTheSpecDropsIt) {
  const Plan plan = Change("    description: x\n    tags: [a]\n", "");
  EXPECT_THAT(Fields(plan), ElementsAre("description", "tags"));
  harness_.ApplyAll();
  EXPECT_EQ(harness_.Node("a").Find("description"), nullptr);
  EXPECT_EQ(harness_.Node("a").Find("tags"), nullptr);
}

TEST_F(PlannerTest, DataDisksArePatched) {
  const Plan plan =
      Change("    dataDisks: [{sourceDisk: projects/p/zones/z/disks/d}]\n",
             "    dataDisks: [{sourceDisk: projects/p/zones/z/disks/e, mode: READ_ONLY}]\n");
  EXPECT_THAT(Fields(plan), ElementsAre("dataDisks"));
}

TEST_F(PlannerTest, ImmutableFieldsReplaceAndSayWhy) {
  const Plan plan = Change("    labels: {team: vision}\n",
                           "    labels: {team: speech}\n    cidrBlock: 10.1.0.0/29\n");
  EXPECT_THAT(Actions(plan), ElementsAre("replace pod.a"));
  const podctl::Change& change = ChangeOf(plan, "pod.a");
  EXPECT_EQ(change.reason, "cidrBlock cannot be changed in place");
  EXPECT_THAT(Lines(change.attributes),
              ElementsAre("cidrBlock: (none) -> 10.1.0.0/29", "labels.team: vision -> speech"));
  EXPECT_TRUE(change.attributes[0].forces_replacement);
  EXPECT_FALSE(change.attributes[1].forces_replacement);
  EXPECT_EQ(plan.Counts().add, 1U);
  EXPECT_EQ(plan.Counts().destroy, 1U);
}

TEST_F(PlannerTest, ASwitchThatLeavesTheSpecIsTurnedOff) {
  const Plan plan = Change("    schedulingConfig: {spot: true}\n", "");
  EXPECT_THAT(Actions(plan), ElementsAre("replace pod.a"));
  EXPECT_THAT(Lines(ChangeOf(plan, "pod.a").attributes),
              ElementsAre("schedulingConfig.spot: true -> false"));
}

TEST_F(PlannerTest, AnImmutableValueThatLeavesTheSpecStaysAsItIs) {
  EXPECT_TRUE(Change("    cidrBlock: 10.1.0.0/29\n", "").Empty());
}

TEST_F(PlannerTest, ANodeThatMovesIsReplaced) {
  const Plan plan = Change("", "    nodeId: other\n    zone: us-central1-a\n");
  EXPECT_THAT(Actions(plan), ElementsAre("replace pod.a"));
  EXPECT_THAT(Lines(ChangeOf(plan, "pod.a").attributes),
              ElementsAre("nodeId: a -> other", "zone: europe-west4-a -> us-central1-a"));
}

TEST_F(PlannerTest, IgnoredChangesAreNeitherPlannedNorWritten) {
  const std::string keys =
      "    labels: {team: vision, cost: \"1\"}\n    metadata: {m: \"1\", n: \"1\"}\n"
      "    lifecycle: {ignoreChanges: [labels.team, metadata.m, description]}\n";
  harness_.Pods(Harness::Pod("a", keys));
  harness_.ApplyAll();
  harness_.Edit("a", [](Value& node) {
    node.SetPath("labels.team", "theirs");
    node.SetPath("metadata.m", "theirs");
    node.Set("description", "theirs");
  });
  Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), IsEmpty());
  EXPECT_TRUE(plan.drift.empty());
  // Another change of the same maps leaves them alone as well.
  harness_.Pods(Harness::Pod("a",
                             "    labels: {team: vision, cost: \"2\"}\n"
                             "    metadata: {m: \"1\", n: \"2\"}\n"
                             "    lifecycle: {ignoreChanges: [labels.team, metadata.m]}\n"));
  harness_.ApplyAll();
  EXPECT_EQ(harness_.Node("a")["labels"]["team"].AsString(), "theirs");
  EXPECT_EQ(harness_.Node("a")["metadata"]["m"].AsString(), "theirs");
  EXPECT_EQ(harness_.Node("a")["metadata"]["n"].AsString(), "2");
}

TEST_F(PlannerTest, PreventDestroyStopsAReplacement) {
  ApplyThenWrite("    lifecycle: {preventDestroy: true}\n",
                 "    cidrBlock: 10.1.0.0/29\n    lifecycle: {preventDestroy: true}\n");
  EXPECT_EQ(OnlyError(), "pod.a must not be destroyed");
}

TEST_F(PlannerTest, PreventDestroyOutlivesItsSpec) {
  harness_.Pods(Harness::Pod("a", "    lifecycle: {preventDestroy: true}\n") + Harness::Pod("b"));
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("b"));
  EXPECT_EQ(OnlyError(), "pod.a must not be destroyed");
  const auto help = [&] { return harness_.TryPlan().items().front().detail; };
  EXPECT_THAT(help(), HasSubstr("Put the pod back into the spec with `preventDestroy: false`"));
  EXPECT_THAT(help(), HasSubstr("`moved: [{from: pod.a, to: pod.NEW}]`"));
  // Of a destroy the spec's pods are a part.
  harness_.plan_options.mode = PlanMode::kDestroy;
  EXPECT_THAT(help(), HasSubstr("Set it to `false` in the spec and apply that first."));
  harness_.plan_options.mode = PlanMode::kNormal;
  // Lifting it is a change of bookkeeping, which an apply without requests takes over.
  harness_.Pods(Harness::Pod("a") + Harness::Pod("b"));
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("b"));
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("delete pod.a"));
}

TEST_F(PlannerTest, APodThatLeavesTheSpecIsDeleted) {
  harness_.Pods(Harness::Pod("a", "    metadata: {m: \"1\"}\n") + Harness::Pod("b"));
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("b"));
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("delete pod.a"));
  EXPECT_EQ(ChangeOf(plan, "pod.a").reason, "it is no longer in the spec");
  EXPECT_THAT(Lines(ChangeOf(plan, "pod.a").attributes),
              ElementsAre("acceleratorType: v3-32 -> (none)", "metadata.m: 1 -> (none)",
                          "runtimeVersion: tpu-vm-tf-2.11.0-pod -> (none)"));
  EXPECT_EQ(plan.Counts().destroy, 1U);
}

TEST_F(PlannerTest, APodThatIsGoneAlreadyIsOnlyForgotten) {
  harness_.Pods(Harness::Pod("a") + Harness::Pod("b"));
  harness_.ApplyAll();
  harness_.cloud.RemoveNode(Harness::Name("a"));
  harness_.Pods(Harness::Pod("b"));
  const Plan plan = harness_.MakePlan();
  EXPECT_EQ(ChangeOf(plan, "pod.a").verb, Verb::kForget);
  EXPECT_EQ(plan.Counts().destroy, 0U);
  EXPECT_FALSE(plan.Empty());
}

TEST_F(PlannerTest, ANodeThatPodctlDidNotMakeIsLeftAlone) {
  Value theirs;
  theirs.Set("acceleratorType", "v3-32");
  harness_.cloud.PutNode(Harness::Name("a"), theirs);
  harness_.Pods(Harness::Pod("a", "    bootstrap: [{name: x, run: echo}]\n"));
  EXPECT_EQ(OnlyError(), "a node named `a` already exists in europe-west4-a");
  const std::string detail = harness_.TryPlan().items().front().detail;
  EXPECT_THAT(detail, HasSubstr("1. The state that knows it may be elsewhere"));
  EXPECT_THAT(detail,
              HasSubstr(fmt::format("2. To take the node over: podctl import pod.a {}/{}/a\n",
                                    Harness::Name("a").project, Harness::Name("a").zone)));
  EXPECT_THAT(detail, HasSubstr("3. To make another one: give this pod a `nodeId` of its own."));
}

// It cannot be taken over, so nobody is sent to `podctl import`.
TEST_F(PlannerTest, ANodeThatSomebodyIsDeletingIsWaitedForByThem) {
  Value theirs;
  theirs.Set("acceleratorType", "v3-32");
  theirs.Set("state", "DELETING");
  harness_.cloud.PutNode(Harness::Name("a"), theirs);
  harness_.Pods(Harness::Pod("a"));
  EXPECT_EQ(OnlyError(), "a node named `a` is still being deleted in europe-west4-a");
  EXPECT_EQ(harness_.TryPlan().items().front().detail,
            "Somebody deletes it, not this state. Wait until it is gone and run the same command "
            "again, or give this pod a `nodeId` of its own.");
}

// What a lost runner leaves: the place that was looked at, and what was found there.
TEST(TakenHintTest, SaysWhichStateWasLookedAtAndTheLineThatImports) {
  PodSpec pod;
  pod.project = "p";
  pod.zone = "z";
  pod.node_id = "b1";
  EXPECT_THAT(NameConflictHint(pod, Addr("pod.b1"), nullptr, {},
                               {"it's/podctl.state.json", " -f 'team a'", ""}),
              AllOf(HasSubstr("looked at it's/podctl.state.json, where there is none yet."),
                    HasSubstr("podctl import pod.b1 p/z/b1 -f 'team a'\n")));
  State state;
  state.lineage = "l";
  state.serial = 41;
  pod.node_id = "b1;touch x";
  EXPECT_THAT(NameConflictHint(pod, Addr("pod.b1"), nullptr, state, {"s.json", "", ""}),
              AllOf(HasSubstr("looked at s.json, which is at serial 41 and holds 0 pods."),
                    HasSubstr("podctl import pod.b1 'p/z/b1;touch x'\n")));
}

TEST(TakenHintTest, SaysByTheLabelWhichStateMadeIt) {
  State state;
  state.lineage = "mine";
  Value node = WithLineage(Value::EmptyMap(), "mine");
  EXPECT_THAT(NameConflictHint({}, Addr("pod.b1"), &node, state, {}),
              StartsWith("By its label podctl made that node with this state, which does not know "
                         "it any more, and leaves it alone.\n1. "));
  node = WithLineage(Value::EmptyMap(), "theirs\nforged");
  EXPECT_THAT(NameConflictHint({}, Addr("pod.b1"), &node, state, {}),
              StartsWith("By its label podctl made that node with another state, of lineage "
                         "theirs\\x0aforged, and leaves it alone.\n1. "));
}

TEST_F(PlannerTest, ARenamedPodIsToldWhoseNodeItWants) {
  Change("", "");
  harness_.Pods(Harness::Pod("b", "    nodeId: a\n"));
  const Diagnostics diagnostics = harness_.TryPlan();
  ASSERT_FALSE(diagnostics.items().empty());
  EXPECT_THAT(diagnostics.items().front().detail, HasSubstr("It is pod.a in the state"));
}

TEST_F(PlannerTest, DependenciesComeFirstAndTheirStepsAreAwaited) {
  harness_.Pods(Harness::Pod("b", "    dependsOn: [pod.a]\n") +
                Harness::Pod("a", "    bootstrap: [{name: x, run: echo}, {name: y, run: echo}]\n"));
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("create pod.a", "run bootstrap.a.x", "run bootstrap.a.y",
                                         "create pod.b"));
  EXPECT_THAT(ChangeOf(plan, "bootstrap.a.y").waits_for, ElementsAre("bootstrap.a.x", "pod.a"));
  EXPECT_THAT(ChangeOf(plan, "pod.b").waits_for,
              ElementsAre("bootstrap.a.x", "bootstrap.a.y", "pod.a"));
}

TEST_F(PlannerTest, DeletesGoTheOtherWayRound) {
  harness_.Pods(Harness::Pod("a") + Harness::Pod("b", "    dependsOn: [pod.a]\n") +
                Harness::Pod("c"));
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("c"));
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(ChangeOf(plan, "pod.a").waits_for, ElementsAre("pod.b"));
  EXPECT_THAT(ChangeOf(plan, "pod.b").waits_for, IsEmpty());
}

TEST_F(PlannerTest, NobodyWaitsForWhatIsKept) {
  harness_.Pods(Harness::Pod("a") + Harness::Pod("b", "    dependsOn: [pod.a]\n"));
  harness_.ApplyAll();
  harness_.Pods(Harness::Pod("a") +
                Harness::Pod("b", "    dependsOn: [pod.a]\n    description: x\n"));
  EXPECT_THAT(ChangeOf(harness_.MakePlan(), "pod.b").waits_for, IsEmpty());
}

TEST_F(PlannerTest, ReferencesAreKnownOnceTheirPodIs) {
  const std::string pods =
      Harness::Pod("a") +
      Harness::Pod("b",
                   "    metadata: {peer: \"${pod.a.networkEndpoints[0].ipAddress}\"}\n"
                   "    labels: {up: \"${pod.a.state}\"}\n");
  harness_.Pods(pods);
  Plan plan = harness_.MakePlan();
  EXPECT_THAT(Lines(ChangeOf(plan, "pod.b").attributes),
              ElementsAre("acceleratorType: (none) -> v3-32", "labels.up: (none) -> (unknown)",
                          "metadata.peer: (none) -> (unknown)",
                          "runtimeVersion: (none) -> tpu-vm-tf-2.11.0-pod"));
  EXPECT_THAT(ChangeOf(plan, "pod.b").waits_for, ElementsAre("pod.a"));
  harness_.ApplyAll();
  EXPECT_EQ(harness_.Node("b")["metadata"]["peer"].AsString(), "10.164.0.2");
  EXPECT_EQ(harness_.Node("b")["labels"]["up"].AsString(), "READY");
  // While `a` is replaced its address is not known: `b` follows in place.
  harness_.cloud.EditNode(Harness::Name("a"), [](Value& node) { node.Set("state", "PREEMPTED"); });
  plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("replace pod.a", "update pod.b"));
  EXPECT_THAT(Lines(ChangeOf(plan, "pod.b").attributes),
              Contains("metadata.peer: 10.164.0.2 -> (unknown)"));
}

TEST_F(PlannerTest, SensitiveMetadataIsComparedAndNeverStored) {
  const std::string keys = "    metadata: {token: {env: TOKEN, sensitive: true}}\n";
  harness_.environment["TOKEN"] = "first-secret";
  harness_.Pods(Harness::Pod("a", keys));
  harness_.ApplyAll();
  EXPECT_EQ(harness_.Node("a")["metadata"]["token"].AsString(), "first-secret");
  EXPECT_THAT(harness_.files.FileText("/project/podctl.state.json").value_or(""),
              Not(HasSubstr("first-secret")));
  EXPECT_THAT(Pods(harness_.Stored()).at(Addr("pod.a")).metadata.at("token"),
              ::testing::StartsWith("hmac-sha256:"));
  harness_.environment["TOKEN"] = "second-secret";
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Fields(plan), ElementsAre("metadata"));
  ASSERT_EQ(ChangeOf(plan, "pod.a").attributes.size(), 1U);
  EXPECT_TRUE(ChangeOf(plan, "pod.a").attributes[0].sensitive);
  // Still hidden when the spec no longer says so, and in a delete.
  harness_.Pods(Harness::Pod("a"));
  EXPECT_TRUE(ChangeOf(harness_.MakePlan(), "pod.a").attributes[0].sensitive);
}

TEST_F(PlannerTest, FlagsWithASecretAreNotStoredForExecEither) {
  harness_.environment["TOKEN"] = "the-secret";
  harness_.SpecText(
      "project: p\nzone: europe-west4-a\nvariables: {t: {sensitive: true, default: the-secret}}\n"
      "pods:\n" +
      Harness::Pod("a", "    runtimeEnv: {TOKEN: \"${var.t}\"}\n"));
  harness_.ApplyAll();
  EXPECT_THAT(harness_.Node("a")["metadata"]["tensorflow-env-vars"].AsString(),
              HasSubstr("the-secret"));
  EXPECT_THAT(harness_.files.FileText("/project/podctl.state.json").value_or(""),
              Not(HasSubstr("the-secret")));
}

}  // namespace
}  // namespace podctl
