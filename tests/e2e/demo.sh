#!/bin/bash
# The main story on the built-in emulator, with short explanations: a spec becomes a pod, a flag
# reaches every worker, commands and a tunnel reach them too, and nothing is left behind.
# `./dev demo` builds podctl and runs this; PODCTL names the binary. PODCTL_DEMO_PORT: the port of
# the page on worker 0, in place of 8888; the tunnel to it begins at any free port then.
set -euo pipefail

podctl_binary=$(readlink -f "${PODCTL:?PODCTL must name the podctl binary}")
work=$(mktemp -d -t podctl-demo.XXXXXX)
emulator=
tunnel=

bold='' dim='' plain=''
if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
  bold=$'\e[1m' dim=$'\e[36m' plain=$'\e[0m'
fi

# As root the emulator has port 22, and where it may make namespaces sshd workers.
as_root=()
if [[ $(id -u) != 0 ]] && command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
  as_root=(sudo -n)
fi

clean_up() {
  local code=$?
  trap - EXIT INT TERM
  # The background processes are in this shell's job table; wait for each, so nothing outlives it.
  # By TERM: a shell without job control has its background processes ignore INT.
  if [[ -n $tunnel ]]; then
    kill -TERM "$tunnel" 2>/dev/null || true
    wait "$tunnel" 2>/dev/null || true
  fi
  if [[ -n $emulator ]]; then
    "${as_root[@]}" kill -TERM "$(cat "$work/emulator.pid")" 2>/dev/null || true
    wait "$emulator" 2>/dev/null || true
  fi
  "${as_root[@]}" rm -rf "$work"
  exit "$code"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

say() { printf '\n%s# %s%s\n' "$dim" "$*" "$plain"; }
show() { printf '%s$ %s%s\n' "$bold" "$*" "$plain"; }

podctl() {
  local word line=podctl
  for word in "$@"; do
    [[ $word == *[!a-zA-Z0-9_./:=-]* ]] && word="'$word'"
    line+=" $word"
  done
  show "$line"
  "$podctl_binary" "$@"
}

fail() {
  printf 'demo: %s\n' "$*" >&2
  exit 1
}

cd "$work"
export HOME=$work   # the demo's SSH key must not land in your ~/.ssh
unset SSH_AUTH_SOCK

say 'The emulator speaks the Cloud TPU API on loopback; its workers answer SSH: each a real sshd where root may make namespaces, else one light server.'
show 'podctl emulator --listen 127.0.0.1:0 --operation-delay 3s &'
: >emulator.out
"${as_root[@]}" sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$work/emulator.pid" \
  "$podctl_binary" emulator --listen 127.0.0.1:0 --operation-delay 3s \
  >emulator.out 2>emulator.err &
emulator=$!
for _ in {1..100}; do
  grep -q '^ready ' emulator.out && break
  kill -0 "$emulator" 2>/dev/null || { cat emulator.err >&2; fail 'the emulator did not start'; }
  sleep 0.1
done
endpoint=$(sed -n 's/^ready //p' emulator.out)
[[ -n $endpoint ]] || fail 'the emulator did not become ready'
cat emulator.out
export PODCTL_ENDPOINT=$endpoint

say 'A spec: one pod of four workers, with one flag for libtpu.'
port=$(sed -n 's/^Workers answer SSH on port \([0-9]*\)\.$/\1/p' emulator.err)
cat >podctl.yaml <<'YAML'
project: my-project
zone: europe-west4-a
pods:
  research:
    acceleratorType: v3-32
    runtimeVersion: tpu-vm-tf-2.11.0-pod
    libtpuFlags: {xla_jf_conv_full_precision: true}
YAML
# Without root the workers cannot have port 22.
if [[ ${port:-22} != 22 ]]; then
  show "export PODCTL_SSH_PORT=$port"
  export PODCTL_SSH_PORT=$port
fi
show cat podctl.yaml
cat podctl.yaml

say 'What would happen?'
podctl plan
say 'Make it so: create through the API, wait until READY.'
podctl apply --auto-approve
podctl status

say 'What does the runtime on each worker run with?'
# One word for the remote shell, as with ssh.
runtime_flags='sudo cat /proc/$(systemctl show -p MainPID --value tpu-runtime)/environ | tr "\0" "\n" | grep LIBTPU'
podctl exec research --worker all -- "$runtime_flags"

say 'The flag changes. The metadata is patched in place, and tpu-runtime is restarted on all four.'
show "sed -i 's/precision: true/precision: false/' podctl.yaml"
sed -i 's/precision: true/precision: false/' podctl.yaml
podctl plan
podctl apply --auto-approve

say 'Now every runtime really runs with the new value.'
podctl exec research --worker all -- "$runtime_flags"
[[ $("$podctl_binary" exec research -- "$runtime_flags" | grep -c 'precision=false$') == 4 ]] ||
  fail 'a worker does not run with the new flag'

say 'A second apply has nothing to do.'
podctl apply --auto-approve

say 'Any command on every worker, each line with its worker.'
podctl exec research --worker all -- hostname

page=${PODCTL_DEMO_PORT:-8888}
say "Something listens on port $page of worker 0; a tunnel brings it here."
# From any free port where that one is taken on this machine, or will be, as the workers share its
# network.
forward=$page
if [[ -n ${PODCTL_DEMO_PORT:-} ]] || (: </dev/tcp/127.0.0.1/"$page") 2>/dev/null ||
  ! grep -q 'a network of its own' emulator.err; then
  forward=0:$page
fi
# A web server in the perl that every Debian has.
server='use IO::Socket::INET; use Sys::Hostname;
  my $l = IO::Socket::INET->new(LocalAddr => "127.0.0.1:'$page'", Listen => 5, ReuseAddr => 1) or die;
  while (my $c = $l->accept) {
    while (<$c>) { last if /^\r?$/ }
    print $c "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nhello from ", hostname, "\n"; close $c }'
"$podctl_binary" exec research --worker 0 -- "setsid perl -e '$server' >/dev/null 2>&1 </dev/null &"
show "podctl tunnel research $forward &"
: >tunnel.out
"$podctl_binary" tunnel research "$forward" >tunnel.out 2>tunnel.err &
tunnel=$!
for _ in {1..100}; do
  grep -q '^http' tunnel.out && break
  kill -0 "$tunnel" 2>/dev/null || { cat tunnel.err >&2; fail 'the tunnel did not open'; }
  sleep 0.1
done
cat tunnel.out
url=$(sed -n 's/ -> .*//p' tunnel.out)
show "curl $url/"
curl -sS --retry 20 --retry-delay 1 --retry-all-errors "$url/"
kill -TERM "$tunnel"
wait "$tunnel" || true
tunnel=

say 'And away with it.'
podctl destroy --auto-approve
podctl status
[[ $(curl -sS "$endpoint/v2/projects/my-project/locations/-/nodes") != *research* ]] ||
  fail 'the node is still there'
say 'Nothing is left behind.'
