#include "cmd/command_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <vector>

#include "cmd/command.h"
#include "cmd/examples.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

std::string SetVariables(const Flag&, std::any& options, const Flag::Words& words) {
  auto& vars = std::any_cast<GlobalOptions&>(options).vars;
  for (const std::string& word : words) {
    const auto equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fmt::format("`{}` is not NAME=VALUE", word);
    }
    vars[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return {};
}

constexpr Flag kGlobalFlags[] = {
    kHelpFlag,
    {.name = "--version", .help = "show the version"},
    WithLetter('f', ManyValues<&GlobalOptions::files>("--file", "FILE|DIR",
                                                      "spec file or folder; repeatable")),
    WithLetter('R', Switch<&GlobalOptions::recursive>("--recursive",
                                                      "with -f DIR: what is below it, too")),
    OneValue<&GlobalOptions::state>("--state", "FILE|URL",
                                    "where the state is: a file, gs://BUCKET/PREFIX, "
                                    "etcd://HOSTS/PREFIX or https://…"),
    OneValue<&GlobalOptions::project>("--project", "ID",
                                      "Google Cloud project where the spec names none"),
    Naming(Flag::Names::kZone,
           OneValue<&GlobalOptions::zone>("--zone", "ZONE", "zone where the spec names none")),
    OneValue<&GlobalOptions::endpoint>("--endpoint", "URL", "base URL of the Cloud TPU API"),
    {.name = "--var",
     .takes = Flag::Takes::kWords,
     .value = "NAME=VALUE",
     .help = "value of a variable of the spec; repeatable",
     .set = SetVariables},
    ManyValues<&GlobalOptions::var_files>("--var-file", "FILE",
                                          "YAML file of variables; repeatable"),
    Within(1, 256,
           OneValue<&GlobalOptions::parallelism>("--parallelism", "N",
                                                 "API calls at once (default 10)")),
    Within(1, 1000,
           OneValue<&GlobalOptions::state_history>(
               "--state-history", "N", "generations of the state that are kept (default 5)")),
    OneValue<&GlobalOptions::lock>("--lock", "true|false",
                                   "lock the state; --lock=false only compares before each save"),
    OneValue<&GlobalOptions::lock_timeout>(
        "--lock-timeout", "DURATION",
        "how long to wait for the state's lock (default: not at all)"),
    Switch<&GlobalOptions::json>("--json", "machine-readable output"),
    Switch<&GlobalOptions::no_color>("--no-color", "no colours (also: NO_COLOR)"),
    OneValue<&GlobalOptions::input>("--input", "true|false",
                                    "ask where needed; --input=false never asks"),
};

void AddNames(std::span<const Flag> flags, std::vector<std::string>* names) {
  for (const Flag& flag : flags) {
    if (!flag.IsArgument()) names->emplace_back(flag.name);
  }
  std::sort(names->begin(), names->end());
}

}  // namespace

std::span<const Command* const> Commands() {
  static const Command* const kAll[] = {
      &commands::kInit,         &commands::kValidate,  &commands::kSchema,
      &commands::kPlan,         &commands::kApply,     &commands::kDestroy,
      &commands::kWatch,        &commands::kShow,      &commands::kStatus,
      &commands::kOutput,       &commands::kCost,      &commands::kExec,
      &commands::kSsh,          &commands::kCp,        &commands::kTunnel,
      &commands::kRun,          &commands::kDoctor,    &commands::kDrain,
      &commands::kJobs,         &commands::kLogs,      &commands::kKill,
      &commands::kState,        &commands::kStateInit, &commands::kStateList,
      &commands::kStateShow,    &commands::kStateMv,   &commands::kStateRm,
      &commands::kStatePull,    &commands::kStatePush, &commands::kStateHistory,
      &commands::kStateRestore, &commands::kStateDiff, &commands::kStateMigrate,
      &commands::kImport,       &commands::kLock,      &commands::kLockStatus,
      &commands::kUnlock,       &commands::kAuth,      &commands::kAuthStatus,
      &commands::kAuthorize,    &commands::kCi,        &commands::kCiPlan,
      &commands::kCiApply,      &commands::kCiComment, &commands::kCiDrift,
      &commands::kEmulator,     &commands::kTypes,     &commands::kVersions,
      &commands::kCompletion,   &commands::kVersion,   &commands::kHelp,
      &commands::kComplete,     &commands::kPages,
  };
  return kAll;
}

