#include "state/run_notes.h"

#include <fmt/format.h>

#include <utility>

#include "providers/base/json.h"
#include "state/state_json.h"

namespace podctl {
namespace {

constexpr const char* kNotesKey = "notes";

}  // namespace

std::string NotesToJson(const RunNotes& notes) {
  if (!notes.base) return StateToJson(notes.state);
  Value head = Value::EmptyMap();
  head.Set("base", notes.base->token);
  if (notes.sent) head.Set("sent", notes.sent->token);
  head.Set("epoch", notes.epoch);
  head.Set("who", notes.run.who);
  head.Set("operation", notes.run.operation);
  head.Set("run_url", notes.run.run_url);
  return fmt::format("{{\"{}\":{},\n\"state\":\n{}}}\n", kNotesKey, ToJson(head),
                     StateToJson(notes.state));
}

Result<RunNotes> NotesFromJson(std::string_view text, const std::string& origin,
                               RecordKinds kinds) {
  const Result<Value> document = ParseJson(text);
  const Value head = document && document->is_map() ? (*document)[kNotesKey] : Value();
  if (!head.is_map()) {
    Result<State> state = StateFromJson(text, origin, kinds);
    if (!state) return state.error();
    return RunNotes{*std::move(state)};
  }
  Result<State> state = StateFromJson(ToJson((*document)["state"]), origin, kinds);
  if (!state) return state.error();
  RunNotes notes{*std::move(state)};
  notes.base = Generation{head["base"].AsString()};
  if (head["sent"].is_string()) notes.sent = Generation{head["sent"].AsString()};
  notes.epoch = static_cast<std::uint64_t>(head["epoch"].AsInt());
  notes.run.who = head["who"].AsString();
  notes.run.operation = head["operation"].AsString();
  notes.run.run_url = head["run_url"].AsString();
  return notes;
}

bool MayBeNotes(std::string_view text) {
  // As a saved plan begins, which may be large.
  if (text.substr(0, 64).find("\"kind\"") != std::string_view::npos) return false;
  const Result<Value> document = ParseJson(text);
  return document && document->is_map() &&
         ((*document)[kNotesKey].is_map() ||
          ((*document)["lineage"].is_string() && (*document)["resources"].is_map()));
}

bool NamesNotes(std::string_view place) {
  const bool is_url = IsStateUrl(place);
  if (is_url && place.starts_with("http")) return false;  // nothing is kept beside such a state
  std::string_view name = place.substr(place.rfind('/') + 1);  // npos + 1 is 0
  const std::string_view begin = is_url ? "errored-" : ".errored-";
  const std::string_view end = is_url ? ".json" : "";
  const std::size_t at = name.rfind(begin);
  if (at == std::string_view::npos || (is_url && at != 0) || !name.ends_with(end)) return false;
  name.remove_prefix(at + begin.size());
  name.remove_suffix(end.size());
  return !name.empty() && name.find_first_not_of("0123456789-") == std::string_view::npos;
}

Result<void> CheckPush(const Snapshot& stored, const RunNotes& notes, bool force) {
  const bool of_another = stored.state && stored.state->lineage != notes.state.lineage;
  if (force || !notes.base || of_another) return CheckPush(stored, notes.state, force);
  if (stored.generation == *notes.base || stored.generation == notes.sent) return {};
  const std::string now =
      stored.state ? fmt::format("serial {} is stored", stored.state->serial) : "none is stored";
  return MakeError(
      ErrorCode::kFailedPrecondition,
      fmt::format(
          "another run has saved since the one that wrote this: {}, and what it knew was to "
          "become serial {}",
          now, notes.state.serial),
      "Look at what it knew beside what is stored (`podctl state diff present FILE`); `podctl "
      "import` takes a single pod, `--force` pushes it all the same.");
}

}  // namespace podctl
