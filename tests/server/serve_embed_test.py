"""Tests of models for embeddings in `hearth serve`: alone and beside one for text."""

import base64
import json
import pathlib
import re
import struct
import subprocess

import chain_models
from serve_case import ServeCase, u32

TEXTS = ["abc", "the quick brown fox", "hello"]


class EmbedServeTest(ServeCase):
    def setUp(self):
        # The file gives a pooling type, so this is a model for embeddings.
        self.last = self.folder / "last.gguf"
        if not self.last.exists():
            chain_models.write_random(self.last, {"llama.pooling_type": u32(3)})

    def embed(self, server, **fields):
        data = server.good("/v1/embeddings", {"input": TEXTS, **fields})["data"]
        return [entry["embedding"] for entry in data]

    def printed(self, model, *words):
        """The vectors that `hearth embed` prints for the texts."""
        texts = [word for text in TEXTS for word in ("-p", text)]
        done = subprocess.run([*ServeCase.hearth, "embed", str(model), *words, *texts],
                              capture_output=True, check=True)
        return [json.loads(line)["embedding"] for line in done.stdout.splitlines()]

    def test_alone(self):
        server = self.start("serve", self.last, "--alias", "vectors", "--max-inputs", "3")
        vectors = self.embed(server, model="vectors")
        self.assertEqual(vectors, self.printed(self.last))
        packed = self.embed(server, encoding_format="base64")
        floats = struct.Struct(f"<{len(vectors[0])}f")
        self.assertEqual([base64.b64decode(text) for text in packed],
                         [floats.pack(*vector) for vector in vectors])
        cut = self.printed(self.last, "--dimensions", "16")
        self.assertEqual(self.embed(server, dimensions=16), cut)
        self.assert_error(server.ask("POST", "/v1/embeddings", {"input": ["a"] * 4}), 400,
                          "invalid_value", "input", ["3"])
        self.assert_error(server.ask("POST", "/v1/completions", {"prompt": "a"}), 404,
                          "no_text_model")
        self.assertIn("embedding on cpu", server.said())

    def test_an_encoder(self):
        path = self.folder / "encoder.gguf"
        chain_models.write_encoder(path)
        server = self.start("serve", path)
        self.assertEqual(self.embed(server), self.printed(path))
        self.assertEqual(server.good("/v1/models")["data"][0]["max_model_len"], 24)

    def test_a_blank_text_fails_no_others(self):
        path = self.folder / "wordpiece.gguf"
        chain_models.write_encoder(path, vocabulary=chain_models.wordpiece())
        server = self.start("serve", path)

        def ask(*texts):
            return server.ask("POST", "/v1/embeddings", {"input": list(texts)})

        [hello] = self.embed(server, input="hello")
        status, reply = ask("hello", "   ", "\u200b", "\n")
        self.assertEqual(status, 200, reply)
        first, *blank = [entry["embedding"] for entry in reply["data"]]
        self.assertEqual(first, hello)
        self.assertEqual(blank, blank[:1] * 3)
        # The texts are "hello" and three blank ones, each between [CLS] and [SEP].
        self.assertEqual(reply["usage"]["prompt_tokens"], 3 + 3 * 2)
        self.assert_error(ask("hello", ""), 400, "invalid_value", "input[1]", ["empty"])

    def test_beside_a_model_for_text(self):
        alone = self.start("serve", self.random)
        text = {"prompt": "the quick brown fox ", "max_tokens": 12, "temperature": 0}
        expected = alone.text(**text)
        self.assert_error(alone.ask("POST", "/v1/embeddings", {"input": "a"}), 404,
                          "no_embedding_model")
        server = self.start("serve", self.random, "--embed", self.random, "--pooling", "mean",
                            "--device", "cpu:threads=1", "--pools", "one")
        self.assertEqual(server.text(**text), expected)
        self.assertEqual(self.embed(server), self.printed(self.random, "--pooling", "mean"))
        names = [model["id"] for model in server.good("/v1/models")["data"]]
        self.assertEqual(names, ["random", "random-embed"])
        plan = server.good("/v1/plan")
        self.assertEqual(plan["embeddings"]["pooling"], "mean")
        self.assertEqual([device["name"] for device in plan["embeddings"]["devices"]], ["cpu"])
        self.assertIn("plan", plan)
        self.check_dashboard(server)

    def check_dashboard(self, server):
        """The panels for Grafana use only figures that the server has."""
        root = pathlib.Path(__file__).resolve().parents[2]
        board = json.loads((root / "packaging/grafana/hearth.json").read_text())
        asked = {name for panel in board["panels"] for target in panel.get("targets", [])
                 for name in re.findall(r"hearth_\w+", target["expr"])}
        self.assertGreater(len(asked), 20)
        had = {name.split("{")[0] for name in server.figures()}
        self.assertEqual(asked - had, set())

    def test_an_objective_and_several_devices(self):
        # An objective of an hour is met on every machine.
        server = self.start("serve", self.last, "--slo", "3600s", "--admission", "depth",
                            "--gather", "5ms", "--offload", "--host-cores", "0", "--device", "cpu")
        self.assertEqual(self.embed(server), self.printed(self.last))
        [device] = server.good("/v1/plan")["embeddings"]["devices"]
        self.assertGreater(device["seconds_per_token"], 0)
        figures = server.figures()
        self.assertGreater(figures['hearth_embed_slot_tokens{device="cpu",kind="cpu"}'], 0)

    def test_the_queue_is_bounded(self):
        server = self.start("serve", self.last, "--embed-queue", "1")
        slots = server.figures()['hearth_embed_slot_tokens{device="cpu",kind="cpu"}']
        context = server.good("/v1/models")["data"][0]["max_model_len"]
        self.assertEqual(slots, context, "the longest text always fits")

    def test_memory_is_bounded(self):
        # The memory needed is the body, and 64 elements of 16 bytes for each text.
        server = self.start("serve", self.last, "--embed-memory", "4KiB")
        self.assertEqual(len(self.embed(server)), 3)
        for texts in (["a"] * 4, "a" * 5000):
            status, body = server.ask("POST", "/v1/embeddings", {"input": texts})
            self.assertEqual((status, body["error"]["code"]), (429, "queue_full"))
        self.assertEqual(len(self.embed(server)), 3)

    def test_lists_devices_and_ends(self):
        done = subprocess.run([*ServeCase.hearth, "serve", str(self.last), "--list-devices"],
                              capture_output=True, check=True)
        self.assertRegex(done.stdout.decode(), r"device +kind +queue +why\ncpu +cpu +yes ")

    def test_refuses_invalid_options(self):
        self.bad(2, "serve", self.random, "--slo", "1s", says=["--embed FILE"])
        self.bad(2, "serve", self.random, "--embed", self.random, says=["--pooling"])
        self.bad(1, "serve", self.random, "--embed", self.folder / "none.gguf", says=["none.gguf"])
