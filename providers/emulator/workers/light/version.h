// Which libssh is in use.
#pragma once

#include <string>

namespace podctl::emulator {

// Of the library that is loaded: "0.10.6".
std::string LibsshVersion();

}  // namespace podctl::emulator
