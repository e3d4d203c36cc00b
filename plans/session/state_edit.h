// The state for commands that edit it without a plan: all open, lock, read and save it in the same
// way.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "plans/session/plan.h"
#include "providers/os/clock.h"
#include "state/state.h"
#include "state/store.h"

namespace podctl {

inline constexpr const char* kNotSaved = "the state could not be saved";  // over such an error

class StateEdit {
 public:
  StateEdit(std::unique_ptr<StateStore> store, Random& random)  // lent: `random`
      : store_(std::move(store)), random_(random) {}

  // A remark where a dead run's lock was taken over, else "".
  Result<std::string> Lock(const LockRequest& request, const std::stop_token& stop);
  Result<void> Load();  // no state yet: an empty one
  // As Load, but a stored text that is damaged is put aside, and counts as no state: for who
  // replaces it anyway. Where it is now, else "".
  Result<std::string> LoadOrSetAside();
  // What cannot be saved is written beside, and the hint says where. `push`: what stands there need
  // not be what is continued (StateStore::Push).
  Result<void> Save(bool push = false);
  std::vector<std::string> TakeWarnings() { return store_->TakeWarnings(); }  // of a save

  State& state() { return state_; }
  const State& state() const { return state_; }
  StateStore& store() { return *store_; }
  const Generation& generation() const { return generation_; }  // what was loaded, or saved last
  bool exists() const { return exists_; }                       // there was a stored one

 private:
  std::unique_ptr<StateStore> store_;
  Random& random_;
  std::unique_ptr<StateLock> lock_;
  State state_;
  Generation generation_;
  bool exists_ = false;
};

}  // namespace podctl
