#!/usr/bin/env python3
"""Tests of `hearth serve` with several models: loaded when they are asked for, unloaded for others,
changed on disk and in the configuration while they are served.

    several_test.py --hearth build/release/hearth [--library libfailing_threads.so]
                    [TestCase.test...]
"""

import concurrent.futures
import contextlib
import os
import random
import shutil
import signal
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))

import make_models  # first: it fixes the number of BLAS threads

import gemma_specs
import gguf_io
from serve_case import DEMO, ServeCase, chain_models, main, u32
from serving import events, stream_text, wait_for

CALL = {"prompt": "the quick brown fox ", "max_tokens": 12, "temperature": 0}
NAMES = ("demo", "random", "chain")


class SeveralCase(ServeCase):
    alone = {}

    def files(self):
        return {"demo": DEMO, "random": self.random, "chain": self.chain}

    def setUp(self):
        if not SeveralCase.alone:
            for name, path in self.files().items():
                with self.launch("serve", path) as server:
                    SeveralCase.alone[name] = server.text(**CALL)
        self.config = self.folder / f"{self.id()}.toml"
        self.keys = self.folder / f"{self.id()}.keys"

    def several(self, *words, config=None, **how):
        """A server with all three models; `config`: the text of its configuration."""
        before = []
        if config is not None:
            self.config.write_text(config)
            before = ["--config", self.config]
        return self.start(*before, "serve", *words, **how)

    def table(self, name, *lines, path=None):
        return "\n".join((f"[model.{name}]", f'model = "{path or self.files()[name]}"', *lines, ""))

    def tables(self, **lines):
        return "".join(self.table(name, *lines.get(name, ())) for name in NAMES)

    def status(self, server):
        return {model["id"]: model["status"]["value"]
                for model in server.good("/v1/models")["data"]}

    def wait_status(self, server, **wanted):
        wait_for(lambda: wanted.items() <= self.status(server).items(), f"it is so: {wanted}")

    def loads(self, server):
        return sum(value for name, value in server.figures().items()
                   if name.startswith("hearth_model_loads_total"))

    def text_is(self, server, name, **more):
        self.assertEqual(server.text(**{**CALL, "model": name, **more}), self.alone[name])

    def memory_of_two(self):
        """A memory limit that any two of the models fit into, but not all three."""
        server = self.several(*self.files().values())
        sizes = [model["size"] for model in server.good("/api/ps")["models"]]
        self.assertEqual(len(sizes), 3)
        return sum(sizes) - 1


