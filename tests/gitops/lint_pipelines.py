#!/usr/bin/env python3
"""The pipelines that `podctl init --template gitops --for …` writes, looked at by the tools of their
forges: actionlint for GitHub's and Gitea's, gitlab-ci-local for GitLab's, whose schema it has.

By hand, for it needs them:

    go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
    npm install gitlab-ci-local@4.50.0
    tests/gitops/lint_pipelines.py --podctl build/release/podctl --actionlint ACTIONLINT \\
        --gitlab-ci-local GITLAB_CI_LOCAL
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import tempfile

from real_world import check, said

JOBS = {
    "merge_request_event": {"podctl-validate", "podctl-plan"},
    "push": {"podctl-apply"},
    "schedule": {"podctl-drift"},
}


def run(folder, *words):
    return subprocess.run(words, cwd=folder, capture_output=True, text=True)


def written(options, folder, forge):
    there = folder / forge
    made = run(folder, options.podctl, "init", "--template", "gitops", "--for", forge, str(there))
    check(f"init for {forge}", made.returncode == 0, said(made))
    for words in (["init", "-q", "-b", "main", "."], ["add", "-A"],
                  ["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "x"],
                  ["remote", "add", "origin", "https://git.example.com/team/pods.git"]):
        check("git " + words[0], run(there, "git", *words).returncode == 0)
    return there


def lint_actions(options, folder):
    for forge in ("github", "gitea"):
        there = written(options, folder, forge)
        if forge == "gitea":  # where it looks for them
            shutil.copytree(there / ".gitea", there / ".github")
        seen = run(there, options.actionlint)
        check(f"actionlint has nothing to say of {forge}'s", seen.returncode == 0, said(seen))


def lint_gitlab(options, folder):
    there = written(options, folder, "gitlab")
    for source, jobs in JOBS.items():
        seen = run(there, options.gitlab_ci_local, "--list", "--variable",
                   f"CI_PIPELINE_SOURCE={source}", "--variable", "CI_COMMIT_BRANCH=main",
                   "--variable", "CI_DEFAULT_BRANCH=main", "--variable",
                   "CI_COMMIT_REF_PROTECTED=true")
        listed = {line.split()[0] for line in seen.stdout.split("\n")
                  if line.startswith("podctl-")}
        check(f"gitlab-ci-local: of {source} these jobs and no others",
              seen.returncode == 0 and listed == jobs, said(seen))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    for name in ("podctl", "actionlint", "gitlab-ci-local"):
        parser.add_argument("--" + name, required=True, type=os.path.abspath)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="podctl-lint-") as folder:
        lint_actions(options, pathlib.Path(folder))
        lint_gitlab(options, pathlib.Path(folder))


if __name__ == "__main__":
    main()
