// `podctl completion SHELL`: a script for that shell.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/command.h"
#include "cmd/command_table.h"
#include "providers/base/text.h"
#include "templates/catalog.h"

namespace podctl {
namespace {

// podctl completion bash: made from the same table as parsing and help. @NAME@ is filled in below.
constexpr std::string_view kScript =
    R"sh(# bash completion for podctl: source <(podctl completion bash)
_podctl() {
  local cur="${COMP_WORDS[COMP_CWORD]}" command="" word words="" flags="" i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="${COMP_WORDS[i]}"
    [[ $word == -- ]] && return
    case "$word" in
      --template)
        ((++i == COMP_CWORD)) && { COMPREPLY=($(compgen -W "@TEMPLATES@" -- "$cur")); return; }
        continue ;;
      @VALUED@)
        ((++i == COMP_CWORD)) && return  # the value itself: bash's own completion of files
        continue ;;
    esac
    [[ $word == -* ]] && continue
    if [[ -z $command ]]; then command="$word"
    elif [[ $command == state ]]; then command="state $word"; break
    else break; fi
  done
  case "$command" in
    '' | help) words="@COMMANDS@" ;;
    completion) words="bash" ;;
    @PODS@) words="$(podctl state list 2>/dev/null | sed -n 's/^pod\.//p')" ;;
    @JOBS@) words="$(podctl run --list 2>/dev/null | sed '1d; s/ .*//')" ;;
    @ADDRESSES@)
      words="$(podctl state list 2>/dev/null)" ;;
    @SERIALS@)
      words="$(podctl state history --json 2>/dev/null |
        sed -n 's/^ *"serial": \([0-9]*\).*/\1/p')" ;;
@NESTED@  esac
  case "$command" in
@FLAGS@  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$flags @GLOBAL@" -- "$cur"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}
complete -o default -F _podctl podctl
)sh";

void Fill(std::string_view name, const std::string& text, std::string* script) {
  const std::string mark = fmt::format("@{}@", name);
  for (auto at = script->find(mark); at != std::string::npos; at = script->find(mark, at)) {
    script->replace(at, mark.size(), text);
    at += text.size();
  }
}

// The commands whose arguments are such names, as a pattern of the shell's `case`.
std::string NamesOf(Flag::Names names) {
  std::vector<std::string> commands;
  for (const Command* command : Commands()) {
    const auto flags = command->flags();
    const bool has = std::any_of(flags.begin(), flags.end(),
                                 [&](const Flag& flag) { return flag.names == names; });
    if (has) commands.push_back(ShellQuote(std::string(command->name())));
  }
  return Join(commands, " | ");
}

struct CompletionOptions {
  std::string shell;
};

int RunCompletion(Context& context, const CompletionOptions&) {
  std::string commands;
  std::map<std::string, std::string> nested;  // "state" -> "list show rm"
  std::string flags;
  for (const Command* command : Commands()) {
    std::string& words =
        command->group().empty() ? commands : nested[std::string(command->group())];
    words += fmt::format("{}{}", words.empty() ? "" : " ", command->word());
    flags += fmt::format("    {}) flags=\"{}\" ;;\n", ShellQuote(std::string(command->name())),
                         Join(FlagNames(*command), " "));
  }
  std::string further;
  for (const auto& [name, words] : nested) {
    further += fmt::format("    {}) words=\"{}\" ;;\n", name, words);
  }
  std::string script(kScript);
  Fill("COMMANDS", commands, &script);
  Fill("PODS", NamesOf(Flag::Names::kPod), &script);
  Fill("JOBS", NamesOf(Flag::Names::kJob), &script);
  Fill("ADDRESSES", NamesOf(Flag::Names::kAddress), &script);
  Fill("SERIALS", NamesOf(Flag::Names::kSerial), &script);
  Fill("VALUED", Join(FlagsWithValue(), " | "), &script);
  std::vector<std::string> templates;
  for (const Template& item : Templates()) templates.emplace_back(item.name);
  Fill("TEMPLATES", Join(templates, " "), &script);
  Fill("NESTED", further, &script);
  Fill("FLAGS", flags, &script);
  Fill("GLOBAL", Join(GlobalFlagNames(), " "), &script);
  context.streams().out << script;
  return 0;
}

constexpr Flag kCompletionFlags[] = {
    Required(OneOf("bash", OneValue<&CompletionOptions::shell>("SHELL", "", "bash"))),
};

}  // namespace

const Command commands::kCompletion("completion", "print a shell's completion script",
                                    kCompletionFlags, RunCompletion, nullptr, NoState);

}  // namespace podctl
