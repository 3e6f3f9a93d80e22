"""Tests of the output, chosen tokens and end of `hearth run`."""

import fcntl
import json
import math
import mmap
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import termios
import time
import unittest

from chain_models import CONTEXT, GAP, VOCABULARY, ids, letter
from program import TIMEOUT, ProgramTest


def waiting_bytes(pipe):
    """The number of unread bytes in a pipe."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


class RunTest(ProgramTest):
    def run_text(self, *words, model=None, text=""):
        return self.good("run", model or self.chain, "--temp", "0", *words, text=text)

    def interrupted_lines(self, *words):
        """The JSON lines of a run that is interrupted after its first line."""
        # An unbuffered stream does not read beyond the first line.
        process = self.start("run", self.chain, "--temp", "0", "--ctx", "20000", "--json", *words,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)
        out = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out += process.communicate(timeout=TIMEOUT)[0]
        self.assertEqual(process.returncode, 130)
        return [json.loads(line) for line in out.splitlines()]

    def test_texts_of_a_shape(self):
        """After "a" the model would continue with "bcd..."."""
        words = ("-p", "xa", "-n", "9")
        grammar = self.folder / "shape.gbnf"
        grammar.write_text('root ::= "b" ("x" | "c"){1,3} "yz"')
        for options, wanted in (
            (("--regex", "[bq]c[a-f]{3}z"), "bcdefz"),
            (("--choice", "cat", "--choice", "bed"), "bed"),
            (("--grammar", grammar), None),
            (("--json-schema", '{"const": true}'), "true"),
        ):
            *_, summary = map(json.loads, self.run_text(*words, *options, "--json").splitlines())
            self.assertEqual(summary["summary"]["finish"], "end of text", options)
            if wanted:
                self.assertEqual(summary["summary"]["text"], wanted)
            else:
                self.assertRegex(summary["summary"]["text"], "^b[xc]{1,3}yz$")
        for options, says in ((("--regex", "(a"), "--regex has a group"),
                              (("--grammar", "/no/such.gbnf"), "/no/such.gbnf"),
                              (("--json-schema", '{"type": 3}'), '--json-schema: keyword "type"')):
            status, _, err = self.call("run", self.chain, *words, *options)
            self.assertNotEqual(status, 0)
            self.assertIn(says, err)
        self.bad(2, "run", self.chain, *words, "--regex", "a", "--stop", "b", says=["--stop"])

    def test_prompt_from_option_file_and_standard_input(self):
        path = self.folder / "prompt.txt"
        path.write_text("xa\n")
        self.assertEqual(self.run_text("-p", "xa", "-n", "5"), "bcdef")
        self.assertEqual(self.run_text("-f", path, "-n", "5"), "bcdef")
        self.assertEqual(self.run_text("-n", "5", text="xa\n"), "bcdef")
        self.assertEqual(self.run_text("-p", "xa", "-n", "5", "--echo"), "xabcdef")
        # A byte order mark is not text.
        path.write_bytes(b"\xef\xbb\xbfxa\n")
        self.assertEqual(self.run_text("-f", path, "-n", "5", "--echo"), "xabcdef")
        self.assertEqual(self.run_text("-n", "5", "--echo", text=path.read_bytes()), "xabcdef")

    def test_prints_prompts_as_utf8(self):
        for prompt in (b"x\xffa", b"x\xe2\x82a"):
            self.assertEqual(self.run_text("-n", "3", "--echo", text=prompt), "x\ufffdabcd")
        self.assertEqual(self.run_text("-n", "1", "--echo", text=b"a\xc3")[:2], "a\ufffd")

    def test_chat_makes_a_prompt_of_a_turn(self):
        path = self.folder / "chat.jinja"
        # A byte order mark is not part of the template.
        path.write_text("\ufeff{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}\na\n")
        chat = ("--chat", "--chat-template", path, "-n", "3", "--echo")
        self.assertEqual(self.run_text(*chat, "-p", "hi"), "<s>hi<|im_end|>abcd")
        self.assertEqual(self.run_text(*chat, "-p", "hi", "--system", "be"),
                         "<s>be<|im_end|>hi<|im_end|>abcd")
        # Text of the turn that looks like a control token is text. It has as many tokens as
        # letters.
        _, _, err = self.call("run", self.chain, *chat, "-p", "<|im_end|>")
        self.assertIn("prompt 13 tokens", err)

    def test_chat_needs_a_template(self):
        status, _, err = self.call("run", self.chain, "--chat", "-p", "hi")
        self.assertEqual(status, 1)
        self.assertRegex(err, r"chain\.gguf' has no chat template: .* --chat-template FILE")
        path = self.folder / "bad.jinja"
        path.write_text("a\n{{ raise_exception('not like this') }}")
        status, _, err = self.call("run", self.chain, "--chat", "--chat-template", path, "-p", "hi")
        self.assertEqual(status, 1)
        self.assertIn("the chat template, line 2: it refuses this conversation: not like this", err)
        status, _, err = self.call("run", self.chain, "--system", "hi", "-p", "hi")
        self.assertEqual(status, 2)
        self.assertIn("--chat", err)

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
        # The end of a turn is recognised by its name, though the file does not list it as an end.
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
        # A stop string that is still incomplete at the end of the text is printed.
        self.assertEqual(self.run_text("-p", "a", "-n", "5", "--stop", "fgh"), "bcdef")
        self.assertEqual(self.run_text("-p", "U", "--stop", "€"), "é")
        self.assertEqual(self.run_text("-p", "a", "-n", "3", "--stop", "[c,d]"), "bcd")
        self.bad(2, "run", self.chain, "-p", "a", "--stop", "", says=["--stop"])

    def test_text_is_whole_characters_at_every_moment(self):
        lines = [json.loads(line) for line in self.run_text("-p", "U", "--json").splitlines()]
        self.assertEqual([token["text"] for token in lines[:-1]], ["", "é", "", "", "€", "!", ""])
        # Four tokens end within the second character. The byte after "B" cannot begin a character.
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

    def test_interrupt_gives_what_was_held_back(self):
        # The text goes round in the alphabet, and only the last letter of the stop text differs.
        stop = "bcdefghijklmnopqrstuvwxyza" * 2000 + "!"
        *tokens, held, last = self.interrupted_lines("-p", "a", "--stop", stop)
        self.assertEqual({token["text"] for token in tokens}, {""})
        self.assertEqual((held["id"], held["logprob"]), (None, None))
        self.assertEqual(held["index"], len(tokens))
        self.assertEqual(held["text"], last["summary"]["text"])
        self.assertEqual(last["summary"]["tokens"], len(tokens))

    @unittest.skipUnless(shutil.which("jq"), "the example needs jq")
    def test_the_example_with_jq_gives_the_text(self):
        out = self.good("run", "--help")
        [command] = re.findall(r"--json \| (jq .*)", out)
        lines = self.run_text("-p", "U", "--json")
        text = subprocess.run(command, shell=True, input=lines.encode(), capture_output=True,
                              timeout=TIMEOUT, check=True).stdout
        self.assertEqual(text.decode(), "é€!")

    def test_several_prompts_come_in_their_order(self):
        out = self.run_text("-p", "a", "-p", "x", "-p", "U", "-n", "4")
        self.assertEqual(out, "==> prompt 1 <==\nbcde\n\n==> prompt 2 <==\nyzab\n\n"
                              "==> prompt 3 <==\né\ufffd\n")
        status, _, err = self.call("run", self.chain, "-p", "a", "-p", "x", "-n", "4",
                                   "--ignore-eos")
        self.assertEqual(status, 0)
        self.assertRegex(err, r"2 prompts, 4 tokens \(0 shared\), prefilled in")
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

    def test_more_prompts_than_the_service_takes_at_once(self):
        words = [word for _ in range(4200) for word in ("-p", "a")]
        lines = self.run_text(*words, "-n", "1", "--json").splitlines()
        ends = [end for end in map(json.loads, lines) if "summary" in end]
        self.assertEqual(sorted(end["summary"]["prompt"] for end in ends), list(range(4200)))
        self.assertEqual({end["summary"]["text"] for end in ends}, {"b"})

    def test_interrupt_ends_the_prompts_that_still_wait(self):
        words = [word for _ in range(5) for word in ("-p", "a")]
        lines = self.interrupted_lines(*words, "--repeat", "1024")
        ends = [end["summary"] for end in lines if "summary" in end]
        self.assertEqual(sorted((end["prompt"], end["choice"]) for end in ends),
                         [(p, c) for p in range(5) for c in range(1024)])

    def test_prompts_that_begin_alike_share_what_is_alike(self):
        long = "hallo " * 200
        out = self.run_text("-p", long + "a", "-p", long + "x", "-n", "2", "--json", "--ctx",
                            "2048")
        ends = {end["prompt"]: end for end in
                (json.loads(line)["summary"] for line in out.splitlines() if "summary" in line)}
        self.assertEqual([ends[p]["text"] for p in (0, 1)], ["bc", "yz"])
        # The prompts take turns by steps of at most 512 tokens. Each begins where the other has
        # come to, until the remaining tokens of both fit one step: at most 256 of 1202 tokens.
        # Pages hold 64.
        cached = sum(ends[p]["cached_tokens"] for p in (0, 1))
        self.assertIn(cached, range(896, 1152 + 1, 64))

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
        every = [word for token in range(VOCABULARY) for word in ("--logit-bias", f"{token}=-inf")]
        for sampled in (["--temp", "0"], ["--temp", "1"]):
            self.bad(2, "run", self.chain, "-p", "a", *sampled, *every,
                     says=["--logit-bias", "forbids all", "-inf"])
        for wrong in ("x=1", "5", "5=", "5=nan", f"{VOCABULARY}=1", "-1=1", "5=inf"):
            self.bad(2, "run", self.chain, "-p", "a", "--logit-bias", wrong, says=["--logit-bias"])

    def test_penalties(self):
        out = self.run_text("-p", "a", "-n", "60", "--ignore-eos", "--presence-penalty", "10",
                            "--penalty-window", "100")
        self.assertEqual(out[:25], "bcdefghijklmnopqrstuvwxyz")
        self.assertNotEqual(out[25:26], "a")

    def test_penalties_count_or_divide(self):
        # The alphabet's next letter leads by GAP over all others, which have equal logits.
        def letters(*words):
            return self.run_text("-p", "a", "-n", "110", "--ignore-eos", "--penalty-window",
                                 "1000", *words)[:-2]

        def rounds(text):
            """The number of complete alphabets at the start of the text."""
            ring = "bcdefghijklmnopqrstuvwxyza" * 5
            return next((i for i, (a, b) in enumerate(zip(text, ring)) if a != b), len(text)) // 26

        # Each time that a letter occurred takes 0.4 GAP; after three times it no longer leads.
        each = ("--frequency-penalty", 0.4 * GAP)
        self.assertEqual([rounds(letters()), rounds(letters(*each))], [4, 2])
        # A letter that occurred, once or often, loses 0.4 GAP and keeps its lead.
        self.assertEqual(rounds(letters("--presence-penalty", 0.4 * GAP)), 4)
        # A logit divided by 2 still leads, whatever divides the others.
        self.assertEqual(rounds(letters("--repeat-penalty", "2")), 4)
        line = json.loads(self.run_text("-p", "ab", "-n", "1", "--json", "--logit-bias",
                                        f"{letter('c')}=-100", "--logit-bias",
                                        f"{letter('b')}=1", "--repeat-penalty", "4",
                                        "--logit-bias", f"{letter('z')}=0.5").splitlines()[0])
        self.assertEqual(line["id"], letter("z"), "a quarter of 1 is less than a half")

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

    def test_errors_of_the_library_name_options(self):
        for words, says in ((["--temp", "200"], "hearth: --temp is 200; it must lie between"),
                            (["--presence-penalty", "-200"], "hearth: --presence-penalty is -200;"),
                            (["--pre", "qwen2"], "hearth: --pre qwen2 works only with")):
            self.assertTrue(self.bad(2, "run", self.chain, "-p", "a", *words).startswith(says))

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

    def test_the_second_interrupt_ends_it_though_nobody_reads(self):
        process = self.start("run", self.chain, "-p", "a", "--temp", "0", "--ctx", "200000",
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        pipe = process.stdout.fileno()
        room = fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, mmap.PAGESIZE)
        deadline = time.monotonic() + TIMEOUT
        while waiting_bytes(pipe) < room and time.monotonic() < deadline:
            time.sleep(0.01)
        # Only signals after the program took the first one count, and the test cannot see that
        # moment.
        while process.poll() is None and time.monotonic() < deadline:
            process.send_signal(signal.SIGINT)
            time.sleep(0.1)
        ended = process.poll()
        process.kill()
        process.communicate(timeout=TIMEOUT)
        self.assertEqual(ended, -signal.SIGINT)

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
        # The terminal shows the line about loading, the text with a newline of its own, and the
        # summary.
        self.assertRegex(shown, r"loaded in [\d.]+ s\r\n(hearth: .*\r\n)+"
                                r"bcd\r\nhearth: prompt 2 tokens")

    def test_a_full_disk_behind_standard_output(self):
        with open("/dev/full", "wb") as full:
            process = self.start("run", self.chain, "-p", "a", "-n", "3", "--temp", "0",
                                 stdout=full, stderr=subprocess.PIPE)
            _, err = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"cannot write to standard output: No space left", err)
