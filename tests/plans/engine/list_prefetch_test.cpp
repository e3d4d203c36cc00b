// Lists that were begun early: the same answers, each asked for once, and no thread left behind.
#include <gtest/gtest.h>

#include <condition_variable>

#include "plans/engine/observe.h"
#include "tests/support/fake_provider.h"

namespace podctl {
namespace {

const ZoneName kZone = {"p", "europe-west4-a"};

TEST(ListAhead, AnswersWhatWasListedBeforeAndThenAsksAnew) {
  testing::FakeProvider provider;
  provider.PutNode({"p", "europe-west4-a", "one"}, Value::EmptyMap());
  ListAhead ahead(provider, {});
  ahead.Begin({kZone});
  const auto first = ahead.ListNodes("p", "europe-west4-a", {});
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->size(), 1U);
  EXPECT_EQ(provider.Calls("list").size(), 1U);

  provider.PutNode({"p", "europe-west4-a", "two"}, Value::EmptyMap());
  EXPECT_EQ(ahead.ListNodes("p", "europe-west4-a", {})->size(), 2U);
  EXPECT_EQ(provider.Calls("list").size(), 2U);
}

TEST(ListAhead, ListsOtherZonesWhenAsked) {
  testing::FakeProvider provider;
  provider.PutNode({"p", "us-central1-a", "one"}, Value::EmptyMap());
  ListAhead ahead(provider, {});
  EXPECT_TRUE(provider.Calls().empty());
  EXPECT_EQ(ahead.ListNodes("p", "us-central1-a", {})->size(), 1U);
}

TEST(ListAhead, HandsOnWhatFailed) {
  testing::FakeProvider provider;
  provider.FailNext("list", MakeError(ErrorCode::kPermissionDenied, "no"));
  ListAhead ahead(provider, {});
  ahead.Begin({kZone});
  const auto listed = ahead.ListNodes("p", "europe-west4-a", {});
  ASSERT_FALSE(listed.has_value());
  EXPECT_EQ(listed.error().message, "no");
}

TEST(ListAhead, ListsAZoneThatIsNamedTwiceOnce) {
  testing::FakeProvider provider;
  ListAhead ahead(provider, {});
  ahead.Begin({kZone});
  ahead.Begin({kZone, {"p", "us-central1-a"}});
  EXPECT_TRUE(ahead.ListNodes("p", "europe-west4-a", {}).has_value());
  EXPECT_TRUE(ahead.ListNodes("p", "us-central1-a", {}).has_value());
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

TEST(ListAhead, IsUnderWayBeforeAnybodyAsks) {
  testing::FakeProvider provider;
  Slow slow(provider);
  ListAhead ahead(provider, {});
  ahead.Begin({kZone});
  slow.WaitUntilItHangs();  // for ever, if nothing were begun
  slow.Release();
  EXPECT_TRUE(ahead.ListNodes("p", "europe-west4-a", {}).has_value());
}

TEST(ListAhead, StopsWhatNobodyWaitsFor) {
  testing::FakeProvider provider;
  std::stop_source interrupt;
  interrupt.request_stop();
  ListAhead ahead(provider, interrupt.get_token());
  ahead.Begin({kZone});
  const auto listed = ahead.ListNodes("p", "europe-west4-a", {});
  ASSERT_FALSE(listed.has_value());
  EXPECT_EQ(listed.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace podctl
