"""Tests of kernel_peers: every form of its report has the libraries that are installed.

    python3 tools/kernel_peers/kernel_peers_selfcheck.py --program build/release/bin/kernel_peers
"""

import argparse
import csv
import io
import json
import shlex
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "cli"))

from program import ProgramTest, little_cache  # noqa: E402

LIBRARIES = ["OpenBLAS", "oneDNN"]


class KernelPeersTest(ProgramTest):
    env = little_cache()

    def measure(self, *words):
        return self.good(self.random, "-m", "1", "-r", "1", "-t", "1", *words)

    def test_json(self):
        told = json.loads(self.measure("--types", "f32,q8_0", "--json"))
        missing = [note.split()[0] for note in told["notes"] if "not measured" in note]
        for kernel in told["runs"][0]["kernels"]:
            found = [peer["library"] for peer in kernel["against"]]
            if kernel["type"] == "q8_0":
                self.assertEqual(found, [])
                continue
            self.assertEqual(sorted(found + missing), LIBRARIES)
            for peer in kernel["against"]:
                share = peer["median_seconds"] / kernel["median_seconds"]
                self.assertAlmostEqual(peer["share"] / share, 1)
                self.assertNotEqual(peer["implementation"], "")

    def test_tables(self):
        self.assertIn("| of OpenBLAS | of oneDNN |", self.measure("--types", "f32"))
        out = self.measure("--types", "f32,q8_0", "-o", "csv")
        rows = list(csv.DictReader(io.StringIO(out)))
        self.assertEqual([row["weight_type"] for row in rows], ["f32", "q8_0"] * 4)
        for name in ("openblas", "onednn"):
            for row in rows:
                self.assertEqual(row[f"{name}_seconds"] == "", row[f"share_of_{name}"] == "")
            self.assertEqual(rows[1][f"{name}_seconds"], "")

    def test_refuses_invalid_options(self):
        for words, status, part in ((("--types", "f32"), 2, "MODEL"),
                                    ((self.random, "--types", "q8"), 2, "'q8'"),
                                    ((self.random, "-t", "0"), 2, "--threads"),
                                    (("/no/such.gguf",), 1, "/no/such.gguf")):
            found, out, err = self.call(*words)
            self.assertEqual((found, out), (status, b""), err)
            self.assertIn(part, err)


def main():
    parser = argparse.ArgumentParser(description="Tests of the built program.")
    parser.add_argument("--program", required=True, type=Path)
    parser.add_argument("--emulator", default="", help="runs the program, such as qemu-aarch64")
    options, rest = parser.parse_known_args()
    ProgramTest.command = [*shlex.split(options.emulator), str(options.program.resolve())]
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
