#!/usr/bin/env python3
"""Tests `hearth serve` where any allocation may fail at random, on any thread. It answers every
request or ends its connection. Once there is memory again it serves, and it ends when told to.

    failing_malloc_test.py --hearth build/release/hearth --library libfailing_malloc.so
                           [--rounds 12] [--seed 1]
"""

import argparse
import http.client
import json
import mmap
import os
import random
import struct
import sys
import tempfile
import threading
import time
from pathlib import Path

from serving import GIVE_UP, Server

DEMO = Path(__file__).resolve().parents[2] / "assets" / "demo.gguf"
ROUNDS_OF_A_SERVER = 4
TEXTS = {"input": ["fox"] * 2048}
TEXT = {"prompt": ["Once upon", "a time"], "n": 4, "logprobs": 5, "max_tokens": 60,
        "ignore_eos": True, "temperature": 1}
BOUND = {"prompt": "Once", "max_tokens": 60,
         "structured_outputs": {"regex": "[a-z ]{20,40}(x|y|zebra)"}}
CALLS = [("/v1/embeddings", TEXTS), ("/v1/embeddings", TEXTS), ("/v1/completions", TEXT),
         ("/v1/completions", {**TEXT, "stream": True}), ("/v1/completions", BOUND),
         ("/v1/completions", {**BOUND, "stream": True})] * 3
# The results that a request may have. 0: the connection ended before an answer, or in its middle.
MAY_BE = {(0, ""), (200, ""), (503, "no_memory")}


class Wish:
    """The file that the preloaded library reads: see failing_malloc.cc."""

    def __init__(self, folder):
        self.path = Path(folder) / "wish"
        self.path.write_bytes(b"\0" * 12)
        with self.path.open("r+b") as file:
            self._bytes = mmap.mmap(file.fileno(), 12)

    def fail(self, share, least, seed):
        self._bytes[:12] = struct.pack("<3I", int(share * 2**32), least, seed)

    def stop(self):
        self._bytes[:4] = bytes(4)


def start(arguments, wish):
    def preload():
        os.environ.update(LD_PRELOAD=arguments.library, HEARTH_FAILING_MALLOC=str(wish.path))

    return Server([arguments.hearth, "serve", DEMO, "--embed", DEMO, "--pooling", "mean",
                   "--embed-queue", "200000", "--kv-cache", "4MiB", "--drain-timeout", "5",
                   "--port", "0"], before=preload)


def ask(server, path, body, found):
    try:
        status, data = server.ask("POST", path, body)
        found.append((status, data["error"]["code"] if status != 200 else ""))
    except (OSError, http.client.HTTPException, json.JSONDecodeError):
        found.append((0, ""))


def one_round(server, wish, rng):
    """Sends all requests at once while allocations fail, then again alone. Returns the results of
    the first."""
    found = []
    threads = [threading.Thread(target=ask, args=(server, *call, found)) for call in CALLS]
    before = rng.choice([0, 0.01, 0.05, 0.2])
    wish_of_round = 10 ** rng.uniform(-4, -0.7), rng.choice([0, 0, 256, 4096]), rng.getrandbits(32)
    if before == 0:
        wish.fail(*wish_of_round)
    for thread in threads:
        thread.start()
    time.sleep(before)
    wish.fail(*wish_of_round)
    rest = time.monotonic() + rng.choice([0.05, 0.3, 1])
    while time.monotonic() < rest and any(thread.is_alive() for thread in threads):
        time.sleep(0.01)
    wish.stop()
    for thread in threads:
        thread.join(GIVE_UP)
    assert len(found) == len(CALLS), f"{len(CALLS) - len(found)} requests have no end"
    assert server.process.poll() is None, f"it ended with {server.process.returncode}"
    assert set(found) <= MAY_BE, found
    server.wait_idle()
    assert len(server.good("/v1/embeddings", TEXTS)["data"]) == len(TEXTS["input"])
    assert server.text(prompt="Once", max_tokens=4, ignore_eos=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hearth", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    print(f"--seed {arguments.seed}")
    met = []
    with tempfile.TemporaryDirectory() as folder:
        wish = Wish(folder)
        for first in range(0, arguments.rounds, ROUNDS_OF_A_SERVER):
            with start(arguments, wish) as server:
                try:
                    for _ in range(first, min(first + ROUNDS_OF_A_SERVER, arguments.rounds)):
                        met += one_round(server, wish, rng)
                    status = server.stop()
                    assert status == 0, f"it ended with {status}"
                except BaseException:
                    print(server.last_words(), file=sys.stderr)
                    raise
    for outcome in sorted(set(met)):
        print(f"{met.count(outcome)} requests: {outcome}")
    if arguments.rounds >= ROUNDS_OF_A_SERVER:
        assert (503, "no_memory") in met, "no allocation failed where it was seen"


if __name__ == "__main__":
    main()
