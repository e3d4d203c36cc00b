"""What the scripts of this folder share: a folder of their own, processes that end with them, the
emulator as the cloud, podctl here and as on another machine, and a line for each thing tried.

A run "elsewhere" has process numbers and a host name of its own (unshare), as a job in a container
has. So nobody here can tell that it has ended, and its lock goes by its lease.
"""
import collections
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

SPEC = """project: my-project
zone: europe-west4-a
state: {state}
defaults: {{ssh: {{check: false}}}}
pods:
"""
POD = "  {}: {{acceleratorType: v3-8, runtimeVersion: tpu-vm-tf-2.11.0}}\n"
NODES = "/v2/projects/my-project/locations/europe-west4-a/nodes"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def check(what, holds, seen=""):
    print(("ok    " if holds else "WRONG ") + what, flush=True)
    if not holds:
        print(seen)
        sys.exit(1)


def goes_on(run):
    if run.process.poll() is not None:
        check("a run goes on", False, run.said())


def note(what):
    print("-     " + what, flush=True)


def wait_for(url, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            return urllib.request.urlopen(url, timeout=2)
        except urllib.error.HTTPError as answer:
            return answer
        except OSError:
            time.sleep(0.2)
    sys.exit(f"nobody answers at {url}")


def wait_until(what, holds, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            check(what, False, f"not within {seconds} s")
        time.sleep(0.05)


def said(run):
    return f"exit code {run.returncode}\n{run.stdout}\n{run.stderr}"


def names(count, start="p"):
    return [f"{start}{number}" for number in range(1, count + 1)]


class Run:
    """A podctl that works while others do. `words` may begin it in a machine of its own."""

    def __init__(self, words, environment, folder, elsewhere):
        self.elsewhere = elsewhere
        self.process = subprocess.Popen(words, env=environment, cwd=folder, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.lines = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.space = self.keep_space() if elsewhere else None

    def keep_space(self):
        """Keeps the number of its process space from being given to the next: who finds itself in
        a space of that number knows that all who were there before have ended."""
        while self.process.poll() is None:
            try:
                return os.open(f"/proc/{self.pid()}/ns/pid", os.O_RDONLY)
            except (OSError, IndexError):
                time.sleep(0.01)
        return None

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def text(self):
        return "".join(self.lines)

    def pid(self):
        """Of podctl, not of what began it."""
        if not self.elsewhere:
            return self.process.pid
        own = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return int(own.read_text().split()[0])

    def send(self, what):
        os.kill(self.pid(), what)

    def end(self, seconds=300):
        """Waits for it; the exit code."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            check("a run ends", False, f"not within {seconds} s:\n{self.text()}")
        self.reader.join(5)
        return self.process.returncode

    def said(self):
        return f"exit code {self.process.returncode}\n{self.text()}"

    def kill(self):
        self.send(signal.SIGKILL)
        self.end()


class RealWorld:
    def __init__(self, podctl, folder, delay="1s"):
        self.binary, self.folder, self.started = podctl, pathlib.Path(folder), []
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder / "home"),
                            "LANG": "C.UTF-8"}
        (self.folder / "home").mkdir()
        port = free_port()
        self.cloud = f"http://127.0.0.1:{port}"
        self.environment["PODCTL_ENDPOINT"] = self.cloud
        self.start([podctl, "emulator", "--listen", f"127.0.0.1:{port}", "--workers", "none",
                    "--operation-delay", delay], "emulator.log")
        wait_for(self.cloud + "/emulator/requests")

    def start(self, words, log, **more):
        more.setdefault("env", self.environment)
        process = subprocess.Popen(words, stdout=open(self.folder / log, "a"),
                                   stderr=subprocess.STDOUT, cwd=self.folder, **more)
        self.started.append(process)
        return process

    def end(self):
        for process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def asked(self, path):
        with urllib.request.urlopen(self.cloud + path) as answer:
            return json.load(answer)

    def creates(self):
        """Requests to make a node, of all runs so far."""
        return self.asked("/emulator/requests")["byMethod"].get("nodes.create", 0)

    def nodes(self):
        """Name to uid of what the cloud has."""
        return {node["name"].rsplit("/", 1)[1]: node["id"]
                for node in self.asked(NODES + "?pageSize=1000").get("nodes", [])}

    def made_twice(self):
        """Nodes for which the cloud has accepted more than one create."""
        made = collections.Counter(
            ask["query"].get("nodeId") for ask in self.asked("/emulator/requests")["recent"]
            if ask["call"] == "nodes.create" and ask["status"] == 200)
        return [node for node, times in made.items() if times > 1]

    def post(self, path, body, method="POST"):
        ask = urllib.request.Request(self.cloud + path, method=method,
                                     headers={"Content-Type": "application/json"},
                                     data=json.dumps(body).encode())
        with urllib.request.urlopen(ask) as answer:
            return answer.read().decode()

    def slow_creates(self, seconds):
        """From now on each create is answered that late; 0: no more."""
        self.post("/emulator/faults", {}, method="DELETE")
        if seconds:
            self.post("/emulator/faults",
                      {"call": "nodes.create", "every": 1, "delay": f"{seconds}s"})

    def begin_anew(self, folder, **variables):
        """Destroys what the spec has, and forgets what was asked for until now."""
        self.slow_creates(0)
        run = self.podctl(folder, "destroy", "--auto-approve", **variables)
        check("destroy", run.returncode == 0 and not self.nodes(), said(run))
        self.post("/emulator/requests", {}, method="DELETE")

    def spec(self, name, state, pods):
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        text = SPEC.format(state=state) + "".join(POD.format(pod) for pod in pods)
        (folder / "podctl.yaml").write_text(text if pods else text + "  {}\n")
        return folder

    def words(self, words, host):
        words = [self.binary, *words]
        if not host:
            return words
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        return ["unshare", *user, "--uts", "--pid", "--fork", "--kill-child", "--mount-proc", "sh",
                "-c", 'hostname "$0" && exec "$@"', host, *words]

    def podctl(self, folder, *words, host="", **variables):
        return subprocess.run(self.words(words, host), cwd=folder, capture_output=True, text=True,
                              env={**self.environment, **variables})

    def begin(self, folder, *words, host="", **variables):
        run = Run(self.words(words, host), {**self.environment, **variables}, folder, bool(host))
        self.started.append(run.process)
        return run

    def wait_for_creates(self, count):
        wait_until(f"{count} creates come", lambda: self.creates() >= count)

    def wait_for_first_creates(self, run):
        """That a run has begun its creates, of which it has no more than some under way."""
        wait_until("a run begins to create", lambda: "Creating..." in run.text() or goes_on(run))
        time.sleep(1)

    def whole(self, folder, pods, what, **variables):
        """That the state, the cloud and the spec have the same pods, and the plan says so."""
        run = self.podctl(folder, "state", "list", **variables)
        # A node that was taken up owes its readiness, whatever `check` says.
        listed = sorted(line for line in run.stdout.split("\n") if line
                        and not line.endswith(".readiness"))
        check(f"{what}: state list has the {len(pods)} pods",
              run.returncode == 0 and listed == sorted("pod." + pod for pod in pods), said(run))
        nodes = self.nodes()
        check("    and the cloud has these nodes and no others", sorted(nodes) == sorted(pods),
              str(sorted(nodes)))
        check("    and none was made twice", not self.made_twice(), str(self.made_twice()))
        run = self.podctl(folder, "plan", **variables)
        check("    and the plan has no changes", "No changes" in run.stdout, said(run))


def play(parts, make_world, prefix):
    """Each part, one after the other, in a folder that goes at the end."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=prefix) as folder:
        world = None
        try:
            world = make_world(folder)
            for part in parts:
                print(f"--- {part.__name__.replace('_', ' ')}", flush=True)
                part(world)
        finally:
            if world:
                world.end()
    note(f"all of it took {time.monotonic() - began:.0f} s")
