// What the bench's figures rest on: a run is counted whole or not at all, and nothing stays behind.
#include "tests/bench/fanout/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tests/bench/fanout/supervisor.h"

namespace podctl::bench {
namespace {

using ::testing::HasSubstr;

class ClientTest : public ::testing::Test {
 protected:
  ClientTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "bench-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~ClientTest() override { std::filesystem::remove_all(folder_); }

  ClientRun Shell(const std::string& script, const Expected& expected,
                  double limit_seconds = 60) const {
    Client client;
    client.name = "sh";
    client.words = {"sh", "-c", script};
    client.folder = folder_;
    return RunClient(client, expected, limit_seconds);
  }
  static Expected Tokens(std::uint64_t count) {
    Expected expected;
    expected.token = "answer";
    expected.tokens = count;
    return expected;
  }

  std::string folder_;
};

TEST_F(ClientTest, CountsAnswersWhereverTheOutputIsCut) {
  const ClientRun run =
      Shell("i=0; while [ $i -lt 500 ]; do printf ans; printf 'weranswer\\n'; i=$((i+1)); done",
            Tokens(1000));
  EXPECT_EQ(run.trouble, "");
  EXPECT_EQ(run.tokens, 1000U);
  EXPECT_EQ(run.bytes, 500U * 13);
}

TEST_F(ClientTest, ALostAnswerIsTrouble) {
  EXPECT_THAT(Shell("echo answer; echo why >&2", Tokens(2)).trouble,
              HasSubstr("1 of 2 answers:\nwhy"));
  EXPECT_EQ(Shell("echo answer answer", Tokens(1)).trouble, "2 of 1 answers");
  Expected bytes;
  bytes.bytes = 10;
  EXPECT_EQ(Shell("echo short", bytes).trouble, "6 of 10 bytes");
}

TEST_F(ClientTest, TheExitCodeHasToBeTheExpectedOne) {
  EXPECT_EQ(Shell("exit 3", Expected{}).trouble, "exit code 3");
  EXPECT_EQ(Shell("kill -9 $$", Expected{}).trouble, "exit code 137");
  Expected failure;
  failure.success = false;
  EXPECT_EQ(Shell("exit 3", failure).trouble, "");
  EXPECT_EQ(Shell("exit 0", failure).trouble, "exit code 0");
  failure.any_exit = true;
  EXPECT_EQ(Shell("exit 0", failure).trouble, "");
}

TEST_F(ClientTest, CountsTheCpuOfWhatWentToTheBackgroundAndEndsIt) {
  // The burner's parent is gone before it burns: it is an orphan of a daemon's kind.
  const std::string burn = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done >burnt";
  const ClientRun run = Shell("(setsid sh -c '" + burn +
                                  "; exec sleep 1000' >/dev/null 2>&1 & echo $! >pid); "
                                  "while [ ! -e burnt ]; do sleep 0.02; done",
                              Expected{});
  EXPECT_EQ(run.trouble, "");
  const ClientRun idle = Shell("sleep 0.05", Expected{});
  EXPECT_GT(run.cpu_seconds, 2 * idle.cpu_seconds);
  pid_t daemon = 0;
  std::ifstream(folder_ + "/pid") >> daemon;
  ASSERT_GT(daemon, 1);
  EXPECT_NE(kill(daemon, 0), 0);
}

TEST_F(ClientTest, ARunThatHangsIsKilledAndSaysSo) {
  EXPECT_EQ(Shell("sleep 1000", Expected{}, 0.1).trouble, "not done after 0.1 s");
}

TEST_F(ClientTest, SeesTheMemoryOfTheWholeTree) {
  // Each tail keeps 20 MB, as there is no newline.
  const ClientRun run = Shell(
      "for i in 1 2 3; do (head -c 20000000 /dev/zero; sleep 1) | tail -n 1 | wc -c & done; wait",
      Expected{});
  EXPECT_EQ(run.trouble, "");
  EXPECT_GT(run.peak_mib, 50);
}

// Runs Supervise in a child, since it waits for the children of its process.
class SupervisorTest : public ClientTest {};

TEST_F(SupervisorTest, NothingIsLeftWhenTheBenchIsInterrupted) {
  const std::string notes = folder_ + "/notes";
  const pid_t supervisor = fork();
  if (supervisor == 0) {
    _exit(Supervise([&](const std::string& folder) {
      std::ofstream(folder + "/file") << "x";
      const pid_t left = fork();
      if (left == 0) {
        setsid();
        alarm(60);
        for (;;) pause();
      }
      std::ofstream(notes + ".part") << folder << " " << left << "\n";
      std::filesystem::rename(notes + ".part", notes);
      for (;;) pause();
      return 0;
    }));
  }
  while (!std::filesystem::exists(notes)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::string folder;
  pid_t left = 0;
  std::ifstream(notes) >> folder >> left;
  ASSERT_GT(left, 1);
  ASSERT_TRUE(std::filesystem::exists(folder + "/file"));
  kill(supervisor, SIGINT);
  int status = 0;
  ASSERT_EQ(waitpid(supervisor, &status, 0), supervisor);
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_NE(kill(left, 0), 0);
}

TEST_F(SupervisorTest, PassesTheExitCodeOn) {
  const pid_t supervisor = fork();
  if (supervisor == 0) {
    _exit(Supervise([](const std::string&) { return 7; }));
  }
  int status = 0;
  ASSERT_EQ(waitpid(supervisor, &status, 0), supervisor);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace podctl::bench
