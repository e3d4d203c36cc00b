#!/usr/bin/env python3
"""Runs every block of code of docs/getting-started.md and docs/how-to/*.md, in the order in which they
stand, as a reader types them: each page in a fresh home and folder, on a terminal of 80 columns, with
an emulator of its own.

What becomes of a block says its first line (```LANGUAGE title="..."):

  console                          lines that begin with "$ " are typed, the others must come
  sh                               is typed as a whole, and must end well; what it prints is not shown
  any, title="FILE"                is written to that file
  any, title="FILE, added"         is added at the file's end
  console, title="in another terminal"
                                   is started, and runs on until the page ends; what the block shows
                                   must come
  any, title="not run: REASON"     is not run; the test says how many there are, and why

Any other block is an error, so that nothing stands there which nobody has tried. A command that fails
is an error, unless the next one is `echo $?`, which shows its code. Where a block shows
"Enter a value: yes", that is typed.

What may differ between what a block shows and what comes (and nothing else):

  …                                a line of this alone stands for any lines, or none
  times, durations                 2026-11-20T14:30:02Z, 0.3s, 2m10s
  addresses                        of workers and of this machine, but not ports
  ports                            none, but 8470 and 8889 of this machine are free ones here
  ids                              UUIDs, fingerprints of keys, process ids, tokens, digests
  people                           the user's name where a key or a lock bears it, and the host's
  folders                          the page's folder and home
  the wheel                        that turns beside what is under way
  blanks                           how many there are between two words, as columns are as wide as addresses
  POD/3 |                          lines of several workers may come in any order among each other

  blocks.py --podctl BINARY [--update] [--slow] [PAGE...]

--update writes what came into the pages, in place of what was expected; read the difference. --slow:
pages with `<!-- slow -->` too. Needs Python 3.9 and what the emulator needs.
"""

import argparse
import concurrent.futures
import difflib
import glob
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from terminal import Terminal  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATIENCE = 120  # seconds for one command: a guard against what never ends
# Ports of this machine that pages name: the emulator's, and that of a tunnel. Here each is any free one.
PORTS = ("8470", "8889")

WILDCARDS = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?"), "<time>"),
    (re.compile(r"\b(?:\d+d)?(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)? ?m?s\b"), "<duration>"),
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b"), "<id>"),
    (re.compile(r"\bt1v-n-[0-9a-f]{8}\b"), "t1v-n-<id>"),
    (re.compile(r"SHA256:[A-Za-z0-9+/]{43}"), "<fingerprint>"),
    (re.compile(r"\bsha256:[0-9a-f]+"), "<digest>"),
    (re.compile(r"\btoken=[0-9a-f]+…?"), "token=<token>"),
    (re.compile(r"\b([Pp]id|Process:) *\d+(?: of [^\s,:]+)?"), r"\1 <pid>"),
    (re.compile(r"\b(?!127\.0\.0\.1\b)\d+\.\d+\.\d+\.\d+\b"), "<address>"),
    (re.compile(r"<address>, …( \d+ more)?"), "<address>, …"),  # how many fit depends on their length
    (re.compile(r"ssh-keys\[[^\]]+\]"), "ssh-keys[<user>]"),
    (re.compile(r"(<fingerprint>) [^\s\"]+\""), r"\1 <user>\""),
    (re.compile(r"\b[\w.-]+@[\w.-]+\b"), "<user>@<host>"),
    (re.compile(r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]"), "<wheel>"),
    (re.compile(r"(?<=\S) {2,}"), " "),
)
OF_A_WORKER = re.compile(r"^\S+/[\[\]\d,-]+ +[|!] ")


def normal(line):
    for pattern, text in WILDCARDS:
        line = pattern.sub(text, line)
    return line.rstrip()


def in_any_order(lines):
    """Lines of workers that stand together, sorted."""
    result, group = [], []
    for line in lines + [None]:
        if line is not None and OF_A_WORKER.match(line):
            group.append(line)
            continue
        result += sorted(group)
        group = []
        if line is not None:
            result.append(line)
    return result


