// The one list of all commands, from which parsing, help, completion and what was meant by a
// mistyped word are made.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/command.h"

namespace podctl {

// In the order in which help shows them; a group stands before its commands.
std::span<const Command* const> Commands();

// Those of `group`, or with "" the ones whose name is of one word; none that is hidden.
std::vector<const Command*> CommandsIn(std::string_view group);

// nullptr when there is none of that name.
const Command* FindCommand(std::string_view name);

// Which may stand before and behind every command, --help and --version among them.
std::span<const Flag> GlobalFlags();

// Names of flags with their dashes, sorted: those of a command with --help, or those of all.
std::vector<std::string> FlagNames(const Command& command);
std::vector<std::string> GlobalFlagNames();

// ---- What `podctl help` shows, made from the table of commands.

// Of all commands: `podctl help`.
std::string HelpText();
// Of one: `podctl help plan`.
std::string HelpText(const Command& command);

// "Show what apply would do."
std::string SummaryOf(const Command& command);

// With which podctl ends, and when.
struct ExitCode {
  int code;
  std::string_view means;
};
std::span<const ExitCode> ExitCodes();

// "podctl exec POD [-- COMMAND…]". `flags` stands where flags may: before the dashes that begin
// somebody else's command.
std::string UsageOf(const Command& command, std::string_view flags = "");

}  // namespace podctl
