#!/usr/bin/env python3
"""Makes the pages of docs/reference/ from what podctl itself goes by:

  commands.md     `podctl help` and `podctl help COMMAND`, which come from the table of commands
  exit-codes.md   the last lines of `podctl help`
  events.md       the types of events that stand in cmd/, each with the words below
  spec-keys.md    `podctl schema`, or a file of --schema
  types.md        `podctl types` without a zone: podctl's own table

The pages are committed, so that they can be read beside the code, and a review shows what becomes of
them; a test has this compare them (--check). After a change: `docs/site/reference.py --podctl
build/release/podctl`, and read the difference.

  reference.py --podctl BINARY [--schema FILE] [--check]

Needs Python 3.9 and nothing more.
"""

import argparse
import glob
import json
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = os.path.join(TOP, "docs", "reference")
NOTE = "<!-- Made by docs/site/reference.py: change what it is made from. -->\n"


class Problem(Exception):
    pass


def run(podctl, *words, folder=None):
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "HOME": "/nonexistent"}
    return subprocess.run([podctl, *words], capture_output=True, text=True, env=environment, cwd=folder, check=False)


def cell(text):
    """For a cell of a table: what is between < and >, and pipes, as they stand."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


# ---- Commands.


def help_of(podctl, *command):
    result = run(podctl, "help", *command)
    if result.returncode != 0:
        raise Problem(f"podctl help {' '.join(command)}: {result.stderr.strip()}")
    return result.stdout


def sections_of(text):
    """{"": [lines before the first title], "Flags:": [...], ...}"""
    sections, name = {"": []}, ""
    for line in text.split("\n"):
        if re.match(r"^[A-Z][\w ]*:$", line):
            name = line
            sections[name] = []
        else:
            sections[name].append(line)
    return sections


FLAG_COLUMN = 33  # where what a flag does begins


def flags_of(lines):
    found = []
    for line in lines:
        if line.startswith("Exit codes:"):
            break
        if not line.startswith("  "):
            continue
        if found and line.startswith(" " * FLAG_COLUMN):  # of the meaning above
            found[-1] = (found[-1][0], found[-1][1] + " " + line.strip())
            continue
        if len(line) > FLAG_COLUMN and line[FLAG_COLUMN - 1] == " " and line[FLAG_COLUMN] != " ":
            found.append((line[:FLAG_COLUMN].strip(), line[FLAG_COLUMN:].strip()))
        else:  # longer than its column
            match = re.match(r"^  (\S+(?: \S*[A-Z]\S*)?) (.*)$", line)
            if not match:
                raise Problem(f"no flag and its meaning: {line!r}")
            found.append((match.group(1), match.group(2)))
    return found


def commands_of(lines):
    found = []
    for line in lines:
        match = re.match(r"^  (\S+) +(\S.*)$", line)
        if match:
            found.append((match.group(1), match.group(2)))
    return found


def all_commands(podctl):
    """[(words, [its own commands])], groups before what they hold."""
    found = []
    for word, _ in commands_of(sections_of(help_of(podctl)).get("Commands:", [])):
        inner = [each for each, _ in commands_of(sections_of(help_of(podctl, word)).get("Commands:", []))]
        found.append(([word], inner))
        found += [([word, each], []) for each in inner]
    if len(found) < 10:
        raise Problem("podctl help names hardly any command: its form has changed")
    return found


def flag_table(flags):
    rows = ["| flag | means |", "|---|---|"]
    rows += [f"| `{name}` | {cell(meaning)} |".replace("`" + name + "`", "`" + name.replace("|", "\\|") + "`")
             for name, meaning in flags]
    return rows


def command_page(podctl):
    top = sections_of(help_of(podctl))
    lines = [
        "# Every command and its flags",
        "",
        NOTE,
        "Made from the table that podctl reads its command line by, so it says what `podctl help COMMAND` says. What the",
        "commands are for, and how they go together, is in [commands.md](../commands.md).",
        "",
        "## Flags of every command",
        "",
        *flag_table(flags_of(top["Flags of every command:"])),
        "",
    ]
    for words, inner in all_commands(podctl):
        name = "podctl " + " ".join(words)
        sections = sections_of(help_of(podctl, *words))
        head = [line for line in sections[""] if line]
        usage = [line[len("Usage: ") :] for line in head if line.startswith("Usage: ")]
        summary = [line for line in head if not line.startswith(("Usage: ", "Flags of every command"))]
        lines += [f"## {name}", "", " ".join(summary), ""]
        if usage:
            lines += ["```text", *usage, "```", ""]
        if inner:
            lines += ["Its commands: " + ", ".join(
                f"[{each}](#podctl-{'-'.join(words)}-{each})" for each in inner) + ".", ""]
        flags = [flag for flag in flags_of(sections.get("Flags:", [])) if not flag[0].startswith("-h,")]
        if flags:
            lines += [*flag_table(flags), ""]
        examples = [line[2:] for line in sections.get("Examples:", []) if line.strip()]
        if examples:
            lines += ["```sh", *examples, "```", ""]
    return "\n".join(lines)


# ---- Exit codes.


def exit_code_page(podctl):
    text = " ".join(help_of(podctl).split("Exit codes: ")[1].split())
    codes = [part.strip().rstrip(".").split(" ", 1) for part in text.split(";")]
    if len(codes) < 5 or not all(code.isdigit() for code, _ in codes):
        raise Problem(f"these are no exit codes: {text}")
    lines = [
        "# Exit codes",
        "",
        NOTE,
        "The same failure has the same code in every command. A script decides by these; texts may change.",
        "",
        "| code | means |",
        "|---|---|",
        *[f"| {code} | {cell(meaning)} |" for code, meaning in codes],
        "",
        "`podctl exec` and `podctl run` exit with the commands' own code when all workers agree, else with 1; `podctl ssh` with the",
        "remote side's. What comes with each code, and what to do then: [commands.md](../commands.md#exit-codes).",
        "",
    ]
    return "\n".join(lines)


# ---- Events.

# In the order in which a reader meets them. What each is, and its own members.
RUN_EVENTS = {
    "version": ("the first line", "`podctl`, `format_version`"),
    "log": ("a remark, for people; of level `warn` also what was skipped, and why", "`addr` or `hook` where it is about one thing"),
    "diagnostic": ("an error or a warning", "`diagnostic`: `severity`, `summary`, `detail`, `range` of the spec"),
    "resource_drift": ("something was changed outside of podctl", "`change`: `resource`, `action`, `changed`"),
    "planned_change": ("one line of the plan", "`change`: `resource`, `action`, `reason`, `changed`, `replace_paths`, `changed_flags`, `workers`"),
    "change_summary": ("how much a plan changes, or an apply has changed", "`changes`: `add`, `change`, `remove`, `steps`, `operation`, `queued`"),
    "plan_digest": ("before a plan that can be carried out: by this `apply --expect-digest` knows it again", "`digest`"),
    "outputs": ("the outputs that a plan changes, or that an apply has left", "`outputs`, by name"),
    "apply_start": ("work on a pod, file or training job begins", "`hook`: `resource`, `action`"),
    "apply_progress": ("it goes on", "`hook`: also `elapsed_seconds`, `status`"),
    "apply_complete": ("it is done", "`hook`: also `id_key`, `id_value`"),
    "apply_errored": ("it failed; why is told by a `diagnostic`", "`hook`: `resource`, `elapsed_seconds`"),
    "provision_start": ("a bootstrap step begins", "`hook`: `resource`, `provisioner`"),
    "provision_progress": ("it goes on, or a worker has written a line", "`hook`: `workers`, `workers_ok`, `workers_failed`, `workers_retrying`; or `worker`, `output`"),
    "provision_complete": ("it is done on all its workers", "`hook`: `elapsed_seconds`"),
    "provision_errored": ("it failed on some", "`hook`: `elapsed_seconds`"),
}
WORKER_EVENTS = {
    "phase": ("a worker comes to another phase: waiting, connecting, running, retrying, done …", "`phase`, `cause`"),
    "output": ("a line that a worker wrote", "`stream`, `line`, `time` with `--timestamps` and of what is kept"),
    "result": ("a worker is done", "`outcome`, `exit_code`, `signal`, `message`, `attempts`, `ran_ms`, `stdout_bytes`, `stderr_bytes`"),
    "summary": ("the last line", "`workers`, `ok`, `failed`, `lost`, `cancelled`, `skipped`, `causes`, `exit_code`, `elapsed_ms`"),
    "remark": ("what was done before the start of a job, or is worth knowing", "`message`"),
    "started": ("all workers of a job were sent the line with which they start", "`job`, `time`"),
    "failed": ("who failed first", "`worker`, `cause`, `after_ms`"),
    "node": ("what the service says of the node, where that is why a job has ended", "`state`, `reason`"),
    "restart": ("a job is started again", "`restart`, `of`, `reason`"),
    "attempt": ("of a log that is kept, the lines of another attempt follow", "`job`, `attempt`, `run`, `time`"),
    "waiting": ("for the pod, or for its workers", "`message`"),
    "interrupted": ("by a Ctrl-C, before a further start", "`message`"),
    "forward": ("a tunnel stands", "`local_port`, `remote_port`, `url`, `worker`"),
    "open": ("what answers behind a tunnel, with `--open`", "`url`, `colab_url`"),
}
LEVELS = {"info", "warn", "error"}


def events_in_code():
    found = set()
    for path in glob.glob(os.path.join(TOP, "cmd", "**", "*.cpp"), recursive=True):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        found |= set(re.findall(r'\b(?:Event|WorkerEvent|EventLine)\("(\w+)"', text))
        found |= set(re.findall(r'\{"format_version", "1\.0"\},\s*\{"type", "(\w+)"\}', text))
        if os.path.basename(path) == "json_events.cpp":
            for statement in re.findall(r"\bWrite\((?!const )(.*?)(?:Value::|Hook\()", text, re.S):
                found |= set(re.findall(r'"([a-z]+(?:_[a-z]+)*)"', statement)) - LEVELS
    return found


def event_table(events):
    rows = ["| `type` | is told when | its members |", "|---|---|---|"]
    return rows + [f"| `{name}` | {when} | {members} |" for name, (when, members) in events.items()]


def event_page(_):
    told = set(RUN_EVENTS) | set(WORKER_EVENTS)
    code = events_in_code()
    if told != code:
        raise Problem(
            "docs/site/reference.py and cmd/ disagree about events: "
            f"not described {sorted(code - told)}, described and not in the code {sorted(told - code)}"
        )
    lines = [
        "# Events",
        "",
        NOTE,
        "With `--json` these commands print one JSON object a line while they work; every other command prints one document. An",
        "error that keeps a command from its work is a `diagnostic` on stdout everywhere. A reader passes over what it does not know.",
        "",
        "## plan, apply, destroy, watch",
        "",
        "Terraform's types and words, so that what reads `terraform apply -json` reads these. Each has `@level`, `@message`,",
        "`@module`, `@timestamp` and `type`. More in [plan.md](../plan.md#events).",
        "",
        *event_table(RUN_EVENTS),
        "",
        "## exec, run, cp, logs, tunnel",
        "",
        "podctl's own. Each has `format_version` and `type`, and where it is about one of them `pod` and `worker`. Of a job more in",
        "[jobs.md](../jobs.md#events).",
        "",
        *event_table(WORKER_EVENTS),
        "",
    ]
    return "\n".join(lines)


# ---- The keys of a spec, from its JSON Schema.


# As the manual has them; others behind.
TOP_KEYS = ("project", "zone", "state", "variables", "defaults", "pods", "jobs", "trainingJobs", "files", "outputs", "stateOf", "moved")


def resolve(schema, node):
    for _ in range(20):
        if "$ref" not in node:
            return node
        target = schema
        for part in node["$ref"].lstrip("#/").split("/"):
            target = target[part.replace("~1", "/").replace("~0", "~")]
        node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    raise Problem("the schema refers to itself")


WHAT_IT_IS = "this has to be "  # as the schema begins what is said of a text that is none
EXPRESSION = "#/definitions/expression"  # `${…}`, which may stand nearly everywhere


def type_of(schema, node):
    """In a word or two, for people."""
    node = resolve(schema, node)
    words = node.get("patternErrorMessage", "")
    if "a duration" in words:
        return "duration"
    if words.startswith(WHAT_IT_IS) and words != WHAT_IT_IS + "text":
        return f"text ({words[len(WHAT_IT_IS):]})"
    if "enum" in node:
        return ", ".join(f"`{value}`" for value in node["enum"])
    if "const" in node:
        return str(node["const"])
    if "allOf" in node:  # something more is said of one
        return type_of(schema, node["allOf"][0])
    for word in ("oneOf", "anyOf"):
        if word in node and "type" not in node:
            kinds = []
            for each in node[word]:
                if each.get("$ref") == EXPRESSION:
                    continue
                kind = type_of(schema, each)
                if kind and kind not in kinds:
                    kinds.append(kind)
            return " or ".join(kinds)
    kind = node.get("type", "map" if "properties" in node else "")
    if isinstance(kind, list) and {"string", "number"} <= set(kind):
        return "text"
    if isinstance(kind, list):
        return " or ".join({"object": "map", "string": "text", "array": "list"}.get(each, each) for each in kind)
    if kind == "array":
        inner = type_of(schema, node.get("items", {}))
        return f"list of {inner}" if inner else "list"
    if kind == "object" and isinstance(node.get("additionalProperties"), dict) and not node.get("properties"):
        inner = type_of(schema, node["additionalProperties"])
        return f"map of {inner}" if inner else "map"
    if kind == "integer":
        least, most = node.get("minimum"), node.get("maximum")
        words = "number" if least is None else f"number from {least}"
        return words + (f" to {most}" if most is not None and most < 2**31 - 1 else "")
    return {"object": "map", "string": "text", "boolean": "true or false", "null": "nothing"}.get(kind, kind)


def keys_below(schema, node, path, seen):
    """[(path, type, description)], in the schema's order; what is below a map of any name as NAME."""
    node = resolve(schema, node)
    if id(node.get("properties")) in seen:
        return []
    rows = []
    seen = seen | {id(node.get("properties"))} if "properties" in node else seen
    for name, child in node.get("properties", {}).items():
        whole = resolve(schema, child)
        where = f"{path}.{name}" if path else name
        needed = ", needed" if name in node.get("required", []) else ""
        rows.append((where, type_of(schema, child) + needed, whole.get("description", "")))
        rows += keys_below(schema, whole, where, seen)
    if isinstance(node.get("additionalProperties"), dict):
        rows += keys_below(schema, node["additionalProperties"], f"{path}.NAME", seen)
    if isinstance(node.get("items"), dict):
        rows += keys_below(schema, node["items"], f"{path}[]", seen)
    for word in ("oneOf", "anyOf", "allOf"):
        for each in node.get(word, []):
            rows += [row for row in keys_below(schema, each, path, seen) if row not in rows]
    return rows


