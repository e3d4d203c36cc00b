#!/usr/bin/env python3
"""The pipeline that `podctl init --template gitops --for gitea` writes, run by Gitea's own runner in
host mode: a push, a pull request, its comment, the merge, the apply, a push in between, two merges
at once, a cancel and a killed runner in the middle of an apply, and the issue of drift.

By hand, for it needs a Gitea of 1.26 or newer (how to get one: gitea_state.py), its runner, Node,
and a clone of github.com/actions/checkout with the commit that the workflow names:

    tests/gitops/gitea_runner.py --gitea COPY/gitea --source COPY --runner act_runner \\
        --checkout CLONE/.git --podctl build/release/podctl

Gitea serves actions/checkout itself (DEFAULT_ACTIONS_URL = self): the workflow is the one that was
written, to the letter, but for drift's, which is begun by hand. No net is needed. The state is
Gitea's, the comments are written with the job's own token, and the cloud is podctl's emulator.
Everything lives in a folder of its own that goes at the end; all ports are free ones of loopback.
"""
import argparse
import http.cookiejar
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

import gitea_state
from gitea_pull_request import REPOSITORY, Forge
from gitea_state import PASSWORD, USER
from real_world import NODES, RealWorld, check, note, said, wait_until

POD = """  {}:
    acceleratorType: v3-8
    runtimeVersion: tpu-ubuntu2204-base
    ssh: {{publishKey: false, check: false}}
    labels: {{team: {}}}
"""
CONFIG = """log: {{level: info}}
runner:
  file: {folder}/.runner
  capacity: 2
  fetch_interval: 1s
  envs: {{PODCTL_ENDPOINT: "{cloud}"}}
cache: {{enabled: false}}
host: {{workdir_parent: {folder}/jobs}}
"""
# A slow machine has other work, too.
PATIENCE = 240


