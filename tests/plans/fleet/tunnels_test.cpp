// Tunnels of a run: one way for each worker, all of them closed together, and doors that are
// opened.
#include "plans/fleet/tunnel/tunnels.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_transport.h"
#include "tests/support/fake_workers.h"

namespace podctl {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeClock;
using testing::FakeTransport;
using testing::FakeWorkers;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SomeWorkers;
using ::testing::UnorderedElementsAre;
using Open = WantedTunnel::Open;

// Writes down what is told, and asks to stop when all that is waited for was.
class NotedTunnels final : public TunnelsWatcher {
 public:
  void OnReady(const WorkerAccess& worker, int local_port, int remote_port) override {
    Add(fmt::format("{}: {} -> {}", worker.index, local_port, remote_port));
  }
  void OnOpened(const WorkerAccess& worker, const OpenedDoor& opened) override {
    Add(fmt::format("{} opened: {}", worker.index, opened.url));
  }
  void OnNote(const std::string& text) override { Add("note: " + text); }
  void OnHostKey(const WorkerAccess& worker, const HostKeyText& key) override {
    Add(fmt::format("{} key: {}, kept: {}", worker.index, key, worker.host_keys.size()));
  }

  std::vector<std::string> lines;
  std::size_t enough = 100;
  std::stop_source stop;

 private:
  void Add(std::string line) {
    const std::lock_guard lock(mutex_);
    lines.push_back(std::move(line));
    if (lines.size() >= enough) stop.request_stop();
  }
  std::mutex mutex_;
};

class TunnelsTest : public ::testing::Test {
 protected:
  // What a worker's tunnels do; by default they are ready and wait until they are told to stop.
  Result<void> Hold(const WorkerAccess& worker, const ssh::TunnelOptions& options,
                    ssh::TunnelObserver& observer, const std::stop_token& stop) {
    if (const auto fails = failures_.find(worker.index); fails != failures_.end()) {
      return fails->second;
    }
    if (const auto key = keys_.find(worker.index); key != keys_.end()) {
      observer.OnHostKey(key->second);
    }
    for (const ssh::Forward& each : options.forwards) {
      observer.OnReady(each.remote_port + 10'000, each);
    }
    std::unique_lock lock(mutex_);
    std::condition_variable_any().wait(lock, stop, [] { return false; });
    return {};
  }
  std::optional<Error> Run(const std::vector<WantedTunnel>& wanted) {
    const TunnelDoors doors{
        [this](const WorkerAccess& worker) -> Result<HoldTunnels> {
          if (worker.index == keyless_) return MakeError(ErrorCode::kNotFound, "no key");
          return HoldTunnels([this](const WorkerAccess& to, const ssh::TunnelOptions& options,
                                    ssh::TunnelObserver& observer, const std::stop_token& stop) {
            {
              const std::lock_guard lock(mutex_);
              ++held_;
            }
            return Hold(to, options, observer, stop);
          });
        },
        workers_, http_, clock_};
    return RunTunnels(doors, wanted, watcher_, watcher_.stop.get_token());
  }
  static WantedTunnel To(int worker, int port, Open open = Open::kNo) {
    return {SomeWorkers(worker + 1).back(), {0, port}, open};
  }

  FakeWorkers workers_{[](const ssh::Job&) { return FakeWorkers::Answer{}; }};
  FakeTransport http_;
  FakeClock clock_;
  NotedTunnels watcher_;
  std::map<int, Error> failures_;  // by worker
  std::map<int, HostKeyText> keys_;
  int keyless_ = -1;
  std::mutex mutex_;
  int held_ = 0;
};

TEST_F(TunnelsTest, ThoseToOneWorkerShareItsWay) {
  watcher_.enough = 3;
  EXPECT_FALSE(Run({To(0, 80), To(1, 80), To(0, 81)}));
  EXPECT_THAT(watcher_.lines,
              UnorderedElementsAre("0: 10080 -> 80", "0: 10081 -> 81", "1: 10080 -> 80"));
  EXPECT_EQ(held_, 2);
}

TEST_F(TunnelsTest, OneThatFailsEndsAll) {
  failures_[1] = MakeError(ErrorCode::kUnavailable, "port 80 is taken");
  const auto failure = Run({To(0, 80), To(1, 80)});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->message, "port 80 is taken");
  EXPECT_FALSE(watcher_.stop.stop_requested()) << "who asked did not ask for an end";
}

TEST_F(TunnelsTest, WithoutAKeyForOneNoneIsBegun) {
  keyless_ = 1;
  const auto failure = Run({To(0, 80), To(1, 80)});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->message, "no key");
  EXPECT_EQ(held_, 0);
  EXPECT_THAT(watcher_.lines, IsEmpty());
}

TEST_F(TunnelsTest, AKeyThatIsSeenIsToldAndHeldOnTo) {
  keys_[0] = "ssh-ed25519 AAAA";
  watcher_.enough = 2;
  EXPECT_FALSE(Run({To(0, 80)}));
  EXPECT_THAT(watcher_.lines, ElementsAre("0 key: ssh-ed25519 AAAA, kept: 1", "0: 10080 -> 80"));
}

TEST_F(TunnelsTest, WhatIsToBeOpenedIsToldWhenItAnswers) {
  http_.Then(200, "hello");
  watcher_.enough = 2;
  EXPECT_FALSE(Run({To(0, 8080, Open::kHttp)}));
  EXPECT_THAT(watcher_.lines, Contains(HasSubstr("0 opened: http://127.0.0.1:18080")));
}

// Nothing answers, and there is no end to the wait but a stop: that is no news.
TEST_F(TunnelsTest, AStopEndsTheWaitForADoor) {
  http_.Then([this](const http::Request&) -> Result<http::Response> {
    watcher_.stop.request_stop();
    return MakeError(ErrorCode::kUnavailable, "connection refused");
  });
  EXPECT_FALSE(Run({To(0, 8080, Open::kHttp)}));
  EXPECT_THAT(watcher_.lines, ElementsAre("0: 18080 -> 8080"));
}

}  // namespace
}  // namespace podctl
