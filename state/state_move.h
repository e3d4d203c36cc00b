// A state on its way from one place to another, and what both places say meanwhile and afterwards,
// so that there is never more than one in which runs go on. A plain value, its words and its JSON.
//
// In the order in which it is done: the old place is leaving; the new one is arriving, with the
// state; the old one is gone, and holds none; the new one says nothing of it any more. A place that
// says any of it holds no state for runs: it is neither loaded nor saved over. Each form is one
// that a podctl which knows nothing of moving refuses as too new.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "providers/base/error.h"
#include "providers/base/value.h"
#include "state/record_codec.h"
#include "state/state.h"

namespace podctl {

struct StateMove {
  enum class Stage { kLeaving, kGone, kArriving };
  Stage stage = Stage::kLeaving;
  std::string other;  // the place it goes, or went, to; of kArriving the one it comes from
  std::string lineage;
  std::uint64_t serial = 0;
  std::string since;  // RFC 3339
  std::string who;    // "alice@host"

  friend bool operator==(const StateMove&, const StateMove&) = default;
};

// What stands in a place: neither: nothing; a state alone: runs go on there.
struct PlacedState {
  std::optional<State> state;
  std::optional<StateMove> move;

  friend bool operator==(const PlacedState&, const PlacedState&) = default;
};

// What a run that wants the state at `where` is told: kFailedPrecondition.
Error WhyMoved(const StateMove& move, const std::string& where);

Value MoveToValue(const StateMove& move);
// nullopt: it is none. In a form that is not known it counts as kLeaving.
std::optional<StateMove> MoveFromValue(const Value& value);

// ---- As one document, for places that hold the whole state as one.

// Of a document with a move; one of a state alone is as StateToJson has it.
inline constexpr int kMovedFormatVersion = 6;

// There must be a state or a move. `serial`: the document's own beside a move; nullopt: the move's.
std::string PlacedToJson(const PlacedState& placed,
                         std::optional<std::uint64_t> serial = std::nullopt);
// As StateFromJson, which refuses a document with a move by WhyMoved.
Result<PlacedState> PlacedFromJson(std::string_view text, const std::string& origin,
                                   RecordKinds kinds);
// Of a document that was parsed; nullopt: it says nothing of a move.
std::optional<StateMove> MoveOfDocument(const Value& document);

// The document that stands where nothing does, for a place whose document can be replaced and not
// removed. Readers that do not know it take it for a move. `lineage`: of what stood there before.
std::string NothingToJson(const std::string& lineage, std::uint64_t serial);
bool IsNothing(const Value& document);

}  // namespace podctl
