#!/usr/bin/env python3
"""Tests of the built program: the output of verbs, exit statuses and error messages.

    cli_test.py --hearth build/release/hearth [--library-program build/release/bin/library_program]
                [--emulator 'qemu-aarch64 -L DIR'] [TEST...]
"""

import argparse
import json
import math
import os
import re
import shlex
import sys
import unittest
from pathlib import Path

import numpy as np

import chain_models
from bench_charts_test import BenchChartsTest  # noqa: F401 (its tests run with these)
from bench_embed_test import BenchEmbedTest  # noqa: F401 (its tests run with these)
from bench_serve_test import BenchServeTest  # noqa: F401 (its tests run with these)
from bench_test import BenchTest  # noqa: F401
from chain_models import BOS, EOS, GAP, VOCABULARY, ids, letter
from chat_format_test import ChatFormatVerbTest  # noqa: F401
from chat_test import ChatTest  # noqa: F401
from demo_test import DEMO, DemoTest  # noqa: F401
from embed_test import EmbedTest  # noqa: F401
from encoder_folder_test import EncoderFolderTest  # noqa: F401
from engine_options_test import EngineOptionsTest  # noqa: F401
from folder_test import FolderTest  # noqa: F401
from gpu_test import GpuTest  # noqa: F401
from grammar_test import GrammarVerbTest  # noqa: F401
from options_test import OptionsTest  # noqa: F401
from program import ProgramTest
from run_test import RunTest  # noqa: F401
from setup_test import SetupTest  # noqa: F401
from telling_test import TellingTest  # noqa: F401
from topo_test import TopoTest  # noqa: F401
from tune_test import TuneTest  # noqa: F401


class ProgramItselfTest(ProgramTest):
    def test_without_a_verb_prints_help(self):
        status, out, err = self.call()
        self.assertEqual((status, out), (2, b""))
        self.assertIn("inspect", err)

    def test_every_verb_has_help_with_examples(self):
        overview = self.good("--help")
        self.assertEqual(overview, self.good("help"))
        verbs = re.findall(r"^  ([a-z]+)  +[A-Z]", overview, re.M)
        self.assertGreaterEqual(set(verbs), {"run", "embed", "inspect", "tokenize", "perplexity",
                                             "logits", "bench"})
        for verb in verbs:
            page = self.good("help", verb)
            self.assertEqual(page, self.good(verb, "--help"))
            self.assertIn("Examples:\n  hearth " + verb, page)

    def test_wrong_words_get_a_hint(self):
        self.bad(2, "rnu", says=["'rnu'", "did you mean 'run'"])
        self.bad(2, "banana", says=["'banana'", "there are serve, run, "])
        self.bad(2, "help", "banana", says=["'banana'"])
        self.bad(2, "run", self.chain, "--tmep", "1", says=["--tmep", "did you mean '--temp'"])
        self.bad(2, "run", self.chain, "another", says=["'another'"])

    def test_version(self):
        told = json.loads(self.good("version", "--json"))
        self.assertRegex(told["version"], r"^\d+\.\d+\.\d+$")
        self.assertIn("reference", told["isa"])
        self.assertIn(told["version"], self.good("version"))
        self.assertEqual(self.good("--version"), self.good("version"))

    def test_a_level_of_kernels_that_does_not_exist(self):
        env = {"HEARTH_ISA": "mmx"}
        self.bad(2, "run", self.chain, "-p", "a", "-n", "1", says=["mmx", "reference"], env=env)


