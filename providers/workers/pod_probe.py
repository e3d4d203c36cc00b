"""What a worker tells of itself, and of the way to its neighbours, when podctl probes a pod.

One of these runs on each worker at the same time, for some seconds, with Python's standard library
alone (3.7 and later). It comes by standard input, stays in no file, and leaves nothing behind: its
port is shut and its processes are gone when it ends. Behind it on standard input come a line of
JSON, what it is to do, and a line "go". Where podctl watches, the input stays open; its end means
that nobody waits for the answer any more, and everything is ended.

Who calls another worker and who is called show each other that they know the run's secret (HMAC
over both sides' random numbers); what goes over the connection after that is zeros, to be counted.

The answer is lines on standard output, as pod_probe.h describes them.
"""

import errno
import hashlib
import hmac
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

STAGED = "podctl-run staged"  # on standard error: it is ready, and waits for the line
NOT_STARTED = 93  # exit code when another line came
CONNECT = 3.0  # seconds for one try to connect
ANSWER = 5.0  # for one line of a neighbour
LONGEST_LINE = 400
CHUNK = 1 << 20
POUR_BYTES = 64 << 20  # to one neighbour, or for as long as
POUR_TIME = 2.0
SLOW = 1000000  # kbit/s; less is measured once more
MEASUREMENTS = 2
LAST, MORE = 0, 1  # how a chunk begins
EGRESS = 8.0  # for a name to be found and a connection to be made
PACKAGES = 30.0
END_GRACE = 10.0  # from TERM to KILL; libtpu dislikes a KILL
KILL_TIME = 5.0
MOST_WORDS = 300

# What the workers of a pod should have alike.
NAMES = (
    "jax jaxlib libtpu libtpu_nightly torch torch_xla tensorflow tensorflow_tpu flax numpy"
).split()
MODULES = "tpu_common gasket apex accel vfio_pci".split()

# For the Python whose packages are told: it looks for them, and imports none.
LOOK_FOR_PACKAGES = r"""
import os, re, sys
print("python", ".".join(map(str, sys.version_info[:3])))
seen = set()
for folder in sys.path:
    try:
        names = sorted(os.listdir(folder)) if folder else []
    except OSError:
        continue
    for name in names:
        found = re.match(r"([A-Za-z0-9_.-]+?)-([0-9][^-]*)(?:-[^/]*)?\.(?:dist|egg)-info$", name)
        if not found:
            continue
        package = found.group(1).lower().replace("-", "_").replace(".", "_")
        if package not in seen:
            seen.add(package)
            print("package", package, found.group(2))
"""

# For the Python that has JAX: it says how far it has come.
COLLECTIVE = r"""
import inspect, sys
def say(*words):
    print("stage", *words, flush=True)
address, count, me, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
say("import")
import jax
import jax.numpy as jnp
say("join")
if count > 1:
    more = {}
    if "initialization_timeout" in inspect.signature(jax.distributed.initialize).parameters:
        more["initialization_timeout"] = limit
    jax.distributed.initialize(address, num_processes=count, process_id=me, **more)
say("devices")
mine = jax.local_devices()
everybody = jax.device_count()
say("sum")
if hasattr(jax, "pmap"):
    ones = jnp.ones((len(mine),), dtype=jnp.int32)
    total = jax.pmap(lambda x: jax.lax.psum(x, "all"), axis_name="all")(ones)[0]
else:
    from jax.experimental import multihost_utils
    total = multihost_utils.process_allgather(jnp.array([len(mine)])).sum()
say("done", jax.process_count(), everybody, len(mine), mine[0].platform, int(total))
"""

TELL = threading.Lock()


def now():
    return time.monotonic()


def printable(text, most=MOST_WORDS):
    return "".join(c if " " <= c <= "~" else "?" for c in str(text))[:most]


def tell(*words):
    with TELL:
        try:
            sys.stdout.write(" ".join(map(printable, words)) + "\n")
            sys.stdout.flush()
        except (OSError, ValueError):
            leave(1)  # nobody reads it any more


