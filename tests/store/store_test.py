#!/usr/bin/env python3
"""Tests of models by name with a fake hub on this machine: `hearth pull`, `list`, `remove`, and
names in place of MODEL.

    store_test.py --hearth build/release/hearth [--kills N] [TestCase.test...]

--kills: how many times a pull is cut or killed at random.
"""

import argparse
import sys
import unittest

import pull_fault_test
from name_test import ListTest, NameTest  # noqa: F401
from pull_fault_test import FaultTest, HostileTest, KillTest  # noqa: F401
from pull_test import ChoiceTest, PullTest  # noqa: F401
from store_case import StoreCase


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hearth", required=True)
    parser.add_argument("--kills", type=int, default=24)
    arguments, names = parser.parse_known_args()
    StoreCase.program = arguments.hearth
    pull_fault_test.KillTest.kills = arguments.kills
    unittest.main(argv=[sys.argv[0], *names])


if __name__ == "__main__":
    main()
