#include <gtest/gtest.h>

#include <set>
#include <string>

#include "providers/gcp/available_types.h"

namespace podctl::gcp {
namespace {

TEST(AcceleratorCatalogTest, KnowsTheSizesOfEachGeneration) {
  struct Row {
    const char* type;
    const char* topology;
    int chips;
    int workers;
  };
  constexpr Row kRows[] = {
      {"v2-8", "2x2", 4, 1},
      {"v3-32", "4x4", 16, 4},
      {"v3-2048", "32x32", 1024, 256},
      {"v4-8", "2x2x1", 4, 1},
      {"v4-384", "4x4x12", 192, 48},
      {"v5litepod-1", "1x1", 1, 1},
      {"v5litepod-8", "2x4", 8, 1},
      {"v5litepod-16", "4x4", 16, 4},
      {"v5p-12288", "16x16x24", 6144, 1536},
      {"v6e-8", "2x4", 8, 1},
      {"v6e-256", "16x16", 256, 64},
      {"tpu7x-2", "1x1x1", 1, 1},
  };
  for (const Row& row : kRows) {
    const auto found = FindAccelerator(row.type);
    ASSERT_TRUE(found.has_value()) << row.type;
    EXPECT_EQ(found->topology, row.topology);
    EXPECT_EQ(found->chips, row.chips) << row.type;
    EXPECT_EQ(found->workers, row.workers) << row.type;
  }
}

TEST(AcceleratorCatalogTest, TheNumberInTheNameAgreesWithTheTopology) {
  std::set<std::string> seen;
  for (const std::string& type : AcceleratorTypes()) {
    EXPECT_TRUE(seen.insert(type).second) << type;
    const auto found = FindAccelerator(type);
    ASSERT_TRUE(found.has_value()) << type;
    const int number = std::stoi(type.substr(type.rfind('-') + 1));
    const bool counts_chips = type.starts_with("v5litepod") || type.starts_with("v6e");
    EXPECT_EQ(found->chips, counts_chips ? number : number / 2) << type;
  }
  EXPECT_EQ(seen.size(), 253u);
}

TEST(AcceleratorCatalogTest, IsSilentOnWhatItDoesNotKnow) {
  for (const char* type : {"", "v3", "v3-", "v3-33", "v9-8", "-", "v3-32-", "V3-32"}) {
    EXPECT_FALSE(FindAccelerator(type).has_value()) << type;
  }
  EXPECT_FALSE(FindAccelerator("V4", "2x2x").has_value());
  EXPECT_FALSE(FindAccelerator("V4", "99999x99999").has_value());
  EXPECT_FALSE(FindAccelerator("V9", "2x2").has_value());
}

TEST(AcceleratorCatalogTest, SuggestsWhatIsNear) {
  EXPECT_EQ(NearestAccelerator("v3-33"), "v3-32");
  EXPECT_EQ(NearestAccelerator("v3-30"), "v3-32");
  EXPECT_EQ(NearestAccelerator("v5e-16"), "v5litepod-16");
  EXPECT_EQ(NearestAccelerator("v5litpod-16"), "v5litepod-16");
  EXPECT_EQ(NearestAccelerator("nvidia-h100"), "");
  EXPECT_EQ(NearestAccelerator(""), "");
}

TEST(AcceleratorCatalogTest, ExpectsWorkers) {
  Value node;
  EXPECT_FALSE(ExpectedWorkers(node).has_value());
  node.Set("acceleratorType", "v3-32");
  EXPECT_EQ(ExpectedWorkers(node), 4);
  Value other;
  other.SetPath("acceleratorConfig.type", "V4");
  other.SetPath("acceleratorConfig.topology", "4x4x8");
  EXPECT_EQ(ExpectedWorkers(other), 32);
}

}  // namespace
}  // namespace podctl::gcp
