#!/usr/bin/env python3
"""Two pipelines on one state: one is killed in the middle of its creates, the other goes on.

By hand, on the bucket of podctl's emulator, and on a Gitea where one is named (gitea_state.py says
how to build it):

    tests/gitops/two_pipelines.py --podctl build/release/podctl [--gitea COPY/gitea --source COPY]

The runs have the variables that GitHub's and Gitea's runners set, a folder, a home, a host name and
process numbers of their own, as jobs in containers have. Everything lives in a folder that goes at
the end; all ports are free ones of loopback. Says what was tried, line by line, and ends with 1 at
the first thing that is not as it should be. Takes about five minutes, for leases run out.
"""
import argparse
import json
import os
import signal
import time

import gitea_state
from real_world import RealWorld, check, names, note, play, said

PODS = names(30)


class World(RealWorld):
    gitea = gitea_state.World.gitea
    start_gitea = gitea_state.World.start_gitea
    ini = gitea_state.APP_INI

    def __init__(self, options, folder):
        super().__init__(options.podctl, folder)
        self.options = options
        self.environment.update(STORAGE_EMULATOR_HOST=self.cloud, CI="true",
                                TF_HTTP_USERNAME=gitea_state.USER,
                                TF_HTTP_PASSWORD=gitea_state.PASSWORD)
        if options.gitea:
            self.start_gitea()


class Pipeline:
    """A run of one: `podctl`, `begin` as the world's, with its own folder and variables."""

    def __init__(self, world, number, state, kind):
        self.world, self.number, self.host = world, number, f"runner-{number}"
        name = f"{state.rsplit('/', 1)[1]}-{number}"
        self.folder = world.spec(name, state, PODS)
        spec = self.folder / "podctl.yaml"
        spec.write_text(spec.read_text().replace("check: false", "check: false, publishKey: false"))
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        server = "https://github.com" if kind == "github" else world.forge
        # Gitea's runs are counted by repository on its pages.
        page = 9000 + number if kind == "github" else f"{number}?by_index=1"
        self.url = f"{server}/team/pods/actions/runs/{page}"
        self.variables = {
            "HOME": str(home), "GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": str(9000 + number),
            "GITHUB_RUN_NUMBER": str(number), "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_SERVER_URL": server, "GITHUB_REPOSITORY": "team/pods",
            "GITHUB_SHA": f"{number:040x}", "GITHUB_WORKFLOW": "pods", "GITHUB_JOB": "apply"}
        if kind == "gitea":
            # A pipeline's password goes to the server of this address alone.
            self.variables.update(GITEA_ACTIONS="true", TF_HTTP_ADDRESS=state)

    def podctl(self, *words):
        return self.world.podctl(self.folder, *words, host=self.host, **self.variables)

    def begin(self, *words):
        return self.world.begin(self.folder, *words, host=self.host, **self.variables)

    def whole(self, what):
        self.world.whole(self.folder, PODS, what, **self.variables)

    def kill_in_the_middle(self):
        self.world.slow_creates(3)
        run = self.begin("apply", "--auto-approve")
        self.world.wait_for_creates(12)
        run.kill()
        self.world.slow_creates(0)
        accepted = len(self.world.nodes())
        check(f"the first pipeline is killed with {accepted} of {len(PODS)} nodes begun",
              0 < accepted < len(PODS), run.said())


def at_once(world, state, kind):
    """Both live."""
    one, two = (Pipeline(world, number, state, kind) for number in (1, 2))
    world.slow_creates(2)
    first = one.begin("apply", "--auto-approve")
    world.wait_for_first_creates(first)
    run = two.podctl("apply", "--auto-approve")
    check("the second of two pipelines ends with 3 and names the first's run",
          run.returncode == 3 and one.url in run.stderr and "runner-1" in run.stderr, said(run))
    second = two.begin("apply", "--auto-approve", "--lock-timeout", "3m")
    check("one that waits for it goes on, and finds all done",
          first.end() == 0 and second.end() == 0 and "Waiting for" in second.text()
          and "No changes" in second.text(), first.said() + second.said())
    note("which says: " + "".join(second.lines[:2]).replace("\n", " / "))
    world.slow_creates(0)
    two.whole("after both")
    world.begin_anew(two.folder, **two.variables)


