"""Tests of POST /v1/embeddings with a device whose vectors are known, and which waits for commands.

    python3 tests/server/embeddings_test.py --stub build/release/embed_stub
"""

import argparse
import base64
import http.client
import json
import struct
import subprocess
import sys
import unittest

from serving import GIVE_UP, Server, ServerTest, wait_for

CONTEXT, SLOTS, WIDTH = 64, 200, 16


class EmbeddingsTest(ServerTest):
    stub = []

    @classmethod
    def start(cls, *words):
        return Server([*EmbeddingsTest.stub, "0", *words], stdin=subprocess.PIPE)

    def embed(self, text, **fields):
        """The vectors of an answer that must be 200."""
        body = self.server.good("/v1/embeddings", {"input": text, **fields})
        self.assertEqual([entry["index"] for entry in body["data"]], list(range(len(body["data"]))))
        return [entry["embedding"] for entry in body["data"]]

    def refused(self, status, body):
        found, fields, data = self.server.exchange("POST", "/v1/embeddings", body)
        self.assertEqual(found, status, data)
        return json.loads(data)["error"], fields

    def ids(self, text):
        return self.server.good("/tokenize", {"content": text})["tokens"]

    def release(self):
        self.server.process.stdin.write(b"\n")
        self.server.process.stdin.flush()

    def send(self, text):
        """Sends a request whose answer is read later; returns the connection."""
        connection = self.server.connect()
        connection.request("POST", "/v1/embeddings", json.dumps({"input": text}))
        return connection

    def held(self, condition):
        name = 'hearth_embed_held_tokens{device="gated",kind="cpu"}'
        self.server.wait_until(lambda f: condition(f[name]), "so many tokens are held")

    def test_the_forms_of_ollama(self):
        vectors = self.embed(["a red fox", "an owl"])
        body = {"model": "vectors:latest", "input": ["a red fox", "an owl"]}
        told = self.server.good("/api/embed", body)
        self.assertEqual((told["model"], told["embeddings"]), ("vectors:latest", vectors))
        self.assertGreater(told["prompt_eval_count"], 3)
        self.assertGreater(told["total_duration"], 0)
        self.assertEqual(self.server.good("/api/embed", {"input": []})["embeddings"], [])
        told = self.server.good("/api/embeddings", {"prompt": "a red fox"})
        self.assertEqual(told, {"embedding": vectors[0]})
        long = "a fox " * CONTEXT
        self.assertEqual(len(self.server.good("/api/embed", {"input": long})["embeddings"]), 1)
        for body, status, says in (({"input": long, "truncate": False}, 400, "shorten it"),
                                   ({"input": "x", "model": "other"}, 404, "no model 'other'"),
                                   ({"input": "refuse"}, 400, "told to refuse"),
                                   ({"input": "throw"}, 503, ""),
                                   ({"input": 3}, 400, "input is a number")):  # fmt: skip
            found, told = self.server.ask("POST", "/api/embed", body)
            self.assertEqual((found, list(told)), (status, ["error"]))
            self.assertIn(says, told["error"])
        self.assertEqual(self.server.good("/api/show", {"name": "vectors"})["capabilities"],
                         ["embedding"])  # fmt: skip
        found, told = self.server.ask("POST", "/api/chat", {"messages": []})
        self.assertEqual((found, list(told)), (404, ["error"]))

    def test_one_text_in_every_form(self):
        vector = self.embed("a red fox")[0]
        self.assertEqual(len(vector), WIDTH)
        ids = self.ids("a red fox")
        self.assertEqual(self.embed(ids), [vector])
        self.assertEqual(self.embed([ids]), [vector])
        self.assertEqual(self.embed(["a red fox"]), [vector])
        packed = self.embed("a red fox", encoding_format="base64")[0]
        self.assertEqual(base64.b64decode(packed), struct.pack(f"<{WIDTH}f", *vector))

    def test_order_and_usage(self):
        texts = [f"text number {i}" for i in range(40)]
        alone = [self.embed(text)[0] for text in texts[:4]]
        body = self.server.good("/v1/embeddings", {"input": texts[:20], "model": "vectors"})
        vectors = [entry["embedding"] for entry in body["data"]]
        self.assertEqual(vectors[:4], alone)
        self.assertEqual(len({tuple(vector) for vector in vectors}), 20)
        tokens = sum(len(self.ids(text)) for text in texts[:20])
        self.assertEqual(body["usage"], {"prompt_tokens": tokens, "total_tokens": tokens})
        self.assertEqual(body["model"], "vectors")

    def test_fewer_dimensions_are_normed_again(self):
        whole, part = self.embed("a fox")[0], self.embed("a fox", dimensions=5)[0]
        self.assertEqual(len(part), 5)
        length = sum(x * x for x in whole[:5]) ** 0.5
        for mine, theirs in zip(part, whole):
            self.assertAlmostEqual(mine, theirs / length, places=6)

    def test_texts_may_be_cut(self):
        long = "fox " * 100
        cut = self.embed(long, truncate=True)
        self.assertEqual(self.embed(long, truncate_prompt_tokens=-1), cut)
        self.assertEqual(self.embed(long, truncate_prompt_tokens=CONTEXT + 9), cut)
        body = {"input": long, "truncate": True}
        usage = self.server.good("/v1/embeddings", body)["usage"]
        self.assertEqual(usage["prompt_tokens"], CONTEXT)
        self.assertEqual(self.embed([[5] * 9], truncate_prompt_tokens=3), self.embed([[5] * 3]))
        self.assertEqual(self.embed("a fox", truncate_prompt_tokens=60), self.embed("a fox"))
        for name, value in (("normalize", False), ("messages", [{}]), ("truncation_side", "left")):
            error, _ = self.refused(400, {"input": "a", name: value})
            self.assertEqual((error["code"], error["param"]), ("unsupported_parameter", name))

    def test_refuses_invalid_requests(self):
        for body, says in (
            ({"input": ""}, "input is empty"),
            ({"input": ["a", ""]}, "input[1] is empty"),
            ({"input": ["a"] * 65}, "64"),
            ({"input": [1, 1 << 20]}, "input[1]"),
            ({"input": "a", "dimensions": 17}, "dimensions is 17"),
            ({"input": "a", "encoding_format": "int8"}, "encoding_format"),
            ({"input": ["a", "fox " * 100]}, "input[1] has "),
            ({"input": [[5], [5] * (CONTEXT + 1)]}, "input[1] has at least 65 tokens"),
            ({"input": [[5] * CONTEXT] * 4}, "256 tokens together"),
            ({"input": "please refuse"}, "told to refuse"),
        ):
            with self.subTest(says):
                error, _ = self.refused(400, body)
                self.assertIn(says, error["message"])
        error, _ = self.refused(404, {"input": "a", "model": "other"})
        self.assertEqual(error["code"], "model_not_found")

    def test_one_bad_text_harms_no_other_request(self):
        # Both requests are queued before the device takes either.
        holder = self.send("hold the line")
        self.held(lambda tokens: tokens > 0)
        good, bad = self.send("a red fox"), self.send("refuse this")
        self.held(lambda tokens: tokens >= len(self.ids("hold the line")) + 3)
        self.release()
        self.assertEqual(holder.getresponse().status, 200)
        self.assertEqual(good.getresponse().status, 200)
        self.assertEqual(bad.getresponse().status, 400)

    def test_too_much_at_once_is_told_to_wait(self):
        first = self.send(["hold", "fox " * 40, "fox " * 40])
        self.held(lambda tokens: tokens > 80)
        second = self.send([[5] * 50])
        self.held(lambda tokens: tokens > 130)
        error, fields = self.refused(429, {"input": [[5] * 50, [5] * 40]})
        self.assertEqual(error["code"], "queue_full")
        self.assertGreaterEqual(int(fields["Retry-After"]), 1)
        self.release()
        self.assertEqual(first.getresponse().status, 200)
        self.assertEqual(second.getresponse().status, 200)
        self.held(lambda tokens: tokens == 0)

    def test_leaving_client_gives_back_its_places(self):
        name = 'hearth_embedding_requests_total{outcome="cancelled"}'
        before = self.server.figures()[name]
        holder = self.send("hold the line")
        self.held(lambda tokens: tokens > 0)
        waiting = self.send([[5] * CONTEXT, [5] * CONTEXT])
        self.held(lambda tokens: tokens > 2 * CONTEXT)
        waiting.close()
        self.server.wait_until(lambda f: f[name] == before + 1, "the client's leaving was seen")
        self.held(lambda tokens: tokens < 2 * CONTEXT)
        self.release()
        self.assertEqual(holder.getresponse().status, 200)
        self.held(lambda tokens: tokens == 0)

    def test_metrics(self):
        before = self.server.figures()
        self.embed(["a fox", "a hen"])
        after = self.server.figures()
        for name, more in (
            ('hearth_embedding_requests_total{outcome="ok"}', 1),
            ("hearth_embedding_texts_total", 2),
            ("hearth_embedding_request_seconds_count", 1),
            ('hearth_embed_texts_done_total{device="gated",kind="cpu"}', 2),
        ):
            self.assertEqual(after[name] - before[name], more, name)

    def test_other_routes(self):
        models = self.server.good("/v1/models")["data"]
        self.assertEqual([model["id"] for model in models], ["vectors"])
        self.assertEqual(self.server.good("/v1/models/vectors")["created"], 7)
        self.assertEqual(self.server.good("/v1/plan"), {"embeddings": {"devices": []}})
        self.assertEqual(self.server.good("/detokenize", {"tokens": []})["content"], "")
        for path in ("/v1/completions", "/v1/chat/completions", "/apply-template"):
            status, body = self.server.ask("POST", path, {})
            self.assertEqual((status, body["error"]["code"]), (404, "no_text_model"))


