// What lets us in where a plan leads: a key and a user name.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "plans/engine/change.h"
#include "plans/session/os_login.h"
#include "plans/session/own_keys.h"
#include "providers/os/environment.h"
#include "providers/os/file_system.h"
#include "providers/ssh/keys/identities.h"

namespace podctl {

struct EntryDoors {
  FileSystem& files;
  const Environment& environment;
  ssh::Keyring& keyring;
  std::function<void()> on_key_made;  // a key was made, since there was none
  // Asks anew, and from then on each question once.
  std::function<std::unique_ptr<OsLogin>()> login;

  KeyLines Keys() const { return {keyring, environment, files, on_key_made}; }
};

struct NoWayIn {
  Error error;
  bool no_key = false;  // it is for lack of one
};

// Made and published only now that the plan is approved.
std::optional<NoWayIn> PrepareToEnter(const EntryDoors& doors, Plan* plan);

// For an apply that has nothing to do: where OS Login was turned on since the last one, the state
// is to hold a user name all the same. An error is a remark.
Result<void> NameOsLoginUsers(const EntryDoors& doors, Plan* plan);

}  // namespace podctl
