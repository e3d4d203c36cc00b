#include "providers/os/this_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "providers/os/clock.h"

namespace podctl {
namespace {

std::string Now(std::chrono::seconds later = {}) {
  return FormatTimestamp(RealClock().Now() + later);
}

TEST(ThisProcess, HasAHostAUserAndANumber) {
  EXPECT_FALSE(HostName().empty());
  EXPECT_FALSE(UserName().empty());
  EXPECT_EQ(ProcessId(), ::getpid());
}

TEST(ThisProcess, RunsNow) {
  EXPECT_TRUE(ProcessRanAt(ProcessId(), Now()));
}

TEST(ThisProcess, DidNotRunBeforeItStarted) {
  EXPECT_FALSE(ProcessRanAt(ProcessId(), Now(-std::chrono::hours(24 * 365))));
}

TEST(ThisProcess, DeadProcessesAndNumbersOfNobodyDoNotRun) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(ProcessRanAt(child, Now())) << "nobody has asked how it ended";
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(ProcessRanAt(child, Now()));
  EXPECT_FALSE(ProcessRanAt(0, Now()));
  EXPECT_FALSE(ProcessRanAt(-1, Now()));
}

}  // namespace
}  // namespace podctl
