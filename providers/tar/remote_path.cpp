#include "providers/tar/remote_path.h"

#include <algorithm>
#include <cctype>

#include "providers/base/text.h"

namespace podctl::tar {
namespace {

constexpr std::string_view kPatternCharacters = "*?[]";

bool IsUserName(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

// "~" or "~alice", where the path begins so.
std::string_view HomeOf(std::string_view path) {
  const std::string_view first = path.substr(0, path.find('/'));
  return first.starts_with('~') && IsUserName(first.substr(1)) ? first : std::string_view();
}

enum class Meaning { kPattern, kNegation, kPlain, kOther };

Meaning MeaningAt(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (kPatternCharacters.find(c) != std::string_view::npos) return Meaning::kPattern;
  // Shells do not agree on `^`; both are understood as the `!` of POSIX.
  if ((c == '!' || c == '^') && at > 0 && text[at - 1] == '[') return Meaning::kNegation;
  return ShellQuote(text.substr(at, 1)).size() == 1 ? Meaning::kPlain : Meaning::kOther;
}

}  // namespace

bool MayMeanSeveral(std::string_view path) {
  return path.find_first_of("*?[") != std::string_view::npos;
}

std::string ShellWord(std::string_view path, bool patterns) {
  const std::string_view home = HomeOf(path);
  std::string word(home);
  path.remove_prefix(home.size());
  if (!patterns) return path.empty() ? word : word + ShellQuote(path);
  // Only what must be is quoted: within [ ] a quoted `-` is no range any more.
  for (std::size_t at = 0; at < path.size();) {
    const Meaning meaning = MeaningAt(path, at);
    if (meaning != Meaning::kOther) {
      word += meaning == Meaning::kNegation ? '!' : path[at];
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < path.size() && MeaningAt(path, at) == Meaning::kOther) ++at;
    word += ShellQuote(path.substr(begin, at - begin));
  }
  return word;
}

std::string NameOf(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path.empty() || HomeOf(path) == path) return {};
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name == "." || name == ".." ? std::string() : std::string(name);
}

std::string MatchPattern(std::string_view name) {
  std::string pattern;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const Meaning meaning = MeaningAt(name, at);
    if (meaning == Meaning::kOther) pattern += '\\';
    pattern += meaning == Meaning::kNegation ? '!' : name[at];
  }
  return pattern;
}

}  // namespace podctl::tar
