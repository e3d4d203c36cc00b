// The API as it is on the wire: answers, refusals, masks, pages, operations, restarts, faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "providers/base/json.h"
#include "providers/emulator/emulator.h"
#include "tests/providers/emulator/api_client.h"
#include "tests/providers/emulator/emulator_fixture.h"

namespace podctl::emulator {
namespace {

using testing::ApiClient;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using testing::Reply;

const std::string kZone = "/v2/projects/demo/locations/europe-west4-a";
const std::string kNodes = kZone + "/nodes";
const std::string kPod = "{acceleratorType:'v3-32',runtimeVersion:'tpu-vm-tf-2.11.0-pod'}";
const std::string kSingle = "{acceleratorType:'v3-8',runtimeVersion:'tpu-vm-tf-2.11.0'}";

class ApiTest : public testing::EmulatorFixture {
 protected:
  Value Create(const std::string& id, const std::string& body) {
    return client_->Finish(Send("POST", kNodes + "?nodeId=" + id, body));
  }
  Value Node(const std::string& id) { return Send("GET", kNodes + "/" + id).body; }
};

TEST_F(ApiTest, CreateAnswersWithAnOperationAndFillsTheNodeIn) {
  const Reply created = Send("POST", kNodes + "?nodeId=pod&alt=json", kPod);
  ASSERT_EQ(created.status, 200) << created.text;
  EXPECT_THAT(created.body["name"].AsString(),
              MatchesRegex("projects/demo/locations/europe-west4-a/operations/"
                           "operation-[0-9]{13}-[0-9a-f]{13}-[0-9a-f]{8}-[0-9a-f]{8}"));
  EXPECT_FALSE(created.body["done"].AsBool());
  EXPECT_EQ(created.body["metadata"]["verb"], Value("create"));
  EXPECT_EQ(created.body["metadata"]["target"],
            Value("projects/demo/locations/europe-west4-a/nodes/pod"));

  const Value operation = client_->Finish(created);
  EXPECT_EQ(operation["response"]["@type"], Value("type.googleapis.com/google.cloud.tpu.v2.Node"));
  const Value node = Node("pod");
  EXPECT_EQ(node["name"], Value("projects/demo/locations/europe-west4-a/nodes/pod"));
  EXPECT_EQ(node["state"], Value("READY"));
  EXPECT_EQ(node["health"], Value("HEALTHY"));
  EXPECT_EQ(node["apiVersion"], Value("V2"));
  EXPECT_THAT(node["id"].AsString(), MatchesRegex("[0-9]+")) << "int64 goes as a string";
  EXPECT_EQ(ToJson(node["acceleratorConfig"]), R"({"topology":"4x4","type":"V3"})");
  EXPECT_EQ(ToJson(node["networkConfig"]),
            R"({"network":"projects/demo/global/networks/default",)"
            R"("subnetwork":"projects/demo/regions/europe-west4/subnetworks/default"})");
  EXPECT_EQ(node["serviceAccount"]["scope"].AsList().size(), 2U);
  EXPECT_EQ(node["schedulingConfig"], Value::EmptyMap());
  EXPECT_EQ(node["shieldedInstanceConfig"], Value::EmptyMap());
  ASSERT_EQ(node["networkEndpoints"].AsList().size(), 4U);
  EXPECT_EQ(node["networkEndpoints"].AsList()[3]["port"], Value(8470));
  EXPECT_THAT(node["networkEndpoints"].AsList()[3]["ipAddress"].AsString(),
              MatchesRegex("127\\..*"));
  EXPECT_EQ(node["networkEndpoints"].AsList()[0].Find("accessConfig"), nullptr);
  EXPECT_EQ(node.Find("labels"), nullptr);
}

TEST_F(ApiTest, LeavesFalseOutAndShowsExternalAddressesWhenAsked) {
  Create("a",
         "{acceleratorConfig:{type:'V3',topology:'2x2'},runtimeVersion:'tpu-vm-base',"
         "schedulingConfig:{preemptible:false,spot:true},networkConfig:{enableExternalIps:true,"
         "network:'default'},labels:{},description:''}");
  const Value node = Node("a");
  EXPECT_EQ(node["acceleratorType"], Value("v3-8"));
  EXPECT_EQ(ToJson(node["schedulingConfig"]), R"({"spot":true})");
  EXPECT_EQ(node.Find("labels"), nullptr);
  EXPECT_EQ(node.Find("description"), nullptr);
  EXPECT_NE(node["networkEndpoints"].AsList()[0].FindPath("accessConfig.externalIp"), nullptr);
}

TEST_F(ApiTest, RefusesWithTheTextsOfTheService) {
  Create("pod", kPod);
  const Reply exists = Send("POST", kNodes + "?nodeId=pod", kPod);
  EXPECT_EQ(exists.status, 409);
  EXPECT_EQ(exists.body["error"]["status"], Value("ALREADY_EXISTS"));
  EXPECT_EQ(Message(exists),
            "Resource 'projects/demo/locations/europe-west4-a/nodes/pod' already exists");
  EXPECT_EQ(exists.body["error"]["details"].AsList()[0]["@type"],
            Value("type.googleapis.com/google.rpc.ResourceInfo"));

  const Reply missing = Send("GET", kNodes + "/nobody");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.body["error"]["status"], Value("NOT_FOUND"));
  EXPECT_EQ(Message(missing),
            "Resource 'projects/demo/locations/europe-west4-a/nodes/nobody' was not found");

