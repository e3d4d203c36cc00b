#include "providers/ssh/fan_out.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
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

TEST(FanOutTest, LooksNamesUp) {
  const SshServer server;
  ssh::Job named{server.Access(0), "true", nullptr};
  named.worker.host = "localhost";
  ssh::Job nobody{server.Access(1), "true", nullptr};
  nobody.worker.host = "nobody.invalid";  // RFC 2606
  RecordingObserver observer;
  const auto results = MakeFanOut()->Run({named, nobody}, ssh::Limits(), observer, {});
  EXPECT_TRUE(results[0].ok()) << results[0].message;
  EXPECT_EQ(results[1].outcome, ssh::Outcome::kUnreachable);
  EXPECT_NE(results[1].message.find("`nobody.invalid` has no address"), std::string::npos)
      << results[1].message;
}

std::vector<ssh::Job> Jobs(const SshServer& server, int count, const std::string& command) {
  std::vector<ssh::Job> jobs;
  for (int i = 0; i < count; ++i) jobs.push_back({server.Access(i), command, nullptr});
  return jobs;
}

// The client's address and port, as the server sees them, tell connections apart.
TEST(FanOutTest, KeepsConnectionsForTheNextRun) {
  const SshServer server;
  const auto transport = MakeFanOut();
  const auto jobs = Jobs(server, 5, "echo $SSH_CONNECTION");
  std::multiset<std::string> seen[2];
  for (auto& connections : seen) {
    RecordingObserver observer;
    const auto results = transport->Run(jobs, ssh::Limits(), observer, {});
    for (const auto& result : results) {
      EXPECT_TRUE(result.ok()) << result.message;
      EXPECT_EQ(result.attempts, 1);
      EXPECT_EQ(result.learned_host_key, server.HostKey());
    }
    for (const auto& [job, lines] : observer.out) connections.insert(lines.at(0));
  }
  EXPECT_EQ(seen[0].size(), 5U);
  EXPECT_EQ(seen[0], seen[1]);
}

// Established connections to a port of this machine, as the kernel lists them.
int ConnectionsTo(int port) {
  std::ifstream table("/proc/net/tcp");
  const std::string wanted = fmt::format(":{:04X}", port);
  int count = 0;
  std::string number;
  std::string local;
  std::string remote;
  std::string state;
  for (std::string line; std::getline(table, line);) {
    std::istringstream(line) >> number >> local >> remote >> state;
    if (remote.size() > 5 && remote.substr(remote.size() - 5) == wanted && state == "01") ++count;
  }
  return count;
}

TEST(FanOutTest, KeepsNoMoreConnectionsThanMayBeOpen) {
  const SshServer server;
  const auto transport = MakeFanOut();
  ssh::Limits limits;
  limits.max_open = 2;
  int most = 0;
  RecordingObserver observer;
  observer.on_line = [&](std::size_t, std::string_view) {
    most = std::max(most, ConnectionsTo(server.port()));
  };
  for (const auto& result : transport->Run(Jobs(server, 7, "echo up"), limits, observer, {})) {
    EXPECT_TRUE(result.ok()) << result.message;
  }
  EXPECT_GE(most, 1);
  EXPECT_LE(most, 2);
  EXPECT_LE(ConnectionsTo(server.port()), 2) << "those that are kept count too";
}

TEST(FanOutTest, ReplacesAKeptConnectionThatDiedWithoutAWord) {
  SshServer server;
  const auto transport = MakeFanOut();
  RecordingObserver observer;
  ASSERT_TRUE(transport->Run(Jobs(server, 2, "true"), ssh::Limits(), observer, {}).at(0).ok());
  server.KillSessions();
  ssh::Limits impatient;
  impatient.retry = std::chrono::milliseconds(0);
  for (const auto& result : transport->Run(Jobs(server, 2, "true"), impatient, observer, {})) {
    EXPECT_TRUE(result.ok()) << result.message;
    EXPECT_EQ(result.attempts, 1);
  }
}

