// All that leaves podctl, however it is cut into pieces: others' text is seen and not obeyed.
#include "cmd/output_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "providers/base/json.h"

namespace podctl {
namespace {

using ::testing::HasSubstr;

// What comes out, written in pieces of `piece` bytes.
std::string Out(std::string_view text, OutputFilter::Rules rules = {}, std::size_t piece = 1000) {
  std::stringbuf to;
  {
    OutputFilter outlet(to, rules);
    std::ostream stream(&outlet);
    for (std::size_t at = 0; at < text.size(); at += piece) {
      stream << text.substr(at, piece) << std::flush;
    }
  }
  return to.str();
}

TEST(OutputFilter, ControlCharactersAreSeen) {
  const std::string text =
      "a\tb\x1b[2J\x07 \x7f \xc2\x9b"
      "c \xe2\x80\xae \xd8\x9c \xff\xc3( é \xf0\x9f\x98\x80 \xed\xa0\x80\n";
  const std::string clean =
      "a\tb\\x1b[2J\\x07 \\u007f \\u009bc \\u202e \\u061c \\xff\\xc3( é \xf0\x9f\x98\x80 "
      "\\xed\\xa0\\x80\n";
  for (const std::size_t piece : {1U, 2U, 3U, 1000U}) EXPECT_EQ(Out(text, {}, piece), clean);
  EXPECT_EQ(Out(clean), clean) << "what was made visible stays as it is";
  EXPECT_EQ(Out("cut \xf0\x9f"), "cut \\xf0\\x9f");
}

TEST(OutputFilter, ALineEndsWithNewlineOnly) {
  for (const std::size_t piece : {1U, 1000U}) {
    EXPECT_EQ(Out("a\r\nb\rc\r\r\n", {}, piece), "a\nb\\x0dc\\x0d\n");
    EXPECT_EQ(Out("a\r", {}, piece), "a\\x0d");
  }
}

TEST(OutputFilter, JsonStaysJson) {
  Value value = Value::EmptyMap();
  value.Set("text", "\x1b\r\n\x7f \xc2\x9b \xe2\x80\xae ##[error]x \\\xc2\x9b");
  const auto back = ParseJson(Out(ToJson(value), {true, true}));
  ASSERT_TRUE(back);
  EXPECT_EQ((*back)["text"].AsString(), value["text"].AsString());
}

TEST(OutputFilter, OnlyItsOwnColoursPassAndOnlyWhereTheyAreWanted) {
  EXPECT_EQ(Out("\x1b[31mred\x1b[0m", {true, false}), "\x1b[31mred\x1b[0m");
  EXPECT_EQ(Out("\x1b[31mred", {false, false}), "\\x1b[31mred");
  for (const std::string text : {"\x1b[8m", "\x1b[1A", "\x1b]0;x\x07", "\x1b[2K", "\x1b"}) {
    EXPECT_THAT(Out(text, {true, false}), HasSubstr("\\x1b")) << text;
  }
}

TEST(OutputFilter, ItsOwnCursorMovementsPassWithWhatFollows) {
  std::stringbuf to;
  OutputFilter outlet(to, {});
  std::ostream stream(&outlet);
  PassOwn(stream, "\x1b[1A\r");
  EXPECT_EQ(to.str(), "") << "in one write with what follows";
  stream << "\x1b[1A" << std::flush;
  EXPECT_EQ(to.str(), "\x1b[1A\r\\x1b[1A");
  EXPECT_TRUE(IsOutlet(stream));
}

TEST(OutputFilter, InCiNoLineBeginsACommand) {
  const auto ci = [](std::string_view text) {
    const std::string out = Out(text, {false, true});
    EXPECT_EQ(Out(text, {false, true}, 1), out);
    return out;
  };
  EXPECT_EQ(ci("::error::x\n"), ":\\u003aerror::x\n");
  EXPECT_EQ(ci("a\n \t::set-env name=a::b\n"), "a\n \t:\\u003aset-env name=a::b\n");
  EXPECT_EQ(ci("\xc2\xa0\xe3\x80\x80::error::x"), "\xc2\xa0\xe3\x80\x80:\\u003aerror::x");
  EXPECT_EQ(ci("x\r::error::x"), "x\\x0d::error::x") << "no line of its own any more";
  EXPECT_EQ(ci("x\r\n::error::x"), "x\n:\\u003aerror::x");
  EXPECT_EQ(ci("said ##[error]x and ##vso[task.x]"),
            "said ##\\u005berror]x and ##vso\\u005btask.x]");
  EXPECT_EQ(ci("### a # b[0] ##[x]"), "### a # b[0] ##\\u005bx]");
  EXPECT_EQ(ci("std::string: x"), "std::string: x");
  EXPECT_EQ(ci("section_start:1:x\r\x1b[0K"), "section_start:1:x\\x0d\\x1b[0K");
  EXPECT_EQ(Out("::error::x\n##[error]\n"), "::error::x\n##[error]\n") << "elsewhere it is text";
}

TEST(OutputFilter, AWriteThatFailsIsNoticed) {
  struct Full final : std::streambuf {};
  Full full;
  OutputFilter outlet(full, {});
  std::ostream stream(&outlet);
  stream << "lost";
  EXPECT_FALSE(stream);
}

}  // namespace
}  // namespace podctl
