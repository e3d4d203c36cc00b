// The state while it is being changed by a run: intents are written down before they are acted on,
// results before anything that depends on them starts.
//
// Owned by the executor's loop; not thread safe. Saves are grouped: Flush writes everything that
// was noted since the last one, in one generation.
#pragma once

#include <optional>
#include <string>

#include "providers/base/error.h"
#include "providers/os/clock.h"
#include "state/state.h"
#include "state/store.h"

namespace podctl {

class Journal {
 public:
  // `state`, `store` and `generation`, which is what `state` was loaded as, are lent for the
  // journal's life; saves move `generation` on. The store's lock must be held.
  Journal(State& state, StateStore& store, Generation& generation, Clock& clock, Random& random);

  const State& state() const { return state_; }
  // nullptr when the address is not in the state.
  template <typename T>
  const T* Get(const Address& address) const {
    return RecordsOf<T>(state_).Get(address);
  }
  // To be changed, through transitions.h where it is the life of its objects; it must be there.
  template <typename T>
  T& Edit(const Address& address) {
    dirty_ = true;
    return EditableRecordsOf<T>(state_).at(address);
  }
  void Put(const Address& address, AnyRecord record);
  void Forget(const Address& address);
  // For what concerns several records at once.
  State& EditState() {
    dirty_ = true;
    return state_;
  }
  // What is written down of a request that is about to be sent.
  Intent Begun(const std::string& request_id = {}) const;

  bool dirty() const { return dirty_; }
  // Saves if anything was noted: first the whole state, as an earlier run may have left it and this
  // one settled it, and from then on what became of each record. On error the notes stay and are
  // tried again with the next Flush.
  Result<void> Flush();

 private:
  State& state_;
  StateStore& store_;
  Generation& generation_;
  std::optional<State> saved_;  // what is stored, once this run has saved
  Clock& clock_;
  bool dirty_ = true;  // the settled state is not yet what is stored
};

}  // namespace podctl