def agrees(shown, came):
    """Whether the lines that came are those that were shown, "…" standing for any."""
    shown = in_any_order([normal(line) for line in shown])
    came = in_any_order([normal(line) for line in came])
    # reached[i]: the first i shown lines can be met by what was read so far.
    reached = [True] + [False] * len(shown)
    for i, line in enumerate(shown):
        reached[i + 1] = reached[i] and line.strip() == "…"
    for line in came:
        after = [False] * (len(shown) + 1)
        for i, pattern in enumerate(shown):
            if pattern.strip() == "…":
                after[i + 1] = reached[i + 1] or reached[i] or after[i]
            elif reached[i] and pattern == line:
                after[i + 1] = True
        for i, pattern in enumerate(shown):
            if pattern.strip() == "…" and after[i]:
                after[i + 1] = True
        reached = after
    return reached[-1]


class Block:
    def __init__(self, page, line, language, title, body):
        self.page = page
        self.line = line  # of its first fence, from 1
        self.language = language
        self.title = title
        self.body = body  # lines

    def reason(self):
        """Why it is not run, or ""."""
        return self.title[len("not run: ") :] if self.title.startswith("not run: ") else ""

    def place(self):
        return f"{os.path.relpath(self.page, TOP)}:{self.line}"


class PageError(Exception):
    pass


class Skip(Exception):
    """What this machine cannot do."""


def blocks_of(page, text):
    blocks, inside = [], None
    for number, line in enumerate(text.split("\n"), 1):
        fence = re.match(r"^( *)(```+)(.*)$", line)
        if inside is not None:
            if fence and len(fence.group(2)) >= len(inside[1]) and not fence.group(3).strip():
                blocks.append(inside[0])
                inside = None
            else:
                inside[0].body.append(line)
        elif fence:
            words = fence.group(3).strip()
            match = re.match(r'^(\w+)((?: +\w+="[^"]*")*)$', words)
            if not match or fence.group(1):
                raise PageError(f"{page}:{number}: a block begins with ```LANGUAGE title=\"...\", not indented")
            options = dict(re.findall(r'(\w+)="([^"]*)"', match.group(2)))
            inside = (Block(page, number, match.group(1), options.get("title", ""), []), fence.group(2))
    if inside is not None:
        raise PageError(f"{page}:{inside[0].line}: the block has no end")
    return blocks


def commands_of(block):
    """[(command, the lines that it is to print, their first index in the body)]"""
    found = []
    lines = block.body
    at = 0
    while at < len(lines):
        if not lines[at].startswith("$ "):
            if not found:
                raise PageError(f"{block.place()}: a console block begins with `$ `")
            found[-1][1].append(lines[at])
            at += 1
            continue
        command = [lines[at][2:]]
        while command[-1].endswith("\\") and at + 1 < len(lines):
            at += 1
            command.append(lines[at])
        at += 1
        found.append(("\n".join(command), [], at))
    for _, shown, _ in found:
        while shown and not shown[-1]:
            shown.pop()
    return found


def free_port():
    with socket.socket() as taker:
        taker.bind(("127.0.0.1", 0))
        return taker.getsockname()[1]


WRAPPER = """#!/bin/sh
# podctl as the page means it: its emulator has a port of its own, and its operations are quick.
if [ "$1" = emulator ]; then
  shift
  case " $* " in *" --operation-delay "*) ;; *) set -- --operation-delay 0.2s "$@" ;; esac
  exec {podctl} emulator --listen 127.0.0.1:{port} "$@"
fi
exec {podctl} "$@"
"""

# What a command finds of the one before it, and leaves: variables, folder, exit code.
SESSION = """. {state}/env 2>/dev/null
cd "$(cat {state}/folder 2>/dev/null || echo .)" || exit 125
trap 'podctl_docs_code=$?; export -p >{state}/env; pwd >{state}/folder; exit $podctl_docs_code' EXIT
(exit $(cat {state}/code 2>/dev/null || echo 0))
"""


