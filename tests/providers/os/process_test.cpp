#include "providers/os/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <stop_token>
#include <string>
#include <thread>

namespace podctl {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr milliseconds kLong{60'000};

TEST(Process, KeepsTheStreamsApart) {
  RealProcessRunner runner;
  const auto result = runner.Run({"sh", "-c", "echo out; echo err >&2; exit 3"}, kLong);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
}

TEST(Process, PassesArgumentsWithoutAShell) {
  RealProcessRunner runner;
  const auto result = runner.Run({"printf", "%s|", "a b", "$HOME", "*", ""}, kLong);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(result->out, "a b|$HOME|*||");
}

TEST(Process, HasNoStandardInput) {
  RealProcessRunner runner;
  const auto result = runner.Run({"cat"}, kLong);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->exit_code, 0);
  EXPECT_EQ(result->out, "");
}

TEST(Process, NamesAProgramThatIsNotThere) {
  RealProcessRunner runner;
  for (const char* name : {"podctl-no-such-program", "/no/such/program"}) {
    const auto result = runner.Run({name}, kLong);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::kNotFound);
    EXPECT_THAT(result.error().message, HasSubstr(name));
  }
}

TEST(Process, DropsWhatExceedsTheLimitAndStillEnds) {
  RealProcessRunner runner;
  const auto result = runner.Run({"sh", "-c", "head -c 5000000 /dev/zero; echo done >&2"}, kLong);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->exit_code, 0);
  EXPECT_EQ(result->out.size(), 1024U * 1024);
  EXPECT_EQ(result->err, "done\n");
}

TEST(Process, IsKilledWhenStopped) {
  RealProcessRunner runner;
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  const auto result = runner.Run({"sleep", "3600"}, kLong, stop.get_token());
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(runner.Run({"true"}, kLong, stop.get_token()).error().code, ErrorCode::kCancelled);
}

TEST(Process, IsKilledAtItsDeadlineWithItsChildren) {
  RealProcessRunner runner;
  // The inner shell holds the streams open; only a kill of the whole group ends both.
  const auto result =
      runner.Run({"sh", "-c", "sh -c 'sleep 1000; echo late' ; true"}, milliseconds(200));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kDeadlineExceeded);
}

TEST(Process, ReportsASignalAsAShellDoes) {
  RealProcessRunner runner;
  const auto result = runner.Run({"sh", "-c", "kill -TERM $$"}, kLong);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->exit_code, 128 + SIGTERM);
}

TEST(Process, DoesNotWaitForAGrandchildThatKeepsTheStreams) {
  RealProcessRunner runner;
  const auto result = runner.Run({"sh", "-c", "sleep 30 & echo $!"}, kLong);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->exit_code, 0);
  ASSERT_FALSE(result->out.empty());
  // Still there: the call did not wait for it.
  EXPECT_EQ(::kill(std::stoi(result->out), SIGKILL), 0);
}

}  // namespace
}  // namespace podctl
