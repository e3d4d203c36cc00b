#include "providers/ssh/libssh2/fan_out.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "providers/base/encoding.h"
#include "providers/ssh/keys/wire.h"
#include "tests/conformance/ssh_ending_suite.h"
#include "tests/conformance/ssh_transport_suite.h"

namespace podctl::testing {
namespace {

// The identity file is always named, so the environment may be empty.
class OwningFanOut final : public ssh::Transport {
 public:
  explicit OwningFanOut(std::map<std::string, std::string> environment = {})
      : environment_(std::move(environment)) {}
  std::vector<ssh::WorkerResult> Run(const std::vector<ssh::Job>& jobs, const ssh::Limits& limits,
                                     ssh::Observer& observer, std::stop_token stop) override {
    return fan_out_.Run(jobs, limits, observer, std::move(stop));
  }

 private:
  FixedEnvironment environment_;
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
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&in), sizeof(in)), 0);
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
  while (endless.size() < std::size_t{1024} * 1024) endless += "welcome to this machine\r\n";
  const CurtServer chatty(endless);
  const auto result = RunOnce(chatty.port(), ssh::Limits());
  EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable);
  EXPECT_NE(result.message.find("does not begin with an SSH banner"), std::string::npos)
      << result.message;
}

TEST(FanOutTest, SaysWhichSignalKilledTheCommand) {
  const SshServer server;
  RecordingObserver observer;
  const ssh::Job job{server.Access(), "kill -KILL $$", nullptr};
  const auto result = MakeFanOut()->Run({job}, ssh::Limits(), observer, {}).at(0);
  EXPECT_EQ(result.signal, "KILL");
  EXPECT_EQ(result.message, "the command was killed by SIGKILL");
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
  // Each under a name of its own for the key, so that none can take what another one left.
  auto jobs = Jobs(server, 7, "echo up");
  for (ssh::Job& job : jobs) {
    job.worker.identity_file.insert(0, static_cast<std::size_t>(job.worker.index), '/');
  }
  for (const auto& result : transport->Run(jobs, limits, observer, {})) {
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
  EXPECT_EQ(result.message, "cancelled; asked to end, still at it");
  EXPECT_LT(result.ran.count(), 1'400) << "no farewell";
}

// In a process of its own, with few descriptors for many workers: fewer than it seems, as others
// have taken some.
TEST(FanOutTest, MakesDoWithTheDescriptorsThatThereAre) {
  const SshServer server;
  const auto jobs = Jobs(server, 40, "true");
  const auto run_with = [&](rlim_t descriptors) {
    const rlimit few{descriptors + 80, descriptors + 80};
    setrlimit(RLIMIT_NOFILE, &few);
    for (int i = 0; i < 80; ++i) (void)!open("/dev/null", O_RDONLY | O_CLOEXEC);
    RecordingObserver observer;
    ssh::Limits limits;
    limits.retry = std::chrono::milliseconds(0);
    int good = 0;
    for (const auto& result : MakeFanOut()->Run(jobs, limits, observer, {})) {
      if (!result.ok()) std::fprintf(stderr, "%s\n", result.message.c_str());
      good += result.ok() ? 1 : 0;
    }
    _exit(good);
  };
  EXPECT_EXIT(run_with(20), ::testing::ExitedWithCode(40), "");
}

// Likewise where not even one socket is to be had.
TEST(FanOutTest, SaysSoWhenThereAreTooFewDescriptors) {
  const SshServer server;
  const auto run = [&] {
    const rlimit few{32, 32};
    setrlimit(RLIMIT_NOFILE, &few);
    const auto transport = MakeFanOut();
    std::vector<int> taken;
    for (int fd = 0; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken.push_back(fd);
    for (int i = 0; i < 3; ++i) {  // for its epoll and its bell, and to read the key file
      close(taken.back());
      taken.pop_back();
    }
    RecordingObserver observer;
    ssh::Limits limits;
    limits.retry = std::chrono::milliseconds(0);
    // A run that is stopped before it begins reads the key and has its poller; then nothing is
    // left.
    const auto jobs = Jobs(server, 2, "true");
    std::stop_source stopped;
    stopped.request_stop();
    transport->Run(jobs, limits, observer, stopped.get_token());
    while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) {
    }
    const auto results = transport->Run(jobs, limits, observer, {});
    std::fprintf(stderr, "%s\n", results[0].message.c_str());
    _exit(results[0].outcome == ssh::Outcome::kUnreachable ? 0 : 1);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0),
              "no socket: Too many open files \\(this process may have 32; `ulimit -n` raises");
}

// An agent that holds one key and asks its user before it signs, which takes until Refuse.
class SlowAgent {
 public:
  SlowAgent(const std::string& path, std::string blob) : blob_(std::move(blob)) {
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    listen(listener_, 8);
    thread_ = std::thread([this] { Serve(); });
  }
  ~SlowAgent() {
    Refuse();
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  void Refuse() {
    refused_ = true;
    refused_.notify_all();
  }

 private:
  void Serve() {
    const int line = accept(listener_, nullptr, nullptr);
    char head[5];
    while (recv(line, head, sizeof(head), MSG_WAITALL) == sizeof(head)) {
      std::uint32_t size = 0;
      std::memcpy(&size, head, sizeof(size));
      std::string rest(ntohl(size) - 1, '\0');
      if (!rest.empty()) recv(line, rest.data(), rest.size(), MSG_WAITALL);
      std::string answer;
      if (head[4] == 11) {  // what keys there are
        answer = std::string("\x0c\0\0\0\x01", 5);
        ssh::AppendString(answer, blob_);
        ssh::AppendString(answer, "slow");
      } else {
        refused_.wait(false);
        answer = "\x05";
      }
      std::string message;
      ssh::AppendString(message, answer);
      send(line, message.data(), message.size(), MSG_NOSIGNAL);
    }
    close(line);
  }

  const std::string blob_;
  int listener_ = -1;
  std::atomic<bool> refused_{false};
  std::thread thread_;
};

TEST(FanOutTest, AnAgentThatThinksHoldsUpNobodyElse) {
  const SshServer server;
  std::string line = ReadAll(server.client_key() + ".pub");
  line = line.substr(line.find(' ') + 1);
  const auto blob = Base64Decode(line.substr(0, line.find(' ')));
  ASSERT_TRUE(blob.has_value());
  const std::string socket_path = server.Folder() + "/agent";
  SlowAgent agent(socket_path, *blob);
  OwningFanOut transport({{"SSH_AUTH_SOCK", socket_path}, {"HOME", server.Folder()}});
  ssh::Job by_agent{server.Access(0), "true", nullptr};
  by_agent.worker.identity_file.clear();
  class Releaser final : public ssh::Observer {
   public:
    explicit Releaser(SlowAgent& lent) : agent_(lent) {}
    void OnLine(std::size_t, ssh::Stream, std::string_view) override {}
    void OnPhase(std::size_t, ssh::Phase) override {}
    void OnResult(std::size_t job, const ssh::WorkerResult&) override {
      order.push_back(job);
      if (job == 1) agent_.Refuse();
    }
    std::vector<std::size_t> order;

   private:
    SlowAgent& agent_;
  } observer(agent);
  ssh::Limits limits;
  limits.retry = std::chrono::milliseconds(0);
  limits.max_handshakes = 1;  // who logs in is through with the key exchange
  const auto results =
      transport.Run({by_agent, {server.Access(1), "true", nullptr}}, limits, observer, {});
  EXPECT_EQ(observer.order, (std::vector<std::size_t>{1, 0}));
  EXPECT_TRUE(results[1].ok()) << results[1].message;
  EXPECT_EQ(results[0].outcome, ssh::Outcome::kAuthRefused) << results[0].message;
  EXPECT_NE(results[0].message.find("the SSH agent refused to sign"), std::string::npos)
      << results[0].message;
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

// A connection that goes just then leaves it to init, whose children are everybody's.
TEST(EndSiblings, EndsNobodysChildrenButSshds) {
  const pid_t sibling = fork();
  if (sibling == 0) {
    execlp("sleep", "sleep", "1000", nullptr);
    _exit(127);
  }
  const int status = std::system(EndSiblingsCommand(std::chrono::seconds(0)).c_str());
  EXPECT_EQ(WEXITSTATUS(status), kEndedInPart) << "it cannot know";
  EXPECT_EQ(waitpid(sibling, nullptr, WNOHANG), 0) << "it was ended";
  kill(sibling, SIGKILL);
  waitpid(sibling, nullptr, 0);
}

}  // namespace
}  // namespace podctl::testing
