#!/bin/bash
folder=$1 host=$2
shift 2
exec 3<&0
finish() {
  trap - TERM
  read -r runtime _ 2>/dev/null < "$folder/state/run"
  kill -KILL "$listener" "$watcher" ${runtime#0} 2>/dev/null
  for process in /proc/[0-9]*; do
    if grep -qzxF "TPU_VM_FOLDER=$folder" "$process/environ" 2>/dev/null; then
      [ "${process#/proc/}" = $$ ] || kill -KILL "${process#/proc/}" 2>/dev/null
    fi
  done
  exit 1
}
trap finish TERM
"$folder/bin/make-keys" "$folder" "$host" 3<&- || exit 1
"$folder/bin/boot" "$folder" 3<&- || exit 1
"$@" 3<&- &
listener=$!
{ cat <&3 > /dev/null; kill -TERM $$; } &
watcher=$!
exec 3<&-
wait "$listener"
finish
