// Every field of the Node resource that a spec may set: it is sent with the create, is no
// difference afterwards, and a change of it is a patch under the name that nodes.patch has for it,
// or a replacement where the service takes none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "plans/engine/planner.h"
#include "providers/gcp/tpu_schema.h"
#include "tests/plans/harness.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using testing::Harness;

// What becomes of a change: the documentation of nodes.patch lists what it supports, gcloud and
// Terraform send dataDisks as well, and all else is immutable.
constexpr const char* kReplace = "replace";

struct FieldCase {
  std::string path;    // as the field table has it
  std::string before;  // keys of the pod
  std::string after;
  std::string change;  // the mask, or kReplace

  friend std::ostream& operator<<(std::ostream& out, const FieldCase& field) {
    return out << field.before << " -> " << field.after;
  }
};

const std::vector<FieldCase>& Cases() {
  static const std::vector<FieldCase> cases = {
      {"acceleratorType", "acceleratorType: v3-8", "acceleratorType: v2-8", kReplace},
      {"acceleratorConfig.topology", "acceleratorConfig: {type: V4, topology: 2x2x1}",
       "acceleratorConfig: {type: V4, topology: 2x2x2}", kReplace},
      {"acceleratorConfig.type", "acceleratorConfig: {type: V4, topology: 2x2x1}",
       "acceleratorConfig: {type: V5P, topology: 2x2x1}", kReplace},
      {"autocheckpointEnabled", "autocheckpointEnabled: true", "autocheckpointEnabled: false",
       kReplace},
      {"bootDiskConfig.customerEncryptionKey.kmsKeyName",
       "bootDiskConfig: {customerEncryptionKey: {kmsKeyName: projects/k/cryptoKeys/a}}",
       "bootDiskConfig: {customerEncryptionKey: {kmsKeyName: projects/k/cryptoKeys/b}}", kReplace},
      {"bootDiskConfig.diskSizeGb", "bootDiskConfig: {diskSizeGb: 100}",
       "bootDiskConfig: {diskSizeGb: 200}", kReplace},
      {"bootDiskConfig.enableConfidentialCompute",
       "bootDiskConfig: {enableConfidentialCompute: true}",
       "bootDiskConfig: {enableConfidentialCompute: false}", kReplace},
      {"bootDiskConfig.provisionedIops", "bootDiskConfig: {provisionedIops: 3000}",
       "bootDiskConfig: {provisionedIops: 6000}", kReplace},
      {"bootDiskConfig.provisionedThroughput", "bootDiskConfig: {provisionedThroughput: 140}",
       "bootDiskConfig: {provisionedThroughput: 280}", kReplace},
      {"bootDiskConfig.sourceImage", "bootDiskConfig: {sourceImage: projects/p/global/images/a}",
       "bootDiskConfig: {sourceImage: projects/p/global/images/b}", kReplace},
      {"bootDiskConfig.storagePool",
       "bootDiskConfig: {storagePool: projects/p/zones/z/storagePools/a}",
       "bootDiskConfig: {storagePool: projects/p/zones/z/storagePools/b}", kReplace},
      {"cidrBlock", "cidrBlock: 10.2.0.0/29", "cidrBlock: 10.3.0.0/29", kReplace},
      {"dataDisks[].mode", "dataDisks: [{sourceDisk: projects/p/zones/z/disks/d, mode: READ_ONLY}]",
       "dataDisks: [{sourceDisk: projects/p/zones/z/disks/d, mode: READ_WRITE}]", "dataDisks"},
      {"dataDisks[].sourceDisk", "dataDisks: [{sourceDisk: projects/p/zones/z/disks/d}]",
       "dataDisks: [{sourceDisk: projects/p/zones/z/disks/e}]", "dataDisks"},
      {"dataDisks[].workerIds",
       "dataDisks: [{sourceDisk: projects/p/zones/z/disks/d, workerIds: [\"0\"]}]",
       "dataDisks: [{sourceDisk: projects/p/zones/z/disks/d, workerIds: [\"0\", \"1\"]}]",
       "dataDisks"},
      {"description", "description: one", "description: other", "description"},
      {"labels", "labels: {team: vision}", "labels: {team: speech}", "labels"},
      {"metadata", "metadata: {x: one}", "metadata: {x: other}", "metadata"},
      {"networkConfig.canIpForward", "networkConfig: {canIpForward: true}",
       "networkConfig: {canIpForward: false}", kReplace},
      {"networkConfig.enableExternalIps", "networkConfig: {enableExternalIps: true}",
       "networkConfig: {enableExternalIps: false}", "networkConfig.enableExternalIps"},
      {"networkConfig.network", "networkConfig: {network: a}", "networkConfig: {network: b}",
       kReplace},
      {"networkConfig.queueCount", "networkConfig: {queueCount: 2}",
       "networkConfig: {queueCount: 4}", kReplace},
      {"networkConfig.subnetwork", "networkConfig: {subnetwork: a}",
       "networkConfig: {subnetwork: b}", kReplace},
      {"networkConfigs[].canIpForward", "networkConfigs: [{network: a, canIpForward: true}]",
       "networkConfigs: [{network: a, canIpForward: false}]", kReplace},
      {"networkConfigs[].enableExternalIps",
       "networkConfigs: [{network: a, enableExternalIps: true}]",
       "networkConfigs: [{network: a, enableExternalIps: false}]", kReplace},
      {"networkConfigs[].network", "networkConfigs: [{network: a}]",
       "networkConfigs: [{network: b}]", kReplace},
      {"networkConfigs[].queueCount", "networkConfigs: [{network: a, queueCount: 2}]",
       "networkConfigs: [{network: a, queueCount: 4}]", kReplace},
      {"networkConfigs[].subnetwork", "networkConfigs: [{network: a, subnetwork: s}]",
       "networkConfigs: [{network: a, subnetwork: t}]", kReplace},
      {"runtimeVersion", "runtimeVersion: tpu-vm-tf-2.11.0", "runtimeVersion: tpu-ubuntu2204-base",
       kReplace},
      {"schedulingConfig.preemptible", "schedulingConfig: {preemptible: true}",
       "schedulingConfig: {preemptible: false}", kReplace},
      {"schedulingConfig.provisioningModel", "schedulingConfig: {provisioningModel: SPOT}",
       "schedulingConfig: {provisioningModel: STANDARD}", kReplace},
      {"schedulingConfig.reservationName",
       "schedulingConfig: {reservationName: projects/p/locations/z/reservations/a}",
       "schedulingConfig: {reservationName: projects/p/locations/z/reservations/b}", kReplace},
      {"schedulingConfig.reserved", "schedulingConfig: {reserved: true}",
       "schedulingConfig: {reserved: false}", kReplace},
      {"schedulingConfig.spot", "schedulingConfig: {spot: true}", "schedulingConfig: {spot: false}",
       kReplace},
      {"serviceAccount.email", "serviceAccount: {email: a@p.iam.gserviceaccount.com}",
       "serviceAccount: {email: b@p.iam.gserviceaccount.com}", kReplace},
      {"serviceAccount.scope",
       "serviceAccount: {scope: [https://www.googleapis.com/auth/cloud-platform]}",
       "serviceAccount: {scope: [https://www.googleapis.com/auth/logging.write]}", kReplace},
      {"shieldedInstanceConfig.enableSecureBoot",
       "shieldedInstanceConfig: {enableSecureBoot: true}",
       "shieldedInstanceConfig: {enableSecureBoot: false}", kReplace},
      {"tags", "tags: [a]", "tags: [a, b]", "tags"}};
  return cases;
}

