"""Tests of names in place of MODEL, and of the stores in which they are found."""

import json
import os
import re
import shutil
import subprocess
import urllib.request

from fake_hub import COMMIT, FakeHub
from store_case import DEMO, StoreCase

DATA = DEMO.read_bytes()


class NameTest(StoreCase):
    def put_in_cache(self, name="m-Q4_0.gguf"):
        self.snapshot().mkdir(parents=True, exist_ok=True)
        (self.repo() / "blobs").mkdir(exist_ok=True)
        shutil.copy(DEMO, self.repo() / "blobs" / name)
        os.symlink(f"../../blobs/{name}", self.snapshot() / name)

    def test_a_verb_finds_a_model_by_its_names(self):
        self.put_in_cache()
        for name in ("org/model", "org/model:Q4_0", "model", "m-q4_0", "hf.co/org/model"):
            told = json.loads(self.good("inspect", name, "--json"))
            self.assertEqual(told["file"], str(self.snapshot() / "m-Q4_0.gguf"))
        self.good("run", "model", "--offline", "-p", "A fox", "-n", "2")
        self.good("chat", "model", "--offline")
        self.bad("chat", "org/other", "--offline", code=2, says=["--offline"])
        self.bad("inspect", "org/other", says=["neither", "hearth pull org/other"])
        self.bad("inspect", "other.gguf", says=["other.gguf", "does not exist"])

    def test_a_path_comes_first_and_two_of_a_name_are_refused(self):
        self.put_in_cache()
        self.put_in_cache("m-Q8_0.gguf")
        self.bad("inspect", "org/model", code=2,
                 says=["org/model:Q4_0 (cache)", "org/model:Q8_0 (cache)"])
        self.good("inspect", "model:Q8_0", "--json")
        self.assertEqual(json.loads(self.good("inspect", DEMO, "--json"))["file"], str(DEMO))

    def test_run_fetches_what_is_not_here(self):
        with FakeHub({"m-Q4_0.gguf": DATA}) as hub:
            code, _, err = self.call("run", "org/model:Q4_0", "-p", "A fox", "-n", "2", hub=hub)
            self.assertEqual(code, 0, err)
            self.assertIn("downloading org/model:Q4_0", err)
            self.good("run", "hf.co/org/model/blob/main/m-Q4_0.gguf", "-p", "A fox", "-n", "2",
                      hub=hub)
            before = len(hub.requests)
            self.good("run", "org/model", "-p", "A fox", "-n", "2", hub=hub)
            self.assertEqual(len(hub.requests), before)

    def test_a_server_bears_the_name(self):
        self.put_in_cache()
        process = subprocess.Popen(
            [self.program, "serve", "model", "--offline", "--port", "0"],
            env=self.environment(), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        for line in process.stderr:
            if match := re.search(r"serving (.+) at (http://\S+?)/?$", line):
                self.assertEqual(match[1], "org/model:Q4_0")
                with urllib.request.urlopen(match[2] + "/v1/models") as reply:
                    self.assertEqual(json.load(reply)["data"][0]["id"], "org/model:Q4_0")
                return
        self.fail("it does not serve")

    def test_names_that_cannot_be(self):
        with FakeHub({}) as hub:
            for name in ("../x/y", "a/b:..", "a/b@main/../..", "x", "a/" + "b" * 10240, "/a/b"):
                self.bad("pull", name, hub=hub, code=2, says=["' is not a model name"])
            self.assertEqual(hub.requests, [])
        self.check_nothing_outside()


class ListTest(StoreCase):
    def put_ollama(self, name, manifest):
        place = self.home / ".ollama/models/manifests/host/library" / name
        place.mkdir(parents=True)
        (place / "latest").write_text(manifest)

    def manifest(self, digest, kind="model"):
        return json.dumps({"layers": [{"mediaType": f"application/vnd.ollama.image.{kind}",
                                       "digest": digest}]})

    def test_other_stores_are_read_and_never_written(self):
        blobs = self.home / ".ollama/models/blobs"
        blobs.mkdir(parents=True)
        shutil.copy(DEMO, blobs / f"sha256-{'a' * 64}")
        self.put_ollama("good", self.manifest("sha256:" + "a" * 64))
        self.put_ollama("gone", self.manifest("sha256:" + "b" * 64))
        self.put_ollama("out", self.manifest("sha256:../../../x"))
        self.put_ollama("tensors", self.manifest("sha256:" + "a" * 64, "tensor"))
        self.put_ollama("broken", "{")
        studio = self.home / ".lmstudio/models/org/repo"
        studio.mkdir(parents=True)
        shutil.copy(DEMO, studio / "x-F16.gguf")
        told = {m["name"]: m for m in json.loads(self.good("list", "--json"))["models"]}
        self.assertEqual({name for name, m in told.items() if m["runs"]},
                         {"good:latest", "org/repo:F16"})
        self.assertIn("is not JSON", told["broken:latest"]["reason"])
        text = self.good("list")
        self.assertIn("not there", text)
        self.assertIn("runs", text)
        self.assertEqual(json.loads(self.good("inspect", "good", "--json"))["parts"], 1)
        self.bad("inspect", "gone", says=["gone", "ollama", "not there"])
        self.bad("inspect", "tensors", says=["tensors"])
        self.bad("remove", "good", says=["ollama"])
        self.assertEqual(self.call("remove", "nothing")[0], 1)

    def test_shells_complete_names(self):
        self.snapshot().mkdir(parents=True)
        for name in ("m-Q4_0.gguf", "m-Q8_0.gguf", "$(touch here)-Q6_K.gguf", "x y.gguf"):
            shutil.copy(DEMO, self.snapshot() / name)
        self.assertEqual(self.good("list", "--names").split(),
                         ["org/model:Q4_0", "org/model:Q6_K", "org/model:Q8_0"])
        script = self.home / "completion"
        script.write_text(self.good("completion", "bash"))
        for line, wanted in (("run org/m", "org/model:Q4_0 org/model:Q6_K org/model:Q8_0"),
                             ("serve org/model:", "Q4_0 Q6_K Q8_0"),
                             ("inspect org/model:Q8", "Q8_0"), ("run --off", "--offline"),
                             ("topo zzz", "")):
            words = " ".join(re.findall(r"[^\s:]+|:", line))
            typed = f"{self.program} {line}"
            code = (f"source {script}; COMP_WORDBREAKS=$' \\t\\n:'; COMP_LINE='{typed}'; "
                    f"COMP_POINT={len(typed)}; COMP_WORDS=({self.program} {words}); "
                    "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _hearth; echo ${COMPREPLY[@]}")
            done = subprocess.run(["bash", "-c", code], capture_output=True, check=False,
                                  cwd=self.home, env=self.environment())
            self.assertEqual(done.stdout.decode().strip(), wanted, done.stderr)

    def test_dangling_links_are_told(self):
        self.snapshot().mkdir(parents=True)
        os.symlink("../../blobs/none", self.snapshot() / "m-Q4_0.gguf")
        told = json.loads(self.good("list", "--json"))["models"]
        self.assertIn("leads nowhere", told[0]["reason"])

    def test_remove_follows_no_link_out_of_the_cache(self):
        with FakeHub({"m-Q4_0.gguf": DATA}) as hub:
            self.good("pull", "org/model", hub=hub)
        elsewhere = self.home / "elsewhere"
        elsewhere.mkdir()
        shutil.copy(DEMO, elsewhere / "m-Q4_0.gguf")
        os.symlink(elsewhere, self.repo() / "snapshots" / "linked")
        self.good("remove", "org/model:Q4_0")
        self.assertEqual((elsewhere / "m-Q4_0.gguf").read_bytes(), DATA)

    def test_remove_leaves_what_others_name(self):
        with FakeHub({"m-Q4_0.gguf": DATA}) as hub:
            self.good("pull", "org/model", hub=hub)
        other = self.repo() / "snapshots" / ("d" * 40)
        other.mkdir()
        blob = os.readlink(self.snapshot() / "m-Q4_0.gguf")
        os.symlink(blob, other / "copy.gguf")
        told = json.loads(self.good("remove", "org/model:Q4_0", "--json"))
        self.assertEqual(told["freed"], 0)
        self.assertEqual((other / "copy.gguf").read_bytes(), DATA)
        self.assertFalse((self.repo() / "refs/main").exists())
        self.good("remove", "org/model:copy")
        self.assertFalse(self.repo().exists())
        self.assertNotIn(COMMIT, self.good("list"))
