#!/usr/bin/env python3
"""The site of the manual. Always: each page of docs/ stands in .mkdocs.yml, and nothing else does. With --build (or
PODCTL_TEST_ALL=1): `./dev docs` builds it without a warning, and no page fetches anything from elsewhere.

  site.py [--build]
"""

import glob
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# What a browser fetches by itself; where a link leads is the reader's to decide.
FETCHED = re.compile(r"<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc=[\"']?((?:https?:)?//[^\"' >]+)|<link\b[^>]*\bhref=[\"']?((?:https?:)?//[^\"' >]+)", re.I)
FETCHED_BY_STYLE = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')]+)")


def check_nav():
    with open(os.path.join(TOP, ".mkdocs.yml"), encoding="utf-8") as file:
        text = file.read()
    named = re.findall(r"^ +- (?:[^:\n]+: )?(\S+\.md)$", text[text.index("\nnav:") :], re.M)
    pages = {os.path.relpath(path, os.path.join(TOP, "docs")) for path in glob.glob(os.path.join(TOP, "docs", "**", "*.md"), recursive=True)}
    wrong = [f".mkdocs.yml names {name} twice" for name in sorted(set(named)) if named.count(name) > 1]
    missing = pages - set(named)
    wrong += [f"{name} is not in the nav of .mkdocs.yml" for name in sorted(missing)]
    wrong += [f".mkdocs.yml names {name}, which is not there" for name in sorted(set(named) - pages) if not name.startswith("project/")]
    return wrong


def check_build():
    result = subprocess.run([os.path.join(TOP, "dev"), "docs"], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return ["./dev docs fails:\n" + result.stdout + result.stderr]
    wrong = []
    folder = os.path.join(TOP, "build", "site")
    for path in glob.glob(os.path.join(folder, "**", "*"), recursive=True):
        pattern = {".html": FETCHED, ".css": FETCHED_BY_STYLE}.get(os.path.splitext(path)[1])
        if pattern is None or "/source/" in path:
            continue
        with open(path, encoding="utf-8") as file:
            for match in pattern.finditer(file.read()):
                wrong.append(f"{os.path.relpath(path, folder)} fetches {next(filter(None, match.groups()))}")
    if not os.path.exists(os.path.join(folder, "getting-started", "index.html")):
        wrong.append("the site has no page to get started with")
    return wrong


def main():
    wrong = check_nav()
    if "--build" in sys.argv or os.environ.get("PODCTL_TEST_ALL"):
        wrong += check_build()
    else:
        # As GoogleTest says it: `./dev test` repeats what was not tested.
        print("[ RUN      ] docs.TheSiteIsBuilt\nsite.py: Skipped\nit installs mkdocs-material from PyPI: only with ./dev test --all")
    for each in wrong:
        print(each)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
