#!/usr/bin/env python3
"""Tests of the tree itself: layering, budgets, contracts and wording, and tests of those tests.

    python3 tests/house/house_test.py [--list] [TestCase.test...]

--list prints every violation, one a line, and exits; without it unittest runs.
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import rules  # noqa: E402
import tree  # noqa: E402
import tree_rules  # noqa: E402
from comments_test import CommentsTest  # noqa: E402,F401
from self_test import CppTest, FileRuleTest, TreeRuleTest  # noqa: E402,F401
from what_ran_test import WhatRanTest  # noqa: E402,F401


def violations(rule):
    """["path:line: what is wrong"] of one rule over the whole project."""
    files = tree.list_files()
    if rule in rules.FILE_RULES:
        found = []
        for path in files:
            text = tree.read_text(path)
            if text is not None:
                found += [(path, line, message) for line, message in rule(path, text)]
    else:
        found = rule(tree.ROOT, files)
    return [f"{path}:{line}: {message}" for path, line, message in found]


RULES = rules.FILE_RULES + tree_rules.TREE_RULES


class HouseTest(unittest.TestCase):
    """One test for each rule, over the files as they are."""

    def test_finds_the_project(self):
        self.assertIn("CMakeLists.txt", tree.list_files())


def add_test(rule):
    def test(self):
        found = violations(rule)
        if found:
            self.fail(f"{rule.__name__}: {len(found)} violations\n" + "\n".join(found))

    setattr(HouseTest, "test_" + rule.__name__, test)


for each in RULES:
    add_test(each)

if __name__ == "__main__":
    if "--list" in sys.argv:
        lines = [v for rule in RULES for v in violations(rule)]
        print("\n".join(lines))
        sys.exit(bool(lines))
    unittest.main()
