#include "providers/ssh/tunnel/tunnel.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <list>
#include <mutex>
#include <thread>

#include "providers/ssh/libssh2/fan_out.h"
#include "providers/ssh/tunnel/tunnel_clients.h"
#include "tests/support/ssh_server.h"

namespace podctl::testing {
namespace {

using ::testing::HasSubstr;

// A TCP socket that fails a test instead of hanging it.
class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {
    const timeval limit{20, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  }
  // `pending`: of its receive buffer, in bytes; 0: the usual.
  static Socket To(int port, int pending = 0) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (pending > 0) setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &pending, sizeof(pending));
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(static_cast<std::uint16_t>(port));
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&in), sizeof(in)), 0);
    return Socket(fd);
  }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  bool Send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void EndSending() const { shutdown(fd_, SHUT_WR); }
  // Up to `count` bytes, fewer at the end of the stream.
  std::string Receive(std::size_t count) const {
    std::string bytes(count, '\0');
    std::size_t have = 0;
    while (have < count) {
      const ssize_t got = recv(fd_, bytes.data() + have, count - have, 0);
      if (got <= 0) break;
      have += static_cast<std::size_t>(got);
    }
    bytes.resize(have);
    return bytes;
  }
  std::string ReceiveAll() const {
    std::string all;
    for (std::string some = Receive(65536); !some.empty(); some = Receive(65536)) all += some;
    return all;
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

// Serves each connection on a thread of its own with the function given.
class TcpServer {
 public:
  using Serve = std::function<void(const Socket&)>;
  explicit TcpServer(Serve serve, int port = 0)
      : serve_(std::move(serve)), fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int one = 1;
    setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(static_cast<std::uint16_t>(port));
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(fd_, reinterpret_cast<const sockaddr*>(&in), sizeof(in));
    listen(fd_, 64);
    socklen_t size = sizeof(in);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&in), &size);
    port_ = ntohs(in.sin_port);
    thread_ = std::thread([this] {
      std::vector<std::thread> threads;
      for (int fd = Accept(); fd >= 0; fd = Accept()) {
        threads.emplace_back([this, fd] { serve_(Socket(fd)); });
      }
      for (std::thread& thread : threads) thread.join();
    });
  }
  ~TcpServer() {
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    close(fd_);
  }
  int port() const { return port_; }

 private:
  int Accept() const { return accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC); }
  Serve serve_;
  int fd_;
  int port_ = 0;
  std::thread thread_;
};

void Echo(const Socket& socket) {
  char buffer[4096];
  for (ssize_t got = recv(socket.fd(), buffer, sizeof(buffer), 0); got > 0;
       got = recv(socket.fd(), buffer, sizeof(buffer), 0)) {
    if (!socket.Send(std::string_view(buffer, static_cast<std::size_t>(got)))) return;
  }
}

