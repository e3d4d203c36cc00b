// The SSH key of whoever runs podctl, as lines of `ssh-keys`, so that pods let them in: as gcloud
// adds it when it first connects.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cmd/wiring.h"
#include "plans/change.h"
#include "plans/spec/spec.h"

namespace podctl {

// Lines by user and identity file: pods share them, and to find that there is no key takes a look
// into several files.
class KeyLines {
 public:
  explicit KeyLines(Wiring& wiring) : wiring_(wiring) {}

  // One for each key that is offered to a worker. `make`: when there is no key at all, one is made;
  // only then can there be an error. Empty: none.
  Result<std::vector<std::string>> For(const SshSettings& ssh, bool make);

 private:
  Wiring& wiring_;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> lines_;
  std::set<std::string> without_key_;  // identity files
};

// Into the pods of a spec that is to be planned: keys that are there.
void PublishKeys(Wiring& wiring, Spec* spec);
// Into the pods of a plan that is about to be applied, perhaps somebody else's: who applies it must
// reach what it makes, so for new pods a key is made where there is none.
Result<void> PublishPlanned(Wiring& wiring, Plan* plan);

}  // namespace podctl
