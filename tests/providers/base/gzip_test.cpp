#include "providers/base/gzip.h"

#include <gtest/gtest.h>

#include <string>

namespace podctl {
namespace {

std::string Long() {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "{\"pod\": " + std::to_string(i) + "}";
  return text;
}

TEST(GzipTest, GivesTheTextBack) {
  for (const std::string& text : {std::string(), std::string("a"), Long(), std::string(3, '\0')}) {
    const auto back = Gunzip(Gzip(text), text.size());
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, text);
  }
  EXPECT_LT(Gzip(Long()).size(), Long().size() / 4);
  EXPECT_EQ(Gzip(Long()), Gzip(Long()));
}

TEST(GzipTest, RefusesWhatIsCutOrDamagedOrNone) {
  const std::string whole = Gzip(Long());
  for (std::size_t at = 0; at < whole.size(); at += 97) {
    EXPECT_FALSE(Gunzip(whole.substr(0, at), Long().size())) << at;
  }
  EXPECT_FALSE(Gunzip(whole + "x", Long().size()));
  EXPECT_FALSE(Gunzip("{}", 100));
  std::string damaged = whole;
  damaged[damaged.size() / 2] ^= 1;
  EXPECT_FALSE(Gunzip(damaged, Long().size()));
}

TEST(GzipTest, UnpacksNoMoreThanWasAskedFor) {
  const auto large = Gunzip(Gzip(std::string(10'000'000, 'x')), 1000);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace podctl
