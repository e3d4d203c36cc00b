#include "providers/ssh/retry_queue.h"

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"

namespace podctl::ssh {
namespace {

using std::chrono::seconds;

constexpr ConcurrencyLimit::Time kStart{seconds(100)};

TEST(ConcurrencyLimitTest, HalvesWhenMostFailAndGrowsBack) {
  ConcurrencyLimit concurrency(1024);
  for (int i = 0; i < 40; ++i) concurrency.Trouble(kStart);
  EXPECT_EQ(concurrency.size(), 512);
  for (int i = 0; i < 40; ++i) concurrency.Trouble(kStart);
  EXPECT_EQ(concurrency.size(), 512) << "once a second at most";
  for (int i = 0; i < 40; ++i) concurrency.Trouble(kStart + seconds(2));
  EXPECT_EQ(concurrency.size(), 256);
  for (int i = 0; i < 2000; ++i) concurrency.Success();
  EXPECT_EQ(concurrency.size(), 1024);
}

TEST(ConcurrencyLimitTest, TakesAFewRefusalsForTheirWorkersTrouble) {
  ConcurrencyLimit concurrency(1024);
  for (int i = 0; i < 200; ++i) concurrency.Success();
  for (int i = 0; i < 100; ++i) concurrency.Trouble(kStart);
  EXPECT_EQ(concurrency.size(), 1024);
}

TEST(ConcurrencyLimitTest, NeverClosesForTroubleOfOthers) {
  ConcurrencyLimit concurrency(1024);
  for (int i = 0; i < 10'000; ++i) concurrency.Trouble(kStart + seconds(i));
  EXPECT_EQ(concurrency.size(), 16);
  ConcurrencyLimit small(3);
  for (int i = 0; i < 10'000; ++i) small.Trouble(kStart + seconds(i));
  EXPECT_EQ(small.size(), 3);
}

TEST(ConcurrencyLimitTest, FitsIntoTheDescriptorsThatThereAre) {
  ConcurrencyLimit concurrency(1024);
  concurrency.OutOfResources(100, kStart);
  EXPECT_EQ(concurrency.size(), 50);
  concurrency.OutOfResources(0, kStart);
  EXPECT_EQ(concurrency.size(), 1);
}

class RetryQueueTest : public ::testing::Test {
 protected:
  RetryQueue Made(std::size_t jobs) {
    RetryQueue queue(jobs, limits_, random_);
    for (std::size_t i = 0; i < jobs; ++i) queue.Add(i);
    return queue;
  }
  static WorkerResult Failed(Outcome outcome = Outcome::kUnreachable) {
    WorkerResult result;
    result.outcome = outcome;
    return result;
  }
  static WorkerResult Good() { return Failed(Outcome::kExited); }

  Limits limits_;
  testing::FakeRandom random_;  // half of each pause
};

TEST_F(RetryQueueTest, HandsOutInOrderAndAsManyAsMayBeOpen) {
  limits_.max_open = 2;
  RetryQueue queue = Made(3);
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(queue.HasCapacity());
    ASSERT_EQ(queue.Next(kStart), i);
    queue.Begin(i, kStart);
  }
  EXPECT_FALSE(queue.HasCapacity());
  EXPECT_EQ(queue.Next(kStart), 2U) << "whose turn it is does not hang on the room";
  queue.End(0, Good());
  EXPECT_TRUE(queue.HasCapacity());
  queue.Begin(2, kStart);
  queue.End(1, Good());
  queue.End(2, Good());
  EXPECT_TRUE(queue.done());
  EXPECT_EQ(queue.Next(kStart), std::nullopt);
}

TEST_F(RetryQueueTest, TriesAgainAfterPausesThatGrowUntilItsTimeIsOver) {
  using std::chrono::milliseconds;
  limits_.retry = milliseconds(1'000);
  RetryQueue queue = Made(1);
  queue.Next(kStart);
  queue.Begin(0, kStart);
  ASSERT_TRUE(queue.Again(0, false, kStart));
  EXPECT_EQ(queue.Next(kStart), std::nullopt);
  EXPECT_EQ(queue.next_time(), kStart + milliseconds(125));
  ASSERT_EQ(queue.Next(queue.next_time()), 0U);
  queue.Begin(0, kStart + milliseconds(125));
  ASSERT_TRUE(queue.Again(0, false, kStart + milliseconds(200)));
  EXPECT_EQ(queue.next_time(), kStart + milliseconds(450));
  ASSERT_EQ(queue.Next(kStart + milliseconds(450)), 0U);
  queue.Begin(0, kStart + milliseconds(450));
  ASSERT_TRUE(queue.Again(0, false, kStart + milliseconds(900)));
  EXPECT_EQ(queue.next_time(), kStart + milliseconds(1'000)) << "a last time at the very end";
  ASSERT_EQ(queue.Next(kStart + milliseconds(1'000)), 0U);
  queue.Begin(0, kStart + milliseconds(1'000));
  EXPECT_EQ(queue.attempts(0), 4);
  EXPECT_FALSE(queue.Again(0, false, kStart + milliseconds(1'001)));
}

TEST_F(RetryQueueTest, RefusedKeysHaveATimeOfTheirOwnFromTheFirstRefusal) {
  limits_.auth_retry = seconds(2);
  RetryQueue queue = Made(1);
  queue.Next(kStart);
  queue.Begin(0, kStart);
  ASSERT_TRUE(queue.Again(0, true, kStart + seconds(50)));
  ASSERT_EQ(queue.Next(kStart + seconds(51)), 0U);
  queue.Begin(0, kStart + seconds(51));
  ASSERT_TRUE(queue.Again(0, true, kStart + seconds(51)));
  ASSERT_EQ(queue.Next(kStart + seconds(53)), 0U);
  queue.Begin(0, kStart + seconds(53));
  EXPECT_FALSE(queue.Again(0, true, kStart + seconds(53)));
}

TEST_F(RetryQueueTest, WhatFoundNoSocketWasNotTried) {
  RetryQueue queue = Made(1);
  queue.Next(kStart);
  queue.Begin(0, kStart);
  queue.PutBack(0, kStart);
  EXPECT_EQ(queue.attempts(0), 0);
  EXPECT_EQ(queue.open(), 0U);
  EXPECT_EQ(queue.Next(queue.next_time()), 0U);
}

TEST_F(RetryQueueTest, TheBudgetCountsWhatFailedAndNotWhatNeverBegan) {
  limits_.max_failures = 1;
  RetryQueue queue = Made(5);
  queue.End(0, Failed());
  queue.End(1, Failed(Outcome::kCancelled));
  queue.End(2, Failed(Outcome::kSkipped));
  queue.End(3, Good());
  EXPECT_FALSE(queue.IsSpent());
  EXPECT_EQ(queue.Next(kStart), 4U) << "who has ended is passed over";
  queue.End(4, Failed());
  EXPECT_TRUE(queue.IsSpent());
  EXPECT_EQ(FullWords(queue.SkippedCause()), "not started: 2 workers failed before");
}

}  // namespace
}  // namespace podctl::ssh
