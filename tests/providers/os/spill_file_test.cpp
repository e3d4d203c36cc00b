#include "providers/os/spill_file.h"

#include <gtest/gtest.h>

#include <string>

namespace podctl {
namespace {

TEST(ScratchFileTest, KeepsWhatIsWrittenIntoABlock) {
  ScratchFile file(4);
  const auto first = file.Take();
  const auto second = file.Take();
  ASSERT_TRUE(first.has_value() && second.has_value());
  ASSERT_TRUE(file.Write(*first, 0, "hello"));
  ASSERT_TRUE(file.Write(*second, 0, "other"));
  ASSERT_TRUE(file.Write(*first, 5, " there"));
  std::string text(11, '\0');
  ASSERT_TRUE(file.Read(*first, 0, text.data(), text.size()));
  EXPECT_EQ(text, "hello there");
}

TEST(ScratchFileTest, GivesOutNoMoreThanItsLimitAndTakesBlocksBack) {
  ScratchFile file(2);
  const auto first = file.Take();
  ASSERT_TRUE(file.Take().has_value());
  EXPECT_FALSE(file.Take().has_value());
  file.GiveBack(*first);
  EXPECT_EQ(file.Take(), first);
}

}  // namespace
}  // namespace podctl
