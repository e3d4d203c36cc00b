#!/bin/bash
# Makes packages of what is committed: `./dev package` runs this; see usage there. What is made lies
# in build/package, with its checksums.
#
#   package.sh deb
set -euo pipefail
umask 022
export LC_ALL=C.UTF-8 TZ=UTC

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
here=$top/packaging
out=$top/build/package
jobs=${PACKAGE_JOBS:-1}
cd "$top"

say() { printf '==> %s\n' "$*"; }
die() {
  printf 'dev: %s\n' "$*" >&2
  exit 1
}
# quietly LOG COMMAND...: what it says is shown where it fails.
quietly() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    die "failed: $* (all it said: ${log#"$top"/})"
  }
}

version=$(sed -n 's/^project(podctl VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
commit=$(git rev-parse HEAD)
debian_version=$(dpkg-parsechangelog -l "$here/debian/changelog" -S Version)
# Whoever makes the same commit into packages, on the same Debian, gets the same bytes.
SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -l "$here/debian/changelog" -S Timestamp)
export SOURCE_DATE_EPOCH
[[ ${debian_version%-*} == "$version" ]] ||
  die "packaging/debian/changelog is of ${debian_version%-*}, CMakeLists.txt of $version: the newest entry has to be that version's"

name=podctl-$version
tree=$out/source/$name  # as somebody has it who unpacks a release

# ---- The source, once for all packages: what is compiled for one then serves the next.

lay_source() {
  [[ -z $(git status --porcelain) ]] || say "what is not committed is left out"
  rm -rf "$out/source"
  mkdir -p "$out/source"
  git archive --format=tar --prefix="$name/" HEAD | tar -C "$out/source" -xf -
  # debhelper gives a build a home of its own, where no cache is.
  CCACHE_DIR=$(ccache --get-config cache_dir)
  export CCACHE_DIR CCACHE_BASEDIR=$tree
}

# ---- The .deb.

make_deb() {
  local folder=$out/source made_of="podctl_${debian_version}_amd64"
  say "making $made_of.deb"
  tar -C "$folder" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf - "$name" |
    xz -T1 >"$folder/podctl_$version.orig.tar.xz"
  cp -r "$tree/packaging/debian" "$tree/debian"
  printf '%s\n' "$commit" >"$tree/debian/commit"
  (cd "$tree" && DEB_BUILD_OPTIONS="parallel=$jobs noautodbgsym" DEB_CXXFLAGS_STRIP=-g \
    quietly "$out/deb.log" dpkg-buildpackage -us -uc --build=full)
  say "asking lintian"
  lintian --allow-root --fail-on error,warning "$folder/$made_of.changes" ||
    die "lintian finds fault with the package"
  cp "$folder/$made_of.deb" "$out/"
  made+=("$made_of.deb")
  write_sbom "$made_of.cdx.json" --linked "$tree/obj-x86_64-linux-gnu/podctl"
}

write_sbom() {
  local file=$1
  shift
  python3 "$here/sbom.py" "$out/$file" --version "$version" --commit "$commit" "$@"
  made+=("$file")
}

made=()
mkdir -p "$out"
lay_source
for what in "$@"; do
  case $what in
    deb) make_deb ;;
    *) die "no such package: $what (there is deb)" ;;
  esac
done
# Of all that lies there: what another run made of the same commit is as good.
(cd "$out" && rm -f SHA256SUMS && find . -maxdepth 1 -type f \( -name '*.deb' -o -name '*.cdx.json' \) \
  -printf '%f\n' | sort | xargs sha256sum >SHA256SUMS)
for each in "${made[@]}"; do say "made build/package/$each"; done
