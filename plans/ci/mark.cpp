#include "plans/ci/mark.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <map>
#include <utility>
#include <vector>

#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr std::string_view kBegin = "<!-- podctl ci ";
constexpr std::string_view kDriftBegin = "<!-- podctl drift ";
constexpr std::string_view kEnd = " -->";
constexpr std::array<std::string_view, 6> kStates = {"planned", "plan-failed",  "refused",
                                                     "applied", "apply-failed", "text"};

// Within an HTML comment nothing may look like its end, and blanks separate.
std::string Encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' ||
                       c == '/' || c == ':';
    if (plain) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::optional<std::string> Decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    unsigned byte = 0;
    const char* const end = text.data() + std::min(i + 3, text.size());
    const auto [rest, error] = std::from_chars(text.data() + i + 1, end, byte, 16);
    if (error != std::errc() || rest != text.data() + i + 3) return std::nullopt;
    decoded += static_cast<char>(byte);
    i += 2;
  }
  return decoded;
}

// Where the last line that is not blank begins, and where it ends.
std::pair<std::size_t, std::size_t> LastLine(std::string_view text) {
  const auto last = text.find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos) return {0, 0};
  const auto newline = text.rfind('\n', last);
  return {newline == std::string_view::npos ? 0 : newline + 1, last + 1};
}

std::string_view LineOf(std::string_view text) {
  const auto [begin, end] = LastLine(text);
  return text.substr(begin, end - begin);
}

}  // namespace

std::string MarkLine(const CommentMark& mark) {
  std::string line(kBegin);
  line += "project=" + Encoded(mark.project);
  line += fmt::format(" state={}", kStates[static_cast<std::size_t>(mark.state)]);
  if (!mark.digest.empty()) line += " digest=" + Encoded(mark.digest);
  if (!mark.commit.empty()) line += " commit=" + Encoded(mark.commit);
  return line.append(kEnd);
}

std::optional<CommentMark> FindMark(std::string_view text) {
  std::string_view line = LineOf(text);
  if (!line.starts_with(kBegin) || !line.ends_with(kEnd)) return std::nullopt;
  line.remove_prefix(kBegin.size());
  line.remove_suffix(kEnd.size());
  std::map<std::string_view, std::string> members;
  for (const std::string_view word : Split(line, " ")) {
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    auto value = Decoded(word.substr(equals + 1));
    if (!value || !members.emplace(word.substr(0, equals), *value).second) return std::nullopt;
  }
  if (!members.contains("project")) return std::nullopt;
  CommentMark mark{members["project"], CommentMark::State::kText, members["digest"],
                   members["commit"]};
  for (std::size_t i = 0; i < kStates.size(); ++i) {
    if (members["state"] != kStates[i]) continue;
    mark.state = static_cast<CommentMark::State>(i);
    return mark;
  }
  return std::nullopt;  // of a newer podctl, which it means otherwise
}

std::string WithoutMark(std::string_view text) {
  if (!FindMark(text)) return std::string(text);
  return std::string(text.substr(0, LastLine(text).first));
}

std::string DriftMarkLine(const std::string& project) {
  return fmt::format("{}project={}{}", kDriftBegin, Encoded(project), kEnd);
}

bool HasDriftMark(std::string_view text, const std::string& project) {
  return LineOf(text) == DriftMarkLine(project);
}

namespace {

// What a text that ends here has open.
class OpenMarkup {
 public:
  void Add(std::string_view line) {
    const auto ticks = line.find_first_not_of('`') == std::string_view::npos
                           ? line.size()
                           : line.find_first_not_of('`');
    if (fence_ == 0 && ticks >= 3) {
      fence_ = ticks;
    } else if (fence_ > 0 && ticks >= fence_ && ticks == line.size()) {
      fence_ = 0;
    }
    if (fence_ > 0) return;
    if (line.find("<details>") != std::string_view::npos) ++folds_;
    if (line.find("</details>") != std::string_view::npos && folds_ > 0) --folds_;
  }
  std::string Closing() const {
    std::string text;
    if (fence_ > 0) text += std::string(fence_, '`') + "\n";
    for (int i = 0; i < folds_; ++i) text += "\n</details>\n";
    return text;
  }

 private:
  std::size_t fence_ = 0;
  int folds_ = 0;
};

}  // namespace

std::string MarkedText(const std::string& text, const std::string& mark_line, std::size_t most) {
  const std::string end = "\n" + mark_line + "\n";
  if (text.size() + end.size() <= most) return text + end;
  constexpr std::size_t kNote = 100;
  const std::size_t room = most > end.size() + kNote ? most - end.size() - kNote : 0;
  std::string cut;
  OpenMarkup open;
  const auto lines = SplitLines(text);
  std::size_t shown = 0;
  for (; shown < lines.size(); ++shown) {
    OpenMarkup with_it = open;
    with_it.Add(lines[shown]);
    // A fence is closed by one as long, which may be half of all.
    if (cut.size() + lines[shown].size() + 1 + with_it.Closing().size() > room) break;
    cut += lines[shown] + "\n";
    open = with_it;
  }
  cut += open.Closing();
  cut += fmt::format("\nThis is too long for a comment; {} not shown here.\n",
                     lines.size() - shown == 1 ? std::string("1 line is")
                                               : fmt::format("{} lines are", lines.size() - shown));
  return cut + end;
}

}  // namespace podctl
