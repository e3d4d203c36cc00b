// `podctl auth status`: which credentials are used, as whom, until when. `podctl authorize`: the
// TPU service agent, and what it must be allowed.
#pragma once

#include "cmd/wiring.h"

namespace podctl {

// Gets a token to prove that it can be got, and shows none. 1 when there is none.
int RunAuthStatus(Wiring& wiring);

// The project is --project's, else the spec's, else the environment's or gcloud's; any zone does.
int RunAuthorize(Wiring& wiring);

}  // namespace podctl
