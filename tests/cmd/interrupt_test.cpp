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

// timeout(1) sends its signal twice, to the command and to its group. What comes later counts anew:
// here it is sent until it does.
TEST(InterruptTest, SignalsThatComeTogetherAreOne) {
  const auto began = std::chrono::steady_clock::now();
  const Interrupt interrupt;
  raise(SIGTERM);
  raise(SIGCONT);
  raise(SIGTERM);
  ASSERT_TRUE(Eventually(interrupt.drain()));
  for (int i = 0; i < 1000 && !interrupt.leave().stop_requested(); ++i) {
    raise(SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(interrupt.leave().stop_requested());
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(250));
}

}  // namespace
}  // namespace podctl
