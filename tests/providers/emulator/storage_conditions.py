#!/usr/bin/env python3
"""Asks a server of Cloud Storage's JSON API what it makes of each condition in each method.

    storage_conditions.py http://127.0.0.1:8470 > answers.txt

Prints a line for each of the questions of tests/golden/emulator/storage_conditions.txt, with the
status and the reason of the answer. storage_conditions.testbench.txt beside it is what Google's
storage-testbench said (github.com/googleapis/storage-testbench; see docs/emulator.md). Needs
nothing but Python.
"""
import json
import sys
import urllib.error
import urllib.parse
import urllib.request

BASE = sys.argv[1].rstrip("/")
BUCKET = "conditions-bucket"
NAMES = ("Generation", "Metageneration")
METHODS = ("get", "media", "insert-media", "insert-multipart", "insert-resumable", "patch",
           "update", "delete", "compose", "rewrite", "copy", "move")
count = 0


def send(method, path, body=None, kind="application/json", headers=None):
    if body is None and method in ("POST", "PUT", "PATCH"):
        body = b"{}"
    request = urllib.request.Request(
        path if path.startswith("http") else BASE + path, data=body, method=method)
    if body is not None:
        request.add_header("Content-Type", kind)
    for name, value in (headers or {}).items():
        request.add_header(name, value)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers


def put(name, more=""):
    status, body, _ = send("POST", f"/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={name}"
                           + more, b"text", "application/octet-stream")
    return status, body


def multipart(name):
    text = json.dumps({"name": name})
    return (f"--xx\r\nContent-Type: application/json\r\n\r\n{text}\r\n--xx\r\n"
            f"Content-Type: text/plain\r\n\r\ntext\r\n--xx--\r\n").encode()


def ask(method, name, source, query):
    path = f"/storage/v1/b/{BUCKET}/o/{name}"
    upload = f"/upload/storage/v1/b/{BUCKET}/o?name={name}&{query}&uploadType="
    if method == "get":
        return send("GET", f"{path}?{query}")
    if method == "media":
        return send("GET", f"{path}?alt=media&{query}")
    if method == "insert-media":
        return send("POST", upload + "media", b"more", "application/octet-stream")
    if method == "insert-multipart":
        return send("POST", upload + "multipart", multipart(name), "multipart/related; boundary=xx")
    if method == "insert-resumable":
        begun = send("POST", upload + "resumable", json.dumps({"name": name}).encode())
        if begun[0] != 200:
            return begun
        return send("PUT", begun[2]["Location"], b"more", "application/octet-stream",
                    {"Content-Range": "bytes 0-3/4"})
    if method == "patch":
        return send("PATCH", f"{path}?{query}", b'{"metadata":{"a":"b"}}')
    if method == "update":
        return send("PUT", f"{path}?{query}", b'{"metadata":{"a":"b"}}')
    if method == "delete":
        return send("DELETE", f"{path}?{query}")
    if method == "compose":
        return send("POST", f"{path}/compose?{query}",
                    json.dumps({"sourceObjects": [{"name": source}]}).encode())
    start = f"/storage/v1/b/{BUCKET}/o/{source}"
    if method == "rewrite":
        return send("POST", f"{start}/rewriteTo/b/{BUCKET}/o/{name}?{query}")
    if method == "copy":
        return send("POST", f"{start}/copyTo/b/{BUCKET}/o/{name}?{query}")
    return send("POST", f"{start}/moveTo/o/{name}?{query}")


def reason_of(body):
    try:
        return json.loads(body)["error"]["errors"][0]["reason"]
    except (ValueError, KeyError, IndexError, TypeError):
        return ""


def row(method, prefix, parameter, value, there):
    """`there`: "live", "none" or "archived", of the object that the condition is about."""
    global count
    count += 1
    name, source = f"object-{count}", f"source-{count}"
    numbers = {"Generation": 1234, "Metageneration": 1}
    subject = source if prefix == "ifSource" else name
    if there != "none":
        made = json.loads(put(subject)[1])
        numbers = {"Generation": int(made["generation"]), "Metageneration": 1}
    if there == "archived":
        send("DELETE", f"/storage/v1/b/{BUCKET}/o/{subject}")
    if method in ("compose", "rewrite", "copy", "move") and prefix == "if":
        put(source)
    # podctl's emulator lets one write a second to an object pass.
    send("POST", "/emulator/clock", b'{"advance":"1s"}')
    number = {"current": numbers[parameter.split("Not")[0].replace("Match", "")],
              "other": numbers[parameter.split("Not")[0].replace("Match", "")] + 1,
              "zero": 0}[value]
    status, body, _ = ask(method, name, source, f"{prefix}{parameter}={number}")
    if status == 204:
        status = 200  # of a delete, and no matter here
    print(f"{method:17} {prefix + parameter:30} {value:8} {there:9} {status} "
          f"{reason_of(body)}".rstrip(), flush=True)


def main():
    send("POST", "/storage/v1/b?project=p",
         json.dumps({"name": BUCKET, "versioning": {"enabled": True}}).encode())
    for method in METHODS:
        for name in NAMES:
            for match in ("Match", "NotMatch"):
                for value in ("current", "other", "zero"):
                    row(method, "if", name + match, value, "live")
                for value in ("other", "zero"):
                    row(method, "if", name + match, value, "none")
                    row(method, "if", name + match, value, "archived")
    for method in ("rewrite", "copy", "move"):
        for name in NAMES:
            for match in ("Match", "NotMatch"):
                for value in ("current", "other", "zero"):
                    row(method, "ifSource", name + match, value, "live")


main()
