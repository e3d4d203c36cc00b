// The state as JSON text and back; docs/state.md describes the format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "providers/base/error.h"
#include "state/object_json.h"
#include "state/record.h"
#include "state/record_codec.h"
#include "state/state.h"

namespace podctl {

inline constexpr int kStateFormatVersion = 7;  // the newest that is read
// Which no state ever reaches, and JSON readers everywhere still hold. One beyond it is damage: a
// state at the end of all numbers could never be saved again.
inline constexpr std::uint64_t kMaxSerial = std::uint64_t{1} << 53;
inline constexpr std::uint64_t kMaxStateBytes = std::uint64_t{256} << 20;

// Indented JSON with a final newline; begins with what a human looks for and holds a checksum. In
// the oldest version that has objects and can say every record that there is: an older podctl that
// does not know one of them refuses the state, and says which podctl it needs.
std::string StateToJson(const State& state);

// Why a state with this record could not be read again, in words that name the place within it;
// empty: it could. For who takes a record's content from elsewhere.
std::string WhyUnreadable(const AnyRecord& record, const Address& address);

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

// Whether it is a state of Terraform or of OpenTofu, also an encrypted one.
bool IsStateOfTerraform(const Value& document);

// Reads every older version too: the next save writes a newer one. A record that is of none of
// `kinds` is damage. `readable` as for ParseJson. kDataLoss for an empty, cut or otherwise damaged
// text (never "no state"); kUnimplemented for a newer format version, naming it. The message names
// `origin` (a path or URL).
//
// A state of Terraform or OpenTofu is refused as such, with kDataLoss too.
Result<State> StateFromJson(std::string_view text, const std::string& origin, RecordKinds kinds,
                            std::size_t readable = 0);

// ---- The canonical text of a state: compact JSON with sorted keys, piece by piece and without a
// tree. What stands above lays it out for people, and makes the checksum over it.

inline constexpr std::string_view kCurrentRole = "current";
inline constexpr std::string_view kDeposedRole = "deposed";
inline constexpr std::string_view kAuxiliaryRole = "auxiliary";

// "absent", "creating", … and "settled", "seeking", …
std::string_view LifeName(const Life& life);
std::string_view GoalName(const Goal& goal);

// The member `resources`: {"bootstrap.…":{…},"pod.…":{…}}.
std::string CanonicalResources(const State& state);

std::string CanonicalRecord(const AnyRecord& record);

// What the members of the document besides `resources` say.
struct StateHeader {
  int format_version = 0;
  std::string podctl_version;
  std::string lineage;
  std::uint64_t serial = 0;
  std::string digest_key;
};

// "sha256:…" over the whole document with an empty checksum, compact and with sorted keys. It does
// not change when a person or an editor lays the file out anew.
std::string ChecksumOf(const StateHeader& header, std::string_view canonical_resources);

// ---- Reads what a stored record says of its objects and its goal.

// The format version since which records have `objects`, a `goal` and a `payload`.
inline constexpr int kFormatOfObjects = 5;

// "create", "patch", "delete": the kinds of what was under way before version 5.
std::string_view PendingKindName(PendingAction::Kind kind);

// Remembers in `problem` what is wrong, also where the record cannot be.
void ReadRecord(ObjectReader& in, const std::string& address, Record* record, std::string& problem);

// Versions 1 to 4 had a member for each thing that can be said of a record, and could say what
// cannot be; `locator` is the name of the one that names the object.
void ReadRecordBefore5(ObjectReader& in, const std::string& address, std::string_view locator,
                       Record* record, std::string& problem);

// ---- Whether two records of a state stand for one object of the service: then what is done to one
// of them is done to the other, and who deletes one deletes the other's. No podctl writes such a
// state, but a file may have been put together by hand. Pure.

// A sentence that names both addresses and the object; "": there are none.
std::string WhatIsShared(const State& state);

}  // namespace podctl
