"""Tests of the files that `hearth pull` fetches, and how."""

import json
import os
import struct
import subprocess

from fake_hub import COMMIT, FakeHub
from store_case import DEMO, TIMEOUT, StoreCase

DATA = DEMO.read_bytes()


def of_architecture(name):
    """The demo model with another architecture's name of equal length."""
    key = b"general.architecture" + struct.pack("<IQ", 8, len(name))
    at = DATA.index(key) + len(key)
    return DATA[:at] + name + DATA[at + len(name):]


def of_unknown_type():
    """The demo model with an unknown type of one tensor."""
    name = b"token_embd.weight"
    at = DATA.index(struct.pack("<Q", len(name)) + name) + 8 + len(name)
    dims, = struct.unpack_from("<I", DATA, at)
    at += 4 + 8 * dims
    return DATA[:at] + struct.pack("<I", 77) + DATA[at + 4:]


class PullTest(StoreCase):
    def test_gets_a_file_whole_with_links_and_ref(self):
        files = {"m-Q4_K_M.gguf": DATA, "m-Q8_0.gguf": DATA + b"\0" * 8, "README.md": b"x" * 2000}
        with FakeHub(files) as hub:
            out = self.good("pull", "org/model", "--piece", "64KiB", "--connections", "3",
                            "--tries", "3", "--stall", "5", hub=hub)
            self.assertEqual(out.strip(), str(self.snapshot() / "m-Q4_K_M.gguf"))
            self.check_bytes({"m-Q4_K_M.gguf": DATA})
            self.assertFalse((self.snapshot() / "m-Q8_0.gguf").exists())
            link = os.readlink(self.snapshot() / "m-Q4_K_M.gguf")
            self.assertTrue(link.startswith("../../blobs/"), link)
            self.assertEqual((self.repo() / "refs/main").read_text(), COMMIT)
            ranges = [headers for name, _, _, headers in hub.requests if name == "cdn"]
            self.assertTrue(all(h["Accept-Encoding"] == "identity" and "Range" in h
                                for h in ranges))
            self.check_nothing_outside()
            # The second pull makes one request and fetches no bytes.
            before = len(hub.requests)
            told = json.loads(self.good("pull", "org/model", "--json", hub=hub))
            self.assertEqual((told["fetched"], told["name"]), (0, "org/model:Q4_K_M"))
            self.assertEqual(len(hub.requests) - before, 1)

    def test_follows_pages_and_gets_parts_and_folders(self):
        files = {f"other{i}.txt": b"x" for i in range(7)}
        files |= {"config.json": b'{"model_type": "x"}', "tokenizer.json": b"{}",
                  "sub/readme": b"y", "model.safetensors": b"w" * 5000}
        with FakeHub(files, page=3) as hub:
            told = json.loads(self.good("pull", "org/model", "--anyway", "--json",
                                        hub=hub).splitlines()[-1])
            self.assertEqual(told["path"], str(self.snapshot()))
            self.assertEqual(set(told["files"]),
                             {"config.json", "tokenizer.json", "model.safetensors"})
            self.assertGreaterEqual(len(hub.asked("hub", "/tree/")), 4)
            self.check_bytes({path: files[path] for path in told["files"]})
            # The second pull finds in the list of files that all is complete, and fetches no bytes.
            before = len(hub.requests)
            told = json.loads(self.good("pull", "org/model", "--json", hub=hub))
            self.assertEqual(told["fetched"], 0)
            self.assertFalse(any("/resolve/" in path for _, _, path, _ in hub.requests[before:]))

    def test_a_folder_of_which_others_fetched_some_files_is_not_whole(self):
        files = {"config.json": b'{"model_type": "x"}', "tokenizer.json": b"{}",
                 "model.safetensors": b"w" * 5000}
        with FakeHub(files) as hub:
            self.snapshot().mkdir(parents=True)
            for path in ("config.json", "model.safetensors"):
                (self.snapshot() / path).write_bytes(files[path])
            self.good("pull", "org/model", "--anyway", hub=hub)
            self.check_bytes(files)

    def test_two_pulls_of_one_repository_at_once(self):
        files = {f"m-Q{bits}_0.gguf": bytes([bits]) * 4000 for bits in (4, 5, 8)}
        with FakeHub(files) as hub:
            for _ in range(5):
                pulls = [subprocess.Popen(
                    [self.program, "pull", f"org/model:Q{bits}_0", "--anyway"],
                    env=self.environment(hub), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                    for bits in (4, 4, 5, 5, 8, 8)]
                for pull in pulls:
                    _, err = pull.communicate(timeout=TIMEOUT)
                    self.assertEqual(pull.returncode, 0, err)
                self.check_bytes(files)
                for bits in (4, 5, 8):
                    self.good("remove", f"org/model:Q{bits}_0")

    def test_the_token_goes_to_the_hub_alone(self):
        with FakeHub({"m-Q4_0.gguf": DATA}) as hub:
            hub.token = "hf_secret"
            self.bad("pull", "org/model", hub=hub, says=["gated", "HF_TOKEN", hub.endpoint])
            self.good("pull", "org/model", hub=hub, HF_TOKEN="hf_secret")
            self.assertEqual(hub.leaks(), [])
            path = self.home / "token"
            path.write_text("hf_secret\n")
            self.good("pull", "org/model", "--list", hub=hub, HF_TOKEN_PATH=str(path))

    def test_a_prefix_of_others_is_taken_over(self):
        with FakeHub({"m-Q4_0.gguf": DATA}) as hub:
            blobs = self.repo() / "blobs"
            blobs.mkdir(parents=True)
            digest = hub.entry("m-Q4_0.gguf")["lfs"]["oid"]
            (blobs / f"{digest}.incomplete").write_bytes(DATA[:1000001])
            told = json.loads(self.good("pull", "org/model", "--anyway", "--json", hub=hub)
                              .splitlines()[-1])
            self.assertEqual(told["fetched"], len(DATA) - 1000001)
            self.check_bytes({"m-Q4_0.gguf": DATA})
            self.assertEqual([p.name for p in blobs.iterdir()], [digest])

    def test_what_others_left_that_is_no_prefix_costs_no_more_than_itself(self):
        with FakeHub({"m-Q4_0.gguf": DATA}) as hub:
            blobs = self.repo() / "blobs"
            blobs.mkdir(parents=True)
            digest = hub.entry("m-Q4_0.gguf")["lfs"]["oid"]
            (blobs / f"{digest}.incomplete").write_bytes(b"x" * 300001)
            self.good("pull", "org/model", "--anyway", "--piece", "256KiB", hub=hub)
            self.check_bytes({"m-Q4_0.gguf": DATA})
            starts = [h["Range"] for name, _, _, h in hub.requests if name == "cdn"]
            self.assertEqual(sum(r.startswith("bytes=524288-") for r in starts), 1, starts)
            self.assertEqual(sum(r.startswith("bytes=0-") for r in starts), 1, starts)

    def test_offline_asks_nobody(self):
        with FakeHub({"m-Q4_0.gguf": DATA}) as hub:
            self.bad("pull", "org/model", hub=hub, code=2, says=["HF_HUB_OFFLINE"],
                     HF_HUB_OFFLINE="1")
            self.bad("run", "org/model", "--offline", "-p", "x", hub=hub, code=2,
                     says=["--offline"])
            self.assertEqual(hub.requests, [])


class ChoiceTest(StoreCase):
    def test_lists_what_a_repository_has(self):
        files = {"m-Q8_0.gguf": b"x" * 3000, "m-Q2_K-00001-of-00002.gguf": b"x" * 1000,
                 "m-Q2_K-00002-of-00002.gguf": b"x" * 1000, "mmproj-F16.gguf": b"x" * 1000}
        with FakeHub(files) as hub:
            told = json.loads(self.good("pull", "org/model", "--list", "--json", hub=hub))
            self.assertEqual([(m["type"], m["bytes"], m["fits"]) for m in told["models"]],
                             [("Q2_K", 2000, True), ("Q8_0", 3000, True)])
            self.assertIn("Q2_K", self.good("pull", "org/model", "--list", hub=hub))
            self.bad("pull", "org/model:Q5_0", hub=hub, says=["Q5_0", "Q8_0", "Q2_K"])
            self.assertEqual({m["tokens_per_second"] for m in told["models"]}, {None})

    def test_a_list_predicts_rates_from_one_header(self):
        files = {"m-Q4_0.gguf": DATA, "m-Q8_0.gguf": DATA + b"\0" * len(DATA)}
        # The machine has a small cache, so that rates of memory are measured quickly.
        machine = {"HWLOC_THISSYSTEM": "1",
                   "HWLOC_SYNTHETIC": "numa:1 l3:1(size=1048576) core:1 pu:1(indexes="
                                      f"{min(os.sched_getaffinity(0))})"}
        with FakeHub(files) as hub:
            told = json.loads(self.good("pull", "org/model", "--list", "--json", hub=hub,
                                        **machine))
            small, large = [m["tokens_per_second"] for m in told["models"]]
            self.assertGreater(large, 0)
            self.assertAlmostEqual(small / large, 2, 2)
            self.assertEqual(len(hub.asked("cdn")), 1)

    def test_an_architecture_that_does_not_run_is_refused_before_its_bytes(self):
        data = of_architecture(b"mamb9")
        with FakeHub({"m-Q4_0.gguf": data}) as hub:
            self.bad("pull", "org/model", hub=hub, says=["mamb9", "qwen3", "--anyway"])
            self.assertEqual(len(hub.asked("cdn")), 1)
            self.assertFalse(self.repo().exists())
            self.good("pull", "org/model", "--anyway", hub=hub)
            self.check_bytes({"m-Q4_0.gguf": data})
            listed = json.loads(self.good("list", "--json"))["models"]
            self.assertEqual([m["runs"] for m in listed], [False])

    def test_a_model_beyond_the_memory_is_refused_with_those_that_fit(self):
        with FakeHub({"m-Q8_0.gguf": DATA, "m-Q2_K.gguf": DATA[:5000]}) as hub:
            hub.entries = [hub.entry(path) for path in hub.files]
            hub.entries[0]["lfs"]["size"] = 1 << 43
            self.bad("pull", "org/model:Q8_0", hub=hub,
                     says=["does not fit into", "8.00 TiB", "Q2_K", "--anyway"])
            self.assertFalse(self.repo().exists())

    def test_the_next_smaller_type_is_taken_where_one_does_not_run(self):
        files = {"m-Q4_K_M.gguf": of_unknown_type(), "m-Q4_0.gguf": DATA,
                 "m-Q8_0.gguf": DATA + b"x"}
        with FakeHub(files) as hub:
            told = json.loads(self.good("pull", "org/model", "--json", hub=hub).splitlines()[-1])
            self.assertEqual(told["name"], "org/model:Q4_0")
            self.bad("pull", "org/model:Q4_K_M", hub=hub, says=["type", "--anyway"])

    def test_a_file_that_is_no_model_is_refused(self):
        with FakeHub({"m-Q4_0.gguf": b"<html>" * 1000}) as hub:
            self.bad("pull", "org/model", hub=hub, says=["web page"])
