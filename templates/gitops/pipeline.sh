#!/bin/sh
# What the pipeline runs:
#
#   sh pipeline.sh plan    plans, keeps for `apply` what was shown, and writes .podctl/plan.md
#   sh pipeline.sh apply   plans exactly these files again, and applies what was shown and no other
#   sh pipeline.sh stop    GitHub: ends an `apply` that was cancelled, and waits for its end
#   sh pipeline.sh note    GitLab: shows .podctl/plan.md under the merge request
#
# PLANS         gs://bucket/folder, where the plans that were shown are kept
# SSH_KEY       private key for the workers, by which podctl reaches them; for `apply` only
# LOCK_TIMEOUT  how long `apply` waits for another to end: else 2m, in which a dead one is overtaken
set -eu
mark='<!-- podctl plan -->'

# Whatever goes wrong is told where the plan is looked for.
tell() {
  printf '%s\n' "$1" >&2
  [ -s .podctl/plan.md ] || printf '### podctl plan failed\n\n%s\n\n%s\n' "$1" "$mark" > .podctl/plan.md
}
fail() { tell "$1"; exit 1; }

# Here is the key: what a branch committed here could lead it elsewhere, and a link that is called as
# what podctl could not save would bring it into an artifact.
own_folder() {
  [ ! -L .podctl ] || { echo '.podctl is a link, and has to be a folder of this run' >&2; exit 1; }
  mkdir -p .podctl
  chmod 700 .podctl
  for each in plan plan.md plan.txt shown.txt rest pid notes id_ed25519 id_ed25519.pub; do
    rm -rf ".podctl/$each"
  done
  committed=$(git -c safe.directory='*' ls-files --stage -- .podctl) || fail 'this is no git checkout'
  committed=$(printf '%s\n' "$committed" | grep -v '^100644 [^/]*[[:space:]]\.podctl/\.gitignore$' || :)
  [ -z "$committed" ] || fail 'files are committed under .podctl/, where only .gitignore may be'
  for each in podctl.errored-*; do
    [ ! -e "$each" ] && [ ! -L "$each" ] ||
      fail "$each is here already, and is the name of what an apply could not save"
  done
}

start() {
  own_folder
  [ -n "${PLANS:-}" ] || fail 'PLANS is not set: gs://bucket/folder'
  # Of these files, whatever the commit is called: that of the merge has the same.
  tree=$(git -c safe.directory='*' rev-parse 'HEAD^{tree}') || fail 'this is no git checkout'
  shown=$PLANS/$tree.txt
  [ -n "${SSH_KEY:-}" ] || return 0
  (umask 077; set -C; printf '%s\n' "$SSH_KEY" > .podctl/id_ed25519) || fail 'SSH_KEY cannot be kept'
  ssh-keygen -y -f .podctl/id_ed25519 > .podctl/id_ed25519.pub || fail 'SSH_KEY is no private key'
  grep -qsF "$(cut -d ' ' -f 2 .podctl/id_ed25519.pub)" pipeline.pub ||
    fail 'the public half of SSH_KEY is not in pipeline.pub, so no pod lets it in'
}

# plan.md is what is read. It is cut where it is long, and says less than plan.txt, which is compared:
# each value, each line of a script, and what an apply goes by besides. Neither holds a time of day.
plan_here() {
  code=0
  podctl plan --markdown --out .podctl/plan > .podctl/plan.md || code=$?
  [ $code -eq 0 ] || { tell 'podctl plan failed; the log says why.'; exit $code; }
  podctl show .podctl/plan > .podctl/plan.txt || fail 'the plan cannot be shown'
}

make_plan() {
  start
  plan_here
  gcloud storage cp .podctl/plan.txt "$shown" || fail 'cannot keep what was shown'
}

stale() {
  tell "Saved plan is stale: $1. To go on, start this pipeline by hand on the branch that is applied, which plans it anew, read that plan, and then run this job again"
  exit 4
}

apply() {
  start
  trap 'exit 130' TERM INT HUP
  trap 'rm -f .podctl/pid .podctl/id_ed25519' EXIT
  echo $$ > .podctl/pid
  gcloud storage cp "$shown" .podctl/shown.txt ||
    fail 'nobody has reviewed a plan for these files: start this pipeline by hand, which plans them, and then this job again'
  # Whoever plans may write into plans/; so what is applied is made here, of the files that were
  # merged, and is only compared with what was shown.
  plan_here
  cmp -s .podctl/plan.txt .podctl/shown.txt ||
    stale 'main, the state or the pods are others than those that were reviewed'
  # podctl is told of a cancel, and writes down what is under way and gives its lock back.
  podctl=
  stop=
  trap cancel TERM INT HUP
  podctl apply --lock-timeout "${LOCK_TIMEOUT:-2m}" .podctl/plan &
  podctl=$!
  [ -z "$stop" ] || kill -TERM "$podctl"
  code=0
  wait "$podctl" || code=$?
  while kill -0 "$podctl" 2>/dev/null; do
    code=0
    wait "$podctl" || code=$?
  done
  trap '' TERM INT HUP
  [ $code -ne 0 ] || gcloud storage rm "$shown"
  [ $code -ne 4 ] || stale 'what is there has changed since this job planned'
  exit $code
}

cancel() {
  stop=yes
  # Of a step that was cancelled nobody reads on: `stop` shows the rest.
  [ ! -e .podctl/rest ] || exec >> .podctl/rest 2>&1
  echo 'cancelled: podctl ends, and its state says what is under way' >&2
  [ -z "$podctl" ] || kill -TERM "$podctl" 2>/dev/null || :
}

# In a container the signals of GitHub's runner do not arrive (docker exec hands none on), and an
# apply that was cancelled runs on.
stop_apply() {
  pid=$(cat .podctl/pid 2>/dev/null) || return 0
  runs() { grep -qs pipeline "/proc/$pid/cmdline"; }
  runs || return 0
  : > .podctl/rest
  kill -TERM "$pid"
  tries=0
  while runs && [ $tries -lt 240 ]; do
    sleep 1
    tries=$((tries + 1))
  done
  cat .podctl/rest
}

# One note for each merge request, which is renewed. The token stands in no process list.
gitlab() {
  printf 'header = "PRIVATE-TOKEN: %s"\n' "$COMMENT_TOKEN" |
    curl --config - --fail --silent --show-error "$@"
}
note() {
  notes=$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes
  page=1
  while [ $page -le 20 ]; do
    gitlab "$notes?per_page=100&page=$page" > .podctl/notes
    id=$(jq -r --arg mark "$mark" \
      'map(select((.system | not) and (.body | contains($mark)))) | first | .id // empty' .podctl/notes)
    [ -z "$id" ] && [ "$(jq length .podctl/notes)" -eq 100 ] || break
    page=$((page + 1))
  done
  if [ -n "$id" ]; then
    gitlab --output /dev/null --request PUT --data-urlencode body@.podctl/plan.md "$notes/$id"
  else
    gitlab --output /dev/null --data-urlencode body@.podctl/plan.md "$notes"
  fi
}

case ${1:-} in
  plan) make_plan ;;
  apply) apply ;;
  stop) stop_apply ;;
  note) note ;;
  *)
    echo 'usage: pipeline.sh plan|apply|stop|note' >&2
    exit 1
    ;;
esac
