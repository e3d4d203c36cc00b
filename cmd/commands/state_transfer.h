// podctl state pull and push: the whole state out of its place, and back into it.
#pragma once

#include <string>

namespace podctl {

struct StatePushOptions {
  std::string file;  // a path, or "-"
  bool force = false;
};

}  // namespace podctl
