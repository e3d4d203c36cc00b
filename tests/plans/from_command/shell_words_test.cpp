// Lines as a POSIX shell splits them.
#include "plans/from_command/shell_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace podctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Words(std::string_view line) {
  const auto split = SplitShellLine(line);
  return split ? split->words : std::vector<std::string>{"error: " + split.error().message};
}

TEST(ShellWords, BlanksPartWordsAndQuotesJoinThem) {
  EXPECT_THAT(Words("  a  b\tc "), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Words("a 'b c' \"d e\""), ElementsAre("a", "b c", "d e"));
  EXPECT_THAT(Words("--x='a b'c\"d\"e"), ElementsAre("--x=a bcde"));
  EXPECT_THAT(Words("a '' \"\""), ElementsAre("a", "", ""));
  EXPECT_THAT(Words(R"(a\ b \' \\ \n)"), ElementsAre("a b", "'", "\\", "n"));
  EXPECT_THAT(Words(R"('a\b' "c\d" "e\"f" "g\\h" "i\$j")"),
              ElementsAre("a\\b", "c\\d", "e\"f", "g\\h", "i$j"));
}

TEST(ShellWords, ABackslashAtTheEndOfALineJoinsLines) {
  EXPECT_THAT(Words("a \\\n  b \\\r\n --c=d\\\ne"), ElementsAre("a", "b", "--c=de"));
  EXPECT_THAT(Words("a \"b\\\nc\""), ElementsAre("a", "bc"));
  EXPECT_THAT(Words("\n\n$ gcloud x"), ElementsAre("gcloud", "x"));
  EXPECT_THAT(Words("a b # and so on"), ElementsAre("a", "b"));
  EXPECT_THAT(Words("a b#c"), ElementsAre("a", "b#c"));
}

TEST(ShellWords, WhatAShellWouldPutInIsKept) {
  const auto split = SplitShellLine(
      R"(a --z=$ZONE "${P:-x y}" $(hostname -s | tr a b) `id` '$no' \$no cost$ $1 $ZONE)");
  ASSERT_TRUE(split);
  EXPECT_THAT(split->words, ElementsAre("a", "--z=$ZONE", "${P:-x y}", "$(hostname -s | tr a b)",
                                        "`id`", "$no", "$no", "cost$", "$1", "$ZONE"));
  EXPECT_THAT(split->expansions,
              ElementsAre("$ZONE", "${P:-x y}", "$(hostname -s | tr a b)", "`id`", "$1"));
}

TEST(ShellWords, AnOperatorEndsTheCommand) {
  EXPECT_EQ(SplitShellLine("a b && echo c")->rest, "&& echo c");
  EXPECT_EQ(SplitShellLine("a b > file")->rest, "> file");
  EXPECT_EQ(SplitShellLine("a b\necho c")->rest, "echo c");
  EXPECT_THAT(SplitShellLine("a b;")->rest, IsEmpty());
  EXPECT_THAT(SplitShellLine("a b\n\n")->rest, IsEmpty());
  EXPECT_THAT(SplitShellLine("a 'b && c'")->rest, IsEmpty());
  EXPECT_THAT(Words("a&&b"), ElementsAre("a"));
}

TEST(ShellWords, WhatIsOpenIsAnError) {
  EXPECT_THAT(Words("a 'b"), ElementsAre("error: the line has an open single quote"));
  EXPECT_THAT(Words("a \"b"), ElementsAre("error: the line has an open double quote"));
  EXPECT_THAT(Words("a b\\"), ElementsAre("error: the line has an open backslash"));
  EXPECT_THAT(Words("a $(b"), ElementsAre("error: the line has an open `$(`"));
  EXPECT_THAT(Words("a ${b"), ElementsAre("error: the line has an open `${`"));
  EXPECT_THAT(Words("a `b"), ElementsAre("error: the line has an open backquote"));
  EXPECT_THAT(Words("  # nothing"), ElementsAre("error: there is no command in the line"));
  EXPECT_THAT(Words(std::string(kMostLineBytes + 1, 'a')).front(),
              HasSubstr("longer than 128 KiB"));
  EXPECT_THAT(Words("a \xff"), ElementsAre("error: the line is no UTF-8 text"));
}

}  // namespace
}  // namespace podctl
