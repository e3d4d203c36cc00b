// Which libssh2 is in use.
#pragma once

#include <string>

namespace podctl::ssh {

// Of the library that is loaded: "1.10.0".
std::string Libssh2Version();

}  // namespace podctl::ssh
