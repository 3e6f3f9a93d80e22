#!/usr/bin/env python3
"""Compares grammars of JSON Schemas with Debian's python3-jsonschema: random schemas, documents
that are valid or nearly so, and documents made by walks through the grammars.

    grammar_test.py --hearth build/release/hearth [--emulator 'qemu-aarch64 -L DIR'] [TEST...]
"""

import argparse
import json
import random
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import random_schemas
from keywords_test import KeywordsTest

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMAS = 200
DOCUMENTS = 12
MOST_ORDERS = 24
LONG_NUMBER = re.compile(r"[0-9.]{13}")


def once(pairs):
    """An object of these pairs. Asserts that the names differ."""
    assert len(dict(pairs)) == len(pairs), pairs
    return dict(pairs)


class GrammarTest(KeywordsTest, unittest.TestCase):
    command = []

    def bench(self, cases, *words):
        """The report of `hearth grammar bench` over these cases."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "cases.jsonl"
            path.write_text("".join(json.dumps(case) + "\n" for case in cases))
            done = subprocess.run(
                [*GrammarTest.command, "grammar", "bench", "--schemas", path, "--json", *words],
                capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return json.loads(done.stdout)

    def judge(self, schema, documents):
        """A case with every order of each document, and the groups of tests that are orders of one
        document."""
        validator = jsonschema.Draft202012Validator(schema)
        tests, groups = [], []
        for document in documents:
            if random_schemas.count_orders(document) > MOST_ORDERS:
                continue
            orders = random_schemas.orders(document)
            valid = validator.is_valid(document)
            groups.append((document, valid, range(len(tests), len(tests) + len(orders))))
            tests += [{"data": order, "valid": valid} for order in orders]
        return {"schema": schema, "tests": tests}, groups

    @unittest.skipIf(jsonschema is None, "python3-jsonschema is not installed")
    def test_random_schemas_take_what_the_validator_takes(self):
        source = random.Random(20)
        cases, groups, schemas = [], [], []
        while len(schemas) < SCHEMAS:
            schema = random_schemas.make_schema(source)
            documents = [random_schemas.guess(source, schema) for _ in range(DOCUMENTS)]
            documents += [random_schemas.value(source, 2) for _ in range(DOCUMENTS // 2)]
            case, group = self.judge(schema, documents)
            schemas.append(schema)
            cases.append(case)
            groups.append(group)
        report = self.bench(cases, "--walks", "4", "--seed", "7")
        refused, valid = 0, 0
        for schema, group, found in zip(schemas, groups, report["cases"]):
            text = json.dumps(schema)
            if "refused" in found:
                refused += 1
                nothing = "accepts no text at all" in found["refused"]
                known = re.search("not supported|supported only|cannot be combined",
                                  found["refused"])
                self.assertTrue(nothing or known, found["refused"])
                self.assertFalse(nothing and any(is_valid for _, is_valid, _ in group), text)
                continue
            for document, is_valid, tests in group:
                lost = set(tests) & set(found["lost"])
                if is_valid:
                    valid += 1
                    self.assertLess(len(lost), len(tests), f"{text} loses {json.dumps(document)}")
                through = set(tests) & set(found["let_through"])
                self.assertFalse(through, f"{text} lets {json.dumps(document)} through")
            self.check_walks(schema, found)
        self.assertLess(refused, SCHEMAS // 4)
        self.assertGreater(valid, SCHEMAS)

    def check_walks(self, schema, found):
        """Asserts that documents made by walks are valid."""
        self.assertEqual(found["dead_ends"], 0, json.dumps(schema))
        validator = jsonschema.Draft202012Validator(schema)
        for walk in found["walks"]:
            if LONG_NUMBER.search(walk):  # a Python float would be another number
                continue
            document = json.loads(walk, object_pairs_hook=once)
            problem = jsonschema.exceptions.best_match(validator.iter_errors(document))
            self.assertIsNone(problem, f"{json.dumps(schema)} makes {walk}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--hearth", required=True)
    parser.add_argument("--emulator", default="")
    args, words = parser.parse_known_args()
    GrammarTest.command = [*shlex.split(args.emulator), args.hearth]
    unittest.main(argv=[sys.argv[0], *words])
