#!/usr/bin/env python3
"""Whether `podctl schema` and `podctl validate` say the same of a spec, as far as a schema can say it:

  - the schema is one of draft-07, and everything.yaml has each of its keys and is good for both;
  - so is what `podctl init` writes from each template, beside the schema that its first line names;
  - of the broken specs in tests/golden/spec those whose error is one of shape fail in both (VERDICTS);
  - what the schema refuses of everything.yaml with one value changed podctl refuses, too, and where podctl
    names a wrong type or an unknown key the schema refuses it.

With --all (or PODCTL_TEST_ALL=1) every change is tried, and not a part of them. With --check-jsonschema
that program judges, too.

  agree.py --podctl BINARY [--check-jsonschema PROGRAM] [--all]

Needs python3-jsonschema and python3-yaml.
"""

import argparse
import concurrent.futures
import copy
import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile

try:
    import jsonschema
    import yaml
except ImportError:
    # Another python3 may be the first of the PATH; Debian's packages belong to Debian's.
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", "-B", *sys.argv])
    # As GoogleTest says it: `./dev test` repeats what was not tested.
    print("[ RUN      ] schema.AgreesWithTheReader\nagree.py: Skipped\nit needs python3-jsonschema and python3-yaml")
    sys.exit(0)

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))

# What a broken spec of tests/golden/spec is wrong in: its text, which no YAML reader takes for what is
# meant, or which is against a limit; its shape, which the schema knows; its meaning, which podctl alone does.
VERDICTS = {
    **dict.fromkeys(
        """
        alias_bomb alias_errors complex_key duplicate_keys endless_alias latin1 nul_byte tab_indent tag
        two_documents unknown_alias wide_characters yaml_at yaml_colon yaml_error yaml_indent
        yaml_list_in_map yaml_no_colon yaml_reference yaml_percent yaml_quote yaml_star
        """.split(),
        "text",
    ),
    **dict.fromkeys(
        """
        api_version bom_crlf circle defaults desired_state empty empty_values enums exclusive
        expressions indented_beside jobs labels lifecycle lifecycle_keys long_line missing moved names
        not_a_map only_comment output_only secrets sensitive steps training_jobs triggers typo_in_key
        unknown_keys wrong_types zones
        """.split(),
        "shape",
    ),
    **dict.fromkeys(
        """
        moved_circle moved_twice no_pods same_node
        """.split(),
        "meaning",
    ),
}

PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGfBxTVr1hXMZmwHHlEg9Gt1a3cVDXG0ak0tQMTuuVAN a\n"

# What podctl calls a wrong shape: a key or word that is not known, a wrong type, a key that is missing.
OF_SHAPE = re.compile(
    r"^unknown key |` must be (text|a map|a list|true or false|a number|a duration)\b|` cannot be (`|an? |nothing)"
    r"|^(?!a node ).*(has|names) no `\w+`$|without (a name|`)|lacks `sourceDisk`|needs a `|names no file$|does nothing$|^`\S+` has no value"
)


class CoreLoader(yaml.SafeLoader):
    """Scalars as YAML 1.2 has them, as editors and check-jsonschema do: `on` is a text, and no time is one."""


CoreLoader.yaml_implicit_resolvers = {}
for tag, regex, first in (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("int", r"^[-+]?[0-9]+$", "-+0123456789"),
    ("float", r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", "-+.0123456789"),
    ("null", r"^(?:~|null|Null|NULL|)$", "~nN\0"),
    ("merge", r"^<<$", "<"),
):
    CoreLoader.add_implicit_resolver("tag:yaml.org,2002:" + tag, re.compile(regex), list(first) + ([""] if tag == "null" else []))
CoreLoader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(loader.construct_scalar(node)))


def load(text):
    return yaml.load(text, CoreLoader)  # nosec: a SafeLoader


class Podctl:
    def __init__(self, binary, folder):
        self.binary = binary
        self.folder = folder
        self.environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "HOME": folder}

    def run(self, *words, folder=None):
        return subprocess.run([self.binary, *words], capture_output=True, text=True, env=self.environment,
                              cwd=folder or self.folder, check=False)

    def errors_of(self, path):
        """What it has against the spec; [] : nothing."""
        result = self.run("validate", "--json", "-f", path)
        try:
            document = json.loads(result.stdout)
        except ValueError:
            return [result.stdout + result.stderr]
        errors = [each["summary"] for each in document["diagnostics"] if each["severity"] == "error"]
        assert bool(errors) == (result.returncode != 0), (path, result.stdout)
        return errors


