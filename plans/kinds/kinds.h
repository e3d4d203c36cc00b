// The kinds of things that podctl looks after. Whoever adds one adds it here.
#pragma once

#include <memory>
#include <vector>

#include "plans/engine/kind.h"
#include "providers/os/file_system.h"

namespace podctl {

// As a state remembers them, in the order in which they are told.
RecordKinds RememberedKinds();

// What kinds need of the world besides the provider of pods.
struct KindDoors {
  FileSystem& files;
};

// All of them, in an order in which later ones may build on earlier ones.
class BuiltInKinds {
 public:
  explicit BuiltInKinds(const KindDoors& doors);

  KnownKinds known() const { return {all_, RememberedKinds()}; }

 private:
  std::vector<std::unique_ptr<const Kind>> own_;
  std::vector<const Kind*> all_;
};

}  // namespace podctl
