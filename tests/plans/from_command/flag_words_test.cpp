// Flags in the forms that gcloud and argparse take.
#include "plans/from_command/flag_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace podctl {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr FlagRule kRules[] = {
    {"zone"}, {"spot", false}, {"label", true, 'l'}, {"quiet", false, 'q'}};

std::string Read(const std::vector<std::string>& words,
                 Positionals positionals = Positionals::kAnywhere) {
  const FlagWords read = ReadFlagWords(words, kRules, positionals);
  std::string text;
  for (const GivenFlag& flag : read.flags) {
    text += flag.name + (flag.known ? "" : "?") + (flag.lacks_value ? "!" : "");
    if (flag.value) text += "=" + *flag.value;
    text += " ";
  }
  for (const std::string& word : read.positionals) text += "(" + word + ") ";
  for (const std::string& word : read.command) text += "[" + word + "] ";
  if (!text.empty()) text.pop_back();
  return text;
}

TEST(FlagWords, EveryForm) {
  EXPECT_EQ(Read({"a", "--zone=z", "b"}), "zone=z (a) (b)");
  EXPECT_EQ(Read({"--zone", "z", "--spot", "b"}), "zone=z spot (b)");
  EXPECT_EQ(Read({"--no-spot", "--spot=false"}), "spot=false spot=false");
  EXPECT_EQ(Read({"--zone=a=b", "--zone="}), "zone=a=b zone=");
  EXPECT_EQ(Read({"-l", "k=v", "-lk=w", "-q"}), "label=k=v label=k=w quiet");
  EXPECT_EQ(Read({"--zone", "-1"}), "zone=-1");
  EXPECT_EQ(Read({"--zone"}), "zone!");
  EXPECT_EQ(Read({"--zone", "--", "x"}), "zone! [x]");
  EXPECT_EQ(Read({"--what=1", "--so", "-z"}), "what?=1 so? -z?");
  // It may be its value, unless it is the last word, which the command needs more.
  EXPECT_EQ(Read({"--what", "1", "name"}), "what?=1 (name)");
  EXPECT_EQ(Read({"--what", "name"}), "what? (name)");
}

TEST(FlagWords, WhereACommandBegins) {
  EXPECT_EQ(Read({"--spot", "a", "--", "b", "--zone", "c"}), "spot (a) [b] [--zone] [c]");
  EXPECT_EQ(Read({"--spot", "a", "--zone", "c"}, Positionals::kEndTheFlags),
            "spot [a] [--zone] [c]");
  EXPECT_EQ(Read({"--spot", "--", "a"}, Positionals::kEndTheFlags), "spot [a]");
}

TEST(FlagWords, ListsHaveTheDelimiterThatTheyName) {
  EXPECT_THAT(SplitGcloudList("a,b"), ElementsAre("a", "b"));
  EXPECT_THAT(SplitGcloudList("^:^a,1:b"), ElementsAre("a,1", "b"));
  EXPECT_THAT(SplitGcloudList("^--^a--b-c"), ElementsAre("a", "b-c"));
  EXPECT_THAT(SplitGcloudList("^^a"), ElementsAre("^^a"));
  EXPECT_THAT(SplitGcloudList(""), IsEmpty());
  std::vector<std::string> odd;
  EXPECT_THAT(SplitGcloudDict("a=1,b,c=x=y", &odd),
              ElementsAre(Pair("a", "1"), Pair("b", ""), Pair("c", "x=y")));
  EXPECT_THAT(odd, ElementsAre("b"));
}

TEST(FlagWords, DurationsOfGcloud) {
  EXPECT_EQ(GcloudDuration("6h"), "6h");
  EXPECT_EQ(GcloudDuration("PT1H30M"), "90m");
  EXPECT_EQ(GcloudDuration("1d"), "24h");
  EXPECT_EQ(GcloudDuration("P1DT30S"), "86430s");
  EXPECT_EQ(GcloudDuration("90"), "90s");
  for (const char* bad : {"", "h", "6x", "PT", "1h-", "99999999999999999999h"}) {
    EXPECT_EQ(GcloudDuration(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace podctl
