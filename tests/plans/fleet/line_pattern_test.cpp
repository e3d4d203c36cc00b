#include "plans/fleet/line_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>


namespace podctl {
namespace {

using ::testing::HasSubstr;
using namespace std::string_view_literals;

bool Fits(const std::string& pattern, std::string_view line) {
  const auto parsed = LinePattern::Parse(pattern);
  EXPECT_TRUE(parsed) << pattern;
  return parsed && parsed->Matches(line);
}

std::string Refusal(const std::string& pattern) {
  const auto parsed = LinePattern::Parse(pattern);
  EXPECT_FALSE(parsed) << pattern;
  return parsed ? "" : parsed.error().message;
}

TEST(LinePatternTest, IsExtendedAndFoundAnywhere) {
  EXPECT_TRUE(Fits("loss=[0-9.]+", "step 3: loss=0.25 acc=1"));
  EXPECT_FALSE(Fits("^loss", "step 3: loss=0.25"));
  EXPECT_TRUE(Fits("(error|warning): ", "an error: x"));
  EXPECT_TRUE(Fits("^$", ""));
  EXPECT_TRUE(Fits("^$", std::string_view()));
  EXPECT_TRUE(Fits("a{2,3}b", "xaab"));
  EXPECT_TRUE(Fits(R"(\{1\})", "{1}"));
}

TEST(LinePatternTest, ALineMayHoldAnyBytes) {
  EXPECT_TRUE(Fits("end$", "begin\0end"sv));
  EXPECT_TRUE(Fits("begin",
                   "\xff\xfe"
                   "begin"sv));
}

TEST(LinePatternTest, WhatCannotBeReadOrTakesForEverIsRefused) {
  EXPECT_THAT(Refusal("("), HasSubstr("cannot be read"));
  EXPECT_THAT(Refusal("["), HasSubstr("cannot be read"));
  EXPECT_THAT(Refusal(""), HasSubstr("is empty"));
  EXPECT_THAT(Refusal(R"((a*)\1)"), HasSubstr("back-reference"));
  EXPECT_THAT(Refusal("((a{1,99}){1,99}){1,99}"), HasSubstr("repeats more than"));
  EXPECT_THAT(Refusal("a{1,99999999999}"), HasSubstr("repeats more than"));
  EXPECT_THAT(Refusal(std::string(2000, 'a')), HasSubstr("more than 1000 bytes"));
  EXPECT_THAT(Refusal(std::string("a\0b", 3)), HasSubstr("NUL"));
}

// Where one that goes back would take longer than the universe has been there.
TEST(LinePatternTest, NestedStarsTakeNoLongerThanTheLine) {
  const auto pattern = LinePattern::Parse("^(a+)+(a+)+$");
  ASSERT_TRUE(pattern);
  const std::size_t all = std::size_t{16} << 10;  // that is looked at
  EXPECT_FALSE(pattern->Matches(std::string(all - 1, 'a') + "!"));
  EXPECT_TRUE(pattern->Matches(std::string(all, 'a') + "!"));
}

TEST(FittingLinesTest, RemarksPass) {
  class Noted final : public LogWatcher {
   public:
    void OnLine(const WorkerAccess&, std::string_view line) override { lines += line; }
    void OnRemark(const std::vector<WorkerAccess>&, const LogRemark&) override { ++remarks; }
    std::string lines;
    int remarks = 0;
  } noted;
  FittingLines fitting(*LinePattern::Parse("b"), noted);
  fitting.OnLine({}, "abc");
  fitting.OnLine({}, "xyz");
  fitting.OnRemark({}, {});
  EXPECT_EQ(noted.lines, "abc");
  EXPECT_EQ(noted.remarks, 1);
}

}  // namespace
}  // namespace podctl
