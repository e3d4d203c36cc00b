// How costs are told.
#include "cmd/views/cost_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/views/markdown.h"
#include "cmd/views/plan_view.h"
#include "providers/base/json.h"
#include "tests/support/addresses.h"
#include "tests/support/golden.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

TEST(CostViewTest, AmountsAreReadAtAGlance) {
  EXPECT_EQ(Amount(0), "0.00");
  EXPECT_EQ(Amount(51.2), "51.20");
  EXPECT_EQ(Amount(999.994), "999.99");
  EXPECT_EQ(Amount(1000), "1,000");
  EXPECT_EQ(Amount(28031.6), "28,032");
  EXPECT_EQ(Amount(1234567), "1,234,567");
}

TEST(CostViewTest, APlansLinesSayTheDifferenceAndWhatIsNotKnown) {
  PlanCost cost{"USD", "2026-11-01", 12.8, 51.2, {}};
  cost.things = {
      {Addr("pod.a"), "32 v5e chips, spot, us-central1", 0.0, 38.4},
      {Addr("pod.b"), "8 v6e chips, spot, us-east5", 0.0, std::nullopt, "no price of it"}};
  EXPECT_THAT(CostLines(cost),
              ElementsAre("Cost: at least 51.20 USD an hour, 38.40 more than now as far as "
                          "it is known, at the prices of 2026-11-01.",
                          "  pod.a: 38.40 more, 32 v5e chips, spot, us-central1",
                          "  pod.b: unknown, no price of it"));
  cost.after = cost.before;
  cost.things.clear();
  EXPECT_THAT(CostLines(cost), ElementsAre("Cost: 12.80 USD an hour, as now, at the prices of "
                                           "2026-11-01."));
  EXPECT_THAT(RunningCostLines(cost), ElementsAre("Cost: 12.80 USD an hour (9,344 USD a month), at "
                                                  "the prices of 2026-11-01."));
  cost.things.assign(12, {Addr("pod.a"), "x", 2.0, 1.0});
  EXPECT_THAT(CostLines(cost), SizeIs(12));
  EXPECT_EQ(CostLines(cost)[1], "  pod.a: 1.00 less, x");
  EXPECT_EQ(CostLines(cost)[11], "  and 2 more");
}

TEST(CostViewTest, APlanThatChangesNothingSaysWhatThereIs) {
  Plan plan;
  EXPECT_EQ(ShowPlan(plan, {}), "No changes. Your infrastructure matches the configuration.\n");
  plan.cost = PlanCost{"USD", "2026-11-01", 12.8, 12.8, {}};
  EXPECT_EQ(ShowPlan(plan, {}),
            "No changes. Your infrastructure matches the configuration.\n"
            "Cost: 12.80 USD an hour (9,344 USD a month), at the prices of 2026-11-01.\n");
  EXPECT_THAT(MarkdownOf(&plan, {}, {}),
              HasSubstr("\nCost: 12.80 USD an hour (9,344 USD a month), at the prices"));
  plan.cost = PlanCost{"USD", "2026-11-01", 0, 0, {}};
  EXPECT_THAT(ShowPlan(plan, {}), Not(HasSubstr("Cost")));
}

Bill SampleBill() {
  Bill bill;
  bill.currency = "USD";
  bill.as_of = "2026-11-01";
  bill.known_since = "2026-11-20T10:00:00Z";
  BillLine line;
  line.pod = "research";
  line.labels = {{"team", "vision"}};
  line.use = {"v5litepod-32", "v5e", "us-central1", "spot", 32};
  line.rate = {38.4, ""};
  line.from = "2026-11-20T10:00:00Z";
  line.is_paid = true;
  line.hours = 10;
  bill.lines.push_back(line);
  line.pod = "x\x1b[31m";
  line.labels.clear();
  line.use = {"v9-8", "v9", "us-east5", "on-demand", std::nullopt};
  line.rate = {std::nullopt, "no price"};
  line.to = "2026-11-21T10:00:00Z";
  line.is_paid = false;
  bill.lines.push_back(line);
  return bill;
}

TEST(CostViewTest, ABillIsATable) {
  testing::ExpectGolden("cmd/cost/bill.txt", BillText(SampleBill(), "team"));
}

TEST(CostViewTest, WithoutPricesItHasNoAmounts) {
  Bill bill = SampleBill();
  bill.currency.clear();
  const std::string text = BillText(bill, "team");
  EXPECT_THAT(text, HasSubstr("names no `prices`"));
  EXPECT_THAT(text, Not(HasSubstr("38.40")));
  EXPECT_TRUE(BillDocument(bill, "team")["total"]["cost"].is_null());
  EXPECT_THAT(BillText(Bill{}, ""), HasSubstr("There are no pods to be paid for."));
}

TEST(CostViewTest, DocumentsSayUnknownAsNull) {
  const Value document = BillDocument(SampleBill(), "team");
  const Value& gone = document["pods"].AsList()[1];
  EXPECT_TRUE(gone["cost"].is_null());
  EXPECT_TRUE(gone["chip_hours"].is_null());
  EXPECT_EQ(gone["unknown"], Value("no price"));
  EXPECT_EQ(document["total"]["cost"], Value(384.0));
  EXPECT_EQ(document["total"]["unknown_cost"], Value(1));
  EXPECT_EQ(document["by"]["sums"]["vision"]["chip_hours"], Value(320.0));
}

}  // namespace
}  // namespace podctl