def spec_key_page(schema):
    rows = []
    for row in keys_below(schema, schema, "", frozenset()):
        if row[0] not in [each[0] for each in rows]:
            rows.append(row)
    if len(rows) < 10:
        raise Problem("the schema has hardly any key: its form has changed")
    # What is the same below every pod is said there.
    of_a_pod = {path[len("pods.NAME.") :] for path, _, _ in rows if path.startswith("pods.NAME.")}
    rows = [row for row in rows if not (row[0].startswith("defaults.") and row[0][len("defaults.") :] in of_a_pod)]
    if of_a_pod:
        at = [row[0] for row in rows].index("defaults") if "defaults" in [row[0] for row in rows] else len(rows)
        rows[at + 1 : at + 1] = [("defaults.…", "", "The keys of `pods.NAME`.")] if at < len(rows) else []
    sections = {}
    for row in rows:
        sections.setdefault(re.split(r"[.\[]", row[0])[0], []).append(row)
    order = [name for name in TOP_KEYS if name in sections]
    sections = {name: sections[name] for name in order + [name for name in sections if name not in order]}
    lines = [
        "# Every key of a spec",
        "",
        NOTE,
        "Made from `podctl schema`, so from the tables that podctl reads a spec by. `NAME` stands for a name that you give, `[]` for each",
        "of a list. What the keys are for, with examples: [spec.md](../spec.md).",
        "",
    ]
    for name, section in sections.items():
        lines += [f"## {name}", "", "| key | value | |", "|---|---|---|"]
        for path, kind, description in section:
            lines.append(f"| `{path}` | {cell(kind)} | {cell(description)} |")
        lines.append("")
    return "\n".join(lines)


