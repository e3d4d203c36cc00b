#!/bin/bash
# The two commands of the README on a machine that has nothing: a root as debootstrap makes it, a
# clone of what is committed, and a user. `./dev fresh` runs this as root; see usage there.
#
# The root is in namespaces of its own (processes, mounts, names), so that what a run leaves behind
# is seen, told, and then gone. The network is the machine's. Where the workers are to have no
# namespaces, it is what a container has: a chroot without the capabilities to make any.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$top/tests/fresh/bare_root.sh"

# ---- What is asked for.

debian=${1:-}
suite=${suites[$debian]:-}
[[ -n $suite ]] || die "which Debian? ./dev fresh 12|13 [--user root|sudo|plain] [--no-namespaces] [demo|test|package [ARGS]]"
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
  demo | test | package)
    what=("$1")
    shift
    ;;
  *) die "fresh runs demo, test or package, not '$1'" ;;
esac
[[ ${#what[@]} == 1 || $# == 0 ]] || die "not understood: $*"

name=$suite-$user
[[ $namespaces == yes ]] || name+=-plain
root=$store/root-$name
log=$store/$name

# ---- The run.

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

forget() {
  # Nothing of the root is mounted outside of the run's own namespace.
  [[ -n $keep ]] || rm -rf --one-file-system "$root"
}

# The tree may be another user's than root.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
[[ $(id -u) == 0 ]] || die "fresh makes roots and namespaces: run it as root"
mkdir -p "$store/debs-$suite/partial"
if [[ ! -d $root/srv/podctl ]]; then
  unpack_bare
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
if [[ ${what[*]} == package && $code == 0 ]]; then
  rm -rf "$store/packages-$suite"
  mkdir "$store/packages-$suite"
  find "$root/srv/podctl/build/package" -maxdepth 1 -type f ! -name '*.log' -exec cp -t "$store/packages-$suite" {} +
  say "they are in ${store#"$top"/}/packages-$suite"
fi
exit "$code"
