"""Tests of sampling by `hearth serve`: options as defaults of requests, fields, seeds,
log-probabilities.

After each letter the chain model has the next one with the probability SURE. Greedily it generates
the alphabet.
"""

import json
import math

from chain_models import EOS, GAP, TURN, VOCABULARY, letter
from serve_case import ALPHABET, ServeCase, SharedCase
from serving import events, stream_text

CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"
OTHER = 1 / (math.exp(GAP) + VOCABULARY - 1)
SURE = math.exp(GAP) * OTHER
# Logits of this size are stored to 2^-21, and the embedding and the norm before them round a few
# times.
CLOSE = 1e-4
AFTER_A = (ALPHABET * 4)[1:]


class DefaultsTest(ServeCase):
    """Options apply where a request does not set the field."""

    CALL = {"prompt": "the quick brown fox ", "max_tokens": 60, "seed": 1}
    # Options, each with its equivalent in a request.
    EQUAL = (
        (("--temp", "0"), {"temperature": 0}),
        (("--temp", "0.7"), {"temperature": 0.7}),
        (("--top-k", "4"), {"top_k": 4}),
        (("--top-p", "0.5"), {"top_p": 0.5}),
        (("--min-p", "0.2"), {"min_p": 0.2}),
        (("--temp", "0", "--repeat-penalty", "1.5"), {"temperature": 0, "repetition_penalty": 1.5}),
        (("--presence-penalty", "1.5"), {"presence_penalty": 1.5}),
        (("--frequency-penalty", "1.5"), {"frequency_penalty": 1.5}),
    )

    def test_as_fields_do(self):
        plain = self.start("serve", self.random)
        untouched = plain.text(**self.CALL)
        self.assertEqual(plain.text(**self.CALL), untouched)
        for words, fields in self.EQUAL:
            with self.subTest(words):
                server = self.start("serve", self.random, *words)
                expected = plain.text(**self.CALL, **fields)
                self.assertNotEqual(expected, untouched)
                self.assertEqual(server.text(**self.CALL), expected)
                # Fields with the values that are otherwise the defaults undo the option.
                undo = {"temperature": 1, "top_k": 0, "top_p": 1, "min_p": 0,
                        "repetition_penalty": 1, "presence_penalty": 0, "frequency_penalty": 0}
                self.assertEqual(server.text(**self.CALL, **undo), untouched)

    def test_options_that_leave_only_the_likeliest(self):
        for words in (("--temp", "0"), ("--top-k", "1"), ("--top-p", "0.5"), ("--min-p", "0.5")):
            server = self.start("serve", self.chain, *words)
            for _ in range(2):  # the result does not depend on the seed
                self.assertEqual(server.text(prompt="a", max_tokens=40), AFTER_A[:40], words)

    def test_the_window_of_penalties(self):
        call = {**self.CALL, "temperature": 0}
        del call["seed"]

        def text(*words, **more):
            return self.start("serve", self.random, *words).text(**call, **more)

        repeat = ("--repeat-penalty", "1.5")
        self.assertEqual(text(*repeat, "--penalty-window", "0"), text())
        self.assertEqual(text(*repeat, "--penalty-window", "64"), text(*repeat))
        self.assertNotEqual(text(*repeat, "--penalty-window", "2"), text(*repeat))
        # The other penalties count all generated tokens, whatever the window is.
        others = {"presence_penalty": 1.5, "frequency_penalty": 0.5}
        self.assertEqual(text("--penalty-window", "2", **others), text(**others))
        self.assertNotEqual(text(**others), text())

    def test_sampling_defaults_of_the_file(self):
        server = self.start("serve", self.adviser)
        self.assertEqual(server.text(prompt="a", max_tokens=40), AFTER_A[:40])
        self.assertIn("general.sampling.min_p", server.said())  # 7 is out of range
        call = {"prompt": "a", "max_tokens": 60, "seed": 1}
        server = self.start("serve", self.adviser, "--temp", "1")
        warm = server.text(**call)
        self.assertNotEqual(warm, AFTER_A[:60])
        plain = self.start("serve", self.chain)
        self.assertEqual(plain.text(**call, top_k=3), warm)
        self.assertEqual(plain.text(**call), server.text(**call, top_k=-1))

    def test_values_out_of_range(self):
        for option, value in (("--temp", "-1"), ("--top-p", "2"), ("--min-p", "-0.1"),
                              ("--repeat-penalty", "0"), ("--presence-penalty", "x"),
                              ("--frequency-penalty", "nan"), ("--top-k", "-1"),
                              ("--penalty-window", "x")):
            self.bad(2, "serve", self.chain, option, value, says=[option])


