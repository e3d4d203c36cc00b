// What people elsewhere wrote (the API, workers, archives, repositories), looked at character by
// character: which of it would drive a terminal, hide what is there, or begin a line of its own.
// VisibleControls (text.h) makes it visible.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace podctl {

struct Character {
  std::size_t size = 1;  // bytes
  char32_t code = 0;     // of one that is no UTF-8: its first byte
  bool valid = true;     // UTF-8
  bool complete = true;  // false: the text ends within what may be a character
};
// `at` must lie inside of the text.
Character CharacterAt(std::string_view text, std::size_t at);

// The offset of the first byte that is no valid UTF-8 (RFC 3629), or npos.
std::size_t FindInvalidUtf8(std::string_view text);

// C0 (tabs and newlines too), DEL, C1, what ends a line in Unicode, and what turns the direction of
// writing.
bool IsControl(char32_t code);

// What takes no room and shows nothing: zero-width characters, and the tags, which can spell whole
// sentences. Joiners are left alone, for words of people need them.
bool IsHidden(char32_t code);

// Also where bytes are no UTF-8 but would be C1 controls to a terminal that does not know it.
bool HoldsControls(std::string_view text);

// "\x1b" for C0, and for bytes that are no UTF-8; else "\u009b", and two of these where four digits
// are too few, which means the same within a JSON string, where C0 and broken UTF-8 cannot stand as
// they are.
std::string Visible(const Character& character);

// A line of output without its newline, as it is shown: the CR of CR LF is left out, everything
// else as VisibleControls has it.
std::string VisibleLine(std::string_view line);

}  // namespace podctl
