// What the commands that look after the state share: what goes wrong is told in one way.
#pragma once

#include <string>

#include "cmd/wiring.h"
#include "plans/session/state_edit.h"
#include "providers/base/error.h"

namespace podctl {

class StateAccess {
 public:
  StateAccess(Wiring& wiring, const std::string& path)
      : wiring_(wiring), edit_(wiring.OpenStore(path), wiring.random()) {}

  // As StateEdit; each returns false after having shown why, and then exit_code() is what to end
  // with.
  bool Lock(const std::string& operation);
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

  Wiring& wiring_;
  StateEdit edit_;
  int exit_code_ = 1;
};

// Warnings of a store that has saved something.
void ShowStoreWarnings(Reporter& reporter, const std::vector<std::string>& warnings);

}  // namespace podctl
