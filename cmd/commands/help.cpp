// podctl help [COMMAND].
#include <fmt/format.h>

#include <string>
#include <vector>

#include "cmd/command.h"
#include "cmd/command_table.h"
#include "cmd/reporter.h"
#include "cmd/wiring.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

struct HelpOptions {
  std::vector<std::string> words;  // "state", "list"
};

// Of all commands, those of groups included.
std::string NearestCommand(const std::string& topic) {
  std::vector<std::string> names;
  for (const Command* command : CommandsIn("")) {
    if (command->IsHidden()) continue;
    names.emplace_back(command->name());
    if (!command->IsGroup()) continue;
    for (const Command* inner : CommandsIn(command->name())) names.emplace_back(inner->name());
  }
  return NearestWord(topic, names);
}

int RunHelp(Context& context, const HelpOptions& options) {
  const std::string topic = Join(options.words, " ");
  const Command* command = FindCommand(topic);
  if (command == nullptr && !topic.empty()) {
    const std::string near = NearestCommand(topic);
    return context.wiring().reporter().ShowFailure(
        MakeError(ErrorCode::kNotFound, fmt::format("there is no command `{}`", topic),
                  near.empty() ? "See `podctl help`." : fmt::format("Did you mean `{}`?", near)));
  }
  context.streams().out << (command == nullptr ? HelpText() : HelpText(*command));
  return 0;
}

constexpr Flag kHelpFlags[] = {
    Naming(Flag::Names::kCommand, ManyValues<&HelpOptions::words>("COMMAND", "", "the command")),
};

}  // namespace

const Command commands::kHelp("help", "show help for a command", kHelpFlags, RunHelp, nullptr,
                              NoState);

}  // namespace podctl
