#include "providers/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

#include "providers/base/foreign_text.h"

namespace podctl {
namespace {

using std::chrono::milliseconds;
constexpr double kMaxMilliseconds = 10.0 * 365 * 24 * 3600 * 1000;

std::optional<double> UnitMilliseconds(std::string_view unit) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
  for (const auto& [name, length] : kUnits) {
    if (unit == name) return length;
  }
  return std::nullopt;
}

// "Z", "+01:00", "-0530".
std::optional<std::chrono::minutes> ParseOffset(std::string_view text) {
  if (text == "Z" || text == "z") return std::chrono::minutes(0);
  const bool colon = text.size() == 6 && text[3] == ':';
  if ((!colon && text.size() != 5) || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const auto hour = ParseNumber<unsigned>(text.substr(1, 2));
  const auto minute = ParseNumber<unsigned>(text.substr(colon ? 4 : 3));
  if (!hour || !minute || *hour > 23 || *minute > 59) return std::nullopt;
  const auto offset = std::chrono::hours(*hour) + std::chrono::minutes(*minute);
  return text[0] == '-' ? -offset : offset;
}

// Optimal string alignment: insertions, deletions, replacements and swapped neighbours, without
// regard to case.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  const auto same = [&](std::size_t i, std::size_t j) {
    return std::tolower(static_cast<unsigned char>(a[i])) ==
           std::tolower(static_cast<unsigned char>(b[j]));
  };
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({row[j - 1] + 1, above[j] + 1, above[j - 1] + (same(i - 1, j - 1) ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

bool IsPlainShellCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_-./:=@%+,").find(c) != std::string_view::npos;
}

}  // namespace

std::optional<milliseconds> ParseDuration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  double total = 0;
  while (!text.empty()) {
    std::size_t digits = 0;
    while (digits < text.size() &&
           (std::isdigit(static_cast<unsigned char>(text[digits])) != 0 || text[digits] == '.')) {
      ++digits;
    }
    double number = 0;
    auto [rest, code] = std::from_chars(text.data(), text.data() + digits, number);
    if (digits == 0 || code != std::errc() || rest != text.data() + digits) return std::nullopt;
    text.remove_prefix(digits);
    std::size_t letters = 0;
    while (letters < text.size() && std::isalpha(static_cast<unsigned char>(text[letters])) != 0) {
      ++letters;
    }
    const auto unit = UnitMilliseconds(text.substr(0, letters));
    if (!unit) return std::nullopt;
    total += number * *unit;
    text.remove_prefix(letters);
  }
  if (!(total <= kMaxMilliseconds)) return std::nullopt;
  return milliseconds(static_cast<std::int64_t>(std::llround(total)));
}

std::string FormatDuration(milliseconds duration) {
  const std::int64_t ms = std::max<std::int64_t>(0, duration.count());
  if (ms < 10'000) {
    const double seconds = static_cast<double>(ms) / 1000;
    std::string text = fmt::format("{:.1f}", seconds);
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text + "s";
  }
  const std::int64_t seconds = ms / 1000;
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) {
    return seconds % 60 == 0 ? fmt::format("{}m", seconds / 60)
                             : fmt::format("{}m{}s", seconds / 60, seconds % 60);
  }
  const std::int64_t minutes = seconds / 60;
  return minutes % 60 == 0 ? fmt::format("{}h", minutes / 60)
                           : fmt::format("{}h{}m", minutes / 60, minutes % 60);
}

std::optional<std::chrono::sys_seconds> ParseTimestamp(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00";
  if (text.size() <= kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (kForm[i] == '0' ? std::isdigit(c) == 0 : std::toupper(c) != kForm[i]) return std::nullopt;
  }
  const auto part = [&](std::size_t at, std::size_t digits) {
    return *ParseNumber<unsigned>(text.substr(at, digits));
  };
  const std::chrono::year_month_day day{std::chrono::year(static_cast<int>(part(0, 4))),
                                        std::chrono::month(part(5, 2)),
                                        std::chrono::day(part(8, 2))};
  const unsigned hour = part(11, 2);
  const unsigned minute = part(14, 2);
  const unsigned second = part(17, 2);
  std::string_view zone = text.substr(kForm.size());
  if (zone.starts_with('.')) {
    const auto end = std::min(zone.find_first_not_of("0123456789", 1), zone.size());
    if (end == 1) return std::nullopt;
    zone.remove_prefix(end);
  }
  const auto offset = ParseOffset(zone);
  if (!day.ok() || hour > 23 || minute > 59 || second > 60 || !offset) return std::nullopt;
  const std::chrono::sys_seconds time = std::chrono::sys_days(day) + std::chrono::hours(hour) +
                                        std::chrono::minutes(minute) +
                                        std::chrono::seconds(second) - *offset;
  // "Never" is often written as the year 9999, which in system_clock's nanoseconds overflows.
  using std::chrono::January;
  constexpr std::chrono::sys_seconds kFirst =
      std::chrono::sys_days(std::chrono::year(1678) / January / 1);
  constexpr std::chrono::sys_seconds kLast =
      std::chrono::sys_days(std::chrono::year(2262) / January / 1);
  return std::clamp(time, kFirst, kLast);
}

std::string FormatRanges(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(numbers[i]);
    if (end > i) text += "-" + std::to_string(numbers[end]);
    i = end + 1;
  }
  return text;
}

std::string NearestWord(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongestWord = 64;  // keeps a hostile key from costing quadratic time
  if (word.empty() || word.size() > kLongestWord) return {};
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string ShellQuote(std::string_view text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), IsPlainShellCharacter)) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string VisibleControls(std::string_view text) {
  std::string visible;
  visible.reserve(text.size());
  const auto is_plain = [](char c) { return (c >= ' ' && c <= '~') || c == '\t'; };
  for (std::size_t at = 0; at < text.size();) {
    // Nearly all texts are plain throughout, and a plan shows tens of thousands of them.
    const std::string_view rest = text.substr(at);
    const auto run = static_cast<std::size_t>(std::find_if_not(rest.begin(), rest.end(), is_plain) -
                                              rest.begin());
    visible += rest.substr(0, run);
    at += run;
    if (at == text.size()) break;
    const Character character = CharacterAt(text, at);
    if (!character.valid || IsControl(character.code) || IsHidden(character.code)) {
      visible += Visible(character);
    } else {
      visible += text.substr(at, character.size);
    }
    at += character.size;
  }
  return visible;
}

std::string Plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string Sentence(std::string_view clause) {
  std::string text(clause);
  if (text.empty()) return text;
  if (!text.starts_with("podctl ") && text[0] >= 'a' && text[0] <= 'z') {
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  }
  if (std::string_view(".!?:;,`)\n").find(text.back()) == std::string_view::npos) text += '.';
  return text;
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::vector<std::string_view> Split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (auto at = text.find(separator); at != std::string_view::npos; at = text.find(separator)) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  parts.push_back(text);
  return parts;
}

std::vector<std::string> SplitWords(std::string_view text) {
  const auto words = Split(text, " ");
  std::vector<std::string> found(words.begin(), words.end());
  std::erase(found, "");
  return found;
}

bool IsEnvironmentName(std::string_view name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

std::vector<std::string> SplitLines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string_view TrimBlanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool HasDotParts(std::string_view path) {
  const auto parts = Split(path, "/");
  return std::any_of(parts.begin(), parts.end(), [](std::string_view part) {
    return part.empty() || part == "." || part == "..";
  });
}

}  // namespace podctl
