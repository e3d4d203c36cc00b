#include "providers/http/curl_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <thread>

#include "tests/providers/http/socket_server.h"

namespace podctl::http {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Peer;
using testing::SocketServer;

Request Get(const std::string& url) {
  Request request;
  request.url = url;
  return request;
}

Request Post(const std::string& url, const std::string& body) {
  Request request;
  request.method = "POST";
  request.url = url;
  request.body = body;
  return request;
}

TEST(CurlTransport, SendsTheRequestAsGiven) {
  std::string seen;
  SocketServer server([&](Peer& peer) {
    seen = peer.ReadRequest();
    peer.Answer("{}");
  });
  {
    CurlTransport transport("podctl/1.2.3");
    Request request = Post(server.Url("/v2/a/../b?x=%2F"), R"({"a":1})");
    request.method = "PATCH";
    request.headers = {{"Authorization", "Bearer t"}, {"Content-Type", "application/json"}};
    const auto response = transport.Send(request, {});
    ASSERT_TRUE(response.has_value()) << response.error().message;
    EXPECT_EQ(response->status, 200);
  }
  EXPECT_THAT(seen, HasSubstr("PATCH /v2/a/../b?x=%2F HTTP/1.1\r\n"));
  EXPECT_THAT(seen, HasSubstr("Authorization: Bearer t\r\n"));
  EXPECT_THAT(seen, HasSubstr("User-Agent: podctl/1.2.3\r\n"));
  EXPECT_THAT(seen, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_THAT(seen, HasSubstr("\r\n\r\n{\"a\":1}"));
  EXPECT_THAT(seen, Not(HasSubstr("Expect:")));
}

TEST(CurlTransport, SendsNoBodyWithGetAndDelete) {
  std::string seen;
  SocketServer server([&](Peer& peer) {
    for (std::string text = peer.ReadRequest(); !text.empty(); text = peer.ReadRequest()) {
      seen += text;
      peer.Answer("{}");
    }
  });
  {
    CurlTransport transport("podctl");
    Request request = Get(server.Url());
    EXPECT_TRUE(transport.Send(request, {}).has_value());
    request.method = "DELETE";
    EXPECT_TRUE(transport.Send(request, {}).has_value());
  }
  EXPECT_THAT(seen, HasSubstr("DELETE / HTTP/1.1\r\n"));
  EXPECT_THAT(seen, Not(HasSubstr("Content-Length")));
}

TEST(CurlTransport, GivesStatusHeadersAndBodyAsValues) {
  SocketServer server([](Peer& peer) {
    peer.ReadRequest();
    peer.Write("HTTP/1.1 100 Continue\r\nX-Early: 1\r\n\r\n");
    peer.Answer("gone", "Retry-AFTER:  7 \r\n", "404 Not Found");
  });
  CurlTransport transport("podctl");
  const auto response = transport.Send(Get(server.Url()), {});
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(response->body, "gone");
  ASSERT_NE(response->Header("retry-after"), nullptr);
  EXPECT_EQ(*response->Header("retry-after"), "7");
  EXPECT_EQ(response->Header("x-early"), nullptr);
}

TEST(CurlTransport, KeepsConnectionsForReading) {
  SocketServer server([](Peer& peer) {
    while (!peer.ReadRequest().empty()) peer.Answer("{}");
  });
  CurlTransport transport("podctl");
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(transport.Send(Get(server.Url()), {}).has_value());
  EXPECT_EQ(server.Connections(), 1);
}

// As etcd has it, where reading is a POST.
TEST(CurlTransport, KeepsConnectionsForAPostThatMayBeRepeated) {
  SocketServer server([](Peer& peer) {
    while (!peer.ReadRequest().empty()) peer.Answer("{}");
  });
  CurlTransport transport("podctl");
  for (int i = 0; i < 5; ++i) {
    Request request = Post(server.Url(), "{}");
    request.repeatable = true;
    ASSERT_TRUE(transport.Send(request, {}).has_value());
  }
  EXPECT_EQ(server.Connections(), 1);
}

TEST(CurlTransport, DoesNotFollowRedirects) {
  SocketServer server([](Peer& peer) {
    peer.ReadRequest();
    peer.Answer("", "Location: http://127.0.0.1:1/\r\n", "302 Found");
  });
  CurlTransport transport("podctl");
  EXPECT_EQ(transport.Send(Get(server.Url()), {})->status, 302);
}

TEST(CurlTransport, UnpacksGzip) {
  // gzip of "hello\n".
  const std::string packed(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\xe7\x02\x00\x20\x30\x3a\x36\x06"
      "\x00\x00\x00",
      26);
  std::string seen;
  SocketServer server([&](Peer& peer) {
    seen = peer.ReadRequest();
    peer.Answer(packed, "Content-Encoding: gzip\r\n");
  });
  CurlTransport transport("podctl");
  const auto response = transport.Send(Get(server.Url()), {});
  ASSERT_TRUE(response.has_value()) << response.error().message;
  EXPECT_EQ(response->body, "hello\n");
  EXPECT_THAT(seen, HasSubstr("Accept-Encoding: gzip\r\n"));
}

TEST(CurlTransport, NoConnectionMeansTheServerNeverSawIt) {
  std::string url;
  {
    SocketServer gone([](Peer&) {});
    url = gone.Url();
  }
  CurlTransport transport("podctl");
  for (const Request& request : {Get(url), Post(url, "{}")}) {
    const auto response = transport.Send(request, {});
    ASSERT_FALSE(response.has_value());
    EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(response.error().message, HasSubstr("cannot reach 127.0.0.1:"));
  }
}

TEST(CurlTransport, ABrokenAnswerIsAReplyLost) {
  const std::vector<std::function<void(Peer&)>> faults = {
      [](Peer& peer) { peer.Close(); },
      [](Peer& peer) { peer.Reset(); },
      [](Peer& peer) { peer.Write("HTTP/1.1 200 OK\r\nContent-Le"); },
      [](Peer& peer) { peer.Write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"); },
      [](Peer& peer) {
        peer.Write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
        peer.Reset();
      },
      [](Peer& peer) {
        peer.Write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nhalf");
      },
      [](Peer& peer) { peer.Answer("no gzip", "Content-Encoding: gzip\r\n"); },
  };
  for (std::size_t i = 0; i < faults.size(); ++i) {
    SocketServer server([&](Peer& peer) {
      peer.ReadRequest();
      faults[i](peer);
    });
    CurlTransport transport("podctl");
    const auto response = transport.Send(Post(server.Url(), "{}"), {});
    ASSERT_FALSE(response.has_value()) << "fault " << i;
    EXPECT_EQ(response.error().code, ErrorCode::kReplyLost) << "fault " << i;
  }
}

TEST(CurlTransport, WhoNamesAnEncodingTakesTheBytesAsTheyCome) {
  std::string seen;
  SocketServer server([&](Peer& peer) {
    seen = peer.ReadRequest();
    peer.Answer("no gzip", "Content-Encoding: gzip\r\n");
  });
  CurlTransport transport("podctl");
  Request request = Get(server.Url());
  request.headers.emplace_back("Accept-Encoding", "gzip");
  const auto response = transport.Send(request, {});
  ASSERT_TRUE(response.has_value()) << response.error().message;
  EXPECT_EQ(response->body, "no gzip");
  EXPECT_EQ(seen.find("Accept-Encoding"), seen.rfind("Accept-Encoding"));
}

// As etcd sends its errors.
TEST(CurlTransport, TrailersAfterTheBodyAreNoHeaders) {
  SocketServer server([](Peer& peer) {
    peer.ReadRequest();
    peer.Write(
        "HTTP/1.1 403 Forbidden\r\nTrailer: X-Late\r\nTransfer-Encoding: chunked\r\n\r\n"
        "2\r\n{}\r\n0\r\nX-Late: yes\r\n\r\n");
  });
  CurlTransport transport("podctl");
  const auto response = transport.Send(Post(server.Url(), "{}"), {});
  ASSERT_TRUE(response.has_value()) << response.error().message;
  EXPECT_EQ(response->status, 403);
  EXPECT_EQ(response->body, "{}");
  EXPECT_EQ(response->Header("x-late"), nullptr);
}

TEST(CurlTransport, WorksAgainAfterAnError) {
  int requests = 0;
  SocketServer server([&](Peer& peer) {
    while (!peer.ReadRequest().empty()) {
      if (++requests == 2) return peer.Write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
      peer.Answer("whole");
    }
  });
  CurlTransport transport("podctl");
  EXPECT_TRUE(transport.Send(Get(server.Url()), {}).has_value());
  EXPECT_FALSE(transport.Send(Get(server.Url()), {}).has_value());
  EXPECT_EQ(transport.Send(Get(server.Url()), {})->body, "whole");
}

// libcurl repeats a request by itself when a kept connection dies under it; a create must not be
// sent twice behind our back.
TEST(CurlTransport, NeverRepeatsAPostByItself) {
  std::atomic<int> posts{0};
  SocketServer server([&](Peer& peer) {
    for (std::string text = peer.ReadRequest(); !text.empty(); text = peer.ReadRequest()) {
      if (text.starts_with("POST")) {
        ++posts;
        return;  // acted, and died
      }
      peer.Answer("{}");
    }
  });
  CurlTransport transport("podctl");
  ASSERT_TRUE(transport.Send(Get(server.Url()), {}).has_value());  // leaves a kept connection
  const auto response = transport.Send(Post(server.Url(), "{}"), {});
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kReplyLost);
  EXPECT_EQ(posts, 1);
}

// A save of a state: whoever sent it reads what became of it, so it need not have a connection of
// its own. Twice it must not be sent all the same.
TEST(CurlTransport, KeepsConnectionsForWhatIsSettled) {
  SocketServer server([](Peer& peer) {
    while (!peer.ReadRequest().empty()) peer.Answer("{}");
  });
  CurlTransport transport("podctl");
  for (int i = 0; i < 5; ++i) {
    Request request = Post(server.Url(), std::string(i == 2 ? 3'000'000 : 2, 'x'));
    request.settled = true;
    request.once = i % 2 == 0;
    ASSERT_TRUE(transport.Send(request, {}).has_value());
    ASSERT_TRUE(transport.Send(Get(server.Url()), {}).has_value());
  }
  EXPECT_EQ(server.Connections(), 1);
}

TEST(CurlTransport, NeverRepeatsByItselfWhatIsSettled) {
  for (const std::size_t bytes : {std::size_t{2}, std::size_t{3'000'000}}) {
    std::atomic<int> posts{0};
    SocketServer server([&](Peer& peer) {
      for (std::string text = peer.ReadRequest(); !text.empty(); text = peer.ReadRequest()) {
        if (text.starts_with("POST")) {
          ++posts;
          return;  // acted, and died
        }
        peer.Answer("{}");
      }
    });
    CurlTransport transport("podctl");
    ASSERT_TRUE(transport.Send(Get(server.Url()), {}).has_value());
    Request request = Post(server.Url(), std::string(bytes, 'x'));
    request.settled = true;
    const auto response = transport.Send(request, {});
    ASSERT_FALSE(response.has_value());
    EXPECT_EQ(response.error().code, ErrorCode::kReplyLost);
    EXPECT_NE(response.error().message.find("connection was closed"), std::string::npos)
        << response.error().message;
    EXPECT_EQ(posts, 1);
    EXPECT_TRUE(transport.Send(Get(server.Url()), {}).has_value());
  }
}

// What is closed while nobody looks is found to be closed, and costs no answer.
TEST(CurlTransport, ConnectsAnewForWhatIsSettledWhereTheKeptOneWasClosed) {
  std::atomic<int> closed{0};
  SocketServer server([&](Peer& peer) {
    if (!peer.ReadRequest().empty()) peer.Answer("{}");
    peer.Close();
    ++closed;
  });
  CurlTransport transport("podctl");
  for (int i = 1; i <= 3; ++i) {
    Request request = Post(server.Url(), "{}");
    request.settled = true;
    ASSERT_TRUE(transport.Send(request, {}).has_value());
    EXPECT_EQ(server.Connections(), i);
    while (closed < i) std::this_thread::yield();
  }
}

// Nor a deletion on a condition, which the second time finds nothing, as if it had been refused.
TEST(CurlTransport, NeverRepeatsByItselfWhatIsToBeSentOnce) {
  std::atomic<int> deletions{0};
  SocketServer server([&](Peer& peer) {
    for (std::string text = peer.ReadRequest(); !text.empty(); text = peer.ReadRequest()) {
      if (text.starts_with("DELETE")) {
        ++deletions;
        return;
      }
      peer.Answer("{}");
    }
  });
  CurlTransport transport("podctl");
  ASSERT_TRUE(transport.Send(Get(server.Url()), {}).has_value());
  Request request = Get(server.Url());
  request.method = "DELETE";
  request.once = true;
  const auto response = transport.Send(request, {});
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kReplyLost);
  EXPECT_EQ(deletions, 1);
}

TEST(CurlTransport, ATimeoutAfterSendingIsAReplyLost) {
  SocketServer server([](Peer& peer) {
    peer.ReadRequest();
    peer.ReadRequest();  // says nothing until the client goes away
  });
  CurlTransport transport("podctl");
  Request request = Get(server.Url());
  request.timeout = milliseconds(100);
  const auto response = transport.Send(request, {});
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kReplyLost);
}

