"""What brings a job's log to Cloud Storage, against a bucket and a metadata server that can be in
trouble: python3 ship_test.py FOLDER_OF_SHIP_PY"""

import gzip
import http.server
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

PROGRAMS = sys.argv.pop(1)
sys.path.insert(0, PROGRAMS)
sys.dont_write_bytecode = True
import ship  # noqa: E402

RUN = "0123abcd-55"
# The same program, for which time goes faster.
QUICK = (
    "import sys; sys.dont_write_bytecode = True; sys.path.insert(0, %r); import ship; "
    "ship.TICK = 0.02; ship.SPAN = 0.2; ship.FIRST_PAUSE = 0.05; ship.LONGEST_PAUSE = 0.2; "
    "ship.TELL_AFTER = 0.3; ship.LAST_TRIES = 3.0; ship.HANDOVER = 0.5; ship.TIMEOUT = 5.0; "
    "%s; ship.main(*sys.argv[1:])"
)


class Cloud:
    """Objects, each written once, and a token that may be another one soon."""

    def __init__(self):
        self.objects = {}
        self.trouble = []  # for the next uploads: a status, "lost" (done, not answered), "hang"
        self.token = None  # that storage wants; None: anybody may write
        self.tokens = 0  # how often it was asked for
        self.down = None  # a status for all uploads
        self.hung = threading.Event()
        cloud = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def handle(self):
                try:
                    super().handle()
                except OSError:
                    pass  # whoever asked was killed

            def answer(self, status, body=b"{}"):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                if self.path.startswith("/computeMetadata/"):
                    if self.headers["Metadata-Flavor"] != "Google":
                        return self.answer(403)
                    cloud.tokens += 1
                    told = {"access_token": cloud.token, "expires_in": 3599}
                    return self.answer(200, json.dumps(told).encode())
                name = urllib.parse.unquote(self.path.split("/o/")[1].split("?")[0])
                content = cloud.objects[name]
                about = {"size": str(len(content)), "md5Hash": ship.md5_of(content)}
                return self.answer(200, json.dumps(about).encode())

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if "ifGenerationMatch=0" not in self.path:
                    return self.answer(400)
                if cloud.token and self.headers["Authorization"] != "Bearer " + cloud.token:
                    return self.answer(401)
                trouble = cloud.trouble.pop(0) if cloud.trouble else cloud.down
                if isinstance(trouble, int):
                    said = {"error": {"code": trouble, "message": "not you"}}
                    return self.answer(trouble, json.dumps(said).encode())
                if trouble == "hang":
                    cloud.hung.set()
                    time.sleep(3)
                mark = self.headers["Content-Type"].split("boundary=")[1].encode()
                _, about, media, _ = body.split(b"--" + mark)
                name = json.loads(about.split(b"\r\n\r\n", 1)[1].decode())["name"]
                if name in cloud.objects:
                    return self.answer(412)
                cloud.objects[name] = media.split(b"\r\n\r\n", 1)[1][:-2]
                if trouble in ("lost", "hang"):
                    self.close_connection = True
                    return None
                return self.answer(200)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.host = "127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def pieces(self):
        return [(name, gzip.decompress(self.objects[name])) for name in sorted(self.objects)]

    def lines(self):
        """As they were written, out of all pieces in the order of their names."""
        text = b""
        for _, content in self.pieces():
            for row in content.splitlines(keepends=True):
                _, stream, flag, line = row.split(b" ", 3)
                assert stream == b"stdout", row
                text += line if flag == b"F" else line[:-1]
        return text.decode().splitlines()


