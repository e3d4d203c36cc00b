#include "providers/emulator/api/json_place.h"

#include <algorithm>

namespace podctl::emulator {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // The place of the value under `path`, from the value at `at`.
  std::size_t Find(std::size_t at, const std::vector<std::string>& path, std::size_t depth) {
    at = SkipBlanks(at);
    if (depth == path.size() || at >= text_.size()) return at;
    const char open = text_[at];
    if (open != '{' && open != '[') return at;
    std::size_t index = 0;
    for (std::size_t next = SkipBlanks(at + 1); next < text_.size(); ++index) {
      if (text_[next] == '}' || text_[next] == ']') break;
      std::string key = std::to_string(index);
      if (open == '{') {
        const std::size_t end = SkipString(next);
        key = text_.substr(next + 1, end - next - 2);
        next = SkipBlanks(end) + 1;  // the colon
      }
      if (key == path[depth]) return Find(next, path, depth + 1);
      next = SkipBlanks(SkipValue(SkipBlanks(next)));
      if (next < text_.size() && text_[next] == ',') next = SkipBlanks(next + 1);
    }
    return at;
  }

 private:
  std::size_t SkipBlanks(std::size_t at) const {
    while (at < text_.size() && std::string_view(" \t\r\n").find(text_[at]) != std::string::npos) {
      ++at;
    }
    return at;
  }
  std::size_t SkipString(std::size_t at) const {
    for (++at; at < text_.size() && text_[at] != '"'; ++at) {
      if (text_[at] == '\\') ++at;
    }
    return std::min(at + 1, text_.size());
  }
  std::size_t SkipValue(std::size_t at) const {
    int depth = 0;
    while (at < text_.size()) {
      const char c = text_[at];
      if (c == '"') {
        at = SkipString(at);
        if (depth == 0) return at;
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (depth == 0 && (c == ',' || c == '}' || c == ']')) return at;
      if (c == '}' || c == ']') {
        ++at;
        if (--depth == 0) return at;
        continue;
      }
      ++at;
    }
    return at;
  }

  const std::string_view text_;
};

}  // namespace

TextPlace PlaceOfByte(std::string_view text, std::size_t byte) {
  TextPlace place;
  for (const char c : text.substr(0, byte)) {
    place.column = c == '\n' ? 1 : place.column + 1;
    if (c == '\n') ++place.line;
  }
  return place;
}

TextPlace PlaceInJson(std::string_view text, const std::vector<std::string>& path) {
  return PlaceOfByte(text, Scanner(text).Find(0, path, 0));
}

}  // namespace podctl::emulator
