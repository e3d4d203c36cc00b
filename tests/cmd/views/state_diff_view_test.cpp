#include "cmd/views/state_diff_view.h"

#include <gtest/gtest.h>

#include "plans/kinds/pod/record.h"
#include "providers/base/json.h"
#include "tests/support/addresses.h"
#include "tests/support/golden.h"
#include "tests/support/sample_state.h"

namespace podctl {
namespace {

using testing::ExpectGolden;
using testing::SampleState;

TEST(StateDiffView, ShowsWhatCameWentAndChanged) {
  const State before = SampleState();
  State after = before;
  const Address research = Addr("pod.research");
  PodRecord added;
  added.project = "p";
  added.zone = "z";
  added.current.locator = "new";
  added.applied = Value::Map{{"acceleratorType", "v4-8"}, {"tags", Value::List{"a\x1b]0;"}}};
  Pods(after)[Addr("pod.new")] = added;
  PodRecord& changed = Pods(after).at(research);
  changed.current.uid = "another";
  changed.applied.Set("runtimeVersion", "tpu-ubuntu2204-base");
  changed.metadata["token"] = "digest of another";
  changed.sensitive_keys = {"token"};
  const auto gone = std::find_if(after.records.begin(), after.records.end(), [&](const auto& each) {
    return each.first != research && each.first != Addr("pod.new");
  });
  ASSERT_NE(gone, after.records.end());
  after.records.erase(gone);
  const auto changes = ChangesBetween(before, after);
  const StateSides sides{"serial 41", "the present state"};
  const std::string text = StateDiffText(changes, sides, false);
  ExpectGolden("cmd/state/diff.txt", text);
  ExpectGolden("cmd/state/diff_color.txt", StateDiffText(changes, sides, true));
  const std::string document = ToJson(StateDiffDocument(changes, sides), JsonStyle::kIndented);
  ExpectGolden("cmd/state/diff.json", document + "\n");
  for (const std::string& shown : {text, document}) {
    EXPECT_EQ(shown.find("digest of another"), std::string::npos);
  }
  EXPECT_EQ(StateDiffText({}, sides, false),
            "No differences: serial 41 and the present state remember the same.\n");
}

}  // namespace
}  // namespace podctl
