"""What is asked of the service, step by step. Each step says what it makes, for how long at most, and which
of the assumptions of docs/assumptions.md it asks about. A step tells facts, and whether the assumption
holds by them; the same step against the emulator tells others, and the two are compared.

A request that ought to be refused may be granted after all, and then makes something: so each name is in
the ledger before it is sent, whatever is expected.
"""

import json
import os
import shlex
import signal
import subprocess
import time
import uuid

from api import Failure, Relay, Stopped, dies_with_us, is_loopback
from ledger import LABEL, PREFIX, delete

SMALL = "small"  # whatever the user says is
POD = "v2-32"
POD_RUNTIME = "tpu-vm-tf-2.11.0-pod"
POD_ZONES = ("us-central1-a", "europe-west4-a")

# What an emulator is known not to play.
NOT_EMULATED = {"systemd-runs": "the emulator's workers have no systemd"}


class Small:
    """The node that most steps make: one host, as cheap as there is."""

    def __init__(self, accelerator_type="v5litepod-1", runtime="v2-alpha-tpuv5-lite", spot=False):
        self.type = accelerator_type
        self.runtime = runtime
        self.spot = spot


class Side:
    """One service that is asked: Google's, or an emulator."""

    def __init__(self, api, ledger, prices, run, zone, small, podctl, folder, say, pace):
        self.api = api
        self.ledger = ledger
        self.prices = prices
        self.run = run
        self.zone = zone
        self.small = small
        self.podctl = podctl
        self.folder = folder
        self.say = say
        self.pace = pace  # seconds between two looks
        self.emulated = is_loopback(api.endpoint)
        self.environment = {}  # what podctl has to be told of the workers
        self.deadline = None
        self.results = {}  # id -> {"holds": True|False|None, "facts": …}

    # ---- What a step tells.

    def tell(self, name, holds, facts):
        if self.emulated and name in NOT_EMULATED:
            self.results[name] = {"holds": None, "facts": {"why": NOT_EMULATED[name]}}
            return
        self.results[name] = {"holds": holds, "facts": self.api.scrub.value(facts)}

    def unknown(self, names, why):
        for name in names:
            if name not in self.results:
                self.results[name] = {"holds": None, "facts": self.api.scrub.value({"why": why})}

    @staticmethod
    def refusal(answer):
        details = [each.get("@type", "").rsplit(".", 1)[-1] for each in answer.error.get("details", [])]
        return {
            "http": answer.status,
            "status": answer.error.get("status", ""),
            "message": answer.error.get("message", ""),
            "details": sorted(details),
        }

    # ---- Names, places, requests.

    def name(self, what):
        return f"{PREFIX}{self.run}-{what}"

    def place(self, zone=None):
        return f"v2/projects/{self.api.project}/locations/{zone or self.zone}"

    def node(self, what, zone=None):
        return f"{self.place(zone)}/nodes/{self.name(what)}"

    def body(self, **more):
        body = {"acceleratorType": self.small.type, "runtimeVersion": self.small.runtime, "labels": {LABEL: self.run}}
        if self.small.spot and "schedulingConfig" not in more:
            body["schedulingConfig"] = {"spot": True}
        body.update(more)
        return {key: value for key, value in body.items() if value is not None}

    def create(self, what, body, zone=None, version="v2", hourly=None, **query):
        """nodes.create of a node that is in the ledger by then."""
        name = self.name(what)
        if name not in self.ledger.entries:
            self.ledger.will_make("node", zone or self.zone, name, self.prices.an_hour(self.small.type) if hourly is None else hourly)
        path = f"{version}/projects/{self.api.project}/locations/{zone or self.zone}/nodes"
        answer = self.api.call("POST", path, {"nodeId": name, **query}, body)
        self.ledger.is_answered(name)
        return answer

    def refused(self, name, what, body, expected=(400,), zone=None):
        """A create that ought to be refused. What it made all the same is taken away at once."""
        answer = self.create(what, body, zone, hourly=0.0)
        if answer.ok:
            self.ledger.costs(self.name(what), self.prices.an_hour(self.small.type))
        self.tell(name, answer.status in expected, self.refusal(answer) if not answer.ok else {"http": 200})
        if answer.ok:
            delete(self.api, self.ledger, self.ledger.entries[self.name(what)], self.say)
        else:
            self.ledger.is_gone(self.name(what))

    def look(self):
        if self.api.stop.is_set():
            raise Stopped()
        if time.monotonic() > self.deadline:
            raise Failure("the step has used up its time")
        self.api.stop.wait(self.pace)

    def operation(self, answer, version="v2"):
        """Waits for the end of the operation that `answer` began; its last form."""
        if not answer.ok:
            raise Failure(f"refused: {self.refusal(answer)}")
        name = answer.body.get("name", "")
        while True:
            last = self.api.call("GET", f"{version}/{name}")
            if last.ok and last.body.get("done"):
                return last.body
            self.look()

    def until(self, path, condition):
        while True:
            answer = self.api.call("GET", path)
            if condition(answer):
                return answer
            self.look()


