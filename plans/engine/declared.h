// What a spec says of one thing, whatever its kind.
#pragma once

#include <vector>

#include "plans/engine/payload.h"
#include "providers/base/diagnostic.h"
#include "state/address.h"

namespace podctl {

struct Declared {
  Address address;
  SourcePlace place;  // of its key
  Payload wanted;     // of its kind, which knows the type
  // What it builds on, of its own kind or one before it: its changes wait for theirs.
  std::vector<Address> builds_on = {};
};

}  // namespace podctl