def say_aside(text):
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        leave(1)


def words_of(error):
    """Why a connection did not come about, in a word or few that read the same everywhere."""
    if isinstance(error, socket.timeout):
        return "timed out"
    if isinstance(error, socket.gaierror):
        return "its name is not known"
    known = {
        errno.ECONNREFUSED: "refused",
        errno.ECONNRESET: "was reset",
        errno.ETIMEDOUT: "timed out",
        errno.EHOSTUNREACH: "no route",
        errno.ENETUNREACH: "no route",
    }
    number = getattr(error, "errno", None)
    return known.get(number) or printable(getattr(error, "strerror", None) or error, 100)


# ---- What was started here ends here.

CHILDREN = []  # of which each leads a session of its own
LEAVING = threading.Lock()
LOCK_FILE = "/tmp/libtpu_lockfile"
OURS = []  # LOCK_FILE, from when a process of ours may have made it


def session_of(pid):
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            words = file.read().rsplit(b")", 1)[1].split()
    except (OSError, IndexError):
        return None
    return None if words[0] in (b"Z", b"X") else int(words[3])


def members_of(session):
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in pids if session_of(pid) == session]


def end(child, grace=END_GRACE):
    """TERM, a wait, KILL for all of its session; how many are left of it by then."""
    for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, KILL_TIME)):
        found = members_of(child.pid)
        for pid in found:
            try:
                os.kill(pid, number)
            except OSError:
                pass
        until = now() + patience
        while found and now() < until:
            time.sleep(0.05)
            child.poll()
            found = members_of(child.pid)
        if not found:
            child.poll()
            return 0
    return len(found)


def is_open(path):
    """As far as we may see; the file is our user's, and so is who has it open."""
    for name in os.listdir("/proc"):
        folder = "/proc/%s/fd" % name
        try:
            files = os.listdir(folder) if name.isdigit() else []
        except OSError:
            continue
        for file in files:
            try:
                if os.readlink(folder + "/" + file) == path:
                    return True
            except OSError:
                pass
    return False


def drop_lock():
    """libtpu's, of a process that was ended before it could do so; nobody else's."""
    for path in OURS:
        try:
            if os.lstat(path).st_uid == os.getuid() and not is_open(path):
                os.unlink(path)
        except OSError:
            pass


def leave(code):
    """At once, also where threads wait for something; nothing is left running."""
    with LEAVING:
        for child in list(CHILDREN):
            end(child, 3.0)
        drop_lock()
        os._exit(code)


def start(words, **options):
    with LEAVING:  # else one that is being started would be left behind
        child = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, start_new_session=True, cwd="/", **options
        )
        CHILDREN.append(child)
    return child


def drop(child):
    """How many of its processes could not be ended."""
    left = end(child)
    if left == 0:
        CHILDREN.remove(child)
    return left


def watch_input():
    try:
        while os.read(0, 4096):
            pass
    except OSError:
        pass
    leave(1)


# ---- Facts of this machine.


