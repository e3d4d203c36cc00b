// Other states that a spec reads outputs of (`stateOf`), and what was read there. Who reads them is
// no spec's business: a spec is read without them first, and once more with what they say.
#pragma once

#include <map>
#include <string>

#include "providers/base/diagnostic.h"

namespace podctl {

// An entry of `stateOf`.
struct OtherState {
  std::string name;
  std::string where;  // a path from the current folder, or a URL
  SourcePlace place;
};

struct OtherOutput {
  std::string value;       // empty of a sensitive one
  bool sensitive = false;  // no state has its value
};

// By the name of the state, and by that of the output.
using OtherOutputs = std::map<std::string, std::map<std::string, OtherOutput>>;

}  // namespace podctl
