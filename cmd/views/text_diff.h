// Two texts compared line by line, as `diff -u` shows it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace podctl {

struct DiffText {
  std::string name;
  std::string_view text;
};

// The lines of the difference, each without its newline: "--- NAME", "+++ NAME", then hunks with
// three lines around each change. Empty when the texts are equal. nullopt when more than 1,000
// lines went and came: to compare on would cost more than it tells.
std::optional<std::vector<std::string>> UnifiedDiff(const DiffText& before, const DiffText& after);

// The hunks alone, for who says elsewhere what is compared.
std::optional<std::vector<std::string>> DiffHunks(std::string_view before, std::string_view after);

}  // namespace podctl
