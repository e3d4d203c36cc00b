// What pods cost: in a plan, against a limit, and so far.
#include "plans/session/cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plans/session/bill.h"
#include "tests/plans/session/session_harness.h"

namespace podctl {
namespace {

using ::testing::DoubleNear;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SessionHarness;
using ::testing::SizeIs;

constexpr const char* kPrices =
    "asOf: 2026-11-01\n"
    "currency: USD\n"
    "items:\n"
    "  - {type: v3, region: europe-west4, tier: on-demand, perChipHour: 2}\n"
    "  - {type: v3, region: europe-west4, tier: spot, perChipHour: 0.5}\n";

class CostTest : public ::testing::Test, protected SessionHarness {
 protected:
  CostTest() {
    files.StampWith(clock);
    files.SetFile("/project/prices.yaml", kPrices);
  }

  // Pods of v3-32, which have 16 chips.
  void PricedPods(const std::string& pods, const std::string& top = "") {
    Pods(pods + "prices: ./prices.yaml\n" + top);
  }
  PlanCost CostNow() {
    const PlanRun run = Planned(Request());
    EXPECT_THAT(run.problems.items(), IsEmpty());
    EXPECT_TRUE(run.plan.cost);
    return run.plan.cost.value_or(PlanCost{});
  }
  std::string ProblemNow() {
    const PlanRun run = Planned(Request());
    return run.problems.items().empty() ? "" : run.problems.items().front().summary;
  }
  Bill BillNow(std::optional<BillTime> since = std::nullopt) {
    const auto store = Opener()(kStatePath);
    const PriceBook prices{
        "2026-11-01",
        "USD",
        {{{"v3", "europe-west4", "on-demand"}, 2.0}, {{"v3", "europe-west4", "spot"}, 0.5}}};
    auto bill = MakeBill(*store, &prices, since, Now());
    EXPECT_TRUE(bill) << bill.error().message;
    return bill ? *bill : Bill{};
  }
  BillTime Now() { return std::chrono::floor<std::chrono::seconds>(clock.Now()); }
  void Hours(int count) { clock.Advance(std::chrono::hours(count)); }
  // The service makes nodes by the test's clock.
  void MadeNow(const std::string& node) {
    cloud.EditNode(Harness::Name(node),
                   [&](Value& value) { value.Set("createTime", FormatTimestamp(clock.Now())); });
  }