class SeedTest(SharedCase):
    @classmethod
    def words(cls):
        return ("serve", cls.chain)

    CALL = {"prompt": "a", "max_tokens": 40}

    def test_same_seed_same_text(self):
        texts = {}
        for seed in (0, 1, -1, 2**63 - 1):
            one, two = (self.server.good(TEXT, self.CALL | {"seed": seed}) for _ in range(2))
            self.assertEqual(one["choices"], two["choices"])
            self.assertRegex(one["system_fingerprint"], r"^fp_[0-9a-f]{12}$")
            self.assertEqual(one["system_fingerprint"], two["system_fingerprint"])
            texts[one["choices"][0]["text"]] = seed
        self.assertEqual(len(texts), 4)
        # A new seed is chosen if none is given. Two texts of 40 tokens are alike once in 1e12.
        one, two = (self.server.text(**self.CALL, ignore_eos=True) for _ in range(2))
        self.assertNotEqual(one, two)

    def test_same_seed_same_text_on_another_server(self):
        told = self.server.good(TEXT, self.CALL | {"seed": 3})
        again = self.start("serve", self.chain).good(TEXT, self.CALL | {"seed": 3})
        self.assertEqual(again["choices"], told["choices"])
        self.assertEqual(again["system_fingerprint"], told["system_fingerprint"])
        other = self.start("serve", self.chain, "--kv-type", "f32")
        self.assertNotEqual(other.good(TEXT, self.CALL)["system_fingerprint"],
                            told["system_fingerprint"])

    def test_choices_have_the_seeds_that_follow(self):
        call = self.CALL | {"logprobs": 1}
        together = self.server.good(TEXT, call | {"seed": 7, "n": 3})
        for i, choice in enumerate(together["choices"]):
            alone = self.server.good(TEXT, call | {"seed": 7 + i})["choices"][0]
            self.assertEqual({**choice, "index": 0}, alone)
        self.assertEqual(len({choice["text"] for choice in together["choices"]}), 3)
        # The prompt counts once.
        self.assertEqual(together["usage"]["prompt_tokens"], 2)

    def test_streams_say_the_same(self):
        body = {**self.CALL, "seed": 5}
        connection, reply = self.server.open_stream(**body)
        found = events(reply)
        connection.close()
        self.assertEqual(stream_text(found), self.server.text(**body))
        self.assertEqual(found[-1], "[DONE]")


