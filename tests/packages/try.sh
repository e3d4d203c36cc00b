#!/bin/bash
# What `./dev package` has made, on a machine that has nothing: a root as debootstrap makes it. By
# hand, as root:
#
#   tests/packages/try.sh 12|13 deb|wheel|tarball
#
# A .deb goes by its Debian's libraries: `./dev fresh 13 package deb` makes that of another one.
# A package is installed, and its podctl applies a first spec on the emulator, as root and as another
# user (packaging/debian/tests/first-spec). A .deb is upgraded to a later version and purged, a wheel
# is uninstalled; then each file and package has to be as it was before. The root is thrown away;
# what was said stays in build/fresh/try-SUITE-WHAT.log.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$top/tests/fresh/bare_root.sh"

# ---- Inside: what a user of the package does.

first_spec() {
  local who
  for who in root nobody; do
    say "a first spec, as $who"
    setpriv --reuid "$who" --regid "$(id -g "$who")" --clear-groups env TMPDIR=/var/tmp sh /try/first-spec
  done
}

# What there is, but for what a package manager remembers of its own work.
take_stock() {
  dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version}\n' >"$1.packages"
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /try -o -path /var/cache -o -path /var/lib/apt -o \
    -path /var/lib/dpkg -o -path /var/log -o -path /etc/ld.so.cache \) -prune -o -printf '%p %y %m %U %s\n' |
    grep -v ' d ' | sort >"$1.files"
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /try -o -path /var/cache -o -path /var/lib/apt -o \
    -path /var/lib/dpkg -o -path /var/log \) -prune -o -type d -printf '%p/\n' | sort >>"$1.files"
}

compare() {
  diff -u "$1.packages" "$2.packages" || die "packages are left behind"
  diff -u "$1.files" "$2.files" || die "files are left behind, or gone"
  say "nothing is left of it"
}

apt() { apt-get -qq -o Dpkg::Use-Pty=0 -y --no-install-recommends "$@"; }

try_deb() {
  local later=/try/later.deb
  take_stock /try/before
  say "apt install"
  apt install /try/podctl*.deb
  dpkg --verify podctl
  first_spec
  [[ -e /usr/share/man/man1/podctl-plan.1.gz ]] || die "there is no man podctl-plan"
  say "an upgrade"
  dpkg-deb -R /try/podctl*.deb /try/unpacked
  sed -i 's/^Version: .*/&+later/' /try/unpacked/DEBIAN/control
  dpkg-deb --root-owner-group -b /try/unpacked "$later" >/dev/null
  apt install "$later"
  dpkg-query -W podctl | grep -q '+later$' || die "it was not upgraded"
  podctl version
  say "a purge"
  # What others only recommend apt would keep, though it came with podctl.
  apt -o APT::AutoRemove::RecommendsImportant=false -o APT::AutoRemove::SuggestsImportant=false purge --autoremove podctl
  take_stock /try/after
  compare /try/before /try/after
}

try_wheel() {
  apt install python3 python3-venv
  python3 -m venv /opt/venv
  # pip's own leavings come with its first run.
  /opt/venv/bin/python -m pip --version
  python3 -m compileall -q /opt/venv || true
  take_stock /try/before
  say "pip install"
  /opt/venv/bin/pip install --no-index --disable-pip-version-check /try/podctl*.whl
  PATH=/opt/venv/bin:$PATH first_spec
  say "pip uninstall"
  /opt/venv/bin/pip uninstall --yes podctl
  # Of folders that it has made outside of lib pip removes the files alone.
  [[ -z $(find /opt/venv/share ! -type d) ]] || die "pip has left files"
  rm -r /opt/venv/share
  take_stock /try/after
  compare /try/before /try/after
}

try_tarball() {
  take_stock /try/before
  tar -C /opt -xzf /try/podctl*.tar.gz
  PATH=$(echo /opt/podctl-*/bin):$PATH first_spec
  rm -r /opt/podctl-*
  take_stock /try/after
  compare /try/before /try/after
}

if [[ -n ${TRY_INSIDE:-} ]]; then
  export DEBIAN_FRONTEND=noninteractive PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
  apt update
  "try_$TRY_INSIDE"
  exit 0
fi

# ---- Outside.

debian=${1:-} what=${2:-}
suite=${suites[$debian]:-}
made=$top/build/package
[[ ! -d $store/packages-$suite || $what != deb ]] || made=$store/packages-$suite
case $what in
  deb) files=("$made"/podctl_*.deb) ;;
  wheel) files=("$top"/build/package/podctl-*.whl) ;;
  tarball) files=("$top"/build/package/podctl-*.tar.gz) ;;
  *) files=() ;;
esac
[[ -n $suite && ${#files[@]} != 0 && $# == 2 ]] || die "what is to be tried where? tests/packages/try.sh 12|13 deb|wheel|tarball"
[[ ${#files[@]} == 1 && -e ${files[0]} ]] || die "there is not one $what in build/package: ./dev package $what makes it"
[[ $(id -u) == 0 ]] || die "roots and namespaces are made by root"

root=$store/root-try-$suite-$what
log=$store/try-$suite-$what
mkdir -p "$store"
unpack_bare
trap 'rm -rf --one-file-system "$root"' EXIT
prepare
mkdir "$root/try"
cp "${files[0]}" "$top/packaging/debian/tests/first-spec" "$root/try/"
mkdir -p "$root/try/tests/packages" "$root/try/tests/fresh"
cp "$top/tests/packages/try.sh" "$root/try/tests/packages/"
cp "$top/tests/fresh/bare_root.sh" "$root/try/tests/fresh/"
# In namespaces of its own, so that what a run leaves running goes with it.
enter='mount -t proc proc "$1/proc" && mount -t tmpfs -o mode=755 tmpfs "$1/dev" &&
  for node in null zero full random urandom tty; do touch "$1/dev/$node" && mount --bind "/dev/$node" "$1/dev/$node" || exit; done &&
  mkdir "$1/dev/pts" "$1/dev/shm" && mount -t devpts -o newinstance,ptmxmode=666 devpts "$1/dev/pts" && ln -s pts/ptmx "$1/dev/ptmx" &&
  ln -s /proc/self/fd "$1/dev/fd" && mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm" &&
  exec chroot "$1" env -i TRY_INSIDE="$2" bash /try/tests/packages/try.sh'
say "trying ${files[0]##*/} on Debian $debian ($log.log)"
if ! unshare --mount --pid --ipc --uts --fork --kill-child bash -c "$enter" enter "$root" "$what" >"$log.log" 2>&1 </dev/null; then
  tail -n 40 "$log.log" >&2
  die "it failed"
fi
grep '^==> ' "$log.log"
say "done"
