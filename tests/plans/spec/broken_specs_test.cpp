// Every broken spec in tests/golden/spec/*.yaml, with what a user is told about it beside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "cmd/views/snippet.h"
#include "plans/spec/loader.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/folders.h"
#include "tests/support/golden.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

std::vector<std::string> BrokenSpecs() {
  std::vector<std::string> names;
  const auto folder = std::filesystem::path(podctl::testing::SourceFolder()) / "tests/golden/spec";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class BrokenSpecTest : public ::testing::TestWithParam<std::string> {};

TEST_P(BrokenSpecTest, IsExplained) {
  const auto path =
      std::filesystem::path(podctl::testing::SourceFolder()) / "tests/golden/spec" / GetParam();
  std::ifstream input(path.string() + ".yaml", std::ios::binary);
  std::stringstream text;
  text << input.rdbuf();
  testing::FakeFileSystem files;
  files.SetFile("podctl.yaml", text.str());

  Diagnostics diagnostics;
  LoadSpec(testing::WithKinds(), files, FixedEnvironment({}), diagnostics);

  EXPECT_TRUE(diagnostics.has_errors());
  testing::ExpectGolden("spec/" + GetParam() + ".txt", FormatDiagnostics(diagnostics, {}));
}

// A hundred mutations of each file: every load ends, and every problem has a place in the file.
TEST_P(BrokenSpecTest, SurvivesMutations) {
  const auto path =
      std::filesystem::path(podctl::testing::SourceFolder()) / "tests/golden/spec" / GetParam();
  std::ifstream input(path.string() + ".yaml", std::ios::binary);
  std::stringstream stream;
  stream << input.rdbuf();
  const std::string alphabet = "{}[]:,-|&*!'\"# \n\\ab0${}.<~";
  std::mt19937 random(7);  // NOLINT: the same mutations every time
  for (int round = 0; round < 100; ++round) {
    std::string text = stream.str() + " ";
    for (int i = 0; i < 3; ++i) {
      const std::size_t at = random() % text.size();
      const char letter = alphabet[random() % alphabet.size()];
      if (random() % 2 == 0) {
        text[at] = letter;
      } else {
        text.insert(at, 1, letter);
      }
    }
    testing::FakeFileSystem files;
    files.SetFile("podctl.yaml", text);
    Diagnostics diagnostics;
    LoadSpec(testing::WithKinds(), files, FixedEnvironment({}), diagnostics);
    const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
    for (const Diagnostic& diagnostic : diagnostics.items()) {
      EXPECT_FALSE(diagnostic.summary.empty()) << text;
      EXPECT_LE(diagnostic.place.line, lines) << text;
      EXPECT_LE(static_cast<std::size_t>(diagnostic.place.byte), text.size()) << text;
    }
    FormatDiagnostics(diagnostics, {});
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, BrokenSpecTest, ::testing::ValuesIn(BrokenSpecs()),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace podctl
