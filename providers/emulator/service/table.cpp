#include "providers/emulator/service/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace podctl::emulator {
namespace {

constexpr std::string_view kMark = "p1:";  // of our tokens; a stray text is refused by it

}  // namespace

int PageLimit(const PageRequest& request) {
  return request.size <= 0 ? 500 : std::min(request.size, 1000);
}

std::string MakePageToken(std::string_view last_key) {
  std::string token;
  for (const char c : std::string(kMark) + std::string(last_key)) {
    token += fmt::format("{:02x}", static_cast<unsigned char>(c));
  }
  return token;
}

std::optional<std::string> ReadPageToken(std::string_view token) {
  std::string text;
  if (token.size() % 2 != 0 || token.size() > 4096) return std::nullopt;
  for (std::size_t i = 0; i < token.size(); i += 2) {
    unsigned char byte = 0;
    if (!ReadNumber(token.substr(i, 2), &byte, 16)) return std::nullopt;
    text += static_cast<char>(byte);
  }
  if (!text.starts_with(kMark)) return std::nullopt;
  return text.substr(kMark.size());
}

bool Page::Add(const std::string& key, Value resource) {
  if (listed_.size() == limit_) {
    answer_.Set("nextPageToken", MakePageToken(last_));
    return false;
  }
  listed_.push_back(std::move(resource));
  last_ = key;
  return true;
}

Value Page::Take() {
  if (!listed_.empty()) answer_.Set(field_, std::move(listed_));
  return std::move(answer_);
}

}  // namespace podctl::emulator
