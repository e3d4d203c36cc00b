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
std::string Of(const std::string& text, std::size_t count, int per_slice = 0) {
  const auto selection = WorkerSelection::Parse(text, "research");
  if (!selection) return selection.error().message;
  const auto numbers = selection->Of(count, per_slice);
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
  EXPECT_EQ(Of("all/2", 9), "`all/2` wants a range before its slash");
  EXPECT_EQ(Of("8/2", 9), "`8/2` names a slice, and the pod has none");
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

// Three slices of four workers each.
TEST(WorkerSelection, NamesWorkersOfSlices) {
  EXPECT_EQ(Of("1/3", 12, 4), "7");
  EXPECT_EQ(Of("[1]/3", 12, 4), "7");
  EXPECT_EQ(Of("1/0-2,2/all", 12, 4), "4-6,8-11");
  EXPECT_EQ(Of("[1]", 12, 4), "4-7");
  EXPECT_EQ(Of("[0-1]/0", 12, 4), "0,4");
  EXPECT_EQ(Of("[0,2]/1-3/2", 12, 4), "1,3,9,11");
  EXPECT_EQ(Of("![1]/0", 12, 4), "0-3,5-11");
  EXPECT_EQ(Of("all,![0-1]", 12, 4), "8-11");
  EXPECT_EQ(Of("5,[0]/0", 12, 4), "0,5") << "without a slice a number goes through all of them";
  EXPECT_EQ(Of("0-2/2", 12, 4), "0,2") << "a range before the slash is every second, as ever";
  EXPECT_EQ(Of("research[1]/3, research/0", 12, 4), "0,7");
  EXPECT_EQ(Named("1/3"), "?");
}

TEST(WorkerSelection, SaysWhichSliceIsNotThere) {
  EXPECT_EQ(Of("3/0", 12, 4), "there is no slice 3, which `3/0` names: the pod has 3 slices");
  EXPECT_EQ(Of("[1-9]", 12, 4), "there is no slice 3, which `[1-9]` names: the pod has 3 slices");
  EXPECT_EQ(Of("1/4", 12, 4), "there is no worker 4, which `1/4` names: a slice has 4 workers");
  EXPECT_EQ(Of("[1", 12, 4), "`[1` lacks a `]`");
  EXPECT_EQ(Of("[1]3", 12, 4), "`[1]3` wants a slash after its `]`");
  EXPECT_EQ(Of("[x]/3", 12, 4), "`[x]/3` names no slices");
  EXPECT_EQ(Of("[]/3", 12, 4), "`[]/3` names no slices");
  EXPECT_EQ(Of("1/", 12, 4), "`1/` names no workers");
  EXPECT_EQ(Of("1/2/3", 12, 4), "`1/2/3` wants a range before its slash");
  EXPECT_EQ(Of("other[1]/3", 12, 4), "`other[1]/3` wants a range before its slash");
}

TEST(WorkerNames, OfAMultisliceNameTheSlices) {
  EXPECT_EQ(FormatWorkers({0, 1, 2, 5}, 0), "0-2,5");
  EXPECT_EQ(FormatWorkers({7}, 4), "[1]/3");
  EXPECT_EQ(FormatWorkers({0, 1, 4, 5, 8}, 4), "[0-1]/0-1,[2]/0");
  EXPECT_EQ(FormatWorkers({0, 2, 3, 8, 10, 11, 4}, 4), "[0,2]/0,[0,2]/2-3,[1]/0");
  EXPECT_EQ(WorkersName("research", {7}, 4), "research[1]/3");
  EXPECT_EQ(WorkersName("research", {4, 5, 6, 7}, 4), "research[1]/0-3");
  EXPECT_EQ(WorkersName("research", {3}, 0), "research/3");
  EXPECT_EQ(WorkersName("research", {0, 1, 3}, 0), "research/[0-1,3]");
}

TEST(WorkerNames, AreReadBackAsTheSameWorkers) {
  for (unsigned set = 1; set < 1u << 8; ++set) {
    std::vector<int> numbers;
    for (int i = 0; i < 8; ++i) {
      if ((set >> i & 1u) != 0) numbers.push_back(i);
    }
    EXPECT_EQ(Of(WorkersName("research", numbers, 2), 8, 2), FormatRanges(numbers));
  }
}

TEST(WorkerSelection, ReadsWhatIsWrittenOfAnyWorkers) {
  std::vector<int> every_second;
  for (int i = 0; i < 6'000; i += 2) every_second.push_back(i);
  EXPECT_EQ(*WorkerSelection::Parse(FormatRanges(every_second))->Named(), every_second);
}

}  // namespace
}  // namespace podctl
