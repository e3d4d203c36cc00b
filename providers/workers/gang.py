"""The workers of a job live and die together, whether anybody is connected to them or not.

One of these runs on each worker, with Python's standard library alone (3.7 and later). It starts
the job's command there, and tells the others what becomes of it. When one of them fails, each ends
its own processes, all of them; and when all have, they begin the next attempt, if the job is to be
started again.

What they know are facts that only grow, so that it does not matter in which order, how often or by
whom they are told:
  m MEMBER    [attempt, phase, exit code]: the furthest that was told
  b MEMBER    [beat, grown]: it lives, and at which beat its log had last grown
  f ATTEMPT   [when, member, reason, cause, after]: who failed first; the least of those told.
              When: milliseconds since 1970, by that machine's clock; after: since its start there.
              Of a hang who noticed it: nobody knows whose fault that is
  s           who ends the job for good
  h           who tells it is a hub itself
The first two workers are hubs: each worker holds a connection to both, tells them its own facts,
and hears from them all that are known; what it hears of one hub it tells the other, for a link
between these two that is cut. One hub that is gone changes nothing. They speak JSON, a line each,
over TLS, where both sides have the certificate that was made for this run.

Of the two processes on a worker one does all this, the other only waits for the first to be gone:
then it takes its place, ends what is left of the attempt, and tells that.

Where a podctl is connected (an attached run), the command's output and its end go to that one, by a
shell (runs.cpp) that stands beside this program: it watches over it in place of the other process,
and is told how the command ended. From then on this one only passes on what is known, until all
have ended. Beginning again is podctl's to say.

    gang.py JOB_FOLDER               reads and removes gang.json and gang.pem there
    gang.py JOB_FOLDER NEW_FOLDER    of an attached run: reads and removes them and `script` in the
                                     second, which becomes the first before it is told to begin
"""

import asyncio
import errno
import http.client
import json
import logging
import os
import re
import signal
import ssl
import subprocess
import sys
import threading
import time

TICK = 0.1  # seconds between two looks at the command
GATHER = 0.2  # changes within so many seconds are told together
AFTERMATH = 1.0  # for what is to end all the same, to end by itself
PATIENCE = 5.0  # after which one that has not ended is told as waited for
QUICK = 60  # seconds of an attempt after which the next one waits longer
LINGER = 5.0  # how long one that is through goes on telling the others
LONGEST_LINE = 1 << 16
MOST_FACTS = 100  # in a line
MOST_LINES = 4  # connections for each member
ROOM = 1024  # bytes of a file that is written when the disk may be full
KILL_TIME = 5.0  # after KILL, for the kernel to take them away
RUNNING, ENDED, OVER = 1, 2, 3  # phases of an attempt; after the last there is none more
# Of an attached run: descriptors by which the shell beside it is told, and tells; and that by which
# the command's shell is given what it runs.
TOLD, GO, SCRIPT = 5, 6, 9
ENDED_FOR_ANOTHER = 94  # as podctl has it (runs.h)

# By which a connection may end.
BROKEN = (OSError, ValueError, EOFError, RecursionError, asyncio.TimeoutError)


def now():
    return time.monotonic()


def printable(text, most=200):
    return "".join(c if " " <= c <= "~" else "?" for c in str(text))[:most]


