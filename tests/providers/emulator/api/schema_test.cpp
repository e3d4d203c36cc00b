// How bodies of requests are read: lenient JSON, and the schema of messages.
#include "providers/emulator/api/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "providers/base/json.h"

namespace podctl::emulator {
namespace {

using ::testing::HasSubstr;

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

}  // namespace
}  // namespace podctl::emulator
