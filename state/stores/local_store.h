// The state in a file of this machine (or of a file system it has mounted).
//
// A save writes a new file beside the old one, syncs it, renames it over the old one and syncs the
// folder: whatever happens in between, the old or the new generation stands there, whole. The lock
// is a file of its own (PATH.lock), since a lock on a file that is replaced locks nothing. A
// symbolic link at PATH is followed: its target is replaced, and locked, under its own name.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "providers/os/clock.h"
#include "providers/os/file_system.h"
#include "state/store.h"

namespace podctl {

// Who takes locks, and how one finds out whether another of this host still lives.
struct LockHolder {
  std::string host;
  std::string who;  // "alice@host"
  int pid = 0;
  // Whether process `pid` runs and did so at `created` (RFC 3339) already.
  std::function<bool(int pid, const std::string& created)> process_ran_at;

  static LockHolder ThisProcess();
};

// Not thread safe: one loop owns the state. Doors must outlive the store and its locks.
class LocalStore final : public StateStore {
 public:
  LocalStore(std::string path, FileSystem& files, Clock& clock, Random& random, LockHolder self);

  Result<std::optional<State>> Load() override;
  Result<void> Save(State& state) override;
  Result<std::unique_ptr<StateLock>> Lock(const LockInfo& info, std::chrono::milliseconds timeout,
                                          std::stop_token stop) override;
  Result<void> ForceUnlock(const std::string& id) override;
  std::string Where() const override { return path_; }

 private:
  // What this store knows to be stored: as text, to notice any change by others for the price of a
  // comparison, and as value, to notice that there is nothing to save.
  struct Generation {
    std::optional<std::string> text;  // nullopt: no file
    std::optional<State> state;
    bool durable = true;  // false: the folder could not be synced after the rename
  };

  // The file to replace, links followed; an error that names the folder when there is none.
  Result<std::string> Target();
  Result<std::optional<std::string>> ReadText(const std::string& target);
  Result<void> CheckUnchanged(const std::string& target);
  Result<void> CheckContinues(const State& state) const;
  Result<void> Write(const std::string& target, State next);
  Result<std::unique_ptr<StateLock>> TryLockOnce(const std::string& target, const LockInfo& info);
  void RemoveLeftovers(const std::string& target);

  std::string path_;
  FileSystem& files_;
  Clock& clock_;
  Random& random_;
  LockHolder self_;
  std::optional<Generation> known_;
};

}  // namespace podctl
