#include "cmd/commands/state_access.h"

#include <fmt/format.h>

#include <utility>

#include "cmd/commands/state_lock.h"
#include "cmd/reporter.h"
#include "providers/base/text.h"

namespace podctl {

int StateAccess::Fail(const Error& error, const std::string& summary) {
  exit_code_ = ShowFailure(wiring_, error, summary);
  return exit_code_;
}

bool StateAccess::Lock(const std::string& operation) {
  auto lock =
      store_->Lock(wiring_.LockFor(operation), PatienceFor(wiring_), wiring_.interrupt().drain());
  if (!lock) {
    Fail(lock.error());
    return false;
  }
  lock_ = std::move(*lock);
  const std::string note = lock_->TakeoverNote();
  if (!note.empty()) wiring_.reporter().Note(note);
  return true;
}

bool StateAccess::Load() {
  return Take(store_->Load());
}

bool StateAccess::LoadOrSetAside() {
  auto stored = store_->Load();
  if (stored || stored.error().code != ErrorCode::kDataLoss) return Take(std::move(stored));
  const auto aside = store_->SetAside();
  if (!aside) {
    Fail(aside.error());
    return false;
  }
  wiring_.reporter().Note(fmt::format("The damaged state was put aside: it is now {}.", *aside));
  return Take(store_->Load());
}

bool StateAccess::Take(Result<Snapshot> stored) {
  if (!stored) {
    Fail(stored.error());
    return false;
  }
  exists_ = stored->state.has_value();
  generation_ = stored->generation;
  state_ = exists_ ? std::move(*stored->state) : NewState(wiring_.random());
  return true;
}

bool StateAccess::Save() {
  return Saved(store_->Save(state_, &generation_));
}

bool StateAccess::Saved(const Result<void>& saved) {
  for (const std::string& warning : store_->TakeWarnings()) {
    wiring_.reporter().Note("Warning: " + warning);
  }
  if (saved) return true;
  Error error = saved.error();
  if (error.code == ErrorCode::kFailedPrecondition) {  // another run was first: it is run again
    Fail(error, "the state could not be saved");
    return false;
  }
  const auto aside = store_->SaveAside(state_);
  error.hint = aside ? fmt::format(
                           "What could not be saved is written to {0}. Once the cause is mended, "
                           "run `podctl state push {0}`",
                           ShellQuote(*aside))
                     : "Nothing was changed; once the cause is mended, run the command again.";
  Fail(error, "the state could not be saved");
  return false;
}

}  // namespace podctl
