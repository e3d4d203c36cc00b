#include "providers/emulator/worker_scripts.h"

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
  kill -KILL "$listener" "$watcher" $(cat "$folder/state/pid" 2>/dev/null) 2>/dev/null
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
const std::string_view kSystemctl = R"sh(#!/bin/bash
# Stands in for systemd on an emulated TPU VM. It knows one unit: tpu-runtime.
vm='@VM@'
state=$vm/state
verb= value= quiet=
units=() properties=()
while (($#)); do
  case $1 in
    -p | --property) properties+=(${2//,/ }); shift ;;
    -P) properties+=(${2//,/ }); value=1; shift ;;
    --property=*) properties+=($(tr , ' ' <<< "${1#*=}")) ;;
    -p?*) properties+=($(tr , ' ' <<< "${1#-p}")) ;;
    --value) value=1 ;;
    -q | --quiet) quiet=1 ;;
    -n | -o | -t | --type | --lines | --output) shift ;;
    --no-pager | --no-ask-password | --no-block | --now | --full | -l | --plain | --no-legend) ;;
    --system | -a | --all | -n?* | --lines=* | --output=* | --type=* | --no-reload | -f | --force) ;;
    -*) echo "systemctl: unrecognized option '$1'" >&2; exit 1 ;;
    *) if [[ -z $verb ]]; then verb=$1; else units+=("$1"); fi ;;
  esac
  shift
done

is_loaded() { [[ $1 == tpu-runtime.service && -e $vm/units/$1 ]]; }
main_pid() { cat "$state/pid" 2> /dev/null || echo 0; }
is_running() {
  local pid; pid=$(main_pid)
  [[ $pid != 0 && -e /proc/$pid/status ]] && ! grep -qs '^State:.*Z' "/proc/$pid/status"
}
active_state() {
  if ! is_loaded "$1"; then echo inactive
  elif is_running; then echo active
  elif [[ -e $state/pid || -e $state/failed ]]; then echo failed
  else echo inactive; fi
}
see_also() { echo "See system logs and 'systemctl status $1' for details." >&2; }

start_unit() {
  is_running && return 0
  rm -f "$state/pid" "$state/failed"
  if [[ -e $vm/broken-runtime || ! -e $vm/metadata/runtime.env ]]; then
    touch "$state/failed"
    echo "Job for $1 failed because the control process exited with error code." >&2
    echo "See \"systemctl status $1\" and \"journalctl -xeu $1\" for details." >&2
    return 1
  fi
  local words=() pid
  # The only place where the metadata is read: a change has no effect before the next start.
  mapfile -d '' -t words < "$vm/metadata/runtime.env"
  setsid env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${words[@]}" \
    "$vm/bin/tpu-runtime" infinity < /dev/null > /dev/null 2>&1 9>&- &
  pid=$!
  for _ in {1..200}; do
    [[ $(cat /proc/$pid/comm 2> /dev/null) == tpu-runtime ]] && break
    sleep 0.01
  done
  local uptime; read -r uptime _ < /proc/uptime
  echo "${uptime/./}0000" > "$state/since_monotonic"
  date '+%a %Y-%m-%d %H:%M:%S %Z' > "$state/since"
  tr -d - < /proc/sys/kernel/random/uuid > "$state/invocation"
  echo $pid > "$state/pid"
}
stop_unit() {
  local pid; pid=$(main_pid)
  if is_running; then
    kill "$pid"
    for _ in {1..200}; do is_running || break; sleep 0.01; done
    is_running && kill -KILL "$pid"
  fi
  rm -f "$state/pid" "$state/failed"
}
change_unit() {
  local unit=$1
  if ! is_loaded "$unit"; then
    echo "Failed to $verb $unit: Unit $unit not found." >&2
    return 5
  fi
  if [[ $(id -u) != 0 && ! -e $vm/plain ]]; then
    echo "Failed to $verb $unit: Interactive authentication required." >&2
    see_also "$unit"
    return 1
  fi
  exec 9> "$state/lock"
  flock 9
  local code=0
  case $verb in
    start) start_unit "$unit" || code=1 ;;
    stop) stop_unit ;;
    try-restart) ! is_running || { stop_unit; start_unit "$unit" || code=1; } ;;
    *) stop_unit; start_unit "$unit" || code=1 ;;
  esac
  exec 9>&-
  return $code
}

