// The pure rooms of the emulator: catalogue, lenient JSON, request schema, masks, runtime
// variables, page tokens, the journal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "providers/base/json.h"
#include "providers/emulator/catalogue.h"
#include "providers/emulator/journal.h"
#include "providers/emulator/lenient_json.h"
#include "providers/emulator/node_rules.h"
#include "providers/emulator/page.h"
#include "providers/emulator/request_schema.h"
#include "providers/emulator/runtime_env.h"
#include "providers/emulator/worker_files.h"

namespace podctl::emulator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

struct KnownType {
  const char* type;
  const char* topology;
  int workers;
};

class CatalogueTest : public ::testing::TestWithParam<KnownType> {};

TEST_P(CatalogueTest, KnowsShapeAndWorkers) {
  const auto found = FindAccelerator(GetParam().type);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->topology, GetParam().topology);
  EXPECT_EQ(found->workers, GetParam().workers);
  const auto same = FindAccelerator(found->api_type, found->topology);
  ASSERT_TRUE(same);
  EXPECT_EQ(same->type, GetParam().type);
}

INSTANTIATE_TEST_SUITE_P(
    Documented, CatalogueTest,
    ::testing::Values(KnownType{"v2-8", "2x2", 1}, KnownType{"v3-32", "4x4", 4},
                      KnownType{"v3-2048", "32x32", 256}, KnownType{"v4-8", "2x2x1", 1},
                      KnownType{"v4-16", "2x2x2", 2}, KnownType{"v4-384", "4x4x12", 48},
                      KnownType{"v4-4096", "8x16x16", 512}, KnownType{"v5p-2688", "4x12x28", 336},
                      KnownType{"v5p-12288", "16x16x24", 1536}, KnownType{"v5litepod-8", "2x4", 1},
                      KnownType{"v5litepod-16", "4x4", 4}, KnownType{"v6e-256", "16x16", 64}));

TEST(Catalogue, RefusesWhatIsNotSold) {
  for (const char* type : {"v3-16", "v5e-8", "v4-136", "v4-2432", "v5p-8576", "v3-", "v3-8x", ""}) {
    EXPECT_FALSE(FindAccelerator(type)) << type;
  }
  EXPECT_FALSE(FindAccelerator("V4", "2x2x3"));
  EXPECT_FALSE(FindAccelerator("V4", "4x4"));
  EXPECT_FALSE(FindAccelerator("V4", ""));
  EXPECT_FALSE(FindAccelerator("V4", "16x4x4")) << "edges come shortest first";
}

TEST(Catalogue, KeepsAnAlternativeShape) {
  const auto found = FindAccelerator("V4", "4x4x16");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->type, "v4-512");
  EXPECT_EQ(found->topology, "4x4x16");
}

TEST(Catalogue, ZonesOfferDifferentThings) {
  EXPECT_TRUE(Offers("europe-west4-a", *FindAccelerator("v3-32")));
  EXPECT_TRUE(Offers("us-central1-b", *FindAccelerator("v3-8")));
  EXPECT_FALSE(Offers("us-central1-b", *FindAccelerator("v3-32")));
  EXPECT_FALSE(IsZone("europe-west4"));
  EXPECT_TRUE(IsRuntimeVersion("tpu-vm-tf-2.11.0-pod"));
  EXPECT_FALSE(IsRuntimeVersion("tpu-vm-tf-2.11.0-pods"));
  EXPECT_TRUE(HasTpuRuntime("tpu-vm-tf-2.11.0"));
  EXPECT_FALSE(HasTpuRuntime("tpu-ubuntu2204-base"));
}

TEST(LenientJson, ReadsWhatTheServiceReads) {
  const auto read = ParseLenientJson(
      R"({metadata: {'tensorflow-env-vars': '-e A=it\'s "x"',}, n: [1e5, -2, true,], "k": null})");
  ASSERT_TRUE(read);
  EXPECT_EQ((*read)["metadata"]["tensorflow-env-vars"].AsString(), "-e A=it's \"x\"");
  EXPECT_EQ((*read)["n"].AsList().size(), 3U);
  EXPECT_EQ((*read)["n"].AsList()[0].AsDouble(), 1e5);
  EXPECT_TRUE(ParseLenientJson("  ")->is_map());
}

TEST(LenientJson, StillRefusesNonsense) {
  for (const char* text : {"{", "{a:}", "{'a:1}", "nonsense", "{a:1}}", "{a:1, a:2}"}) {
    EXPECT_FALSE(ParseLenientJson(text)) << text;
  }
}

