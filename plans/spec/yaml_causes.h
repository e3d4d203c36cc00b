// What people usually did where yaml-cpp says that a text is no YAML. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "plans/spec/source_file.h"

namespace podctl {

// A hint for what yaml-cpp says (`message`) of the byte at `offset`; "" when there is no usual one.
std::string UsualCause(const SourceFile& file, std::size_t offset, std::string_view message);

}  // namespace podctl
