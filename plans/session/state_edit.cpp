#include "plans/session/state_edit.h"

#include <fmt/format.h>

#include <utility>

#include "providers/base/text.h"
#include "state/state_json.h"

namespace podctl {

Result<std::string> StateEdit::Lock(const LockRequest& request, const std::stop_token& stop) {
  auto lock = store_->Lock(request.info(), request.wait, stop);
  if (!lock) return lock.error();
  lock_ = *std::move(lock);
  return lock_->TakeoverNote();
}

Result<void> StateEdit::Load() {
  auto stored = store_->Load();
  if (!stored) return stored.error();
  exists_ = stored->state.has_value();
  generation_ = stored->generation;
  state_ = exists_ ? *std::move(stored->state) : NewState(random_);
  return {};
}

Result<std::string> StateEdit::LoadOrSetAside() {
  auto loaded = Load();
  // Nothing can follow the last serial of all.
  if (loaded && state_.serial < kMaxSerial) return std::string();
  if (!loaded && loaded.error().code != ErrorCode::kDataLoss) return loaded.error();
  const auto aside = store_->SetAside();
  if (!aside) return aside.error();
  loaded = Load();
  if (!loaded) return loaded.error();
  return *aside;
}

Result<void> StateEdit::Save(bool push) {
  auto saved = push ? store_->Push(state_, &generation_) : store_->Save(state_, &generation_);
  if (saved) store_->EndRun();
  // Another run was first: it is run again.
  if (saved || saved.error().code == ErrorCode::kFailedPrecondition) return saved;
  Error error = saved.error();
  const auto aside = store_->SaveAside(state_);
  error.hint = aside ? fmt::format(
                           "What could not be saved is written to {0}. Once the cause is mended, "
                           "run `podctl state push {0}`",
                           ShellQuote(*aside))
                     : "Nothing was changed; once the cause is mended, run the command again.";
  return error;
}

}  // namespace podctl
