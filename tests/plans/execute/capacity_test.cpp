// Zones that have no room: waiting, trying others, and going on after a death.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "tests/plans/desk.h"
#include "tests/support/addresses.h"

namespace podctl {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::Actions;
using testing::ChangeOf;
using ::testing::Contains;
using testing::Desk;
using ::testing::ElementsAre;
using testing::FakeProvider;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Lines;

const std::string kOwn = "europe-west4-a";
const std::string kOther = "us-central2-b";

class CapacityTest : public ::testing::Test {
 protected:
  CapacityTest() { Spec("{retry: 2h, zones: [us-central2-b]}"); }
  void Spec(const std::string& capacity, const std::string& more = "") {
    desk_.Pods(Desk::Pod("a", "    capacity: " + capacity + "\n" + more));
  }
  Error OnlyFailure(const ExecuteResult& result) {
    EXPECT_EQ(result.failures.size(), 1U);
    return result.failures.empty() ? Error{} : result.failures.front().error;
  }
  PodRecord Record() { return Pods(desk_.Stored()).at(Addr("pod.a")); }
  std::size_t Creates(const std::string& zone) const {
    std::size_t count = 0;
    for (const auto& call : desk_.cloud.Calls("create")) {
      count += call.target == NodeName{"p", zone, "a"}.Resource() ? 1U : 0U;
    }
    return count;
  }
  bool IsIn(const std::string& zone) { return desk_.cloud.Node({"p", zone, "a"}).has_value(); }

  Desk desk_;
};

TEST_F(CapacityTest, TheNextZoneIsTriedAtOnce) {
  desk_.cloud.sold_out = {kOwn};
  desk_.ApplyAll();
  EXPECT_TRUE(IsIn(kOther));
  EXPECT_EQ(Record().zone, kOther);
  EXPECT_EQ(Record().capacity_since(), "");
  desk_.events.At("note pod.a: no capacity for v3-32 in europe-west4-a: tries us-central2-b");
  EXPECT_LT(desk_.clock.Elapsed(), minutes(1));
}

TEST_F(CapacityTest, TheZoneWhereItLivesIsNoDifference) {
  desk_.cloud.sold_out = {kOwn};
  desk_.ApplyAll();
  desk_.cloud.sold_out.clear();
  EXPECT_THAT(Actions(desk_.MakePlan()), IsEmpty());
  // Out of the list it is one.
  Spec("{retry: 2h}");
  const Plan plan = desk_.MakePlan();
  EXPECT_THAT(Actions(plan), ElementsAre("replace pod.a"));
  EXPECT_THAT(Lines(ChangeOf(plan, "pod.a").attributes),
              Contains("zone: us-central2-b -> europe-west4-a"));
  desk_.ApplyAll();
  EXPECT_TRUE(IsIn(kOwn));
  EXPECT_EQ(desk_.cloud.NodeCount(), 1U);
}

TEST_F(CapacityTest, ThePlanShowsWhereAndHowLong) {
  EXPECT_THAT(
      Lines(ChangeOf(desk_.MakePlan(), "pod.a").attributes),
      ::testing::IsSupersetOf({"capacity.retry: (none) -> 2h",
                               R"(capacity.zones: (none) -> ["europe-west4-a","us-central2-b"])"}));
}

TEST_F(CapacityTest, TheZonesAreTriedRoundAndRoundWithPauses) {
  desk_.cloud.sold_out = {kOwn, kOther};
  int pauses = 0;
  desk_.events.on_line = [&](const std::string& line) {
    if (line.find("tries again at") == std::string::npos) return;
    EXPECT_EQ(Record().exists(), false);
    if (++pauses == 3) desk_.cloud.sold_out = {kOwn};
  };
  desk_.ApplyAll();
  EXPECT_EQ(Creates(kOwn), 4U);
  EXPECT_EQ(Creates(kOther), 4U);
  EXPECT_TRUE(IsIn(kOther));
  // 10, 16 and 25.6 s.
  EXPECT_GT(desk_.clock.Elapsed(), std::chrono::seconds(51));
}

TEST_F(CapacityTest, TheTimeIsOverOneDay) {
  desk_.cloud.sold_out = {kOwn, kOther};
  const Error error = OnlyFailure(desk_.Apply());
  EXPECT_EQ(error.message, "no capacity for v3-32 in europe-west4-a, us-central2-b within 2h");
  EXPECT_THAT(error.hint, HasSubstr("The service says: There is no more capacity"));
  EXPECT_GE(desk_.clock.Elapsed(), hours(2));
  EXPECT_LT(desk_.clock.Elapsed(), hours(2) + minutes(10));
  EXPECT_THAT(Pods(desk_.Stored()), IsEmpty());
  EXPECT_EQ(desk_.cloud.NodeCount(), 0U);
}

TEST_F(CapacityTest, WithoutATimeEachZoneIsTriedOnce) {
  Spec("{zones: [us-central2-b]}");
  desk_.cloud.sold_out = {kOwn, kOther};
  const Error error = OnlyFailure(desk_.Apply());
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
    desk_.cloud.FailNext("create", MakeError(ErrorCode::kResourceExhausted, message));
    const Error error = OnlyFailure(desk_.Apply());
    EXPECT_THAT(error.message, HasSubstr(words));
    EXPECT_THAT(error.hint, HasSubstr(message));
    EXPECT_THAT(Pods(desk_.Stored()), IsEmpty());
  }
  EXPECT_EQ(Creates(kOther), 0U);
}

