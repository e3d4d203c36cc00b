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

// Into the pods of a spec that is to be planned. With `make`, for pods that may be created, a key
// is made where there is none.
Result<void> PublishKeys(Wiring& wiring, const State& state, bool make, Spec* spec);
// Into the pods of a plan that was made earlier, perhaps by somebody else: who applies it must
// reach what it makes.
Result<void> PublishPlanned(Wiring& wiring, Plan* plan);

}  // namespace podctl
