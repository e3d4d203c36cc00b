#include "cmd/interrupt.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace podctl {
namespace {

// Seen on a busy machine: of three signals the last came while the process was ending, and killed
// it with a code of its own.
TEST(InterruptDeathTest, ASignalThatComesTooLateEndsWithTheCodeOfEveryInterrupt) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EXIT(
        {
          { Interrupt interrupt; }
          raise(signal);
        },
        ::testing::ExitedWithCode(kInterruptedExitCode), "");
  }
}

bool Eventually(const std::stop_token& token) {
  for (int i = 0; i < 1000 && !token.stop_requested(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return token.stop_requested();
}

// timeout(1) sends its signal twice, to the command and to its group.
TEST(InterruptTest, SignalsThatComeTogetherAreOne) {
  const Interrupt interrupt;
  raise(SIGTERM);
  raise(SIGCONT);
  raise(SIGTERM);
  ASSERT_TRUE(Eventually(interrupt.drain()));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(interrupt.leave().stop_requested());
  raise(SIGINT);
  EXPECT_TRUE(Eventually(interrupt.leave()));
}

}  // namespace
}  // namespace podctl
