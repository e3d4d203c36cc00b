#!/usr/bin/env python3
"""`podctl ci` on a real Gitea: a push, a pull request, its comment, the merge, the apply, what was
pushed in between, and the issue of drift.

By hand, for it needs a Gitea of 1.22 or newer (how to get one: gitea_state.py):

    tests/gitops/gitea_pull_request.py --gitea COPY/gitea --source COPY --podctl build/release/podctl

podctl runs with the variables that Gitea's runner sets for a job, and the state is Gitea's too.
Everything lives in a folder of its own that goes at the end; all ports are free ones of loopback.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from gitea_state import APP_INI, PASSWORD, USER, World
from real_world import check, free_port, note, said, wait_for

REPOSITORY = "pods"
BOT = "podctl-bot"
SPEC = """project: my-project
zone: europe-west4-a
state: {state}
defaults: {{ssh: {{check: false, publishKey: false}}}}
pods:
"""
POD = "  {}: {{acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0, labels: {{team: {}}}}}\n"


class Forge(World):
    """A repository with main, a bot that may write to it, and a clone of a person."""

    def __init__(self, options, folder):
        super().__init__(options, folder)
        self.gitea("admin", "user", "create", "--username", BOT, "--password", PASSWORD, "--email",
                   "bot@example.com", "--must-change-password=false")
        text = self.gitea("admin", "user", "generate-access-token", "--username", BOT,
                          "--token-name", "ci", "--scopes",
                          "write:issue,write:repository,read:user,write:package")
        self.token = re.search(r"[0-9a-f]{40}", text).group(0)
        self.api("POST", "/user/repos", {"name": REPOSITORY, "auto_init": True,
                                         "default_branch": "main"})
        self.api("PUT", f"/repos/{USER}/{REPOSITORY}/collaborators/{BOT}",
                 {"permission": "write"})
        self.clone = self.folder / "clone"
        self.git(self.folder, "clone", "-q", self.git_url(), str(self.clone))

    def git_url(self):
        return self.forge.replace("http://", f"http://{USER}:{PASSWORD}@") + \
            f"/{USER}/{REPOSITORY}.git"

    def git(self, folder, *words):
        run = subprocess.run(["git", "-c", "user.name=alice", "-c", "user.email=a@example.com",
                              *words], cwd=folder, env=self.environment, capture_output=True,
                             text=True)
        if run.returncode != 0:
            check("git " + " ".join(words), False, said(run))
        return run.stdout.strip()

    def api(self, method, path, body=None):
        status, text = self.request(method, self.forge + "/api/v1" + path,
                                    None if body is None else json.dumps(body))
        if not 200 <= status < 300:
            check(f"{method} {path}", False, f"{status} {text}")
        return json.loads(text) if text.strip() else None

    def repo(self, path):
        return f"/repos/{USER}/{REPOSITORY}{path}"

    def write_spec(self, pods, team="vision"):
        text = SPEC.format(state=self.url("pods")) + "".join(POD.format(pod, team) for pod in pods)
        (self.clone / "podctl.yaml").write_text(text if pods else text + "  {}\n")

    def push(self, branch, message):
        self.git(self.clone, "add", "-A")
        self.git(self.clone, "commit", "-q", "-m", message)
        self.git(self.clone, "push", "-q", "origin", f"HEAD:{branch}")
        return self.git(self.clone, "rev-parse", "HEAD")

    def branch(self, name):
        self.git(self.clone, "fetch", "-q", "origin")
        self.git(self.clone, "checkout", "-q", "-B", name, "origin/main")

    def open_pull(self, branch):
        pull = self.api("POST", self.repo("/pulls"), {"head": branch, "base": "main",
                                                      "title": branch})
        return pull["number"]

    def merge(self, pull, style="merge"):
        # It may still be looking whether there are conflicts.
        for _ in range(100):
            status, text = self.request(
                "POST", self.forge + "/api/v1" + self.repo(f"/pulls/{pull}/merge"),
                json.dumps({"Do": style}))
            if 200 <= status < 300:
                break
            if status not in (405, 409):
                check("a merge", False, f"{status} {text}")
            wait_for(self.forge + "/api/v1/version")
        else:
            check("a merge", False, text)
        return self.api("GET", self.repo(f"/pulls/{pull}"))["merge_commit_sha"]

    def ci(self, commit, *words, pull=None, **variables):
        """As Gitea's runner starts a job: a fresh clone of the commit, its variables."""
        work = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        self.git(work, "clone", "-q", self.git_url(), ".")
        self.git(work, "checkout", "-q", commit)
        event = {"pull_request": {"number": pull, "head": {"sha": commit}}} if pull else {}
        (work / ".event.json").write_text(json.dumps(event))
        for name in (".summary", ".output"):
            (work / name).write_text("")
        environment = {
            **self.environment, "PODCTL_ENDPOINT": self.cloud, "CI": "true",
            "TF_HTTP_ADDRESS": self.url("pods"), "TF_HTTP_USERNAME": USER,
            "TF_HTTP_PASSWORD": PASSWORD, "GITEA_ACTIONS": "true", "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": self.forge + "/api/v1", "GITHUB_SERVER_URL": self.forge,
            "GITHUB_REPOSITORY": f"{USER}/{REPOSITORY}", "GITHUB_WORKSPACE": str(work),
            "GITHUB_EVENT_PATH": str(work / ".event.json"), "GITHUB_SHA": commit,
            "GITHUB_REF": f"refs/pull/{pull}/head" if pull else "refs/heads/main",
            "GITHUB_RUN_ID": "11", "GITHUB_RUN_NUMBER": "4", "GITHUB_TOKEN": self.token,
            "GITHUB_STEP_SUMMARY": str(work / ".summary"), "GITHUB_OUTPUT": str(work / ".output"),
            **variables}
        run = subprocess.run([self.options.podctl, "ci", *words], env=environment, cwd=work,
                             capture_output=True, text=True)
        run.work = work
        check(f"    no token in what `ci {words[0]}` says",
              self.token not in run.stdout + run.stderr, said(run))
        return run

    def comments(self, pull):
        return self.api("GET", self.repo(f"/issues/{pull}/comments"))

    def issues(self):
        return self.api("GET", self.repo("/issues?state=all&type=issues"))


