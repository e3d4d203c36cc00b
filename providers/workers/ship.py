"""What a job writes on this worker is kept in Cloud Storage while it runs, so that it can be read
when the worker is gone.

gang.py starts it beside the job, as a process of its own: nothing waits for a slow bucket. It
reads the job's log as it grows and brings it there in pieces, as the service account of this
machine. A piece is an object that is written once and never again:

    PREFIX FIRST_LAST_RUN_ATTEMPT_WORKER_SEQUENCE_OFFSET_LENGTH.log

FIRST and LAST are the times of its first and last line (UTC, 20261127T091222.500Z), so the names of
all workers sort by time; OFFSET and LENGTH say which bytes of the log it holds. In it are lines as
Kubernetes' container runtimes write them, "TIME stdout F TEXT", with P in the place of F for what
the next line goes on with. A line's time is when it was seen here, at most half a second late.

    ship.py JOB_FOLDER BUCKET PREFIX RUN WORKER

Its standard input is how it is told: a byte "f" when an attempt has ended (what is there is brought
at once), "e" when the job has; its end alone: who started it is gone, and another one will go on.

In the job's folder it reads `attempts` (a line "ATTEMPT OFFSET" for each, where it begins in the
log), and keeps `shipped`: how far the log was brought, and the piece that was about to be. So one
that is killed in the middle goes on with the same piece, under the same name and with the same
content. `cut` is where the log begins on this disk, once it was cut.

It asks for a token where Google's libraries do (GCE_METADATA_HOST), and with STORAGE_EMULATOR_HOST
for none, as they do. Needs Python's standard library alone, 3.7 and later.
"""

import base64
import bisect
import ctypes
import fcntl
import gzip
import hashlib
import http.client
import io
import json
import os
import random
import signal
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

GOOGLE = "https://storage.googleapis.com"
TICK = 0.5  # seconds between two looks at the log
SPAN = 10.0  # seconds of lines in a piece at most; so long a line waits before it is brought
PIECE = 1 << 20  # bytes of the log in a piece at most
ROW = 16 << 10  # bytes of a line that are written in one
BOUND = 256 << 20  # bytes of the log on this disk at most
KEEP = 128 << 20  # bytes that stay when it is cut
MOST_MARKS = 20000  # times that are known of what was not brought yet
ROOM = 16 << 10  # bytes of `shipped`, taken at the start: a disk may be full later
TIMEOUT = 30.0  # seconds for each step of a request
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds between two tries of one piece
TELL_AFTER = 60.0  # seconds of an outage after which the job's log tells of it
LAST_TRIES = 600.0  # seconds that it goes on trying when the job has ended
HANDOVER = 5.0  # the same when who started it is gone
EARLY = 225.0  # seconds before its end that a token is asked for anew

# By which an answer may turn out to be none.
BROKEN = (OSError, ValueError, KeyError, TypeError, RecursionError, http.client.HTTPException)

PUNCH_HOLE = 0x02 | 0x01  # FALLOC_FL_PUNCH_HOLE, FALLOC_FL_KEEP_SIZE
BLOCK = 4096


def now():
    return time.monotonic()


def printable(text, most=200):
    return "".join(c if " " <= c <= "~" else "?" for c in str(text))[:most]


def stamp(milliseconds, pattern="%Y-%m-%dT%H:%M:%S"):
    seconds, rest = divmod(milliseconds, 1000)
    return "%s.%03dZ" % (time.strftime(pattern, time.gmtime(seconds)), rest)


# ---- When each byte of the log was seen.


