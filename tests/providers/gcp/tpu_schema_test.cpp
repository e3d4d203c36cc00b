#include "providers/gcp/tpu_schema.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "providers/base/json.h"

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

TEST(TpuSchemaTest, OtherNormalForms) {
  EXPECT_EQ(Normal("acceleratorType", "V3-8"), Value("v3-8"));
  EXPECT_EQ(Normal("runtimeVersion", "V3-8"), Value("V3-8"));
  EXPECT_EQ(ToJson(Normal("serviceAccount.scope",
                          Value::List{"b", "https://www.googleapis.com/auth/pubsub", "a", "b"})),
            R"(["a","b"])");
}

}  // namespace
}  // namespace podctl::gcp
