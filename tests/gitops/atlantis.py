#!/usr/bin/env python3
"""The workflow that `podctl init --template gitops --for atlantis` writes, by an Atlantis of one's own
beside a real Gitea: a pull request and its plan, an apply that nobody has approved, one that somebody
has, a state that has moved on since the plan, an Atlantis that is killed in the middle of an apply.

By hand, for it needs a Gitea of 1.26 or newer (how to get one: gitea_state.py), a terraform for
Atlantis to find, and an Atlantis:

    git clone https://github.com/runatlantis/atlantis && (cd atlantis && go build -o atlantis .)
    tests/gitops/atlantis.py --gitea COPY/gitea --source COPY --atlantis ATLANTIS \\
        --podctl build/release/podctl

The state is Gitea's, and the cloud is podctl's emulator. Everything lives in a folder of its own that
goes at the end; all ports are free ones of loopback.
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import urllib.request

from gitea_pull_request import BOT, REPOSITORY, Forge
from gitea_state import APP_INI, PASSWORD, USER
from real_world import NODES, RealWorld, check, free_port, said, wait_for, wait_until

SECRET = "a-webhooks-secret"
POD = """  {}:
    acceleratorType: v3-8
    runtimeVersion: tpu-ubuntu2204-base
    ssh: {{publishKey: false, check: false}}
    labels: {{team: {}}}
"""
PATIENCE = 240


class World(Forge):
    ini = APP_INI + "[webhook]\nALLOWED_HOST_LIST = loopback\n"
    asked, nodes, made_twice = RealWorld.asked, RealWorld.nodes, RealWorld.made_twice
    post, slow_creates = RealWorld.post, RealWorld.slow_creates

    def __init__(self, options, folder):
        super().__init__(options, folder)
        programs = self.folder / "programs"
        programs.mkdir()
        (programs / "podctl").symlink_to(options.podctl)
        self.environment["PATH"] = f"{programs}:{self.environment['PATH']}"
        self.port, self.atlantis = free_port(), None
        run = subprocess.run([options.podctl, "init", "--template", "gitops", "--for", "atlantis",
                              str(self.folder / "written")], env=self.environment,
                             capture_output=True, text=True, cwd=self.folder)
        check("init writes what Atlantis needs", run.returncode == 0, said(run))
        self.start_atlantis()
        self.api("POST", self.repo("/hooks"), {
            "type": "gitea", "active": True,
            "config": {"url": f"http://127.0.0.1:{self.port}/events", "content_type": "json",
                       "secret": SECRET},
            "events": ["push", "pull_request", "pull_request_sync", "issue_comment",
                       "pull_request_comment", "pull_request_approved", "pull_request_review"]})

    def start_atlantis(self):
        """With podctl's environment as pipeline.md has it: of the server."""
        self.atlantis = self.start(
            [self.options.atlantis, "server", "--port", str(self.port), "--atlantis-url",
             f"http://127.0.0.1:{self.port}", "--gitea-base-url", self.forge, "--gitea-user", BOT,
             "--repo-allowlist", "*", "--tf-download=false", "--data-dir",
             str(self.folder / "atlantis"), "--repo-config",
             str(self.folder / "written/repos.yaml"), "--log-level", "info"],
            "atlantis.log", cwd=self.folder, start_new_session=True,
            env={**self.environment, "ATLANTIS_GITEA_TOKEN": self.token,
                 "ATLANTIS_GITEA_WEBHOOK_SECRET": SECRET, "PODCTL_ENDPOINT": self.cloud,
                 "TF_HTTP_ADDRESS": self.url("pods"), "TF_HTTP_USERNAME": USER,
                 "TF_HTTP_PASSWORD": PASSWORD})
        wait_for(f"http://127.0.0.1:{self.port}/healthz")

    def kill_atlantis(self):
        """It and all that it has begun, as a machine that is gone."""
        os.killpg(self.atlantis.pid, signal.SIGKILL)
        self.atlantis.wait()
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
                here = os.readlink(process / "cwd")
            except OSError:
                continue
            if b"podctl" in words[0] and here.startswith(str(self.folder / "atlantis")):
                os.kill(int(process.name), signal.SIGKILL)

    def write_spec(self, pods, team="vision"):
        written = self.folder / "written"
        head = (written / "podctl.yaml").read_text()
        head = head[:head.index("\npods:")] + "\npods:\n"
        lines = [f"state: {self.url('pods')}" if line.startswith("state:") else line
                 for line in head.split("\n")]
        text = "".join(POD.format(pod, team) for pod in pods) or "  {}\n"
        (self.clone / "podctl.yaml").write_text("\n".join(lines) + text)
        (self.clone / "atlantis.yaml").write_text((written / "atlantis.yaml").read_text())

    def podctl_of_a_person(self, *words):
        return subprocess.run(
            [self.options.podctl, *words], cwd=self.clone, capture_output=True, text=True,
            env={**self.environment, "PODCTL_ENDPOINT": self.cloud, "TF_HTTP_USERNAME": USER,
                 "TF_HTTP_PASSWORD": PASSWORD})

    def states(self):
        """Of all nodes."""
        return {node["state"] for node in self.asked(NODES + "?pageSize=10")["nodes"]}

    def says(self, pull, seen):
        """What Atlantis has said since."""
        return [comment["body"] for comment in self.comments(pull)[seen:]
                if comment["user"]["login"] == BOT]

    def answer(self, pull, seen=0):
        """Waits for its next comment."""
        wait_until("Atlantis answers", lambda: self.says(pull, seen), PATIENCE)
        return self.says(pull, seen)[0]

    def ask(self, pull, text):
        while True:
            seen = len(self.comments(pull)) + 1
            self.api("POST", self.repo(f"/issues/{pull}/comments"), {"body": text})
            answer = self.answer(pull, seen)
            # It tells of a plan a little before it has ended it.
            if "is currently locked by" not in answer:
                return answer

    def propose(self, branch, pods, team="vision"):
        self.branch(branch)
        self.write_spec(pods, team)
        self.push(branch, branch)
        pull = self.open_pull(branch)
        return pull, self.answer(pull)

    def approve(self, pull):
        """By another person than the author."""
        ask = urllib.request.Request(
            self.forge + "/api/v1" + self.repo(f"/pulls/{pull}/reviews"), method="POST",
            headers={"Authorization": f"token {self.token}", "Content-Type": "application/json"},
            data=json.dumps({"event": "APPROVED", "body": "fine"}).encode())
        urllib.request.urlopen(ask).close()


