"""A server under test: starts it, asks it, and waits for what its figures tell. Nothing here looks
at how long something took; what is waited for is asked again until it is there."""

import http.client
import json
import os
import re
import signal
import subprocess
import threading
import time
import unittest

GIVE_UP = 120  # seconds after which what was waited for is said not to come
# What sanitizers begin their reports with. A signal may end a program before its exit status tells.
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
    """A process that prints where it serves; `command` starts it at any free port."""

    def __init__(self, command, before=None):
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=before
        )
        self.lines = []
        self.port = None
        for line in self.process.stderr:
            self.lines.append(line.decode())
            found = re.search(r"hearth: serving (.*) at http://.*:(\d+)/$", line.decode().strip())
            if found:
                self.name, self.port = found[1], int(found[2])
                break
        # Somebody must read on, or the log would fill the pipe.
        self.reader = threading.Thread(target=self._read_on, daemon=True)
        self.reader.start()
        if self.port is None:
            self.process.wait()
            raise AssertionError("the server did not start:\n" + "".join(self.lines))

    def _read_on(self):
        for line in self.process.stderr:
            self.lines.append(line.decode())

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=GIVE_UP)

    def ask(self, method, path, body=None, headers=None):
        """(status, body): JSON where it is any."""
        connection = self.connect()
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, headers or {})
            reply = connection.getresponse()
            data = reply.read()
            kind = reply.headers.get("Content-Type", "")
            return reply.status, json.loads(data) if kind == "application/json" else data.decode()
        finally:
            connection.close()

    def text(self, **fields):
        """The text of one completion."""
        status, body = self.ask("POST", "/v1/completions", fields)
        assert status == 200, (status, body)
        return body["choices"][0]["text"]

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
        """Waits until `condition` holds of the figures, and returns these."""

        def look():
            figures = self.figures()
            return figures if condition(figures) else None

        return wait_for(look, said)

    def wait_idle(self):
        """Until no text is under way and every page is free or only kept."""
        return self.wait_until(
            lambda f: f["hearth_requests_running"] == f["hearth_requests_waiting"] == 0
            and f["hearth_kv_pages_available"] == f["hearth_kv_pages"],
            "nothing is under way and all pages are back",
        )

    def stop(self, sent=signal.SIGTERM):
        """Sends it a signal. The exit status."""
        if self.process.poll() is None:
            self.process.send_signal(sent)
        return self.end()

    def end(self):
        """The exit status, once it has ended."""
        try:
            status = self.process.wait(GIVE_UP)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.reader.join()
        self.process.stderr.close()
        if any(REPORT.search(line) for line in self.lines):
            raise AssertionError("a sanitizer reports:\n" + "".join(self.lines))
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


class ServerTest(unittest.TestCase):
    """One server for all tests of a class."""

    hearth = []  # what runs the program
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
            raise AssertionError(f"the server ended with {status}:\n" + "".join(cls.server.lines))


def environment_command(name):
    """The command in an environment variable, as words."""
    return os.environ[name].split()
