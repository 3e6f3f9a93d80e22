"""Tests of `hearth topo`: the machine, its plan, its bandwidth, and predictions for a model."""

import json

import chain_models
from program import ProgramTest


class TopoTest(ProgramTest):
    def test_topo_of_this_machine(self):
        told = json.loads(self.good("topo", "--json"))
        nodes = [node for package in told["packages"] for node in package["nodes"]]
        self.assertEqual(len(nodes), len(told["distances"]))
        pus = {pu for n in nodes for c in n["caches"] for core in c["cores"] for pu in core["pus"]}
        self.assertLessEqual(set(told["allowed_pus"]), pus)
        self.assertGreaterEqual(told["default_threads"], 1)
        self.assertIn("kernels: ", self.good("topo"))

    def test_topo_of_a_described_machine(self):
        machine = "synthetic pack:2 numa:2 l3:1 core:4 pu:2"
        told = json.loads(self.good("topo", "--machine", machine, "--json"))
        self.assertEqual([len(package["nodes"]) for package in told["packages"]], [2, 2])
        text = self.good("topo", "--machine", machine)
        self.assertIn("4 cores, PUs ", text)
        self.assertIn("threads by default: 15\n", text)
        self.bad(2, "topo", "--machine", "synthetic nonsense")
        self.bad(1, "topo", "--machine", "/no/such/file.xml", says=["/no/such/file.xml"])

    def test_topo_tells_the_plan(self):
        machine = "synthetic pack:2 numa:2 l3:1 core:4 pu:1"
        text = self.good("topo", "--machine", machine, "-t", "16")
        self.assertIn("plan: --threads 16 --shards 4\n", text)
        self.assertIn("prefill and decode: 4 groups\n", text)
        self.assertIn("  group 3: shard 3, 4 threads\n    node 3: PUs 12-15\n", text)
        wide = self.good("topo", "--machine", machine, "--groups", "2", "-t", "8")
        self.assertIn("group 1: shards 2-3, 4 threads\n    node 2: PUs 8-9\n", wide)
        parts = self.good("topo", "--machine", machine, "--groups", "4", "--shards", "2",
                          "-t", "16")
        self.assertIn("group 2: part 1 of 2 of shard 1, 4 threads\n    node 2: PUs 8-11\n", parts)
        self.assertIn("    4 threads on another node than the shard they read\n", parts)
        uneven = self.good("topo", "--machine", machine, "--groups", "3,5", "-t", "8")
        self.assertIn("prefill: 3 groups\n", uneven)
        self.assertIn("group 2: shards 2-3, 4 threads\n", uneven)
        self.assertIn("decode: 5 groups\n", uneven)
        self.bad(2, "topo", "--machine", machine, "--shards", "5", says=["5 NUMA nodes", "on 4"])
        self.bad(2, "topo", "--machine", machine, "--groups", "5", "-t", "4", says=["5 groups"])

    def test_topo_chooses_nodes_and_cpus(self):
        machine = "synthetic pack:2 numa:2 l3:1 core:4 pu:1"
        nodes = self.good("topo", "--machine", machine, "--nodes", "1,3")
        self.assertIn("  shard 1 on node 3\n", nodes)
        cpus = self.good("topo", "--machine", machine, "--cpus", "0-3,8")
        self.assertIn("plan: --threads 5 --shards 2\n  shard 0 on node 0, 80.0 % of the weights\n",
                      cpus)
        self.bad(2, "topo", "--machine", machine, "--nodes", "4", says=["--nodes 4", "0, 1, 2, 3"])
        self.bad(2, "topo", "--machine", machine, "--cpus", "0-16", says=["CPU 16"])
        self.bad(2, "topo", "--machine", machine, "--cpus", "0,x", says=["--cpus '0,x'", "0-3,8"])

    def test_topo_writes_a_plan_that_is_read_back(self):
        machine = "synthetic pack:2 numa:2 l3:1 core:4 pu:1"
        path = self.folder / "some.plan"
        made = self.good("topo", "--machine", machine, "--groups", "2,4", "--nodes", "0,1,3",
                         "--cpus", "0-9,12-13", "--write-plan", path)
        self.assertEqual(made, self.good("topo", "--machine", machine, "--plan", path))
        self.bad(2, "topo", "--machine", machine, "--plan", path, "-t", "2", says=["--plan"])
        self.bad(2, "topo", "--machine", "synthetic core:2 pu:1", "--plan", path, says=["CPU 2"])

    def test_topo_tells_of_threads_that_rest(self):
        machine = "synthetic numa:2 core:4 pu:1"
        path = self.folder / "resting.plan"
        self.good("topo", "--machine", machine, "-t", "8", "--write-plan", path)
        text = path.read_text()
        self.assertEqual(text.count("group members 0 1 2 3 shards"), 2)
        prefill, decode = text.split("phase decode")
        decode = decode.replace("members 0 1 2 3", "members 0 2 3")
        path.write_text(prefill + "phase decode" + decode)
        told = self.good("topo", "--machine", machine, "--plan", path)
        self.assertIn("  group 0: shard 0, 3 threads\n    node 0: PUs 0,2-3\n", told)
        self.assertEqual(told.count("  1 thread rests\n"), 1)
        plan = json.loads(self.good("topo", "--machine", machine, "--plan", path, "--json"))["plan"]
        self.assertEqual([group["members"] for group in plan["decode"]["groups"]],
                         [[0, 2, 3], [4, 5, 6, 7]])
        path.write_text(text.replace("members 0 1 2 3", "members 0 1 2 4"))
        self.bad(2, "topo", "--machine", machine, "--plan", path, says=["member 4 in two groups"])

    def test_topo_in_lockstep(self):
        machine = "synthetic pack:2 numa:2 l3:1 core:4 pu:1"
        words = ("topo", "--machine", machine, "-t", "8")
        lockstep = ("--sync", "lockstep")
        self.assertIn("prefill and decode: 4 groups\n", self.good(*words, "--sync", "async"))
        text = self.good(*words, *lockstep)
        self.assertIn("prefill and decode: 4 groups, in lockstep\n", text)
        path = self.folder / "lockstep.plan"
        told = json.loads(self.good(*words, *lockstep, "--json", "--write-plan", path))
        self.assertEqual([told["plan"][phase]["sync"] for phase in ("prefill", "decode")],
                         ["lockstep"] * 2)
        self.assertEqual(path.read_text().count("sync lockstep\n"), 2)
        self.assertEqual(text, self.good("topo", "--machine", machine, "--plan", path))
        self.bad(2, *words, "--sync", "both", says=["--sync", "'both'", "lockstep"])

    def test_topo_predicts_the_prompt_it_is_told(self):
        words = ("topo", "--machine", "synthetic core:4 pu:1", "--predict", self.random, "--json")

        def prefill(prompt):
            told = json.loads(self.good(*words, "--prompt", prompt))["prediction"]
            self.assertEqual(told["prompt"], prompt)
            return told["plans"][0]["prefill"]

        one, many = prefill(1), prefill(512)
        self.assertGreater(many["seconds"], one["seconds"])
        self.assertGreater(many["tokens_per_second"], one["tokens_per_second"])
        self.bad(2, *words, "--prompt", "513", says=["--prompt", "512"])
        self.bad(2, "topo", "--prompt", "3", says=["--predict"])

    def test_topo_plan_as_json(self):
        machine = "synthetic pack:2 numa:2 l3:1 core:4 pu:1"
        plan = json.loads(self.good("topo", "--machine", machine, "--json", "-t", "6"))["plan"]
        self.assertEqual([seat["node"] for seat in plan["threads"]], [0, 0, 1, 1, 2, 3])
        self.assertEqual([shard["node"] for shard in plan["shards"]], [0, 1, 2, 3])
        for phase in ("prefill", "decode"):
            groups = plan[phase]["groups"]
            self.assertEqual(sum(group["threads"] for group in groups), 6)
            self.assertEqual([group["first_shard"] for group in groups], [0, 1, 2, 3])
            self.assertEqual(len(plan[phase]["thread_shards"]), 6)

    def test_topo_measures_bandwidth(self):
        path = self.folder / "bandwidth.json"
        told = json.loads(self.good("topo", "--bandwidth", "-o", path, "--json"))["bandwidth"]
        self.assertEqual(json.loads(path.read_text()), told)
        nodes = len(told["nodes"])
        self.assertEqual([len(row) for row in told["gb_per_second"]], [nodes] * nodes)
        self.assertGreater(told["one_thread"]["gb_per_second"], 0)
        self.assertIn(len(told["contention"]["ways"]), [0, 1, 2])
        text = self.good("topo", "--bandwidth-table", path)
        self.assertRegex(text, r"  node 0 \(\d+\) +[\d.]+")
        machine = "synthetic pack:8 numa:9 pu:1"
        self.bad(2, "topo", "--bandwidth-table", path, "--machine", machine, says=["72 nodes"])
        self.bad(2, "topo", "--bandwidth", "--machine", machine, says=["only a description"])
        self.bad(2, "topo", "-o", path, says=["--bandwidth"])
        self.bad(1, "topo", "--bandwidth-table", self.chain, says=["chain.gguf", "not JSON"])
        self.bad(1, "topo", "--bandwidth", "-o", "/no/such/folder/x", says=["/no/such/folder/x"])

    def test_topo_predicts(self):
        machine = "synthetic pack:2 numa:2 l3:1 core:4 pu:1"
        words = ("topo", "--machine", machine, "--predict", self.chain)
        status, out, err = self.call(*words, "--json", "--depth", "9")
        self.assertEqual(status, 0)
        self.assertIn("bandwidth is not known: 100 GB/s a node is assumed", err)
        told = json.loads(out)["prediction"]
        self.assertEqual(told["depth"], 9)
        plans = {plan["name"]: plan for plan in told["plans"]}
        self.assertEqual(
            list(plans),
            ["this plan", "in lockstep", "weights unplaced", "weights on one node",
             "node 0 alone", "2 nodes"],
        )
        for plan in plans.values():
            for phase in ("decode", "prefill"):
                self.assertGreater(plan[phase]["tokens_per_second"], 0)
                self.assertGreater(plan[phase]["seconds"], plan[phase]["work_seconds"])
        own, unplaced = plans["this plan"]["decode"], plans["weights unplaced"]["decode"]
        self.assertEqual(own["weight_bytes"], unplaced["weight_bytes"])
        remote = [sum(node["remote_bytes"] for node in p["nodes"]) for p in (own, unplaced)]
        self.assertLess(*remote)
        self.assertEqual([plans["2 nodes"][key] for key in ("threads", "shards")], [8, 2])
        text = self.good(*words, "--groups", "1")
        self.assertRegex(text, r"this plan +15 +4 +1 +[\d.]+ +[\d.]+ ")
        self.assertNotIn("in lockstep", text)
        encoder = self.folder / "encoder.gguf"
        chain_models.write_encoder(encoder)
        out = self.good("topo", "--machine", machine, "--predict", encoder, "--prompt", "20")
        self.assertIn("a text of 1 token: ", out)
        self.assertIn("a text of 20 tokens: ", out)
        self.bad(1, "topo", "--predict", "/no/such/model.gguf", says=["/no/such/model.gguf"])
        self.bad(2, "topo", "--depth", "3", says=["--predict"])

    def test_topo_predicts_a_gpu(self):
        gpu = write_gpu(self.folder / "gpu.json")
        machine = "synthetic core:4 pu:1"
        words = ("topo", "--machine", machine, "--predict", self.random, "--gpu", gpu)
        told = json.loads(self.good(*words, "--json"))["gpu"]
        self.assertEqual(told["name"], "a GPU of a test")
        self.assertEqual(told["layers_kept"], told["layers"])
        self.assertEqual(told["prompts"][0]["tokens"], 512)
        for prompt in told["prompts"]:
            self.assertGreater(prompt["gpu_seconds"], 0)
            self.assertGreater(prompt["cores_seconds"], 0)
        small = json.loads(self.good(*words, "--gpu-rows", "128", "--gpu-layers", "0",
                                     "--gpu-memory", "1GiB", "--weights", "q8_0", "--json"))["gpu"]
        self.assertEqual([small["rows"], small["layers_kept"], small["berths"]], [128, 0, 2])
        self.assertEqual(small["bytes_in_flight"], 2 * small["berth_bytes"])
        self.assertGreater(small["prompts"][0]["bytes_in"], 4 * small["berth_bytes"])
        self.assertEqual(small["passes_by_berths"][0]["berths"], 1)
        plan = self.folder / "gpu.plan"
        text = self.good(*words, "--gpu-rows", "128", "--gpu-layers", "0", "--write-plan", plan)
        self.assertIn("predicted through a GPU of a test: passes of 128 rows, 0 of ", text)
        self.assertIn("hearth-stream-plan 2\nrows 128\nkept 0\nberths 2\nexperts 0\n",
                      plan.read_text())
        text = self.good("topo", "--machine", machine, "--plan", plan)
        self.assertEqual(text, self.good("topo", "--machine", machine))
        self.bad(2, "topo", "--gpu", gpu, says=["--predict"])
        self.bad(1, *words[:-1], self.chain, says=["chain.gguf", "is not a description of a GPU"])
        status, _, err = self.call(*words, "--gpu-memory", "1KiB")
        self.assertEqual(status, 2)
        self.assertIn("use a GPU with more memory", err)

    def test_topo_predicts_experts_through_a_gpu(self):
        folder = self.folder / "experts"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({
            "architectures": ["Qwen3MoeForCausalLM"], "head_dim": 64, "hidden_size": 512,
            "intermediate_size": 1024, "max_position_embeddings": 2048,
            "moe_intermediate_size": 256, "norm_topk_prob": True,
            "num_attention_heads": 8, "num_experts": 16, "num_experts_per_tok": 4,
            "num_hidden_layers": 6, "num_key_value_heads": 2, "rms_norm_eps": 1e-6,
            "rope_theta": 1e6, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
            "vocab_size": 1000}))
        gpu = write_gpu(self.folder / "gpu.json")
        words = ("topo", "--machine", "synthetic core:4 pu:1", "--predict", folder / "config.json",
                 "--gpu", gpu, "--gpu-layers", "0", "--gpu-rows", "512")
        ring = {}
        for experts in ("2", "8", "auto"):
            told = json.loads(self.good(*words, "--gpu-experts", experts, "--json"))["gpu"]
            self.assertEqual(told["expert_bytes"], 2 * 3 * 256 * 512)
            self.assertEqual(told["bytes_in_flight"], 3 * told["berth_bytes"] +
                             told["experts"] * told["expert_bytes"])
            # No row of the last layer needs experts.
            self.assertGreater(told["prompts"][0]["bytes_in"], 5 * 16 * told["expert_bytes"])
            self.assertLess(told["prompts"][0]["bytes_in"], 6 * 16 * told["expert_bytes"])
            ring[experts] = told
        self.assertEqual([ring[experts]["experts"] for experts in ("2", "8")], [2, 8])
        self.assertLessEqual(ring["auto"]["experts"], 16)
        seconds = {key: one["prompts"][0]["gpu_seconds"] for key, one in ring.items()}
        self.assertLessEqual(seconds["8"], seconds["2"])
        self.assertLess(seconds["auto"], seconds["8"] * 1.02)
        beside = json.loads(self.good(*words, "--depth", "100", "--json"))["gpu"]["beside"]
        self.assertEqual([beside["depth"], beside["rows"]], [100, 512])
        self.assertGreater(beside["decode_tokens_per_second_left"], 0)
        self.assertLess(beside["decode_tokens_per_second_left"],
                        beside["decode_tokens_per_second"])
        self.assertGreaterEqual(beside["pass_seconds_left"], beside["pass_seconds"])
        plan = self.folder / "experts.plan"
        text = self.good(*words, "--gpu-experts", "2", "--write-plan", plan)
        self.assertIn("a ring of 2 experts of 768.00 KiB", text)
        self.assertIn("\nrows 512\nkept 0\nberths 3\nexperts 2\n", plan.read_text())
        self.assertRegex(text, r"\ndecode beside such a pass: [\d.]+ in place of [\d.]+ tokens/s "
                               r"\(-\d+ %\); a pass of 512 rows beside decode: ")
        status, _, err = self.call(*words, "--gpu-memory", "2MiB")
        self.assertEqual(status, 2)
        self.assertRegex(err, r"3 buffers of [\d.]+ MiB for other layers and 2 of "
                              r"768.00 KiB for experts need [\d.]+ MiB, [\d.]+ MiB of it in one "
                              r"piece, but ")

    def test_bench_and_run_play_a_gpu(self):
        gpu = "virtual:" + str(write_gpu(self.folder / "gpu.json"))
        passes = json.loads(self.good("bench", self.random, "-p", "65,128", "--gpu", gpu, "--json"))
        self.assertTrue(passes["virtual_time"])
        self.assertEqual([one["rows"] for one in passes["passes"]], [65, 128])
        for one in passes["passes"]:
            self.assertGreater(one["seconds"]["median"], 0)
        last = passes["passes"][-1]
        self.assertAlmostEqual(last["seconds"]["median"], last["predicted_seconds"], places=9)
        text = self.good("bench", self.random, "-p", "64", "--gpu", gpu, "--gpu-rows", "128",
                         "--gpu-memory", "1GiB", "--gpu-layers", "0", "--gpu-experts", "2")
        self.assertIn("by virtual time", text)
        self.bad(2, "bench", self.random, "--gpu", "none", says=["nothing to measure"])
        words = ("run", self.random, "-p", "a b c d e f g h" * 8, "-n", "4", "--seed", "1")
        status, played, err = self.call(*words, "--gpu", gpu, "--gpu-threshold", "16", "-v")
        self.assertEqual(status, 0)
        self.assertEqual(self.good(*words), played.decode())
        self.assertIn("streamed through a GPU of a test", err)
        self.assertIn("prompts are streamed from 16 tokens on: as asked for", err)
        slow = "virtual:" + str(write_gpu(self.folder / "slow.json", multiply_adds=10 ** 8))
        status, played, err = self.call(*words, "--gpu", slow, "--gpu-threshold", "auto",
                                        "--gpu-layers", "auto", "--gpu-experts", "auto", "-v")
        self.assertEqual(status, 0)
        self.assertEqual(self.good(*words), played.decode())
        self.assertRegex(err, r"no prompt is computed faster by the GPU alone: \d+ tokens are "
                              r"predicted to take \S+ s on the GPU and \S+ s on the cores")


def write_gpu(path, multiply_adds=10 ** 12):
    """Writes a file that describes a GPU."""
    def figure(value):
        return {"median": value, "min": value, "max": value}

    def transfer(rate):
        return {"bytes": 1 << 20, "bytes_per_second": figure(rate)}

    facts = {"name": "a GPU of a test", "kind": "discrete", "driver": "", "api": "",
             "memory_bytes": 1 << 33, "free_bytes": 1 << 33, "allocation_bytes": 1 << 32,
             "import_alignment": 4096, "queues": [{"computes": True}, {"computes": False}],
             "arithmetic": "", "lacks": []}
    product = {"kind": "f32", "rows": 128, "side": 2048, "refused": "",
               "multiply_adds_per_second": figure(multiply_adds)}
    rates = {"write": transfer(10 ** 10), "read": transfer(10 ** 10),
             "import_to": transfer(2 * 10 ** 10), "import_from": transfer(2 * 10 ** 10),
             "import_refused": "", "memory": transfer(3 * 10 ** 11),
             "submission_nanoseconds": figure(30000), "command_nanoseconds": figure(4000),
             "products": [product], "kernels": []}
    path.write_text(json.dumps({"hearth_accelerator": 2, "facts": facts, "rates": rates}))
    return path
