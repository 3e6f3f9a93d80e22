#!/usr/bin/env python3
"""Tests of the program as its users meet it: what verbs print, exit statuses, what errors say.

    cli_test.py --hearth build/release/hearth [--emulator 'qemu-aarch64 -L DIR'] [TEST...]
"""

import argparse
import json
import math
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import unittest
from pathlib import Path

import numpy as np

import chain_models
from bench_test import BenchTest  # noqa: F401 (its tests run with these)
from chain_models import BOS, CONTEXT, EOS, GAP, VOCABULARY, ids, letter
from program import TIMEOUT, ProgramTest


class ProgramItselfTest(ProgramTest):
    def test_without_a_verb_prints_help(self):
        status, out, err = self.call()
        self.assertEqual((status, out), (2, b""))
        self.assertIn("inspect", err)

    def test_every_verb_has_help_with_examples(self):
        overview = self.good("--help")
        self.assertEqual(overview, self.good("help"))
        verbs = re.findall(r"^  ([a-z]+)  +[A-Z]", overview, re.M)
        self.assertGreaterEqual(set(verbs), {"run", "inspect", "tokenize", "perplexity", "logits",
                                                   "bench"})
        for verb in verbs:
            page = self.good("help", verb)
            self.assertEqual(page, self.good(verb, "--help"))
            self.assertIn("Examples:\n  hearth " + verb, page)

    def test_wrong_words_get_a_hint(self):
        self.bad(2, "rnu", says=["'rnu'", "did you mean 'run'"])
        self.bad(2, "banana", says=["'banana'", "there are run, "])
        self.bad(2, "help", "banana", says=["'banana'"])
        self.bad(2, "run", self.chain, "--tmep", "1", says=["--tmep", "did you mean '--temp'"])
        self.bad(2, "run", self.chain, "another", says=["'another'"])
        self.bad(2, "run", says=["MODEL"])

    def test_version(self):
        told = json.loads(self.good("version", "--json"))
        self.assertRegex(told["version"], r"^\d+\.\d+\.\d+$")
        self.assertIn("reference", told["isa"])
        self.assertIn(told["version"], self.good("version"))
        self.assertEqual(self.good("--version"), self.good("version"))

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
        self.assertIn("threads by default: 16\n", text)
        self.bad(2, "topo", "--machine", "synthetic nonsense")
        self.bad(1, "topo", "--machine", "/no/such/file.xml", says=["/no/such/file.xml"])

    def test_a_level_of_kernels_that_does_not_exist(self):
        env = {"HEARTH_ISA": "mmx"}
        self.bad(2, "run", self.chain, "-p", "a", "-n", "1", says=["mmx", "reference"], env=env)


