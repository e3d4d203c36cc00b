#!/usr/bin/env python3
"""packaging/wheel.py, on a stage with a script in podctl's place: what the wheel holds, that its RECORD
is right, and that the same files become the same bytes. Needs Python 3.9."""

import base64
import csv
import hashlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAME = "podctl-1.2.3-py3-none-manylinux_2_34_x86_64.whl"
FILES = {
    "bin/podctl": "#!/bin/sh\necho podctl 1.2.3\n",
    "lib/podctl/libcurl.so.4": "a library",
    "share/man/man1/podctl.1": ".TH",
    "share/bash-completion/completions/podctl": "complete",
    "share/doc/podctl/README.md": "not in a wheel",
    "share/doc/podctl/LICENSE": "Apache",
    "share/doc/podctl/licences/curl.txt": "curl's",
    "sbom.json": "{}",
    "readme.md": "What it is.\n",
}


def make(stage, out, order):
    for path in order:
        whole = os.path.join(stage, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w", encoding="utf-8") as file:
            file.write(FILES[path])
    os.makedirs(out)
    subprocess.run([sys.executable, "-B", os.path.join(TOP, "packaging", "wheel.py"), stage, out, "--version", "1.2.3",
                    "--sbom", os.path.join(stage, "sbom.json"), "--readme", os.path.join(stage, "readme.md")],
                   check=True, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
    return os.path.join(out, NAME)


class WheelTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def below(self, name):
        return os.path.join(self.folder.name, name)

    def test_holds_what_pip_lays_down(self):
        with zipfile.ZipFile(make(self.below("stage"), self.below("out"), FILES)) as wheel:
            names = set(wheel.namelist())
            self.assertEqual(names, {
                "podctl-1.2.3.data/scripts/podctl",
                "podctl-1.2.3.data/data/share/podctl/lib/libcurl.so.4",
                "podctl-1.2.3.data/data/share/man/man1/podctl.1",
                "podctl-1.2.3.data/data/share/bash-completion/completions/podctl",
                "podctl-1.2.3.dist-info/licenses/LICENSE",
                "podctl-1.2.3.dist-info/licenses/libraries/curl.txt",
                "podctl-1.2.3.dist-info/sboms/podctl.cdx.json",
                "podctl-1.2.3.dist-info/METADATA",
                "podctl-1.2.3.dist-info/WHEEL",
                "podctl-1.2.3.dist-info/RECORD",
            })
            modes = {entry.filename: entry.external_attr >> 16 & 0o777 for entry in wheel.infolist()}
            self.assertEqual(modes.pop("podctl-1.2.3.data/scripts/podctl"), 0o755)
            self.assertEqual(set(modes.values()), {0o644})
            self.assertIn("Tag: py3-none-manylinux_2_34_x86_64", wheel.read("podctl-1.2.3.dist-info/WHEEL").decode())
            self.assertTrue(wheel.read("podctl-1.2.3.dist-info/METADATA").decode().endswith("\n\nWhat it is.\n"))

    def test_the_record_is_of_each_file(self):
        with zipfile.ZipFile(make(self.below("stage"), self.below("out"), FILES)) as wheel:
            rows = list(csv.reader(io.StringIO(wheel.read("podctl-1.2.3.dist-info/RECORD").decode())))
            self.assertEqual({row[0] for row in rows}, set(wheel.namelist()))
            for name, digest, size in rows:
                if name.endswith("/RECORD"):
                    self.assertEqual((digest, size), ("", ""))
                    continue
                content = wheel.read(name)
                expected = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                self.assertEqual((digest, int(size)), (f"sha256={expected}", len(content)), name)

    def test_the_same_files_are_the_same_bytes(self):
        one = make(self.below("one"), self.below("out-one"), list(FILES))
        two = make(self.below("deeper/two"), self.below("out-two"), list(reversed(FILES)))
        with open(one, "rb") as first, open(two, "rb") as second:
            self.assertEqual(first.read(), second.read())


if __name__ == "__main__":
    unittest.main()
