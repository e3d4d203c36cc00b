#include "providers/http/retry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_transport.h"

namespace podctl::http {
namespace {

using std::chrono::milliseconds;
using testing::FakeClock;
using testing::FakeRandom;
using testing::FakeTransport;

class RetryTest : public ::testing::Test {
 protected:
  Result<Response> Send(Idempotency idempotency, const ShouldRetry& worth = {}) {
    return SendWithRetry(transport_, Request{}, idempotency, policy_, clock_, random_,
                         stop_.get_token(), worth);
  }
  std::size_t Sent() const { return transport_.requests().size(); }

  FakeTransport transport_;
  FakeClock clock_;
  FakeRandom random_;
  RetryPolicy policy_;
  std::stop_source stop_;
};

TEST_F(RetryTest, GivesAGoodAnswerAtOnce) {
  transport_.Then(200, "fine");
  EXPECT_EQ(Send(Idempotency::kIdempotent)->body, "fine");
  EXPECT_EQ(Sent(), 1U);
  EXPECT_EQ(clock_.Elapsed(), milliseconds(0));
}

TEST_F(RetryTest, RepeatsPassingStatusesWithGrowingWaits) {
  transport_.Then(503).Then(500).Then(502).Then(504).Then(408).Then(200);
  EXPECT_EQ(Send(Idempotency::kIdempotent)->status, 200);
  EXPECT_EQ(Sent(), 6U);
  // Three quarters (chance is 0.5) of 0.5, 1, 2, 4 and 8 s.
  EXPECT_EQ(clock_.Elapsed(), milliseconds(11'625));
}

TEST_F(RetryTest, DoesNotRepeatAnswersThatStay) {
  for (int status : {200, 304, 400, 401, 403, 404, 409, 412, 501}) {
    FakeTransport transport;
    transport.Then(status);
    const auto response = SendWithRetry(transport, Request{}, Idempotency::kIdempotent, policy_,
                                        clock_, random_, stop_.get_token());
    EXPECT_EQ(response->status, status);
    EXPECT_EQ(transport.requests().size(), 1U) << status;
  }
}

TEST_F(RetryTest, GivesTheLastAnswerWhenAttemptsAreUsedUp) {
  transport_.Then(503, "still down");
  EXPECT_EQ(Send(Idempotency::kIdempotent)->body, "still down");
  EXPECT_EQ(Sent(), static_cast<std::size_t>(policy_.attempts));
}

// What is counted by the minute passes within one, which a handful of attempts does not outlast.
TEST_F(RetryTest, ARefusalForHasteIsRepeatedUntilTheMinuteIsOver) {
  for (int i = 0; i < 9; ++i) transport_.Then(429);
  transport_.Then(200);
  EXPECT_EQ(Send(Idempotency::kNonIdempotent)->status, 200);
  EXPECT_GT(clock_.Elapsed(), std::chrono::minutes(1));
}

TEST_F(RetryTest, RefusalsForHasteEndWithTheTime) {
  transport_.Then(429, "slow down");
  EXPECT_EQ(Send(Idempotency::kIdempotent)->status, 429);
  EXPECT_LE(clock_.Elapsed(), policy_.total);
  EXPECT_GT(clock_.Elapsed(), policy_.total / 2);
}

// A server that drips its answers takes the whole time of each attempt.
TEST_F(RetryTest, NoAttemptOutlastsTheWhole) {
  transport_.Then([&](const Request& request) -> Result<Response> {
    clock_.Advance(request.timeout);
    return MakeError(ErrorCode::kReplyLost, "timed out");
  });
  EXPECT_FALSE(Send(Idempotency::kIdempotent));
  EXPECT_GT(Sent(), 2U);
  EXPECT_LE(clock_.Elapsed(), policy_.total);
}

TEST_F(RetryTest, RepeatsALostReplyOnlyWhereSafe) {
  transport_.Then(ErrorCode::kReplyLost).Then(200);
  EXPECT_TRUE(Send(Idempotency::kIdempotent).has_value());
  EXPECT_EQ(Sent(), 2U);

  FakeTransport create;
  create.Then(ErrorCode::kReplyLost).Then(200);
  const auto lost = SendWithRetry(create, Request{}, Idempotency::kNonIdempotent, policy_, clock_,
                                  random_, stop_.get_token());
  EXPECT_EQ(lost.error().code, ErrorCode::kReplyLost);
  EXPECT_EQ(create.requests().size(), 1U);
}

TEST_F(RetryTest, NeverRepeatsACreateThatTheServerMayHaveDone) {
  for (int status : {408, 500, 502, 503, 504}) {
    FakeTransport transport;
    transport.Then(status).Then(200);
    const auto response = SendWithRetry(transport, Request{}, Idempotency::kNonIdempotent, policy_,
                                        clock_, random_, stop_.get_token());
    EXPECT_EQ(response->status, status);
    EXPECT_EQ(transport.requests().size(), 1U) << status;
  }
}

TEST_F(RetryTest, RepeatsACreateThatWasCertainlyNotDone) {
  transport_.Then(ErrorCode::kUnavailable).Then(429).Then(200);
  EXPECT_EQ(Send(Idempotency::kNonIdempotent)->status, 200);
  EXPECT_EQ(Sent(), 3U);
}

TEST_F(RetryTest, TellsAWrongEndpointSoon) {
  transport_.Then(ErrorCode::kUnavailable);
  EXPECT_EQ(Send(Idempotency::kIdempotent).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(Sent(), static_cast<std::size_t>(policy_.connection_attempts));
  EXPECT_LT(clock_.Elapsed(), milliseconds(5'000));
}

TEST_F(RetryTest, DoesNotRepeatAnUntrustedCertificate) {
  transport_.Then(ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Send(Idempotency::kIdempotent).error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Sent(), 1U);
}

TEST_F(RetryTest, LetsTheCallerVeto) {
  transport_.Then(429, "quota");
  const auto response =
      Send(Idempotency::kIdempotent, [](const Response& answer) { return answer.body != "quota"; });
  EXPECT_EQ(response->status, 429);
  EXPECT_EQ(Sent(), 1U);
}

TEST_F(RetryTest, WaitsAsLongAsTheServerAsks) {
  transport_.Then(429, "", {{"retry-after", "17"}}).Then(200);
  EXPECT_EQ(Send(Idempotency::kIdempotent)->status, 200);
  EXPECT_EQ(clock_.Elapsed(), milliseconds(17'000));
}

// Else nobody knows whether it goes on.
TEST_F(RetryTest, TellsOfALongWait) {
  std::vector<milliseconds> reported;
  policy_.on_long_wait = [&](milliseconds wait, const std::string& why) {
    EXPECT_LT(clock_.Elapsed(), wait) << "before it begins";
    EXPECT_THAT(why, ::testing::EndsWith(" answered with HTTP status 429"));
    reported.push_back(wait);
  };
  transport_.Then(429, "", {{"retry-after", "9"}})
      .Then(429, "", {{"retry-after", "17"}})
      .Then(429, "", {{"retry-after", "86400"}})
      .Then(200);
  EXPECT_EQ(Send(Idempotency::kIdempotent)->status, 200);
  EXPECT_EQ(reported,
            (std::vector<milliseconds>{milliseconds(17'000), policy_.longest_retry_after}));
}

TEST_F(RetryTest, ReadsADateOfTheServer) {
  // The fake clock starts at 2026-11-20T14:30:00Z.
  transport_.Then(503, "", {{"retry-after", "Fri, 20 Nov 2026 14:30:25 GMT"}}).Then(200);
  EXPECT_EQ(Send(Idempotency::kIdempotent)->status, 200);
  EXPECT_EQ(clock_.Elapsed(), milliseconds(25'000));
}

TEST_F(RetryTest, DoesNotWaitForEverBecauseAServerAsksSo) {
  for (const char* absurd : {"86400", "99999999999999999999", "Fri, 20 Nov 2099 14:30:25 GMT"}) {
    FakeTransport transport;
    FakeClock clock;
    transport.Then(503, "", {{"retry-after", absurd}}).Then(200);
    const auto response = SendWithRetry(transport, Request{}, Idempotency::kIdempotent, policy_,
                                        clock, random_, stop_.get_token());
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(clock.Elapsed(), policy_.longest_retry_after) << absurd;
  }
}

TEST_F(RetryTest, TakesNonsenseForNoWish) {
  for (const char* nonsense : {"soon", "-5", "", "Fri, 20 Nov 2020 14:30:25 GMT"}) {
    FakeTransport transport;
    FakeClock clock;
    transport.Then(503, "", {{"retry-after", nonsense}}).Then(200);
    const auto response = SendWithRetry(transport, Request{}, Idempotency::kIdempotent, policy_,
                                        clock, random_, stop_.get_token());
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(clock.Elapsed(), milliseconds(375)) << nonsense;
  }
}

TEST_F(RetryTest, KeepsToItsTotalTime) {
  policy_.attempts = 100;
  transport_.Then(503, "", {{"retry-after", "50"}});
  EXPECT_EQ(Send(Idempotency::kIdempotent)->status, 503);
  EXPECT_LE(clock_.Elapsed(), policy_.total);
}

TEST_F(RetryTest, StopsWhileWaiting) {
  transport_.Then([this](const Request&) -> Result<Response> {
    stop_.request_stop();
    return Response{503, {}, ""};
  });
  EXPECT_EQ(Send(Idempotency::kIdempotent).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(Sent(), 1U);
}

}  // namespace
}  // namespace podctl::http
