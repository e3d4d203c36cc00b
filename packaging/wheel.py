#!/usr/bin/env python3
"""Makes a wheel of what bundle.py has put together: `pip install` lays podctl into the environment's
bin, its libraries into share/podctl/lib, and the pages of man and the completions into share.
Python is needed for that and never again: podctl is no script.

  wheel.py STAGE --version V --sbom FILE --readme FILE OUT-FOLDER

The same files become the same bytes. SOURCE_DATE_EPOCH is the time of each of them. Needs Python 3.9.
"""

import argparse
import base64
import hashlib
import os
import sys
import time
import zipfile

TAG = "py3-none-manylinux_2_34_x86_64"


# Of podctl, and of what it brings along.
LICENCES = "Apache-2.0 AND BSD-3-Clause AND BSL-1.0 AND curl AND LGPL-2.1-or-later AND MIT AND Zlib"


def metadata(version, readme, licences):
    lines = [
        "Metadata-Version: 2.4",
        "Name: podctl",
        f"Version: {version}",
        "Summary: Declarative Cloud TPU pods",
        f"License-Expression: {LICENCES}",
        *(f"License-File: {name}" for name in licences),
        "Keywords: tpu,google-cloud,jax,provisioning",
        "Classifier: Environment :: Console",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Topic :: System :: Clustering",
        "Requires-Python: >=3.7",
        "Description-Content-Type: text/markdown",
        "",
        readme,
    ]
    return "\n".join(lines)


def digest(content):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def contents(stage, version):
    """[(path in the wheel, path here)] of what STAGE has."""
    data = f"podctl-{version}.data"
    yield f"{data}/scripts/podctl", os.path.join(stage, "bin", "podctl")
    # Not into lib: `pip install --target` takes it for Python's own and leaves it out.
    for name in os.listdir(os.path.join(stage, "lib", "podctl")):
        yield f"{data}/data/share/podctl/lib/{name}", os.path.join(stage, "lib", "podctl", name)
    for part in ("share/man", "share/bash-completion", "share/zsh", "share/fish", "share/podctl"):
        for folder, _, names in os.walk(os.path.join(stage, part)):
            for name in names:
                path = os.path.join(folder, name)
                yield f"{data}/data/{os.path.relpath(path, stage)}", path
    licences = os.path.join(stage, "share", "doc", "podctl")
    info = f"podctl-{version}.dist-info"
    yield f"{info}/licenses/LICENSE", os.path.join(licences, "LICENSE")
    for name in os.listdir(os.path.join(licences, "licences")):
        yield f"{info}/licenses/libraries/{name}", os.path.join(licences, "licences", name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stage")
    parser.add_argument("out")
    parser.add_argument("--version", required=True)
    parser.add_argument("--sbom", required=True)
    parser.add_argument("--readme", required=True)
    arguments = parser.parse_args()
    info = f"podctl-{arguments.version}.dist-info"
    files = {}
    for name, path in contents(arguments.stage, arguments.version):
        with open(path, "rb") as file:
            files[name] = file.read()
    with open(arguments.sbom, "rb") as file:
        files[f"{info}/sboms/podctl.cdx.json"] = file.read()
    below = f"{info}/licenses/"
    licences = sorted(name.removeprefix(below) for name in files if name.startswith(below))
    with open(arguments.readme, encoding="utf-8") as file:
        files[f"{info}/METADATA"] = metadata(arguments.version, file.read(), licences).encode()
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: podctl {arguments.version}\n"
                              f"Root-Is-Purelib: false\nTag: {TAG}\n").encode()
    record = [f"{name},{digest(content)},{len(content)}" for name, content in sorted(files.items())]
    record.append(f"{info}/RECORD,,")
    files[f"{info}/RECORD"] = ("\n".join(record) + "\n").encode()

    made = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    path = os.path.join(arguments.out, f"podctl-{arguments.version}-{TAG}.whl")
    # The metadata last, as the standard advises.
    order = sorted(files, key=lambda name: (name.startswith(info), name))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name in order:
            entry = zipfile.ZipInfo(name, made)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # a Unix, whatever this is
            mode = 0o755 if "/scripts/" in name else 0o644
            entry.external_attr = (0o100000 | mode) << 16
            wheel.writestr(entry, files[name])
    return 0


if __name__ == "__main__":
    sys.exit(main())
