"""Tests of untimely ends: SIGTERM while bodies are read and texts searched, and a model's file that
is cut short while it is loaded."""

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path

from raw_client import RawClient
from serve_case import DEMO, GIVE_UP, ServeCase, chain_models

TEXT, CHAT = "/v1/completions", "/v1/chat/completions"
SEARCH = "{{ messages[0].content.count(messages[1].content) }}{{ messages[0].content[:0] }}"


class BusyEndTest(ServeCase):
    """Sends SIGTERM while the worker reads large bodies."""

    CLIENTS = 4

    def bodies(self):
        # A single long word gives no token before all of it was read.
        word = json.dumps({"prompt": "a" * 8_000_000}).encode()
        hay, needle = "a" * 4_000_000, "a" * 1_000_000 + "b" + "a" * 1_000_000
        messages = [{"role": "user", "content": hay}, {"role": "user", "content": needle}]
        search = json.dumps({"messages": messages}).encode()
        return [(TEXT, word), (CHAT, search)] * (self.CLIENTS // 2)

    def busy(self, seconds):
        """A server that has received SIGTERM, and its clients."""
        template = self.folder / "search.jinja"
        template.write_text(SEARCH)
        server = self.start("serve", DEMO, "--chat-template", template, "--drain-timeout", seconds)
        clients = []
        for i, (path, body) in enumerate(self.bodies()):
            clients.append(self.enterContext(RawClient(server.port, source=f"127.0.0.{i + 2}")))
            clients[-1].post(path, body)
        # All requests have arrived, and the worker cannot have finished; one exchange is that of
        # the figures.
        server.wait_until(lambda f: f["hearth_exchanges"] > 1, "the worker has something to do")
        server.process.send_signal(signal.SIGTERM)
        return server, clients

    def test_in_time(self):
        server, clients = self.busy("600")
        for client in clients:
            self.assertIn(client.reply().status, (200, 400))
        self.assertEqual(server.end(), 0)

    def test_beyond_its_time(self):
        server, clients = self.busy("0.001")
        self.assertEqual(server.end(), 0)
        for client in clients:
            try:
                status = client.reply().status
            except EOFError:
                continue  # the client had already left
            self.assertIn(status, (200, 400, 503))


class CutFileTest(ServeCase):
    """Cuts a model's file short at any moment while it is loaded."""

    MOMENTS, MOST = 5, 100
    STEP_SECONDS = 0.006

    def setUp(self):
        self.whole, self.cut = self.folder / "wide.gguf", self.folder / "wide-cut.gguf"
        if not self.whole.exists():
            chain_models.write_wide(self.whole)

    def load(self, moment, *words):
        """(exit status, standard error) of a program that loads the file. The file was mapped whole
        before it is cut."""
        shutil.copyfile(self.whole, self.cut)
        process = subprocess.Popen([*ServeCase.hearth, words[0], str(self.cut), *words[1:]],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        maps = Path(f"/proc/{process.pid}/maps")
        while process.poll() is None and self.cut.name not in maps.read_text():
            pass
        time.sleep(moment * self.STEP_SECONDS)
        with open(self.cut, "r+b") as file:
            file.truncate(self.whole.stat().st_size // 3)
        said = b""
        while line := process.stderr.readline():
            said += line
            if line.startswith(b"hearth: serving"):
                process.send_signal(signal.SIGTERM)
        return process.wait(GIVE_UP), said.decode()

    def check(self, *words):
        met = moments = 0
        while moments < self.MOMENTS or not met:
            # The cut comes a moment later each time; after the last moment the first one follows.
            status, said = self.load(moments % self.MOMENTS, *words)
            if status != 0:
                self.assertEqual(status, 1, said)
                self.assertRegex(said, r"hearth: .*wide-cut\.gguf'.* (changed while|trunc)")
                met += 1
            moments += 1
            self.assertLess(moments, self.MOST, "it never met the cut")

    def test_run(self):
        self.check("run", "-p", "a", "-n", "1", "--ctx", "16")

    def test_serve(self):
        self.check("serve", "--port", "0", "--kv-cache", "64MiB", "--ctx", "16")
