// What podctl needs to log in to the workers of a plan: an SSH key and a user name.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plans/engine/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "plans/session/os_login.h"
#include "plans/spec/spec.h"
#include "providers/os/environment.h"
#include "providers/os/file_system.h"
#include "providers/ssh/keys/identities.h"

namespace podctl {

// ---- The SSH key of whoever runs podctl, as lines of `ssh-keys`, so that pods let them in: as
// gcloud adds it when it first connects.

// Lines by user and identity file. They are cached: pods share them, and to find that there is no
// key several files have to be read.
class KeyLines {
 public:
  // All are lent. `on_made`: a key was made, since there was none.
  KeyLines(
      ssh::Keyring& keyring, const Environment& environment, FileSystem& files,
      std::function<void()> on_made = [] {})
      : keyring_(keyring), environment_(environment), files_(files), on_made_(std::move(on_made)) {}

  // One for each key that is offered to a worker. `make`: when there is no key at all, one is made;
  // only then can there be an error. Empty: none.
  Result<std::vector<std::string>> For(const SshSettings& ssh, bool make);

 private:
  ssh::Keyring& keyring_;
  const Environment& environment_;
  FileSystem& files_;
  const std::function<void()> on_made_;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> lines_;
  std::set<std::string> without_key_;  // identity files
};

// Into the pods of a spec that is to be planned: keys that are there.
void PublishKeys(KeyLines& lines, Spec* spec);

// ---- Making and publishing it, for who is about to apply.

// Whether a key is to be made for it, since there is none.
bool AwaitsKey(const PodSpec& pod);

// What to say of a pod that there is, where there is no key at all to log in to it with; nullopt:
// there is one, or it is none of podctl's business.
std::optional<std::string> NoKeyNote(ssh::Keyring& keyring, const PodSpec& pod);

struct AccessDoors {
  FileSystem& files;
  const Environment& environment;
  ssh::Keyring& keyring;
  std::function<void()> on_key_made;  // a key was made, since there was none
  // Makes a new one, which asks each question once.
  std::function<std::unique_ptr<OsLogin>()> login;

  KeyLines Keys() const { return {keyring, environment, files, on_key_made}; }
};

struct NoAccess {
  Error error;
  bool no_key = false;  // it is for lack of one
};

// Made and published only now that the plan is approved.
std::optional<NoAccess> PrepareAccess(const AccessDoors& doors, Plan* plan);

// For an apply that has nothing to do: if OS Login was turned on since the last one, the state
// still needs the user name. The caller shows an error as a remark.
Result<void> NameOsLoginUsers(const AccessDoors& doors, Plan* plan);

}  // namespace podctl
