// What of a node's metadata its workers read: the words of the runtime, and who is let in.
#include "providers/emulator/workers/worker_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace podctl::emulator {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(RuntimeEnv, ReadsDockerOptionsWithShellQuotes) {
  EXPECT_THAT(*ParseRuntimeEnv("-e A=1 --env B='x y' --env=C=\"d \\\"q\\\"\" -eD=e\\ f -e HOST"),
              ElementsAre("A=1", "B=x y", "C=d \"q\"", "D=e f"));
  EXPECT_TRUE(ParseRuntimeEnv("")->empty());
  EXPECT_THAT(*ParseRuntimeEnv("-e A="), ElementsAre("A="));
}

TEST(RuntimeEnv, RefusesWhatDockerWould) {
  for (const char* text : {"A=1", "-e", "-e 'A=1", "-e =x", "--privileged"}) {
    EXPECT_FALSE(ParseRuntimeEnv(text)) << text;
  }
}

TEST(SshKeys, AreReadAsTheGuestAgentDoes) {
  EXPECT_THAT(ReadSshKeys("\nalice:ssh-rsa AAA alice\r\nssh-rsa BBB nobody\n../x:ssh-rsa C\n"
                          "bob:ssh-ed25519 D google-ssh {\"userName\":\"bob\"}"),
              ElementsAre(Pair("alice", "ssh-rsa AAA alice"),
                          Pair("bob", "ssh-ed25519 D google-ssh {\"userName\":\"bob\"}")));
}

}  // namespace
}  // namespace podctl::emulator
