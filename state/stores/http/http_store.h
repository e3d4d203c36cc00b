// The state as one document behind Terraform's http protocol: GitLab, Gitea, and others of its kind
// (http_place.h). Each save is the whole state.
//
// What is stored is read and compared before each save. Between that look and the save stand the
// server's lock, which must be held, and, where the server keeps them, its serials: GitLab and
// Gitea take none twice, so that of two who save at once one is refused, whatever became of the
// lock. Elsewhere the lock alone keeps them apart.
//
// A save whose answer was lost is settled by reading: the same bytes are this run's own, the bytes
// before it are an invitation to send the same once more, anything else is somebody else's.
//
// A move (state_move.h) is a document, too. A place that is to hold nothing gets one that says so:
// to remove the state would take its earlier serials along. Each of these takes a serial, so a
// state that has come, or stays after all, may have a later one than before.
//
// Locks do not run out. One whose process ran on this machine, and runs no more, is taken over;
// every other one stands until it is released by its ID.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "providers/os/file_system.h"
#include "state/provenance.h"
#include "state/record_codec.h"
#include "state/store.h"
#include "state/stores/http/http_client.h"
#include "state/stores/lock_holder.h"

namespace podctl {

struct HttpStoreOptions {
  std::size_t keep = 5;  // earlier serials that are asked for; 0: none
  // For SaveAside: the first one that can be written to. They are made where they are not there.
  std::vector<std::string> aside_folders = {"/tmp"};
  // Of a lock that may not be released, a sentence. May be empty.
  std::function<void(const std::string& warning)> on_warning = {};
  bool lock = true;     // false: Lock takes none
  Provenance run = {};  // for what SaveAside writes; what it does is learnt with the lock
};

struct HttpStoreDoors {
  http::Transport& transport;
  FileSystem& files;
  Clock& clock;
  Random& random;
  OnLongWait on_long_wait = {};
};

// Not thread safe. Doors must outlive the store and its locks.
class HttpStore final : public StateStore {
 public:
  // `kinds`: of which the records are that it may hold.
  HttpStore(HttpPlace place, const HttpStoreDoors& doors, LockHolder self, RecordKinds kinds,
            HttpStoreOptions options = {});

  // kFailedPrecondition where another tool's state is stored.
  Result<Snapshot> Load() override;
  // As the door says. Besides: after an error that may pass the generation may turn out to stand
  // there; who saves again with what he has by then goes on from it. kFailedPrecondition too when
  // the lock was lost, kLocked when another holds it and this run took none.
  Result<void> Save(State& state, Generation* at) override;
  Result<void> Push(State& state, Generation* at) override;
  // The serials below the stored one that the server still has.
  Result<std::vector<HistoryEntry>> History() override;
  Result<State> LoadHistory(std::uint64_t serial) override;
  // Into a folder of this machine: the protocol has no second name.
  Result<std::string> SaveAside(const State& state) override;
  void DropAside(const std::string& where) override;
  // Onto this machine, too; the damaged text stands there until the next save replaces it.
  Result<std::string> SetAside() override;
  Result<PlacedAt> LoadPlace() override;
  Result<void> MayPutPlace(const PlacedState& placed) override;
  Result<void> PutPlace(const PlacedState& placed, Generation* at) override;
  Result<std::unique_ptr<StateLock>> Lock(const LockInfo& info, const LockWait& wait,
                                          std::stop_token stop) override;
  // Tries the lock, for only so the protocol tells who holds it.
  Result<void> ForceUnlock(const std::string& id) override;
  std::optional<LockInfo> Holder() override;
  bool TellsHolder() const override { return tells_holder_; }
  // A server keeps a version a save.
  std::chrono::milliseconds LeastSavePace() const override { return std::chrono::seconds(1); }
  std::string Where() const override { return client_->place().url; }

 private:
  class HeldLock;
  // What this store read or wrote last.
  struct Known {
    Generation generation;
    std::string lineage;
    std::uint64_t serial = 0;
  };
  // A save on its way.
  struct Pending {
    Generation base;
    std::string text;
    std::string lineage;
    std::string digest_key;
    std::uint64_t serial = 0;
    bool sent = false;  // it may stand there, or come to
  };
  enum class Fate { kStored, kUnknown, kRefused };

  // nullopt: there is none.
  Result<std::optional<std::string>> Fetch(const std::stop_token& stop = {});
  // What of a text that was read counts: not one that was set aside, or that stands for nothing.
  Result<std::optional<std::string>> Counted(std::optional<std::string> text);
  // The newest that the server has had, as far as `stored` tells; 0: none.
  std::uint64_t LastSerial(const std::optional<std::string>& stored) const;
  Error TooLarge() const;
  Result<State> Parse(const std::string& text) const;
  Result<void> Know(const std::optional<std::string>& stored);
  Error Stale(const std::optional<std::string>& stored, const Generation& at) const;
  Result<void> CheckContinues(const State& state) const;
  Result<void> Put(State& state, Generation* at, bool push);
  Result<void> Send();
  // `most`: it takes no longer.
  Result<Fate> SendOnce(std::chrono::milliseconds most, Error* why);
  // What became of the pending save, as far as reading tells.
  Result<Fate> LookAfter(std::chrono::milliseconds most);
  Error LockRefused(const http::Response& response) const;
  std::string HeldId() const;

  HttpLock Mine(const LockInfo& info) const;
  // The note on whom it was taken over from, if it was; nullopt: another holds it.
  Result<std::optional<std::string>> TryTake(const HttpLock& mine, HttpLock* other,
                                             const std::stop_token& stop);
  std::optional<HttpLock> HolderIn(const http::Response& response) const;
  bool HasEnded(const HttpLock& lock) const;
  bool IsAlive(const HttpLock& lock) const;
  // Of a lock that another holds, to who cannot have it.
  Error HeldByAnother(const HttpLock& holder) const;
  // kFailedPrecondition where the lock is another tool's, and what is stored Terraform's: it does
  // not come to be podctl's by waiting.
  Result<void> CheckIsNotTerraforms(const HttpLock& holder, const std::stop_token& stop);
  Error NoServerLock() const;

  std::shared_ptr<HttpStateClient> client_;
  FileSystem& files_;
  Clock& clock_;
  Random& random_;
  LockHolder self_;
  RecordKinds kinds_;
  HttpStoreOptions options_;
  std::optional<Known> known_;
  // A text that is not there for this store (damaged, or for nothing), and the serial that it
  // bears.
  std::optional<Known> set_aside_;
  std::optional<Pending> pending_;
  std::set<std::string> asides_;  // where SaveAside wrote
  std::weak_ptr<const HttpLock> held_;
  bool tells_holder_ = true;
};

// A place that cannot be used, because of how it is named or of what is set: every call is that
// error.
std::unique_ptr<StateStore> NoHttpStore(std::string url, Error why);

}  // namespace podctl
