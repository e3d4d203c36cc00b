// Specs that were made to hurt: each is answered with a diagnostic, without much time or memory.
// (The sizes are such that what is not bounded runs into the suite's time limit.)
#include <gtest/gtest.h>

#include <string>

#include "plans/spec/loader.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

const std::string kTop = "project: p\nzone: europe-west4-a\n";

Diagnostics Load(std::string text) {
  testing::FakeFileSystem files;
  files.SetFile("podctl.yaml", std::move(text));
  Diagnostics diagnostics;
  LoadSpec(testing::WithKinds(), files, FixedEnvironment({}), diagnostics);
  return diagnostics;
}

std::string FirstProblem(std::string text) {
  const Diagnostics diagnostics = Load(std::move(text));
  return diagnostics.items().empty() ? "" : diagnostics.items()[0].summary;
}

// Nine levels of nine aliases each: 9^9 values, unless they are counted.
std::string Laughs(const std::string& open, const std::string& close) {
  std::string text = "a: &a " + open + "x: y" + close + "\n";
  for (char level = 'b'; level <= 'j'; ++level) {
    text += std::string(1, level) + ": &" + level + " [";
    for (int i = 0; i < 9; ++i) text += std::string(i == 0 ? "*" : ", *") + char(level - 1);
    text += "]\n";
  }
  return text + "pods: {a: {labels: *j}}\n";
}

TEST(HostileSpecsTest, ABillionLaughsAreCounted) {
  const std::string expected =
      "aliases make more than 200000 values of this file, counted as often as they are used";
  EXPECT_EQ(FirstProblem(kTop + Laughs("{", "}")), expected);
  EXPECT_EQ(FirstProblem(kTop + Laughs("[", "]")), expected);
}

TEST(HostileSpecsTest, AnAnchorCannotHoldItself) {
  const std::string expected = "an alias inside of what it names";
  EXPECT_EQ(FirstProblem("pods: &a {b: *a}\n"), expected);
  EXPECT_EQ(FirstProblem("pods: &a\n  <<: *a\n"), expected);
  EXPECT_EQ(FirstProblem("&a [*a]\n"), expected);
}

TEST(HostileSpecsTest, AHugeFileIsNotRead) {
  constexpr std::size_t kHundredMegabytes = 100'000'000;
  const std::string problem = FirstProblem("project: " + std::string(kHundredMegabytes, 'x'));
  EXPECT_NE(problem.find("podctl.yaml"), std::string::npos) << problem;
}

TEST(HostileSpecsTest, AHugeNameIsShownInPart) {
  const Diagnostics diagnostics = Load("x" + std::string(1'000'000, 'y') + ": 1\n");
  ASSERT_TRUE(diagnostics.has_errors());
  for (const Diagnostic& diagnostic : diagnostics.items()) {
    EXPECT_LT(diagnostic.summary.size(), 2000U);
  }
}

TEST(HostileSpecsTest, ManyUnknownPodsCostLittle) {
  std::string text = kTop + "pods:\n";
  for (int i = 0; i < 15'000; ++i) {
    const std::string number = std::to_string(i);
    text += "  k" + number + ": {acceleratorType: v3-8, runtimeVersion: x, dependsOn: [pod.q" +
            number + "]}\n";
  }
  EXPECT_EQ(FirstProblem(text), "there is no pod `q0`");
}

TEST(HostileSpecsTest, DefaultsAreNotMultipliedWithoutEnd) {
  std::string text = kTop + "defaults:\n  labels:\n";
  for (int i = 0; i < 5'000; ++i) text += "    k" + std::to_string(i) + ": v\n";
  text += "pods:\n";
  for (int i = 0; i < 10'000; ++i) {
    text += "  p" + std::to_string(i) + ": {acceleratorType: v3-8, runtimeVersion: x}\n";
  }
  EXPECT_NE(FirstProblem(text).find("which are too many for 10000 pods"), std::string::npos);
}

}  // namespace
}  // namespace podctl
