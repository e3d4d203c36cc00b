// Price files and `maxCost`: what a spec may say, and what is wrong with what it says.
#include "plans/spec/prices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "cmd/views/snippet.h"
#include "plans/spec/loader.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kPrices =
    "asOf: 2026-11-01\n"
    "currency: USD\n"
    "items:\n"
    "  - {type: v5e, region: us-central1, tier: on-demand, perChipHour: 1.2}\n"
    "  - {type: v5litepod, region: us-central1, tier: spot, perChipHour: 0.6}\n"
    "  - {type: v3, region: europe-west4, tier: reserved, perChipHour: 0}\n";

class PricesTest : public ::testing::Test {
 protected:
  PricesTest() { files_.SetFile("prices.yaml", kPrices); }

  Spec Load(const std::string& top = "prices: ./prices.yaml\n") {
    files_.SetFile("podctl.yaml", "project: p\nzone: us-central1-a\npods: {}\n" + top);
    return LoadAll();
  }
  Spec LoadAll() {
    Diagnostics diagnostics;
    Spec spec = LoadSpec(options_, files_, FixedEnvironment({}), diagnostics);
    report_ = FormatDiagnostics(diagnostics, {});
    return spec;
  }
  std::string ReportOn(const std::string& prices) {
    files_.SetFile("prices.yaml", prices);
    Load();
    return report_;
  }
  static std::string With(const std::string& item) {
    return "asOf: 2026-11-01\ncurrency: USD\nitems:\n  - " + item + "\n";
  }

  testing::FakeFileSystem files_;
  LoadOptions options_ = testing::WithKinds();
  std::string report_;
};

TEST_F(PricesTest, AreReadByTypeRegionAndTier) {
  const Spec spec = Load();
  EXPECT_THAT(report_, IsEmpty());
  ASSERT_TRUE(spec.prices);
  EXPECT_EQ(spec.prices->as_of, "2026-11-01");
  EXPECT_EQ(spec.prices->currency, "USD");
  EXPECT_EQ(spec.prices->Find("v5e", "us-central1", "on-demand"), 1.2);
  EXPECT_EQ(spec.prices->Find("v5e", "us-central1", "spot"), 0.6);  // by the API's name of it
  EXPECT_EQ(spec.prices->Find("v3", "europe-west4", "reserved"), 0);
  EXPECT_EQ(spec.prices->Find("v3", "europe-west4", "spot"), std::nullopt);
  EXPECT_FALSE(Load("").prices);
}

TEST_F(PricesTest, WhatIsWrongIsToldWithItsPlaceAndWithoutItsLines) {
  EXPECT_THAT(ReportOn("asOf: 2026-11-01\n"), HasSubstr("there is no `currency`"));
  EXPECT_THAT(report_, HasSubstr("there is no `items`"));
  EXPECT_THAT(ReportOn("asOf: 2026-02-31\ncurrency: usd\nitems: 3\n"),
              HasSubstr("`2026-02-31` is no day"));
  EXPECT_THAT(report_, HasSubstr("prices.yaml:1:7"));
  EXPECT_THAT(report_, HasSubstr("`usd` is no currency"));
  EXPECT_THAT(report_, HasSubstr("`items` must be a list"));
  EXPECT_THAT(ReportOn(With("{type: v5e, region: us-central1, tier: sport, perChipHour: 1}")),
              HasSubstr("spot"));
  EXPECT_THAT(ReportOn(With("{type: v5e, region: us-central1-a, tier: spot, perChipHour: 1}")),
              HasSubstr("its region is `us-central1`"));
  for (const char* amount : {"-1", "-0", "1e7", "nan", "inf", "1e999", "free", "[1]", "$1"}) {
    EXPECT_THAT(ReportOn(With("{type: v5e, region: us-central1, tier: spot, perChipHour: " +
                              std::string(amount) + "}")),
                HasSubstr("must be an amount"))
        << amount;
  }
  EXPECT_THAT(ReportOn(With("{type: v5e, region: us-central1, tier: spot}")),
              HasSubstr("there is no `perChipHour`"));
  EXPECT_THAT(ReportOn(With("{type: v5e, price: 2}")), HasSubstr("unknown key `price`"));
  EXPECT_THAT(ReportOn(With("{type: v5x, region: us-central1, tier: spot, perChipHour: 1}")),
              HasSubstr("podctl knows no chips called `v5x`"));
  const std::string item = "{type: v5e, region: us-central1, tier: spot, perChipHour: 1}";
  EXPECT_THAT(ReportOn(With(item + "\n  - " + item)), HasSubstr("has two prices"));
  // Who writes a spec in a pull request may name any file of the runner.
  EXPECT_THAT(ReportOn("password: s3cret\n"), Not(HasSubstr("s3cret")));
  EXPECT_THAT(ReportOn("s3cret"), Not(HasSubstr("s3cret")));
  EXPECT_THAT(ReportOn("root:x:0: s3cret\ns3cret: 1\n"), Not(HasSubstr("s3cret")));
  EXPECT_THAT(report_, HasSubstr("this is no file of prices"));
  Load("prices: ./none.yaml\n");
  EXPECT_THAT(report_, HasSubstr("none.yaml"));
}

