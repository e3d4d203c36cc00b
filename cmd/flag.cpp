#include "cmd/flag.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "providers/base/text.h"

namespace podctl {
namespace {

// All of `text` as a number from `least` to `most`.
std::optional<int> NumberIn(std::string_view text, int least, int most) {
  int number = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last || number < least || number > most) return std::nullopt;
  return number;
}

}  // namespace

std::string Read(const Flag& flag, const std::string& text, std::string* target) {
  std::string listed;
  for (std::string_view rest = flag.choices; !rest.empty();) {
    const std::string_view choice = rest.substr(0, rest.find('|'));
    rest.remove_prefix(std::min(choice.size() + 1, rest.size()));
    listed += (listed.empty() ? "" : " or ") + std::string(choice);
    if (text == choice) return *target = text, "";
  }
  if (!listed.empty()) return fmt::format("`{}` is not {}", text, listed);
  *target = text;
  return {};
}

std::string Read(const Flag&, const std::string& text, bool* target) {
  if (text != "true" && text != "false") return fmt::format("`{}` is not true or false", text);
  *target = text == "true";
  return {};
}

std::string Read(const Flag& flag, const std::string& text, int* target) {
  const auto number = NumberIn(text, flag.least, flag.most);
  if (!number) {
    return fmt::format("`{}` is not a number from {} to {}", text, flag.least, flag.most);
  }
  *target = *number;
  return {};
}

std::string Read(const Flag& flag, const std::string& text, CountOrShare* target) {
  target->percent = text.ends_with('%');
  const std::string_view digits(text.data(), text.size() - (target->percent ? 1 : 0));
  const auto number = NumberIn(digits, flag.least, target->percent ? 100 : flag.most);
  if (!number) {
    return fmt::format("`{}` is not a number from {} or a share such as 25%", text, flag.least);
  }
  target->number = *number;
  return {};
}

std::string Read(const Flag&, const std::string& text, std::chrono::milliseconds* target) {
  const auto duration = ParseDuration(text);
  if (!duration) return fmt::format("`{}` is not a duration such as 90s, 10m or 1h30m", text);
  *target = *duration;
  return {};
}

std::string ReadWorkers(const Flag&, const std::string& text, std::string* target) {
  if (TrimBlanks(text).empty()) return "is empty, which names no worker; `all` names all";
  *target = text;
  return {};
}

}  // namespace podctl
