// `podctl cp SRC… DST`: copies files and folders to or from the workers of a pod, all of them at
// once. Folders are copied with what is in them; links are followed, owners and times are not
// copied.
#pragma once

#include <string>
#include <vector>

#include "cmd/wiring.h"

namespace podctl {

struct CpOptions {
  std::vector<std::string> paths;  // SRC… DST
  std::string workers;             // --worker
  bool recursive = false;          // -r, as scp wants it: folders are copied anyway
};

int RunCp(Wiring& wiring, const CpOptions& options);

}  // namespace podctl