TEST_F(PricesTest, AreOfADayThatHasCome) {
  options_.last_day = "2026-11-01";
  EXPECT_THAT(ReportOn(kPrices), IsEmpty());
  options_.last_day = "2026-10-31";
  EXPECT_THAT(ReportOn(kPrices), HasSubstr("`2026-11-01` is still to come"));
  EXPECT_THAT(report_, HasSubstr("prices.yaml:1:7"));
}

TEST_F(PricesTest, WhatIsOftenMeantIsToldWithTheWordForIt) {
  const auto report = [&](const std::string& key, const std::string& value) {
    std::map<std::string, std::string> item = {
        {"type", "v5e"}, {"region", "us-central1"}, {"tier", "spot"}, {"perChipHour", "1"}};
    item[key] = value;
    std::string text;
    for (const auto& [each, of_it] : item) text += "\n    " + each + ": " + of_it;
    return ReportOn(With(text.substr(5)));
  };
  EXPECT_THAT(report("type", "v3-8"), HasSubstr("`v3-8` is an acceleratorType"));
  EXPECT_THAT(report_, HasSubstr("write `v3`, the type of its chips"));
  EXPECT_THAT(report("type", "v5litepod-16"), HasSubstr("write `v5e`"));
  EXPECT_THAT(report("type", "v9-8"), HasSubstr("podctl knows no chips called `v9-8`"));
  EXPECT_THAT(report("tier", "preemptible"), HasSubstr("there is no tier `preemptible`"));
  EXPECT_THAT(report_, HasSubstr("write `spot`"));
  EXPECT_THAT(report("perChipHour", "2,00"), HasSubstr("must be an amount"));
  EXPECT_THAT(report_, HasSubstr("write its decimals behind a point: 2.00"));
  EXPECT_THAT(report("perChipHour", "1,000,000"), Not(HasSubstr("decimals")));
  EXPECT_THAT(ReportOn(With("{type: v5e, region: us-central1, tier: spot, perChipHour: 2,00}")),
              HasSubstr("write its decimals behind a point: 2.00"));
  EXPECT_THAT(report_, Not(HasSubstr("unknown key")));
}

// As in `podctl -f prices.yaml validate`.
TEST_F(PricesTest, GivenAsASpecAreToldFromOne) {
  options_.paths = {"prices.yaml"};
  LoadAll();
  EXPECT_THAT(report_, HasSubstr("this is a file of prices, and no spec"));
  EXPECT_THAT(report_, HasSubstr("`prices: ./prices.yaml`"));
  EXPECT_THAT(report_, Not(HasSubstr("unknown key")));
  EXPECT_THAT(report_, Not(HasSubstr("there is no `pods`")));
}

TEST_F(PricesTest, OfAFolderAreNoSpec) {
  files_.SetFolder("team");
  files_.SetFile("team/a.yaml", "project: p\npods: {}\nprices: ./prices.yaml\n");
  files_.SetFile("team/prices.yaml", kPrices);
  options_.paths = {"team"};
  const Spec spec = LoadAll();
  EXPECT_THAT(report_, IsEmpty());
  EXPECT_TRUE(spec.prices);
  // One that names itself would else be no spec, and all of it destroyed.
  files_.SetFile("team/a.yaml", "project: p\npods: {}\nprices: ./a.yaml\n");
  LoadAll();
  EXPECT_THAT(report_, HasSubstr("this is no file of prices"));
}

TEST_F(PricesTest, TwoFilesOfASpecMayNameTheSame) {
  files_.SetFile("a.yaml", "project: p\npods: {}\nprices: prices.yaml\nmaxCost: 5/day\n");
  files_.SetFile("b.yaml", "project: p\nprices: ./prices.yaml\nmaxCost: 5/day\n");
  options_.paths = {"a.yaml", "b.yaml"};
  LoadAll();
  EXPECT_THAT(report_, IsEmpty());
  files_.SetFile("b.yaml", "project: p\nprices: ./other.yaml\nmaxCost: 6/day\n");
  LoadAll();
  EXPECT_THAT(report_, HasSubstr("`prices` has two values: prices.yaml and other.yaml"));
  EXPECT_THAT(report_, HasSubstr("`maxCost` has two values: 5/day and 6/day"));
}

TEST_F(PricesTest, ALimitIsAnAmountForATime) {
  const auto limit = [&](const std::string& text) {
    const Spec spec = Load("prices: prices.yaml\nmaxCost: " + text + "\n");
    return spec.max_cost ? spec.max_cost->per_hour : -1;
  };
  EXPECT_EQ(limit("20/hour"), 20);
  EXPECT_EQ(limit("480.0/day"), 20);
  EXPECT_EQ(limit("7300/month"), 10);
  for (const char* wrong : {"20", "20/week", "-1/day", "1e9/day", "/day", "many/day", "20/day/day",
                            "20 /day", "inf/day", "1.2.3/day"}) {
    EXPECT_EQ(limit(wrong), -1) << wrong;
    EXPECT_THAT(report_, HasSubstr("20/hour, 500/day, 9000/month")) << wrong;
  }
  Load("maxCost: 20/day\n");
  EXPECT_THAT(report_, HasSubstr("`maxCost` cannot be kept without prices"));
}

}  // namespace
}  // namespace podctl