// A pod with these keys, and what else a pod needs.
std::string Pod(const std::string& keys) {
  std::string text = "  a:\n    apiVersion: v2alpha1\n    " + keys + "\n";
  if (keys.find("accelerator") == std::string::npos) text += "    acceleratorType: v3-8\n";
  if (keys.find("runtimeVersion") == std::string::npos) {
    text += "    runtimeVersion: tpu-ubuntu2204-base\n";
  }
  return text;
}

// "dataDisks[].mode" in `node`: of the first element.
const Value* Find(const Value& node, const std::string& path) {
  const auto element = path.find("[].");
  if (element == std::string::npos) return node.FindPath(path);
  const Value::List& list = node[path.substr(0, element)].AsList();
  return list.empty() ? nullptr : list[0].Find(path.substr(element + 3));
}

class NodeFieldTest : public ::testing::TestWithParam<FieldCase> {};

TEST_P(NodeFieldTest, IsCreatedComparedAndChangedAsTheServiceHasIt) {
  const FieldCase& field = GetParam();
  Harness harness;
  harness.Pods(Pod(field.before));
  harness.ApplyAll();  // and nothing is left to do after it
  const auto creates = harness.cloud.Calls("create");
  ASSERT_EQ(creates.size(), 1U);
  EXPECT_NE(Find(creates[0].node, field.path), nullptr);

  harness.cloud.ForgetCalls();
  harness.Pods(Pod(field.after));
  harness.ApplyAll();
  if (field.change == kReplace) {
    EXPECT_THAT(harness.Requests(), ElementsAre("delete a", "create a"));
  } else {
    EXPECT_THAT(harness.Requests(), ElementsAre("patch a " + field.change));
  }
}

std::string NameOfCase(const ::testing::TestParamInfo<FieldCase>& info) {
  std::string name;
  for (char c : info.param.path) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  }
  return name;
}
INSTANTIATE_TEST_SUITE_P(Every, NodeFieldTest, ::testing::ValuesIn(Cases()), NameOfCase);

TEST(NodeFieldsTest, NoWritableFieldIsLeftUntested) {
  std::set<std::string> tested;
  for (const FieldCase& field : Cases()) tested.insert(field.path);
  for (const gcp::Field& field : gcp::NodeFields()) {
    const bool is_leaf =
        field.type != gcp::FieldType::kMessage && field.type != gcp::FieldType::kMessageList;
    if (field.field_class == gcp::FieldClass::kOutputOnly || !is_leaf) continue;
    EXPECT_TRUE(tested.contains(std::string(field.path))) << field.path;
  }
}

