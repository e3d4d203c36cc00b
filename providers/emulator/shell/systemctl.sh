#!/bin/sh
# Texts and exit codes are those of systemd 249 to 252; where two differ, of 249 (Ubuntu 22.04).
#
# The state of the unit, in state/: `run` while it is started ("PID INVOCATION MICROSECONDS", with
# 0 for a process that nobody asked for yet, and the date on the next line), `failed` after a start
# that failed. `begin` is what run's process comes from.
# Stands in for systemd on an emulated TPU VM. It knows one unit: tpu-runtime.
vm="@VM@"
state=$vm/state
verb= value= quiet= units= properties=
while [ $# -gt 0 ]; do
  case $1 in
    -p | --property) properties="$properties,$2"; shift ;;
    -P) properties="$properties,$2"; value=1; shift ;;
    --property=*) properties="$properties,${1#*=}" ;;
    -p?*) properties="$properties,${1#-p}" ;;
    --value) value=1 ;;
    -q | --quiet) quiet=1 ;;
    -n | -o | -t | --type | --lines | --output) shift ;;
    --no-pager | --no-ask-password | --no-block | --now | --full | -l | --plain | --no-legend) ;;
    --system | -a | --all | -n?* | --lines=* | --output=* | --type=* | --no-reload | -f | --force) ;;
    -*) echo "systemctl: unrecognized option '$1'" >&2; exit 1 ;;
    *) if [ -z "$verb" ]; then verb=$1; else units="$units $1"; fi ;;
  esac
  shift
done

is_loaded() { [ "$1" = tpu-runtime.service ] && [ -e "$vm/units/$1" ]; }
# Sets pid, run and since of the started unit.
read_run() {
  pid=0 run= since=0
  [ -e "$state/run" ] && read -r pid run since < "$state/run"
}
# A process that has ended may wait for its burial.
is_alive() {
  local line=
  { read -r line < "/proc/$1/stat"; } 2> /dev/null || return 1
  case $line in *') Z '*) return 1 ;; esac
}
# Sets active, and what read_run sets.
look() {
  read_run
  if [ -n "$run" ] && { [ "$pid" = 0 ] || is_alive "$pid"; }; then active=active
  elif [ -n "$run" ] || [ -e "$state/failed" ]; then active=failed
  else active=inactive; fi
}
lock() { exec 9> "$state/lock"; flock 9; }
unlock() { exec 9>&-; }

# Starts the process that state/begin tells of, and sets pid.
begin() {
  (. "$state/begin") < /dev/null > /dev/null 2>&1 9>&- &
  pid=$!
  local comm= tries=0
  while [ $tries -lt 200 ]; do
    { read -r comm < "/proc/$pid/comm"; } 2> /dev/null
    [ "$comm" = tpu-runtime ] && break
    sleep 0.01
    tries=$((tries + 1))
  done
}
write_run() {
  echo "$pid $run $since
$1" > "$state/run.new"
  mv "$state/run.new" "$state/run"
}
# The process of a unit that was started when nobody looked.
need_process() {
  [ $active = active ] && [ "$pid" = 0 ] || return 0
  lock
  look
  if [ $active = active ] && [ "$pid" = 0 ]; then
    begin
    local date=
    { read -r date; read -r date; } < "$state/run"
    write_run "$date"
  fi
  unlock
}

start_unit() {
  look
  [ $active = active ] && return 0
  rm -f "$state/run" "$state/failed"
  if [ -e "$vm/broken-runtime" ] || [ ! -e "$vm/metadata/runtime.begin" ]; then
    : > "$state/failed"
    echo "Job for $1 failed because the control process exited with error code." >&2
    echo "See \"systemctl status $1\" and \"journalctl -xeu $1\" for details." >&2
    return 1
  fi
  # The only place where the metadata is read: a change has no effect before the next start.
  cp "$vm/metadata/runtime.begin" "$state/begin"
  begin
  local uuid= uptime= rest=
  read -r uptime rest < /proc/uptime
  read -r uuid < /proc/sys/kernel/random/uuid
  since=${uptime%.*}${uptime#*.}0000
  local fields=$IFS
  IFS=-
  set -- $uuid
  IFS=$fields
  run=$1$2$3$4$5
  write_run "$(date '+%a %Y-%m-%d %H:%M:%S %Z')"
}
stop_unit() {
  look
  if [ $active = active ] && [ "$pid" != 0 ]; then
    kill "$pid" 2> /dev/null
    local tries=0
    while [ $tries -lt 200 ] && is_alive "$pid"; do sleep 0.01; tries=$((tries + 1)); done
    is_alive "$pid" && kill -KILL "$pid"
  fi
  rm -f "$state/run" "$state/failed"
}
# A light worker's users are one user of the machine, and differ in name only.
is_root() {
  if [ "$LIGHT_WORKER" ]; then [ "$SUDO_USER" ] || [ "$USER" = root ]
  else [ -e "$vm/plain" ] || [ "$(id -u)" = 0 ]; fi
}
change_unit() {
  if ! is_loaded "$1"; then
    echo "Failed to $verb $1: Unit $1 not found." >&2
    return 5
  fi
  if ! is_root; then
    echo "Failed to $verb $1: Interactive authentication required." >&2
    echo "See system logs and 'systemctl status $1' for details." >&2
    return 1
  fi
  local code=0
  lock
  case $verb in
    start) start_unit "$1" || code=1 ;;
    stop) stop_unit ;;
    try-restart) look; [ $active != active ] || { stop_unit; start_unit "$1" || code=1; } ;;
    *) stop_unit; start_unit "$1" || code=1 ;;
  esac
  unlock
  return $code
}

