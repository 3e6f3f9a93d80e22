"""Tests of the options of all verbs that run a model: threads and plans, types of storage, and the
pre-tokenizer. An option of threads or plans changes the output of -v and nothing else."""

import json
import re

import chain_models
from program import ProgramTest, little_cache

PROMPT = "the quick brown fox "


class EngineOptionsTest(ProgramTest):
    # Verbs with the words that a call needs. Their output does not depend on time.
    VERBS = {
        "run": ("-p", PROMPT, "-n", "6", "--temp", "0"),
        "embed": ("-p", PROMPT, "--pooling", "mean"),
        "logits": ("-p", PROMPT, "--json"),
        "perplexity": ("-p", PROMPT * 3, "--ctx", "16", "--json"),
    }
    BENCH = ("-p", "2", "-n", "1", "-r", "1", "--json")

    def setUp(self):
        told = json.loads(self.good("topo", "--json"))
        self.pu = told["allowed_pus"][-1]
        # The node that this CPU belongs to.
        self.node = next(node["node"] for package in told["packages"]
                         for node in package["nodes"] for cache in node["caches"]
                         for core in cache["cores"] if self.pu in core["pus"])
        self.plan = self.folder / "two-groups.plan"
        self.good("topo", "-t", "2", "--shards", "1", "--groups", "2,1", "--sync", "lockstep",
                  "--write-plan", self.plan)

    def cases(self):
        """Options, and what -v must then print."""
        one = ("--shards", "1")
        return (
            (("-t", "2", *one), r"(?s)2 threads, .*; 1 shard, 1 group\n"),
            (("-t", "3", *one, "--groups", "3"), r"; 1 shard, 3 groups\n"),
            (("-t", "3", *one, "--groups", "1,3"), r"1 group in prefill, 3 in decode\n"),
            (("-t", "2", *one, "--groups", "2", "--sync", "lockstep"), r"2 groups, in lockstep\n"),
            (("--cpus", self.pu), rf"(?s)1 threads, .*hearth: CPUs {self.pu}; "),
            (("-t", "1", "--nodes", self.node, "--experts", "spread"), r"1 threads, "),
            (("-t", "1", *one, "--interleave"), r"1 group, memory interleaved\n"),
            (("--plan", self.plan), r"2 groups in prefill, 1 in decode, in lockstep\n"),
        )

    def told(self, verb, *words):
        status, out, err = self.call(verb, self.random, *words, "-v")
        self.assertEqual(status, 0, err)
        return out, err

    def bench(self, *options):
        return json.loads(self.good("bench", self.random, *self.BENCH, *options,
                                    env=little_cache()))

    def logits(self, *options):
        out = self.good("logits", self.random, *self.VERBS["logits"], *options)
        return [top["logit"] for line in out.splitlines() for top in json.loads(line)["top"]]

    def test_placement_is_reported_and_changes_no_output(self):
        for verb, words in self.VERBS.items():
            expected, _ = self.told(verb, *words, "-t", "1", "--shards", "1")
            for options, says in self.cases():
                with self.subTest(verb=verb, options=options):
                    out, err = self.told(verb, *words, *options)
                    self.assertEqual(out, expected)
                    self.assertRegex(err, says)

    def test_placement_options_in_bench(self):
        self.env = little_cache()
        self.setUp()
        for options, says in self.cases():
            with self.subTest(options=options):
                out, err = self.told("bench", *self.BENCH, *options)
                self.assertRegex(err, says)
                plan = json.loads(out)["runs"][0]["plan"]
                self.assertEqual(plan["interleaved"], "--interleave" in options)
                lockstep = "--sync" in options or "--plan" in options
                self.assertEqual(plan["sync"], "lockstep" if lockstep else "async")

    def test_nodes_and_cpus_that_are_not_there(self):
        words = {**self.VERBS, "bench": self.BENCH}
        for verb in words:
            self.bad(2, verb, self.random, *words[verb], "--nodes", "999", says=["--nodes 999"])
            self.bad(2, verb, self.random, *words[verb], "--cpus", "60000", says=["CPU 60000"])
            self.bad(2, verb, self.random, *words[verb], "--plan", self.plan, "-t", "1",
                     says=["--plan"])
            self.bad(1, verb, self.random, *words[verb], "--plan", "/no/such.plan",
                     says=["/no/such.plan"])

    def test_the_type_of_keys_and_values_moves_results_a_little(self):
        def logits(kind):
            return self.logits("--kv-type", kind)

        def perplexity(kind):
            out = self.good("perplexity", self.random, *self.VERBS["perplexity"], "--kv-type",
                            kind)
            return json.loads(out)["perplexity"]

        for results in (logits, lambda kind: [perplexity(kind)]):
            exact = results("f32")
            # q8_0's codes are off by 1/254 of the largest at most, bf16 by 1/256 of each.
            for kind in ("f16", "bf16", "q8_0"):
                found = results(kind)
                self.assertNotEqual(found, exact, kind)
                for a, b in zip(found, exact):
                    self.assertLess(abs(a - b), 0.05 * max(map(abs, exact)), kind)
            self.assertEqual(results("f32"), exact)

    def test_weights_are_quantised_while_they_are_loaded(self):
        for verb, words in self.VERBS.items():
            plain, _ = self.told(verb, *words)
            out, err = self.told(verb, *words, "--weights", "q8_0", "-t", "1")
            self.assertRegex(err, r"\d+ tensors of '.*' become q8_0 while they are loaded")
            self.assertEqual(self.told(verb, *words, "--weights", "q8_0", "-t", "2")[0], out)
            if verb != "run":
                self.assertNotEqual(out, plain, verb)
            self.bad(2, verb, self.random, *words, "--weights", "q9_0", says=["q9_0", "stored"])
        told = self.bench("--weights", "q4_0")
        self.assertEqual(told["model"]["type"], "f32 as q4_0")

    def test_weights_become_the_finest_type_that_fits(self):
        words = self.VERBS["logits"]
        out, err = self.told("logits", *words, "--weights", "auto")
        self.assertIn("stay as they are", err)
        self.assertEqual(out, self.told("logits", *words)[0])
        self.assertNotEqual(self.told("logits", *words, "--weights", "fp8")[0], out)
        told = self.bench("--weights", "auto")
        self.assertEqual(told["model"]["type"], "f32")
        importance = self.folder / "unused.dat"
        chain_models.write_importance(importance, self.random)
        _, err = self.told("logits", *words, "--weights", "auto", "--importance", importance)
        self.assertIn("unused.dat' is not used, as nothing is quantised", err)
        self.bad(2, "quantize", self.random, self.folder / "no.gguf", "--weights", "auto",
                 says=["auto", "q8_0"])

    def test_a_quantised_file_gives_what_quantising_gives(self):
        words = self.VERBS["logits"]
        for kind in ("q8_0", "q4_k"):
            out = self.folder / f"{kind}.gguf"
            self.good("quantize", self.random, out, "--weights", kind, "-t", "2", "-v")
            self.assertLess(out.stat().st_size, self.random.stat().st_size)
            self.assertEqual(self.good("logits", out, *words),
                             self.good("logits", self.random, *words, "--weights", kind))
        self.bad(2, "quantize", self.random, out, says=["--weights"])
        self.bad(1, "quantize", self.random, "/no/such/out.gguf", "--weights", "q8_0",
                 says=["/no/such/out.gguf"])
        _, _, err = self.call("quantize", out, self.folder / "again.gguf", "--weights", "q8_0")
        self.assertIn("quantised already", err)

    def test_columns_count_what_an_importance_matrix_says(self):
        importance = self.folder / "importance.dat"
        chain_models.write_importance(importance, self.random)
        options = ("--weights", "q4_0", "--importance", importance)
        for verb, words in self.VERBS.items():
            out, err = self.told(verb, *words, *options)
            self.assertRegex(err, r"\d+ of \d+ tensors that are quantised have no entry in '.*dat'")
            if verb != "run":
                self.assertNotEqual(out, self.told(verb, *words, "--weights", "q4_0")[0], verb)
            for stored in ((), ("--weights", "stored")):
                self.bad(2, verb, self.random, *words, *stored, "--importance", importance,
                         says=["--importance", "--weights"])
            self.bad(1, verb, self.random, *words, *options[:2], "--importance", self.random,
                     says=[str(self.random), "is not an importance matrix"])
        self.bench(*options)
        out = self.folder / "counted.gguf"
        self.good("quantize", self.random, out, *options)
        self.assertIn("quantize.imatrix.file", self.good("inspect", out))
        words = self.VERBS["logits"]
        self.assertEqual(self.good("logits", out, *words),
                         self.good("logits", self.random, *words, *options))

    def test_memory_told_follows_the_type_of_keys_and_values(self):
        def kib(kind):
            _, err = self.told("run", *self.VERBS["run"], "--kv-type", kind, "--shards", "1")
            return float(re.search(r"memory .*keys and values ([\d.]+) KiB", err)[1])

        self.assertAlmostEqual(kib("f32") / kib("f16"), 2)
        self.assertLess(kib("q8_0"), 0.6 * kib("f16"))

    def test_memory_for_keys_and_values(self):
        for verb, words in self.VERBS.items():
            with self.subTest(verb=verb):
                expected, _ = self.told(verb, *words)
                out, err = self.told(verb, *words, "--kv-cache", "1MiB", "--shards", "1")
                self.assertEqual(out, expected)
                self.assertIn("keys and values 1.00 MiB", err)

    def test_memory_for_kept_states(self):
        hybrid = self.folder / "hybrid.gguf"
        chain_models.write_hybrid(hybrid)
        words = ("-p", PROMPT * 20, "-p", PROMPT * 21, "-n", "3", "--temp", "0", "--json", "-v")
        texts = set()
        for size, kept in (("0", "0"), ("100KiB", r"[1-9]\d*")):
            status, out, err = self.call("run", hybrid, *words, "--state-cache", size)
            self.assertEqual(status, 0, err)
            self.assertRegex(err, f"for the states of 2 texts and {kept} saved ones")
            ends = [json.loads(line)["summary"] for line in out.splitlines() if b"summary" in line]
            texts.add(tuple(sorted((end["prompt"], end["text"]) for end in ends)))
        self.assertEqual(len(texts), 1)

    def test_the_context_of_logits(self):
        words = self.VERBS["logits"]
        self.assertEqual(self.good("logits", self.random, *words, "--ctx", "500"),
                         self.good("logits", self.random, *words))
        _, err = self.told("logits", *words, "--ctx", "500")
        self.assertRegex(err, r"context 500,")
