#include "providers/emulator/duration.h"

#include <array>
#include <charconv>
#include <cstdint>

namespace podctl::emulator {
namespace {

constexpr std::int64_t kMaxMs = 10LL * 366 * 86'400'000;

struct Unit {
  char letter;
  std::int64_t milliseconds;
};

constexpr std::array<Unit, 3> kUnits = {{{'s', 1'000}, {'m', 60'000}, {'h', 3'600'000}}};

// Takes ".5" off the text, as milliseconds.
std::int64_t TakeDigits(std::string_view* text) {
  std::int64_t milliseconds = 0;
  text->remove_prefix(1);
  for (std::int64_t weight = 100; !text->empty() && text->front() >= '0' && text->front() <= '9';
       weight /= 10) {
    milliseconds += weight * (text->front() - '0');
    text->remove_prefix(1);
  }
  return milliseconds;
}

}  // namespace

std::optional<std::chrono::milliseconds> ReadDuration(std::string_view text) {
  std::int64_t sum = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    std::int64_t number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (problem != std::errc{} || number < 0 || number > kMaxMs) return std::nullopt;
    const bool has_fraction = !text.empty() && text.front() == '.';
    const std::int64_t fraction = has_fraction ? TakeDigits(&text) : 0;
    std::int64_t unit = 0;
    for (const Unit& known : kUnits) {
      if (!text.empty() && text.front() == known.letter) unit = known.milliseconds;
    }
    if (unit == 0 || (has_fraction && unit != 1'000) || number > kMaxMs / unit) return std::nullopt;
    sum += number * unit + fraction;
    if (sum > kMaxMs) return std::nullopt;
    text.remove_prefix(1);
  }
  return std::chrono::milliseconds(sum);
}

}  // namespace podctl::emulator
