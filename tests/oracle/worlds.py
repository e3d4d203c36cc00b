"""Worlds by seeds: a spec, an edit of it, and what befell the cloud and the state in between."""

import copy
import hashlib
import json
import random

TYPES = ["v2-8", "v3-8", "v3-32", "v2-32"]
IMAGES = ["tpu-vm-tf-2.11.0", "tpu-vm-tf-2.11.0-pod", "tpu-ubuntu2204-base", "tpu-vm-base"]
ZONE = "europe-west4-a"


class World:
    """What somebody wants, as a dictionary that is a spec (JSON is YAML)."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.project = f"p-{seed:04d}"
        self.ever = 0
        self.spec = {"project": self.project, "zone": ZONE, "pods": {}}
        dice = self.dice
        if dice.random() < 0.3:
            self.spec["variables"] = {"word": {"default": "one"},
                                      "key": {"default": "s3cr3t", "sensitive": True}}
        if dice.random() < 0.2:
            self.spec["defaults"] = {"labels": {"owner": "tests"}}
        for _ in range(dice.randint(1, 4)):
            self.add_pod()
        if dice.random() < 0.35:
            self.spec["trainingJobs"] = {}
            for _ in range(dice.randint(1, 2)):
                self.add_training()

    # ---- Pods.

    def add_pod(self):
        self.ever += 1
        name = f"q{self.ever}"
        self.spec["pods"][name] = self.new_pod(name)

    def new_pod(self, name):
        dice = self.dice
        several = dice.random() < 0.6
        pod = {"acceleratorType": dice.choice(TYPES if several else ["v2-8", "v3-8"]),
               "runtimeVersion": dice.choice(IMAGES)}
        if dice.random() < 0.3:
            pod["ssh"] = {"check": False}
        if dice.random() < 0.5:
            pod["labels"] = {"team": dice.choice(["vision", "speech"])}
        if dice.random() < 0.2:
            pod["tags"] = ["a", "b"]
        if dice.random() < 0.3:
            pod["description"] = dice.choice(["first", "second", "line\nline"])
        if dice.random() < 0.4:
            pod["libtpuFlags"] = {"xla_f": dice.choice(["true", "false", "7"])}
        if dice.random() < 0.2:
            pod["runtimeEnv"] = {"TF_CPP_MIN_LOG_LEVEL": "1"}
        metadata = {}
        if dice.random() < 0.3:
            metadata["note"] = dice.choice(["n1", "n2", "lines\nof\ntext\n"])
        if dice.random() < 0.3:
            metadata["token"] = {"value": f"hidden-{dice.randint(1, 9)}", "sensitive": True}
        if "variables" in self.spec and dice.random() < 0.6:
            metadata["word"] = "${var.word}"
        if "variables" in self.spec and dice.random() < 0.3:
            metadata["key"] = "${var.key}"
        others = list(self.spec["pods"])
        if others and dice.random() < 0.3:
            metadata["peer"] = "${pod.%s.networkEndpoints[0].ipAddress}" % dice.choice(others)
        if metadata:
            pod["metadata"] = metadata
        if others and dice.random() < 0.3:
            pod["dependsOn"] = ["pod." + dice.choice(others)]
        lifecycle = {}
        if dice.random() < 0.1:
            lifecycle["ignoreChanges"] = ["labels.team"]
        if dice.random() < 0.1:
            lifecycle["preventDestroy"] = True
        if others and dice.random() < 0.15:
            lifecycle["replaceTriggeredBy"] = ["pod." + dice.choice(others)]
        way = dice.random()
        if way < 0.3:
            pod["queuedResource"] = dice.choice([{}, {"spot": True}, {"id": "queue-" + name}])
            if dice.random() < 0.5:
                pod["slices"] = dice.randint(1, 3)
            if dice.random() < 0.2:
                pod["timeouts"] = {"queue": "5h"}
        elif way < 0.5:
            pod["schedulingConfig"] = dice.choice([{"spot": True}, {"preemptible": True}])
            pod["onPreemption"] = dice.choice(["recreate", "report"])
        elif way < 0.6:
            pod["capacity"] = {"retry": "1s", "zones": ["us-central1-a"]}
        elif way < 0.75:
            lifecycle["createBeforeDestroy"] = True
        elif way < 0.8 and pod["acceleratorType"].endswith("-8"):
            pod["desiredState"] = dice.choice(["READY", "STOPPED"])
        if lifecycle:
            pod["lifecycle"] = lifecycle
        if dice.random() < 0.2:
            pod["nodeId"] = "node-" + name
        steps = []
        for i in range(dice.choice([0, 0, 1, 2])):
            steps.append(self.new_step(f"s{i}", pod))
        if steps:
            pod["bootstrap"] = steps
        return pod

    def new_step(self, name, pod):
        dice = self.dice
        step = {"name": name, "run": f"echo {dice.randint(1, 5)}"}
        if dice.random() < 0.1:
            step["run"] = "echo no; exit 3"
        if dice.random() < 0.3:
            step["workers"] = [0]
        elif pod.get("slices", 1) > 1 and dice.random() < 0.5:
            step["workers"] = ["1/0"]
        if dice.random() < 0.3:
            step["env"] = {"PLACE": dice.choice(["here", "there"])}
        if "variables" in self.spec and dice.random() < 0.2:
            step["env"] = {"KEY": "${var.key}"}
        return step

    def add_training(self):
        self.ever += 1
        dice = self.dice
        job = {"image": f"gcr.io/p/mnist:{dice.randint(1, 3)}"}
        if dice.random() < 0.6:
            job["tpuSpec"] = dice.choice(["8xV2", "8xV3"])
        if dice.random() < 0.5:
            job["args"] = ["--rate", str(dice.randint(1, 3))]
        if dice.random() < 0.3:
            job["labels"] = {"team": "vision"}
        self.spec["trainingJobs"][f"t{self.ever}"] = job

    # ---- Edits, as people make them.

    def edit(self):
        dice = self.dice
        self.spec.pop("moved", None)
        for _ in range(dice.randint(0, 4)):
            pods = self.spec["pods"]
            name = dice.choice(list(pods))
            pod = pods[name]
            what = dice.randint(0, 15)
            if what == 0:
                self.add_pod()
            elif what == 1 and len(pods) > 1:
                self.drop(name)
            elif what == 2 and "moved" not in self.spec:
                self.rename(name)
            elif what == 3:
                pod["acceleratorType"] = dice.choice(TYPES)
            elif what == 4:
                pod["labels"] = {"team": dice.choice(["vision", "speech", "robots"])}
            elif what == 5:
                pod["description"] = dice.choice(["third", "fourth"])
            elif what == 6:
                pod["libtpuFlags"] = {"xla_f": dice.choice(["true", "8"]), "g": "1"}
            elif what == 7:
                pod.setdefault("metadata", {})["note"] = dice.choice(["n3", "a\nb\n"])
            elif what == 8:
                pod.setdefault("metadata", {})["token"] = {"value": "hidden-new",
                                                           "sensitive": True}
            elif what == 9 and "bootstrap" in pod:
                pod["bootstrap"][0]["run"] = f"echo {dice.randint(6, 9)}"
            elif what == 10 and "bootstrap" in pod:
                pod["bootstrap"].append(self.new_step("s9", pod))
                pod["bootstrap"] = list({s["name"]: s for s in pod["bootstrap"]}.values())
            elif what == 11 and "bootstrap" in pod:
                del pod["bootstrap"]
            elif what == 12 and self.spec.get("trainingJobs"):
                jobs = self.spec["trainingJobs"]
                job = dice.choice(list(jobs))
                if dice.random() < 0.4:
                    del jobs[job]
                else:
                    jobs[job]["image"] = "gcr.io/p/mnist:9"
                if not jobs:
                    del self.spec["trainingJobs"]
            elif what == 13 and "queuedResource" in pod:
                pod["queuedResource"] = {"guaranteed": True}
            elif what == 14 and "slices" in pod:
                pod["slices"] = dice.randint(1, 3)
            elif what == 15:
                pod.pop("libtpuFlags", None)

    def text_of(self, name):
        return json.dumps({k: v for k, v in self.spec["pods"].items() if k != name})

    def drop(self, name):
        if f"pod.{name}" not in self.text_of(name):
            del self.spec["pods"][name]

    def rename(self, name):
        self.ever += 1
        to = f"q{self.ever}"
        pods = json.loads(json.dumps(self.spec["pods"]).replace(f"pod.{name}", f"pod.{to}"))
        self.spec["pods"] = {to if k == name else k: v for k, v in pods.items()}
        self.spec["moved"] = [{"from": f"pod.{name}", "to": f"pod.{to}"}]

    def yaml(self):
        return json.dumps(self.spec, indent=1)

    # ---- What befalls the cloud: calls of (method, path, body), in which {node} stands.

    def incidents(self, nodes):
        dice = self.dice
        calls = []
        for node in nodes:
            name = node["name"]
            what = dice.random()
            if what < 0.45:
                continue
            labels = dict(node.get("labels", {}))
            if what < 0.55:
                labels["team"] = "somebody"
                calls.append(("PATCH", f"/v2/{name}?updateMask=labels", {"labels": labels}))
            elif what < 0.62:
                metadata = dict(node.get("metadata", {}))
                metadata["note"] = "by hand"
                metadata.pop("tensorflow-env-vars", None)
                calls.append(("PATCH", f"/v2/{name}?updateMask=metadata", {"metadata": metadata}))
            elif what < 0.67:
                calls.append(("PATCH", f"/v2/{name}?updateMask=metadata", {"metadata": {}}))
            elif what < 0.75:
                calls.append(("DELETE", f"/v2/{name}", None))
            elif what < 0.80:
                calls.append(("DELETE", f"/v2/{name}", None))
                again = {k: node[k] for k in ("acceleratorType", "runtimeVersion", "labels",
                                              "metadata") if k in node}
                where, short = name.rsplit("/nodes/", 1)
                calls.append(("POST", f"/v2/{where}/nodes?nodeId={short}", again))
            else:
                act = dice.choice(["preempt", "terminate", "break", "maintain", "repair"])
                if act == "preempt" and not node.get("schedulingConfig"):
                    act = "terminate"
                calls.append(("POST", f"/emulator/nodes/{name}:{act}", None))
        return calls

    # ---- What a state may say after runs that ended early.

    def mutate(self, state):
        """Changes some records of a state, which becomes one of format 4; returns whether it did.

        That format could say more than can be, so all of it is still read."""
        as_format_4(state)
        dice = self.dice
        changed = False
        for record in state["resources"].values():
            if dice.random() < 0.6:
                continue
            before = copy.deepcopy(record)
            kind = record["type"]
            if kind == "pod":
                self.mutate_pod(record, state["serial"])
            elif kind == "bootstrap":
                for worker in list(record["workers"]):
                    what = dice.random()
                    if what < 0.2:
                        del record["workers"][worker]
                    elif what < 0.4:
                        record["workers"][worker]["uid"] = "1"
                    elif what < 0.5:
                        record["workers"][worker]["digest"] = "sha256:0"
            else:
                what = dice.random()
                if what < 0.3:
                    record["state"] = dice.choice(["JOB_STATE_FAILED", "JOB_STATE_QUEUED", ""])
                    record["error"] = "the image was not found"
                elif what < 0.6:
                    record["pending"] = self.pending("delete", state["serial"])
                elif what < 0.7:
                    record["job"] = ""
                    record["pending"] = self.pending("create", state["serial"])
            changed = changed or record != before
        return changed

    def pending(self, kind, serial):
        entry = {"kind": kind, "operation": "", "begun_at": "2026-11-20T14:30:00Z", "run": serial}
        if self.dice.random() < 0.4:
            entry["request_id"] = "11111111-2222-4333-8444-%012d" % self.dice.randint(0, 10 ** 9)
        return entry

    def mutate_pod(self, record, serial):
        dice = self.dice
        what = dice.randint(0, 12)
        if what == 0:
            record["pending"] = self.pending("create", serial)
            record["exists"] = False
            record["uid"] = ""
        elif what == 1:
            record["pending"] = self.pending("patch", serial)
        elif what == 2:
            record["pending"] = self.pending("delete", serial)
        elif what == 3:
            record["deposed"] = [{"node_id": record["node_id"] + "-old", "uid": "17"}]
        elif what == 4:
            record["deposed"] = [{"node_id": record["node_id"] + "-old", "uid": "17",
                                  "pending": self.pending("delete", serial)}]
            record["wanted_node_id"] = record["node_id"] + "-old"
        elif what == 5 and "queued" not in record:
            record["capacity_since"] = "2026-11-20T14:30:00Z"
            record["exists"] = False
        elif what == 6:
            record["recovery"] = {"because": "PREEMPTED", "since": "2026-11-20T14:30:00Z",
                                  "done": dice.choice(["", "2026-11-20T15:00:00Z"]),
                                  "times": dice.randint(1, 3)}
        elif what == 7:
            record["replace_because"] = "pod.other is replaced"
        elif what == 8:
            record["uid"] = "4711"
        elif what == 9:
            record.pop("host_keys", None)
        elif what == 10:
            record["observed"] = {}
        elif what == 11:
            record["applied"]["description"] = "as nobody knows"
        elif what == 12 and "queued" in record:
            record["queued"]["state"] = dice.choice(["WAITING_FOR_RESOURCES", "SUSPENDED", ""])


def as_format_4(state):
    """Puts what records of format 5 say of objects and goals where format 4 said it."""
    if state["format_version"] < 5:
        return
    state["format_version"] = 4
    for address, record in state["resources"].items():
        if "objects" not in record:
            state["resources"][address] = {**record.pop("payload"), **record}
            continue
        flat = {**record["payload"], "type": record["type"]}
        queued = [each for each in record["objects"] if each["role"] == "auxiliary"]
        for each in record["objects"]:
            if each["role"] == "deposed":
                old = {"node_id": each["locator"], "uid": each.get("uid", "")}
                if "intent" in each:
                    old["pending"] = as_pending(each)
                flat.setdefault("deposed", []).append(old)
            elif "intent" in each:
                flat["pending"] = as_pending(each)
            if each["role"] == "current":
                flat["node_id" if record["type"] == "pod" else "job"] = each["locator"]
                flat["uid"] = each.get("uid", "")
                flat["exists"] = each["life"] != "absent" and each.get("seen", True)
        if queued:
            flat["queued"]["id"] = queued[0]["locator"]
        goal = record.get("goal", {})
        flat.update(capacity_since=goal.get("seeking_since", ""),
                    replace_because=goal.get("replace_because", ""))
        if goal.get("goal") == "seeking":
            flat["capacity_since"] = goal["since"]
        if goal.get("goal") == "replacing":
            flat["replace_because"] = goal["because"]
        if goal.get("goal") == "recovering":
            flat["recovery"] = {"because": goal["because"], "since": goal["since"], "done": "",
                                "times": 1 + record.get("recovered", {}).get("times", 0)}
        elif "recovered" in record:
            flat["recovery"] = record["recovered"]
        state["resources"][address] = {key: value for key, value in flat.items() if value != ""
                                       or key in ("job", "node_id")}


def as_pending(item):
    kinds = {"creating": "create", "changing": "patch", "deleting": "delete"}
    return {"operation": "", **item["intent"], "kind": kinds[item["life"]]}


def with_checksum(state):
    """The text of a state of format 4 (docs/state.md)."""
    state = dict(state, checksum="")
    compact = json.dumps(state, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    state["checksum"] = "sha256:" + hashlib.sha256(compact.encode()).hexdigest()
    return json.dumps(state, indent=2, ensure_ascii=False) + "\n"
