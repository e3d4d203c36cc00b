#include "plans/from_command/moment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

namespace podctl {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// The number that `text` begins with, of exactly `digits`; -1: there is none.
int Digits(std::string_view text, std::size_t digits) {
  int number = 0;
  if (text.size() < digits) return -1;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return -1;
    number = number * 10 + (c - '0');
  }
  return number;
}

// "Z", "+01:00", "-0530".
std::optional<seconds> ParseOffset(std::string_view text) {
  if (text == "Z" || text == "z") return seconds(0);
  if (text.empty() || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const bool colon = text.size() == 6 && text[3] == ':';
  if (!colon && text.size() != 5) return std::nullopt;
  const int hour = Digits(text.substr(1), 2);
  const int minute = Digits(text.substr(colon ? 4 : 3), 2);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59) return std::nullopt;
  const seconds offset = hours(hour) + minutes(minute);
  return text[0] == '-' ? -offset : offset;
}

}  // namespace

std::optional<std::chrono::sys_seconds> ParseMoment(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00";
  if (text.size() <= kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] != '0' && std::toupper(static_cast<unsigned char>(text[i])) != kForm[i]) {
      return std::nullopt;
    }
  }
  const auto part = [&](std::size_t at, std::size_t digits) {
    return Digits(text.substr(at), digits);
  };
  const int year = part(0, 4);
  const int month = part(5, 2);
  const int day = part(8, 2);
  const int hour = part(11, 2);
  const int minute = part(14, 2);
  const int second = part(17, 2);
  const bool time = hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 &&
                    second < 60 && year >= 0 && month > 0 && day > 0;
  if (!time) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  std::string_view rest = text.substr(kForm.size());
  if (rest.starts_with('.')) {
    rest.remove_prefix(std::min(rest.find_first_not_of("0123456789", 1), rest.size()));
  }
  const auto offset = ParseOffset(rest);
  if (!date.ok() || !offset) return std::nullopt;
  return std::chrono::sys_days(date) + hours(hour) + minutes(minute) + seconds(second) - *offset;
}

std::string MomentText(std::chrono::sys_seconds moment) {
  const auto day = std::chrono::floor<std::chrono::days>(moment);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss<seconds> time(moment - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count());
}

std::map<std::string, std::string> QueueingPolicy(const QueueBound& after, const QueueBound& until,
                                                  std::optional<std::chrono::sys_seconds> now) {
  const auto moment = [&](const QueueBound& bound) {
    if (bound.moment) return MomentText(*bound.moment);
    return MomentText(now.value_or(std::chrono::sys_seconds()) + SpanOf(bound.duration));
  };
  if (after.given() && until.given()) {
    return {{"validInterval.startTime", moment(after)}, {"validInterval.endTime", moment(until)}};
  }
  std::map<std::string, std::string> policy;
  for (const auto& [bound, name] : {std::pair(&after, "After"), std::pair(&until, "Until")}) {
    if (bound->moment) policy[fmt::format("valid{}Time", name)] = moment(*bound);
    if (!bound->duration.empty()) policy[fmt::format("valid{}Duration", name)] = bound->duration;
  }
  return policy;
}

seconds SpanOf(std::string_view duration) {
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(duration.data(), duration.data() + duration.size(), number);
  if (error != std::errc() || end == duration.data() + duration.size()) return seconds(0);
  return seconds(number * (*end == 'h' ? 3600 : *end == 'm' ? 60 : 1));
}

}  // namespace podctl