class ServedTest(SeveralCase):
    def test_all_loaded_answer_by_name(self):
        server = self.several(*self.files().values(), "--memory", "1GiB")
        self.assertEqual(self.status(server), dict.fromkeys(NAMES, "loaded"))
        for name in NAMES:
            self.text_is(server, name)
            self.text_is(server, name, model=name + ":latest")
            self.assertEqual(server.good(f"/v1/models/{name}")["status"], {"value": "loaded"})
            self.assertEqual(server.good(f"/v1/plan?model={name}")["model"], name)
            self.assertEqual(server.good(f"/props?model={name}")["model_alias"], name)
            self.assertIn(f'hearth_steps_total{{model_name="{name}"}}', server.figures())
        # A request that names no model uses the first one.
        self.assertEqual(server.text(**CALL), self.alone["demo"])
        self.assert_error(server.ask("POST", "/v1/completions", {**CALL, "model": "x"}), 404,
                          "model_not_found", "model", ["'demo' and 'random' and 'chain'"])
        self.assert_error(server.ask("POST", "/v1/embeddings", {"input": "a", "model": "demo"}),
                          400, "wrong_model", "model", ["a model for text"])
        said = server.ask("POST", "/api/generate", {"model": "x", "prompt": "a"})
        self.assertEqual((said[0], list(said[1])), (404, ["error"]))
        self.assert_error(server.ask("POST", "/v1/completions", {**CALL, "model": 1}), 400,
                          "invalid_type", "model")

    def test_steps_in_turns_change_no_text(self):
        server = self.several(*self.files().values())
        calls = [(name, stream) for name in NAMES for stream in (False, True)] * 8

        def ask(call):
            name, stream = call
            if not stream:
                return server.text(**CALL, model=name)
            connection, reply = server.open_stream(**CALL, model=name)
            with contextlib.closing(connection):
                return stream_text(events(reply))

        with concurrent.futures.ThreadPoolExecutor(8) as clients:
            for (name, _), text in zip(calls, clients.map(ask, calls)):
                self.assertEqual(text, self.alone[name])

    def test_names_that_cannot_be(self):
        self.bad(2, "serve", DEMO, DEMO, says=["two models are named 'demo'"])
        self.bad(2, "serve", DEMO, self.random, "--alias", "a", says=["--alias names one model"])
        self.bad(1, "serve", DEMO, "/no/such.gguf", says=["/no/such.gguf"])
        for text, says in ((self.table("demo", "port = 1"), "port is not an option of"),
                           (self.table("demo", "ctx = 'x'"), "line 3: --ctx"),
                           (self.table("demo", "prot = 1"), "has no option 'prot'"),
                           ("model = 1", "' is in no table: put it below a verb's table, such "
                                         "as [serve]"), ("[model]\na = 1", "[model.a]")):
            self.config.write_text(text)
            with self.subTest(text):
                self.bad(2, "--config", self.config, "serve", says=[says])


    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one core is everybody's")
    def test_models_that_embed_have_cores_of_their_own(self):
        path = self.folder / "vectors.gguf"
        chain_models.write_random(path, {"llama.pooling_type": u32(3)})

        def pus(server):
            self.text_is(server, "demo")
            server.good("/v1/embeddings", {"input": "a", "model": "vectors"})
            text = server.good("/v1/plan?model=demo")["plan"]["threads"]
            (device,) = server.good("/v1/plan?model=vectors")["embeddings"]["devices"]
            return {thread["pu"] for thread in text}, set(device["pus"])

        own = self.tables() + self.table("vectors", path=path)
        text, vectors = pus(self.several(config=own))
        self.assertFalse(text & vectors)
        # A model that was not named takes no cores from others.
        folder = self.folder / "beside"
        folder.mkdir()
        for name, file in (("demo", DEMO), ("vectors", path)):
            shutil.copyfile(file, folder / f"{name}.gguf")
        server = self.several("--models", folder)
        self.assertGreater(len(pus(server)[0]), len(text))
        # Text models are loaded again when a model that embeds is added to the configuration.
        server = self.several(config=self.tables())
        self.text_is(server, "demo")
        loads = self.loads(server)
        self.config.write_text(own)
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "were read again" in server.said(), "it was read again")
        text, vectors = pus(server)
        self.assertFalse(text & vectors)
        self.assertEqual(self.loads(server), loads + 2)


