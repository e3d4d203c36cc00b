// What a metadata server answers to a request, from the tree of a worker on. Its sockets are tested
// with workers, in worker_metadata_test.cpp.
#include "providers/emulator/workers/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "providers/base/json.h"

namespace podctl::emulator {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kAttributes = "/computeMetadata/v1/instance/attributes/";

MachineSet V4Pod() {
  MachineSet machines;
  machines.uid = "u";
  machines.host = "t1v-n-1a2b3c4d";
  machines.addresses = {"127.64.1.1", "127.64.1.2", "127.64.1.3", "127.64.1.4"};
  const Result<Value> node = ParseJson(R"({
    "name": "projects/demo/locations/us-central2-b/nodes/research", "id": "77",
    "acceleratorType": "v4-32", "acceleratorConfig": {"type": "V4", "topology": "2x2x4"},
    "networkConfig": {"network": "projects/demo/global/networks/default", "enableExternalIps": true},
    "schedulingConfig": {"spot": true}, "tags": ["a", "b"],
    "serviceAccount": {"email": "1-compute@developer.gserviceaccount.com", "scope": ["s1", "s2"]},
    "metadata": {"ssh-keys": "alice:k", "my-key": "my value", "accelerator-type": "mine"}})");
  machines.node = *node;
  machines.metadata = machines.node["metadata"];
  machines.project_metadata.Set("enable-oslogin", "TRUE");
  return machines;
}

MetadataReply Ask(const std::string& target, const std::string& headers = "Metadata-Flavor: Google",
                  const MachineSet& machines = V4Pod(), std::size_t worker = 2) {
  const auto request = ReadMetadataRequest("GET " + target + " HTTP/1.1\r\nHost: metadata\r\n" +
                                           headers + (headers.empty() ? "" : "\r\n") + "\r\n");
  EXPECT_TRUE(request && *request) << target;
  if (!request || !*request) return {};
  return AnswerMetadata(**request, MetadataTree(machines, worker), 1'000'000);
}

std::string Text(const std::string& target) {
  const MetadataReply reply = Ask(target);
  EXPECT_EQ(reply.status, 200) << target;
  return reply.body;
}

TEST(MetadataTest, AWorkerIsToldWhatFrameworksAskFor) {
  EXPECT_EQ(Text(kAttributes + "agent-worker-number"), "2");
  EXPECT_EQ(Text(kAttributes + "worker-network-endpoints"),
            "unknown:unknown:127.64.1.1,unknown:unknown:127.64.1.2,unknown:unknown:127.64.1.3,"
            "unknown:unknown:127.64.1.4");
  EXPECT_EQ(Text(kAttributes + "accelerator-type"), "v4-32") << "whatever a user wrote there";
  EXPECT_EQ(Text(kAttributes + "my-key"), "my value");
  const std::string env = Text(kAttributes + "tpu-env");
  for (const char* line :
       {"ACCELERATOR_TYPE: 'v4-32'\n", "WORKER_ID: '2'\n", "TPU_PROCESS_BOUNDS: '1,1,4'\n",
        "TPU_CHIPS_PER_PROCESS_BOUNDS: '2,2,1'\n", "TOPOLOGY: '2x2x4'\n", "NODE_ID: 'research'\n",
        "ZONE: 'us-central2-b'\n", "CONSUMER_PROJECT_ID: 'demo'\n", "PREEMPTIBLE: 'true'\n"}) {
    EXPECT_THAT(env, HasSubstr(line));
  }
  EXPECT_THAT(env, Not(HasSubstr("MEGASCALE")));
  MachineSet slice = V4Pod();
  slice.slices = 2;
  slice.slice = 1;
  slice.coordinator = "127.64.0.9";
  EXPECT_THAT(Ask(kAttributes + "tpu-env", "Metadata-Flavor: Google", slice).body,
              HasSubstr("MEGASCALE_COORDINATOR_ADDRESS: '127.64.0.9'\n"
                        "MEGASCALE_NUM_SLICES: '2'\nMEGASCALE_SLICE_ID: '1'\n"));
}

