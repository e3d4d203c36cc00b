#include "cmd/command_line.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "providers/base/text.h"

namespace podctl {
namespace {

// What they are given may be a secret.
constexpr std::array<std::string_view, 2> kAssigning = {"--var", "--env"};
constexpr std::string_view kHiddenValue = "…";
constexpr std::size_t kLongestLine = 1000;

// "NAME=VALUE"; a name alone stays as it is.
std::string WithoutValue(std::string_view assignment) {
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos) return std::string(assignment);
  return std::string(assignment.substr(0, equals)) + "=" + std::string(kHiddenValue);
}

bool IsAssigning(std::string_view flag) {
  return std::find(kAssigning.begin(), kAssigning.end(), flag) != kAssigning.end();
}

// A password may stand in a URL, before the `@`, and a key behind the `?`.
std::string WithoutPassword(std::string word) {
  const auto scheme = word.find("://");
  if (scheme == std::string::npos) return word;
  const auto query = word.find_first_of("?#", scheme);
  if (query != std::string::npos) word = word.substr(0, query + 1) + std::string(kHiddenValue);
  const auto at = word.rfind('@');
  if (at == std::string::npos || at < scheme) return word;
  return word.substr(0, scheme + 3) + std::string(kHiddenValue) + word.substr(at);
}

}  // namespace

std::string CommandLineForOthers(const std::vector<std::string>& words) {
  std::string line = "podctl";
  bool value_next = false;
  for (const std::string& word : words) {
    std::string shown;
    if (word == "--") {
      shown = "-- " + std::string(kHiddenValue);
    } else if (value_next) {
      shown = WithoutValue(word);
    } else if (IsAssigning(word.substr(0, word.find('='))) && !IsAssigning(word)) {
      const auto equals = word.find('=');
      shown = word.substr(0, equals + 1) + WithoutValue(std::string_view(word).substr(equals + 1));
    } else {
      shown = ShellQuote(WithoutPassword(word));
    }
    if (line.size() + shown.size() > kLongestLine) return line + " " + std::string(kHiddenValue);
    line += " " + shown;
    if (word == "--") break;
    value_next = !value_next && IsAssigning(word);
  }
  return line;
}

std::string PlaceFlags(const GlobalOptions& options) {
  std::string flags;
  for (const std::string& file : options.files) flags += " -f " + ShellQuote(file);
  if (options.recursive) flags += " -R";
  if (!options.state.empty()) flags += " --state " + ShellQuote(options.state);
  return flags;
}

}  // namespace podctl
