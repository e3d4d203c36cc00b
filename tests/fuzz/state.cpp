// The state file: what a slip, another tool, a bad disk or a hand may have left there.
#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/kinds/pod/settle.h"
#include "providers/base/digest.h"
#include "providers/base/json.h"
#include "state/run_notes.h"
#include "state/state_json.h"
#include "state/state_move.h"
#include "tests/fuzz/fuzz_target.h"

namespace podctl::fuzz {
namespace {

// What is made of the state where the service has one and the same node under each of its names.
void Settle(const State& state) {
  PodSurvey survey;
  const auto add = [&](const NodeName& name) {
    // No service has one, though an older podctl's unfinished create may have been written so.
    if (name.project.empty() || name.zone.empty() || name.node.empty()) return;
    Value node = Value::EmptyMap();
    node.Set("id", "4711");
    node.Set("state", "READY");
    survey.nodes[name] = std::move(node);
  };
  for (const auto& [address, record] : Pods(state)) {
    add(NameOf(record));
    for (const Object& deposed : record.deposed) add(NameOf(record, deposed));
  }
  State settled = state;
  std::vector<std::string> notes;
  SettlePods(survey, &settled, &notes);
  const std::string written = StateToJson(settled);
  Expect(StateFromJson(written, "podctl.state.json", RememberedKinds()).has_value(),
         "a state that was settled can be read", written);
}

// What a place says of where its state goes, and what a run could not save.
void ReadOnItsWay(std::string_view text) {
  const Result<PlacedState> placed = PlacedFromJson(text, "podctl.state.json", RememberedKinds());
  if (!placed) {
    ExpectShowable(placed.error());
  } else if (placed->move) {
    ExpectShowable(WhyMoved(*placed->move, "podctl.state.json"));
    const std::string written = PlacedToJson(*placed);
    const auto again = PlacedFromJson(written, "podctl.state.json", RememberedKinds());
    Expect(again.has_value() && *again == *placed, "a place is read back equal", written);
  }
  const Result<RunNotes> notes = NotesFromJson(text, "errored-2.json", RememberedKinds());
  if (!notes) return ExpectShowable(notes.error());
  const std::string written = NotesToJson(*notes);
  const auto again = NotesFromJson(written, "errored-2.json", RememberedKinds());
  Expect(again.has_value() && again->state == notes->state && again->base == notes->base &&
             again->sent == notes->sent,
         "notes are read back equal", written);
}

void Read(std::string_view text) {
  ReadOnItsWay(text);
  const Result<State> state = StateFromJson(text, "podctl.state.json", RememberedKinds());
  if (!state) {
    ExpectShowable(state.error());
    return;
  }
  const std::string written = StateToJson(*state);
  const Result<State> again = StateFromJson(written, "podctl.state.json", RememberedKinds());
  Expect(again.has_value(), "a state that was read can be written and read", written);
  Expect(*again == *state, "a state is read back equal", written);
  Expect(StateToJson(*again) == written, "equal states are written alike", written);
  Settle(*state);
}

}  // namespace
}  // namespace podctl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using podctl::Value;
  const std::string_view text = podctl::fuzz::TextOf(data, size);
  podctl::fuzz::Read(text);
  // Any change breaks the checksum; made anew, the reader behind it is reached (docs/state.md).
  auto document = podctl::ParseJson(text);
  if (document && document->is_map()) {
    document->Set("checksum", "");
    document->Set("checksum", "sha256:" + podctl::Sha256Hex(podctl::ToJson(*document)));
    podctl::fuzz::Read(podctl::ToJson(*document));
  }
  return 0;
}
