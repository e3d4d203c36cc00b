"""What a run may have made, what it costs, and how it is taken away.

The ledger is a file of JSON lines, synced before each create is sent, so that who dies between leaves
behind what is to be looked for. All that a run makes is called podctl-real-… and, where it can bear a
label, has podctl-real: by these `--clean` finds it without any file.
"""

import json
import os
import re
import time

from api import Failure, is_loopback

PREFIX = "podctl-real-"
LABEL = "podctl-real"
DELETE_MINUTES = 10  # what a deletion may take, and cost


class Prices:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self._table = json.load(file)
        self.as_of = self._table["as_of"]

    def an_hour(self, accelerator_type):
        generation, _, size = accelerator_type.partition("-")
        chip = self._table["chip_hour"].get(generation)
        if chip is None or not size.isdigit():
            raise Failure(f"no price for {accelerator_type}: give one with --prices")
        chips = max(1, int(size) // self._table["chips_of_cores"][generation])
        vms = max(1, chips // self._table["chips_of_vm"])
        return chips * chip + vms * self._table["vm_hour"]


class Ledger:
    """Entries by name: {"kind": "node"|"queuedResource", "zone", "id", "hourly", "began", "gone"}. Times are
    the machine's clock, as a file of another process may hold them."""

    def __init__(self, path, clock=time.time):
        self.path = path
        self.clock = clock
        self.entries = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    entry = json.loads(line)
                    self.entries.setdefault(entry["id"], {}).update(entry)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._file = os.fdopen(descriptor, "a", encoding="utf-8")

    def close(self):
        self._file.close()

    def _write(self, entry):
        self.entries.setdefault(entry["id"], {}).update(entry)
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def will_make(self, kind, zone, name, hourly):
        self._write({"kind": kind, "zone": zone, "id": name, "hourly": hourly, "began": self.clock(), "gone": None, "answered": False})

    def costs(self, name, hourly):
        """After all: a request was granted that ought to have been refused."""
        self._write({"id": name, "hourly": hourly})

    def is_answered(self, name):
        """The service has said what became of its create, so none is under way any more."""
        if not self.entries[name]["answered"]:
            self._write({"id": name, "answered": True})

    def is_gone(self, name):
        if name in self.entries and self.entries[name]["gone"] is None:
            self._write({"id": name, "gone": self.clock()})

    def there(self):
        return [entry for entry in self.entries.values() if entry["gone"] is None]

    def spent(self):
        """Dollars, as if each had been billed from its request to the proof that it is gone."""
        now = self.clock()
        return sum(
            entry["hourly"] * ((entry["gone"] or now) - entry["began"]) / 3600 for entry in self.entries.values()
        )

    def to_come(self):
        """What it takes to delete what is there."""
        return sum(entry["hourly"] * DELETE_MINUTES / 60 for entry in self.there())


class Budget:
    def __init__(self, dollars, ledger):
        self.dollars = dollars
        self.ledger = ledger

    def left(self):
        return self.dollars - self.ledger.spent() - self.ledger.to_come()

    def allows(self, dollars):
        return dollars <= self.left()

    def is_out(self):
        return self.left() < 0


def path_of(project, entry):
    collection = "nodes" if entry["kind"] == "node" else "queuedResources"
    return f"v2/projects/{project}/locations/{entry['zone']}/{collection}/{entry['id']}"


def delete(api, ledger, entry, say, minutes=20):
    """Deletes one, and returns when it is gone; asks again, as a delete may be dropped."""
    path = path_of(api.project, entry)
    query = {"force": "true"} if entry["kind"] == "queuedResource" else None
    began = time.monotonic()
    end = began + minutes * 60
    # A create of which nothing was heard may still be on its way.
    settled = began + (0 if entry["answered"] else 1 if is_loopback(api.endpoint) else 30)
    pause, asked = 1, 0.0
    while time.monotonic() < end:
        answer = api.call("GET", path, cleaning=True)
        if answer.status == 404:
            if time.monotonic() < settled:
                time.sleep(1)
                continue
            ledger.is_gone(entry["id"])
            say(f"  {entry['id']} is gone")
            return True
        if time.monotonic() - asked > 30 or asked == 0.0:
            api.call("DELETE", path, query, cleaning=True)
            asked = time.monotonic()
        time.sleep(pause)
        pause = min(pause * 1.5, 10)
    say(f"  {entry['id']} is still there. Delete it: {path}")
    return False


def clean(api, ledger, say):
    """What the ledger says is there; queued resources first, as they take their nodes along."""
    entries = sorted(ledger.there(), key=lambda entry: entry["kind"] != "queuedResource")
    if entries:
        say("cleaning up: " + ", ".join(entry["id"] for entry in entries))
    return all([delete(api, ledger, entry, say) for entry in entries])


def listed(api, path, key):
    found, token = [], None
    while True:
        answer = api.call("GET", path, {"pageToken": token} if token else None, cleaning=True)
        if not answer.ok:
            raise Failure(f"cannot list {path}: {answer.status} {answer.error.get('message', '')}")
        found += answer.body.get(key, [])
        for place in answer.body.get("unreachable", []):
            raise Failure(f"cannot look into {place}: nobody knows what is left there")
        token = answer.body.get("nextPageToken")
        if not token:
            return found


def find_leftovers(api):
    """Entries for all that any run has left in the project, in whatever zone."""
    found = []
    for kind, key in (("queuedResource", "queuedResources"), ("node", "nodes")):
        for each in listed(api, f"v2/projects/{api.project}/locations/-/{key}", key):
            match = re.match(rf"^projects/[^/]+/locations/([^/]+)/{key}/([^/]+)$", each.get("name", ""))
            ours = match and match.group(2).startswith(PREFIX)
            # A name alone is anybody's to choose, and a node bears the label as well.
            if ours and (kind != "node" or LABEL in each.get("labels", {})):
                found.append({"kind": kind, "zone": match.group(1), "id": match.group(2), "hourly": 0.0})
    return found
