#include "providers/gcp/tpu_schema.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "providers/base/json.h"
#include "tests/support/golden.h"

namespace podctl::gcp {
namespace {

TEST(TpuSchemaTest, EveryFieldIsWhole) {
  std::set<std::string_view> seen;
  for (const Field& field : NodeFields()) {
    EXPECT_TRUE(seen.insert(field.path).second) << field.path;
    EXPECT_TRUE(field.doc.ends_with('.')) << field.path;
    EXPECT_EQ(field.type == FieldType::kEnum, !field.enum_values.empty()) << field.path;
    EXPECT_EQ(field.field_class == FieldClass::kPatchable, !field.mask.empty()) << field.path;
    // A message stands before its members.
    const auto dot = field.path.rfind('.');
    if (dot == std::string_view::npos) continue;
    std::string_view parent = field.path.substr(0, dot);
    if (parent.ends_with("[]")) parent.remove_suffix(2);
    EXPECT_EQ(seen.count(parent), 1u) << field.path;
  }
}

TEST(TpuSchemaTest, WhatNodesPatchTakesIsPatchable) {
  std::set<std::string_view> masks;
  for (const Field& field : NodeFields()) {
    if (!field.mask.empty()) masks.insert(field.mask);
  }
  EXPECT_EQ(masks, (std::set<std::string_view>{"dataDisks", "description", "labels", "metadata",
                                               "networkConfig.enableExternalIps", "tags"}));
  EXPECT_EQ(FindNodeField("acceleratorType")->field_class, FieldClass::kImmutable);
  EXPECT_EQ(FindNodeField("networkConfig.network")->field_class, FieldClass::kImmutable);
  EXPECT_EQ(FindNodeField("networkEndpoints[].ipAddress")->field_class, FieldClass::kOutputOnly);
  EXPECT_EQ(FindNodeField("nonsense"), nullptr);
}

Value Normal(const char* path, const Value& value) {
  return Normalize(*FindNodeField(path), value, "p", "europe-west4-a");
}

TEST(TpuSchemaTest, NetworksAreComparedByTheirFullNames) {
  for (const char* text :
       {"default", "global/networks/default", "projects/p/global/networks/default",
        "https://www.googleapis.com/compute/v1/projects/p/global/networks/default"}) {
    EXPECT_EQ(Normal("networkConfig.network", text), Value("projects/p/global/networks/default"));
  }
  EXPECT_EQ(Normal("networkConfig.network", "projects/other/global/networks/x"),
            Value("projects/other/global/networks/x"));
  for (const char* text : {"default", "regions/europe-west4/subnetworks/default",
                           "projects/p/regions/europe-west4/subnetworks/default"}) {
    EXPECT_EQ(Normal("networkConfig.subnetwork", text),
              Value("projects/p/regions/europe-west4/subnetworks/default"));
  }
}

// docs/node-fields.md is made of the table, so it cannot say anything else than podctl does.
std::string Listed(std::string_view words) {
  std::string list(words);
  for (std::size_t at = 0; (at = list.find(' ', at)) != std::string::npos; at += 2) {
    list.replace(at, 1, ", ");
  }
  return list;
}

std::string TypeWords(const Field& field) {
  switch (field.type) {
    case FieldType::kString:
      return "text";
    case FieldType::kBool:
      return "true or false";
    case FieldType::kInt:
    case FieldType::kInt64:
      return "number";
    case FieldType::kStringMap:
      return "map of texts";
    case FieldType::kStringList:
      return "list of texts";
    case FieldType::kMessage:
      return "map";
    case FieldType::kMessageList:
      return "list of maps";
    case FieldType::kEnum:
      break;
  }
  return Listed(field.enum_values);
}

TEST(TpuSchemaTest, TheDocumentationSaysWhatTheTableSays) {
  std::string text =
      "# The fields of a node\n\n"
      "The keys of a pod that are fields of the Cloud TPU API's `Node`. This page is made from the "
      "table that podctl\nitself goes by (`providers/gcp/tpu_schema.cpp`).\n\n"
      "A change of a field is a *patch*, which leaves the node running, or a *replacement* of the "
      "node. Fields marked\nv2alpha1 need `apiVersion: v2alpha1` in the pod.\n\n"
      "| field | value | a change is | |\n|---|---|---|---|\n";
  for (const Field& field : NodeFields()) {
    if (field.field_class == FieldClass::kOutputOnly) continue;
    const bool message = field.type == FieldType::kMessage || field.type == FieldType::kMessageList;
    const bool whole = field.path.find("[]") == std::string_view::npos;
    const std::string_view change = field.field_class == FieldClass::kPatchable ? "a patch"
                                    : message && whole                          ? ""
                                                                                : "a replacement";
    text += fmt::format("| `{}` | {} | {} | {}{} |\n", field.path, TypeWords(field), change,
                        field.version == ApiVersion::kV2 ? "" : "v2alpha1. ", field.doc);
  }
  text += "\nWhat the service writes by itself is refused in a spec:\n\n| field | |\n|---|---|\n";
  for (const Field& field : NodeFields()) {
    if (field.field_class != FieldClass::kOutputOnly) continue;
    text += fmt::format("| `{}` | {} |\n", field.path, field.doc);
  }
  testing::ExpectGolden("../../docs/node-fields.md", text);
}

TEST(TpuSchemaTest, WhatOnlyV2Alpha1HasIsMarked) {
  std::set<std::string_view> alpha;
  for (const Field& field : NodeFields()) {
    if (field.version == ApiVersion::kV2Alpha1) alpha.insert(field.path);
  }
  EXPECT_EQ(alpha, (std::set<std::string_view>{
                       "autocheckpointEnabled", "bootDiskConfig.diskSizeGb",
                       "bootDiskConfig.enableConfidentialCompute", "bootDiskConfig.provisionedIops",
                       "bootDiskConfig.provisionedThroughput", "bootDiskConfig.sourceImage",
                       "bootDiskConfig.storagePool", "dataDisks[].workerIds",
                       "schedulingConfig.provisioningModel", "schedulingConfig.reservationName",
                       "schedulingConfig.terminationTimestamp"}));
  EXPECT_TRUE(IsEnumWord(*FindNodeField("state"), "UNKNOWN"));
  EXPECT_TRUE(IsEnumWord(*FindNodeField("state"), "CREATING"));
  EXPECT_FALSE(IsEnumWord(*FindNodeField("state"), "READ"));
  EXPECT_FALSE(IsEnumWord(*FindNodeField("state"), ""));
}

TEST(TpuSchemaTest, OtherNormalForms) {
  EXPECT_EQ(Normal("bootDiskConfig.sourceImage",
                   "https://www.googleapis.com/compute/v1/projects/p/global/images/i"),
            Value("projects/p/global/images/i"));
  EXPECT_EQ(Normal("bootDiskConfig.customerEncryptionKey.kmsKeyName", "k/c/cryptoKeyVersions/1"),
            Value("k/c"));
  EXPECT_EQ(Normal("schedulingConfig.reservationName", "projects/p/locations/z/reservations/r"),
            Normal("schedulingConfig.reservationName", "projects/1/locations/z/reservations/r"));
  EXPECT_EQ(Normal("acceleratorType", "V3-8"), Value("v3-8"));
  EXPECT_EQ(Normal("runtimeVersion", "V3-8"), Value("V3-8"));
  EXPECT_EQ(ToJson(Normal("serviceAccount.scope",
                          Value::List{"b", "https://www.googleapis.com/auth/pubsub", "a", "b"})),
            R"(["a","b"])");
}

}  // namespace
}  // namespace podctl::gcp