TEST(CurlTransport, StopsInTheMiddleOfAnExchange) {
  std::stop_source stop;
  SocketServer server([&](Peer& peer) {
    peer.ReadRequest();
    stop.request_stop();
    peer.ReadRequest();
  });
  CurlTransport transport("podctl");
  const auto response = transport.Send(Get(server.Url()), stop.get_token());
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kCancelled);
}

TEST(CurlTransport, SendsNothingWhenStoppedBefore) {
  std::stop_source stop;
  stop.request_stop();
  SocketServer server([](Peer& peer) { peer.Answer("{}"); });
  CurlTransport transport("podctl");
  EXPECT_EQ(transport.Send(Get(server.Url()), stop.get_token()).error().code,
            ErrorCode::kCancelled);
  EXPECT_EQ(server.Connections(), 0);
}

TEST(CurlTransport, RefusesAnAnswerWithoutEnd) {
  SocketServer server([](Peer& peer) {
    peer.ReadRequest();
    peer.Write("HTTP/1.1 200 OK\r\n\r\n");
    const std::string block(1024 * 1024, 'x');
    for (int i = 0; i < 70; ++i) peer.Write(block);
  });
  CurlTransport transport("podctl");
  const auto response = transport.Send(Get(server.Url()), {});
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kDataLoss);
  EXPECT_THAT(response.error().message, HasSubstr("too large"));
}

