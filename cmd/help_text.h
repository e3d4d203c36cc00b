// What `podctl help` shows, made from the table of commands.
#pragma once

#include <string>
#include <string_view>

#include "cmd/command.h"

namespace podctl {

// Of all commands: `podctl help`.
std::string HelpText();
// Of one: `podctl help plan`.
std::string HelpText(const Command& command);

// "podctl exec POD [-- COMMAND…]". `flags` stands where flags may: before the dashes that begin
// somebody else's command.
std::string UsageOf(const Command& command, std::string_view flags = "");

}  // namespace podctl
