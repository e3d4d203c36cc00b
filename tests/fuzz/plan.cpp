// A saved plan: what a pipeline hands from one job to the next, and anybody may have touched.
#include "cmd/views/plan_view.h"
#include "plans/engine/plan_file.h"
#include "providers/base/digest.h"
#include "providers/base/json.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/kinds.h"

namespace podctl::fuzz {
namespace {

void Read(std::string_view text) {
  const Result<SavedPlan> saved = PlanFromJson(text, "my.plan", testing::AllKinds());
  if (!saved) {
    ExpectShowable(saved.error());
    return;
  }
  const Result<std::string> written = PlanToJson(*saved);
  Expect(written.has_value(), "a plan that was read can be written");
  const Result<SavedPlan> again = PlanFromJson(*written, "my.plan", testing::AllKinds());
  Expect(again.has_value(), "a plan that was written can be read", *written);
  const Result<std::string> twice = PlanToJson(*again);
  Expect(twice && *twice == *written, "a plan is read back equal", *written);
  Expect(again->prior.has_value() == saved->prior.has_value(), "so is the state before it");
  ExpectShowable(ShowPlan(saved->plan, {}), Shape::kLines);
  ExpectShowable(PlanSummary(saved->plan), Shape::kLines);
}

// Any change breaks a checksum; made anew, the reader behind it is reached.
void Seal(Value& document) {
  document.Set("checksum", "");
  document.Set("checksum", "sha256:" + Sha256Hex(ToJson(document)));
}

}  // namespace
}  // namespace podctl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using podctl::Value;
  const std::string_view text = podctl::fuzz::TextOf(data, size);
  podctl::fuzz::Read(text);
  auto document = podctl::ParseJson(text);
  if (document && document->is_map()) {
    if ((*document)["prior_state"].is_map()) {
      podctl::fuzz::Seal(document->MutableMap()["prior_state"]);
    }
    podctl::fuzz::Seal(*document);
    podctl::fuzz::Read(podctl::ToJson(*document));
  }
  return 0;
}
