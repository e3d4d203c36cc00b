#include "providers/workers/drain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "providers/base/text.h"
#include "tests/providers/workers/worker_shell.h"

namespace podctl::workers {
namespace {

using ::testing::SizeIs;
using How = DrainReport::Ended::How;
using podctl::testing::StartProgram;
using podctl::testing::WorkerShell;

TEST(DrainAnswer, IsReadWholeOrRefused) {
  const std::vector<std::string> answer = {"podctl-drain 1", "ended 12 term", "ended 13 kill",
                                           "lock removed", "end"};
  const auto report = ParseDrain(answer);
  ASSERT_TRUE(report);
  ASSERT_THAT(report->ended, SizeIs(2));
  EXPECT_EQ(report->ended[1].pid, 13);
  EXPECT_EQ(report->ended[1].how, How::kKill);
  EXPECT_EQ(report->lock, DrainReport::Lock::kRemoved);
  for (std::size_t length = 0; length < answer.size(); ++length) {
    EXPECT_FALSE(ParseDrain({answer.begin(), answer.begin() + static_cast<long>(length)}));
  }
  for (const std::string odd : {"ended x term", "ended 1 what", "ended term", "lock what", ""}) {
    auto lines = answer;
    lines.insert(lines.end() - 1, odd);
    EXPECT_FALSE(ParseDrain(lines)) << odd;
  }
}

class DrainTest : public ::testing::Test {
 protected:
  ~DrainTest() override {
    for (const pid_t pid : started_) podctl::testing::EndProgram(pid);
  }
  // A process that runs `script`, and says when it is there by making a file.
  Holder Begin(const std::string& script) {
    const std::string ready = worker_.root() + "/ready" + std::to_string(started_.size());
    started_.push_back(StartProgram(
        {"sh", "-c", script + ": >" + ready + "; while :; do sleep 0.05; done"}, "/dev/null"));
    while (!std::filesystem::exists(ready)) ::usleep(2000);
    std::ifstream file("/proc/" + std::to_string(started_.back()) + "/stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    text = text.substr(text.rfind(')') + 2);
    Holder holder;
    holder.pid = started_.back();
    for (int field = 3; field < 22; ++field) text = text.substr(text.find(' ') + 1);
    holder.start = std::stoull(text);
    return holder;
  }
  DrainReport Drain(const std::vector<Holder>& victims, int grace = 5) {
    const auto said =
        worker_.Run(DrainCommand(victims, std::chrono::seconds(grace), worker_.root()));
    const auto report = ParseDrain(said.out);
    EXPECT_TRUE(report) << Join(said.out, "\n") << Join(said.err, "\n");
    return report ? *report : DrainReport{};
  }

  WorkerShell worker_;
  std::vector<pid_t> started_;
};

TEST_F(DrainTest, EndsWithTermWhatGoesByItself) {
  const auto report = Drain({Begin("")});
  ASSERT_THAT(report.ended, SizeIs(1));
  EXPECT_EQ(report.ended[0].how, How::kTerm);
}

TEST_F(DrainTest, KillsWhatDoesNot) {
  const Holder stubborn = Begin("trap '' TERM; ");
  const Holder mild = Begin("");
  const auto report = Drain({stubborn, mild}, 1);
  ASSERT_THAT(report.ended, SizeIs(2));
  for (const auto& ended : report.ended) {
    EXPECT_EQ(ended.how, ended.pid == stubborn.pid ? How::kKill : How::kTerm);
  }
}

TEST_F(DrainTest, LeavesAnotherProcessOfTheSameNumberAlone) {
  Holder holder = Begin("");
  holder.start += 1;
  const auto report = Drain({holder});
  ASSERT_THAT(report.ended, SizeIs(1));
  EXPECT_EQ(report.ended[0].how, How::kGone);
  EXPECT_EQ(::kill(started_[0], 0), 0);
}

TEST_F(DrainTest, RemovesALockFileThatNobodyHolds) {
  const std::string lock = worker_.root() + "/tmp/libtpu_lockfile";
  EXPECT_EQ(Drain({}).lock, DrainReport::Lock::kNone);
  std::ofstream(lock).flush();
  const Holder holder = Begin("exec 3<" + lock + "; ");
  EXPECT_EQ(Drain({}).lock, DrainReport::Lock::kHeld);
  EXPECT_TRUE(std::filesystem::exists(lock));
  EXPECT_EQ(Drain({holder}).lock, DrainReport::Lock::kRemoved);
  EXPECT_FALSE(std::filesystem::exists(lock));
}

}  // namespace
}  // namespace podctl::workers