class Pipeline(Forge):
    ini = gitea_state.APP_INI.replace("ENABLED = false",
                                      "ENABLED = true\nDEFAULT_ACTIONS_URL = self")
    asked, nodes, made_twice = RealWorld.asked, RealWorld.nodes, RealWorld.made_twice
    post, slow_creates = RealWorld.post, RealWorld.slow_creates

    def __init__(self, options, folder):
        super().__init__(options, folder)
        self.runner, self.seen = None, set()
        bin_folder = self.folder / "bin"
        bin_folder.mkdir()
        (bin_folder / "podctl").symlink_to(options.podctl)
        self.environment["PATH"] = f"{bin_folder}:{self.environment['PATH']}"
        self.session = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
        self.web("/user/login", user_name=USER, password=PASSWORD)
        self.serve_checkout()
        self.set_up()

    def web(self, path, **fields):
        """What only Gitea's pages can do."""
        ask = urllib.request.Request(self.forge + path, method="POST",
                                     data=urllib.parse.urlencode(fields).encode())
        with self.session.open(ask) as answer:
            return answer.read().decode()

    def serve_checkout(self):
        self.api("POST", "/orgs", {"username": "actions"})
        self.api("POST", "/orgs/actions/repos", {"name": "checkout"})
        url = self.git_url().replace(f"/{USER}/{REPOSITORY}.git", "/actions/checkout.git")
        commit = re.search(r"actions/checkout@([0-9a-f]{40})", self.written()).group(1)
        self.git(self.options.checkout, "push", "-q", url, f"{commit}:refs/heads/main")

    def written(self):
        """The workflow as `init` writes it."""
        there = self.folder / "written"
        if not there.exists():
            run = subprocess.run([self.options.podctl, "init", "--template", "gitops", "--for",
                                  "gitea", str(there)], env=self.environment, cwd=self.folder,
                                 capture_output=True, text=True)
            check("init writes the pipeline", run.returncode == 0, said(run))
            if self.options.workflow:
                shutil.copy(self.options.workflow, there / ".gitea/workflows/podctl.yml")
        return (there / ".gitea/workflows/podctl.yml").read_text()

    def set_up(self):
        """What pipeline.md says."""
        for name, value in (("STATE_USER", USER), ("STATE_URL", self.url("pods"))):
            self.api("POST", self.repo(f"/actions/variables/{name}"), {"value": value})
        for name, scope in (("STATE_READ_TOKEN", "read:package"), ("STATE_TOKEN", "write:package")):
            text = self.gitea("admin", "user", "generate-access-token", "--username", USER,
                              "--token-name", name, "--scopes", scope)
            self.api("PUT", self.repo(f"/actions/secrets/{name}"),
                     {"data": re.search(r"[0-9a-f]{40}", text).group(0)})
        token = self.api("POST", self.repo("/actions/runners/registration-token"))["token"]
        (self.folder / "runner.yaml").write_text(
            CONFIG.format(folder=self.folder, cloud=self.cloud))
        run = subprocess.run(
            [self.options.runner, "-c", self.folder / "runner.yaml", "register",
             "--no-interactive", "--instance", self.forge, "--token", token, "--name", "here",
             "--labels", "ubuntu-latest:host"], env=self.environment, cwd=self.folder,
            capture_output=True, text=True)
        check("the runner registers itself", run.returncode == 0, said(run))
        self.start_runner()

    def start_runner(self):
        self.runner = self.start([self.options.runner, "-c", self.folder / "runner.yaml", "daemon"],
                                 "runner.log", cwd=self.folder, env=self.environment)

    def write_spec(self, pods, team="vision"):
        written = (self.folder / "written/podctl.yaml").read_text()
        head = re.sub(r"(?m)^state: .*$", f"state: {self.url('pods')}", written)
        head = head[:head.index("\npods:")] + "\npods:\n"
        text = "".join(POD.format(pod, team) for pod in pods) or "  {}\n"
        (self.clone / "podctl.yaml").write_text(head + text)

    def runs(self, commit):
        runs = self.api("GET", self.repo("/actions/runs?limit=50"))["workflow_runs"]
        return [run for run in runs if run["head_sha"] == commit and run["id"] not in self.seen]

    def run_of(self, commit, event):
        """The run that this commit began, once it is there. Of a push to a pull request Gitea calls
        the event pull_request_sync."""
        found = []

        def is_there():
            found[:] = [run for run in self.runs(commit) if run["event"].startswith(event)]
            return bool(found)
        wait_until(f"a run of {event}", is_there, PATIENCE)
        return found[0]["id"]

    def job(self, run, name):
        jobs = self.api("GET", self.repo(f"/actions/runs/{run}/jobs"))["jobs"]
        return next(job for job in jobs if job["name"] == name)

    def log(self, run, name):
        path = self.repo(f"/actions/jobs/{self.job(run, name)['id']}/logs")
        status, text = self.request("GET", self.forge + "/api/v1" + path)
        return text if status == 200 else f"no log: {status} {text}"

    def ended(self, run, name):
        """Waits for a job; how it ended, and its log."""
        wait_until(f"{name} ends", lambda: self.job(run, name)["status"] == "completed", PATIENCE)
        return self.job(run, name)["conclusion"], self.log(run, name)

    def of_push(self, commit, name, event):
        return self.ended(self.run_of(commit, event), name)

    def rerun(self, run, name):
        def is_over():  # a run ends a little later than its last job
            return self.api("GET", self.repo(f"/actions/runs/{run}"))["status"] == "completed"
        wait_until("a run ends", is_over, PATIENCE)
        self.api("POST", self.repo(f"/actions/runs/{run}/jobs/{self.job(run, name)['id']}/rerun"))
        return self.ended(run, name)

    def cancel(self, run):
        self.web(f"/{USER}/{REPOSITORY}/actions/runs/{run}/cancel")

    def propose(self, branch, pods, team="vision"):
        """A pull request and its plan."""
        self.branch(branch)
        self.write_spec(pods, team)
        commit = self.push(branch, branch)
        pull = self.open_pull(branch)
        how, log = self.of_push(commit, "plan", "pull_request")
        check(f"{branch}: the plan of the pull request", how == "success", f"{how}\n{log}")
        return pull

    def dispatch(self, command):
        """A job of main, as the schedule's or one by hand: that of drift, with another command."""
        drift = self.written()[self.written().index("  drift:\n"):]
        drift = drift.replace("    if: github.event_name == 'schedule'\n", "")
        self.branch("by-hand")
        path = self.clone / ".gitea/workflows/by_hand.yml"
        path.write_text(f"# {time.monotonic()}\nname: by hand\non: workflow_dispatch\njobs:\n"
                        + drift.replace("ci drift", command))
        commit = self.push("main", command + " [skip ci]")
        self.api("POST", self.repo("/actions/workflows/by_hand.yml/dispatches"), {"ref": "main"})
        how, log = self.of_push(commit, "drift", "workflow_dispatch")
        check(f"`podctl {command}` in a job of main", how == "success", f"{how}\n{log}")
        self.seen.add(self.run_of(commit, "workflow_dispatch"))

    def podctls(self):
        """Processes of podctl that jobs have begun."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
                where = os.readlink(process / "cwd")
            except OSError:
                continue
            if where.startswith(str(self.folder / "jobs")) and b"ci" in words:
                found.append(int(process.name))
        return found

    def whole(self, what, pods):
        nodes = sorted(self.nodes())
        check(f"{what}: the cloud has these nodes and no others", nodes == sorted(pods), str(nodes))
        check("    and none was made twice", not self.made_twice(), str(self.made_twice()))
        status, text = self.request("GET", self.url("pods"))
        check("    and the state on Gitea has them",
              status == 200 and all(f'"{pod}"' in text for pod in pods), text)


def start(world):
    shutil.copytree(world.folder / "written", world.clone, dirs_exist_ok=True)
    world.write_spec([])
    commit = world.push("main", "the pipeline, and no pods yet")
    how, log = world.of_push(commit, "apply", "push")
    check("the first push: a plan without changes", how == "success", f"{how}\n{log}")
    check("    podctl ran in the runner", "No changes" in log, log)


def from_a_pull_request_to_a_pod(world):
    pull = world.propose("research", ["research"])
    comments = world.comments(pull)
    check("one comment of the job's own user",
          len(comments) == 1 and comments[0]["user"]["login"] == "gitea-actions"
          and comments[0]["body"].startswith("### podctl plan: 1 to add"), str(comments))
    world.write_spec(["research"], team="speech")
    commit = world.push("research", "another team")
    how, log = world.of_push(commit, "plan", "pull_request")
    comments = world.comments(pull)
    check("a push renews it in place", how == "success" and len(comments) == 1
          and "speech" in comments[0]["body"], f"{how}\n{log}\n{comments}")
    merged = world.merge(pull)
    how, log = world.of_push(merged, "apply", "push")
    check("the merge applies it", how == "success", f"{how}\n{log}")
    comments = world.comments(pull)
    check("    and says so in the same comment", len(comments) == 1
          and comments[0]["body"].startswith("### podctl apply: 1 added"), str(comments))
    world.whole("    once", ["research"])
    for secret in (PASSWORD, world.token):
        check("    no secret is in the log", secret not in log, log)


def pushed_between_review_and_merge(world):
    pull = world.propose("more", ["research", "more"], "speech")
    # The pipeline is off: of what came late there is no plan.
    world.runner.terminate()
    world.runner.wait()
    world.write_spec(["research", "more", "sneaked"], team="speech")
    late = world.run_of(world.push("more", "and another"), "pull_request")
    world.cancel(late)
    merged = world.merge(pull, "squash")
    world.start_runner()
    run = world.run_of(merged, "push")
    how, log = world.ended(run, "apply")
    check("what nobody has seen is refused", how == "failure" and "sneaked" in log, f"{how}\n{log}")
    comments = world.comments(pull)
    check("    in a new comment", len(comments) == 2
          and comments[1]["body"].startswith("### podctl apply: refused"), str(comments))
    world.whole("    and nothing was done", ["research"])
    world.refused = run, pull


def applied_after_a_look(world):
    """Of what was refused: main's own job plans it anew, and the apply is run again."""
    run, pull = world.refused
    world.dispatch(f"ci plan --pull {pull}")
    how, log = world.rerun(run, "apply")
    check("planned anew, and run again, it is applied", how == "success", f"{how}\n{log}")
    world.whole("    ", ["research", "more", "sneaked"])


