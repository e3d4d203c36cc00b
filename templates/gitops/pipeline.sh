#!/bin/sh
# What the pipeline runs:
#
#   sh pipeline.sh plan    plans, keeps for `apply` what was shown, and writes .podctl/plan.md
#   sh pipeline.sh apply   plans exactly these files again, and applies what was shown and no other
#   sh pipeline.sh stop    GitHub: ends an `apply` that was cancelled, and waits for its end
#   sh pipeline.sh note    GitLab: shows .podctl/plan.md under the merge request
#
# STATE_BUCKET  gs://bucket/folder, where state and plans are kept; its bucket has versions turned on
# SSH_KEY       private key for the workers, by which podctl reaches them; for `apply` only
set -eu
mark='<!-- podctl plan -->'
name=podctl.state.json
state=.podctl/$name
generation=0

# Whatever goes wrong is told where the plan is looked for.
tell() {
  printf '%s\n' "$1" >&2
  [ -s .podctl/plan.md ] || printf '### podctl plan failed\n\n%s\n\n%s\n' "$1" "$mark" > .podctl/plan.md
}
fail() { tell "$1"; exit 1; }

# Here are a key and the state of each run: what a branch committed here could lead them elsewhere.
own_folder() {
  [ ! -L .podctl ] || { echo '.podctl is a link, and has to be a folder of this run' >&2; exit 1; }
  mkdir -p .podctl
  chmod 700 .podctl
  for each in plan plan.md plan.txt shown.txt rest lock pid there notes id_ed25519 id_ed25519.pub \
    "$name" "$name.history"; do
    rm -rf ".podctl/$each"
  done
  committed=$(git -c safe.directory='*' ls-files --stage -- .podctl) || fail 'this is no git checkout'
  committed=$(printf '%s\n' "$committed" | grep -v '^100644 [^/]*[[:space:]]\.podctl/\.gitignore$' || :)
  [ -z "$committed" ] || fail 'files are committed under .podctl/, where only .gitignore may be'
}

start() {
  own_folder
  [ -n "${STATE_BUCKET:-}" ] || fail 'STATE_BUCKET is not set: gs://bucket/folder'
  lock=$STATE_BUCKET/podctl.lock
  # Of these files, whatever the commit is called: that of the merge has the same.
  tree=$(git -c safe.directory='*' rev-parse 'HEAD^{tree}') || fail 'this is no git checkout'
  shown=$STATE_BUCKET/plans/$tree.txt
  [ -n "${SSH_KEY:-}" ] || return 0
  (umask 077; set -C; printf '%s\n' "$SSH_KEY" > .podctl/id_ed25519) || fail 'SSH_KEY cannot be kept'
  ssh-keygen -y -f .podctl/id_ed25519 > .podctl/id_ed25519.pub || fail 'SSH_KEY is no private key'
  grep -qsF "$(cut -d ' ' -f 2 .podctl/id_ed25519.pub)" pipeline.pub ||
    fail 'the public half of SSH_KEY is not in pipeline.pub, so no pod lets it in'
}

# "There is no state" and "it could not be read" are two things: pipeline.md has put an object there
# that is always listed.
fetch() {
  present=$(gcloud storage ls "$STATE_BUCKET/") || fail "cannot list $STATE_BUCKET"
  printf '%s\n' "$present" | grep -qxF "$STATE_BUCKET/$name" || return 0
  generation=$(gcloud storage objects describe "$STATE_BUCKET/$name" --format='value(generation)') &&
    gcloud storage cp "$STATE_BUCKET/$name#$generation" "$state" || fail 'cannot read the state'
}

# Puts the state back, in place of the one that was fetched and of no other.
keep() {
  [ -e "$state" ] || return 0
  tries=0
  until gcloud storage cp --if-generation-match="$generation" "$state" "$STATE_BUCKET/$name"; do
    # An upload whose answer was lost is done all the same.
    gcloud storage cp "$STATE_BUCKET/$name" .podctl/there && cmp -s .podctl/there "$state" && return 0
    tries=$((tries + 1))
    [ $tries -lt 5 ] || return 1
    sleep $((tries * ${RETRY_SECONDS:-5}))
  done
}

