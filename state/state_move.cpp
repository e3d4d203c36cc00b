#include "state/state_move.h"

#include <fmt/format.h>

#include <utility>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "state/state_json.h"

namespace podctl {
namespace {

constexpr const char* kMoveKey = "move";
constexpr const char* kNothing = "none";  // the stage of no move
constexpr std::pair<const char*, StateMove::Stage> kStages[] = {
    {"leaving", StateMove::Stage::kLeaving},
    {"gone", StateMove::Stage::kGone},
    {"arriving", StateMove::Stage::kArriving}};
constexpr std::pair<const char*, std::string StateMove::*> kMoveTexts[] = {
    {"other", &StateMove::other},
    {"lineage", &StateMove::lineage},
    {"since", &StateMove::since},
    {"who", &StateMove::who}};

// `move` and `state` as they are to stand there.
std::string MoveDocument(const std::string& lineage, std::uint64_t serial, const Value& move,
                         const std::string& state) {
  std::string text =
      fmt::format("{{\n  \"format_version\": {},\n  \"podctl_version\": \"{}\",\n  \"lineage\": ",
                  kMovedFormatVersion, PODCTL_VERSION);
  AppendJsonText(lineage, &text);
  return text += fmt::format(",\n  \"serial\": {},\n  \"{}\": {},\n  \"state\":\n{}}}\n", serial,
                             kMoveKey, ToJson(move), state);
}

// What a place says is data, of any length.
std::string ShownOfMove(const std::string& text) {
  constexpr std::size_t kMostBytes = 500;
  return VisibleControls(text.size() <= kMostBytes ? text : text.substr(0, kMostBytes) + "…");
}

std::string ByWhom(const StateMove& move) {
  if (move.who.empty() && move.since.empty()) return "";
  return fmt::format(" ({}, {})", ShownOfMove(move.who), ShownOfMove(move.since));
}

}  // namespace

Error WhyMoved(const StateMove& move, const std::string& where) {
  const std::string other = ShownOfMove(move.other);
  const auto refused = [&](std::string_view how, std::string hint) {
    return MakeError(ErrorCode::kFailedPrecondition,
                     fmt::format("the state {} {} {}{}", where, how, other, ByWhom(move)),
                     std::move(hint));
  };
  const auto how_to_end = [](const std::string& flag) {
    return fmt::format(
        "Wait for that to end. If it was interrupted, `podctl{0} state migrate --resume` ends it, "
        "and `podctl{0} state migrate --abort` leaves the state where it was.",
        flag);
  };
  switch (move.stage) {
    case StateMove::Stage::kGone:
      return refused("was moved to",
                     fmt::format("It is used there: `state: {}` in the spec.", other));
    case StateMove::Stage::kArriving:
      return refused("is still on its way here from", how_to_end(" --state " + ShellQuote(other)));
    case StateMove::Stage::kLeaving:
      break;
  }
  return refused("is being moved to", how_to_end(""));
}

Value MoveToValue(const StateMove& move) {
  Value out = Value::EmptyMap();
  for (const auto& [word, stage] : kStages) {
    if (stage == move.stage) out.Set("stage", word);
  }
  for (const auto& [name, member] : kMoveTexts) out.Set(name, move.*member);
  out.Set("serial", move.serial);
  return out;
}

std::optional<StateMove> MoveFromValue(const Value& value) {
  if (!value.is_map()) return std::nullopt;
  StateMove move;
  const std::string& written = value["stage"].AsString();
  for (const auto& [word, stage] : kStages) {
    if (written == word) move.stage = stage;
  }
  for (const auto& [name, member] : kMoveTexts) move.*member = value[name].AsString();
  const std::int64_t serial = value["serial"].AsInt();
  move.serial = serial > 0 ? static_cast<std::uint64_t>(serial) : 0;
  return move;
}

std::optional<StateMove> MoveOfDocument(const Value& document) {
  if (!document.is_map() || document["format_version"] != Value(kMovedFormatVersion)) {
    return std::nullopt;
  }
  return MoveFromValue(document[kMoveKey]);
}

std::string PlacedToJson(const PlacedState& placed, std::optional<std::uint64_t> serial) {
  if (!placed.move) return StateToJson(placed.state.value_or(State{}));
  return MoveDocument(placed.move->lineage, serial.value_or(placed.move->serial),
                      MoveToValue(*placed.move),
                      placed.state ? StateToJson(*placed.state) : "null\n");
}

std::string NothingToJson(const std::string& lineage, std::uint64_t serial) {
  Value nothing = Value::EmptyMap();
  nothing.Set("stage", kNothing);
  return MoveDocument(lineage, serial, nothing, "null\n");
}

bool IsNothing(const Value& document) {
  return document.is_map() && document["format_version"] == Value(kMovedFormatVersion) &&
         document[kMoveKey].is_map() && document[kMoveKey]["stage"] == Value(kNothing);
}

Result<PlacedState> PlacedFromJson(std::string_view text, const std::string& origin,
                                   RecordKinds kinds) {
  const Result<Value> document = ParseJson(text);
  const auto move = document ? MoveOfDocument(*document) : std::nullopt;
  if (!move) {
    Result<State> state = StateFromJson(text, origin, kinds);
    if (!state) return state.error();
    return PlacedState{*std::move(state), std::nullopt};
  }
  const Value& held = (*document)["state"];
  if (held.is_null()) return PlacedState{std::nullopt, move};
  Result<State> state = StateFromJson(ToJson(held), origin, kinds);
  if (!state) return state.error();
  return PlacedState{*std::move(state), move};
}

}  // namespace podctl