std::vector<const Command*> CommandsIn(std::string_view group) {
  std::vector<const Command*> found;
  for (const Command* command : Commands()) {
    if (command->group() == group && !command->IsHidden()) found.push_back(command);
  }
  return found;
}

const Command* FindCommand(std::string_view name) {
  const auto all = Commands();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Command* each) { return each->name() == name; });
  return found == all.end() ? nullptr : *found;
}

std::span<const Flag> GlobalFlags() {
  return kGlobalFlags;
}

std::vector<std::string> FlagNames(const Command& command) {
  std::vector<std::string> names = {std::string(kHelpFlag.name)};
  AddNames(command.flags(), &names);
  return names;
}

std::vector<std::string> GlobalFlagNames() {
  std::vector<std::string> names;
  AddNames(kGlobalFlags, &names);
  return names;
}

namespace {

constexpr std::size_t kHelpWidth = 80;  // columns, of which each terminal has so many

// `head` and behind it `text`, whose further lines begin below the first.
std::string Hanging(const std::string& head, std::string_view text) {
  std::string lines = head;
  std::size_t column = head.size();
  bool begins = true;
  for (const std::string& word : SplitWords(text)) {
    if (!begins && column + 1 + word.size() > kHelpWidth) {
      lines += "\n" + std::string(head.size(), ' ');
      column = head.size();
      begins = true;
    }
    lines += (begins ? "" : " ") + word;
    column += word.size() + (begins ? 0 : 1);
    begins = false;
  }
  return lines + "\n";
}

void AppendCommands(const std::vector<const Command*>& commands, std::string* text) {
  *text += "\nCommands:\n";
  for (const Command* command : commands) {
    *text += Hanging(fmt::format("  {:<12} ", command->word()), command->summary());
  }
}

void AppendFlag(const Flag& flag, std::string* text) {
  if (flag.IsArgument()) return;
  const std::string letter = flag.letter == '\0' ? "" : fmt::format("-{}, ", flag.letter);
  *text += Hanging(fmt::format("  {:<30} ", fmt::format("{}{} {}", letter, flag.name, flag.value)),
                   flag.help);
}

constexpr ExitCode kExitCodes[] = {
    {0, "done or no changes"},
    {1, "error"},
    {2, "changes (with --detailed-exitcode)"},
    {3, "the state is locked by another"},
    {4, "the plan is not the one that was reviewed"},
    {130, "interrupted"},
};

}  // namespace

std::string SummaryOf(const Command& command) {
  std::string text(command.summary());
  if (!text.empty()) {
    text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  }
  return text + ".";
}

std::span<const ExitCode> ExitCodes() {
  return kExitCodes;
}

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
      fmt::format("{}\n\nUsage: {}\n", SummaryOf(command), UsageOf(command, " [flags]"));
  if (command.IsGroup()) AppendCommands(CommandsIn(command.name()), &text);
  text += "\nFlags:\n";
  AppendFlag(kHelpFlag, &text);
  for (const Flag& flag : command.flags()) AppendFlag(flag, &text);
  text += "\nFlags of every command: see `podctl help`.\n";
  const auto examples = ExamplesOf(command.name());
  if (!examples.empty()) text += "\nExamples:\n";
  for (const Example& example : examples) {
    text += fmt::format("  # {}\n  {}\n", example.what, example.line);
  }
  return text;
}

std::string HelpText() {
  std::string text = "podctl: declarative Cloud TPU pods.\n\nUsage: podctl COMMAND [flags]\n";
  AppendCommands(CommandsIn(""), &text);
  text += "\nFlags of every command:\n";
  for (const Flag& flag : GlobalFlags()) AppendFlag(flag, &text);
  std::string codes;
  for (const ExitCode& exit : ExitCodes()) {
    codes += fmt::format("{}{} {}", codes.empty() ? "" : "; ", exit.code, exit.means);
  }
  return text + "\n" + Hanging("Exit codes: ", codes + ".");
}

}  // namespace podctl