TEST(NodeFieldsTest, WhatIsTakenOutOfTheSpecIsClearedWhereAPatchCan) {
  Harness harness;
  const std::vector<std::string> keys = {"description: one", "tags: [a]",
                                         "dataDisks: [{sourceDisk: projects/p/zones/z/disks/d}]"};
  for (const std::string& key : keys) {
    harness.Pods(Pod(key));
    harness.ApplyAll();
    const std::string name = key.substr(0, key.find(':'));
    ASSERT_NE(harness.Node("a").Find(name), nullptr) << name;
    harness.cloud.ForgetCalls();
    harness.Pods(Pod("labels: {}"));
    harness.ApplyAll();
    EXPECT_THAT(harness.Requests(), ElementsAre("patch a " + name));
    EXPECT_EQ(harness.Node("a").Find(name), nullptr) << name;
  }
}

// The service answers in forms of its own.
TEST(NodeFieldsTest, TheServicesFormsAreNoDifference) {
  Harness harness;
  harness.Pods(
      Pod("bootDiskConfig: {sourceImage: projects/p/global/images/i, diskSizeGb: 100, "
          "customerEncryptionKey: {kmsKeyName: projects/k/cryptoKeys/c}}\n"
          "    schedulingConfig: {reservationName: projects/p/locations/z/reservations/r}\n"
          "    dataDisks: [{sourceDisk: projects/p/zones/z/disks/d}]"));
  harness.ApplyAll();
  harness.Edit("a", [](Value& node) {
    node.SetPath("bootDiskConfig.sourceImage",
                 "https://www.googleapis.com/compute/v1/projects/p/global/images/i");
    node.SetPath("bootDiskConfig.customerEncryptionKey.kmsKeyName",
                 "projects/k/cryptoKeys/c/cryptoKeyVersions/1");
    node.SetPath("schedulingConfig.reservationName",
                 "projects/123456789012/locations/z/reservations/r");
    Value disk;
    disk.Set("sourceDisk", "https://www.googleapis.com/compute/v1/projects/p/zones/z/disks/d");
    disk.Set("mode", "READ_WRITE");
    node.Set("dataDisks", Value::List{std::move(disk)});
  });
  const Plan plan = harness.MakePlan();
  EXPECT_TRUE(plan.Empty());
  EXPECT_TRUE(plan.drift.empty());
}

// What the service has learnt since: fields, and words of enums.
TEST(NodeFieldsTest, UnknownFieldsAndWordsAreTolerated) {
  Harness harness;
  harness.Pods(Pod("labels: {team: vision}"));
  harness.ApplyAll();
  harness.Edit("a", [](Value& node) {
    node.Set("inventedNext", Value::List{Value(1), Value("x")});
    node.SetPath("networkConfig.inventedNext", true);
    node.SetPath("schedulingConfig.provisioningModel", "FLEX_START");
    node.SetPath("acceleratorConfig.type", "V9");
    node.Set("apiVersion", "V3");
  });
  EXPECT_TRUE(harness.MakePlan().Empty());
  EXPECT_TRUE(harness.MakePlan().drift.empty());
}

TEST(NodeFieldsTest, AnUnknownStateIsNoReasonToTouchANode) {
  Harness harness;
  harness.Pods(Pod("labels: {team: vision}"));
  harness.ApplyAll();
  harness.Edit("a", [](Value& node) { node.Set("state", "REFURBISHING"); });
  const Plan plan = harness.MakePlan();
  EXPECT_TRUE(plan.Empty());
}

TEST(NodeFieldsTest, AnUnknownHealthIsToldInTheServicesWord) {
  Harness harness;
  harness.Pods(Pod("labels: {team: vision}"));
  harness.ApplyAll();
  harness.Edit("a", [](Value& node) { node.Set("health", "UNHEALTHY_NEWLY"); });
  const Plan plan = harness.MakePlan();
  EXPECT_TRUE(plan.Empty());
  ASSERT_EQ(plan.drift.size(), 1U);
  EXPECT_EQ(plan.drift[0].sentence, "is UNHEALTHY_NEWLY");
}

TEST(NodeFieldsTest, AnUnknownStateOnTheWayToReadyIsWaitedFor) {
  Harness harness;
  harness.Pods(Pod("labels: {team: vision}"));
  // When the operation has ended, the node is in a stage that nobody has heard of; then READY.
  harness.cloud.Before("operation", [](testing::FakeProvider& cloud) {
    cloud.FinishOperations();
    cloud.EditNode(Harness::Name("a"), [](Value& node) { node.Set("state", "WARMING"); });
    cloud.Before("get", [](testing::FakeProvider& again) {
      again.Before("get", [](testing::FakeProvider& then) {
        then.EditNode(Harness::Name("a"), [](Value& node) { node.Set("state", "READY"); });
      });
    });
  });
  harness.ApplyAll();
  EXPECT_THAT(harness.Requests(), ElementsAre("create a"));
}

}  // namespace
}  // namespace podctl
