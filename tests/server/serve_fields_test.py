"""Tests of request fields about a text's end, allowed tokens and the prompt, by vLLM's and
llama.cpp's names. Fields that are not supported are refused by name."""

from chain_models import TURN, letter
from serve_case import SharedCase

CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"


class OtherFieldsTest(SharedCase):
    """After each letter the model generates the next one; after "E" its end."""

    def choice(self, **fields):
        body = {"prompt": "a", "max_tokens": 6, "temperature": 0, **fields}
        choice = self.server.good(TEXT, body)["choices"][0]
        return choice["text"], choice["finish_reason"]

    def test_tokens_that_end_the_text(self):
        ends = {"stop_token_ids": [letter("d"), letter("x")]}
        self.assertEqual(self.choice(**ends), ("bc", "stop"))
        self.assertEqual(self.choice(**ends, include_stop_str_in_output=True), ("bcd", "stop"))
        self.assertEqual(self.choice(stop_token_ids=[]), ("bcdefg", "length"))
        self.assertEqual(self.choice(stop="cd"), ("b", "stop"))
        self.assertEqual(self.choice(stop="cd", include_stop_str_in_output=True), ("bcd", "stop"))

    def test_no_end_before_so_many_tokens(self):
        ends = {"stop_token_ids": [letter("b")]}
        self.assertEqual(self.choice(**ends), ("", "stop"))
        self.assertNotIn("b", self.choice(**ends, min_tokens=3)[0])
        for fields in ({"prompt": "a", **ends}, {"prompt": "E"}):
            body = {"temperature": 0, "max_tokens": 40, **fields}
            for least, count in ((0, 1), (3, 3)):
                usage = self.server.good(TEXT, body | {"min_tokens": least})["usage"]
                self.assertGreaterEqual(usage["completion_tokens"], count)
                self.assertEqual(usage["completion_tokens"] == 1, least == 0)

    def test_only_allowed_tokens(self):
        allowed = [letter(c) for c in "bdx"]
        text, reason = self.choice(allowed_token_ids=allowed)
        self.assertEqual((text[0], set(text) <= set("bdx"), len(text)), ("b", True, 6))
        self.assertEqual(reason, "length")
        bias = {"logit_bias": {str(letter("b")): -100}, "allowed_token_ids": [letter("b")]}
        answer = self.server.ask("POST", TEXT, {"prompt": "a", **bias})
        self.assertEqual((answer[0], answer[1]["error"]["code"]), (400, "invalid_value"))

    def test_control_tokens_by_their_names(self):
        # "A" leads to the token that ends a turn.
        shown = {"stop_token_ids": [TURN], "include_stop_str_in_output": True}
        self.assertEqual(self.choice(prompt="A", **shown)[0], "")
        self.assertEqual(self.choice(prompt="A", **shown, skip_special_tokens=False)[0],
                         "<|im_end|>")

    def test_names_of_other_servers(self):
        del_max = {"max_tokens": None}
        self.assertEqual(self.choice(**del_max, n_predict=3), ("bcd", "length"))
        self.assertEqual(self.choice(**del_max, num_predict=2), ("bc", "length"))
        again = {"prompt": "ba", "temperature": 1, "seed": 3}  # "b" comes next, and occurred before
        self.assertEqual(self.choice(**again, repeat_penalty=100),
                         self.choice(**again, repetition_penalty=100))
        self.assertNotEqual(self.choice(**again, repeat_penalty=100), self.choice(**again))

    def test_the_last_message_goes_on(self):
        messages = [{"role": "user", "content": "c"}, {"role": "assistant", "content": "xa"}]
        told = self.server.good("/apply-template",
                                {"messages": messages, "continue_final_message": True})
        self.assertTrue(told["prompt"].endswith("axa"), told)
        body = {"messages": messages, "max_tokens": 3, "temperature": 0}
        said = self.server.good(CHAT, body | {"continue_final_message": True})
        self.assertEqual(said["choices"][0]["message"]["content"], "bcd")
        answer = self.server.ask("POST", CHAT, body | {"continue_final_message": True,
                                                       "add_generation_prompt": True})
        self.assert_error(answer, 400, "invalid_value", "continue_final_message")

    def test_refuses_unsupported_fields(self):
        for name, value in (("bad_words", ["there"]), ("typical_p", 0.9), ("mirostat", 2),
                            ("dry_multiplier", 0.8), ("xtc_probability", 0.5), ("do_sample", False),
                            ("prompt_logprobs", 1), ("truncate_prompt_tokens", 3),
                            ("options", {"temperature": 0})):
            for path, body in ((TEXT, {"prompt": "a"}),
                               (CHAT, {"messages": [{"role": "user", "content": "a"}]})):
                answer = self.server.ask("POST", path, body | {name: value})
                self.assert_error(answer, 400, "unsupported_parameter", name)
        for name in ("chat_template", "echo"):
            body = {"messages": [{"role": "user", "content": "a"}], name: "x"}
            self.assert_error(self.server.ask("POST", CHAT, body), 400, "unsupported_parameter",
                              name)
        neutral = {"typical_p": 1, "mirostat": 0, "bad_words": [], "mirostat_tau": 5.0}
        self.assertEqual(self.choice(**neutral), ("bcdefg", "length"))
