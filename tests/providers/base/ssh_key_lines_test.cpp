// Lines of `ssh-keys`, added and taken away one by one.
#include "providers/base/ssh_key_lines.h"

#include <gtest/gtest.h>

namespace podctl {
namespace {

TEST(SshKeyLines, ALineIsAUserAndAKey) {
  const auto line = ParseSshKeyLine(" alice:ssh-ed25519 AAAA alice at home\r");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->user, "alice");
  EXPECT_EQ(line->type, "ssh-ed25519");
  EXPECT_EQ(line->blob, "AAAA");
  EXPECT_EQ(line->comment, "alice at home");
  for (const char* odd : {"", "alice", ":ssh-rsa AAAA", "a b:ssh-rsa AAAA", "alice:ssh-rsa"}) {
    EXPECT_FALSE(ParseSshKeyLine(odd)) << odd;
  }
}

TEST(SshKeyLines, OthersLinesStayAsTheyAre) {
  const std::string others = "bob:ssh-rsa AAAA  bob \r\n\nodd line\nbob:ssh-rsa AAAA again";
  const std::string with = WithSshKey(others, "alice:ssh-ed25519 BBBB alice");
  EXPECT_EQ(with, others + "\nalice:ssh-ed25519 BBBB alice");
  EXPECT_EQ(WithSshKey(with, "alice:ssh-ed25519 BBBB another comment"), with);
  EXPECT_EQ(WithoutSshKey(with, "alice:ssh-ed25519 BBBB"), others);
  EXPECT_EQ(WithoutSshKey("a:t B\n" + others, "a:t B"), others);
  EXPECT_EQ(WithSshKey("a:t B\n", "c:t D"), "a:t B\nc:t D");
  EXPECT_EQ(WithoutSshKey("a:t B\n", "a:t B"), "");
  EXPECT_EQ(WithSshKey("", "c:t D"), "c:t D");
}

TEST(SshKeyLines, AnotherUserAndALineThatEndsAreNotTheSame) {
  const std::string gcloud =
      "alice:ssh-rsa AAAA google-ssh {\"userName\":\"a@b.c\",\"expireOn\":\"2026-11-22\"}";
  EXPECT_FALSE(HoldsSshKey(gcloud, "alice:ssh-rsa AAAA"));
  EXPECT_FALSE(HoldsSshKey("bob:ssh-rsa AAAA", "alice:ssh-rsa AAAA"));
  const std::string both = WithSshKey(gcloud, "alice:ssh-rsa AAAA alice");
  EXPECT_EQ(both, gcloud + "\nalice:ssh-rsa AAAA alice");
  EXPECT_EQ(WithoutSshKey(both, "alice:ssh-rsa AAAA"), gcloud);
}

TEST(SshKeyLines, WhatAllHold) {
  EXPECT_EQ(SharedSshKeys("a:t A\nb:t B\nc:t C", {"c:t C x\na:t A", "a:t A\nc:t C\nd:t D"}),
            "a:t A\nc:t C");
}

}  // namespace
}  // namespace podctl
