#!/usr/bin/env python3
"""Makes the screens of the manual, docs/images/*.svg, from real runs: podctl on a terminal of 80 columns,
with an emulator and its workers. Text, so that they are small, sharp on every screen, and can be compared.

  screens.py --podctl BINARY [--check] [NAME...]

--check: makes them anew, changes nothing, and says where one shows something else by now (but for what may
differ between two runs: see blocks.py); all of them with PODCTL_TEST_ALL=1 only. Needs Python 3.9 and what the emulator needs.
"""

import argparse
import html
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from blocks import PATIENCE, TOP, Box, agrees  # noqa: E402

FOLDER = os.path.join(TOP, "docs", "images")

SPEC = """project: my-project
zone: us-central2-b
pods:
  big:
    acceleratorType: v4-128
    runtimeVersion: tpu-ubuntu2204-base
    networkConfig: {enableExternalIps: true}
    labels: {team: vision}
"""
FLAGS = """project: my-project
zone: europe-west4-a
pods:
  research:
    acceleratorType: v3-32
    runtimeVersion: tpu-vm-tf-2.11.0-pod
    networkConfig: {enableExternalIps: true}
    libtpuFlags: {xla_jf_conv_full_precision: true}
"""
HOLD = (
    "curl -fsS http://127.0.0.1:8470/emulator/workers --json "
    "'{\"node\": \"projects/my-project/locations/europe-west4-a/nodes/research\", \"worker\": 2, \"action\": \"hold-tpu\"}'"
)


# So that the screen is about the pod, and not about who gets in.
KEY = "ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519"
QUIET = "    ssh: {publishKey: false, check: false}\n"


class Scene:
    """`before` is typed and not shown; the screen has `command` and what it shows, at its end or, with `until`,
    as soon as that stands there."""

    def __init__(self, name, spec, before, command, until="", emulator="--workers light"):
        self.name = name
        self.spec = spec
        self.before = before
        self.command = command
        self.until = until
        self.emulator = emulator


SCENES = (
    Scene("diagnostic", FLAGS.replace("runtimeVersion", "runtimeVerson"), [], "podctl validate"),
    Scene("plan", FLAGS + QUIET, [KEY], "podctl plan"),
    Scene("apply", SPEC + QUIET, [KEY], "podctl apply --auto-approve", until="Creating 2s", emulator="--workers light --operation-delay 3s"),
    Scene(
        "flag",
        FLAGS,
        ["podctl apply --auto-approve", "sed -i 's/precision: true/precision: false/' podctl.yaml"],
        "podctl plan",
    ),
    Scene(
        "exec",
        SPEC,
        [
            "podctl apply --auto-approve",
            "podctl exec big -- 'echo jax 0.9.1 > version'",
            "podctl exec big --worker 9 -- 'echo jax 0.8.0 > version'",
        ],
        "podctl exec big --gather -- cat version",
    ),
    Scene("doctor", FLAGS, ["podctl apply --auto-approve", HOLD], "podctl doctor research", emulator="--workers sshd"),
    Scene("status", SPEC, ["podctl apply --auto-approve"], "podctl status"),
)

# ---- A screen as SVG.

SIZE, WIDTH, HEIGHT, EDGE = 14, 8.4, 20, 16
GROUND, INK = "#1b1f27", "#d7dce4"
COLORS = {31: "#ff7b86", 32: "#8fd48a", 33: "#e8c46b", 36: "#7cc7e8", 90: "#8a93a3"}


def runs_of(row):
    """[(first column, text, style)] of one row, without the blanks around; several blanks part two, as a
    browser would show one of them."""
    runs = []
    for column, (character, style) in enumerate(row):
        if runs and runs[-1][2] == style and runs[-1][0] + len(runs[-1][1]) == column:
            runs[-1] = (runs[-1][0], runs[-1][1] + character, style)
        else:
            runs.append((column, character, style))
    return [
        (column + match.start(), match.group(0), style)
        for column, text, style in runs
        for match in re.finditer(r"\S+(?: \S+)*", text)
    ]


