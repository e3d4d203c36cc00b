// What a page in a browser and another user of the machine get of the emulator: nothing.
#include "providers/emulator/api/gate.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>

#include "providers/emulator/api/http_server.h"
#include "tests/providers/emulator/emulator_fixture.h"

namespace podctl::emulator {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uid_t kNobody = 65534;
constexpr char kNode[] = R"({"acceleratorType":"v3-8","runtimeVersion":"tpu-vm-tf-2.11.0"})";
constexpr char kGateNodes[] = "/v2/projects/p/locations/europe-west4-a/nodes";

// ---- The rules.

RequestHead Get(const std::string& host) {
  RequestHead head;
  head.method = "GET";
  head.target = "/v2/x";
  head.hosts = {host};
  return head;
}
RequestHead Post(const std::string& type = "application/json") {
  RequestHead head = Get("127.0.0.1:8470");
  head.method = "POST";
  head.types = {type};
  head.has_body = true;
  return head;
}
// 0: let in.
int Judge(const RequestHead& head) {
  const Refusal refusal = CheckRequestHead({.port = 8470, .hosts = {}, .users = {}}, head);
  return refusal ? refusal->HttpStatus() : 0;
}

TEST(GateTest, AHostIsLoopbackWithThePortThatIsListenedOn) {
  for (const char* host :
       {"127.0.0.1:8470", "localhost:8470", "LocalHost:8470", "[::1]:8470", "127.3.2.1:8470"}) {
    EXPECT_EQ(Judge(Get(host)), 0) << host;
  }
  for (const char* host : {"",
                           "evil.example",
                           "evil.example:8470",
                           "127.0.0.1",
                           "127.0.0.1:80",
                           "127.0.0.1:",
                           "127.0.0.1:8470:8470",
                           "127.0.0.1.evil.example:8470",
                           "localhost.evil.example:8470",
                           "localhost.:8470",
                           "x.localhost:8470",
                           "user@127.0.0.1:8470",
                           "127.0.0.1:8470@evil.example",
                           "127.1:8470",
                           "2130706433:8470",
                           "0.0.0.0:8470",
                           "[::]:8470",
                           "[::1]",
                           "[::1:8470",
                           "[::1]x:8470",
                           "::1:8470",
                           "[::ffff:10.0.0.1]:8470",
                           "10.0.0.1:8470",
                           "127.0.0.1:08470",
                           "127.0.0.1:8470 ",
                           "metadata.google.internal:8470"}) {
    EXPECT_EQ(Judge(Get(host)), 403) << host;
  }
  RequestHead none = Get("x");
  none.hosts.clear();
  EXPECT_EQ(Judge(none), 403);
  none.hosts = {"127.0.0.1:8470", "evil.example"};
  EXPECT_EQ(Judge(none), 403);
}

TEST(GateTest, ARouteMayHaveHostsOfItsOwn) {
  const Gate metadata{
      .port = 80, .hosts = {"metadata.google.internal", "169.254.169.254"}, .users = {}};
  for (const char* host : {"metadata.google.internal", "Metadata.Google.Internal:80",
                           "169.254.169.254", "169.254.169.254:80", "localhost"}) {
    EXPECT_FALSE(CheckRequestHead(metadata, Get(host))) << host;
  }
  EXPECT_TRUE(CheckRequestHead(metadata, Get("evil.example")));
  EXPECT_TRUE(CheckRequestHead(metadata, Get("metadata.google.internal:8470")));
}

TEST(GateTest, ATargetIsAPath) {
  for (const char* target : {"http://127.0.0.1:8470/v2/x", "127.0.0.1:8470", "*", ""}) {
    RequestHead head = Get("127.0.0.1:8470");
    head.target = target;
    EXPECT_EQ(Judge(head), 400) << target;
  }
}

TEST(GateTest, APageOfAnotherOriginIsRefused) {
  for (const char* origin :
       {"https://evil.example", "null", "", "http://localhost:8470", "http://127.0.0.1:9999",
        "https://127.0.0.1:8470", "http://127.0.0.1:8470.evil.example"}) {
    RequestHead head = Post();
    head.origins = {origin};
    EXPECT_EQ(Judge(head), 403) << origin;
    head = Get("127.0.0.1:8470");
    head.origins = {"http://127.0.0.1:8470", origin};
    EXPECT_EQ(Judge(head), 403) << origin;
  }
  RequestHead own = Post();
  own.origins = {"http://127.0.0.1:8470"};
  own.sites = {"same-origin"};
  EXPECT_EQ(Judge(own), 0);
}

TEST(GateTest, ABrowserSaysWhetherAnotherSiteAsks) {
  for (const char* site : {"cross-site", "same-site", "", "Cross-Site", "something-new"}) {
    RequestHead head = Post();
    head.sites = {site};
    EXPECT_EQ(Judge(head), 403) << site;
    head.destinations = {"document"};  // a form
    EXPECT_EQ(Judge(head), 403) << site;
    head = Get("127.0.0.1:8470");
    head.sites = {site};
    head.destinations = {"image"};
    EXPECT_EQ(Judge(head), 403) << site;
    head.destinations = {"iframe"};
    EXPECT_EQ(Judge(head), 403) << site;
    head.destinations = {"document"};  // a link that somebody follows
    EXPECT_EQ(Judge(head), 0) << site;
  }
  RequestHead typed = Post();
  typed.sites = {"none"};
  EXPECT_EQ(Judge(typed), 0);
}

TEST(GateTest, ABodyIsJson) {
  for (const char* type : {"application/json", "Application/JSON; charset=UTF-8",
                           "application/json ; charset=utf-8"}) {
    EXPECT_EQ(Judge(Post(type)), 0) << type;
  }
  for (const char* type :
       {"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
        "text/plain; application/json", "application/json, text/plain", "application/jsonx",
        "application/json-seq"}) {
    EXPECT_EQ(Judge(Post(type)), 415) << type;
  }
  RequestHead head = Post();
  head.types = {"application/json", "text/plain"};
  EXPECT_EQ(Judge(head), 415);
  head.types = {};
  EXPECT_EQ(Judge(head), 415);
  head.has_body = false;  // curl -X POST
  EXPECT_EQ(Judge(head), 0);
  head.types = {"application/x-www-form-urlencoded"};  // a form without fields
  EXPECT_EQ(Judge(head), 415);
  head = Get("127.0.0.1:8470");
  head.has_body = true;
  EXPECT_EQ(Judge(head), 400);
}

// ---- On the wire.

int Connect(int port) {
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<std::uint16_t>(port));
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(file, reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
  return file;
}

// All that comes until the connection ends. `later` is sent when there is an answer, or after a
// moment without one.
std::string Ask(int port, const std::string& text, const std::string& later = "") {
  const int file = Connect(port);
  ::send(file, text.data(), text.size(), MSG_NOSIGNAL);
  if (!later.empty()) {
    pollfd answered{.fd = file, .events = POLLIN, .revents = 0};
    ::poll(&answered, 1, 200);
    ::send(file, later.data(), later.size(), MSG_NOSIGNAL);
  }
  std::string answer;
  char part[4096];
  ssize_t size = 0;
  while ((size = ::recv(file, part, sizeof part, 0)) > 0) {
    answer.append(part, static_cast<std::size_t>(size));
  }
  ::close(file);
  return answer;
}

class GateOnTheWireTest : public testing::EmulatorFixture {
 protected:
  int Port() { return std::stoi(emulator_->url().substr(emulator_->url().rfind(':') + 1)); }
  std::string Host() { return "127.0.0.1:" + std::to_string(Port()); }
  // A create as podctl sends it, but for the headers.
  std::string Create(const std::string& headers) {
    const std::string body = kNode;
    return std::string("POST ") + kGateNodes + "?nodeId=pwn HTTP/1.1\r\n" + headers +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  std::string Good() {
    return Create("Host: " + Host() + "\r\nContent-Type: application/json\r\n");
  }
  std::size_t Count() { return Send("GET", kGateNodes).body["nodes"].AsList().size(); }
};

TEST_F(GateOnTheWireTest, AnIssuersRequestIsRefusedAndPodctlsIsNot) {
  EXPECT_THAT(Ask(Port(), Create("Host: evil.example\r\nOrigin: https://evil.example\r\n"
                                 "Content-Type: text/plain\r\n")),
              HasSubstr("403"));
  const std::string host = "Host: " + Host() + "\r\n";
  EXPECT_THAT(Ask(Port(), Create(host + "Content-Type: text/plain\r\n")),
              HasSubstr("HTTP/1.1 415"));
  EXPECT_THAT(Ask(Port(), Create(host + host + "Content-Type: application/json\r\n")),
              HasSubstr("HTTP/1.1 403"));
  EXPECT_THAT(Ask(Port(), Create(host + "Content-Type: application/json\r\nOrigin: null\r\n")),
              HasSubstr("HTTP/1.1 403"));
  EXPECT_THAT(Ask(Port(), "GET /emulator HTTP/1.0\r\n\r\n"), HasSubstr("one Host header"));
  EXPECT_THAT(Ask(Port(), "GET http://" + Host() + "/emulator HTTP/1.1\r\n" + host + "\r\n"),
              HasSubstr("HTTP/1.1 400"));
  EXPECT_THAT(Ask(Port(), "CONNECT " + Host() + " HTTP/1.1\r\n" + host + "\r\n"),
              HasSubstr("HTTP/1.1 400"));
  EXPECT_THAT(Ask(Port(), std::string("GET ") + kGateNodes + "?nodeId=pwn HTTP/1.1\r\n" + host +
                              "X-HTTP-Method-Override: POST\r\n\r\n"),
              Not(HasSubstr("operations")));
  EXPECT_EQ(Count(), 0U);
  EXPECT_THAT(Ask(Port(), Good()), HasSubstr("HTTP/1.1 200"));
  EXPECT_EQ(Count(), 1U);
}

// What the library answers by itself, or does not read to its end, must not leave bytes behind that
// are read as the next request: its author may have been a page.
TEST_F(GateOnTheWireTest, NoBodyIsReadAsARequest) {
  const std::string host = "Host: " + Host() + "\r\n";
  const auto carrying = [&](const std::string& head) {
    return head + "Content-Length: " + std::to_string(Good().size()) + "\r\n\r\n";
  };
  const std::string form = "Content-Type: text/plain\r\nOrigin: https://evil.example\r\n";
  const std::string parts = "Content-Type: multipart/form-data; boundary=x\r\nOrigin: null\r\n";
  for (const std::string& request :
       {carrying("POST / HTTP/1.1\r\n" + host + form),
        carrying("POST /" + std::string(9000, 'a') + " HTTP/1.1\r\n" + host + form),
        carrying("POST / HTTP/1.1\r\n" + host + "Cookie: a=" + std::string(9000, 'a') + "\r\n" +
                 form),
        carrying("POST / HTTP/1.1\r\n" + host + "Range: bytes=x\r\n" + form),
        carrying("POST / HTTP/1.1\r\n" + host + parts),
        carrying("OPTIONS / HTTP/1.1\r\n" + host + form),
        carrying("GET /emulator HTTP/1.1\r\n" + host), carrying("FOO / HTTP/1.1\r\n" + host)}) {
    const std::string answer = Ask(Port(), request, Good());
    EXPECT_EQ(Count(), 0U) << request.substr(0, 60) << "\n" << answer;
    EXPECT_EQ(answer.find("HTTP/1.1", 8), std::string::npos) << answer;  // one answer
  }
}

TEST_F(GateOnTheWireTest, AnswersAreNobodysScriptsOrPictures) {
  const std::string answer = Ask(Port(), "GET /emulator HTTP/1.1\r\nHost: " + Host() + "\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("X-Content-Type-Options: nosniff"));
  EXPECT_THAT(answer, HasSubstr("Cross-Origin-Resource-Policy: same-origin"));
  EXPECT_THAT(answer, Not(HasSubstr("Access-Control-Allow")));
}

// ---- Who holds the other end.

// Runs it in a child of that user; it must not allocate locks that another thread may hold.
bool AsUser(uid_t user, const std::function<bool()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool done = ::setresgid(user, user, user) == 0 && ::setresuid(user, user, user) == 0;
    ::_exit(done && act() ? 0 : 1);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class GatePeerTest : public ::testing::Test {
 protected:
  void Serve(std::vector<uid_t> users) {
    auto server = HttpServer::Listen("127.0.0.1", 0);
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
    server_->Serve(
        [this](const HttpRequest&) {
          ++handled_;
          return HttpReply{};
        },
        {.port = 0, .hosts = {}, .users = std::move(users)});
    request_ = "GET / HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server_->port()) + "\r\n\r\n";
  }

  std::atomic<int> handled_ = 0;
  std::unique_ptr<HttpServer> server_;
  std::string request_;
};

TEST_F(GatePeerTest, OnlyTheUsersThatItIsForAreServed) {
  Serve({::geteuid()});
  EXPECT_THAT(Ask(server_->port(), request_), HasSubstr("200 OK"));
  EXPECT_EQ(handled_, 1);
  Serve({::geteuid() + 1});  // as if this were another user
  EXPECT_THAT(Ask(server_->port(), request_), HasSubstr("serves that user and root only"));
  EXPECT_EQ(handled_, 1);
}

// Before Linux 6.16 the kernel calls a closed socket root's: whoever closes at once is refused too.
TEST_F(GatePeerTest, ASocketThatWasClosedIsNobodys) {
  Serve({0, ::geteuid()});
  sockaddr_in own{};
  socklen_t size = sizeof own;
  const int file = Connect(server_->port());
  ::getsockname(file, reinterpret_cast<sockaddr*>(&own), &size);
  const End peer{"127.0.0.1", ntohs(own.sin_port)};
  const End here{"127.0.0.1", server_->port()};
  EXPECT_EQ(UserAt(peer, here), ::geteuid());
  EXPECT_EQ(UserAt({"127.0.0.1", peer.port}, {"127.0.0.2", here.port}), std::nullopt);
  EXPECT_EQ(UserAt({"::1", peer.port}, here), std::nullopt);
  ::close(file);
  EXPECT_EQ(UserAt(peer, here), std::nullopt);
  EXPECT_EQ(UserAt({"127.0.0.1", here.port}, {"127.0.0.1", 1}), std::nullopt);  // who listens
}

TEST_F(GatePeerTest, AnotherUserGetsNothing) {
  if (::geteuid() != 0) {
    // Only root can become somebody else; the test above has shown the refusal itself.
    Serve({});
    EXPECT_THAT(Ask(server_->port(), request_), HasSubstr("200 OK"));
    return;
  }
  Serve({0});
  EXPECT_TRUE(
      AsUser(kNobody, [&] { return Ask(server_->port(), request_).find("HTTP/1.1 403") == 0; }));
  // Many that close at once: whenever the server looks, nothing is done for them.
  EXPECT_TRUE(AsUser(kNobody, [&] {
    for (int i = 0; i < 500; ++i) {
      const int file = Connect(server_->port());
      ::send(file, request_.data(), request_.size(), MSG_NOSIGNAL);
      ::close(file);
    }
    return true;
  }));
  server_->Stop();
  EXPECT_EQ(handled_, 0);
}

// Each of a stranger's connections would hold a thread, as long as its request is not whole.
TEST_F(GatePeerTest, AnotherUserKeepsNobodyWaiting) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  Serve({0});
  int go[2] = {-1, -1};
  int stop[2] = {-1, -1};
  ASSERT_EQ(::pipe(go), 0);
  ASSERT_EQ(::pipe(stop), 0);
  const int port = server_->port();
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    ::close(stop[1]);
    const rlimit files{2048, 2048};
    bool done =
        ::setrlimit(RLIMIT_NOFILE, &files) == 0 && ::setresuid(kNobody, kNobody, kNobody) == 0;
    // Some are cut before they have said so much.
    for (int i = 0; i < 800; ++i) ::send(Connect(port), "GET / HTTP/1.1\r\nX", 17, MSG_NOSIGNAL);
    char byte = done ? 'y' : 'n';
    done = ::write(go[1], &byte, 1) == 1 && ::read(stop[0], &byte, 1) == 0;
    ::_exit(done ? 0 : 1);
  }
  char begun = '?';
  EXPECT_EQ(::read(go[0], &begun, 1), 1);
  EXPECT_EQ(begun, 'y');
  // Without the cut they would be waited for, each for 30 s.
  const int own = Connect(port);
  const timeval patience{.tv_sec = 20, .tv_usec = 0};
  ::setsockopt(own, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::send(own, request_.data(), request_.size(), MSG_NOSIGNAL);
  char answer[16] = "";
  EXPECT_EQ(::recv(own, answer, 15, MSG_WAITALL), 15);
  EXPECT_STREQ(answer, "HTTP/1.1 200 OK");
  ::close(own);
  for (const int file : {go[0], go[1], stop[0], stop[1]}) ::close(file);
  int status = 1;
  while (::waitpid(stranger, &status, 0) < 0 && errno == EINTR) {
  }
  EXPECT_EQ(handled_, 1);
}

// Nor does the user's own program that connects and says nothing.
TEST_F(GatePeerTest, SilentConnectionsKeepNobodyWaiting) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_max < 4096) GTEST_SKIP() << "it may have too few open files";
  Serve({});
  std::vector<int> silent;
  silent.reserve(1500);
  for (int i = 0; i < 1500; ++i) silent.push_back(Connect(server_->port()));
  // Without the cut all of them would be waited for first, 320 at a time.
  const int own = Connect(server_->port());
  const timeval patience{.tv_sec = 15, .tv_usec = 0};
  ::setsockopt(own, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::send(own, request_.data(), request_.size(), MSG_NOSIGNAL);
  char answer[16] = "";
  EXPECT_EQ(::recv(own, answer, 15, MSG_WAITALL), 15);
  EXPECT_STREQ(answer, "HTTP/1.1 200 OK");
  ::close(own);
  for (const int file : silent) ::close(file);
}

// A user with sudo starts it as root, and asks it as themselves: ./dev demo.
TEST_F(GateOnTheWireTest, WhoCalledSudoIsServedToo) {
  const std::string get = "GET /emulator HTTP/1.1\r\nHost: ";
  EXPECT_THAT(Ask(Port(), get + Host() + "\r\n\r\n"), HasSubstr("200 OK"));
  if (::geteuid() != 0) return;  // sudo makes a root, and only root can become somebody else here
  const auto is_served = [&](uid_t user) {
    const std::string request = get + Host() + "\r\n\r\n";
    const int port = Port();
    return AsUser(user, [&] { return Ask(port, request).find("200 OK") != std::string::npos; });
  };
  EXPECT_FALSE(is_served(kNobody));
  ::setenv("SUDO_UID", std::to_string(kNobody).c_str(), 1);
  Restart(std::chrono::milliseconds(0));
  ::unsetenv("SUDO_UID");
  EXPECT_TRUE(is_served(kNobody));
  EXPECT_FALSE(is_served(kNobody - 1));
}

TEST(UserInTableTest, ReadsTheRowsOfLiveSocketsOnly) {
  const std::string head =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode\n";
  const auto row = [](const std::string& state, const std::string& user, const std::string& inode) {
    return "   1: 0100007F:A2C4 0100007F:2116 " + state +
           " 00000000:00000000 00:00000000 00000000 " + user + "        0 " + inode +
           " 1 0000000000000000 20 4 30 10 -1\n";
  };
  const End peer{"127.0.0.1", 0xA2C4};
  const End own{"127.0.0.1", 0x2116};
  EXPECT_EQ(UserInTable(head + row("01", "1000", "4711"), peer, own), 1000U);
  EXPECT_EQ(UserInTable(head + row("08", "1000", "4711"), peer, own), 1000U);
  EXPECT_EQ(UserInTable(head + row("01", "0", "0"), peer, own), std::nullopt);  // closed
  EXPECT_EQ(UserInTable(head + row("06", "0", "0"), peer, own), std::nullopt);  // TIME_WAIT
  EXPECT_EQ(UserInTable(head + row("03", "0", "7"), peer, own), std::nullopt);  // SYN_RECV
  EXPECT_EQ(UserInTable(head + row("01", "1000", "4711"), own, peer), std::nullopt);
  EXPECT_EQ(UserInTable(head, peer, own), std::nullopt);
  EXPECT_EQ(UserInTable("   0: 00000000000000000000000001000000:A2C4 "
                        "00000000000000000000000001000000:2116 01 00000000:00000000 00:00000000 "
                        "00000000  1000        0 4711 1 0000000000000000 20 4 30 10 -1\n",
                        {"::1", 0xA2C4}, {"::1", 0x2116}),
            1000U);
}

}  // namespace
}  // namespace podctl::emulator