class Box:
    """A home, a folder and a port of its own, and commands that are typed there one after the other."""

    def __init__(self, podctl, columns=80):
        self.columns = columns
        self.box = tempfile.mkdtemp(prefix="podctl-docs-")
        self.ports = {port: str(free_port()) for port in PORTS}
        self.port = self.ports[PORTS[0]]
        self.running = []
        for folder in ("bin", "home", "pods", "session", "tmp"):
            os.mkdir(os.path.join(self.box, folder))
        wrapper = os.path.join(self.box, "bin", "podctl")
        with open(wrapper, "w", encoding="utf-8") as file:
            file.write(WRAPPER.format(podctl=shlex.quote(podctl), port=self.port))
        os.chmod(wrapper, 0o755)
        self.environment = {
            "HOME": self.inside("home"),
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "PATH": self.inside("bin") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "SHELL": "/bin/bash",
            "TERM": "xterm-256color",
            "TMPDIR": self.inside("tmp"),
        }

    def inside(self, *names):
        return os.path.join(self.box, *names)

    # What the reader types, as it has to be here; and what comes, as the reader sees it.
    def typed(self, text):
        for port, ours in self.ports.items():
            text = re.sub(rf"\b{port}\b", ours, text)
        return text

    def seen(self, text):
        for port, ours in self.ports.items():
            text = re.sub(rf"\b{ours}\b", port, text)
        return text.replace(self.inside("pods"), "~/pods").replace(self.inside("home"), "~")

    def start(self, command):
        script = SESSION.format(state=shlex.quote(self.inside("session"))) + self.typed(command) + "\n"
        return Terminal(["bash", "-c", script], self.environment, self.inside("pods"), self.columns)

    def start_in_background(self, command):
        terminal = self.start("exec " + command)
        self.running.append(terminal)
        return terminal

    def note_port(self, terminal):
        """Who may not bind port 22 is told of another, which a page cannot know."""
        port = re.search(r"Workers answer SSH on port (\d+)\.", terminal.text())
        if port and port.group(1) != "22":
            self.environment["PODCTL_SSH_PORT"] = port.group(1)

    def close(self):
        for terminal in reversed(self.running):
            terminal.end()
        shutil.rmtree(self.box, ignore_errors=True)

    def note_code(self, code):
        with open(self.inside("session", "code"), "w", encoding="utf-8") as file:
            file.write(str(code if code >= 0 else 128 - code))

    def lines_of(self, terminal):
        return [self.seen(line).rstrip() for line in terminal.screen.lines()]


class Page(Box):
    def __init__(self, path, podctl, update):
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self.blocks = blocks_of(path, self.text)
        super().__init__(podctl)
        self.environment["NO_COLOR"] = "1"
        self.path = path
        self.update = update
        self.failures = []
        self.not_run = []
        self.run = 0
        self.changes = []  # (first line index in the page, how many lines, the new ones)

    def fail(self, place, what):
        self.failures.append(f"{place}: {what}")

    def write_file(self, block):
        name, added = re.match(r"^(.*?)(, added)?$", block.title).groups()
        folder = self.inside("pods")
        session = self.inside("session", "folder")
        if os.path.exists(session):
            with open(session, encoding="utf-8") as file:
                folder = file.read().rstrip("\n")
        path = os.path.join(folder, name.replace("~", self.inside("home")))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "a" if added else "w", encoding="utf-8") as file:
            file.write(self.typed("\n".join(block.body) + "\n"))

    def run_script(self, block):
        terminal = self.start("set -e\n" + "\n".join(block.body) + "\nset +e")
        code = terminal.wait(PATIENCE)
        if code != 0:
            self.fail(block.place(), f"ended with {code}\n" + "\n".join(self.lines_of(terminal)))
        self.note_code(code or 0)
        terminal.end()

    def run_console(self, block):
        commands = commands_of(block)
        for index, (command, shown, first) in enumerate(commands):
            terminal = self.start(command)
            if any("Enter a value: yes" in line for line in shown):
                terminal.wait_until(lambda t: "Enter a value:" in t.text(), PATIENCE)
                terminal.send("yes\n")
            code = terminal.wait(PATIENCE)
            came = self.lines_of(terminal)
            terminal.end()
            if code is None:
                self.fail(block.place(), f"`{command}` does not end\n" + "\n".join(came))
                return
            self.note_code(code)
            asked = index + 1 < len(commands) and commands[index + 1][0] == "echo $?"
            if code != 0 and not asked:
                self.fail(block.place(), f"`{command}` ended with {code}\n" + "\n".join(came))
            self.compare(block, command, shown, came, first)

    def run_in_background(self, block):
        commands = commands_of(block)
        if len(commands) != 1:
            raise PageError(f"{block.place()}: one command in another terminal")
        command, shown, first = commands[0]
        terminal = self.start_in_background(command)
        here = lambda t: agrees(shown, self.lines_of(t))  # noqa: E731
        terminal.wait_until(here, PATIENCE if not self.update else 10)
        self.compare(block, command, shown, self.lines_of(terminal), first)
        self.note_port(terminal)
        if "<!-- sshd workers -->" in self.text and "They are light ones" in terminal.text():
            raise Skip("its workers have to be sshd ones, which want a root who may make namespaces")

    def compare(self, block, command, shown, came, first):
        if agrees(shown, came):
            return
        if self.update:
            self.changes.append((block.line + first, len(shown), came))
            return
        difference = difflib.unified_diff(
            in_any_order([normal(line) for line in shown]),
            in_any_order([normal(line) for line in came]),
            "the page",
            "what came",
            lineterm="",
            n=1000,
        )
        self.fail(block.place(), f"`{command}` shows something else\n" + "\n".join(difference))

    def run_block(self, block):
        if block.reason():
            self.not_run.append((block.place(), block.reason()))
            return
        self.run += 1
        if block.language == "console" and block.title == "in another terminal":
            self.run_in_background(block)
        elif block.language == "console" and not block.title:
            self.run_console(block)
        elif block.language == "sh" and not block.title:
            self.run_script(block)
        elif block.title and block.language not in ("console", "text"):
            self.write_file(block)
        else:
            raise PageError(
                f"{block.place()}: neither run nor written, and no title says `not run: REASON`"
            )

    def go(self):
        try:
            for block in self.blocks:
                self.run_block(block)
                if self.failures:  # what comes after it would be about something else
                    break
        finally:
            self.close()
        if self.changes:
            lines = self.text.split("\n")
            for first, count, new in sorted(self.changes, reverse=True):
                lines[first : first + count] = new
            with open(self.path, "w", encoding="utf-8") as file:
                file.write("\n".join(lines))


