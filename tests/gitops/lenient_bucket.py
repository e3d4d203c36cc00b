#!/usr/bin/env python3
"""podctl's state on fake-gcs-server, a server of Cloud Storage that is less strict than Google's.

By hand, for it needs that server (tried with 1.56.1):

    GOBIN=$PWD go install github.com/fsouza/fake-gcs-server@v1.56.1
    tests/gitops/lenient_bucket.py --server ./fake-gcs-server --podctl build/release/podctl

It heeds the precondition of an upload and none of a delete. What becomes of a state where none at
all is heeded is played by a proxy that takes them off. Everything lives in a folder of its own that
goes at the end; all ports are free ones of loopback. Says what was tried, line by line, and ends
with 1 at the first thing that is not as it should be. Takes about six minutes, for leases run out.
"""
import argparse
import http.client
import http.server
import json
import os
import re
import signal
import threading
import time
import urllib.error
import urllib.request

from real_world import RealWorld, check, free_port, names, note, play, said, wait_for, wait_until

BUCKET = "my-state"


def strip_conditions(port):
    """A proxy to the server of that port that takes the preconditions off; its port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self):
            path, _, query = self.path.partition("?")
            kept = [pair for pair in query.split("&") if not pair.startswith("ifGeneration")]
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            server = http.client.HTTPConnection("127.0.0.1", port)
            headers = {name: value for name, value in self.headers.items()
                       if name.lower() != "host"}
            server.request(self.command, path + "?" + "&".join(kept), body, headers)
            answer = server.getresponse()
            text = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
            server.close()

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = forward

        def log_message(self, *_):
            pass

    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    return proxy.server_address[1]


class World(RealWorld):
    def __init__(self, options, folder):
        super().__init__(options.podctl, folder)
        self.backend, self.port = options.backend, free_port()
        self.storage = f"http://127.0.0.1:{self.port}"
        self.environment["STORAGE_EMULATOR_HOST"] = self.storage
        self.start([options.server, "-scheme", "http", "-host", "127.0.0.1", "-port",
                    str(self.port), "-backend", self.backend, "-filesystem-root",
                    str(self.folder / "objects"), "-external-url", self.storage], "server.log")
        wait_for(self.storage + "/storage/v1/b")

    def request(self, method, path, body=None, kind="application/json"):
        ask = urllib.request.Request(self.storage + path, method=method, data=body,
                                     headers={"Content-Type": kind})
        try:
            with urllib.request.urlopen(ask) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as answer:
            return answer.code, answer.read().decode()

    def objects(self, prefix):
        listed = json.loads(self.request("GET", f"/storage/v1/b/{BUCKET}/o?prefix={prefix}/")[1])
        return [item["name"] for item in listed.get("items", [])]

    def bucket_spec(self, name, pods):
        return self.spec(name, f"gs://{BUCKET}/{name}", pods)

    def holder(self, folder):
        """The host of the run that holds the state; empty: nobody does."""
        told = json.loads(self.podctl(folder, "lock", "status", "--json").stdout)
        return (told.get("lock") or {}).get("host", "")


def the_bucket(world):
    folder = world.bucket_spec("life", ["p1"])
    run = world.podctl(folder, "plan")
    check("a plan without the bucket is an error", run.returncode == 1, said(run))
    note("which says: " + run.stderr.strip().replace("\n", " / "))
    run = world.podctl(folder, "state", "init")
    if world.backend == "memory":
        check("state init makes the bucket", run.returncode == 0 and "Made" in run.stdout,
              said(run))
    else:
        check("state init is refused, for that backend has no versions",
              run.returncode == 1 and "versioning" in run.stderr, said(run))
        status, text = world.request("POST", "/storage/v1/b?project=my-project",
                                     json.dumps({"name": BUCKET}).encode())
        check("a bucket without versions", status == 200, text)
    run = world.podctl(folder, "state", "init")
    check("and leaves one that is there", run.returncode == 0 and "there already" in run.stdout,
          said(run))


def what_the_server_heeds(world):
    upload = f"/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name=probe&ifGenerationMatch="
    status, text = world.request("POST", upload + "0", b"one")
    check("an upload on the condition that there is none", status == 200, text)
    generation = json.loads(text)["generation"]
    status, text = world.request("POST", upload + "0", b"two")
    check("is refused where there is one", status == 412, text)
    status, text = world.request("POST", upload + str(int(generation) - 1), b"two")
    check("and so is one that follows another generation", status == 412, text)
    one = f"/storage/v1/b/{BUCKET}/o/probe"
    status, text = world.request("GET", one + "?ifGenerationMatch=1")
    note(f"a read on a condition that does not hold: {status} (Google: 412)")
    status, text = world.request("DELETE", one + "?ifGenerationMatch=1")
    note(f"a delete on a condition that does not hold: {status} (Google: 412)")
    world.request("DELETE", one)


def one_life(world):
    folder = world.bucket_spec("life", names(1))
    run = world.podctl(folder, "apply", "--auto-approve")
    check("an apply of one pod", run.returncode == 0 and "1 added" in run.stdout, said(run))
    check("its journal is in the bucket, and no lock",
          "life/journal/000000000001.json" in world.objects("life")
          and "life/lock.json" not in world.objects("life"), str(world.objects("life")))
    check("no file is left here", not (folder / "podctl.state.json").exists())
    world.whole(folder, names(1), "one pod")
    world.bucket_spec("life", names(20))
    run = world.podctl(folder, "apply", "--auto-approve")
    check("an apply of nineteen more", run.returncode == 0 and "19 added" in run.stdout, said(run))
    world.whole(folder, names(20), "twenty pods")
    run = world.podctl(folder, "state", "history")
    check("both runs are in the history",
          run.returncode == 0 and run.stdout.count("apply") >= 2, said(run))
    run = world.podctl(folder, "state", "pull")
    check("state pull gives the state", len(json.loads(run.stdout)["resources"]) == 20, said(run))
    world.begin_anew(folder)
    run = world.podctl(folder, "state", "list")
    check("after it the state has none", run.returncode == 0 and not run.stdout, said(run))


def set_state(folder, place):
    spec = folder / "podctl.yaml"
    spec.write_text(re.sub(r"(?m)^state: .*$", "state: " + place, spec.read_text()))


def moved_there_and_back(world):
    place = f"gs://{BUCKET}/moves"
    folder = world.spec("moves", "here.json", names(3))
    run = world.podctl(folder, "apply", "--auto-approve")
    check("a state in a file", run.returncode == 0, said(run))
    for source, target in (("here.json", place), (place, "there.json"), ("there.json", place)):
        run = world.podctl(folder, "state", "migrate", "--to", target)
        check(f"moves from {source} to {target}", run.returncode == 0, said(run))
        run = world.podctl(folder, "plan")
        check("the old place says where it went",
              run.returncode == 1 and "was moved to" in run.stderr, said(run))
        set_state(folder, target)
        world.whole(folder, names(3), "there")
    world.begin_anew(folder)


def two_at_once(world):
    folder = world.bucket_spec("two", names(5))
    first = world.begin(folder, "apply", "--auto-approve")
    world.wait_for_creates(1)
    run = world.podctl(folder, "apply", "--auto-approve")
    check("the second of two applies ends with 3 and is told whose run it is",
          run.returncode == 3 and "another run holds it" in run.stderr
          and re.search(rf"Process: +{first.process.pid}\b", run.stderr) is not None, said(run))
    run = world.podctl(folder, "apply", "--auto-approve", "--lock-timeout", "60s")
    check("one that waits goes on when the first has ended",
          run.returncode == 0 and first.end() == 0, said(run) + first.said())
    world.whole(folder, names(5), "after both")
    world.begin_anew(folder)


def begun_at_the_same_moment(world):
    folder = world.bucket_spec("same", names(5))
    runs = [world.begin(folder, "apply", "--auto-approve", host=f"host-{number}")
            for number in range(6)]
    codes = sorted(run.end() for run in runs)
    check("of six begun at once one works, and five end with 3", codes == [0, 3, 3, 3, 3, 3],
          "\n".join(run.said() for run in runs))
    world.whole(folder, names(5), "after them")
    world.begin_anew(folder)


def killed_here(world):
    folder = world.bucket_spec("killed", names(20))
    first = world.begin(folder, "apply", "--auto-approve")
    world.wait_for_creates(3)
    first.kill()
    run = world.podctl(folder, "apply", "--auto-approve")
    check("a run that was killed here is taken over at once",
          run.returncode == 0 and "ended without releasing it" in run.stderr, said(run))
    world.whole(folder, names(20), "after it")
    world.begin_anew(folder)


def killed_elsewhere(world):
    folder = world.bucket_spec("elsewhere", names(20))
    first = world.begin(folder, "apply", "--auto-approve", host="runner-1")
    world.wait_for_creates(3)
    first.kill()
    began = time.monotonic()
    run = world.podctl(folder, "apply", "--auto-approve")
    check("a run that was killed elsewhere holds its lock, and is named",
          run.returncode == 3 and "runner-1" in run.stderr, said(run))
    run = world.podctl(folder, "apply", "--auto-approve", "--lock-timeout", "90s")
    took = time.monotonic() - began
    check(f"--lock-timeout 90s takes it over ({took:.0f} s after the kill), and goes on",
          run.returncode == 0 and "gave no sign of life for 60 s" in run.stderr and took > 55,
          said(run))
    world.whole(folder, names(20), "after it")
    world.begin_anew(folder)


def overtake(world, folder, late=False):
    """A run that slept while another one took over, woken in the other's work, or (late) after."""
    world.slow_creates(6)
    slept = world.begin(folder, "apply", "--auto-approve", host="sleeper")
    world.wait_for_first_creates(slept)
    slept.send(signal.SIGSTOP)
    other = world.begin(folder, "apply", "--auto-approve", "--lock-timeout", "90s", host="other")
    wait_until("the other one takes over", lambda: "took over" in other.text(), 120)
    world.wait_for_first_creates(other)
    if late:
        world.slow_creates(0)
        other.end()
    slept.send(signal.SIGCONT)
    slept.end()
    return slept, other


