"""Tests of `hearth bench --serve` against a scripted server. No test depends on speed."""

import csv
import io
import json
import signal
import socket
import subprocess

from program import TIMEOUT, ProgramTest
from stub_server import StubServer


class BenchServeTest(ProgramTest):
    SHORT = ("-p", "7", "-n", "3", "--warmup", "0", "--requests", "5")

    def report(self, server, *words):
        return json.loads(self.good("bench", "--serve", server.url, *words, "--json"))

    def test_counts_of_a_closed_loop(self):
        with StubServer() as server:
            told = self.report(server, "-p", "7", "-n", "3", "--requests", "20", "--concurrency",
                               "1,4", "--warmup", "2")
        self.assertEqual((told["schema"], told["model"], told["path"]),
                         ("hearth-bench-serve-1", "stub", "/v1/completions"))
        self.assertEqual([(load["rate"], load["concurrency"]) for load in told["loads"]],
                         [(None, 1), (None, 4)])
        for load in told["loads"]:
            self.assertEqual((load["requests"], load["completed"], load["failures"]), (20, 20, []))
            self.assertEqual((load["prompt_tokens"], load["output_tokens"]), (140, 60))
            self.assertEqual((load["shorter"], load["uncounted"]), (0, 0))
            self.assertAlmostEqual(load["requests_per_second"] * load["seconds"], 20)
            for times in ("ttft_seconds", "tpot_seconds", "longest_gap_seconds",
                          "end_to_end_seconds"):
                self.assertLessEqual(0, load[times]["p50"])
                self.assertLessEqual(load[times]["p50"], load[times]["p90"])
                self.assertLessEqual(load[times]["p90"], load[times]["p99"])
        self.assertEqual(len(server.requests), 2 + 20 + 20)
        self.assertLessEqual(server.max_at_once, 4)
        prompts = {tuple(body["prompt"]) for _, body in server.requests}
        self.assertEqual(len(prompts), 42)
        for _, body in server.requests:
            self.assertEqual((len(body["prompt"]), body["max_tokens"]), (7, 3))
            self.assertIs(body["ignore_eos"], True)
            self.assertIs(body["stream"], True)

    def test_a_closed_loop_keeps_its_number_under_way(self):
        with StubServer() as server:
            # The server answers only after all 300 requests have arrived.
            server.gate = 300
            load = self.report(server, "-p", "1", "-n", "1", "--warmup", "0", "--requests", "300",
                               "--concurrency", "300")["loads"][0]
        self.assertEqual((load["completed"], server.max_at_once), (300, 300))

    def test_an_open_loop_waits_for_nobody(self):
        with StubServer() as server:
            server.gate = 30
            load = self.report(server, "-p", "1", "-n", "1", "--warmup", "0", "--requests", "30",
                               "--rate", "500")["loads"][0]
        self.assertEqual((load["rate"], load["concurrency"]), (500, None))
        self.assertEqual((load["completed"], server.max_at_once), (30, 30))

    def test_requests_start_for_a_time(self):
        with StubServer() as server:
            load = self.report(server, "-p", "1", "-n", "1", "--warmup", "0", "--seconds", "0.2",
                               "--rate", "200", "--seed", "3")["loads"][0]
        # The Poisson arrivals depend only on the seed.
        self.assertEqual(load["requests"], len(server.requests))
        self.assertGreater(load["requests"], 10)

    def test_lengths_of_a_file(self):
        path = self.folder / "lengths.csv"
        path.write_text("prompt_tokens,output_tokens\n3,1\n5,2\n")
        with StubServer() as server:
            told = self.report(server, "--lengths", path, "--requests", "5", "--warmup", "0",
                               "--shared-prefix", "2")
        self.assertEqual([(len(body["prompt"]), body["max_tokens"]) for _, body in server.requests],
                         [(3, 1), (5, 2), (3, 1), (5, 2), (3, 1)])
        self.assertEqual(len({tuple(body["prompt"][:2]) for _, body in server.requests}), 1)
        self.assertIn("lengths.csv", told["lengths"])
        path.write_text("3,x\n")
        self.bad(1, "bench", "--serve", server.url, "--lengths", path, says=["csv:1", "'3,x'"])

    def test_text_and_chat(self):
        with StubServer() as server:
            text = self.report(server, *self.SHORT, "--text", "--model", "mine")
            chat = self.report(server, *self.SHORT, "--chat")
        self.assertEqual(chat["path"], "/v1/chat/completions")
        for told in (text, chat):
            load = told["loads"][0]
            self.assertEqual((load["prompt_tokens"], load["output_tokens"]), (35, 15))
        self.assertEqual({path for path, _ in server.requests[5:]}, {"/v1/chat/completions"})
        self.assertEqual([body["model"] for _, body in server.requests],
                         ["mine"] * 5 + ["stub"] * 5)

    def test_kinds_of_failure(self):
        kinds = {"busy": "HTTP 429", "cut": "cut short", "failing": "error in stream",
                 "page": "no stream", "silent": "timeout"}
        with StubServer() as server:
            for model, kind in kinds.items():
                load = self.report(server, *self.SHORT, "--model", model, "--timeout", "0.2",
                                   "--concurrency", "5", "--slo-ttft-ms", "1e6")["loads"][0]
                self.assertEqual((load["requests"], load["completed"]), (5, 0), model)
                [failure] = load["failures"]
                self.assertEqual((failure["kind"], failure["count"]), (kind, 5))
                self.assertEqual(load["attainment"], 0)
            out = self.good("bench", "--serve", server.url, *self.SHORT, "--model", "busy")
            self.bad(1, "bench", "--serve", server.url, "--model", "busy",
                     says=["first request", "HTTP 429", "too many requests wait"])
        self.assertRegex(out, r"HTTP 429 \| +5 \| too many requests wait \|")

    def test_doubts_are_noted(self):
        with StubServer() as server:
            short = self.report(server, *self.SHORT, "--model", "short")
            uncounted = self.report(server, *self.SHORT, "--model", "uncounted")
        self.assertIn("fewer tokens", short["notes"][0])
        self.assertIn("ignore_eos", short["notes"][0])
        self.assertIn("include_usage", uncounted["notes"][0])
        self.assertEqual(uncounted["loads"][0]["output_tokens"], 15)

    def test_objectives(self):
        with StubServer() as server:
            # The first objective is met by every request, the second by none.
            words = (*self.SHORT, "--rate", "100,200")
            met = self.report(server, *words, "--slo-ttft-ms", "1e6", "--slo-tpot-ms", "1e6")
            missed = self.report(server, *words, "--slo-ttft-ms", "1e-6")
            found = self.report(server, *self.SHORT, "--find-rate", "--rate", "64",
                                "--slo-ttft-ms", "1e-6")
        self.assertEqual([load["attainment"] for load in met["loads"]], [1, 1])
        self.assertEqual((met["goodput"], missed["goodput"], found["goodput"]), (200, None, None))
        self.assertEqual(met["slo_seconds"], {"ttft": 1000, "tpot": 1000})
        self.assertEqual([load["rate"] for load in found["loads"]], [64, 32, 16, 8, 4])

    def test_other_forms(self):
        words = (*self.SHORT, "--rate", "100,200", "--slo-ttft-ms", "1e6")
        with StubServer() as server:
            rows = list(csv.DictReader(io.StringIO(
                self.good("bench", "--serve", server.url, *words, "-o", "csv"))))
            out = self.good("bench", "--serve", server.url + "/v1/", *words)
        self.assertEqual([(row["rate"], row["completed"]) for row in rows],
                         [("100", "5"), ("200", "5")])
        for part in (server.url + "/v1/completions: stub; 7 prompt tokens, 3 output tokens",
                     "| TTFT 50 % |", "| inside SLO |", "goodput: 200 requests/s"):
            self.assertIn(part, out)

    def test_keys(self):
        path = self.folder / "key"
        path.write_text(" sk-secret \nmore\n")
        with StubServer("sk-secret") as server:
            words = ("bench", "--serve", server.url, *self.SHORT)
            self.bad(1, *words, says=["/v1/models", "401", "no such key", "--model"])
            self.good(*words, "--api-key-file", path)
        path.write_text("\n")
        self.bad(1, *words, "--api-key-file", path, says=["key", "the API key"])

    def test_reports_a_server_that_does_not_answer(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
            self.bad(1, "bench", "--serve", f"http://127.0.0.1:{port}",
                     says=["no server", str(port)])

    def test_interrupt_ends_with_what_is_measured(self):
        with StubServer() as server:
            process = self.start("bench", "--serve", server.url, "-p", "1", "-n", "1", "--requests",
                                 "100000000", "--json", stdout=subprocess.PIPE)
            while len(server.requests) < 20:
                pass
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=TIMEOUT)
        told = json.loads(out)
        self.assertEqual((process.returncode, told["interrupted"]), (130, True))
        self.assertGreaterEqual(told["loads"][0]["completed"], 1)

    def test_refuses_invalid_options(self):
        url = ("bench", "--serve", "http://127.0.0.1:1")
        self.bad(2, "bench", "--serve", "127.0.0.1:1", says=["'127.0.0.1:1'", "http://"])
        self.bad(2, "bench", "--serve", "https://h", says=["https"])
        self.bad(2, "bench", "--rate", "1", says=["--rate", "--serve"])
        self.bad(2, "bench", "--slo-ttft-ms", "1", says=["--slo-ttft-ms", "--serve"])
        self.bad(2, "bench", self.chain, *url[1:], says=["--serve"])
        for words in (("-b", "2"), ("-d", "9"), ("-t", "1"), ("-r", "3"), ("--kv-type", "f32"),
                      ("--limits",), ("--load",), ("--kernels",), ("--profile",), ("-v",)):
            self.bad(2, *url, *words, says=["--serve"])
        self.bad(2, *url, "--rate", "1", "--concurrency", "2", says=["--rate", "--concurrency"])
        self.bad(2, *url, "--rate", "0", says=["--rate", "'0'"])
        self.bad(2, *url, "--rate", "1,x", says=["--rate", "'x'"])
        self.bad(2, *url, "--requests", "5", "--seconds", "5", says=["--requests", "--seconds"])
        self.bad(2, *url, "--chat", "--text", says=["--chat", "--text"])
        self.bad(2, *url, "--lengths", "f", "-p", "5", says=["--lengths", "--prefill"])
        self.bad(2, *url, "-p", "5,6", says=["-p", "--lengths"])
        self.bad(2, *url, "-n", "0", says=["-n", "--lengths"])
        self.bad(2, *url, "--find-rate", says=["--find-rate", "--slo-ttft-ms"])
        self.bad(2, *url, "--find-rate", "--slo-ttft-ms", "5", "--rate", "1,2",
                 says=["--find-rate starts from a single rate"])
