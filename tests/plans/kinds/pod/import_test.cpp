// Taking over nodes that somebody else made: the plan right after is empty.
#include "plans/kinds/pod/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/kinds/step/record.h"
#include "plans/spec/loader.h"
#include "providers/base/json.h"
#include "state/state_json.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using testing::Actions;
using ::testing::AllOf;
using testing::ChangeOf;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Lines;
using ::testing::Not;

constexpr const char* kHead = "project: p\nzone: europe-west4-a\npods:\n";

const Value* NoNodes(const Address&) {
  return nullptr;
}

class ImportTest : public ::testing::Test {
 protected:
  // A node that somebody made, with `fields` (JSON) beside what every node has.
  void Put(const std::string& fields = "{}") {
    auto node = ParseJson(fields);
    ASSERT_TRUE(node.has_value()) << fields;
    if (node->Find("acceleratorType") == nullptr) node->Set("acceleratorType", "v3-32");
    node->Set("runtimeVersion", "tpu-vm-tf-2.11.0-pod");
    harness_.cloud.PutNode(name_, std::move(*node));
  }

  PodDraft Draft() { return DraftOf("a", name_, harness_.Node("a")); }
  std::string Written() { return WriteSpec("p", "europe-west4-a", {Draft()}); }

  PodSpec Load(const std::string& text) {
    testing::FakeFileSystem files;
    files.SetFile("podctl.yaml", text);
    Diagnostics diagnostics;
    Spec spec = LoadSpec(testing::WithKinds(), files, FixedEnvironment({}), diagnostics);
    for (const Diagnostic& each : diagnostics.items())
      ADD_FAILURE() << each.summary << "\n" << text;
    return testing::PodsOf(spec).empty() ? PodSpec{} : testing::PodsOf(spec).front();
  }

  // The node is imported with this spec, and the spec is what the next plan reads.
  void Import(const std::string& text) {
    harness_.SpecText(text);
    State state;
    state.lineage = "8f14e45f-ceea-467f-a0e6-c1a5b1b7d3aa";
    state.serial = 1;
    state.digest_key = "00112233445566778899aabbccddeeff";
    TakeOver(Load(text), name_, harness_.Node("a"), NoNodes, "2026-11-20T14:30:00Z", &state);
    harness_.files.SetFile("/project/podctl.state.json", StateToJson(state));
  }

  void ExpectNothingToDo(const std::string& text) {
    Import(text);
    const Plan plan = harness_.MakePlan();
    EXPECT_THAT(Actions(plan), IsEmpty()) << text;
    for (const Change& change : plan.changes) {
      EXPECT_THAT(Lines(change.attributes), IsEmpty()) << text;
    }
    EXPECT_THAT(plan.drift, IsEmpty()) << text;
    EXPECT_EQ(StateToJson(harness_.Stored()).find("hunter2"), std::string::npos);
  }

  Harness harness_;
  const NodeName name_ = Harness::Name("a");
};

TEST_F(ImportTest, ASimpleNodeNeedsTwoLines) {
  Put();
  EXPECT_EQ(Written(), R"(project: p
zone: europe-west4-a

pods:
  a:
    acceleratorType: v3-32
    runtimeVersion: tpu-vm-tf-2.11.0-pod
)");
  ExpectNothingToDo(Written());
}

