// `lifecycle.replaceTriggeredBy`: whether what is planned for one address replaces another. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "plans/engine/change.h"
#include "plans/spec/spec.h"

namespace podctl {

// What is known of the changes planned so far.
class Triggers {
 public:
  // `differences`: what the spec wants otherwise than it is, of a pod that is patched or replaced.
  void NotePod(const Change& change, std::vector<AttributeChange> differences);
  // A step that has run before, and runs once more for a change.
  void NoteStepAgain(const Address& address) { steps_.insert(address); }

  // The reason, as a clause ("pod.base is replaced"), or "". As in terraform, that another pod is
  // made for the first time is no trigger.
  std::string Fired(const LifecycleSpec& lifecycle) const;

 private:
  struct Noted {
    bool replaced = false;
    std::vector<AttributeChange> differences;
  };
  std::string FiredBy(const std::string& trigger) const;

  std::map<std::string, Noted> pods_;  // by name
  std::set<Address> steps_;
};

}  // namespace podctl
