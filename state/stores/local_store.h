// The state in a file of this machine (or of a file system it has mounted).
//
// A save writes a new file beside the old one, syncs it, renames it over the old one and syncs the
// folder: whatever happens in between, the old or the new generation stands there, whole.
//
// Two locks, two purposes. PATH.lock keeps runs apart from each other for their whole length, and a
// user may break it. The stored file itself is held (flock(2)) from the comparison with the
// expected generation to the rename over it, so that of two who save at once, whatever became of
// PATH.lock, one finds that the other was first. A generation is known by the SHA-256 of its text.
//
// A symbolic link at PATH is followed: its target is replaced, and locked, under its own name.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "providers/os/clock.h"
#include "providers/os/file_system.h"
#include "state/record_codec.h"
#include "state/store.h"
#include "state/stores/lock_holder.h"

namespace podctl {

// The last part of a path.
std::string NameOf(const std::string& path);

struct LocalStoreOptions {
  std::size_t keep = 5;  // generations in PATH.history; 0: none is kept, and none is removed
  std::string temp_folder = "/tmp";  // for SaveAside, when nothing can be written beside the state
  bool lock = true;                  // false: Lock takes none
};

// Not thread safe: one loop owns the state. Doors must outlive the store and its locks.
class LocalStore : public StateStore {
 public:
  // `kinds`: of which the records are that it may hold.
  LocalStore(std::string path, FileSystem& files, Clock& clock, Random& random, LockHolder self,
             RecordKinds kinds, LocalStoreOptions options = {});

  Result<Snapshot> Load() override;
  Result<void> Save(State& state, Generation* at) override;
  Result<void> Push(State& state, Generation* at) override;
  Result<std::vector<HistoryEntry>> History() override;
  std::string StoredAt() override;
  Result<State> LoadHistory(std::uint64_t serial) override;
  Result<std::string> SaveAside(const State& state) override;
  void DropAside(const std::string& where) override;
  Result<std::string> SetAside() override;
  Result<PlacedAt> LoadPlace() override;
  Result<void> MayPutPlace(const PlacedState& placed) override;
  Result<void> PutPlace(const PlacedState& placed, Generation* at) override;
  std::vector<std::string> TakeWarnings() override { return std::exchange(warnings_, {}); }
  Result<std::unique_ptr<StateLock>> Lock(const LockInfo& info, const LockWait& wait,
                                          std::stop_token stop) override;
  Result<void> ForceUnlock(const std::string& id) override;
  std::optional<LockInfo> Holder() override;
  std::optional<LockInfo> LeftBehind() override;
  Result<void> CheckLockPlace() override;
  std::string Where() const override { return path_; }

 private:
  // The generation that this store read or wrote last. No lineage and serial 0 where there is none.
  struct Known {
    Generation generation;
    std::string lineage;
    std::uint64_t serial = 0;
    bool durable = true;  // false: the folder could not be synced after the rename
  };
  // The stored file, nobody else being able to replace it; no lock: there is none.
  struct Stored {
    std::unique_ptr<FileLock> lock;
    std::string text;
  };

  static Generation GenerationOf(const std::string& text);
  // The file to replace, links followed; an error that names the folder when there is none.
  Result<std::string> Target();
  Error CannotRead(Error error) const;
  Error TooLarge() const;
  Result<Stored> HoldStored(const std::string& target);
  Result<void> Know(const Stored& stored);
  Error Stale(const Stored& stored, const Generation& at) const;
  Result<void> CheckContinues(const State& state) const;
  Result<void> Put(State& state, Generation* at, bool push);
  Result<void> Write(const std::string& target, const std::string& text, const Stored& stored);
  Result<void> Keep(const std::string& target, const std::string& text);
  void KeepOnce(const std::string& target, const Stored& stored);
  void Prune(const std::string& target);
  std::string StoredLineage(const std::string& target);
  std::optional<LockInfo> NamedInLock();
  bool IsKnownDead(const LockInfo& holder) const;
  Result<FileSystem::Locked> TryHold(const std::string& path, bool again, LockInfo* holder);
  Result<std::unique_ptr<StateLock>> TryLockOnce(const std::string& target, const LockInfo& info,
                                                 bool again, LockInfo* holder);
  void RemoveLeftovers(const std::string& target);

  std::string path_;
  FileSystem& files_;
  Clock& clock_;
  Random& random_;
  LockHolder self_;
  RecordKinds kinds_;
  LocalStoreOptions options_;
  std::optional<Known> known_;
  std::set<std::string> asides_;  // where SaveAside wrote
  bool kept_ = false;             // the generation before this run's first save was looked after
  std::vector<std::string> warnings_;
};

}  // namespace podctl
