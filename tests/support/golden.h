// Golden files: every text a user can see stands in tests/golden/ and is read in review.
//
// PODCTL_UPDATE_GOLDEN=1 rewrites them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/folders.h"

namespace podctl::testing {

inline void ExpectGolden(const std::string& name, const std::string& actual) {
  const std::filesystem::path path = std::filesystem::path(SourceFolder()) / "tests/golden" / name;
  if (std::getenv("PODCTL_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << actual;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path << " is missing; make it with PODCTL_UPDATE_GOLDEN=1";
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(expected.str(), actual) << "differs from " << path;
}

}  // namespace podctl::testing
