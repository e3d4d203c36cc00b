// Reads a state that is kept as a journal: the snapshot, and the entries since.
//
// Entries from the snapshot's `journal_from` on have no gap between them. Where there seems to be
// one, or none is there at all, the snapshot may have been replaced since it was read and what it
// covers deleted: its version, which every list tells, decides between starting over and a loss.
// Each entry names the write ID of the one before, so that what is read is one line of runs, each
// of which knew what the one before had written.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "providers/os/clock.h"
#include "state/blob_store.h"
#include "state/stores/blob_requests.h"
#include "state/stores/journal_format.h"

namespace podctl {

// How a run left the state that was followed by another run's fence.
struct EndedRun {
  EntryId last;
  std::string saved_at;
  Provenance run;
  std::uint64_t epoch = 0;
  State state;
};

// What stands in the place.
struct JournalView {
  EntryId last;  // number 0: nothing was ever written
  std::uint64_t epoch = 0;
  std::string saved_at;
  Provenance run;
  std::optional<State> state;
  std::optional<StateMove> move;

  JournalSnapshot snapshot;                     // without its state
  std::optional<BlobVersion> snapshot_version;  // nullopt: there is none
  BlobTime snapshot_written;
  std::uint64_t snapshot_bytes = 0;
  // Since the snapshot.
  std::uint64_t entries = 0;
  std::uint64_t entry_bytes = 0;
  std::vector<std::uint64_t> fences;
  std::vector<EndedRun> ended;
  bool locked = false;  // there was a lock when the entries were listed

  // Takes the next entry in. kDataLoss when it does not follow.
  Result<void> Follow(const JournalEntry& entry, std::uint64_t bytes, const std::string& where);
};

// Not thread safe.
class JournalReader {
 public:
  JournalReader(BlobStore& blobs, Clock& clock, Random& random, RecordKinds kinds,
                std::chrono::milliseconds patience, OnPause on_pause = {})
      : blobs_(blobs),
        clock_(clock),
        random_(random),
        kinds_(kinds),
        patience_(patience),
        on_pause_(std::move(on_pause)) {}

  Result<JournalView> Read();
  // Brings a view up to date, with one request where nothing was written since.
  Result<void> Refresh(JournalView* view);
  // The entry, or nullopt: there is none.
  Result<std::optional<JournalEntry>> Entry(std::uint64_t number, std::uint64_t* bytes);

 private:
  enum class Round { kDone, kStartOver };

  Result<std::optional<Blob>> Get(const std::string& name);
  Result<std::vector<BlobEntry>> ListFrom(const std::string& name);
  Result<JournalView> ReadSnapshot();
  Result<Round> FollowEntries(JournalView* view);
  Result<Round> FollowList(const std::vector<BlobEntry>& list, JournalView* view);
  Result<Round> MissingEntry(const JournalView& view, std::uint64_t number);

  BlobStore& blobs_;
  Clock& clock_;
  Random& random_;
  RecordKinds kinds_;
  std::chrono::milliseconds patience_;
  OnPause on_pause_;
};

}  // namespace podctl