TEST_F(CapacityTest, AFullReservationIsWaitedForToo) {
  Spec("{retry: 2h, zones: [us-central2-b]}", "    schedulingConfig: {reserved: true}\n");
  desk_.cloud.FailOperation("create",
                            MakeError(ErrorCode::kFailedPrecondition,
                                      "Insufficient reserved capacity. Contact customer support"));
  desk_.ApplyAll();
  EXPECT_TRUE(IsIn(kOther));
  desk_.events.At(
      "note pod.a: no room for v3-32 in the reservation in europe-west4-a: tries us-central2-b");
}

// The service does say so to those who have none.
TEST_F(CapacityTest, WhoAsksForNoReservationIsNotToldOfOne) {
  desk_.cloud.FailOperation("create",
                            MakeError(ErrorCode::kResourceExhausted,
                                      "Insufficient reserved capacity. Contact customer support"));
  desk_.ApplyAll();
  desk_.events.At("note pod.a: no capacity for v3-32 in europe-west4-a: tries us-central2-b");
}

TEST_F(CapacityTest, WithoutCapacityTheHintNamesIt) {
  desk_.Pods(Desk::Pod("a"));
  desk_.cloud.sold_out = {kOwn};
  EXPECT_THAT(OnlyFailure(desk_.Apply()).hint,
              HasSubstr("`capacity: {retry: 2h, zones: [...]}` on the pod waits"));
}

TEST_F(CapacityTest, AnInterruptEndsTheWaitAndTheNextRunGoesOnWithWhatIsLeft) {
  desk_.cloud.sold_out = {kOwn, kOther};
  desk_.events.on_line = [&](const std::string& line) {
    if (line.find("tries again at") != std::string::npos) desk_.drain.request_stop();
  };
  const ExecuteResult result = desk_.Apply();
  EXPECT_TRUE(result.interrupted);
  EXPECT_THAT(result.unfinished, ElementsAre("pod.a"));
  EXPECT_FALSE(Record().exists());
  EXPECT_FALSE(Record().pending());
  const std::string since = Record().capacity_since();
  EXPECT_NE(since, "");

  desk_.drain = {};
  desk_.events.on_line = nullptr;
  EXPECT_EQ(ChangeOf(desk_.MakePlan(), "pod.a").reason, "capacity for it is sought since " + since);
  desk_.clock.Advance(minutes(90));
  const auto began = desk_.clock.Elapsed();
  EXPECT_THAT(OnlyFailure(desk_.Apply()).message, HasSubstr("within 2h"));
  EXPECT_LT(desk_.clock.Elapsed() - began, minutes(40));

  // What was given up begins anew.
  EXPECT_THAT(Pods(desk_.Stored()), IsEmpty());
}

TEST_F(CapacityTest, AWishThatIsTakenBackLeavesNothing) {
  desk_.cloud.sold_out = {kOwn, kOther};
  desk_.events.on_line = [&](const std::string& line) {
    if (line.find("tries again at") != std::string::npos) desk_.drain.request_stop();
  };
  desk_.Apply();
  desk_.drain = {};
  desk_.cloud.ForgetCalls();
  desk_.Pods("    {}\n");
  desk_.ApplyAll();
  EXPECT_THAT(Pods(desk_.Stored()), IsEmpty());
  EXPECT_THAT(desk_.Requests(), IsEmpty());
}

TEST_F(CapacityTest, SomebodyElsesNodeInTheOtherZoneIsLeftAlone) {
  desk_.cloud.sold_out = {kOwn};
  desk_.cloud.PutNode({"p", kOther, "a"}, Value::EmptyMap());
  EXPECT_EQ(OnlyFailure(desk_.Apply()).code, ErrorCode::kAlreadyExists);
  EXPECT_THAT(Pods(desk_.Stored()), IsEmpty());
  EXPECT_EQ(desk_.cloud.NodeCount(), 1U);
}

// Killed at every step of a search through both zones: one node, where there is room.
TEST(CapacityCrash, TheNextRunGoesOn) {
  const auto begin = [](Desk* desk) {
    desk->Pods(Desk::Pod("a", "    capacity: {retry: 2h, zones: [us-central2-b]}\n"));
    desk->cloud.sold_out = {kOwn, kOther};
    desk->events.on_line = [desk](const std::string& line) {
      if (line.find("tries again at") != std::string::npos) desk->cloud.sold_out = {kOwn};
    };
  };
  int steps = 0;
  {
    Desk whole;
    begin(&whole);
    whole.ApplyAll();
    steps = whole.files.Steps();
  }
  ASSERT_GT(steps, 20);
  for (int k = 0; k < steps; ++k) {
    SCOPED_TRACE(k);
    Desk desk;
    begin(&desk);
    desk.files.StopAfter(k);
    static_cast<void>(desk.Apply());
    desk.files.Restart();
    const auto uid = [&] {
      const auto node = desk.cloud.Node({"p", kOther, "a"});
      return node ? NodeUid(*node) : std::string();
    };
    const std::string before = uid();
    desk.cloud.sold_out = {kOwn};
    desk.ApplyAll();
    EXPECT_EQ(desk.cloud.NodeCount(), 1U);
    EXPECT_NE(uid(), "");
    EXPECT_TRUE(before.empty() || uid() == before) << "it was made a second time";
    EXPECT_EQ(Pods(desk.Stored()).at(Addr("pod.a")).capacity_since(), "");
    if (::testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace podctl
