// What every ssh::Transport promises on a bad network and with bad servers. A transport's test
// instantiates it with a function that makes one:
//
//   INSTANTIATE_TEST_SUITE_P(FanOut, RoughNetworkSuite, ::testing::Values(&MakeFanOut));
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "providers/ssh/transport.h"
#include "tests/support/recording_ssh_observer.h"
#include "tests/support/rough_line.h"
#include "tests/support/rude_ssh_server.h"

namespace podctl::testing {

using TransportFactory = std::unique_ptr<ssh::Transport> (*)();
using Lines = std::vector<std::string>;

class RoughNetworkSuite : public ::testing::TestWithParam<TransportFactory> {
 protected:
  using Milliseconds = std::chrono::milliseconds;

  // Long enough for a busy machine, short enough for a test that hangs.
  static ssh::Limits Patient() {
    ssh::Limits limits;
    limits.retry = std::chrono::seconds(60);
    limits.command = std::chrono::seconds(60);
    return limits;
  }
  ssh::WorkerResult RunOne(const WorkerAccess& worker, const std::string& command,
                           const ssh::Limits& limits, std::stop_token stop = {}) {
    return transport_->Run({{worker, command, nullptr}}, limits, observer_, stop).at(0);
  }
  // Runs a command on worker 0, which is as `rule` says, beside five healthy ones, which must not
  // be disturbed. Returns the result of worker 0.
  ssh::WorkerResult RunBesideOthers(const LineRule& rule, const ssh::Limits& limits,
                                    const std::string& command = "first") {
    const RoughLine line([&](int number, int) {
      if (number == 0) return rule;
      LineRule good;
      good.target_port = server_.port();
      return good;
    });
    std::vector<ssh::Job> jobs;
    for (int i = 0; i < 6; ++i) {
      jobs.push_back({line.Access(server_.Access(), i),
                      i == 0 ? command : "other " + std::to_string(i), nullptr});
    }
    const auto results = transport_->Run(jobs, limits, observer_, {});
    for (std::size_t i = 1; i < results.size(); ++i) {
      EXPECT_TRUE(results[i].ok()) << results[i].message;
      EXPECT_EQ(server_.runs(jobs[i].command), 1);
    }
    return results.at(0);
  }
  static LineRule To(const RudeSshServer& server) {
    LineRule rule;
    rule.target_port = server.port();
    return rule;
  }

  RudeSshServer server_;
  std::unique_ptr<ssh::Transport> transport_ = GetParam()();
  RecordingObserver observer_;
};

TEST_P(RoughNetworkSuite, ABannerThatNeverComes) {
  ssh::Limits limits;
  limits.retry = Milliseconds(0);
  limits.first_byte = Milliseconds(300);
  const RoughLine silent([](int, int) { return LineRule(); });
  const auto result = RunOne(silent.Access(server_.Access(), 0), "never", limits);
  EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable);
  EXPECT_EQ(result.attempts, 1);
  EXPECT_NE(result.message.find("took the connection but said nothing within 0.3s"),
            std::string::npos)
      << result.message;
}

TEST_P(RoughNetworkSuite, ASilentWorkerDoesNotDisturbTheOthers) {
  ssh::Limits limits = Patient();
  limits.retry = Milliseconds(0);
  limits.first_byte = std::chrono::seconds(5);
  const auto result = RunBesideOthers(LineRule(), limits);
  EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable);
  EXPECT_EQ(server_.runs("first"), 0);
}

TEST_P(RoughNetworkSuite, ABannerThatComesLateIsWaitedFor) {
  LineRule late = To(server_);
  late.delay = Milliseconds(600);
  ssh::Limits limits = Patient();
  limits.retry = Milliseconds(0);
  const auto result = RunBesideOthers(late, limits);
  EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(result.attempts, 1);
  EXPECT_EQ(server_.runs("first"), 1);
}

// As slow as a guest that looks up the name of whoever calls; the limits are the usual ones.
TEST_P(RoughNetworkSuite, ABannerThatComesAfterNineSecondsIsWaitedFor) {
  LineRule late = To(server_);
  late.delay = std::chrono::seconds(9);
  const auto result = RunBesideOthers(late, ssh::Limits());
  EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(server_.runs("first"), 1);
}

