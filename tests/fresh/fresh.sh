#!/bin/bash
# The two commands of the README on a machine that has nothing: a root as debootstrap makes it, a
# clone of what is committed, and a user. `./dev fresh` runs this as root; see usage there.
#
# The root is in namespaces of its own (processes, mounts, names), so that what a run leaves behind
# is seen, told, and then gone. The network is the machine's. Where the workers are to have no
# namespaces, it is what a container has: a chroot without the capabilities to make any.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
store=$top/build/fresh

die() {
  printf 'dev: %s\n' "$*" >&2
  exit 1
}
say() { printf '==> %s\n' "$*"; }

# ---- What is asked for.

declare -A suites=([12]=bookworm [13]=trixie)
debian=${1:-}
suite=${suites[$debian]:-}
[[ -n $suite ]] || die "which Debian? ./dev fresh 12|13 [--user root|sudo|plain] [--no-namespaces] [demo|test [ARGS]]"
shift
user=root namespaces=yes keep= what=()
while [[ ${1:-} == --* ]]; do
  case $1 in
    --user)
      user=${2:-}
      shift
      ;;
    --user=*) user=${1#*=} ;;
    --no-namespaces) namespaces=no ;;
    --keep) keep=yes ;;
    *) die "unknown option of fresh: $1" ;;
  esac
  shift
done
[[ $user =~ ^(root|sudo|plain)$ ]] || die "--user is root, sudo or plain, not '$user'"
case ${1:-} in
  '') what=(demo test) ;;
  demo | test)
    what=("$1")
    shift
    ;;
  *) die "fresh runs demo or test, not '$1'" ;;
esac
[[ ${#what[@]} == 1 || $# == 0 ]] || die "not understood: $*"

name=$suite-$user
[[ $namespaces == yes ]] || name+=-plain
bare=$store/bare-$suite.tar
root=$store/root-$name
log=$store/$name

# ---- What this machine's apt knows: where packages come from, and through whom.

mirror() {
  apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    sed -n 's/^Debian Debian //p' | head -n 1
}

# take_over FILE: a file of this machine goes to the same place in the root.
take_over() {
  [[ -e $1 ]] || return 0
  mkdir -p "$root$(dirname "$1")"
  cp -L "$1" "$root$1"
}

prepare() {
  local trust
  # The root is thrown away: nothing of it has to outlive a power cut.
  printf 'force-unsafe-io\n' >"$root/etc/dpkg/dpkg.cfg.d/90-of-the-host"
  take_over /etc/hosts
  take_over /etc/resolv.conf
  apt-config dump | grep -E '^Acquire::(Check-Valid-Until |https?::(.*::)?(Proxy|CaInfo) )' \
    >"$root/etc/apt/apt.conf.d/90-of-the-host" || true
  for trust in $(sed -n 's/.*CaInfo "\(.*\)";/\1/p' "$root/etc/apt/apt.conf.d/90-of-the-host"); do
    take_over "$trust"
  done
}

make_bare() {
  [[ ! -e $bare ]] || return 0
  local from
  from=$(mirror)
  say "making a bare Debian $debian ($suite) with debootstrap"
  rm -rf --one-file-system "$root"
  # Without one debootstrap takes its own.
  debootstrap --variant=minbase "$suite" "$root" ${from:+"$from"} >"$log.debootstrap" 2>&1 || {
    tail -n 5 "$log.debootstrap" >&2
    die "debootstrap could not make $suite"
  }
  tar -C "$root" -cf "$bare.new" .
  mv "$bare.new" "$bare"
  rm -rf --one-file-system "$root"
}

# Objects of this machine's cache serve a root with the same compiler. Root uses it as it is, another
# user a copy that anybody may write into.
share_objects() {
  objects=$(ccache --get-config cache_dir)
  mkdir -p "$objects" "$store/ccache"
  [[ $user != root ]] || return 0
  # Others may be compiling: what goes away meanwhile is no loss.
  cp -rln "$objects/." "$store/ccache/" 2>/dev/null ||
    cp -rn "$objects/." "$store/ccache/" 2>/dev/null || true
  objects=$store/ccache
  find "$objects" -type d -exec chmod 777 {} +
}

# ---- The run.

forget() {
  # Nothing of the root is mounted outside of the run's own namespace.
  [[ -n $keep ]] || rm -rf --one-file-system "$root"
}

# The tree may be another user's than root.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
[[ $(id -u) == 0 ]] || die "fresh makes roots and namespaces: run it as root"
mkdir -p "$store/debs-$suite/partial"
make_bare
if [[ ! -d $root/srv/podctl ]]; then
  say "unpacking it for $name"
  rm -rf --one-file-system "$root"
  mkdir -p "$root"
  tar -C "$root" -xf "$bare"
  git clone -q --no-hardlinks "$top" "$root/srv/podctl"
elif [[ -n $keep ]]; then
  say "going on in $root, which is not bare any more"
  git -C "$root/srv/podctl" pull -q --ff-only "$top" HEAD
fi
trap forget EXIT
prepare
share_objects
[[ -z $(git -C "$top" status --porcelain) ]] || say "what is not committed is left out"

# pid 1 of the namespaces; --kill-child: it goes with this script, and everything goes with it.
code=0
FRESH_USER=$user FRESH_NAMESPACES=$namespaces FRESH_ROOT=$root FRESH_STORE=$store FRESH_OBJECTS=$objects \
  FRESH_DEBS=$store/debs-$suite FRESH_WHAT=${what[*]} FRESH_NAME=$name \
  unshare --mount --pid --ipc --uts --fork --kill-child \
  bash "$top/tests/fresh/inside.sh" "$@" </dev/null || code=$?
exit "$code"
