"""Tests `hearth serve` where the process gets no more memory: its address space is limited to a
little more than it has once its models are loaded. However little that is, it answers or ends a
connection, goes on, and serves again when it may have more."""

import http.client
import json
import os
import resource
import threading

from serve_case import DEMO, ServeCase

MIB = 1 << 20
# Memory beyond the server's own: too little for anything, for one request, or for all requests at
# once.
ROOM_MIB = (0, 1, 2, 4, 8, 12)
TEXT = {"prompt": "Once upon a time", "n": 16, "logprobs": 20, "max_tokens": 200,
        "ignore_eos": True, "temperature": 1}
TEXTS = {"input": ["fox"] * 2048}
GOOD = (200, "")
# 0: the connection ended before an answer, or in its middle.
SHORT = {(0, ""), (503, "no_memory")}


def keep_one_heap():
    """Sets the environment of the process to come. malloc() would reserve address space for a heap
    a thread, which would be room beyond the limit."""
    os.environ["MALLOC_ARENA_MAX"] = "1"


def limit(pid, most):
    _, hard = resource.prlimit(pid, resource.RLIMIT_AS)
    resource.prlimit(pid, resource.RLIMIT_AS, (most, hard))


class MemoryLimitTest(ServeCase):
    def ask_all(self, server, calls):
        """The results of all calls at once: (status, code of an error)."""
        found = []

        def ask(path, body):
            try:
                status, data = server.ask("POST", path, body)
                found.append((status, data["error"]["code"] if status != 200 else ""))
            except (OSError, http.client.HTTPException, json.JSONDecodeError):
                found.append((0, ""))

        threads = [threading.Thread(target=ask, args=call) for call in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found

    def sweep(self, server, rooms, calls):
        """The results of any of the calls. Asserts that the process goes on."""
        if server.has_sanitizer():
            self.skipTest("a sanitizer ends the program where it gets no addresses")
        met = set()
        for room in rooms:
            with self.subTest(room=room):
                limit(server.pid, server.address_space() + room * MIB)
                found = self.ask_all(server, calls)
                self.assertIsNone(server.process.poll(), server.last_words())
                self.assertLessEqual(set(found), SHORT | {GOOD})
                met.update(found)
                limit(server.pid, resource.RLIM_INFINITY)
                server.wait_idle()
                self.assertEqual(server.ask("GET", "/health")[0], 200)
                self.assertTrue(server.text(prompt="Once", max_tokens=4, ignore_eos=True))
        return met

    def test_embeddings(self):
        server = self.start("serve", DEMO, "--embed", DEMO, "--pooling", "mean",
                            "--embed-queue", "200000", "--embed-memory", "1GiB",
                            before=keep_one_heap)
        met = self.sweep(server, ROOM_MIB, [("/v1/embeddings", TEXTS)] * 16)
        self.assertIn((503, "no_memory"), met)
        # No device was lost with the memory.
        self.assertEqual(len(server.good("/v1/embeddings", TEXTS)["data"]), 2048)

    def test_large_replies(self):
        server = self.start("serve", DEMO, "--max-running", "16", "--max-queue", "400",
                            before=keep_one_heap)
        met = self.sweep(server, (0, 1, 2, 4), [("/v1/completions", TEXT)] * 8)
        self.assertIn((503, "no_memory"), met)
