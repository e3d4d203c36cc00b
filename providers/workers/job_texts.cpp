#include "providers/workers/job_texts.h"

namespace podctl::workers {

const char* const kJobsFolder = R"sh(
read -r podctl_machine </proc/sys/kernel/hostname
case $podctl_machine in ""|.*|*[!A-Za-z0-9._-]*) podctl_machine=worker ;; esac
podctl_jobs=$HOME/.podctl/jobs/$podctl_machine
)sh";

namespace {

constexpr const char* kKnowJobs = R"sh(
LC_ALL=C; export LC_ALL
umask 077
jobs=$podctl_jobs
boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)
start_of() {
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  stat=${stat##*) }
  set -- $stat
  [ "$1" != Z ] || return 1
  shift 19
  echo "$1"
}
# A folder as podctl makes them: nothing in it keeps a reader waiting, and its name is a job's.
sound() {
  case ${1##*/} in ""|.*|-*|*[!A-Za-z0-9._-]*) return 1 ;; esac
  [ ${#1} -le $((${#jobs} + 65)) ] || return 1
  for each in pid exit run started command log grace keeper container attached ended-by \
    ending/result ending/by; do
    [ ! -e "$1/$each" ] || [ -f "$1/$each" ] || return 1
  done
}
# What a worker's files say is a number where one is due.
number() {
  case $1 in ""|*[!0-9]*|???????????*) echo 0 ;; *) echo "$1" ;; esac
}
# Its supervisor lives.
is_alive() {
  pid=
  { read -r pid start booted <"$1/pid"; } 2>/dev/null || return 1
  [ "$booted" = "$boot" ] && [ "$(start_of "$pid")" = "$start" ]
}
# Sets $state, $code, $ended.
look() {
  state=running code=0 ended=0
  if [ ! -s "$1/exit" ] && ! is_alive "$1"; then state=died; fi
  # The exit code is written before the supervisor goes.
  if { read -r code ended <"$1/exit"; } 2>/dev/null; then state=ended; else code=0 ended=0; fi
  code=$(number "$code") ended=$(number "$ended")
}
tell() {
  look "$1"
  run=- started=0
  { read -r run <"$1/run"; read -r started <"$1/started"; } 2>/dev/null
  case $run in ""|*[!A-Za-z0-9._-]*) run=- ;; esac
  started=$(number "$started")
  size=$(stat -c %s "$1/log" 2>/dev/null) || size=0
  line=$(head -n 1 "$1/command" 2>/dev/null | cut -c 1-200 | tr -cd "[:print:]")
  printf "job %s %s %s %s %s %s %s %s\n" "${1##*/}" "$run" $state "$code" "$started" "$ended" \
    "$size" "$line"
}
)sh";

}  // namespace

std::string KnowJobs() {
  return std::string(kJobsFolder) + kKnowJobs;
}

// Its processes are known by the session of its supervisor, as long as that lives (its number may
// be another's after that), and by the mark in their environment. The supervisor and the keeper (of
// an attached run) are left alone: the one tells how it ended, and is gone a moment later. What it
// does once the command is over belongs no more to the job than what the keeper does.
const char* const kEndJob = R"sh(
podctl_apart() {
  apart="$apart$keeper "
  [ ! -e "$job/over" ] || apart="$apart$supervisor "
}
# One at a time; false when another has done it.
take_ending() {
  podctl_up
  patience=$((up+grace+60))
  while ! mkdir "$job/ending" 2>/dev/null; do
    [ -d "$job" ] || return 1
    result= ender=
    { read -r result <"$job/ending/result"; } 2>/dev/null
    { read -r ender began <"$job/ending/by"; } 2>/dev/null
    [ "$result" != 0 ] || return 1
    podctl_up
    if [ -n "$result" ] || [ "$up" -gt "$patience" ] ||
      { [ -n "$ender" ] && [ "$(start_of "$ender")" != "$began" ]; }; then
      rm -rf "$job/ending"
    else
      sleep 0.2
    fi
  done
  read -r own rest </proc/self/stat
  echo "$own $(start_of "$own")" >"$job/ending/by"
}
# True when it does not run any more.
end_container() {
  docker=docker
  docker info >/dev/null 2>&1 || docker="sudo -n docker"
  podctl_up
  [ "$($docker inspect -f "{{.State.Running}}" "$container" 2>/dev/null)" = true ] || return 0
  left=$((began_at+grace-up))
  [ $left -gt 0 ] || left=0
  $docker stop -t $left "$container" >/dev/null 2>&1
  [ "$($docker inspect -f "{{.State.Running}}" "$container" 2>/dev/null)" != true ]
}
end_job() {
  because=$1 grace=$2
  [ -n "$grace" ] || { read -r grace <"$job/grace"; } 2>/dev/null
  case $grace in ""|*[!0-9]*) grace=30 ;; esac
  take_ending || return 0
  supervisor= keeper= run=- container= leaders=" "
  { read -r supervisor rest <"$job/pid"; read -r run <"$job/run"; } 2>/dev/null
  { read -r keeper <"$job/keeper"; } 2>/dev/null
  { read -r container <"$job/container"; } 2>/dev/null
  ! is_alive "$job" || leaders=" $supervisor "
  spared=" $supervisor " roots=" " mark="PODCTL_RUN_MARK=$HOME/.podctl/run/${job##*/}#$run"
  [ -z "$because" ] || printf "%s\n" "$because" >"$job/ended-by"
  podctl_up
  began_at=$up
  # Who stops a container has to live as long as that takes.
  result=0
  podctl_end $((grace + ${container:+10} + 0)) || result=1
  [ -z "$container" ] || end_container || result=1
  echo $result >"$job/ending/result"
  return $result
}
)sh";

}  // namespace podctl::workers
