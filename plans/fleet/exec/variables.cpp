#include "plans/fleet/exec/variables.h"

#include <fmt/format.h>

#include "providers/base/text.h"

namespace podctl {

Result<Variables> ReadVariables(const std::vector<std::string>& texts,
                                const Environment& environment) {
  Variables variables;
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (equals != std::string::npos) {
      variables[name] = text.substr(equals + 1);
      continue;
    }
    const auto value = environment.Get(name);
    if (!value) {
      return MakeError(ErrorCode::kNotFound,
                       fmt::format("`--env {}`: there is no such variable here", name),
                       fmt::format("Set it, or give a value: `--env {}=VALUE`.", name));
    }
    variables[name] = *value;
  }
  return variables;
}

std::string CommandWithVariables(const std::string& command, const Variables& variables) {
  if (variables.empty()) return command;
  // `read` takes one byte after the other, so that the rest is left for the command. The newline is
  // what a value with several lines is put together with.
  return "podctl_nl='\n'; IFS= read -r podctl_env && eval \"$podctl_env\"; unset podctl_env "
         "podctl_nl; " +
         command;
}

std::string VariablesLine(const Variables& variables) {
  if (variables.empty()) return {};
  std::string line = "export";
  for (const auto& [name, value] : variables) {
    std::string quoted = ShellQuote(value);
    for (auto at = quoted.find('\n'); at != std::string::npos; at = quoted.find('\n', at)) {
      constexpr std::string_view kNewline = "'\"$podctl_nl\"'";
      quoted.replace(at, 1, kNewline);
      at += kNewline.size();
    }
    line += fmt::format(" {}={}", name, quoted);
  }
  return line + "\n";
}

}  // namespace podctl