def slept_while_another_went_on(world):
    folder = world.bucket_spec("slept", names(30))
    slept, other = overtake(world, folder)
    check("who slept is refused its save, and ends with 3", slept.process.returncode == 3,
          slept.said())
    holder, at_work = world.holder(folder), other.process.poll() is None
    if at_work:
        note(f"after it the lock is held by: {holder or 'nobody'}")
    run = world.podctl(folder, "state", "list")
    check("nothing is damaged", run.returncode == 0, said(run))
    code = other.end()
    note(f"the other one ended with {code}")
    if code != 0:
        print(other.text(), flush=True)
    world.slow_creates(0)
    run = world.podctl(folder, "apply", "--auto-approve", "--lock-timeout", "90s")
    check("the next apply goes on", run.returncode == 0, said(run))
    world.whole(folder, names(30), "after all")
    if at_work:
        check("it left the other one's lock alone", holder == "other" and code == 0, other.said())
    world.begin_anew(folder)


def nothing_is_lost_silently(world, folder, start):
    """Whatever the server did: each node of the cloud is in the state, or is told of."""
    listed = world.podctl(folder, "state", "list")
    known = {line.removeprefix("pod.") for line in listed.stdout.split("\n")
             if line.startswith("pod.")}
    nodes = {node for node in world.nodes() if node.startswith(start)}
    unknown = sorted(nodes - known)
    plan = world.podctl(folder, "plan")
    note(f"of {len(nodes)} nodes the state knows {len(known)}; state list ends with "
         f"{listed.returncode}, plan with {plan.returncode}")
    for run in (listed, plan):
        if run.returncode != 0:
            print("      | " + run.stderr.strip().replace("\n", "\n      | "), flush=True)
    told = plan.returncode != 0 or all(f"/{node}" in plan.stderr for node in unknown)
    check("each node is in the state, or plan tells of it", told, f"{unknown}\n{said(plan)}")
    return plan.returncode