def killed_on_a_bucket(world, kind="github"):
    state = "gs://my-state/killed"
    one, two = (Pipeline(world, number, state, kind) for number in (3, 4))
    one.kill_in_the_middle()
    began = time.monotonic()
    run = two.podctl("apply", "--auto-approve")
    check("the second is refused with 3, and names the first's run",
          run.returncode == 3 and one.url in run.stderr, said(run))
    run = two.podctl("apply", "--auto-approve", "--lock-timeout", "5m")
    took = time.monotonic() - began
    check(f"with --lock-timeout 5m it waits, takes over ({took:.0f} s after the kill) and goes on",
          run.returncode == 0 and 55 < took < 100
          and f"{one.url}), which gave no sign of life for 60 s" in run.stderr, said(run))
    print("".join("      | " + line + "\n" for line in run.stderr.split("\n")[:6]), end="")
    two.whole("after it")
    run = two.podctl("state", "history", "--json")
    check("the history has both runs", one.url in run.stdout and two.url in run.stdout, said(run))
    world.begin_anew(two.folder, **two.variables)


def woken_after_a_destroy(world, kind="github"):
    """The first stands still for longer than its lock lives; the second destroys all meanwhile."""
    one, two = (Pipeline(world, number, "gs://my-state/woken", kind) for number in (5, 6))
    world.slow_creates(6)
    first = one.begin("apply", "--auto-approve")
    world.wait_for_first_creates(first)
    first.send(signal.SIGSTOP)
    time.sleep(6)
    world.slow_creates(0)
    run = two.podctl("destroy", "--auto-approve", "--lock-timeout", "5m")
    check("the second takes over from one that stands still, and destroys all",
          run.returncode == 0 and one.url in run.stderr and not world.nodes(), said(run))
    before = world.creates()
    first.send(signal.SIGCONT)
    check("the first, woken, ends with 3", first.end() == 3, first.said())
    check("and has sent no create since", world.creates() == before,
          f"{world.creates() - before} creates, {len(world.nodes())} nodes")
    listed, plan = two.podctl("state", "list"), two.podctl("plan")
    unknown = [node for node in world.nodes()
               if f"pod.{node}\n" not in listed.stdout and f"/{node}" not in plan.stderr]
    check("each of them is in the state, or plan tells of it", plan.returncode == 0 and not unknown,
          said(listed) + said(plan))
    world.begin_anew(two.folder, **two.variables)


def on_a_bucket(world):
    made = Pipeline(world, 1, "gs://my-state/once", "github").podctl("state", "init")
    check("state init makes the bucket", made.returncode == 0, said(made))
    at_once(world, "gs://my-state/once", "github")
    killed_on_a_bucket(world)
    woken_after_a_destroy(world)


def on_gitea(world):
    if not world.options.gitea:
        note("no Gitea was named: its part was not tried")
        return
    base = f"{world.forge}/api/packages/{gitea_state.USER}/terraform/state/"
    at_once(world, base + "once", "gitea")
    one, two = (Pipeline(world, number, base + "killed", "gitea") for number in (3, 4))
    one.kill_in_the_middle()
    run = two.podctl("apply", "--auto-approve")
    check("the second is refused with 3, and names the first's run",
          run.returncode == 3 and one.url in run.stderr, said(run))
    began = time.monotonic()
    run = two.podctl("apply", "--auto-approve", "--lock-timeout", "70s")
    check(f"that lock does not run out: so it is after {time.monotonic() - began:.0f} s",
          run.returncode == 3 and one.url in run.stderr, said(run))
    run = two.podctl("unlock", "--if-stale")
    check("unlock --if-stale cannot tell, and ends with 3", run.returncode == 3, said(run))
    run = two.podctl("lock", "status", "--json")
    lock = json.loads(run.stdout)["lock"]
    check("lock status names the run", one.url in run.stdout, said(run))
    run = two.podctl("unlock", lock["id"] if "id" in lock else lock["ID"])
    check("unlock ID lets go of it", run.returncode == 0, said(run))
    run = two.podctl("apply", "--auto-approve")
    check("then the second goes on", run.returncode == 0, said(run))
    two.whole("after it")
    world.begin_anew(two.folder, **two.variables)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--podctl", required=True, type=os.path.abspath)
    for name in ("gitea", "source"):
        parser.add_argument("--" + name, type=os.path.abspath)
    parser.add_argument("--only", help="one part, by its name")
    options = parser.parse_args()
    parts = [part for part in (on_a_bucket, on_gitea) if options.only in (None, part.__name__)]
    play(parts, lambda folder: World(options, folder), "podctl-pipelines-")


if __name__ == "__main__":
    main()
