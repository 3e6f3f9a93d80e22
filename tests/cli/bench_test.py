"""Tests of `hearth bench`: its measurements, its forms of report, and its end. No test depends on
speed."""

import csv
import io
import json
import os
import pty
import re
import signal
import subprocess

from chain_models import CONTEXT
from program import TIMEOUT, ProgramTest, little_cache

UNITS = {"f32_fma_gops", "bf16_dot_gops", "int8_dot_gops"}
KERNEL_KEYS = {"type", "roles", "rows", "k", "measured_rows", "m", "copies", "bytes", "operations",
               "seconds", "median_seconds", "min_seconds", "gb_per_second", "read_share", "gops",
               "unit", "peak_share", "bound", "against"}
LOAD_KEYS = {"matrix_bytes", "packed_bytes", "seconds", "packing_seconds", "copying_seconds",
             "packed_gb_per_second", "copied_gb_per_second", "share_of_copy", "peak_bytes",
             "planned_bytes", "huge_page_bytes", "copy_huge_page_bytes", "repetitions"}


class BenchTest(ProgramTest):
    env = little_cache()
    SHORT = ("-p", "15,20", "-n", "3", "-r", "2", "-t", "1")

    def report(self, *words):
        out = self.good("bench", *words, "--json")
        self.assertEqual(out.count("\n"), 1)
        return json.loads(out)

    def test_json_of_a_model(self):
        told = self.report(self.random, "-p", "1", "-n", "0", "-t", "1,2", "-r", "1")
        self.assertEqual(told["schema"], "hearth-bench-2")
        self.assertEqual(told["model"]["file_bytes"], self.random.stat().st_size)
        self.assertEqual((told["model"]["type"], told["kv_type"]), ("f32", "f16"))
        self.assertEqual((told["repetitions"], told["interrupted"]), (1, False))
        self.assertEqual([run["threads"] for run in told["runs"]], [1, 2])
        for run in told["runs"]:
            memory = dict(run["memory_bytes"])
            self.assertEqual(memory.pop("total"), sum(memory.values()))
            self.assertEqual(set(memory), {"weights", "kv", "activations", "scratch", "logits"})

    def test_every_length_at_every_depth(self):
        told = self.report(self.random, "-p", "15,20", "-n", "3", "-d", "0,70", "-b", "1,3",
                           "-t", "1", "-r", "1")
        [run] = told["runs"]
        self.assertEqual(run["context"], 70 + 20 + 1)
        cases = [(t["phase"], t["tokens"], t["sequences"], t["depth"]) for t in run["tests"]]
        expected = []
        for depth in (0, 70):
            expected += [("prefill", p, 1, depth) for p in (15, 20)]
            expected += [("decode", 3, b, depth) for b in (1, 3)]
        self.assertEqual(cases, expected)

    def test_figures_follow_from_one_another(self):
        told = self.report(self.random, *self.SHORT)
        [run] = told["runs"]
        [limits] = run["limits"]
        # The samples are one before each of three tests and one after each of their repetitions.
        self.assertEqual(limits["samples"], 9)
        for test in run["tests"]:
            self.assertEqual(len(test["seconds"]), 2)
            seconds = sum(test["seconds"]) / 2
            rate = test["tokens_per_second"]
            tokens = test["tokens"] * test["sequences"]
            self.assertAlmostEqual(rate["max"] / (tokens / min(test["seconds"])), 1)
            self.assertLessEqual(rate["min"], rate["median"])
            computing = test["computing"]
            self.assertEqual(computing["unit"], "f32 fma")
            gops = computing["operations"] / seconds * 1e-9
            self.assertAlmostEqual(computing["gops"] / gops, 1)
            self.assertAlmostEqual(computing["share"] / (gops / limits["f32_fma_gops"]), 1)
            if test["phase"] == "prefill":
                self.assertAlmostEqual(test["first_token_seconds"], seconds)
                self.assertIsNone(test["reading"])
                continue
            self.assertIsNone(test["first_token_seconds"])
            reading = test["reading"]
            speed = reading["bytes_per_step"] * test["tokens"] / seconds * 1e-9
            self.assertAlmostEqual(reading["gb_per_second"] / speed, 1)
            share = speed / limits["read_gb_per_second"]
            self.assertAlmostEqual(reading["share"] / share, 1)
            self.assertGreater(reading["share_with_kv"], reading["share"])

    def test_bytes_and_operations_of_the_file(self):
        tensors = json.loads(self.good("inspect", self.random, "--json", "--tensors"))["tensors"]
        by_name = {t["name"]: t for t in tensors}
        table = by_name["token_embd.weight"]
        row = table["bytes"] // table["dims"][1]
        told = self.report(self.random, "-p", "0", "-n", "2", "-b", "3", "-r", "1", "-t", "1")
        [test] = told["runs"][0]["tests"]
        whole = sum(t["bytes"] for t in tensors if len(t["dims"]) == 2 and t is not table)
        self.assertEqual(test["reading"]["bytes_per_step"], whole + 3 * row)
        matrices = sum(t["dims"][0] * t["dims"][1] for t in tensors
                       if len(t["dims"]) == 2 and t is not table)
        computing = test["computing"]
        products = computing["operations"] - computing["attention_operations"]
        self.assertEqual(products, 2 * matrices * 6)

    def test_tables(self):
        out = self.good("bench", self.random, *self.SHORT)
        for part in ("random.gguf: llama, f32, ", "CPU time stolen", "| prefill |", "| decode |",
                     "| first token |", "of f32 fma |", "| of read |", "| activations |"):
            self.assertIn(part, out)
        rows = [line for line in out.splitlines() if line.startswith("|")]
        # Every table's rows are as long as its head.
        for line, before in zip(rows[1:], rows):
            if "--:" in line:
                self.assertEqual(len(line), len(before))

    def test_csv(self):
        out = self.good("bench", self.random, *self.SHORT, "-o", "csv")
        rows = list(csv.DictReader(io.StringIO(out)))
        self.assertEqual([(r["phase"], r["tokens"]) for r in rows],
                         [("prefill", "15"), ("prefill", "20"), ("decode", "3")])
        self.assertEqual((rows[0]["read_share"], rows[2]["first_token_seconds"]), ("", ""))
        for row in rows:
            self.assertGreater(float(row["tokens_per_second"]), 0)
            self.assertNotIn(None, row)

    def test_profile_accounts_for_the_time(self):
        told = self.report(self.random, *self.SHORT, "--profile")
        for test in told["runs"][0]["tests"]:
            [profile] = test["profiles"]
            self.assertEqual(profile["tokens"], 2 * test["tokens"] * test["sequences"])
            self.assertAlmostEqual(profile["all"]["seconds"], profile["seconds"])
            [thread] = profile["threads"]
            self.assertLessEqual(sum(thread.values()), profile["seconds"] * 1.001)
            self.assertLessEqual(profile["seconds"], sum(test["seconds"]))
            ops = [op["op"] for op in profile["ops"]]
            for op in ("attn_qkv", "attention", "ffn_down", "logits"):
                self.assertIn(op, ops)
        out = self.good("bench", self.random, *self.SHORT, "--profile")
        self.assertEqual(out.count("| thread |"), 3)
        self.bad(2, "bench", self.random, "--profile", "-o", "csv", says=["--profile", "CSV"])

    def test_a_prompt_that_arrives(self):
        told = self.report(self.random, "-p", "0", "-n", "0", "-r", "2", "-t", "1", "--arrive",
                           "130", "--step-ms", "0,1")
        arrivals = told["runs"][0]["arrivals"]
        self.assertEqual([(a["prompt_tokens"], a["step_seconds"]) for a in arrivals],
                         [(130, 0), (130, 0.001)])
        for arrival in arrivals:
            self.assertEqual(arrival["repetitions"], 2)
            self.assertGreater(arrival["longest_gap_seconds"]["min"], 0)
            self.assertGreaterEqual(arrival["tokens_meanwhile"]["min"], 2)
        out = self.good("bench", self.random, "-p", "0", "-n", "0", "-r", "1", "--arrive", "130")
        self.assertIn("| longest gap |", out)

    def test_limits_alone(self):
        levels = json.loads(self.good("version", "--json"))["isa"]
        told = self.report("--limits", "-t", "1,2", "-r", "1")
        self.assertNotIn("model", told)
        self.assertEqual([run["threads"] for run in told["runs"]], [1, 2])
        for run in told["runs"]:
            self.assertLessEqual(run["read_buffer"]["bytes"], run["read_buffer"]["wanted_bytes"])
            self.assertEqual([level["isa"] for level in run["limits"]], levels)
            for level in run["limits"]:
                self.assertGreater(level["read_gb_per_second"], 0)
                self.assertGreater(level["f32_fma_gops"], 0)
                self.assertLessEqual(UNITS, set(level))
        out = self.good("bench", "--limits", "-r", "1", "-o", "csv")
        rows = list(csv.DictReader(io.StringIO(out)))
        self.assertEqual([row["isa"] for row in rows], levels)

    def test_limits_of_this_machine(self):
        self.env = {}  # the machine's own caches
        self.assertIn("read GB/s", self.good("bench", "--limits", "-r", "1"))

    def test_kernels_over_the_shapes_of_a_model(self):
        told = self.report(self.random, "--kernels", "-m", "1,3", "-r", "1", "-t", "1,2")
        self.assertEqual(told["schema"], "hearth-bench-2")
        self.assertNotIn("kv_type", told)
        self.assertEqual([run["threads"] for run in told["runs"]], [1, 2])
        for run in told["runs"]:
            self.assertEqual(set(run), {"threads", "read_buffer", "limits", "kernels"})
            [limits] = run["limits"]
            kernels = run["kernels"]
            vocabulary = [k["rows"] for k in kernels if k["roles"] == "head"]
            cases = [(k["roles"], k["rows"], k["k"], k["m"]) for k in kernels]
            shapes = [("q, k, v, o", 64, 64), ("gate, up", 32, 64), ("down", 64, 32),
                      ("head", vocabulary[0], 64)]
            self.assertEqual(cases, [(*shape, m) for shape in shapes for m in (1, 3)])
            for kernel in kernels:
                self.assertEqual(set(kernel), KERNEL_KEYS)
                self.assertEqual((kernel["type"], kernel["unit"]), ("f32", "f32 fma"))
                self.assertEqual(kernel["against"], [])
                self.assertGreaterEqual(kernel["copies"] * kernel["bytes"],
                                        run["read_buffer"]["bytes"])
                [seconds] = kernel["seconds"]
                speed = kernel["bytes"] / seconds * 1e-9
                self.assertAlmostEqual(kernel["gb_per_second"] / speed, 1)
                share = speed / limits["read_gb_per_second"]
                self.assertAlmostEqual(kernel["read_share"] / share, 1)
                gops = kernel["operations"] / seconds * 1e-9
                self.assertAlmostEqual(kernel["gops"] / gops, 1)
                self.assertAlmostEqual(kernel["peak_share"] / (gops / limits["f32_fma_gops"]), 1)

    def test_kernels_in_other_types_and_forms(self):
        words = ("bench", self.random, "--kernels", "-m", "2", "-r", "1", "-t", "1")
        out = self.good(*words, "--types", "q8_0,q4_k,fp8", "-o", "csv")
        rows = list(csv.DictReader(io.StringIO(out)))
        self.assertEqual([row["weight_type"] for row in rows], ["q8_0", "q4_k", "fp8"] * 4)
        for part in ("random.gguf: llama, f32, ", "kernels alone", "| rows x k |", "read GB/s"):
            self.assertIn(part, self.good(*words))

    def test_loads_beside_copies(self):
        tensors = json.loads(self.good("inspect", self.random, "--json", "--tensors"))["tensors"]
        matrices = sum(t["bytes"] for t in tensors if len(t["dims"]) == 2)
        told = self.report(self.random, "--load", "-r", "3", "-t", "1,2")
        self.assertEqual((told["schema"], told["kv_type"]), ("hearth-bench-2", "f16"))
        self.assertEqual([run["threads"] for run in told["runs"]], [1, 2])
        for run in told["runs"]:
            self.assertEqual(set(run), {"threads", "plan", "context", "memory_bytes", "loads"})
            loads = run["loads"]
            self.assertEqual(set(loads), LOAD_KEYS)
            self.assertEqual(loads["matrix_bytes"], matrices)
            self.assertEqual(loads["packed_bytes"], run["memory_bytes"]["weights"])
            self.assertEqual(loads["planned_bytes"], run["memory_bytes"]["total"])
            self.assertEqual(len(loads["repetitions"]), 3)
            for once in loads["repetitions"]:
                self.assertGreater(once["copying_seconds"], 0)
                self.assertGreater(once["seconds"], once["packing_seconds"])
            shares = [r["copying_seconds"] / r["packing_seconds"] for r in loads["repetitions"]]
            self.assertAlmostEqual(loads["share_of_copy"]["median"] / sorted(shares)[1], 1)
            speed = matrices / loads["packing_seconds"]["median"] * 1e-9
            self.assertAlmostEqual(loads["packed_gb_per_second"] / speed, 1)
            peaks = [r["peak_bytes"] for r in loads["repetitions"]]
            self.assertEqual(loads["peak_bytes"], None if None in peaks else max(peaks))

    def test_loads_in_other_forms(self):
        words = ("bench", self.random, "--load", "-r", "1", "-t", "1", "--kv-type", "q8_0")
        [row] = csv.DictReader(io.StringIO(self.good(*words, "-o", "csv")))
        self.assertEqual((row["kv_type"], row["repetitions"]), ("q8_0", "1"))
        self.assertGreater(float(row["share_of_copy"]), 0)
        out = self.good(*words)
        for part in ("random.gguf: llama, f32, ", "| copy GB/s |", "| of copy |",
                     "| activations |"):
            self.assertIn(part, out)

    def test_verbose(self):
        words = ("bench", self.random, "-t", "1,2")
        for more, once in (
                (("-p", "3", "-n", "0", "-r", "1"), "loaded in"),
                (("--load", "-r", "2"), "memory .*: weights .*, keys and values"),
                (("--kernels", "-m", "1", "-r", "1"), "threads? on node .*, CPUs .* kernels")):
            status, plain, err = self.call(*words, *more, "--json")
            self.assertEqual(status, 0, err)
            self.assertNotRegex(err, once)
            status, told, err = self.call(*words, *more, "--json", "-v")
            self.assertEqual(status, 0, err)
            self.assertEqual(len(re.findall(once, err)), 2, err)
            self.assertEqual(set(json.loads(plain)), set(json.loads(told)))
        self.assertIn("in huge pages", err)

    def test_refuses_invalid_options(self):
        self.bad(2, "bench", self.chain, "--load", "-n", "3", says=["--load", "--decode"])
        self.bad(2, "bench", self.chain, "--load", "--profile", says=["--load", "--profile"])
        self.bad(2, "bench", self.chain, "--load", "--limits", says=["--limits"])
        self.bad(2, "bench", self.chain, "--load", "--kernels", says=["--load", "--kernels"])
        self.bad(2, "bench", self.chain, "--load", "-m", "3", says=["--kernels", "--rows"])
        self.bad(2, "bench", self.chain, "--kernels", "-n", "3", says=["--kernels", "--decode"])
        self.bad(2, "bench", self.chain, "--kernels", "--limits", says=["--limits"])
        self.bad(2, "bench", self.chain, "--kernels", "--shards", "1", says=["--shards"])
        self.bad(2, "bench", self.chain, "-m", "3", says=["--kernels", "--rows"])
        self.bad(2, "bench", self.chain, "--kernels", "--types", "q8", says=["'q8'", "q8_0"])
        self.bad(2, "bench", self.chain, "--limits", says=["--limits"])
        self.bad(2, "bench", "--limits", "-n", "3", says=["--limits", "--decode"])
        self.bad(2, "bench", "--limits", "--kv-type", "f32", says=["--limits", "--kv-type"])
        self.bad(2, "bench", "--limits", "--interleave", says=["--limits", "--interleave"])
        self.bad(2, "bench", "--limits", "--groups", "2", says=["--limits", "--groups"])
        self.bad(2, "bench", "--limits", "--sync", "async", says=["--limits", "--sync"])
        self.bad(2, "bench", "--limits", "--shards", "1", says=["--limits", "--shards"])
        self.bad(2, "bench", "--limits", "-v", says=["--limits", "--verbose"])
        self.bad(2, "bench", self.chain, "--step-ms", "9", says=["--step-ms", "--arrive"])
        self.bad(2, "bench", self.chain, "--kernels", "--against", says=["--against"])
        self.bad(2, "bench", self.chain, "-p", "0", "-n", "0", says=["-p 0", "nothing"])
        self.bad(2, "bench", self.chain, "-p", "5,x", says=["--prefill", "'x'"])
        self.bad(2, "bench", self.chain, "-b", "0", says=["--batch", "'0'"])
        self.bad(2, "bench", self.chain, "-o", "xml", says=["--output", "xml", "csv"])
        self.bad(2, "bench", self.chain, "-o", "md", "--json", says=["--json"])
        self.bad(2, "bench", self.chain, "-d", 1 << 20, "-n", "9", says=["lower -d"])
        self.bad(1, "bench", "/no/such/model.gguf", says=["/no/such/model.gguf"])

    def test_a_context_beyond_the_model_is_told(self):
        status, _, err = self.call("bench", self.chain, "-p", CONTEXT + 5, "-n", "0", "-r", "1")
        self.assertEqual(status, 0)
        self.assertIn(f"longer than the {CONTEXT} tokens", err)

    def test_a_forced_level(self):
        status, out, _ = self.call("bench", self.chain, "-p", "2", "-n", "0", "-r", "1", "--json",
                                   env={"HEARTH_ISA": "reference"})
        self.assertEqual((status, json.loads(out)["isa"]), (0, "reference"))

    def test_interrupt_ends_with_what_is_measured(self):
        ours, theirs = pty.openpty()
        process = self.start("bench", self.random, "-p", "0", "-n", "100", "-r", "1000",
                             "--json", stdout=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        # The progress line appears once the run has lasted for a second.
        shown = b""
        while b"bench" not in shown:
            shown += os.read(ours, 1 << 16)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=TIMEOUT)
        os.close(ours)
        self.assertEqual(process.returncode, 130)
        told = json.loads(out)
        self.assertTrue(told["interrupted"])
        for test in told["runs"][0]["tests"]:
            self.assertLess(len(test["seconds"]), 1000)
