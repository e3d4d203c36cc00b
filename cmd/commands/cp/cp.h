// `podctl cp SRC… DST`: copies files and folders to or from the workers of a pod, all of them at
// once. Folders are copied with what is in them; links are followed, owners and times are not
// copied.
#pragma once

#include "cmd/options.h"
#include "cmd/wiring.h"

namespace podctl {

int RunCp(Wiring& wiring, const CpOptions& options);

}  // namespace podctl
