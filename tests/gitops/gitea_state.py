#!/usr/bin/env python3
"""podctl's state on a real Gitea, beside one of Terraform's.

By hand, for it needs a Gitea of 1.26 or newer:

    go mod download code.gitea.io/gitea@v1.26.0   # copy the module's folder, and in the copy:
    go build -ldflags '-X main.Version=1.26.0' -tags 'sqlite sqlite_unlock_notify' -o gitea .
    tests/gitops/gitea_state.py --gitea COPY/gitea --source COPY --podctl build/release/podctl

Everything lives in a folder of its own that goes at the end; all ports are free ones of loopback.
Says what was tried, line by line, and ends with 1 at the first thing that is not as it should be.
"""
import argparse
import base64
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from real_world import POD, SPEC, check, free_port, said, wait_for

USER, PASSWORD = "team", "correct-horse-7"
APP_INI = """RUN_MODE = prod
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = http://127.0.0.1:{port}/
DISABLE_SSH = true
OFFLINE_MODE = true
STATIC_ROOT_PATH = {source}
APP_DATA_PATH = {folder}/data
[database]
DB_TYPE = sqlite3
PATH = {folder}/data/gitea.db
[security]
INSTALL_LOCK = true
[log]
MODE = console
LEVEL = Warn
[actions]
ENABLED = false
[indexer]
ISSUE_INDEXER_TYPE = db
"""


