// Which OpenSSL is in use.
#pragma once

#include <string>

namespace podctl {

// Of the library that is loaded: "3.0.15".
std::string OpenSslVersion();

}  // namespace podctl
