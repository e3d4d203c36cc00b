#include "cmd/commands/completion.h"

#include <fmt/format.h>

#include <map>
#include <string>

#include "cmd/arguments.h"
#include "providers/base/text.h"

namespace podctl {

int RunCompletion(Streams& streams) {
  std::string top;
  std::map<std::string, std::string> nested;  // "state" -> "list show rm"
  std::string flags;
  for (const CommandWords& command : AllCommands()) {
    const auto blank = command.name.find(' ');
    if (blank == std::string::npos) {
      top += (top.empty() ? "" : " ") + command.name;
    } else {
      std::string& words = nested[command.name.substr(0, blank)];
      words += (words.empty() ? "" : " ") + command.name.substr(blank + 1);
    }
    flags += fmt::format("    {}) flags=\"{}\" ;;\n", ShellQuote(command.name),
                         Join(command.flags, " "));
  }
  std::string further;
  for (const auto& [name, words] : nested) {
    further += fmt::format("    {}) words=\"{}\" ;;\n", name, words);
  }
  streams.out << fmt::format(
      R"sh(# bash completion for podctl: source <(podctl completion bash)
_podctl() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" command="" word words="" flags="" i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="${{COMP_WORDS[i]}}"
    [[ $word == -- ]] && return
    [[ $word == -* ]] && continue
    if [[ -z $command ]]; then command="$word"
    elif [[ $command == state ]]; then command="state $word"; break
    else break; fi
  done
  case "$command" in
    '') words="{}" ;;
    help) words="{}" ;;
    completion) words="bash" ;;
    exec | ssh | tunnel)
      words="$(podctl state list 2>/dev/null | sed -n 's/^pod\.//p')";
      ; 'state show' | 'state rm') words = "$(podctl state list 2>/dev/null)";
  ;
  {}
  esac case "$command" in {}
  esac if [[$cur == -*]];
  then COMPREPLY = ($(compgen - W "$flags {}" --"$cur")) else COMPREPLY =
      ($(compgen - W "$words" --"$cur")) fi
}
}
complete -o default -F _podctl podctl
)sh",
      top, top, further, flags, Join(GlobalFlags(), " "));
  return 0;
}

}  // namespace podctl
