// The rhythm of `podctl watch`, on a clock that moves only when it sleeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "plans/session/watch.h"
#include "tests/support/fake_clock.h"

namespace podctl {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::FakeClock;
using testing::FakeRandom;

// Ends each round as it is told to, and the watch after the last.
class Script final : public WatchRound {
 public:
  Script(FakeClock& clock, std::vector<RoundEnd> ends) : clock_(clock), ends_(std::move(ends)) {}

  RoundEnd Run() override {
    began.push_back(std::chrono::duration_cast<seconds>(clock_.Elapsed()));
    const RoundEnd end = ends_[began.size() - 1];
    if (began.size() == ends_.size()) stop.request_stop();
    return end;
  }
  void OnPause(Clock::SystemTime until) override { pauses.push_back(until - clock_.Now()); }

  std::stop_source stop;
  std::vector<seconds> began;
  std::vector<Clock::SystemTime::duration> pauses;

 private:
  FakeClock& clock_;
  std::vector<RoundEnd> ends_;
};

class WatchLoopTest : public ::testing::Test {
 protected:
  RoundEnd Run(std::vector<RoundEnd> ends) {
    script_ = std::make_unique<Script>(clock_, std::move(ends));
    return Watch(*script_, pace_, clock_, random_, script_->stop.get_token());
  }

  FakeClock clock_;
  FakeRandom random_;
  WatchIntervals pace_;
  std::unique_ptr<Script> script_;
};

TEST_F(WatchLoopTest, LooksAtEachIntervalUntilItIsStopped) {
  EXPECT_EQ(Run({RoundEnd::kNothing, RoundEnd::kActed, RoundEnd::kBlocked, RoundEnd::kNothing}),
            RoundEnd::kInterrupted);
  EXPECT_THAT(script_->began, ElementsAre(seconds(0), seconds(60), seconds(120), seconds(180)));
  EXPECT_EQ(script_->pauses.front(), seconds(60));
}

TEST_F(WatchLoopTest, FailuresInARowAreAskedAfterLessOften) {
  const auto failed = RoundEnd::kFailed;
  EXPECT_EQ(Run({failed, failed, failed, failed, failed, failed, failed}), RoundEnd::kInterrupted);
  // 1 min, then twice as long each time up to 10 min, and 5 % more by chance.
  EXPECT_THAT(script_->began,
              ElementsAre(seconds(0), seconds(60), seconds(60 + 126), seconds(60 + 126 + 252),
                          seconds(60 + 126 + 252 + 504), seconds(60 + 126 + 252 + 504 + 630),
                          seconds(60 + 126 + 252 + 504 + 630 + 630)));
}

TEST_F(WatchLoopTest, ASuccessForgetsTheFailures) {
  const auto failed = RoundEnd::kFailed;
  Run({failed, failed, failed, RoundEnd::kNothing, failed, RoundEnd::kNothing});
  EXPECT_EQ(script_->began[4] - script_->began[3], seconds(60));
  EXPECT_EQ(script_->began[5] - script_->began[4], seconds(60));
}

TEST_F(WatchLoopTest, ALongIntervalIsNotCutShortByAFailure) {
  pace_.interval = minutes(30);
  Run({RoundEnd::kFailed, RoundEnd::kFailed, RoundEnd::kFailed});
  EXPECT_GE(script_->began[2] - script_->began[1], minutes(30));
}

TEST_F(WatchLoopTest, OnceIsOnce) {
  pace_.once = true;
  for (RoundEnd end : {RoundEnd::kNothing, RoundEnd::kActed, RoundEnd::kFailed}) {
    EXPECT_EQ(Run({end, end}), end);
    EXPECT_EQ(script_->began.size(), 1U);
  }
  EXPECT_EQ(clock_.Elapsed(), milliseconds(0));
}

TEST_F(WatchLoopTest, WrongUsageAndAnInterruptedRoundEndIt) {
  EXPECT_EQ(Run({RoundEnd::kNothing, RoundEnd::kWrongUsage, RoundEnd::kNothing}),
            RoundEnd::kWrongUsage);
  EXPECT_EQ(Run({RoundEnd::kInterrupted, RoundEnd::kNothing}), RoundEnd::kInterrupted);
  EXPECT_EQ(script_->began.size(), 1U);
}

}  // namespace
}  // namespace podctl
