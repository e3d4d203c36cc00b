#include "providers/emulator/page.h"

#include <algorithm>

namespace podctl::emulator {
namespace {

constexpr std::string_view kMark = "p1:";  // of our tokens; a stray text is refused by it
constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

int PageLimit(const PageRequest& request) {
  return request.size <= 0 ? kDefaultPageSize : std::min(request.size, kMaxPageSize);
}

std::string MakePageToken(std::string_view last_key) {
  std::string token;
  for (const char c : std::string(kMark) + std::string(last_key)) {
    const auto byte = static_cast<unsigned char>(c);
    token += kDigits[byte >> 4U];
    token += kDigits[byte & 15U];
  }
  return token;
}

std::optional<std::string> ReadPageToken(std::string_view token) {
  std::string text;
  if (token.size() % 2 != 0 || token.size() > 4096) return std::nullopt;
  for (std::size_t i = 0; i < token.size(); i += 2) {
    const std::size_t high = kDigits.find(token[i]);
    const std::size_t low = kDigits.find(token[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    text += static_cast<char>(high * 16 + low);
  }
  if (text.rfind(kMark, 0) != 0) return std::nullopt;
  return text.substr(kMark.size());
}

}  // namespace podctl::emulator
