// What the commands are given: standard input as it comes, and variables nobody else sees.
#include "plans/fleet/exec/standard_input.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string>

#include "plans/fleet/exec/request.h"
#include "providers/os/process.h"

namespace podctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Reads as a worker's connection does: what there is, then waits to be called.
class Reader {
 public:
  explicit Reader(StandardInput& input) : input_(input) {
    input_.Listen([this] {
      const std::lock_guard lock(mutex_);
      called_ = true;
      more_.notify_one();
    });
  }
  ~Reader() { input_.Listen({}); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Until the end, or until `enough` bytes were read.
  std::string ReadOn(std::size_t enough = ~std::size_t{0}) {
    while (text_.size() < enough && !input_.EndsAt(text_.size())) {
      std::array<char, 1000> buffer;
      const std::size_t count = input_.Read(text_.size(), buffer.data(), buffer.size());
      text_.append(buffer.data(), count);
      if (count > 0) continue;
      std::unique_lock lock(mutex_);
      more_.wait(lock, [this] { return called_; });
      called_ = false;
    }
    return text_;
  }

 private:
  StandardInput& input_;
  std::string text_;
  std::mutex mutex_;
  std::condition_variable more_;
  bool called_ = false;
};

struct Pipe {
  Pipe() { EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0); }
  ~Pipe() {
    close(ends[0]);
    CloseWriter();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void Write(const std::string& text) const {
    EXPECT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void CloseWriter() {
    if (ends[1] >= 0) close(ends[1]);
    ends[1] = -1;
  }
  std::array<int, 2> ends{};
};

StandardInput::Limits Small() {
  StandardInput::Limits limits;
  limits.memory = 5'000;
  limits.ahead = 200'000;
  return limits;
}

TEST(StandardInput, ComesAsItIsWrittenAndEnds) {
  Pipe pipe;
  StandardInput input(pipe.ends[0], ::testing::TempDir(), {});
  Reader reader(input);
  pipe.Write("one\n");
  EXPECT_EQ(reader.ReadOn(4), "one\n");
  EXPECT_FALSE(input.EndsAt(4));
  pipe.Write("two\n");
  EXPECT_EQ(reader.ReadOn(8), "one\ntwo\n");
  pipe.CloseWriter();
  EXPECT_EQ(reader.ReadOn(), "one\ntwo\n");
  EXPECT_FALSE(input.trouble());
}

TEST(StandardInput, ASilentPipeKeepsNobodyWaiting) {
  Pipe pipe;
  StandardInput input(pipe.ends[0], ::testing::TempDir(), {});
  std::array<char, 10> buffer;
  EXPECT_EQ(input.Read(0, buffer.data(), buffer.size()), 0U);
  EXPECT_FALSE(input.EndsAt(0));
}

TEST(StandardInput, IsThereForTheLastToStart) {
  Pipe pipe;
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += std::to_string(i) + "\n";
  StandardInput input(pipe.ends[0], ::testing::TempDir(), Small());
  pipe.Write(text.substr(0, 30'000));
  {
    Reader first(input);
    EXPECT_EQ(first.ReadOn(30'000), text.substr(0, 30'000));
    pipe.Write(text.substr(30'000));
    pipe.CloseWriter();
    EXPECT_EQ(first.ReadOn(), text);
  }
  Reader last(input);
  EXPECT_EQ(last.ReadOn(), text) << "from the scratch file";
}

TEST(StandardInput, IsNotReadFarAheadOfWhoReadsIt) {
  Pipe pipe;
  StandardInput input(pipe.ends[0], ::testing::TempDir(), Small());
  fcntl(pipe.ends[1], F_SETFL, O_NONBLOCK);
  const std::string piece(10'000, 'x');
  std::size_t written = 0;
  pollfd room{pipe.ends[1], POLLOUT, 0};
  while (written < 5'000'000 && poll(&room, 1, 200) > 0) {
    written += static_cast<std::size_t>(
        std::max<ssize_t>(0, write(pipe.ends[1], piece.data(), piece.size())));
  }
  EXPECT_LT(written, 500'000U) << "nobody has read any of it";
  Reader reader(input);
  EXPECT_EQ(reader.ReadOn(written).size(), written);
}

TEST(StandardInput, WhatIsTooLongIsCutAndThatIsTold) {
  const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(zeros, 0);
  StandardInput::Limits limits = Small();
  limits.total = 10'000'000;
  {
    StandardInput input(zeros, ::testing::TempDir(), limits);
    Reader reader(input);
    EXPECT_GE(reader.ReadOn(1'000'000).size(), 1'000'000U);
    EXPECT_GE(reader.ReadOn().size(), 9'000'000U);
    ASSERT_TRUE(input.trouble()) << "what is too long is cut, and that is told";
    EXPECT_THAT(input.trouble()->message, HasSubstr("standard input is longer than"));
  }
  close(zeros);
}

// As main() leaves one that was closed (`<&-`).
TEST(StandardInput, OneThatCannotBeReadHasEnded) {
  const int write_only = open("/dev/null", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(write_only, 0);
  {
    StandardInput input(write_only, ::testing::TempDir(), {});
    Reader reader(input);
    EXPECT_EQ(reader.ReadOn(), "");
    EXPECT_FALSE(input.trouble());
  }
  close(write_only);
}

std::string RunInShell(const std::string& command, const ExecVariables& variables,
                       const std::string& input) {
  std::string folder = ::testing::TempDir() + "/podctl-input-XXXXXX";
  const int fd = mkstemp(folder.data());
  const std::string bytes = VariablesLine(variables) + input;
  EXPECT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  close(fd);
  RealProcessRunner runner;
  const auto result = runner.Run({"sh", "-c", "cat '" + folder + "' | sh -c \"$1\"", "sh",
                                  CommandWithVariables(command, variables)},
                                 std::chrono::milliseconds(10'000));
  unlink(folder.c_str());
  EXPECT_TRUE(result.has_value());
  return result ? result->out : "";
}

TEST(ExecVariables, ArriveWhateverTheyHold) {
  const ExecVariables variables = {
      {"A", "plain"}, {"B", "it's $HOME \"x\" \\ `id`"}, {"C", "two\nlines\n"}, {"D", ""}};
  EXPECT_EQ(
      RunInShell("printf '%s|' \"$A\" \"$B\" \"$C\" \"$D\" \"$podctl_env\"; env | grep -c ^A=",
                 variables, ""),
      "plain|it's $HOME \"x\" \\ `id`|two\nlines\n|||1\n");
}

TEST(ExecVariables, LeaveTheInputToTheCommand) {
  EXPECT_EQ(RunInShell("cat", {{"A", "1"}}, "one\ntwo"), "one\ntwo");
  EXPECT_EQ(RunInShell("cat", {}, "one\ntwo"), "one\ntwo");
}

TEST(ExecVariables, StandInNoCommandLine) {
  EXPECT_THAT(CommandWithVariables("env", {{"TOKEN", "s3cret"}}), Not(HasSubstr("s3cret")));
  EXPECT_EQ(CommandWithVariables("env", {}), "env");
  EXPECT_EQ(VariablesLine({}), "");
}

TEST(ExecVariables, AreReadFromTheEnvironmentWhereOnlyTheirNameIsGiven) {
  const FixedEnvironment environment(ExecVariables{{"HERE", "x=y"}});
  const auto variables = ReadVariables({"HERE", "A=1=2", "B="}, environment);
  ASSERT_TRUE(variables.has_value());
  EXPECT_EQ(*variables, (ExecVariables{{"HERE", "x=y"}, {"A", "1=2"}, {"B", ""}}));
  const auto missing = ReadVariables({"GONE"}, environment);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().message, "`--env GONE`: there is no such variable here");
}

}  // namespace
}  // namespace podctl
