// What the world says now of all that a spec declares and a state remembers. Plain values.
#pragma once

#include <map>
#include <string>

#include "plans/engine/payload.h"
#include "providers/base/value.h"
#include "state/address.h"

namespace podctl {

struct Observation {
  // Of things that were asked about one by one; null: it is gone.
  std::map<Address, Value> seen;
  // Of kinds that look at many things at once, in their own words; by the kind's name.
  std::map<std::string, Payload, std::less<>> surveys;

  // nullptr: nobody looked.
  const Value* Seen(const Address& address) const {
    const auto found = seen.find(address);
    return found == seen.end() ? nullptr : &found->second;
  }
};

}  // namespace podctl
