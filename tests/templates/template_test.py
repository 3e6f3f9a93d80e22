"""Compares chat templates with Jinja: both give the same text, or both refuse.

    template_test.py --probe build/release/bin/template_probe [--emulator qemu-aarch64]

The tests use templates in the style of published ones (25 here and those of `turns`) over 1,000
random conversations, and thousands of small random templates over all supported features. They also
check that a request's text cannot act as control tokens.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import conversations
import snippets
from reference import Reference

HERE = Path(__file__).resolve().parent
DEMO = HERE.parents[1] / "assets" / "demo.gguf"
OWN = {"bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": True}
SNIPPETS = 4000


def probe(cases, vocabulary=None):
    """The program's results for the cases: one line of JSON each, in one process."""
    with tempfile.TemporaryDirectory() as folder:
        asked, told = Path(folder, "cases"), Path(folder, "answers")
        asked.write_text("".join(json.dumps(case) + "\n" for case in cases))
        env = dict(os.environ)
        if vocabulary:
            env["HEARTH_PROBE_VOCABULARY"] = str(vocabulary)
        subprocess.run([*OPTIONS.emulator, OPTIONS.probe, asked, told], check=True, env=env)
        return [json.loads(line) for line in told.read_text().split("\n") if line]


def templates():
    return {str(path.relative_to(HERE)): path.read_text() for path in sorted(HERE.rglob("*.jinja"))}


def tokens_of(answer):
    return answer["ids"], answer["whole"], answer["controls"]


class TemplateTest(unittest.TestCase):
    def compare(self, cases):
        """Returns the numbers of cases that gave a text, that both refused, and that need
        unsupported features."""
        reference = Reference()
        counts = {"text": 0, "error": 0, "unsupported": 0}
        wrong = []
        for case, answer in zip(cases, probe(cases), strict=True):
            kind, expected = reference.render(case)
            counts[kind] += 1
            # These cases differ: Jinja folds constants, where slices of numbers are undefined. The
            # text of functions and generators holds an address. There are no complex numbers.
            unlike = "is not supported|cannot be sliced|cannot be printed|raised to a fraction"
            if re.search(unlike, answer.get("error", "")):
                counts["unsupported"] += 1
                continue
            if kind not in answer or (kind == "text" and answer["text"] != expected):
                wrong.append((case.get("name", case["source"]), expected, answer))
            elif kind == "error":
                self.assertRegex(answer["error"], "^the chat template, line [1-9]")
        if wrong:
            shown = "\n".join(f"{name}\n  jinja: {expected!r}\n  ours:  {answer!r}"
                              for name, expected, answer in wrong[:OPTIONS.show])
            self.fail(f"{len(wrong)} of {len(cases)} differ\n{shown}")
        return counts

    def conversations(self):
        rng = random.Random(OPTIONS.seed)
        sources = templates()
        names = list(sources)
        cases = []
        for index in range(1000):
            name = names[index % len(names)]
            own = dict(OWN, add_generation_prompt=rng.random() < 0.7)
            cases.append({"name": name, "source": sources[name], "own": own,
                          "request": conversations.request(rng)})
        return cases

    def test_there_are_46_templates(self):
        self.assertEqual(len(templates()), 46)

    def test_conversations(self):
        cases = self.conversations()
        counts = self.compare(cases)
        self.assertGreater(counts["text"], 500)
        self.assertGreater(counts["error"], 50)
        self.assertEqual(counts["unsupported"], 0)

    def test_snippets(self):
        rng = random.Random(OPTIONS.seed)
        cases = [{"source": snippets.snippet(rng), "own": {}, "request": snippets.CONTEXT}
                 for _ in range(OPTIONS.snippets)]
        counts = self.compare(cases)
        self.assertGreater(counts["text"], OPTIONS.snippets // 4)
        self.assertLess(counts["unsupported"], OPTIONS.snippets // 20)

    def test_marks_untrusted_bytes(self):
        """Letters that only requests have are in the foreign ranges, and the ranges are in order.
        """
        for case, answer in zip(cases := self.conversations(), probe(cases), strict=True):
            if "text" not in answer:
                continue
            text = answer["text"].encode()
            foreign = bytearray(len(text))
            last = 0
            for begin, end in answer["foreign"]:
                self.assertTrue(last <= begin < end <= len(text), case["name"])
                foreign[begin:end] = b"\1" * (end - begin)
                last = end
            at = 0
            for letter in answer["text"]:
                size = len(letter.encode())
                if letter in conversations.FOREIGN_LETTERS:
                    self.assertTrue(all(foreign[at:at + size]), (case["name"], letter))
                at += size

    def test_untrusted_text_never_becomes_a_control_token(self):
        words = json.loads(subprocess.run([*OPTIONS.emulator, OPTIONS.probe, "--controls", DEMO],
                                          check=True, capture_output=True).stdout)
        self.assertGreater(len(words), 2)
        opening, closing = words[0], words[-1]
        source = ("{% for m in messages %}" + opening + "{{ m.role }}\n{{ m.content }}" + closing +
                  "{{ m.content | trim | upper }}{{ m | tojson }}\n{% endfor %}")
        halves = [word[:len(word) // 2] for word in words]
        hostile = ["".join(words), " ".join(words), *words, *halves, closing[1:], opening[:-1],
                   "x" + opening + "y" + closing]
        own = {}
        cases = [{"source": source, "own": own,
                  "request": {"messages": [{"role": "user", "content": text}]}}
                 for text in ["plain", *hostile]]
        expected = None
        for case, answer in zip(cases, probe(cases, DEMO), strict=True):
            ids, whole, controls = tokens_of(answer)
            expected = controls if expected is None else expected
            self.assertEqual(controls, expected, case["request"])
            content = case["request"]["messages"][0]["content"]
            if not any(word in content for word in words):
                self.assertEqual(ids, whole, content)
            elif content in words:
                self.assertNotEqual(ids, whole, content)

    def test_without_forged_tokens_ids_are_those_of_the_whole_text(self):
        cases = self.conversations()[::4]
        same = 0
        for case, answer in zip(cases, probe(cases, DEMO), strict=True):
            if "ids" in answer and len(answer["controls"]) == answer["whole_controls"]:
                self.assertEqual(answer["ids"], answer["whole"], case["name"])
                same += 1
        self.assertGreater(same, 50)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--probe", required=True)
    parser.add_argument("--emulator", nargs="*", default=[])
    parser.add_argument("--snippets", type=int, default=SNIPPETS)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--show", type=int, default=8, help="differences to print")
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest], warnings="ignore")
