#!/bin/sh
# What the pipeline runs: `sh pipeline.sh plan` and `sh pipeline.sh apply`.
#
# STATE_BUCKET  gs://bucket/folder, where the state is kept; its bucket has versions turned on
# SSH_KEY       private key for the workers, by which podctl reaches them
set -eu
mkdir -p .podctl
: "${STATE_BUCKET:?set it to gs://bucket/folder}"
name=podctl.state.json
state=.podctl/$name

if [ -n "${SSH_KEY:-}" ]; then
  (umask 077; printf '%s\n' "$SSH_KEY" > .podctl/id_ed25519)
  ssh-keygen -y -f .podctl/id_ed25519 > .podctl/id_ed25519.pub
fi

# "There is no state" and "it could not be read" are two things: pipeline.md has put an object there
# that is always listed.
present=$(gcloud storage ls "$STATE_BUCKET/") || { echo "cannot list $STATE_BUCKET" >&2; exit 1; }
case $present in
  *"/$name"*) gcloud storage cp "$STATE_BUCKET/$name" "$state" ;;
esac

keep() { [ ! -e "$state" ] || gcloud storage cp "$state" "$STATE_BUCKET/$name"; }

case ${1:-} in
  plan)
    podctl plan --markdown > .podctl/plan.md
    ;;
  apply)
    # The state is put back however apply ends: also after a failure it says what there is. podctl
    # gets the runner's signals itself, and writes everything down before it leaves.
    podctl apply --auto-approve &
    podctl=$!
    trap 'kill -TERM $podctl' TERM INT HUP
    code=0
    wait $podctl || code=$?
    while kill -0 $podctl 2>/dev/null; do
      code=0
      wait $podctl || code=$?
    done
    trap '' TERM INT HUP
    keep
    exit $code
    ;;
  *)
    echo 'usage: pipeline.sh plan|apply' >&2
    exit 1
    ;;
esac
