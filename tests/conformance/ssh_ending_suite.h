// The part of SshTransportSuite on how commands are ended: by their time limit, and by a stop.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "tests/conformance/ssh_transport_suite.h"

namespace podctl::testing {

// For a sleep that no other run of this suite has: the suites of both transports may run at once.
inline std::string OwnSeconds() {
  return "59." + std::to_string(getpid());
}

TEST_P(SshTransportSuite, EndsACommandThatRunsTooLong) {
  const SshServer server;
  ssh::Limits limits = Impatient();
  limits.command = std::chrono::milliseconds(300);
  const ssh::WorkerResult result = RunOne(
      {server.Access(),
       "cd; trap 'echo ended > ended; exit 1' TERM; echo up; sleep " + OwnSeconds() + " & wait",
       nullptr},
      limits);
  EXPECT_EQ(result.outcome, ssh::Outcome::kTimedOut);
  EXPECT_TRUE(result.message.starts_with("the command ran longer than 0.3s")) << result.message;
  EXPECT_FALSE(IsRunning("sleep", OwnSeconds()));
  EXPECT_EQ(ReadAll(server.Home() + "/ended"), "ended\n");
}

TEST_P(SshTransportSuite, TellsOfACommandThatDoesNotEndWhenAskedTo) {
  const SshServer server;
  ssh::Limits limits = Impatient();
  limits.command = std::chrono::milliseconds(300);
  limits.termination = std::chrono::milliseconds(500);
  limits.grace = std::chrono::seconds(2);
  const std::string seconds = "58." + std::to_string(getpid());
  const ssh::WorkerResult result =
      RunOne({server.Access(), "trap '' TERM; echo up; sleep " + seconds, nullptr}, limits);
  EXPECT_EQ(result.outcome, ssh::Outcome::kTimedOut);
  EXPECT_EQ(result.message, "the command ran longer than 0.3s; asked to end, still at it");
  EXPECT_FALSE(result.ended);
  // Nobody is connected any more; the worker goes on by itself.
  while (IsRunning("sleep", seconds)) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

// As after two signals in quick succession: nobody waits for the end, and it comes all the same.
TEST_P(SshTransportSuite, EndsACommandThatNobodyWaitsFor) {
  const SshServer server;
  std::stop_source stop;
  std::stop_source abandon;
  ssh::Limits limits = Impatient();
  limits.grace = std::chrono::seconds(1);
  limits.termination = std::chrono::seconds(60);
  limits.abandon = abandon.get_token();
  observer_.on_line = [&](std::size_t, std::string_view) {
    stop.request_stop();
    abandon.request_stop();
  };
  const std::string seconds = "57." + std::to_string(getpid());
  const ssh::WorkerResult result =
      RunOne({server.Access(), "echo up; sleep " + seconds, nullptr}, limits, stop.get_token());
  EXPECT_EQ(result.outcome, ssh::Outcome::kCancelled);
  EXPECT_LT(result.ran, std::chrono::seconds(30));
  for (int i = 0; i < 1000 && IsRunning("sleep", seconds); ++i) usleep(10'000);
  EXPECT_FALSE(IsRunning("sleep", seconds));
}

// Deaf to TERM, stopped, or in a session of its own: what is told as ended has ended.
TEST_P(SshTransportSuite, EndsAllThatTheCommandHasStarted) {
  const SshServer server;
  ssh::Limits limits = Impatient();
  limits.grace = std::chrono::seconds(1);
  limits.termination = std::chrono::seconds(60);
  std::stop_source stop;
  observer_.on_line = [&](std::size_t, std::string_view) { stop.request_stop(); };
  const auto seconds = [](int i) {
    return std::to_string(50 + i) + "." + std::to_string(getpid());
  };
  const ssh::WorkerResult result =
      RunOne({server.Access(),
              "trap '' TERM; setsid sleep " + seconds(1) + " & sh -c 'kill -STOP $$; sleep " +
                  seconds(2) + "' & sleep 0.3; echo up; sleep " + seconds(3),
              nullptr},
             limits, stop.get_token());
  EXPECT_EQ(result.outcome, ssh::Outcome::kCancelled);
  EXPECT_TRUE(result.ended) << result.message;
  EXPECT_EQ(result.message, "cancelled; ended");
  for (int i = 1; i <= 3; ++i) EXPECT_FALSE(IsRunning("sleep", seconds(i))) << i;
}

TEST_P(SshTransportSuite, StopsRunningAndWaitingJobs) {
  const SshServer server;
  std::stop_source stop;
  observer_.on_line = [&](std::size_t, std::string_view) { stop.request_stop(); };
  ssh::Job waiting{server.Access(1), "true", nullptr};
  waiting.worker.port = FreePort("127.0.0.1");  // nobody there: retried until stopped
  const auto results = transport_->Run(
      {{server.Access(), "cd; trap 'echo ended > ended; exit 1' TERM; echo up; sleep 59.25 & wait",
        nullptr},
       waiting},
      ssh::Limits(), observer_, stop.get_token());
  EXPECT_EQ(results[0].outcome, ssh::Outcome::kCancelled);
  EXPECT_EQ(results[1].outcome, ssh::Outcome::kCancelled);
  EXPECT_EQ(ReadAll(server.Home() + "/ended"), "ended\n");
}

// Who writes files is to have all that there was, however far behind it is.
TEST_P(SshTransportSuite, WhoTakesBytesGetsAllThatWasReceivedBeforeAStop) {
  class OutputRecorder final : public ssh::Observer {
   public:
    OutputRecorder(std::string mark, std::stop_source& stop)
        : mark_(std::move(mark)), stop_(stop) {}
    bool TakesBytes() const override { return true; }
    void OnBytes(std::size_t, ssh::Stream, std::string_view bytes) override {
      // Held up until the command has written all of it.
      while (!stop_.stop_requested()) {
        if (std::filesystem::exists(mark_) || ++looks_ > 6'000) stop_.request_stop();
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      kept += bytes.size();
    }
    void OnLine(std::size_t, ssh::Stream, std::string_view) override {}
    void OnPhase(std::size_t, ssh::Phase) override {}
    std::uint64_t kept = 0;

   private:
    const std::string mark_;
    std::stop_source& stop_;
    int looks_ = 0;
  };
  const SshServer server;
  std::stop_source stop;
  OutputRecorder recorder(server.Home() + "/written", stop);
  const auto results = transport_->Run(
      {{server.Access(), "cd; head -c 3000000 /dev/zero; touch written; sleep 59.75", nullptr}},
      Impatient(), recorder, stop.get_token());
  EXPECT_EQ(results[0].outcome, ssh::Outcome::kCancelled);
  EXPECT_GT(results[0].bytes_out, 1'000'000U);
  EXPECT_EQ(recorder.kept, results[0].bytes_out);
}

TEST_P(SshTransportSuite, LeavesACommandThatSaysMoreThanItMay) {
  const SshServer server;
  ssh::Limits limits = Impatient();
  limits.output = 256 * 1024;
  const auto both = RunOne({server.Access(), "yes & exec yes >&2", nullptr}, limits);
  EXPECT_EQ(both.outcome, ssh::Outcome::kLost);
  EXPECT_EQ(both.message, "it sent more than the 256 KiB that an answer may have");
  const auto fits = RunOne({server.Access(), "head -c 262144 /dev/zero", nullptr}, limits);
  EXPECT_TRUE(fits.ok()) << fits.message;
}

TEST_P(SshTransportSuite, StartsNothingAfterStop) {
  const SshServer server;
  std::stop_source stop;
  stop.request_stop();
  const ssh::WorkerResult result =
      RunOne({server.Access(), "cd; touch ran", nullptr}, ssh::Limits(), stop.get_token());
  EXPECT_EQ(result.outcome, ssh::Outcome::kCancelled);
  EXPECT_FALSE(std::filesystem::exists(server.Home() + "/ran"));
}

}  // namespace podctl::testing