TEST(CurlTransport, RefusesHeadersThatBreakOut) {
  SocketServer server([](Peer& peer) { peer.Answer("{}"); });
  CurlTransport transport("podctl");
  Request request = Get(server.Url());
  request.headers = {{"Authorization", "Bearer x\r\nX-Evil: 1"}};
  const auto response = transport.Send(request, {});
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(response.error().message, Not(HasSubstr("Evil")));
}

TEST(CurlTransport, RefusesBadUrls) {
  CurlTransport transport("podctl");
  for (const char* url : {"", "ftp://127.0.0.1/", "file:///etc/passwd", "nonsense"}) {
    const auto response = transport.Send(Get(url), {});
    ASSERT_FALSE(response.has_value()) << url;
    EXPECT_EQ(response.error().code, ErrorCode::kInvalidArgument) << url;
  }
}

TEST(CurlTransport, GoesToLoopbackWithoutAProxy) {
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);  // nobody there
  SocketServer server([](Peer& peer) {
    peer.ReadRequest();
    peer.Answer("direct");
  });
  CurlTransport transport("podctl");
  const auto response = transport.Send(Get(server.Url()), {});
  ::unsetenv("http_proxy");
  ASSERT_TRUE(response.has_value()) << response.error().message;
  EXPECT_EQ(response->body, "direct");
}

TEST(CurlTransport, UsesTheProxyOfTheEnvironmentElsewhere) {
  std::string seen;
  SocketServer proxy([&](Peer& peer) {
    seen = peer.ReadRequest();
    peer.Answer("by proxy");
  });
  ::setenv("http_proxy", proxy.Url().c_str(), 1);
  {
    CurlTransport transport("podctl");
    const auto response = transport.Send(Get("http://tpu.invalid/v2"), {});
    ::unsetenv("http_proxy");
    ASSERT_TRUE(response.has_value()) << response.error().message;
    EXPECT_EQ(response->body, "by proxy");
  }
  EXPECT_THAT(seen, HasSubstr("GET http://tpu.invalid/v2 HTTP/1.1\r\n"));
}

TEST(CurlTransport, ServesManyThreads) {
  SocketServer server([](Peer& peer) {
    peer.ReadRequest();
    peer.Answer("{}", "Connection: close\r\n");
  });
  CurlTransport transport("podctl");
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < 5; ++k) {
          if (transport.Send(Get(server.Url()), {})) ++good;
        }
      });
    }
  }
  EXPECT_EQ(good, 40);
}

}  // namespace
}  // namespace podctl::http
