#include "cmd/views/text_diff.h"

#include <fmt/format.h>

#include <algorithm>

namespace podctl {
namespace {

constexpr int kMostChanges = 1'000;
constexpr std::size_t kContext = 3;

using Lines = std::vector<std::string_view>;

// With their newlines, so that a last line without one is another line.
Lines LinesOf(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::size_t size = end == std::string_view::npos ? text.size() : end + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

// One step from the beginning of both texts to their ends.
enum class DiffStep : char { kSame = ' ', kGone = '-', kNew = '+' };

// The shortest way (E. W. Myers, "An O(ND) Difference Algorithm and Its Variations", 1986). x and y
// count lines of `a` and `b`; k = x - y is the diagonal; furthest[d][k + d] is the x that d changes
// reach on it.
class ShortestWay {
 public:
  ShortestWay(const Lines& a, const Lines& b)
      : a_(a), b_(b), width_(static_cast<int>(a.size())), height_(static_cast<int>(b.size())) {}

  std::optional<std::vector<DiffStep>> Find() {
    for (int changes = 0; changes <= std::min(width_ + height_, kMostChanges); ++changes) {
      furthest_.emplace_back(static_cast<std::size_t>(2 * changes + 1), -1);
      for (int k = -changes; k <= changes; k += 2) {
        int x = changes == 0 ? 0 : Enter(changes, k);
        while (x < width_ && x - k < height_ && a_[Index(x)] == b_[Index(x - k)]) ++x;
        furthest_.back()[Index(k + changes)] = x;
        if (x >= width_ && x - k >= height_) return Back(changes);
      }
    }
    return std::nullopt;
  }

 private:
  static std::size_t Index(int number) { return static_cast<std::size_t>(number); }
  int Furthest(int changes, int k) const {
    if (k < -changes || k > changes) return -1;
    return furthest_[Index(changes)][Index(k + changes)];
  }
  // Whether the best way onto diagonal `k` with `changes` takes a line of `b`, from above.
  bool FromAbove(int changes, int k) const {
    return k == -changes ||
           (k != changes && Furthest(changes - 1, k - 1) < Furthest(changes - 1, k + 1));
  }
  int Enter(int changes, int k) const {
    return FromAbove(changes, k) ? Furthest(changes - 1, k + 1) : Furthest(changes - 1, k - 1) + 1;
  }
  std::vector<DiffStep> Back(int changes) const {
    std::vector<DiffStep> steps;
    int x = width_;
    int k = width_ - height_;
    for (; changes > 0; --changes) {
      const bool above = FromAbove(changes, k);
      const int entered = Enter(changes, k);
      steps.insert(steps.end(), Index(x - entered), DiffStep::kSame);
      steps.push_back(above ? DiffStep::kNew : DiffStep::kGone);
      x = above ? entered : entered - 1;
      k += above ? 1 : -1;
    }
    steps.insert(steps.end(), Index(x), DiffStep::kSame);
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

  const Lines& a_;
  const Lines& b_;
  const int width_;
  const int height_;
  std::vector<std::vector<int>> furthest_;
};

// Where a hunk begins and how long it is, in one of the texts.
std::string Range(std::size_t begin, std::size_t count) {
  if (count == 1) return std::to_string(begin + 1);
  return fmt::format("{},{}", count == 0 ? begin : begin + 1, count);
}

class HunkWriter {
 public:
  HunkWriter(const Lines& a, const Lines& b, std::vector<std::string>* lines)
      : a_(a), b_(b), lines_(lines) {}

  // `skipped` equal lines come before the first step.
  void Write(const std::vector<DiffStep>& steps, std::size_t skipped) {
    std::size_t x = skipped;
    std::size_t y = skipped;
    for (std::size_t i = 0; i < steps.size();) {
      const std::size_t change = NextChange(steps, i);
      if (change == steps.size()) return;
      const std::size_t begin = std::max(i, change - std::min(change, kContext));
      x += begin - i;
      y += begin - i;
      std::size_t end = change;
      for (std::size_t next = change; next < steps.size() && next - end <= 2 * kContext;
           next = NextChange(steps, next)) {
        end = ++next;
      }
      end = std::min(steps.size(), end + kContext);
      Hunk({steps.begin() + static_cast<std::ptrdiff_t>(begin),
            steps.begin() + static_cast<std::ptrdiff_t>(end)},
           x, y);
      i = end;
    }
  }

 private:
  static std::size_t NextChange(const std::vector<DiffStep>& steps, std::size_t from) {
    while (from < steps.size() && steps[from] == DiffStep::kSame) ++from;
    return from;
  }

  void Hunk(const std::vector<DiffStep>& steps, std::size_t& x, std::size_t& y) {
    const std::size_t head = lines_->size();
    const std::size_t from_x = x;
    const std::size_t from_y = y;
    lines_->emplace_back();
    for (const DiffStep step : steps) {
      std::string_view line = step == DiffStep::kNew ? b_[y] : a_[x];
      if (step != DiffStep::kNew) ++x;
      if (step != DiffStep::kGone) ++y;
      const bool ended = line.ends_with('\n');
      if (ended) line.remove_suffix(1);
      lines_->push_back(static_cast<char>(step) + std::string(line));
      if (!ended) lines_->emplace_back("\\ No newline at end of file");
    }
    (*lines_)[head] =
        fmt::format("@@ -{} +{} @@", Range(from_x, x - from_x), Range(from_y, y - from_y));
  }

  const Lines& a_;
  const Lines& b_;
  std::vector<std::string>* lines_;
};

}  // namespace

std::optional<std::vector<std::string>> UnifiedDiff(const DiffText& before, const DiffText& after) {
  const Lines a = LinesOf(before.text);
  const Lines b = LinesOf(after.text);
  std::size_t head = 0;
  while (head < std::min(a.size(), b.size()) && a[head] == b[head]) ++head;
  std::size_t tail = 0;
  while (tail < std::min(a.size(), b.size()) - head &&
         a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) {
    ++tail;
  }
  std::vector<std::string> lines;
  if (head == a.size() && head == b.size()) return lines;
  const std::size_t skipped = head - std::min(head, kContext);
  const std::size_t left = tail - std::min(tail, kContext);
  const auto part = [&](const Lines& all) {
    return Lines(all.begin() + static_cast<std::ptrdiff_t>(skipped),
                 all.end() - static_cast<std::ptrdiff_t>(left));
  };
  const Lines part_a = part(a);
  const Lines part_b = part(b);
  const auto steps = ShortestWay(part_a, part_b).Find();
  if (!steps) return std::nullopt;
  lines = {"--- " + before.name, "+++ " + after.name};
  HunkWriter(a, b, &lines).Write(*steps, skipped);
  return lines;
}

std::optional<std::vector<std::string>> DiffHunks(std::string_view before, std::string_view after) {
  auto lines = UnifiedDiff({"", before}, {"", after});
  constexpr std::ptrdiff_t kNames = 2;
  if (lines && !lines->empty()) lines->erase(lines->begin(), lines->begin() + kNames);
  return lines;
}

}  // namespace podctl
