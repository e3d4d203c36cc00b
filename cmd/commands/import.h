// `podctl import ADDRESS ID`: takes over a node that somebody else made, and writes the spec that
// matches it.
#pragma once

#include "cmd/options.h"
#include "cmd/wiring.h"

namespace podctl {

int RunImport(Wiring& wiring, const ImportOptions& options);

}  // namespace podctl
