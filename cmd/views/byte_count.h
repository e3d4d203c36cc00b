// Numbers of bytes for people.
#pragma once

#include <cstdint>
#include <string>

namespace podctl {

// "812 B", "3.4 MiB", "12 GiB": three digits at most, binary units.
std::string ByteCount(std::uint64_t bytes);

}  // namespace podctl