TEST_F(ImportTest, WritesWhatTheServiceDidNotChoose) {
  Put(R"({
    "acceleratorConfig": {"type": "V3", "topology": "4x4"},
    "cidrBlock": "10.164.0.0/20",
    "description": "by hand",
    "labels": {"team": "vision", "goog-made-by": "x", "podctl-lineage": "x"},
    "networkConfig": {"network": "mine", "subnetwork": "default", "enableExternalIps": true},
    "serviceAccount": {"email": "123456789012-compute@developer.gserviceaccount.com",
      "scope": ["https://www.googleapis.com/auth/cloud-platform",
                "https://www.googleapis.com/auth/pubsub"]},
    "schedulingConfig": {"spot": true},
    "shieldedInstanceConfig": {},
    "tags": ["b", "a"],
    "dataDisks": [{"sourceDisk": "projects/p/zones/z/disks/d", "mode": "READ_ONLY"}],
    "symptoms": [{"workerId": "1"}], "queuedResource": "q", "multisliceNode": true,
    "metadata": {"ssh-keys": "alice:x", "token": "hunter2", "serial-port-enable": "true",
      "startup-script": "#!/bin/sh\necho $${HOME}\n",
      "tensorflow-env-vars": "-e LIBTPU_INIT_ARGS='--a=1 --b=${x}' -e TF=1"}})");
  EXPECT_EQ(Written(), R"(project: p
zone: europe-west4-a

pods:
  a:
    # Metadata that podctl leaves alone unless it is written here: serial-port-enable, token.
    acceleratorType: v3-32
    runtimeVersion: tpu-vm-tf-2.11.0-pod
    dataDisks:
      - mode: READ_ONLY
        sourceDisk: projects/p/zones/z/disks/d
    description: by hand
    labels:
      team: vision
    networkConfig:
      enableExternalIps: true
      network: projects/p/global/networks/mine
    schedulingConfig:
      spot: true
    tags:
      - b
      - a
    libtpuFlags:
      a: "1"
      b: "$${x}"
    runtimeEnv:
      TF: "1"
    metadata:
      startup-script: |
        #!/bin/sh
        echo $$${HOME}
)");
  ExpectNothingToDo(Written());
}

TEST_F(ImportTest, TellsAskedForFromChosenByTheService) {
  Put(R"({"cidrBlock": "10.1.2.0/29", "acceleratorConfig": {"type": "V3", "topology": "4x4"},
    "serviceAccount": {"email": "me@p.iam.gserviceaccount.com", "scope": ["b", "a"]},
    "networkConfig": {"canIpForward": true, "queueCount": 4, "subnetwork": "sub"},
    "shieldedInstanceConfig": {"enableSecureBoot": true},
    "schedulingConfig": {"preemptible": true, "spot": true},
    "dataDisks": [{"sourceDisk": "projects/p/zones/z/disks/d", "mode": "READ_WRITE"}]})");
  const Value node = Draft().node;
  EXPECT_EQ(ToJson(node),
            R"({"acceleratorType":"v3-32","cidrBlock":"10.1.2.0/29",)"
            R"("dataDisks":[{"sourceDisk":"projects/p/zones/z/disks/d"}],)"
            R"("networkConfig":{"canIpForward":true,"queueCount":4,)"
            R"("subnetwork":"projects/p/regions/europe-west4/subnetworks/sub"},)"
            R"("runtimeVersion":"tpu-vm-tf-2.11.0-pod","schedulingConfig":{"spot":true},)"
            R"("serviceAccount":{"email":"me@p.iam.gserviceaccount.com","scope":["a","b"]},)"
            R"("shieldedInstanceConfig":{"enableSecureBoot":true}})");
  ExpectNothingToDo(Written());
}

TEST_F(ImportTest, SeveralNetworks) {
  Put();
  harness_.Edit("a", [](Value& node) {
    node.Erase("networkConfig");
    node.Set("networkConfigs", Value::List{*ParseJson(R"({"network": "projects/p/global/networks/x",
      "subnetwork": "projects/p/regions/europe-west4/subnetworks/default"})"),
                                           *ParseJson(R"({"network": "other/y",
      "enableExternalIps": true})")});
  });
  EXPECT_EQ(ToJson(Draft().node["networkConfigs"]),
            R"([{"network":"projects/p/global/networks/x"},)"
            R"({"enableExternalIps":true,"network":"other/y"}])");
  ExpectNothingToDo(Written());
}

// Variables that our keys would not give back byte by byte are written as the entry they are.
TEST_F(ImportTest, KeepsForeignRuntimeVariablesAsTheyAre) {
  Put(R"({"metadata": {"tensorflow-env-vars": "-e B=\"1 2\" -e A=1"}})");
  EXPECT_TRUE(Draft().runtime.variables.empty());
  EXPECT_EQ(Draft().metadata.at("tensorflow-env-vars"), "-e B=\"1 2\" -e A=1");
  ExpectNothingToDo(Written());
}

