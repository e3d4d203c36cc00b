#include "providers/gcp/place_names.h"

#include <algorithm>

namespace podctl::gcp {
namespace {

bool IsLower(char c) {
  return c >= 'a' && c <= 'z';
}

bool IsLowerOrDigit(char c) {
  return IsLower(c) || (c >= '0' && c <= '9');
}

}  // namespace

bool IsProjectId(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return IsLowerOrDigit(c) || c == '-' || c == ':' || c == '.';
  });
}

bool IsLocation(std::string_view text) {
  return !text.empty() && IsLower(text[0]) && std::all_of(text.begin(), text.end(), [](char c) {
    return IsLowerOrDigit(c) || c == '-';
  });
}

bool IsNodeId(std::string_view text) {
  if (text == "." || text == "..") return false;  // these mean something else in a URL
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    return is_upper || IsLowerOrDigit(c) ||
           std::string_view("_.~+%-").find(c) != std::string_view::npos;
  });
}

}  // namespace podctl::gcp
