#include "providers/base/encoding.h"

#include <algorithm>
#include <cstdint>

namespace podctl {
namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kBase64Url =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string Encode(std::string_view bytes, std::string_view alphabet, bool padded) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);  // no growing: the bytes may be secret
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    unsigned group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      if (k <= count) {
        text += alphabet[group >> (18 - 6 * k) & 63U];
      } else if (padded) {
        text += '=';
      }
    }
  }
  return text;
}

}  // namespace

std::string Hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15U];
  }
  return text;
}

std::string Base64Encode(std::string_view bytes) {
  return Encode(bytes, kBase64, true);
}

std::string Base64Url(std::string_view bytes) {
  return Encode(bytes, kBase64Url, false);
}

std::optional<std::string> Base64Decode(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3 + 3);  // no growing: the bytes may be secret
  std::uint32_t bits = 0;
  int count = 0;
  int padding = 0;
  for (const char c : text) {
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const std::size_t digit = kBase64.find(c);
    if (digit == std::string_view::npos || padding > 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    if (++count % 4 == 0) {
      for (int shift = 16; shift >= 0; shift -= 8) out.push_back(static_cast<char>(bits >> shift));
      bits = 0;
    }
  }
  const int left = count % 4;
  if (left == 1 || padding > 2) return std::nullopt;
  if (left >= 2) out.push_back(static_cast<char>(bits >> (left == 2 ? 4 : 10)));
  if (left == 3) out.push_back(static_cast<char>(bits >> 2));
  return out;
}

}  // namespace podctl