TEST_F(ImportTest, NeedsNoRestartAfterwardsButWhenFlagsChange) {
  Put(R"({"metadata": {"tensorflow-env-vars": "-e LIBTPU_INIT_ARGS=--a=1"}})");
  ExpectNothingToDo(Written());
  EXPECT_TRUE(Steps(harness_.Stored()).contains(Addr("bootstrap.a.tpu-runtime")));
  harness_.SpecText(std::string(kHead) + Harness::Pod("a", "    libtpuFlags: {a: 2}\n"));
  EXPECT_THAT(Actions(harness_.MakePlan()),
              ElementsAre("update pod.a", "run bootstrap.a.tpu-runtime"));
}

TEST_F(ImportTest, VariablesThatTheSpecDoesNotSetAreLeftAlone) {
  Put(R"({"metadata": {"tensorflow-env-vars": "-e LIBTPU_INIT_ARGS=--a=1"}})");
  ExpectNothingToDo(std::string(kHead) + Harness::Pod("a"));
  EXPECT_TRUE(Steps(harness_.Stored()).empty());
}

TEST_F(ImportTest, ASpecThatIsThereIsComparedWithTheNode) {
  Put(R"({"labels": {"team": "vision", "old": "1"}, "description": "x",
          "metadata": {"m": "1", "s": "hunter2"}})");
  Import(std::string(kHead) +
         Harness::Pod("a",
                      "    labels: {team: speech, new: x}\n    description: x\n"
                      "    schedulingConfig: {spot: false}\n"
                      "    metadata: {m: 2, n: 3, s: {value: hunter2, sensitive: true}}\n"));
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(plan.drift, IsEmpty()) << "nobody changed anything behind podctl's back";
  EXPECT_THAT(Lines(ChangeOf(plan, "pod.a").attributes),
              ElementsAre("labels.new: (none) -> x", "labels.team: vision -> speech",
                          "metadata.m: 1 -> 2", "metadata.n: (none) -> 3"));
  const PodRecord record = Pods(harness_.Stored()).at(Addr("pod.a"));
  EXPECT_EQ(ToJson(record.applied["labels"]), R"({"team":"vision"})");
  EXPECT_EQ(record.metadata.at("m"), "1");
  EXPECT_TRUE(record.metadata.at("s").starts_with("hmac-sha256:"));
  EXPECT_THAT(record.sensitive_keys, ElementsAre("s"));
  harness_.ApplyAll();
}

TEST_F(ImportTest, WhatTheSpecIgnoresIsNotOwned) {
  Put(R"({"labels": {"team": "vision"}, "metadata": {"m": "1"}})");
  ExpectNothingToDo(std::string(kHead) +
                    Harness::Pod("a",
                                 "    labels: {team: x}\n    metadata: {m: 2}\n    lifecycle: "
                                 "{ignoreChanges: [labels.team, metadata.m]}\n"));
  EXPECT_TRUE(Pods(harness_.Stored()).at(Addr("pod.a")).metadata.empty());
}

TEST_F(ImportTest, TheStateKnowsHowToReachIt) {
  Put();
  Import(std::string(kHead) + Harness::Pod("a",
                                           "    ssh: {user: alice, port: 2222}\n    lifecycle: "
                                           "{preventDestroy: true}\n"));
  const PodRecord record = Pods(harness_.Stored()).at(Addr("pod.a"));
  EXPECT_EQ(record.ssh.user, "alice");
  EXPECT_EQ(record.ssh.port, 2222);
  EXPECT_TRUE(record.prevent_destroy);
  EXPECT_TRUE(record.exists());
  EXPECT_FALSE(record.current.uid.empty());
  EXPECT_EQ(record.observed["networkEndpoints"].AsList().size(), 4U);
}

