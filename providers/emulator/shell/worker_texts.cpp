#include "providers/emulator/shell/worker_texts.h"

namespace podctl::emulator {

// It has four TPU chips, as most hosts of a pod do: files that can be held open, and no more.
//
// The mounts are private to the namespace and vanish with it. The folder is bound first and moved
// to its place last, since the mounts between may hide where it lies (/home, /tmp, /run, /root).
const std::string_view kNamespaceInit = R"sh(#!/bin/bash
set -e
folder=$1 host=$2
shift 2
hub=/mnt
case $folder in /mnt/*) hub=/media ;; esac
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs $hub
mkdir $hub/vm
mount --bind "$folder" $hub/vm
mount -t proc proc /proc
own_devices() {
  mkdir $hub/dev && mount -t tmpfs -o mode=755 tmpfs $hub/dev || return 1
  local name
  for name in null zero full random urandom tty; do
    : > $hub/dev/$name && mount --bind /dev/$name $hub/dev/$name || return 1
  done
  mkdir $hub/dev/pts $hub/dev/shm && chmod 1777 $hub/dev/shm || return 1
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts $hub/dev/pts || return 1
  ln -s pts/ptmx $hub/dev/ptmx && ln -s /proc/self/fd $hub/dev/fd || return 1
  ln -s fd/0 $hub/dev/stdin && ln -s fd/1 $hub/dev/stdout && ln -s fd/2 $hub/dev/stderr || return 1
  for name in accel0 accel1 accel2 accel3; do
    : > $hub/dev/$name && chmod 666 $hub/dev/$name || return 1
  done
  mount --move $hub/dev /dev
}
# Root in it would read and write the machine's disks by the machine's /dev.
own_devices || {
  echo "no /dev of its own can be mounted here, and it does not get the machine's" >&2
  exit 1
}
mount --bind $hub/vm/home /home
mount --bind $hub/vm/root /root
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=755 tmpfs /var/log
mkdir -p /run/tpu-vm /run/sshd /run/lock
mount --move $hub/vm /run/tpu-vm
umount $hub
cd /
for file in passwd group shadow sudoers hosts hostname profile; do
  if [ -e /etc/$file ]; then mount --bind /run/tpu-vm/etc/$file /etc/$file; fi
done
if [ -e /usr/bin/systemctl ]; then mount --bind /run/tpu-vm/bin/systemctl /usr/bin/systemctl; fi
hostname "$host" 2>/dev/null || echo "$host" > /proc/sys/kernel/hostname
/run/tpu-vm/bin/make-keys /run/tpu-vm "$host" 3<&- 4<&-
/run/tpu-vm/bin/walls 3<&- 4<&-
weak=(/usr/bin/setpriv --bounding-set=@CAPABILITIES@ --inh-caps=-all --)
"${weak[@]}" /run/tpu-vm/bin/boot /run/tpu-vm 3<&- 4<&-
exec "${weak[@]}" "$@"
)sh";

// A place that another mount hides is no mount point any more, and cannot be uncovered without
// CAP_SYS_ADMIN.
const std::string_view kWalls = R"sh(#!/bin/bash
set -e
vm=/run/tpu-vm
mount --bind $vm/state $vm/state
mount -t tmpfs -o mode=1777 tmpfs /var/tmp
for name in sys sysrq-trigger irq bus fs; do
  if [ -e /proc/$name ]; then mount --bind /proc/$name /proc/$name; fi
done
is_own() {
  case $1 in
    /home | /root | /tmp | /var/tmp | /var/log | /run | /dev | /dev/* | /proc | $vm/state) return 0 ;;
    /etc/passwd | /etc/group | /etc/shadow | /etc/sudoers | /etc/hosts | /etc/hostname) return 0 ;;
  esac
  return 1
}
while read -r _ _ _ _ place _; do
  printf -v place %b "$place"
  if ! is_own "$place" && mountpoint -q "$place"; then mount -o remount,bind,ro "$place"; fi
done < /proc/self/mountinfo
)sh";

// Those that Docker leaves to root in a container, but for CAP_MKNOD: a device of one's own making
// is the machine's disk.
const std::string_view kWorkerCapabilities =
    "-all,+chown,+dac_override,+fsetid,+fowner,+net_raw,+setgid,+setuid,+setfcap,+setpcap,"
    "+net_bind_service,+sys_chroot,+kill,+audit_write";

// Open descriptors are all that it does: nobody can tell it from a program that forgot to end.
const std::string_view kHoldTpu = R"sh(
exec 3</dev/accel0 4>/tmp/libtpu_lockfile
exec -a 'python3 train.py' sleep infinity
)sh";

const std::string_view kDoorman = R"pl(#!/usr/bin/perl
use strict;
use warnings;
use IO::Handle;
my ($doors, $limit, @sshd) = @ARGV;
$0 = 'doorman';
# As pid 1 it inherits every orphan of the VM; the kernel buries those of whoever ignores them.
$SIG{CHLD} = 'IGNORE';
my $all = '';
my @doors;
for my $number (3 .. 2 + $doors) {
  open(my $door, '+<&=', $number) or die "no socket to listen on: $!\n";
  listen($door, 128) or die "cannot listen: $!\n";
  $door->blocking(0);    # who knocked may have left again
  vec($all, $number, 1) = 1;
  push @doors, $door;
}
my %guests;
while (1) {
  my $waiting = $all;
  next if select($waiting, undef, undef, undef) < 0;
  for my $door (grep { vec($waiting, fileno($_), 1) } @doors) {
    my $guest;
    if (!accept($guest, $door)) {
      select(undef, undef, undef, 0.05);    # out of descriptors or memory; it may pass
      next;
    }
    delete @guests{grep { !kill(0, $_) } keys %guests} if keys %guests >= $limit;
    if (keys %guests < $limit) {
      my $child = fork;
      if (defined $child && $child == 0) {
        $SIG{CHLD} = 'DEFAULT';
        setpgrp(0, 0);    # sshd signals its group when a login takes too long
        close $_ for @doors;
        open(STDIN, '<&', $guest) && open(STDOUT, '>&', $guest) or exit 1;
        close $guest;
        exec { $sshd[0] } @sshd;
        exit 1;
      }
      $guests{$child} = 1 if defined $child;
    }
    close $guest;
  }
}
)pl";

const std::string_view kPlainInit = R"sh(#!/bin/bash
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
)sh";

const std::string_view kMakeKeys = R"sh(#!/bin/bash
vm=$1 host=$2
rm -rf "$vm/state"
mkdir -p "$vm/state"
chmod 755 "$vm/state"
# 2048 bits keep the boot of a large pod on a small machine within seconds.
while read -r type bits; do
  key=$vm/ssh/ssh_host_${type}_key
  if [ ! -s "$key.pub" ]; then
    rm -f "$key"
    ssh-keygen -q -t "$type" $bits -N '' -C "root@$host" -f "$key" || exit 1
  fi
done <<'KEYS'
ed25519
ecdsa
rsa -b 2048
KEYS
exit 0
)sh";

const std::string_view kBoot = R"sh(#!/bin/bash
vm=$1
if [ -e "$vm/units/tpu-runtime.service" ]; then
  "$vm/bin/systemctl" start tpu-runtime > "$vm/state/boot.log" 2>&1
fi
if [ -s "$vm/metadata/attributes/startup-script" ]; then
  cp "$vm/metadata/attributes/startup-script" "$vm/state/startup-script"
  chmod 700 "$vm/state/startup-script"
  (cd / && setsid "$vm/state/startup-script" < /dev/null > "$vm/state/startup-script.log" 2>&1 &)
fi
exit 0
)sh";

// Texts and exit codes are those of systemd 249 to 252; where two differ, of 249 (Ubuntu 22.04).
//
// The state of the unit, in state/: `run` while it is started ("PID INVOCATION MICROSECONDS", with
// 0 for a process that nobody asked for yet, and the date on the next line), `failed` after a start
// that failed. `begin` is what run's process comes from.
const std::string_view kSystemctl = R"sh(#!/bin/sh
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
)sh";

const std::string_view kSudo = R"sh(#!/bin/sh
# Stands in for sudo where there is none: everybody on this emulated VM may do everything.
export SUDO_USER="${SUDO_USER:-$USER}"
while [ $# -gt 0 ]; do
  case $1 in
    -u | -g | -C | -p | -r | -t | -h) shift 2 ;;
    --) shift; break ;;
    -i | -s) shift; [ $# -gt 0 ] || exec bash ;;
    -v | -k | -K) exit 0 ;;
    -*) shift ;;
    *=*) export "$1"; shift ;;
    *) break ;;
  esac
done
exec "$@"
)sh";

const std::string_view kHostname = R"sh(#!/bin/sh
echo "$TPU_VM_HOSTNAME"
)sh";

const std::string_view kPlainSession = R"sh(#!/bin/bash
export TPU_VM_FOLDER='@VM@' HOME='@VM@/home' PATH="@VM@/bin:$PATH"
cd "$HOME" || exit 1
case $SSH_ORIGINAL_COMMAND in
  '') exec bash -i ;;
  internal-sftp) exec /usr/lib/openssh/sftp-server ;;
  *) exec bash -c "$SSH_ORIGINAL_COMMAND" ;;
esac
)sh";

const std::string_view kUnitFile = R"sh([Unit]
Description=TPU Runtime & grpc server

[Service]
ExecStart=@VM@/bin/tpu-runtime
Restart=on-failure

[Install]
WantedBy=multi-user.target
)sh";

std::string ForFolder(std::string_view script, std::string_view folder) {
  constexpr std::string_view kMark = "@VM@";
  std::string text;
  while (true) {
    const std::size_t at = script.find(kMark);
    text += script.substr(0, at);
    if (at == std::string_view::npos) return text;
    text += folder;
    script.remove_prefix(at + kMark.size());
  }
}

}  // namespace podctl::emulator
