"""A server under test: starts it, asks it, and waits for its figures. No function depends on how
long something takes; a wait asks again until the condition holds."""

import http.client
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

GIVE_UP = 120  # seconds after which a wait fails
# The first words of sanitizers' reports. A signal may end a program before its exit status shows
# one.
REPORT = re.compile(r"WARNING: \w+Sanitizer|ERROR: \w+Sanitizer|: runtime error: ")


def wait_for(what, said):
    """Calls `what` until it returns something true, and returns that."""
    end = time.monotonic() + GIVE_UP
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError(f"waited in vain until {said}")


class Server:
    """A process that prints its address. `command` starts it at any free port. It ends with the
    `with` block, if not before."""

    # The line to wait for, which has the server's address.
    SERVING = re.compile(r"^hearth: serving (.*) at http://(.*):(\d+)/$", re.M)

    def __init__(self, command, before=None, until=SERVING, stdin=subprocess.DEVNULL):
        # A file takes all output without anyone reading it.
        self._log = tempfile.TemporaryFile()
        self._said = None
        self.process = subprocess.Popen(
            [*map(str, command)],
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=self._log,
            preexec_fn=before,
        )
        self.pid = self.process.pid
        # The wait lasts as long as the model takes to load.
        while not (found := until.search(self.said())):
            if self.process.poll() is not None:
                raise AssertionError("the server did not start:\n" + self.said())
            time.sleep(0.005)
        self.name, self.host, self.port = found[1], found[2], int(found[3])
        # No request can be sent to the wildcard address.
        self.url = f"http://{self.host.replace('0.0.0.0', '127.0.0.1')}:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.end()

    def said(self):
        """The output so far."""
        if self._said is not None:
            return self._said
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), size, 0).decode(errors="replace")

    def last_words(self):
        return self.said()[-8000:]

    def _bytes(self, column):
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[column])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def address_space(self):
        return self._bytes(0)

    def resident_bytes(self):
        return self._bytes(1)

    def has_sanitizer(self):
        """Whether the program was built with a sanitizer, which takes terabytes of addresses."""
        return self.address_space() > 1 << 40

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def connect(self):
        return http.client.HTTPConnection(self.url.partition("//")[2], timeout=GIVE_UP)

    def exchange(self, method, path, body=None, headers=None):
        """(status, header, body as bytes)."""
        connection = self.connect()
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, headers or {})
            reply = connection.getresponse()
            return reply.status, reply.headers, reply.read()
        finally:
            connection.close()

    def ask(self, method, path, body=None, headers=None):
        """(status, body); the body is parsed if it is JSON."""
        status, fields, data = self.exchange(method, path, body, headers)
        kind = fields.get("Content-Type", "")
        return status, json.loads(data) if kind == "application/json" else data.decode()

    def good(self, path, body=None):
        """The body of an answer that must be 200."""
        status, found = self.ask("GET" if body is None else "POST", path, body)
        assert status == 200, (status, found)
        return found

    def text(self, **fields):
        """The text of one completion."""
        return self.good("/v1/completions", fields)["choices"][0]["text"]

    def open_stream(self, **fields):
        """A stream's connection and reply; the status line has come."""
        connection = self.connect()
        connection.request("POST", "/v1/completions", json.dumps({"stream": True, **fields}))
        return connection, connection.getresponse()

    def figures(self):
        """The samples of /metrics by name."""
        _, text = self.ask("GET", "/metrics")
        lines = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in lines}

    def wait_until(self, condition, said):
        """Waits until `condition` holds for the figures, and returns them."""

        def look():
            figures = self.figures()
            return figures if condition(figures) else None

        return wait_for(look, said)

    def wait_idle(self):
        """Waits until no text is under way and every page is free or only kept."""
        return self.wait_until(
            lambda f: f["hearth_requests_running"] == f["hearth_requests_waiting"] == 0
            and f["hearth_kv_pages_available"] == f["hearth_kv_pages"],
            "nothing is under way and all pages are back",
        )

    def stop(self, sent=signal.SIGTERM):
        """Sends a signal; returns the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(sent)
        return self.end()

    def end(self):
        """The exit status, once the process has ended."""
        try:
            status = self.process.wait(GIVE_UP)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self._said = self.said()
        self._log.close()
        if self.process.stdin:
            self.process.stdin.close()
        if REPORT.search(self._said):
            raise AssertionError("a sanitizer reports:\n" + self._said)
        return status


def events(reply):
    """The data of a stream's events, decoded; "[DONE]" as it is."""
    found = []
    for line in reply:
        if line.startswith(b"data: "):
            data = line[6:].strip().decode()
            found.append(data if data == "[DONE]" else json.loads(data))
    return found


def stream_text(found):
    """The text of a completion's events."""
    return "".join(
        choice["text"] for event in found if event != "[DONE]" for choice in event["choices"]
    )


def serve_command(program, *words):
    """`hearth serve` at any free port."""
    return [program, "serve", *words, "--port", "0"]


def software_gpu(hearth):
    """The name that `hearth gpu` gives to a software driver; None where there is none."""
    said = subprocess.run([*hearth, "gpu", "--json"], capture_output=True, check=True)
    found = [one["name"] for one in json.loads(said.stdout)["accelerators"]
             if one["kind"] == "software" and not one["refused"]]
    return found[0] if found else None


class ServerTest(unittest.TestCase):
    """One server for all tests of a class."""

    hearth = []  # words that run the program
    options = []

    @classmethod
    def start(cls, *options, port=0, before=None):
        command = [*ServerTest.hearth, "serve", "--port", str(port), *cls.options, *options]
        return Server(command, before)

    @classmethod
    def setUpClass(cls):
        cls.server = cls.start()

    @classmethod
    def tearDownClass(cls):
        status = cls.server.stop()
        if status != 0:
            raise AssertionError(f"the server ended with {status}:\n" + cls.server.last_words())
