"""Tests with faulty endpoints on loopback: what the device reports of each, and that queues neither
lose nor double a query. Run: endpoint_test.py --probe build/.../endpoint_probe [TEST...]"""

import argparse
import os
import re
import socket
import subprocess
import sys
import unittest

from faulty_endpoint import FaultyEndpoint

TIMEOUT = 300
PROBE = None


def probe(what, spec, count, **variables):
    words = [PROBE, what, spec, str(count)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT,
                          env=dict(os.environ, **variables), check=False)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout.splitlines()


class EndpointTest(unittest.TestCase):
    def setUp(self):
        self.server = FaultyEndpoint()
        self.server.__enter__()
        self.addCleanup(self.server.__exit__)

    def run_model(self, model, *settings, count=1):
        spec = ",".join([self.server.url, f"model={model}", "name=far", *settings])
        lines = probe("run", spec, count)
        self.assertEqual(lines[0], "width 4", lines)
        return lines[1:]

    # The texts have 3 and 9 bytes and 3 ids, so the numbers are n / sqrt(n * n + 1).
    GOOD = "ok 3 0.9487 0.9939 0.9487"

    def test_good_replies(self):
        self.assertEqual(self.run_model("good", count=3), [self.GOOD] * 3)
        path, body, key = self.server.requests[1]
        self.assertEqual((path, key), ("/v1/embeddings", None))
        self.assertEqual(body, {"model": "good", "encoding_format": "float",
                                "input": ["one", "two words", [7, 8, 9]]})

    def test_base64(self):
        self.assertEqual(self.run_model("good", "encoding=base64"), [self.GOOD])
        self.assertEqual(self.server.requests[1][1]["encoding_format"], "base64")

    def test_vectors_in_another_order(self):
        self.assertEqual(self.run_model("backwards"), [self.GOOD])

    def test_the_model_is_asked_for(self):
        self.assertEqual(probe("run", self.server.url, 1), ["width 4", self.GOOD])
        self.assertEqual([path for path, _, _ in self.server.requests],
                         ["/v1/models", "/v1/embeddings", "/v1/embeddings"])
        self.assertEqual(self.server.requests[1][1]["model"], "good")

    def test_the_key_comes_from_the_environment(self):
        spec = self.server.url + ",model=good,key=THE_KEY"
        lines = probe("run", spec, 1, THE_KEY="abc")
        self.assertEqual(lines[1:], [self.GOOD])
        self.assertEqual({key for _, _, key in self.server.requests}, {"Bearer abc"})
        for wrong in ({"THE_KEY": ""}, {}):
            self.assertIn("not made: usage", probe("run", spec, 1, **wrong)[0])
        lines = probe("run", spec, 1, THE_KEY="a\r\nX: y")
        self.assertIn("other than visible ASCII", lines[0])

    def test_statuses(self):
        for model, code, status in (
                ("refuses", "request", 400), ("long", "request", 413), ("busy", "busy", 429),
                ("away", "busy", 503), ("fails", "resource", 500), ("moved", "resource", 302),
                ("secret", "resource", 401)):
            self.assertEqual(self.run_model(model),
                             [f"{code} far: it answered with status {status}: this is {model}"])

    def test_replies_that_are_wrong(self):
        for model, said in (
                ("count", "the reply has 2 vectors for 3 texts"),
                ("more", "the reply has 4 vectors for 3 texts"),
                ("width", "a vector of the reply has 5 elements instead of 4"),
                ("twice", "two items of the reply have the same index"),
                ("zero", "a vector is zero"),
                ("large", "a vector has an element that is not finite"),
                ("words", "a vector has an element that is not a number"),
                ("nan", "the reply is not JSON"), ("garbage", "the reply is not JSON"),
                ("deep", "the reply is not JSON"), ("html", "the reply is not JSON"),
                ("empty", "the reply is not JSON")):
            lines = self.run_model(model)
            self.assertEqual(len(lines), 1)
            self.assertTrue(lines[0].startswith(f"resource far: {said}"), lines)

    def test_connections_that_end(self):
        for model in ("closes", "early"):
            for line in self.run_model(model, count=2):
                self.assertTrue(line.startswith("resource far: the server did not reply: "), line)

    def test_replies_that_take_too_long(self):
        for model in ("silent", "drips"):
            lines = self.run_model(model, "timeout=0.5")
            self.assertTrue(lines[0].startswith("resource far: the server did not reply in "
                                                "time: "), lines)

    def test_a_body_without_end(self):
        self.assertRegex(self.run_model("huge")[0],
                         r"^resource far: the reply is longer than \d+ bytes$")

    def test_endpoints_that_are_not_there(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
            lines = probe("run", f"http://127.0.0.1:{port}/v1,model=m", 1)
        self.assertIn("not made: resource 127.0.0.1", lines[0])
        for model in ("at-once-fails", "at-once-garbage", "at-once-zero"):
            lines = probe("run", f"{self.server.url},model={model}", 1)
            self.assertIn("not made: resource", lines[0])

    def test_a_port_that_speaks_no_http(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            spec = f"https://127.0.0.1:{other.getsockname()[1]}/v1,model=m,timeout=0.5"
            self.assertIn("not made: resource", probe("run", spec, 1)[0])

    def test_queues_lose_and_double_nothing(self):
        for model in ("flaky", "closes", "garbage", "busy", "count", "refuses"):
            spec = f"{self.server.url},model={model}-q"
            line = probe("queue", spec, 400)[1]
            numbers = [int(n) for n in re.findall(r"\d+", line)]
            answered, vectors, busy, other = numbers
            self.assertEqual((answered, vectors + busy + other), (400, 400), model)
            if model != "refuses":
                self.assertEqual(other, 0, model)
            # Texts that the endpoint refuses go to the pool as far as it has room.
            self.assertGreater(vectors + other, 20, model)


def main():
    global PROBE
    parser = argparse.ArgumentParser()
    parser.add_argument("--probe", required=True)
    args, rest = parser.parse_known_args()
    PROBE = args.probe
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
