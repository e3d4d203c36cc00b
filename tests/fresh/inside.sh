#!/bin/bash
# The first process of a fresh root: mounts what a machine has, makes the user, runs the commands as
# that user, tells what they left behind, and prints the table. fresh.sh starts it.
set -euo pipefail

say() { printf '==> %s\n' "$*"; }

# ---- Outside: the mounts.

enter() {
  local node root=$FRESH_ROOT
  mount --make-rprivate /
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount -t sysfs -o ro sysfs "$root/sys"
  mount -t tmpfs -o mode=755 tmpfs "$root/dev"
  for node in null zero full random urandom tty; do
    touch "$root/dev/$node"
    mount --bind "/dev/$node" "$root/dev/$node"
  done
  mkdir -p "$root/dev/pts" "$root/dev/shm" "$root/var/cache/apt/archives" "$root/ccache"
  mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts "$root/dev/pts"
  mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
  ln -s pts/ptmx "$root/dev/ptmx"
  ln -s /proc/self/fd "$root/dev/fd"
  for node in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${node%:*}" "$root/dev/${node#*:}"; done
  mount --bind "$FRESH_DEBS" "$root/var/cache/apt/archives"
  mount --bind "$FRESH_OBJECTS" "$root/ccache"
  mkdir -p "$root/logs"
  mount --bind "$FRESH_STORE" "$root/logs"
  export FRESH_INSIDE=1
  local here=/srv/podctl/tests/fresh/inside.sh
  if [[ $FRESH_NAMESPACES == yes ]]; then
    # A root proper: in a chroot no user may make namespaces.
    cd "$root"
    mkdir -p .outside
    pivot_root . .outside
    exec chroot . bash "$here" "$@"
  fi
  # What a container's root is left with.
  exec setpriv --bounding-set=-all,+chown,+dac_override,+fsetid,+fowner,+mknod,+net_raw,+setgid,+setuid,+setfcap,+setpcap,+net_bind_service,+sys_chroot,+kill,+audit_write \
    chroot "$root" bash "$here" "$@"
}

# ---- Inside.

make_user() {
  account=root
  [[ $FRESH_USER == root ]] && return 0
  account=dev
  id dev >/dev/null 2>&1 || useradd --create-home --shell /bin/bash dev
  chown -R dev: /srv/podctl
  local log=/logs/$FRESH_NAME.packages
  if [[ $FRESH_USER == sudo ]]; then
    say "installing sudo for the user"
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends sudo; } \
      >"$log" 2>&1
    printf 'dev ALL=(ALL:ALL) NOPASSWD: ALL\n' >/etc/sudoers.d/dev
    chmod 440 /etc/sudoers.d/dev
  else
    say "installing the packages, which the user cannot"
    (cd /srv/podctl && ./dev packages) >"$log" 2>&1
  fi
}

# Runs a command as the user logs in: with nothing of ours but the cache.
as_user() {
  local home
  home=$(getent passwd "$account" | cut -d: -f6)
  setpriv --reuid "$account" --regid "$account" --init-groups \
    env -i HOME="$home" USER="$account" LOGNAME="$account" SHELL=/bin/bash \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    CCACHE_DIR=/ccache CCACHE_UMASK=000 \
    ${PODCTL_WARNINGS_AS_ERRORS:+PODCTL_WARNINGS_AS_ERRORS="$PODCTL_WARNINGS_AS_ERRORS"} \
    bash -c 'cd /srv/podctl && exec ./dev "$@"' dev "$@"
}

# What there is, a line each, in FILE: called without a subshell, which would be a process too.
take_stock() {
  local each words
  for each in /proc/[0-9]*; do
    [[ $each != /proc/1 ]] || continue
    words=$(tr '\0' ' ' <"$each/cmdline" 2>/dev/null || true)
    [[ -z $words ]] || printf 'process %s: %s\n' "${each#/proc/}" "$words"
  done >"$1"
  {
    awk '{print "mount " $5}' /proc/1/mountinfo
    find /tmp /var/tmp /dev/shm /home /root -mindepth 1 \
      -path '/*/.*' -prune -o -type d -printf 'folder %p\n' -prune
  } | sort -u >>"$1"
}

# Prints what is there now and was not before; what is about to end has five seconds.
left_behind() {
  local attempt
  for attempt in 1 2 3 4 5; do
    take_stock /.now
    sort /.now | comm -13 <(sort /.before) - >/.left
    [[ -s /.left ]] || return 0
    sleep 1
  done
}

# run COMMAND...: a line of the table.
run() {
  local log=/logs/$FRESH_NAME.$1 result=passed begun=$SECONDS left='nothing left'
  take_stock /.before
  say "./dev $* (its output: build/fresh/$FRESH_NAME.$1)"
  as_user "$@" >"$log" 2>&1 </dev/null || result="failed ($?)"
  local seconds=$((SECONDS - begun))
  if [[ $result != passed ]]; then
    failed=1
    tail -n 25 "$log" | sed 's/^/    /'
  fi
  left_behind
  if [[ -s /.left ]]; then
    failed=1
    left="$(wc -l </.left) left behind"
    sed 's/^/    left behind: /' /.left
  fi
  table+=("$(printf "$columns" "$suite" "$FRESH_USER" "$FRESH_NAMESPACES" "./dev $1" "$result" \
    "$seconds s" "$left")")
}

if [[ -z ${FRESH_INSIDE:-} ]]; then enter "$@"; fi

[[ ! -d /.outside ]] || { umount -l /.outside && rmdir /.outside; }
failed= table=()
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
columns='%-9s %-5s %-11s %-11s %-12s %7s  %s\n'
make_user
for command in $FRESH_WHAT; do run "$command" "$@"; done
printf "$columns" Debian user namespaces command result time behind
printf '%s\n' "${table[@]}"
[[ -z $failed ]]
