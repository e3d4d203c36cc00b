#include "cmd/help_text.h"

#include <fmt/format.h>

#include <cctype>
#include <span>
#include <vector>

#include "cmd/command_table.h"

namespace podctl {
namespace {

void AppendCommands(const std::vector<const Command*>& commands, std::string* text) {
  *text += "\nCommands:\n";
  for (const Command* command : commands) {
    *text += fmt::format("  {:<12} {}\n", command->word(), command->summary());
  }
}

void AppendFlag(const Flag& flag, std::string* text) {
  if (flag.IsArgument()) return;
  const std::string letter = flag.letter == '\0' ? "" : fmt::format("-{}, ", flag.letter);
  *text += fmt::format("  {:<30} {}\n", fmt::format("{}{} {}", letter, flag.name, flag.value),
                       flag.help);
}

std::string Sentence(std::string_view summary) {
  std::string text(summary);
  if (!text.empty()) {
    text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  }
  return text + ".";
}

}  // namespace

std::string UsageOf(const Command& command, std::string_view flags) {
  std::string usage =
      fmt::format("podctl {}{}", command.name(), command.IsGroup() ? " COMMAND" : "");
  std::string rest;
  for (const Flag& flag : command.flags()) {
    if (!flag.IsArgument()) continue;
    const std::string words = fmt::format("{}{}{}", flag.shows_dashes ? "-- " : "", flag.name,
                                          flag.takes == Flag::Takes::kWords ? "…" : "");
    (flag.shows_dashes ? rest : usage) += flag.required ? " " + words : " [" + words + "]";
  }
  return fmt::format("{}{}{}", usage, flags, rest);
}

std::string HelpText(const Command& command) {
  std::string text =
      fmt::format("{}\n\nUsage: {}\n", Sentence(command.summary()), UsageOf(command, " [flags]"));
  if (command.IsGroup()) AppendCommands(CommandsIn(command.name()), &text);
  text += "\nFlags:\n";
  AppendFlag(kHelpFlag, &text);
  for (const Flag& flag : command.flags()) AppendFlag(flag, &text);
  return text + "\nFlags of every command: see `podctl help`.\n";
}

std::string HelpText() {
  std::string text = "podctl: declarative Cloud TPU pods.\n\nUsage: podctl COMMAND [flags]\n";
  AppendCommands(CommandsIn(""), &text);
  text += "\nFlags of every command:\n";
  for (const Flag& flag : GlobalFlags()) AppendFlag(flag, &text);
  return text +
         "\nExit codes: 0 done or no changes; 1 error; 2 changes (with --detailed-exitcode); 3 the "
         "state is locked\nby another; 4 the plan is not the one that was reviewed; 130 "
         "interrupted.\n";
}

}  // namespace podctl
