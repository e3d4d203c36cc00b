#include "plans/spec/source_file.h"

#include <gtest/gtest.h>

#include <string>

namespace podctl {
namespace {

std::string Shown(const std::string& text, int line) {
  return SourceFile("podctl.yaml", text).ShownLine(line);
}

TEST(SourceFileTest, ShowsALine) {
  EXPECT_EQ(Shown("pods:\n  a:\n    zone: x\n", 3), "    zone: x");
  EXPECT_EQ(Shown("pods:\n  a:\n    zone: x\n", 9), "");
}

TEST(SourceFileTest, ShowsNoLineBesideWhatIsSensitive) {
  EXPECT_EQ(Shown("tok: {value: S3, sensitive: true}", 1), "");
  EXPECT_EQ(Shown("tok: {value: S3, \"sensitive\" : maybe}", 1), "");
  EXPECT_EQ(Shown("tok: {value: S3, sensitve: true}", 1), "");
  EXPECT_EQ(Shown("m:\n  tok:\n    value: S3\n    sensitive: true\n", 3), "");
  EXPECT_EQ(Shown("m:\n  tok:\n    sensitive: true\n    # why\n\n    value: S3\n", 6), "");
  EXPECT_EQ(Shown("m:\n  tok:\n    value: |\n      S1\n      S3\n    sensitive: true\n", 5), "");
  EXPECT_EQ(Shown("m:\n  - value: S3\n    sensitive: true\n", 2), "");
  EXPECT_EQ(Shown("m:\n  tok: {value: S3,\n        sensitive: true}\n", 2), "");
  EXPECT_EQ(Shown("m:\n  tok: {sensitive: true,\n        value: S3}\n", 3), "");
  EXPECT_EQ(Shown("m: {tok: {\n  value: S3,\n  x: 1, sensitive: true}}\n", 1), "");
}

TEST(SourceFileTest, ShowsWhatIsNotSensitiveInTheSameSpec) {
  const std::string spec =
      "pods:\n"
      "  a:\n"
      "    zone: x\n"
      "    metadata:\n"
      "      tok:\n"
      "        value: S3\n"
      "        sensitive: true\n"
      "      open: {value: y, sensitive: false}\n"
      "    runtimeVersion: z\n"
      "  b: {zone: w}\n";
  EXPECT_EQ(Shown(spec, 3), "    zone: x");
  EXPECT_EQ(Shown(spec, 5), "      tok:");
  EXPECT_EQ(Shown(spec, 6), "");
  EXPECT_EQ(Shown(spec, 8), "      open: {value: y, sensitive: false}");
  EXPECT_EQ(Shown(spec, 9), "    runtimeVersion: z");
  EXPECT_EQ(Shown(spec, 10), "  b: {zone: w}");
}

TEST(SourceFileTest, ShowsNoLineOfVariables) {
  SourceFile file("a.vars.yaml", "secret: S3\n");
  file.HideLines();
  EXPECT_EQ(file.ShownLine(1), "");
}

}  // namespace
}  // namespace podctl