class ShipTest(unittest.TestCase):
    def setUp(self):
        self.cloud = Cloud()
        self.folder = tempfile.TemporaryDirectory()
        self.job = self.folder.name
        self.log = open(self.path("log"), "ab", buffering=0)
        self.ships = []

    def tearDown(self):
        for each in self.ships:
            each.kill()
            each.wait()
            each.stdin.close()
        self.log.close()
        self.folder.cleanup()
        self.cloud.close()

    def path(self, name):
        return os.path.join(self.job, name)

    def start(self, more="0", emulator=True):
        if emulator:
            host = {"STORAGE_EMULATOR_HOST": self.cloud.host}
        else:
            more += "; ship.GOOGLE = 'http://%s'" % self.cloud.host
            host = {"GCE_METADATA_HOST": self.cloud.host}
        environment = {k: v for k, v in os.environ.items() if k != "STORAGE_EMULATOR_HOST"}
        environment.update(host)
        words = [self.job, "bucket", "logs/research/train/", RUN, "3"]
        self.ships.append(
            subprocess.Popen(
                [sys.executable, "-c", QUICK % (PROGRAMS, more)] + words,
                stdin=subprocess.PIPE,
                env=environment,
                start_new_session=True,
            )
        )
        return self.ships[-1]

    def write(self, *lines):
        self.log.write("".join(line + "\n" for line in lines).encode())

    def tell(self, shipper, word):
        shipper.stdin.write(word)
        shipper.stdin.flush()

    def await_that(self, what, limit=20):
        until = time.monotonic() + limit
        while not what():
            self.assertLess(time.monotonic(), until, self.shown())
            time.sleep(0.02)

    def shown(self):
        with open(self.path("log"), "rb") as file:
            return file.read()[-2000:], self.cloud.pieces()[-3:]

    def end(self, shipper):
        self.tell(shipper, b"e")
        self.assertEqual(shipper.wait(20), 0, self.shown())

    def test_lines_come_while_it_runs_and_the_rest_at_the_end(self):
        shipper = self.start()
        self.write("one", "two")
        self.await_that(lambda: self.cloud.lines() == ["one", "two"])
        self.write("three")
        self.log.write(b"and a half")
        self.end(shipper)
        self.assertEqual(self.cloud.lines(), ["one", "two", "three", "and a half"])
        name = sorted(self.cloud.objects)[0]
        self.assertRegex(
            name,
            r"^logs/research/train/\d{8}T\d{6}\.\d{3}Z_\d{8}T\d{6}\.\d{3}Z_%s"
            r"_0001_00003_00000000_0_8\.log$" % RUN,
        )

    def test_each_attempt_has_pieces_of_its_own(self):
        with open(self.path("attempts"), "w") as file:
            file.write("1 0\n")
        shipper = self.start("ship.SPAN = 1000")
        self.write("a")
        self.log.write(b"cut off")
        self.tell(shipper, b"f")
        self.await_that(lambda: self.cloud.lines() == ["a", "cut off"])
        with open(self.path("attempts"), "a") as file:
            file.write("2 9\n")
        self.write("b")
        self.end(shipper)
        self.assertEqual([name.split("_")[3] for name, _ in self.cloud.pieces()], ["0001", "0002"])

    def test_a_kill_in_the_middle_of_an_upload_loses_and_doubles_nothing(self):
        self.cloud.trouble = ["hang"]
        shipper = self.start()
        self.write(*("line %d" % i for i in range(1000)))
        self.assertTrue(self.cloud.hung.wait(10))
        shipper.send_signal(signal.SIGKILL)
        shipper.wait()
        self.write(*("line %d" % i for i in range(1000, 2000)))
        again = self.start()
        self.end(again)
        self.await_that(lambda: len(self.cloud.objects) >= 2)
        time.sleep(0.1)
        self.assertEqual(self.cloud.lines(), ["line %d" % i for i in range(2000)])

    def test_a_reply_that_was_lost_is_no_second_object(self):
        self.cloud.trouble = ["lost", 503]
        shipper = self.start()
        self.write("once")
        self.end(shipper)
        self.assertEqual(self.cloud.lines(), ["once"])
        self.assertEqual(len(self.cloud.objects), 1)

    def test_what_is_there_already_is_never_overwritten(self):
        shipper = self.start("ship.Shipper.name_of = lambda self, piece: 'taken'")
        self.cloud.objects["taken"] = gzip.compress(b"2026-01-01T00:00:00.000Z stdout F old\n")
        self.write("new")
        self.await_that(lambda: b"is there, and is not this job's" in self.shown()[0])
        self.assertEqual(self.cloud.lines(), ["old"])
        shipper.kill()

    def test_a_bucket_that_refuses_is_told_once_and_tried_again(self):
        self.cloud.down = 403
        shipper = self.start()
        self.write("early")
        self.await_that(lambda: b"not kept in gs://bucket/logs/research/train/: 403 not you" in
                        self.shown()[0])
        time.sleep(0.6)
        self.cloud.down = None
        self.await_that(lambda: b"train/ again" in self.shown()[0])
        self.end(shipper)
        self.assertEqual(self.shown()[0].count(b"not kept"), 1)
        self.assertEqual(self.cloud.lines()[0], "early")

    def test_a_token_that_is_none_any_more_is_fetched_anew(self):
        self.cloud.token = "first-secret"
        shipper = self.start(emulator=False)
        self.write("one")
        self.await_that(lambda: self.cloud.lines() == ["one"])
        self.cloud.token = "second-secret"
        self.write("two")
        self.end(shipper)
        self.assertEqual(self.cloud.lines(), ["one", "two"])
        self.assertEqual(self.cloud.tokens, 2)
        for name in os.listdir(self.job):
            with open(self.path(name), "rb") as file:
                self.assertNotIn(b"secret", file.read(), name)

    def test_its_disk_is_bounded_whatever_the_bucket_does(self):
        self.cloud.down = 503
        shipper = self.start("ship.BOUND = 1 << 20; ship.KEEP = 1 << 18")
        for i in range(100):
            self.write(*("%06d %s" % (i * 100 + k, "x" * 300) for k in range(100)))
            time.sleep(0.01)
        self.write("last")

        def blocks():
            return os.stat(self.path("log")).st_blocks * 512

        self.await_that(lambda: self.shown_cut() > 0 and blocks() < 3 << 19)
        self.cloud.down = None
        self.end(shipper)
        lines = [line for line in self.cloud.lines() if not line.startswith("podctl: ")]
        self.assertEqual(lines[-1], "last")
        numbers = [int(line.split()[0]) for line in lines[:-1]]
        # What was on its way when the rest was lost may still come; how much is missing is told by
        # the names.
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertEqual(numbers[-500:], list(range(9500, 10000)))
        with open(self.path("log"), "rb") as file:
            file.seek(self.shown_cut())
            self.assertRegex(file.read(8), rb"^(\d{6} x|podctl: )")
        end = missing = 0
        for name in sorted(self.cloud.objects):
            offset, length = map(int, name[: -len(".log")].split("_")[6:])
            self.assertGreaterEqual(offset, end)
            missing += offset - end
            end = offset + length
        self.assertEqual(end, os.stat(self.path("log")).st_size)
        self.assertGreater(missing, 0)

    def shown_cut(self):
        try:
            with open(self.path("cut")) as file:
                return int(file.read() or 0)
        except FileNotFoundError:
            return 0  # it has only just been started

    def test_who_takes_over_goes_on_where_it_was(self):
        first = self.start()
        self.write("one")
        self.await_that(lambda: self.cloud.lines() == ["one"])
        second = self.start()  # waits for the first
        first.stdin.close()
        self.write("two")
        self.end(second)
        self.assertEqual(self.cloud.lines(), ["one", "two"])

    def test_an_end_that_the_bucket_does_not_take_is_told(self):
        self.cloud.down = 503
        shipper = self.start("ship.LAST_TRIES = 0.3")
        self.write("gone")
        self.tell(shipper, b"e")
        self.assertEqual(shipper.wait(20), 1)
        self.assertIn(b"Z the end of the log is not kept in gs://bucket", self.shown()[0])


class RowsTest(unittest.TestCase):
    def test_lines_are_cut_and_go_on(self):
        ship_row, ship.ROW = ship.ROW, 4
        try:
            text = ship.rows(b"abcdefgh\n\nij", 100, [[100, 0], [109, 1500]])
        finally:
            ship.ROW = ship_row
        head = b"1970-01-01T00:00:00.000Z stdout "
        later = b"1970-01-01T00:00:01.500Z stdout "
        self.assertEqual(
            text, head + b"P abcd\n" + head + b"F efgh\n" + later + b"F \n" + later + b"P ij\n"
        )

    def test_times_never_go_back_and_are_bounded(self):
        times = ship.Times(0)
        times.add(10, 5000)
        times.add(20, 4000)
        self.assertEqual(times.between(5, 20), [[5, 5000], [10, 5000]])
        times.forget(15)
        self.assertEqual(times.between(15, 20), [[15, 5000]])
        for i in range(3 * ship.MOST_MARKS):
            times.add(21 + i, 6000 + i)
        self.assertLessEqual(len(times.offsets), ship.MOST_MARKS)
        self.assertEqual(times.offsets, sorted(times.offsets))
        self.assertEqual(len(times.offsets), len(times.seen))


if __name__ == "__main__":
    unittest.main()
