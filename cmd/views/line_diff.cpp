#include "cmd/views/line_diff.h"

#include <algorithm>

#include "providers/base/text.h"

namespace podctl {
namespace {

using Kind = DiffLine::Kind;
constexpr std::size_t kMostLines = 500;
constexpr std::size_t kContext = 2;

// length[i][j]: the longest common lines of a from i on and b from j on.
std::vector<std::vector<std::size_t>> CommonLengths(const std::vector<std::string>& a,
                                                    const std::vector<std::string>& b) {
  std::vector<std::vector<std::size_t>> length(a.size() + 1,
                                               std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      length[i][j] =
          a[i] == b[j] ? length[i + 1][j + 1] + 1 : std::max(length[i + 1][j], length[i][j + 1]);
    }
  }
  return length;
}

// Leaves out lines that are the same and far from any change.
std::vector<DiffLine> Shorten(const std::vector<DiffLine>& lines) {
  std::vector<DiffLine> kept;
  std::size_t skipped = 0;
  const auto flush = [&] {
    if (skipped > 0) kept.push_back({Kind::kSkipped, Plural(skipped, "unchanged line")});
    skipped = 0;
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t from = i < kContext ? 0 : i - kContext;
    const std::size_t to = std::min(lines.size(), i + kContext + 1);
    const bool near = std::any_of(lines.begin() + static_cast<std::ptrdiff_t>(from),
                                  lines.begin() + static_cast<std::ptrdiff_t>(to),
                                  [](const DiffLine& line) { return line.kind != Kind::kSame; });
    if (!near) {
      ++skipped;
      continue;
    }
    flush();
    kept.push_back(lines[i]);
  }
  flush();
  return kept;
}

}  // namespace

std::vector<DiffLine> DiffLines(const std::string& before, const std::string& after) {
  const std::vector<std::string> a = SplitLines(before);
  const std::vector<std::string> b = SplitLines(after);
  if (a.size() > kMostLines || b.size() > kMostLines) return {};
  const auto length = CommonLengths(a, b);
  std::vector<DiffLine> lines;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      lines.push_back({Kind::kSame, a[i++]});
      ++j;
    } else if (j == b.size() || (i < a.size() && length[i + 1][j] >= length[i][j + 1])) {
      lines.push_back({Kind::kGone, a[i++]});
    } else {
      lines.push_back({Kind::kNew, b[j++]});
    }
  }
  return Shorten(lines);
}

}  // namespace podctl