def duration(milliseconds):
    """As podctl writes it (FormatDuration), so that a time reads the same wherever it is told."""
    if milliseconds < 10000:
        text = "%.1f" % (milliseconds / 1000.0)
        return (text[:-2] if text.endswith(".0") else text) + "s"
    minutes, seconds = divmod(milliseconds // 1000, 60)
    if minutes < 1:
        return "%ds" % seconds
    if minutes < 60:
        return "%dm%ds" % (minutes, seconds) if seconds else "%dm" % minutes
    hours, minutes = divmod(minutes, 60)
    return "%dh%dm" % (hours, minutes) if minutes else "%dh" % hours


def quietly(words, **options):
    """How a program ended; None: it did not run, or not to its end."""
    nothing = subprocess.DEVNULL
    try:
        return subprocess.call(words, stdin=nothing, stdout=nothing, stderr=nothing, **options)
    except (OSError, subprocess.TimeoutExpired):
        return None


# ---- What is known, and how two accounts of it become one.


class Facts:
    def __init__(self, members):
        self.members = members
        self.known = {}
        self.version = {}  # of each key: the change by which it became what it is
        self.changes = 0

    def sound(self, key, value):
        """Whether this is a fact at all: what comes from another machine may be anything."""
        kind, _, rest = key.partition(" ")

        def numbers(values):
            return all(type(v) is int and 0 <= v < 1 << 50 for v in values)

        if key == "s":
            return isinstance(value, str) and len(value) <= 200
        if not rest.isdigit() or len(rest) > 9 or not isinstance(value, list):
            return False
        if kind in "mb" and int(rest) >= self.members:
            return False
        if kind == "m":
            return len(value) == 3 and numbers(value) and value[1] in (RUNNING, ENDED, OVER)
        if kind == "b":
            return len(value) == 2 and numbers(value)
        return (
            kind == "f"
            and len(value) == 5
            and numbers(value[:2] + value[4:])
            and value[1] < self.members
            and all(isinstance(v, str) and len(v) <= 200 for v in value[2:4])
        )

    def add(self, key, value):
        old = self.known.get(key)
        if old is not None and (value >= old if key[0] in "fs" else value <= old):
            return False
        self.known[key] = value
        self.changes += 1
        self.version[key] = self.changes
        return True

    def since(self, version):
        """In the order in which they became known: who hears of an end knows of its cause by then."""
        later = sorted((at, key) for key, at in self.version.items() if at > version)
        return {key: self.known[key] for _, key in later}

    def member(self, i):
        return self.known.get("m %d" % i, [0, ENDED, 0])

    def failure(self, attempt):
        return self.known.get("f %d" % attempt)


# ---- The processes of the job on this worker.


def stat_of(pid):
    try:
        with open("/proc/%s/stat" % pid, "rb") as file:
            words = file.read().rsplit(b")", 1)[1].split()
    except (OSError, IndexError):
        return None
    if words[0] in (b"Z", b"X"):
        return None
    return {"parent": int(words[1]), "session": int(words[3]), "start": int(words[19])}


def with_children(pids, table, without=frozenset()):
    """These, and all that they have started."""
    all_of_them = set(pids)
    grown = True
    while grown:
        children = {p for p, s in table.items() if s["parent"] in all_of_them}
        children -= all_of_them | without
        grown = bool(children)
        all_of_them |= children
    return all_of_them


class Group:
    """The command of one attempt, and all that it has started, in whatever session. They are known
    by this session, by the mark in their environment, and by their parents; one that was seen once
    stays known by its number and start."""

    def __init__(self, mark, spared):
        self.mark = mark.encode()
        self.spared = spared  # asked, with the table, for processes that are none of it
        self.session = os.getsid(0)
        self.known = set()

    def find(self):
        table = {}
        for pid in os.listdir("/proc"):
            if pid.isdigit():
                stat = stat_of(pid)
                if stat:
                    table[int(pid)] = stat
        spared = self.spared(table)
        found = set()
        for pid, stat in table.items():
            if pid in spared:
                continue
            if (pid, stat["start"]) in self.known or stat["session"] == self.session:
                found.add(pid)
                continue
            try:
                with open("/proc/%d/environ" % pid, "rb") as file:
                    if self.mark in file.read().split(b"\0"):
                        found.add(pid)
            except OSError:
                pass  # another user's, or gone
        found = with_children(found, table, spared)
        self.known = {(pid, table[pid]["start"]) for pid in found}
        return found

    @staticmethod
    def send(pids, number):
        for pid in pids:
            try:
                os.kill(pid, number)
            except PermissionError:
                quietly(["sudo", "-n", "kill", "-%d" % number, str(pid)], timeout=10)
            except OSError:
                pass


# ---- One worker of the gang.


class Gang:
    SAID = []  # of itself, beside what is known
    FILES = ("gang", "began", "exit.new", "over.new", "relays")  # whose room is taken at the start

    def __init__(self, job, config, fds, left=None):
        """`left`: attempt and beginning of what another process of this worker has left."""
        self.job = job
        self.config = config
        self.fds = fds  # of gang.json and gang.pem, which have no name any more
        self.workers = config["workers"]  # [number, address] of each; the first two are the hubs
        self.me = config["me"]  # my place in that list
        self.hubs = list(range(min(2, len(self.workers))))
        self.restart = config["restart"]
        self.taken_over = left is not None
        attempt, self.began = left or (None, now())
        self.attempt = attempt or config["first"]
        self.facts = Facts(len(self.workers))
        self.changed = asyncio.Event()
        self.heard = now()
        self.was_heard = False
        self.progress = {}  # of each member: what its beats told, when, and when its log had grown
        self.grown_before = {}  # of each member: how far its log had grown when that was begun
        self.log_size = self.grown = 0
        self.command = None
        self.died = None  # when it ended by itself, of day
        self.cut = False  # it was still running when it was ended from here
        self.guard = None
        self.to_guard = None
        self.lines = 0  # connections that are held as a hub
        self.left_alone = None  # why nothing is known of the others any more
        self.status = ""
        self.ended_at = None  # when the attempt that failed had ended here
        self.announced = 0  # the attempt that was told last
        self.asked = None  # when somebody began to end it
        self.shipper = None  # ship.py, of a job whose log is kept in a bucket
        self.to_shipper = None
        run = "%s/.podctl/run/%s#%s" % (os.environ["HOME"], config["job"], config["run"])
        self.group = Group("PODCTL_RUN_MARK=" + run, self.spared)

    def path(self, name):
        return os.path.join(self.job, name)

    def name(self, member):
        return "worker %d" % self.workers[member][0]

    # -- Told on this worker.

    def log(self, text):
        try:
            with open(self.path("log"), "ab", buffering=0) as file:
                line = time.strftime("podctl: %Y-%m-%dT%H:%M:%SZ ", time.gmtime())
                file.write((line + printable(text, 1000) + "\n").encode())
                self.log_size = os.fstat(file.fileno()).st_size  # which is no line of the job's
        except OSError:
            pass  # the disk is full; what happened stands in `gang`, too

    def write(self, name, text):
        """Over what stands there, whose room was taken at the start: a disk may be full by now."""
        try:
            fd = os.open(self.path(name), os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                os.pwrite(fd, text.encode().ljust(ROOM, b"\n"), 0)
            finally:
                os.close(fd)
        except OSError:
            pass

    def tell_status(self):
        lines = ["attempt %d %d" % (self.attempt, self.restart["attempts"] + 1)]
        for attempt in (self.attempt, self.attempt - 1):
            failure = self.facts.failure(attempt)
            if failure:
                lines.append(self.first_line(attempt))
                break
        waiting = [self.workers[i][0] for i in self.not_ended()]
        # Not for those that are about to end.
        if waiting and self.ended_at and now() - self.ended_at > PATIENCE:
            lines.append("waiting " + ",".join(map(str, waiting[:50])))
        lines += self.SAID
        text = "\n".join(map(printable, lines)) + "\n"
        if text != self.status:
            self.status = text
            self.write("gang", text)

    def first_line(self, attempt):
        _, member, reason, cause, after = self.facts.failure(attempt)
        who = "-" if reason == "hang" else self.workers[member][0]
        return "first %d %s %d %s %s" % (attempt, who, after, reason, cause)

    def tell_end(self, code):
        for name, text in (("over", ""), ("exit", "%d %d\n" % (code, time.time()))):
            self.write(name + ".new", text)
            try:
                os.rename(self.path(name + ".new"), self.path(name))
            except OSError:
                pass

    # -- What is known.

    def members(self):
        return [self.facts.member(i) for i in range(len(self.workers))]

    def mine(self):
        return self.facts.member(self.me)

    def learn(self, key, value):
        if self.facts.add(key, value) and not key.startswith("b"):
            self.changed.set()
            self.changed = asyncio.Event()
            # At once: who waits for the end sees by it that this worker was told.
            if key == "s" and self.mine()[1] != OVER and not os.path.exists(self.path("ended-by")):
                self.write("ended-by", value + "\n")

    def not_ended(self):
        return [i for i, m in enumerate(self.members()) if m[:2] < [self.attempt, ENDED]]

    def gone_on(self):
        """Others are in a later attempt."""
        return any(m[0] > self.attempt for m in self.members())

    def stopped(self):
        """Who ends the job for good; None: nobody."""
        return self.facts.known.get("s")

    def is_to_end(self):
        """The attempt, if it still runs here."""
        over = [self.attempt, OVER]
        return (
            self.stopped() is not None
            or self.facts.failure(self.attempt) is not None
            or self.gone_on()
            or any(m[:2] == over and m[2] != 0 for m in self.members())
        )

    def fail(self, reason, cause, member=None, when=None):
        """`when`: of day, where that is not now."""
        ago = time.time() - when if when else 0
        after = max(0, int((now() - ago - self.began) * 1000))
        who = self.me if member is None else member
        # By the time of day: one that was begun later than others has lived for less long than they.
        when = int((time.time() - ago) * 1000)
        self.learn("f %d" % self.attempt, [when, who, reason, printable(cause), after])

    def describe(self, attempt):
        _, member, reason, cause, after = self.facts.failure(attempt)
        who = "" if reason == "hang" else self.name(member) + " "
        return "%s%s, %s after the start" % (who, cause, duration(after))

    def announce(self, following, wait):
        if following > self.announced and self.facts.failure(self.attempt):
            self.announced = following
            what = (self.describe(self.attempt), following, self.restart["attempts"] + 1)
            when = " in " + duration(1000 * wait) if wait else ""
            self.log("%s; attempt %d of %d begins%s" % (what + (when,)))

    # -- The connections. Each side proves that it has this run's key.

    def context(self, protocol):
        context = ssl.SSLContext(protocol)
        context.check_hostname = False  # it is the run's certificate, wherever it is shown
        context.verify_mode = ssl.CERT_REQUIRED
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        path = "/proc/self/fd/%d" % self.fds[1]
        context.load_cert_chain(path)
        context.load_verify_locations(path)
        return context

    def is_told(self, key, caller):
        """A hub tells those that call it (`caller`) all but the signs of life, which are for hubs
        alone, and theirs for all; who calls one tells what it is itself, what it knows of the hubs,
        and who ended the attempt or the job."""
        whose = key[2:]
        of_hub = key[0] in "mb" and int(whose) in self.hubs
        if caller:
            return key[0] != "b" or of_hub or caller["is_hub"]
        return self.me in self.hubs or key[0] in "fs" or of_hub or whose == str(self.me)

    async def speak(self, reader, writer, caller=None):
        sent = 0
        listener = asyncio.ensure_future(self.listen(reader, caller))
        try:
            if caller is None and self.me in self.hubs:
                writer.write(b'{"h": 1}\n')
            while not listener.done():
                changed = self.changed
                news = self.facts.since(sent).items()
                news = [(key, value) for key, value in news if self.is_told(key, caller)]
                sent = self.facts.changes
                for at in range(0, max(1, len(news)), MOST_FACTS):
                    writer.write(json.dumps(dict(news[at : at + MOST_FACTS])).encode() + b"\n")
                await asyncio.wait_for(writer.drain(), self.config["silence"])
                await asyncio.sleep(GATHER)
                waiter = asyncio.ensure_future(changed.wait())
                await asyncio.wait(
                    {waiter, listener},
                    timeout=self.config["beat"],
                    return_when=asyncio.FIRST_COMPLETED,
                )
                waiter.cancel()
            listener.result()
        finally:
            listener.cancel()
            writer.close()

    async def listen(self, reader, caller):
        while True:
            line = await reader.readline()
            if not line:
                return
            news = json.loads(line.decode())
            if not isinstance(news, dict):
                raise ValueError("no facts")
            if caller and news.pop("h", None):
                caller["is_hub"] = True
            for key, value in news.items():
                if not self.facts.sound(key, value):
                    raise ValueError("no fact: %s" % printable(key))
                # What I am is mine to say.
                if key[0] in "fs" or key[2:] != str(self.me):
                    self.learn(key, value)
            if not caller:
                self.heard = now()
                self.was_heard = True

    async def accept(self, reader, writer):
        if self.lines >= MOST_LINES * len(self.workers):
            writer.close()
            return
        self.lines += 1
        try:
            await self.speak(reader, writer, {"is_hub": False})
        except BROKEN:
            pass
        finally:
            self.lines -= 1

    async def serve(self):
        """On the first of the run's ports that is free."""
        host = self.workers[self.me][1]
        context = self.context(ssl.PROTOCOL_TLS_SERVER)
        while True:
            for port in self.config["ports"]:
                try:
                    await asyncio.start_server(
                        self.accept, host, port, ssl=context, limit=LONGEST_LINE
                    )
                    return
                except OSError as error:
                    if error.errno == errno.EADDRNOTAVAIL:
                        host = None  # its address is not the machine's own
            await asyncio.sleep(1)

    async def call(self, hub):
        """Holds a connection to a hub, on whichever of the ports it has taken."""
        address = self.workers[hub][1]
        context = self.context(ssl.PROTOCOL_TLS_CLIENT)
        ports = list(self.config["ports"])
        while True:
            for port in list(ports):
                try:
                    reader, writer = await asyncio.wait_for(
                        asyncio.open_connection(address, port, ssl=context, limit=LONGEST_LINE), 5
                    )
                    ports.remove(port)
                    ports.insert(0, port)
                    await self.speak(reader, writer)
                except BROKEN:
                    pass
            await asyncio.sleep(3 * TICK)

    # -- Signs of life.

    def size_of_log(self):
        try:
            return os.stat(self.path("log")).st_size
        except OSError:
            return self.log_size

    def told_growth(self, member):
        return self.facts.known.get("b %d" % member, [0, 0])[1]

    def watch_anew(self):
        self.heard, self.progress = now(), {}
        self.grown_before = {i: self.told_growth(i) for i in range(len(self.workers))}

    async def live(self):
        last = now()
        while True:
            # Who was stopped himself knows of no silence.
            if now() - last > self.config["silence"] / 2:
                self.watch_anew()
            last = now()
            beat = int(now() * 10)  # goes on from where another process of this machine was
            size = self.size_of_log()
            if size != self.log_size:
                self.log_size, self.grown = size, beat
            self.learn("b %d" % self.me, [beat, self.grown])
            if self.is_to_judge():
                self.judge()
            await asyncio.sleep(self.config["beat"])

    def is_to_judge(self):
        """Also who has ended well: others may go on for long."""
        attempt, phase, code = self.mine()
        if attempt != self.attempt or self.is_to_end():
            return False
        return phase == RUNNING or (phase == ENDED and code == 0 and bool(self.not_ended()))

    def judge(self):
        """Who is gone, and whether all of them stand still."""
        silence = self.config["silence"]
        if self.me not in self.hubs:
            if not self.was_heard:
                silence = self.config["assembly"]
            if now() - self.heard > silence:
                hubs = " and ".join(self.name(i) for i in self.hubs)
                what = (hubs, duration(1000 * silence), self.config["ports"][0])
                what = "heard nothing from %s for %s (TCP port %d)" % what
                if self.mine()[1] == RUNNING:
                    self.fail("connection", what)
                else:
                    self.left_alone = what
            return
        grown_at = {}
        for i, member in enumerate(self.members()):
            told = self.facts.known.get("b %d" % i)
            before, since, grown = self.progress.get(i, (None, now(), now()))
            if told != before:
                if before is None or told[1] != before[1]:
                    grown = now()
                since = now()
            self.progress[i] = (told, since, grown)
            grown_at[i] = grown
            patience = silence if told else self.config["assembly"]
            if i != self.me and member[:2] < [self.attempt, ENDED] and now() - since > patience:
                self.fail("connection", "was silent for " + duration(1000 * patience), i)
        hang = self.config["hang"]
        still = [i for i, m in enumerate(self.members()) if m[:2] == [self.attempt, RUNNING]]
        if hang and still and now() - max(grown_at[i] for i in still) > hang:
            last = self.last_to_write(grown_at)
            what = (duration(1000 * hang), last)
            self.fail("hang", "no worker has written a line for %s%s" % what)

    def last_to_write(self, grown_at):
        """Who wrote when the others did not any more, where there is such a one."""
        wrote = [i for i in grown_at if self.told_growth(i) > self.grown_before.get(i, 0)]
        # What is told by signs of life is known as exactly as they come.
        exactly = 2 * (self.config["beat"] + GATHER)
        latest = max((grown_at[i] for i in wrote), default=0)
        last = [i for i in wrote if grown_at[i] >= latest - exactly]
        alone = len(last) == 1 < len(self.workers)
        return " (the last was %s)" % self.name(last[0]) if alone else ""

    # -- One attempt.

    def environment(self):
        environment = dict(os.environ)
        environment["PODCTL_ATTEMPT"] = str(self.attempt)
        environment["PODCTL_JOB"] = self.config["job"]
        name, _, value = self.group.mark.decode().partition("=")
        environment[name] = value
        return environment

    def start_command(self):
        environment = self.environment()
        shell = environment.get("SHELL") or "/bin/sh"
        try:
            log = open(self.path("log"), "ab", buffering=0)
        except OSError:
            log = open(os.devnull, "wb")
        with log:
            self.note_attempt(log)
            self.command = subprocess.Popen(
                [shell, self.path("command")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
            )

    def look_for_end(self):
        """By `podctl kill` on this worker, which ends the processes itself."""
        if not os.path.isdir(self.path("ending")):
            return
        self.asked = self.asked or now()
        if self.stopped() is not None:
            return
        who = self.who_ends()
        if who or now() - self.asked > 1:
            self.learn("s", who or "somebody")

    def who_ends(self):
        try:
            with open(self.path("ended-by"), errors="replace") as file:
                return printable(file.readline().strip())
        except OSError:
            return ""

    async def run_attempt(self):
        """Until nothing of it is left here. Its exit code."""
        self.watch_anew()
        self.log_size = self.size_of_log()  # what it had written before is none of this attempt
        self.command = self.ended_at = self.left_alone = None
        if not self.taken_over:
            self.began = now()
            self.write("began", "%d\n" % self.began)
        code = 0
        self.learn("m %d" % self.me, [self.attempt, RUNNING, 0])
        if self.taken_over:
            self.fail("killed", "lost its supervisor, which was killed")
            self.taken_over = False
            code = 137
        else:
            try:
                self.start_command()
            except OSError as error:
                self.fail("failure", "could not start it: %s" % error.strerror)
                code = 126
        self.tell_status()
        self.died = None
        if self.command:
            threading.Thread(target=self.await_end, args=(self.command,), daemon=True).start()
        due = ended = None
        while self.command:
            ended = self.command.poll()
            self.look_for_end()
            if ended is not None:
                code = 128 - ended if ended < 0 else ended
                break
            if self.is_to_end():
                # When it was ended everywhere, who does that comes to this worker, too.
                due = due or now() + AFTERMATH
                if now() >= due or self.asked:
                    break
            await asyncio.sleep(TICK)
        self.cut = self.command is not None and ended is None
        if code != 0 and not self.is_to_end() and self.asked is None:
            await self.judge_end(code)
        if code != 0 or self.is_to_end():
            await self.end_processes()
            if self.command:
                until = now() + 1
                while self.command.poll() is None and now() < until:
                    await asyncio.sleep(TICK / 10)  # the thread that waits for it takes its code
                ended = self.command.poll()
                ended = -9 if ended is None else ended
                code = 128 - ended if ended < 0 else ended
        self.learn("m %d" % self.me, [self.attempt, ENDED, code])
        self.tell_shipper(b"f")
        self.ended_at = now() if self.facts.failure(self.attempt) else None
        self.tell_status()
        return code

    def await_end(self, command):
        """Who dies of another's end does so within milliseconds: what counts is when, and not when
        somebody looked."""
        command.wait()
        self.died = time.time()

    async def judge_end(self, code):
        reason, cause = "failure", "ended with exit code %d" % code
        if code > 128:
            reason, cause = "killed", "was killed by signal %d (exit code %d)" % (code - 128, code)
        event = await self.aside(event_of_host)
        if event:
            reason, cause = event[0], "%s: %s" % (cause, event[1])
        self.fail(reason, cause, when=self.died)

    @staticmethod
    async def aside(function, *arguments):
        return await asyncio.get_event_loop().run_in_executor(None, function, *arguments)

    async def end_processes(self):
        """TERM, the job's grace, KILL; as the process table has it."""
        grace = self.config["grace"]
        began = now()
        found = await self.aside(self.group.find)
        if self.asked is None:  # else it was told already
            Group.send(found, signal.SIGTERM)
            Group.send(found, signal.SIGCONT)
        container = self.config["container"]
        stopping = asyncio.ensure_future(self.aside(end_container, container, grace))
        while found and now() - began < grace + (KILL_TIME if self.asked else 0):
            await asyncio.sleep(TICK if now() - began < 2 else 0.5)
            if self.command:
                self.command.poll()
            found = await self.aside(self.group.find)
        until = now() + KILL_TIME
        while found and now() < until:
            Group.send(found, signal.SIGKILL)
            await asyncio.sleep(TICK)
            if self.command:
                self.command.poll()
            found = await self.aside(self.group.find)
        await stopping
        if found:
            self.log("%d of its processes could not be ended" % len(found))

    # -- All attempts.

    async def next_attempt(self):
        """What all of them do once mine has ended: its number; None: none any more."""
        cleaned = not self.command or self.mine()[2] != 0
        began, told = now(), False
        while True:
            self.look_for_end()
            members = self.members()
            if self.gone_on():
                return max(m[0] for m in members)
            if self.stopped() is not None or any(m[:2] == [self.attempt, OVER] for m in members):
                return None
            failure = self.facts.failure(self.attempt)
            if failure and self.ended_at is None:
                self.ended_at = now()
            if failure and not cleaned:
                await self.end_processes()  # mine ended well, and may have left something
                cleaned = True
            again = failure and failure[2] in self.restart["on"]
            again = again and self.attempt <= self.restart["attempts"]
            if not self.not_ended():
                return self.attempt + 1 if again and await self.pause() else None
            # Whose part is done, and whom nobody can tell what became of the others': had they to
            # begin again, they would wait for it.
            if self.left_alone:
                self.log("%s, after its part had ended well" % self.left_alone)
                return None
            self.tell_status()
            # Later than the slowest end of what can still be heard.
            late = failure or self.asked
            late = late and now() - began > self.patience()
            if late and not again:
                return None  # nothing would come of the end of who is lost
            if failure and late and not told:
                told = True
                names = ", ".join(self.name(i) for i in self.not_ended()[:20])
                self.log("%s; waiting for %s" % (self.describe(self.attempt), names))
            await asyncio.sleep(TICK)

    def patience(self):
        return self.config["grace"] + 2 * KILL_TIME

    async def pause(self):
        """Attempts that fail quickly follow each other slower and slower."""
        first, most = self.restart["backoff"]
        quick = 0
        while quick < self.attempt:
            failure = self.facts.failure(self.attempt - quick)
            if not failure or failure[4] > QUICK * 1000:
                break
            quick += 1
        wait = min(most, first * 2 ** min(max(0, quick - 1), 20))
        self.announce(self.attempt + 1, wait)
        self.tell_status()
        until = now() + wait
        while now() < until and not self.gone_on():
            self.look_for_end()
            if self.stopped() is not None:
                return False
            await asyncio.sleep(TICK)
        return True

    async def run(self):
        self.reserve()
        tasks = [self.live(), self.keep_guard()]
        if len(self.workers) > 1:
            tasks += [self.serve()] if self.me in self.hubs else []
            tasks += [self.call(hub) for hub in self.hubs if hub != self.me]
        tasks = [asyncio.ensure_future(task) for task in tasks]
        shipping = asyncio.ensure_future(self.keep_shipper())
        while True:
            code = await self.run_attempt()
            following = await self.next_attempt()
            if following is None:
                break
            self.announce(following, 0)
            self.attempt = following
        if self.stopped() is not None:
            await self.end_processes()
            self.log("ended by %s" % self.stopped())
        elif self.facts.failure(self.attempt):
            self.log("%s; so the job ends" % self.describe(self.attempt))
        self.learn("m %d" % self.me, [self.attempt, OVER, code])
        self.tell_status()
        tasks[1].cancel()
        shipping.cancel()
        self.tell_end(code)
        self.end_shipper()
        self.dismiss_guard()
        await self.say_goodbye()
        os._exit(0)  # connections that others hold need no end of their own

    async def say_goodbye(self):
        """What is known here is known to others then; a hub waits for all of them."""
        until = now() + LINGER
        while self.me in self.hubs and now() < until and any(m[1] != OVER for m in self.members()):
            await asyncio.sleep(TICK)
        if len(self.workers) > 1:
            await asyncio.sleep(4 * GATHER)

    def reserve(self):
        for name in self.FILES:
            if not os.path.exists(self.path(name)):
                self.write(name, "")

    # -- Whoever of the two is left goes on.

    def start_guard(self):
        told, self.to_guard = os.pipe()
        fds = self.fds + (told,)
        self.guard = subprocess.Popen(
            [sys.executable, "-I", self.path("gang.py"), self.job] + [str(fd) for fd in fds],
            pass_fds=fds,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(told)
        self.note_helpers()

    def spared(self, table):
        """Of the processes in `table` those that are podctl's, and none of the job."""
        return with_children(self.helpers(), table) | {os.getpid()}

    def helpers(self):
        both = (self.guard, self.shipper)
        return [each.pid for each in both if each and each.returncode is None]

    def note_helpers(self):
        self.write("relays", " ".join(map(str, self.helpers())) + "\n")

    def dismiss_guard(self):
        if self.to_guard is None:
            return  # it was killed, and there is no other yet
        try:
            os.write(self.to_guard, b"over")
        except OSError:
            return
        try:
            self.guard.wait(2)
        except subprocess.TimeoutExpired:
            self.guard.kill()  # somebody has stopped it

    async def keep_guard(self):
        while True:
            self.start_guard()
            while self.guard.poll() is None:
                await asyncio.sleep(TICK)
            os.close(self.to_guard)
            self.to_guard = None
            await asyncio.sleep(1)

    # -- The log is kept elsewhere, too (ship.py). Nothing waits for that.

    def note_attempt(self, log):
        """Where it begins in the log."""
        try:
            with open(self.path("attempts"), "ab", buffering=0) as file:
                file.write(b"%d %d\n" % (self.attempt, os.fstat(log.fileno()).st_size))
        except OSError:
            pass  # the disk is full: its lines are told as the earlier attempt's

    def start_shipper(self):
        logs = self.config["logs"]
        words = [sys.executable, "-I", self.path("ship.py"), self.job, logs["bucket"]]
        words += [logs["prefix"], self.config["run"], str(self.workers[self.me][0])]
        told, self.to_shipper = os.pipe()
        nothing = subprocess.DEVNULL
        try:
            self.shipper = subprocess.Popen(
                words, stdin=told, stdout=nothing, stderr=nothing, start_new_session=True
            )
        except OSError:
            self.shipper = None  # no memory, no process: it is tried again
        os.close(told)
        self.note_helpers()

    async def keep_shipper(self):
        pause = 1
        while self.config.get("logs"):
            began = now()
            self.start_shipper()
            while self.shipper and self.shipper.poll() is None:
                await asyncio.sleep(TICK)
            os.close(self.to_shipper)
            self.to_shipper = None
            # One that cannot even begin is not begun every second.
            pause = 1 if now() - began > QUICK else min(60, 2 * pause)
            await asyncio.sleep(pause)

    def tell_shipper(self, word):
        if self.to_shipper is None:
            return
        try:
            os.write(self.to_shipper, word)
        except OSError:
            pass  # the next one sees for itself

    def end_shipper(self):
        """It brings what is left, and ends by itself."""
        if not self.config.get("logs"):
            return
        if not self.shipper or self.shipper.poll() is not None:
            self.start_shipper()
        self.tell_shipper(b"e")
        if self.shipper:
            Group.send([self.shipper.pid], signal.SIGCONT)  # somebody may have stopped it


# ---- One worker of the gang of an attached run.


class AttachedGang(Gang):
    FILES = ("gang", "began")
    SAID = ["attached"]

    def __init__(self, job, config, fds, shell):
        super().__init__(job, config, fds)
        self.shell = shell  # the number of the one that stands beside it
        self.telling = None  # who failed first
        self.left = False  # how the command ended was told: the job's folder may be another run's

    # -- The shell watches over it, and over what it has started.

    async def keep_guard(self):
        pass

    def dismiss_guard(self):
        pass

    def spared(self, table):
        spared = super().spared(table) | {self.shell}
        pid = os.getppid()
        while pid in table:
            spared.add(pid)
            pid = table[pid]["parent"]
        try:
            with open(self.path("relays")) as file:
                relays = [int(word) for word in file.readline().split()]
        except (OSError, ValueError):
            relays = []
        return spared | with_children(relays, table)

    def look_for_end(self):
        """By podctl on this worker, or by the shell whose connection was lost: both see to the
        processes themselves. Where nobody is named it is podctl's own doing, and comes to all."""
        if self.left:
            return
        if os.getppid() != self.shell:
            self.fail("killed", "lost its supervisor, which was killed")
        if not os.path.isdir(self.path("ending")):
            return
        self.asked = self.asked or now()
        if os.path.exists(self.path("lost")):
            self.fail("connection", "lost its connection to podctl")
            return
        who = self.who_ends()
        if who:
            self.learn("s", who)

    # -- The command: its output is this program's own.

    def environment(self):
        environment = super().environment()
        # Python's own doing, where there is no locale.
        with open("/proc/self/environ", "rb") as file:
            if not any(each.startswith(b"LC_CTYPE=") for each in file.read().split(b"\0")):
                environment.pop("LC_CTYPE", None)
        return environment

    def start_command(self):
        """What it is told to run may be secret: it has no name any more."""
        self.command = subprocess.Popen(
            ["/bin/sh", "/proc/self/fd/%d" % SCRIPT],
            stdin=subprocess.DEVNULL,
            pass_fds=(SCRIPT,),
            env=self.environment(),
        )
        os.close(SCRIPT)

    # -- What podctl is told. Who reads it slowly must not hold up the signs of life.

    def log(self, text):
        if not self.left:
            super().log(text)

    def write(self, name, text):
        if not self.left:
            super().write(name, text)

    def learn(self, key, value):
        super().learn(key, value)
        if self.facts.failure(self.attempt) and not self.telling and not self.left:
            self.telling = asyncio.ensure_future(self.tell_first())

    async def tell_first(self):
        await asyncio.sleep(2 * GATHER)  # of one that failed before that it may be heard now
        self.tell_status()
        line = "podctl-run %s %s\n" % (self.config["run"], self.first_line(self.attempt))
        try:
            await self.aside(os.write, 2, line.encode())
        except OSError:
            pass  # nobody reads it any more

    def answer(self, code):
        """With what the connection ends."""
        failure = self.facts.failure(self.attempt)
        for_another = failure is not None and failure[1] != self.me and self.stopped() is None
        return ENDED_FOR_ANOTHER if self.cut and for_another else code

    async def run_attempt(self):
        code = await super().run_attempt()
        if self.telling:
            await asyncio.wait({self.telling}, timeout=LINGER)
        if self.facts.failure(self.attempt):
            self.log(self.describe(self.attempt))
        try:
            os.write(TOLD, b"%d %d\n" % (code, self.answer(code)))
        except OSError:
            super().tell_end(code)  # the shell, which would do it, is gone
        os.close(TOLD)
        self.left = True
        # The output ends with the command, and not with who still tells others of it.
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        return code

    # -- Afterwards.

    def is_to_judge(self):
        return super().is_to_judge() or bool(self.left and self.not_ended())

    def patience(self):
        # One that podctl ends has nothing to tell that others would wait for.
        return LINGER if self.asked else super().patience()

    async def end_processes(self):
        if not self.left:
            await super().end_processes()

    def tell_end(self, code):
        pass  # it was


def end_container(name, grace):
    for docker in (["docker"], ["sudo", "-n", "docker"]) if name else ():
        if quietly(docker + ["info"], timeout=30) == 0:
            quietly(docker + ["stop", "-t", str(grace), name], timeout=grace + 30)
            return


def event_of_host():
    """(reason, text) where Compute Engine's metadata server knows why this machine's programs end:
    instance/preempted, instance/maintenance-event."""
    host = os.environ.get("GCE_METADATA_HOST")
    if not host:
        try:
            with open("/sys/class/dmi/id/product_name") as file:
                if "Google" not in file.read():
                    return None
        except OSError:
            return None
        host = "169.254.169.254"

    def ask(what):
        connection = http.client.HTTPConnection(host, timeout=1)
        try:
            path = "/computeMetadata/v1/instance/" + what
            connection.request("GET", path, headers={"Metadata-Flavor": "Google"})
            return connection.getresponse().read(100).decode("ascii", "replace").strip()
        except (OSError, ValueError, http.client.HTTPException):
            return ""
        finally:
            connection.close()

    if ask("preempted") == "TRUE":
        return "preemption", "this machine is being preempted"
    event = ask("maintenance-event")
    if event != "NONE" and re.fullmatch("[A-Z_]+", event):
        return "maintenance", event
    return None


def say_who_leads(job):
    """Where podctl looks for it: its number, its start, and the boot that these belong to."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        boot = file.read().strip()
    text = "%d %d %s\n" % (os.getpid(), stat_of(os.getpid())["start"], boot)
    path = os.path.join(job, "pid")
    try:
        with open(path + ".new", "w") as file:
            file.write(text)
        os.rename(path + ".new", path)
    except OSError:
        # The disk is full: over what stands there, whose first line is read.
        with open(path, "r+") as file:
            file.write(text.ljust(os.fstat(file.fileno()).st_size, "\n"))


def take_file(path):
    """Open, and without a name from here on."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    os.unlink(path)
    return fd


def left_in(job):
    """Attempt and beginning of what was run there; an attempt of None: nobody wrote it down."""
    try:
        with open(os.path.join(job, "gang")) as status, open(os.path.join(job, "began")) as began:
            return int(status.readline().split()[1]), float(began.readline())
    except (OSError, ValueError, IndexError):
        return None, now()


def read_config(fds):
    with open("/proc/self/fd/%d" % fds[0]) as file:
        return json.load(file)


async def lead(job, fds, left):
    await Gang(job, read_config(fds), fds, left).run()


def attach(job, new):
    """Makes itself ready, and begins when it is told that all are."""
    shell = os.getppid()
    fds = take_file(os.path.join(new, "gang.json")), take_file(os.path.join(new, "gang.pem"))
    script = take_file(os.path.join(new, "script"))
    os.dup2(script, SCRIPT, inheritable=False)
    os.close(script)
    config = read_config(fds)
    os.write(TOLD, b"ready\n")
    with os.fdopen(GO) as go:
        if go.readline() != "go\n":
            return

    logging.disable()  # what asyncio has to say of a connection is no output of the job

    async def begin():
        await AttachedGang(job, config, fds, shell).run()

    asyncio.run(begin())


def main(job, *given):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, lambda *_: None)  # a signal to the group is for the command
    if len(given) == 1:
        return attach(job, *given)
    left = None
    if given:
        *fds, watched = map(int, given)
        if os.read(watched, 1) or os.path.exists(os.path.join(job, "exit")):
            return
        os.close(watched)
        fds = tuple(fds)
        left = left_in(job)
    else:
        fds = take_file(os.path.join(job, "gang.json")), take_file(os.path.join(job, "gang.pem"))
    say_who_leads(job)
    asyncio.run(lead(job, fds, left))


if __name__ == "__main__":
    main(*sys.argv[1:])
