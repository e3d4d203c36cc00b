// What the commands share that change what podctl remembers, never a node: import, state mv, rm,
// restore and push.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "cmd/reporter.h"
#include "plans/session/import.h"
#include "plans/session/state_edit.h"
#include "providers/base/error.h"

namespace podctl {

struct ImportCommand : ImportOptions {
  bool all = false;  // of the zone or the project, in the place of `address` and `id`
  bool auto_approve = false;
};

struct StateMvOptions {
  std::string from;
  std::string to;
  bool dry_run = false;
};

struct StateRmOptions {
  std::vector<std::string> addresses;
  bool dry_run = false;
  bool force = false;  // --force-forget
};

struct StateRestoreOptions {
  std::uint64_t serial = 0;
};

struct StatePushOptions {
  std::string file;  // a path, or "-"
  bool force = false;
};

// The stored state as these commands hold it; what goes wrong is told in one way.
class StateAccess {
 public:
  // `random` and `reporter` are lent. `stop` ends the wait for the lock.
  StateAccess(std::unique_ptr<StateStore> store, Random& random, Reporter& reporter,
              std::stop_token stop)
      : reporter_(reporter), stop_(std::move(stop)), edit_(std::move(store), random) {}

  // As StateEdit; each returns false after having shown why, and then exit_code() is what to end
  // with.
  bool Lock(const LockRequest& request);
  bool Load();
  bool LoadOrSetAside();
  bool Save(bool push = false);

  int Fail(const Error& error, const std::string& summary = {});
  int exit_code() const { return exit_code_; }

  State& state() { return edit_.state(); }
  const State& state() const { return edit_.state(); }
  StateEdit& edit() { return edit_; }

 private:
  bool Check(const Result<void>& done, const std::string& summary = {});

  Reporter& reporter_;
  const std::stop_token stop_;
  StateEdit edit_;
  int exit_code_ = 1;
};

// With what may be meant in its place.
Error NotInState(const State& state, const std::string& address);

// Warnings of a store that has saved something.
void ShowStoreWarnings(Reporter& reporter, const std::vector<std::string>& warnings);

}  // namespace podctl
