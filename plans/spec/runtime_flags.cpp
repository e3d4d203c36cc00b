#include "plans/spec/runtime_flags.h"

#include <fmt/format.h>

#include <vector>

#include "plans/spec/expressions.h"
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

}  // namespace

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

}  // namespace podctl
