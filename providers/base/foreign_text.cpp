#include "providers/base/foreign_text.h"

#include <fmt/format.h>

#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr char32_t kMostC0 = 0x1F;
constexpr char32_t kDelete = 0x7F;

// How many bytes a character has that begins with `byte`; 0: none begins so.
std::size_t SizeOf(unsigned char byte) {
  if (byte < 0x80) return 1;
  if (byte < 0xC2) return 0;
  if (byte < 0xE0) return 2;
  if (byte < 0xF0) return 3;
  return byte < 0xF5 ? 4 : 0;
}

bool IsShortest(char32_t code, std::size_t size) {
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code >= kLeast[size] && code <= 0x10FFFF && !surrogate;
}

}  // namespace

Character CharacterAt(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t size = SizeOf(first);
  if (size == 1) return {1, first, true, true};
  const Character broken{1, first, false, true};
  if (size == 0) return broken;
  char32_t code = first & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if (at + i >= text.size()) return {1, first, false, false};
    const auto next = static_cast<unsigned char>(text[at + i]);
    if ((next & 0xC0U) != 0x80) return broken;
    code = code << 6U | (next & 0x3FU);
  }
  return IsShortest(code, size) ? Character{size, code, true, true} : broken;
}

std::size_t FindInvalidUtf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text, at);
    if (!character.valid) return at;
    at += character.size;
  }
  return std::string_view::npos;
}

bool IsControl(char32_t code) {
  if (code <= kMostC0 || (code >= kDelete && code <= 0x9F)) return true;
  if (code == 0x2028 || code == 0x2029) return true;
  return code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

bool IsHidden(char32_t code) {
  return code == 0x00AD || code == 0x200B || code == 0x2060 || code == 0xFEFF ||
         (code >= 0xE0000 && code <= 0xE007F);
}

bool HoldsControls(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text, at);
    // Of bytes that are no UTF-8 only those of C1.
    if (IsControl(character.code)) return true;
    at += character.size;
  }
  return false;
}

std::string Visible(const Character& character) {
  const auto code = static_cast<unsigned>(character.code);
  if (code <= kMostC0 || !character.valid) return fmt::format("\\x{:02x}", code);
  if (code <= 0xFFFF) return fmt::format("\\u{:04x}", code);
  const unsigned beyond = code - 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (beyond >> 10U), 0xDC00 + (beyond & 0x3FFU));
}

std::string VisibleLine(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return VisibleControls(line);
}

}  // namespace podctl