class Judge:
    """The schema, as Debian's jsonschema reads it."""

    def __init__(self, schema):
        jsonschema.Draft7Validator.check_schema(schema)
        self.validator = jsonschema.Draft7Validator(schema)

    def errors_of(self, document):
        return [f"{'.'.join(map(str, each.absolute_path))}: {each.message[:300]}" for each in self.validator.iter_errors(document)]


# ---- Paths of a document, and of a schema.


def paths_of(node, path=()):
    if path:
        yield path
    if isinstance(node, dict):
        for key in node:
            yield from paths_of(node[key], (*path, key))
    elif isinstance(node, list):
        for index, item in enumerate(node):
            yield from paths_of(item, (*path, index))


def keys_of_schema(schema, node, at, seen):
    """Where each key of a table stands: `pods.*.ssh.user`."""
    if isinstance(node, bool):
        return
    if "$ref" in node:
        name = node["$ref"].split("/")[-1]
        if (name, at) in seen or at.count(".") > 12:
            return
        seen.add((name, at))
        yield from keys_of_schema(schema, schema["definitions"][name], at, seen)
    for key, value in node.get("properties", {}).items():
        where = f"{at}.{key}".lstrip(".")
        yield where
        yield from keys_of_schema(schema, value, where, seen)
    for below, name in (("additionalProperties", ".*"), ("items", "[]")):
        if isinstance(node.get(below), dict):
            yield from keys_of_schema(schema, node[below], at + name, seen)
    for each in node.get("anyOf", []) + node.get("allOf", []):
        yield from keys_of_schema(schema, each, at, seen)


def covered(document, free):
    """The same of a document; `free`: where a schema has a map of any names."""
    found = set()
    for path in paths_of(document):
        at = ""
        for part in path:
            if isinstance(part, int):
                at += "[]"
            elif at + ".*" in free:
                at += ".*"
            else:
                at = f"{at}.{part}".lstrip(".")
        found.add(at)
    return found


# ---- The checks. Each yields what is wrong.


def check_everything(schema, judge, podctl, document):
    wrong = judge.errors_of(document)
    if wrong:
        yield f"everything.yaml is none by the schema: {wrong}"
    wrong = podctl.errors_of("everything.yaml")
    if wrong:
        yield f"everything.yaml is none for podctl validate: {wrong}"
    keys = set(keys_of_schema(schema, schema, "", set()))
    free = {re.match(r"(.*\.\*)", key).group(1) for key in keys if ".*" in key}
    free |= {"variables.*", "stateOf.*", "outputs.*"}
    of_defaults = {key for key in keys if key.startswith("defaults.")}
    missing = keys - of_defaults - covered(document, free)
    if missing:
        yield f"everything.yaml lacks {sorted(missing)}"


def check_templates(judge, podctl, schema_text):
    listed = json.loads(podctl.run("init", "--list", "--json").stdout)["templates"]
    assert len(listed) > 20
    for each in listed:
        name = each["name"]
        folder = os.path.join(podctl.folder, "templates", name)
        result = podctl.run("init", "--template", name, folder)
        if result.returncode != 0:
            yield f"podctl init --template {name}: {result.stderr}"
            continue
        with open(os.path.join(folder, "podctl.yaml"), encoding="utf-8") as file:
            text = file.read()
        named = re.match(r"# yaml-language-server: \$schema=(\S+)\n", text)
        if not named:
            yield f"the first line of template {name} names no schema"
            continue
        with open(os.path.join(folder, named.group(1)), encoding="utf-8") as file:
            if file.read() != schema_text:
                yield f"beside template {name} is another schema than podctl's"
        wrong = judge.errors_of(load(text))
        if wrong:
            yield f"template {name} is none by the schema: {wrong}"


def check_broken(judge, podctl):
    folder = os.path.join(TOP, "tests", "golden", "spec")
    names = {os.path.splitext(os.path.basename(path))[0] for path in glob.glob(os.path.join(folder, "*.yaml"))}
    if names != set(VERDICTS):
        yield (f"VERDICTS of {os.path.basename(__file__)}: without one are {sorted(names - set(VERDICTS))}, "
               f"and not there any more {sorted(set(VERDICTS) - names)}")
    for name in sorted(names & set(VERDICTS)):
        path = os.path.join(folder, name + ".yaml")
        if not podctl.errors_of(path):
            yield f"podctl validate takes {name}.yaml"
        if VERDICTS[name] == "text":
            continue
        with open(path, encoding="utf-8") as file:
            wrong = judge.errors_of(load(file.read()))
        if bool(wrong) != (VERDICTS[name] == "shape"):
            yield f"{name}.yaml is wrong in its {VERDICTS[name]}, and the schema finds {wrong or 'nothing'}"


WRONG = (None, "", "x y", "${nope}", "${var.precision}", "${pod.whole.state}", -1, 17.5, 10**12, True, [], {}, ["x y"], {"x": 1}, [{}])


