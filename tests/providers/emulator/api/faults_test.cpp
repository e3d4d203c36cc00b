// Trouble on order: which requests it meets, what a bad file is told, what a cut reply looks like.
#include "providers/emulator/api/faults.h"

#include <gmock/gmock.h>

#include <fstream>
#include <string>
#include <vector>

#include "providers/base/json.h"
#include "tests/providers/emulator/emulator_fixture.h"

namespace podctl::emulator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Reply;

const std::string kFaultsNodes = "/v2/projects/demo/locations/europe-west4-a/nodes";
const std::string kFaultsSingle = "{acceleratorType:'v3-8',runtimeVersion:'tpu-vm-tf-2.11.0'}";

class FaultFileTest : public testing::EmulatorFixture {
 protected:
  std::string Write(const std::string& text) {
    std::string path = folder_ + "/faults.json";
    std::ofstream(path, std::ios::trunc) << text;
    return path;
  }
  void RestartWith(const std::string& rules) {
    Options options;
    options.faults_file = Write("{\"faults\": [" + rules + "]}");
    Restart(std::chrono::milliseconds(0), options);
  }
  // The message, without the folder.
  std::string Refusal(const std::string& text) {
    FaultList faults;
    const auto loaded = faults.Load(Write(text));
    EXPECT_FALSE(loaded) << text;
    return loaded ? "" : loaded.error().message.substr(folder_.size() + 1);
  }
  std::vector<int> Statuses(int count, const std::string& path = kFaultsNodes) {
    std::vector<int> statuses;
    for (int i = 0; i < count; ++i) statuses.push_back(Send("GET", path).status);
    return statuses;
  }
};

TEST_F(FaultFileTest, StrikesTheNthRequestThatMatches) {
  RestartWith(R"({"call": "nodes.list", "nth": [2, 4], "status": 503})");
  EXPECT_THAT(Statuses(2, kFaultsNodes + "/none"), ElementsAre(404, 404));
  EXPECT_THAT(Statuses(6), ElementsAre(200, 503, 200, 503, 200, 200));
}

TEST_F(FaultFileTest, StrikesEveryThirdAndByPattern) {
  RestartWith(R"({"path": "*/nodes", "every": 3, "status": 500},
                 {"path": "*/nodes/?", "every": 1, "status": 502})");
  EXPECT_THAT(Statuses(6), ElementsAre(200, 200, 500, 200, 200, 500));
  EXPECT_THAT(Statuses(1, kFaultsNodes + "/a"), ElementsAre(502));
  EXPECT_THAT(Statuses(1, kFaultsNodes + "/ab"), ElementsAre(404));
}

TEST_F(FaultFileTest, AConnectionDroppedAfterTheActHasActed) {
  RestartWith(R"({"call": "nodes.create", "nth": 2, "drop": "after"},
                 {"call": "nodes.create", "nth": 3, "drop": "before"})");
  EXPECT_EQ(Send("POST", kFaultsNodes + "?nodeId=a", kFaultsSingle).status, 200);
  EXPECT_EQ(Send("POST", kFaultsNodes + "?nodeId=b", kFaultsSingle).status, 0);
  EXPECT_EQ(Send("POST", kFaultsNodes + "?nodeId=c", kFaultsSingle).status, 0);
  EXPECT_EQ(Send("GET", kFaultsNodes + "/b").status, 200);
  EXPECT_EQ(Send("GET", kFaultsNodes + "/c").status, 404);
}

TEST_F(FaultFileTest, ACutReplyIsNoReply) {
  RestartWith(R"({"call": "nodes.create", "cutAfter": 10}, {"call": "nodes.get", "cutAfter": 0})");
  EXPECT_EQ(Send("POST", kFaultsNodes + "?nodeId=a", kFaultsSingle).status, 0);
  EXPECT_EQ(Send("GET", kFaultsNodes + "/a").status, 0);
  EXPECT_EQ(Send("GET", kFaultsNodes + "/a").status, 200) << "the act was done";
}

TEST_F(FaultFileTest, ARefusalCarriesDetailsAndAnOperationFails) {
  RestartWith(R"({"call": "nodes.create", "nth": 1, "status": 429, "message": "slowly",
                  "details": [{"@type": "type.googleapis.com/google.rpc.QuotaFailure"}]},
                 {"call": "nodes.create", "nth": 2, "operationError": {"code": 8, "message": "no"}})");
  const Reply refused = Send("POST", kFaultsNodes + "?nodeId=a", kFaultsSingle);
  EXPECT_EQ(Status(refused), "RESOURCE_EXHAUSTED");
  EXPECT_EQ(Message(refused), "slowly");
  EXPECT_EQ(refused.body["error"]["details"].AsList().size(), 1U);
  EXPECT_EQ(
      client_->Finish(Send("POST", kFaultsNodes + "?nodeId=a", kFaultsSingle))["error"]["code"],
      Value(8));
  EXPECT_EQ(Send("GET", "/emulator/faults").text, R"({"faults":[]})");
}

TEST_F(FaultFileTest, ABadFileIsRefusedWithThePlace) {
  EXPECT_THAT(Refusal("{\"faults\": [\n  {\"status\": 503},\n  {\"status\": 99}\n]}"),
              HasSubstr("faults.json:3:14: `status` must be a number from 400 to 599"));
  EXPECT_THAT(Refusal("{\"faults\": [\n  {\"staus\": 503}]}"),
              HasSubstr("faults.json:2:13: unknown key `staus`; there are call, method"));
  EXPECT_THAT(Refusal("{\"faults\": [\n  {\"path\": \"/nodes\"}]}"),
              HasSubstr("faults.json:2:3: nothing happens"));
  EXPECT_THAT(Refusal("{\"faults\": [{\"nth\": 0, \"status\": 500}]}"), HasSubstr(":1:21: `nth`"));
  EXPECT_THAT(Refusal("{\"faults\": [{\"nth\": 1, \"every\": 2, \"status\": 500}]}"),
              HasSubstr("only one of `nth`"));
  EXPECT_THAT(Refusal("{\"faults\": [{\"drop\": \"later\"}]}"), HasSubstr("`drop`"));
  EXPECT_THAT(Refusal("{\"faults\": [{\"call\": \"nodes.crate\", \"status\": 500}]}"),
              HasSubstr("there is no method `nodes.crate`"));
  EXPECT_THAT(Refusal("{\"faults\": [{\"delay\": \"1 s\"}]}"), HasSubstr("`delay`"));
  EXPECT_THAT(Refusal("{\"faults\": [\n  {]}"), HasSubstr("faults.json:2:"));
  EXPECT_THAT(Refusal("[]"), HasSubstr("the file must be"));
  FaultList faults;
  EXPECT_EQ(faults.Load(folder_ + "/none.json").error().code, ErrorCode::kNotFound);
}

TEST(Pattern, StarsAndQuestionMarks) {
  EXPECT_TRUE(MatchesPattern("/v2/nodes/a", "*/nodes/*"));
  EXPECT_TRUE(MatchesPattern("abab", "*ab"));
  EXPECT_TRUE(MatchesPattern("", "*"));
  EXPECT_FALSE(MatchesPattern("/v2/nodes", "*/nodes/*"));
  EXPECT_FALSE(MatchesPattern("abc", "ab"));
  EXPECT_FALSE(MatchesPattern("ab", "ab?"));
}

}  // namespace
}  // namespace podctl::emulator
