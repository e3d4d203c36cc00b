// The words of the lines in which the shell texts of this room answer.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace podctl::workers {

// What stands before the first blank of `rest`, which then begins behind that blank.
inline std::string_view TakeWord(std::string_view* rest) {
  const std::size_t blank = rest->find(' ');
  const std::string_view word = rest->substr(0, blank);
  rest->remove_prefix(blank == std::string_view::npos ? rest->size() : blank + 1);
  return word;
}

// All of `word` must be a number that is not negative: the texts tell of no others.
template <typename Number>
bool ReadNumber(std::string_view word, Number* number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *number);
  return error == std::errc() && end == word.data() + word.size() && *number >= 0;
}

// Seconds that a clock can show, or a span have: more would overflow what they are reckoned with,
// nanoseconds in 64 bits.
inline constexpr std::int64_t kMostSeconds = 9'223'372'036;  // in the year 2262
inline bool ReadSeconds(std::string_view word, std::int64_t* seconds) {
  return ReadNumber(word, seconds) && *seconds >= 0 && *seconds <= kMostSeconds;
}

}  // namespace podctl::workers
