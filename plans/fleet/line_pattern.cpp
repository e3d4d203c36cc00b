#include "plans/fleet/line_pattern.h"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr std::size_t kLongestPattern = 1000;
// A pattern may begin at each byte and go on to the last one.
constexpr std::size_t kLongestMatched = std::size_t{16} << 10;
// Of all repetitions together, as if each stood within the others: what the automaton grows to.
constexpr int kMostRepetitions = 1000;

// Why it might take too long, or too much memory.
std::optional<std::string> WhyTooLarge(std::string_view pattern) {
  if (pattern.size() > kLongestPattern) {
    return fmt::format("has more than {} bytes", kLongestPattern);
  }
  int repeated = 1;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
      if (i < pattern.size() && std::isdigit(static_cast<unsigned char>(pattern[i])) != 0) {
        return "has a back-reference, which may take for ever";
      }
    } else if (pattern[i] == '{') {
      int most = 0;
      for (++i; i < pattern.size() && pattern[i] != '}'; ++i) {
        const std::size_t end = pattern.find_first_not_of("0123456789", i);
        const auto number = ParseNumber<int>(pattern.substr(i, end - i));
        if (!number) continue;
        most = std::max(most, std::min(*number, kMostRepetitions + 1));
        i = std::min(end, pattern.size()) - 1;
      }
      repeated = std::min(kMostRepetitions + 1, repeated * std::max(1, most));
    }
  }
  if (repeated <= kMostRepetitions) return std::nullopt;
  return fmt::format("repeats more than {} times, all its {{}} taken together", kMostRepetitions);
}

}  // namespace

struct LinePattern::Compiled {
  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    if (is_whole) ::regfree(&regex);
  }
  regex_t regex{};
  bool is_whole = false;
};

Result<LinePattern> LinePattern::Parse(const std::string& text) {
  const auto bad = [&](const std::string& why) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("the pattern `{}` {}", VisibleControls(text.substr(0, kLongestPattern)), why),
        "It is read as by `grep -E`: quote it, and write \\. for a dot.");
  };
  if (text.empty()) return bad("is empty");
  if (text.find('\0') != std::string::npos) return bad("holds a NUL");
  if (const auto why = WhyTooLarge(text)) return bad(*why);
  auto compiled = std::make_shared<Compiled>();
  const int problem = ::regcomp(&compiled->regex, text.c_str(), REG_EXTENDED);
  if (problem != 0) {
    std::array<char, 200> words{};
    ::regerror(problem, &compiled->regex, words.data(), words.size());
    return bad(fmt::format("cannot be read: {}", words.data()));
  }
  compiled->is_whole = true;
  return LinePattern(std::move(compiled));
}

bool LinePattern::Matches(std::string_view line) const {
  // A copy, since POSIX's regexec reads up to a NUL: REG_STARTEND is glibc's own, which the address
  // sanitizer does not know of.
  const std::string text(line.substr(0, kLongestMatched));
  regmatch_t whole{};
  whole.rm_eo = static_cast<regoff_t>(text.size());
  // With its length, since a NUL may stand within it, too.
  return ::regexec(&compiled_->regex, text.c_str(), 1, &whole, REG_STARTEND) == 0;
}

}  // namespace podctl
