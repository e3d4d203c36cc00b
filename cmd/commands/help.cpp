// podctl help [COMMAND].
#include <fmt/format.h>

#include <string>
#include <vector>

#include "cmd/command_table.h"
#include "cmd/commands/commands.h"
#include "cmd/context.h"
#include "cmd/reporter.h"
#include "cmd/wiring.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

struct HelpOptions {
  std::vector<std::string> words;  // "state", "list"
};

int Run(Context& context, const HelpOptions& options) {
  const std::string topic = Join(options.words, " ");
  const Command* command = FindCommand(topic);
  if (command == nullptr && !topic.empty()) {
    return context.wiring().reporter().ShowFailure(
        MakeError(ErrorCode::kNotFound, fmt::format("there is no command `{}`", topic),
                  "See `podctl help`."));
  }
  context.streams().out << (command == nullptr ? HelpText() : HelpText(*command));
  return 0;
}

using HelpFlags = FlagsOf<HelpOptions>;

constexpr Flag kHelpFlags[] = {
    HelpFlags::Values<&HelpOptions::words>("COMMAND", "", "the command"),
};

const CommandOf<HelpOptions> kHelpCommand("help", "show help for a command", kHelpFlags, Run,
                                          nullptr, NoState);

}  // namespace

const Command& commands::kHelp = kHelpCommand;

}  // namespace podctl
