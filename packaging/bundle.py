#!/usr/bin/env python3
"""Puts beside a podctl the libraries that it is linked with, with their licences, and says what they are.

  bundle.py STAGE --slim FOLDER --built-in FOLDER --note FILE

STAGE/bin/podctl looks for its libraries in STAGE/lib/podctl (its RPATH). They come from FOLDER, where
that has them, else from this system; what belongs to glibc or to the compiler's runtime is the target
system's. FILE becomes a list of what was put there, for sbom.py: name, file, package, version.

An error is what could not run elsewhere: a library that is nowhere, a symbol that is newer than
manylinux_2_34 allows (elf.py), the name of the folder that all was built in; and a library of which
Debian has a newer one. Needs Python 3.9, binutils and dpkg.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import elf  # noqa: E402

# The second is a wheel's: `pip install --target` leaves out what lies in its lib.
RPATH = "$ORIGIN/../lib/podctl:$ORIGIN/../share/podctl/lib"
# On this system, in the order of the loader's; another than Debian has others.
SYSTEM = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu")
# What podctl itself holds of others: Debian's packages of libraries that are headers alone, or linked in whole.
COMPILED_IN = ("libboost1.74-dev", "libcli11-dev", "libcpp-httplib-dev", "libjemalloc-dev", "nlohmann-json3-dev")


class Problem(Exception):
    pass


def find(name, folders):
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    raise Problem(f"{name} is in none of {', '.join(folders)}")


def package_of(path):
    """(package, version, source, source version) of a file that dpkg has installed."""
    real = os.path.realpath(path)
    for name in (path, real, path.replace("/usr/lib/", "/lib/", 1), real.replace("/usr/lib/", "/lib/", 1)):
        found = subprocess.run(["dpkg-query", "--search", name], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            package = found.stdout.split(": ")[0].split(",")[0]
            form = "${Package}\t${Version}\t${source:Package}\t${source:Version}"
            return subprocess.run(["dpkg-query", "--show", "-f", form, package], capture_output=True, text=True,
                                  check=True).stdout.split("\t")
    raise Problem(f"no package has {path}: it would be brought along, and nobody could say what it is")


def outdated(package):
    """"libssl3 3.0.19 is here, and 3.0.22 is Debian's by now", where apt knows of a newer one; else ""."""
    known = subprocess.run(["apt-cache", "policy", package], capture_output=True, text=True, check=True,
                           env={**os.environ, "LC_ALL": "C"}).stdout
    here, newest = (re.search(rf"{word}: (\S+)", known) for word in ("Installed", "Candidate"))
    if not here or not newest or here.group(1) == newest.group(1):
        return ""
    return f"{package} {here.group(1)} is here, and {newest.group(1)} is Debian's by now: apt-get upgrade it first"


def lay_sources(licences, brought):
    """Where the source of each stands, and the licences that Debian's files only name."""
    named = set()
    for name in os.listdir(licences):
        with open(os.path.join(licences, name), encoding="utf-8", errors="replace") as file:
            named |= set(re.findall(r"/usr/share/common-licenses/([A-Za-z]+(?:-[0-9]+(?:\.[0-9]+)*)?)", file.read()))
    for name in sorted(named):
        path = os.path.join("/usr/share/common-licenses", name)
        if os.path.exists(path):
            shutil.copyfile(path, os.path.join(licences, name))
    sources = sorted({(note["source"], note["source_version"]) for note in brought})
    with open(os.path.join(licences, "SOURCES"), "w", encoding="utf-8") as file:
        file.write("The libraries are Debian's. What each was made of, with all that Debian has changed, is this source package;\n"
                   "Debian's archive of snapshots keeps every version:\n\n")
        for source, version in sources:
            file.write(f"{source} {version}\n")


def bring(stage, slim):
    """Copies all that is needed, and what that needs; [{"file", "package", "version", ...}]."""
    target = os.path.join(stage, "lib", "podctl")
    licences = os.path.join(stage, "share", "doc", "podctl", "licences")
    os.makedirs(target, exist_ok=True)
    os.makedirs(licences, exist_ok=True)
    for package in COMPILED_IN:
        shutil.copyfile(f"/usr/share/doc/{package}/copyright", os.path.join(licences, package + ".txt"))
    brought = {}
    waiting = elf.needed(os.path.join(stage, "bin", "podctl"))
    while waiting:
        name = waiting.pop()
        if name in brought or name in elf.OF_THE_SYSTEM:
            continue
        path = find(name, (os.path.join(slim, "lib"), *SYSTEM))
        copy = os.path.join(target, name)
        shutil.copyfile(path, copy)  # of a link what it leads to
        os.chmod(copy, 0o644)
        if os.path.realpath(path).startswith(os.path.realpath(slim) + os.sep):
            with open(os.path.join(slim, "source.json"), encoding="utf-8") as file:
                brought[name] = {"file": name, **json.load(file)}
            licence = os.path.join(slim, "copyright")
        else:
            package, version, source, source_version = package_of(path)
            brought[name] = {"file": name, "package": package, "version": version, "source": source,
                             "source_version": source_version}
            licence = f"/usr/share/doc/{package}/copyright"
        with open(copy, "rb") as file:
            brought[name]["sha256"] = hashlib.sha256(file.read()).hexdigest()
        shutil.copyfile(licence, os.path.join(licences, brought[name]["source"] + ".txt"))
        waiting += elf.needed(path)
    notes = [brought[name] for name in sorted(brought)]
    lay_sources(licences, notes)
    return notes


def problems(stage, built_in, brought):
    """What would not run elsewhere, or has holes that are mended by now."""
    for package in sorted({note["package"] for note in brought if not note.get("built_here")}):
        if old := outdated(package):
            yield old
    binary = os.path.join(stage, "bin", "podctl")
    target = os.path.join(stage, "lib", "podctl")
    if elf.run_paths(binary) != [("RPATH", RPATH)]:
        yield f"bin/podctl looks for its libraries in {elf.run_paths(binary)}, not in RPATH {RPATH}"
    for path in [binary] + [os.path.join(target, name) for name in sorted(os.listdir(target))]:
        where = os.path.relpath(path, stage)
        for name in elf.needed(path):
            if name not in elf.OF_THE_SYSTEM and not os.path.exists(os.path.join(target, name)):
                yield f"{where} needs {name}, which is not in lib/podctl"
        for version in elf.too_new(path):
            yield f"{where} needs {version}, which a manylinux_2_34 has not"
        if path != binary and elf.run_paths(path):
            yield f"{where} looks for libraries in {elf.run_paths(path)}"
        with open(path, "rb") as file:
            if built_in.encode() in file.read():
                yield f"{where} names {built_in}, a folder of this machine"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stage")
    parser.add_argument("--slim", required=True)
    parser.add_argument("--built-in", required=True)
    parser.add_argument("--note", required=True)
    arguments = parser.parse_args()
    try:
        brought = bring(arguments.stage, arguments.slim)
        wrong = list(problems(arguments.stage, arguments.built_in, brought))
    except Problem as problem:
        wrong = [str(problem)]
    for each in wrong:
        print(f"bundle.py: {each}", file=sys.stderr)
    if wrong:
        return 1
    with open(arguments.note, "w", encoding="utf-8") as file:
        json.dump(brought, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
