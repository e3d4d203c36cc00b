// The door to where the state lives. Implementations: LocalStore (stores/local_store.h: a file),
// JournalStore (stores/journal_store.h: a bucket or etcd), HttpStore (stores/http/http_store.h:
// GitLab, Gitea). What every store promises is in tests/conformance/state_store_suite.h. Not thread
// safe: one thread uses it at a time. What reads, saves or locks blocks on the disk or the network.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "providers/base/error.h"
#include "state/provenance.h"
#include "state/state.h"
#include "state/state_move.h"

namespace podctl {

// Where a state is: a path, or the URL of a place in somebody's service.
inline bool IsStateUrl(std::string_view place) {
  return place.find("://") != std::string_view::npos;
}

// "gs:/bucket", "etcd:x": what begins as such a URL and is none; "" or the URL that may be meant.
std::string MeantStateUrl(std::string_view place);

// Who holds the lock, in Terraform's words, so that tools that read its "Lock Info:" block work.
// The caller says operation, who and command; the store fills in the rest where it is empty.
struct LockInfo {
  std::string id;         // a UUID
  std::string operation;  // "apply"
  std::string who;        // "alice@host"
  std::string host;
  int pid = 0;
  std::string command;  // the command line
  std::string created;  // RFC 3339
  std::string path;     // of the state
  std::string version;  // of the podctl that holds it
  std::string commit;   // of the spec, as CommitText; empty: not known
  std::string run_url;  // of the CI's run; empty: no CI
};

// How long a run that finds the state locked waits for it, and who is told of that.
struct LockWait {
  LockWait() = default;
  template <typename Count, typename Unit>
  LockWait(std::chrono::duration<Count, Unit> at_most) : timeout(at_most) {}  // NOLINT: a duration

  std::chrono::milliseconds timeout{0};
  // Called on the waiting thread when the wait begins (`waited` is 0), and again about every 10 s.
  // A member of `holder` that is not known is empty. May be empty.
  std::function<void(const LockInfo& holder, std::chrono::milliseconds waited)> on_wait;
};

// Holding one is holding the lock; destroyed, it is released.
class StateLock {
 public:
  virtual ~StateLock() = default;
  // A note for the user when a dead process's lock was taken over; empty otherwise.
  virtual std::string TakeoverNote() const = 0;
};

// What a store gives whose user wants no lock to be taken: it holds none.
std::unique_ptr<StateLock> NoStateLock();

// The store's own, opaque token for one generation: a save succeeds only if that generation is what
// is stored. Empty: nothing is stored. The journal of a run holds the token of the generation that
// the run continues. It is a fencing token: a run that was overtaken while it slept has an old one
// and cannot save, even if it believes that it holds the lock.
struct Generation {
  std::string token;

  bool none() const { return token.empty(); }
  friend bool operator==(const Generation&, const Generation&) = default;
};

struct Snapshot {
  std::optional<State> state;  // nullopt when there is no state yet
  Generation generation;
};

// What stands in a place, also where it is no state for runs; the token is that of PutPlace alone.
struct PlacedAt {
  PlacedState placed;
  Generation generation;
};

// A generation that was replaced and is kept.
struct HistoryEntry {
  std::uint64_t serial = 0;
  std::string saved_at;  // RFC 3339, when it was saved
  std::uint64_t bytes = 0;
  std::map<std::string, std::size_t> records;  // how many, by kind
  std::string lineage;
  std::string remarks;  // on what is not as usual: "research: PREEMPTED"
  std::string problem;  // why it cannot be read; empty: it can, and the counts above are filled in
  std::optional<Provenance> run = {};  // which made it, where the store remembers
};

class StateStore {
 public:
  virtual ~StateStore() = default;

  // An empty, cut or unreadable state is an error (kDataLoss, kPermissionDenied, kIo), never "no
  // state"; so is one that is on its way to another place, or has gone there (WhyMoved), over which
  // nothing is saved or pushed.
  virtual Result<Snapshot> Load() = 0;