TEST_P(RoughNetworkSuite, ABannerThatComesTooLateIsTriedAgain) {
  const RoughLine line([&](int, int earlier) {
    LineRule rule = To(server_);
    if (earlier == 0) rule.delay = std::chrono::hours(1);
    return rule;
  });
  ssh::Limits limits = Patient();
  limits.first_byte = std::chrono::seconds(1);
  const auto result = RunOne(line.Access(server_.Access(), 0), "first", limits);
  EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_GE(result.attempts, 2);
  EXPECT_EQ(server_.runs("first"), 1);
}

TEST_P(RoughNetworkSuite, ABannerThatIsGarbage) {
  LineRule garbage;
  for (int i = 0; i < 2000; ++i) garbage.greeting += static_cast<char>(i * 37 + i / 256);
  garbage.hang_up = true;
  ssh::Limits limits = Patient();
  limits.retry = Milliseconds(0);
  const auto result = RunBesideOthers(garbage, limits);
  EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable) << result.message;
  EXPECT_NE(result.message.find("no SSH handshake with"), std::string::npos) << result.message;
  for (const char c : result.message) EXPECT_GE(static_cast<unsigned char>(c), 0x20U);
  EXPECT_LT(result.message.size(), 1000U);
}

TEST_P(RoughNetworkSuite, ABannerOfAMebibyte) {
  LineRule chatty;
  while (chatty.greeting.size() < 1024 * 1024) chatty.greeting += "welcome to this machine\r\n";
  ssh::Limits limits = Patient();
  limits.retry = Milliseconds(0);
  limits.handshake = std::chrono::seconds(20);
  const auto result = RunBesideOthers(chatty, limits);
  EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable);
  EXPECT_NE(result.message.find("no SSH handshake with"), std::string::npos) << result.message;
}

TEST_P(RoughNetworkSuite, AKeyExchangeThatIsCut) {
  LineRule cut = To(server_);
  cut.to_client = 300;
  ssh::Limits limits = Patient();
  limits.retry = Milliseconds(0);
  const auto result = RunBesideOthers(cut, limits);
  EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable);
  EXPECT_NE(result.message.find("no SSH handshake with"), std::string::npos) << result.message;
  EXPECT_EQ(server_.runs("first"), 0);
}

TEST_P(RoughNetworkSuite, AKeyThatIsKnownOnlyAfterAWhile) {
  RudeSshServer::Behavior behavior;
  behavior.refused_logins = 2;
  const RudeSshServer server(behavior);
  const auto result = RunOne(server.Access(), "first", Patient());
  EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(result.attempts, 3);
  EXPECT_EQ(server.runs("first"), 1);
}

TEST_P(RoughNetworkSuite, AHostKeyThatChangesBetweenAttempts) {
  RudeSshServer::Behavior behavior;
  behavior.changes_host_key = true;
  behavior.refused_logins = 1;  // so that there is a second attempt
  const RudeSshServer server(behavior);
  WorkerAccess worker = server.Access();
  worker.host_keys = {server.HostKey()};
  const auto result = RunOne(worker, "first", Patient());
  EXPECT_EQ(result.outcome, ssh::Outcome::kHostKeyChanged) << result.message;
  EXPECT_EQ(result.attempts, 2) << "and there it ends";
  EXPECT_EQ(server.runs("first"), 0);
}

TEST_P(RoughNetworkSuite, ARevokedHostKey) {
  WorkerAccess worker = server_.Access();
  worker.host_keys = {server_.HostKey()};
  worker.revoked_keys = {server_.HostKey()};
  const auto result = RunOne(worker, "first", Patient());
  EXPECT_EQ(result.outcome, ssh::Outcome::kHostKeyChanged) << result.message;
  EXPECT_NE(result.message.find("IS REVOKED in known_hosts"), std::string::npos) << result.message;
  EXPECT_EQ(result.attempts, 1);
  EXPECT_EQ(server_.runs("first"), 0);
}