# ---- Without making anything.


def free(side):
    api = side.api
    answer = api.call("GET", side.node("none"))
    facts = side.refusal(answer)
    side.tell("not-found", answer.status == 404 and facts["status"] == "NOT_FOUND" and "ResourceInfo" in facts["details"], facts)

    side.refused("unknown-field", "f1", side.body(noSuchField=1))
    side.refused("unknown-type", "f2", side.body(acceleratorType="v9-8"))
    side.refused("unknown-runtime", "f3", side.body(runtimeVersion="no-such-runtime"))
    side.refused("both-accelerators", "f4", side.body(acceleratorConfig={"type": "V5LITE_POD", "topology": "1x1"}))
    side.refused("label-count", "f6", side.body(labels={LABEL: side.run, **{f"k{i}": "v" for i in range(64)}}))
    side.refused("label-form", "f7", side.body(labels={LABEL: side.run, "Upper": "v"}))
    side.refused("unknown-zone", "f8", side.body(), (403, 400, 404), zone="us-central9-z")
    side.refused("output-only-fields", "f9", side.body(state="READY", runtimeVersion="no-such-runtime"))

    answer = api.call("PATCH", side.node("none"), {"updateMask": "description"}, raw="{description: 'x'}")
    side.tell("lenient-json", answer.status == 404, side.refusal(answer))
    answer = api.call("GET", side.place("-") + "/nodes")
    side.tell("list-all-zones", answer.ok, {"http": answer.status, "keys": sorted(answer.body)})
    answer = api.call("GET", f"v2alpha1/projects/{api.project}/locations/{side.zone}/nodes")
    side.tell("alpha-readable", answer.ok, {"http": answer.status})
    answer = api.call("DELETE", side.node("none"))
    side.tell("delete-absent", answer.status == 404, side.refusal(answer))

    types, token = [], None
    while True:
        answer = api.call("GET", side.place() + "/acceleratorTypes", {"pageToken": token} if token else None)
        types += [each.get("type", "") for each in answer.body.get("acceleratorTypes", [])]
        token = answer.body.get("nextPageToken")
        if not token:
            break
    known = podctl_json(side, ["types", "--json"], os.environ.copy())
    known = {each["type"] for each in known.get("types", known.get("acceleratorTypes", []))} if known else set()
    new = sorted(set(types) - known)
    side.tell("catalogue", bool(types) and not new, {"not known to podctl": new})


# ---- One small node.


