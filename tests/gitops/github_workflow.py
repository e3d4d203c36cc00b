#!/usr/bin/env python3
"""The workflow that `podctl init --template gitops --for github` writes, run by act: a pull request,
its comment, the outputs of the action, the merge, the apply, what nobody has reviewed, and an apply
that is cancelled in the middle as GitHub's runner does it.

By hand, for it needs Node and act:

    go install github.com/nektos/act@v0.2.80
    tests/gitops/github_workflow.py --podctl build/release/podctl --act ACT

act runs jobs here, without containers (-P ubuntu-latest=-self-hosted). The workflow is the one that
was written, to the letter; in place of google-github-actions/auth and actions/upload-artifact, which
are not podctl's, stand actions that do nothing, and actions/checkout is act's own. GitHub's API is a
double in gitlab_jobs.py's manner. The state is in the bucket of podctl's emulator. Everything lives
in a folder of its own that goes at the end; all ports are free ones of loopback.
"""
import argparse
import json
import os
import pathlib
import re
import signal
import subprocess

from gitlab_jobs import Double, Project
from real_world import Run, check, play, said, wait_until

TOKEN = "ghs_notarealone"
NOTHING = """name: nothing
description: nothing
runs: {using: composite, steps: [{run: "true", shell: bash}]}
"""
OUTPUTS = """on: pull_request
jobs:
  outputs:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: ./.github/actions/podctl
        id: podctl
        with: {command: plan, comment: never, args: "%s"}
      - if: always()
        env:
          ALL: ${{ toJSON(steps.podctl.outputs) }}
        run: printf 'outputs:%%s\\n' "$(printf '%%s' "$ALL" | tr -d '\\n ')"
"""


class GitHub(Double):
    PREFIX, KEY = "", ("Authorization", "Bearer " + TOKEN)
    ME = {"login": "github-actions[bot]", "type": "Bot"}

    def asked_for(self, method, path, body):
        if (method, path) == ("POST", "/graphql"):
            if "viewer" in body["query"]:
                return 200, {"data": {"viewer": {"login": "github-actions"}}}
            return 200, {"data": {"minimizeComment": {"minimizedComment": {"isMinimized": True}}}}
        found = re.fullmatch(r"/repos/team/pods/commits/(\w+)/pulls", path)
        if found and method == "GET":
            commit = found.group(1)
            return 200, [{"number": self.merged[commit], "merged_at": "2026-01-01T00:00:00Z",
                          "merge_commit_sha": commit,
                          "base": {"ref": "main", "repo": {"full_name": "team/pods"}}}
                         ] if commit in self.merged else []
        found = re.fullmatch(r"/repos/team/pods/compare/(\w+)\.\.\.(\w+)", path)
        if found and method == "GET":
            commits, files = self.changes_since(*found.groups())
            return 200, {"status": "ahead" if commits else "identical",
                         "files": [{"filename": file} for file in files]}
        found = re.fullmatch(r"/repos/team/pods/issues/(\d+)/comments", path)
        if found:
            comments = self.notes.setdefault(int(found.group(1)), [])
            if method == "GET":
                return 200, comments
            number = 1 + sum(len(some) for some in self.notes.values())
            comments.append({"id": number, "node_id": f"n{number}", "user": self.ME,
                             "html_url": f"https://github.com/team/pods/{number}", **body})
            return 201, comments[-1]
        found = re.fullmatch(r"/repos/team/pods/issues/comments/(\d+)", path)
        for comment in sum(self.notes.values(), []):
            if found and method == "PATCH" and comment["id"] == int(found.group(1)):
                comment.update(body)
                return 200, comment
        return 404, {"message": f"Not Found: {method} {path}"}


class World(Project):
    def __init__(self, options, folder):
        super().__init__(options, folder, "github", GitHub())
        text = (self.project / ".github/workflows/podctl.yml").read_text()
        self.actions = []
        for action in sorted(set(re.findall(r"uses: ([\w-]+/[\w-]+@\w+)", text))):
            there = self.folder / action.replace("/", "-")
            there.mkdir()
            (there / "action.yml").write_text(NOTHING)
            self.actions += ["--local-repository", f"{action}={there}"]

    def act_words(self, event, content, job, workflow="podctl.yml"):
        path = self.folder / "event.json"
        path.write_text(json.dumps({"repository": {"full_name": "team/pods"}, **content}))
        given = {"GITHUB_API_URL": self.forge.api, "GITHUB_GRAPHQL_URL": self.forge.api + "/graphql",
                 "GITHUB_REPOSITORY": "team/pods", "PODCTL_ENDPOINT": self.cloud,
                 "STORAGE_EMULATOR_HOST": self.cloud}
        words = [self.options.act, event, "-P", "ubuntu-latest=-self-hosted", "-e", str(path),
                 "-W", f".github/workflows/{workflow}", "-j", job, "-s", f"GITHUB_TOKEN={TOKEN}",
                 "--no-cache-server", *self.actions]
        for key, value in given.items():
            words += ["--env", f"{key}={value}"]
        return words

    def act(self, *words, **more):
        run = subprocess.run(self.act_words(*words, **more), cwd=self.project, env=self.environment,
                             capture_output=True, text=True)
        check("    no token in what it says", TOKEN not in run.stdout + run.stderr, said(run))
        return run

    def plan(self, pull, job="plan", **more):
        head = {"sha": self.git("rev-parse", "HEAD"), "ref": "x", "repo": {"full_name": "team/pods"}}
        return self.act("pull_request", {"pull_request": {
            "number": pull, "head": head, "base": {"ref": "main"}}}, job, **more)

    def push(self, pull):
        self.forge.merged = {self.git("rev-parse", "HEAD"): pull}
        return {"ref": "refs/heads/main"}

    def apply(self, pull):
        return self.act("push", self.push(pull), "apply")


