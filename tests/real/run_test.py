#!/usr/bin/env python3
"""tests/real/run against the emulator: what it makes it deletes, however it ends; what it writes holds no
secret; and it spends no more than it may.

  run_test.py --podctl BINARY [NAME...]
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from api import Api, Failure, Scrub, Stopped, exchange  # noqa: E402
from ledger import Budget, Ledger, Prices  # noqa: E402
from steps import STEPS  # noqa: E402

PODCTL = ""
RUN = os.path.join(HERE, "run")
PRICES = os.path.join(HERE, "prices.json")
PATIENCE = 180


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class Money(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.clock = Clock()
        self.path = os.path.join(self.folder.name, "ledger")
        self.ledger = Ledger(self.path, self.clock)
        self.addCleanup(self.ledger.close)

    def test_counts_from_the_request_to_the_proof_that_it_is_gone(self):
        self.ledger.will_make("node", "z", "a", 6.0)
        self.clock.now += 600
        self.assertAlmostEqual(self.ledger.spent(), 1.0)
        self.ledger.is_gone("a")
        self.clock.now += 600
        self.assertAlmostEqual(self.ledger.spent(), 1.0)
        self.assertEqual(self.ledger.there(), [])

    def test_keeps_back_what_deleting_will_cost(self):
        budget = Budget(2.0, self.ledger)
        self.assertTrue(budget.allows(2.0))
        self.ledger.will_make("node", "z", "a", 6.0)
        self.assertAlmostEqual(budget.left(), 1.0)
        self.assertFalse(budget.allows(1.01))
        self.assertFalse(budget.is_out())
        self.clock.now += 601
        self.assertTrue(budget.is_out())

    def test_stops_the_run_when_the_money_is_out(self):
        stop = threading.Event()
        loader = SourceFileLoader("real_run", RUN)
        run = module_from_spec(spec_from_loader("real_run", loader))
        loader.exec_module(run)
        watchdog = run.Watchdog(Budget(2.0, self.ledger), stop)
        watchdog.start()
        self.addCleanup(watchdog.ended.set)
        self.ledger.will_make("node", "z", "a", 6.0)
        self.assertFalse(stop.wait(1.5))
        self.clock.now += 601
        self.assertTrue(stop.wait(60))
        api = Api("http://127.0.0.1:1", "p", Scrub("p", "r"), stop)
        with self.assertRaises(Stopped):
            api.call("GET", "v2/x")

    def test_another_process_reads_what_was_written_before_the_request(self):
        self.ledger.will_make("node", "z", "a", 6.0)
        self.ledger.will_make("queuedResource", "z", "b", 1.0)
        self.ledger.is_gone("a")
        other = Ledger(self.path)
        self.addCleanup(other.close)
        self.assertEqual([each["id"] for each in other.there()], ["b"])

    def test_prices_a_pod_by_its_chips_and_knows_no_other(self):
        prices = Prices(PRICES)
        self.assertGreater(prices.an_hour("v2-32"), 15 * prices.an_hour("v2-8") / 4)
        self.assertAlmostEqual(prices.an_hour("v5litepod-8"), 8 * 1.8 + 2 * 0.05)
        with self.assertRaises(Failure):
            prices.an_hour("v99-8")


class Secrets(unittest.TestCase):
    def test_takes_out_what_is_secret_and_what_is_another_each_time(self):
        text = Scrub("my-project", "abc123").text(
            "projects/my-project/locations/z/nodes/podctl-real-abc123-n ya29.a0AfH6-x_y projects/123456789012 "
            "alice:ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDx1 alice@laptop 10.164.0.2 bob@example.com "
            "2026-11-20T14:30:02.123Z operations/operation-178-6a-b [EID: 0x1f]"
        )
        self.assertEqual(
            text,
            "projects/PROJECT/locations/z/nodes/podctl-real-RUN-n TOKEN projects/PROJECT "
            "alice:ssh-ed25519 KEY ADDRESS EMAIL TIME operations/OPERATION [EID]",
        )

    def test_sends_a_token_over_plain_http_to_nobody_else(self):
        with self.assertRaises(Failure):
            exchange("http://tpu.googleapis.com/v2/x", "GET", None, "word")


class Page(unittest.TestCase):
    def test_names_what_the_steps_ask_about_and_nothing_twice(self):
        names = [each for step in STEPS for each in step.asks]
        self.assertEqual(len(names), len(set(names)))
        found = subprocess.run([RUN, "--project", "p", "--budget", "0", "--dry-run"], capture_output=True, text=True, check=False)
        self.assertEqual(found.returncode, 0, found.stderr)


class Emulated(unittest.TestCase):
    """Against an emulator of its own, which stands for Google."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.start_emulator()

    def start_emulator(self, *flags):
        self.emulator = subprocess.Popen(
            [PODCTL, "emulator", "--listen", "127.0.0.1:0", "--operation-delay", "0.3s", *flags],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )
        self.addCleanup(self.end, self.emulator)
        self.url = self.emulator.stdout.readline().split()[1]
        port = re.search(r"port (\d+)\.", self.emulator.stderr.readline())
        self.port = port.group(1) if port else "22"

    @staticmethod
    def end(process):
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        process.stderr.close()

    def words(self, *more):
        record = os.path.join(self.folder.name, "record.json")
        return [
            RUN, "--project", "my-project", "--zone", "us-central1-a", "--endpoint", self.url, "--podctl", PODCTL,
            "--yes", "--record", record, "--ssh-port", self.port, *more,
        ]

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            return json.load(answer)

    def left(self):
        found = []
        for key in ("nodes", "queuedResources"):
            found += [each["name"] for each in self.get(f"/v2/projects/my-project/locations/-/{key}").get(key, [])]
        return found

    def wait_until(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, "it does not come")
            time.sleep(0.05)

    def start(self, *more):
        # What a killed run leaves there goes with the test.
        here = {**os.environ, "TMPDIR": self.folder.name}
        process = subprocess.Popen(self.words(*more), env=here, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def test_asks_everything_and_leaves_nothing(self):
        secret = {"GOOGLE_OAUTH_ACCESS_TOKEN": "ya29.secret-word", **os.environ}
        run = subprocess.run(self.words("--budget", "100"), capture_output=True, text=True, check=False, env=secret, timeout=PATIENCE * 3)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual(self.left(), [])
        with open(os.path.join(self.folder.name, "record.json"), encoding="utf-8") as file:
            text = file.read()
        record = json.loads(text)
        self.assertEqual(set(record["results"]), {each for step in STEPS for each in step.asks})
        for word in ("secret-word", "my-project", "Bearer", "AAAAC3", "PRIVATE KEY", "127."):
            self.assertNotIn(word, text)
        self.assertEqual({each["by"] for each in record["requests"]}, {"script", "podctl"})
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["record.json"])

    def test_takes_another_small_node(self):
        words = self.words("--budget", "100", "--only", "workers", "--zone", "us-central2-b", "--type", "v4-8", "--runtime", "tpu-ubuntu2204-base", "--spot")
        run = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        with open(os.path.join(self.folder.name, "record.json"), encoding="utf-8") as file:
            made = [each["body"] for each in json.load(file)["requests"] if each["method"] == "POST" and each["path"].endswith("/nodes")]
        self.assertEqual([(each["acceleratorType"], each["schedulingConfig"]) for each in made], [("v4-8", {"spot": True})])
        self.assertEqual(self.left(), [])

    def test_spends_nothing_that_it_may_not(self):
        run = subprocess.run(self.words("--budget", "0.01"), capture_output=True, text=True, check=False, timeout=PATIENCE)
        self.assertIn("left out, as it may cost", run.stdout)
        self.assertEqual(self.left(), [])
        made = self.get("/emulator/requests")["byMethod"]
        self.assertNotIn("queuedResources.create", made)

    def test_a_dry_run_sends_nothing(self):
        run = subprocess.run(self.words("--budget", "5", "--dry-run"), capture_output=True, text=True, check=False, timeout=PATIENCE)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("LEFT OUT", run.stdout)  # the pod, for 5 dollars
        self.assertEqual(self.get("/emulator/requests").get("byMethod", {}), {})

    def test_ctrl_c_and_term_leave_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start("--budget", "100", "--only", "node")
            self.wait_until(self.left)
            process.send_signal(number)
            text, _ = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 130, text)
            self.assertEqual(self.left(), [], text)

    def test_kill_leaves_it_to_the_janitor(self):
        process = self.start("--budget", "100", "--only", "queued")
        self.wait_until(self.left)
        process.kill()
        process.communicate(timeout=PATIENCE)
        self.wait_until(lambda: not self.left())

    def test_clean_finds_what_is_left_and_nothing_else(self):
        for name, labels in (("podctl-real-x-n", {"podctl-real": "x"}), ("podctl-real-mine", {}), ("other", {"podctl-real": "x"})):
            body = json.dumps({"acceleratorType": "v5litepod-1", "runtimeVersion": "v2-alpha-tpuv5-lite", "labels": labels})
            status, text, _ = exchange(f"{self.url}/v2/projects/my-project/locations/us-west4-a/nodes?nodeId={name}", "POST", body.encode(), "x")
            self.assertEqual(status, 200, text)
        run = subprocess.run(self.words("--clean"), capture_output=True, text=True, check=False, timeout=PATIENCE)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual(sorted(each.rsplit("/", 1)[1] for each in self.left()), ["other", "podctl-real-mine"])


if __name__ == "__main__":
    at = sys.argv.index("--podctl")
    PODCTL = os.path.abspath(sys.argv[at + 1])
    del sys.argv[at : at + 2]
    unittest.main(verbosity=2)
