// The SSH key of whoever runs podctl, as lines of `ssh-keys`, so that pods let them in: as gcloud
// adds it when it first connects.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plans/engine/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/spec/spec.h"
#include "providers/os/environment.h"
#include "providers/os/file_system.h"
#include "providers/ssh/keys/identities.h"

namespace podctl {

// Lines by user and identity file: pods share them, and to find that there is no key takes a look
// into several files.
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
// Into the pods of a plan that is about to be applied, perhaps somebody else's: who applies it must
// reach what it makes, so for new pods a key is made where there is none.
Result<void> PublishPlanned(KeyLines& lines, Plan* plan);

}  // namespace podctl
