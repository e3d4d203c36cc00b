// What there is to have, on the wire: stock-outs, quotas, rates, reservations; and how rules read.
#include "providers/emulator/service/capacity.h"

#include <gmock/gmock.h>

#include <chrono>
#include <string>

#include "providers/base/json.h"
#include "tests/providers/emulator/emulator_fixture.h"

namespace podctl::emulator {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using testing::Reply;

const std::string kLimitsZone = "/v2/projects/demo/locations/europe-west4-a";
const std::string kLimitsNodes = kLimitsZone + "/nodes";

std::string NodeBody(const std::string& type, const std::string& scheduling = "") {
  return "{acceleratorType:'" + type + "',runtimeVersion:'tpu-vm-base',schedulingConfig:{" +
         scheduling + "}}";
}

class LimitsTest : public testing::EmulatorFixture {
 protected:
  void Limit(std::vector<std::string> capacity, std::vector<std::string> quotas = {},
             std::vector<std::string> reservations = {}) {
    Options options;
    options.capacity = std::move(capacity);
    options.quotas = std::move(quotas);
    options.reservations = std::move(reservations);
    Restart(std::chrono::milliseconds(0), options);
  }
  Reply Ask(const std::string& id, const std::string& body) {
    return Send("POST", kLimitsNodes + "?nodeId=" + id, body);
  }
  Value Create(const std::string& id, const std::string& body) {
    return client_->Finish(Ask(id, body));
  }
};

TEST_F(LimitsTest, AStockOutEndsTheOperationWithTheTextOfTheService) {
  Limit({"v3-32=1", "us-central1-a/v3-8=0"});
  EXPECT_NE(Create("a", NodeBody("v3-32")).Find("response"), nullptr);
  const Value failed = Create("b", NodeBody("v3-32"));
  EXPECT_EQ(failed["error"]["code"], Value(8));
  EXPECT_THAT(failed["error"]["message"].AsString(),
              MatchesRegex("There is no more capacity in the zone \"europe-west4-a\"; you can try "
                           "in another zone where Cloud TPU Nodes are offered \\(see "
                           "https://cloud.google.com/tpu/docs/regions\\) \\[EID: 0x[0-9a-f]+\\]"));
  EXPECT_EQ(Send("GET", kLimitsNodes + "/b").status, 404);
  EXPECT_NE(Create("c", NodeBody("v3-8")).Find("response"), nullptr) << "another zone is sold out";
  client_->Finish(Send("DELETE", kLimitsNodes + "/a"));
  EXPECT_NE(Create("b", NodeBody("v3-32")).Find("response"), nullptr) << "room again";
}

TEST_F(LimitsTest, AStoppedNodeGivesItsRoomAway) {
  Limit({"v3-8=1"});
  Create("a", NodeBody("v3-8"));
  client_->Finish(Send("POST", kLimitsNodes + "/a:stop", "{}"));
  Create("b", NodeBody("v3-8"));
  const Value started = client_->Finish(Send("POST", kLimitsNodes + "/a:start", "{}"));
  EXPECT_EQ(started["error"]["code"], Value(8));
  EXPECT_EQ(Send("GET", kLimitsNodes + "/a").body["state"], Value("STOPPED"));
  client_->Finish(Send("DELETE", kLimitsNodes + "/b"));
  client_->Finish(Send("POST", kLimitsNodes + "/a:start", "{}"));
  EXPECT_EQ(Send("GET", kLimitsNodes + "/a").body["state"], Value("READY"));
}

TEST_F(LimitsTest, QuotasRefuseAtOnceAndSayWhich) {
  Limit({}, {"v3=40", "v3-spot=0", "us-central1/v3=8"});
  Create("a", NodeBody("v3-32"));
  const Reply refused = Ask("b", NodeBody("v3-32"));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(Status(refused), "RESOURCE_EXHAUSTED");
  EXPECT_EQ(Message(refused),
            "Quota limit 'TPUV3sPodPerProjectPerRegionForTPUAPI' has been exceeded. Limit: 40 in "
            "region europe-west4.");
  const Value& detail = refused.body["error"]["details"].AsList().at(0);
  EXPECT_EQ(detail["@type"], Value("type.googleapis.com/google.rpc.QuotaFailure"));
  EXPECT_EQ(detail["violations"].AsList().at(0)["description"],
            Value("Quota 'TPUV3sPodPerProjectPerRegionForTPUAPI' exhausted. Limit 40 in region "
                  "europe-west4"));
  EXPECT_NE(Create("c", NodeBody("v3-8")).Find("response"), nullptr);
  EXPECT_THAT(Message(Ask("d", NodeBody("v3-8", "spot:true"))), HasSubstr("TPUV3sPreemptiblePod"));
  EXPECT_EQ(Ask("e", NodeBody("v6e-8")).status, 200) << "of another generation";
}

TEST_F(LimitsTest, AQueuedResourceHoldsItsQuotaUntilItIsDeleted) {
  Limit({"v3-32=0"}, {"v3=32"});
  const std::string queue = kLimitsZone + "/queuedResources";
  const std::string body =
      "{queueingPolicy:{validUntilDuration:'60s'},tpu:{nodeSpec:[{parent:"
      "'projects/demo/locations/europe-west4-a',nodeId:'n',node:" +
      NodeBody("v3-32") + "}]}}";
  client_->Finish(Send("POST", queue + "?queuedResourceId=q", body));
  EXPECT_EQ(Ask("a", NodeBody("v3-32")).status, 429);
  Send("POST", "/emulator/clock", "{advance:'2m'}");
  EXPECT_EQ(Ask("a", NodeBody("v3-32")).status, 429) << "FAILED, and still there";
  client_->Finish(Send("DELETE", queue + "/q?force=true"));
  EXPECT_EQ(Ask("a", NodeBody("v3-32")).status, 200);
}

TEST_F(LimitsTest, TooManyCreatesAMinuteAreRefused) {
  Limit({}, {"creates-per-minute=2"});
  EXPECT_EQ(Ask("a", NodeBody("v3-8")).status, 200);
  EXPECT_EQ(Ask("b", NodeBody("v3-8")).status, 200);
  const Reply refused = Ask("c", NodeBody("v3-8"));
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(Message(refused), HasSubstr("Maximum number of CreateNode requests per minute"));
  EXPECT_EQ(refused.body["error"]["details"].AsList().at(0)["reason"],
            Value("RATE_LIMIT_EXCEEDED"));
  Send("POST", "/emulator/clock", "{advance:'1m'}");
  EXPECT_EQ(Ask("c", NodeBody("v3-8")).status, 200);
}

TEST_F(LimitsTest, ReservationsAreFullOrUnknown) {
  Limit({"v3-32=0"}, {}, {"europe-west4-a/res-1/v3-32=1"});
  EXPECT_NE(Create("a", NodeBody("v3-32", "reserved:true")).Find("response"), nullptr);
  const Value failed = Create("b", NodeBody("v3-32", "reserved:true"));
  EXPECT_EQ(failed["error"]["code"], Value(8));
  EXPECT_THAT(failed["error"]["message"].AsString(),
              HasSubstr("Insufficient reserved capacity. Contact customer support to increase your "
                        "reservation."));
  const Reply unknown = Send(
      "POST", kLimitsZone + "/queuedResources?queuedResourceId=q",
      "{reservationName:'projects/demo/locations/europe-west4-a/reservations/no',tpu:{nodeSpec:[{"
      "parent:'projects/demo/locations/europe-west4-a',nodeId:'n',node:" +
          NodeBody("v3-32") + "}]}}");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_THAT(Message(unknown), HasSubstr("reservation for request queue"));
  EXPECT_EQ(Send("GET", kLimitsZone + "/reservations").status, 404) << "v2 does not have it";
  const Value listed =
      Send("GET", "/v2alpha1/projects/demo/locations/europe-west4-a/reservations").body;
  ASSERT_EQ(listed["reservations"].AsList().size(), 1U);
  EXPECT_EQ(ToJson(listed["reservations"].AsList()[0]["standard"]),
            R"({"capacityUnits":"CHIPS","resourceType":"v3-32","size":16,"usage":{"total":"16"}})");
}

TEST(Limits, RefusesRulesThatSayNothing) {
  Limits limits;
  for (const char* rule : {"v3-32", "v3-32=", "v3-32=-1", "v3-32=x", "v3-33=1", "=1",
                           "mars-a/v3-8=1", "a/b/v3-8=1", "v3-32=1x", "/v3-8=1"}) {
    EXPECT_FALSE(limits.SetCapacity(rule)) << rule;
  }
  for (const char* rule : {"v3", "v9=1", "v3-slow=1", "a/b/v3=1", "creates-per-minute=0"}) {
    EXPECT_FALSE(limits.SetQuota(rule)) << rule;
  }
  for (const char* rule : {"res/v3-8=1", "mars-a/res/v3-8=1", "europe-west4-a/res/v3-9=1"}) {
    EXPECT_FALSE(limits.SetReservation(rule)) << rule;
  }
  EXPECT_EQ(ToJson(limits.ToValue()), R"({"capacity":{},"quota":{},"reservations":{}})");
}

TEST(Limits, TheNarrowerRuleCounts) {
  Limits limits;
  ASSERT_TRUE(limits.SetCapacity("v4-8=2"));
  ASSERT_TRUE(limits.SetCapacity("us-central2-b/v4-8=0"));
  EXPECT_EQ(limits.Capacity("us-central2-b", "v4-8"), 0);
  EXPECT_EQ(limits.Capacity("europe-west4-a", "v4-8"), 2);
  EXPECT_EQ(limits.Capacity("europe-west4-a", "v4-16"), std::nullopt);
}

}  // namespace
}  // namespace podctl::emulator