// Runs a tunnel on a thread of its own and waits for what it reports.
class RunningTunnel final : public ssh::TunnelObserver {
 public:
  RunningTunnel(const WorkerAccess& worker, std::vector<ssh::Forward> forwards,
                ssh::Limits limits = {},
                std::chrono::milliseconds patience = std::chrono::seconds(60))
      : wanted_(forwards.size()) {
    const ssh::TunnelOptions options{std::move(forwards), limits, patience};
    const auto identities =
        ssh::Identities::Load(worker.identity_file, FixedEnvironment({}), files_);
    EXPECT_TRUE(identities) << identities.error().message;
    thread_ = std::thread([=, this] {
      const auto carrier = ssh::MakeSessionTunnel(*identities, clock_, random_);
      const Result<void> result =
          ssh::RunTunnel(worker, *carrier, options, clock_, *this, stop_.get_token());
      const std::lock_guard lock(mutex_);
      result_ = result;
      ended_ = true;
      changed_.notify_all();
    });
  }
  ~RunningTunnel() override {
    if (const Result<void> ended = Stop(); !ended) SUCCEED() << ended.error().message;
  }
  Result<void> Stop() {
    stop_.request_stop();
    return Join();
  }
  Result<void> Join() {
    if (thread_.joinable()) thread_.join();
    return result_;
  }
  std::vector<int> Ports() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_ || ports_.size() == wanted_; });
    EXPECT_EQ(ports_.size(), wanted_) << (result_ ? "" : result_.error().message);
    return ports_;
  }
  void WaitForNote(const std::string& part) {
    std::unique_lock lock(mutex_);
    const auto found = [&] {
      return std::any_of(notes_.begin(), notes_.end(), [&](const std::string& note) {
        return note.find(part) != std::string::npos;
      });
    };
    changed_.wait(lock, [&] { return ended_ || found(); });
    EXPECT_TRUE(found()) << part;
  }
  std::vector<std::string> notes() {
    const std::lock_guard lock(mutex_);
    return notes_;
  }
  std::string host_key() {
    const std::lock_guard lock(mutex_);
    return host_key_;
  }

  void OnReady(int local_port, const ssh::Forward&) override {
    const std::lock_guard lock(mutex_);
    ports_.push_back(local_port);
    changed_.notify_all();
  }
  void OnNote(const std::string& text) override {
    const std::lock_guard lock(mutex_);
    notes_.push_back(text);
    changed_.notify_all();
  }
  void OnHostKey(const HostKeyText& key) override {
    const std::lock_guard lock(mutex_);
    host_key_ = key;
  }

 private:
  const std::size_t wanted_;
  RealFileSystem files_;
  RealClock clock_;
  RealRandom random_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> ports_;
  std::vector<std::string> notes_;
  std::string host_key_;
  Result<void> result_;
  bool ended_ = false;
  std::thread thread_;
};

std::string Pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 131 + i / 4093);
  return bytes;
}

TEST(TunnelTest, CarriesBytesBothWaysAndTheEndOfEachWay) {
  const SshServer server;
  const TcpServer echo(Echo);
  RunningTunnel tunnel(server.Access(), {{0, echo.port()}});
  const Socket client = Socket::To(tunnel.Ports().at(0));
  ASSERT_TRUE(client.Send("hello\n"));
  EXPECT_EQ(client.Receive(6), "hello\n");
  const std::string bytes = Pattern(3'000'000);
  std::thread writer([&] {
    EXPECT_TRUE(client.Send(bytes));
    client.EndSending();
  });
  // The echo comes after our end was sent: a tunnel that closes both ways at once loses it.
  EXPECT_TRUE(client.ReceiveAll() == bytes);
  writer.join();
  EXPECT_EQ(tunnel.host_key(), server.HostKey());
  EXPECT_TRUE(tunnel.Stop());
}

TEST(TunnelTest, LetsTheRemoteSideEndFirst) {
  const SshServer server;
  std::promise<std::string> received;
  const TcpServer source([&](const Socket& socket) {
    socket.Send("all of it");
    socket.EndSending();
    received.set_value(socket.ReceiveAll());
  });
  RunningTunnel tunnel(server.Access(), {{0, source.port()}});
  const Socket client = Socket::To(tunnel.Ports().at(0));
  EXPECT_EQ(client.ReceiveAll(), "all of it");
  EXPECT_TRUE(client.Send("an answer after the end"));
  client.EndSending();
  EXPECT_EQ(received.get_future().get(), "an answer after the end");
}