def first_line(path):
    try:
        with open(path, errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return ""


def tell_machine():
    tell("kernel", os.uname().release)
    for module in MODULES:
        folder = "/sys/module/" + module
        version = first_line(folder + "/version") or first_line(folder + "/srcversion")
        version = re.sub("[^A-Za-z0-9.+!_:~ -]", "_", version)[:100]
        if version[:1].isalnum():
            tell("driver", module, version)
    devices = os.listdir("/dev")
    tell("accel", sum(1 for name in devices if re.fullmatch("accel[0-9]+", name)))
    try:
        tell("vfio", sum(1 for name in os.listdir("/dev/vfio") if name.isdigit()))
    except OSError:
        pass
    if "Google" in first_line("/sys/class/dmi/id/product_name"):
        tell("google")
    for path in ("/usr/lib/libtpu.so", "/lib/libtpu.so"):
        try:
            tell("package", "libtpu.so", "%d-bytes" % os.stat(path).st_size)
            break
        except OSError:
            pass


def tell_packages(python):
    try:
        child = start(
            [os.path.expanduser(python), "-c", LOOK_FOR_PACKAGES],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        tell("no-python", words_of(error))
        return
    try:
        text = child.communicate(timeout=PACKAGES)[0].decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        text = ""
    drop(child)
    lines = [line.split() for line in text.splitlines()]
    if not any(words[:1] == ["python"] for words in lines):
        tell("no-python", "it does not answer")
        return
    for words in lines:
        if words[0] == "python" and len(words) == 2:
            tell(*words)
        elif words[0] == "package" and len(words) == 3 and words[1] in NAMES:
            if re.fullmatch("[A-Za-z0-9][A-Za-z0-9.+!_-]{0,99}", words[2]):
                tell(*words)


def tell_egress(host, port):
    proxy = os.environ.get("https_proxy") or os.environ.get("HTTPS_PROXY")
    if proxy:
        tell("egress", host, port, "proxy")
        return
    outcome = ["timed out"]

    def reach():
        began = now()
        outcome[0] = "its name was not told in time"
        try:
            found = socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM)
            found.sort(key=lambda entry: entry[0] != socket.AF_INET)
            outcome[0] = "timed out"
            for family, kind, protocol, _, address in found[:2]:
                line = socket.socket(family, kind, protocol)
                line.settimeout(CONNECT)
                try:
                    line.connect(address)
                    outcome[0] = "ok %d" % ((now() - began) * 1000)
                    return
                except OSError as error:
                    outcome[0] = words_of(error)
                finally:
                    line.close()
        except (OSError, UnicodeError) as error:
            outcome[0] = words_of(error)

    seeker = threading.Thread(target=reach, daemon=True)
    seeker.start()
    seeker.join(EGRESS)
    words = outcome[0]
    tell("egress", host, port, *([words] if words.startswith("ok ") else ["failed", words]))


# ---- Neighbours.


class Stranger(Exception):
    pass


class Line:
    """A connection, and what was read of it beyond the last line."""

    def __init__(self, connection):
        self.connection = connection
        self.rest = b""

    def send(self, *words):
        self.connection.sendall(" ".join(map(str, words)).encode() + b"\n")

    def read(self):
        while b"\n" not in self.rest:
            more = self.connection.recv(LONGEST_LINE)
            if not more:
                raise Stranger("ended early")
            self.rest += more
            if len(self.rest) > LONGEST_LINE and b"\n" not in self.rest:
                raise Stranger("is somebody else's")
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode("ascii", "replace").split(" ")

    def fill(self, block):
        at = min(len(self.rest), len(block))
        block[:at], self.rest = self.rest[:at], self.rest[at:]
        while at < len(block):
            got = self.connection.recv_into(block[at:])
            if not got:
                raise Stranger("ended early")
            at += got


class Neighbours:
    def __init__(self, config):
        self.me = config["me"]
        self.address = config["address"]
        self.ports = config["ports"]
        self.secret = config["secret"].encode()
        self.calls = config["calls"]  # [place, address] of each that this one calls
        self.callers = set(config["callers"])  # the places of those that call it
        self.patience = config["patience"]
        self.came = set()
        self.news = threading.Condition()
        self.serving = 0
        self.listener = None
        self.until = None  # set with the line "go"

    def proof(self, side, caller, called, nonces, more=""):
        text = " ".join([side, str(caller), str(called)] + nonces + [str(more)])
        return hmac.new(self.secret, text.encode(), hashlib.sha256).hexdigest()

    def listen(self):
        """On the first of the run's ports that is free. Why not; None: it does."""
        host, why = self.address, "there are no ports"
        for port in self.ports + self.ports:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            listener = socket.socket(family, socket.SOCK_STREAM)
            try:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind((host, port))
                listener.listen(64)
            except OSError as error:
                listener.close()
                why = words_of(error)
                if error.errno == errno.EADDRNOTAVAIL:
                    host = "::" if ":" in host else ""  # it is not the machine's own
                continue
            self.listener = listener
            threading.Thread(target=self.accept, daemon=True).start()
            return None
        return why

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with self.news:
                if self.serving >= 4 * len(self.callers) + 16:
                    connection.close()
                    continue
                self.serving += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        caller = None
        try:
            connection.settimeout(ANSWER)
            line = Line(connection)
            mark, caller, called, theirs = line.read()
            caller = int(caller)
            if mark != "podctl-probe" or int(called) != self.me or caller not in self.callers:
                raise Stranger("is somebody else's")
            nonces = [theirs, os.urandom(16).hex()]
            clock = int(time.time() * 1000)
            line.send(nonces[1], clock, self.proof("called", caller, self.me, nonces, clock))
            proof, word = line.read()
            wanted = self.proof("caller", caller, self.me, nonces, word)
            if not hmac.compare_digest(proof, wanted):
                raise Stranger("has another secret")  # the caller has said so already
            for _ in range(MEASUREMENTS):
                if word != "pour":
                    break
                line.send(self.take(line))
                (word,) = line.read()
            line.send("welcome")
            with self.news:
                self.came.add(caller)
                self.news.notify_all()
        except (OSError, ValueError, Stranger):
            pass
        finally:
            connection.close()
            with self.news:
                self.serving -= 1

    @staticmethod
    def take(line):
        block = memoryview(bytearray(CHUNK))
        count = 0
        while count < 2 * POUR_BYTES:
            line.fill(block)
            count += CHUNK
            if block[0] == LAST:
                break
        return count

    def call(self, place, address, pours):
        """Until it was reached, or patience is at an end."""
        why, foreign = "timed out", None
        while now() < self.until:
            for port in self.ports:
                limit = min(CONNECT, self.until - now())
                if limit <= 0:
                    break
                try:
                    with socket.create_connection((address, port), limit) as connection:
                        told = self.speak(connection, place, pours)
                    tell("peer", place, "ok", port, *told)
                    return
                except Stranger as error:
                    foreign = "TCP port %d %s" % (port, error)
                except OSError as error:
                    why = words_of(error)
                except ValueError:
                    foreign = "TCP port %d is somebody else's" % port
            time.sleep(0.2)
        tell("peer", place, "failed", foreign or why)

    def speak(self, connection, place, pours):
        """[its clock less mine in ms, the way there and back in us, kbit/s or 0]"""
        connection.settimeout(ANSWER)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        line = Line(connection)
        nonces = [os.urandom(16).hex()]
        began, wall = now(), time.time()
        line.send("podctl-probe", self.me, place, nonces[0])
        theirs, clock, proof = line.read()
        way = now() - began
        nonces.append(theirs)
        wanted = self.proof("called", self.me, place, nonces, clock)
        if not hmac.compare_digest(proof, wanted):
            raise Stranger("has another secret")
        offset = int(clock) - (wall + way / 2) * 1000
        word = "pour" if pours else "enough"
        line.send(self.proof("caller", self.me, place, nonces, word), word)
        rate = 0
        for left in reversed(range(MEASUREMENTS if pours else 0)):
            rate = max(rate, self.measure(line))
            again = left > 0 and rate < SLOW  # both may have been busy
            line.send("pour" if again else "enough")
            if not again:
                break
        line.read()  # it knows that it was reached
        return [int(offset), int(way * 1e6), rate]

    @staticmethod
    def measure(line):
        """kbit/s"""
        began, sent, over = now(), 0, False
        while not over:
            over = sent + CHUNK >= POUR_BYTES or now() - began > POUR_TIME
            line.connection.sendall(bytes([LAST if over else MORE]) + bytes(CHUNK - 1))
            sent += CHUNK
        count = int(line.read()[0])
        if count != sent:
            raise Stranger("took %d of %d bytes" % (count, sent))
        return int(count * 8 / 1000 / max(now() - began, 1e-6))

    def meet(self):
        self.until = now() + self.patience
        callers = []
        for number, (place, address) in enumerate(self.calls):
            # The first one is the next in the ring, whom it measures.
            words = (place, address, number == 0)
            callers.append(threading.Thread(target=self.call, args=words, daemon=True))
            callers[-1].start()
        for caller in callers:
            caller.join()
        # Others may still come, who had to wait.
        until = self.until + 2 * POUR_TIME + 1
        with self.news:
            while self.came < self.callers and now() < until:
                self.news.wait(until - now())
            for place in sorted(self.came):
                tell("came", place)
        self.listener.close()


# ---- The collective.


def tell_collective(config):
    words = [
        os.path.expanduser(config["python"]),
        "-c",
        COLLECTIVE,
        config["coordinator"],
        str(config["count"]),
        str(config["me"]),
        str(max(5, config["seconds"] * 2 // 3)),
    ]
    environment = dict(os.environ)
    environment.update(config["env"])
    began = now()
    if not os.path.lexists(LOCK_FILE):
        OURS.append(LOCK_FILE)
    try:
        child = start(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    except OSError as error:
        tell("failed", 0, words_of(error))
        return
    last, done = [""], threading.Event()

    def listen():
        for line in child.stdout:
            said = line.decode("utf-8", "replace").split()
            if said[:1] == ["stage"] and len(said) > 1:
                tell("stage", said[1], int((now() - began) * 1000), *said[2:])
                if said[1] == "done":
                    done.set()

    def listen_aside():
        for line in child.stderr:
            said = line.decode("utf-8", "replace").strip()
            if said:
                last[0] = said

    readers = [threading.Thread(target=read, daemon=True) for read in (listen, listen_aside)]
    for reader in readers:
        reader.start()
    until = began + config["seconds"]
    while now() < until and child.poll() is None and not done.is_set():
        time.sleep(0.05)
    code = child.poll()
    if done.is_set() and code is None:
        try:
            code = child.wait(END_GRACE)  # it takes leave of the others
        except subprocess.TimeoutExpired:
            pass
    left = drop(child)
    for reader in readers:
        reader.join(1)
    after = int((now() - began) * 1000)
    if left:
        tell("left", left)
    if done.is_set():
        return
    if code is None:
        tell("waited", after)
    else:
        how = "signal %d" % -code if code < 0 else "exit code %d" % code
        tell("failed", after, "%s: %s" % (how, last[0]) if last[0] else how)


# ---- All of it.


def probe(config, neighbours, no_port):
    jobs = [
        threading.Thread(target=tell_egress, args=tuple(target), daemon=True)
        for target in config["egress"]
    ]
    jobs.append(threading.Thread(target=tell_packages, args=(config["python"],), daemon=True))
    if neighbours and neighbours.listener:
        jobs.append(threading.Thread(target=neighbours.meet, daemon=True))
    for job in jobs:
        job.start()
    tell_machine()
    if no_port:
        tell("no-port", no_port)
    for job in jobs:
        job.join()


def main():
    given = sys.stdin.buffer
    config = json.loads(given.readline().decode())
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        # Not in the handler, which may have come in the middle of anything.
        signal.signal(number, lambda *_: threading.Thread(target=leave, args=(1,)).start())
    signal.alarm(config["total"])
    neighbours = no_port = None
    if config["mode"] == "neighbours" and (config["calls"] or config["callers"]):
        neighbours = Neighbours(config)
        no_port = neighbours.listen()
    say_aside(STAGED)
    if given.readline() != b"go\n":
        leave(NOT_STARTED)
    say_aside("podctl-pod-probe clock %d" % (time.time() * 1000))
    if config["watched"]:
        threading.Thread(target=watch_input, daemon=True).start()
    tell("podctl-pod-probe 1")
    if config["mode"] == "collective":
        tell_collective(config)
    else:
        probe(config, neighbours, no_port)
    tell("end")
    leave(0)


main()
