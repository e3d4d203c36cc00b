// Many pods in one spec: what a run asks of the API grows with the zones, not with the pods.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iostream>

#include "plans/kinds/pod/record.h"
#include "providers/base/json.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::HasSubstr;

std::string Pods(int first, int count, const std::string& zone = "") {
  std::string text;
  for (int i = first; i < first + count; ++i) {
    text += "  pod-" + std::to_string(i) +
            ": {acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0" +
            (zone.empty() ? "" : ", zone: " + zone) + "}\n";
  }
  return text;
}

class ScaleTest : public ::testing::Test {
 protected:
  void Converge(const std::string& pods) {
    box_.StartEmulator("none", "0.1s");
    box_.WriteSpec(pods);
    const RunResult run = box_.Run({"apply", "--auto-approve", "--parallelism", "50"});
    EXPECT_EQ(run.code, 0) << run.err.substr(run.err.size() -
                                             std::min<std::size_t>(run.err.size(), 2000));
    box_.CountAnew();
  }
  // An empty plan that asks for nothing but `pages` pages of lists.
  void ExpectEmptyPlanOf(int pages) {
    const auto begin = std::chrono::steady_clock::now();
    const RunResult plan = box_.Run({"plan", "--detailed-exitcode"});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::cout << "plan took " << took.count() << " s\n";  // told, not asserted: machines differ
    EXPECT_EQ(plan.code, 0) << plan.out.substr(0, 1000) << plan.err;
    EXPECT_THAT(plan.out.substr(0, 1000), HasSubstr("No changes."));
    const Value asked = box_.Requests();
    EXPECT_EQ(asked["byMethod"]["nodes.list"].AsInt(), pages) << ToJson(asked["byMethod"]);
    EXPECT_EQ(asked["total"].AsInt(), pages) << ToJson(asked["byMethod"]);
  }
  Sandbox box_;
};

TEST_F(ScaleTest, AThousandPodsAreOneListRequest) {
  Converge(Pods(1, 1000));
  ExpectEmptyPlanOf(1);
  box_.CountAnew();
  const RunResult again = box_.Apply();
  EXPECT_THAT(again.out, HasSubstr("No changes."));
  EXPECT_EQ(box_.Requests()["mutating"].AsInt(), 0);
}

TEST_F(ScaleTest, MoreThanAPageIsASecondRequest) {
  Converge(Pods(1, 1100));
  ExpectEmptyPlanOf(2);
}

TEST_F(ScaleTest, EachZoneIsListedOnce) {
  Converge(Pods(1, 5) + Pods(6, 5, "us-central1-a") + Pods(11, 5, "us-central1-b"));
  ExpectEmptyPlanOf(3);
}

}  // namespace
}  // namespace podctl::testing