def start(world):
    world.write_spec([])
    world.push("main", "no pods yet")


def from_a_pull_request_to_a_pod(world):
    world.branch("research")
    world.write_spec(["research"])
    commit = world.push("research", "a pod")
    pull = world.open_pull("research")
    run = world.ci(commit, "plan", pull=pull)
    check("a plan of a pull request", run.returncode == 0, said(run))
    comments = world.comments(pull)
    check("is one comment of the bot's",
          len(comments) == 1 and comments[0]["user"]["login"] == BOT
          and comments[0]["body"].startswith("### podctl plan: 1 to add"), str(comments))
    check("    and stands in the summary and the outputs",
          "1 to add" in (run.work / ".summary").read_text()
          and "adds<<" in (run.work / ".output").read_text())
    world.write_spec(["research"], team="speech")
    commit = world.push("research", "another team")
    run = world.ci(commit, "plan", pull=pull)
    comments = world.comments(pull)
    check("a push renews it in place",
          run.returncode == 0 and len(comments) == 1 and "speech" in comments[0]["body"],
          said(run) + str(comments))
    for name, style in (("merge", "merge"),):
        merged = world.merge(pull, style)
        before = world.creates()
        run = world.ci(merged, "apply")
        check(f"the {name} applies it", run.returncode == 0 and world.creates() == before + 1,
              said(run))
    comments = world.comments(pull)
    check("and says so in the same comment",
          len(comments) == 1 and comments[0]["body"].startswith("### podctl apply: 1 added"),
          str(comments))
    run = world.ci(merged, "apply")
    check("to run the job again does nothing", run.returncode == 0 and
          world.creates() == before + 1, said(run))


def pushed_between_review_and_merge(world):
    world.branch("more")
    world.write_spec(["research", "more"], team="speech")
    commit = world.push("more", "one more")
    pull = world.open_pull("more")
    run = world.ci(commit, "plan", pull=pull)
    check("it is planned", run.returncode == 0, said(run))
    world.write_spec(["research", "more", "sneaked"], team="speech")
    world.push("more", "and another")
    merged = world.merge(pull, "squash")
    before = world.creates()
    run = world.ci(merged, "apply")
    check("what nobody has seen is refused with 4",
          run.returncode == 4 and world.creates() == before, said(run))
    comments = world.comments(pull)
    check("in a new comment, and the old one is cut to a line",
          len(comments) == 2 and comments[1]["body"].startswith("### podctl apply: refused")
          and len(comments[0]["body"].splitlines()) == 1, str(comments))
    run = world.ci(merged, "apply")
    check("also when the job is run again", run.returncode == 4, said(run))
    run = world.ci(merged, "plan", "--pull", str(pull))
    check("planned anew by hand", run.returncode == 0, said(run))
    run = world.ci(merged, "apply")
    check("it is applied", run.returncode == 0 and world.creates() == before + 2, said(run))


