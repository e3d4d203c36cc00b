#!/usr/bin/env python3
"""What an editor shows of a spec: yaml-language-server, the program behind VS Code's, Neovim's and others' YAML,
spoken to over its standard input and output, in a folder that `podctl init` made.

  language_server.py PODCTL NODE_SCRIPT

NODE_SCRIPT: bin/yaml-language-server of the package. Prints `all well`, or what is not as it should be.
Nothing is fetched: its store of schemas is turned off.
"""

import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading

LONGEST = 60  # seconds for an answer: the machine may be busy


class Server:
    """One that answers over stdio, as LSP has it."""

    def __init__(self, script, folder):
        self.process = subprocess.Popen(
            ["node", script, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder
        )
        self.folder = folder
        self.number = 0
        self.messages = queue.Queue()
        self.diagnostics = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.ask(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": pathlib.Path(folder).as_uri(),
                "capabilities": {
                    "workspace": {"configuration": True},
                    "textDocument": {
                        "hover": {"contentFormat": ["markdown", "plaintext"]},
                        "completion": {"completionItem": {"snippetSupport": True, "documentationFormat": ["markdown"]}},
                        "publishDiagnostics": {},
                    },
                },
            },
        )
        self.tell("initialized", {})

    SETTINGS = {
        "yaml": {"validate": True, "hover": True, "completion": True, "schemaStore": {"enable": False, "url": ""}},
        "http": {}, "[yaml]": {}, "editor": {}, "files": {},
    }

    def _read(self):
        out = self.process.stdout
        while True:
            length = 0
            while (line := out.readline()) not in (b"\r\n", b""):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if line == b"":
                self.messages.put(None)
                return
            message = json.loads(out.read(length))
            if "method" in message and "id" in message:  # the server asks
                result = None
                if message["method"] == "workspace/configuration":
                    result = [self.SETTINGS.get(each.get("section", ""), {}) for each in message["params"]["items"]]
                self._send({"jsonrpc": "2.0", "id": message["id"], "result": result})
            elif message.get("method") == "textDocument/publishDiagnostics":
                self.diagnostics.put(message["params"])
            elif "id" in message:
                self.messages.put(message)

    def _send(self, message):
        body = json.dumps(message).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def tell(self, method, params):
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method, params):
        self.number += 1
        self._send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            message = self.messages.get(timeout=LONGEST)
            if message is None:
                raise RuntimeError(f"the server ended while it was asked {method}")
            if message["id"] == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]

    def open(self, text):
        """A new document; its URI, and what is wrong with it."""
        self.number += 1
        path = os.path.join(self.folder, f"spec{self.number}.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        uri = pathlib.Path(path).as_uri()
        self.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "yaml", "version": 1, "text": text}})
        while True:
            found = self.diagnostics.get(timeout=LONGEST)
            if found["uri"] == uri:
                return uri, found["diagnostics"]

    def close(self):
        self.ask("shutdown", None)
        self.tell("exit", {})
        self.process.wait(timeout=LONGEST)


POD = """\
pods:
  research:
    acceleratorType: v3-8
    runtimeVersion: tpu-ubuntu2204-base
"""

# A line below POD, what is said of it, and the text that is underlined.
DIAGNOSTICS = [
    ("    runtimeVerson: x\n", "Property runtimeVerson is not allowed.", "runtimeVerson"),
    ("    tags: http-server\n", "Incorrect type. Expected \"array\".", "http-server"),
    ("    schedulingConfig: {spot: yes}\n", "", "yes"),
    ("    ssh: {port: 70000}\n", "Value is above the maximum of 65535.", "70000"),
    ("    ssh: {hostKeys: ignore}\n", 'Value is not accepted. Valid values: "pinned", "strict".', "ignore"),
    ("    timeouts: {queue: 90}\n", "this has to be a duration, such as 90s, 10m or 1h30m", "90"),
    ("    zone: europe-west4\n", "this has to be a zone, such as europe-west4-a", "europe-west4"),
    ("    description: \"${foo}\"\n", "${ begins ${var.NAME}", '"${foo}"'),
    ("    acceleratorConfig: {type: V3, topology: 2x2}\n", "`acceleratorType` and this exclude each other", "acceleratorConfig"),
    ("    bootstrap: [{run: date}]\n", 'Missing property "name".', None),
    ("    metadata: {x: {file: a, env: B}}\n", "`file` and this exclude each other", "env"),
    ("    labels: {Team: x}\n", "a name here is a lower-case letter, then these, digits, _ and -", "Team"),
]