def children(process):
    found = pathlib.Path(f"/proc/{process}/task").glob("*/children")
    return [int(word) for path in found for word in path.read_text().split()]


def start(world):
    world.commit([])
    world.make_bucket()


def from_a_pull_request_to_a_pod(world):
    world.commit(["research"])
    run = world.plan(1)
    check("the job plan", run.returncode == 0, said(run))
    comments = world.forge.notes[1]
    check("    is one comment", len(comments) == 1 and "1 to add" in comments[0]["body"],
          str(comments))
    before = world.creates()
    run = world.apply(1)
    check("the job apply", run.returncode == 0 and world.creates() == before + 1, said(run))
    check("    says so in the same comment", len(comments) == 1 and "1 added" in
          comments[0]["body"], str(comments))


def outputs_of_the_action(world):
    path = world.project / ".github/workflows/outputs.yml"
    path.write_text(OUTPUTS % "--detailed-exitcode")
    world.commit(["research", "more"])
    run = world.plan(2, "outputs", workflow="outputs.yml")
    found = re.search(r"outputs:(\{.*\})", run.stdout)
    check("the action has outputs", found is not None, said(run))
    outputs = json.loads(found.group(1))
    check("    the counts", (outputs["adds"], outputs["changed"], outputs["destroys"],
                             outputs["changes"]) == ("1", "0", "0", "true"), str(outputs))
    check("    the exit code", outputs["exit-code"] == "2", str(outputs))
    check("    the digest", re.fullmatch(r"sha256:[0-9a-f]{64}", outputs["digest"]), str(outputs))
    path.unlink()


def what_nobody_has_reviewed(world):
    world.commit(["research", "more"])
    run = world.plan(3)
    check("a plan", run.returncode == 0, said(run))
    world.commit(["research", "more", "sneaked"])
    before = world.creates()
    run = world.apply(3)
    comments = world.forge.notes[3]
    check("another one is refused", run.returncode != 0 and world.creates() == before, said(run))
    check("    in a new comment", len(comments) == 2 and "refused" in comments[1]["body"],
          str(comments))
    run = world.act("workflow_dispatch", {"inputs": {"pull": "3"}}, "plan")
    check("planned anew by hand", run.returncode == 0, said(run))
    run = world.apply(3)
    check("    it is applied", run.returncode == 0 and world.creates() == before + 2, said(run))


def cancelled_in_the_middle(world):
    pods = ["research", "more", "sneaked"] + [f"p{number}" for number in range(1, 13)]
    world.commit(pods)
    run = world.plan(4)
    check("a plan of many", run.returncode == 0, said(run))
    before = world.creates()
    world.slow_creates(3)
    job = Run(world.act_words("push", world.push(4), "apply"), world.environment, world.project, False)
    world.started.append(job.process)
    wait_until("the first creates", lambda: world.creates() >= before + 2, 120)
    begun = [child for child in children(job.process.pid)
             if b"podctl" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")[0]]
    check("what the runner has begun is podctl itself, in place of a shell", len(begun) == 1,
          str(children(job.process.pid)))
    os.kill(begun[0], signal.SIGINT)  # as GitHub's runner does: to what it has begun
    code = job.end()
    comments = world.forge.notes[4]
    check("INT reaches it, and it ends", code != 0 and world.creates() < before + 12, job.said())
    check("    the comment says so", "nterrupted" in comments[-1]["body"], str(comments))
    world.slow_creates(0)
    run = world.apply(4)
    check("run again, it takes up what was begun; what is left is another plan than the reviewed one",
          run.returncode != 0 and "is taken up" in run.stdout
          and "refused" in comments[-1]["body"], said(run))
    run = world.act("workflow_dispatch", {"inputs": {"pull": "4"}}, "plan")
    check("planned anew by hand", run.returncode == 0, said(run))
    run = world.apply(4)
    check("the next apply goes on", run.returncode == 0, said(run))
    check("    nothing was made twice", not world.made_twice(), str(world.made_twice()))
    check("    and all are there", sorted(world.nodes()) == sorted(pods), str(world.nodes()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    for name in ("podctl", "act"):
        parser.add_argument("--" + name, required=True, type=os.path.abspath)
    options = parser.parse_args()
    play((start, from_a_pull_request_to_a_pod, outputs_of_the_action, what_nobody_has_reviewed,
          cancelled_in_the_middle), lambda folder: World(options, folder), "podctl-github-")


if __name__ == "__main__":
    main()