def woken_where_no_condition_is_heeded(world, name, late):
    pods = names(30, name + "-")
    folder = world.bucket_spec(name, pods)
    slept, other = overtake(world, folder, late)
    other.end()
    world.slow_creates(0)
    for who, run in (("who slept", slept), ("who took over", other)):
        note(f"{who} ends with {run.process.returncode}")
        print("".join("      | " + line for line in run.lines[-4:]), flush=True)
    if nothing_is_lost_silently(world, folder, name + "-") == 0:
        return
    run = world.podctl(folder, "state", "history")
    note("state history: " + (run.stdout + run.stderr).strip().replace("\n", "\n      | "))
    serial = re.findall(r"(?m)^ *(\d+) ", run.stdout)[0]
    run = world.podctl(folder, "state", "restore", serial)
    check(f"state restore {serial} takes it", run.returncode == 0, said(run))
    nothing_is_lost_silently(world, folder, name + "-")


def where_no_condition_is_heeded(world):
    world.environment["STORAGE_EMULATOR_HOST"] = f"http://127.0.0.1:{strip_conditions(world.port)}"
    folder = world.bucket_spec("none", names(5))
    run = world.podctl(folder, "apply", "--auto-approve")
    note(f"an apply there ends with {run.returncode}, and its last word is: "
         + (run.stdout + run.stderr).strip().split("\n")[-1])
    for late in (False, True):
        note("who slept is woken " + ("after the other's end" if late else "in the other's work"))
        woken_where_no_condition_is_heeded(world, f"none{late:d}", late)
    world.environment["STORAGE_EMULATOR_HOST"] = world.storage


PARTS = (the_bucket, what_the_server_heeds, one_life, moved_there_and_back, two_at_once,
         begun_at_the_same_moment, killed_here, killed_elsewhere, slept_while_another_went_on,
         where_no_condition_is_heeded)


def main():
    parser = argparse.ArgumentParser()
    for name in ("server", "podctl"):
        parser.add_argument("--" + name, required=True, type=os.path.abspath)
    parser.add_argument("--backend", choices=("memory", "filesystem"), default="memory")
    parser.add_argument("--only", action="append", help="one part, by its name; repeatable")
    options = parser.parse_args()
    parts = [part for part in PARTS if not options.only or part.__name__ in options.only
             or part is the_bucket]
    play(parts, lambda folder: World(options, folder), "podctl-bucket-")


if __name__ == "__main__":
    main()
