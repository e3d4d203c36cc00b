// Durations as people write them to the emulator: "90s", "1.5s", "10m", "1h30m". Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace podctl::emulator {

// nullopt: none, or longer than ten years. Fractions are of seconds.
std::optional<std::chrono::milliseconds> ReadDuration(std::string_view text);

}  // namespace podctl::emulator