class RunTest(ProgramTest):
    def run_text(self, *words, model=None, text=""):
        return self.good("run", model or self.chain, "--temp", "0", *words, text=text)

    def test_prompt_from_option_file_and_standard_input(self):
        path = self.folder / "prompt.txt"
        path.write_text("xa\n")
        self.assertEqual(self.run_text("-p", "xa", "-n", "5"), "bcdef")
        self.assertEqual(self.run_text("-f", path, "-n", "5"), "bcdef")
        self.assertEqual(self.run_text("-n", "5", text="xa\n"), "bcdef")
        self.assertEqual(self.run_text("-p", "xa", "-n", "5", "--echo"), "xabcdef")

    def test_summary_on_standard_error(self):
        status, _, err = self.call("run", self.chain, "-p", "xa", "-n", "3", "--seed", "7")
        self.assertEqual(status, 0)
        self.assertRegex(err, r"prompt 3 tokens, [\d.]+ tokens/s, first token after [\d.]+ s\n")
        self.assertRegex(err, r"generated 3 tokens, [\d.]+ tokens/s; -n 3 reached; seed 7\n")
        _, _, err = self.call("run", self.chain, "-p", "xa", "-n", "3", "-q")
        self.assertEqual(err, "")

    def test_verbose_tells_what_was_loaded(self):
        _, _, err = self.call("run", self.chain, "-p", "a", "-n", "1", "-v", "-t", "1")
        self.assertRegex(err, r"chain\.gguf: llama, .* loaded in")
        self.assertRegex(err, r"1 threads, \w+ kernels, context 256")
        self.assertRegex(err, r"memory .*: weights ")

    def test_ends_with_the_text(self):
        self.assertEqual(self.run_text("-p", "E"), "")
        self.assertEqual(self.run_text("-p", "U"), "é€!")
        # A turn's end is known by its name, though the file doesn't call it an end.
        self.assertEqual(self.run_text("-p", "A"), "")

    def test_ends_with_the_context(self):
        status, out, err = self.call("run", self.chain, "-p", "a", "--temp", "0", "--ctx", "16")
        self.assertEqual(status, 0)
        # BOS and the prompt fill two of sixteen; the token after the last position is not fed back.
        self.assertEqual(len(out), 15)
        self.assertIn("the context of 16 is full: raise --ctx", err)

    def test_ignore_eos_goes_on(self):
        lines = self.run_text("-p", "E", "-n", "4", "--ignore-eos", "--json").splitlines()
        self.assertEqual(len(lines), 5)
        self.assertEqual(self.run_text("-p", "Ea", "-n", "4", "--ignore-eos"), "bcde")

    def test_stop_strings_over_tokens(self):
        self.assertEqual(self.run_text("-p", "a", "-n", "20", "--stop", "fgh"), "bcde")
        self.assertEqual(self.run_text("-p", "a", "-n", "20", "--stop", "zz", "--stop", "de"), "bc")
        # What only began to be a stop string is given out at the end.
        self.assertEqual(self.run_text("-p", "a", "-n", "5", "--stop", "fgh"), "bcdef")
        self.assertEqual(self.run_text("-p", "U", "--stop", "€"), "é")
        self.assertEqual(self.run_text("-p", "a", "-n", "3", "--stop", "[c,d]"), "bcd")
        self.bad(2, "run", self.chain, "-p", "a", "--stop", "", says=["--stop"])

    def test_text_is_whole_characters_at_every_moment(self):
        lines = [json.loads(line) for line in self.run_text("-p", "U", "--json").splitlines()]
        self.assertEqual([token["text"] for token in lines[:-1]], ["", "é", "", "", "€", "!", ""])
        # A character that never ends, and a byte that begins none.
        self.assertEqual(self.run_text("-p", "U", "-n", "4"), "é\ufffd")
        self.assertEqual(self.run_text("-p", "B"), "\ufffd!")

    def test_json_objects(self):
        out = self.run_text("-p", "a", "-n", "3", "--json", "--seed", "5", "--stop", "d")
        *tokens, last = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([token["id"] for token in tokens], ids("bcd"))
        self.assertEqual([token["index"] for token in tokens], [0, 1, 2])
        expected = -math.log(1 + (VOCABULARY - 1) * math.exp(-GAP))
        for token in tokens:
            self.assertAlmostEqual(token["logprob"], expected, places=2)
        summary = last["summary"]
        self.assertEqual(summary["text"], "".join(token["text"] for token in tokens))
        self.assertEqual((summary["finish"], summary["stop"]), ("stop string", "d"))
        self.assertEqual((summary["prompt_tokens"], summary["tokens"]), (2, 3))
        self.assertEqual(summary["seed"], 5)

    def test_several_prompts_come_in_their_order(self):
        out = self.run_text("-p", "a", "-p", "x", "-p", "U", "-n", "4")
        self.assertEqual(out, "==> prompt 1 <==\nbcde\n\n==> prompt 2 <==\nyzab\n\n"
                              "==> prompt 3 <==\né\ufffd\n")
        status, _, err = self.call("run", self.chain, "-p", "a", "-p", "x", "-n", "4")
        self.assertEqual(status, 0)
        self.assertRegex(err, r"2 prompts, 4 tokens \(0 shared\), all read after")
        self.assertRegex(err, r"generated 8 tokens in 2 texts in .* tokens/s; seed \d+\n")

    def test_repeats_differ_by_seed_and_are_what_each_is_alone(self):
        words = ("run", self.chain, "-p", "a", "-n", "20", "--temp", "3", "--top-k", "0",
                 "--top-p", "1", "--min-p", "0", "--ignore-eos", "--json")
        lines = [json.loads(line) for line in
                 self.good(*words, "--seed", "7", "--repeat", "40").splitlines()]
        texts = {line["summary"]["choice"]: line["summary"] for line in lines if "summary" in line}
        self.assertEqual(sorted(texts), list(range(40)))
        self.assertGreater(len({summary["text"] for summary in texts.values()}), 30)
        for choice in (0, 1, 39):
            alone = json.loads(self.good(*words, "--seed", 7 + choice).splitlines()[-1])["summary"]
            self.assertEqual((alone["text"], alone["seed"]),
                             (texts[choice]["text"], texts[choice]["seed"]))
        tokens = [line for line in lines if "index" in line and line["choice"] == 39]
        self.assertEqual("".join(token["text"] for token in tokens), texts[39]["text"])

    def test_prompts_that_begin_alike_share_what_is_alike(self):
        long = "hallo " * 200
        out = self.run_text("-p", long + "a", "-p", long + "x", "-n", "2", "--json", "--ctx",
                            "2048")
        ends = {end["prompt"]: end for end in
                (json.loads(line)["summary"] for line in out.splitlines() if "summary" in line)}
        self.assertEqual([ends[p]["text"] for p in (0, 1)], ["bc", "yz"])
        # A step has 512 tokens: the second prompt begins where the first has come to.
        self.assertEqual(ends[0]["cached_tokens"], 0)
        self.assertGreaterEqual(ends[1]["cached_tokens"], 512)

    def test_seed_decides(self):
        def sample(seed):
            return self.good("run", self.chain, "-p", "a", "-n", "40", "--temp", "3", "--top-k",
                             "0", "--top-p", "1", "--min-p", "0", "--ignore-eos", "--seed", seed)

        self.assertEqual(sample(1), sample(1))
        self.assertNotEqual(sample(1), sample(2))

    def test_threads_do_not_change_the_text(self):
        words = ("-p", "hallo", "-n", "60", "--ignore-eos")
        text = [self.run_text(*words, "-t", t, model=self.random) for t in (1, 2)]
        self.assertEqual(text[0], text[1])
        self.assertGreater(len(text[0]), 20)

    def test_kv_types(self):
        for kind in ("f32", "f16", "bf16", "q8_0"):
            self.assertEqual(self.run_text("-p", "a", "-n", "3", "--kv-type", kind), "bcd")

    def test_logit_bias(self):
        c = letter("c")
        for form in (f"{c}=-inf", f"{c}-inf", f"{c}-100"):
            self.assertNotIn("c", self.run_text("-p", "a", "-n", "4", "--logit-bias", form))
        x = letter("x")
        self.assertEqual(self.run_text("-p", "a", "-n", "3", "--logit-bias", f"{x}+50"), "xxx")
        both = ("--logit-bias", f"{x}=50", "--logit-bias", f"{letter('y')}=60")
        self.assertEqual(self.run_text("-p", "a", "-n", "3", *both), "yyy")
        for wrong in ("x=1", "5", "5=", "5=nan", f"{VOCABULARY}=1", "-1=1", "5=inf"):
            self.bad(2, "run", self.chain, "-p", "a", "--logit-bias", wrong, says=["--logit-bias"])

    def test_penalties(self):
        out = self.run_text("-p", "a", "-n", "60", "--ignore-eos", "--presence-penalty", "10",
                            "--penalty-window", "100")
        self.assertEqual(out[:25], "bcdefghijklmnopqrstuvwxyz")
        self.assertNotEqual(out[25:26], "a")

    def test_special_tokens_of_the_prompt(self):
        def prompt_tokens(*words):
            out = self.run_text("-p", "a<|im_end|>", "-n", "1", "--json", *words)
            return json.loads(out.splitlines()[-1])["summary"]["prompt_tokens"]

        self.assertEqual(prompt_tokens("--special"), 3)
        self.assertEqual(prompt_tokens("--special", "--no-bos"), 2)
        self.assertGreater(prompt_tokens(), 3)

    def test_empty_prompt(self):
        self.assertEqual(self.run_text("-p", "", "-n", "3"), "abc")
        self.bad(1, "run", self.chain, "-p", "", "--no-bos", says=["the prompt is empty"])

    def test_prompt_longer_than_the_context(self):
        long = "a" * 300
        self.bad(1, "run", self.chain, "-p", long, says=["301 tokens", str(CONTEXT), "--ctx"])
        self.bad(1, "run", self.chain, "-p", "abcdefgh", "--ctx", "4",
                 says=["9 tokens", "4", "--ctx"])
        self.assertEqual(self.run_text("-p", long, "-n", "2", "--ctx", "512"), "bc")

    def test_options_out_of_range(self):
        for words in (["-t", "0"], ["-t", "5000"], ["-t", "two"], ["-n", "0"], ["--ctx", "0"],
                      ["--ctx", "99999999"], ["--temp", "-1"], ["--temp", "hot"], ["--temp", "nan"],
                      ["--top-p", "1.5"], ["--min-p", "-0.1"], ["--top-k", "-1"],
                      ["--repeat-penalty", "0"], ["--seed", "-1"], ["--kv-type", "f12"]):
            option = {"-t": "--threads", "-n": "--max-tokens"}.get(words[0], words[0])
            self.bad(2, "run", self.chain, "-p", "a", *words, says=[option, words[1]])
        self.bad(2, "run", self.chain, "-p", "a", "-f", "b", says=["--prompt"])

    def test_prompt_file_that_is_missing(self):
        self.bad(1, "run", self.chain, "-f", "/no/such/prompt", says=["/no/such/prompt"])

    def test_interrupt_ends_with_the_summary(self):
        process = self.start("run", self.chain, "-p", "a", "--temp", "0", "--ctx", "200000",
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(process.stdout.read(3), b"bcd")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 130)
        self.assertRegex(err.decode(), r"generated \d+ tokens, .*; interrupted; seed \d+\n")

    def test_a_reader_that_goes_away(self):
        process = self.start("run", self.chain, "-p", "a", "--temp", "0", "--ctx", "200000",
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(process.stdout.read(1), b"b")
        process.stdout.close()
        self.assertEqual(process.wait(TIMEOUT), -signal.SIGPIPE)
        with process.stderr as err:
            self.assertNotIn(b"generated", err.read())

    def test_on_a_terminal(self):
        ours, theirs = pty.openpty()
        process = self.start("run", self.chain, "-p", "a", "-n", "3", "--temp", "0",
                             stdout=theirs, stderr=theirs)
        self.assertEqual(process.wait(TIMEOUT), 0)
        os.close(theirs)
        shown = os.read(ours, 1 << 16).decode()
        os.close(ours)
        # What was loaded, the text with a newline of its own, and the summary.
        self.assertRegex(shown, r"loaded in [\d.]+ s\r\n(hearth: .*\r\n)+"
                                r"bcd\r\nhearth: prompt 2 tokens")

    def test_a_full_disk_behind_standard_output(self):
        with open("/dev/full", "wb") as full:
            process = self.start("run", self.chain, "-p", "a", "-n", "3", "--temp", "0",
                                 stdout=full, stderr=subprocess.PIPE)
            _, err = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"standard output cannot be written: No space left", err)


class FileTest(ProgramTest):
    """Files that are no models, or models that cannot be run."""

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
        says = ["'martian'", "llama", "qwen2", "qwen3"]
        self.refused(path, says, verbs=(("run", "-p", "a"), ("logits", "--tokens", "1"),
                                        ("perplexity", "-p", "a")))
        self.assertIn("cannot run it; it runs llama", self.good("inspect", path))
        self.assertEqual(self.good("tokenize", path, "-p", "ab", "--json"),
                         json.dumps([BOS, *ids("ab")], separators=(",", ":")) + "\n")

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
        self.bad(2, "tokenize", self.chain, "-p", "a", "--pre", "llama-bpe", says=["llama-bpe"])


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


def main():
    parser = argparse.ArgumentParser(description="Tests of the built program.")
    parser.add_argument("--hearth", required=True, type=Path, help="the program")
    parser.add_argument("--emulator", default="", help="runs the program, such as qemu-aarch64")
    options, rest = parser.parse_known_args()
    ProgramTest.command = [*shlex.split(options.emulator), str(options.hearth.resolve())]
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
