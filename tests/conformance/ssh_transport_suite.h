// What every ssh::Transport promises, against a real sshd. A transport's test instantiates it with
// a function that makes one:
//
//   INSTANTIATE_TEST_SUITE_P(FanOut, SshTransportSuite, ::testing::Values(&MakeFanOut));
//
// How commands are ended stands in ssh_ending_suite.h; include both.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "providers/ssh/transport.h"
#include "tests/support/recording_ssh_observer.h"
#include "tests/support/ssh_server.h"

namespace podctl::testing {

using TransportFactory = std::unique_ptr<ssh::Transport> (*)();

class SshTransportSuite : public ::testing::TestWithParam<TransportFactory> {
 protected:
  static ssh::Limits Impatient() {
    ssh::Limits limits;
    limits.retry = std::chrono::milliseconds(0);
    return limits;
  }
  ssh::WorkerResult RunOne(const ssh::Job& job, const ssh::Limits& limits,
                           std::stop_token stop = {}) {
    return transport_->Run({job}, limits, observer_, std::move(stop)).at(0);
  }
  ssh::WorkerResult RunOne(const SshServer& server, const std::string& command) {
    return RunOne({server.Access(), command, nullptr}, Impatient());
  }

  std::unique_ptr<ssh::Transport> transport_ = GetParam()();
  RecordingObserver observer_;
};

using Lines = std::vector<std::string>;

TEST_P(SshTransportSuite, TellsExitCodesApartFromTrouble) {
  const SshServer server;
  std::vector<ssh::Job> jobs;
  for (const int code : {0, 1, 7, 255}) {
    jobs.push_back({server.Access(code), "exit " + std::to_string(code), nullptr});
  }
  const auto results = transport_->Run(jobs, Impatient(), observer_, {});
  ASSERT_EQ(results.size(), 4U);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_EQ(results[i].outcome, ssh::Outcome::kExited) << results[i].message;
    EXPECT_EQ(results[i].exit_code, jobs[i].worker.index);
    EXPECT_EQ(results[i].attempts, 1);
    ASSERT_EQ(observer_.results[i].size(), 1U);
    EXPECT_EQ(observer_.results[i][0].exit_code, results[i].exit_code);
  }
  EXPECT_TRUE(results[0].ok());
  EXPECT_FALSE(results[3].ok());
}

// Which signal it was is not for every transport to know.
TEST_P(SshTransportSuite, SaysThatASignalKilledTheCommand) {
  const SshServer server;
  const ssh::WorkerResult result = RunOne(server, "kill -KILL $$");
  EXPECT_EQ(result.outcome, ssh::Outcome::kSignaled);
  EXPECT_TRUE(result.message.starts_with("the command was killed by ")) << result.message;
  EXPECT_FALSE(result.ok());
}

TEST_P(SshTransportSuite, DeliversLinesOnTheCallersThread) {
  const SshServer server;
  const ssh::WorkerResult result =
      RunOne(server, "printf 'one\\n\\ntwo\\nno end'; printf 'bad\\n' >&2");
  EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(observer_.out[0], (Lines{"one", "", "two", "no end"}));
  EXPECT_EQ(observer_.err[0], Lines{"bad"});
  EXPECT_FALSE(observer_.foreign_thread);
  using ssh::Phase;
  EXPECT_EQ(observer_.phases[0], (std::vector<Phase>{Phase::kConnecting, Phase::kAuthenticating,
                                                     Phase::kRunning, Phase::kDone}));
}