class FieldTest(SharedCase):
    @classmethod
    def words(cls):
        return ("serve", cls.talker, "--temp", "0")

    def choice(self, **fields):
        return self.server.good(TEXT, {"prompt": "a", "max_tokens": 12, **fields})["choices"][0]

    def test_stops(self):
        for stop, text in (("e", "bcd"), ("fgh", "bcde"), (["xyz", "def", "g"], "bc"),
                           (["gh", "fg"], "bcde"), ("b", "")):
            choice = self.choice(stop=stop)
            self.assertEqual((choice["text"], choice["finish_reason"]), (text, "stop"), stop)
        choice = self.choice(stop="q")
        self.assertEqual((choice["text"], choice["finish_reason"]), (AFTER_A[:12], "length"))

    def test_the_models_end(self):
        # E leads to the end of the text; A to the end of a turn.
        choice = self.choice(prompt="E")
        self.assertEqual((choice["text"], choice["finish_reason"]), ("", "stop"))
        choice = self.choice(prompt="E", ignore_eos=True, max_tokens=5)
        self.assertEqual(choice["finish_reason"], "length")

    def test_biases(self):
        self.assertEqual(self.choice(logit_bias={str(letter("b")): -100, str(letter("x")): 1})
                         ["text"][0], "x")
        self.assertEqual(self.choice(logit_bias={str(letter("z")): 100})["text"], "z" * 12)
        # A bias below the next letter's lead changes nothing.
        self.assertEqual(self.choice(logit_bias={str(letter("z")): GAP - 1})["text"], AFTER_A[:12])
        answer = self.server.ask("POST", TEXT, {"prompt": "a", "logit_bias": {str(VOCABULARY): 1}})
        self.assert_error(answer, 400, "invalid_value", "logit_bias", [str(VOCABULARY - 1)])

    def test_a_bias_that_leaves_no_token(self):
        # Other fields of the request that forbid tokens count, too.
        every = {str(token): -100 for token in range(VOCABULARY)}
        ends = {str(token): 0 for token in (EOS, TURN)}
        for fields in ({}, {"temperature": 1}, {"stream": True}, {"n": 2},
                       {"logit_bias": {**every, **ends}, "ignore_eos": True}):
            answer = self.server.ask("POST", TEXT, {"prompt": "a", "logit_bias": every, **fields})
            self.assert_error(answer, 400, "invalid_value", "logit_bias", ["-100"])
        all_but_z = {**every, str(letter("z")): 0}
        self.assertEqual(self.choice(logit_bias=all_but_z)["text"], "z" * 12)

    def test_a_stream_has_no_comments(self):
        connection, reply = self.server.open_stream(prompt="a", max_tokens=3, temperature=0)
        lines = reply.read().split(b"\n")
        connection.close()
        self.assertEqual([line for line in lines if line and not line.startswith(b"data: ")], [])
        self.assertIn(b"data: [DONE]", lines)

    def test_a_body_with_a_byte_order_mark(self):
        connection = self.server.connect()
        body = b"\xef\xbb\xbf" + b'{"prompt": "a", "max_tokens": 3, "temperature": 0}'
        connection.request("POST", TEXT, body)
        reply = connection.getresponse()
        self.assertEqual((reply.status, json.loads(reply.read())["choices"][0]["text"]),
                         (200, AFTER_A[:3]))
        connection.close()

    def test_log_probabilities_of_text(self):
        told = self.choice(logprobs=3, max_tokens=4)["logprobs"]
        self.assertEqual(told["tokens"], list("bcde"))
        self.assertEqual(told["text_offset"], [0, 1, 2, 3])
        for i, probability in enumerate(told["token_logprobs"]):
            self.assertAlmostEqual(probability, math.log(SURE), delta=CLOSE)
            top = told["top_logprobs"][i]
            self.assertAlmostEqual(top.pop("bcde"[i]), math.log(SURE), delta=CLOSE)
            for other in top.values():
                self.assertAlmostEqual(other, math.log(OTHER), delta=CLOSE)
        # The log-probabilities are the model's own, whatever changes the logits.
        told = self.choice(logprobs=0, max_tokens=1, logit_bias={str(letter("z")): 100},
                           temperature=0.3)["logprobs"]
        self.assertEqual(told["tokens"], ["z"])
        self.assertAlmostEqual(told["token_logprobs"][0], math.log(OTHER), delta=CLOSE)

    def test_log_probabilities_of_a_chat(self):
        body = {"messages": [{"role": "user", "content": "a"}], "max_tokens": 2, "logprobs": True,
                "logit_bias": {str(letter("q")): 100}}
        for top in (0, 2):
            choice = self.server.good(CHAT, body | {"top_logprobs": top})["choices"][0]
            content = choice["logprobs"]["content"]
            self.assertEqual([entry["token"] for entry in content], ["q", "q"])
            self.assertEqual([len(entry["top_logprobs"]) for entry in content], [top, top])
            self.assertEqual(content[0]["bytes"], [ord("q")])
        plain = self.server.good(CHAT, {"messages": body["messages"], "max_tokens": 1})
        self.assertIsNone(plain["choices"][0]["logprobs"])

    def test_tokens_and_back(self):
        for text in ("abc", "a é€ b", ""):
            told = self.server.good("/tokenize", {"content": text})
            self.assertEqual(told["count"], len(told["tokens"]))
            bare = self.server.good("/tokenize", {"prompt": text, "add_special": False})["tokens"]
            self.assertEqual(told["tokens"], [1] + bare)
            self.assertEqual(self.server.good("/detokenize", {"tokens": bare})["content"], text)
            if text:
                # A prompt of ids equals the prompt of their text.
                self.assertEqual(self.choice(prompt=told["tokens"]), self.choice(prompt=text))
        self.assert_error(self.server.ask("POST", "/detokenize", {"tokens": [VOCABULARY]}), 400,
                          "invalid_value", "tokens[0]")

    def test_echo(self):
        self.assertEqual(self.choice(prompt="xya", echo=True, max_tokens=2)["text"], "xyabc")

    def test_log_probabilities_of_a_prompt(self):
        for generated in ("bc", ""):
            told = self.choice(prompt="xya", echo=True, logprobs=2, max_tokens=len(generated))
            self.assertEqual(told["text"], "xya" + generated)
            self.assertEqual(told["finish_reason"], "length")
            lists = told["logprobs"]
            self.assertEqual(lists["tokens"][1:], list("xya" + generated))  # after BOS
            self.assertEqual(lists["text_offset"], [0, 0, 1, 2, 3, 4][:4 + len(generated)])
            self.assertEqual((lists["token_logprobs"][0], lists["top_logprobs"][0]), (None, None))
            likely = (SURE, OTHER, SURE, SURE)[:2 + len(generated)]
            for i, probability in enumerate(likely, start=2):
                self.assertAlmostEqual(lists["token_logprobs"][i], math.log(probability),
                                       delta=CLOSE)
            # The prompt has another token than "z" after "y"; "z" is among the likeliest beside
            # it.
            self.assertAlmostEqual(lists["top_logprobs"][3]["z"], math.log(SURE), delta=CLOSE)
            self.assertAlmostEqual(lists["top_logprobs"][3]["a"], math.log(OTHER), delta=CLOSE)


