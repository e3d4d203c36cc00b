#include "providers/os/child.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>

namespace podctl {
namespace {

constexpr int kPatience = 30'000;  // ms

std::string ReadToEnd(int fd) {
  std::string text;
  std::array<char, 256> buffer;
  while (true) {
    pollfd ready{fd, POLLIN, 0};
    if (poll(&ready, 1, kPatience) <= 0) return text + " (nothing more came)";
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EAGAIN) continue;
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

std::optional<int> WaitFor(Child& child) {
  pollfd ended{child.exit_fd(), POLLIN, 0};
  if (poll(&ended, 1, kPatience) <= 0) return std::nullopt;
  return child.HasEnded();
}

TEST(ChildTest, HandsOnWhatItComplainsOfAndItsExitCode) {
  const auto child = Child::Start({"sh", "-c", "echo loud; echo trouble >&2; cat; exit 7"});
  ASSERT_TRUE(child) << child.error().message;
  EXPECT_EQ(ReadToEnd((*child)->error_fd()), "trouble\n");
  EXPECT_EQ(WaitFor(**child), 7);
  EXPECT_EQ((*child)->HasEnded(), 7) << "asked once more";
}

TEST(ChildTest, TellsOfASignalAsAShellDoes) {
  const auto child = Child::Start({"sh", "-c", "kill -TERM $$"});
  ASSERT_TRUE(child);
  EXPECT_EQ(WaitFor(**child), 128 + SIGTERM);
}

TEST(ChildTest, KillsItWithAllThatItStarted) {
  auto child = Child::Start({"sh", "-c", "sleep 1000 & echo $! >&2; wait"});
  ASSERT_TRUE(child);
  pollfd ready{(*child)->error_fd(), POLLIN, 0};
  ASSERT_EQ(poll(&ready, 1, kPatience), 1);
  EXPECT_FALSE((*child)->HasEnded());
  const int rest = dup((*child)->error_fd());
  child->reset();
  // The sleeper held the other end of this pipe.
  EXPECT_EQ(ReadToEnd(rest).find("nothing more"), std::string::npos);
  close(rest);
}

TEST(ChildTest, SaysThatThereIsNoSuchProgram) {
  const auto child = Child::Start({"podctl-no-such-program"});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(child.error().message, "there is no program podctl-no-such-program in PATH");
}

}  // namespace
}  // namespace podctl
