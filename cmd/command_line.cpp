#include "cmd/command_line.h"

#include <string_view>

#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr std::string_view kVar = "--var";
constexpr std::string_view kHidden = "…";
constexpr std::size_t kMostBytes = 1000;

std::string WithoutValue(std::string_view assignment) {
  return std::string(assignment.substr(0, assignment.find('='))) + "=" + std::string(kHidden);
}

// A password may stand in a URL, before the `@`.
std::string WithoutPassword(const std::string& word) {
  const auto scheme = word.find("://");
  const auto at = word.rfind('@');
  if (scheme == std::string::npos || at == std::string::npos || at < scheme) return word;
  return word.substr(0, scheme + 3) + std::string(kHidden) + word.substr(at);
}

}  // namespace

std::string CommandLineForOthers(const std::vector<std::string>& words) {
  std::string line = "podctl";
  bool value_next = false;
  for (const std::string& word : words) {
    std::string shown;
    if (word == "--") {
      shown = "-- " + std::string(kHidden);
    } else if (value_next) {
      shown = WithoutValue(word);
    } else if (word.starts_with("--var=")) {
      shown =
          std::string(kVar) + "=" + WithoutValue(std::string_view(word).substr(kVar.size() + 1));
    } else {
      shown = ShellQuote(WithoutPassword(word));
    }
    if (line.size() + shown.size() > kMostBytes) return line + " " + std::string(kHidden);
    line += " " + shown;
    if (word == "--") break;
    value_next = !value_next && word == kVar;
  }
  return line;
}

}  // namespace podctl
