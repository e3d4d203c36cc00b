// The canonical text of a state: compact JSON with sorted keys, piece by piece and without a tree.
// state_json.h lays it out for people, and makes the checksum over it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "state/state.h"

namespace podctl {

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

}  // namespace podctl