def pages(names):
    if names:
        return [os.path.abspath(name) for name in names]
    return [os.path.join(TOP, "docs", "getting-started.md")] + sorted(
        glob.glob(os.path.join(TOP, "docs", "how-to", "*.md"))
    )


def run_page(path, options):
    """Whether all went well; said in GoogleTest's words."""
    name = os.path.relpath(path, TOP)
    print(f"[ RUN      ] {name}", flush=True)
    began = time.monotonic()
    try:
        page = Page(path, os.path.abspath(options.podctl), options.update)
        page.go()
        failures, counts = page.failures, f"{page.run} of {len(page.blocks)} blocks run"
    except PageError as error:
        failures, counts = [str(error)], "not understood"
    except Skip as skip:  # `./dev test` repeats it at its end
        print(f"{path}:1: Skipped\n{skip}", flush=True)
        return True
    for failure in failures:
        print(failure)
    word = "[  FAILED  ]" if failures else "[       OK ]"
    print(f"{word} {name}: {counts} ({time.monotonic() - began:.1f} s)", flush=True)
    return not failures


def run_pages(paths, options):
    """Each in a process of its own, a few at a time: they wait more than they work."""
    flags = ["--podctl", options.podctl] + (["--update"] if options.update else [])

    def run(path):
        words = [sys.executable, "-B", os.path.abspath(__file__), *flags, path]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    good = True
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for result in pool.map(run, paths):
            print(result.stdout + result.stderr, end="", flush=True)
            good = good and result.returncode == 0
    return good


def tell_not_run(paths):
    found = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            found += [block for block in blocks_of(path, file.read()) if block.reason()]
    print(f"{len(found)} blocks are not run")
    for block in found:
        print(f"  {block.place()}: {block.reason()}")


def is_slow(path):
    with open(path, encoding="utf-8") as file:
        return "<!-- slow -->" in file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--podctl", required=True)
    parser.add_argument("--update", action="store_true", default=bool(os.environ.get("PODCTL_UPDATE_GOLDEN")))
    parser.add_argument("--slow", action="store_true", default=bool(os.environ.get("PODCTL_TEST_ALL")))
    parser.add_argument("pages", nargs="*")
    options = parser.parse_args()
    paths = pages(options.pages)
    if len(paths) == 1:
        return 0 if run_page(paths[0], options) else 1
    wanted = [path for path in paths if options.slow or not is_slow(path)]
    for path in paths:
        if path not in wanted:  # `./dev test` repeats at its end what was not tested
            name = os.path.relpath(path, TOP)
            print(f"[ RUN      ] {name}\n{path}:1: Skipped\nit takes its time: only with ./dev test --all", flush=True)
    good = run_pages(wanted, options)
    tell_not_run(paths)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