  // Load, and who is at work on what it returns (Holder). Of who begins later nothing is in it.
  virtual Result<Snapshot> LoadWithHolder(std::optional<LockInfo>* holder) {
    *holder = Holder();
    return Load();
  }

  // Makes `state` the stored generation, durably, all or nothing, provided that `*at` is what is
  // stored: else kFailedPrecondition, whoever holds the lock; the comparison and the exchange are
  // one step for every other process. Sets lineage (if empty), digest_key (if empty) and serial+1
  // on `state` when its content differs from what is stored; does nothing when equal. `state` must
  // continue what is stored: its lineage and its serial are those of `*at`. On success `*at` is the
  // new generation. On error the stored generation, `state` and `*at` are as before; only when the
  // new generation stands there and its durability alone is in doubt, `state` carries its serial
  // and `*at` is the new one. Only a caller that holds the lock can be sure that nobody else saves
  // first.
  virtual Result<void> Save(State& state, Generation* at) = 0;

  // As Save, for who knows what is different: `changes` lead from the records that are stored at
  // `*at` to those of `state`. A store that writes down changes, or keeps each record by itself,
  // need not look at the rest; one that replaces itself whole does just that.
  virtual Result<void> Append(State& state, const std::vector<RecordChange>& /*changes*/,
                              Generation* at) {
    return Save(state, at);
  }

  // As Save, but `state` need not continue what is stored: for `podctl state push`. It keeps its
  // lineage, and its serial when that is above the stored one (else it gets the next one). Rules
  // are the caller's (CheckPush).
  virtual Result<void> Push(State& state, Generation* at) = 0;

  // Whether this run may begin something new in the world. kFailedPrecondition: another run has
  // taken its lock over; what may pass: the lock is one that runs out, and it could not be renewed
  // for so long that another may take it over. To be asked before each request that acts; asks
  // nobody as long as the answer is known. Where locks do not run out, always yes.
  virtual Result<void> MayAct() { return {}; }

  // At the end of a run, while it holds the lock, after its last save: what a store puts off until
  // then, such as one snapshot of many changes. What fails is a warning.
  virtual void EndRun() {}

  // The generations kept, the newest first, without the stored one. The first save of a store
  // keeps the generation it replaces; how many are kept is the store's setting. To restore one:
  // load it, give it the stored serial, and save it.
  virtual Result<std::vector<HistoryEntry>> History() = 0;
  // The run that made what was loaded or saved last, where the store remembers.
  virtual std::optional<Provenance> StoredRun() const { return std::nullopt; }
  // When that was saved, RFC 3339; empty: nothing is stored, or the store does not remember.
  virtual std::string StoredAt() { return {}; }
  // kNotFound when it is not kept.
  virtual Result<State> LoadHistory(std::uint64_t serial) = 0;

  // Writes what could not be saved beside the state, as the generation after the one it follows, so
  // that `podctl state push` takes it; where that is not possible either, into the folder for
  // temporary files. Returns where it is. Written again, it gets another name.
  virtual Result<std::string> SaveAside(const State& state) = 0;
  // Removes what this store saved aside, since it is stored now or written again. What cannot be
  // removed does no harm: nobody pushes it over what is newer.
  virtual void DropAside(const std::string& /*where*/) {}

  // Moves a stored text that is no state (kDataLoss at Load) out of the way, whole, and returns
  // where it is now; then there is no state. For who replaces it: `podctl state restore`.
  virtual Result<std::string> SetAside() {
    return MakeError(ErrorCode::kUnimplemented,
                     "the state at " + Where() + " is damaged and cannot be put aside");
  }