class World:
    ini = APP_INI

    def __init__(self, options, folder):
        self.options, self.folder, self.started = options, pathlib.Path(folder), []
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder / "home"),
                            "LANG": "C.UTF-8"}
        (self.folder / "home").mkdir()
        self.start_gitea()
        self.start_emulator()

    def start(self, words, log, **more):
        process = subprocess.Popen(words, stdout=open(self.folder / log, "w"),
                                   stderr=subprocess.STDOUT, **more)
        self.started.append(process)
        return process

    def end(self):
        for process in self.started:
            if process.poll() is None:
                process.terminate()
                process.wait()

    def gitea(self, *words):
        return subprocess.run([self.options.gitea, "-c", self.folder / "app.ini", *words],
                              env={**self.environment, "GITEA_WORK_DIR": str(self.folder)},
                              check=True, capture_output=True, text=True).stdout

    def start_gitea(self):
        (self.folder / "data").mkdir()
        port = free_port()
        self.forge = f"http://127.0.0.1:{port}"
        (self.folder / "app.ini").write_text(
            self.ini.format(port=port, source=self.options.source, folder=self.folder))
        self.gitea("migrate")
        self.gitea("admin", "user", "create", "--username", USER, "--password", PASSWORD,
                   "--email", "team@example.com", "--must-change-password=false")
        said = self.gitea("admin", "user", "generate-access-token", "--username", USER,
                          "--token-name", "reader", "--scopes", "read:package")
        self.read_token = re.search(r"[0-9a-f]{40}", said).group(0)
        self.start([self.options.gitea, "-c", self.folder / "app.ini", "web"], "gitea.log",
                   env={**self.environment, "GITEA_WORK_DIR": str(self.folder)})
        wait_for(self.forge + "/api/v1/version")

    def start_emulator(self):
        port = free_port()
        self.cloud = f"http://127.0.0.1:{port}"
        self.start([self.options.podctl, "emulator", "--listen", f"127.0.0.1:{port}", "--workers",
                    "none", "--operation-delay", "4s"], "emulator.log", cwd=self.folder)
        wait_for(self.cloud + "/emulator/requests")

    def url(self, name):
        return f"{self.forge}/api/packages/{USER}/terraform/state/{name}"

    def request(self, method, url, body=None):
        key = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        ask = urllib.request.Request(url, method=method, headers={
            "Authorization": "Basic " + key, "Content-Type": "application/json"},
            data=None if body is None else body.encode())
        try:
            with urllib.request.urlopen(ask) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as answer:
            return answer.code, answer.read().decode()

    def creates(self):
        with urllib.request.urlopen(self.cloud + "/emulator/requests") as answer:
            return json.load(answer)["byMethod"].get("nodes.create", 0)

    def spec(self, name, pods, state=None):
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        text = SPEC.format(state=self.url(state or name)) + "".join(POD.format(pod) for pod in pods)
        (folder / "podctl.yaml").write_text(text)
        return folder

    def podctl_words(self, *words, user=USER, password=PASSWORD):
        return [self.options.podctl, *words], {
            **self.environment, "PODCTL_ENDPOINT": self.cloud, "TF_HTTP_USERNAME": user,
            "TF_HTTP_PASSWORD": password}

    def podctl(self, folder, *words, **who):
        words, environment = self.podctl_words(*words, **who)
        return subprocess.run(words, env=environment, cwd=folder, capture_output=True, text=True)

    def begin(self, folder, *words):
        words, environment = self.podctl_words(*words)
        process = subprocess.Popen(words, env=environment, cwd=folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        self.started.append(process)
        return process

    def terraform(self, folder, *words):
        return subprocess.run(["terraform", *words, "-no-color"], cwd=folder, capture_output=True,
                              text=True, env={**self.environment, "TF_HTTP_USERNAME": USER,
                                              "TF_HTTP_PASSWORD": PASSWORD})


def one_life(world):
    folder = world.spec("life", ["a", "b"])
    run = world.podctl(folder, "plan")
    check("a plan where there is no state", run.returncode == 0 and "2 to add" in run.stdout,
          said(run))
    run = world.podctl(folder, "apply", "--auto-approve")
    check("an apply keeps its state on Gitea", run.returncode == 0, said(run))
    status, text = world.request("GET", world.url("life"))
    check("Gitea has it", status == 200 and len(json.loads(text)["resources"]) >= 2, text)
    check("and no file is left here", not (folder / "podctl.state.json").exists())
    run = world.podctl(folder, "plan")
    check("the next plan has nothing to do", "No changes" in run.stdout, said(run))
    status, answer = world.request("POST", world.url("life"), text)
    check("Gitea takes no serial twice", status == 409, answer)
    run = world.podctl(folder, "state", "history")
    check("its versions are the history", run.returncode == 0 and "being created" in run.stdout,
          said(run))
    run = world.podctl(folder, "lock", "status")
    check("nobody holds it", "Nobody holds" in run.stdout, said(run))


def wait_for_create(world, before):
    end = time.monotonic() + 60
    while world.creates() == before:
        if time.monotonic() > end:
            sys.exit("no create came")
        time.sleep(0.05)


def two_at_once(world):
    folder = world.spec("two", ["c"])
    before = world.creates()
    first = world.begin(folder, "apply", "--auto-approve")
    wait_for_create(world, before)
    run = world.podctl(folder, "apply", "--auto-approve")
    check("the second of two applies ends with 3", run.returncode == 3, said(run))
    check("and is told whose run it is",
          re.search(rf"Process: +{first.pid}\b", run.stderr + run.stdout) is not None
          and "Info:      " in run.stderr + run.stdout, said(run))
    run = world.podctl(folder, "lock", "status")
    check("lock status names it, too", str(first.pid) in run.stdout, said(run))
    run = world.podctl(folder, "unlock", "--if-stale")
    check("a run that lives is not stale", run.returncode == 3, said(run))
    out = first.communicate()[0]
    check("the first one ends well", first.returncode == 0, out)


def killed_in_the_middle(world):
    folder = world.spec("killed", ["d"])
    before = world.creates()
    first = world.begin(folder, "apply", "--auto-approve")
    wait_for_create(world, before)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    status, text = world.request("GET", world.url("killed"))
    check("the intent is on the server before its create is sent",
          status == 200 and "creating" in text, text)
    run = world.podctl(folder, "apply", "--auto-approve")
    check("the next run on the same machine takes the lock over",
          run.returncode == 0 and f"process {first.pid}" in run.stdout + run.stderr, said(run))
    check("nothing was made twice", world.creates() == before + 1, str(world.creates()))
    run = world.podctl(folder, "plan")
    check("and nothing is left to do", "No changes" in run.stdout, said(run))


def left_behind_elsewhere(world):
    folder = world.spec("life", ["a", "b"])
    # In podctl's form: what, in which space of process numbers, which process, begun when.
    lock = {"ID": "6a1d7f3e-0000-4000-8000-000000000001.apply.0123456789ab.7.1",
            "Operation": "apply", "Info": "",
            "Who": "bob@another", "Version": "0.1.0", "Created": "2026-11-20T14:30:00Z",
            "Path": "life"}
    status, answer = world.request("POST", world.url("life") + "/lock", json.dumps(lock))
    check("another machine's lock", status == 200, answer)
    run = world.podctl(folder, "unlock", "--if-stale")
    check("cannot be judged from here", run.returncode == 3 and "cannot be told" in run.stderr,
          said(run))
    run = world.podctl(folder, "unlock", "nonsense")
    check("goes by its own ID alone", run.returncode != 0 and "another ID" in run.stderr, said(run))
    run = world.podctl(folder, "unlock", lock["ID"])
    check("and is released by it", run.returncode == 0, said(run))
    run = world.podctl(folder, "unlock", lock["ID"])
    check("once", run.returncode != 0 and "is not locked" in run.stderr, said(run))


def set_state(folder, place):
    text = (folder / "podctl.yaml").read_text()
    (folder / "podctl.yaml").write_text(re.sub(r"(?m)^state: .*$", "state: " + place, text))


def moved_there_and_back(world):
    folder = world.spec("moves", ["m"])
    url = world.url("moves")
    set_state(folder, "here.json")
    run = world.podctl(folder, "apply", "--auto-approve")
    check("a state in a file", run.returncode == 0, said(run))
    before = world.creates()
    run = world.podctl(folder, "state", "migrate", "--to", url, password="wrong-one")
    check("a move that Gitea refuses changes nothing",
          run.returncode != 0 and '"move"' not in (folder / "here.json").read_text(), said(run))
    run = world.podctl(folder, "state", "migrate", "--to", url)
    check("moves to Gitea", run.returncode == 0 and url in run.stdout, said(run))
    run = world.podctl(folder, "plan")
    check("the file says where it went", f"was moved to {url}" in run.stderr, said(run))
    set_state(folder, url)
    run = world.podctl(folder, "plan")
    check("and there it is whole", "No changes" in run.stdout, said(run))
    run = world.podctl(folder, "state", "migrate", "--to", "there.json")
    check("moves into another file", run.returncode == 0, said(run))
    for words in (["plan"], ["apply", "--auto-approve"], ["state", "push", "--force", "there.json"]):
        run = world.podctl(folder, *words)
        check(f"Gitea's says so to {words[0]} {words[1] if len(words) > 1 else ''}".rstrip(),
              run.returncode != 0 and "was moved to" in run.stderr, said(run))
    set_state(folder, "there.json")
    run = world.podctl(folder, "state", "migrate", "--to", url)
    check("and back to Gitea, over that word", run.returncode == 0, said(run))
    set_state(folder, url)
    run = world.podctl(folder, "plan")
    check("whole", "No changes" in run.stdout and world.creates() == before, said(run))
    run = world.podctl(folder, "state", "history", "--json")
    check("no word of a move is a generation", run.returncode == 0 and "moved" not in run.stdout,
          said(run))
    run = world.podctl(folder, "state", "pull")
    (folder / "pulled.json").write_text(run.stdout)


def killed_while_it_moves(world):
    for after in range(40):
        name = f"cut{after}"
        folder = world.spec(name, [])
        (folder / "podctl.yaml").write_text((folder / "podctl.yaml").read_text() + "  {}\n")
        set_state(folder, "here.json")
        shutil.copy(world.folder / "moves" / "pulled.json", folder / "here.json")
        process = world.begin(folder, "state", "migrate", "--to", world.url(name))
        time.sleep(0.02 * after)
        ended = process.poll() is not None
        process.kill()
        process.communicate()
        run = world.podctl(folder, "state", "migrate", "--resume")
        if "no move of the state" in run.stderr:
            run = world.podctl(folder, "state", "migrate", "--to", world.url(name))
        if run.returncode != 0:
            check(f"a move killed after {20 * after} ms is ended", False, said(run))
        set_state(folder, world.url(name))
        run = world.podctl(folder, "state", "list")
        if run.returncode != 0 or "pod.m" not in run.stdout:
            check(f"a move killed after {20 * after} ms arrives whole", False, said(run))
        if ended:
            break
    check(f"a move killed at {after + 1} moments is ended each time", True)


def damaged(world):
    folder = world.spec("hurt", ["n"])
    run = world.podctl(folder, "apply", "--auto-approve")
    check("a state to be damaged", run.returncode == 0, said(run))
    text = json.loads(world.request("GET", world.url("hurt"))[1])
    good = text["serial"]
    text["serial"], text["resources"] = good + 1, {}
    status, answer = world.request("POST", world.url("hurt"), json.dumps(text))
    check("is damaged by somebody", status == 201, answer)
    run = world.podctl(folder, "plan")
    check("which a plan refuses", run.returncode == 1 and "damaged" in run.stderr, said(run))
    run = world.podctl(folder, "state", "history")
    check("history lists what was before", run.returncode == 0 and str(good) in run.stdout,
          said(run))
    run = world.podctl(folder, "state", "restore", str(good))
    check("and restore takes it", run.returncode == 0, said(run))
    run = world.podctl(folder, "plan")
    check("so that nothing is lost", "No changes" in run.stdout, said(run))


def without_the_lock(world):
    folder = world.spec("hurt", ["n", "o"])
    run = world.podctl(folder, "apply", "--auto-approve", "--lock=false")
    check("--lock=false saves, and warns",
          run.returncode == 0 and "does not lock the state" in run.stderr + run.stdout, said(run))


def who_may_only_read(world):
    folder = world.spec("life", ["a", "b", "e"])
    before = world.creates()
    reader = {"user": USER, "password": world.read_token}
    run = world.podctl(folder, "plan", **reader)
    check("who may only read can plan", run.returncode == 0 and "1 to add" in run.stdout, said(run))
    run = world.podctl(folder, "apply", "--auto-approve", **reader)
    check("and is refused before anything is made",
          run.returncode != 0 and "write:package" in run.stderr and world.creates() == before,
          said(run))
    run = world.podctl(folder, "apply", "--auto-approve", password="wrong-one")
    check("a wrong password is said, and not shown",
          run.returncode != 0 and "401" in run.stderr and "wrong-one" not in run.stderr, said(run))
    world.spec("life", ["a", "b"])


def beside_terraform(world):
    if shutil.which("terraform") is None:
        print("-     terraform is not here: its part was not tried")
        return
    folder = world.folder / "tf"
    folder.mkdir()
    url = world.url("infra")
    (folder / "main.tf").write_text(f"""terraform {{
  backend "http" {{
    address = "{url}"
    lock_address = "{url}/lock"
    unlock_address = "{url}/lock"
    lock_method = "POST"
    unlock_method = "DELETE"
  }}
}}
resource "terraform_data" "x" {{ input = "one" }}
""")
    run = world.terraform(folder, "init")
    check("terraform init on the same Gitea", run.returncode == 0, said(run))
    run = world.terraform(folder, "apply", "-auto-approve")
    check("terraform apply", run.returncode == 0, said(run))
    run = world.podctl(world.folder / "life", "plan")
    check("podctl's state is as it was", "No changes" in run.stdout, said(run))
    run = world.terraform(folder, "plan", "-detailed-exitcode")
    check("and so is terraform's", run.returncode == 0, said(run))
    before = world.request("GET", url)[1]
    other = world.spec("over", ["f"], state="infra")
    for words in (["plan"], ["apply", "--auto-approve"], ["state", "list"]):
        run = world.podctl(other, *words)
        check(f"podctl {words[0]} at terraform's address is refused",
              run.returncode != 0 and "one of Terraform" in run.stderr, said(run))
    check("and leaves terraform's state alone", world.request("GET", url)[1] == before)
    ours = world.request("GET", world.url("life"))[1]
    (folder / "main.tf").write_text((folder / "main.tf").read_text().replace("/infra", "/life"))
    run = world.terraform(folder, "init", "-reconfigure")
    run = world.terraform(folder, "apply", "-auto-approve")
    check("terraform at podctl's address fails", run.returncode != 0, said(run))
    check("and leaves podctl's state alone", world.request("GET", world.url("life"))[1] == ours)
    run = world.podctl(world.folder / "life", "lock", "status")
    check("and no lock behind", "Nobody holds" in run.stdout, said(run))
    run = world.podctl(world.folder / "life", "state", "migrate", "--to", "away.json")
    check("podctl's state leaves", run.returncode == 0, said(run))
    word = world.request("GET", world.url("life"))[1]
    run = world.terraform(folder, "apply", "-auto-approve")
    check("terraform takes its word for no state of its own", run.returncode != 0, said(run))
    check("and leaves it alone", world.request("GET", world.url("life"))[1] == word)


def main():
    parser = argparse.ArgumentParser()
    for name in ("gitea", "source", "podctl"):
        parser.add_argument("--" + name, required=True, type=os.path.abspath)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="podctl-gitea-") as folder:
        world = None
        try:
            world = World(options, folder)
            for part in (one_life, two_at_once, killed_in_the_middle, left_behind_elsewhere,
                         moved_there_and_back, killed_while_it_moves, damaged, without_the_lock,
                         who_may_only_read, beside_terraform):
                print(f"--- {part.__name__.replace('_', ' ')}", flush=True)
                part(world)
        finally:
            if world:
                world.end()


if __name__ == "__main__":
    main()
