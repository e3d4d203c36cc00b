// The state as JSON text and back; docs/state.md describes the format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "providers/base/error.h"
#include "state/record_codec.h"
#include "state/state.h"

namespace podctl {

inline constexpr int kStateFormatVersion = 5;  // which is written, and the newest that is read
inline constexpr std::uint64_t kMaxStateBytes = std::uint64_t{256} << 20;

// Indented JSON with a final newline; begins with what a human looks for and holds a checksum.
std::string StateToJson(const State& state);

// One record by itself, compact, for stores that keep each by its own; equal records are written
// alike. Read back under the address that it was kept under; errors as of StateFromJson.
std::string RecordToJson(const AnyRecord& record);
Result<AnyRecord> RecordFromJson(std::string_view text, const Address& address, RecordKinds kinds,
                                 const std::string& origin);

// A state on its way to text, for a store that wants to know first whether there is anything to
// write. Refers to the state, which must not change meanwhile but for lineage, key and serial.
class StateText {
 public:
  explicit StateText(const State& state);
  // Whether `stored`, which is a text that StateFromJson accepted, says the same.
  bool SaidBy(std::string_view stored, RecordKinds kinds) const;
  std::string Text() const;

 private:
  const State& state_;
  std::string resources_;  // canonical
};

// Reads every older version too: the next save writes this one. A record that is of none of `kinds`
// is damage. `readable` as for ParseJson.
// kDataLoss for an empty, cut or otherwise damaged text (never "no state"); kUnimplemented for a
// newer format version, naming it. The message names `origin` (a path or URL).
Result<State> StateFromJson(std::string_view text, const std::string& origin, RecordKinds kinds,
                            std::size_t readable = 0);

}  // namespace podctl
