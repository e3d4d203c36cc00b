// Queued resources on the wire: their states and times, deletion, idempotence, capacity,
// preemption.
#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <thread>

#include "providers/base/json.h"
#include "tests/providers/emulator/emulator_fixture.h"

namespace podctl::emulator {
namespace {

using ::testing::HasSubstr;
using testing::Reply;

const std::string kQueueParent = "projects/demo/locations/europe-west4-a";
const std::string kQueueZone = "/v2/" + kQueueParent;
const std::string kQueue = kQueueZone + "/queuedResources";
const std::string kQueueNodes = kQueueZone + "/nodes";
const std::string kQueueUuid = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
const std::string kOther = "7f9619ff-8b86-4d01-b42d-00cf4fc964ff";
constexpr auto kSlow = std::chrono::hours(1);  // until the test moves the clock

std::string Spec(const std::string& naming, const std::string& type, const std::string& more = "") {
  return "{tpu:{nodeSpec:[{parent:'" + kQueueParent + "'," + naming + ",node:{acceleratorType:'" +
         type + "',runtimeVersion:'tpu-vm-tf-2.11.0-pod'}}]}" + more + "}";
}

class QueueTest : public testing::EmulatorFixture {
 protected:
  // Creates and waits for the acceptance.
  Value Create(const std::string& id, const std::string& body) {
    return client_->Finish(Send("POST", kQueue + "?queuedResourceId=" + id, body));
  }
  Value Get(const std::string& id) { return Send("GET", kQueue + "/" + id).body; }
  std::string State(const std::string& id) { return Get(id)["state"]["state"].AsString(); }
  std::string NodeState(const std::string& id) {
    return Send("GET", kQueueNodes + "/" + id).body["state"].AsString();
  }
  // What the clockwork does on its own thread is there a moment later.
  std::string Reaches(const std::string& id, const std::string& state) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (State(id) != state && std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return State(id);
  }
  void Advance(const std::string& duration) {
    const Reply moved = Send("POST", "/emulator/clock", "{advance:'" + duration + "'}");
    ASSERT_EQ(moved.status, 200) << moved.text;
  }
  Reply Strike(const std::string& what) { return Send("POST", "/emulator/" + what); }
};

TEST_F(QueueTest, ARequestBecomesActiveAndItsNodeNamesIt) {
  Restart(kSlow);
  const Reply created =
      Send("POST", kQueue + "?queuedResourceId=q&alt=json", Spec("nodeId:'n'", "v3-32"));
  ASSERT_EQ(created.status, 200) << created.text;
  EXPECT_EQ(created.body["metadata"]["target"], Value(kQueueParent + "/queuedResources/q"));
  EXPECT_EQ(State("q"), "CREATING");
  EXPECT_NE(Get("q").FindPath("state.creatingData"), nullptr);

  Advance("3600s");
  const Value operation = client_->Finish(created);
  EXPECT_EQ(operation["response"]["@type"],
            Value("type.googleapis.com/google.cloud.tpu.v2.QueuedResource"));
  EXPECT_EQ(operation["response"]["state"]["state"], Value("ACCEPTED"));
  EXPECT_EQ(Reaches("q", "ACCEPTED"), "ACCEPTED");
  EXPECT_NE(Get("q").FindPath("state.acceptedData"), nullptr);
  EXPECT_EQ(Send("GET", kQueueNodes + "/n").status, 404) << "accepted is not provisioned";

  Advance("3600s");
  EXPECT_EQ(Reaches("q", "PROVISIONING"), "PROVISIONING");
  EXPECT_EQ(NodeState("n"), "CREATING");
  Advance("3600s");
  EXPECT_EQ(Reaches("q", "ACTIVE"), "ACTIVE");
  const Value node = Send("GET", kQueueNodes + "/n").body;
  EXPECT_EQ(node["state"], Value("READY"));
  EXPECT_EQ(node["queuedResource"], Value(kQueueParent + "/queuedResources/q"));
  EXPECT_EQ(node.Find("multisliceNode"), nullptr);
  EXPECT_EQ(node["networkEndpoints"].AsList().size(), 4U);
  EXPECT_EQ(Get("q")["name"], Value(kQueueParent + "/queuedResources/q"));
  EXPECT_FALSE(Get("q")["createTime"].AsString().empty());
}

TEST_F(QueueTest, AMultisliceHasNodesOfItsOwn) {
  Create("q", Spec("multisliceParams:{nodeCount:3,nodeIdPrefix:'ms'}", "v6e-16", ",spot:{}"));
  const Value queued = Get("q");
  ASSERT_EQ(queued["tpu"]["nodeSpec"].AsList().size(), 3U);
  EXPECT_EQ(queued["tpu"]["nodeSpec"].AsList()[2]["nodeId"], Value("ms-2"));
  EXPECT_EQ(Reaches("q", "ACTIVE"), "ACTIVE");
  std::set<std::string> addresses;
  for (const char* id : {"ms-0", "ms-1", "ms-2"}) {
    const Value node = Send("GET", kQueueNodes + "/" + id).body;
    EXPECT_EQ(node["multisliceNode"], Value(true)) << id;
    EXPECT_EQ(node["schedulingConfig"]["spot"], Value(true)) << id;
    for (const Value& endpoint : node["networkEndpoints"].AsList()) {
      addresses.insert(endpoint["ipAddress"].AsString());
    }
  }
  EXPECT_EQ(addresses.size(), 12U);
  Create("plain", Spec("multisliceParams:{nodeCount:2}", "v6e-16"));
  EXPECT_EQ(Get("plain")["tpu"]["nodeSpec"].AsList()[1]["nodeId"], Value("plain-1"));
}

TEST_F(QueueTest, RefusesWhatTheContractRefuses) {
  const auto refused = [&](const std::string& body, const std::string& id = "q") {
    const Reply reply = Send("POST", kQueue + "?queuedResourceId=" + id, body);
    EXPECT_EQ(reply.status, 400) << reply.text;
    return Message(reply);
  };
  EXPECT_THAT(refused(Spec("nodeId:'n'", "v3-32"), ""), HasSubstr("queued resource id"));
  EXPECT_THAT(refused("{}"), HasSubstr("must be set"));
  EXPECT_THAT(refused(Spec("nodeId:'n'", "v3-33")), HasSubstr("could not be found"));
  EXPECT_THAT(refused(Spec("nodeId:'n',multisliceParams:{nodeCount:2}", "v6e-16")),
              HasSubstr("Either the node id or"));
  EXPECT_THAT(refused(Spec("multisliceParams:{nodeCount:1}", "v6e-16")), HasSubstr("node count"));
  EXPECT_THAT(refused(Spec("multisliceParams:{nodeCount:2}", "v3-32")),
              HasSubstr("Cloud TPU was unable to complete the operation."));
  EXPECT_THAT(refused(Spec("nodeId:'n'", "v3-32", ",spot:{},guaranteed:{}")),
              HasSubstr("oneof field 'tier' is already set"));
  EXPECT_THAT(refused(Spec("nodeId:'n'", "v3-32", ",bestEffort:{}")),
              HasSubstr("Unknown name \"bestEffort\""));
  EXPECT_THAT(refused(Spec("nodeId:'n'", "v3-32",
                           ",queueingPolicy:{validUntilDuration:'1s',validAfterDuration:'1s'}")),
              HasSubstr("oneof"));
  EXPECT_THAT(refused(Spec("nodeId:'n'", "v3-32", ",queueingPolicy:{validUntilDuration:'6h'}")),
              HasSubstr("google.protobuf.Duration"));
  EXPECT_THAT(refused(Spec("nodeId:'n'", "v3-32",
                           ",queueingPolicy:{validUntilTime:'2020-01-01T00:00:00Z'}")),
              HasSubstr("past"));
  EXPECT_THAT(refused("{tpu:{nodeSpec:[{parent:'projects/demo/locations/us-central2-b',nodeId:'n',"
                      "node:{acceleratorType:'v4-8',runtimeVersion:'tpu-vm-base'}}]}}"),
              HasSubstr("parent"));
  EXPECT_EQ(Send("GET", kQueue).text, "{}");
}

TEST_F(QueueTest, NamesAreTakenOnce) {
  Create("q", Spec("nodeId:'n'", "v3-32"));
  EXPECT_EQ(Send("POST", kQueue + "?queuedResourceId=q", Spec("nodeId:'m'", "v3-32")).status, 409);
  EXPECT_EQ(Send("POST", kQueue + "?queuedResourceId=p", Spec("nodeId:'n'", "v3-32")).status, 409);
  EXPECT_EQ(Reaches("q", "ACTIVE"), "ACTIVE");
}

TEST_F(QueueTest, TheSameRequestIdIsTheSameOperation) {
  const std::string create = kQueue + "?queuedResourceId=q&requestId=";
  const std::string body = Spec("nodeId:'n'", "v3-32");
  const Reply first = Send("POST", create + kQueueUuid, body);
  const Reply again = Send("POST", create + kQueueUuid, body);
  EXPECT_EQ(again.status, 200) << again.text;
  EXPECT_EQ(again.body["name"], first.body["name"]);
  EXPECT_EQ(Send("POST", create + kOther, body).status, 409);
  EXPECT_THAT(Message(Send("POST", create + "7", body)), HasSubstr("no UUID"));
  EXPECT_EQ(Send("POST", create + "00000000-0000-0000-0000-000000000000", body).status, 400);
  EXPECT_THAT(Message(Send("POST", kQueue + "?queuedResourceId=p&requestId=" + kQueueUuid, body)),
              HasSubstr("used for another resource"));
  Restart(std::chrono::milliseconds(0));
  EXPECT_EQ(Send("POST", create + kQueueUuid, body).body["name"], first.body["name"]);
  EXPECT_EQ(Reaches("q", "ACTIVE"), "ACTIVE");

  const Reply gone = Send("DELETE", kQueue + "/q?force=true&requestId=" + kQueueUuid);
  client_->Finish(gone);
  EXPECT_EQ(Send("DELETE", kQueue + "/q?force=true&requestId=" + kQueueUuid).body["name"],
            gone.body["name"]);
  EXPECT_EQ(Send("DELETE", kQueue + "/q?force=true&requestId=" + kOther).status, 404);
}

TEST_F(QueueTest, DeletionHeedsForce) {
  Create("q", Spec("nodeId:'n'", "v3-32"));
  EXPECT_EQ(Reaches("q", "ACTIVE"), "ACTIVE");
  const Reply refused = Send("DELETE", kQueue + "/q");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(Status(refused), "FAILED_PRECONDITION");
  EXPECT_EQ(Send("DELETE", kQueue + "/q?force=perhaps").status, 400);
  const Value operation = client_->Finish(Send("DELETE", kQueue + "/q?force=True"));
  EXPECT_EQ(operation["response"]["@type"], Value("type.googleapis.com/google.protobuf.Empty"));
  EXPECT_EQ(Send("GET", kQueue + "/q").status, 404);
  EXPECT_EQ(Send("GET", kQueueNodes + "/n").status, 404);
}

TEST_F(QueueTest, WhileItIsDeletedNodesAndRequestSaySo) {
  Create("q", Spec("nodeId:'n'", "v3-32"));
  EXPECT_EQ(Reaches("q", "ACTIVE"), "ACTIVE");
  Restart(kSlow);
  Send("DELETE", kQueue + "/q?force=true");
  EXPECT_EQ(State("q"), "DELETING");
  EXPECT_NE(Get("q").FindPath("state.deletingData"), nullptr);
  EXPECT_EQ(NodeState("n"), "DELETING");
  EXPECT_EQ(Status(Send("DELETE", kQueue + "/q?force=true")), "FAILED_PRECONDITION");
}

TEST_F(QueueTest, WhenItsLastNodeIsDeletedItIsSuspendedByTheUser) {
  Create("q", Spec("multisliceParams:{nodeCount:2}", "v6e-16"));
  EXPECT_EQ(Reaches("q", "ACTIVE"), "ACTIVE");
  client_->Finish(Send("DELETE", kQueueNodes + "/q-0"));
  EXPECT_EQ(State("q"), "ACTIVE") << "one slice is left";
  client_->Finish(Send("DELETE", kQueueNodes + "/q-1"));
  EXPECT_EQ(Reaches("q", "SUSPENDED"), "SUSPENDED");
  EXPECT_EQ(Get("q")["state"]["stateInitiator"], Value("USER"));
  EXPECT_NE(Get("q").FindPath("state.suspendedData"), nullptr);
  client_->Finish(Send("DELETE", kQueue + "/q"));
  EXPECT_EQ(Send("GET", kQueue + "/q").status, 404);
}

TEST_F(QueueTest, APreemptionSuspendsTheWholeRequest) {
  Create("q", Spec("multisliceParams:{nodeCount:2}", "v6e-16", ",spot:{}"));
  EXPECT_EQ(Reaches("q", "ACTIVE"), "ACTIVE");
  Restart(kSlow);
  const Reply struck = Strike("nodes/q-1:preempt");
  EXPECT_EQ(struck.status, 200) << struck.text;
  EXPECT_EQ(State("q"), "SUSPENDING");
  EXPECT_EQ(Get("q")["state"]["stateInitiator"], Value("SERVICE"));
  EXPECT_EQ(NodeState("q-1"), "PREEMPTED");
  EXPECT_EQ(NodeState("q-0"), "DELETING");
  EXPECT_EQ(Status(Send("DELETE", kQueue + "/q?force=true")), "FAILED_PRECONDITION")
      << "never while it is being suspended";
  Advance("3600s");
  EXPECT_EQ(Reaches("q", "SUSPENDED"), "SUSPENDED");
  EXPECT_EQ(Get("q")["state"]["stateInitiator"], Value("SERVICE"));
  EXPECT_EQ(Send("GET", kQueueNodes + "/q-0").status, 404);
  EXPECT_EQ(Send("GET", kQueueNodes + "/q-1").status, 404);
}

TEST_F(QueueTest, OnlySpotNodesArePreempted) {
  Create("q", Spec("nodeId:'n'", "v3-32"));
  EXPECT_EQ(Reaches("q", "ACTIVE"), "ACTIVE");
  EXPECT_EQ(Status(Strike("nodes/n:preempt")), "FAILED_PRECONDITION");
  EXPECT_EQ(Strike("nodes/n:terminate").status, 200);
  EXPECT_EQ(Reaches("q", "SUSPENDED"), "SUSPENDED");
}

TEST_F(QueueTest, ARequestThatIsNotFulfilledInTimeFails) {
  Options full;
  full.capacity = {"v3-32=0"};
  Restart(std::chrono::milliseconds(0), full);
  Create("q", Spec("nodeId:'n'", "v3-32", ",queueingPolicy:{validUntilDuration:'21600s'}"));
  EXPECT_EQ(Reaches("q", "WAITING_FOR_RESOURCES"), "WAITING_FOR_RESOURCES");
  Advance("21599s");
  EXPECT_EQ(State("q"), "WAITING_FOR_RESOURCES");
  Advance("2s");
  ASSERT_EQ(Reaches("q", "FAILED"), "FAILED");
  EXPECT_EQ(Get("q").FindPath("state.failedData.error.code")->AsInt(), 4);
  EXPECT_EQ(Send("POST", kQueue + "?queuedResourceId=q", Spec("nodeId:'n'", "v3-32")).status, 409)
      << "it holds its name";
  client_->Finish(Send("DELETE", kQueue + "/q"));
  EXPECT_EQ(Send("GET", kQueue + "/q").status, 404);
}

TEST_F(QueueTest, ARequestWaitsForItsTimeAndForRoom) {
  Options one;
  one.capacity = {"v3-32=1"};
  Restart(std::chrono::milliseconds(0), one);
  Create("later", Spec("nodeId:'a'", "v3-32", ",queueingPolicy:{validAfterDuration:'3600s'}"));
  EXPECT_EQ(Reaches("later", "WAITING_FOR_RESOURCES"), "WAITING_FOR_RESOURCES");
  Create("first", Spec("nodeId:'b'", "v3-32"));
  EXPECT_EQ(Reaches("first", "ACTIVE"), "ACTIVE");
  Advance("3601s");
  Create("third", Spec("nodeId:'c'", "v3-32"));
  EXPECT_EQ(Reaches("third", "WAITING_FOR_RESOURCES"), "WAITING_FOR_RESOURCES");
  EXPECT_EQ(State("later"), "WAITING_FOR_RESOURCES");
  client_->Finish(Send("DELETE", kQueue + "/first?force=true"));
  EXPECT_EQ(Reaches("later", "ACTIVE"), "ACTIVE") << "it came before the third";
  EXPECT_EQ(State("third"), "WAITING_FOR_RESOURCES");
  Send("POST", "/emulator/capacity", "{'v3-32':2}");
  EXPECT_EQ(Reaches("third", "ACTIVE"), "ACTIVE");
}

TEST_F(QueueTest, AResetRestartsTheNodes) {
  Create("q", Spec("nodeId:'n'", "v3-32"));
  EXPECT_EQ(Reaches("q", "ACTIVE"), "ACTIVE");
  Restart(kSlow);
  const Reply reset = Send("POST", kQueue + "/q:reset", "{}");
  EXPECT_EQ(NodeState("n"), "RESTARTING");
  EXPECT_EQ(Status(Send("POST", kQueue + "/q:reset", "{}")), "FAILED_PRECONDITION");
  Advance("3600s");
  const Value operation = client_->Finish(reset);
  EXPECT_EQ(operation["response"]["name"], Value(kQueueParent + "/queuedResources/q"));
  EXPECT_EQ(NodeState("n"), "READY");
}

TEST_F(QueueTest, ARestartKeepsRequestsInEveryState) {
  Options full;
  full.capacity = {"v6e-16=0"};
  Restart(std::chrono::milliseconds(0), full);
  Create("active", Spec("nodeId:'n'", "v3-32"));
  EXPECT_EQ(Reaches("active", "ACTIVE"), "ACTIVE");
  Create("waiting", Spec("multisliceParams:{nodeCount:2}", "v6e-16"));
  EXPECT_EQ(Reaches("waiting", "WAITING_FOR_RESOURCES"), "WAITING_FOR_RESOURCES");
  const Value before = Get("active");
  Restart(kSlow, full);
  EXPECT_EQ(ToJson(Get("active")), ToJson(before));
  EXPECT_EQ(State("waiting"), "WAITING_FOR_RESOURCES");
  Send("POST", kQueue + "?queuedResourceId=new", Spec("nodeId:'m'", "v3-32"));
  Restart(kSlow);
  EXPECT_EQ(State("new"), "CREATING");
  EXPECT_EQ(Reaches("waiting", "PROVISIONING"), "PROVISIONING") << "there is room now";
  Advance("3600s");
  Restart(std::chrono::milliseconds(0));
  EXPECT_EQ(Reaches("waiting", "ACTIVE"), "ACTIVE");
  EXPECT_EQ(Reaches("new", "ACTIVE"), "ACTIVE");
}

TEST_F(QueueTest, ARestartKeepsTheTimeThatWasSkipped) {
  Options full;
  full.capacity = {"v3-32=0"};
  Restart(std::chrono::milliseconds(0), full);
  Create("q", Spec("nodeId:'n'", "v3-32", ",queueingPolicy:{validUntilDuration:'7200s'}"));
  Advance("5400s");
  Restart(std::chrono::milliseconds(0), full);
  Advance("1801s");
  EXPECT_EQ(Reaches("q", "FAILED"), "FAILED");
}

TEST_F(QueueTest, PagesAndZones) {
  for (const char* id : {"a", "b", "c"}) {
    Create(id, Spec("nodeId:'n" + std::string(id) + "'", "v3-32"));
  }
  const Value page = Send("GET", kQueue + "?pageSize=2").body;
  EXPECT_EQ(page["queuedResources"].AsList().size(), 2U);
  const Value rest = Send("GET", kQueue + "?pageToken=" + page["nextPageToken"].AsString()).body;
  EXPECT_EQ(rest["queuedResources"].AsList().size(), 1U);
  EXPECT_EQ(Send("GET", "/v2/projects/demo/locations/-/queuedResources")
                .body["queuedResources"]
                .AsList()
                .size(),
            3U);
}

TEST_F(QueueTest, ADeleteMayBeToldNotToTake) {
  Create("q", Spec("nodeId:'n'", "v3-32"));
  EXPECT_EQ(Reaches("q", "ACTIVE"), "ACTIVE");
  Send("POST", "/emulator/faults", "{method:'DELETE',operationError:{code:0}}");
  const Value operation = client_->Finish(Send("DELETE", kQueue + "/q?force=true"));
  EXPECT_NE(operation.Find("response"), nullptr);
  EXPECT_EQ(State("q"), "ACTIVE");
  EXPECT_EQ(NodeState("n"), "READY");
}

}  // namespace
}  // namespace podctl::emulator
