// How prices say their currency and their day. Pure.
#pragma once

#include <string_view>

namespace podctl {

bool IsCurrency(std::string_view text);  // ISO 4217: three capital letters
bool IsDay(std::string_view text);       // ISO 8601: "2026-11-01"

}  // namespace podctl