class FiguresTest(ServeCase):
    def test_they_add_up(self):
        server = self.start("serve", self.chain, "--temp", "0")
        asked = [server.good(TEXT, body)["usage"] for body in (
            {"prompt": "a", "max_tokens": 9}, {"prompt": "abc", "n": 3, "max_tokens": 5},
            {"prompt": ["a", "bcd"], "max_tokens": 4}, {"prompt": "E"},
            {"prompt": "a", "stop": "c"},
            {"prompt": "x" * 200, "max_tokens": 1}, {"prompt": "x" * 200, "max_tokens": 1})]
        for body in ({"prompt": 1}, {}, {"prompt": "a" * 999}, {"prompt": "a", "model": "x"}):
            self.assertIn(server.ask("POST", TEXT, body)[0], (400, 404))
        server.ask("GET", TEXT)
        server.ask("POST", "/tokenize", {"content": 1})  # no request for text
        found = server.wait_idle()
        outcomes = {"length": 5, "stop": 2, "refused": 5, "cancelled": 0, "busy": 0, "failed": 0}
        for outcome, count in outcomes.items():
            self.assertEqual(found[f'hearth_requests_total{{outcome="{outcome}"}}'], count, outcome)
        for name, field in (("prompt", "prompt_tokens"), ("generation", "completion_tokens")):
            self.assertEqual(found[f"hearth_{name}_tokens_total"],
                             sum(usage[field] for usage in asked), name)
        cached = sum(usage["prompt_tokens_details"]["cached_tokens"] for usage in asked)
        self.assertEqual(found["hearth_prefix_cache_hit_tokens_total"], cached)
        self.assertGreater(cached, 0)
        self.assertEqual(found["hearth_steps_total"], found["hearth_step_seconds_count"])
        self.assertEqual(found["hearth_step_tokens_sum"], found["hearth_computed_tokens_total"])
        for name in ("time_to_first_token_seconds", "e2e_request_latency_seconds",
                     "request_queue_time_seconds", "request_prefill_time_seconds"):
            self.assertEqual(found[f"hearth_{name}_count"], len(asked), name)
            self.assertEqual(found[f'hearth_{name}_bucket{{le="+Inf"}}'], len(asked), name)
        self.check_buckets(server)

    def check_buckets(self, server):
        """Asserts that the counts of buckets are cumulative."""
        last = (None, 0)
        for name, count in server.figures().items():
            family = name.partition("_bucket{")[0] if "_bucket{" in name else None
            if family and family == last[0]:
                self.assertGreaterEqual(count, last[1], name)
            last = (family, count)