class RoomTest(SeveralCase):
    CLIENTS, CALLS = 8, 12

    def test_room_for_two(self):
        server = self.several("--memory", self.memory_of_two(), config=self.tables())
        self.assertEqual(self.status(server), dict.fromkeys(NAMES, "sleeping"))
        self.assert_error(server.ask("POST", "/v1/completions", CALL), 400,
                          "missing_required_parameter", "model",
                          ["'chain' and 'demo' and 'random'"])

        def ask(client):
            chance = random.Random(client)
            for _ in range(self.CALLS):
                self.text_is(server, chance.choice(NAMES))
                loaded = [value for value in self.status(server).values() if value == "loaded"]
                self.assertLessEqual(len(loaded), 2)

        with concurrent.futures.ThreadPoolExecutor(self.CLIENTS) as clients:
            list(clients.map(ask, range(self.CLIENTS)))
        self.assertGreater(self.loads(server), 3)

    def test_pinned_models_hold_their_room(self):
        memory = self.memory_of_two()
        pinned = self.tables(demo=["pin = true"], random=["pin = true"])
        server = self.several("--memory", memory, config=pinned)
        self.wait_status(server, demo="loaded", random="loaded", chain="sleeping")
        self.assert_error(server.ask("POST", "/v1/completions", {**CALL, "model": "chain"}), 503,
                          "no_room", None, ["'demo' (", "pinned"])
        self.text_is(server, "demo")
        command = self.several("demo", "random", "chain", "--pin", "--memory", memory,
                               config=self.tables())
        self.assertEqual(self.status(command)["chain"], "sleeping")

    def test_load_and_unload(self):
        server = self.several(config=self.tables(demo=['alias = "other"']))
        self.assertEqual(server.good("/models/load", {"model": "other"}), {"success": True})
        self.wait_status(server, demo="loaded", random="sleeping")
        self.assertEqual(server.text(**CALL, model="other"), self.alone["demo"])
        self.assertEqual(server.good("/models/unload", {"model": "demo"}), {"success": True})
        self.wait_status(server, demo="sleeping")
        # Requests that only read state load no model.
        for path in ("/health", "/metrics", "/v1/models", "/v1/models/demo", "/props?model=demo",
                     "/api/tags", "/api/ps"):
            server.good(path)
        self.assertEqual(self.status(server), dict.fromkeys(NAMES, "sleeping"))
        self.assertTrue(server.good("/props?model=demo")["is_sleeping"])
        self.assert_error(server.ask("POST", "/models/load", {"model": "x"}), 404,
                          "model_not_found", "model")
        self.assert_error(server.ask("POST", "/models/load", {}), 400,
                          "missing_required_parameter", "model")
        single = self.start("serve", DEMO)
        self.assert_error(single.ask("POST", "/models/unload", {"model": "demo"}), 400,
                          "model_stays", "model")

    def test_time_to_live(self):
        server = self.several("--ttl", "0.05", config=self.tables())
        self.text_is(server, "demo")
        self.wait_status(server, demo="sleeping")
        server = self.several(config=self.tables(demo=["ttl = 1000"]))
        self.text_is(server, "demo")
        self.assertEqual(self.status(server)["demo"], "loaded")
        expires = server.good("/api/ps")["models"][0]["expires_at"]
        self.assertLess(expires, "9999")
        body = {"model": "demo", "prompt": "a", "stream": False, "keep_alive": 0,
                "options": {"num_predict": 1}}
        server.good("/api/generate", body)
        self.wait_status(server, demo="sleeping")
        self.assertEqual(server.good("/api/ps")["models"], [])
        self.assertEqual(len(server.good("/api/tags")["models"]), 3)

    def test_ollama_unloads_models(self):
        server = self.several(config=self.tables(random=["pin = true"]))
        loads = self.loads(server)

        def let_go(name, path="/api/generate", **more):
            body = {"model": name, "stream": False, "keep_alive": 0, **more}
            self.assertEqual(server.good(path, body)["done_reason"], "unload")

        # The model is not loaded just to be unloaded.
        let_go("demo")
        self.assertEqual(self.loads(server), loads)
        self.text_is(server, "demo")
        let_go("demo:latest", "/api/chat", messages=[])
        self.wait_status(server, demo="sleeping", random="loaded")
        let_go("random")
        self.text_is(server, "random")
        self.assertEqual(self.loads(server), loads + 1)
        body = {"model": "demo", "keep_alive": "0s"}
        status, fields, text = server.exchange("POST", "/api/generate", body)
        self.assertEqual((status, fields["Content-Type"]), (200, "application/x-ndjson"))
        self.assertEqual(text.count(b"\n"), 1)
        self.assertEqual(server.ask("POST", "/api/generate", {**body, "model": "x"})[0], 404)
        # A server that always keeps its model replies that it is loaded.
        single = self.start("serve", DEMO)
        body["stream"] = False
        self.assertEqual(single.good("/api/generate", body)["done_reason"], "load")


class ThreadTest(SeveralCase):
    library = None  # the library that lets threads fail

    def test_a_load_without_a_thread_fails_alone(self):
        if self.library is None:
            self.skipTest("it takes --library")
        path, wish = self.folder / "sleeper.gguf", self.folder / "no-threads"
        shutil.copyfile(self.random, path)

        def preload():
            os.environ.update(LD_PRELOAD=self.library, HEARTH_FAILING_THREADS=str(wish))

        server = self.several(config=self.table("it", path=path) + self.table("demo"),
                              before=preload)
        self.text_is(server, "demo")
        wish.touch()
        asked = {**CALL, "model": "it"}
        self.assert_error(server.ask("POST", "/v1/completions", asked), 503, "model_failed", None,
                          ["the system starts no more threads", "ulimit -u"])
        self.text_is(server, "demo")
        wish.unlink()
        # The file counts as changed, so it is tried again at once.
        os.utime(path)
        wait_for(lambda: server.ask("POST", "/v1/completions", asked)[0] == 200, "it is there")
        self.assertEqual(server.text(**asked), self.alone["random"])


