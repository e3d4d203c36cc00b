#include "cmd/commands/completion.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/arguments.h"
#include "providers/base/text.h"
#include "templates/catalog.h"

namespace podctl {
namespace {

// @NAME@ is filled in below.
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
    exec | ssh | tunnel | doctor | drain | jobs | logs | kill) words="$(podctl state list 2>/dev/null | sed -n 's/^pod\.//p')" ;;
    run) words="$(podctl run --list 2>/dev/null | sed '1d; s/ .*//')" ;;
    'state list' | 'state show' | 'state mv' | 'state rm')
      words="$(podctl state list 2>/dev/null)" ;;
    'state restore')
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

}  // namespace

int RunCompletion(Streams& streams) {
  std::string commands;
  std::map<std::string, std::string> nested;  // "state" -> "list show rm"
  std::string flags;
  for (const CommandWords& command : AllCommands()) {
    const auto blank = command.name.find(' ');
    std::string& words =
        blank == std::string::npos ? commands : nested[command.name.substr(0, blank)];
    words += (words.empty() ? "" : " ") + command.name.substr(blank + 1);
    flags += fmt::format("    {}) flags=\"{}\" ;;\n", ShellQuote(command.name),
                         Join(command.flags, " "));
  }
  std::string further;
  for (const auto& [name, words] : nested) {
    further += fmt::format("    {}) words=\"{}\" ;;\n", name, words);
  }
  std::string script(kScript);
  Fill("COMMANDS", commands, &script);
  Fill("VALUED", Join(FlagsWithValue(), " | "), &script);
  std::vector<std::string> templates;
  for (const Template& item : Templates()) templates.emplace_back(item.name);
  Fill("TEMPLATES", Join(templates, " "), &script);
  Fill("NESTED", further, &script);
  Fill("FLAGS", flags, &script);
  Fill("GLOBAL", Join(GlobalFlags(), " "), &script);
  streams.out << script;
  return 0;
}

}  // namespace podctl