class Times:
    """Marks, ascending: what stands from one offset up to the next was seen at one time."""

    def __init__(self, begin):
        self.offsets = []
        self.seen = []  # milliseconds since 1970, never less than before
        self.end = begin

    def add(self, size, milliseconds):
        if size <= self.end:
            return
        if self.seen:
            milliseconds = max(milliseconds, self.seen[-1])  # somebody may set the clock
        self.offsets.append(self.end)
        self.seen.append(milliseconds)
        self.end = size
        if len(self.offsets) > MOST_MARKS:
            # Of what waits for long, every second time is enough.
            del self.offsets[1 : MOST_MARKS // 2 : 2], self.seen[1 : MOST_MARKS // 2 : 2]

    def forget(self, offset):
        """What lies before it."""
        passed = bisect.bisect_right(self.offsets, offset) - 1
        if passed > 0:
            del self.offsets[:passed], self.seen[:passed]

    def between(self, begin, end):
        """[[offset, milliseconds], …], the first of them of `begin`."""
        at = max(0, bisect.bisect_right(self.offsets, begin) - 1)
        marks = [[begin, self.seen[at]]]
        for offset, seen in zip(self.offsets[at + 1 :], self.seen[at + 1 :]):
            if offset >= end:
                break
            marks.append([offset, seen])
        return marks


def rows(data, begin, marks):
    """The content of a piece: the lines of `data`, which stands at `begin` in the log."""
    texts = [stamp(mark[1]).encode() + b" stdout " for mark in marks]
    offsets = [mark[0] for mark in marks]
    parts = []
    lines = data.split(b"\n")
    at = begin
    for i, line in enumerate(lines):
        is_cut = i == len(lines) - 1
        if is_cut and not line:
            break
        head = texts[max(0, bisect.bisect_right(offsets, at) - 1)]
        for start in range(0, max(1, len(line)), ROW):
            goes_on = is_cut or start + ROW < len(line)
            parts += [head, b"P " if goes_on else b"F ", line[start : start + ROW], b"\n"]
        at += len(line) + 1
    return b"".join(parts)


def packed(text):
    """The same bytes each time, so that a piece that is there already can be told from another."""
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as file:
        file.write(text)
    return buffer.getvalue()


def md5_of(content):
    try:
        return base64.b64encode(hashlib.md5(content).digest()).decode()
    except ValueError:  # not where FIPS 140 is enforced
        return None


# ---- Cloud Storage, by its JSON API.


class Trouble(Exception):
    """A piece was not brought. `refused`: by somebody who will say so again."""

    def __init__(self, text, refused=False):
        super().__init__(text)
        self.refused = refused


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None  # a token is for one host


def words_of(content):
    """What an answer says, in a line."""
    try:
        text = json.loads(content.decode("utf-8", "replace"))["error"]["message"]
    except (ValueError, KeyError, TypeError, RecursionError):
        text = content.decode("utf-8", "replace")
    return printable(" ".join(str(text).split()))


class Bucket:
    def __init__(self, bucket):
        self.bucket = bucket
        self.token, self.token_ends = None, 0.0
        self.opener = urllib.request.build_opener(NoRedirect)
        host = os.environ.get("STORAGE_EMULATOR_HOST")
        self.is_google = not host
        self.endpoint = GOOGLE
        if host:
            self.endpoint = (host if "://" in host else "http://" + host).rstrip("/")

    def fetch_token(self):
        host = os.environ.get("GCE_METADATA_HOST") or "169.254.169.254"
        connection = None
        try:
            connection = http.client.HTTPConnection(host, timeout=10)
            path = "/computeMetadata/v1/instance/service-accounts/default/token"
            connection.request("GET", path, headers={"Metadata-Flavor": "Google"})
            answer = connection.getresponse()
            content = answer.read(1 << 16)
            if answer.status != 200:
                what = "the metadata server has no token of this machine's service account"
                raise Trouble("%s: %d" % (what, answer.status), answer.status in (403, 404))
            told = json.loads(content.decode())
            token, lasts = told["access_token"], float(told["expires_in"])
            if not isinstance(token, str) or not token.isprintable():
                raise ValueError("no token")
        except BROKEN as error:
            what = "the metadata server gives no token: %s" % printable(type(error).__name__)
            raise Trouble(what) from None
        finally:
            if connection:
                connection.close()
        self.token, self.token_ends = token, now() + lasts

    def ask(self, method, path, content=None, kind=None):
        """(status, content)"""
        headers = {"Content-Type": kind} if kind else {}
        if self.is_google:
            if not self.token or now() > self.token_ends - EARLY:
                self.fetch_token()
            headers["Authorization"] = "Bearer " + self.token
        request = urllib.request.Request(self.endpoint + path, content, headers, method=method)
        try:
            with self.opener.open(request, timeout=TIMEOUT) as answer:
                return answer.status, answer.read(1 << 16)
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 401:
                    self.token = None
                try:
                    return error.code, error.read(1 << 16)
                except (OSError, http.client.HTTPException):
                    return error.code, b""
        except (OSError, ValueError, http.client.HTTPException) as error:
            why = getattr(error, "reason", error)
            host = urllib.parse.urlsplit(self.endpoint).netloc
            raise Trouble("%s: %s" % (host, printable(why or type(error).__name__))) from None

    def insert(self, name, content):
        """True once an object of this name has this content, whoever has written it; False: it has
        another one."""
        about = {"name": name, "contentType": "text/plain; charset=utf-8"}
        about["contentEncoding"] = "gzip"
        digest = md5_of(content)
        if digest:
            about["md5Hash"] = digest
        mark = "podctl-%032x" % random.getrandbits(128)
        body = "--%s\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n%s\r\n" % (
            mark,
            json.dumps(about),
        )
        body += "--%s\r\nContent-Type: text/plain\r\n\r\n" % mark
        body = body.encode() + content + ("\r\n--%s--\r\n" % mark).encode()
        path = "/upload/storage/v1/b/%s/o?uploadType=multipart&ifGenerationMatch=0&fields=name"
        path %= urllib.parse.quote(self.bucket, safe="")
        kind = "multipart/related; boundary=" + mark
        for _ in range(2):
            status, said = self.ask("POST", path, body, kind)
            if status != 401 or not self.is_google:
                break
        if status == 200:
            return True
        if status == 412:
            return self.holds(name, content, digest)
        refused = 400 <= status < 500 and status not in (408, 429)
        raise Trouble("%d %s" % (status, words_of(said)), refused)

    def holds(self, name, content, digest):
        path = "/storage/v1/b/%s/o/%s?fields=size,md5Hash" % (
            urllib.parse.quote(self.bucket, safe=""),
            urllib.parse.quote(name, safe=""),
        )
        status, said = self.ask("GET", path)
        if status == 403:
            # Who may write and not read; the run in the name is nobody else's.
            return True
        if status != 200:
            raise Trouble("%d %s" % (status, words_of(said)), status == 404)
        try:
            about = json.loads(said.decode())
            same = about["size"] == str(len(content))
            return same and (not digest or about.get("md5Hash", digest) == digest)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise Trouble("its answer about an object cannot be read") from None


# ---- The log on this disk.


class Disk:
    """Takes the beginning of a file away without moving the rest."""

    def __init__(self, fd):
        self.fd = fd
        self.works = False
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            self.fallocate = getattr(libc, "fallocate64", libc.fallocate)
        except (OSError, AttributeError):
            return
        self.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
        # Where nothing stands: only whether this file system can.
        self.works = self.punch(1 << 41, BLOCK)

    def punch(self, begin, length):
        return length <= 0 or self.fallocate(self.fd, PUNCH_HOLE, begin, length) == 0


class Shipper:
    """Three threads: one looks at the log, one listens to who has started it, and the one of `run`
    brings the pieces."""

    def __init__(self, folder, bucket, prefix, run, worker):
        self.folder = folder
        self.place = "gs://%s/%s" % (bucket, prefix)
        self.prefix, self.name_of_run, self.worker = prefix, run, int(worker)
        self.bucket = Bucket(bucket)
        self.state = os.open(self.path("shipped"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        fcntl.flock(self.state, fcntl.LOCK_EX)  # an earlier one ends first
        # Open to the end: a later job of the same name has other files at these places.
        self.log = os.open(self.path("log"), os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW)
        self.begin = os.open(self.path("cut"), os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        self.attempts = os.open(
            self.path("attempts"), os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600
        )
        self.disk = Disk(self.log)
        self.changed = threading.Condition()  # guards what follows
        self.kept = self.floor = self.sequence = 0
        self.pending = None  # the piece that is being brought
        self.load()
        self.times = Times(max(self.kept, self.floor))
        self.flush_to = 0  # so far all of it is due
        self.end_by = None  # once nothing more is to come, how long it goes on
        self.over = False  # the job is
        self.gave_up = False
        self.failing_since = None
        self.told = False

    def path(self, name):
        return os.path.join(self.folder, name)

    def tell(self, text):
        line = time.strftime("podctl: %Y-%m-%dT%H:%M:%SZ ", time.gmtime())
        try:
            os.write(self.log, (line + printable(text, 1000) + "\n").encode())
        except OSError:
            pass  # the disk is full

    # -- What is known to the next one.

    def load(self):
        try:
            said = json.loads(os.pread(self.state, ROOM, 0).decode())
            if said["run"] != self.name_of_run:
                return
            self.kept, self.floor = int(said["kept"]), int(said["floor"])
            self.sequence, pending = int(said["sequence"]), said["pending"]
        except (ValueError, KeyError, TypeError, OSError):
            return
        if pending and pending["begin"] >= self.floor:
            length = pending["end"] - pending["begin"]
            pending["data"] = os.pread(self.log, length, pending["begin"])
            if len(pending["data"]) == length:
                self.pending = pending

    def save(self):
        said = {"run": self.name_of_run, "kept": self.kept, "floor": self.floor}
        said["sequence"] = self.sequence
        said["pending"] = None
        if self.pending:
            said["pending"] = {k: v for k, v in self.pending.items() if k != "data"}
        try:
            os.pwrite(self.state, json.dumps(said).encode().ljust(ROOM), 0)
        except OSError:
            pass  # the disk is full: a piece may come twice after a kill, under two names

    # -- The log grows.

    def look(self):
        size = os.fstat(self.log).st_size
        self.times.add(size, int(time.time() * 1000))
        if size - self.floor > BOUND and self.disk.works:
            self.cut(size - KEEP)

    def cut(self, target):
        """From the next line on it stays."""
        try:
            target += os.pread(self.log, ROW, target).find(b"\n") + 1
        except OSError:
            return
        if target > self.kept and not self.gave_up:
            self.gave_up = True
            what = "%s has not taken all of the log, of which no more than %d MiB are kept here"
            self.tell((what + ": its oldest lines are lost") % (self.place, BOUND >> 20))
        if not self.write_cut(target):
            return
        begin = self.floor // BLOCK * BLOCK
        self.floor = target
        if self.pending and self.pending["begin"] < target:
            self.pending = None
        self.save()
        self.times.forget(max(self.kept, self.floor))
        self.disk.punch(begin, target // BLOCK * BLOCK - begin)

    def write_cut(self, offset):
        """Before it is cut, so that nobody reads a hole."""
        try:
            return os.pwrite(self.begin, b"%-31d\n" % offset, 0) == 32
        except OSError:
            return False

    def watch(self):
        while True:
            with self.changed:
                try:
                    self.look()
                except OSError:
                    pass  # a disk that is in trouble
                self.changed.notify_all()
            time.sleep(TICK)

    def listen(self):
        while self.end_by is None:
            try:
                told = os.read(0, 64)
            except OSError:
                told = b""
            with self.changed:
                self.over = b"e" in told
                if self.over or not told:
                    self.flush_to = 1 << 62
                    self.end_by = now() + (LAST_TRIES if self.over else HANDOVER)
                else:
                    self.look()
                    self.flush_to = self.times.end
                self.changed.notify_all()

    # -- Pieces.

    def attempt_of(self, offset):
        """Its number, and where the next one begins; None: there is none yet."""
        attempt, until = 1, None
        try:
            for line in os.pread(self.attempts, 1 << 20, 0).splitlines():
                number, begin = map(int, line.split())
                if begin > offset:
                    until = begin
                    break
                attempt = number
        except (OSError, ValueError):
            pass
        return attempt, until

    def next_piece(self):
        """None: nothing is due."""
        begin = max(self.kept, self.floor)
        size = self.times.end
        if begin >= size:
            return None
        attempt, until = self.attempt_of(begin)
        limit = min(size, begin + PIECE, until or size)
        marks = self.times.between(begin, limit)
        first = marks[0][1]
        for offset, seen in marks:
            if seen - first > SPAN * 1000:
                limit = offset
                break
        closed = limit == until
        age = time.time() * 1000 - first
        ripe = age >= SPAN * 1000 or age < 0  # somebody has set the clock
        if not (ripe or closed or limit < size or begin < self.flush_to):
            return None
        data = os.pread(self.log, limit - begin, begin)
        if len(data) < limit - begin:
            return None  # a log that shrinks is not this one's to mend
        whole = data.rfind(b"\n") + 1
        # The rest of a line comes with its end, where that may still come.
        if whole and not closed and not (limit == size and limit <= self.flush_to):
            data = data[:whole]
        end = begin + len(data)
        return {
            "begin": begin,
            "end": end,
            "attempt": attempt,
            "sequence": self.sequence,
            "marks": [mark for mark in marks if mark[0] < end],
            "data": data,
        }

    def name_of(self, piece):
        first, last = piece["marks"][0][1], piece["marks"][-1][1]
        times = "%s_%s" % tuple(stamp(each, "%Y%m%dT%H%M%S") for each in (first, last))
        return "%s%s_%s_%04d_%05d_%08d_%d_%d.log" % (
            self.prefix,
            times,
            self.name_of_run,
            piece["attempt"],
            self.worker,
            piece["sequence"],
            piece["begin"],
            piece["end"] - piece["begin"],
        )

    def bring(self, piece):
        text = packed(rows(piece["data"], piece["begin"], piece["marks"]))
        name = self.name_of(piece)
        if not self.bucket.insert(name, text):
            self.tell("gs://%s/%s is there, and is not this job's" % (self.bucket.bucket, name))
        with self.changed:
            self.kept = max(self.kept, piece["end"])
            self.sequence = piece["sequence"] + 1
            self.pending = None
            self.times.forget(self.kept)
            self.save()

    def note_failure(self, trouble):
        self.failing_since = self.failing_since or now()
        if self.told or (not trouble.refused and now() - self.failing_since < TELL_AFTER):
            return
        self.told = True
        hint = ""
        if trouble.refused:
            hint = "; the node's service account needs roles/storage.objectCreator there"
        what = "the log is not kept in %s: %s%s; it is tried again"
        self.tell(what % (self.place, trouble, hint))

    def note_success(self):
        if self.told:
            self.tell("the log is kept in %s again" % self.place)
        self.failing_since, self.told = None, False

    def rest(self, seconds):
        """Less where the end comes meanwhile."""
        until, ends = now() + seconds, self.end_by
        with self.changed:
            while now() < until and self.end_by == ends:
                self.changed.wait(max(0.01, until - now()))

    def choose(self):
        """The next piece; None: wait. Ends the program when nothing more is to come."""
        with self.changed:
            if self.end_by is not None:
                self.look()
            if not self.pending:
                self.pending = self.next_piece()
                if self.pending:
                    self.save()
            if not self.pending:
                if self.end_by is not None and max(self.kept, self.floor) >= self.times.end:
                    os._exit(0)
                self.changed.wait(1)
            return self.pending

    def run(self):
        for each in (self.watch, self.listen):
            threading.Thread(target=each, daemon=True).start()
        if not self.disk.works and not self.sequence:
            self.tell("this file system cannot cut a log: it grows as long as the job writes")
        with self.changed:
            self.save()
            self.write_cut(self.floor)  # its room is taken now
        pause = FIRST_PAUSE
        while True:
            piece = self.choose()
            if not piece:
                continue
            try:
                self.bring(piece)
            except Trouble as trouble:
                self.note_failure(trouble)
                if self.end_by is not None and now() + pause > self.end_by:
                    if self.over:
                        what = "the end of the log is not kept in %s: %s"
                        self.tell(what % (self.place, trouble))
                    os._exit(1)
                self.rest(pause * random.uniform(0.75, 1.25))
                pause = min(LONGEST_PAUSE, pause * 2)
                continue
            pause = FIRST_PAUSE
            self.note_success()


def main(folder, bucket, prefix, run, worker):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, lambda *_: None)  # what the job writes while it is ended counts most
    Shipper(folder, bucket, prefix, run, worker).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
