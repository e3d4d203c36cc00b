// What podctl remembers between runs: a record of each thing that it looks after, whatever its
// kind.
//
// A plain value: no files, no locks (store.h), no JSON (state_json.h). Which kinds there are is not
// known here; to read the records of one: records_of.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "state/address.h"
#include "state/any_record.h"

namespace podctl {

class Random;  // providers/os/clock.h

struct State {
  std::string lineage;       // a UUID, made with the first save
  std::uint64_t serial = 0;  // +1 with each save that changes something
  std::string digest_key;    // hex; keys the digests of sensitive values of this lineage
  std::map<Address, AnyRecord> records;

  friend bool operator==(const State&, const State&) = default;
};

// What a run starts from when StateStore::Load found none: lineage and digest_key are set, so that
// digests of sensitive values can be made before the first save.
State NewState(Random& random);
// A fresh key for State::digest_key: 64 hex digits that hold 244 random bits.
std::string NewDigestKey(Random& random);

// How many records there are of each kind that has some.
std::map<std::string, std::size_t> RecordCounts(const State& state);
// "found PREEMPTED at 2026-11-22T04:12:03Z, made anew by 2026-11-22T04:20:41Z".
std::string RecoveryStory(const Recovery& recovery);
// The things that are not as usual, and how: "research: PREEMPTED, being deleted"; "" for none.
std::string Remarks(const State& state);

}  // namespace podctl
