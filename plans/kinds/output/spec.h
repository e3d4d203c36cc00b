// An output as the spec says it: a text, made of what other things are, for who works with them.
#pragma once

#include <string>
#include <vector>

#include "state/address.h"

namespace podctl {

struct OutputSpec {
  std::string name;         // its address is output.<name>
  std::string text;         // template text
  bool sensitive = false;   // its value is never shown with others, and the state holds it not
  std::string description;  // for people
  std::vector<Address> depends_on = {};  // what its text refers to
};

}  // namespace podctl