def node(side):
    api = side.api
    request = str(uuid.uuid4())
    body = side.body(description="asked", metadata={"kept": "yes"})
    first = side.create("n", body, version="v2alpha1", requestId=request)
    if not first.ok:
        raise Failure(f"the node was refused: {side.refusal(first)}")
    operation = first.body.get("name", "")
    again = side.create("n", body, version="v2alpha1", requestId=request)
    side.tell(
        "request-id-node",
        again.ok and again.body.get("name") == operation,
        {"again": again.status, "same operation": again.body.get("name") == operation},
    )
    head = f"projects/{api.project}/locations/{side.zone}/operations/"
    metadata = first.body.get("metadata", {})
    side.tell(
        "operation-form",
        operation.startswith(head) and metadata.get("target", "").endswith("/" + side.name("n")),
        {"name": operation, "metadata": sorted(metadata), "verb": metadata.get("verb")},
    )
    early = api.call("GET", side.node("n"))
    side.tell("uid-early", early.ok and bool(early.body.get("id")), {"http": early.status, "state": early.body.get("state"), "id": "id" in early.body})
    twice = side.create("n", body)
    side.tell("create-twice", twice.status == 409 and side.refusal(twice)["status"] == "ALREADY_EXISTS", side.refusal(twice))

    end = side.operation(first, "v2alpha1")
    if "error" in end:
        raise Failure(f"the node was not made: {end['error']}")
    made = api.call("GET", side.node("n")).body
    side.tell("create-ends-ready", made.get("state") == "READY", {"state": made.get("state"), "health": made.get("health")})
    side.tell("uid-stays", early.body.get("id") == made.get("id"), {"same": early.body.get("id") == made.get("id")})
    side.tell(
        "server-fills",
        all(key in made for key in ("acceleratorType", "acceleratorConfig", "networkConfig", "networkEndpoints")),
        {"keys": sorted(made)},
    )
    side.tell("names-as-asked", made.get("name", "").startswith(f"projects/{api.project}/"), {"name": made.get("name")})
    side.tell("labels-kept", made.get("labels") == {LABEL: side.run}, {"labels": sorted(made.get("labels", {}))})

    patch_checks(side)

    answer = side.until(side.node("n"), lambda a: a.ok)
    keys = api.call("POST", side.node("n") + ":getGuestAttributes", body={"queryPath": "hostkeys/", "workerIds": []})
    values = [v for w in keys.body.get("guestAttributes", []) for v in w.get("queryValue", {}).get("items", [])]
    side.tell(
        "guest-hostkeys",
        keys.ok and any(v.get("key", "").startswith("ssh-") for v in values),
        {"http": keys.status, "keys": sorted({v.get("key") for v in values}), "workers": len(keys.body.get("guestAttributes", []))},
    )
    names = api.call("POST", side.node("n") + ":getGuestAttributes", body={"queryPath": "guestInventory/", "workerIds": []})
    values = [v for w in names.body.get("guestAttributes", []) for v in w.get("queryValue", {}).get("items", [])]
    hostnames = [v.get("key") for v in values if v.get("key") in ("Hostname", "hostname")]
    side.tell("guest-hostname", bool(hostnames), {"http": names.status, "keys": hostnames})

    stop = side.operation(api.call("POST", side.node("n") + ":stop", body={}))
    stopped = api.call("GET", side.node("n")).body.get("state")
    started = side.operation(api.call("POST", side.node("n") + ":start", body={})) if "error" not in stop else {"error": {}}
    after = api.call("GET", side.node("n")).body.get("state")
    side.tell("stop-and-start", stopped == "STOPPED" and after == "READY", {"stopped": stopped, "started": after, "error": started.get("error", {}).get("code")})

    gone = side.operation(api.call("DELETE", side.node("n")))
    left = api.call("GET", side.node("n"))
    if left.status == 404:
        side.ledger.is_gone(side.name("n"))
    side.tell("delete-ends-gone", left.status == 404 and "error" not in gone, {"http": left.status, "response": gone.get("response", {}).get("@type")})


