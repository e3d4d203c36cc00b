#include "plans/spec/runtime_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "plans/spec/references.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// ShellQuote, with references left alone: a node's addresses and names need no quotes.
std::string QuoteTemplate(const std::string& text) {
  bool is_plain = !text.empty();
  bool has_reference = false;
  for (const TemplatePart& part : SplitTemplate(text)) {
    if (part.is_expression()) {
      has_reference = true;
    } else {
      is_plain = is_plain && ShellQuote(part.text) == part.text;
    }
  }
  if (is_plain) return text;
  if (!has_reference) {
    // Quote what the worker will see, then escape it for the template.
    std::string literal;
    for (const TemplatePart& part : SplitTemplate(text)) literal += part.text;
    return EscapeTemplate(ShellQuote(literal));
  }
  std::string quoted = "'";
  for (const TemplatePart& part : SplitTemplate(text)) {
    if (part.is_expression()) {
      quoted += part.text;
      continue;
    }
    const std::string inner = ShellQuote("'" + part.text);  // never plain, so always in quotes
    quoted += EscapeTemplate(std::string_view(inner).substr(5, inner.size() - 6));
  }
  return quoted + "'";
}

// Words parted by single blanks, in ShellQuote's quotes; nullopt when a quote is left open. Other
// ways of quoting need no care: their result composes to another text.
std::optional<std::vector<std::string>> SplitQuoted(std::string_view text) {
  std::vector<std::string> words(1);
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'') {
      inside = !inside;
    } else if (!inside && text.substr(i, 2) == "\\'") {
      words.back() += text[++i];
    } else if (!inside && text[i] == ' ') {
      words.emplace_back();
    } else {
      words.back() += text[i];
    }
  }
  if (inside) return std::nullopt;
  return words;
}

// The flags that JoinFlags makes exactly `text` of.
std::optional<std::map<std::string, std::string>> SplitFlags(const std::string& text) {
  std::map<std::string, std::string> flags;
  for (const std::string_view word : Split(text, " ")) {
    const auto equals = word.find('=');
    if (!word.starts_with("--") || equals == std::string_view::npos) return std::nullopt;
    const std::string_view name = word.substr(2, equals - 2);
    if (!IsFlagName(name)) return std::nullopt;
    const std::string_view value = word.substr(equals + 1);
    if (value.find_first_of("\t\r\n") != std::string_view::npos) return std::nullopt;
    flags[std::string(name)] = value;
  }
  if (flags.empty() || JoinFlags(flags) != text) return std::nullopt;
  return flags;
}

}  // namespace

bool IsFlagName(std::string_view name) {
  return !name.empty() && name[0] != '-' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
         });
}

std::string JoinFlags(const std::map<std::string, std::string>& flags) {
  std::vector<std::string> words;
  words.reserve(flags.size());
  for (const auto& [name, value] : flags) words.push_back(fmt::format("--{}={}", name, value));
  return Join(words, " ");
}

std::string ComposeRuntimeVariables(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> words;
  const auto add = [&](const std::string& name, const std::string& value) {
    words.push_back("-e " + name + "=" + QuoteTemplate(value));
  };
  const auto flags = variables.find(std::string(kRuntimeFlagsVariable));
  if (flags != variables.end()) add(flags->first, flags->second);
  for (const auto& [name, value] : variables) {
    if (name != kRuntimeFlagsVariable) add(name, value);
  }
  return Join(words, " ");
}

std::optional<RuntimeKeys> SplitRuntimeVariables(std::string_view text) {
  const auto words = SplitQuoted(text);
  if (!words) return std::nullopt;
  std::map<std::string, std::string> variables;
  std::map<std::string, std::string> escaped;
  for (std::size_t i = 0; i + 1 < words->size(); i += 2) {
    const std::string& word = (*words)[i + 1];
    const auto equals = word.find('=');
    if ((*words)[i] != "-e" || equals == std::string::npos) return std::nullopt;
    const std::string name = word.substr(0, equals);
    if (!IsEnvironmentName(name)) return std::nullopt;
    variables[name] = word.substr(equals + 1);
    escaped[name] = EscapeTemplate(variables[name]);
  }
  if (variables.empty() || ComposeRuntimeVariables(escaped) != EscapeTemplate(text)) {
    return std::nullopt;
  }
  RuntimeKeys keys;
  keys.variables = std::move(variables);
  const auto all = keys.variables.find(std::string(kRuntimeFlagsVariable));
  if (all != keys.variables.end()) {
    if (auto flags = SplitFlags(all->second)) {
      keys.flags = std::move(*flags);
      keys.variables.erase(all);
    }
  }
  return keys;
}

}  // namespace podctl