class FileTest(ProgramTest):
    """Tests of files that are not models, or models that cannot be run."""

    def broken(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path

    def refused(self, path, says, status=1, verbs=(("run", "-p", "a"), ("inspect",))):
        for verb, *words in verbs:
            self.bad(status, verb, path, *words, says=says)

    def test_missing_empty_and_folder(self):
        self.refused("/no/such/model.gguf", ["/no/such/model.gguf"])
        self.refused(self.broken("empty.gguf", b""), ["empty.gguf", "empty"])
        self.refused(self.folder, [str(self.folder), "folder"])

    def test_wrong_magic(self):
        self.refused(self.broken("text.gguf", b"once upon a time" * 9), ["text.gguf", "GGUF"])

    def test_truncated_anywhere(self):
        whole = self.chain.read_bytes()
        for size in (3, 4, 20, 100, 3000, len(whole) // 2, len(whole) - 1):
            self.refused(self.broken("cut.gguf", whole[:size]), ["cut.gguf"])

    def test_corrupt_counts(self):
        whole = bytearray(self.chain.read_bytes())
        whole[8:16] = b"\xff" * 8
        self.refused(self.broken("corrupt.gguf", whole), ["corrupt.gguf"])

    def test_unknown_architecture(self):
        path = self.folder / "martian.gguf"
        chain_models.write_chain(path, arch="martian")
        says = ["'martian'", "llama", "qwen2", "qwen3", "bert", "nomic-bert", "jina-bert-v2"]
        self.refused(path, says, verbs=(("run", "-p", "a"), ("logits", "--tokens", "1"),
                                        ("perplexity", "-p", "a")))
        self.assertIn("cannot run it; it runs llama", self.good("inspect", path))
        self.assertEqual(self.good("tokenize", path, "-p", "ab", "--json"),
                         json.dumps([BOS, *ids("ab")], separators=(",", ":")) + "\n")

    def test_encoders_give_no_text(self):
        path = self.folder / "encoder.gguf"
        chain_models.write_encoder(path)
        says = ["encoder.gguf", "an encoder (bert)", "cannot generate text", "`hearth embed`"]
        self.refused(path, says, verbs=(
            ("run", "-p", "a"), ("logits", "--tokens", "1"), ("perplexity", "-p", "a"),
            ("bench", "-p", "8", "-n", "2")))
        out = self.good("inspect", path)
        self.assertIn("architecture  bert (an encoder", out)
        self.assertIn("pooling       cls\n", out)
        told = json.loads(self.good("inspect", path, "--json"))
        self.assertEqual((told["encoder"], told["pooling"], told["context"]), (True, "cls", 24))
        chain_models.write_encoder(path, pooling=4)
        self.refused(path, ["encoder.gguf", "a reranker"], verbs=(("run", "-p", "a"),))
        out = self.good("inspect", path)
        self.assertIn("pooling       rank\n", out)
        self.assertIn("it scores pairs of texts", out)

    def test_unknown_tensor_type(self):
        path = self.folder / "type99.gguf"
        chain_models.write_unknown_type(path)
        self.refused(path, ["type 99"], verbs=(("run", "-p", "a"),))
        self.assertIn("type 99", self.good("inspect", path, "--tensors"))

    def test_missing_vocabulary(self):
        path = self.folder / "mute.gguf"
        chain_models.write_chain(path, vocabulary=False)
        self.refused(path, ["mute.gguf", "vocabulary"], verbs=(
            ("run", "-p", "a"), ("tokenize", "-p", "a"), ("perplexity", "-p", "a"),
            ("logits", "-p", "a")))
        self.assertIn("none", self.good("inspect", path))
        self.assertIn(str(letter("a")), self.good("logits", path, "--tokens", BOS))

    def test_context_that_no_memory_holds(self):
        heads, head, layers = chain_models.WIDE
        needed = 2 * 4 * heads * head * layers * (1 << 20)
        if os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") > needed:
            self.skipTest("this machine has the memory")
        path = self.folder / "wide.gguf"
        chain_models.write_wide(path)
        self.bad(1, "run", path, "-p", "a", "--ctx", 1 << 20, "--kv-type", "f32",
                 says=["needs", "TiB" if needed >= 1 << 40 else "GiB", "available"])


class InspectTest(ProgramTest):
    def test_text(self):
        out = self.good("inspect", self.chain)
        for part in ("architecture  llama\n", "layers        1\n", "context       256\n",
                     f"vocabulary    {VOCABULARY}\n", "SentencePiece", "f32",
                     "  llama.block_count (uint32) = 1\n", "tokenizer.ggml.tokens"):
            self.assertIn(part, out)
        self.assertNotIn("blk.0.attn_q.weight", out)
        self.assertRegex(self.good("inspect", self.chain, "--tensors"),
                         r"blk\.0\.attn_q\.weight +f32 +320 x 32 +40\.0\d? KiB\n")

    def test_json(self):
        told = json.loads(self.good("inspect", self.chain, "--json", "--tensors"))
        self.assertEqual(told["architecture"], "llama")
        self.assertTrue(told["runs"])
        self.assertEqual(told["file_bytes"], self.chain.stat().st_size)
        self.assertEqual(told["vocabulary"], VOCABULARY)
        tokens = told["metadata"]["tokenizer.ggml.tokens"]
        self.assertEqual((tokens["array"], tokens["count"]), ("string", VOCABULARY))
        self.assertEqual(tokens["first"][:3], ["<unk>", "<s>", "</s>"])
        self.assertEqual(told["metadata"]["tokenizer.ggml.add_bos_token"], True)
        self.assertEqual(told["metadata"]["llama.attention.layer_norm_rms_epsilon"], 1e-5)
        by_name = {tensor["name"]: tensor for tensor in told["tensors"]}
        self.assertEqual(by_name["output.weight"]["dims"], [320, VOCABULARY])
        self.assertEqual(told["parameters"], sum(math.prod(t["dims"]) for t in told["tensors"]))

    def test_matrices_by_role_and_type(self):
        told = json.loads(self.good("inspect", DEMO, "--json", "--tensors"))
        by_role = {row["role"]: row for row in told["matrices"]}
        self.assertEqual(len(by_role), len(told["matrices"]))
        tensors = [t for t in told["tensors"] if len(t["dims"]) == 2]
        for role, name in (("down", "ffn_down"), ("q", "attn_q"), ("embedding", "token_embd")):
            of_role = [t for t in tensors if t["name"].endswith(name + ".weight")]
            row = by_role[role]
            self.assertEqual((row["type"], row["packed_as"]), ("q8_0", "q8_0"))
            self.assertEqual(row["matrices"], len(of_role))
            self.assertEqual(row["elements"], sum(math.prod(t["dims"]) for t in of_role))
            self.assertEqual(row["bytes"], sum(t["bytes"] for t in of_role))
            # The last panel may have rows of padding.
            self.assertLessEqual(row["bytes"], row["packed_bytes"])
            self.assertLess(row["packed_bytes"], 1.01 * row["bytes"])
        self.assertEqual(sum(row["bytes"] for row in told["matrices"]),
                         sum(t["bytes"] for t in tensors))


class TokenizeTest(ProgramTest):
    def encode(self, *words, text=""):
        return json.loads(self.good("tokenize", self.chain, "--json", *words, text=text))

    def test_encode(self):
        self.assertEqual(self.encode("-p", "ab c"), [BOS, *ids("ab c")])
        self.assertEqual(self.encode("--no-bos", text="ab"), ids("ab"))
        self.assertEqual(self.encode("--no-bos", text="é".encode()),
                         [chain_models.byte(b) for b in "é".encode()])
        self.assertEqual(self.encode("-p", "a</s>", "--special"), [BOS, letter("a"), EOS])
        self.assertNotIn(EOS, self.encode("-p", "a</s>"))
        self.assertEqual(self.encode("-p", "", "--no-bos"), [])

    def test_no_special_leaves_out_what_is_put_on_both_ends(self):
        path = self.folder / "wordpiece.gguf"
        chain_models.write_wordpiece(path)
        words = [chain_models.WORDPIECE.index(word) for word in ("\u2581hello", "\u2581world", "s")]
        cls, sep = (chain_models.WORDPIECE.index(word) for word in ("[CLS]", "[SEP]"))

        def encode(*options):
            return json.loads(self.good("tokenize", path, "-p", "Hello worlds", "--json", *options))

        self.assertEqual(encode(), [cls, *words, sep])
        self.assertEqual(encode("--no-bos"), [*words, sep])
        self.assertEqual(encode("--no-special"), words)
        # Special tokens in the text stay.
        self.assertEqual(json.loads(self.good("tokenize", path, "-p", "[SEP]hello", "--json",
                                              "--special", "--no-special")), [sep, words[0]])
        self.assertEqual(self.encode("-p", "ab", "--no-special"), ids("ab"))
        self.bad(2, "tokenize", path, "--decode", "--no-special", text="1", says=["--no-special"])

    def test_a_file(self):
        path = self.folder / "words.txt"
        path.write_bytes("ab cé\n".encode())
        self.assertEqual(self.encode("-f", path), self.encode(text="ab cé\n"))
        self.assertEqual(self.encode("-f", "-", text="ab"), self.encode("-p", "ab"))
        ids_file = self.folder / "ids.json"
        ids_file.write_text(json.dumps(ids("cab")))
        self.assertEqual(self.good("tokenize", self.chain, "--decode", "-f", ids_file), "cab")
        self.bad(1, "tokenize", self.chain, "-f", "/no/such/text", says=["/no/such/text"])

    def test_lines(self):
        self.assertEqual(self.good("tokenize", self.chain, "--lines", "--json", "--no-bos",
                                   text="ab\n\nc\r\nd"),
                         "".join(json.dumps(ids(line), separators=(",", ":")) + "\n"
                                 for line in ("ab", "")) +
                         f"[{letter('c')},{chain_models.byte(13)}]\n[{letter('d')}]\n")
        self.assertEqual(self.good("tokenize", self.chain, "--lines", text="ab\n"),
                         f"{BOS} {letter('a')} {letter('b')}\n")
        self.assertEqual(self.good("tokenize", self.chain, "--lines", text=""), "")
        rows = f"{letter('a')} {letter('b')}\n\n[{letter('c')},{chain_models.byte(10)}]\n"
        self.assertEqual(self.good("tokenize", self.chain, "--decode", "--lines", text=rows),
                         "ab\n\nc\n\n")
        self.assertEqual(self.good("tokenize", self.chain, "--decode", "--lines", "--json",
                                   text=rows), '"ab"\n""\n"c\\n"\n')
        long = "ab\n" * 100_000
        self.assertEqual(self.good("tokenize", self.chain, "--lines", "--no-bos", text=long),
                         f"{letter('a')} {letter('b')}\n" * 100_000)

    def test_verbose_tells_what_is_odd(self):
        path = self.folder / "odd.gguf"
        chain_models.write_chain(path, odd=True)
        status, plain, err = self.call("tokenize", path, "-p", "ab", "--json")
        self.assertEqual((status, err), (0, ""))
        status, told, err = self.call("tokenize", path, "-p", "ab", "--json", "-v")
        self.assertEqual((status, told), (0, plain))
        self.assertIn("padding_token_id is 99999", err)

    def test_plain_text(self):
        self.assertEqual(self.good("tokenize", self.chain, "-p", "b\n"),
                         f"1\t<s>\n{letter('b')}\tb\n{chain_models.byte(10)}\t\\x0a\n")

    def test_decode(self):
        given = [BOS, *ids("ab c"), *(chain_models.byte(b) for b in "é".encode())]
        for text in (json.dumps(given), ",".join(map(str, given)), "\n".join(map(str, given))):
            self.assertEqual(self.good("tokenize", self.chain, "--decode", text=text), "ab cé")
        decode = ("tokenize", self.chain, "--decode")
        self.assertEqual(self.good(*decode, "--special", text="1 260"), "<s>a")
        self.assertEqual(json.loads(self.good(*decode, "--json", text="260")), "a")
        self.bad(1, *decode, text="1 x", says=["'x'"])
        self.bad(1, *decode, text="1 99999", says=["99999"])

    def test_pre_tokenizer_of_another_kind(self):
        self.bad(2, "tokenize", self.chain, "-p", "a", "--pre", "llama-bpe",
                 says=["--pre llama-bpe works only with byte-level BPE"])


class PerplexityTest(ProgramTest):
    def test_by_hand(self):
        text = "abcdefghijklmnopqrstuvwxyz" * 10
        told = json.loads(self.good("perplexity", self.chain, "--ctx", "64", "--json", text=text))
        self.assertEqual((told["windows"], told["tokens"], told["ctx"]), (4, 4 * 31, 64))
        self.assertAlmostEqual(told["perplexity"], 1 + (VOCABULARY - 1) * math.exp(-GAP), places=2)
        self.assertLess(told["stderr"], 1e-3)

    def test_from_a_file(self):
        path = self.folder / "text.txt"
        path.write_text("abc" * 30)
        out = self.good("perplexity", self.random, "-f", path, "--ctx", "32")
        self.assertEqual(out, self.good("perplexity", self.random, "-p", "abc" * 30, "--ctx", "32"))
        self.assertRegex(out, r"^perplexity [\d.]+ \+/- [\d.]+ "
                              r"\(30 tokens scored in 2 windows of 32\)\n$")

    def test_text_too_short(self):
        self.bad(1, "perplexity", self.chain, "-p", "abc", says=["4 tokens", "512", "--ctx"])
        self.bad(2, "perplexity", self.chain, "-p", "abc", "--ctx", "3", says=["--ctx", "4"])


class LogitsTest(ProgramTest):
    def test_npy_is_the_whole_truth(self):
        path = self.folder / "logits.npy"
        tokens = [BOS, *ids("abz")]
        self.good("logits", self.chain, "--tokens", ",".join(map(str, tokens)), "-o", path)
        logits = np.load(path)
        self.assertEqual((logits.dtype, logits.shape), (np.dtype("<f4"), (4, VOCABULARY)))
        self.assertEqual(logits.argmax(axis=1).tolist(), ids("abca"))
        np.testing.assert_allclose(logits.max(axis=1), GAP, rtol=1e-2)
        self.assertEqual(np.count_nonzero(logits), 4)

    def test_chunks_and_threads_change_no_bit(self):
        prompt = "the quick brown fox jumps over the lazy dog " * 4
        files = []
        for chunk, threads in ((1, 1), (7, 2), (64, 1), (200, 2)):
            files.append(self.folder / f"{chunk}.npy")
            self.good("logits", self.random, "-p", prompt, "--chunk", chunk, "-t", threads,
                      "-o", files[-1])
        self.assertEqual(len({file.read_bytes() for file in files}), 1)

    def test_top(self):
        lines = self.good("logits", self.chain, "-p", "a", "--json", "--top", "2").splitlines()
        first, second = map(json.loads, lines)
        self.assertEqual((first["position"], first["token"]), (0, BOS))
        self.assertEqual(second["top"][0]["id"], letter("b"))
        self.assertEqual(second["top"][0]["text"], "b")
        self.assertEqual(len(second["top"]), 2)
        self.assertAlmostEqual(second["top"][0]["logit"], GAP, places=1)
        self.assertRegex(self.good("logits", self.chain, "-p", "a"),
                         r"(?m)^1 260 'a':  261 'b' [56]\.")

    def test_special_and_bos_options(self):
        def tokens(*words):
            lines = self.good("logits", self.chain, "-p", "a</s>", "--json", *words).splitlines()
            return [json.loads(line)["token"] for line in lines]

        whole = [BOS, letter("a"), EOS]
        self.assertEqual(tokens("--special"), whole)
        self.assertEqual(tokens("--special", "--no-bos"), whole[1:])
        self.assertEqual(tokens("--no-bos"), tokens()[1:])
        self.assertNotIn(EOS, tokens())
        for option in ("--no-bos", "--special"):
            self.bad(2, "logits", self.chain, "--tokens", "1", option, says=["--tokens", option])

    def test_places_that_cannot_be_written(self):
        tokens = ("--tokens", "1,260")
        missing = self.folder / "no" / "such.npy"
        self.bad(1, "logits", self.chain, *tokens, "-o", missing, says=[str(missing)])
        self.bad(1, "logits", self.chain, *tokens, "-o", self.folder, says=[str(self.folder)])
        self.bad(1, "logits", self.chain, *tokens, "-o", "/dev/full",
                 says=["/dev/full", "No space"])

    def test_failure_leaves_nothing_behind(self):
        before = set(self.folder.iterdir())
        self.bad(2, "logits", self.chain, "--tokens", "1,99999", "-o", self.folder / "out.npy",
                 says=["99999"])
        self.assertEqual(set(self.folder.iterdir()), before)

    def test_bad_tokens(self):
        self.assertEqual(self.good("logits", self.chain, "--tokens", "010"),
                         self.good("logits", self.chain, "--tokens", "10"))
        for tokens in ("x", "1,-2", "1.5"):
            self.bad(2, "logits", self.chain, "--tokens", tokens, says=["--tokens"])
        self.bad(2, "logits", self.chain, says=["--tokens"])
        self.bad(1, "logits", self.chain, "--tokens", "1,2,3", "--ctx", "2",
                 says=["3 tokens", "--ctx"])


def load_tests(loader, tests, _):
    """All tests in the usual order, but the tests that inspect the others' calls come last."""
    last = loader.loadTestsFromTestCase(OptionsTest)
    first = [suite for suite in tests if not isinstance(next(iter(suite), None), OptionsTest)]
    return unittest.TestSuite([*first, last])


def main():
    parser = argparse.ArgumentParser(description="Tests of the built program.")
    parser.add_argument("--hearth", required=True, type=Path, help="the program")
    parser.add_argument("--library-program", type=Path,
                        help="tests/cli/library_program.cc; where none is named, bin/ beside it")
    parser.add_argument("--emulator", default="", help="runs the program, such as qemu-aarch64")
    options, rest = parser.parse_known_args()
    emulator, hearth = shlex.split(options.emulator), options.hearth.resolve()
    library = options.library_program or hearth.parent / "bin" / "library_program"
    ProgramTest.command = [*emulator, str(hearth)]
    ProgramTest.library = [*emulator, str(library)]
    # scripts/what_ran.py reads the skipped tests from this output.
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)


if __name__ == "__main__":
    main()
