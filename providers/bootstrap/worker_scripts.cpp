#include "providers/bootstrap/worker_scripts.h"

#include <fmt/format.h>

#include <string_view>

#include "providers/base/ending_text.h"
#include "providers/base/text.h"
#include "providers/workers/shell.h"

namespace podctl {

namespace {

// The mark is in the environment of the shell that waits for the script, and of nothing else: as
// long as that lives the script is at it. With the home folder, by which workers that share a
// process table are told apart.
constexpr const char* kEndEarlier = R"sh(
step=$HOME#$step
roots=" "
for each in $(grep -lszxF -e "PODCTL_STEP=$step" /proc/[0-9]*/environ); do
  each=${each#/proc/}
  roots="$roots${each%/environ} "
done
if [ "$roots" != " " ]; then
  (
LC_ALL=C
)sh";
constexpr const char* kEarlierEnded = R"sh(
    mark= leaders=" " spared=" $$ "
    echo "an earlier run of this step was still at it here: it is ended first"
    podctl_end {} || { echo "the earlier run of this step does not end" >&2; exit 1; }
  ) || exit 1
fi
)sh";

std::string EndEarlier(const std::string& mark) {
  if (mark.empty()) return "";
  std::string ended = kEarlierEnded;
  ended.replace(ended.find("{}"), 2, std::to_string(kEndingGrace.count()));
  return "step=" + ShellQuote(mark) + "\n" + kEndEarlier + kEndingText + ended;
}

}  // namespace

std::string RunScriptCommand(const std::string& id, const std::map<std::string, std::string>& env,
                             const std::string& mark) {
  std::string exports;
  for (const auto& [name, value] : env) {
    exports += fmt::format("export {}={}\n", name, ShellQuote(value));
  }
  // The shell between is told of a signal too, and goes on waiting for what has more to do.
  const std::string_view run =
      mark.empty() ? "\"$s\" -e \"$d/script\" </dev/null\n"
                   : "PODCTL_STEP=$step /bin/sh -c 'unset PODCTL_STEP; trap : HUP INT TERM; "
                     "\"$0\" -e \"$1\"; exit $?' \"$s\" \"$d/script\" </dev/null\n";
  // The script lands in a folder of its own, also where several workers share a home folder. -P
  // lets one archive hold places outside of home; a folder that is there keeps its owner and mode.
  // The sh that waits is told to clean up when it is asked to end.
  return InPlainShell(
      exports + EndEarlier(mark) +
      fmt::format(
          "cd || exit 1\n"
          "d=\n"
          "trap 'rm -rf \"$d\"' EXIT\n"
          "trap 'exit 143' TERM HUP INT\n"
          "d=$(mktemp -d) || exit 1\n"
          "tar -xPpmf - --no-same-owner --no-overwrite-dir --transform \"s,^{0}/,$d/,\" ||\n"
          "  {{ echo {0} >&2; exit 1; }}\n"
          "s=$(command -v bash) || s=/bin/sh\n"
          "{1}",
          id, run));
}

std::string ScriptFile(const std::string& script, const std::map<std::string, std::string>& env) {
  std::string text;
  for (const auto& [name, value] : env) {
    text += fmt::format("export {}={}\n", name, ShellQuote(value));
  }
  text += script;
  if (text.empty() || text.back() != '\n') text += '\n';
  return text;
}

std::string RestartRuntimeCommand() {
  // One call of systemctl a look, since each is a process on a worker that may have little to
  // spare. InvocationID is new for every start of a unit (systemd.exec(5)); MainPID stands in for
  // it where systemd is too old to know it.
  return InPlainShell(fmt::format(
      "ask() {{\n"
      "  said=$(systemctl show \"$@\" tpu-runtime 2>&1) || return 1\n"
      "  while IFS='=' read -r name value; do\n"
      "    case $name in\n"
      "      LoadState) load=$value;; ActiveState) active=$value;;\n"
      "      InvocationID) run=$value;; MainPID) pid=$value;;\n"
      "    esac\n"
      "  done <<PROPERTIES\n"
      "$said\n"
      "PROPERTIES\n"
      "}}\n"
      "look() {{\n"
      "  load= active= run= pid=\n"
      "  ask -p LoadState -p ActiveState -p InvocationID || return 1\n"
      "  [ -n \"$run\" ] || ask -p MainPID\n"
      "}}\n"
      "command -v systemctl >/dev/null || {{ echo 'systemctl: not found' >&2; exit {0}; }}\n"
      "look || {{ echo \"$said\" >&2; exit {0}; }}\n"
      "[ \"$load\" = not-found ] && exit {1}\n"
      "old=$run/$pid\n"
      "is_new() {{\n"
      "  look && [ \"$active\" = active ] && [ \"$run/${{pid:-0}}\" != /0 ] &&\n"
      "    [ \"$run/$pid\" != \"$old\" ]\n"
      "}}\n"
      "sudo -n systemctl restart tpu-runtime || exit {2}\n"
      "i=0\n"
      "while [ $i -lt 29 ]; do\n"
      "  if is_new; then\n"
      "    seen=$run/$pid\n"
      "    sleep 1\n"
      "    is_new && [ \"$seen\" = \"$run/$pid\" ] && exit 0\n"
      "  else\n"
      "    sleep 1\n"
      "  fi\n"
      "  i=$((i+1))\n"
      "done\n"
      "systemctl status --no-pager -n 10 tpu-runtime >&2\n"
      "exit {3}\n",
      static_cast<int>(kRestartNoSystemd), static_cast<int>(kRestartNoUnit),
      static_cast<int>(kRestartRefused), static_cast<int>(kRestartNotActive)));
}

std::string RequestXrtCommand(const std::string& version) {
  // The worker is the TPU's host, so it asks itself: its address inside Google's network is nobody
  // else's to reach. Exit code 7 of curl: no connection was made, so it may be tried again.
  return InPlainShell(
      fmt::format("command -v curl >/dev/null || {{ echo 'curl: not found' >&2; exit {1}; }}\n"
                  "url=http://127.0.0.1:8475/requestversion/{0}\n"
                  "tries=0\n"
                  "while :; do\n"
                  "  said=$(curl -sS --noproxy '*' -X POST -w '\n%{{http_code}}' \"$url\" 2>&1)\n"
                  "  code=$?\n"
                  "  tries=$((tries+1))\n"
                  "  [ $code = 7 ] && [ $tries -lt 5 ] || break\n"
                  "  sleep 1\n"
                  "done\n"
                  "if [ $code != 0 ]; then\n"
                  "  printf '%s\\n' \"$said\" | sed -n '/./{{p;q;}}' >&2\n"
                  "  [ $code = 7 ] && exit {2}\n"
                  "  exit {3}\n"
                  "fi\n"
                  "status=$(printf '%s\\n' \"$said\" | tail -n 1)\n"
                  "answer=$(printf '%s\\n' \"$said\" | sed '$d' | head -n 20 | cut -c 1-500)\n"
                  "[ -z \"$answer\" ] || printf '%s\\n' \"$answer\"\n"
                  "case $status in\n"
                  "  2[0-9][0-9]) echo \"the runtime answered $status to XRT {0}\" ;;\n"
                  "  *) echo \"HTTP status $status\" >&2; exit {4} ;;\n"
                  "esac\n",
                  version, static_cast<int>(kXrtNoCurl), static_cast<int>(kXrtNotThere),
                  static_cast<int>(kXrtNoAnswer), static_cast<int>(kXrtRefused)));
}

}  // namespace podctl
