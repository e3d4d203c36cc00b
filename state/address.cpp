#include "state/address.h"

#include <algorithm>
#include <vector>

#include "providers/base/text.h"
#include "state/thing_name.h"

namespace podctl {
namespace {

constexpr std::string_view kOpen = "[\"";
constexpr std::string_view kClose = "\"]";
constexpr std::string_view kDeposed = " (deposed ";

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

bool IsOfNameLetters(std::string_view name) {
  constexpr std::size_t kLongest = 63;
  static const std::string kAllowed = std::string(kLetters) + "0123456789-_";
  return !name.empty() && name.size() <= kLongest &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

// "research", "research.jupyter".
bool IsNameInAddress(std::string_view name) {
  const std::vector<std::string_view> parts = Split(name, ".");
  return IsThingName(parts.front()) && std::all_of(parts.begin(), parts.end(), IsOfNameLetters);
}

}  // namespace

std::string Address::Text() const {
  std::string text;
  text.reserve(kind.size() + name.size() + 1);
  text.append(kind).append(".").append(name);
  if (!key.empty()) text.append(kOpen).append(key).append(kClose);
  if (!deposed.empty()) text.append(kDeposed).append(deposed).append(")");
  return text;
}

bool IsThingName(std::string_view name) {
  return IsOfNameLetters(name) && name.front() != '-';
}

std::optional<Address> ParseAddress(std::string_view text) {
  const auto dot = text.find('.');
  if (dot == 0 || dot == std::string_view::npos) return std::nullopt;
  if (VisibleControls(text) != text || text.find('\t') != text.npos) return std::nullopt;
  if (text.substr(0, dot).find_first_not_of(kLetters) != text.npos) return std::nullopt;
  Address address;
  address.kind = text.substr(0, dot);
  std::string_view name = text.substr(dot + 1);
  if (const auto open = name.find(kDeposed); open != std::string_view::npos) {
    std::string_view deposed = name.substr(open + kDeposed.size());
    if (!deposed.ends_with(')') || deposed.size() == 1) return std::nullopt;
    deposed.remove_suffix(1);
    address.deposed = deposed;
    name = name.substr(0, open);
  }
  if (const auto open = name.find(kOpen); open != std::string_view::npos) {
    std::string_view key = name.substr(open + kOpen.size());
    if (!key.ends_with(kClose) || key.size() == kClose.size()) return std::nullopt;
    key.remove_suffix(kClose.size());
    if (key.find('"') != std::string_view::npos) return std::nullopt;
    address.key = key;
    name = name.substr(0, open);
  }
  if (!IsNameInAddress(name)) return std::nullopt;
  address.name = name;
  return address;
}

}  // namespace podctl
