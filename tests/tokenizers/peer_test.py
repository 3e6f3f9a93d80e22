"""Compares tokenizers of folders with Hugging Face's own (Rust) and tiktoken: the ids are the same.

    peer_test.py --probe build/release/bin/tokenizer_probe --modules NODE_MODULES
                 [--texts 10000] [--random 20] [--json FILE ...] [--encodings]

npm's packages are those of package-lock.json. The tokenizer.json files are made of the project's
own text, some like those of many kinds of models and some of random steps. `--json` names further
files. tiktoken runs with ranks made here; with `--encodings` it also runs with its own.
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

import made_tokenizers
import odd_lines

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
# Emoji, an ideograph, a capital, digits and a mark that Unicode 15 and 16 added.
NEWER = "a \U0001fae8!b \U0001fadc\U0001fadc1 \U00031350\u65e5 x\ua7cby 3\U00010d414 e\u0897"
BREAKS = ["\n", "\r\n", "\n\n", " \n ", "\n\t", "\u2028"]


def own_lines():
    paths = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("src/tokenizer/*.h"),
             *ROOT.glob("src/template/*.h")]
    lines = [line for path in sorted(paths) for line in path.read_text().split("\n")]
    return [line for line in lines if line.strip()]


def known(text):
    """The text with characters newer than Python's tables replaced, since the libraries may not
    know them."""
    return "".join("?" if unicodedata.category(c) == "Cn" else c for c in text)


def make_texts(rng, plain, count):
    """Texts of one to four lines, most of them odd; all are UTF-8."""
    symbols = [text for text, _ in made_tokenizers.SPECIAL]
    odd = odd_lines.odd_lines(rng, [line.encode() for line in plain],
                              [symbol.encode() for symbol in symbols], 2 * count)
    lines = [known(line.decode(errors="replace")) for line in odd]
    texts = ["", "\n", " ", "'\u017f it'S K\u212a", NEWER]
    while len(texts) < count:
        parts = [rng.choice(lines if rng.random() < 0.7 else plain)
                 for _ in range(rng.choice([1, 1, 2, 4]))]
        texts.append("".join(part + rng.choice(BREAKS) for part in parts[:-1]) + parts[-1])
    return texts[:count]


def first_difference(theirs, ours):
    at = next((i for i, (a, b) in enumerate(zip(theirs, ours)) if a != b),
              min(len(theirs), len(ours)))
    return f"token {at}: {theirs[max(0, at - 2):at + 4]}, here {ours[max(0, at - 2):at + 4]}"


class PeerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        cls.plain = own_lines()
        cls.learnt = made_tokenizers.Learnt(cls.plain, OPTIONS.merges)
        cls.texts = make_texts(random.Random(OPTIONS.seed), cls.plain, OPTIONS.texts)
        cls.asked = "".join(json.dumps(text) + "\n" for text in cls.texts).encode()

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def answers(self, *words):
        done = subprocess.run([str(word) for word in words], input=self.asked, capture_output=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        return [json.loads(line) for line in done.stdout.split(b"\n")[:-1]]

    def compare(self, name, theirs, ours):
        theirs = self.answers("node", HERE / "peer.mjs", OPTIONS.modules, *theirs)
        ours = self.answers(OPTIONS.probe, *ours)
        self.assertEqual(len(ours), len(self.texts))
        unlike = [(text, a, b) for text, a, b in zip(self.texts, theirs, ours, strict=True)
                  if a["ids"] != b["ids"]]
        for text, a, b in unlike[:OPTIONS.show]:
            print(f"{name}: {text[:300]!r}\n  {first_difference(a['ids'], b['ids'])}",
                  file=sys.stderr)
        other = [(text, a, b) for text, a, b in zip(self.texts, theirs, ours, strict=True)
                 if a["ids"] == b["ids"] and a["text"] != b["text"]]
        if OPTIONS.verbose:
            tokens = sum(len(answer["ids"]) for answer in ours)
            print(f"{name}: {tokens} tokens, ids of {len(unlike)} and text of {len(other)} of "
                  f"{len(ours)} texts differ", file=sys.stderr)
            for text, a, b in other[:OPTIONS.show]:
                print(f"  {a['text'][:200]!r}\n  {b['text'][:200]!r}", file=sys.stderr)
        self.assertEqual(len(unlike), 0, f"{name}: so many texts of {len(ours)} have other ids")

    def test_tokenizer_json(self):
        made = made_tokenizers.of_models(self.learnt)
        made |= made_tokenizers.at_random(self.learnt, random.Random(OPTIONS.seed), OPTIONS.random)
        for name, content in made.items():
            with self.subTest(name):
                path = self.folder / "tokenizer.json"
                path.write_text(json.dumps(content, ensure_ascii=False))
                self.compare(name, ("json", path), ("json", path))

    def test_files_named(self):
        for path in OPTIONS.json:
            with self.subTest(path):
                self.compare(Path(path).name, ("json", path), ("json", path))

    def test_ranks(self):
        base = self.learnt.byte_level_model()
        path, pattern = self.folder / "tiktoken.model", self.folder / "pattern"
        path.write_text(made_tokenizers.ranks(base))
        pattern.write_text(made_tokenizers.KIMI)
        self.compare("kimi-k2", ("ranks", path, pattern), ("ranks", path, "kimi-k2"))
        for name in ("LLAMA3", "O200K", "KIMI", "GPT2"):
            pattern.write_text(getattr(made_tokenizers, name))
            self.compare(name, ("ranks", path, pattern), ("ranks", path, "", pattern))

    @unittest.skipUnless("--encodings" in sys.argv, "--encodings is not given")
    def test_encodings(self):
        for name in ("gpt2", "cl100k_base", "o200k_base"):
            path = Path(OPTIONS.modules, "tiktoken", "encoders", f"{name}.json")
            encoding = json.loads(path.read_text())
            tokens = {}
            for line in encoding["bpe_ranks"].split("\n"):
                _, first, *words = line.split(" ")
                tokens.update(enumerate(words, int(first)))
            ranks, pattern = self.folder / "tiktoken.model", self.folder / "pattern"
            ranks.write_text("".join(f"{tokens[rank]} {rank}\n" for rank in sorted(tokens)))
            pattern.write_text(encoding["pat_str"])
            self.compare(name, ("ranks", ranks, pattern), ("ranks", ranks, "", pattern))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--probe", required=True)
    parser.add_argument("--modules", required=True, help="the folder node_modules")
    parser.add_argument("--json", nargs="*", default=[], help="tokenizer.json files")
    parser.add_argument("--texts", type=int, default=10000)
    parser.add_argument("--random", type=int, default=20, help="tokenizers of steps at random")
    parser.add_argument("--merges", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--show", type=int, default=5, help="differences to print")
    parser.add_argument("--encodings", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
