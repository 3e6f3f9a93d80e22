#!/usr/bin/env python3
"""Tests of `hearth serve --models --allow-pull`: clients of ollama's API get models of a fake hub,
ask them and remove them.

    stock_test.py --hearth build/release/hearth [--library libfailing_threads.so] [TestCase.test...]
"""

import argparse
import contextlib
import hashlib
import json
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "store"))

from fake_hub import FakeHub, drip  # noqa: E402
from serve_case import chain_models, u32  # noqa: E402
from serving import Server, wait_for  # noqa: E402
from store_case import DEMO, StoreCase  # noqa: E402

DATA = DEMO.read_bytes()
FILES = {"m-Q4_0.gguf": DATA, "m-Q8_0.gguf": DATA + b"\0" * 8}
DONE = {"status": "success"}


class StockTest(StoreCase):
    library = None  # the library that lets threads fail

    def serve(self, hub, *words, **more):
        def begin():
            kept = self.environment(hub, **more)
            os.environ.clear()
            os.environ.update(kept)

        server = Server([self.program, "serve", "--models", "--allow-pull", "--port", "0",
                         "--kv-cache", "4MiB", *words], before=begin)
        server.__enter__()
        self.addCleanup(server.__exit__)
        self.addCleanup(lambda: self.assertEqual(server.stop(), 0, server.last_words()))
        return server

    def hub(self, files=None):
        hub = FakeHub(FILES if files is None else files)
        hub.__enter__()
        self.addCleanup(hub.__exit__)
        return hub

    def pull(self, server, name, **more):
        """The lines of a streamed pull."""
        status, fields, text = server.exchange("POST", "/api/pull", {"model": name, **more})
        self.assertEqual((status, fields["Content-Type"]), (200, "application/x-ndjson"), text)
        return [json.loads(line) for line in text.splitlines() if line.strip()]

    def names(self, server):
        return [model["name"] for model in server.good("/api/tags")["models"]]

    def text(self, server, name):
        body = {"model": name, "prompt": "Once", "raw": True, "stream": False,
                "options": {"num_predict": 4, "temperature": 0}}
        return server.good("/api/generate", body)["response"]

    def delete(self, server, name):
        return server.ask("DELETE", "/api/delete", {"model": name})

    def test_pull_ask_and_delete(self):
        server = self.serve(self.hub())
        self.assertEqual(self.names(server), [])
        lines = self.pull(server, "hf.co/org/model:Q4_0")
        self.assertEqual((lines[0], lines[-1]), ({"status": "pulling manifest"}, DONE))
        digest = hashlib.sha256(DATA).hexdigest()
        progress = lines[1:-1]
        for line in progress:
            self.assertEqual((line["status"], line["digest"], line["total"]),
                             (f"pulling {digest[:12]}", f"sha256:{digest}", len(DATA)))
        self.assertEqual(progress[-1]["completed"], len(DATA))
        self.assertEqual(self.names(server), ["org/model:Q4_0"])
        # No request has loaded a model so far.
        self.assertEqual(server.good("/api/ps")["models"], [])
        texts = {self.text(server, name) for name in
                 ("org/model:Q4_0", "org/model", "hf.co/org/model:q4_0", "model:latest", "model")}
        self.assertEqual(len(texts), 1)
        # A model that is already here is not fetched again.
        whole = server.good("/api/pull", {"name": "org/model:Q8_0", "stream": False})
        self.assertEqual(whole, DONE)
        self.assertEqual(self.pull(server, "org/model:Q4_0")[1:], [DONE])
        self.assertEqual(sorted(self.names(server)), ["org/model:Q4_0", "org/model:Q8_0"])
        for name in ("model:q8_0", "org/model"):
            self.assertEqual(self.delete(server, name), (200, DONE))
        self.assertEqual(self.names(server), [])
        self.assertFalse(self.repo().exists())
        self.assertEqual(self.delete(server, "org/model")[0], 404)

    def test_a_model_that_has_another_name_as_well(self):
        hub = self.hub()
        self.assertEqual(self.pull(self.serve(hub), "org/model:Q4_0")[-1], DONE)
        (path,) = self.repo().glob("snapshots/*/m-Q4_0.gguf")
        own = self.serve(hub, path)
        self.assertEqual(self.names(own), ["m-Q4_0:latest"])
        self.assertEqual(self.pull(own, "org/model:Q4_0")[-1], DONE)
        self.assertEqual(self.names(own), ["m-Q4_0:latest"])
        self.assertEqual(self.text(own, "org/model:Q4_0"), self.text(own, "m-Q4_0"))

    def test_refuses_invalid_requests(self):
        hub = self.hub()
        server = self.serve(hub)

        def refused(code, says, body, path="/api/pull", method="POST"):
            found, told = server.ask(method, path, body)
            self.assertEqual((found, list(told)), (code, ["error"]), told)
            self.assertIn(says, told["error"])

        refused(400, "model is missing", {"stream": False})
        refused(400, "' is not a model name", {"model": "qwen3:4b", "stream": False})
        refused(500, "other", {"model": "org/other", "stream": False})
        refused(400, "model is missing", {}, "/api/delete", "DELETE")
        self.assertIn("org/model", self.pull(server, "org/model:Q5_0")[-1]["error"])
        # A model given by a path is not part of the cache, and stays.
        self.bad("serve", "--allow-pull", says=["--allow-pull works only when all models of "
                                                "this machine are served: add --models, without "
                                                "a folder"], code=2)
        self.bad("serve", "--models", self.home, "--allow-pull", says=["without a folder"], code=2)
        named = self.serve(hub, DEMO)
        found, told = self.delete(named, "demo")
        self.assertEqual(found, 400)
        self.assertIn("delete its file yourself", told["error"])
        offline = self.serve(hub, "--offline")
        self.assertIn("--offline", self.pull(offline, "org/model:Q4_0")[-1]["error"])

    def test_whoever_leaves_ends_the_pull_and_keeps_what_came(self):
        hub = self.hub()
        server = self.serve(hub)
        hub.cdn_faults = [drip(0.05)] * 2
        connection = server.connect()
        with contextlib.closing(connection):
            connection.request("POST", "/api/pull", json.dumps({"model": "org/model:Q4_0"}))
            reply = connection.getresponse()
            self.assertEqual(json.loads(reply.readline()), {"status": "pulling manifest"})
            wait_for(lambda: hub.asked("cdn"), "the file was asked for")
        # Another pull would wait minutes for its turn.
        hub.cdn_faults = []
        self.assertEqual(self.pull(server, "org/model:Q4_0")[-1], DONE)

    def test_whoever_leaves_the_line_leaves_room(self):
        hub = self.hub()
        server = self.serve(hub)
        hub.cdn_faults = [drip(0.05)] * 2
        body = json.dumps({"model": "org/model:Q4_0"})

        def post():
            connection = server.connect()
            self.addCleanup(connection.close)
            connection.request("POST", "/api/pull", body)
            return connection

        first = post()
        first.getresponse().readline()
        waiting = [post() for _ in range(16)]
        wait_for(lambda: server.ask("POST", "/api/pull", {"model": "org/model:Q8_0"})[0] == 429,
                 "the line is full")
        for connection in waiting:
            connection.close()

        def has_room():
            connection = post()
            good = connection.getresponse().status == 200
            connection.close()
            return good

        wait_for(has_room, "there is room")

    def test_models_come_and_go_though_a_named_one_cannot_be_read(self):
        own = self.home / "own.gguf"
        own.write_bytes(DATA)
        server = self.serve(self.hub(), own)
        text = self.text(server, "own")
        self.assertEqual(self.pull(server, "org/model:Q4_0")[-1], DONE)
        own.unlink()
        self.assertEqual(self.delete(server, "org/model"), (200, DONE))
        self.assertEqual(self.names(server), ["own:latest"])
        self.assertEqual(self.text(server, "own"), text)
        self.assertEqual(self.pull(server, "org/model:Q4_0")[-1], DONE)
        self.assertEqual(sorted(self.names(server)), ["org/model:Q4_0", "own:latest"])
        self.assertEqual(self.text(server, "org/model:Q4_0"), text)
        for part in ("hearth: a model named on the command line or in the configuration cannot "
                     "be read, so only the models of Hugging Face's cache were updated",
                     "own.gguf' does not exist"):
            self.assertIn(part, server.said())

    def test_that_reading_leaves_loaded_models_and_cores_as_they_were(self):
        own, vectors = self.home / "own.gguf", self.home / "vectors.gguf"
        own.write_bytes(DATA)
        chain_models.write_random(vectors, {"llama.pooling_type": u32(3)})
        server = self.serve(self.hub(), own, vectors)
        self.assertEqual(self.pull(server, "org/model:Q4_0")[-1], DONE)
        text = self.text(server, "org/model:Q4_0")
        own.unlink()
        self.assertEqual(self.pull(server, "org/model:Q8_0")[-1], DONE)
        for name in ("org/model:Q8_0", "org/model:Q4_0"):
            self.assertEqual(self.text(server, name), text)
        self.assertIn("only the models of Hugging Face's cache were updated", server.said())
        self.assertEqual(server.said().count("org/model:Q4_0 is loaded"), 1, server.said())

    def test_headers_are_read_again_where_a_file_is_another(self):
        server = self.serve(self.hub())
        self.assertEqual(self.pull(server, "org/model:Q4_0")[-1], DONE)
        (path,) = self.repo().glob("snapshots/*/m-Q4_0.gguf")
        was = path.stat()
        with open(path, "r+b") as file:
            file.write(b"NONE")
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
        self.assertEqual(self.pull(server, "org/model:Q8_0")[-1], DONE)
        self.assertEqual(sorted(self.names(server)), ["org/model:Q4_0", "org/model:Q8_0"])
        os.utime(path)
        self.assertEqual(self.delete(server, "org/model:Q8_0"), (200, DONE))
        self.assertEqual(self.names(server), [])

    def test_a_pull_without_a_thread_is_told_why(self):
        if self.library is None:
            self.skipTest("it takes --library")
        wish = self.home / "no-threads"
        server = self.serve(self.hub(), LD_PRELOAD=self.library, HEARTH_FAILING_THREADS=str(wish))
        wish.touch()
        for stream in (True, False):
            code, told = server.ask("POST", "/api/pull", {"model": "org/model", "stream": stream})
            self.assertEqual(code, 503, told)
            self.assertIn("cannot start a thread to pull models", told["error"])
        wish.unlink()
        self.assertEqual(self.pull(server, "org/model:Q4_0")[-1], DONE)

    def test_the_end_of_the_server_ends_the_pull(self):
        hub = self.hub()
        server = self.serve(hub)
        hub.hub_faults = [drip(0.5)] * 3
        connection = server.connect()
        with contextlib.closing(connection):
            connection.request("POST", "/api/pull", json.dumps({"model": "org/model:Q4_0"}))
            reply = connection.getresponse()
            reply.readline()
            wait_for(lambda: hub.asked("hub"), "the hub was asked")
            self.assertEqual(server.stop(), 0, server.last_words())
            last = json.loads(reply.read().splitlines()[-1])
            self.assertIn("the server is shutting down; what was downloaded is kept: send the "
                          "same request again to continue", last["error"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hearth", required=True)
    parser.add_argument("--library")
    arguments, names = parser.parse_known_args()
    StoreCase.program, StockTest.library = arguments.hearth, arguments.library
    unittest.main(argv=[sys.argv[0], *names])


if __name__ == "__main__":
    main()
