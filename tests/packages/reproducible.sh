#!/bin/bash
# Whether the same commit becomes the same packages: they are made twice, in clones in folders of
# different length, at different times of day, by another umask, language and number of jobs, and
# compiled anew. By hand, since it takes as long as two builds:
#
#   ./dev package twice [deb|wheel|tarball...]
#   ./dev fresh 12 package twice    on a bare Debian, with its newest libraries
#
# What differs is named, and both are left in build/reproducible for diffoscope to look into.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
store=$top/build/reproducible
what=("${@:-all}")
[[ ${what[*]} != all ]] || what=(deb tarball wheel)

rm -rf "$store"
mkdir -p "$store"
make() {
  local clone=$1
  shift
  mkdir -p "$(dirname "$clone")"
  git clone -q --no-hardlinks "$top" "$clone"
  # Where Debian's source was fetched already it need not be again; it is checked all the same.
  [[ ! -d $top/build/package/downloads ]] || { mkdir -p "$clone/build/package" && cp -r "$top/build/package/downloads" "$clone/build/package/"; }
  (cd "$clone" && env CCACHE_DISABLE=1 "$@" packaging/package.sh "${what[@]}") >"$clone.log" 2>&1 || {
    tail -n 30 "$clone.log" >&2
    exit 1
  }
}
printf '==> once\n'
(umask 022 && make "$store/one" TZ=UTC LANG=C.UTF-8 PACKAGE_JOBS="$(nproc)")
printf '==> and again\n'
(umask 077 && make "$store/the-other/in/a/longer/folder" TZ=Pacific/Kiritimati LANG=tr_TR.UTF-8 PACKAGE_JOBS=1)
if diff "$store/one/build/package/SHA256SUMS" "$store/the-other/in/a/longer/folder/build/package/SHA256SUMS"; then
  printf '==> the same bytes: %s\n' "${what[*]}"
else
  printf 'dev: these differ; diffoscope tells where\n' >&2
  exit 1
fi
