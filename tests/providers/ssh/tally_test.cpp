#include "providers/ssh/tally.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace podctl::ssh {
namespace {

using Code = Cause::Code;

Cause Refused() {
  WorkerAccess worker;
  worker.host = "10.0.0.7";
  Cause cause = CauseAt(worker, Code::kNotConnected, "Connection refused");
  cause.error = ECONNREFUSED;
  return cause;
}

std::size_t Sum(const Tally& tally) {
  std::size_t sum = tally.ok() + tally.failed();
  for (const Phase phase : {Phase::kWaiting, Phase::kConnecting, Phase::kAuthenticating,
                            Phase::kRunning, Phase::kRetrying}) {
    sum += tally.In(phase);
  }
  return sum;
}

// A result comes before its phase kDone, and somebody may look between the two.
TEST(Tally, EachWorkerIsCountedOnce) {
  Tally tally(4);
  EXPECT_EQ(tally.In(Phase::kWaiting), 4U);
  for (std::size_t job = 0; job < 4; ++job) {
    tally.OnPhase(job, Phase::kConnecting);
    tally.OnTryAgain(job, Refused());
    tally.OnPhase(job, Phase::kRetrying);
  }
  EXPECT_EQ(tally.In(Phase::kRetrying), 4U);
  EXPECT_EQ(Sum(tally), 4U);
  tally.OnResult(0, false);
  EXPECT_EQ(tally.failed(), 1U);
  EXPECT_EQ(tally.In(Phase::kRetrying), 3U);
  EXPECT_EQ(Sum(tally), 4U);
  tally.OnPhase(0, Phase::kDone);
  tally.OnPhase(1, Phase::kRunning);
  tally.OnResult(1, true);
  tally.OnPhase(1, Phase::kDone);
  EXPECT_EQ(tally.ok(), 1U);
  EXPECT_EQ(Sum(tally), 4U);
}

TEST(Tally, WhoIsTriedAgainStaysThatUntilItRuns) {
  Tally tally(1);
  tally.OnPhase(0, Phase::kConnecting);
  tally.OnTryAgain(0, Refused());
  tally.OnPhase(0, Phase::kRetrying);
  tally.OnPhase(0, Phase::kConnecting);
  tally.OnPhase(0, Phase::kAuthenticating);
  EXPECT_EQ(tally.PhaseOf(0), Phase::kRetrying);
  EXPECT_EQ(tally.WhyRetrying(), "connection refused");
  tally.OnPhase(0, Phase::kRunning);
  EXPECT_EQ(tally.PhaseOf(0), Phase::kRunning);
  EXPECT_EQ(tally.WhyRetrying(), "");
}

TEST(Tally, TheMostFrequentCauseOfThoseThatAreTriedAgainIsTold) {
  Tally tally(5);
  const auto again = [&](std::size_t job, const Cause& why) {
    tally.OnTryAgain(job, why);
    tally.OnPhase(job, Phase::kRetrying);
  };
  EXPECT_EQ(tally.WhyRetrying(), "");
  again(0, Refused());
  again(1, LateAt({}, Code::kNoAnswer, std::chrono::seconds(10)));
  again(2, LateAt({}, Code::kNoAnswer, std::chrono::seconds(10)));
  EXPECT_EQ(tally.WhyRetrying(), "no answer");
  again(3, Refused());
  again(4, Refused());
  EXPECT_EQ(tally.WhyRetrying(), "connection refused");
  // The same worker for another reason, and workers that are through, count no more.
  again(4, LateAt({}, Code::kNoAnswer, std::chrono::seconds(10)));
  tally.OnPhase(3, Phase::kRunning);
  EXPECT_EQ(tally.WhyRetrying(), "no answer");
  for (std::size_t job = 0; job < 5; ++job) tally.OnResult(job, job > 1);
  EXPECT_EQ(tally.WhyRetrying(), "");
}

TEST(Cause, BriefWordsNameNoWorkerAndNoAddress) {
  EXPECT_EQ(BriefWords(Refused()), "connection refused");
  Cause through = Refused();
  through.route = "`gcloud`";
  through.words = "ERROR: something: Connection refused";
  EXPECT_EQ(BriefWords(through), "connection refused");
  through.error = 0;
  EXPECT_EQ(BriefWords(through), "ERROR: something: Connection refused");
  EXPECT_EQ(BriefWords(CauseAt({}, Code::kKeysRefused, "(publickey)")), "keys refused");
  EXPECT_EQ(BriefWords(OtherCause("no socket")), "no socket");
  // Every cause has some.
  for (int code = 1; code <= static_cast<int>(Code::kCancelled); ++code) {
    if (static_cast<Code>(code) == Code::kOther) continue;
    EXPECT_NE(BriefWords(CauseAt({}, static_cast<Code>(code))), "") << code;
  }
}

}  // namespace
}  // namespace podctl::ssh