is_wanted() { case ",$properties," in ,, | *",$1,"*) return 0 ;; esac; return 1; }
property() {
  is_wanted "$1" || return 0
  if [ "$value" ]; then echo "$2"; else echo "$1=$2"; fi
}
show_unit() {
  local load=loaded sub=dead restart=on-failure result=success status=0 date=
  local text='TPU Runtime & grpc server' file=/etc/systemd/system/$1 enabled=enabled
  if is_loaded "$1"; then look; else
    load=not-found restart=no text=$1 file= enabled= active=inactive pid=0 run= since=0
  fi
  if is_wanted MainPID || is_wanted ExecMainPID; then need_process; fi
  case $active in
    active) sub=running; { read -r date; read -r date; } < "$state/run" ;;
    failed) sub=failed result=exit-code status=1 pid=0 run= since=0 ;;
  esac
  property Type simple
  property Restart $restart
  property Result $result
  property NRestarts 0
  property MainPID $pid
  property ExecMainPID $pid
  property ExecMainStartTimestampMonotonic $since
  property ExecMainStatus $status
  property Id "$1"
  property Names "$1"
  property Description "$text"
  property LoadState $load
  property ActiveState $active
  property SubState $sub
  property FragmentPath "$file"
  property UnitFileState "$enabled"
  property ActiveEnterTimestamp "$date"
  property ActiveEnterTimestampMonotonic $since
  property InvocationID "$run"
}

status_unit() {
  local mark='●' date=
  if ! is_loaded "$1"; then
    echo "Unit $1 could not be found." >&2
    return 4
  fi
  look
  need_process
  case $active in inactive) mark='○' ;; failed) mark='×' ;; esac
  echo "$mark $1 - TPU Runtime & grpc server"
  echo "     Loaded: loaded (/etc/systemd/system/$1; enabled; vendor preset: enabled)"
  case $active in
    active)
      { read -r date; read -r date; } < "$state/run"
      echo "     Active: active (running) since $date"
      echo "   Main PID: $pid (tpu-runtime)"
      return 0 ;;
    failed) echo "     Active: failed (Result: exit-code)" ;;
    *) echo "     Active: inactive (dead)" ;;
  esac
  return 3
}

case $verb in
  daemon-reload | reset-failed | enable | disable) exit 0 ;;
  is-system-running) echo running; exit 0 ;;
  '' | list-units | list-unit-files)
    if is_loaded tpu-runtime.service; then look; echo "tpu-runtime.service loaded $active"; fi
    exit 0 ;;
esac
if [ -z "$units" ]; then echo "Too few arguments." >&2; exit 1; fi
code=0
for unit in $units; do
  case $unit in *.*) ;; *) unit=$unit.service ;; esac
  case $verb in
    start | stop | restart | try-restart | reload-or-restart) change_unit "$unit" || code=$? ;;
    is-active | is-failed)
      active=inactive
      is_loaded "$unit" && look
      [ "$quiet" ] || echo $active
      [ $active = "${verb#is-}" ] || code=$([ $verb = is-active ] && echo 3 || echo 1) ;;
    is-enabled)
      if is_loaded "$unit"; then
        [ "$quiet" ] || echo enabled
      else
        echo "Failed to get unit file state for $unit: No such file or directory" >&2
        code=1
      fi ;;
    show) show_unit "$unit" ;;
    status) status_unit "$unit" || code=$? ;;
    cat)
      if is_loaded "$unit"; then
        echo "# /etc/systemd/system/$unit"
        cat "$vm/units/$unit"
      else
        echo "No files found for $unit." >&2
        code=1
      fi ;;
    *) echo "Unknown command verb $verb." >&2; exit 1 ;;
  esac
done
exit $code
