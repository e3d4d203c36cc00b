#include "providers/ssh/fan_out.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "tests/conformance/ssh_transport_suite.h"

namespace podctl::testing {
namespace {

// The identity file is always named, so the environment may be empty.
class OwningFanOut final : public ssh::Transport {
 public:
  std::vector<ssh::WorkerResult> Run(const std::vector<ssh::Job>& jobs, const ssh::Limits& limits,
                                     ssh::Observer& observer, std::stop_token stop) override {
    return fan_out_.Run(jobs, limits, observer, std::move(stop));
  }

 private:
  FixedEnvironment environment_{{}};
  RealFileSystem files_;
  RealClock clock_;
  RealRandom random_;
  ssh::Keyring keyring_{environment_, files_};
  ssh::FanOut fan_out_{keyring_, clock_, random_};
};

std::unique_ptr<ssh::Transport> MakeFanOut() {
  return std::make_unique<OwningFanOut>();
}

INSTANTIATE_TEST_SUITE_P(FanOut, SshTransportSuite, ::testing::Values(&MakeFanOut));

// Takes connections, says `greeting` to each, and nothing more.
class CurtServer {
 public:
  explicit CurtServer(std::string greeting = "")
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(fd_, reinterpret_cast<const sockaddr*>(&in), sizeof(in));
    listen(fd_, 8);
    socklen_t size = sizeof(in);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&in), &size);
    port_ = ntohs(in.sin_port);
    thread_ = std::thread([this, text = std::move(greeting)] { Serve(text); });
  }
  ~CurtServer() {
    shutdown(fd_, SHUT_RDWR);  // ends accept
    thread_.join();
    close(fd_);
  }
  int port() const { return port_; }

 private:
  void Serve(const std::string& text) const {
    std::vector<int> guests;
    for (int guest = 0; (guest = accept(fd_, nullptr, nullptr)) >= 0;) {
      guests.push_back(guest);
      std::string_view left(text);
      while (!left.empty()) {
        const ssize_t sent = send(guest, left.data(), left.size(), MSG_NOSIGNAL);
        if (sent <= 0) break;
        left.remove_prefix(static_cast<std::size_t>(sent));
      }
    }
    for (const int guest : guests) close(guest);
  }
  int fd_;
  int port_ = 0;
  std::thread thread_;
};

ssh::WorkerResult RunOnce(int port, ssh::Limits limits) {
  const SshServer server;
  ssh::Job job{server.Access(), "true", nullptr};
  job.worker.port = port;
  limits.retry = std::chrono::milliseconds(0);
  RecordingObserver observer;
  return MakeFanOut()->Run({job}, limits, observer, {}).at(0);
}

TEST(FanOutTest, GivesUpOnAServerThatSaysNothing) {
  const CurtServer silent;
  ssh::Limits limits;
  limits.first_byte = std::chrono::milliseconds(300);
  const auto result = RunOnce(silent.port(), limits);
  EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable);
  EXPECT_NE(result.message.find("took the connection but said nothing within 0.3s"),
            std::string::npos)
      << result.message;
}

TEST(FanOutTest, GivesUpOnAServerThatExchangesNoKeys) {
  const CurtServer curt("SSH-2.0-curt\r\n");
  ssh::Limits limits;
  limits.first_byte = std::chrono::hours(1);
  limits.handshake = std::chrono::milliseconds(300);
  const auto result = RunOnce(curt.port(), limits);
  EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable);
  EXPECT_NE(result.message.find("did not finish the key exchange within 0.3s"), std::string::npos)
      << result.message;
}

// libssh2 reads lines until one begins with "SSH-", for as long as they come.
TEST(FanOutTest, GivesUpOnAServerThatNeverComesToThePoint) {
  std::string endless;
  while (endless.size() < 1024 * 1024) endless += "welcome to this machine\r\n";
  const CurtServer chatty(endless);
  const auto result = RunOnce(chatty.port(), ssh::Limits());
  EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable);
  EXPECT_NE(result.message.find("does not begin with an SSH banner"), std::string::npos)
      << result.message;
}

TEST(FanOutTest, SaysWhyAKeyFileIsOfNoUse) {
  const SshServer server;
  ssh::Job job{server.Access(), "true", nullptr};
  job.worker.identity_file = server.Folder() + "/nowhere";
  RecordingObserver observer;
  const auto result = MakeFanOut()->Run({job}, ssh::Limits(), observer, {}).at(0);
  EXPECT_EQ(result.outcome, ssh::Outcome::kAuthRefused);
  EXPECT_NE(result.message.find("nowhere"), std::string::npos) << result.message;
  EXPECT_EQ(result.attempts, 0);
}

// A reader that is slow fills the mailbox; nothing may be lost and nobody may hang.
TEST(FanOutTest, SlowReadersSlowTheWorkersDown) {
  const SshServer server;
  std::vector<ssh::Job> jobs;
  for (int i = 0; i < 3; ++i) {
    jobs.push_back({server.Access(i), "yes 0123456789abcdef | head -c 17000000", nullptr});
  }
  class Counter final : public ssh::Observer {
   public:
    void OnLine(std::size_t, ssh::Stream, std::string_view line) override {
      total += line.size() + 1;
    }
    void OnPhase(std::size_t, ssh::Phase) override {}
    std::size_t total = 0;
  } counter;
  const auto results = MakeFanOut()->Run(jobs, ssh::Limits(), counter, {});
  for (const auto& result : results) EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(counter.total, 3U * 17'000'000);
}

}  // namespace
}  // namespace podctl::testing
