"""Tests encoders on an accelerator through `hearth embed`, `serve` and `bench`, and prompts
streamed through one by `run` and `serve`. With a software driver, vectors and texts equal those of
the cores to the bit, alone and together.

    python3 tests/server/gpu_embed_test.py --hearth build/release/hearth [--texts 60]
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))

import make_models  # first: it fixes the number of BLAS threads

import gguf_io
import model_specs
from serving import GIVE_UP, ServerTest, software_gpu

FOLDER = tempfile.TemporaryDirectory()
DEMO = Path(__file__).resolve().parents[2] / "assets" / "demo.gguf"
TEXTS_A_REQUEST = 20


def write_model(name):
    spec = next(s for s in model_specs.specs() if s.name == name)
    path = Path(FOLDER.name) / f"{name}.gguf"
    if not path.exists():
        gguf_io.write(str(path), make_models.metadata(spec), list(make_models.tensors(spec)))
    return path


def made_texts(count):
    rng = random.Random(1)
    words = ["fox", "snow", "owl", "a", "the", "runs", "sleeps", "x", "through", "night"]
    return [" ".join(rng.choices(words, k=rng.randint(1, 24))) for _ in range(count)]


class GpuCase(unittest.TestCase):
    def setUp(self):
        self.name = software_gpu(ServerTest.hearth)
        if self.name is None:
            self.skipTest("no Vulkan driver that is software")
        self.gpu = "gpu:" + self.name

    def call(self, *words, text=""):
        return subprocess.run([*ServerTest.hearth, *map(str, words)], input=text.encode(),
                              capture_output=True, timeout=GIVE_UP, check=False)

    def vectors(self, model, texts, *words):
        done = self.call("embed", model, *words, text="\n".join(texts) + "\n")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return [json.loads(line)["embedding"] for line in done.stdout.splitlines()]


class EmbedTest(GpuCase):
    def test_gives_the_vectors_of_the_cores(self):
        texts = made_texts(12)
        for name in ("bert-q8_0", "nomic-f32"):
            with self.subTest(name):
                model = write_model(name)
                expected = self.vectors(model, texts)
                self.assertEqual(self.vectors(model, texts, "--device", self.gpu), expected)
                few = ["-b", "64", "--device", self.gpu]
                self.assertEqual(self.vectors(model, texts, *few), expected)

    def test_tells_why_a_gpu_is_left_out(self):
        done = self.call("embed", DEMO, "--pooling", "mean", "--device", self.gpu, "-p", "a")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"with a KV cache cannot embed on a GPU", done.stderr)
        told = self.call("embed", DEMO, "--pooling", "mean", "--device", self.gpu, "--device",
                         "cpu", "--list-devices")
        self.assertEqual(told.returncode, 0, told.stderr.decode())
        self.assertIn(b"cannot embed on a GPU", told.stdout)
        done = self.call("embed", write_model("bert-q8_0"), "--device", "gpu:banana", "-p", "a")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"banana", done.stderr)

    def test_cores_do_what_it_cannot(self):
        mean = ("--pooling", "mean", "--no-normalize")
        texts = made_texts(4)
        both = self.vectors(DEMO, texts, *mean, "--device", self.gpu, "--device", "cpu")
        self.assertEqual(both, self.vectors(DEMO, texts, *mean))
        model = write_model("bert-q8_0")
        plain = self.vectors(model, texts, "--no-normalize")
        self.assertEqual(self.vectors(model, texts, "--no-normalize", "--device", self.gpu), plain)

    def test_bench_measures_it(self):
        done = self.call("bench", write_model("bert-q8_0"), "--embed", "--device", self.gpu, "-p",
                         "4", "--slo", "200ms", "-r", "1", "--parts", "0", "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertIn(self.gpu, done.stdout.decode())


class ServeTest(GpuCase):
    texts = 60

    def test_serves_beside_cores(self):
        model = write_model("bert-q8_0")
        texts = made_texts(self.texts)
        expected = self.vectors(model, texts)
        server = ServerTest.start(model, "--offload", "--device", self.gpu, "--device", "cpu")
        with server:
            found = {}

            def ask(first):
                some = texts[first:first + TEXTS_A_REQUEST]
                data = server.good("/v1/embeddings", {"input": some})["data"]
                for one in data:
                    found[first + one["index"]] = one["embedding"]

            def ask_some(number, of):
                for first in range(number * TEXTS_A_REQUEST, len(texts), of * TEXTS_A_REQUEST):
                    ask(first)

            threads = [threading.Thread(target=ask_some, args=(i, 6)) for i in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual([found[i] for i in range(len(texts))], expected)
            done = {name: value for name, value in server.figures().items()
                    if "_texts_done_total{" in name}
            self.assertEqual(len(done), 2, done)
            self.assertGreater(sum(done.values()), len(texts) - 1)
            self.assertTrue(all(value > 0 for name, value in done.items() if "gpu" in name), done)
            self.assertEqual(server.stop(), 0)


class StreamTest(GpuCase):
    """Prompts of the demo model streamed through the driver."""

    prompt = "Once upon a time there was a fox who lived in the snow. " * 12
    how = ("--gpu-threshold", "32", "--gpu-rows", "128", "--gpu-memory", "1GiB", "--gpu-layers",
           "2", "--gpu-experts", "8")

    def test_run_gives_the_text_of_the_cores(self):
        words = ("run", DEMO, "-p", self.prompt, "-n", "24", "--temp", "0", "-q")
        expected = self.call(*words)
        self.assertEqual(expected.returncode, 0)
        done = self.call(*words, "--gpu", self.name, *self.how, "-v")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertEqual(done.stdout, expected.stdout)
        self.assertIn(b"passes of 128 rows, 2 of 4 layers kept, 2 berths of", done.stderr)

    def test_says_what_cannot_be(self):
        few = self.call("run", DEMO, "-p", "a", "-n", "1", "--gpu", self.name, "--gpu-memory",
                        "64KiB")
        self.assertEqual(few.returncode, 2)
        self.assertRegex(few.stderr.decode(),
                         r"need [\d.]+ MiB, .*, but .* has only 64.00 KiB free")
        alone = self.call("run", DEMO, "-p", "a", "-n", "1", "--gpu-rows", "64")
        self.assertEqual(alone.returncode, 2)
        self.assertIn(b"gpu", alone.stderr)
        encoder = self.call("serve", write_model("bert-q8_0"), "--gpu", self.name)
        self.assertEqual(encoder.returncode, 2)
        self.assertIn(b"--device gpu", encoder.stderr)
        auto = self.call("run", DEMO, "-p", "a", "-n", "1", "--gpu", "auto")
        self.assertEqual(auto.returncode, 0, auto.stderr.decode())

    def test_serves_streamed_prompts(self):
        body = {"prompt": self.prompt, "max_tokens": 8, "temperature": 0}
        texts = []
        for more in ((), ("--gpu", self.name, *self.how)):
            with ServerTest.start(DEMO, *more) as server:
                texts.append(server.good("/v1/completions", body)["choices"][0]["text"])
                figures = server.figures()
                self.assertEqual(server.stop(), 0)
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(figures["hearth_streamed_prompts_total"], 1)
        self.assertGreater(figures["hearth_streamed_tokens_total"], 100)
        self.assertGreaterEqual(figures["hearth_stream_passes_total"], 1)
        self.assertEqual(figures["hearth_failed_stream_passes_total"], 0)
        self.assertGreater(figures["hearth_streamed_bytes_total"], 100)
        self.assertGreater(figures["hearth_stream_seconds_total"], 0)
        self.assertEqual(figures["hearth_unstreamed_prompts_total"], 0)
        self.assertEqual(figures["hearth_changed_prompts_total"], 0)
        self.assertEqual(figures["hearth_stream_rows"], 128)
        self.assertEqual(figures["hearth_stream_layers_kept"], 2)
        self.assertGreater(figures["hearth_stream_bytes_in_flight"], 1000)
        self.assertEqual(figures["hearth_stream_threshold"], 32)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hearth", required=True)
    parser.add_argument("--texts", type=int, default=ServeTest.texts)
    arguments, rest = parser.parse_known_args()
    ServerTest.hearth = [arguments.hearth]
    ServeTest.texts = arguments.texts
    with FOLDER:
        unittest.main(argv=[sys.argv[0], *rest])
