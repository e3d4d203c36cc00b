#include "providers/emulator/service/times.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <charconv>
#include <ctime>

#include "providers/emulator/names.h"

namespace podctl::emulator {
namespace {

// Two digits (or `count`) at `at`; -1 otherwise.
int Digits(std::string_view text, std::size_t at, std::size_t count) {
  int number = 0;
  if (at + count > text.size()) return -1;
  for (const char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return -1;
    number = 10 * number + (c - '0');
  }
  return number;
}

// ".5" as milliseconds; takes it off the text. nullopt: a point without digits, or too many.
std::optional<std::int64_t> TakeFraction(std::string_view* text) {
  if (text->empty() || text->front() != '.') return 0;
  std::size_t end = 1;
  std::int64_t milliseconds = 0;
  for (std::int64_t weight = 100; end < text->size() && (*text)[end] >= '0' && (*text)[end] <= '9';
       ++end, weight /= 10) {
    milliseconds += weight * ((*text)[end] - '0');
  }
  if (end < 2 || end > 10) return std::nullopt;
  text->remove_prefix(end);
  return milliseconds;
}

// "Z" or "+02:00", in minutes.
std::optional<int> ZoneMinutes(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  const int hours = Digits(text, 1, 2);
  const int minutes = Digits(text, 4, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  return (text[0] == '-' ? -1 : 1) * (60 * hours + minutes);
}

}  // namespace

std::int64_t ServiceClock::NowMs() const {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count() + skipped_ms_;
}

std::string ServiceClock::Timestamp(std::int64_t later_ms) const {
  const auto now = std::chrono::system_clock::now().time_since_epoch() +
                   std::chrono::milliseconds(skipped_ms_ + later_ms);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now);
  const auto nanos = std::chrono::duration_cast<std::chrono::nanoseconds>(now - seconds);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:09}Z", fmt::gmtime(std::time_t{seconds.count()}),
                     nanos.count());
}

std::string TimeText(std::int64_t ms) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}000Z", fmt::gmtime(std::time_t{ms / 1000}),
                     ms % 1000);
}

std::optional<std::chrono::milliseconds> ReadDuration(std::string_view text) {
  constexpr std::int64_t kMaxMs = 10LL * 366 * 86'400'000;
  std::int64_t sum = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    std::int64_t number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (problem != std::errc{} || number < 0 || number > kMaxMs || text.empty()) {
      return std::nullopt;
    }
    const bool has_fraction = text.front() == '.';
    const auto fraction = TakeFraction(&text);
    const char letter = text.empty() ? '\0' : text.front();
    const std::int64_t unit = letter == 's'   ? 1'000
                              : letter == 'm' ? 60'000
                              : letter == 'h' ? 3'600'000
                                              : 0;
    if (!fraction || unit == 0 || (has_fraction && unit != 1'000) || number > kMaxMs / unit) {
      return std::nullopt;
    }
    sum += number * unit + *fraction;
    if (sum > kMaxMs) return std::nullopt;
    text.remove_prefix(1);
  }
  return std::chrono::milliseconds(sum);
}

std::optional<std::int64_t> DurationMs(std::string_view text) {
  constexpr std::int64_t kMaxSeconds = 315'576'000'000;
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  std::int64_t seconds = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (problem != std::errc{} || seconds < 0 || seconds > kMaxSeconds) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  const auto fraction = TakeFraction(&text);
  if (!fraction || text != "s") return std::nullopt;
  return (negative ? -1 : 1) * (1000 * seconds + *fraction);
}

std::optional<std::int64_t> TimestampMs(std::string_view text) {
  const int year = Digits(text, 0, 4);
  const int month = Digits(text, 5, 2);
  const int day = Digits(text, 8, 2);
  const int hour = Digits(text, 11, 2);
  const int minute = Digits(text, 14, 2);
  const int second = Digits(text, 17, 2);
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' ||
      (text[10] != 'T' && text[10] != 't') || text[13] != ':' || text[16] != ':' || hour < 0 ||
      hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (year < 1 || month < 1 || day < 1 || !date.ok()) return std::nullopt;
  text.remove_prefix(19);
  const auto fraction = TakeFraction(&text);
  const auto zone = ZoneMinutes(text);
  if (!fraction || !zone) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (((days * 24 + hour) * 60 + minute - *zone) * 60 + second) * 1000 + *fraction;
}

}  // namespace podctl::emulator
