// What `podctl watch` says, with times, and what it does not say twice.
#include "cmd/views/watch_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/addresses.h"
#include "tests/support/fake_clock.h"

namespace podctl {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

class WatchViewTest : public ::testing::Test {
 protected:
  WatchViewTest() {
    change_.address = Addr("pod.a");
    change_.verb = Verb::kDeleteThenCreate;
  }
  std::string Take() {
    const std::string text = out_.str();
    out_.str("");
    return text;
  }

  testing::FakeClock clock_;
  std::ostringstream out_;
  std::ostringstream err_;
  Streams streams_{out_, err_};
  WatchView view_{streams_, clock_};
  Change change_;
};

TEST_F(WatchViewTest, EachLineHasItsTimeAndGoesToTheResult) {
  view_.OnStart(change_);
  view_.OnNote(Addr("pod.a"), "was found PREEMPTED");
  clock_.Advance(milliseconds(8'000));
  view_.OnComplete(change_, milliseconds(8'000), "id");
  EXPECT_EQ(Take(),
            "2026-11-20T14:30:00Z pod.a: Replacing\n"
            "2026-11-20T14:30:00Z pod.a: was found PREEMPTED\n"
            "2026-11-20T14:30:08Z pod.a: Replacement complete after 8s\n");
  EXPECT_EQ(err_.str(), "");
}

TEST_F(WatchViewTest, WhatLastsIsToldAtGrowingIntervals) {
  view_.OnStart(change_);
  Take();
  int lines = 0;
  for (int i = 1; i <= 60; ++i) {
    view_.OnProgress(change_, minutes(i), {0, 0, 0, 0, "in z"});
    lines += Take().empty() ? 0 : 1;
  }
  EXPECT_EQ(lines, 6);  // 1, 2, 4, 8, 16 and 32 minutes
}

// A request that waits in the queue, or a zone that is sold out, is met in each round.
TEST_F(WatchViewTest, ARoundThatIsLikeTheLastSaysNothing) {
  for (int round = 0; round < 3; ++round) {
    view_.OnStart(change_);
    view_.OnNote(Addr("pod.a"), "its queued resource a is WAITING_FOR_RESOURCES");
    view_.OnError(change_, milliseconds(1'000 + round), MakeError(ErrorCode::kUnknown, "sold out"));
    view_.Settle();
    const std::string text = Take();
    EXPECT_EQ(text.empty(), round > 0) << text;
  }
  view_.ForgetNews();
  view_.OnStart(change_);
  EXPECT_NE(Take(), "");
}

TEST_F(WatchViewTest, WithoutATerminalNothingIsDrawn) {
  view_.ShowPause("watching 1 pod: all is well");
  EXPECT_EQ(Take() + err_.str(), "");
}

}  // namespace
}  // namespace podctl
