#include "plans/from_command/experiments.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/value.h"

namespace podctl {
namespace {

using Flags = std::vector<std::string>;

Error Bad(const std::string& key, std::string_view why) {
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("`{}` {}", VisibleControls(key), why));
}

bool IsPlain(const Value& value) {
  return value.is_bool() || value.is_string() || value.is_int() || value.is_double();
}

// "[a, b]" -> a, b; a plain key is alone. Empty: it is no key.
std::vector<std::string> KeysOf(const std::string& key) {
  const bool compound = key.size() > 2 && key.front() == '[' && key.back() == ']';
  std::vector<std::string> keys;
  std::string_view rest = compound ? std::string_view(key).substr(1, key.size() - 2) : key;
  while (true) {
    const auto comma = compound ? rest.find(',') : std::string_view::npos;
    const std::string one(compound ? TrimBlanks(rest.substr(0, comma)) : rest);
    if (one.empty() || one.find_first_of("[], \t\r\n") != std::string::npos) return {};
    keys.push_back(one);
    if (comma == std::string_view::npos) return keys;
    rest.remove_prefix(comma + 1);
  }
}

// The values that are to be tried, each with one for every key.
Result<std::vector<Value::List>> ChoicesOf(const std::string& key, const Value& value,
                                           std::size_t keys) {
  std::vector<Value::List> choices;
  const bool compound = key.front() == '[';
  if (!value.is_list()) {
    choices.push_back({value});
  } else if (!compound) {
    for (const Value& each : value.AsList()) choices.push_back({each});
  } else if (!value.AsList().empty() && !value.AsList().front().is_list()) {
    choices.push_back(value.AsList());
  } else {
    for (const Value& each : value.AsList()) choices.push_back(each.AsList());
  }
  if (choices.empty()) return Bad(key, "has nothing to try");
  for (const Value::List& choice : choices) {
    if (choice.size() != keys) return Bad(key, "and its values are not equally many");
    if (!std::all_of(choice.begin(), choice.end(), IsPlain)) {
      return Bad(key, "must be text, a number, true, false or a list of these");
    }
  }
  return choices;
}

void Append(const std::vector<std::string>& keys, const Value::List& choice, Flags* flags) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (choice[i].is_bool() && !choice[i].AsBool()) continue;
    flags->push_back("--" + keys[i]);
    if (choice[i].is_bool()) continue;
    flags->push_back(choice[i].is_string() ? choice[i].AsString() : ToJson(choice[i]));
  }
}

// Adds those of one map; the first key changes quickest.
Result<void> Expand(const Value& map, std::vector<Flags>* out) {
  if (!map.is_map()) {
    return MakeError(ErrorCode::kInvalidArgument, "it holds something else than maps");
  }
  std::vector<Flags> experiments(1);
  for (const auto& [key, value] : map.AsMap()) {
    const auto keys = KeysOf(key);
    if (keys.empty()) return Bad(key, "is no name of a flag, nor a list of names in brackets");
    const auto choices = ChoicesOf(key, value, keys.size());
    if (!choices) return choices.error();
    if (experiments.size() * choices->size() + out->size() > kMostExperiments) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("it has more than {} experiments", kMostExperiments));
    }
    std::vector<Flags> more;
    for (const Value::List& choice : *choices) {
      for (Flags flags : experiments) {
        Append(keys, choice, &flags);
        more.push_back(std::move(flags));
      }
    }
    experiments = std::move(more);
  }
  std::move(experiments.begin(), experiments.end(), std::back_inserter(*out));
  return {};
}

}  // namespace

Result<std::vector<Flags>> ExpandExperiments(std::string_view json) {
  auto config = ParseJson(json);
  if (!config) return config.error();
  std::vector<Flags> experiments;
  const Value::List maps = config->is_list() ? config->AsList() : Value::List{*config};
  for (const Value& map : maps) {
    if (auto added = Expand(map, &experiments); !added) return added.error();
  }
  if (experiments.empty()) {
    return MakeError(ErrorCode::kInvalidArgument, "it holds no experiment");
  }
  return experiments;
}

}  // namespace podctl
