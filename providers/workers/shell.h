// What every shell text for a worker needs. Knows nothing of what the texts do.
#pragma once

#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <system_error>

namespace podctl {

// `script` as one word handed to /bin/sh, so that it does not matter which login shell the user
// has. It shows in the worker's process list, so nothing secret may stand in it.
std::string InPlainShell(const std::string& script);

// A line "export NAME=VALUE" for each.
std::string ExportLines(const std::map<std::string, std::string>& variables);

namespace workers {

// POSIX shell: sets $root to the words that make a command run as root: nothing for root itself,
// "sudo -n" where that asks for no password, else "none".
extern const char* const kFindRoot;
// POSIX shell, to be run as root where that can be had: one line for each process that holds the
// TPU or libtpu's lock file, and for each file that it holds:
//   holder PID START USER SECONDS OWNER FILE COMMAND…
// START is the process's start in ticks since boot; OWNER is "-", "runtime", "startup-script" or
// "job:NAME". "$1" is the main process of tpu-runtime, or 0; "$2" the folder below which /dev and
// /tmp are looked for: "" but in tests. Holds no single quote.
extern const char* const kScanHolders;

}  // namespace workers

}  // namespace podctl

namespace podctl::workers {

// ---- The words of the lines in which the shell texts of this room answer.

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
