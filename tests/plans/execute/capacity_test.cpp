// Zones that have no room: waiting, trying others, and going on after a death.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "tests/plans/harness.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::Actions;
using testing::ChangeOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeProvider;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Lines;

const std::string kOwn = "europe-west4-a";
const std::string kOther = "us-central2-b";

class CapacityTest : public ::testing::Test {
 protected:
  CapacityTest() { Spec("{retry: 2h, zones: [us-central2-b]}"); }
  void Spec(const std::string& capacity, const std::string& more = "") {
    harness_.Pods(Harness::Pod("a", "    capacity: " + capacity + "\n" + more));
  }
  Error OnlyFailure(const ExecuteResult& result) {
    EXPECT_EQ(result.failures.size(), 1U);
    return result.failures.empty() ? Error{} : result.failures.front().error;
  }
  PodRecord Record() { return Pods(harness_.Stored()).at(Addr("pod.a")); }
  std::size_t Creates(const std::string& zone) const {
    std::size_t count = 0;
    for (const auto& call : harness_.cloud.Calls("create")) {
      count += call.target == NodeName{"p", zone, "a"}.Resource() ? 1U : 0U;
    }
    return count;
  }
  bool IsIn(const std::string& zone) { return harness_.cloud.Node({"p", zone, "a"}).has_value(); }

  Harness harness_;
};

TEST_F(CapacityTest, TheNextZoneIsTriedAtOnce) {
  harness_.cloud.sold_out = {kOwn};
  harness_.ApplyAll();
  EXPECT_TRUE(IsIn(kOther));
  EXPECT_EQ(Record().zone, kOther);
  EXPECT_EQ(Record().capacity_since(), "");
  harness_.events.At("note pod.a: no capacity for v3-32 in europe-west4-a: tries us-central2-b");
  EXPECT_LT(harness_.clock.Elapsed(), minutes(1));
}

TEST_F(CapacityTest, TheZoneWhereItLivesIsNoDifference) {
  harness_.cloud.sold_out = {kOwn};
  harness_.ApplyAll();
  harness_.cloud.sold_out.clear();
  EXPECT_THAT(Actions(harness_.MakePlan()), IsEmpty());
  // Out of the list it is one.
  Spec("{retry: 2h}");
  const Plan plan = harness_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("replace pod.a"));
  EXPECT_THAT(Lines(ChangeOf(plan, "pod.a").attributes),
              Contains("zone: us-central2-b -> europe-west4-a"));
  harness_.ApplyAll();
  EXPECT_TRUE(IsIn(kOwn));
  EXPECT_EQ(harness_.cloud.NodeCount(), 1U);
}

TEST_F(CapacityTest, ThePlanShowsWhereAndHowLong) {
  EXPECT_THAT(
      Lines(ChangeOf(harness_.MakePlan(), "pod.a").attributes),
      ::testing::IsSupersetOf({"capacity.retry: (none) -> 2h",
                               R"(capacity.zones: (none) -> ["europe-west4-a","us-central2-b"])"}));
}

TEST_F(CapacityTest, TheZonesAreTriedRoundAndRoundWithPauses) {
  harness_.cloud.sold_out = {kOwn, kOther};
  int pauses = 0;
  harness_.events.on_line = [&](const std::string& line) {
    if (line.find("tries again at") == std::string::npos) return;
    EXPECT_EQ(Record().exists(), false);
    if (++pauses == 3) harness_.cloud.sold_out = {kOwn};
  };
  harness_.ApplyAll();
  EXPECT_EQ(Creates(kOwn), 4U);
  EXPECT_EQ(Creates(kOther), 4U);
  EXPECT_TRUE(IsIn(kOther));
  // 10, 16 and 25.6 s.
  EXPECT_GT(harness_.clock.Elapsed(), std::chrono::seconds(51));
}

TEST_F(CapacityTest, TheTimeIsOverOneDay) {
  harness_.cloud.sold_out = {kOwn, kOther};
  const Error error = OnlyFailure(harness_.Apply());
  EXPECT_EQ(error.message, "no capacity for v3-32 in europe-west4-a, us-central2-b within 2h");
  EXPECT_THAT(error.hint, HasSubstr("The service says: There is no more capacity"));
  EXPECT_GE(harness_.clock.Elapsed(), hours(2));
  EXPECT_LT(harness_.clock.Elapsed(), hours(2) + minutes(10));
  EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
  EXPECT_EQ(harness_.cloud.NodeCount(), 0U);
}

TEST_F(CapacityTest, WithoutATimeEachZoneIsTriedOnce) {
  Spec("{zones: [us-central2-b]}");
  harness_.cloud.sold_out = {kOwn, kOther};
  const Error error = OnlyFailure(harness_.Apply());
  EXPECT_EQ(error.message, "no capacity for v3-32 in europe-west4-a, us-central2-b");
  EXPECT_THAT(error.hint, HasSubstr("`capacity.retry: 2h` waits for it"));
  EXPECT_EQ(Creates(kOwn) + Creates(kOther), 2U);
}

TEST_F(CapacityTest, WhatWaitingDoesNotHelpEndsItAtOnce) {
  for (const auto& [message, words] :
       {std::pair{"Quota limit 'TPUV3sPodPerProjectPerRegionForTPUAPI' has been exceeded. Limit: 0 "
                  "in region europe-west4.",
                  "the quota of p does not allow v3-32 in europe-west4-a"},
        std::pair{"Quota exceeded for quota metric 'CreateNode requests' per minute",
                  "the service for p was asked too often"}}) {
    harness_.cloud.FailNext("create", MakeError(ErrorCode::kResourceExhausted, message));
    const Error error = OnlyFailure(harness_.Apply());
    EXPECT_THAT(error.message, HasSubstr(words));
    EXPECT_THAT(error.hint, HasSubstr(message));
    EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
  }
  EXPECT_EQ(Creates(kOther), 0U);
}

