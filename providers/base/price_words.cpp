#include "providers/base/price_words.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "providers/base/text.h"

namespace podctl {

bool IsCurrency(std::string_view text) {
  constexpr std::size_t kLetters = 3;
  return text.size() == kLetters &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

bool IsDay(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00";
  if (text.size() != kForm.size()) return false;
  return ParseTimestamp(std::string(text) + "T00:00:00Z").has_value();
}

}  // namespace podctl
