#include "providers/workers/runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "providers/base/text.h"
#include "providers/workers/jobs.h"
#include "tests/providers/workers/worker_shell.h"

namespace podctl::workers {
namespace {

using podctl::testing::ReadAll;
using podctl::testing::Said;
using podctl::testing::WorkerShell;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RunsTest : public ::testing::Test {
 protected:
  Said Run(const std::string& setup, const std::string& script, const std::string& go = "go\n") {
    return worker_.Run(RunCommand("train", "r1"), RunInput(setup, script) + go);
  }
  int EndRuns() {
    const Said said = worker_.Run(EndRunsCommand("train", std::chrono::seconds(5)));
    const auto ended = ParseEndRuns(said.out);
    EXPECT_TRUE(ended) << Join(said.out, "\n") << Join(said.err, "\n");
    return ended ? *ended : -1;
  }

  WorkerShell worker_;
};

TEST_F(RunsTest, StartsWhenTheLineComes) {
  const Said said =
      Run("echo ready >made", "export A='it'\\''s'\nread x || echo \"$A\"; cat made\n");
  EXPECT_TRUE(said.result.ok()) << Join(said.err, "\n");
  EXPECT_THAT(said.out, ElementsAre("it's", "ready"));
  EXPECT_THAT(said.err, ElementsAre(std::string(kStagedLine)));
}

TEST_F(RunsTest, StartsNothingWithoutTheLine) {
  for (const std::string go : {"", "g", "stop\n"}) {
    const Said said = Run("", "echo started\n", go);
    EXPECT_EQ(said.result.exit_code, kNotStarted) << go;
    EXPECT_THAT(said.out, ElementsAre());
  }
}

TEST_F(RunsTest, IsNotReadyWhenItsSetupFails) {
  const Said said = Run("echo full >&2; exit 1", "echo started\n");
  EXPECT_EQ(said.result.exit_code, 1);
  EXPECT_THAT(said.err, ElementsAre("full"));
}

TEST_F(RunsTest, ItsTextsStandInNoProcessList) {
  const Said said = Run("", "SECRET=swordfish\ntr '\\0' ' ' </proc/$$/cmdline\n");
  EXPECT_TRUE(said.result.ok());
  EXPECT_THAT(Join(said.out, "\n"), ::testing::Not(HasSubstr("swordfish")));
}

TEST_F(RunsTest, WhatAnEarlierRunLeftIsEnded) {
  EXPECT_EQ(EndRuns(), 0);
  const Said said =
      Run("",
          "setsid sleep 1000 >/dev/null 2>&1 &\n"
          "setsid sh -c 'trap : TERM; while :; do sleep 0.1; done' >/dev/null 2>&1 &\n"
          "while [ \"$(cat /proc/$!/comm)\" != sh ]; do :; done\n");
  EXPECT_TRUE(said.result.ok()) << Join(said.err, "\n");
  EXPECT_GE(EndRuns(), 2);
  EXPECT_EQ(EndRuns(), 0);
}

TEST(EndRunsAnswer, IsReadWholeOrRefused) {
  EXPECT_EQ(*ParseEndRuns({"hello", "podctl-runs 1", "ended 2 left 0", "end"}), 2);
  EXPECT_EQ(ParseEndRuns({"podctl-runs 1", "ended 2 left 1", "end"}).error().code,
            ErrorCode::kPermissionDenied);
  for (const std::vector<std::string>& cut : std::vector<std::vector<std::string>>{
           {}, {"podctl-runs 1"}, {"podctl-runs 1", "ended 2 left 0"}, {"ended 2 left 0", "end"}}) {
    EXPECT_EQ(ParseEndRuns(cut).error().code, ErrorCode::kDataLoss);
  }
}

}  // namespace
}  // namespace podctl::workers
