// Which names of a worker are taken: those that somebody asked for.
#include "providers/tar/requested_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "providers/tar/remote_texts.h"

namespace podctl::tar {
namespace {

using ::testing::HasSubstr;

bool Takes(const std::string& path, const std::string& name) {
  const auto asked = RequestedNames::Of({path});
  return asked && !asked->AskedBy(name).empty();
}

std::string WhyNot(const std::vector<std::string>& paths) {
  const auto asked = RequestedNames::Of(paths);
  return asked ? "" : asked.error().message;
}

TEST(RequestedNames, ANameIsTakenAsItWasAskedFor) {
  EXPECT_TRUE(Takes("~/logs/run.log", "run.log"));
  EXPECT_TRUE(Takes("src/", "src"));
  EXPECT_TRUE(Takes("/a b/c d'$x", "c d'$x"));
  for (const char* name : {".bashrc", "RUN.LOG", "run.log2", "run", "", ".", "logs"}) {
    EXPECT_FALSE(Takes("~/logs/run.log", name)) << name;
  }
}

TEST(RequestedNames, APatternTakesWhatItMatches) {
  EXPECT_TRUE(Takes("*.log", "a.log"));
  EXPECT_FALSE(Takes("*.log", ".log")) << "as in a shell: a leading dot is none of it";
  EXPECT_FALSE(Takes("*", ".bashrc"));
  EXPECT_TRUE(Takes(".*", ".bashrc"));
  EXPECT_FALSE(Takes("*/run.log", "other.log")) << "only the last part names what comes";
  EXPECT_TRUE(Takes("run-[0-9]?.log", "run-12.log"));
  EXPECT_FALSE(Takes("run-[0-9].log", "run--.log"));
  EXPECT_TRUE(Takes("[!a]", "b"));
  EXPECT_FALSE(Takes("[^a]", "a"));
  EXPECT_TRUE(Takes("[[:digit:]]", "7"));
  EXPECT_TRUE(Takes("a[b", "a[b")) << "no pattern, as it does not end";
}

TEST(RequestedNames, WhatAShellWouldOnlyExpandUnquotedIsPlain) {
  for (const std::string text : {"{a,b}*.log", "$HOME*", "`id`*", "a\\*", "x ~*", "~x y*"}) {
    std::string plain = text;
    plain.pop_back();
    EXPECT_TRUE(Takes(text, text)) << text;
    EXPECT_FALSE(Takes(text, "a.log")) << text;
    EXPECT_FALSE(Takes(text, "root")) << text;
  }
  EXPECT_TRUE(Takes("{a,b}*.log", "{a,b}1.log"));
}

TEST(RequestedNames, WhatHasNoNameIsCopiedAlone) {
  for (const std::string path : {"", "~", "~/", "~alice", ".", "..", "x/..", "./"}) {
    const auto asked = RequestedNames::Of({path});
    ASSERT_TRUE(asked) << path;
    EXPECT_TRUE(asked->nameless()) << path;
    EXPECT_THAT(WhyNot({path, "a"}), HasSubstr("does not say")) << path;
  }
  EXPECT_THAT(WhyNot({"*/.."}), HasSubstr("does not say"));
  EXPECT_THAT(WhyNot({"/"}), HasSubstr("does not say"));
  EXPECT_THAT(WhyNot({"a/x", "b/x"}), HasSubstr("two of the sources are called `x`"));
}

TEST(RequestedNames, TheShellOfTheWorkerReadsThePatternTheSameWay) {
  EXPECT_EQ(ShellWord("~/a b/[a-c]*.log", true), "~/a' 'b/[a-c]*.log");
  EXPECT_EQ(ShellWord("[!a]{b,c}$x", true), "[!a]'{'b,c'}$'x");
  EXPECT_EQ(ShellWord("[^a]", true), "[!a]");
  EXPECT_EQ(ShellWord("~x y", true), "'~'x' 'y");
  EXPECT_EQ(ShellWord("~/*", false), "~'/*'");
}

}  // namespace
}  // namespace podctl::tar