std::string MessageOf(const Answer& answer) {
  const auto* refusal = std::get_if<ApiError>(&answer);
  return refusal == nullptr ? "" : refusal->message;
}

Answer ReadNode(const std::string& json) {
  return ReadBody(Message::kNode, ParseLenientJson(json).value(), "node", ApiVersion::kV2);
}

TEST(RequestSchema, TakesBothNameStylesAndDropsOutputOnly) {
  const Answer read = ReadNode(
      "{network_config: {enable_external_ips: true, queueCount: '3'}, acceleratorType: 'v3-8',"
      " state: 'READY', id: 5, description: null}");
  const Value& node = std::get<Value>(read);
  EXPECT_TRUE(node["networkConfig"]["enableExternalIps"].AsBool());
  EXPECT_EQ(node["networkConfig"]["queueCount"], Value(3));
  EXPECT_EQ(node.AsMap().size(), 2U);
}

TEST(RequestSchema, RefusesUnknownNamesAndWrongTypes) {
  EXPECT_EQ(MessageOf(ReadNode("{color: 'red'}")),
            "Invalid JSON payload received. Unknown name \"color\" at 'node': Cannot find field.");
  EXPECT_EQ(MessageOf(ReadNode("{networkConfig: {netwrk: 'x'}}")),
            "Invalid JSON payload received. Unknown name \"netwrk\" at 'node.network_config': "
            "Cannot find field.");
  EXPECT_EQ(MessageOf(ReadNode("{description: 5}")),
            "Invalid value at 'node.description' (TYPE_STRING), 5");
  EXPECT_EQ(MessageOf(ReadNode("{metadata: {a: 1}}")),
            "Invalid value at 'node.metadata[0].value' (TYPE_STRING), 1");
  EXPECT_EQ(MessageOf(ReadNode("{schedulingConfig: {spot: 'yes'}}")),
            "Invalid value at 'node.scheduling_config.spot' (TYPE_BOOL), \"yes\"");
  EXPECT_EQ(MessageOf(ReadNode("{acceleratorConfig: {type: 'V9'}}")),
            "Invalid value at 'node.accelerator_config.type' "
            "(type.googleapis.com/google.cloud.tpu.v2.AcceleratorConfig.Type), \"V9\"");
  EXPECT_THAT(MessageOf(ReadNode("{description: ['a']}")), HasSubstr("not repeating"));
  EXPECT_THAT(MessageOf(ReadNode("{tags: 'a', labels: ['a']}")), HasSubstr("not repeating"));
}

TEST(RequestSchema, ReadsMaskPaths) {
  EXPECT_EQ(NodeMaskPath("network_config.enable_external_ips", ApiVersion::kV2),
            "networkConfig.enableExternalIps");
  EXPECT_EQ(NodeMaskPath("dataDisks", ApiVersion::kV2), "dataDisks");
  EXPECT_EQ(NodeMaskPath("colour", ApiVersion::kV2), std::nullopt);
  EXPECT_EQ(NodeMaskPath("labels.a", ApiVersion::kV2), std::nullopt);
  EXPECT_EQ(NodeMaskPath("networkConfig.", ApiVersion::kV2), std::nullopt);
}

TEST(NodeRules, MaskedButAbsentClearsAndMapsAreReplacedWhole) {
  Value resource = ParseJson(R"({"labels":{"a":"1"},"metadata":{"a":"1","b":"2"},"tags":["t"],
      "networkConfig":{"network":"n","enableExternalIps":true}})")
                       .value();
  const auto update = MakeUpdate("tags,metadata,network_config.enable_external_ips",
                                 ParseJson(R"({"metadata":{"c":"3"},"labels":{"x":"y"}})").value(),
                                 4, ApiVersion::kV2);
  ApplyUpdate(std::get<Update>(update), &resource);
  EXPECT_EQ(ToJson(resource),
            R"({"labels":{"a":"1"},"metadata":{"c":"3"},"networkConfig":{"network":"n"}})");
}

