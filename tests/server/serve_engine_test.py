"""Tests of the options of `hearth serve` for threads, plans and types of storage. They change the
server's description of itself, and no text."""

import json
import subprocess

import chain_models
from serve_case import ServeCase

CALL = {"prompt": "the quick brown fox ", "max_tokens": 12, "temperature": 0}


class EngineTest(ServeCase):
    def hearth_topo(self, *words):
        return subprocess.run([*ServeCase.hearth, "topo", *map(str, words)], capture_output=True,
                              check=True).stdout

    def setUp(self):
        told = json.loads(self.hearth_topo("--json"))
        self.pu = told["allowed_pus"][-1]
        self.node = next(node["node"] for package in told["packages"]
                         for node in package["nodes"] for cache in node["caches"]
                         for core in cache["cores"] if self.pu in core["pus"])
        self.plan = self.folder / "two-groups.plan"
        self.hearth_topo("-t", 2, "--shards", 1, "--groups", "2,1", "--sync", "lockstep",
                         "--write-plan", self.plan)

    def cases(self):
        """Options, and what -v must then print."""
        one = ("--shards", "1")
        return (
            (("-t", "2", *one), r"(?s)2 threads, .*; 1 shard, 1 group\n"),
            (("-t", "3", *one, "--groups", "1,3"), r"1 group in prefill, 3 in decode\n"),
            (("-t", "2", *one, "--groups", "2", "--sync", "lockstep"), r"2 groups, in lockstep\n"),
            (("--cpus", self.pu), rf"(?s)1 threads, .*hearth: CPUs {self.pu}; "),
            (("-t", "1", "--nodes", self.node, "--experts", "spread"), r"1 threads, "),
            (("-t", "1", *one, "--interleave"), r"1 group, memory interleaved\n"),
            (("--plan", self.plan), r"2 groups in prefill, 1 in decode, in lockstep\n"),
        )

    def test_placement_is_reported_and_changes_no_text(self):
        alone = self.start("serve", self.random, "-t", "1", "--shards", "1")
        expected = alone.text(**CALL)
        for options, says in self.cases():
            with self.subTest(options):
                server = self.start("serve", self.random, *options, "-v")
                self.assertEqual(server.text(**CALL), expected)
                self.assertRegex(server.said(), says)
                plan = server.good("/v1/plan")["plan"]
                lockstep = "--sync" in options or "--plan" in options
                for phase in ("prefill", "decode"):
                    self.assertEqual(plan[phase]["sync"], "lockstep" if lockstep else "async")
                if "-t" in options:
                    self.assertEqual(str(len(plan["threads"])), options[1])
                if "--cpus" in options:
                    self.assertEqual([seat["pu"] for seat in plan["threads"]], [self.pu])
        self.assertNotIn("CPUs", alone.said())

    def test_refuses_missing_nodes_and_files(self):
        self.bad(2, "serve", self.random, "--nodes", "999", says=["--nodes 999"])
        self.bad(2, "serve", self.random, "--cpus", "60000", says=["CPU 60000"])
        self.bad(2, "serve", self.random, "--plan", self.plan, "-t", "1", says=["--plan"])
        self.bad(1, "serve", self.random, "--plan", "/no/such.plan", says=["/no/such.plan"])
        self.bad(1, "serve", "/no/such.gguf", says=["/no/such.gguf"])

    def test_context_and_memory(self):
        server = self.start("serve", self.random, "--ctx", "100", "--kv-cache", "1MiB")
        plan = server.good("/v1/plan")
        # A position takes 512 bytes: 2 layers, keys and values of 2 heads of 32, in f16.
        self.assertEqual((plan["context"], plan["page_positions"]), (100, 64))
        self.assertEqual(plan["kv_pages"] * 64 * 512, 1 << 20)
        self.assertEqual(server.figures()["hearth_kv_pages"], plan["kv_pages"])
        self.assertIn("context 100, room for 2048 positions", server.said())

    def test_the_type_of_keys_and_values(self):
        room = {}
        for kind in ("f32", "f16", "bf16", "q8_0"):
            server = self.start("serve", self.random, "--kv-type", kind, "--kv-cache", "1MiB")
            plan = server.good("/v1/plan")
            self.assertEqual(plan["kv_type"], kind)
            room[kind] = plan["kv_pages"]
            self.assertTrue(server.text(**CALL, ignore_eos=True))
        self.assertEqual((room["f32"] * 2, room["f16"]), (room["f16"], room["bf16"]))
        self.assertGreater(room["q8_0"], 1.6 * room["f16"])

    def test_kept_states(self):
        hybrid = self.folder / "hybrid.gguf"
        chain_models.write_hybrid(hybrid)
        prompt = [5 + i % 250 for i in range(700)]
        calls = [{"prompt": tokens, "max_tokens": 70, "temperature": 0, "ignore_eos": True}
                 for tokens in (prompt, [*prompt[:650], *range(40, 90)], [*prompt, 9, 9])]

        def told(server):
            bodies = [server.good("/v1/completions", call) for call in calls]
            cached = [body["usage"]["prompt_tokens_details"]["cached_tokens"] for body in bodies]
            return [body["choices"][0]["text"] for body in bodies], cached

        texts, cached = told(server := self.start("serve", hybrid, "--state-cache", "1MiB"))
        # The first prompt's last state is kept at the end of its last page or up to two pages
        # before.
        self.assertEqual((cached[0], cached[2]), (0, 640))
        self.assertIn(cached[1], (512, 576, 640))
        figures, plan = server.figures(), server.good("/v1/plan")
        kept = plan["kept_states"]
        self.assertGreater(kept, 10)
        self.assertIn(f" and {kept} saved ones", server.said())
        self.assertEqual(figures["hearth_state_cache_states"], kept)
        self.assertGreaterEqual(figures["hearth_state_cache_states_kept"], 3)
        self.assertGreater(figures["hearth_state_cache_bytes_kept"], 3000)
        self.assertEqual(figures["hearth_recomputed_tokens_total"], 640 - cached[1])
        server = self.start("serve", hybrid, "--state-cache", "0")
        self.assertEqual(told(server), (texts, [0, 0, 0]))
        self.assertEqual(server.figures()["hearth_state_cache_states"], 0)
        self.bad(2, "serve", hybrid, "--state-cache", "2",
                 says=["--state-cache of 2 B is too small"])
        self.bad(2, "serve", hybrid, "--state-cache", "few", says=["--state-cache"])

    def test_weights_in_another_type(self):
        found = set()
        for kind in ("stored", "q8_0"):
            server = self.start("serve", self.random, "--weights", kind)
            found.add(server.good("/v1/plan")["memory"]["weights"])
            self.assertTrue(server.text(**CALL, ignore_eos=True))
        self.assertEqual(len(found), 2)
        importance = self.folder / "importance.dat"
        chain_models.write_importance(importance, self.random)
        server = self.start("serve", self.random, "--weights", "q4_0", "--importance", importance)
        self.assertTrue(server.text(**CALL, ignore_eos=True))
        self.bad(2, "serve", self.random, "--importance", importance, says=["--weights"])

    def test_limits_of_what_is_stored(self):
        self.bad(2, "serve", self.random, "--kv-type", "f8", says=["--kv-type"])
        self.bad(2, "serve", self.random, "--ctx", "0", says=["--ctx"])
        self.bad(2, "serve", self.random, "--kv-cache", "none", says=["--kv-cache"])