def svg_of(title, command, rows, columns):
    rows = [[(character, frozenset([1])) for character in "$ " + command], *rows]
    while rows and not runs_of(rows[-1]):
        rows.pop()
    width = round(columns * WIDTH + 2 * EDGE)
    height = len(rows) * HEIGHT + 2 * EDGE
    text = "\n".join("".join(character for character, _ in row).rstrip() for row in rows)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{html.escape(title, False)}</title>",
        f"<desc>{html.escape(text, False)}</desc>",
        f'<rect width="{width}" height="{height}" rx="6" fill="{GROUND}"/>',
        f'<g font-family="ui-monospace, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="{SIZE}" fill="{INK}">',
    ]
    for number, row in enumerate(rows):
        line = []
        for column, words, style in runs_of(row):
            look = f' x="{EDGE + column * WIDTH:g}" textLength="{len(words) * WIDTH:g}"'
            color = next((COLORS[each] for each in sorted(style) if each in COLORS), None)
            if color:
                look += f' fill="{color}"'
            if 1 in style:
                look += ' font-weight="bold"'
            if 2 in style:
                look += ' opacity="0.65"'
            line.append(f"<tspan{look}>{html.escape(words, False)}</tspan>")
        if line:
            out.append(f'<text y="{EDGE + number * HEIGHT + SIZE}">' + "".join(line) + "</text>")
    return "\n".join(out) + "\n</g>\n</svg>\n"


def text_of(svg):
    match = re.search(r"<desc>(.*?)</desc>", svg, re.S)
    return html.unescape(match.group(1)).split("\n") if match else []


# ---- Runs.


class Trouble(Exception):
    pass


class Skip(Exception):
    pass


def play(scene, podctl):
    """(rows of the screen, columns)"""
    box = Box(podctl)
    try:
        emulator = box.start_in_background("podctl emulator " + scene.emulator)
        if not emulator.wait_until(lambda t: "ready http" in t.text(), PATIENCE):
            raise Trouble(f"{scene.name}: the emulator does not start\n{emulator.text()}")
        if "sshd" in scene.emulator and "They are light ones" in emulator.text():
            raise Skip(scene.name)
        box.note_port(emulator)
        os.mkdir(box.inside("home", ".ssh"), 0o700)
        box.environment["PODCTL_ENDPOINT"] = f"http://127.0.0.1:{box.port}"
        with open(box.inside("pods", "podctl.yaml"), "w", encoding="utf-8") as file:
            file.write(scene.spec)
        for command in scene.before:
            terminal = box.start(command)
            code = terminal.wait(PATIENCE)
            terminal.end()
            if code != 0:
                raise Trouble(f"{scene.name}: `{command}` ended with {code}\n{terminal.text()}")
        terminal = box.start(scene.command)
        if scene.until:
            if not terminal.wait_until(lambda t: scene.until in t.text(), PATIENCE):
                raise Trouble(f"{scene.name}: `{scene.until}` does not come\n{terminal.text()}")
            rows = [list(row) for row in terminal.screen.rows]
            terminal.wait(PATIENCE)
        else:
            terminal.wait(PATIENCE)
            rows = [list(row) for row in terminal.screen.rows]
        terminal.end()
        seen = []
        for row in rows:  # as a reader has it, with the emulator's usual port
            text = "".join(character for character, _ in row)
            changed = box.seen(text)
            seen.append(row if changed == text else [(character, frozenset()) for character in changed])
        return seen, box.columns
    finally:
        box.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--podctl", required=True)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    failed = False
    if options.check and not options.names and not os.environ.get("PODCTL_TEST_ALL"):
        print("[ RUN      ] screens.AreCurrent\nscreens.py: Skipped\nthey take their time: only with ./dev test --all")
        return 0
    os.makedirs(FOLDER, exist_ok=True)
    for scene in SCENES:
        if options.names and scene.name not in options.names:
            continue
        try:
            rows, columns = play(scene, os.path.abspath(options.podctl))
        except Trouble as trouble:
            print(trouble)
            failed = True
            continue
        except Skip:
            print(f"[ RUN      ] screens.{scene.name}\nscreens.py: Skipped\nits workers have to be sshd ones, which want a root")
            continue
        svg = svg_of(f"A terminal: {scene.command}", scene.command, rows, columns)
        path = os.path.join(FOLDER, scene.name + ".svg")
        if options.check:
            with open(path, encoding="utf-8") as file:
                old = text_of(file.read())
            if not agrees(old, text_of(svg)):
                print(f"docs/images/{scene.name}.svg shows something else by now: tests/docs/screens.py makes it anew")
                failed = True
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(svg)
            print(f"docs/images/{scene.name}.svg: {len(svg)} bytes")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
