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

// A mark as a child of this process has it, and whether it has ended while it runs, when nobody has
// asked how it ended, and afterwards.
TEST(ThisProcess, AMarkTellsWhetherItsProcessHasEnded) {
  const std::string own = ProcessMark();
  if (own.empty()) GTEST_SKIP() << "this system does not say what boot it is of";
  EXPECT_EQ(own, ProcessMark());
  EXPECT_FALSE(ProcessHasEnded(own));

  int out[2];
  ASSERT_EQ(::pipe(out), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::string mark = ProcessMark();
    ::_exit(::write(out[1], mark.data(), mark.size()) == static_cast<ssize_t>(mark.size()) ? 0 : 1);
  }
  ::close(out[1]);
  std::string mark(512, '\0');
  const ssize_t size = ::read(out[0], mark.data(), mark.size());
  ::close(out[0]);
  ASSERT_GT(size, 0);
  mark.resize(static_cast<std::size_t>(size));
  EXPECT_NE(mark, own);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(ProcessHasEnded(mark)) << "nobody has asked how it ended";
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(ProcessHasEnded(mark));
}

TEST(ThisProcess, OfAnotherBootContainerOrNonsenseNothingIsKnown) {
  const std::string own = ProcessMark();
  if (own.empty()) GTEST_SKIP() << "this system does not say what boot it is of";
  EXPECT_FALSE(ProcessHasEnded("another boot" + own));
  const std::string space = own.substr(0, own.find('/', own.find('/') + 1) + 1);
  EXPECT_FALSE(ProcessHasEnded(space));
  EXPECT_FALSE(ProcessHasEnded(space + "x/1"));
  EXPECT_FALSE(ProcessHasEnded(space + "-1/1"));
  EXPECT_FALSE(ProcessHasEnded(""));
  // Its number, given to another process since.
  EXPECT_TRUE(ProcessHasEnded(own + "0"));
}

TEST(Clock, TheTimeSinceBootNeverGoesBack) {
  RealClock clock;
  const auto first = clock.SinceBoot();
  EXPECT_GE(clock.SinceBoot(), first);
}

}  // namespace
}  // namespace podctl
