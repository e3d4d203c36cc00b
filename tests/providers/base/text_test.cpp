#include "providers/base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "providers/base/foreign_text.h"

namespace podctl {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

TEST(ParseDuration, ReadsWhatTheInterfacePromises) {
  EXPECT_EQ(ParseDuration("90s"), milliseconds(90'000));
  EXPECT_EQ(ParseDuration("0.5s"), milliseconds(500));
  EXPECT_EQ(ParseDuration("250ms"), milliseconds(250));
  EXPECT_EQ(ParseDuration("10m"), milliseconds(600'000));
  EXPECT_EQ(ParseDuration("1h30m"), milliseconds(5'400'000));
  EXPECT_EQ(ParseDuration("0s"), milliseconds(0));
  EXPECT_EQ(ParseDuration("1d"), milliseconds(86'400'000));
}

TEST(ParseDuration, RefusesWhatIsNoDuration) {
  for (const char* text : {"", "10", "s", "-5s", "+5s", "5 s", "5x", "1.2.3s", ".", ".s", "5s ",
                           "1e3s", "nans", "infs", "4000d", "99999999999999999999h"}) {
    EXPECT_EQ(ParseDuration(text), std::nullopt) << text;
  }
}

TEST(FormatDuration, IsForPeople) {
  EXPECT_EQ(FormatDuration(milliseconds(500)), "0.5s");
  EXPECT_EQ(FormatDuration(milliseconds(2'000)), "2s");
  EXPECT_EQ(FormatDuration(milliseconds(9'980)), "10s");
  EXPECT_EQ(FormatDuration(milliseconds(20'400)), "20s");
  EXPECT_EQ(FormatDuration(milliseconds(60'000)), "1m");
  EXPECT_EQ(FormatDuration(milliseconds(90'000)), "1m30s");
  EXPECT_EQ(FormatDuration(milliseconds(7'500'000)), "2h5m");
  EXPECT_EQ(FormatDuration(milliseconds(-5)), "0s");
}

TEST(Ranges, AreWrittenShort) {
  EXPECT_EQ(FormatRanges({}), "");
  EXPECT_EQ(FormatRanges({3}), "3");
  EXPECT_EQ(FormatRanges({5, 2, 0, 1, 1}), "0-2,5");
}

TEST(Sentence, BeginsAndEndsAsOne) {
  EXPECT_EQ(Sentence("try again later"), "Try again later.");
  EXPECT_EQ(Sentence("Done already."), "Done already.");
  EXPECT_EQ(Sentence("podctl did it"), "podctl did it.");
  EXPECT_EQ(Sentence("`x` is wrong"), "`x` is wrong.");
  EXPECT_EQ(Sentence(""), "");
}

TEST(NearestWord, FindsTypos) {
  const std::vector<std::string> keys = {"runtimeVersion", "labels", "tags", "zone"};
  EXPECT_EQ(NearestWord("runtimeVerson", keys), "runtimeVersion");
  EXPECT_EQ(NearestWord("RUNTIMEVERSION", keys), "runtimeVersion");
  EXPECT_EQ(NearestWord("lables", keys), "labels");
  EXPECT_EQ(NearestWord("plna", {"apply", "plan"}), "plan");  // neighbours swapped
  EXPECT_EQ(NearestWord("tag", keys), "tags");
}

TEST(NearestWord, LeavesStrangersAlone) {
  const std::vector<std::string> keys = {"runtimeVersion", "labels", "tags", "zone"};
  EXPECT_EQ(NearestWord("bootstrap", keys), "");
  EXPECT_EQ(NearestWord("", keys), "");
  EXPECT_EQ(NearestWord("x", keys), "");
  EXPECT_EQ(NearestWord(std::string(1000, 'a'), {std::string(1000, 'a')}), "");
}

TEST(ShellQuote, KeepsAWordOneWord) {
  EXPECT_EQ(ShellQuote("plain-1.2/x=y"), "plain-1.2/x=y");
  EXPECT_EQ(ShellQuote(""), "''");
  EXPECT_EQ(ShellQuote("two words"), "'two words'");
  EXPECT_EQ(ShellQuote("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellQuote("$(rm)"), "'$(rm)'");
  EXPECT_EQ(ShellQuote("~"), "'~'");
  EXPECT_EQ(ShellQuote("a\nb"), "'a\nb'");
}

TEST(VisibleControls, CannotDriveATerminal) {
  EXPECT_EQ(VisibleControls("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(VisibleControls("a\tb\r\x07\x7f"), "a\tb\\x0d\\x07\\u007f");
  EXPECT_EQ(VisibleControls("\xc2\x9b"
                            "2J"),
            "\\u009b2J");  // C1 CSI as UTF-8
  EXPECT_EQ(VisibleControls("Grüße, 世界"), "Grüße, 世界");
  EXPECT_EQ(VisibleControls("\xc2\xa0\xc2"), "\xc2\xa0\\xc2");  // no more than what is broken
}

// What takes no room can make two names look alike, or spell a sentence that nobody sees.
TEST(VisibleControls, HidesNothing) {
  EXPECT_EQ(VisibleControls("a\u200bb\u00adc\ufeffd\u2060"), "a\\u200bb\\u00adc\\ufeffd\\u2060");
  EXPECT_EQ(VisibleControls("\U000e0041"), "\\udb40\\udc41") << "as JSON has it";
  EXPECT_EQ(VisibleControls("\u200d \U0001f600"), "\u200d \U0001f600") << "people write these";
}

TEST(ForeignText, LinesAndNamesOfOthers) {
  EXPECT_EQ(VisibleControls("a\xe2\x80\xae"
                            "b \xe2\x81\xa6 \xd8\x9c \xe2\x80\xa8 \x9b \xff"),
            "a\\u202eb \\u2066 \\u061c \\u2028 \\x9b \\xff");
  EXPECT_EQ(VisibleLine("a\rb\r"), "a\\x0db") << "CR LF ends a line";
  EXPECT_EQ(VisibleControls(VisibleControls("\xc0\xaf\x1b")), VisibleControls("\xc0\xaf\x1b"));
  for (const char* bad : {"a\n", "a\tb", "\x1b", "\x7f", "\xc2\x85", "\x85", "\xe2\x80\x8f"}) {
    EXPECT_TRUE(HoldsControls(bad)) << bad;
  }
  for (const char* good : {"", "a b", "\xc3\xa4", "latin \xe9", "\xf0\x9f\x98\x80"}) {
    EXPECT_FALSE(HoldsControls(good)) << good;
  }
}

TEST(Lines, AreSplitAndTrimmed) {
  EXPECT_THAT(SplitLines("a\r\nb\n\nc"), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(SplitLines("a\n"), ElementsAre("a"));
  EXPECT_TRUE(SplitLines("").empty());
  EXPECT_EQ(TrimBlanks(" \t a b \r\n"), "a b");
  EXPECT_EQ(TrimBlanks(" \n"), "");
  EXPECT_EQ(Join({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(Plural(1, "worker"), "1 worker");
  EXPECT_EQ(Plural(4, "worker"), "4 workers");
  EXPECT_EQ(Plural(0, "worker"), "0 workers");
}

}  // namespace
}  // namespace podctl
