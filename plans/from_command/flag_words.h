// The words of a command as flags, positionals and what follows the dashes. Knows the forms
// `--flag=value`, `--flag value`, `--no-flag` and `-f value`, but no flag by itself.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace podctl {

struct FlagRule {
  std::string_view name;  // without its dashes
  bool takes_value = true;
  char short_name = '\0';
  std::string_view aside = {};  // it says nothing about the pod or job: what podctl has instead
};
constexpr FlagRule Aside(std::string_view name, std::string_view why, bool takes_value = true,
                         char short_name = '\0') {
  return {name, takes_value, short_name, why};
}
inline constexpr bool kSwitch = false;  // takes no value

struct GivenFlag {
  std::string name;                  // "zone"; of an unknown short one "-z"
  std::optional<std::string> value;  // of a switch: nullopt, or "false" after --no-
  bool known = true;
  std::string near;             // of an unknown long one: the flag that may be meant
  bool lacks_value = false;     // the line ended where its value should stand
  std::string_view aside = {};  // of its rule
};

struct FlagWords {
  std::vector<GivenFlag> flags;  // in order
  std::vector<std::string> positionals;
  std::vector<std::string> command;  // what follows `--`, or begins with the first positional
};

enum class Positionals {
  kAnywhere,     // between flags, until `--`
  kEndTheFlags,  // the first one begins `command`
};

// An unknown flag takes the next word as its value when that looks like one and is not the last.
FlagWords ReadFlagWords(std::span<const std::string> words, std::span<const FlagRule> rules,
                        Positionals positionals);

// gcloud's lists: "a,b" or, with another delimiter, "^:^a:b" (gcloud topic escaping).
std::vector<std::string> SplitGcloudList(std::string_view text);
// "k=v,k2=v2"; an entry without `=` has an empty value and stands in `odd`.
std::vector<std::pair<std::string, std::string>> SplitGcloudDict(std::string_view text,
                                                                 std::vector<std::string>* odd);
// "6h", "PT1H30M", "1d" in podctl's own form; nullopt: not one of gcloud's durations.
std::optional<std::string> GcloudDuration(std::string_view text);

}  // namespace podctl
