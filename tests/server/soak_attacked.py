"""Polite clients' service while a server is attacked, and the server's memory.

The attackers are those of attackers.py. The server's log is not read, except for a moment halfway.
At the end, when the attackers have left, everything must be free again. Then they come back, and
SIGTERM ends the server during their attack.
"""

import asyncio
import collections
import fcntl
import json
import mmap
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from async_http import Exchange, ProtocolError, fetch, metrics
from attackers import CHAT, TEXT
from serve_case import chain_models, u32
from serving import Server, serve_command, wait_for
from soak_clients import BUSY, alone, piece_of, text_of

ATTACKERS = Path(__file__).with_name("attackers.py")
MIB = 1 << 20
POLITE = 6  # clients at a time
MOST_SECONDS = 5  # the longest time of a polite request
DRAIN_SECONDS = 10
# The server waits 2 s beyond the drain for abandoned work; the rest is for a slow machine.
END_SECONDS = DRAIN_SECONDS + 2 + 3
# The seconds that the attackers run before SIGTERM.
LAST_ATTACK = 3
CONNECTIONS = 4096
BODIES, REPLIES, EMBED = 64, 32, 64  # MiB
# Memory for values made of large bodies while they are read (values of JSON, texts, a template's
# strings, tokens). Two such bodies are read at a time, of 8 MiB at most. A single word takes 27
# bytes for each of its bytes, beside the texts that it was cut from.
MADE_OF_BODIES = 2 * 8 * 40  # MiB
# The program, its threads, CONNECTIONS, and small allocations kept by the heaps.
PROGRAM = 64  # MiB
# A template that searches one text of the conversation for another, in the way that a request
# names.
TEMPLATE = """{%- if search is defined -%}
{%- set hay = messages[0].content -%}
{%- set needle = messages[-1].content -%}
{%- if search == "in" %}{{ needle in hay }}
{%- elif search == "find" %}{{ hay.find(needle) }}
{%- elif search == "count" %}{{ hay.count(needle) }}
{%- elif search == "replace" %}{{ hay.replace(needle, "")|length }}
{%- elif search == "split" %}{{ hay.split(needle)|length }}
{%- endif -%}
{%- else -%}
{%- for m in messages %}{{ m.role }}: {{ m.content }}
{% endfor %}assistant:
{%- endif -%}"""


class UnheardServer(Server):
    """A server whose standard error is a pipe of one page, read only while `listening` is set."""

    def __init__(self, command):
        self.listening = threading.Event()
        self.listening.set()
        self._heard, self._said = bytearray(), None
        self._reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, mmap.PAGESIZE)
        self.process = subprocess.Popen([*map(str, command)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=writer)
        os.close(writer)
        self.pid = self.process.pid
        self._hearing = threading.Thread(target=self._hear, daemon=True)
        self._hearing.start()
        found = wait_for(lambda: self.SERVING.search(self.said()) or self.process.poll(),
                         "the server serves")
        if isinstance(found, int):
            raise AssertionError("the server did not start:\n" + self.said())
        self.port = int(found[3])
        self.url = f"http://127.0.0.1:{self.port}"

    def _hear(self):
        while data := os.read(self._reader, 65536):
            self._heard += data
            self.listening.wait()
        os.close(self._reader)

    def said(self):
        return self._said or self._heard.decode(errors="replace")

    def end(self):
        try:
            status = self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self.listening.set()
        self._hearing.join()
        self._said = self.said()
        return status

    def peak_bytes(self):
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"^VmHWM:\s*(\d+) kB$", status, re.M)[1]) << 10


