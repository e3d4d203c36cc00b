#include "plans/from_command/flag_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "providers/base/text.h"

namespace podctl {
namespace {

class Reader {
 public:
  Reader(std::span<const std::string> words, std::span<const FlagRule> rules)
      : words_(words), rules_(rules) {}

  FlagWords Read(Positionals positionals) {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (word == "--") {
        TakeRest();
      } else if (word.starts_with("--")) {
        TakeLong(std::string_view(word).substr(2));
      } else if (word.size() > 1 && word.starts_with('-')) {
        TakeShort(word);
      } else if (positionals == Positionals::kEndTheFlags) {
        --at_;
        TakeRest();
      } else {
        read_.positionals.push_back(word);
      }
    }
    return std::move(read_);
  }

 private:
  void TakeRest() {
    read_.command.assign(words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end());
    at_ = words_.size();
  }

  const FlagRule* Find(std::string_view name) const {
    const auto found = std::find_if(rules_.begin(), rules_.end(),
                                    [&](const FlagRule& rule) { return rule.name == name; });
    return found == rules_.end() ? nullptr : &*found;
  }

  std::string Near(std::string_view name) const {
    std::vector<std::string> names;
    for (const FlagRule& rule : rules_) names.emplace_back(rule.name);
    return NearestWord(name, names);
  }

  void TakeLong(std::string_view text) {
    const auto equals = text.find('=');
    GivenFlag flag;
    flag.name = std::string(text.substr(0, equals));
    const FlagRule* rule = Find(flag.name);
    if (rule == nullptr && flag.name.starts_with("no-")) {
      const FlagRule* positive = Find(std::string_view(flag.name).substr(3));
      if (positive != nullptr && !positive->takes_value) {
        flag.name = std::string(positive->name);
        flag.value = "false";
        flag.aside = positive->aside;
        read_.flags.push_back(std::move(flag));
        return;
      }
    }
    if (equals != std::string_view::npos) flag.value = std::string(text.substr(equals + 1));
    flag.known = rule != nullptr;
    if (!flag.known) flag.near = Near(flag.name);
    Finish(rule, std::move(flag));
  }

  void TakeShort(const std::string& word) {
    const auto found = std::find_if(rules_.begin(), rules_.end(), [&](const FlagRule& rule) {
      return rule.short_name == word[1];
    });
    GivenFlag flag;
    if (found == rules_.end()) {
      flag.name = word;
      flag.known = false;
      read_.flags.push_back(std::move(flag));
      return;
    }
    flag.name = std::string(found->name);
    if (found->takes_value && word.size() > 2) flag.value = word.substr(2);
    Finish(&*found, std::move(flag));
  }

  void Finish(const FlagRule* rule, GivenFlag flag) {
    if (rule != nullptr) flag.aside = rule->aside;
    const bool has_next = at_ < words_.size() && !words_[at_].starts_with('-');
    if (!flag.value && rule != nullptr && rule->takes_value) {
      if (at_ < words_.size() && words_[at_] != "--") {
        flag.value = words_[at_++];
      } else {
        flag.lacks_value = true;
      }
    } else if (!flag.value && rule == nullptr && has_next && at_ + 1 < words_.size()) {
      flag.value = words_[at_++];
    }
    read_.flags.push_back(std::move(flag));
  }

  const std::span<const std::string> words_;
  const std::span<const FlagRule> rules_;
  std::size_t at_ = 0;
  FlagWords read_;
};

}  // namespace

FlagWords ReadFlagWords(std::span<const std::string> words, std::span<const FlagRule> rules,
                        Positionals positionals) {
  return Reader(words, rules).Read(positionals);
}

std::vector<std::string> SplitGcloudList(std::string_view text) {
  std::string_view delimiter = ",";
  if (text.starts_with('^')) {
    const auto end = text.find('^', 1);
    if (end != std::string_view::npos && end > 1) {
      delimiter = text.substr(1, end - 1);
      text.remove_prefix(end + 1);
    }
  }
  const auto parts = Split(text, delimiter);
  std::vector<std::string> items(parts.begin(), parts.end());
  std::erase(items, "");
  return items;
}

std::vector<std::pair<std::string, std::string>> SplitGcloudDict(std::string_view text,
                                                                 std::vector<std::string>* odd) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (const std::string& item : SplitGcloudList(text)) {
    const auto equals = item.find('=');
    if (equals == std::string::npos) odd->push_back(item);
    entries.emplace_back(item.substr(0, equals),
                         equals == std::string::npos ? "" : item.substr(equals + 1));
  }
  return entries;
}

std::optional<std::string> GcloudDuration(std::string_view text) {
  constexpr std::int64_t kMost = 10LL * 365 * 24 * 3600;  // as ParseDuration has it
  std::int64_t seconds = 0;
  std::int64_t number = 0;
  bool has_number = false;
  bool has_unit = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
    if (c >= '0' && c <= '9') {
      number = number * 10 + (c - '0');
      has_number = true;
      if (number > kMost) return std::nullopt;
      continue;
    }
    if (!has_number && ((c == 'p' && i == 0) || (c == 't' && i > 0))) continue;
    const std::int64_t unit = c == 's'   ? 1
                              : c == 'm' ? 60
                              : c == 'h' ? 3600
                              : c == 'd' ? 24 * 3600
                              : c == 'w' ? 7 * 24 * 3600
                                         : 0;
    if (unit == 0 || !has_number) return std::nullopt;
    seconds += number * unit;
    if (seconds > kMost) return std::nullopt;
    number = 0;
    has_number = false;
    has_unit = true;
  }
  if (has_number) {  // a bare number counts seconds
    seconds += number;
    has_unit = true;
  }
  if (!has_unit) return std::nullopt;
  if (seconds % 3600 == 0) return fmt::format("{}h", seconds / 3600);
  if (seconds % 60 == 0) return fmt::format("{}m", seconds / 60);
  return fmt::format("{}s", seconds);
}

}  // namespace podctl