def patch_checks(side):
    api = side.api
    path = side.node("n")

    def patch(mask, body):
        query = {"updateMask": mask} if mask is not None else None
        answer = api.call("PATCH", path, query, body)
        if answer.ok:
            side.operation(answer)
        return answer, api.call("GET", path).body

    answer, after = patch("metadata", {"metadata": {"other": "1"}})
    left = sorted(set(after.get("metadata", {})) & {"kept", "other"})
    side.tell("metadata-replaced", answer.ok and left == ["other"], {"http": answer.status, "left": left})
    answer, after = patch("description", {})
    side.tell("absent-is-cleared", answer.ok and not after.get("description"), {"http": answer.status, "description": after.get("description", "")})
    answer, after = patch("description", {"description": "one", "tags": ["not-masked"]})
    side.tell("only-the-mask", answer.ok and not after.get("tags"), {"http": answer.status, "tags": after.get("tags", [])})
    answer, _ = patch(None, {"description": "two"})
    side.tell("empty-mask", answer.status == 400, side.refusal(answer) if not answer.ok else {"http": 200})
    answer, _ = patch("runtimeVersion", {"runtimeVersion": "x"})
    side.tell("mask-refused", answer.status == 400, side.refusal(answer) if not answer.ok else {"http": 200})
    one, _ = patch("network_config.enable_external_ips", {"networkConfig": {"enableExternalIps": True}})
    two, after = patch("networkConfig.enableExternalIps", {"networkConfig": {"enableExternalIps": True}})
    outside = bool(after.get("networkEndpoints", [{}])[0].get("accessConfig", {}).get("externalIp"))
    side.tell("mask-spellings", one.ok and two.ok, {"snake": one.status, "camel": two.status, "external address": outside})


# ---- A queued resource.


def queued(side):
    api = side.api
    name = side.name("q")
    parent = f"projects/{api.project}/locations/{side.zone}"
    body = {"tpu": {"nodeSpec": [{"parent": parent, "nodeId": side.name("qn"), "node": side.body(schedulingConfig=None)}]}, "spot": {}}
    request = str(uuid.uuid4())
    side.ledger.will_make("queuedResource", side.zone, name, side.prices.an_hour(side.small.type))
    side.ledger.will_make("node", side.zone, side.name("qn"), 0.0)  # paid for by its request
    path = f"{side.place()}/queuedResources"
    first = api.call("POST", path, {"queuedResourceId": name, "requestId": request}, body)
    side.ledger.is_answered(name)
    if not first.ok:
        raise Failure(f"the request was refused: {side.refusal(first)}")
    again = api.call("POST", path, {"queuedResourceId": name, "requestId": request}, body)
    same = again.body.get("name") == first.body.get("name")
    side.tell("request-id-queued", again.ok and same, {"again": again.status, "same operation": same})
    end = side.operation(first)
    seen = api.call("GET", f"{path}/{name}")
    state = seen.body.get("state", {}).get("state", "")
    side.tell(
        "queued-ends-accepted",
        "error" not in end and state in ("ACCEPTED", "WAITING_FOR_RESOURCES", "CREATING", "PROVISIONING"),
        {"state": state, "error": end.get("error", {}).get("code")},
    )
    spec = seen.body.get("tpu", {}).get("nodeSpec", [])
    side.tell("queued-names-nodes", [each.get("nodeId") for each in spec] == [side.name("qn")], {"nodeIds": [each.get("nodeId") for each in spec]})

    settled = ("ACTIVE", "FAILED", "SUSPENDED")
    seen = side.until(f"{path}/{name}", lambda a: a.body.get("state", {}).get("state") in settled)
    state = seen.body["state"]["state"]
    if state != "ACTIVE":
        raise Failure(f"the request became {state}: {seen.body['state']}")
    made = api.call("GET", side.node("qn")).body
    side.tell("queued-node-names-it", made.get("queuedResource", "").endswith("/" + name), {"queuedResource": made.get("queuedResource")})
    side.tell("queued-labels", made.get("labels", {}).get(LABEL) == side.run, {"labels": sorted(made.get("labels", {}))})
    refused = api.call("DELETE", f"{path}/{name}")
    side.tell(
        "queued-delete-refused",
        not refused.ok and side.refusal(refused)["status"] == "FAILED_PRECONDITION",
        side.refusal(refused) if not refused.ok else {"http": 200},
    )
    if not refused.ok:
        side.operation(api.call("DELETE", f"{path}/{name}", {"force": "true"}))
    side.until(f"{path}/{name}", lambda a: a.status == 404)
    side.ledger.is_gone(name)
    left = api.call("GET", side.node("qn"))
    side.tell("queued-force-takes-nodes", left.status == 404, {"http": left.status})
    if left.status == 404:
        side.ledger.is_gone(side.name("qn"))


