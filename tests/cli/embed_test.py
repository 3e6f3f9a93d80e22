"""Tests of the output, errors and interruption of `hearth embed`."""

import json
import math
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import chain_models
import numpy as np
from chain_models import BOS, CONTEXT, ids
from program import TIMEOUT, ProgramTest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "embed"))
from faulty_endpoint import FaultyEndpoint

MEAN = ("--pooling", "mean")
WIDTH = 64


def rows_of(out):
    return [json.loads(line) for line in out.splitlines()]


class EmbedTest(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.last = cls.folder / "last.gguf"
        cls.head = chain_models.write_random(cls.last, {
            "llama.pooling_type": chain_models.u32(3),
            "tokenizer.ggml.add_eos_token": chain_models.boolean(True)})
        cls.bare = cls.folder / "bare.gguf"
        chain_models.write_random(cls.bare, {
            "tokenizer.ggml.add_bos_token": chain_models.boolean(False)})
        cls.rank = cls.folder / "rank.gguf"
        chain_models.write_random(cls.rank, {"llama.pooling_type": chain_models.u32(4)})

    def embed(self, *words, model=None, text=""):
        return rows_of(self.good("embed", model or self.random, *words, text=text))

    def vectors(self, *words, text=""):
        return [row["embedding"] for row in self.embed(*MEAN, *words, text=text)]

    def mean_logits(self, text):
        path = self.folder / "logits.npy"
        tokens = ",".join(map(str, [BOS, *ids(text)]))
        self.good("logits", self.random, "--tokens", tokens, "-o", path)
        return np.load(path).mean(axis=0)

    def test_vectors_have_length_one_and_their_order(self):
        rows = self.embed(*MEAN, "-p", "abc", "-p", "hello")
        self.assertEqual([row["index"] for row in rows], [0, 1])
        self.assertEqual([row["tokens"] for row in rows], [4, 6])
        self.assertEqual([list(row) for row in rows], [["index", "tokens", "embedding"]] * 2)
        for row in rows:
            self.assertEqual(len(row["embedding"]), WIDTH)
            # The sum has 64 squares of floats, each rounded by 2^-24 of itself.
            self.assertAlmostEqual(sum(x * x for x in row["embedding"]), 1, delta=2**-22)

    def test_poolings(self):
        by_name = {name: self.embed("--pooling", name, "-p", "abc")[0]["embedding"]
                   for name in ("cls", "mean", "last")}
        self.assertEqual(len({tuple(vector) for vector in by_name.values()}), 3)
        # BOS comes before all text, so its state does not depend on the text.
        self.assertEqual(by_name["cls"], self.embed("--pooling", "cls", "-p", "x")[0]["embedding"])
        # All ways of pooling give the same vector for one token.
        one = [self.embed("--pooling", name, "-p", "a", model=self.bare)[0]["embedding"]
               for name in ("cls", "mean", "last")]
        self.assertEqual(one[0], one[1])
        self.assertEqual(one[0], one[2])

    def test_the_head_maps_the_vector_to_the_logits(self):
        # The mean of the logits is the head's product with the mean of the hidden states.
        [plain] = self.vectors("-p", "abc", "--no-normalize")
        [unit] = self.vectors("-p", "abc")
        length = math.sqrt(sum(x * x for x in plain))
        for x, u in zip(plain, unit):
            self.assertAlmostEqual(x / length, u, delta=1e-6)
        # Each sum has 64 products in f32, whose terms are about 1.
        np.testing.assert_allclose(self.head @ np.array(plain), self.mean_logits("abc"), atol=1e-4)

    def test_the_file_says_pooling_and_eos(self):
        [row] = self.embed("-p", "abc", model=self.last)
        self.assertEqual(row["tokens"], 5)
        [cut] = self.embed("-p", "abc", "--dimensions", "8", model=self.last)
        length = math.sqrt(sum(x * x for x in row["embedding"][:8]))
        for x, full in zip(cut["embedding"], row["embedding"]):
            self.assertAlmostEqual(x, full / length, delta=1e-6)
        [plain] = self.embed("-p", "abc", "--dimensions", "8", "--no-normalize", model=self.last)
        [whole] = self.embed("-p", "abc", "--no-normalize", model=self.last)
        self.assertEqual(plain["embedding"], whole["embedding"][:8])

    def test_bits_depend_on_the_text_alone(self):
        texts = ["a" * n for n in (1, 3, 40, 200, 7, 64)] + ["hello", "bye"]
        alone = [self.vectors("-p", text)[0] for text in texts]
        self.assertEqual(self.vectors(text="\n".join(texts)), alone)
        for words in (("-t", "1"), ("-t", "3", "--groups", "3"), ("-b", "16"), ("--batch", "100")):
            self.assertEqual(self.vectors(*words, text="\n".join(reversed(texts))), alone[::-1])

    def test_the_type_of_keys_and_values_moves_a_vector_a_little(self):
        [exact] = self.vectors("-p", "hello" * 20, "--kv-type", "f32")
        for kind in ("f16", "bf16", "q8_0"):
            [found] = self.vectors("-p", "hello" * 20, "--kv-type", kind)
            self.assertNotEqual(found, exact)
            # Keys and values are off by 1/254 of the largest at most.
            self.assertGreater(sum(a * b for a, b in zip(found, exact)), 0.999, kind)

    def test_lines_of_a_file_and_of_standard_input(self):
        path = self.folder / "lines.txt"
        path.write_bytes(b"\xef\xbb\xbfabc\r\nhello")
        expected = self.vectors("-p", "abc", "-p", "hello")
        self.assertEqual(self.vectors(path), expected)
        self.assertEqual(self.vectors(text="abc\nhello\n"), expected)
        self.assertEqual(self.vectors("-", text="abc\nhello\n"), expected)
        self.assertEqual(self.vectors("--prefix", "ab", text="c\n"), expected[:1])
        self.assertEqual(self.good("embed", self.random, *MEAN, text=""), "")

    def test_json_lines(self):
        lines = [{"id": "x", "body": "abc"}, {"id": 7, "body": "hello", "more": [1]}]
        path = self.folder / "lines.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        rows = self.embed(*MEAN, path, "--field", "body", "--id", "id")
        self.assertEqual([row["id"] for row in rows], ["x", 7])
        self.assertEqual([row["embedding"] for row in rows],
                         self.vectors("-p", "abc", "-p", "hello"))
        [row] = self.embed(*MEAN, "--id", "k", text='{"k": "\\u00e9\\n", "text": "abc"}')
        self.assertEqual(row["id"], "é\n")
        status, _, err = self.call("embed", self.random, *MEAN, path)
        self.assertEqual(status, 0)
        self.assertIn("to read JSON objects, give --field text", err)

    def test_broken_lines_are_named_and_what_came_before_stays(self):
        for line, says in (("{", ["line 2 of standard input", "it ends at byte 1"]),
                           ("[1]", ["line 2", "is not a JSON object"]),
                           ('{"a": 1}', ["line 2", "'text'", "--field"]),
                           ('{"text": 1}', ["line 2", "'text'"]),
                           ('{"text": "a", "id": null}', ["line 2", "'id'", "--id"]),
                           ('{"text": "", "id": 2}', ["line 2", "empty"])):
            text = '{"text": "abc", "id": 1}\n' + line + "\n"
            status, out, err = self.call("embed", self.random, *MEAN, "--field", "text", "--id",
                                         "id", text=text)
            self.assertEqual((status, len(rows_of(out.decode()))), (1, 1), err)
            for part in says:
                self.assertIn(part, err)
        path = self.folder / "part.npy"
        status, _, err = self.call("embed", self.random, *MEAN, "-o", path, "--field", "text",
                                   text='{"text": "abc"}\n{}\n{"text": "abc"}\n')
        self.assertEqual(status, 1)
        self.assertIn("line 2 of standard input has no string in field 'text'", err)
        self.assertEqual(np.load(path).shape, (1, WIDTH))

    def test_a_text_without_tokens_does_not_end_the_run(self):
        expected = self.vectors("-p", "abc", "-p", "hello")
        words = ("embed", self.random, *MEAN)
        status, out, err = self.call(*words, text="abc\n\nhello\n\n")
        rows = rows_of(out.decode())
        self.assertEqual((status, [row["index"] for row in rows]), (1, [0, 2]), err)
        self.assertEqual([row["embedding"] for row in rows], expected)
        for line in (2, 4):
            self.assertIn(f"line {line} of standard input: the text is empty", err)
        self.assertIn("2 vectors of 10 tokens", err)
        self.assertIn("texts without a vector: 2", err)
        path = self.folder / "gap.npy"
        status, _, err = self.call(*words, "-q", "-o", path, text="abc\n\nhello\n")
        self.assertEqual(status, 1, err)
        self.assertIn("texts without a vector: 1", err)
        saved = np.load(path)
        self.assertTrue((saved[[0, 2]] == np.array(expected, dtype=np.float32)).all())
        self.assertTrue(np.isnan(saved[1]).all())
        # A thousand errors must not flood the screen.
        status, out, err = self.call(*words, text="\n" * 1000 + "abc\n")
        self.assertEqual((status, len(rows_of(out.decode()))), (1, 1))
        self.assertLess(len(err.splitlines()), 50)
        self.assertIn("texts without a vector: 1000", err)

    def test_a_blank_text_of_an_encoder_is_its_special_tokens(self):
        path = self.folder / "encoder.gguf"
        chain_models.write_encoder(path, vocabulary=chain_models.wordpiece())
        rows = self.embed("-p", "hello", "-p", "   ", "-p", "\u200b", model=path)
        self.assertEqual([row["tokens"] for row in rows[1:]], [2, 2])
        self.assertEqual(rows[1]["embedding"], rows[2]["embedding"])
        self.assertEqual(rows[:1], self.embed("-p", "hello", model=path))

    def test_npy(self):
        path = self.folder / "vectors.npy"
        out = self.good("embed", self.random, *MEAN, "-p", "abc", "-p", "hello", "-o", path)
        self.assertEqual(out, "")
        saved = np.load(path)
        self.assertEqual((saved.dtype, saved.shape), (np.float32, (2, WIDTH)))
        # The file has the same floats as JSON.
        printed = np.array(self.vectors("-p", "abc", "-p", "hello"), dtype=np.float32)
        self.assertTrue((saved == printed).all())
        self.good("embed", self.random, *MEAN, "--output", path, "--dimensions", "5", text="")
        self.assertEqual(np.load(path).shape, (0, 5))
        self.bad(1, "embed", self.random, *MEAN, "-p", "a", "-o", "/no/such/x.npy",
                 says=["/no/such/x.npy"])
        self.bad(2, "embed", self.random, *MEAN, "-p", "a", "-o", "x.json", says=[".npy"])
        pipe = self.folder / "pipe.npy"
        os.mkfifo(pipe)
        end = os.open(pipe, os.O_RDWR)
        self.bad(1, "embed", self.random, *MEAN, "-p", "a", "-o", pipe, says=["pipe.npy"])
        os.close(end)

    def test_texts_that_are_too_long(self):
        long = "ab" * CONTEXT
        says = [f"the text has {2 * CONTEXT + 1} tokens", f"context of {CONTEXT}", "--truncate"]
        self.bad(1, "embed", self.random, *MEAN, "-p", long, says=["text 1 of -p", *says])
        status, out, err = self.call("embed", self.last, "--truncate", "--ctx", "20",
                                     text=f"abc\n{long}\n")
        self.assertEqual(status, 0)
        short, cut = rows_of(out.decode())
        self.assertNotIn("whole_tokens", short)
        self.assertEqual((cut["tokens"], cut["whole_tokens"]), (20, 2 * CONTEXT + 2))
        self.assertIn("1 of 2 texts had more than 20 tokens", err)
        # The cut text is BOS, 18 of its own tokens, EOS.
        [same] = self.embed("-p", long[:18], model=self.last)
        self.assertEqual(cut["embedding"], same["embedding"])

    def test_refuses_invalid_options(self):
        self.bad(2, "embed", self.random, "-p", "a", says=["--pooling is needed", "cls, mean"])
        self.bad(1, "embed", self.rank, "-p", "a", *MEAN, says=["reranker"])
        self.bad(2, "embed", self.random, "-p", "a", "--pooling", "max", says=["--pooling"])
        self.bad(2, "embed", self.random, *MEAN, "-p", "a", "--dimensions", WIDTH + 1,
                 says=["--dimensions is 65", "from 1 to 64"])
        self.bad(1, "embed", self.random, *MEAN, "-p", "", says=["text 1 of -p", "empty"])
        self.bad(1, "embed", self.random, *MEAN, "/no/such/file", says=["/no/such/file"])
        self.bad(2, "embed", self.random, *MEAN, "-p", "a", "x.txt", says=["--prompt"])
        self.bad(2, "embed", self.random, *MEAN, "-p", "a", "--slo", "soon", says=["soon"])
        self.bad(2, "embed", self.random, *MEAN, "-p", "a", "--gather", "-1s", says=["-1s"])
        self.bad(2, "embed", self.random, *MEAN, "-p", "a", "--device", "npu", says=["npu"])
        self.bad(2, "embed", self.random, *MEAN, "-p", "a", "--device", "cpu:cores=1",
                 says=["cores=1"])
        self.bad(2, "embed", self.random, *MEAN, "-p", "a", "--no-normalize", "--device",
                 "sim:width=64", says=["--no-normalize"])

    def test_devices(self):
        table = self.good("embed", self.random, *MEAN, "--list-devices")
        self.assertRegex(table, r"device +kind +queue +why\ncpu +cpu +yes +the only kind")
        sim = f"sim:width={WIDTH},alpha=0.0001,beta=0.0001,name=far"
        words = ("--device", "cpu", "--device", sim, "--list-devices")
        table = self.good("embed", self.random, *MEAN, *words)
        self.assertRegex(table, r"\ncpu +cpu +no +.*--offload")
        self.assertRegex(table, r"\nfar +accelerator +yes ")
        # The two devices do not agree, so one is left out, and the table says why.
        table = self.good("embed", self.random, *MEAN, *words, "--offload")
        self.assertRegex(table, r" no +.*cosine")
        self.good("embed", self.random, *MEAN, *words, "--offload", "--host-cores", "0")
        expected = self.vectors("-p", "abc", "-p", "hello")
        # No server listens at the second address; the other device works.
        status, out, err = self.call("embed", self.random, *MEAN, "--device", "cpu", "--device",
                                     "http://127.0.0.1:9/v1", "-p", "abc", "-p", "hello")
        self.assertEqual(status, 0)
        self.assertEqual([row["embedding"] for row in rows_of(out.decode())], expected)
        self.assertIn("127.0.0.1:9 is not used: the server did not reply", err)
        two = ("--device", "cpu:threads=1", "--device", "cpu:threads=1,name=b")
        self.assertEqual(self.vectors(*two, "-p", "abc", "-p", "hello"), expected)

    def test_objectives_and_pools_change_no_vector(self):
        texts = "\n".join(["abc", "hello"] * 100)
        expected = self.vectors(text=texts)
        for words in (("--slo", "2s"), ("--slo", "500ms", "--admission", "depth"),
                      ("--slo", "2s", "--gather", "1ms"), ("--slo", "2s", "--gather", "0"),
                      ("--pools", "one"), ("--pools", "nodes")):
            self.assertEqual(self.vectors(*words, text=texts), expected)

    def test_summary(self):
        words = ("embed", self.random, *MEAN, "-p", "abc")
        _, _, err = self.call(*words)
        self.assertRegex(err, r"^hearth: 1 vector of 4 tokens in [\d.]+ s, [\d.]+ tokens/s\n$")
        self.assertEqual(self.call(*words, "-q")[2], "")
        _, _, err = self.call(*words, "-v", "-t", "1")
        self.assertRegex(err, r"(?s)1 threads, .*cpu: 1 texts in 1 batches, 0 late, 0 failures")

    def test_many_lines_take_no_more_memory(self):
        if self.has_address_sanitizer():
            self.skipTest("AddressSanitizer keeps memory of its own")

        def peak(count):
            path = self.folder / "many.txt"
            path.write_text("".join(f"{i} abc\n" for i in range(count)))
            out = self.folder / "many.npy"
            process = self.start("embed", self.random, *MEAN, path, "-o", out,
                                 stderr=subprocess.DEVNULL)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 0)
            self.assertEqual(np.load(out, mmap_mode="r").shape, (count, WIDTH))
            return used.ru_maxrss
        few, many = peak(5000), peak(20000)
        # The vectors alone would take 3.8 MiB more. Texts under way vary by less.
        self.assertLess(many - few, 2048)

    def test_interrupt_leaves_whole_rows(self):
        path = self.folder / "interrupted.npy"
        process = self.start("embed", self.random, *MEAN, "-o", path, stdin=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        process.stdin.write(b"abc\nhello\n")
        process.stdin.flush()
        # The file has no name yet; it has the header's 128 bytes and two rows.
        self.wait_for_bytes(process, 128 + 2 * 4 * WIDTH)
        process.send_signal(signal.SIGINT)
        # The program's input stays open until the program has ended.
        process.wait(timeout=TIMEOUT)
        _, err = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn(b"2 vectors of 10 tokens", err)
        self.assertIn(b"interrupted", err)
        saved = np.load(path)
        expected = np.array(self.vectors("-p", "abc", "-p", "hello"), dtype=np.float32)
        self.assertTrue((saved == expected).all())

    def test_interrupt_while_every_device_is_down(self):
        with FaultyEndpoint() as endpoint:
            process = self.start("embed", self.random, *MEAN, "-p", "abc", "--device",
                                 f"{endpoint.url},model=closes", stderr=subprocess.PIPE)
            # The first request asks for the width. The second one, for the text, fails.
            end = time.monotonic() + TIMEOUT
            while time.monotonic() < end and len(endpoint.requests) < 2:
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn(b"0 vectors of 0 tokens", err)
        self.assertIn(b"interrupted", err)

    def wait_for_bytes(self, process, count):
        """Waits until a file that the process has open has at least `count` bytes."""
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end and process.poll() is None:
            for fd in Path(f"/proc/{process.pid}/fd").iterdir():
                try:
                    facts = fd.stat()
                except FileNotFoundError:
                    continue
                if stat.S_ISREG(facts.st_mode) and facts.st_size == count:
                    return
            time.sleep(0.01)
        self.fail("no row was written")
