// Which words of `podctl cp` lie on workers, and what is no copy at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plans/fleet/cp/copy.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Read(std::string_view word) {
  const auto remote = ReadRemotePath(word);
  return remote ? remote->pod + "|" + remote->workers + "|" + remote->path : "local";
}

TEST(CopyEnds, AWordIsRemoteWhenWorkersStandBeforeItsColon) {
  EXPECT_EQ(Read("research:~/x"), "research||~/x");
  EXPECT_EQ(Read("pod.research:"), "research||");
  EXPECT_EQ(Read("research/0,2-3,!7:/tmp/a:b"), "research|0,2-3,!7|/tmp/a:b");
  EXPECT_EQ(Read("research/all:x"), "research|all|x");
  EXPECT_EQ(Read("research/0-255/8:x"), "research|0-255/8|x");
  EXPECT_EQ(Read("research[1]/3:x"), "research|[1]/3|x");
  EXPECT_EQ(Read("research[0-1]:x"), "research|[0-1]|x");
  for (const char* word :
       {"x", "./a:b", "/tmp/a:b", "a/b:c", "research/3", "~/a:b", ":x", "a b:c"}) {
    EXPECT_EQ(Read(word), "local") << word;
  }
}

TEST(CopyEnds, OneSideIsLocal) {
  const auto up = ReadCopy({"a", "b", "research/1:~/x/"}, "");
  ASSERT_TRUE(up);
  EXPECT_TRUE(up->upload);
  EXPECT_THAT(up->sources, ElementsAre("a", "b"));
  EXPECT_EQ(up->workers, "1");
  const auto down = ReadCopy({"research:a", "research:b", "here"}, "0-1");
  ASSERT_TRUE(down);
  EXPECT_FALSE(down->upload);
  EXPECT_THAT(down->sources, ElementsAre("a", "b"));
  EXPECT_EQ(down->workers, "0-1");
}

TEST(CopyEnds, WhatIsNoCopyIsExplained) {
  const auto error = [](const std::vector<std::string>& words, const std::string& workers = "") {
    const auto plan = ReadCopy(words, workers);
    return plan ? std::string() : plan.error().message;
  };
  EXPECT_THAT(error({"a"}), HasSubstr("wants a source and a destination"));
  EXPECT_THAT(error({"a", "b"}), HasSubstr("both lie on this machine"));
  EXPECT_THAT(error({"r:a", "b", "c"}), HasSubstr("both lie on this machine"));
  EXPECT_THAT(error({"r:a", "s:b"}), HasSubstr("both lie on workers"));
  EXPECT_THAT(error({"r:a", "s:b", "c"}), HasSubstr("lies elsewhere"));
  EXPECT_THAT(error({"r/0:a", "r/1:b", "c"}), HasSubstr("lies elsewhere"));
  EXPECT_THAT(error({"a", "r/0:"}, "1"), HasSubstr("name workers twice"));
}

}  // namespace
}  // namespace podctl
