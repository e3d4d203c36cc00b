// What pods cost, with the built binary: told by plan, status and cost, and refused by maxCost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPrices =
    "asOf: 2026-11-01\n"
    "currency: USD\n"
    "items:\n"
    "  - {type: v3, region: europe-west4, tier: on-demand, perChipHour: 2}\n"
    "  - {type: v3, region: europe-west4, tier: spot, perChipHour: 0.5}\n";

class CostTest : public ::testing::Test {
 protected:
  void SetUp() override {
    box_.StartEmulator("none");
    box_.WriteFile("prices.yaml", kPrices);
  }
  static std::string Pod(const std::string& name, const std::string& keys = "") {
    return "  " + name + ":\n    acceleratorType: v3-8\n    runtimeVersion: tpu-vm-tf-2.11.0\n" +
           keys;
  }
  void Spec(const std::string& pods, const std::string& top = "") {
    box_.WriteSpec(pods + "prices: ./prices.yaml\n" + top);
  }

  Sandbox box_;
};

TEST_F(CostTest, IsToldByPlanStatusAndCost) {
  Spec(Pod("research", "    labels: {team: vision}\n"));
  const std::string plan = box_.Run({"plan", "--out", "saved"}).out;
  EXPECT_THAT(plan, HasSubstr("Cost: 8.00 USD an hour, 8.00 more than now (5,840 USD a month), at "
                              "the prices of 2026-11-01.\n"
                              "  pod.research: 8.00 more, 4 v3 chips, on-demand, europe-west4\n"));
  EXPECT_THAT(box_.Run({"show", "saved"}).out, HasSubstr("Cost: 8.00 USD an hour"));
  const auto shown = ParseJson(box_.Run({"show", "--json", "saved"}).out);
  ASSERT_TRUE(shown);
  EXPECT_EQ((*shown)["podctl_cost"]["per_hour_after"], Value(8.0));
  EXPECT_THAT(box_.Run({"plan", "--markdown"}).out, HasSubstr("Cost: 8.00 USD an hour"));
  EXPECT_THAT(box_.Run({"plan", "--json"}).out, HasSubstr("\"per_hour_after\":8"));
  ASSERT_EQ(box_.Run({"apply", "saved"}).code, 0);
  EXPECT_THAT(box_.Run({"status"}).out, HasSubstr("Cost: 8.00 USD an hour (5,840 USD a month)"));
  const auto status = ParseJson(box_.Run({"status", "--json"}).out);
  ASSERT_TRUE(status);
  EXPECT_EQ((*status)["cost"]["per_hour_after"], Value(8.0));
  EXPECT_THAT(box_.Run({"cost", "--by", "team"}).out,
              AllOf(HasSubstr("research"), HasSubstr("vision"), HasSubstr("8.00")));
  const auto bill = ParseJson(box_.Run({"cost", "--json", "--since", "7d"}).out);
  ASSERT_TRUE(bill);
  EXPECT_EQ((*bill)["total"]["per_hour"], Value(8.0));
  EXPECT_THAT(box_.Run({"plan"}).out,
              HasSubstr("matches the configuration.\nCost: 8.00 USD an hour (5,840 USD a month)"));
  const RunResult later = box_.Run({"cost", "--since", "2999-01-01"});
  EXPECT_EQ(later.code, 1);
  EXPECT_THAT(later.err, HasSubstr("`--since 2999-01-01` is still to come: it is 20"));
  const RunResult wrong = box_.Run({"cost", "--since", "yesterday"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("neither a duration (7d), a day (2026-11-01) nor a time"));
}

TEST_F(CostTest, StatusTellsWhenAPodEndsByItself) {
  Spec(Pod("research", "    ttl: 12h\n"));
  ASSERT_EQ(box_.Apply().code, 0);
  EXPECT_THAT(box_.Run({"status"}).out,
              ::testing::ContainsRegex("`podctl watch` deletes pod.research at [-0-9]+T[:0-9]+Z, "
                                       "when its ttl of 12h is over.\n\nCost: 8.00 USD an hour"));
  const auto status = ParseJson(box_.Run({"status", "--json"}).out);
  ASSERT_TRUE(status);
  EXPECT_THAT((*status)["pods"].AsList().at(0)["endsAt"].AsString(), ::testing::EndsWith("Z"));
}

TEST_F(CostTest, PricesOfADayToComeAreRefused) {
  Spec(Pod("research"));
  box_.WriteFile("prices.yaml", "asOf: 2999-01-01\ncurrency: USD\nitems: []\n");
  const RunResult refused = box_.Run({"validate"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("`2999-01-01` is still to come"), HasSubstr("prices.yaml:1:7")));
}

// A plan becomes a comment, under the name of who has the token.
TEST_F(CostTest, WhatATypeIsCalledIsNoMarkup) {
  box_.WriteSpec(
      "  a:\n    acceleratorType: \"v9<!-- x-8\"\n    runtimeVersion: r\n"
      "prices: ./prices.yaml\n");
  const std::string comment = box_.Run({"plan", "--markdown"}).out;
  EXPECT_THAT(comment, HasSubstr("Cost: at least 0.00 USD an hour, at the prices"));
  EXPECT_THAT(comment.substr(0, comment.find("```")), Not(HasSubstr("<!-- x")));
}

TEST_F(CostTest, NothingIsMadeThatWouldCostTooMuch) {
  Spec(Pod("a"), "maxCost: 200/day\n");
  ASSERT_EQ(box_.Apply().code, 0);
  Spec(Pod("a") + Pod("b"), "maxCost: 200/day\n");
  const RunResult refused = box_.Run({"apply", "--auto-approve"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("it would cost 384.00 USD a day, and maxCost is 200/day"),
                    HasSubstr("podctl.yaml:")));
  EXPECT_EQ(box_.GetNode("b").status, 404);
  Spec(Pod("a") + Pod("b", "    schedulingConfig: {spot: true}\n"), "maxCost: 250/day\n");
  EXPECT_EQ(box_.Apply().code, 0);
  // No price of what it is.
  Spec(Pod("c", "    zone: us-central1-a\n"), "maxCost: 9000/day\n");
  EXPECT_THAT(box_.Run({"plan"}).err, HasSubstr("no price of v3, on-demand, us-central1"));
}

}  // namespace
}  // namespace podctl::testing
