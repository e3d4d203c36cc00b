// podctl version: which build this is.
#include "cmd/commands/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "providers/base/json.h"
#include "tests/support/golden.h"

namespace podctl {
namespace {

using ::testing::MatchesRegex;

constexpr BuildFacts kFacts{"a674bc85ca6fbc7d4eae6c046e8f4baa85667ce3", true, "Release",
                            "GNU 12.2.0", "0.7.0"};

TEST(VersionTest, TellsCommitBuildLibrariesAndFormats) {
  const Value document =
      VersionDocument(kFacts, {{"libcurl", "7.88.1"}, {"openssl", "3.0.15"}, {"zlib", ""}});
  testing::ExpectGolden("cmd/version.json", ToJson(document, JsonStyle::kIndented) + "\n");
}

TEST(VersionTest, WhatABuildDoesNotKnowIsNull) {
  const Value document = VersionDocument({"", false, "", "", ""}, {});
  EXPECT_TRUE(document["commit"].is_null());
  EXPECT_TRUE(document["modified"].is_null());
  EXPECT_TRUE(document["build"]["type"].is_null());
}

TEST(VersionTest, AsksTheLibrariesThemselves) {
  const LibraryVersions libraries = LoadedLibraries();
  for (const char* name : {"libcurl", "libssh2", "openssl", "zlib"}) {
    ASSERT_TRUE(libraries.contains(name)) << name;
    EXPECT_THAT(libraries.at(name), MatchesRegex("[0-9]+\\.[0-9]+.*")) << name;
  }
  EXPECT_THAT(libraries.at("libcurl_with"), MatchesRegex(".*/[0-9].*"));
}

TEST(VersionTest, KnowsTheCommitOfThisBuild) {
  EXPECT_THAT(std::string(kBuildFacts.commit), MatchesRegex("([0-9a-f]{40})?"));
  EXPECT_NE(kBuildFacts.compiler, "");
}

}  // namespace
}  // namespace podctl
