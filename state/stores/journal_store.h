// The state as a journal of small objects in a shared place (blob_store.h): a bucket, etcd.
//
//   state.json                 the snapshot: what all entries below its `journal_from` led to
//   journal/000000000042.json  entry 42: what one save changed
//   history/…                  how earlier runs left the state
//   lock.json                  the lease of the run that is under way (lease.h)
//   errored-43.json            what a run that was overtaken could not save (run_notes.h)
//
// A save creates the entry after the last one, if it is absent: that is the comparison and the
// exchange, whatever became of the lock. The bytes of an entry are made once and hold a random ID,
// so that of an entry that is "there already" it can be told whose it is; another's at that number
// ends this run's saving, and no other number is ever tried instead.
//
// The first entry of a run is its fence: with it begins an epoch of its own, and whoever was
// overtaken finds it where his next entry would be. So that this holds however long he slept,
// fences, the entries before them and the newest one stay for good; the others are deleted once a
// snapshot has covered them for a day of the place's clock. Who slept between his reading and his
// fence is protected by none of these: so a fence counts only if no snapshot, looked at after it
// was made, covers its number.
//
// A snapshot is written when the entries since the last one outweigh it, and at the end of a run
// (Compact); bytes grow with what is changed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "providers/os/clock.h"
#include "providers/os/file_system.h"
#include "state/blob_store.h"
#include "state/record_codec.h"
#include "state/run_notes.h"
#include "state/store.h"
#include "state/stores/journal_reader.h"
#include "state/stores/lease.h"
#include "state/stores/lock_holder.h"

