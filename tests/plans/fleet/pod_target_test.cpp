// From words on a command line to workers and to one command for a remote shell.
#include "plans/fleet/pod_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "providers/os/process.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

PodTarget FourWorkers() {
  PodTarget target;
  for (int i = 0; i < 4; ++i) {
    WorkerAccess worker;
    worker.index = i;
    target.workers.push_back(worker);
  }
  return target;
}

std::vector<int> Select(const std::string& selection, const std::string& fallback = "all") {
  const PodTarget target = FourWorkers();
  std::vector<int> numbers;
  const auto workers = SelectWorkers(target, selection, fallback);
  if (!workers) return {-1};
  for (const WorkerAccess& worker : *workers) numbers.push_back(worker.index);
  return numbers;
}

TEST(PodTarget, SaysThatANodeIsGoneFromOneThatIsNotThereYet) {
  PodRecord record;
  record.current.locator = "research";
  record.current.life = Creating{};
  EXPECT_EQ(CheckUsable("research", record).error().message, "pod `research` has no workers yet");
  record.current.life = Present{};
  EXPECT_EQ(CheckUsable("research", record).error().message,
            "pod `research` is gone: its node was preempted, or deleted outside of podctl");
  record.current.life = Deleting{Intent{{}, "2026-11-20T14:30:00Z"}};
  EXPECT_EQ(CheckUsable("research", record).error().message,
            "pod `research` is being deleted, as podctl began at 2026-11-20T14:30:00Z");
}

TEST(PodTarget, SelectsWorkers) {
  EXPECT_THAT(Select("all"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Select(""), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Select("", "0"), ElementsAre(0));
  EXPECT_THAT(Select("3,0-1"), ElementsAre(0, 1, 3));
  EXPECT_THAT(Select("2,2"), ElementsAre(2));
  EXPECT_THAT(Select("!2"), ElementsAre(0, 1, 3));
  EXPECT_THAT(Select("0-3/2"), ElementsAre(0, 2));
}

TEST(PodTarget, SaysWhatIsWrongWithASelection) {
  const PodTarget target = FourWorkers();
  auto workers = SelectWorkers(target, "0,4", "all");
  ASSERT_FALSE(workers.has_value());
  EXPECT_EQ(workers.error().message, "`--worker 0,4`: there is no worker 4: the pod has 4 workers");
  EXPECT_EQ(workers.error().hint, "Workers are numbered from 0 to 3.");
  workers = SelectWorkers(target, "0,x", "all");
  ASSERT_FALSE(workers.has_value());
  EXPECT_EQ(workers.error().message, "`--worker 0,x`: `x` names no workers");
  EXPECT_THAT(workers.error().hint, HasSubstr("`0,2-3`"));
}

// Two slices of four workers; `named` as it was written after the pod's name.
std::vector<int> SelectOfSlices(const std::string& named, bool within,
                                const std::string& selection = "") {
  PodTarget target;
  target.address = "pod.research";
  target.named = named;
  target.within_named = within;
  for (int i = 0; i < 8; ++i) {
    WorkerAccess worker;
    worker.index = i;
    worker.per_slice = 4;
    target.workers.push_back(worker);
  }
  std::vector<int> numbers;
  const auto workers = SelectWorkers(target, selection, "all");
  if (!workers) return {-1};
  for (const WorkerAccess& worker : *workers) numbers.push_back(worker.index);
  return numbers;
}

TEST(PodTarget, SelectsWorkersOfSlices) {
  EXPECT_THAT(SelectOfSlices("[1]/3", false), ElementsAre(7));
  EXPECT_THAT(SelectOfSlices("[1]", true), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(SelectOfSlices("[0-1]", true, "0,3"), ElementsAre(0, 3, 4, 7));
  EXPECT_THAT(SelectOfSlices("[1]", true, "!0"), ElementsAre(5, 6, 7));
  EXPECT_THAT(SelectOfSlices("", false, "research[1]/3,0/1"), ElementsAre(1, 7));
  EXPECT_THAT(SelectOfSlices("[1]/3", false, "0"), ElementsAre(-1)) << "named twice";
  EXPECT_THAT(SelectOfSlices("[1]", true, "[1]/0"), ElementsAre(-1)) << "slices named twice";
}

// What a shell makes of it.
std::string RunInShell(const std::vector<std::string>& words,
                       const std::map<std::string, std::string>& env = {}) {
  RealProcessRunner runner;
  const auto result =
      runner.Run({"sh", "-c", RemoteCommand(words, env)}, std::chrono::milliseconds(10'000));
  EXPECT_TRUE(result.has_value());
  return result ? result->out : "";
}

TEST(PodTarget, OneWordIsShellText) {
  EXPECT_EQ(RunInShell({"echo a; echo b | tr b c"}), "a\nc\n");
}

TEST(PodTarget, SeveralWordsArriveAsTheyWereGiven) {
  EXPECT_EQ(RunInShell({"printf", "%s\n", "a b", "$HOME", "it's", "", "*", "[", "x;y"}),
            "a b\n$HOME\nit's\n\n*\n[\nx;y\n");
}

TEST(PodTarget, TheEnvironmentIsSetBeforehand) {
  const std::string flags = "--a=1 --b='x y' $HOME";
  EXPECT_EQ(RunInShell({"printf %s \"$LIBTPU_INIT_ARGS\""}, {{"LIBTPU_INIT_ARGS", flags}}), flags);
  EXPECT_EQ(
      RunInShell({"sh", "-c", "printf %s \"$LIBTPU_INIT_ARGS\""}, {{"LIBTPU_INIT_ARGS", flags}}),
      flags);
}

}  // namespace
}  // namespace podctl
