// The files that hold what podctl logs in to Google with, whether it takes them this time or not.
#pragma once

#include <string>
#include <vector>

#include "providers/os/environment.h"
#include "providers/os/file_system.h"

namespace podctl::gcp {

// What variables name, the tokens that those files name in turn, and gcloud's folder; a path may be
// one of a folder, and need not be there.
std::vector<std::string> CredentialPaths(const Environment& environment, FileSystem& files);

}  // namespace podctl::gcp