  // For who moves a state: what stands here, also where Load refuses.
  virtual Result<PlacedAt> LoadPlace() {
    Result<Snapshot> stored = Load();
    if (!stored) return stored.error();
    return PlacedAt{{std::move(stored->state), std::nullopt}, stored->generation};
  }
  // Whether that could be put here, as far as it can be told without trying: asked before anything
  // is marked.
  virtual Result<void> MayPutPlace(const PlacedState& /*placed*/) {
    return MakeError(ErrorCode::kUnimplemented,
                     "a state cannot be moved from or to " + Where() + " by this podctl");
  }
  // Makes that what stands here, durably, all or nothing, with the lineage and the serial that it
  // has; neither state nor move: nothing. Else as Push. Where no serial is taken twice, a state
  // that runs are to go on from may get a later one: LoadPlace tells.
  virtual Result<void> PutPlace(const PlacedState& placed, Generation* /*at*/) {
    return MayPutPlace(placed);
  }

  // What went wrong but is no reason to fail (an old generation could not be kept), one sentence
  // each, returned once. The caller that saves shows them.
  virtual std::vector<std::string> TakeWarnings() { return {}; }

  // kLocked (message with the "Lock Info:" block) when another holds it after `wait.timeout`,
  // waiting with growing pauses; kCancelled on `stop`.
  virtual Result<std::unique_ptr<StateLock>> Lock(const LockInfo& info, const LockWait& wait,
                                                  std::stop_token stop) = 0;
  // Removes a lock that nobody holds any more, for `podctl unlock ID`. kNotFound when there is no
  // lock, kInvalidArgument when its ID is another, kLocked when its holder is alive on this host.
  virtual Result<void> ForceUnlock(const std::string& id) {
    return MakeError(ErrorCode::kUnimplemented,
                     "the state at " + Where() + " has no lock that could be removed: " + id);
  }
  // Who holds the lock now, as far as that can be found out without disturbing the holder; nullopt:
  // nobody, or it is not known. A holder on another host may have died since.
  virtual std::optional<LockInfo> Holder() { return std::nullopt; }
  // Whose lock still stands though his run has ended: the next one takes it over. nullopt:
  // nobody's, or the place does not tell.
  virtual std::optional<LockInfo> LeftBehind() { return std::nullopt; }
  // kFailedPrecondition: where the lock would be there is something else, which is no lock of
  // podctl, so that nobody holds it and nobody can take it.
  virtual Result<void> CheckLockPlace() { return {}; }
  // Whether the last Holder could tell that nobody holds it. False: the place tells that only to
  // who tries to take the lock.
  virtual bool TellsHolder() const { return true; }
  // How long the lock of a run that died elsewhere stands before it is taken over; 0: it does not
  // run out.
  virtual std::chrono::milliseconds LockLife() const { return std::chrono::milliseconds(0); }
  // How far apart saves are to be that nothing waits for: each costs more than its time.
  virtual std::chrono::milliseconds LeastSavePace() const { return std::chrono::milliseconds(0); }
  virtual std::string Where() const = 0;  // for messages
};

// ---- What `podctl state push` may put in the place of the stored state, by the rules that
// Terraform has for the same command (statemgr.CheckValidImport). Pure.

// kFailedPrecondition when `pushed` belongs to another lineage, is older than what is stored, or
// has its serial with another content. Everything may replace a state without resources, and with
// `force` everything may replace everything.
Result<void> CheckPush(const Snapshot& stored, const State& pushed, bool force);

// ---- The text of a lock, as written into the lock and as shown to people. Terraform's member
// names and its "Lock Info:" block, which runners read (terraform-exec, tofu-controller).

std::string LockInfoToJson(const LockInfo& info);
// nullopt for a text that names no holder: empty, cut or somebody else's.
std::optional<LockInfo> LockInfoFromJson(std::string_view text);
// Whether a run may have left `text`, which is no LockInfo, when it died: nothing yet, the
// beginning of one, or what a loss of power makes of one. Anything else belongs to somebody else.
bool MayBeCutLockInfo(std::string_view text);

// "Lock Info:\n  ID:        …" with every line filled, without a final newline. Control characters
// are made visible: the text comes from a file that others write.
std::string LockInfoBlock(const LockInfo& info);

}  // namespace podctl
