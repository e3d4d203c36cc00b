// The objects that a state kept as a journal is made of, as text and back: entries, each of which
// says what one save changed, and snapshots, each of which says what all entries up to one led to.
// docs of the rules: journal_store.h. Pure; knows no place and no clock.
//
// An object that is cut, changed or not podctl's is kDataLoss with its name; one of a newer format
// is kUnimplemented and says which podctl it needs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/error.h"
#include "state/provenance.h"
#include "state/record_codec.h"
#include "state/state.h"
#include "state/state_move.h"

namespace podctl {

inline constexpr int kJournalFormat = 1;         // which is written
inline constexpr int kJournalFormatOfMoves = 2;  // where a move is told; the newest understood

inline constexpr const char* kSnapshotName = "state.json";
inline constexpr const char* kHistoryPrefix = "history/";

std::string EntryName(std::uint64_t number);  // "journal/000000000042.json"
// nullopt: no entry is named so.
std::optional<std::uint64_t> EntryNumber(std::string_view name);

// "history/000000000041-17.json": how a run left the state whose last entry was `number`.
std::string HistoryName(std::uint64_t number, std::uint64_t serial);
std::optional<std::uint64_t> HistorySerial(std::string_view name);

// One entry, and which: of two that were written for one number the random ID tells whose it is.
struct EntryId {
  std::uint64_t number = 0;  // from 1 on; 0: there is none
  std::string write_id;

  friend bool operator==(const EntryId&, const EntryId&) = default;
};

struct JournalEntry {
  EntryId id;
  std::string previous;     // the write ID of entry number-1; "" for the first
  std::uint64_t epoch = 0;  // of its run: the number of fences up to it
  bool fence = false;       // the first entry of its run
  bool reset = false;       // there is no state any more: what was before is put aside
  // Of the state after it.
  std::optional<StateMove> move;  // what the place says since then of where the state goes
  std::string lineage;
  std::string replaces;  // the lineage before it where that was another: a state was pushed over it
  std::uint64_t serial = 0;
  std::string digest_key;
  std::string saved_at;               // RFC 3339, by the writer's clock: for people
  Provenance run;                     // of a fence; else empty
  std::vector<RecordChange> changes;  // read back without `before`
};

// From the same entry the same bytes.
std::string EntryText(const JournalEntry& entry);
// `where`: the place, for messages.
Result<JournalEntry> EntryFromText(std::string_view text, std::uint64_t number, RecordKinds kinds,
                                   const std::string& where);

// From `at` on, by the place's clock, a snapshot stood there that covers the entries below
// `before`.
struct SnapshotCover {
  std::uint64_t before = 0;
  std::chrono::system_clock::time_point at;  // whole milliseconds

  friend bool operator==(const SnapshotCover&, const SnapshotCover&) = default;
};

struct JournalSnapshot {
  std::string write_id;
  EntryId last;                    // the state is the one after it
  std::uint64_t journal_from = 1;  // the entries to read on with
  std::uint64_t epoch = 0;
  std::string saved_at;  // of the last entry
  Provenance run;        // of the last fence
  // Below it every entry that may be deleted is; the fences from it on.
  std::uint64_t deleted_before = 1;
  std::vector<std::uint64_t> fences;
  std::vector<SnapshotCover> covers;  // of earlier snapshots, the oldest first
  std::optional<State> state;         // nullopt: there is none (any more)
  std::optional<StateMove> move;      // what the place says of where the state goes, or went
  std::optional<Error> read_only;     // why this podctl may read it, but write nothing after it
};

std::string SnapshotText(const JournalSnapshot& snapshot);
Result<JournalSnapshot> SnapshotFromText(std::string_view text, const std::string& name,
                                         RecordKinds kinds, const std::string& where);

// kDataLoss: "the state WHERE is damaged: NAME WHAT".
Error DamagedJournal(const std::string& where, const std::string& name, const std::string& what);

}  // namespace podctl
