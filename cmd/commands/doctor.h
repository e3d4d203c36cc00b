// `podctl doctor POD`: is the pod fit for use, and where it is not, what is to be done.
#pragma once

#include <string>

#include "cmd/wiring.h"

namespace podctl {

struct DoctorOptions {
  std::string pod;
  std::string workers;  // --worker; empty: all
};

// Exit code 0 when all is well, 1 when something is not.
int RunDoctor(Wiring& wiring, const DoctorOptions& options);

}  // namespace podctl
