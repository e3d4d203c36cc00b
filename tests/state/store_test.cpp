#include "state/store.h"

#include <gtest/gtest.h>

#include "plans/kinds/pod/record.h"
#include "tests/support/addresses.h"
#include "tests/support/golden.h"
#include "tests/support/sample_state.h"

namespace podctl::testing {
namespace {

TEST(CheckPush, KeepsTerraformsThreeRules) {
  const Snapshot stored{SampleState(), {"x"}};
  State other = SampleState();
  other.lineage = "11111111-1111-4111-8111-111111111111";
  other.serial = 99;
  State older = SampleState();
  older.serial = 41;
  State different = SampleState();
  Pods(different).erase(Addr("pod.other"));
  std::string text;
  for (const State& pushed : {other, older, different}) {
    auto refused = CheckPush(stored, pushed, false);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kFailedPrecondition);
    text += refused.error().message + "\n-- " + refused.error().hint + "\n\n";
    EXPECT_TRUE(CheckPush(stored, pushed, true));
    EXPECT_TRUE(CheckPush({}, pushed, false)) << "nothing is stored";
  }
  ExpectGolden("state/push_refusals.txt", text);
}

TEST(CheckPush, LetsTheSameAndTheNextGenerationPass) {
  const Snapshot stored{SampleState(), {"x"}};
  State next = SampleState();
  EXPECT_TRUE(CheckPush(stored, next, false));
  next.serial = 43;
  Pods(next).clear();
  EXPECT_TRUE(CheckPush(stored, next, false));
}

TEST(CheckPush, AStateWithoutResourcesGivesWayToEverything) {
  State empty;
  empty.lineage = "8f14e45f-ceea-467f-a0e6-c1a5b1b7d3aa";
  empty.serial = 1000;
  EXPECT_TRUE(CheckPush({empty, {"x"}}, SampleState(), false));
}

}  // namespace
}  // namespace podctl::testing
