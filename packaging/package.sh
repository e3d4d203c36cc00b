#!/bin/bash
# Makes packages of what is committed: `./dev package` runs this; see usage there. What is made lies
# in build/package, with its checksums.
#
#   package.sh deb|tarball|wheel...
#   package.sh start
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
tree=$out/source/$name         # as somebody has it who unpacks a release
stage=$out/stage/$name-linux-x86_64  # what tarball and wheel hold
slim=$out/slim                 # a libcurl that speaks HTTP and no more

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

# ---- What tarball and wheel have in common: podctl with its libraries beside it.

# debian_source NAME FOLDER: Debian's source of the version that packaging/sources names, unpacked.
debian_source() {
  local package=$1 folder=$2 wanted digest apt=$out/apt
  read -r _ wanted digest < <(grep "^$package " "$here/sources")
  local dsc=$out/downloads/${package}_${wanted#*:}.dsc
  mkdir -p "$out/downloads" "$apt/lists/partial" "$apt/cache/archives/partial"
  if [[ ! -e $dsc ]]; then
    # Where packages come from, sources do: this machine's own lists stay as they are.
    apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' \
      'Created-By: Packages' 'Origin: Debian' 'Component: main' | sort -u >"$apt/sources.list"
    cat >"$apt/apt.conf" <<TEXT
Dir::State::lists "$apt/lists";
Dir::Cache "$apt/cache";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
TEXT
    say "fetching Debian's source of $package $wanted"
    (cd "$out/downloads" && export APT_CONFIG=$apt/apt.conf &&
      quietly "$out/fetch.log" apt-get update &&
      quietly "$out/fetch.log" apt-get source --download-only "$package=$wanted")
  fi
  printf '%s  %s\n' "$digest" "$dsc" | sha256sum --check --quiet - ||
    die "Debian's source of $package $wanted is not the one that packaging/sources knows"
  rm -rf "$folder"
  # Whose digests the .dsc holds is checked by dpkg-source.
  quietly "$out/unpack.log" dpkg-source --no-copy --no-check --require-strong-checksums -x "$dsc" "$folder"
}

# HTTP and HTTPS by OpenSSL, proxies, gzip; and nothing of what a libcurl for everybody has.
make_slim_curl() {
  local source=$out/curl flags known=$slim/source.json
  read -r _ curl_version curl_digest < <(grep '^curl ' "$here/sources")
  if grep -qs "$curl_digest" "$known"; then return; fi
  debian_source curl "$source"
  say "building a slim libcurl"
  rm -rf "$slim"
  flags=$(cd "$source" && DEB_CFLAGS_STRIP=-g dpkg-buildflags --get CFLAGS)
  CCACHE_BASEDIR=$source quietly "$out/curl.log" cmake -S "$source" -B "$source/obj" -G Ninja \
    -DCMAKE_BUILD_TYPE=Release "-DCMAKE_C_FLAGS=$flags $(dpkg-buildflags --get CPPFLAGS)" -DCMAKE_C_FLAGS_RELEASE= \
    -DCMAKE_C_COMPILER_LAUNCHER=ccache "-DCMAKE_SHARED_LINKER_FLAGS=$(dpkg-buildflags --get LDFLAGS)" \
    -DCMAKE_INSTALL_PREFIX="$slim" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_CURL_EXE=OFF -DBUILD_TESTING=OFF -DENABLE_MANUAL=OFF \
    -DHTTP_ONLY=ON -DCURL_USE_OPENSSL=ON -DCURL_USE_LIBSSH2=OFF -DCURL_USE_LIBPSL=OFF -DUSE_LIBIDN2=OFF \
    -DCURL_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt -DCURL_CA_PATH=/etc/ssl/certs
  CCACHE_BASEDIR=$source quietly "$out/curl.log" ninja -C "$source/obj" -j"$jobs" install
  cp "$source/debian/copyright" "$slim/copyright"
  strip --strip-unneeded "$slim"/lib/libcurl.so.4
  cat >"$known" <<TEXT
{"package": "curl", "version": "$curl_version", "source": "curl", "source_version": "$curl_version",
 "built_here": "HTTP and HTTPS only, OpenSSL, zlib; .dsc $curl_digest"}
TEXT
}

make_stage() {
  local build=$tree/obj-portable
  [[ $(. /etc/os-release && printf '%s %s' "$ID" "$VERSION_ID") == 'debian 12' ]] ||
    die "tarball and wheel are made on Debian 12, whose libraries run on what is as old or newer: ./dev fresh 12 makes one"
  make_slim_curl
  # Debian's httplib.h wants Debian's library; that of the source is whole by itself.
  debian_source cpp-httplib "$out/httplib"
  say "building podctl with it"
  # As for the .deb, so that what is compiled already is not compiled again.
  local flags
  flags=$(cd "$tree" && DEB_CXXFLAGS_STRIP=-g dpkg-buildflags --get CXXFLAGS)
  quietly "$out/portable.log" cmake -S "$tree" -B "$build" -G Ninja \
    -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS=$flags $(dpkg-buildflags --get CPPFLAGS)" \
    "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG" -DPODCTL_TESTS=OFF -DPODCTL_COMMIT="$commit" \
    -DPODCTL_OLDER_LIBSTDCXX=ON \
    -DPODCTL_WHOLE_HTTPLIB=ON -DHTTPLIB_INCLUDE="$out/httplib" -DCMAKE_PREFIX_PATH="$slim" \
    -DCMAKE_INSTALL_RPATH='$ORIGIN/../lib/podctl:$ORIGIN/../share/podctl/lib' \
    "-DCMAKE_EXE_LINKER_FLAGS=$(dpkg-buildflags --get LDFLAGS) -Wl,--disable-new-dtags"
  quietly "$out/portable.log" ninja -C "$build" -j"$jobs" podctl
  rm -rf "$out/stage"
  quietly "$out/portable.log" cmake --install "$build" --prefix "$stage" --strip
  # What is newest by now: the libraries go with the package.
  (as_root=; [[ $(id -u) == 0 ]] || as_root=sudo; quietly "$out/fetch.log" $as_root apt-get -qq update)
  python3 "$here/bundle.py" "$stage" --slim "$slim" --built-in "$out" --note "$out/bundled.json"
}

made_stage=
need_stage() {
  [[ -z $made_stage ]] || return 0
  make_stage
  made_stage=yes
}

make_tarball() {
  need_stage
  local file=$name-linux-x86_64.tar.gz
  say "making $file"
  write_sbom "$name-linux-x86_64.cdx.json" --bundled "$out/bundled.json"
  cp "$out/$name-linux-x86_64.cdx.json" "$stage/share/doc/podctl/podctl.cdx.json"
  tar -C "$out/stage" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
    -cf - "$name-linux-x86_64" | gzip -9n >"$out/$file"
  made+=("$file")
}

make_wheel() {
  need_stage
  local file=$name-py3-none-manylinux_2_34_x86_64.whl
  say "making $file"
  python3 "$here/sbom.py" "$out/wheel.cdx.json" --version "$version" --commit "$commit" --bundled "$out/bundled.json"
  python3 "$here/wheel.py" "$stage" "$out" --version "$version" --sbom "$out/wheel.cdx.json" --readme "$here/pypi.md"
  rm "$out/wheel.cdx.json"
  made+=("$file")
}

# ---- How long podctl takes to start, with its own libraries and with Debian's.

measure_start() {
  local deb=$out/podctl_${debian_version}_amd64.deb tarball=$out/$name-linux-x86_64.tar.gz from=$out/start
  [[ -e $deb && -e $tarball ]] || die "there are no two builds to compare: ./dev package makes them"
  rm -rf "$from"
  mkdir "$from"
  dpkg-deb -x "$deb" "$from/deb"
  tar -C "$from" -xf "$tarball"
  exec python3 "$here/start.py" "$from/deb/usr/bin/podctl" "$from/$name-linux-x86_64/bin/podctl"
}

if [[ ${1:-} == start ]]; then measure_start; fi
made=()
mkdir -p "$out"
lay_source
for what in "$@"; do
  case $what in
    deb | tarball | wheel) "make_$what" ;;
    *) die "no such package: $what (there are deb, tarball and wheel)" ;;
  esac
done
# Of all that lies there: what another run made of the same commit is as good.
(cd "$out" && rm -f SHA256SUMS && find . -maxdepth 1 -type f \( -name '*.deb' -o -name '*.whl' -o -name '*.tar.gz' -o -name '*.cdx.json' \) \
  -printf '%f\n' | sort | xargs sha256sum >SHA256SUMS)
for each in "${made[@]}"; do say "made build/package/$each"; done