# ---- By podctl, with workers.


def podctl_run(side, words, environment, minutes=20):
    """(exit code, stdout, stderr); ended by an INT, as by a person, when the run is to stop."""
    out = open(os.path.join(side.folder, "out"), "w+b")
    err = open(os.path.join(side.folder, "err"), "w+b")
    with out, err:
        child = subprocess.Popen(
            [side.podctl, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment, cwd=side.folder, start_new_session=True,
            preexec_fn=dies_with_us(signal.SIGINT),
        )
        end = time.monotonic() + minutes * 60
        if side.deadline is not None:
            end = min(end, side.deadline)
        try:
            while child.poll() is None:
                if side.api.stop.is_set():
                    raise Stopped()
                if time.monotonic() > end:
                    raise Failure(f"podctl {words[0]} has used up its time")
                time.sleep(0.05)
        finally:
            # Before anything is deleted: it must not make what is being looked for.
            if child.poll() is None:
                child.send_signal(signal.SIGINT)
                try:
                    child.wait(15)
                except subprocess.TimeoutExpired:
                    child.kill()
                    child.wait()
        out.seek(0)
        err.seek(0)
        return child.returncode, out.read().decode("utf-8", "replace"), err.read().decode("utf-8", "replace")


def podctl_json(side, words, environment):
    code, out, _ = podctl_run(side, words, environment, 2)
    try:
        return json.loads(out) if code == 0 else None
    except ValueError:
        return None


class Pods:
    """podctl in a home of its own, behind the relay."""

    def __init__(self, side, what, spec):
        self.side = side
        self.relay = Relay(side.api)
        self.home = os.path.join(side.folder, "home")
        os.makedirs(self.home, exist_ok=True)
        self.environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": self.home,
            "LC_ALL": "C.UTF-8",
            "PODCTL_ENDPOINT": self.relay.url,
            "GOOGLE_OAUTH_ACCESS_TOKEN": self.relay.word,
        }
        if "PODCTL_SSH_PORT" in side.environment:
            self.environment["PODCTL_SSH_PORT"] = side.environment["PODCTL_SSH_PORT"]
        self.spec = os.path.join(side.folder, f"{what}.yaml")
        self.state = os.path.join(side.folder, f"{what}.state.json")
        self.write(spec)

    def write(self, spec):
        with open(self.spec, "w", encoding="utf-8") as file:
            file.write(spec)

    def run(self, *words, minutes=20):
        # What the remote command begins with two dashes.
        words = list(words)
        at = words.index("--") if "--" in words else len(words)
        words[at:at] = ["-f", self.spec, "--state", self.state, "--input=false"]
        return podctl_run(self.side, words, self.environment, minutes)

    def must(self, *words, minutes=20):
        code, out, err = self.run(*words, minutes=minutes)
        if code != 0:
            raise Failure(f"podctl {' '.join(words[:2])} ended with {code}: {(err or out).strip()[-600:]}")
        return out

    def on_each(self, command):
        """{worker: what it printed}; a worker that failed is not there."""
        _, out, _ = self.run("exec", "asked", "--json", "--", command, minutes=5)
        said, codes = {}, {}
        for line in out.splitlines():
            event = json.loads(line)
            if event.get("type") == "output" and event.get("stream") == "stdout":
                said.setdefault(event["worker"], []).append(event["line"])
            if event.get("type") == "result":
                codes[event["worker"]] = event.get("exit_code")
        return {worker: "\n".join(said.get(worker, [])) for worker, code in codes.items() if code == 0}

    def close(self):
        self.relay.close()


