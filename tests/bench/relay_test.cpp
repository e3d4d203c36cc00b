#include "tests/bench/relay.h"

#include <gtest/gtest.h>

#include <string>

namespace podctl::bench {
namespace {

TEST(RequestStream, KnowsWhereARequestEnds) {
  RequestStream stream;
  EXPECT_TRUE(stream.IsBetween());
  stream.Feed("POST /x HTTP/1.1\r\nContent-Le");
  EXPECT_FALSE(stream.IsBetween());
  stream.Feed("ngth: 5\r\n\r\n12");
  EXPECT_FALSE(stream.IsBetween());
  stream.Feed("345");
  EXPECT_TRUE(stream.IsBetween());
  EXPECT_EQ(stream.body_bytes(), 5);
  stream.Feed("GET /x HTTP/1.1\r\nHost: y\r\n\r\n");
  EXPECT_TRUE(stream.IsBetween());
  EXPECT_EQ(stream.body_bytes(), 5);
}

TEST(RequestStream, CountsOfChunksTheirBytesAlone) {
  RequestStream stream;
  const std::string text =
      "PUT /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nhello "
      "world\r\n3;a=b\r\nabc\r\n0\r\n"
      "Sum: 1\r\n\r\n";
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_EQ(stream.IsBetween(), i == 0) << i;
    stream.Feed(text.substr(i, 1));
  }
  EXPECT_TRUE(stream.IsBetween());
  EXPECT_EQ(stream.body_bytes(), 14);
}

}  // namespace
}  // namespace podctl::bench
