#include "cmd/views/roff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "providers/base/foreign_text.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr std::size_t kRoffLine = 78;  // bytes: mandoc's style wants no line longer than 80

// One byte of ASCII. What is a quote or a hyphen to a typesetter stays what is typed.
std::string EscapedByte(char c) {
  switch (c) {
    case '\\':
      return "\\e";
    case '-':
      return "\\-";
    case '\'':
      return "\\(aq";
    case '`':
      return "\\(ga";
    case '"':
      return "\\(dq";
    case '^':
      return "\\(ha";
    case '~':
      return "\\(ti";
    default:
      return std::string(1, c);
  }
}

// The character at `at`, which moves on.
std::string EscapedCharacter(std::string_view text, std::size_t* at) {
  constexpr char32_t kEllipsis = 0x2026;
  const Character next = CharacterAt(text, *at);
  *at += next.size;
  if (next.code < 0x80) return EscapedByte(static_cast<char>(next.code));
  return next.code == kEllipsis ? "..."
                                : fmt::format("\\[u{:04X}]", static_cast<unsigned>(next.code));
}

// A hyphen within a word is the typesetter's; one with which a flag begins is not.
std::string ProseWord(std::string_view word) {
  const bool literal = word.find("--") != std::string_view::npos || word.starts_with('-') ||
                       word.find("`-") != std::string_view::npos;
  if (literal) return RoffLiteral(word);
  std::string escaped;
  for (std::size_t at = 0; at < word.size();) {
    escaped += word[at] == '-' ? std::string(1, word[at++]) : EscapedCharacter(word, &at);
  }
  return escaped;
}

// What stands between two backticks in bold, the rest as prose.
std::string ProseText(std::string_view prose) {
  std::string roff;
  while (!prose.empty()) {
    const std::size_t begin = prose.find('`');
    const std::size_t end = begin == prose.npos ? begin : prose.find('`', begin + 1);
    for (std::string_view rest = prose.substr(0, end == prose.npos ? prose.size() : begin);
         !rest.empty();) {
      const std::size_t word = std::min(rest.find(' '), rest.size());
      roff += ProseWord(rest.substr(0, word));
      rest.remove_prefix(word);
      for (; rest.starts_with(' '); rest.remove_prefix(1)) roff += ' ';
    }
    if (end == prose.npos) break;
    roff += RoffBold(prose.substr(begin + 1, end - begin - 1));
    prose.remove_prefix(end + 1);
  }
  return roff;
}

// A line that begins so would be a request.
std::string GuardedLine(std::string_view line) {
  return (line.starts_with('.') ? "\\&" : "") + std::string(line);
}

std::string FilledLines(const std::string& roff) {
  std::string lines;
  std::string line;
  for (const std::string& word : SplitWords(roff)) {
    if (!line.empty() && line.size() + 1 + word.size() > kRoffLine) {
      lines += GuardedLine(line) + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return lines + GuardedLine(line) + "\n";
}

}  // namespace

std::string RoffLiteral(std::string_view text) {
  std::string escaped;
  for (std::size_t at = 0; at < text.size();) escaped += EscapedCharacter(text, &at);
  return escaped;
}

std::string RoffBold(std::string_view text) {
  return "\\fB" + RoffLiteral(text) + "\\fR";
}

std::string RoffItalic(std::string_view text) {
  return "\\fI" + RoffLiteral(text) + "\\fR";
}

RoffPage::RoffPage(std::string_view title, int section, std::string_view date,
                   std::string_view source) {
  std::string capitals(title);
  for (char& c : capitals) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  text_ = fmt::format(".TH {} {} {} \"{}\" \"podctl manual\"\n", capitals, section, date, source);
}

void RoffPage::Section(std::string_view title) {
  text_ += fmt::format(".SH {}\n", title);
  begins_ = true;
}

void RoffPage::Name(std::string_view name, std::string_view summary) {
  Section("NAME");
  text_ += FilledLines(fmt::format("{} \\- {}", RoffLiteral(name), ProseText(summary)));
}

void RoffPage::Paragraph(std::string_view prose) {
  if (!begins_) text_ += ".PP\n";
  text_ += FilledLines(ProseText(prose));
  begins_ = false;
}

void RoffPage::Item(std::string_view head, std::string_view prose) {
  text_ += fmt::format(".TP\n{}\n{}", GuardedLine(head), FilledLines(ProseText(prose)));
  begins_ = false;
}

void RoffPage::Line(std::string_view roff) {
  text_ += GuardedLine(roff) + "\n";
  begins_ = false;
}

void RoffPage::Verbatim(std::string_view lines) {
  text_ += ".RS 4\n.nf\n";
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    text_ += GuardedLine(RoffLiteral(lines.substr(0, end))) + "\n";
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  text_ += ".fi\n.RE\n";
  begins_ = false;
}

}  // namespace podctl