TEST_P(SshTransportSuite, CutsAnEndlessLine) {
  const SshServer server;
  const ssh::WorkerResult result = RunOne(server, "head -c 200000 /dev/zero | tr '\\0' x");
  EXPECT_TRUE(result.ok()) << result.message;
  std::size_t total = 0;
  for (const std::string& piece : observer_.out[0]) {
    EXPECT_LE(piece.size(), 64U * 1024);
    total += piece.size();
  }
  EXPECT_EQ(total, 200'000U);
  EXPECT_EQ(observer_.out[0].size(), 4U);
}

// Both streams at once, from many workers: a loop that reads them one after the other loses the
// wake-up for the second and hangs.
TEST_P(SshTransportSuite, LosesNothingOfTwoBusyStreams) {
  const SshServer server;
  constexpr int kWorkers = 12;
  const std::string command =
      "i=0; while [ $i -lt 16 ]; do head -c 65535 /dev/zero | tr '\\0' o; echo; "
      "{ head -c 65535 /dev/zero | tr '\\0' e; echo; } >&2; i=$((i+1)); done";
  std::vector<ssh::Job> jobs;
  for (int i = 0; i < kWorkers; ++i) jobs.push_back({server.Access(i), command, nullptr});
  ssh::Limits limits = Impatient();
  limits.command = std::chrono::seconds(60);
  const auto results = transport_->Run(jobs, limits, observer_, {});
  for (std::size_t i = 0; i < kWorkers; ++i) {
    EXPECT_TRUE(results[i].ok()) << results[i].message;
    EXPECT_EQ(observer_.out[i], Lines(16, std::string(65535, 'o')));
    EXPECT_EQ(observer_.err[i], Lines(16, std::string(65535, 'e')));
  }
}

TEST_P(SshTransportSuite, FeedsStandardInputAndItsEnd) {
  const SshServer server;
  std::string bytes(3'000'000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 + i / 7919);
  const auto input = std::make_shared<const std::string>(bytes);
  const ssh::WorkerResult result =
      RunOne({server.Access(), "cd; cat > copy; wc -c < copy; cat copy >&2; echo >&2", input},
             Impatient());
  EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(observer_.out[0], Lines{"3000000"});
  EXPECT_TRUE(ReadAll(server.Home() + "/copy") == bytes) << "the copy differs";
}

// Standard input that a test writes bit by bit.
class TestFeed final : public ssh::InputFeed {
 public:
  void Write(std::string_view bytes, bool end = false) {
    const std::lock_guard lock(mutex_);
    bytes_ += bytes;
    ended_ = end;
    if (more_) more_();
  }
  std::size_t Read(std::uint64_t offset, char* bytes, std::size_t size) override {
    const std::lock_guard lock(mutex_);
    return bytes_.copy(bytes, size, offset);
  }
  bool EndsAt(std::uint64_t offset) override {
    const std::lock_guard lock(mutex_);
    return ended_ && offset == bytes_.size();
  }
  void Listen(std::function<void()> more) override {
    const std::lock_guard lock(mutex_);
    more_ = std::move(more);
  }

 private:
  std::mutex mutex_;
  std::string bytes_;
  bool ended_ = false;
  std::function<void()> more_;
};

TEST_P(SshTransportSuite, PassesInputOnAsItComes) {
  const SshServer server;
  TestFeed feed;
  feed.Write("second\n");
  // Each line is written when the one before has come back from both.
  std::map<std::string, int> seen;
  observer_.on_line = [&](std::size_t, std::string_view line) {
    if (++seen[std::string(line)] < 2) return;
    if (line == "second") feed.Write("third\n");
    if (line == "third") feed.Write(std::string(300'000, 'x') + "\n", true);
  };
  std::vector<ssh::Job> jobs;
  for (int i = 0; i < 2; ++i) {
    const auto first = std::make_shared<const std::string>("first " + std::to_string(i) + "\n");
    jobs.push_back({server.Access(i), "cd; tee copy" + std::to_string(i), first, &feed});
  }
  const auto results = transport_->Run(jobs, Impatient(), observer_, {});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(results[i].ok()) << results[i].message;
    ASSERT_GE(observer_.out[i].size(), 3U);
    EXPECT_EQ(observer_.out[i][0], "first " + std::to_string(i));
    EXPECT_EQ(observer_.out[i][1], "second");
    EXPECT_EQ(observer_.out[i][2], "third");
    EXPECT_EQ(ReadAll(server.Home() + "/copy" + std::to_string(i)).size(), 8U + 7 + 6 + 300'001);
  }
}

TEST_P(SshTransportSuite, InputThatNeverEndsDoesNotKeepACommandFromEnding) {
  const SshServer server;
  TestFeed feed;
  EXPECT_EQ(RunOne({server.Access(), "exit 3", nullptr, &feed}, Impatient()).exit_code, 3);
}

TEST_P(SshTransportSuite, DeliversBytesAsTheyAreWhereTheyAreWanted) {
  const SshServer server;
  class Bytes final : public ssh::Observer {
   public:
    bool TakesBytes() const override { return true; }
    void OnBytes(std::size_t, ssh::Stream stream, std::string_view bytes) override {
      (stream == ssh::Stream::kOut ? out : err) += bytes;
    }
    void OnLine(std::size_t, ssh::Stream, std::string_view) override { ADD_FAILURE(); }
    void OnPhase(std::size_t, ssh::Phase) override {}
    std::string out;
    std::string err;
  };
  Bytes bytes;
  const std::string command = "printf 'a\\r\\n\\0b'; head -c 100000 /dev/zero; printf e >&2";
  const auto results =
      transport_->Run({{server.Access(), command, nullptr}}, Impatient(), bytes, {});
  EXPECT_TRUE(results[0].ok()) << results[0].message;
  EXPECT_EQ(bytes.out, std::string("a\r\n\0b", 5) + std::string(100'000, '\0'));
  EXPECT_EQ(bytes.err, "e");
}

TEST_P(SshTransportSuite, EndsInputAtOnceWhenThereIsNone) {
  const SshServer server;
  const ssh::WorkerResult result = RunOne(server, "cat; echo end");
  EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(observer_.out[0], Lines{"end"});
}

TEST_P(SshTransportSuite, TakesACommandThatDoesNotReadItsInput) {
  const SshServer server;
  const auto input = std::make_shared<const std::string>(5'000'000, 'x');
  const ssh::WorkerResult result = RunOne({server.Access(), "exit 3", input}, Impatient());
  EXPECT_EQ(result.outcome, ssh::Outcome::kExited) << result.message;
  EXPECT_EQ(result.exit_code, 3);
}

TEST_P(SshTransportSuite, TakesAPinnedKeyAmongOthers) {
  SshServer::Options options;
  options.host_key_types = {"ecdsa", "rsa", "ed25519"};
  const SshServer server(options);
  const SshServer other;
  ssh::Job job{server.Access(), "true", nullptr};
  job.worker.trust_first_use = false;
  job.worker.host_keys = {other.HostKey(), server.HostKey()};
  ssh::WorkerResult result = RunOne(job, Impatient());
  EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_FALSE(result.learned_host_key.has_value());
  // Only the ECDSA key is pinned: it must be asked for, although Ed25519 is preferred otherwise.
  job.worker.host_keys = {server.HostKey("ecdsa")};
  result = RunOne(job, Impatient());
  EXPECT_TRUE(result.ok()) << result.message;
}

// libssh2 knows no better signatures of RSA before 1.11: then it is told, at once, what to do.
TEST_P(SshTransportSuite, AnRsaHostKeyIsCheckedOrItIsSaidWhyNot) {
  SshServer::Options options;
  options.host_key_types = {"rsa"};
  const SshServer server(options);
  const ssh::WorkerResult result = RunOne({server.Access(), "true", nullptr}, Impatient());
  EXPECT_EQ(result.attempts, 1);
  if (result.outcome == ssh::Outcome::kExited) return;
  EXPECT_NE(result.message.find("its only host key is RSA"), std::string::npos) << result.message;
}

TEST_P(SshTransportSuite, TakesNoHostKeyThatSignsWithSha1) {
  SshServer::Options options;
  options.host_key_types = {"rsa"};
  options.config = "HostKeyAlgorithms ssh-rsa\n";
  const SshServer old(options);
  const ssh::WorkerResult result = RunOne({old.Access(), "true", nullptr}, Impatient());
  EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable);
  EXPECT_EQ(result.attempts, 1) << "it will not become better";
  EXPECT_NE(result.message.find("signs with SHA-1 only (ssh-rsa)"), std::string::npos)
      << result.message;
}

TEST_P(SshTransportSuite, RefusesAChangedHostKeyAtOnce) {
  const SshServer server;
  const SshServer other;
  ssh::Job job{server.Access(3), "cd; touch ran", nullptr};
  job.worker.host_keys = {other.HostKey()};
  ssh::Limits patient;  // a minute of retries, which must not be used
  const ssh::WorkerResult result = RunOne(job, patient);
  EXPECT_EQ(result.outcome, ssh::Outcome::kHostKeyChanged);
  EXPECT_EQ(result.attempts, 1);
  EXPECT_NE(result.message.find("research/3"), std::string::npos) << result.message;
  EXPECT_NE(result.message.find("expected ssh-ed25519 SHA256:"), std::string::npos);
  EXPECT_NE(result.message.find("it shows ssh-ed25519 SHA256:"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(server.Home() + "/ran"));
}

TEST_P(SshTransportSuite, LearnsAHostKeyOnFirstUseOnlyWhenAllowed) {
  const SshServer server;
  ssh::Job job{server.Access(), "true", nullptr};
  ssh::WorkerResult result = RunOne(job, Impatient());
  EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(result.learned_host_key, server.HostKey());
  job.worker.trust_first_use = false;
  result = RunOne(job, ssh::Limits());
  EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable);
  EXPECT_EQ(result.attempts, 1);
  EXPECT_NE(result.message.find("no host key is known"), std::string::npos) << result.message;
}

TEST_P(SshTransportSuite, TriesAgainUntilTheWorkerAnswers) {
  SshServer::Options options;
  options.start = false;
  SshServer server(options);
  observer_.on_line = nullptr;
  ssh::Job job{server.Access(), "echo up", nullptr};
  std::thread starter;
  // Starts the server once the first attempt has failed, which the log of phases cannot miss.
  class Starter final : public ssh::Observer {
   public:
    explicit Starter(SshServer& lent) : server_(lent) {}
    void OnLine(std::size_t, ssh::Stream, std::string_view) override {}
    void OnPhase(std::size_t, ssh::Phase phase) override {
      if (phase == ssh::Phase::kRetrying && !started_) {
        EXPECT_EQ(why_.error, ECONNREFUSED) << "it was not told why: " << FullWords(why_);
        started_ = true;
        server_.Start();
      }
    }
    void OnTryAgain(std::size_t, const ssh::Cause& why) override { why_ = why; }

   private:
    SshServer& server_;
    ssh::Cause why_;
    bool started_ = false;
  } observer(server);
  const ssh::WorkerResult result = transport_->Run({job}, ssh::Limits(), observer, {}).at(0);
  EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_GE(result.attempts, 2);
}

TEST_P(SshTransportSuite, TriesAgainUntilTheKeyHasArrived) {
  SshServer server;
  const std::string key = server.Folder() + "/late";
  MakeKey(key, {"-t", "ed25519"});
  class Publisher final : public ssh::Observer {
   public:
    Publisher(SshServer& lent, std::string line) : server_(lent), line_(std::move(line)) {}
    void OnLine(std::size_t, ssh::Stream, std::string_view) override {}
    void OnPhase(std::size_t, ssh::Phase phase) override {
      if (phase == ssh::Phase::kRetrying) server_.Authorize(line_);
    }

   private:
    SshServer& server_;
    std::string line_;
  } observer(server, ReadAll(key + ".pub"));
  ssh::Job job{server.Access(), "true", nullptr};
  job.worker.identity_file = key;
  const ssh::WorkerResult result = transport_->Run({job}, ssh::Limits(), observer, {}).at(0);
  EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_GE(result.attempts, 2);
}

TEST_P(SshTransportSuite, SaysWhoseKeysWereRefused) {
  const SshServer server;
  const std::string key = server.Folder() + "/stranger";
  MakeKey(key, {"-t", "ed25519"});
  ssh::Job job{server.Access(), "true", nullptr};
  job.worker.identity_file = key;
  const ssh::WorkerResult result = RunOne(job, Impatient());
  EXPECT_EQ(result.outcome, ssh::Outcome::kAuthRefused);
  EXPECT_NE(result.message.find("accepts none of our keys"), std::string::npos) << result.message;
  EXPECT_NE(result.message.find("/stranger"), std::string::npos) << result.message;
}

TEST_P(SshTransportSuite, NeverRepeatsACommandThatWasSent) {
  SshServer server;
  observer_.on_line = [&](std::size_t, std::string_view) { server.KillSessions(); };
  const ssh::WorkerResult result = RunOne(
      {server.Access(), "cd; echo x >> runs; echo started; sleep 5", nullptr}, ssh::Limits());
  EXPECT_EQ(result.outcome, ssh::Outcome::kLost) << result.message;
  EXPECT_EQ(result.attempts, 1);
  EXPECT_EQ(ReadAll(server.Home() + "/runs"), "x\n");
}

TEST_P(SshTransportSuite, OneDeadWorkerDoesNotHoldUpTheOthers) {
  const SshServer server;
  ssh::Job dead{server.Access(0), "true", nullptr};
  dead.worker.port = FreePort("127.0.0.1");
  std::vector<ssh::Job> jobs = {dead};
  for (int i = 1; i < 6; ++i) jobs.push_back({server.Access(i), "hostname", nullptr});
  const auto results = transport_->Run(jobs, Impatient(), observer_, {});
  EXPECT_EQ(results[0].outcome, ssh::Outcome::kUnreachable);
  EXPECT_NE(results[0].message.find("Connection refused"), std::string::npos) << results[0].message;
  for (std::size_t i = 1; i < 6; ++i) EXPECT_TRUE(results[i].ok()) << results[i].message;
}

TEST_P(SshTransportSuite, KeepsToTheNumberOfOpenConnections) {
  const SshServer server;
  ssh::Limits limits = Impatient();
  limits.max_open = 2;
  limits.max_handshakes = 1;
  std::vector<ssh::Job> jobs;
  for (int i = 0; i < 7; ++i) jobs.push_back({server.Access(i), "echo $SSH_CLIENT", nullptr});
  const auto results = transport_->Run(jobs, limits, observer_, {});
  for (const ssh::WorkerResult& result : results) EXPECT_TRUE(result.ok()) << result.message;
}

// The first job fails; with one connection at a time the others have not begun then.
TEST_P(SshTransportSuite, StartsNothingNewWhenTheFailureBudgetIsSpent) {
  const SshServer server;
  std::vector<ssh::Job> jobs;
  for (int i = 0; i < 5; ++i) {
    jobs.push_back({server.Access(i), i < 2 ? "exit 3" : "cd; echo x >> ran", nullptr});
  }
  ssh::Limits limits = Impatient();
  limits.max_open = 1;
  limits.max_failures = 1;
  const auto results = transport_->Run(jobs, limits, observer_, {});
  EXPECT_EQ(results[0].exit_code, 3);
  EXPECT_EQ(results[1].exit_code, 3);
  for (std::size_t i = 2; i < 5; ++i) {
    EXPECT_EQ(results[i].outcome, ssh::Outcome::kSkipped);
    EXPECT_EQ(results[i].message, "not started: 2 workers failed before");
    EXPECT_EQ(results[i].attempts, 0);
    EXPECT_EQ(observer_.results[i].size(), 1U);
  }
  EXPECT_FALSE(std::filesystem::exists(server.Home() + "/ran"));
}

TEST_P(SshTransportSuite, FailsFastWithAFailureBudgetOfNone) {
  const SshServer server;
  ssh::Job refused{server.Access(1), "true", nullptr};
  refused.worker.port = FreePort("127.0.0.1");  // nobody there: retried until it is skipped
  std::vector<ssh::Job> jobs = {{server.Access(0), "exit 9", nullptr}, refused};
  ssh::Limits limits;
  limits.max_failures = 0;
  const auto results = transport_->Run(jobs, limits, observer_, {});
  EXPECT_EQ(results[0].exit_code, 9);
  EXPECT_EQ(results[1].outcome, ssh::Outcome::kSkipped);
  EXPECT_EQ(results[1].message, "not started: 1 worker failed before");
}

TEST_P(SshTransportSuite, LetsWhatRunsEndWhenTheFailureBudgetIsSpent) {
  const SshServer server;
  // The second job fails only when the first one has said that it runs.
  const std::string wait = "cd; while [ ! -e go ]; do sleep 0.01; done; ";
  std::vector<ssh::Job> jobs = {
      {server.Access(0), "cd; : > go; while [ ! -e failed ]; do sleep 0.01; done; echo on",
       nullptr},
      {server.Access(1), wait + "exit 1", nullptr}};
  class Opener final : public ssh::Observer {
   public:
    explicit Opener(std::string flag) : flag_(std::move(flag)) {}
    void OnLine(std::size_t, ssh::Stream, std::string_view) override {}
    void OnPhase(std::size_t, ssh::Phase) override {}
    void OnResult(std::size_t job, const ssh::WorkerResult&) override {
      if (job == 1) WriteAll(flag_, "");
    }

   private:
    std::string flag_;
  } opener(server.Home() + "/failed");
  ssh::Limits limits = Impatient();
  limits.max_failures = 0;
  const auto results = transport_->Run(jobs, limits, opener, {});
  EXPECT_TRUE(results[0].ok()) << results[0].message;
  EXPECT_EQ(results[1].exit_code, 1);
}

TEST_P(SshTransportSuite, CountsBytesAndTimes) {
  const SshServer server;
  const ssh::WorkerResult result = RunOne(server, "printf 12345; printf 123 >&2; cd; sleep 0.2");
  EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(result.bytes_out, 5U);
  EXPECT_EQ(result.bytes_err, 3U);
  EXPECT_GE(result.ran.count(), 200);
  EXPECT_GT(result.waited.count(), 0);
}

TEST_P(SshTransportSuite, OffersRefusedKeysForTheirGraceTimeOnly) {
  const SshServer server;
  const std::string key = server.Folder() + "/stranger";
  MakeKey(key, {"-t", "ed25519"});
  ssh::Job job{server.Access(), "true", nullptr};
  job.worker.identity_file = key;
  ssh::Limits limits;  // a minute of retries for the rest
  limits.auth_retry = std::chrono::milliseconds(0);
  const ssh::WorkerResult result = RunOne(job, limits);
  EXPECT_EQ(result.outcome, ssh::Outcome::kAuthRefused) << result.message;
  EXPECT_EQ(result.attempts, 1);
}

TEST_P(SshTransportSuite, TakesNoJobsForAnAnswer) {
  EXPECT_TRUE(transport_->Run({}, ssh::Limits(), observer_, {}).empty());
}

}  // namespace podctl::testing