class OtherServersTest(unittest.TestCase):
    def test_text_and_embeddings_together(self):
        with EmbeddingsTest.start("both") as server:
            self.assertEqual(len(server.good("/v1/embeddings", {"input": "a"})["data"]), 1)
            models = [model["id"] for model in server.good("/v1/models")["data"]]
            self.assertEqual(models, ["stub", "vectors"])
            plan = {"model": "stub", "embeddings": {"devices": []}}
            self.assertEqual(server.good("/v1/plan"), plan)
            self.assertEqual(server.ask("POST", "/v1/completions", {"prompt": "a"})[0], 429)
            self.assertEqual(server.stop(), 0)

    def test_clients_share_the_queue(self):
        def send(server, address, text):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=GIVE_UP,
                                                    source_address=(address, 0))
            self.addCleanup(connection.close)
            connection.request("POST", "/v1/embeddings", json.dumps({"input": text}))
            return connection

        with EmbeddingsTest.start("share") as server:
            def held(tokens):
                name = 'hearth_embed_held_tokens{device="gated",kind="cpu"}'
                server.wait_until(lambda f: f[name] > tokens, "so many tokens are held")

            waiting = [send(server, "127.0.0.1", "hold the line")]
            held(0)
            waiting.append(send(server, "127.0.0.1", [5] * 50))
            held(50)
            for _ in range(2):
                status = send(server, "127.0.0.1", [5] * 60).getresponse().status
                self.assertEqual(status, 429)
            waiting.append(send(server, "127.0.0.2", [5] * 60))
            held(110)
            server.process.stdin.write(b"\n")
            server.process.stdin.flush()
            self.assertEqual([one.getresponse().status for one in waiting], [200] * 3)
            self.assertEqual(server.stop(), 0)

    def test_a_device_that_fails_is_told_of(self):
        for word in ("fail", "throw"):
            with self.subTest(word), EmbeddingsTest.start() as server:
                status, body = server.ask("POST", "/v1/embeddings", {"input": word})
                self.assertIn(status, (429, 500, 503), body)
                self.assertEqual(server.stop(), 0)

    def test_ends_while_texts_are_computed(self):
        with EmbeddingsTest.start() as server:
            connection = server.connect()
            connection.request("POST", "/v1/embeddings", json.dumps({"input": "hold"}))
            name = 'hearth_embed_texts_running{device="gated",kind="cpu"}'
            server.wait_until(lambda f: f[name] == 1, "the device works")
            server.process.terminate()
            wait_for(lambda: server.ask("GET", "/health")[0] == 503, "it is about to end")
            server.process.stdin.write(b"\n")
            server.process.stdin.flush()
            self.assertEqual(connection.getresponse().status, 200)
            self.assertEqual(server.end(), 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stub", required=True, nargs="+")
    arguments, rest = parser.parse_known_args()
    EmbeddingsTest.stub = arguments.stub
    unittest.main(argv=[sys.argv[0], *rest])
