#include "providers/gcp/available_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "providers/base/json.h"

namespace podctl::gcp {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Value> Listed(const std::string& json) {
  const auto list = ParseJson(json);
  return list ? std::vector<Value>(list->AsList().begin(), list->AsList().end())
              : std::vector<Value>();
}

std::vector<std::string> Names(const std::vector<AvailableType>& types) {
  std::vector<std::string> names;
  for (const AvailableType& type : types) names.push_back(type.type);
  return names;
}

TEST(AvailableTypesTest, TheServicesListIsJoinedWithChipsAndHosts) {
  const auto types = JoinTypes(Listed(
      R"([{"type":"v4-512","acceleratorConfigs":[{"type":"V4","topology":"4x8x8"},
          {"type":"V4","topology":"4x4x16"}]},{"type":"v3-8"}])"));
  ASSERT_EQ(types.size(), 2U);
  EXPECT_EQ(types[0].type, "v3-8");
  EXPECT_EQ(types[0].chips, 4);
  EXPECT_EQ(types[0].hosts, 1);
  EXPECT_THAT(types[0].topologies, ElementsAre("2x2"));
  EXPECT_EQ(types[1].chips, 256);
  EXPECT_EQ(types[1].hosts, 64);
  EXPECT_THAT(types[1].topologies, ElementsAre("4x8x8", "4x4x16"));
}

TEST(AvailableTypesTest, GenerationsComeInOrderAndSizesGrow) {
  EXPECT_THAT(Names(JoinTypes(Listed(R"([{"type":"v5p-16"},{"type":"v9-32"},{"type":"v3-128"},
                  {"type":"v9-8"},{"type":"v3-32"},{"type":"v2-8"}])"))),
              ElementsAre("v2-8", "v3-32", "v3-128", "v5p-16", "v9-8", "v9-32"));
}

// A new type of a known generation is still counted by its topology; of a new one nothing is known.
TEST(AvailableTypesTest, WhatTheCatalogueDoesNotKnowIsShownAllTheSame) {
  const auto types = JoinTypes(
      Listed(R"([{"type":"v5p-99","acceleratorConfigs":[{"type":"V5P","topology":"2x2x4"}]},
                 {"type":"v9-8","acceleratorConfigs":[{"type":"V9","topology":"2x2"}]},
                 {"name":"projects/p/locations/z/acceleratorTypes/v9-1"},{"new":1}])"));
  ASSERT_EQ(types.size(), 4U);
  EXPECT_THAT(Names(types), ElementsAre("", "v5p-99", "v9-1", "v9-8"));
  EXPECT_EQ(types[1].chips, 16);
  EXPECT_EQ(types[1].hosts, 4);
  EXPECT_FALSE(types[3].chips.has_value());
  EXPECT_THAT(types[3].topologies, ElementsAre("2x2"));
}

TEST(AvailableTypesTest, TheCatalogueKnowsDocumentedZones) {
  EXPECT_EQ(BuiltInTypes("").size(), 253U);
  EXPECT_THAT(Names(BuiltInTypes("us-central1-c")), ElementsAre("v2-8"));
  const auto there = Names(BuiltInTypes("europe-west4-a"));
  EXPECT_EQ(std::count(there.begin(), there.end(), "v3-2048"), 1);
  EXPECT_EQ(std::count(there.begin(), there.end(), "v4-8"), 0);
  EXPECT_THAT(BuiltInTypes("nowhere-1"), IsEmpty());
}

TEST(AvailableTypesTest, NumbersInNamesAreComparedAsNumbers) {
  EXPECT_TRUE(NaturallyBefore("tpu-vm-tf-2.9.1", "tpu-vm-tf-2.11.0"));
  EXPECT_FALSE(NaturallyBefore("tpu-vm-tf-2.11.0", "tpu-vm-tf-2.9.1"));
  EXPECT_TRUE(NaturallyBefore("a", "a-pod"));
  EXPECT_FALSE(NaturallyBefore("a1", "a1"));
  EXPECT_TRUE(NaturallyBefore("v2-alpha", "v10"));
}

}  // namespace
}  // namespace podctl::gcp