TEST_F(CapacityTest, AFullReservationIsWaitedForToo) {
  Spec("{retry: 2h, zones: [us-central2-b]}", "    schedulingConfig: {reserved: true}\n");
  harness_.cloud.FailOperation(
      "create", MakeError(ErrorCode::kFailedPrecondition,
                          "Insufficient reserved capacity. Contact customer support"));
  harness_.ApplyAll();
  EXPECT_TRUE(IsIn(kOther));
  harness_.events.At(
      "note pod.a: no room for v3-32 in the reservation in europe-west4-a: tries us-central2-b");
}

// The service does say so to those who have none.
TEST_F(CapacityTest, WhoAsksForNoReservationIsNotToldOfOne) {
  harness_.cloud.FailOperation(
      "create", MakeError(ErrorCode::kResourceExhausted,
                          "Insufficient reserved capacity. Contact customer support"));
  harness_.ApplyAll();
  harness_.events.At("note pod.a: no capacity for v3-32 in europe-west4-a: tries us-central2-b");
}

TEST_F(CapacityTest, WithoutCapacityTheHintNamesIt) {
  harness_.Pods(Harness::Pod("a"));
  harness_.cloud.sold_out = {kOwn};
  EXPECT_THAT(OnlyFailure(harness_.Apply()).hint,
              HasSubstr("`capacity: {retry: 2h, zones: [...]}` on the pod waits"));
}

TEST_F(CapacityTest, AnInterruptEndsTheWaitAndTheNextRunGoesOnWithWhatIsLeft) {
  harness_.cloud.sold_out = {kOwn, kOther};
  harness_.events.on_line = [&](const std::string& line) {
    if (line.find("tries again at") != std::string::npos) harness_.drain.request_stop();
  };
  const ExecuteResult result = harness_.Apply();
  EXPECT_TRUE(result.interrupted);
  EXPECT_THAT(result.unfinished, ElementsAre("pod.a"));
  EXPECT_FALSE(Record().exists());
  EXPECT_FALSE(Record().pending());
  const std::string since = Record().capacity_since();
  EXPECT_NE(since, "");

  harness_.drain = {};
  harness_.events.on_line = nullptr;
  EXPECT_EQ(ChangeOf(harness_.MakePlan(), "pod.a").reason,
            "capacity for it is sought since " + since);
  harness_.clock.Advance(minutes(90));
  const auto began = harness_.clock.Elapsed();
  EXPECT_THAT(OnlyFailure(harness_.Apply()).message, HasSubstr("within 2h"));
  EXPECT_LT(harness_.clock.Elapsed() - began, minutes(40));

  // What was given up begins anew.
  EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
}

TEST_F(CapacityTest, AWishThatIsTakenBackLeavesNothing) {
  harness_.cloud.sold_out = {kOwn, kOther};
  harness_.events.on_line = [&](const std::string& line) {
    if (line.find("tries again at") != std::string::npos) harness_.drain.request_stop();
  };
  harness_.Apply();
  harness_.drain = {};
  harness_.cloud.ForgetCalls();
  harness_.Pods("    {}\n");
  harness_.ApplyAll();
  EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
  EXPECT_THAT(harness_.Requests(), IsEmpty());
}

TEST_F(CapacityTest, SomebodyElsesNodeInTheOtherZoneIsLeftAlone) {
  harness_.cloud.sold_out = {kOwn};
  harness_.cloud.PutNode({"p", kOther, "a"}, Value::EmptyMap());
  EXPECT_EQ(OnlyFailure(harness_.Apply()).code, ErrorCode::kAlreadyExists);
  EXPECT_THAT(Pods(harness_.Stored()), IsEmpty());
  EXPECT_EQ(harness_.cloud.NodeCount(), 1U);
}

// Killed at every step of a search through both zones: one node, where there is room.
TEST(CapacityCrash, TheNextRunGoesOn) {
  const auto begin = [](Harness* harness) {
    harness->Pods(Harness::Pod("a", "    capacity: {retry: 2h, zones: [us-central2-b]}\n"));
    harness->cloud.sold_out = {kOwn, kOther};
    harness->events.on_line = [harness](const std::string& line) {
      if (line.find("tries again at") != std::string::npos) harness->cloud.sold_out = {kOwn};
    };
  };
  int steps = 0;
  {
    Harness whole;
    begin(&whole);
    whole.ApplyAll();
    steps = whole.files.Steps();
  }
  ASSERT_GT(steps, 20);
  for (int k = 0; k < steps; ++k) {
    SCOPED_TRACE(k);
    Harness harness;
    begin(&harness);
    harness.files.StopAfter(k);
    static_cast<void>(harness.Apply());
    harness.files.Restart();
    const auto uid = [&] {
      const auto node = harness.cloud.Node({"p", kOther, "a"});
      return node ? NodeUid(*node) : std::string();
    };
    const std::string before = uid();
    harness.cloud.sold_out = {kOwn};
    harness.ApplyAll();
    EXPECT_EQ(harness.cloud.NodeCount(), 1U);
    EXPECT_NE(uid(), "");
    EXPECT_TRUE(before.empty() || uid() == before) << "it was made a second time";
    EXPECT_EQ(Pods(harness.Stored()).at(Addr("pod.a")).capacity_since(), "");
    if (::testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace podctl
