// The door to where the state lives. Implementations: stores/local_store.h. What every store
// promises is in tests/conformance/state_store_suite.h.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "providers/base/error.h"
#include "state/state.h"

namespace podctl {

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
};

// Holding one is holding the lock; destroyed, it is released.
class StateLock {
 public:
  virtual ~StateLock() = default;
  // A note for the user when a dead process's lock was taken over; empty otherwise.
  virtual std::string TakeoverNote() const = 0;
};

class StateStore {
 public:
  virtual ~StateStore() = default;

  // nullopt when there is no state yet. An empty, cut or unreadable state is an error (kDataLoss,
  // kPermissionDenied, kIo), never nullopt.
  virtual Result<std::optional<State>> Load() = 0;

  // Makes `state` the stored generation, durably, all or nothing. Sets lineage (if empty) and
  // serial+1 on `state` when its content differs from what is stored; does nothing when equal.
  // The lock must be held. Refused (kFailedPrecondition) when the stored generation is not the one
  // that this store loaded or saved last: a stale writer loses. On error the stored generation is
  // the one before; only when its durability alone is in doubt it is the new one, whole, and
  // `state` carries its serial.
  virtual Result<void> Save(State& state) = 0;

  // kLocked (message with the "Lock Info:" block) when another holds it after `timeout`, waiting
  // with growing pauses; kCancelled on `stop`.
  virtual Result<std::unique_ptr<StateLock>> Lock(const LockInfo& info,
                                                  std::chrono::milliseconds timeout,
                                                  std::stop_token stop) = 0;
  // Removes a lock that nobody holds any more, for `podctl unlock ID`. kNotFound when there is no
  // lock, kInvalidArgument when its ID is another, kLocked when its holder is alive on this host.
  virtual Result<void> ForceUnlock(const std::string& id) {
    return MakeError(ErrorCode::kUnimplemented,
                     "the state at " + Where() + " has no lock that could be removed: " + id);
  }
  virtual std::string Where() const = 0;  // for messages
};

}  // namespace podctl