# A text, the word in it that the mouse is on, and what is shown.
HOVERS = [
    (POD, "acceleratorType", "The TPU as a generation and a size, such as v3-32"),
    (POD + "    libtpuFlags: {a: b}\n", "libtpuFlags", "Flags for libtpu"),
    (POD + "    ssh: {hostKeys: strict}\n", "hostKeys", "refuses a worker whose key"),
    ("jobs:\n  train: {pod: a, command: [date], restart: {attempts: 5}}\n", "attempts", "How often it is started again"),
    (POD + "    bootstrap: [{name: x, run: date}]\n", "run:", "A script, run with bash"),
    ("moved: [{from: pod.a, to: pod.b}]\n", "moved", "Other names for things that exist"),
]

# A text up to where one types, and words that are offered there.
COMPLETIONS = [
    ("", {"pods", "defaults", "jobs", "files", "outputs", "trainingJobs", "variables", "moved", "stateOf", "zone"}),
    (POD + "    ", {"libtpuFlags", "bootstrap", "networkConfig", "metadata", "ssh", "queuedResource"}),
    (POD + "    ssh:\n      ", {"user", "port", "identityFile", "proxyJump"}),
    (POD + "    ssh:\n      hostKeys: ", {"pinned", "strict"}),
    (POD + "    zone: ", {"europe-west4-a", "us-central2-b"}),
    ("pods:\n  research:\n    acceleratorType: ", {"v3-32", "v4-8"}),
    (POD + "    bootstrap:\n      - ", {"name", "run", "env", "files"}),
    ("jobs:\n  train:\n    launcher: ", {"pjrt", "jax", "xla_dist"}),
    (POD + "    metadata:\n      x:\n        ", {"file", "env", "secret", "sensitive"}),
]


def place_of(text, offset):
    return {"line": text.count("\n", 0, offset), "character": offset - (text.rfind("\n", 0, offset) + 1)}


def text_in(text, span):
    lines = text.split("\n")
    if span["start"]["line"] != span["end"]["line"]:
        return None
    return lines[span["start"]["line"]][span["start"]["character"] : span["end"]["character"]]


def check(server, head):
    for line, message, underlined in DIAGNOSTICS:
        text = head + POD + line
        _, found = server.open(text)
        fits = [each for each in found if message in each["message"] and underlined in (None, text_in(text, each["range"]))]
        if not fits:
            yield f"{line!r}: expected {message!r} at {underlined!r}, got {[(each['message'], text_in(text, each['range'])) for each in found]}"
    for body, word, shown in HOVERS:
        text = head + body
        uri, found = server.open(text)
        if found:
            yield f"{body!r} is good, and the editor says {[each['message'] for each in found]}"
        at = place_of(text, text.index(word, len(head)) + 1)
        hover = server.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": at})
        value = hover["contents"]["value"].replace("\\", "") if hover else ""  # escaped for Markdown
        if len(value) > 1000:
            yield f"the mouse on {word!r} shows {len(value)} characters"
        if shown not in value:
            yield f"the mouse on {word!r} shows {value!r}, and not {shown!r}"
    for body, words in COMPLETIONS:
        text = head + body
        uri, _ = server.open(text)
        at = place_of(text, len(text))
        offered = server.ask("textDocument/completion", {"textDocument": {"uri": uri}, "position": at})
        items = offered["items"] if isinstance(offered, dict) else offered or []
        labels = {each["label"] for each in items}
        if not words <= labels:
            yield f"behind {body[-40:]!r} is not offered {sorted(words - labels)}, of {sorted(labels)}"
        if body == "" and not any("Pods by name" in json.dumps(each.get("documentation", "")) for each in items):
            yield "what is offered does not say what it is"


def main():
    podctl, script = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([podctl, "init", folder], check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(folder, "podctl.yaml"), encoding="utf-8") as file:
            template = file.read()
        head = template.split("\n")[0] + "\n"
        server = Server(script, folder)
        _, found = server.open(template)
        if found:
            wrong.append(f"of what init wrote the editor says {found}")
        wrong += check(server, head)
        server.close()
    print("\n".join(wrong) if wrong else "all well")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