def planned_anew(world, run, pull, what):
    """What a person does with an apply that was refused."""
    check(f"    {what} is told of as refused", "refused" in world.comments(pull)[-1]["body"],
          str(world.comments(pull)))
    world.dispatch(f"ci plan --pull {pull}")
    how, log = world.rerun(run, "apply")
    check("    planned anew it is applied", how == "success", f"{how}\n{log}")


MANY = [f"p{number}" for number in range(1, 9)]
MORE = [f"q{number}" for number in range(1, 9)]
KEPT = ["research", "more", "sneaked"]


def begun(world, branch, pods):
    """An apply in the middle of its creates."""
    pull = world.propose(branch, pods, "speech")
    before = world.creates()
    world.slow_creates(4)
    merged = world.merge(pull)
    run = world.run_of(merged, "push")
    wait_until("the first creates", lambda: world.creates() >= before + 2, PATIENCE)
    alive = world.podctls()
    check("it is podctl itself that the runner has begun, in place of a shell", len(alive) == 1,
          str(alive))
    return pull, run


def goes_on(world, run, pull, pods):
    world.slow_creates(0)
    how, log = world.rerun(run, "apply")
    if how == "success":
        check("run again, it finds all of it done", "No changes" in log, log)
    else:
        check("run again, it takes up what was begun", "is taken up" in log, log)
        check("    but what is left is another plan than the reviewed one",
              "is not the one that was reviewed" in log, log)
        planned_anew(world, run, pull, "it")
    world.whole("    all of it", pods)