// `defaults` of the spec would change the node: the pod says otherwise where it can.
TEST_F(ImportTest, InsistsAgainstDefaults) {
  Put(R"({"description": "mine", "metadata": {"tensorflow-env-vars": "-e X=1"}})");
  PodDraft draft = Draft();
  draft.node.Erase("description");
  const std::string defaults =
      "defaults:\n  schedulingConfig: {spot: true}\n  networkConfig: {network: other}\n  "
      "description: theirs\n  labels: {team: vision}\n  runtimeEnv: {Y: 2}\n";
  std::string text;
  for (int round = 0; round < 3; ++round) {
    text = defaults + WriteSpec("p", "europe-west4-a", {draft});
    if (!Insist(Load(text), harness_.Node("a"), &draft)) break;
  }
  EXPECT_EQ(draft.node.FindPath("schedulingConfig.spot")->AsBool(true), false);
  EXPECT_EQ(draft.node["description"].AsString(), "mine");
  // A label or a variable cannot be taken away again: that difference is told.
  EXPECT_THAT(DifferingPaths(Load(text), harness_.Node("a"), NoNodes),
              ElementsAre("labels.team", "runtimeEnv.Y"));
}

TEST_F(ImportTest, WaitsForWhatIsUnderWay) {
  Put(R"({"state": "CREATING"})");
  EXPECT_EQ(WhyNotNow(harness_.Node("a")), "it is still being created");
  Put(R"({"state": "DELETING"})");
  EXPECT_EQ(WhyNotNow(harness_.Node("a")), "it is being deleted");
  for (const char* state : {"READY", "STOPPED", "PREEMPTED", "REPAIRING"}) {
    Put(std::string(R"({"state": ")") + state + "\"}");
    EXPECT_EQ(WhyNotNow(harness_.Node("a")), "");
  }
}

TEST(NodeIds, AreReadInEveryForm) {
  const NodeName otherwise{"p", "z", ""};
  const auto read = [&](const char* id, const NodeName& rest) {
    const auto name = NodeNameFromId(id, rest);
    return name ? name->Resource() : name.error().message;
  };
  EXPECT_EQ(read("n", otherwise), "projects/p/locations/z/nodes/n");
  EXPECT_EQ(read("y/n", otherwise), "projects/p/locations/y/nodes/n");
  EXPECT_EQ(read("q/y/n", otherwise), "projects/q/locations/y/nodes/n");
  EXPECT_EQ(read("projects/q/locations/y/nodes/n", {}), "projects/q/locations/y/nodes/n");
  EXPECT_EQ(read("https://tpu.googleapis.com/v2/projects/q/locations/y/nodes/n", {}),
            "projects/q/locations/y/nodes/n");
  for (const char* id :
       {"", "/n", "n/", "a/b/c/d", "projects/q/locations/y/operations/n", "a/b/c/d/e/f", "//n"}) {
    EXPECT_EQ(read(id, otherwise), "`" + std::string(id) + "` names no node");
  }
  EXPECT_EQ(read("n", {"", "z", ""}), "the project of the node `n` is not known");
  EXPECT_EQ(read("n", {"p", "", ""}), "the zone of the node `n` is not known");
}

