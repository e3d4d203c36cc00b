#!/usr/bin/env python3
"""The pipeline that `podctl init --template gitops --for gitlab` writes, its jobs run by
gitlab-ci-local: a merge request, its note and its reports, the merge, the apply, what nobody has
reviewed, a broken spec, and the issue of drift.

By hand, for it needs Node, rsync and gitlab-ci-local:

    npm install gitlab-ci-local@4.61.1
    tests/gitops/gitlab_jobs.py --podctl build/release/podctl --gitlab-ci-local GITLAB_CI_LOCAL

It has no runner and no API: jobs are run by a shell (--force-shell-executor), which job runs is said
by the variables a pipeline has, and GitLab's API is a double in this script. The state is in the
bucket of podctl's emulator. Everything lives in a folder of its own that goes at the end; all ports
are free ones of loopback.
"""
import argparse
import http.server
import json
import os
import re
import subprocess
import threading
import urllib.parse

from real_world import NODES, RealWorld, check, play, said, wait_until

TOKEN = "glpat-not-a-real-one"
POD = """  {}:
    acceleratorType: v3-8
    runtimeVersion: tpu-ubuntu2204-base
    ssh: {{publishKey: false, check: false}}
    labels: {{team: {}}}
"""


class Api(http.server.BaseHTTPRequestHandler):
    """What podctl asks of a forge; what it does not is an error."""

    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        forge, (header, token) = self.server.forge, self.server.forge.KEY
        status, text = 401, {"message": "401 Unauthorized"}
        if self.headers.get(header) == token:
            path, _, query = self.path.removeprefix(forge.PREFIX).partition("?")
            body.update(urllib.parse.parse_qsl(query))
            status, text = forge.asked_for(self.command, path, body)
        data = json.dumps(text).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_PATCH = answer

    def log_message(self, *words):
        pass


class Double:
    """A forge's API, as far as podctl needs it."""

    def __init__(self):
        self.notes, self.issues, self.merged = {}, [], {}
        self.changes_since = None  # (commit, branch): the commits and the files
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
        self.server.forge = self
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.api = f"http://127.0.0.1:{self.server.server_port}{self.PREFIX}"


class GitLab(Double):
    PREFIX, KEY = "/api/v4", ("PRIVATE-TOKEN", TOKEN)
    ME = {"id": 7, "username": "podctl-bot"}

    def asked_for(self, method, path, body):
        if (method, path) == ("GET", "/user"):
            return 200, self.ME
        found = re.fullmatch(r"/projects/7/repository/commits/(\w+)/merge_requests", path)
        if found and method == "GET":
            pulls = [pull for commit, pull in self.merged.items() if commit == found.group(1)]
            return 200, [{"iid": pull, "state": "merged", "target_branch": "main",
                          "merge_commit_sha": found.group(1)} for pull in pulls]
        if (method, path) == ("GET", "/projects/7/repository/compare"):
            commits, files = self.changes_since(body["from"], body["to"])
            return 200, {"commits": [{"id": each} for each in commits], "compare_timeout": False,
                         "diffs": [{"new_path": file, "old_path": file} for file in files]}
        found = re.fullmatch(r"/projects/7/merge_requests/(\d+)/notes(?:/(\d+))?", path)
        if found:
            return self.change(method, self.notes.setdefault(int(found.group(1)), []),
                               found.group(2), "id", body)
        found = re.fullmatch(r"/projects/7/issues(?:/(\d+))?", path)
        if found:
            if method == "GET":
                return 200, [issue for issue in self.issues if issue["state"] == "opened"]
            if body.pop("state_event", "") == "close":
                body["state"] = "closed"
            return self.change(method, self.issues, found.group(1), "iid", body)
        return 404, {"message": f"404 {method} {path}"}

    def change(self, method, all_of_them, number, key, body):
        if method == "GET" and number is None:
            return 200, all_of_them
        if method == "POST" and number is None:
            all_of_them.append({key: len(all_of_them) + 1, "author": self.ME, "system": False,
                                "state": "opened", "web_url": "https://gitlab.example.com/x",
                                **body})
            return 201, all_of_them[-1]
        if method == "PUT" and number and int(number) <= len(all_of_them):
            all_of_them[int(number) - 1].update(body)
            return 200, all_of_them[int(number) - 1]
        return 404, {"message": "404 Not found"}


