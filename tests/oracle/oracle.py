#!/usr/bin/python3
"""Whether two builds of podctl say the same, byte for byte, of a thousand worlds by seeds.

  oracle.py make   FOLDER PODCTL [--seeds N]     worlds, made by this build and an emulator of its own
  oracle.py check  FOLDER PODCTL OTHER [--only SEED]
                                                 both builds, in the same worlds

For who rebuilds podctl without wanting to change what it does: `make` with the build of the start,
once, and `check` after each step. Of each world the state, the spec and the emulator's data are kept;
`check` contacts the emulator of the first build only, and changes nothing.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import worlds  # noqa: E402

COMMANDS = {
    "plan": ["plan"],
    "plan.json": ["plan", "--json"],
    "plan.markdown": ["plan", "--markdown"],
    "plan.norefresh": ["plan", "--refresh=false"],
    "plan.refreshonly": ["plan", "--refresh-only"],
    "plan.destroy": ["plan", "--destroy", "--json"],
    "plan.out": ["plan", "--out", "saved.plan"],
    "plan.shown": ["show", "--json", "saved.plan"],
    "show": ["show"],
    "show.json": ["show", "--json"],
    "list": ["state", "list"],
    "status": ["status"],
}
# What differs between two runs of one build.
CLOCK = re.compile(rb'"@?timestamp":"[^"]*"')


class Emulator:
    def __init__(self, podctl, data, port):
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [podctl, "emulator", "--listen", f"127.0.0.1:{port}", "--data", str(data), "--workers",
             "light", "--operation-delay", "0s"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        line = self.process.stdout.readline()
        if not line.startswith(b"ready"):
            raise SystemExit(f"the emulator does not start: {line!r}")

    def call(self, method, path, body=None):
        data = None if body is None and method == "GET" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return {"error": error.read().decode()}

    def nodes(self, project):
        found = []
        for zone in (worlds.ZONE, "us-central1-a"):
            answer = self.call("GET", f"/v2/projects/{project}/locations/{zone}/nodes")
            found += answer.get("nodes", [])
        return found

    def wait_until_gone(self, path):
        where, _, node = path.partition("?nodeId=")
        for _ in range(100):
            if "error" in self.call("GET", f"{where}/{node}"):
                return
            time.sleep(0.05)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def run(podctl, folder, arguments, url, home):
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PODCTL_ENDPOINT": url,
                   "PODCTL_TOKEN": "x", "GOOGLE_OAUTH_ACCESS_TOKEN": "x", "PODCTL_SSH_PORT":
                   os.environ.get("PODCTL_SSH_PORT", "")}
    if not environment["PODCTL_SSH_PORT"]:
        del environment["PODCTL_SSH_PORT"]
    done = subprocess.run([podctl, *arguments], cwd=folder, env=environment, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=300)
    return done.returncode, done.stdout, done.stderr


def make_world(seed, podctl, emulator, base):
    world = worlds.World(seed)
    folder = base / "worlds" / f"{seed:04d}"
    folder.mkdir(parents=True)
    spec = folder / "podctl.yaml"
    spec.write_text(world.yaml())
    home = base / "home"
    faulty = world.dice.random() < 0.15
    if faulty:
        act = world.dice.choice(["nodes.create", "queuedResources.create"])
        emulator.call("POST", "/emulator/faults",
                      {"faults": [{"path": f"*{world.project}*", "call": act, "nth": 1,
                                   "drop": "after"}]})
    code, _, words = run(podctl, folder, ["apply", "--auto-approve", "--no-wait"], emulator.url, home)
    log = [f"apply: {code}", words.decode()]
    for method, path, body in world.incidents(emulator.nodes(world.project)):
        if path.startswith("/v2/") and method == "POST":
            emulator.wait_until_gone(path)
        log.append(f"{method} {path}: {json.dumps(emulator.call(method, path, body))[:300]}")
    state = folder / "podctl.state.json"
    if state.exists() and world.dice.random() < 0.5:
        content = json.loads(state.read_text())
        if world.mutate(content):
            state.write_text(worlds.with_checksum(content))
            log.append("state mutated")
    world.edit()
    spec.write_text(world.yaml())
    shutil.rmtree(folder / "podctl.state.json.history", ignore_errors=True)
    (folder / "made.log").write_text("\n".join(log))
    return code


def make(options):
    base = pathlib.Path(options.folder).resolve()
    (base / "home").mkdir(parents=True)
    (base / "home" / ".ssh").mkdir(mode=0o700)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                    str(base / "home/.ssh/id_ed25519")], check=True)
    emulator = Emulator(options.podctl, base / "cloud", options.port)
    try:
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            codes = list(pool.map(lambda seed: make_world(seed, options.podctl, emulator, base),
                                  range(options.seeds)))
    finally:
        emulator.stop()
    print({code: codes.count(code) for code in sorted(set(codes))})


def outcome(podctl, world, url, base, scratch):
    """What one build says of one world, by command."""
    said = {}
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for name in ("podctl.yaml", "podctl.state.json"):
        if (world / name).exists():
            shutil.copy(world / name, scratch / name)
    before = (world / "podctl.state.json").read_bytes() if (world / "podctl.state.json").exists() else b""
    for name, arguments in COMMANDS.items():
        code, out, err = run(podctl, scratch, arguments, url, base / "home")
        said[name] = b"%d\n%s\n----\n%s" % (code, CLOCK.sub(b"", out), CLOCK.sub(b"", err))
    state = scratch / "podctl.state.json"
    after = state.read_bytes() if state.exists() else b""
    if after != before:
        said["state"] = after
    return said


def check(options):
    base = pathlib.Path(options.folder).resolve()
    emulator = Emulator(options.podctl, base / "cloud", options.port)
    seeds = [options.only] if options.only is not None else range(len(os.listdir(base / "worlds")))

    def compare(seed):
        world = base / "worlds" / f"{seed:04d}"
        # The same folder for both: its name is in what they say.
        scratch = base / "scratch" / f"{seed:04d}"
        one = outcome(options.podctl, world, emulator.url, base, scratch)
        other = outcome(options.other, world, emulator.url, base, scratch)
        shutil.rmtree(scratch, ignore_errors=True)
        differ = [name for name in sorted(one | other) if one.get(name) != other.get(name)]
        for name in differ:
            for side, said in (("one", one), ("other", other)):
                target = base / "differ" / f"{seed:04d}.{name}.{side}"
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(said.get(name, b""))
        return seed, differ, one["plan"].startswith(b"1\n")

    shutil.rmtree(base / "differ", ignore_errors=True)
    differing = refused = 0
    try:
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for seed, differ, failed in pool.map(compare, seeds):
                refused += failed
                if differ:
                    differing += 1
                    print(f"seed {seed}: {', '.join(differ)}")
    finally:
        emulator.stop()
    print(f"{len(seeds)} worlds x {len(COMMANDS)} commands: {differing} differ "
          f"({refused} plans are refused, by both alike unless named above)")
    return 1 if differing else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=18470)
    verbs = parser.add_subparsers(dest="verb", required=True)
    made = verbs.add_parser("make")
    made.add_argument("folder")
    made.add_argument("podctl")
    made.add_argument("--seeds", type=int, default=1000)
    checked = verbs.add_parser("check")
    checked.add_argument("folder")
    checked.add_argument("podctl")
    checked.add_argument("other")
    checked.add_argument("--only", type=int)
    options = parser.parse_args()
    return make(options) if options.verb == "make" else check(options)


if __name__ == "__main__":
    sys.exit(main())
