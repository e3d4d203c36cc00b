#include "cmd/views/byte_count.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace podctl {

std::string ByteCount(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  constexpr double kStep = 1024;
  constexpr double kRoundsUp = 999.5;  // what would be printed with four digits
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double amount = static_cast<double>(bytes) / kStep;
  std::size_t unit = 0;
  while (amount >= kRoundsUp && unit + 1 < kUnits.size()) {
    amount /= kStep;
    ++unit;
  }
  constexpr double kOneDecimal = 9.95;
  return amount < kOneDecimal ? fmt::format("{:.1f} {}", amount, kUnits[unit])
                              : fmt::format("{:.0f} {}", amount, kUnits[unit]);
}

}  // namespace podctl