class ChangeTest(SeveralCase):
    def test_a_file_that_is_cut_while_rows_of_it_are_read(self):
        path = self.folder / "rows.gguf"
        spec = next(s for s in gemma_specs.gemma_models() if s.name == "gemma4-f32-e")
        gguf_io.write(str(path), make_models.metadata(spec), list(make_models.tensors(spec)))
        asked = {**CALL, "model": "rows"}
        with self.launch("serve", path) as server:
            server.text(**asked)
            os.truncate(path, 5000)
            for _ in range(2):
                self.assert_error(server.ask("POST", "/v1/completions", asked), 500,
                                  "generation_failed", None, ["rows.gguf", "was truncated while"])
        gguf_io.write(str(path), make_models.metadata(spec), list(make_models.tensors(spec)))
        server = self.several(config=self.table("rows", path=path) + self.table("demo"))
        server.text(**asked)
        os.truncate(path, 5000)
        # The model's next use loads it again, which fails.
        code, told = server.ask("POST", "/v1/completions", asked)
        self.assertIn(code, (500, 503), told)
        self.assertIn("rows.gguf", told["error"]["message"])
        self.text_is(server, "demo")

    def test_files_that_change(self):
        path = self.folder / "changing.gguf"
        shutil.copyfile(self.random, path)
        server = self.several(config=self.table("it", path=path) + self.table("demo"))
        self.assertEqual(server.text(**CALL, model="it"), self.alone["random"])
        shutil.copyfile(self.chain, path.with_suffix(".new"))
        os.replace(path.with_suffix(".new"), path)
        wait_for(lambda: server.text(**CALL, model="it") == self.alone["chain"],
                 "the new file is served")
        with open(path, "r+b") as file:
            file.truncate(1000)
        asked = {**CALL, "model": "it"}
        wait_for(lambda: server.ask("POST", "/v1/completions", asked)[0] == 503, "it failed")
        self.assert_error(server.ask("POST", "/v1/completions", asked), 503, "model_failed", None,
                          ["changing.gguf", "tried again in"])
        self.assertEqual(self.status(server)["it"], "failed")
        self.text_is(server, "demo")
        path.unlink()
        shutil.copyfile(self.random, path)
        wait_for(lambda: server.ask("POST", "/v1/completions", asked)[0] == 200, "it is there")

    def test_hangup_reads_keys_and_models(self):
        self.keys.write_text("first\n")
        server = self.several("--api-key-file", self.keys, config=self.table("demo"))

        def status(key, model="demo"):
            return server.ask("POST", "/v1/completions", {**CALL, "model": model},
                              {"X-Api-Key": key})[0]

        def hang_up(said):
            before = server.said().count(said)
            server.process.send_signal(signal.SIGHUP)
            wait_for(lambda: server.said().count(said) > before, said)

        self.assertEqual((status("first"), status("second"), status("first", "chain")),
                         (200, 401, 404))
        self.keys.write_text("second\n")
        self.config.write_text(self.table("demo") + self.table("chain"))
        hang_up("were read again")
        self.assertEqual((status("first"), status("second"), status("second", "chain")),
                         (401, 200, 200))
        self.config.write_text("[model.demo")
        hang_up("reading again failed")
        self.keys.write_text("")
        hang_up("reading again failed")
        self.assertEqual((status("second"), status("second", "chain")), (200, 200))
        self.config.write_text(self.table("chain"))
        self.keys.write_text("second\n")
        hang_up("were read again")
        self.assertEqual((status("second"), status("second", "chain")), (404, 200))

    def test_models_of_a_folder(self):
        folder = self.folder / "many" / "below"
        folder.mkdir(parents=True)
        for name, path in self.files().items():
            shutil.copyfile(path, folder / f"{name}.gguf")
        (folder / "broken.gguf").write_bytes(b"GGUF")
        # These names are not those of models; the last lacks a part.
        for name in ("mmproj-demo", "demo-mmproj", "demo.imatrix", "cut-00001-of-00002"):
            (folder / f"{name}.gguf").write_bytes(b"GGUF")
        server = self.several("--models", f"{folder.parent}/")
        self.assertEqual(set(self.status(server)), set(NAMES))
        self.assertIn("'broken' is not served", server.said())
        self.assertEqual(server.said().count("' is not served"), 1)
        self.text_is(server, "chain")
        self.bad(1, "serve", "--models", "/no/such/folder", says=["/no/such/folder"])

    def test_options_of_a_model(self):
        server = self.several("--ctx", "64", config="[serve]\nctx = 32\ntop-k = 3\n" +
                              self.table("random", "ctx = 48", "temp = 0") + self.table("demo"))
        # The command line goes before the table, and the table before the verb.
        self.text_is(server, "random", temperature=None)
        self.assertEqual(server.good("/v1/plan?model=random")["context"], 64)
        params = server.good("/props?model=random")["default_generation_settings"]["params"]
        self.assertEqual((params["temperature"], params["top_k"]), (0, 3))
        self.assertEqual(self.status(server)["demo"], "sleeping")


if __name__ == "__main__":
    main(__doc__, preloads=ThreadTest)
