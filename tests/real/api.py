"""Requests to the Cloud TPU API: sent, recorded without secrets, and refused when the money is out.

A token stays in memory. It goes to https or to loopback and nowhere else, and into no file, argument or
text. What is recorded has been through Scrub, which also takes out what differs from run to run, so
that two records can be compared.
"""

import ctypes
import http.client
import http.server
import json
import os
import re
import secrets
import subprocess
import threading
import time
import urllib.parse

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Failure(Exception):
    """Said to the user as it stands."""


class Stopped(Exception):
    """The budget or the user ended the run."""


def is_loopback(url):
    return urllib.parse.urlsplit(url).hostname in LOOPBACK


def dies_with_us(number):
    """For a Popen's preexec_fn: the child gets this signal when this process is gone, however it went."""
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(1, number)  # PR_SET_PDEATHSIG


class Token:
    """An access token, from where gcloud's users have it."""

    def __init__(self, endpoint):
        self._fixed = "emulator" if is_loopback(endpoint) else None
        self._value = None
        self._until = 0.0
        self._lock = threading.Lock()

    def get(self, anew=False):
        if self._fixed:
            return self._fixed
        with self._lock:
            if self._value is None or anew or time.monotonic() > self._until:
                self._value = self._find()
                self._until = time.monotonic() + 20 * 60
            return self._value

    @staticmethod
    def _find():
        given = os.environ.get("GOOGLE_OAUTH_ACCESS_TOKEN")
        if given:
            return given.strip()
        path = os.environ.get("CLOUDSDK_AUTH_ACCESS_TOKEN_FILE")
        if path:
            with open(path, encoding="utf-8") as file:
                return file.read().strip()
        try:
            found = subprocess.run(
                ["gcloud", "auth", "print-access-token", "--quiet"], capture_output=True, text=True, check=False, timeout=60
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failure(
                "no token: set GOOGLE_OAUTH_ACCESS_TOKEN or CLOUDSDK_AUTH_ACCESS_TOKEN_FILE, or install gcloud and log in"
            ) from error
        if found.returncode != 0:
            raise Failure("gcloud has no token: `gcloud auth login`")
        return found.stdout.strip()


class Scrub:
    """Takes out what is secret, and what is another in each run."""

    def __init__(self, project, run):
        self._words = [(project, "PROJECT"), (run, "RUN")]
        self._patterns = [
            (re.compile(r"\bya29\.[\w.-]+|\beyJ[\w-]+\.[\w-]+\.[\w-]*"), "TOKEN"),
            (re.compile(r"\b(ssh-ed25519|ssh-rsa|ecdsa-sha2-\S+) [A-Za-z0-9+/=]+(?: [^\s\"]+)?"), r"\1 KEY"),
            (re.compile(r"\bAAAA[A-Za-z0-9+/=]{20,}"), "KEY"),
            (re.compile(r"[\w.+-]+@[\w.-]+\.[a-z]+"), "EMAIL"),
            (re.compile(r"\[EID: \w+\]"), "[EID]"),
            (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b"), "UUID"),
            (re.compile(r"operations/[\w.-]+"), "operations/OPERATION"),
            (re.compile(r"\b\d{4}-\d\d-\d\dT[\d:.]+Z"), "TIME"),
            (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?:/\d+)?\b"), "ADDRESS"),
            (re.compile(r"projects/\d{6,}\b"), "projects/PROJECT"),
            (re.compile(r"\b\d{12,}\b"), "NUMBER"),
        ]

    def text(self, text):
        for word, instead in self._words:
            if word:
                text = text.replace(word, instead)
        for pattern, instead in self._patterns:
            text = pattern.sub(instead, text)
        return text

    def value(self, value):
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(each) for each in value]
        if isinstance(value, dict):
            return {self.text(str(key)): self.value(each) for key, each in value.items()}
        return value


class Answer:
    def __init__(self, status, body):
        self.status = status
        self.body = body if isinstance(body, dict) else {}

    @property
    def ok(self):
        return self.status == 200

    @property
    def error(self):
        error = self.body.get("error", {})
        return error if isinstance(error, dict) else {"message": str(error)}


def exchange(url, method, body, token, timeout=60, accept_type="application/json"):
    """One HTTP request; (status, bytes). Follows nothing."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in LOOPBACK:
        raise Failure(f"a token goes over https or to loopback only, not to {parts.scheme}://{parts.netloc}")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname, parts.port, timeout=timeout)
    headers = {"Authorization": f"Bearer {token}", "Accept": accept_type, "User-Agent": "podctl-real-run"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    try:
        connection.request(method, parts.path + ("?" + parts.query if parts.query else ""), body, headers)
        response = connection.getresponse()
        return response.status, response.read(), response.getheader("Content-Type", "")
    finally:
        connection.close()


class Api:
    def __init__(self, endpoint, project, scrub, stop):
        self.endpoint = endpoint.rstrip("/")
        self.project = project
        self.scrub = scrub
        self.stop = stop  # an Event: nothing is sent any more but what cleans up
        self.token = Token(endpoint)
        self.records = []
        self.step = ""
        self._lock = threading.Lock()

    def record(self, who, method, path, query, body, status, answer):
        entry = {
            "step": self.step,
            "by": who,
            "method": method,
            "path": self.scrub.text(path),
            "query": self.scrub.value(query),
            "body": self.scrub.value(body),
            "status": status,
            "answer": self.scrub.value(answer),
        }
        with self._lock:
            self.records.append(entry)

    def call(self, method, path, query=None, body=None, cleaning=False, raw=None):
        """`path` from the version on: "v2/projects/…". `raw`: a body that is sent as it stands."""
        if self.stop.is_set() and not cleaning:
            raise Stopped()
        query = dict(query or {})
        url = f"{self.endpoint}/{path}"
        if query:
            url += "?" + urllib.parse.urlencode(query)
        data = raw.encode() if raw is not None else (json.dumps(body).encode() if body is not None else None)
        for attempt in range(4):
            try:
                status, text, _ = exchange(url, method, data, self.token.get(anew=attempt > 0))
            except (OSError, http.client.HTTPException) as error:
                # Whoever acts must not be sent blindly twice; what cleans up may be.
                if attempt == 3 or (method != "GET" and not cleaning):
                    raise Failure(f"{method} {self.scrub.text(path)}: {error}") from None
                time.sleep(1 + attempt)
                continue
            if status in (401, 429, 500, 502, 503, 504) and attempt < 3 and (method == "GET" or cleaning):
                time.sleep(1 + 2 * attempt)
                continue
            break
        try:
            answer = json.loads(text) if text else {}
        except ValueError:
            answer = {"text": text.decode("utf-8", "replace")}
        self.record("script", method, path, query, body if raw is None else raw, status, answer)
        return Answer(status, answer)


class Relay:
    """Stands between podctl and the service: podctl gets no token, and what it sends is recorded. Lets in
    only who knows its word, which podctl has as its access token."""

    # podctl asks these beside the TPU API, of a server on loopback by the same address.
    OTHERS = (("/compute/", "https://compute.googleapis.com"), ("/v1/users/", "https://oslogin.googleapis.com"))

    def __init__(self, api):
        self.word = secrets.token_urlsafe(24)
        relay = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def serve(self):
                if self.headers.get("Authorization") != f"Bearer {relay.word}":
                    self.send_error(403)
                    return
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length) if length else None
                to = api.endpoint
                if not is_loopback(to):
                    to = next((host for start, host in relay.OTHERS if self.path.startswith(start)), to)
                try:
                    status, text, kind = exchange(to + self.path, self.command, body, api.token.get())
                except (OSError, http.client.HTTPException, Failure):
                    self.close_connection = True
                    return
                parts = urllib.parse.urlsplit(self.path)
                try:
                    sent = json.loads(body) if body else None
                    got = json.loads(text) if text else {}
                except ValueError:
                    sent, got = None, {"bytes": len(text)}
                query = dict(urllib.parse.parse_qsl(parts.query))
                api.record("podctl", self.command, parts.path.lstrip("/"), query, sent, status, got)
                self.send_response(status)
                self.send_header("Content-Type", kind or "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = serve

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
