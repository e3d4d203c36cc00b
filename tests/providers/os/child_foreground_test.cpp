#include <gtest/gtest.h>

#include <csignal>

#include "providers/os/child.h"

namespace podctl {
namespace {

TEST(ForegroundTest, TellsHowTheProgramEnded) {
  const auto ended = RunInForeground({"sh", "-c", "exit 7"}, {});
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(ended->exit_code, 7);
  EXPECT_EQ(ended->signal, 0);
  const auto killed = RunInForeground({"sh", "-c", "kill -KILL $$"}, {});
  ASSERT_TRUE(killed);
  EXPECT_EQ(killed->signal, SIGKILL);
}

TEST(ForegroundTest, EndsTheProgramOnStop) {
  std::stop_source stop;
  stop.request_stop();
  const auto ended = RunInForeground({"sleep", "1000"}, stop.get_token());
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->signal, SIGTERM);
}

TEST(ForegroundTest, NamesAProgramThatIsNotThere) {
  const auto ended = RunInForeground({"no-such-program"}, {});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace podctl