TEST(MetadataTest, TheRestIsAsOnAVm) {
  const std::string root = "/computeMetadata/v1/";
  EXPECT_EQ(Text(root + "instance/name"), "t1v-n-1a2b3c4d-w-2");
  EXPECT_EQ(Text(root + "instance/hostname"), "t1v-n-1a2b3c4d-w-2.us-central2-b.c.demo.internal");
  EXPECT_THAT(Text(root + "instance/zone"),
              ::testing::MatchesRegex("projects/[0-9]{12}/zones/us-central2-b"));
  EXPECT_THAT(Text(root + "instance/id"), ::testing::MatchesRegex("[0-9]{12}"));
  EXPECT_EQ(Text(root + "instance/network-interfaces/0/ip"), "127.64.1.3");
  EXPECT_EQ(Text(root + "instance/network-interfaces/0/access-configs/0/external-ip"),
            "127.64.1.3");
  EXPECT_EQ(Text(root + "instance/tags"), R"(["a","b"])");
  EXPECT_EQ(Text(root + "instance/scheduling/preemptible"), "TRUE");
  EXPECT_EQ(Text(root + "project/project-id"), "demo");
  EXPECT_EQ(Text(root + "project/attributes/enable-oslogin"), "TRUE");
  EXPECT_EQ(Text(root + "universe/universe-domain"), "googleapis.com");
  const std::string account = root + "instance/service-accounts/default/";
  EXPECT_EQ(Text(account), "aliases\nemail\nidentity\nscopes\ntoken\n");
  EXPECT_EQ(Text(account + "email"), "1-compute@developer.gserviceaccount.com");
  EXPECT_EQ(Text(account + "scopes"), "s1\ns2\n");
  EXPECT_EQ(Text(account + "?recursive=true"),
            R"({"aliases":["default"],"email":"1-compute@developer.gserviceaccount.com",)"
            R"("scopes":["s1","s2"]})");
  const MetadataReply token = Ask(account + "token?scopes=x");
  EXPECT_THAT(token.body, HasSubstr(R"("access_token":"fake-token-of-the-podctl-emulator)"));
  EXPECT_EQ(token.content_type, "application/json");
  EXPECT_EQ(Ask(account + "identity").status, 400);
  EXPECT_THAT(Text(account + "identity?audience=me"),
              ::testing::MatchesRegex("[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+"));
}

TEST(MetadataTest, FoldersAreListedAndMayBeHadWhole) {
  const std::string root = "/computeMetadata/v1/";
  EXPECT_EQ(Text(root), "instance/\nproject/\nuniverse/\n");
  EXPECT_EQ(Text(root + "instance/network-interfaces/"), "0/\n");
  const MetadataReply moved = Ask(root + "project");
  EXPECT_EQ(moved.status, 301);
  EXPECT_EQ(moved.location, "http://metadata.google.internal/computeMetadata/v1/project/");
  const MetadataReply whole = Ask(root + "?recursive=true");
  EXPECT_EQ(whole.content_type, "application/json");
  const Result<Value> tree = ParseJson(whole.body);
  ASSERT_TRUE(tree);
  EXPECT_EQ((*tree)["project"]["projectId"].AsString(), "demo");
  EXPECT_EQ((*tree)["instance"]["attributes"]["my-key"].AsString(), "my value")
      << "a user's name stays as it is";
  EXPECT_EQ((*tree)["instance"]["networkInterfaces"].AsList()[0]["ip"].AsString(), "127.64.1.3");
  EXPECT_THAT(Text(root + "instance/scheduling/?recursive=true&alt=text"),
              HasSubstr("preemptible TRUE\n"));
  EXPECT_EQ(Text(kAttributes + "my-key?alt=json"), "\"my value\"");
}

TEST(MetadataTest, StrangersAreRefused) {
  EXPECT_EQ(Ask(kAttributes + "tpu-env", "").status, 403);
  EXPECT_EQ(Ask(kAttributes + "tpu-env", "Metadata-Flavor: other").status, 403);
  EXPECT_EQ(Ask(kAttributes + "tpu-env", "metadata-flavor:  Google ").status, 200);
  EXPECT_EQ(
      Ask(kAttributes + "tpu-env", "Metadata-Flavor: Google\r\nX-Forwarded-For: 1.2.3.4").status,
      403);
  EXPECT_EQ(Ask(kAttributes + "none").status, 404);
  EXPECT_EQ(Ask("/computeMetadata/v1beta1/instance/id").status, 404);
  const MetadataReply root = Ask("/", "");
  EXPECT_EQ(root.status, 200) << "how a program finds out where it runs";
  const auto put = ReadMetadataRequest("PUT / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc");
  ASSERT_TRUE(put && *put);
  EXPECT_EQ(AnswerMetadata(**put, Value::EmptyMap(), 0).status, 405);
  EXPECT_THAT(Written(**put, root), HasSubstr("\r\nMetadata-Flavor: Google\r\n"));
  EXPECT_FALSE(ReadMetadataRequest("SSH-2.0-x\r\n\r\n"));
  EXPECT_FALSE(ReadMetadataRequest(std::string(kMetadataHeadLimit + 1, 'x')));
  const auto half = ReadMetadataRequest("GET / HTTP/1.1\r\n");
  ASSERT_TRUE(half);
  EXPECT_FALSE(*half) << "the rest is still to come";
}

TEST(MetadataTest, AChangeMayBeWaitedFor) {
  const MetadataReply now = Ask(kAttributes + "my-key");
  const MetadataReply waits = Ask(kAttributes + "my-key?wait_for_change=true&timeout_sec=7");
  EXPECT_EQ(waits.wait_for_other_than, now.etag);
  EXPECT_EQ(waits.wait_s, 7);
  EXPECT_EQ(Ask(kAttributes + "my-key?wait_for_change=true&last_etag=0").wait_for_other_than, "0");
  EXPECT_NE(Ask(kAttributes + "ssh-keys").etag, now.etag);
}

}  // namespace
}  // namespace podctl::emulator
