// Which workers a selection means, and what is said about one that means none.
#include "providers/base/worker_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "providers/base/text.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The workers of a pod with `count` as ranges, or the error's message.
std::string Of(const std::string& text, std::size_t count) {
  const auto selection = WorkerSelection::Parse(text);
  if (!selection) return selection.error().message;
  const auto numbers = selection->Of(count);
  return numbers ? FormatRanges(*numbers) : numbers.error().message;
}

// What is meant whatever the pod has; "?" where that cannot be told.
std::string Named(const std::string& text) {
  const auto selection = WorkerSelection::Parse(text);
  if (!selection) return selection.error().message;
  const auto numbers = selection->Named();
  return numbers ? FormatRanges(*numbers) : "?";
}

TEST(WorkerSelection, NamesNumbersAndRanges) {
  EXPECT_EQ(Of("all", 4), "0-3");
  EXPECT_EQ(Of("0,2-3", 4), "0,2-3");
  EXPECT_EQ(Of(" 3, 1-2 ,2", 4), "1-3");
  EXPECT_EQ(Of("0-99999", 100'000), "0-99999");
}

TEST(WorkerSelection, TakesEveryNthOfARange) {
  EXPECT_EQ(Of("0-255/8", 256),
            "0,8,16,24,32,40,48,56,64,72,80,88,96,104,112,120,128,136,144,152,"
            "160,168,176,184,192,200,208,216,224,232,240,248");
  EXPECT_EQ(Of("3-10/4", 11), "3,7");
  EXPECT_EQ(Of("0-9/100", 10), "0");
}

TEST(WorkerSelection, LeavesOut) {
  EXPECT_EQ(Of("!7", 10), "0-6,8-9");
  EXPECT_EQ(Of("!7,!9", 10), "0-6,8");
  EXPECT_EQ(Of("0-63,!7,!9", 64), "0-6,8,10-63");
  EXPECT_EQ(Of("!7,0-63", 64), "0-6,8-63") << "the order does not matter";
  EXPECT_EQ(Of("all,!0-2", 4), "3");
  EXPECT_EQ(Of("!0-7/2", 8), "1,3,5,7");
}

TEST(WorkerSelection, SaysWhichPieceIsWrong) {
  for (const char* bad : {"", "x", "-1", "1-", "1--2", "0x1", "1.5", "100000", "!", "!all", "all/2",
                          "99999999999", "0;1", "- 1", "+1"}) {
    EXPECT_EQ(WorkerSelection::Parse(bad).has_value(), false) << bad;
  }
  EXPECT_EQ(Of("0,seven,2", 4), "`seven` names no workers");
  EXPECT_EQ(Of("0,", 4), "`` names no workers");
  EXPECT_EQ(Of("0,3-1", 4), "`3-1` is a range that runs backwards");
  EXPECT_EQ(Of("0-8/0", 9), "`0-8/0` does not say every how many after its slash");
  EXPECT_EQ(Of("0-8/-2", 9), "`0-8/-2` does not say every how many after its slash");
  EXPECT_EQ(Of("8/2", 9), "`8/2` wants a range before its slash");
  EXPECT_EQ(Of("\x1b[31m", 4), "`\\x1b[31m` names no workers");
  EXPECT_THAT(WorkerSelection::Parse(std::string(100, 'x')).error().message, HasSubstr("xxx…`"));
}

TEST(WorkerSelection, SaysWhichWorkerIsNotThere) {
  EXPECT_EQ(Of("0,4", 4), "there is no worker 4: the pod has 4 workers");
  EXPECT_EQ(Of("2-9", 4), "there is no worker 4, which `2-9` names: the pod has 4 workers");
  EXPECT_EQ(Of("0-6/3", 4), "there is no worker 6, which `0-6/3` names: the pod has 4 workers");
  EXPECT_EQ(Of("0-5/3", 4), "0,3") << "5 is not one of every third";
  EXPECT_EQ(Of("!4", 4), "there is no worker 4, which `!4` names: the pod has 4 workers");
  EXPECT_EQ(WorkerSelection::Parse("1")->Of(1).error().hint, "It is number 0.");
}

TEST(WorkerSelection, OneThatLeavesNobodyIsAnError) {
  EXPECT_EQ(Of("0,!0", 4), "the selection leaves no worker");
  EXPECT_EQ(Of("!0-3", 4), "the selection leaves no worker");
}

TEST(WorkerSelection, IsKnownWithoutThePodWhereItNamesItsWorkers) {
  EXPECT_EQ(Named("0-63,!7"), "0-6,8-63");
  EXPECT_EQ(Named("0-255/64"), "0,64,128,192");
  EXPECT_EQ(Named("0,!0"), "");
  EXPECT_EQ(Named("all"), "?");
  EXPECT_EQ(Named("all,!7"), "?");
  EXPECT_EQ(Named("!7"), "?");
}

TEST(WorkerSelection, SeveralAreOne) {
  auto selection = WorkerSelection::Parse("0-3");
  ASSERT_TRUE(selection->Add(*WorkerSelection::Parse("!1")).has_value());
  ASSERT_TRUE(selection->Add(*WorkerSelection::Parse("5")).has_value());
  EXPECT_THAT(*selection->Of(8), ElementsAre(0, 2, 3, 5));
}

TEST(WorkerSelection, DoesNotGrowWithoutLimit) {
  std::string text = "0-99999";
  for (int i = 1; i < 10; ++i) text += ",0-99999";
  EXPECT_EQ(Of(text, 100'000), "0-99999");
  EXPECT_EQ(Of(text + ",0", 100'000), "`0` is too much: a million numbers are taken");
  auto selection = *WorkerSelection::Parse(text);
  EXPECT_FALSE(selection.Add(*WorkerSelection::Parse("7")).has_value());
}

TEST(WorkerSelection, ReadsWhatIsWrittenOfAnyWorkers) {
  std::vector<int> every_second;
  for (int i = 0; i < 6'000; i += 2) every_second.push_back(i);
  EXPECT_EQ(*WorkerSelection::Parse(FormatRanges(every_second))->Named(), every_second);
}

}  // namespace
}  // namespace podctl