namespace podctl {

struct JournalStoreOptions {
  Provenance run;  // of what this store saves
  // Fills in what of it takes a while to find out. Called when the lock is taken; may be empty.
  std::function<void(Provenance* run)> complete_run = {};
  std::size_t keep = 20;  // earlier runs in history/; 0: none is kept, and none is removed
  std::uint64_t compact_entries = 64;          // fewest between two snapshots of a run
  std::uint64_t most_entries = 1000;           // with so many there is one, whatever they weigh
  std::chrono::milliseconds patience{30'000};  // for which one request is tried again
  std::chrono::milliseconds ttl{60'000};       // of the lock; a third of it between two beats
  bool beat = true;                            // by a thread; false: who holds the lock calls Beat
  std::size_t most_deleted = 100;              // old entries in one Compact
  // While a request is tried again: why, and when the next try is. May be empty; called on the
  // thread that uses the store.
  OnPause on_pause = {};
  // Of what goes wrong with the lock while it is held, or when it is released, a sentence. May be
  // empty; called on any thread.
  std::function<void(const std::string& warning)> on_warning = {};
  // For SaveAside, when the place is out of reach: the first one that can be written to. They are
  // made where they are not there.
  std::vector<std::string> aside_folders = {"/tmp"};
  bool lock = true;  // false: Lock takes none
};

// Not thread safe, but for MayStart. Doors must outlive the store and its locks.
class JournalStore final : public StateStore {
 public:
  // `kinds`: of which the records are that it may hold.
  JournalStore(BlobStore& blobs, FileSystem& files, Clock& clock, Random& random, LockHolder self,
               RecordKinds kinds, JournalStoreOptions options = {});

  Result<Snapshot> Load() override;
  // Asks who holds the lock only where what it read shows that there is one.
  Result<Snapshot> LoadWithHolder(std::optional<LockInfo>* holder) override;
  // As the door says. Besides: after an error that may pass (MayPass) the generation may turn out
  // to stand there; who saves or appends again with what he has by then goes on from it. When the
  // lock was lost: kFailedPrecondition, and nothing is saved by this store any more.
  Result<void> Save(State& state, Generation* at) override;
  Result<void> Append(State& state, const std::vector<RecordChange>& changes,
                      Generation* at) override;
  Result<void> Push(State& state, Generation* at) override;
  Result<std::vector<HistoryEntry>> History() override;
  std::optional<Provenance> StoredRun() const override {
    return known_ && known_->state ? std::optional<Provenance>(known_->run) : std::nullopt;
  }
  std::string StoredAt() override {
    return known_ && known_->state ? known_->saved_at : std::string();
  }
  Result<State> LoadHistory(std::uint64_t serial) override;
  Result<std::string> SaveAside(const State& state) override;
  void DropAside(const std::string& where) override;
  Result<std::string> SetAside() override;
  Result<PlacedAt> LoadPlace() override;
  Result<void> MayPutPlace(const PlacedState& /*placed*/) override { return {}; }
  Result<void> PutPlace(const PlacedState& placed, Generation* at) override;
  std::vector<std::string> TakeWarnings() override { return std::exchange(warnings_, {}); }
  Result<std::unique_ptr<StateLock>> Lock(const LockInfo& info, const LockWait& wait,
                                          std::stop_token stop) override;
  Result<void> ForceUnlock(const std::string& id) override;
  std::optional<LockInfo> Holder() override;
  Result<void> CheckLockPlace() override;
  std::string Where() const override { return blobs_.Where(); }

  // Begins this run's epoch without a change, and returns what it begins with: what stands up to
  // here no overtaken run can add to. For who took a lock over. Where there is no state, nothing
  // is fenced off, since nothing is there to be overtaken.
  Result<Snapshot> Fence();
  // A snapshot of what this run saved, how the runs before it left the state, and old entries out
  // of the way. Does nothing for a run that saved nothing.
  void EndRun() override { Compact(); }
  void Compact();

  // Looks at the lock where its last confirmed beat is older than half its life.
  Result<void> MayAct() override;
  // Whether the lock is held, and its last confirmed beat young enough to start something new in
  // the world. True without a lock (`--lock=false`). Thread safe.
  bool MayStart();
  std::chrono::milliseconds LockLife() const override { return options_.ttl; }
  // Renews the lock by hand; false: that was not confirmed.
  bool Beat();

 private:
  class HeldLock;
  enum class Put { kSave, kPush };
  // An entry on its way.
  struct Pending {
    JournalEntry entry;
    std::string text;
    bool sent = false;  // it may stand there, or come to
  };
  struct Taken {
    BlobVersion version;
    Clock::SteadyTime sent;
    std::string note;
  };

  Result<void> Refresh();
  bool MustSettle(const Generation& at) const { return known_ && pending_ && at == Now(); }
  Result<void> Settle(State* state, Generation* at, Put how);
  Result<void> PutState(State& state, Generation* at, Put how);
  Result<void> AppendChanges(State& state, const std::vector<RecordChange>& changes,
                             Generation* at);
  // What this store learns from how a save ended.
  Result<void> Noted(Result<void> saved);
  Result<void> PutPlaceEntry(const PlacedState& placed);
  Result<void> PutChanges(State& state, std::vector<RecordChange> changes, Generation* at, Put how);
  Result<void> CheckIsOfThisPlace();
  JournalEntry NextEntry() const;
  Result<void> Write(JournalEntry entry);
  Result<void> Send();
  Error Overtaken();
  Result<bool> FenceCounts(std::uint64_t number);
  Result<bool> StandsThere(const Pending& pending);
  Result<void> CheckLock(Result<void> (Lease::*confirm)(const std::stop_token&) = &Lease::Confirm);
  Result<void> CheckContinues(const State& state) const;
  Error Stale(const Generation& at);
  Error OfThisState(std::string_view deed, Error error) const;
  static Generation GenerationOf(const EntryId& id);
  Generation Now() const;
  Generation PlaceNow() const;
  RunNotes NotesOf(const State& state) const;
  Snapshot Known() const;

  bool IsDue() const;
  // False: another run has written one meanwhile, or it failed, of which the user is warned.
  bool CompactFor(std::chrono::milliseconds patience);
  void KeepEndedRuns(std::chrono::milliseconds patience);
  Result<BlobVersion> WriteSnapshot(const std::string& text,
                                    const std::optional<BlobVersion>& version,
                                    std::chrono::milliseconds patience);
  JournalSnapshot NextSnapshot() const;
  void DeleteOld();
  bool DeleteBelow(std::uint64_t horizon, const std::vector<BlobEntry>& list);
  void PruneHistory();
  Result<std::vector<BlobEntry>> ListHistory();
  // Makes an object that is not there; kAlreadyExists: there is another one of that name.
  Result<void> PutNew(const std::string& name, const std::string& bytes,
                      std::chrono::milliseconds patience);
  // An entry with which a state that cannot be read ends, and the snapshot that goes on from it.
  Result<JournalSnapshot> ResetAfter(const std::vector<BlobEntry>& list);

  RequestPauses Pauses(std::optional<std::chrono::milliseconds> patience = {}) {
    return {clock_, random_, patience.value_or(options_.patience), options_.on_pause};
  }
  LockInfo FilledIn(LockInfo info);
  Result<std::optional<Taken>> TryTake(const LeaseText& mine, LeaseWatch& watch, LeaseText* other,
                                       const std::stop_token& stop);
  std::function<void(const Error&)> WarnerOf(const std::string& what) const;
  Result<void> TryReplacing(Lease& lease, const std::stop_token& stop);
  std::string WhyFree(const LeaseText& other, const LeaseWatch& watch) const;

  BlobStore& blobs_;
  FileSystem& files_;
  Clock& clock_;
  Random& random_;
  LockHolder self_;
  RecordKinds kinds_;
  JournalStoreOptions options_;
  JournalReader reader_;
  std::optional<JournalView> known_;  // what this store read or wrote last
  std::string fence_;                 // write ID of this run's fence, while its epoch lasts
  std::optional<Pending> pending_;
  Generation base_;               // which this run goes on from
  bool out_of_reach_ = false;     // when something was to be saved last
  std::set<std::string> asides_;  // where SaveAside wrote
  std::weak_ptr<Lease> lease_;    // of the lock, while it is held
  std::vector<std::string> warnings_;
};

}  // namespace podctl