class Project(RealWorld):
    """A repository with the pipeline of a forge, the forge's double, and podctl in the path."""

    def __init__(self, options, folder, forge, double):
        super().__init__(options.podctl, folder)
        self.options, self.forge = options, double
        double.changes_since = self.changes_since
        bin_folder = self.folder / "bin"
        bin_folder.mkdir()
        (bin_folder / "podctl").symlink_to(options.podctl)
        self.environment.update(PATH=f"{bin_folder}:{self.environment['PATH']}",
                                STORAGE_EMULATOR_HOST=self.cloud)
        self.project = self.folder / "project"
        run = self.podctl(self.folder, "init", "--template", "gitops", "--for", forge,
                          str(self.project))
        check("init writes the pipeline", run.returncode == 0, said(run))
        self.git("init", "-q", "-b", "main", ".")
        self.git("remote", "add", "origin", f"https://{forge}.com/team/pods.git")
        self.written = (self.project / "podctl.yaml").read_text()

    def end(self):
        super().end()
        self.forge.server.shutdown()

    def git(self, *words):
        run = subprocess.run(["git", "-c", "user.name=alice", "-c", "user.email=a@example.com",
                              *words], cwd=self.project, env=self.environment,
                             capture_output=True, text=True)
        if run.returncode != 0:
            check("git " + " ".join(words), False, said(run))
        return run.stdout.strip()

    def changes_since(self, commit, branch):
        return (self.git("rev-list", f"{commit}..{branch}").split(),
                self.git("diff", "--name-only", f"{commit}...{branch}").split())

    def commit(self, pods, team="vision", more=""):
        head = self.written[:self.written.index("\npods:")] + "\npods:\n"
        text = "".join(POD.format(pod, team) for pod in pods) or "  {}\n"
        (self.project / "podctl.yaml").write_text(head + text + more)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")
        return self.git("rev-parse", "HEAD")

    def make_bucket(self):
        run = self.podctl(self.project, "state", "init", "--location", "europe-west4")
        check("a bucket", run.returncode == 0, said(run))


class World(Project):
    def __init__(self, options, folder):
        super().__init__(options, folder, "gitlab", GitLab())
        (self.project / ".gitignore").write_text(".gitlab-ci-local/\n*.json\n")

    def job(self, name, source, **variables):
        """As the pipeline of `source` runs it."""
        given = {"GITLAB_CI": "true", "CI_PROJECT_DIR": str(self.project), "CI_API_V4_URL": self.forge.api, "CI_PROJECT_ID": "7",
                 "CI_PIPELINE_SOURCE": source, "CI_DEFAULT_BRANCH": "main",
                 "CI_COMMIT_REF_PROTECTED": "true", "GITLAB_TOKEN": TOKEN,
                 "PODCTL_ENDPOINT": self.cloud, "STORAGE_EMULATOR_HOST": self.cloud,
                 "WORKLOAD_IDENTITY_PROVIDER": "projects/1/locations/global/x",
                 "SERVICE_ACCOUNT": "a@example.com", "PLAN_SERVICE_ACCOUNT": "b@example.com",
                 **variables}
        words = [self.options.gitlab_ci_local, "--force-shell-executor", name]
        for key, value in given.items():
            words += ["--variable", f"{key}={value}"]
        run = subprocess.run(words, cwd=self.project, env=self.environment, capture_output=True,
                             text=True)
        check(f"    no token in what {name} says", TOKEN not in run.stdout + run.stderr, said(run))
        return run

    def merge_request(self, name, pull):
        return self.job(name, "merge_request_event", CI_MERGE_REQUEST_IID=str(pull))

    def apply(self, commit, pull):
        self.forge.merged = {commit: pull}
        return self.job("podctl-apply", "push", CI_COMMIT_BRANCH="main")


