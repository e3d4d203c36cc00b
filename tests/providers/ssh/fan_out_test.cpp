#include "providers/ssh/fan_out.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

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

// Takes connections into its backlog and says nothing.
class SilentServer {
 public:
  SilentServer() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(fd_, reinterpret_cast<const sockaddr*>(&in), sizeof(in));
    listen(fd_, 8);
    socklen_t size = sizeof(in);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&in), &size);
    port_ = ntohs(in.sin_port);
  }
  ~SilentServer() { close(fd_); }
  int port() const { return port_; }

 private:
  int fd_;
  int port_ = 0;
};

TEST(FanOutTest, GivesUpOnAServerThatSaysNothing) {
  const SshServer server;
  const SilentServer silent;
  ssh::Job job{server.Access(), "true", nullptr};
  job.worker.port = silent.port();
  ssh::Limits limits;
  limits.handshake = std::chrono::milliseconds(300);
  limits.retry = std::chrono::milliseconds(0);
  RecordingObserver observer;
  const auto result = MakeFanOut()->Run({job}, limits, observer, {}).at(0);
  EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable);
  EXPECT_NE(result.message.find("did not let us in within 0.3s"), std::string::npos)
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
