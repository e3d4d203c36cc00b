// `podctl types` and `podctl versions`: what a zone offers to make pods of.
#pragma once

#include "cmd/wiring.h"

namespace podctl {

// The exit code. The zone is --zone, else the spec's or gcloud's. Where there is none, and where
// the service cannot be reached, the built-in catalogue answers, and says so.
int RunTypes(Wiring& wiring);
// The exit code. Only the service knows these.
int RunVersions(Wiring& wiring);

}  // namespace podctl
