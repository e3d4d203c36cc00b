// v2alpha1 beside v2: what only it has, and that a reader of v2 sees nothing of it.
#include <gmock/gmock.h>

#include <chrono>
#include <string>

#include "providers/base/json.h"
#include "tests/providers/emulator/emulator_fixture.h"

namespace podctl::emulator {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Reply;

const std::string kParent = "projects/demo/locations/europe-west4-a";
const std::string kAlpha = "/v2alpha1/" + kParent;
const std::string kV2 = "/v2/" + kParent;
const std::string kUuid = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
const std::string kAlphaNode =
    "{acceleratorType:'v3-8',runtimeVersion:'tpu-vm-base',autocheckpointEnabled:true,"
    "bootDiskConfig:{diskSizeGb:'200',enableConfidentialCompute:false,customerEncryptionKey:{"
    "kmsKeyName:'k'}},schedulingConfig:{provisioningModel:'STANDARD',spot:false}}";

class VersionsTest : public testing::EmulatorFixture {
 protected:
  Value Create(const std::string& query, const std::string& body) {
    return client_->Finish(Send("POST", kAlpha + "/nodes?" + query, body));
  }
};

TEST_F(VersionsTest, OnlyTheAlphaKnowsItsFields) {
  const Value operation = Create("nodeId=a", kAlphaNode);
  EXPECT_EQ(operation["metadata"]["@type"],
            Value("type.googleapis.com/google.cloud.tpu.v2alpha1.OperationMetadata"));
  EXPECT_EQ(operation["metadata"]["apiVersion"], Value("v2alpha1"));
  EXPECT_EQ(operation["response"]["@type"],
            Value("type.googleapis.com/google.cloud.tpu.v2alpha1.Node"));
  const Value alpha = Send("GET", kAlpha + "/nodes/a").body;
  EXPECT_EQ(alpha["apiVersion"], Value("V2_ALPHA1"));
  EXPECT_EQ(alpha["autocheckpointEnabled"], Value(true));
  EXPECT_EQ(ToJson(alpha["bootDiskConfig"]),
            R"({"customerEncryptionKey":{"kmsKeyName":"k"},"diskSizeGb":"200"})");
  const Reply v2 = Send("GET", kV2 + "/nodes/a");
  EXPECT_EQ(ToJson(v2.body["bootDiskConfig"]), R"({"customerEncryptionKey":{"kmsKeyName":"k"}})")
      << "v2 has a boot disk's key, and no more of it";
  EXPECT_THAT(v2.text, Not(HasSubstr("provisioningModel")));
  EXPECT_THAT(v2.text, Not(HasSubstr("autocheckpoint")));
  EXPECT_THAT(Send("GET", kV2 + "/nodes").text, Not(HasSubstr("diskSizeGb")));
  EXPECT_THAT(Send("GET", kAlpha + "/nodes").text, HasSubstr("diskSizeGb"));

  const Reply refused = Send("POST", kV2 + "/nodes?nodeId=b", kAlphaNode);
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(Message(refused), HasSubstr("Unknown name \"autocheckpointEnabled\" at 'node'"));
}

// By discovery revision 20261001.
TEST_F(VersionsTest, ABootDisksKeyIsOfBothVersionsAndItsPoolOfTheAlpha) {
  const auto body = [](const std::string& disk) {
    return "{acceleratorType:'v3-8',runtimeVersion:'tpu-vm-base',protectionTier:'STANDARD',"
           "bootDiskConfig:{" +
           disk + "}}";
  };
  const Reply made =
      Send("POST", kV2 + "/nodes?nodeId=a", body("customerEncryptionKey:{kmsKeyName:'k'}"));
  EXPECT_EQ(made.status, 200) << made.text;
  client_->Finish(made);
  EXPECT_EQ(Send("GET", kV2 + "/nodes/a").body.Find("protectionTier"), nullptr)
      << "the service's own, which a request cannot set";
  const Reply refused = Send("POST", kV2 + "/nodes?nodeId=b", body("storagePool:'p'"));
  EXPECT_THAT(Message(refused), HasSubstr("Unknown name \"storagePool\""));
  const Reply alpha = Send("POST", kAlpha + "/nodes?nodeId=b",
                           "{acceleratorType:'v3-8',runtimeVersion:'tpu-vm-base',"
                           "bootDiskConfig:{storagePool:'p'}}");
  EXPECT_EQ(alpha.status, 200) << alpha.text;
  client_->Finish(alpha);
  EXPECT_EQ(Send("GET", kAlpha + "/nodes/b").body["bootDiskConfig"]["storagePool"], Value("p"));
}

TEST_F(VersionsTest, EnumsAreTakenByNumberToo) {
  const auto create = [&](const std::string& id, const std::string& type) {
    return Send("POST", kV2 + "/nodes?nodeId=" + id + "&$alt=json;enum-encoding=int",
                "{acceleratorConfig:{type:" + type +
                    ",topology:'2x2'},"
                    "runtimeVersion:'tpu-vm-base',"
                    "dataDisks:[{mode:2,sourceDisk:'projects/p/zones/z/disks/d'}]}");
  };
  const Reply made = create("a", "4");
  ASSERT_EQ(made.status, 200) << made.text;
  client_->Finish(made);
  const Value node = Send("GET", kV2 + "/nodes/a").body;
  EXPECT_EQ(node["acceleratorConfig"]["type"], Value("V3"));
  EXPECT_EQ(node["dataDisks"].AsList()[0]["mode"], Value("READ_ONLY"));
  EXPECT_EQ(create("b", "3").status, 400) << "no type has that number";
  EXPECT_EQ(create("b", "'TPU7X'").status, 400) << "of neither version";
  EXPECT_EQ(Send("POST", kAlpha + "/nodes?nodeId=b",
                 "{acceleratorConfig:{type:'TPU7X',topology:'2x2x1'},runtimeVersion:'x'}")
                .status,
            400);
}

TEST_F(VersionsTest, MaintenanceOfAQueuedResourceCanBeAskedFor) {
  client_->Finish(Send("POST", kAlpha + "/queuedResources?queuedResourceId=q",
                       "{tpu:{nodeSpec:[{parent:'" + kParent +
                           "',nodeId:'a',node:{acceleratorType:'v3-8',"
                           "runtimeVersion:'tpu-vm-base'}}]}}"));
  const std::string ask = "/queuedResources/q:getMaintenanceInfo";
  EXPECT_EQ(Send("GET", kAlpha + ask).text, "{}");
  EXPECT_EQ(Send("GET", kV2 + ask).status, 404);
  EXPECT_EQ(Send("GET", kAlpha + "/queuedResources/none:getMaintenanceInfo").status, 404);
  const auto state = [&] { return Send("GET", kAlpha + "/nodes/a").body["state"].AsString(); };
  for (int looks = 0; looks < 10'000 && state() != "READY"; ++looks) {
  }
  Restart(std::chrono::hours(1));
  const Reply begun = Send("POST", kAlpha + "/nodes/a:performMaintenance", "{}");
  ASSERT_EQ(begun.status, 200) << begun.text;
  const Value info = Send("GET", kAlpha + ask).body;
  ASSERT_EQ(info["nodeUpcomingMaintenances"].AsList().size(), 1U) << ToJson(info);
  const Value& one = info["nodeUpcomingMaintenances"].AsList()[0];
  EXPECT_EQ(one["nodeName"], Value("a"));
  EXPECT_EQ(one["upcomingMaintenance"]["maintenanceStatus"], Value("ONGOING"));
}

TEST_F(VersionsTest, NodesTakeARequestIdInTheAlphaOnly) {
  const std::string query = "/nodes?nodeId=a&requestId=" + kUuid;
  const Reply first = Send("POST", kAlpha + query, kAlphaNode);
  client_->Finish(first);
  EXPECT_EQ(Send("POST", kAlpha + query, kAlphaNode).body["name"], first.body["name"]);
  EXPECT_EQ(Send("POST", kAlpha + "/nodes?nodeId=a", kAlphaNode).status, 409);
  EXPECT_THAT(Message(Send("DELETE", kV2 + "/nodes/a?requestId=" + kUuid)),
              HasSubstr("Cannot bind query parameter"));
  const Reply gone = Send("DELETE", kAlpha + "/nodes/a?requestId=" + kUuid);
  client_->Finish(gone);
  EXPECT_EQ(Send("DELETE", kAlpha + "/nodes/a?requestId=" + kUuid).body["name"], gone.body["name"]);
}

TEST_F(VersionsTest, MaintenanceShowsAndPasses) {
  Create("nodeId=a", "{acceleratorType:'v3-32',runtimeVersion:'tpu-vm-tf-2.11.0-pod'}");
  EXPECT_EQ(Send("POST", kV2 + "/nodes/a:performMaintenance", "{}").status, 404);
  Restart(std::chrono::hours(1));
  const Reply begun =
      Send("POST", kAlpha + "/nodes/a:simulateMaintenanceEvent", "{workerIds:['3','1']}");
  ASSERT_EQ(begun.status, 200) << begun.text;
  Value node = Send("GET", kV2 + "/nodes/a").body;
  EXPECT_EQ(node["health"], Value("UNHEALTHY_MAINTENANCE"));
  EXPECT_EQ(node["upcomingMaintenance"]["maintenanceStatus"], Value("ONGOING"));
  EXPECT_EQ(Send("POST", kAlpha + "/nodes/a:performMaintenance", "{}").status, 400)
      << "one at once";
  Send("POST", "/emulator/clock", "{advance:'1h'}");
  client_->Finish(begun);
  node = Send("GET", kV2 + "/nodes/a").body;
  EXPECT_EQ(node["health"], Value("HEALTHY"));
  EXPECT_EQ(node.Find("upcomingMaintenance"), nullptr);
  EXPECT_EQ(Send("POST", kAlpha + "/nodes/a:simulateMaintenanceEvent", "{workerIds:['4']}").status,
            400);
}

TEST_F(VersionsTest, QueuedResourcesOfTheAlpha) {
  const std::string spec = "tpu:{nodeSpec:[{parent:'" + kParent +
                           "',multiNodeParams:{nodeCount:2,nodeIdPrefix:'x',workloadType:"
                           "'AVAILABILITY_OPTIMIZED'},node:{acceleratorType:'v5litepod-16',"
                           "runtimeVersion:'v2-alpha-tpuv5-lite'}}]}";
  client_->Finish(Send("POST", kAlpha + "/queuedResources?queuedResourceId=q",
                       "{" + spec +
                           ",provisioningModel:'FLEX_START',runDuration:{maxRunDuration:'3600s'},"
                           "bestEffort:{}}"));
  const Value alpha = Send("GET", kAlpha + "/queuedResources/q").body;
  EXPECT_EQ(alpha["provisioningModel"], Value("FLEX_START"));
  EXPECT_EQ(alpha["tpu"]["nodeSpec"].AsList().size(), 2U);
  const Value v2 = Send("GET", kV2 + "/queuedResources/q").body;
  EXPECT_EQ(v2.Find("provisioningModel"), nullptr);
  EXPECT_EQ(v2.Find("bestEffort"), nullptr);
  EXPECT_EQ(v2.Find("runDuration"), nullptr);
  EXPECT_THAT(Message(Send("POST", kV2 + "/queuedResources?queuedResourceId=p", "{" + spec + "}")),
              HasSubstr("Unknown name \"multiNodeParams\""));
}

TEST_F(VersionsTest, GcloudsQuestionsAboutTheProjectAreAnswered) {
  EXPECT_EQ(Send("GET", "/v1/projects/demo").body["projectId"], Value("demo"));
  EXPECT_EQ(Send("GET", "/v1/projects/demo").body["projectNumber"].AsString().size(), 12U);
  EXPECT_EQ(Send("GET", "/compute/v1/projects/demo").body["kind"], Value("compute#project"));
}

TEST_F(VersionsTest, ThePageForPeopleShowsWhatThereIs) {
  Create("nodeId=a", kAlphaNode);
  const Reply page = Send("GET", "/emulator");
  EXPECT_THAT(page.text, HasSubstr(kParent + "/nodes/a"));
  EXPECT_THAT(page.text, HasSubstr("READY HEALTHY"));
  EXPECT_THAT(page.text, HasSubstr("curl -X POST"));
}

TEST_F(VersionsTest, NodesBreakAndHeal) {
  Create("nodeId=a", kAlphaNode);
  const auto strike = [&](const std::string& verb) {
    return Send("POST", "/emulator/nodes/a:" + verb);
  };
  EXPECT_EQ(strike("break").body["health"], Value("UNHEALTHY_TENSORFLOW"));
  EXPECT_EQ(strike("repair").body["state"], Value("REPAIRING"));
  const Value healed = strike("heal").body;
  EXPECT_EQ(healed["state"], Value("READY"));
  EXPECT_EQ(healed["health"], Value("HEALTHY"));
  EXPECT_EQ(healed.Find("healthDescription"), nullptr);
  EXPECT_EQ(strike("juggle").status, 400);
  EXPECT_EQ(Send("POST", "/emulator/nodes/nobody:heal").status, 404);
  client_->Finish(Send("POST", "/v2/projects/other/locations/europe-west4-a/nodes?nodeId=a",
                       "{acceleratorType:'v3-8',runtimeVersion:'tpu-vm-base'}"));
  EXPECT_THAT(Message(strike("heal")), HasSubstr("give the full name"));
  EXPECT_EQ(Send("POST", "/emulator/" + kParent + "/nodes/a:terminate").body["state"],
            Value("TERMINATED"));
  EXPECT_EQ(Send("POST", "/emulator/" + kParent + "/nodes/a:heal").status, 400);
}

}  // namespace
}  // namespace podctl::emulator
