# Roots of Debian as debootstrap makes them, for what is to be tried where nothing is: sourced by
# fresh.sh and by tests/packages/try.sh, with `top` set. They set `debian` (12), `suite` (bookworm),
# `root` (where it is to lie) and `log` (what files of the output begin with).

store=$top/build/fresh
declare -A suites=([12]=bookworm [13]=trixie)

die() {
  printf 'dev: %s\n' "$*" >&2
  exit 1
}
say() { printf '==> %s\n' "$*"; }

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
  local bare=$1 from
  [[ ! -e $bare ]] || return 0
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

# The root anew, with Debian's minimum and nothing else.
unpack_bare() {
  local bare=$store/bare-$suite.tar
  make_bare "$bare"
  say "unpacking it as ${root#"$top"/}"
  rm -rf --one-file-system "$root"
  mkdir -p "$root"
  tar -C "$root" -xf "$bare"
}
