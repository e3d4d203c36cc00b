#!/usr/bin/env python3
"""Writes what a package of podctl is made of, as CycloneDX 1.5.

  sbom.py --version V --commit C (--bundled NOTE | --linked BINARY) OUT

With --bundled the libraries are those that bundle.py has put beside podctl; with --linked those of
Debian that BINARY is linked with, which come as packages of their own. Both also name the libraries
that are a part of podctl: headers alone, or linked in whole. The same input becomes the same bytes: SOURCE_DATE_EPOCH
is its time. Needs Python 3.9, dpkg and, with --linked, binutils.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
import uuid

sys.dont_write_bytecode = True
import bundle  # noqa: E402
import elf  # noqa: E402


def debian_version():
    with open("/etc/os-release", encoding="utf-8") as file:
        for line in file:
            if line.startswith("VERSION_ID="):
                return line.split("=", 1)[1].strip().strip('"')
    return ""


def purl(package, version, arch):
    return f"pkg:deb/debian/{package}@{version.replace('+', '%2B')}?arch={arch}&distro=debian-{debian_version()}"


def installed(package):
    found = subprocess.run(["dpkg-query", "--show", "-f", "${Version}\t${source:Package}\t${source:Version}", package],
                           capture_output=True, text=True, check=True)
    version, source, source_version = found.stdout.split("\t")
    return {"package": package, "version": version, "source": source, "source_version": source_version}


def compiled_in():
    """As bundle.py has them; of Boost whichever version is here."""
    for package in bundle.COMPILED_IN:
        if not package.startswith("libboost"):
            yield package
            continue
        depends = subprocess.run(["dpkg-query", "--show", "-f", "${Depends}", "libboost-dev"], capture_output=True,
                                 text=True, check=True).stdout
        yield depends.split(",")[0].split()[0]


def linked(binary):
    notes = {}
    for name in elf.needed(binary):
        package, version, source, source_version = bundle.package_of(bundle.find(name, bundle.SYSTEM))
        notes[package] = {"package": package, "version": version, "source": source, "source_version": source_version}
    return list(notes.values())


def component(note, scope):
    arch = "source" if note.get("built_here") else "amd64"
    made = {
        "type": "library",
        "bom-ref": purl(note["package"], note["version"], arch),
        "name": note["package"],
        "version": note["version"],
        "scope": "required",
        "purl": purl(note["package"], note["version"], arch),
        "properties": [{"name": "podctl:how", "value": scope}],
    }
    if not note.get("built_here"):
        made["supplier"] = {"name": "Debian"}
    if note.get("sha256"):
        made["hashes"] = [{"alg": "SHA-256", "content": note["sha256"]}]
    if note.get("file"):
        made["properties"].append({"name": "podctl:file", "value": note["file"]})
    if note.get("source"):
        made["properties"].append({"name": "podctl:source", "value": f"{note['source']} {note['source_version']}"})
    if note.get("built_here"):
        made["properties"].append({"name": "podctl:built-with", "value": note["built_here"]})
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--version", required=True)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--bundled")
    parser.add_argument("--linked")
    arguments = parser.parse_args()
    if arguments.bundled:
        with open(arguments.bundled, encoding="utf-8") as file:
            components = [component(note, "bundled") for note in json.load(file)]
    else:
        components = [component(note, "depended on") for note in linked(arguments.linked)]
    components += [component(installed(name), "compiled in") for name in compiled_in()]
    components.sort(key=lambda each: (each["bom-ref"], json.dumps(each["properties"])))
    # Two files of one package are one component, and then no hash is that of both.
    merged = {}
    for each in components:
        known = merged.setdefault(each["bom-ref"], each)
        if known is not each:
            known.pop("hashes", None)
        known["properties"] += [prop for prop in each["properties"] if prop not in known["properties"]]
    components = list(merged.values())
    podctl = f"pkg:generic/podctl@{arguments.version}"
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))),
            "tools": [{"vendor": "podctl", "name": "packaging/sbom.py", "version": arguments.version}],
            "component": {
                "type": "application",
                "bom-ref": podctl,
                "name": "podctl",
                "version": arguments.version,
                "purl": podctl,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "properties": [{"name": "podctl:commit", "value": arguments.commit}],
            },
        },
        "components": components,
        "dependencies": [{"ref": podctl, "dependsOn": [each["bom-ref"] for each in components]}],
    }
    seed = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    document["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, seed)}"
    with open(arguments.out, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=2, sort_keys=True)
        file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