SPEC = """project: {project}
zone: {zone}
pods:
  asked:
    nodeId: {name}
    acceleratorType: {type}
    runtimeVersion: {runtime}
    networkConfig: {{enableExternalIps: true}}
    labels: {{{label}: {run}}}
{more}"""


def workers(side):
    name = side.name("w")
    side.ledger.will_make("node", side.zone, name, side.prices.an_hour(side.small.type))
    more = (
        "    metadata: {startup-script: \"#! /bin/sh\\ntouch /var/tmp/podctl-real-started\"}\n"
        "    libtpuFlags: {xla_asked: true}\n"
    )
    if side.small.spot:
        more += "    schedulingConfig: {spot: true}\n"
    pods = Pods(side, "w", SPEC.format(project=side.api.project, zone=side.zone, name=name, type=side.small.type, runtime=side.small.runtime, label=LABEL, run=side.run, more=more))
    try:
        pods.must("apply", "--auto-approve", minutes=20)
        code, out, _ = pods.run("plan", "--detailed-exitcode", minutes=3)
        side.tell("plan-is-empty", code == 0, {"exit code": code, "plan": "" if code == 0 else out[-1500:]})
        state = json.loads(open(pods.state, encoding="utf-8").read())
        side.tell("ssh-keys-let-in", True, {"formats": state.get("format_version")})

        def ask(assumption, command, good):
            said = pods.on_each(command).get(0)
            side.tell(assumption, said is not None and good(said), {"said": said})

        ask("sudo-asks-nobody", "sudo -n true && echo yes", lambda said: said == "yes")
        ask("tools-are-there", "for t in bash tar mktemp setsid python3; do command -v $t > /dev/null || echo no $t; done", lambda said: said == "")
        ask("systemd-runs", "test -d /run/systemd/system && command -v systemd-run > /dev/null && echo yes", lambda said: said == "yes")
        ask("devices-are-seen", "ls /dev | grep -cE '^(accel|vfio)' || true", lambda said: said.isdigit() and int(said) > 0)
        ask("no-unit-on-this-image", "systemctl show -p LoadState --value tpu-runtime 2> /dev/null || echo not-found", lambda said: said.split()[-1:] in (["not-found"], []))
        fetch = "curl -s -H 'Metadata-Flavor: Google' http://metadata.google.internal/computeMetadata/v1/instance/attributes/"
        ask("metadata-worker-number", fetch + "agent-worker-number", lambda said: said.strip() == "0")
        ask("metadata-tpu-env", fetch + "tpu-env | cut -d: -f1 | sort | tr '\\n' ' '", lambda said: "ACCELERATOR_TYPE" in said)
        ask("startup-script-runs", "for i in $(seq 60); do test -e /var/tmp/podctl-real-started && echo yes && exit; sleep 1; done", lambda said: said == "yes")
        code, out, _ = pods.run("doctor", "asked", "--json", minutes=5)
        side.tell("doctor-is-content", code == 0, {"exit code": code})
        pods.must("destroy", "--auto-approve", minutes=15)
        left = side.api.call("GET", side.node("w"))
        if left.status == 404:
            side.ledger.is_gone(name)
        side.tell("destroy-leaves-nothing", left.status == 404, {"http": left.status})
    finally:
        pods.close()