  const Reply bad_type =
      Send("POST", kNodes + "?nodeId=x", "{acceleratorType:'v4-8',runtimeVersion:'tpu-vm-base'}");
  EXPECT_EQ(bad_type.status, 400);
  EXPECT_THAT(
      Message(bad_type),
      HasSubstr("Cloud TPU received a bad request. The requested accelerator configuration for "
                "accelerator type, \"v4-8\", could not be found in the zonal accelerator "
                "configurations for \"europe-west4-a\".; the accelerator v4-8 was not found in "
                "zone europe-west4-a [EID: 0x"));

  const Reply bad_zone = Send("POST", "/v2/projects/demo/locations/mars-a/nodes?nodeId=x", kSingle);
  EXPECT_THAT(Message(bad_zone), HasSubstr("The requested zone \"mars-a\" is not supported."));
  const Reply other_zone = Send("GET", "/v2/projects/demo/locations/mars-a/nodes");
  EXPECT_EQ(other_zone.status, 403);
  EXPECT_EQ(Message(other_zone), "Permission denied on 'locations/mars-a' (or it may not exist).");
}

TEST_F(ApiTest, RefusesBadRequests) {
  const auto message = [&](const std::string& query, const std::string& body) {
    const Reply reply = Send("POST", kNodes + "?" + query, body);
    EXPECT_EQ(reply.status, 400) << reply.text;
    EXPECT_EQ(reply.body["error"]["status"], Value("INVALID_ARGUMENT"));
    return Message(reply);
  };
  EXPECT_THAT(message("nodeId=a%20b", kPod), HasSubstr("node id"));
  EXPECT_THAT(message("", kPod), HasSubstr("node id"));
  EXPECT_THAT(message("nodeId=a&colour=red", kPod), HasSubstr("Cannot bind query parameter"));
  EXPECT_THAT(message("nodeId=a", "{nonsense"), HasSubstr("Invalid JSON payload received."));
  EXPECT_THAT(message("nodeId=a", "{color:1}"), HasSubstr("Unknown name \"color\" at 'node'"));
  EXPECT_THAT(message("nodeId=a", "{acceleratorType:'v3-8'}"), HasSubstr("runtime version"));
  EXPECT_THAT(message("nodeId=a", "{runtimeVersion:'tpu-vm-base'}"), HasSubstr("must be set"));
  EXPECT_THAT(message("nodeId=a",
                      "{acceleratorType:'v3-8',acceleratorConfig:{type:'V3',topology:'2x2'},"
                      "runtimeVersion:'tpu-vm-base'}"),
              HasSubstr("Only one of"));
  EXPECT_THAT(message("nodeId=a",
                      "{acceleratorType:'v3-8',runtimeVersion:'tpu-vm-base',networkConfig:{},"
                      "networkConfigs:[{}]}"),
              HasSubstr("Only one of"));
  EXPECT_EQ(Send("GET", kNodes).text, "{}");
}

TEST_F(ApiTest, PatchReplacesWholeMapsUnderTheMask) {
  Create("pod",
         "{acceleratorType:'v3-32',runtimeVersion:'tpu-vm-tf-2.11.0-pod',labels:{a:'1'},tags:['t'],"
         "metadata:{'ssh-keys':'k',x:'1'}}");
  const Value operation = client_->Finish(
      Send("PATCH", kNodes + "/pod?updateMask=metadata%2Ctags",
           R"({"metadata":{"x":"2"},"labels":{"ignored":"1"},"state":"STOPPED","id":"7",)"
           R"("acceleratorType":"v2-8"})"));
  EXPECT_EQ(operation["response"]["metadata"]["x"], Value("2"));
  const Value node = Node("pod");
  EXPECT_EQ(ToJson(node["metadata"]), R"({"x":"2"})");
  EXPECT_EQ(node.Find("tags"), nullptr) << "masked but absent: cleared";
  EXPECT_EQ(ToJson(node["labels"]), R"({"a":"1"})");
  EXPECT_EQ(node["acceleratorType"], Value("v3-32"));
  EXPECT_EQ(node["state"], Value("READY"));

  client_->Finish(Send("PATCH", kNodes + "/pod?updateMask=network_config.enable_external_ips",
                       "{networkConfig:{enableExternalIps:true}}"));
  EXPECT_NE(Node("pod")["networkEndpoints"].AsList()[0].Find("accessConfig"), nullptr);
}

TEST_F(ApiTest, PatchRefusesOtherMasksAndOtherStates) {
  Create("pod", kPod);
  for (const char* mask : {"", "acceleratorType", "runtime_version", "networkConfig", "name"}) {
    const Reply reply = Send("PATCH", kNodes + "/pod?updateMask=" + mask, "{}");
    EXPECT_EQ(reply.status, 400) << mask;
    EXPECT_EQ(reply.body["error"]["status"], Value("INVALID_ARGUMENT")) << mask;
  }
  EXPECT_THAT(Message(Send("PATCH", kNodes + "/pod?updateMask=colour", "{}")), HasSubstr("colour"));
  // A disk is written to from one host only (documentation of AttachedDisk).
  EXPECT_THAT(Message(Send("PATCH", kNodes + "/pod?updateMask=data_disks",
                           R"({"dataDisks":[{"sourceDisk":"projects/p/zones/z/disks/d"}]})")),
              HasSubstr("READ_ONLY"));
  Send("POST", "/emulator/nodes",
       R"({"node":"projects/demo/locations/europe-west4-a/nodes/pod","state":"PREEMPTED"})");
  const Reply preempted = Send("PATCH", kNodes + "/pod?updateMask=labels", "{}");
  EXPECT_EQ(preempted.status, 400);
  EXPECT_THAT(Message(preempted),
              HasSubstr("Cloud TPU received a bad request. update is not supported while in state "
                        "PREEMPTED"));
}

TEST_F(ApiTest, StopAndStartAreForSingleHosts) {
  Create("pod", kPod);
  Create("one", kSingle);
  EXPECT_THAT(Message(Send("POST", kNodes + "/pod:stop", "{}")), HasSubstr("single TPU nodes"));
  EXPECT_EQ(Send("POST", kNodes + "/one:start", "{}").status, 400);
  client_->Finish(Send("POST", kNodes + "/one:stop", "{}"));
  EXPECT_EQ(Node("one")["state"], Value("STOPPED"));
  EXPECT_EQ(Node("one").Find("health"), nullptr);
  client_->Finish(Send("POST", kNodes + "/one:start"));
  EXPECT_EQ(Node("one")["state"], Value("READY"));
}

TEST_F(ApiTest, DeleteLeavesNothing) {
  Create("pod", kPod);
  const Value operation = client_->Finish(Send("DELETE", kNodes + "/pod"));
  EXPECT_EQ(operation["response"]["@type"], Value("type.googleapis.com/google.protobuf.Empty"));
  EXPECT_EQ(Send("GET", kNodes + "/pod").status, 404);
  EXPECT_EQ(Send("DELETE", kNodes + "/pod").status, 404);
  Create("pod", kPod);
}

TEST_F(ApiTest, DeletingTakesOverFromCreating) {
  Restart(std::chrono::hours(1));
  const Reply created = Send("POST", kNodes + "?nodeId=pod", kPod);
  EXPECT_EQ(Node("pod")["state"], Value("CREATING"));
  EXPECT_EQ(Send("PATCH", kNodes + "/pod?updateMask=labels", "{}").status, 400);
  EXPECT_EQ(Send("DELETE", kNodes + "/pod").status, 200);
  EXPECT_EQ(Node("pod")["state"], Value("DELETING"));
  const Value creation = Send("GET", "/v2/" + created.body["name"].AsString()).body;
  EXPECT_TRUE(creation["done"].AsBool());
  EXPECT_EQ(creation["error"]["code"], Value(10));
  EXPECT_EQ(Send("DELETE", kNodes + "/pod").status, 400);
}

TEST_F(ApiTest, OperationsCanBeListedCancelledAndForgotten) {
  Create("a", kSingle);
  Restart(std::chrono::hours(1));
  const Reply created = Send("POST", kNodes + "?nodeId=b", kSingle);
  const std::string path = "/v2/" + created.body["name"].AsString();
  EXPECT_EQ(Send("GET", kZone + "/operations").body["operations"].AsList().size(), 2U);
  EXPECT_EQ(Send("DELETE", path).status, 400) << "not while it runs";
  EXPECT_EQ(Send("POST", path + ":cancel", "{}").text, "{}");
  const Value cancelled = Send("GET", path).body;
  EXPECT_EQ(cancelled["error"]["code"], Value(1));
  EXPECT_EQ(Send("GET", kNodes + "/b").status, 404);
  EXPECT_EQ(Send("DELETE", path).text, "{}");
  EXPECT_EQ(Send("GET", path).status, 404);
}

TEST_F(ApiTest, ListsByPagesAndOverAllZones) {
  for (const char* id : {"a", "b", "c", "d", "e"}) Create(id, kSingle);
  client_->Finish(Send("POST", "/v2/projects/demo/locations/us-central2-b/nodes?nodeId=z",
                       "{acceleratorType:'v4-8',runtimeVersion:'tpu-vm-v4-base'}"));
  client_->Finish(Send("POST", "/v2/projects/other/locations/us-central2-b/nodes?nodeId=z",
                       "{acceleratorType:'v4-8',runtimeVersion:'tpu-vm-v4-base'}"));
  std::string names;
  std::string token;
  int pages = 0;
  do {
    const Value page =
        Send("GET", "/v2/projects/demo/locations/-/nodes?pageSize=2&pageToken=" + token).body;
    for (const Value& node : page["nodes"].AsList()) {
      names += node["name"].AsString().substr(node["name"].AsString().rfind('/') + 1);
    }
    token = page["nextPageToken"].AsString();
    ++pages;
  } while (!token.empty() && pages < 10);
  EXPECT_EQ(names, "abcdez");
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(Send("GET", kNodes).body["nodes"].AsList().size(), 5U);
  EXPECT_EQ(Send("GET", kNodes + "?pageToken=stale").status, 400);
  EXPECT_EQ(Send("GET", kNodes + "?pageSize=-1").status, 400);
  EXPECT_EQ(Send("GET", kNodes + "?page_size=x").status, 400);
}

TEST_F(ApiTest, ServesTheCatalogue) {
  EXPECT_THAT(Send("GET", "/v1/projects/demo/locations").text,
              HasSubstr(R"("locationId":"us-central2-b")"));
  EXPECT_EQ(Send("GET", kZone).body["locationId"], Value("europe-west4-a"));
  EXPECT_EQ(Send("GET", kZone + "/acceleratorTypes/v3-32")
                .body["acceleratorConfigs"]
                .AsList()[0]["topology"],
            Value("4x4"));
  EXPECT_EQ(Send("GET", kZone + "/acceleratorTypes/v4-8").status, 404);
  EXPECT_THAT(Send("GET", kZone + "/acceleratorTypes").text, Not(HasSubstr("v4-8")));
  EXPECT_EQ(Send("GET", kZone + "/runtimeVersions/tpu-ubuntu2204-base").body["version"],
            Value("tpu-ubuntu2204-base"));
  EXPECT_THAT(Send("POST", kZone + ":generateServiceIdentity", "{}").text, HasSubstr("email"));
  EXPECT_EQ(Send("GET", "/v3/projects").status, 404);
  EXPECT_EQ(Send("GET", "/").status, 404);
}

TEST_F(ApiTest, GuestAttributesComeInWorkerOrder) {
  Create("pod", kPod);
  const auto ask = [&](const std::string& body) {
    return Send("POST", kNodes + "/pod:getGuestAttributes", body);
  };
  EXPECT_EQ(ask("{workerIds:['']}").body["guestAttributes"].AsList().size(), 4U);
  const Value third = ask("{workerIds:['3']}").body["guestAttributes"];
  ASSERT_EQ(third.AsList().size(), 1U);
  EXPECT_THAT(ToJson(third), HasSubstr("-w-3"));
  EXPECT_EQ(ask("{workerIds:['4']}").status, 400);
  EXPECT_THAT(ask("{queryPath:'hostkeys/'}").text, Not(HasSubstr("hostname")));
}

TEST_F(ApiTest, ARestartKeepsWhoMayEnterAndTheProjectsMetadata) {
  Send("POST", "/emulator/projectMetadata", R"({"enable-oslogin": "TRUE"})");
  const std::string user = "/v1/users/alice@example.com";
  const std::string key = R"({"key": "ssh-ed25519 AAAAC3Nz alice"})";
  ASSERT_EQ(Send("POST", user + ":importSshPublicKey", key).status, 200);
  const Value profile = Send("GET", user + "/loginProfile").body;
  ASSERT_THAT(ToJson(profile), HasSubstr("alice_example_com"));
  Restart(std::chrono::milliseconds(0));
  EXPECT_EQ(ToJson(Send("GET", user + "/loginProfile").body), ToJson(profile));
  EXPECT_EQ(ToJson(Send("GET", "/emulator/projectMetadata").body), R"({"enable-oslogin":"TRUE"})");
}

// Two at once are not queued: the second is to try again.
TEST_F(ApiTest, APatchBesideAnotherIsRefusedInTheWordsOfTheService) {
  Create("node", kSingle);
  Restart(std::chrono::minutes(10));
  const std::string labels = kNodes + "/node?updateMask=labels";
  EXPECT_EQ(Send("PATCH", labels, "{labels:{a:'1'}}").status, 200);
  const Reply second = Send("PATCH", labels, "{labels:{a:'2'}}");
  EXPECT_EQ(second.status, 409);
  EXPECT_EQ(second.body["error"]["status"], Value("ABORTED"));
  EXPECT_EQ(Message(second), "unable to queue the operation");
}

TEST_F(ApiTest, ARestartKeepsNodesAndGoesOnWithOperations) {
  Create("old", kPod);
  const Value before = Node("old");
  Restart(std::chrono::milliseconds(300));
  EXPECT_EQ(ToJson(Node("old")), ToJson(before));
  const Reply created = Send("POST", kNodes + "?nodeId=new", kSingle);
  const Reply patched = Send("PATCH", kNodes + "/old?updateMask=labels", "{labels:{a:'1'}}");
  Restart(std::chrono::milliseconds(0));
  EXPECT_TRUE(client_->Finish(created).Find("response") != nullptr);
  EXPECT_TRUE(client_->Finish(patched).Find("response") != nullptr);
  EXPECT_EQ(Node("new")["state"], Value("READY"));
  EXPECT_EQ(ToJson(Node("old")["labels"]), R"({"a":"1"})");
  EXPECT_NE(Node("old")["networkEndpoints"].AsList()[0]["ipAddress"],
            Node("new")["networkEndpoints"].AsList()[0]["ipAddress"]);
}

TEST_F(ApiTest, CountsRequests) {
  Create("a", kSingle);
  Send("DELETE", "/emulator/requests");
  Send("GET", kNodes);
  Send("POST", kNodes + "/a:getGuestAttributes", "{}");
  EXPECT_EQ(Send("GET", "/emulator/requests").body["mutating"], Value(0));
  Send("PATCH", kNodes + "/a?updateMask=labels", "{}");
  const Value counted = Send("GET", "/emulator/requests").body;
  EXPECT_EQ(counted["total"], Value(3));
  EXPECT_EQ(counted["mutating"], Value(1));
  EXPECT_EQ(counted["byMethod"]["nodes.list"], Value(1));
  EXPECT_EQ(counted["recent"].AsList()[2]["query"]["updateMask"], Value("labels"));
}

TEST_F(ApiTest, FaultsHappenAsOrdered) {
  Send("POST", "/emulator/faults", R"({"method":"GET","path":"/nodes","status":503,"times":2})");
  EXPECT_EQ(Send("GET", kZone).status, 200);
  EXPECT_EQ(Send("GET", kNodes).body["error"]["status"], Value("UNAVAILABLE"));
  EXPECT_EQ(Send("GET", kNodes).status, 503);
  EXPECT_EQ(Send("GET", kNodes).status, 200);

  Send("POST", "/emulator/faults", R"({"method":"POST","drop":"before"})");
  EXPECT_EQ(Send("POST", kNodes + "?nodeId=a", kSingle).status, 0);
  EXPECT_EQ(Send("GET", kNodes + "/a").status, 404);
  Send("POST", "/emulator/faults", R"({"method":"POST","drop":"after"})");
  EXPECT_EQ(Send("POST", kNodes + "?nodeId=a", kSingle).status, 0);
  EXPECT_EQ(Send("GET", kNodes + "/a").status, 200) << "the work was done all the same";

  Send("POST", "/emulator/faults",
       R"({"method":"POST","operationError":{"code":8,"message":"no more capacity"}})");
  const Value operation = Create("b", kSingle);
  EXPECT_EQ(operation["error"]["code"], Value(8));
  EXPECT_EQ(Send("GET", kNodes + "/b").status, 404);
  EXPECT_EQ(Send("POST", "/emulator/faults", "{}").status, 400);
}

// As `curl -X POST` sends it.
TEST_F(ApiTest, APostThatSaysNothingOfABodyHasNone) {
  const int file = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  const std::string url = emulator_->url();
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(file, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const std::string request =
      "POST " + kNodes + "/nobody:start HTTP/1.1\r\nHost: " + url.substr(7) + "\r\n\r\n";
  ::send(file, request.data(), request.size(), MSG_NOSIGNAL);
  pollfd waiting{.fd = file, .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&waiting, 1, 20'000), 1) << "it waits for a body";
  std::string answer(1000, '\0');
  answer.resize(
      static_cast<std::size_t>(std::max<ssize_t>(0, ::recv(file, answer.data(), 1000, 0))));
  EXPECT_THAT(answer, HasSubstr("404"));
  ::close(file);
}

TEST_F(ApiTest, AThousandNodesAreCheap) {
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(Send("POST", kNodes + "?nodeId=n" + std::to_string(i), kPod).status, 200);
  }
  const Reply page = Send("GET", kNodes + "?pageSize=1000");
  EXPECT_EQ(page.body["nodes"].AsList().size(), 1000U);
  EXPECT_EQ(page.body.Find("nextPageToken"), nullptr);
}

TEST(Emulator, ListensOnLoopbackOnly) {
  for (const char* host : {"0.0.0.0", "192.168.0.1", "::", "example.com"}) {
    Options options;
    options.listen_host = host;
    options.listen_port = 0;
    const auto started = Emulator::Start(options);
    ASSERT_FALSE(started) << host;
    EXPECT_EQ(started.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(Emulator, AFailedStartGivesThePortBack) {
  std::string pattern = (std::filesystem::temp_directory_path() / "emulator-XXXXXX").string();
  Options options;
  options.data_folder = mkdtemp(pattern.data());
  options.listen_port = 0;
  options.workers = Options::Workers::kNone;
  auto holder = Emulator::Start(options);
  ASSERT_TRUE(holder);
  const std::string url = (*holder)->url();
  (*holder)->Stop();  // its port is free again
  options.listen_port = std::stoi(url.substr(url.rfind(':') + 1));
  const std::string folder = options.data_folder;
  std::filesystem::create_directory(folder + "/journal.jsonl.new");  // cannot be written
  const auto failed = Emulator::Start(options);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kIo);
  std::filesystem::remove(folder + "/journal.jsonl.new");
  EXPECT_TRUE(Emulator::Start(options));
  std::filesystem::remove_all(folder);
}

TEST(Emulator, SaysWhenThePortIsTaken) {
  Options options;
  options.listen_port = 0;
  options.workers = Options::Workers::kNone;
  const auto first = Emulator::Start(options);
  ASSERT_TRUE(first);
  options.listen_port = std::stoi((*first)->url().substr((*first)->url().rfind(':') + 1));
  const auto second = Emulator::Start(options);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace podctl::emulator