  const std::string kSpotPod = Harness::Pod("cheap", "    schedulingConfig: {spot: true}\n");
};

TEST_F(CostTest, APlanSaysWhatItAddsAndWhatGoes) {
  PricedPods(Harness::Pod("research") + kSpotPod);
  PlanCost cost = CostNow();
  EXPECT_EQ(cost.before, 0);
  EXPECT_EQ(cost.after, 16 * 2 + 16 * 0.5);
  ASSERT_THAT(cost.things, SizeIs(2));
  Applied();
  PricedPods(kSpotPod);
  cost = CostNow();
  EXPECT_EQ(cost.before, 40);
  EXPECT_EQ(cost.after, 8);
  ASSERT_THAT(cost.things, SizeIs(1));
  EXPECT_EQ(cost.things[0].address.Text(), "pod.research");
  EXPECT_EQ(cost.things[0].what, "16 v3 chips, on-demand, europe-west4");
  EXPECT_EQ(cost.things[0].before, 32);
  EXPECT_EQ(cost.things[0].after, 0);
  EXPECT_FALSE(cost.Rises());
}

TEST_F(CostTest, WhatAPlanIsNarrowedToDoesNotHideTheRest) {
  PricedPods(Harness::Pod("research"));
  Applied();
  PricedPods(Harness::Pod("research") + kSpotPod);
  PlanRequest request = Request();
  request.plan.targets = {"pod.cheap"};
  const PlanRun run = Planned(request);
  ASSERT_TRUE(run.plan.cost);
  EXPECT_EQ(run.plan.cost->before, 32);
  EXPECT_EQ(run.plan.cost->after, 40);
}

TEST_F(CostTest, AStoppedNodeCostsNothing) {
  const std::string one =
      "  small:\n    acceleratorType: v3-8\n    runtimeVersion: tpu-vm-tf-2.11.0\n";
  PricedPods(one);
  Applied();
  PricedPods(one + "    desiredState: STOPPED\n");
  EXPECT_EQ(CostNow().before, 8);
  EXPECT_EQ(CostNow().after, 0);
  Applied();
  PricedPods(one + "    desiredState: READY\n");
  EXPECT_EQ(CostNow().before, 0);
  EXPECT_EQ(CostNow().after, 8);
}

TEST_F(CostTest, WhatIsNotKnownIsNotFree) {
  PricedPods(
      "  big:\n    zone: us-east5-a\n    acceleratorType: v6e-8\n"
      "    runtimeVersion: v2-alpha-tpuv6e\n");
  const PlanCost cost = CostNow();
  ASSERT_THAT(cost.things, SizeIs(1));
  EXPECT_EQ(cost.things[0].after, std::nullopt);
  EXPECT_EQ(cost.things[0].unknown, "no price of v6e, on-demand, us-east5");
  EXPECT_EQ(cost.UnknownAfter(), 1U);
  EXPECT_TRUE(cost.Rises());
}

TEST_F(CostTest, ALimitRefusesWhatCostsMore) {
  PricedPods(Harness::Pod("research"), "maxCost: 768/day\n");  // 32 an hour
  EXPECT_EQ(ProblemNow(), "");
  Applied();
  PricedPods(Harness::Pod("research") + kSpotPod, "maxCost: 768/day\n");
  EXPECT_EQ(ProblemNow(), "it would cost 960.00 USD a day, and maxCost is 768/day");
  // What is there is not sent away by it, and may become less.
  PricedPods(Harness::Pod("research"), "maxCost: 5/day\n");
  EXPECT_EQ(ProblemNow(), "");
  PricedPods(kSpotPod, "maxCost: 5/day\n");
  EXPECT_EQ(ProblemNow(), "");
}

TEST_F(CostTest, ALimitRefusesWhatIsNotKnown) {
  PricedPods(
      "  big:\n    zone: us-east5-a\n    acceleratorType: v6e-8\n"
      "    runtimeVersion: v2-alpha-tpuv6e\n",
      "maxCost: 1000000/day\n");
  EXPECT_THAT(ProblemNow(), HasSubstr("is not known: of pod.big (no price of v6e"));
}

TEST_F(CostTest, TermsAndChipsAreThoseOfTheSpec) {
  PodSpec pod;
  pod.zone = "us-south1-ai1b";
  pod.node =
      Value::Map{{"acceleratorConfig", Value::Map{{"type", "V5LITE_POD"}, {"topology", "4x8"}}}};
  EXPECT_EQ(UseOf(pod).Words(), "32 v5e chips, on-demand, us-south1");
  pod.queued = QueuedSpec{};
  pod.queued->slices = 4;
  pod.queued->terms = Value::Map{{"provisioningModel", "FLEX_START"}};
  EXPECT_EQ(UseOf(pod).Words(), "128 v5e chips, flex-start, us-south1");
  pod.queued->terms = Value::Map{{"reservationName", "r"}};
  EXPECT_EQ(UseOf(pod).tier, "reserved");
  pod.node = Value::Map{{"acceleratorType", "v9-8"}};
  EXPECT_EQ(UseOf(pod).Words(), "v9-8, reserved, us-south1");
  EXPECT_EQ(RateOf(UseOf(pod), nullptr).unknown, "the spec names no prices");
  const PriceBook prices{"2026-11-01", "USD", {{{"v9", "us-south1", "reserved"}, 1.0}}};
  EXPECT_EQ(RateOf(UseOf(pod), &prices).unknown, "how many chips v9-8 has is not known");
}

// A saved plan comes through other hands.
TEST(PlanCostTest, WhatNoPodctlWroteIsRefused) {
  const PlanCost good{"USD", "2026-11-01", 1, 2, {{Addr("pod.a"), "x", 1.0, std::nullopt, "y"}}};
  EXPECT_EQ(WhatCannotBe(good), "");
  const auto with = [&](auto change) {
    PlanCost bad = good;
    change(bad);
    return WhatCannotBe(bad);
  };
  EXPECT_NE(with([](PlanCost& cost) { cost.currency = "<b>"; }), "");
  EXPECT_NE(with([](PlanCost& cost) { cost.as_of = "2026-13-01"; }), "");
  EXPECT_NE(with([](PlanCost& cost) { cost.after = -1; }), "");
  EXPECT_NE(with([](PlanCost& cost) { cost.things[0].before = -1; }), "");
}

// ---- So far.

TEST_F(CostTest, APodIsPaidForSinceItWasMade) {
  PricedPods(Harness::Pod("research", "    labels: {team: vision}\n"));
  Applied();
  Hours(5);
  const Bill bill = BillNow();
  ASSERT_THAT(bill.lines, SizeIs(1));
  EXPECT_EQ(bill.lines[0].pod, "research");
  EXPECT_EQ(bill.lines[0].to, "");
  EXPECT_TRUE(bill.lines[0].is_paid);
  EXPECT_THAT(bill.lines[0].hours, DoubleNear(5, 0.1));
  EXPECT_THAT(bill.Sum().cost, DoubleNear(160, 2));
  EXPECT_EQ(bill.Sum().per_hour, 32);
  EXPECT_THAT(BillNow(Now() - std::chrono::hours(2)).Sum().chip_hours, DoubleNear(32, 0.1));
  EXPECT_THAT(bill.SumsBy("team").at("vision").chip_hours, DoubleNear(80, 1));
  EXPECT_EQ(bill.SumsBy("none").count(""), 1U);
}

TEST_F(CostTest, OnesThatAreGoneAreCountedUntilThen) {
  PricedPods(Harness::Pod("research"));
  Applied();
  Hours(3);
  PricedPods(kSpotPod);
  Applied();
  MadeNow("cheap");
  Hours(4);
  const Bill bill = BillNow();
  ASSERT_THAT(bill.lines, SizeIs(2));
  EXPECT_EQ(bill.lines[1].pod, "research");
  EXPECT_NE(bill.lines[1].to, "");
  EXPECT_FALSE(bill.lines[1].is_paid);
  EXPECT_THAT(bill.lines[1].hours, DoubleNear(3, 0.2));
  EXPECT_EQ(bill.Sum().per_hour, 8);
  EXPECT_NE(bill.known_since, "");
  EXPECT_THAT(BillNow(Now() - std::chrono::hours(1)).lines, SizeIs(1));
}

TEST_F(CostTest, WhileItIsStoppedNothingIsCounted) {
  const std::string one =
      "  small:\n    acceleratorType: v3-8\n    runtimeVersion: tpu-vm-tf-2.11.0\n";
  PricedPods(one);
  Applied();
  Hours(2);
  PricedPods(one + "    desiredState: STOPPED\n");
  Applied();
  Hours(10);
  Bill bill = BillNow();
  ASSERT_THAT(bill.lines, SizeIs(1));
  EXPECT_FALSE(bill.lines[0].is_paid);
  EXPECT_THAT(bill.lines[0].hours, DoubleNear(2, 0.2));
  PricedPods(one + "    desiredState: READY\n");
  Applied();
  Hours(1);
  EXPECT_THAT(BillNow().lines[0].hours, DoubleNear(3, 0.3));
}

TEST_F(CostTest, WithoutPricesThereAreChipHours) {
  PricedPods(Harness::Pod("research"));
  Applied();
  Hours(1);
  const auto store = Opener()(kStatePath);
  const auto bill = MakeBill(*store, nullptr, std::nullopt, Now());
  ASSERT_TRUE(bill);
  EXPECT_EQ(bill->currency, "");
  EXPECT_THAT(bill->Sum().chip_hours, DoubleNear(16, 1));
  EXPECT_EQ(bill->Sum().unknown_cost, 1U);
}

}  // namespace
}  // namespace podctl