TEST(NodeRules, ChecksLabelsAndCidr) {
  const Place place{"p", "europe-west4-a"};
  const auto refused = [&](const std::string& more) {
    const auto made = MakeNode(
        place, "n",
        ParseLenientJson("{acceleratorType:'v3-8',runtimeVersion:'tpu-vm-base'," + more + "}")
            .value(),
        ApiVersion::kV2, "");
    const auto* refusal = std::get_if<ApiError>(&made);
    return refusal == nullptr ? std::string() : refusal->message;
  };
  EXPECT_EQ(refused("labels:{'a-1_':'b'},cidrBlock:'10.0.0.0/29'"), "");
  EXPECT_THAT(refused("labels:{'A':'b'}"), HasSubstr("label key"));
  EXPECT_THAT(refused("labels:{'1':'b'}"), HasSubstr("label key"));
  EXPECT_THAT(refused("labels:{a:'B'}"), HasSubstr("label"));
  EXPECT_THAT(refused("labels:{a:'" + std::string(64, 'x') + "'}"), HasSubstr("label"));
  EXPECT_THAT(refused("cidrBlock:'10.0.0.0/28'"), HasSubstr("/29"));
  EXPECT_THAT(refused("cidrBlock:'10.0.0/29'"), HasSubstr("/29"));
  EXPECT_THAT(refused("description:'" + std::string(513, 'x') + "'"), HasSubstr("512"));
  EXPECT_EQ(refused("description:'" + std::string(512, 'x') + "'"), "");
}

TEST(RuntimeEnv, ReadsDockerOptionsWithShellQuotes) {
  EXPECT_THAT(*ParseRuntimeEnv("-e A=1 --env B='x y' --env=C=\"d \\\"q\\\"\" -eD=e\\ f -e HOST"),
              ElementsAre("A=1", "B=x y", "C=d \"q\"", "D=e f"));
  EXPECT_TRUE(ParseRuntimeEnv("")->empty());
  EXPECT_THAT(*ParseRuntimeEnv("-e A="), ElementsAre("A="));
}

TEST(RuntimeEnv, RefusesWhatDockerWould) {
  for (const char* text : {"A=1", "-e", "-e 'A=1", "-e =x", "--privileged"}) {
    EXPECT_FALSE(ParseRuntimeEnv(text)) << text;
  }
}

TEST(SshKeys, AreReadAsTheGuestAgentDoes) {
  EXPECT_THAT(ReadSshKeys("\nalice:ssh-rsa AAA alice\r\nssh-rsa BBB nobody\n../x:ssh-rsa C\n"
                          "bob:ssh-ed25519 D google-ssh {\"userName\":\"bob\"}"),
              ElementsAre(Pair("alice", "ssh-rsa AAA alice"),
                          Pair("bob", "ssh-ed25519 D google-ssh {\"userName\":\"bob\"}")));
}

TEST(PageToken, ComesBackAndStrangersAreRefused) {
  EXPECT_EQ(ReadPageToken(MakePageToken("projects/p/x")), "projects/p/x");
  EXPECT_EQ(ReadPageToken("abc"), std::nullopt);
  EXPECT_EQ(ReadPageToken("6162"), std::nullopt);
  EXPECT_EQ(PageLimit({.size = 0, .after = ""}), 500);
  EXPECT_EQ(PageLimit({.size = 5000, .after = ""}), 1000);
}

class JournalTest : public ::testing::Test {
 protected:
  JournalTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "journal-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~JournalTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

TEST_F(JournalTest, RemembersPutsAndErasures) {
  {
    auto journal = Journal::Open(folder_).value();
    ASSERT_TRUE(journal->Put("a", Value(1)));
    ASSERT_TRUE(journal->Put("b", Value("x\ny")));
    ASSERT_TRUE(journal->Put("a", Value(2)));
    ASSERT_TRUE(journal->Put("c", Value(3)));
    ASSERT_TRUE(journal->Erase("c"));
  }
  auto again = Journal::Open(folder_).value();
  EXPECT_THAT(again->TakeEntries(), ElementsAre(Pair("a", Value(2)), Pair("b", Value("x\ny"))));
}

TEST_F(JournalTest, ForgetsALineThatAKillCutOff) {
  { ASSERT_TRUE(Journal::Open(folder_).value()->Put("a", Value(1))); }
  std::ofstream(folder_ + "/journal.jsonl", std::ios::app) << R"({"k":"b","v":)";
  auto again = Journal::Open(folder_);
  ASSERT_TRUE(again);
  EXPECT_THAT((*again)->TakeEntries(), ElementsAre(Pair("a", Value(1))));
}

TEST_F(JournalTest, RefusesDamageInTheMiddle) {
  std::ofstream(folder_ + "/journal.jsonl") << "garbage\n{\"k\":\"a\",\"v\":1}\n";
  const auto opened = Journal::Open(folder_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kDataLoss);
}

TEST_F(JournalTest, IsLockedAgainstASecondEmulator) {
  const auto first = Journal::Open(folder_);
  const auto second = Journal::Open(folder_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kLocked);
}

}  // namespace
}  // namespace podctl::emulator