TEST_P(RoughNetworkSuite, AChannelThatIsRefused) {
  RudeSshServer::Behavior behavior;
  behavior.refused_channels = 3;
  const RudeSshServer server(behavior);
  ssh::Limits limits = Patient();
  limits.retry = Milliseconds(0);
  auto result = RunOne(server.Access(), "first", limits);
  EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable) << result.message;
  EXPECT_NE(result.message.find("research/0 opens no channel"), std::string::npos)
      << result.message;
  EXPECT_EQ(server.runs("first"), 0);
  // Nothing was sent, so it is worth another try.
  result = RunOne(server.Access(), "first", Patient());
  EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(result.attempts, 3);
  EXPECT_EQ(server.runs("first"), 1);
}

TEST_P(RoughNetworkSuite, OutputWithoutEnd) {
  ssh::Limits limits = Patient();
  limits.command = Milliseconds(500);
  const auto result = RunOne(server_.Access(), "yes", limits);
  EXPECT_EQ(result.outcome, ssh::Outcome::kTimedOut) << result.message;
  EXPECT_GT(result.bytes_out, 0U);
  EXPECT_EQ(server_.runs("yes"), 1);
}

TEST_P(RoughNetworkSuite, OutputWithoutEndIsStopped) {
  std::stop_source stop;
  observer_.on_line = [&](std::size_t, std::string_view) { stop.request_stop(); };
  const auto result = RunOne(server_.Access(), "yes", Patient(), stop.get_token());
  EXPECT_EQ(result.outcome, ssh::Outcome::kCancelled) << result.message;
  EXPECT_EQ(server_.runs("yes"), 1);
}

TEST_P(RoughNetworkSuite, AnExitStatusThatNeverComesIsNoSuccess) {
  RudeSshServer::Behavior behavior;
  behavior.tells_no_exit_status = true;
  const RudeSshServer server(behavior);
  const auto result = RunOne(server.Access(), "first", Patient());
  EXPECT_FALSE(result.ok()) << "nobody has said that it went well";
  EXPECT_NE(result.outcome, ssh::Outcome::kExited);
  EXPECT_FALSE(result.message.empty());
  EXPECT_EQ(observer_.out[0], Lines{"ran first"});
  EXPECT_EQ(server.runs("first"), 1) << "and it is not run again";
}

TEST_P(RoughNetworkSuite, APeerThatStopsAnsweringWhileLoggingIn) {
  LineRule frozen = To(server_);
  frozen.to_server = 900;  // before the command, whatever the client
  frozen.end = LineRule::End::kFreeze;
  ssh::Limits limits = Patient();
  limits.retry = Milliseconds(0);
  limits.handshake = limits.auth = std::chrono::seconds(5);
  const auto result = RunBesideOthers(frozen, limits);
  EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable) << result.message;
  EXPECT_EQ(result.attempts, 1);
  EXPECT_EQ(server_.runs("first"), 0);
}

// Half open: the command runs, and nothing is heard of it any more.
TEST_P(RoughNetworkSuite, APeerThatStopsAnsweringWhileTheCommandRuns) {
  LineRule frozen = To(server_);
  frozen.to_client = 60'000;
  frozen.end = LineRule::End::kFreeze;
  ssh::Limits limits = Patient();
  limits.command = std::chrono::seconds(2);
  const auto result = RunBesideOthers(frozen, limits, "yes");
  EXPECT_EQ(result.outcome, ssh::Outcome::kTimedOut) << result.message;
  EXPECT_EQ(server_.runs("yes"), 1);
}

TEST_P(RoughNetworkSuite, ALineThatDripsIsTakenForWhatItIs) {
  LineRule drip = To(server_);
  drip.drip = 1;
  drip.tick = std::chrono::seconds(1);
  ssh::Limits limits = Patient();
  limits.retry = Milliseconds(0);
  // Which of the two it is depends on how much of the banner counts as its coming.
  limits.first_byte = limits.handshake = std::chrono::seconds(5);
  const auto result = RunBesideOthers(drip, limits);
  EXPECT_EQ(result.outcome, ssh::Outcome::kUnreachable);
  EXPECT_TRUE(result.message.ends_with(" within 5s")) << result.message;
  EXPECT_EQ(server_.runs("first"), 0);
}