// Whatever the node looks like, the plan right after its import is empty.
TEST_F(ImportTest, PlansNothingAfterwardsWhateverTheNode) {
  std::mt19937 random(20261120);
  const auto one_of = [&](std::initializer_list<const char*> texts) {
    return std::string(*(texts.begin() + random() % texts.size()));
  };
  const auto maybe = [&] { return random() % 3 == 0; };
  for (int i = 0; i < 300; ++i) {
    Value node = Value::EmptyMap();
    node.Set("acceleratorType", one_of({"v3-8", "v3-32", "v2-8"}));
    if (maybe()) node.Set("description", one_of({"yes", "a: b", "ä\n", "${x}", "'", "1"}));
    for (const char* key : {"a", "true", "n1", "goog-x"}) {
      if (maybe()) node.SetPath(std::string("labels.") + key, one_of({"", "1", "no", "x-y", "ä"}));
    }
    for (const char* path :
         {"schedulingConfig.spot", "schedulingConfig.preemptible", "networkConfig.canIpForward",
          "networkConfig.enableExternalIps", "shieldedInstanceConfig.enableSecureBoot"}) {
      if (maybe()) node.SetPath(path, true);
    }
    if (maybe()) node.SetPath("networkConfig.network", one_of({"default", "mine", "projects/q/x"}));
    if (maybe()) node.Set("tags", Value::List{one_of({"b", "0"}), one_of({"a", "null"})});
    if (maybe()) node.Set("cidrBlock", one_of({"10.0.0.0/20", "10.0.0.0/29"}));
    if (maybe()) node.SetPath("serviceAccount.scope", Value::List{one_of({"b", "a"}), "c"});
    for (const char* key : {"startup-script", "shutdown-script", "ssh-keys", "other"}) {
      if (!maybe()) continue;
      node.SetPath(std::string("metadata.") + key, one_of({"", "x", "#!/bin/sh\necho ${A}\n",
                                                           "a\n\n", " a\n", "\ta\r\n", "$${x}"}));
    }
    if (maybe()) {
      node.SetPath("metadata.tensorflow-env-vars",
                   one_of({"", "x", "-e A=1", "-e LIBTPU_INIT_ARGS='--a=1 --b=${c}'",
                           "-e LIBTPU_INIT_ARGS='--b=1 --a=2' -e Z='$(x) '", "-e \"A=1\""}));
    }
    Put(ToJson(node));
    ExpectNothingToDo(Written());
    if (HasFailure()) FAIL() << i << "\n" << ToJson(node, JsonStyle::kIndented) << Written();
  }
}

TEST_F(ImportTest, WhatOnlyV2Alpha1ShowsIsWrittenWithItsVersion) {
  Put(R"({
    "autocheckpointEnabled": true,
    "bootDiskConfig": {"diskSizeGb": "300", "enableConfidentialCompute": false,
                       "customerEncryptionKey": {"kmsKeyName":
                         "projects/k/locations/l/keyRings/r/cryptoKeys/c"}},
    "schedulingConfig": {"provisioningModel": "STANDARD", "spot": false}})");
  EXPECT_EQ(Written(), R"(project: p
zone: europe-west4-a

pods:
  a:
    apiVersion: v2alpha1
    acceleratorType: v3-32
    runtimeVersion: tpu-vm-tf-2.11.0-pod
    autocheckpointEnabled: true
    bootDiskConfig:
      customerEncryptionKey:
        kmsKeyName: projects/k/locations/l/keyRings/r/cryptoKeys/c
      diskSizeGb: 300
)");
  ExpectNothingToDo(Written());
}

TEST_F(ImportTest, WhatOnlyV2Alpha1ShowsOfADiskIsWrittenWithItsVersionToo) {
  Put(R"({"dataDisks": [{"sourceDisk": "projects/p/zones/europe-west4-a/disks/d",
                         "workerIds": ["0"]}]})");
  EXPECT_THAT(Written(), AllOf(HasSubstr("apiVersion: v2alpha1\n"), HasSubstr("workerIds:")));
  ExpectNothingToDo(Written());
}

TEST_F(ImportTest, WhatV2Alpha1SaysOnceMoreNeedsItNot) {
  Put(R"({"autocheckpointEnabled": false,
          "schedulingConfig": {"provisioningModel": "SPOT", "spot": true}})");
  EXPECT_THAT(Written(), AllOf(Not(HasSubstr("v2alpha1")), HasSubstr("spot: true")));
  ExpectNothingToDo(Written());
}

TEST_F(ImportTest, KeysThatAreThereAreOwnedAndMissingOnesAreTheNextPlans) {
  Put(R"({"metadata": {"ssh-keys": "alice:ssh-ed25519 AAAA alice"}})");
  harness_.own_keys = {"alice:ssh-ed25519 AAAA other words"};
  ExpectNothingToDo(Written());
  harness_.own_keys = {"bob:ssh-ed25519 BBBB bob"};
  EXPECT_THAT(Actions(harness_.MakePlan()), ElementsAre("update pod.a"));
}

}  // namespace
}  // namespace podctl
