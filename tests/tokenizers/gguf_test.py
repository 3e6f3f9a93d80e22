"""Compares a vocabulary in a GGUF file with the same one as tokenizer.json: the ids are the same,
and `hearth quantize` finds the pre-tokenizer's name from the latter.

    gguf_test.py --probe build/release/bin/tokenizer_probe [--texts 400]

Each family has the normaliser and the patterns of its published tokenizer.json, and the name that
converters give its pre-tokenizer. Texts are in NFC, in NFD, or neither.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import unicodedata
import unittest
from pathlib import Path

import made_tokenizers as made
import peer_test

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "golden"))

import gguf_io  # noqa: E402
from gguf_io import ValueType, array, boolean, string  # noqa: E402

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6
SPECIAL = [("<s>", ["special"]), ("<|im_end|>", ["special"]), ("::", [])]
NFC = {"type": "NFC"}
QWEN35 = (made.CONTRACTION + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
          r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")

SEED_CODER = (made.CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}"
              r"| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+")


def cut(pattern):
    return made.sequence(made.split(pattern), made.byte_level(use_regex=False))


def cuts(*steps):
    return made.sequence(*steps, made.byte_level(use_regex=False))


GPT2 = made.byte_level()
DIGITS_GPT2 = made.sequence(made.digits(True), made.byte_level())
# Name of the pre-tokenizer: its steps, its normaliser, and whether a whole piece that is a token
# stays one.
FAMILIES = {
    "gpt-2": (GPT2, None, False),
    "phi-2": (GPT2, None, False),
    "mpt": (GPT2, NFC, False),
    "olmo": (GPT2, NFC, False),
    "starcoder": (DIGITS_GPT2, None, False),
    "command-r": (DIGITS_GPT2, NFC, False),
    "llama-bpe": (cut(made.LLAMA3), None, True),
    "glm4": (cut(made.LLAMA3), None, False),
    "qwen2": (cut(made.QWEN2), NFC, False),
    "stablelm2": (cut(made.QWEN2), NFC, False),
    "deepseek-r1-qwen": (cut(made.QWEN2), NFC, False),
    "qwen35": (cut(QWEN35), NFC, False),
    "gpt-4o": (cut(made.O200K), None, False),
    "kimi-k2": (cut(made.KIMI), None, True),
    "deepseek-v3": (cuts(*map(made.split, made.DEEPSEEK3)), None, False),
    "minimax-m2": (cut(made.O200K), None, False),
    "hunyuan": (cut(made.QWEN2), None, False),
    "joyai-llm": (cuts(*map(made.split, made.DEEPSEEK3)), None, False),
    "granite-docling": (GPT2, None, False),
    "seed-coder": (cut(SEED_CODER), None, False),
    "deepseek-coder": (cuts(*map(made.split, made.DEEPSEEK_CODER), made.digits(True)), None, False),
}

# Families that are found under another name with the same meaning.
FOUND_AS = {"phi-2": "gpt-2", "olmo": "mpt", "glm4": "llama-bpe", "stablelm2": "qwen2",
            "deepseek-r1-qwen": "qwen2", "minimax-m2": "gpt-4o", "joyai-llm": "deepseek-v3",
            "granite-docling": "gpt-2", "hunyuan": "megrez"}


def decomposed(rng, text):
    """The text in NFC or NFD, partly decomposed, or with marks in another order. All are equal in
    NFC."""
    form = rng.choice(["NFC", "NFD", "some", "mixed"])
    if form in ("NFC", "NFD"):
        return unicodedata.normalize(form, text)
    if form == "some":
        return "".join(unicodedata.normalize(rng.choice(["NFC", "NFD"]), c) for c in text)
    marks = "".join(rng.choice("\u0301\u0308\u0323\u0327\u0345") for _ in range(rng.randint(1, 40)))
    jamo = unicodedata.normalize("NFD", chr(rng.randrange(0xAC00, 0xD7A4)))
    return rng.choice("aeoE \u3042") + marks + text + jamo


def write_gguf(path, model, base, tokens, pre=None):
    names = list(base["vocab"])
    kinds = {"<unk>": UNKNOWN, **{f"<0x{byte:02X}>": BYTE for byte in range(256)}}
    types = [kinds.get(name, NORMAL) for name in names]
    for token in tokens:
        kind = CONTROL if token["special"] else USER_DEFINED
        if token["id"] < len(names):
            types[token["id"]] = kind
        else:
            names.append(token["content"])
            types.append(kind)
    metadata = {
        "general.architecture": string("llama"),
        "tokenizer.ggml.model": string(model),
        "tokenizer.ggml.tokens": array(ValueType.STRING, names),
        "tokenizer.ggml.token_type": array(ValueType.INT32, types),
        "tokenizer.ggml.merges": array(ValueType.STRING, base["merges"]),
        "tokenizer.ggml.add_bos_token": boolean(False),
    }
    if pre:
        metadata["tokenizer.ggml.pre"] = string(pre)
    gguf_io.write(str(path), metadata, [])


class GgufTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        plain = peer_test.own_lines()
        # The vocabulary has learnt composed and decomposed accents and syllables too.
        letters = [f"{word} caf\u00e9 na\u00efve cafe\u0301 \u1112\u1161\u11ab\u1100\u1173\u11af "
                   "\ud55c\uae00" for word in ("the", "of", "and")] * 20
        cls.learnt = made.Learnt([*plain, *letters], OPTIONS.merges)
        rng = random.Random(OPTIONS.seed)
        texts = peer_test.make_texts(rng, plain, OPTIONS.texts)
        cls.texts = [decomposed(rng, text) for text in texts]

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def ids(self, *words, texts=None):
        asked = "".join(json.dumps(text) + "\n" for text in texts or self.texts).encode()
        done = subprocess.run([*OPTIONS.emulator, OPTIONS.probe, *map(str, words)], input=asked,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        return [json.loads(line)["ids"] for line in done.stdout.split(b"\n")[:-1]]

    def write(self, pre):
        """Writes the files of a family."""
        steps, normalizer, whole = FAMILIES[pre]
        base = self.learnt.byte_level_model(ignore_merges=whole)
        tokens = made.added(base, SPECIAL)
        folder, gguf = self.folder / "tokenizer.json", self.folder / "vocabulary.gguf"
        folder.write_text(json.dumps(made.tokenizer(base, steps, made.byte_level(), tokens,
                                                    normalizer), ensure_ascii=False))
        write_gguf(gguf, "gpt2", base, tokens, pre)
        return folder, gguf

    def test_families(self):
        for pre in FAMILIES:
            with self.subTest(pre):
                folder, gguf = self.write(pre)
                expected, found = self.ids("json", folder), self.ids("gguf", gguf)
                unlike = [text for text, a, b in zip(self.texts, expected, found, strict=True)
                          if a != b]
                self.assertEqual(unlike[:3], [], f"so many texts of {len(found)}: {len(unlike)}")

    def test_marks_in_place_of_spaces(self):
        """Gemma 4: characters are merged, text is not cut into pieces, and a rare character becomes
        its bytes."""
        base = self.learnt.marked_model(fuse_unk=True)
        tokens = made.added(base, [*SPECIAL, ("<unk>", ["special"])])
        folder, gguf = self.folder / "tokenizer.json", self.folder / "vocabulary.gguf"
        folder.write_text(json.dumps(made.tokenizer(
            base, made.split(" ", "MergedWithPrevious", kind="String"), made.SPM_DECODER, tokens,
            made.replace(" ", made.MARK)), ensure_ascii=False))
        write_gguf(gguf, "gemma4", base, tokens)
        self.assertEqual(self.ids("gguf", gguf), self.ids("json", folder))

    def test_names_are_found_by_what_is_cut(self):
        for pre in FAMILIES:
            with self.subTest(pre):
                folder, _ = self.write(pre)
                found = subprocess.run([*OPTIONS.emulator, OPTIONS.probe, "name", str(folder)],
                                       capture_output=True, check=True).stdout.decode().strip()
                self.assertEqual(found, FOUND_AS.get(pre, pre))

    def test_forms_of_a_text_are_one_where_the_family_normalises(self):
        for pre, (_, normalizer, _) in FAMILIES.items():
            with self.subTest(pre):
                _, gguf = self.write(pre)
                composed = [unicodedata.normalize("NFC", text) for text in self.texts]
                same = self.ids("gguf", gguf) == self.ids("gguf", gguf, texts=composed)
                self.assertEqual(same, normalizer is not None)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--probe", required=True)
    parser.add_argument("--emulator", nargs="*", default=[])
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--merges", type=int, default=600)
    parser.add_argument("--seed", type=int, default=7)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