def forged_comments(world):
    world.branch("forged")
    world.write_spec(["research", "more", "sneaked", "forged"], team="speech")
    commit = world.push("forged", "forged")
    pull = world.open_pull("forged")
    run = world.ci(commit, "plan", pull=pull)
    genuine = world.comments(pull)[0]["body"]
    world.write_spec(["research", "more", "sneaked"], team="vision")
    commit = world.push("forged", "something else")
    run = world.ci(commit, "plan", pull=pull)
    check("a comment of the newest push", run.returncode == 0, said(run))
    world.api("POST", world.repo(f"/issues/{pull}/comments"), {"body": genuine})  # by a person
    world.write_spec(["research", "more", "sneaked", "forged"], team="speech")
    world.push("forged", "and back")
    merged = world.merge(pull, "rebase")
    before = world.creates()
    run = world.ci(merged, "apply")
    check("a copy by a person is no review", run.returncode == 4 and world.creates() == before,
          said(run))
    run = world.ci(merged, "plan", "--pull", str(pull))
    check("planned anew", run.returncode == 0, said(run))
    run = world.ci(merged, "apply")
    check("and applied, after a rebase", run.returncode == 0, said(run))


def pushed_past_any_pull_request(world):
    world.branch("direct")
    world.write_spec(["research", "more", "sneaked", "forged", "direct"], team="speech")
    commit = world.push("main", "past everybody")
    run = world.ci(commit, "apply")
    check("a push past any pull request is refused",
          run.returncode == 4 and "came by no pull request" in run.stderr, said(run))
    digest = re.search(r"sha256:[0-9a-f]{64}", run.stderr).group(0)
    run = world.ci(commit, "apply", "--expect-digest", digest)
    check("unless somebody says what he has read", run.returncode == 0, said(run))


def drift(world):
    main = world.git(world.clone, "rev-parse", "HEAD")
    run = world.ci(main, "drift")
    check("no drift, and no issue", run.returncode == 0 and not world.issues(), said(run))
    request = f"{world.cloud}/v2/projects/my-project/locations/europe-west4-a/nodes/research"
    status, text = world.request("PATCH", request + "?updateMask=labels",
                                 json.dumps({"labels": {"team": "by-hand"}}))
    check("somebody changes a label by hand", status == 200, text)
    run = world.ci(main, "drift", "--detailed-exitcode")
    for _ in range(50):  # the change takes as long as an operation takes
        if run.returncode == 2:
            break
        run = world.ci(main, "drift", "--detailed-exitcode")
    issues = world.issues()
    check("drift opens one issue", run.returncode == 2 and len(issues) == 1
          and issues[0]["state"] == "open" and "pod.research" in issues[0]["body"],
          said(run) + str(issues))
    run = world.ci(main, "drift")
    check("which is renewed", run.returncode == 0 and len(world.issues()) == 1, said(run))
    run = world.ci(main, "apply", "--auto-approve")
    check("an apply mends it", run.returncode == 0, said(run))
    run = world.ci(main, "drift")
    issues = world.issues()
    check("and the next look closes it", len(issues) == 1 and issues[0]["state"] == "closed",
          said(run) + str(issues))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gitea", required=True)
    parser.add_argument("--source", required=True, help="the folder with its templates/")
    parser.add_argument("--podctl", required=True)
    options = parser.parse_args()
    options.gitea, options.podctl = (os.path.abspath(path)
                                     for path in (options.gitea, options.podctl))
    options.source = os.path.abspath(options.source)
    with tempfile.TemporaryDirectory(prefix="podctl-pull-") as folder:
        world = None
        try:
            world = Forge(options, folder)
            for part in (start, from_a_pull_request_to_a_pod, pushed_between_review_and_merge,
                         forged_comments, pushed_past_any_pull_request, drift):
                print(f"--- {part.__name__.replace('_', ' ')}", flush=True)
                part(world)
        finally:
            if world:
                world.end()
    note("all of it was tried")


if __name__ == "__main__":
    main()