show_unit() {
  local unit=$1 active load=loaded sub=dead pid=0 name text
  is_loaded "$unit" || load=not-found
  active=$(active_state "$unit")
  case $active in active) sub=running; pid=$(main_pid) ;; failed) sub=failed ;; esac
  while IFS='=' read -r name text; do
    if ((${#properties[@]})) && [[ " ${properties[*]} " != *" $name "* ]]; then continue; fi
    if [[ $value ]]; then echo "$text"; else echo "$name=$text"; fi
  done <<PROPERTIES
Type=simple
Restart=$([[ $load == loaded ]] && echo on-failure || echo no)
Result=$([[ $active == failed ]] && echo exit-code || echo success)
NRestarts=0
MainPID=$pid
ExecMainPID=$pid
ExecMainStartTimestampMonotonic=$(cat "$state/since_monotonic" 2> /dev/null || echo 0)
ExecMainStatus=$([[ $active == failed ]] && echo 1 || echo 0)
Id=$unit
Names=$unit
Description=$([[ $load == loaded ]] && echo 'TPU Runtime & grpc server' || echo "$unit")
LoadState=$load
ActiveState=$active
SubState=$sub
FragmentPath=$([[ $load == loaded ]] && echo "/etc/systemd/system/$unit")
UnitFileState=$([[ $load == loaded ]] && echo enabled)
ActiveEnterTimestamp=$([[ $active == active ]] && cat "$state/since")
ActiveEnterTimestampMonotonic=$([[ $active == active ]] && cat "$state/since_monotonic" || echo 0)
InvocationID=$([[ $active == active ]] && cat "$state/invocation")
PROPERTIES
}

status_unit() {
  local unit=$1 active
  if ! is_loaded "$unit"; then
    echo "Unit $unit could not be found." >&2
    return 4
  fi
  active=$(active_state "$unit")
  local mark='●'; [[ $active == inactive ]] && mark='○'; [[ $active == failed ]] && mark='×'
  echo "$mark $unit - TPU Runtime & grpc server"
  echo "     Loaded: loaded (/etc/systemd/system/$unit; enabled; vendor preset: enabled)"
  case $active in
    active)
      echo "     Active: active (running) since $(cat "$state/since")"
      echo "   Main PID: $(main_pid) (tpu-runtime)"
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
    if [[ -e $vm/units/tpu-runtime.service ]]; then
      echo "tpu-runtime.service loaded $(active_state tpu-runtime.service)"
    fi
    exit 0 ;;
esac
if ((${#units[@]} == 0)); then echo "Too few arguments." >&2; exit 1; fi
code=0
for unit in "${units[@]}"; do
  [[ $unit == *.* ]] || unit=$unit.service
  case $verb in
    start | stop | restart | try-restart | reload-or-restart) change_unit "$unit" || code=$? ;;
    is-active)
      active=$(active_state "$unit")
      [[ $quiet ]] || echo "$active"
      [[ $active == active ]] || code=3 ;;
    is-failed)
      active=$(active_state "$unit")
      [[ $quiet ]] || echo "$active"
      [[ $active == failed ]] || code=1 ;;
    is-enabled)
      if is_loaded "$unit"; then
        [[ $quiet ]] || echo enabled
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

const std::string_view kSudo = R"sh(#!/bin/bash
# Stands in for sudo where there is none: everybody on this emulated VM may do everything.
while (($#)); do
  case $1 in
    -u | -g | -C | -p | -r | -t | -h) shift 2 ;;
    --) shift; break ;;
    -i | -s) shift; (($#)) || exec bash ;;
    -v | -k | -K) exit 0 ;;
    -*) shift ;;
    *=*) export "${1?}"; shift ;;
    *) break ;;
  esac
done
export SUDO_USER=${SUDO_USER:-$USER}
exec "$@"
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

const std::string_view kPlainHostname = R"sh(#!/bin/bash
cat '@VM@/etc/hostname'
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
