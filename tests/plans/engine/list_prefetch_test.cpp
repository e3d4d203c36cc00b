// Lists that were begun early: the same answers, each asked for once, and no thread left behind.
#include <gtest/gtest.h>

#include <condition_variable>

#include "plans/engine/observe.h"
#include "tests/support/fake_provider.h"

namespace podctl {
namespace {

const ZoneName kZone = {"p", "europe-west4-a"};

TEST(ListPrefetch, AnswersWhatWasListedBeforeAndThenAsksAnew) {
  testing::FakeProvider provider;
  provider.PutNode({"p", "europe-west4-a", "one"}, Value::EmptyMap());
  ListPrefetch prefetch(provider, {});
  prefetch.Begin({kZone});
  const auto first = prefetch.ListNodes("p", "europe-west4-a", {});
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->size(), 1U);
  EXPECT_EQ(provider.Calls("list").size(), 1U);

  provider.PutNode({"p", "europe-west4-a", "two"}, Value::EmptyMap());
  EXPECT_EQ(prefetch.ListNodes("p", "europe-west4-a", {})->size(), 2U);
  EXPECT_EQ(provider.Calls("list").size(), 2U);
}

TEST(ListPrefetch, ListsOtherZonesWhenAsked) {
  testing::FakeProvider provider;
  provider.PutNode({"p", "us-central1-a", "one"}, Value::EmptyMap());
  ListPrefetch prefetch(provider, {});
  EXPECT_TRUE(provider.Calls().empty());
  EXPECT_EQ(prefetch.ListNodes("p", "us-central1-a", {})->size(), 1U);
}

TEST(ListPrefetch, HandsOnWhatFailed) {
  testing::FakeProvider provider;
  provider.FailNext("list", MakeError(ErrorCode::kPermissionDenied, "no"));
  ListPrefetch prefetch(provider, {});
  prefetch.Begin({kZone});
  const auto listed = prefetch.ListNodes("p", "europe-west4-a", {});
  ASSERT_FALSE(listed.has_value());
  EXPECT_EQ(listed.error().message, "no");
}

TEST(ListPrefetch, ListsAZoneThatIsNamedTwiceOnce) {
  testing::FakeProvider provider;
  ListPrefetch prefetch(provider, {});
  prefetch.Begin({kZone});
  prefetch.Begin({kZone, {"p", "us-central1-a"}});
  EXPECT_TRUE(prefetch.ListNodes("p", "europe-west4-a", {}).has_value());
  EXPECT_TRUE(prefetch.ListNodes("p", "us-central1-a", {}).has_value());
  EXPECT_EQ(provider.Calls("list").size(), 2U);
}

// Hangs in a list until it is told to stop.
class Slow {
 public:
  explicit Slow(testing::FakeProvider& provider) {
    provider.Before("list", [this](testing::FakeProvider&) {
      std::unique_lock lock(mutex_);
      hangs_ = true;
      changed_.notify_all();
      changed_.wait(lock, [this] { return released_; });
    });
  }
  void WaitUntilItHangs() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return hangs_; });
  }
  void Release() {
    const std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool hangs_ = false;
  bool released_ = false;
};

TEST(ListPrefetch, IsUnderWayBeforeAnybodyAsks) {
  testing::FakeProvider provider;
  Slow slow(provider);
  ListPrefetch prefetch(provider, {});
  prefetch.Begin({kZone});
  slow.WaitUntilItHangs();  // for ever, if nothing were begun
  slow.Release();
  EXPECT_TRUE(prefetch.ListNodes("p", "europe-west4-a", {}).has_value());
}

TEST(ListPrefetch, StopsWhatNobodyWaitsFor) {
  testing::FakeProvider provider;
  std::stop_source interrupt;
  interrupt.request_stop();
  ListPrefetch prefetch(provider, interrupt.get_token());
  prefetch.Begin({kZone});
  const auto listed = prefetch.ListNodes("p", "europe-west4-a", {});
  ASSERT_FALSE(listed.has_value());
  EXPECT_EQ(listed.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace podctl
