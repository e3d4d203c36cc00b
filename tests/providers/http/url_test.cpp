#include "providers/http/url.h"

#include <gtest/gtest.h>

namespace podctl::http {
namespace {

TEST(Url, KnowsItsParts) {
  const auto url = ParseUrl("https://tpu.googleapis.com/v2/x");
  ASSERT_TRUE(url.has_value());
  EXPECT_EQ(url->scheme, "https");
  EXPECT_EQ(url->host, "tpu.googleapis.com");
  EXPECT_EQ(url->port, "443");
  EXPECT_EQ(url->path, "/v2/x");
  EXPECT_FALSE(url->has_user);
  EXPECT_FALSE(url->has_query);
  EXPECT_EQ(url->Server(), "tpu.googleapis.com");
  EXPECT_EQ(ParseUrl("http://127.0.0.1:8470")->Server(), "127.0.0.1:8470");
  EXPECT_EQ(ParseUrl("http://[::1]:8470/")->Server(), "[::1]:8470");
  EXPECT_TRUE(ParseUrl("https://u:p@host/")->has_user);
  EXPECT_TRUE(ParseUrl("https://host/?q")->has_query);
}

TEST(Url, RefusesWhatIsNotHttp) {
  for (const char* text : {"", "host", "ftp://host/", "file:///etc/passwd", "http://",
                           "http://host:99999/", "http://host:x/", "http://ho st/"}) {
    const auto url = ParseUrl(text);
    ASSERT_FALSE(url.has_value()) << text;
    EXPECT_EQ(url.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_FALSE(ParseUrl(std::string("http://host\0.evil/", 18)).has_value());
}

// A token goes in the clear to these, and to these only.
TEST(Loopback, IsWhatIsWrittenSo) {
  for (const char* text : {"http://127.0.0.1:1", "http://127.255.1.2/", "http://localhost:8470/",
                           "http://LocalHost", "http://[::1]:1/", "http://[0:0:0:0:0:0:0:1]/"}) {
    const auto url = ParseUrl(text);
    ASSERT_TRUE(url.has_value()) << text;
    EXPECT_TRUE(IsLoopback(*url)) << text;
  }
}

TEST(Loopback, IsNothingElse) {
  for (const char* text :
       {"http://localhost.evil.com/", "http://127.0.0.1.evil.com/", "http://128.0.0.1/",
        "http://evil.com/127.0.0.1", "http://127.0.0.1@evil.com/", "http://localhost:80@evil.com/",
        "http://[::2]/", "http://[::ffff:10.0.0.1]/", "http://0.0.0.0/", "http://mylocalhost/",
        "http://10.0.0.1/"}) {
    const auto url = ParseUrl(text);
    if (!url) continue;
    EXPECT_FALSE(IsLoopback(*url)) << text;
  }
}

TEST(Encoding, LeavesOnlyTheUnreserved) {
  EXPECT_EQ(PercentEncode("aZ0-._~"), "aZ0-._~");
  EXPECT_EQ(PercentEncode("a/b?c=d&e f%+ä"), "a%2Fb%3Fc%3Dd%26e%20f%25%2B%C3%A4");
  EXPECT_EQ(QueryString({}), "");
  EXPECT_EQ(QueryString({{"alt", "json"}, {"updateMask", "a,b"}}), "?alt=json&updateMask=a%2Cb");
}

}  // namespace
}  // namespace podctl::http
