// gzip (RFC 1952), by zlib. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "providers/base/error.h"

namespace podctl {

// The same text gives the same bytes: no time and no name is in them.
std::string Gzip(std::string_view text);

// kDataLoss: not gzip, cut, or damaged. kResourceExhausted: the text has more than `most` bytes.
Result<std::string> Gunzip(std::string_view bytes, std::size_t most);

// Of the zlib that is loaded: "1.2.13".
std::string ZlibVersion();

}  // namespace podctl
