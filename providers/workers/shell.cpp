#include "providers/workers/shell.h"

#include <fmt/format.h>

#include "providers/base/text.h"

namespace podctl {

std::string InPlainShell(const std::string& script) {
  return "exec /bin/sh -c " + ShellQuote(script);
}

std::string ExportLines(const std::map<std::string, std::string>& variables) {
  std::string lines;
  for (const auto& [name, value] : variables) {
    lines += fmt::format("export {}={}\n", name, ShellQuote(value));
  }
  return lines;
}

namespace workers {

const char* const kFindRoot = R"sh(
root=
if [ "$(id -u)" != 0 ]; then
  if sudo -n true 2>/dev/null; then root='sudo -n'; else root=none; fi
fi
)sh";

// Links below /proc are what lsof reads too, but lsof is not on every image. Processes in a
// container are told by their control group, since their parents say nothing.
const char* const kScanHolders = R"sh(
LC_ALL=C; export LC_ALL
main=$1
at=$2
container=
if command -v docker >/dev/null 2>&1; then
  container=$(docker inspect -f "{{.Id}}" tpu-runtime 2>/dev/null)
fi
read -r up rest </proc/uptime
up=${up%.*}
variable() {
  tr "\0" "\n" <"/proc/$pid/environ" 2>/dev/null | sed -n "s/^$1=//p" | head -n 1
}
describe() {
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  stat=${stat##*) }
  set -- "$1" $stat
  [ "$2" != Z ] || return 1
  pid=$1
  shift 20
  start=$1
  age=$((up - start / 100))
  user=$(stat -c %U "/proc/$pid" 2>/dev/null) || return 1
  owner=-
  [ "$pid" != "$main" ] || owner=runtime
  while read -r line; do
    case $line in
      */tpu-runtime.service*) owner=runtime ;;
      */google-startup-scripts.service*) owner=startup-script ;;
    esac
    if [ -n "$container" ]; then
      case $line in *"$container"*) owner=runtime ;; esac
    fi
  done <"/proc/$pid/cgroup"
  job=$(variable PODCTL_JOB | tr -cd "[:graph:]")
  if [ -n "$job" ]; then
    # A job is of whoever its home folder belongs to: with sudo the process is another user.
    job_user=$(variable PODCTL_RUN_MARK | sed -n "s,^\(/.*\)/\.podctl/run/[^/]*$,\1,p")
    [ -z "$job_user" ] || job_user=$(stat -c %U "$job_user" 2>/dev/null)
    owner=job:$job:$job_user
  fi
  command=$(head -c 400 "/proc/$pid/cmdline" 2>/dev/null | tr "\0\n\t" "   " | tr -cd "[:print:]")
  [ -n "$command" ] || read -r command <"/proc/$pid/comm"
}
before=
find /proc/[0-9]*/fd -maxdepth 1 -type l \( -lname "$at/dev/accel[0-9]*" -o -lname "$at/dev/vfio/*" \
  -o -lname "$at/tmp/libtpu_lockfile*" \) -printf "%h %l\n" 2>/dev/null | sort -u | head -n 256 |
while read -r folder file gone; do
  pid=${folder#/proc/}
  pid=${pid%/fd}
  if [ "$pid" != "$before" ]; then
    describe "$pid" || continue
    before=$pid
  fi
  printf "holder %s %s %s %s %s %s %s\n" $pid $start "$user" $age "$owner" "$file" "$command"
done
)sh";

}  // namespace workers

}  // namespace podctl
