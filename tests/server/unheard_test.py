"""Tests of the server with standard error closed, full, broken or unread."""

import fcntl
import json
import mmap
import os
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request

from serve_case import DEMO, GIVE_UP, ServeCase
from serving import wait_for

STREAM = {"prompt": "a", "ignore_eos": True, "stream": True}


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def unread_pipe():
    """(reader, writer) of a pipe with a small buffer that is full."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, mmap.PAGESIZE)
    fill(writer)
    return reader, writer


def fill(writer):
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"\n")
    except BlockingIOError:
        os.set_blocking(writer, True)


class UnheardTest(ServeCase):
    """A server's answers and its end do not depend on a reader of its messages."""

    def begin(self, stderr, *words):
        """Starts a process with this descriptor as standard error; returns it and its address once
        it answers."""
        port = free_port()
        words = [*ServeCase.hearth, "serve", str(DEMO), "--ctx", "16384", "--kv-cache", "64MiB",
                 "--port", str(port), "--drain-timeout", "600", *words]
        how = {"stderr": stderr} if stderr is not None else {"preexec_fn": lambda: os.close(2)}
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   **how)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        address = f"http://127.0.0.1:{port}"

        def healthy():
            self.assertIsNone(process.poll(), "the server was shut down before this answer was "
                                              "complete")
            try:
                return urllib.request.urlopen(address + "/health", timeout=GIVE_UP).status == 200
            except (urllib.error.URLError, ConnectionError):
                return False

        wait_for(healthy, "the server answers")
        return process, address

    def stream(self, address, tokens):
        body = json.dumps({**STREAM, "max_tokens": tokens}).encode()
        reply = urllib.request.urlopen(address + "/v1/completions", body, timeout=GIVE_UP)
        self.addCleanup(reply.close)
        self.assertIn(b"data: ", reply.readline())
        return reply

    def check(self, stderr, spoil=None):
        """Checks that it serves, and that SIGTERM ends it well after the text under way is
        complete."""
        process, address = self.begin(stderr)
        if spoil:
            spoil()
        self.stream(address, 20).read()
        # The tokens take longer than the signal, so the text is under way when it comes.
        reply = self.stream(address, 2000)
        process.send_signal(signal.SIGTERM)
        self.assertTrue(reply.read().endswith(b"data: [DONE]\n\n"))
        self.assertEqual(process.wait(GIVE_UP), 0)

    def test_closed(self):
        self.check(None)

    def test_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            self.check(full)

    def test_a_reader_that_is_gone(self):
        reader, writer = os.pipe()
        os.close(reader)
        self.check(writer)
        os.close(writer)

    def test_a_reader_that_goes(self):
        reader, writer = os.pipe()
        self.check(writer, lambda: os.close(reader))
        os.close(writer)

    def test_an_unread_pipe(self):
        reader, writer = unread_pipe()
        self.check(writer)
        os.close(reader)
        os.close(writer)

    def test_a_pipe_that_is_no_longer_read(self):
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, mmap.PAGESIZE)
        self.check(writer, lambda: fill(writer))
        os.close(reader)
        os.close(writer)

    def test_lines_come_once_they_are_read(self):
        reader, writer = unread_pipe()
        process, address = self.begin(writer)
        os.close(writer)
        for _ in range(100):
            urllib.request.urlopen(address + "/v1/models", timeout=GIVE_UP).read()
        found = b""
        while len(re.findall(rb" GET /v1/models 200 ", found)) < 100:
            found += os.read(reader, 1 << 16)
        os.close(reader)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(GIVE_UP), 0)
