// The words of a table's cell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace podctl {

// "1 2 4" -> {"1", "2", "4"}. Words are parted by one blank each.
inline std::vector<std::string> SplitWords(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const auto blank = text.find(' ');
    words.emplace_back(text.substr(0, blank));
    if (blank == std::string_view::npos) break;
    text.remove_prefix(blank + 1);
  }
  return words;
}

}  // namespace podctl
