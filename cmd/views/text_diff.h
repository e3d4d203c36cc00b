// Two texts of several lines, compared for people: what went, what came, a little of what stayed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace podctl {

struct DiffLine {
  enum class Kind { kSame, kGone, kNew, kSkipped };  // kSkipped: `text` says how many are left out
  Kind kind = Kind::kSame;
  std::string text;
};

// The longest common lines are kept; of those that are the same, two stay on each side of a change.
// Empty when either text is too long to compare (over 500 lines).
std::vector<DiffLine> DiffLines(const std::string& before, const std::string& after);

// ---- Two texts of any length compared line by line, as `diff -u` shows it. For two values of a
// few lines, shown without places, there is the one above.

struct DiffText {
  std::string name;
  std::string_view text;
};

// The lines of the difference, each without its newline: "--- NAME", "+++ NAME", then hunks with
// three lines around each change. Empty when the texts are equal. nullopt when more than 1,000
// lines went and came: to compare on would cost more than it tells.
std::optional<std::vector<std::string>> UnifiedDiff(const DiffText& before, const DiffText& after);

}  // namespace podctl
