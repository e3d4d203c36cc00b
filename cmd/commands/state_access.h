// What the commands that look after the state share: it is opened, locked, read and saved in one
// way, and what goes wrong is told in one way.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cmd/commands/failure.h"
#include "cmd/wiring.h"
#include "providers/base/error.h"
#include "state/state.h"
#include "state/store.h"

namespace podctl {

class StateAccess {
 public:
  StateAccess(Wiring& wiring, const std::string& path)
      : wiring_(wiring), store_(wiring.OpenStore(path)) {}

  // Each returns false after having shown why; then exit_code() is what to end with.
  bool Lock(const std::string& operation);  // tells when a dead run's lock was taken over
  bool Load();                              // no state yet: an empty one
  // As Load, but a stored text that is damaged is put aside, which is told, and counts as no state:
  // for who replaces it anyway.
  bool LoadOrSetAside();
  bool Save();
  // What could not be saved is written beside, and the message says where.
  bool Saved(const Result<void>& saved);

  int Fail(const Error& error, const std::string& summary = {});
  int exit_code() const { return exit_code_; }

  State& state() { return state_; }
  const State& state() const { return state_; }
  StateStore& store() { return *store_; }
  Generation& generation() { return generation_; }  // what was loaded, or saved last
  bool exists() const { return exists_; }           // there was a stored one

 private:
  bool Take(Result<Snapshot> stored);

  Wiring& wiring_;
  std::unique_ptr<StateStore> store_;
  std::unique_ptr<StateLock> lock_;
  State state_;
  Generation generation_;
  bool exists_ = false;
  int exit_code_ = 1;
};

}  // namespace podctl
