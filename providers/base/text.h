// Text that several rooms read or write in the same way: durations, worker ranges, near words,
// shell quoting. Knows nothing of files, terminals or the API.
#pragma once

#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace podctl {

// "90s", "0.5s", "250ms", "10m", "1h30m" (interface: durations are written so everywhere).
// nullopt: not a duration, negative, or over ten years.
std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text);
// "0.5s", "20s", "1m30s", "2h5m": at most two units, for people.
std::string FormatDuration(std::chrono::milliseconds duration);

// RFC 3339, with a fraction (which is passed over) or without, and with any offset from UTC;
// nullopt for anything else; kept within 1678 to 2262, which is what system_clock's times can hold.
std::optional<std::chrono::sys_seconds> ParseTimestamp(std::string_view text);

// Worker numbers as ranges: {0,1,2,5} -> "0-2,5". Input need not be sorted.
std::string FormatRanges(std::vector<int> numbers);

// The candidate nearest to `word` by edit distance, when it is near enough to be a typo; else "".
std::string NearestWord(std::string_view word, const std::vector<std::string>& candidates);

// `text` as one word of a POSIX shell: left alone when plain, else in single quotes.
std::string ShellQuote(std::string_view text);

// Control characters (C0, DEL, C1 as UTF-8) made visible as \xNN, so that a worker's output cannot
// drive the user's terminal. Tabs stay; the caller has cut the text at newlines.
std::string VisibleControls(std::string_view text);

// "1 worker", "4 workers".
std::string Plural(std::size_t count, std::string_view noun);

// A clause as a sentence: "try again later" -> "Try again later.". Left as they are: a beginning
// that is no lower-case letter, or podctl's own name; an end that is punctuation already.
std::string Sentence(std::string_view clause);

std::vector<std::string> SplitLines(std::string_view text);
std::string Join(const std::vector<std::string>& parts, std::string_view separator);
std::string_view TrimBlanks(std::string_view text);  // blanks, tabs, CR, LF at both ends
std::string LowerCase(std::string_view text);        // of ASCII

// What stands between the separators, as views of `text`; always one more than there are of them.
std::vector<std::string_view> Split(std::string_view text, std::string_view separator);
// The words of a table's cell: "1 2 4" -> {"1", "2", "4"}.
std::vector<std::string> SplitWords(std::string_view text);

// The whole of `text` as a number, as std::from_chars reads it; nullopt for anything else.
template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

// The name of an environment variable, as shells take it (POSIX.1, 3.231 Name).
bool IsEnvironmentName(std::string_view name);

// Whether a part of a path between two slashes, or at an end, is empty, `.` or `..`.
bool HasDotParts(std::string_view path);

}  // namespace podctl