def pod(side):
    name = side.name("p")
    zone = side.zone if side.zone in POD_ZONES else POD_ZONES[0]
    side.ledger.will_make("node", zone, name, side.prices.an_hour(POD))
    flags = "    libtpuFlags: {{xla_asked: {value}}}\n    runtimeEnv: {{PODCTL_ASKED: \"two words\"}}\n"

    def spec(value):
        return SPEC.format(project=side.api.project, zone=zone, name=name, type=POD, runtime=POD_RUNTIME, label=LABEL, run=side.run, more=flags.format(value=value))

    pods = Pods(side, "p", spec("true"))
    try:
        pods.must("apply", "--auto-approve", minutes=25)
        attribute = "curl -s -H 'Metadata-Flavor: Google' http://metadata.google.internal/computeMetadata/v1/instance/attributes/agent-worker-number"
        numbers = {worker: said.strip() for worker, said in pods.on_each(attribute).items()}
        side.tell("endpoints-in-order", bool(numbers) and all(said == str(worker) for worker, said in numbers.items()), {"workers": len(numbers), "said": sorted(numbers.values())})
        environ = "sudo -n cat /proc/$(systemctl show -p MainPID --value tpu-runtime)/environ | tr '\\0' '\\n' | grep -E '^(LIBTPU_INIT_ARGS|PODCTL_ASKED)=' | sort"
        before = set(pods.on_each(environ).values())
        side.tell("env-vars-quoted", len(before) == 1 and "PODCTL_ASKED=two words" in next(iter(before)), {"said": sorted(before)})
        pods.write(spec("false"))
        pods.must("apply", "--auto-approve", minutes=10)
        after = set(pods.on_each(environ).values())
        side.tell("unit-reads-metadata", len(after) == 1 and "xla_asked=false" in next(iter(after)), {"said": sorted(after)})
        stop = side.api.call("POST", side.node("p", zone) + ":stop", body={})
        facts = side.refusal(stop)
        if stop.ok:
            facts = {"http": 200, "error": side.operation(stop).get("error", {})}
        side.tell("stop-of-a-pod", not stop.ok or bool(facts.get("error")), facts)
        pods.must("destroy", "--auto-approve", minutes=15)
        if side.api.call("GET", side.node("p", zone)).status == 404:
            side.ledger.is_gone(name)
    finally:
        pods.close()


class Step:
    def __init__(self, name, run, accelerator_type, minutes, about, asks):
        self.name = name
        self.run = run
        self.accelerator_type = accelerator_type
        self.minutes = minutes  # at most; the price of a step is that of its whole time
        self.about = about
        self.asks = asks

    def dollars(self, prices, small):
        kind = small.type if self.accelerator_type == SMALL else self.accelerator_type
        return prices.an_hour(kind) * self.minutes / 60 if kind else 0.0


STEPS = (
    Step("free", free, None, 5, "requests that are refused, and lists; nothing is made", (
        "not-found", "unknown-field", "unknown-type", "unknown-runtime", "both-accelerators", "label-count", "label-form",
        "unknown-zone", "output-only-fields", "lenient-json", "list-all-zones", "alpha-readable", "delete-absent", "catalogue")),
    Step("node", node, SMALL, 25, "one small node: made, patched, stopped, started, deleted", (
        "request-id-node", "operation-form", "uid-early", "create-twice", "create-ends-ready", "uid-stays", "server-fills", "names-as-asked",
        "labels-kept", "metadata-replaced", "absent-is-cleared", "only-the-mask", "empty-mask", "mask-refused", "mask-spellings",
        "guest-hostkeys", "guest-hostname", "stop-and-start", "delete-ends-gone")),
    Step("queued", queued, SMALL, 25, "a queued resource of one small spot node", (
        "request-id-queued", "queued-ends-accepted", "queued-names-nodes", "queued-node-names-it", "queued-labels", "queued-delete-refused",
        "queued-force-takes-nodes")),
    Step("workers", workers, SMALL, 35, "podctl makes one small node and looks at its worker", (
        "plan-is-empty", "ssh-keys-let-in", "sudo-asks-nobody", "tools-are-there", "systemd-runs", "devices-are-seen", "no-unit-on-this-image",
        "metadata-worker-number", "metadata-tpu-env", "startup-script-runs", "doctor-is-content", "destroy-leaves-nothing")),
    Step("pod", pod, POD, 45, f"podctl makes one {POD} with tpu-runtime, and changes a flag", (
        "endpoints-in-order", "env-vars-quoted", "unit-reads-metadata", "stop-of-a-pod")),
)
