#!/usr/bin/env python3
"""What an ELF file wants of others: read by readelf, of binutils. Needs Python 3.9 and nothing more."""

import os
import re
import subprocess
import sys

# What is there on every Linux with glibc, and belongs to it or to the compiler: never brought along.
OF_THE_SYSTEM = {
    "ld-linux-x86-64.so.2", "libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "libresolv.so.2", "librt.so.1",
    "libgcc_s.so.1", "libstdc++.so.6",
}
# What a manylinux_2_34 may ask of these, which Debian 12 and Ubuntu 22.04 have.
NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)}


def _readelf(path, *flags):
    return subprocess.run(["readelf", "--wide", *flags, path], capture_output=True, text=True, check=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout


def needed(path):
    """The names of the libraries that it is linked with."""
    return re.findall(r"\(NEEDED\)\s+Shared library: \[([^\]]+)\]", _readelf(path, "--dynamic"))


def run_paths(path):
    """[(kind, path)], kind being RPATH or RUNPATH."""
    return re.findall(r"\((RPATH|RUNPATH)\)\s+Library r(?:un)?path: \[([^\]]*)\]", _readelf(path, "--dynamic"))


def versions(path):
    """{"GLIBC": (2, 34), ...}: the newest version of each set of symbols that it asks for."""
    newest = {}
    text = _readelf(path, "--version-info")
    for name, numbers in re.findall(r"Name: ([A-Z]+)_([0-9.]+)\s", text.split("Version needs section", 1)[-1]):
        version = tuple(int(number) for number in numbers.split("."))
        newest[name] = max(newest.get(name, ()), version)
    return newest


def too_new(path):
    """["GLIBC_2.36", ...]: what it asks for and NEWEST has not."""
    return [f"{name}_{'.'.join(map(str, version))}" for name, version in sorted(versions(path).items())
            if name in NEWEST and version > NEWEST[name]]


def main():
    """elf.py FILE...: a line for each version that is newer than a manylinux_2_34 has; then it ends with 1."""
    found = [f"{path}: {version}" for path in sys.argv[1:] for version in too_new(path)]
    print("\n".join(found) or "nothing is too new")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