# ---- The types that podctl knows.


MOST_WORKERS = 64  # of a type that has a row


def types_of(podctl):
    """By the name before the number, in podctl's order."""
    # From a folder without a spec, which could name a zone.
    result = run(podctl, "types", "--json", folder="/")
    if result.returncode != 0:
        raise Problem(f"podctl types: {result.stderr.strip()}")
    document = json.loads(result.stdout)
    if document["source"] != "built-in" or len(document["types"]) < 10:
        raise Problem("podctl types does not tell its own table")
    found = {}
    for each in document["types"]:
        found.setdefault(each["type"].rsplit("-", 1)[0], []).append(each)
    return found


def type_page(podctl):
    lines = [
        "# TPU types, and how many workers they have",
        "",
        NOTE,
        "Made from podctl's own table, which `podctl types` prints; `podctl types --zone ZONE` asks the service what a zone has. A worker is",
        "a machine of its own, with an address and a number from 0; commands and jobs count workers. The zones are those of Google's",
        "documentation. `v5litepod` is sold as v5e.",
        "",
    ]
    for name, types in types_of(podctl).items():
        lines += [f"## {name}", "", "| type | chips | workers | topology | zones |", "|---|---|---|---|---|"]
        rest = []
        for each in types:
            if each["hosts"] > MOST_WORKERS:
                rest.append(each)
                continue
            zones = ", ".join(each.get("zones", [])) or "–"
            topology = ", ".join(each["topologies"])
            lines.append(f"| `{each['type']}` | {each['chips']} | {each['hosts']} | {topology} | {zones} |")
        lines.append("")
        if rest:
            most = max(rest, key=lambda each: each["hosts"])
            lines += [f"{len(rest)} more, up to `{most['type']}` with {most['hosts']} workers: a worker for 4 chips.", ""]
    return "\n".join(lines)