def cancelled_in_the_middle(world):
    pull, run = begun(world, "many", KEPT + MANY)
    world.cancel(run)
    wait_until("podctl ends", lambda: not world.podctls(), PATIENCE)
    how, log = world.ended(run, "apply")
    check("cancelled", how == "cancelled", f"{how}\n{log}")
    note("podctl was told" if "nterrupt" in log else "podctl was not told: it was killed")
    goes_on(world, run, pull, KEPT + MANY)


def runner_killed_in_the_middle(world):
    pull, run = begun(world, "killed", KEPT + MANY + MORE)
    world.runner.send_signal(signal.SIGKILL)
    world.runner.wait()
    began = time.monotonic()
    wait_until("podctl ends", lambda: not world.podctls(), PATIENCE)
    note(f"podctl outlived its runner by {time.monotonic() - began:.0f} s; the comment then: "
         + world.comments(pull)[-1]["body"].splitlines()[0])
    world.start_runner()
    world.cancel(run)
    how, log = world.ended(run, "apply")
    check("Gitea has it as cancelled", how == "cancelled", f"{how}\n{log}")
    goes_on(world, run, pull, KEPT + MANY + MORE)


def two_merges_at_once(world):
    """The second comes in the middle of the first one's apply; both were planned before."""
    pods = KEPT + MANY + MORE
    left = world.propose("left", ["left", *pods], "speech")
    right = world.propose("right", [*pods, "right"], "speech")
    before = world.creates()
    world.slow_creates(5)
    one = world.run_of(world.merge(left), "push")
    wait_until("the first creates", lambda: world.creates() > before, PATIENCE)
    two = world.run_of(world.merge(right), "push")
    how, log = world.ended(one, "apply")
    check("of two merges at once the first is applied, and not cancelled", how == "success",
          f"{how}\n{log}")
    world.slow_creates(0)
    how, log = world.ended(two, "apply")
    check("what both together are was not reviewed", how == "failure", f"{how}\n{log}")
    how, log = world.rerun(two, "apply")
    check("    nor is it when the job is run again", how == "failure", f"{how}\n{log}")
    planned_anew(world, two, right, "it")
    world.whole("both are there", [*pods, "left", "right"])
    ends = [world.api("GET", world.repo(f"/actions/runs/{run}"))["conclusion"]
            for run in (one, two)]
    check("and Gitea shows both runs as what they were", ends == ["success", "success"], str(ends))


def drift(world):
    name = "research"
    status, text = world.request("PATCH", f"{world.cloud}{NODES}/{name}?updateMask=labels",
                                 json.dumps({"labels": {"team": "by-hand"}}))
    check("somebody changes a label by hand", status == 200, text)
    wait_until("the change", lambda: any(
        node["name"].endswith("/" + name) and node.get("labels", {}).get("team") == "by-hand"
        for node in world.asked(NODES + "?pageSize=1000")["nodes"]))
    world.dispatch("ci drift")
    issues = world.issues()
    check("drift opens one issue, with the job's own token", len(issues) == 1
          and issues[0]["state"] == "open" and f"pod.{name}" in issues[0]["body"], str(issues))
    world.dispatch("ci drift")
    check("    which is renewed", len(world.issues()) == 1, str(world.issues()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    for name in ("gitea", "source", "runner", "checkout", "podctl"):
        parser.add_argument("--" + name, required=True, type=os.path.abspath)
    parser.add_argument("--workflow", type=os.path.abspath,
                        help="in place of the one that init writes: a change that is not built yet")
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="podctl-runner-") as folder:
        world = None
        try:
            world = Pipeline(options, folder)
            for part in (start, from_a_pull_request_to_a_pod, pushed_between_review_and_merge,
                         applied_after_a_look, cancelled_in_the_middle,
                         runner_killed_in_the_middle, two_merges_at_once, drift):
                print(f"--- {part.__name__.replace('_', ' ')}", flush=True)
                part(world)
        finally:
            if world:
                world.end()
                for process in world.podctls():
                    os.kill(process, signal.SIGKILL)
    note(f"all of it took {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