class Attack:
    """The attackers' process."""

    def __init__(self, port, seed):
        self.process = subprocess.Popen([sys.executable, ATTACKERS, "--port", str(port),
                                         "--seed", str(seed)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def end(self):
        """Ends the attackers; returns each kind's counts."""
        told, _ = self.process.communicate(timeout=60)
        return json.loads(told)


class Polite:
    """Clients that ask for little, one request after another, and read the answers."""

    def __init__(self, url, known, seed):
        self.url, self.known = url, list(known.items())
        self.random = random.Random(seed)
        self.seconds = collections.defaultdict(list)  # by kind, of answered requests
        self.refused = collections.Counter()
        self.faults = []

    async def run(self, until):
        await asyncio.gather(*(self._client(until) for _ in range(POLITE)))

    async def _client(self, until):
        kinds = (self.text, self.text, self.stream, self.stream, self.embeddings, self.tokens,
                 self.look)
        while not until() and len(self.faults) < 20:
            begun = time.monotonic()
            try:
                name, status = await self.random.choice(kinds)()
            except (ProtocolError, OSError, ValueError, KeyError, IndexError) as error:
                self.faults.append(f"a polite client met {error!r} after "
                                   f"{time.monotonic() - begun:.2f} s")
                continue
            took = time.monotonic() - begun
            if status in BUSY:
                self.refused[name] += 1
                self.faults.append(f"{name} was refused with {status}")
            elif status != 200:
                self.faults.append(f"{name} was answered {status}")
            else:
                self.seconds[name].append(took)
            if took > MOST_SECONDS:
                self.faults.append(f"{name} took {took:.2f} s")
            await asyncio.sleep(self.random.uniform(0.01, 0.1))

    def call(self):
        """(path, body, text) of a random call whose text is known."""
        (path, body), text = self.random.choice(self.known)
        return path, json.loads(body), text

    def compare(self, path, found, text):
        if found != text:
            self.faults.append(f"{path} gave {found!r}, and alone {text!r}")

    async def text(self):
        path, body, text = self.call()
        status, reply = await fetch(self.url, path, body)
        if status == 200:
            self.compare(path, text_of(json.loads(reply)["choices"][0]), text)
        return "chat" if path == CHAT else "completion", status

    async def stream(self):
        path, body, text = self.call()
        found, begun, first = "", time.monotonic(), None
        async with Exchange(self.url, path, {**body, "stream": True}) as reply:
            if reply.status != 200:
                return "stream", reply.status
            async for data in reply.events():
                if data == "[DONE]":
                    continue
                first = first or time.monotonic()
                found += piece_of(json.loads(data)["choices"][0])
        self.seconds["stream, first token"].append(first - begun)
        self.compare(path, found, text)
        return "stream", 200

    async def embeddings(self):
        status, _ = await fetch(self.url, "/v1/embeddings", {"input": ["abc", "hello"]})
        return "embeddings", status

    async def tokens(self):
        status, _ = await fetch(self.url, "/tokenize", {"content": "a fox and a kite"})
        return "tokenize", status

    async def look(self):
        path = self.random.choice(["/health", "/v1/models", "/metrics"])
        return path, (await fetch(self.url, path))[0]


def budgets(said):
    """{summand: bytes} of the memory that the server may hold, by its messages at the start."""
    units = {"B": 1, "KiB": 1 << 10, "MiB": MIB, "GiB": 1 << 30}
    engines = re.findall(r"^hearth: memory \S+ \S+: weights (\S+ \S+), keys and values (\S+ \S+), "
                         r"the rest (\S+ \S+)$", said, re.M)

    def size(text):
        number, unit = text.split()
        return float(number) * units[unit]

    weights, cache, rest = (sum(map(size, sizes)) for sizes in zip(*engines))
    return {"weights": weights, "keys and values": cache, "the engines' other memory": rest,
            "--max-bodies": BODIES * MIB, "made of them": MADE_OF_BODIES * MIB,
            "--max-replies": REPLIES * MIB, "--embed-memory": EMBED * MIB,
            "the program": PROGRAM * MIB}


class Attacked:
    def __init__(self, server, options):
        self.server, self.options = server, options
        self.faults = []
        self.did = {}

    async def rest(self):
        """Waits until nothing is under way; returns the number of descriptors then."""
        until = time.monotonic() + 60
        while True:
            told = await metrics(self.server.url)
            left = {name: told[name] for name in ("hearth_requests_running",
                                                  "hearth_requests_waiting", "hearth_reply_bytes")}
            left["pages"] = told["hearth_kv_pages"] - told["hearth_kv_pages_available"]
            left["connections"] = told["hearth_connections"] - 1
            left["exchanges"] = told["hearth_exchanges"] - 1
            if not any(left.values()):
                await asyncio.sleep(0.5)
                return self.server.descriptors()
            if time.monotonic() > until:
                self.faults.append(f"when the attackers have left there stay {left}")
                return self.server.descriptors()
            await asyncio.sleep(0.1)

    async def run(self):
        known = await alone(self.server.url)
        await fetch(self.server.url, "/v1/embeddings", {"input": ["abc"]})
        self.descriptors = [await self.rest()]
        self.polite = Polite(self.server.url, known, self.options.seed)
        self.server.listening.clear()
        self.begun = time.monotonic()
        attack = Attack(self.server.port, self.options.seed)
        try:
            for part in (0.5, 1):
                await self.polite.run(until=lambda: self.passed() >= part)
                # The log is read for a moment.
                self.server.listening.set()
                await asyncio.sleep(0.1)
                self.server.listening.clear()
        finally:
            self.did = attack.end()
        self.faults += self.polite.faults
        self.told = await metrics(self.server.url)
        self.descriptors.append(await self.rest())
        if self.descriptors[1] > self.descriptors[0]:
            self.faults.append("{} descriptors at the start, {} at the end".format(
                *self.descriptors))

    def passed(self):
        return (time.monotonic() - self.begun) / self.options.seconds

    def end(self):
        """Sends SIGTERM while the attackers run."""
        attack = Attack(self.server.port, self.options.seed + 1)
        time.sleep(LAST_ATTACK)
        self.peak = self.server.peak_bytes()
        begun = time.monotonic()
        status = self.server.stop()
        self.ended = time.monotonic() - begun
        attack.end()
        if status != 0:
            self.faults.append(f"SIGTERM ended it with status {status}")
        if self.ended > END_SECONDS:
            self.faults.append(f"SIGTERM took {self.ended:.1f} s, of {END_SECONDS}")

    def judge(self):
        self.budgets = budgets(self.server.said())
        if self.peak > sum(self.budgets.values()):
            self.faults.append(f"{self.peak / MIB:.0f} MiB were resident at a time, of "
                               f"{sum(self.budgets.values()) / MIB:.0f}")

    def print(self):
        print(f"attacked for {self.options.seconds:.0f} s, seed {self.options.seed}\n")
        print(f"{'polite requests':24}{'count':>8}{'median s':>10}{'99 %':>8}{'slowest':>9}"
              f"{'refused':>9}")
        for kind, seconds in sorted(self.polite.seconds.items()):
            last = sorted(seconds)[int(len(seconds) * 0.99)]
            print(f"{kind:24}{len(seconds):8}{statistics.median(seconds):10.3f}{last:8.3f}"
                  f"{max(seconds):9.3f}{self.polite.refused[kind]:9}")
        names = ("opened", "requests", "answered", "refused", "cut")
        print(f"\n{'attackers':16}" + "".join(f"{name:>10}" for name in names))
        for kind, did in self.did.items():
            print(f"{kind:16}" + "".join(f"{did.get(name, 0):10}" for name in names))
        told = [f"{name} {size / MIB:.1f}" for name, size in self.budgets.items()]
        most = sum(self.budgets.values()) / MIB
        print(f"\npeak of memory {self.peak / MIB:.1f} MiB, of {most:.1f}: {', '.join(told)}")
        print("descriptors at rest {}, and {} at the end".format(*self.descriptors))
        print(f"idle connections closed for new ones "
              f"{self.told['hearth_displaced_connections_total']:.0f}, new ones refused "
              f"{self.told['hearth_refused_connections_total']:.0f}")
        print(f"the end took {self.ended:.1f} s after SIGTERM\n")


def command(options, folder):
    embedder, template = Path(folder, "embedder.gguf"), Path(folder, "search.jinja")
    # The file gives a pooling type, so this is a model for embeddings.
    chain_models.write_random(embedder, {"llama.pooling_type": u32(3)})
    template.write_text(TEMPLATE)
    return serve_command(
        options.hearth, *options.model, "-v", "--ctx", "4096", "--kv-cache", "32MiB",
        "--chat-template", template, "--embed", embedder, "--embed-memory", f"{EMBED}MiB",
        "--max-connections", CONNECTIONS, "--max-bodies", f"{BODIES}MiB",
        "--max-replies", f"{REPLIES}MiB", "--write-timeout", "10",
        "--drain-timeout", DRAIN_SECONDS)


def run(options):
    """Runs the soak and prints all measurements; returns the faults."""
    with tempfile.TemporaryDirectory() as folder, UnheardServer(
            command(options, folder)) as server:
        attacked = Attacked(server, options)
        try:
            asyncio.run(attacked.run())
            attacked.end()
        except BaseException as error:
            status = server.stop()
            print(f"{error!r}; the server ended with {status}:\n{server.last_words()}",
                  file=sys.stderr)
            raise
        attacked.judge()
        attacked.print()
        return attacked.faults