def start(world):
    world.write_spec([])
    world.push("main", "no pods yet")


def from_a_pull_request_to_a_pod(world):
    pull, text = world.propose("research", ["research"])
    check("Atlantis posts podctl's plan", "Plan: 1 to add, 0 to change, 0 to destroy" in text, text)
    check("    with its digest, and no token", "Digest: sha256:" in text
          and world.token not in text, text)
    text = world.ask(pull, "atlantis apply")
    check("what nobody has approved is not applied",
          "approved" in text and not world.nodes(), text)
    world.approve(pull)
    text = world.ask(pull, "atlantis apply")
    check("what is approved is applied", "Apply complete! Resources: 1 added" in text
          and list(world.nodes()) == ["research"], text)
    world.merge(pull)


def what_has_moved_on_is_refused(world):
    pull, text = world.propose("speech", ["research"], team="speech")
    check("a change is planned", "0 to add, 1 to change, 0 to destroy" in text, text)
    world.approve(pull)
    run = world.podctl_of_a_person("state", "rm", "pod.research")
    check("meanwhile somebody changes the state", run.returncode == 0, said(run))
    text = world.ask(pull, "atlantis apply")
    check("an apply of the old plan is refused", "tale" in text and "Apply complete" not in text,
          text)
    run = world.podctl_of_a_person("import", "pod.research", "research")
    check("the pod is taken up again", run.returncode == 0, said(run))
    text = world.ask(pull, "atlantis plan")
    check("a new plan is made on `atlantis plan`", "1 to change" in text, text)
    text = world.ask(pull, "atlantis apply")
    check("and applied", "Apply complete! Resources: 0 added, 1 changed" in text, text)
    world.merge(pull)


def a_spec_with_an_error_is_a_comment(world):
    pull, text = world.propose("wrong", ["research", "research"], team="speech")
    check("a broken spec is said in the comment", "Plan Error" in text or "Error" in text, text)
    check("    with its line", "podctl.yaml:" in text, text)
    world.api("PATCH", world.repo(f"/pulls/{pull}"), {"state": "closed"})


def a_killed_atlantis_makes_nothing_twice(world):
    pull, text = world.propose("more", ["research", "second"], team="speech")
    check("one more is planned", "1 to add, 0 to change" in text, text)
    world.approve(pull)
    world.slow_creates(20)
    world.api("POST", world.repo(f"/issues/{pull}/comments"), {"body": "atlantis apply"})
    wait_until("a create is under way",
               lambda: world.asked("/emulator/requests")["byMethod"].get("nodes.create", 0) >= 2
               or "second" in world.nodes(), PATIENCE)
    world.kill_atlantis()
    world.slow_creates(0)
    world.start_atlantis()
    # A plan that was made while it was being created would not be that of a pod that is there.
    wait_until("the node is there", lambda: world.states() == {"READY"}, PATIENCE)
    text = world.ask(pull, "atlantis plan")
    check("after a kill -9 a plan goes on", "Plan Error" not in text, text)
    if "No changes" not in text:
        text = world.ask(pull, "atlantis apply")
        check("    and an apply completes it", "Apply complete!" in text, text)
    check("    and no node was made twice",
          sorted(world.nodes()) == ["research", "second"] and not world.made_twice(),
          str(world.nodes()) + str(world.made_twice()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    for name in ("--gitea", "--source", "--atlantis", "--podctl"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    for name, value in vars(options).items():
        setattr(options, name, os.path.abspath(value))
    with tempfile.TemporaryDirectory(prefix="podctl-atlantis-") as folder:
        world = None
        try:
            world = World(options, folder)
            for part in (start, from_a_pull_request_to_a_pod, what_has_moved_on_is_refused,
                         a_spec_with_an_error_is_a_comment, a_killed_atlantis_makes_nothing_twice):
                print(f"--- {part.__name__.replace('_', ' ')}", flush=True)
                part(world)
        except SystemExit:
            print((pathlib.Path(folder) / "atlantis.log").read_text()[-4000:])
            raise
        finally:
            if world:
                world.end()


if __name__ == "__main__":
    main()
