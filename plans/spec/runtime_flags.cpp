#include "plans/spec/runtime_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "providers/base/text.h"

namespace podctl {
namespace {

// ShellQuote, with references left alone: RenderRuntimeVariables quotes what they stand for.
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

// The words of a command line, as a shell parts and unquotes them; nullopt when a quote is left
// open.
std::optional<std::vector<std::string>> SplitQuoted(std::string_view text) {
  std::vector<std::string> words;
  char quote = 0;
  bool inside = false;  // of a word
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && std::string_view(" \t\r\n").find(c) != std::string_view::npos) {
      inside = false;
      continue;
    }
    if (!std::exchange(inside, true)) words.emplace_back();
    const std::string_view escapable = quote == '"' ? "$`\"\\" : "";
    const bool escapes = c == '\\' && quote != '\'' && i + 1 < text.size() &&
                         (quote == 0 || escapable.find(text[i + 1]) != std::string_view::npos);
    if (escapes) {
      words.back() += text[++i];
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) return std::nullopt;
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

namespace {

// Adds what is told of a name once only; false: it was told before.
bool AddOnce(std::string path, std::string_view text, RuntimeParts* parts) {
  return parts->by_path.emplace(std::move(path), text).second;
}

// The flags of LIBTPU_INIT_ARGS; what is no flag with a value stays a text of the variable.
bool AddFlags(std::string_view text, RuntimeParts* parts) {
  std::vector<std::string> others;
  for (const std::string& word : SplitWords(text)) {
    const auto equals = word.find('=');
    const std::string_view name =
        word.starts_with("--") ? std::string_view(word).substr(2, equals - 2) : "";
    if (equals == std::string::npos || !IsFlagName(name)) {
      others.push_back(word);
    } else if (!AddOnce(fmt::format("{}.{}", kRuntimeFlagsKey, name),
                        std::string_view(word).substr(equals + 1), parts)) {
      return false;
    }
  }
  if (others.empty() && !TrimBlanks(text).empty()) return true;
  return AddOnce(fmt::format("{}.{}", kRuntimeEnvKey, kRuntimeFlagsVariable), Join(others, " "),
                 parts);
}

bool AddVariable(std::string_view word, RuntimeParts* parts) {
  const auto equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const std::string_view text = word.substr(equals + 1);
  if (name == kRuntimeFlagsVariable) return AddFlags(text, parts);
  return AddOnce(fmt::format("{}.{}", kRuntimeEnvKey, name), text, parts);
}

// Whether docker takes the word as NAME=VALUE of a variable.
bool IsAssignment(std::string_view word) {
  const auto equals = word.find('=');
  return equals != std::string_view::npos && IsEnvironmentName(word.substr(0, equals));
}

}  // namespace

std::optional<RuntimeParts> TakeRuntimeVariablesApart(std::string_view text) {
  const auto words = SplitQuoted(text);
  if (!words) return std::nullopt;
  constexpr std::string_view kLong = "--env=";
  RuntimeParts parts;
  std::vector<std::string> rest;
  bool flags_given = false;
  for (std::size_t i = 0; i < words->size(); ++i) {
    const std::string& word = (*words)[i];
    std::string_view variable;
    if ((word == "-e" || word == "--env") && i + 1 < words->size()) {
      variable = (*words)[i + 1];
    } else if (word.starts_with(kLong)) {
      variable = std::string_view(word).substr(kLong.size());
    }
    if (!IsAssignment(variable)) {
      rest.push_back(ShellQuote(word));
      continue;
    }
    i += word.starts_with(kLong) ? 0 : 1;
    const bool is_flags = variable.substr(0, variable.find('=')) == kRuntimeFlagsVariable;
    if (is_flags && std::exchange(flags_given, true)) return std::nullopt;
    if (!AddVariable(variable, &parts)) return std::nullopt;
  }
  parts.rest = Join(rest, " ");
  return parts;
}

namespace {

// The variables of an entry, as template text, of which ComposeRuntimeVariables makes it again.
std::optional<std::map<std::string, std::string>> ComposedOf(std::string_view template_text) {
  const auto words = SplitQuoted(template_text);
  if (!words || words->size() % 2 != 0) return std::nullopt;
  std::map<std::string, std::string> variables;
  for (std::size_t i = 0; i < words->size(); i += 2) {
    const std::string& word = (*words)[i + 1];
    if ((*words)[i] != "-e" || !IsAssignment(word)) return std::nullopt;
    const auto equals = word.find('=');
    variables[word.substr(0, equals)] = word.substr(equals + 1);
  }
  if (ComposeRuntimeVariables(variables) != template_text) return std::nullopt;
  return variables;
}

}  // namespace

ReferenceUse UseInVariable(std::string_view name) {
  return name == kRuntimeFlagsVariable ? ReferenceUse::kFlags : ReferenceUse::kText;
}

std::optional<std::string> RenderRuntimeVariables(std::string_view template_text,
                                                  const ReferenceLookup& lookup) {
  if (FindReferences(template_text).empty()) return RenderText(template_text, lookup);
  auto variables = ComposedOf(template_text);
  if (!variables) return RenderText(template_text, lookup, ReferenceUse::kDockerText);
  for (auto& [name, text] : *variables) {
    const auto value = RenderText(text, lookup, UseInVariable(name));
    if (!value) return std::nullopt;
    text = EscapeTemplate(*value);
  }
  return RenderText(ComposeRuntimeVariables(*variables), lookup);
}

std::optional<UnusableReference> FindUnusableVariable(std::string_view template_text,
                                                      const ReferenceLookup& lookup) {
  const auto variables = ComposedOf(template_text);
  if (!variables) return FindUnusable(template_text, lookup, ReferenceUse::kDockerText);
  for (const auto& [name, text] : *variables) {
    if (auto found = FindUnusable(text, lookup, UseInVariable(name))) return found;
  }
  return std::nullopt;
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
