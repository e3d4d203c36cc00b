#include "cmd/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>

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

}  // namespace
}  // namespace podctl