def start(world):
    world.commit([])
    world.make_bucket()


def from_a_merge_request_to_a_pod(world):
    commit = world.commit(["research"])
    run = world.merge_request("podctl-validate", 1)
    check("podctl-validate", run.returncode == 0, said(run))
    report = json.loads((world.project / "gl-code-quality-report.json").read_text())
    check("    its report has nothing to say", report == [], str(report))
    run = world.merge_request("podctl-plan", 1)
    check("podctl-plan", run.returncode == 0, said(run))
    notes = world.forge.notes[1]
    check("    is one note", len(notes) == 1 and "1 to add" in notes[0]["body"], str(notes))
    report = json.loads((world.project / "podctl-plan.json").read_text())
    check("    and a report for the widget", report.get("create") == 1, str(report))
    before = world.creates()
    run = world.apply(commit, 1)
    check("podctl-apply", run.returncode == 0 and world.creates() == before + 1, said(run))
    check("    says so in the same note", len(notes) == 1 and "1 added" in notes[0]["body"],
          str(notes))
    run = world.apply(commit, 1)
    check("    retried, it does nothing", run.returncode == 0 and world.creates() == before + 1,
          said(run))


def what_nobody_has_reviewed(world):
    world.commit(["research", "more"])
    run = world.merge_request("podctl-plan", 2)
    check("a plan", run.returncode == 0, said(run))
    commit = world.commit(["research", "more", "sneaked"])
    before = world.creates()
    run = world.apply(commit, 2)
    notes = world.forge.notes[2]
    check("another one is refused", run.returncode != 0 and world.creates() == before, said(run))
    check("    in a new note", len(notes) == 2 and "refused" in notes[1]["body"], str(notes))
    run = world.job("podctl-replan", "web", CI_COMMIT_BRANCH="main", PULL="2")
    check("podctl-replan", run.returncode == 0, said(run))
    run = world.apply(commit, 2)
    check("    then it is applied", run.returncode == 0 and world.creates() == before + 2,
          said(run))


def a_broken_spec(world):
    world.commit(["research", "more", "sneaked"], more="  broken: {acceleratorTyp: v3-8}\n")
    run = world.merge_request("podctl-validate", 3)
    report = json.loads((world.project / "gl-code-quality-report.json").read_text())
    check("podctl-validate fails, and its report names the line",
          run.returncode != 0 and report and report[0]["location"]["path"] == "podctl.yaml"
          and report[0]["location"]["lines"]["begin"] > 1, said(run) + str(report))
    run = world.merge_request("podctl-plan", 3)
    notes = world.forge.notes.get(3, [])
    check("podctl-plan shows that it failed", run.returncode != 0 and len(notes) == 1
          and "acceleratorTyp" in notes[0]["body"], said(run) + str(notes))


def drift(world):
    world.commit(["research", "more", "sneaked"])
    run = world.job("podctl-drift", "schedule", CI_COMMIT_BRANCH="main")
    check("no drift, and no issue", run.returncode == 0 and not world.forge.issues, said(run))
    world.post(f"{NODES}/research?updateMask=labels", {"labels": {"team": "by-hand"}}, "PATCH")
    wait_until("the change", lambda: any(
        node.get("labels", {}).get("team") == "by-hand"
        for node in world.asked(NODES + "?pageSize=1000")["nodes"]))
    run = world.job("podctl-drift", "schedule", CI_COMMIT_BRANCH="main")
    check("drift opens one issue", run.returncode == 0 and len(world.forge.issues) == 1
          and "pod.research" in world.forge.issues[0]["description"], said(run))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    for name in ("podctl", "gitlab-ci-local"):
        parser.add_argument("--" + name, required=True, type=os.path.abspath)
    options = parser.parse_args()
    play((start, from_a_merge_request_to_a_pod, what_nobody_has_reviewed, a_broken_spec, drift),
         lambda folder: World(options, folder), "podctl-gitlab-")


if __name__ == "__main__":
    main()