def schema_of(podctl, file):
    if file:
        with open(file, encoding="utf-8") as text:
            return json.load(text)
    result = run(podctl, "schema")
    if result.returncode != 0:
        raise Problem(f"podctl schema: {result.stderr.strip()}")
    return json.loads(result.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--podctl", required=True)
    parser.add_argument("--schema", help="a JSON Schema in place of `podctl schema`")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 where a page is not current")
    parser.add_argument("--folder", default=PAGES)
    options = parser.parse_args()
    podctl = os.path.abspath(options.podctl)
    try:
        texts = {
            "commands.md": command_page(podctl),
            "exit-codes.md": exit_code_page(podctl),
            "events.md": event_page(podctl),
            "spec-keys.md": spec_key_page(schema_of(podctl, options.schema)),
            "types.md": type_page(podctl),
        }
    except Problem as problem:
        print(f"reference.py: {problem}", file=sys.stderr)
        return 1
    stale = []
    for name, text in texts.items():
        path = os.path.join(options.folder, name)
        old = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                old = file.read()
        if old == text:
            continue
        stale.append(name)
        if not options.check:
            os.makedirs(options.folder, exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    if stale and options.check:
        print(
            f"docs/reference/ is not what podctl says: {', '.join(stale)}. Run docs/site/reference.py "
            "--podctl build/release/podctl, and read the difference.",
            file=sys.stderr,
        )
        return 1
    if stale:
        print("written: " + ", ".join(stale))
    return 0


if __name__ == "__main__":
    sys.exit(main())