def changes_of(document):
    """Each path with each wrong value, with another name, and left out."""
    for path in paths_of(document):
        for value in WRONG:
            yield (*path, ("value", value))
        if isinstance(path[-1], str):
            yield (*path, ("name", path[-1] + "X"))
            yield (*path, ("name", "-" + path[-1]))
        yield (*path, ("out", None))


def changed(document, change):
    *path, (what, value) = change
    document = copy.deepcopy(document)
    node = document
    for part in path[:-1]:
        node = node[part]
    if what == "value":
        node[path[-1]] = value
    elif what == "out":
        del node[path[-1]]
    else:
        node[value] = node.pop(path[-1])
    return document


def check_changes(judge, podctl, document, everything, schema_file, checker):
    changes = list(changes_of(document))
    if not everything:
        random.Random(18).shuffle(changes)
        changes = changes[: len(changes) // 10]

    def judged(numbered):
        number, change = numbered
        text = changed(document, change)
        path = os.path.join(podctl.folder, f"change{number}.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(text, file)
        by_schema, by_podctl = judge.errors_of(text), podctl.errors_of(os.path.basename(path))
        return change, path, by_schema, by_podctl

    refused = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for change, path, by_schema, by_podctl in pool.map(judged, enumerate(changes)):
            if by_schema:
                refused.append(path)
            if by_schema and not by_podctl:
                yield f"only the schema refuses {change}: {by_schema}"
            of_shape = [each for each in by_podctl if OF_SHAPE.search(each)]
            if change[-1] == ("value", "${var.precision}"):
                continue  # what it stands for is podctl's to know
            if of_shape and not by_schema:
                yield f"only podctl refuses {change}: {of_shape}"
    print(f"{len(changes)} changes of everything.yaml, of which the schema refuses {len(refused)}")
    if len(refused) < len(changes) / 4:
        yield f"of {len(changes)} changes the schema refuses only {len(refused)}"
    if checker:
        yield from check_by_program(checker, schema_file, [], refused[:: max(1, len(refused) // 500)])


def check_by_program(checker, schema_file, good, bad):
    """check-jsonschema on files of which it is to like all, and none."""
    words = [checker, "--schemafile", schema_file]
    if good:
        result = subprocess.run([*words, *good], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            yield f"check-jsonschema refuses what is good: {result.stdout}{result.stderr}"
    if bad:
        result = subprocess.run([*words, "--output-format", "JSON", *bad], capture_output=True, text=True, check=False)
        told = json.loads(result.stdout)
        refused = {each["filename"] for each in told["errors"] + told["parse_errors"]}
        for path in sorted(set(bad) - refused):
            yield f"check-jsonschema takes {path}"


def check_all(options, folder):
    podctl = Podctl(os.path.abspath(options.podctl), folder)
    schema_text = podctl.run("schema").stdout
    schema = json.loads(schema_text)
    judge = Judge(schema)
    schema_file = os.path.join(folder, "schema.json")
    for name, text in (("schema.json", schema_text), ("startup.sh", "#!/bin/sh\n"), ("team.pub", PUBLIC_KEY), ("pipeline.pub", PUBLIC_KEY),
                       ("prices.yaml", "asOf: 2026-11-01\ncurrency: USD\nitems: []\n")):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    with open(os.path.join(HERE, "everything.yaml"), encoding="utf-8") as file:
        text = file.read()
    with open(os.path.join(folder, "everything.yaml"), "w", encoding="utf-8") as file:
        file.write(text)
    document = load(text)

    yield from check_everything(schema, judge, podctl, document)
    yield from check_templates(judge, podctl, schema_text)
    yield from check_broken(judge, podctl)
    yield from check_changes(judge, podctl, document, options.all, schema_file, options.check_jsonschema)
    if options.check_jsonschema:
        result = subprocess.run([options.check_jsonschema, "--check-metaschema", schema_file], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            yield f"check-jsonschema does not take the schema: {result.stdout}{result.stderr}"
        good = glob.glob(os.path.join(folder, "templates", "*", "podctl.yaml")) + [os.path.join(folder, "everything.yaml")]
        bad = [os.path.join(TOP, "tests", "golden", "spec", name + ".yaml") for name, verdict in VERDICTS.items() if verdict == "shape"]
        yield from check_by_program(options.check_jsonschema, schema_file, good, bad)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--podctl", required=True)
    parser.add_argument("--check-jsonschema")
    parser.add_argument("--all", action="store_true", default=bool(os.environ.get("PODCTL_TEST_ALL")))
    options = parser.parse_args()
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        for wrong in check_all(options, folder):
            print(wrong)
            count += 1
    print(f"{count} disagreements" if count else "podctl and its schema agree")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