TEST(TunnelTest, CarriesManyConnectionsOverSeveralForwards) {
  const SshServer server;
  const TcpServer echo(Echo);
  const TcpServer shout([](const Socket& socket) { socket.Send("SHOUT"); });
  RunningTunnel tunnel(server.Access(), {{0, echo.port()}, {0, shout.port()}});
  const std::vector<int> ports = tunnel.Ports();
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 40; ++i) {
    threads.emplace_back([&, i] {
      const Socket client = Socket::To(ports[static_cast<std::size_t>(i % 2)]);
      if (i % 2 == 1) {
        good += client.ReceiveAll() == "SHOUT";
        return;
      }
      const std::string bytes = Pattern(100'000 + static_cast<std::size_t>(i));
      std::thread writer([&] {
        client.Send(bytes);
        client.EndSending();
      });
      good += client.ReceiveAll() == bytes;
      writer.join();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 40);
}

TEST(TunnelTest, AClientThatDoesNotReadHoldsUpOnlyItself) {
  const SshServer server;
  const TcpServer flood([](const Socket& socket) {
    const std::string block(65536, 'x');
    while (socket.Send(block)) {
    }
  });
  const TcpServer echo(Echo);
  RunningTunnel tunnel(server.Access(), {{0, flood.port()}, {0, echo.port()}});
  const std::vector<int> ports = tunnel.Ports();
  {
    const Socket lazy = Socket::To(ports[0]);
    EXPECT_EQ(lazy.Receive(1), "x");
    const Socket client = Socket::To(ports[1]);
    ASSERT_TRUE(client.Send("still here"));
    EXPECT_EQ(client.Receive(10), "still here");
  }
  EXPECT_TRUE(tunnel.Stop());
}

TEST(TunnelTest, NotesAPortThatNobodyListensOn) {
  const SshServer server;
  const int port = FreePort("127.0.0.1");
  RunningTunnel tunnel(server.Access(), {{0, port}});
  const Socket client = Socket::To(tunnel.Ports().at(0));
  EXPECT_EQ(client.ReceiveAll(), "");
  tunnel.WaitForNote("the worker cannot connect to 127.0.0.1:" + std::to_string(port));
}

TEST(TunnelTest, ConnectsAgainWhenTheSessionDrops) {
  SshServer server;
  const TcpServer echo(Echo);
  RunningTunnel tunnel(server.Access(), {{0, echo.port()}});
  const int port = tunnel.Ports().at(0);
  {
    const Socket client = Socket::To(port);
    ASSERT_TRUE(client.Send("before"));
    EXPECT_EQ(client.Receive(6), "before");
    server.KillSessions();
    EXPECT_EQ(client.ReceiveAll(), "") << "the connection ends with the session";
  }
  // Waits in the listener's queue until the new session is there.
  const Socket client = Socket::To(port);
  ASSERT_TRUE(client.Send("after"));
  EXPECT_EQ(client.Receive(5), "after");
  tunnel.WaitForNote("dropped");
  tunnel.WaitForNote("connected to research/0 again");
}

TEST(TunnelTest, WhoComesWhileTheLinkIsDownIsServedWhenItIsBackAndItIsSaidOnce) {
  SshServer server;
  const TcpServer echo(Echo);
  RunningTunnel tunnel(server.Access(), {{0, echo.port()}});
  const int port = tunnel.Ports().at(0);
  server.Stop();
  tunnel.WaitForNote("dropped");
  std::vector<Socket> early;
  for (int i = 0; i < 20; ++i) {
    early.push_back(Socket::To(port));
    ASSERT_TRUE(early.back().Send("early"));
  }
  early.front().EndSending();  // it still wants its answer
  {
    // Nothing but a closed door, as often as it is tried.
    std::atomic<int> tries{0};
    const TcpServer closed_door([&](const Socket&) { ++tries; }, server.port());
    while (tries < 2) std::this_thread::yield();
  }
  server.Start();
  for (const Socket& client : early) EXPECT_EQ(client.Receive(5), "early");
  EXPECT_EQ(early.front().ReceiveAll(), "");
  EXPECT_THAT(tunnel.notes(),
              ::testing::ElementsAre(
                  ::testing::AllOf(HasSubstr("dropped ("), ::testing::Not(HasSubstr("ould block"))),
                  HasSubstr("again")));
}

TEST(TunnelTest, WhoHasWaitedLongEnoughIsHungUpOn) {
  SshServer server;
  RunningTunnel tunnel(server.Access(), {{0, 9}}, {}, std::chrono::milliseconds(50));
  const int port = tunnel.Ports().at(0);
  server.Stop();
  tunnel.WaitForNote("dropped");
  const Socket client = Socket::To(port);
  char byte = 0;
  EXPECT_EQ(recv(client.fd(), &byte, 1, 0), 0) << "the end, and not this test's own patience";
  EXPECT_TRUE(tunnel.Stop());
}

TEST(TunnelTest, AClientThatReadsInSmallBitesGetsEverything) {
  const SshServer server;
  const std::string bytes = Pattern(8'000'000);
  const TcpServer source([&](const Socket& socket) { EXPECT_TRUE(socket.Send(bytes)); });
  const TcpServer echo(Echo);
  RunningTunnel tunnel(server.Access(), {{0, source.port()}, {0, echo.port()}});
  const std::vector<int> ports = tunnel.Ports();
  const Socket client = Socket::To(ports[0], 4096);
  // Until somebody else has been served, what comes has nowhere to go.
  const Socket other = Socket::To(ports[1]);
  ASSERT_TRUE(other.Send("hello"));
  EXPECT_EQ(other.Receive(5), "hello");
  EXPECT_TRUE(client.ReceiveAll() == bytes);
}

TEST(TunnelTest, CarriesTwoHundredConnectionsAtOnce) {
  const SshServer server;
  const TcpServer echo(Echo);
  RunningTunnel tunnel(server.Access(), {{0, echo.port()}});
  const int port = tunnel.Ports().at(0);
  std::vector<Socket> clients;
  for (int i = 0; i < 200; ++i) {
    clients.push_back(Socket::To(port));
    ASSERT_TRUE(clients.back().Send("hello"));
  }
  for (const Socket& client : clients) ASSERT_EQ(client.Receive(5), "hello");
  // All of them are open still: the first is as alive as the last.
  for (const Socket& client : clients) ASSERT_TRUE(client.Send("again"));
  for (const Socket& client : clients) ASSERT_EQ(client.Receive(5), "again");
}

TEST(TunnelTest, MoreClientsThanItServesAtOnceWaitForTheirTurn) {
  const SshServer server;
  const TcpServer echo(Echo);
  RunningTunnel tunnel(server.Access(), {{0, echo.port()}});
  const int port = tunnel.Ports().at(0);
  std::list<Socket> clients;
  // The kernel queues as many again as are served.
  for (std::size_t i = 0; i < ssh::kMaxTunnelClients + 20; ++i) clients.push_back(Socket::To(port));
  ASSERT_TRUE(clients.back().Send("the last"));
  while (clients.size() > 1) clients.pop_front();
  EXPECT_EQ(clients.back().Receive(8), "the last");
}

TEST(TunnelTest, ANewHostKeyAfterADropIsRefused) {
  SshServer server;
  RunningTunnel tunnel(server.Access(), {{0, 9}});
  tunnel.Ports();
  server.Stop();
  server.NewHostKeys();
  server.Start();
  const Result<void> result = tunnel.Join();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(result.error().message, HasSubstr("HAS CHANGED"));
}

TEST(TunnelTest, SaysThatALocalPortIsInUse) {
  const SshServer server;
  const TcpServer squatter(Echo);
  RunningTunnel tunnel(server.Access(), {{squatter.port(), 8888}});
  const Result<void> result = tunnel.Join();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(result.error().message,
            "port " + std::to_string(squatter.port()) + " of this machine is in use");
}

TEST(TunnelTest, GivesUpOnAWorkerThatNeverAnswers) {
  SshServer::Options options;
  options.start = false;
  const SshServer server(options);
  ssh::Limits limits;
  limits.retry = std::chrono::milliseconds(0);
  RunningTunnel tunnel(server.Access(), {{0, 8888}}, limits);
  const Result<void> result = tunnel.Join();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace podctl::testing