TEST_P(RoughNetworkSuite, ASlowLineIsGoodEnough) {
  LineRule slow = To(server_);
  slow.drip = 7;
  slow.tick = Milliseconds(1);
  const auto result = RunBesideOthers(slow, Patient());
  EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(observer_.out[0], Lines{"ran first"});
  EXPECT_EQ(server_.runs("first"), 1);
}

// The line breaks after byte k of one direction, for many k at once, and is whole again after that.
// Whatever k is: the command runs at most once; when podctl says that it ran, it did; when podctl
// tried again, it had not been sent before; and every worker has its result.
class CutLine {
 public:
  CutLine(const RudeSshServer& server, bool to_client, std::vector<std::size_t> places)
      : places_(std::move(places)), line_([this, &server, to_client](int number, int earlier) {
          LineRule rule;
          rule.target_port = server.port();
          if (earlier == 0) {
            (to_client ? rule.to_client : rule.to_server) =
                places_[static_cast<std::size_t>(number)];
          }
          return rule;
        }) {}

  static std::string Command(bool to_client, std::size_t place) {
    return (to_client ? "answers cut at " : "requests cut at ") + std::to_string(place);
  }
  std::vector<ssh::Job> Jobs(const RudeSshServer& server, bool to_client) const {
    std::vector<ssh::Job> jobs;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      jobs.push_back({line_.Access(server.Access(), static_cast<int>(i)),
                      Command(to_client, places_[i]), nullptr});
    }
    return jobs;
  }

 private:
  const std::vector<std::size_t> places_;
  RoughLine line_;
};

inline void CheckCuts(ssh::Transport& transport, const RudeSshServer& server, std::size_t step) {
  // How long a whole session is, in each direction.
  std::size_t lengths[2] = {0, 0};
  {
    RoughLine whole([&](int, int) {
      LineRule rule;
      rule.target_port = server.port();
      return rule;
    });
    RecordingObserver observer;
    {
      const auto result = transport
                              .Run({{whole.Access(server.Access(), 0), "whole", nullptr}},
                                   ssh::Limits(), observer, {})
                              .at(0);
      ASSERT_TRUE(result.ok()) << result.message;
    }
    lengths[0] = whole.bytes_to_server();
    lengths[1] = whole.bytes_to_client();
  }
  for (const bool to_client : {false, true}) {
    ASSERT_GT(lengths[to_client ? 1 : 0], 1000U);
    std::vector<std::size_t> places;
    // A little more than was counted: where a session ends early, a cut there cuts nothing.
    for (std::size_t k = 1; k <= lengths[to_client ? 1 : 0] + 32; k += step) places.push_back(k);
    const CutLine line(server, to_client, places);
    RecordingObserver observer;
    // Thousands of sessions at once, which a loaded machine takes minutes for.
    ssh::Limits limits;
    limits.retry = limits.handshake = limits.auth = limits.command = std::chrono::minutes(9);
    const auto results = transport.Run(line.Jobs(server, to_client), limits, observer, {});
    std::size_t lost = 0;
    std::size_t again = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::string command = CutLine::Command(to_client, places[i]);
      const int runs = server.runs(command);
      EXPECT_LE(runs, 1) << command;
      EXPECT_EQ(observer.results[i].size(), 1U) << command;
      if (results[i].ok()) {
        EXPECT_EQ(runs, 1) << command;
        EXPECT_EQ(observer.out[i], Lines{"ran " + command});
      } else {
        EXPECT_EQ(results[i].outcome, ssh::Outcome::kLost) << command << ": " << results[i].message;
      }
      lost += results[i].ok() ? 0 : 1;
      again += results[i].attempts > 1 ? 1 : 0;
    }
    EXPECT_GT(lost, 0U) << "no cut came after the command";
    EXPECT_GT(again, places.size() / 2) << "no cut came before the command";
    EXPECT_LT(lost, places.size() / 2);
  }
}

}  // namespace podctl::testing
