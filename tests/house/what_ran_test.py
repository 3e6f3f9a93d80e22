"""Tests that scripts/what_ran.py finds the skipped tests and the ISA levels that tests went
through."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

import what_ran  # noqa: E402

LOG = """Start testing: Nov 23 18:00 UTC
1/3 Testing: kernels_test
1/3 Test: kernels_test
Output:
[ RUN      ] A.Good
[       OK ] A.Good (1 ms)
[ RUN      ] A.Left
src/a_test.cc:7: Skipped
no such file

[  SKIPPED ] A.Left (0 ms)
[  PASSED  ] 1 test.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] A.Left
<end of output>
Test Passed.
2/3 Testing: cli
Output:
test_x (run_test.RunTest.test_x) ... ok
test_y (run_test.RunTest.test_y)
The example. ... skipped 'it needs jq'
test_z (run_test.RunTest.test_z) ... skipped 'no memory'
<end of output>
Test Passed.
3/3 Testing: other
Test Not Run.
"""
LEVELS = """level,tested,processor,date,missing
reference,yes,"{0}",2026-01-02,
avx2,{1},"{0}",2026-01-02,avx2
neon,{2},"{0}",2026-01-02,an ARM processor
"""
PAGE = "| level | processor | tested |\n|---|---|---|\n{}\nThe end.\n"


class WhatRanTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.here = self.build("here", LOG, LEVELS.format("A (1, 2)", "yes", "no"))
        self.other = self.build("other", LOG, LEVELS.format("B", "no", "yes"))

    def build(self, name, log, levels):
        folder = self.folder / name
        (folder / "Testing" / "Temporary").mkdir(parents=True)
        (folder / "Testing" / "Temporary" / "LastTest.log").write_text(log)
        (folder / "isa_levels.csv").write_text(levels)
        return str(folder)

    def told(self, *builds):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            what_ran.report(builds)
        return out.getvalue().splitlines()

    def test_skips_are_counted_and_listed(self):
        first, *skips, _ = self.told(self.here)
        self.assertTrue(first.endswith("skipped within them: 4"), first)
        self.assertEqual(skips, [
            "  skipped: A.Left: no such file",
            "  skipped: test_y (run_test.RunTest.test_y): 'it needs jq'",
            "  skipped: test_z (run_test.RunTest.test_z): 'no memory'",
            "  skipped: other: did not run",
        ])

    def test_the_last_line_names_levels(self):
        self.assertEqual(self.told(self.here)[-1], "ISA levels tested: reference, avx2 on "
                         "A (1, 2). Not tested: neon.")
        self.assertEqual(self.told(self.here, self.other)[-1], "ISA levels tested: reference, "
                         "avx2 on A (1, 2); neon on B. Not tested: none.")

    def test_levels_count_only_where_the_kernels_were_tested(self):
        old = self.build("old", LOG.replace("kernels_test", "x"), LEVELS.format("C", "yes", "yes"))
        self.assertNotIn("ISA", self.told(old)[-1])

    def test_a_page_keeps_what_was_not_tested_now(self):
        page = self.folder / "page.md"
        page.write_text(PAGE.format("| `reference` | never | - |\n| `avx2` | never | - |\n"
                                    "| `neon` | C | 2025-12-31 |\n"))
        what_ran.write_page(page, [self.here])
        self.assertEqual(page.read_text(), PAGE.format(
            "| `reference` | A (1, 2) | 2026-01-02 |\n| `avx2` | A (1, 2) | 2026-01-02 |\n"
            "| `neon` | C | 2025-12-31 |\n"))


if __name__ == "__main__":
    unittest.main()