# Two pipelines that apply at once would each make pods that the other's state does not know.
take_lock() {
  who=${CI_JOB_URL:-${GITHUB_RUN_ID:+$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID}}
  printf '%s since %s\n' "${who:-$(id -un) on $(uname -n)}" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" \
    > .podctl/lock
  locked=maybe
  gcloud storage cp --if-generation-match=0 .podctl/lock "$lock" && locked=yes && return 0
  locked=
  holder=$(gcloud storage cat "$lock") || fail "cannot write $lock"
  fail "$holder holds the state, or was lost with it. If it is over and kept no state: gcloud storage rm $lock"
}

# At the end of an apply, cancelled ones too. Only a cancel in the middle of taking the lock leaves
# open whose it is.
give_back() {
  rm -f .podctl/pid .podctl/id_ed25519
  [ -n "$unsaved" ] || rm -rf "$state" "$state.history"   # in the bucket, and no artifact for all to read
  case $locked in
    yes) gcloud storage rm "$lock" ;;
    maybe) ! gcloud storage cat "$lock" | cmp -s - .podctl/lock || gcloud storage rm "$lock" ;;
  esac
}

# plan.md is what is read. It is cut where it is long, and says less than plan.txt, which is compared:
# each value, each line of a script, and what an apply goes by besides. Neither holds a time of day.
plan_here() {
  code=0
  podctl plan --state "$state" --markdown --out .podctl/plan > .podctl/plan.md || code=$?
  [ $code -eq 0 ] || { tell 'podctl plan failed; the log says why.'; exit $code; }
  podctl show --state "$state" .podctl/plan > .podctl/plan.txt || fail 'the plan cannot be shown'
}

make_plan() {
  start
  fetch
  plan_here
  gcloud storage cp .podctl/plan.txt "$shown" || fail 'cannot keep what was shown'
}

stale() {
  tell "Saved plan is stale: $1. To go on, start this pipeline by hand on the branch that is applied, which plans it anew, read that plan, and then run this job again"
  exit 4
}

apply() {
  start
  locked=
  unsaved=
  trap 'exit 130' TERM INT HUP
  trap give_back EXIT
  echo $$ > .podctl/pid
  take_lock
  fetch
  gcloud storage cp "$shown" .podctl/shown.txt ||
    fail 'nobody has reviewed a plan for these files: start this pipeline by hand, which plans them, and then this job again'
  # Whoever plans may write into plans/; so what is applied is made here, of the files that were
  # merged, and is only compared with what was shown.
  plan_here
  cmp -s .podctl/plan.txt .podctl/shown.txt ||
    stale 'main, the state or the pods are others than those that were reviewed'
  # podctl gets the runner's signals itself, and writes everything down before it leaves.
  podctl=
  stop=
  unsaved=yes
  trap cancel TERM INT HUP
  podctl apply --state "$state" .podctl/plan &
  podctl=$!
  [ -z "$stop" ] || kill -TERM "$podctl"
  code=0
  wait "$podctl" || code=$?
  while kill -0 "$podctl" 2>/dev/null; do
    code=0
    wait "$podctl" || code=$?
  done
  trap '' TERM INT HUP
  # Also after a failure the state says what there is. While it is here only, nobody may apply.
  keep || {
    locked=
    fail "the state could not be put back. It is an artifact of this job: once it is at $STATE_BUCKET/$name, gcloud storage rm $lock"
  }
  unsaved=
  [ $code -ne 0 ] || gcloud storage rm "$shown"
  [ $code -ne 4 ] || stale 'what is there has changed since this job planned'
  exit $code
}

cancel() {
  stop=yes
  # Of a step that was cancelled nobody reads on: `stop` shows the rest.
  [ ! -e .podctl/rest ] || exec >> .podctl/rest 2>&1
  echo 'cancelled: podctl ends, and its state is put back' >&2
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
