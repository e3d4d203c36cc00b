#include "providers/base/ending_text.h"

#include <fmt/format.h>

#include "providers/base/text.h"

namespace podctl {

// A process that was seen once is known by its number and start, also when all that it belonged by
// is gone: its parent, or the environment that it has written over.
const char* const kEndingText = R"sh(
members= known=" "
podctl_members() {
  all= marked=" "
  if [ -n "$mark" ]; then
    for each in $(grep -lsF -e "$mark" /proc/[0-9]*/environ); do
      each=${each#/proc/}
      marked="$marked${each%/environ} "
    done
  fi
  read -r own rest </proc/self/stat
  apart=" $own "
  podctl_apart
  for each in /proc/[0-9]*/stat; do
    { read -r line <"$each"; } 2>/dev/null || continue
    pid=${each#/proc/}
    set -- ${line##*) }
    case $1 in Z|X) continue ;; esac
    all="$all ${pid%/stat}:$2:$3:$4:${20}"
  done
  members= belong=" " more=yes
  while [ -n "$more" ]; do
    more=
    for each in $all; do
      pid=${each%%:*} rest=${each#*:}
      case $apart in *" $pid "*) continue ;; *" ${rest%%:*} "*) apart="$apart$pid " more=yes ;; esac
    done
  done
  more=yes
  while [ -n "$more" ]; do
    more= others=
    for each in $all; do
      pid=${each%%:*} rest=${each#*:}
      parent=${rest%%:*} rest=${rest#*:}
      group=${rest%%:*} rest=${rest#*:}
      session=${rest%%:*} start=${rest#*:}
      case $spared$apart in *" $pid "*) continue ;; esac
      found_by=
      case $leaders in *" $group "*|*" $session "*) found_by=leader ;; esac
      case $roots$marked in *" $pid "*) found_by=name ;; esac
      case $belong in *" $parent "*) found_by=parent ;; esac
      case $known in *" $pid:$start:"*) found_by=before ;; esac
      if [ -n "$found_by" ]; then
        belong="$belong$pid "
        members="$members $pid:$start:$group"
        more=yes
      else
        others="$others $each"
      fi
    done
    all=$others
  done
  known="$members "
  roots=" "
}
podctl_apart() {
  :
}
podctl_slow() {
  :
}
podctl_signal() {
  kill -s "$1" -- "$2" 2>/dev/null || [ ! -d "/proc/${2#-}" ] ||
    sudo -n kill -s "$1" -- "$2" 2>/dev/null
}
podctl_up() {
  read -r up rest </proc/uptime
  up=${up%%.*}
}
podctl_end() {
  podctl_members
  set -- "$1" $members
  found=$(($#-1))
  until=$1
  shift
  for signal in TERM CONT; do
    for each in $leaders; do podctl_signal $signal "-$each"; done
    for each do
      case $leaders in *" ${each##*:} "*) ;; *) podctl_signal $signal "${each%%:*}" ;; esac
    done
  done
  podctl_up
  until=$((up+until))
  for pause in 0.05 0.1 0.2 0.2; do
    [ -z "$members" ] || [ "$up" -ge "$until" ] || { sleep $pause; podctl_members; podctl_up; }
  done
  [ -z "$members" ] || podctl_slow
  while [ -n "$members" ] && [ "$up" -lt "$until" ]; do
    sleep 0.5
    podctl_members
    podctl_up
  done
  until=$((up+5))
  while [ -n "$members" ] && [ "$up" -le "$until" ]; do
    for each in $members; do podctl_signal KILL "${each%%:*}"; done
    sleep 0.1
    podctl_members
    podctl_up
  done
  [ -z "$members" ]
}
)sh";

std::string EndSiblingsText(std::chrono::seconds grace) {
  constexpr const char* kText = R"sh(
trap "" HUP INT PIPE QUIT TERM
read -r parent </proc/$PPID/comm || exit {2}
case $parent in sshd*|dropbear*) ;; *) exit {2} ;; esac
mark= spared=" " roots=" "
for each in /proc/[0-9]*/stat; do
  {{ read -r line <"$each"; }} 2>/dev/null || continue
  pid=${{each#/proc/}}
  pid=${{pid%/stat}}
  set -- ${{line##*) }}
  [ "$2" != "$PPID" ] || [ "$pid" = $$ ] || roots="$roots$pid "
done
leaders=$roots
echo found 2>/dev/null
podctl_end {0} && exit {1}
exit {2}
)sh";
  return fmt::format(kText, grace.count(), kEndedWhole, kEndedInPart);
}

std::string EndSiblingsCommand(std::chrono::seconds grace) {
  return "exec /bin/sh -c " +
         ShellQuote("LC_ALL=C\n" + std::string(kEndingText) + EndSiblingsText(grace));
}

}  // namespace podctl
