// podctl state pull and push: the whole state out of its place, and back into it.
#pragma once

#include <string>

namespace podctl {

class Wiring;

int RunStatePull(Wiring& wiring);

struct StatePushOptions {
  std::string file;  // a path, or "-"
  bool force = false;
};

int RunStatePush(Wiring& wiring, const StatePushOptions& options);

}  // namespace podctl
