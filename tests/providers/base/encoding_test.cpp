#include "providers/base/encoding.h"

#include <gtest/gtest.h>

namespace podctl {
namespace {

TEST(Encoding, WritesBytes) {
  EXPECT_EQ(Hex("\x01\xab"), "01ab");
  EXPECT_EQ(Base64Encode("client-7:s"), "Y2xpZW50LTc6cw==");
  EXPECT_EQ(Base64Encode(""), "");
  EXPECT_EQ(Base64Url("\xfb\xff"), "-_8");
}

TEST(Encoding, Base64GoesBothWays) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(Base64Decode(Base64Encode(bytes)), bytes);
    bytes.push_back(static_cast<char>(i * 7));
  }
  EXPECT_EQ(Base64Decode("Zm 9v\n"), "foo");
  EXPECT_FALSE(Base64Decode("Zm9=v").has_value());
  EXPECT_FALSE(Base64Decode("Z").has_value());
}

}  // namespace
}  // namespace podctl
