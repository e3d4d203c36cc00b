#include "plans/from_command/shell_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "providers/base/foreign_text.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr std::string_view kOperators = "|&;<>()\n";

bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}
bool IsNameStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool IsNameChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}

  Result<ShellLine> Split() {
    SkipEmptyLines();
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (IsContinuation()) {
        at_ += ContinuationLength();
      } else if (IsBlank(c)) {
        EndWord();
        ++at_;
      } else if (c == '#' && !in_word_) {
        SkipComment();
      } else if (kOperators.find(c) != std::string_view::npos) {
        EndCommand();
        break;
      } else {
        in_word_ = true;
        if (!TakePart(c)) {
          return MakeError(ErrorCode::kInvalidArgument,
                           fmt::format("the line has an open {}", open_),
                           "Give it as one word of the shell, in single quotes.");
        }
      }
    }
    EndWord();
    if (line_.words.empty()) {
      return MakeError(ErrorCode::kInvalidArgument, "there is no command in the line");
    }
    return std::move(line_);
  }

 private:
  // A backslash at the end of a line, CR or not.
  bool IsContinuation() const {
    return text_.substr(at_, 2) == "\\\n" || text_.substr(at_, 3) == "\\\r\n";
  }
  std::size_t ContinuationLength() const { return text_[at_ + 1] == '\r' ? 3 : 2; }

  // Before the command; and a prompt that was copied with it.
  void SkipEmptyLines() {
    while (at_ < text_.size() && (IsBlank(text_[at_]) || text_[at_] == '\n')) ++at_;
    if (text_.substr(at_, 2) == "$ ") at_ += 2;
  }

  void SkipComment() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  void EndWord() {
    if (in_word_) line_.words.push_back(std::move(word_));
    word_.clear();
    in_word_ = false;
  }

  // Only what says something follows: blanks, empty lines and comments are no rest.
  void EndCommand() {
    EndWord();
    const std::string_view rest = TrimBlanks(text_.substr(at_));
    if (rest == ";" || rest.starts_with('#')) return;
    line_.rest = std::string(rest);
  }

  bool TakePart(char c) {
    switch (c) {
      case '\'':
        return TakeSingleQuotes();
      case '"':
        return TakeDoubleQuotes();
      case '\\':
        if (at_ + 1 >= text_.size()) {
          open_ = "backslash";
          return false;
        }
        word_ += text_[at_ + 1];
        at_ += 2;
        return true;
      case '$':
      case '`':
        return TakeExpansion();
      default:
        word_ += c;
        ++at_;
        return true;
    }
  }

  bool TakeSingleQuotes() {
    const auto end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos) {
      open_ = "single quote";
      return false;
    }
    word_ += text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return true;
  }

  bool TakeDoubleQuotes() {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      const char c = text_[at_];
      if (IsContinuation()) {
        at_ += ContinuationLength();
      } else if (c == '\\' && at_ + 1 < text_.size() &&
                 std::string_view("$`\"\\").find(text_[at_ + 1]) != std::string_view::npos) {
        word_ += text_[at_ + 1];
        at_ += 2;
      } else if (c == '$' || c == '`') {
        if (!TakeExpansion()) return false;
      } else {
        word_ += c;
        ++at_;
      }
    }
    if (at_ >= text_.size()) {
      open_ = "double quote";
      return false;
    }
    ++at_;
    return true;
  }

  // `$NAME`, `${…}`, `$(…)`, a command in backquotes, or just a dollar: kept as it stands.
  bool TakeExpansion() {
    const std::size_t begin = at_;
    if (text_[at_] == '`') {
      if (!SkipTo('`', at_ + 1)) return false;
    } else if (text_.substr(at_, 2) == "$(") {
      if (!SkipNested('(', ')')) return false;
    } else if (text_.substr(at_, 2) == "${") {
      if (!SkipNested('{', '}')) return false;
    } else {
      ++at_;
      if (at_ < text_.size() && IsNameStart(text_[at_])) {
        while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
      } else if (at_ < text_.size() &&
                 (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 ||
                  std::string_view("@*#?-$!").find(text_[at_]) != std::string_view::npos)) {
        ++at_;
      } else {
        word_ += '$';
        return true;
      }
    }
    const std::string expansion(text_.substr(begin, at_ - begin));
    word_ += expansion;
    auto& known = line_.expansions;
    if (std::find(known.begin(), known.end(), expansion) == known.end()) known.push_back(expansion);
    return true;
  }

  bool SkipTo(char end, std::size_t from) {
    const auto found = text_.find(end, from);
    if (found == std::string_view::npos) {
      open_ = "backquote";
      return false;
    }
    at_ = found + 1;
    return true;
  }

  bool SkipNested(char opens, char closes) {
    std::size_t depth = 0;
    for (std::size_t i = at_ + 1; i < text_.size(); ++i) {
      if (text_[i] == opens) ++depth;
      if (text_[i] == closes && --depth == 0) {
        at_ = i + 1;
        return true;
      }
    }
    open_ = opens == '(' ? "`$(`" : "`${`";
    return false;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  bool in_word_ = false;
  std::string word_;
  std::string open_;  // what was not closed
  ShellLine line_;
};

}  // namespace

Result<ShellLine> SplitShellLine(std::string_view text) {
  if (text.size() > kMostLineBytes) {
    return MakeError(ErrorCode::kInvalidArgument, "the line is longer than 128 KiB");
  }
  if (FindInvalidUtf8(text) != std::string_view::npos) {
    return MakeError(ErrorCode::kInvalidArgument, "the line is no UTF-8 text");
  }
  return Splitter(text).Split();
}

}  // namespace podctl
