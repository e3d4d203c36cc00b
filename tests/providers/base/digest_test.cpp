#include "providers/base/digest.h"

#include <gtest/gtest.h>

#include "providers/base/encoding.h"

namespace podctl {
namespace {

// FIPS 180-4's examples, and RFC 4231, test cases 1, 2 and 6.
TEST(Digest, Sha256) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Digest, HmacSha256) {
  EXPECT_EQ(HmacSha256Hex(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(HmacSha256Hex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(HmacSha256Hex(std::string(131, '\xaa'),
                          "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Digest, AnEmptyKeyIsAKeyOfItsOwn) {
  const std::string empty = HmacSha256Hex({}, "text");
  HmacSha256Hex("other", "text");
  EXPECT_EQ(HmacSha256Hex({}, "text"), empty);
}

// RFC 1321, appendix A.5.
TEST(Digest, Md5) {
  EXPECT_EQ(Hex(Md5Bytes("")), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(Hex(Md5Bytes("message digest")), "f96b697d7cb7938d525a2f31aaf161d0");
}

// RFC 3720, appendix B.4, and the check value of the catalogues.
TEST(Digest, Crc32c) {
  EXPECT_EQ(Crc32c(""), 0U);
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62A8AB43U);
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  EXPECT_EQ(Crc32c(rising), 0x46DD794EU);
  EXPECT_EQ(Crc32c(std::string(rising.rbegin(), rising.rend())), 0x113FDB5CU);
}

}  // namespace
}  // namespace podctl
