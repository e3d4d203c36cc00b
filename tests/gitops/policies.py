#!/usr/bin/env python3
"""Policies as somebody writes them, held against plans by the real conftest: what is denied, what is
warned of, rules that do not parse, rules that look for the job's secrets, and no conftest at all.

By hand, for conftest comes from no package of Debian's:

    go install github.com/open-policy-agent/conftest@v0.71.1
    tests/gitops/policies.py --podctl build/release/podctl --conftest CONFTEST

It needs no forge: what the comment would be is the run's summary.
"""
import argparse
import os
import pathlib

from real_world import RealWorld, check, play, said

TOKEN = "ghs_not-a-real-one"
SIZE = """package main

deny contains msg if {
  some change in input.resource_changes
  "create" in change.change.actions
  change.change.after.acceleratorType == "v3-256"
  msg := sprintf("%s: a pod of 256 cores is for the whole team to decide", [change.address])
}
"""
SPOT = """package cost

warn contains msg if {
  some change in input.resource_changes
  change.type == "pod"
  not change.change.after.schedulingConfig.spot
  msg := sprintf("%s is no spot pod", [change.address])
}
"""
LOOKS = """package main

deny contains msg if {
  some name, value in opa.runtime().env
  msg := sprintf("seen: %s=%s", [name, value])
}
"""


class World(RealWorld):
    def __init__(self, options, folder):
        super().__init__(options.podctl, folder, delay="0s")
        programs = self.folder / "programs"
        programs.mkdir()
        (programs / "conftest").symlink_to(os.path.abspath(options.conftest))
        self.plain = {"PATH": "/usr/bin:/bin"}
        self.environment.update({
            "PATH": f"{programs}:/usr/bin:/bin", "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": "https://api.github.com", "GITHUB_REPOSITORY": "team/pods",
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"), "GITHUB_TOKEN": TOKEN})

    def a_project(self, name, accelerator, **policies):
        folder = self.spec(name, f"{name}.state.json", [])
        text = (folder / "podctl.yaml").read_text().rstrip("\n {}")
        (folder / "podctl.yaml").write_text(
            f"{text}\n  big: {{acceleratorType: {accelerator}, runtimeVersion: tpu-vm-tf-2.11.0-pod}}\n")
        for policy, rules in policies.items():
            (folder / "policy").mkdir(exist_ok=True)
            (folder / "policy" / f"{policy}.rego").write_text(rules)
        return folder

    def plan(self, folder, *words, **variables):
        summary = pathlib.Path(self.environment["GITHUB_STEP_SUMMARY"])
        summary.unlink(missing_ok=True)
        run = self.podctl(folder, "ci", "plan", "--comment", "never", *words, **variables)
        check("    no token is in what it says", TOKEN not in run.stdout + run.stderr, said(run))
        return run, summary.read_text() if summary.exists() else ""


def what_is_denied_is_no_plan(world):
    folder = world.a_project("denied", "v3-256", size=SIZE, spot=SPOT)
    run, comment = world.plan(folder, "--out", "it.plan")
    check("a denied plan ends with 1", run.returncode == 1, said(run))
    check("    the comment says why, above the plan",
          0 < comment.find("a pod of 256 cores is for") < comment.find("acceleratorType"), comment)
    check("    and what is warned of", "is no spot pod" in comment, comment)
    check("    and nothing was saved", not (folder / "it.plan").exists())
    run = world.podctl(folder, "ci", "apply", "--auto-approve", "--comment", "never")
    check("an apply is denied, too", run.returncode == 1 and not world.nodes(), said(run))


def what_is_warned_of_goes_on(world):
    folder = world.a_project("warned", "v3-8", size=SIZE, spot=SPOT)
    run, comment = world.plan(folder)
    check("a plan that is warned of ends with 0", run.returncode == 0, said(run))
    check("    the comment shows it", "is no spot pod" in comment, comment)


def the_repositorys_own_folder_is_found(world):
    folder = world.a_project("whole", "v3-256", size=SIZE)
    (folder / "pods").mkdir()
    (folder / "podctl.yaml").rename(folder / "pods" / "podctl.yaml")
    run, _ = world.plan(folder / "pods", GITHUB_WORKSPACE=str(folder))
    check("policies of the repository hold for its folders", run.returncode == 1, said(run))


def what_cannot_be_evaluated_is_an_error(world):
    folder = world.a_project("broken", "v3-8", size=SIZE + "deny if if\n")
    run, comment = world.plan(folder)
    check("rules that do not parse end with 1", run.returncode == 1, said(run))
    check("    the comment says it", "unexpected if keyword" in comment, comment)
    folder = world.a_project("empty", "v3-8")
    (folder / "policy").mkdir()
    run, _ = world.plan(folder)
    check("a folder without rules ends with 1", run.returncode == 1, said(run))
    folder = world.a_project("lacking", "v3-8", size=SIZE)
    run, _ = world.plan(folder, **world.plain)
    check("no conftest ends with 1", run.returncode == 1 and "no conftest" in run.stderr, said(run))


def rules_see_nothing_of_the_job(world):
    folder = world.a_project("looks", "v3-8", looks=LOOKS)
    run, comment = world.plan(folder)
    check("rules that look for secrets see what they were given",
          "seen: PATH=" in comment and "GITHUB" not in comment, comment)
    left = list(pathlib.Path("/tmp").glob("podctl-plan-*.json"))
    check("and nothing is left in /tmp", not left, str(left))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--podctl", required=True)
    parser.add_argument("--conftest", required=True)
    given = parser.parse_args()
    given.podctl = os.path.abspath(given.podctl)
    play([what_is_denied_is_no_plan, what_is_warned_of_goes_on,
          the_repositorys_own_folder_is_found, what_cannot_be_evaluated_is_an_error,
          rules_see_nothing_of_the_job],
         lambda folder: World(given, folder), "podctl-policies-")
