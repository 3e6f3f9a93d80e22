#!/usr/bin/env python3
"""Tests of the comparison, with a made-up peer in llama.cpp's place.

    python3 tools/tokenizer_peer/tokenizer_peer_selfcheck.py
"""

import types
import unicodedata
import unittest
from unittest import mock

import compare_ids
import texts


class TextsTest(unittest.TestCase):
    def test_are_the_same_for_a_seed(self):
        def all_texts(seed):
            return [make() for _, make in texts.Maker(seed, 200).kinds()]

        self.assertEqual(all_texts(1), all_texts(1))
        self.assertNotEqual(all_texts(1), all_texts(2))

    def test_have_the_size_asked_for(self):
        for kind, make in texts.Maker(3, 300).kinds():
            text = make()
            self.assertGreaterEqual(len(text), 300, kind)
            self.assertLess(len(text), 500, kind)


class CompareTest(unittest.TestCase):
    """Here ids are code points. The peer gives some characters another number."""

    OPTIONS = types.SimpleNamespace(hearth="none", texts=3, size=100, seed=1)

    def compare(self, model, differs, pre=None):
        peer = mock.Mock()
        peer.ids = lambda _, text: [0 if differs(c) else ord(c) for c in text]
        with mock.patch.multiple(
                compare_ids, kind_of=lambda *_: (model, pre, "name"),
                hearth_ids=lambda program, path, text: [ord(c) for c in text],
                first_difference=lambda *_: "there"):
            return compare_ids.compare(self.OPTIONS, peer, "some.gguf")

    def test_equal(self):
        name, counts, differences = self.compare("llama", lambda c: False)
        self.assertEqual((name, differences), ("name", []))
        for count in counts.values():
            self.assertEqual(count.cell(), f"{count.tokens:,}")
            self.assertGreaterEqual(count.tokens, 300)

    def test_what_is_known_and_what_is_not(self):
        hangul = lambda c: 0xAC00 <= ord(c) <= 0xD7A3  # noqa: E731
        _, counts, differences = self.compare("bert", hangul)
        self.assertEqual(differences, [])
        self.assertIn("3 of 3 texts differ, none without", counts["Hangul"].cell())
        _, counts, differences = self.compare("llama", hangul)
        self.assertEqual(counts["Hangul"].unknown, 3)
        self.assertIn("name, Hangul: there", differences)

    def test_what_is_brought_into_one_form(self):
        acute = lambda c: unicodedata.combining(c) > 0  # noqa: E731
        text = "cafe\u0301 x\u0301"
        self.assertEqual(compare_ids.treated_alike("gpt2", "qwen2", text), "caf\u00e9 x\u0301")
        self.assertEqual(compare_ids.treated_alike("gpt2", "gpt-2", text), text)
        _, counts, _ = self.compare("gpt2", acute, "gpt-2")
        self.assertEqual(counts["combining marks"].unknown, 3)

    def test_table(self):
        _, counts, _ = self.compare("llama", lambda c: c == "\n")
        lines = compare_ids.markdown({"a": counts, "b": counts}).splitlines()
        self.assertEqual(lines[:2], ["| text | a | b |", "|---|---|---|"])
        self.assertEqual(len(lines), 2 + len(counts))


if __name__ == "__main__":
    unittest.main()
