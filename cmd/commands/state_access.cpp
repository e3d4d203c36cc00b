#include "cmd/commands/state_access.h"

#include <fmt/format.h>

namespace podctl {

int StateAccess::Fail(const Error& error, const std::string& summary) {
  exit_code_ = reporter_.ShowFailure(error, summary);
  return exit_code_;
}

bool StateAccess::Check(const Result<void>& done, const std::string& summary) {
  if (!done) Fail(done.error(), summary);
  return done.has_value();
}

bool StateAccess::Lock(const LockRequest& request) {
  const auto note = edit_.Lock(request, stop_);
  if (!note) Fail(note.error());
  if (note && !note->empty()) reporter_.Note(*note);
  return note.has_value();
}

bool StateAccess::Load() {
  return Check(edit_.Load());
}

bool StateAccess::LoadOrSetAside() {
  const auto aside = edit_.LoadOrSetAside();
  if (!aside) Fail(aside.error());
  if (aside && !aside->empty()) {
    reporter_.Note(fmt::format("The damaged state was put aside: it is now {}.", *aside));
  }
  return aside.has_value();
}

bool StateAccess::Save(bool push) {
  const auto saved = edit_.Save(push);
  ShowStoreWarnings(reporter_, edit_.TakeWarnings());
  return Check(saved, kNotSaved);
}

void ShowStoreWarnings(Reporter& reporter, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) reporter.Note("Warning: " + warning);
}

}  // namespace podctl