TEST(FanOutTest, GivesAKeptConnectionOnlyToWhoAcceptsItsHostKey) {
  const SshServer server;
  const SshServer other;
  const auto transport = MakeFanOut();
  RecordingObserver observer;
  ssh::Job job{server.Access(), "true", nullptr};
  ASSERT_TRUE(transport->Run({job}, ssh::Limits(), observer, {}).at(0).ok());
  job.worker.host_keys = {other.HostKey()};
  EXPECT_EQ(transport->Run({job}, ssh::Limits(), observer, {}).at(0).outcome,
            ssh::Outcome::kHostKeyChanged);
}

// The first run ends only after the second one has run beside it.
TEST(FanOutTest, ServesSeveralRunsAtOnce) {
  const SshServer server;
  const auto transport = MakeFanOut();
  RecordingObserver first;
  std::vector<ssh::WorkerResult> results;
  std::thread waiting([&] {
    results = transport->Run(
        {{server.Access(0), "cd; while [ ! -e go ]; do sleep 0.01; done; echo on", nullptr}},
        ssh::Limits(), first, {});
  });
  RecordingObserver second;
  EXPECT_TRUE(transport->Run({{server.Access(1), "cd; : > go", nullptr}}, ssh::Limits(), second, {})
                  .at(0)
                  .ok());
  waiting.join();
  EXPECT_TRUE(results.at(0).ok()) << results.at(0).message;
}

TEST(FanOutTest, LeavesAtOnceWhenTheRunIsAbandoned) {
  const SshServer server;
  std::stop_source abandon;
  ssh::Limits limits;
  limits.abandon = abandon.get_token();
  RecordingObserver observer;
  observer.on_line = [&](std::size_t, std::string_view) { abandon.request_stop(); };
  // It ignores every request to end, so only a closed connection ends the run within the hour.
  const auto result = MakeFanOut()
                          ->Run({{server.Access(), "trap '' TERM; echo up; exec sleep 5", nullptr}},
                                limits, observer, {})
                          .at(0);
  EXPECT_EQ(result.outcome, ssh::Outcome::kCancelled);
  EXPECT_EQ(result.message, "cancelled; the command may go on running");
  EXPECT_LT(result.ran.count(), 1'400) << "no farewell";
}

// In a process of its own, with few descriptors for many workers.
TEST(FanOutTest, MakesDoWithTheDescriptorsThatThereAre) {
  const SshServer server;
  const auto jobs = Jobs(server, 40, "true");
  const auto run_with = [&](rlim_t descriptors) {
    const rlimit few{descriptors, descriptors};
    setrlimit(RLIMIT_NOFILE, &few);
    RecordingObserver observer;
    ssh::Limits limits;
    limits.retry = std::chrono::seconds(20);
    int good = 0;
    for (const auto& result : MakeFanOut()->Run(jobs, limits, observer, {})) {
      if (!result.ok()) std::fprintf(stderr, "%s\n", result.message.c_str());
      good += result.ok() ? 1 : 0;
    }
    _exit(good);
  };
  EXPECT_EXIT(run_with(16), ::testing::ExitedWithCode(40), "");
}

// The observer takes nothing of the first job until the second one is done, whose end it hears of
// only from the file. 9 MiB is more than is held in memory.
TEST(FanOutTest, ASlowObserverHoldsUpNobody) {
  const SshServer server;
  const std::string flag = server.Home() + "/done";
  RecordingObserver observer;
  bool waited = false;
  observer.on_line = [&](std::size_t, std::string_view) {
    while (!waited && !std::filesystem::exists(flag)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    waited = true;
  };
  const std::vector<ssh::Job> jobs = {
      {server.Access(0), "cd; yes 0123456789abcdef | head -c 9437184; : > sent", nullptr},
      {server.Access(1), "cd; while [ ! -e sent ]; do sleep 0.01; done; : > done", nullptr}};
  const auto results = MakeFanOut()->Run(jobs, ssh::Limits(), observer, {});
  for (const auto& result : results) EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(results[0].bytes_out, 9'437'184U);
  EXPECT_EQ(observer.out[0].size(), 9'437'184U / 17 + 1);
}

// A reader that is slow fills what there is to fill; nothing may be lost and nobody may hang.
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
