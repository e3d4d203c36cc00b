// Two texts of several lines, compared for people: what went, what came, a little of what stayed.
#pragma once

#include <string>
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

}  // namespace podctl
